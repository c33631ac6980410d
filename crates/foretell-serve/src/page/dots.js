// Trials as dots: of what is measured full, of forecasts hollow. The pointer finds them.
import { $, better, outcome, state } from "./state.js";
import { color, shadeOf } from "./colors.js";
import { chosen } from "./choice.js";
import { choose } from "./addresses.js";
import { inSight } from "./filter.js";
import { tip, untip } from "./tip.js";
export const MOST_DOTS = 3000; // so many are drawn, the best and some of the others
export const dotted = new Map(); // by canvas

// Draws `dots` ({ trial, left, top }, from the worst to the best) and lets the pointer find them.
export function drawDots(pen, id, dots, radius = 3) {
  dotted.set(id, dots);
  for (const { trial, left, top } of dots) {
    const seen = inSight(trial),
      hollow = outcome(trial).how === "forecast";
    pen.globalAlpha = seen ? 0.85 : 0.4;
    pen.strokeStyle = pen.fillStyle = seen ? shadeOf(trial) : color("line");
    pen.lineWidth = 1.3;
    pen.beginPath();
    pen.arc(left, top, trial.id === chosen ? radius + 2.5 : radius, 0, 7);
    if (hollow) pen.stroke();
    else pen.fill();
    if (trial.id === chosen) {
      pen.strokeStyle = color("ink");
      pen.globalAlpha = 1;
      pen.lineWidth = 2;
      pen.stroke();
    }
  }
  pen.globalAlpha = 1;
}

// Trials with a result, the worst first; of very many the best half and some of the others.
export function dotsOf(filter = (_) => true) {
  const all = [...state.trials.values()]
    .filter((trial) => outcome(trial).value !== null && filter(trial))
    .sort((a, b) => (better(outcome(a).value, outcome(b).value) ? 1 : -1));
  if (all.length <= MOST_DOTS) return all;
  const rest = all.slice(0, -MOST_DOTS / 2),
    every = rest.length / (MOST_DOTS / 2);
  return [...Array.from({ length: MOST_DOTS / 2 }, (_, i) => rest[Math.floor(i * every)]), ...all.slice(-MOST_DOTS / 2)];
}

function dotAt(event, id) {
  const box = $(id).getBoundingClientRect(),
    left = event.clientX - box.left,
    top = event.clientY - box.top;
  return (dotted.get(id) || []).findLast((dot) => Math.hypot(dot.left - left, dot.top - top) < 7) || null;
}

// Makes a canvas answer the pointer.
export function findable(id) {
  const own = $(id);
  own.onmousemove = (event) => {
    const found = dotAt(event, id);
    own.classList.toggle("pick", Boolean(found));
    if (found) tip(event, found.trial, found.line);
    else untip();
  };
  own.onmouseleave = untip;
  own.onclick = (event) => {
    const found = dotAt(event, id);
    if (found) choose(found.trial.id);
  };
}

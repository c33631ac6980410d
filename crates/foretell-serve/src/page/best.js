// The best so far, against epochs and against time; and all trials, when they ended.
import { $, better, ended, number, outcome, state, worth } from "./state.js";
import { color, shadeOf } from "./colors.js";
import { canvas, frame } from "./picture.js";
import { results } from "./scales.js";
import { inView } from "./addresses.js";
import { inSight } from "./filter.js";
import { dotsOf, drawDots } from "./dots.js";

export function bestSoFar() {
  const trials = dotsOf((trial) => trial.ended),
    timed = trials.some((trial) => trial.ended.seconds !== null);
  $("progress").hidden = !trials.length;
  if ($("progress").hidden || !inView("progress")) return;
  $("progress-hours-box").hidden = !timed;
  against("progress-epochs", trials, (trial) => trial.ended.epochs, "epochs spent");
  if (!timed) return;
  const longest = Math.max(...trials.map((trial) => trial.ended.seconds || 0));
  const [unit, name] = longest < 180 ? [1, "seconds"] : longest < 10800 ? [60, "minutes"] : [3600, "hours"];
  against(
    "progress-hours",
    trials.filter((trial) => trial.ended.seconds !== null),
    (trial) => trial.ended.seconds / unit,
    `${name} of search`,
  );
}

function against(id, trials, at, label) {
  const { pen, width, height } = canvas(id),
    scale = results(),
    pad = (scale.high - scale.low) * 0.06,
    end = Math.max(...trials.map(at)) || 1;
  const { x, y, clip, holds } = frame(pen, {
    left: 58,
    right: 14,
    top: 12,
    bottom: 36,
    width,
    height,
    low: scale.low - pad,
    high: scale.high + pad,
    end,
    label,
    whole: false,
  });
  clip();
  spreads(pen, trials.slice(-200), (trial) => x(at(trial)), y);
  drawDots(
    pen,
    id,
    trials.filter((trial) => holds(outcome(trial).value)).map((trial) => ({ trial, left: x(at(trial)), top: y(outcome(trial).value) })),
    trials.length > 500 ? 1.8 : 3,
  );
  let best = null;
  pen.strokeStyle = color("best");
  pen.lineWidth = 2.5;
  pen.beginPath();
  for (const trial of [...state.trials.values()].filter((trial) => trial.ended && ended(trial) && worth(trial) !== null).sort((a, b) => at(a) - at(b))) {
    if (best !== null && !better(worth(trial), best)) continue;
    if (best === null) pen.moveTo(x(at(trial)), y(worth(trial)));
    else {
      pen.lineTo(x(at(trial)), y(best));
      pen.lineTo(x(at(trial)), y(worth(trial)));
    }
    best = worth(trial);
  }
  if (best !== null) pen.lineTo(x(end), y(best));
  pen.stroke();
  pen.restore();
  $(id).setAttribute("aria-label", `The best so far against ${label}: ${number(best)} after ${number(end)}; each trial as a dot`);
}

// The central 90 % of forecasts.
function spreads(pen, trials, x, y) {
  pen.lineWidth = 1;
  pen.globalAlpha = 0.45;
  for (const trial of trials) {
    const { interval } = outcome(trial);
    if (!interval || !inSight(trial)) continue;
    pen.strokeStyle = shadeOf(trial);
    pen.beginPath();
    pen.moveTo(x(trial), y(interval[0]));
    pen.lineTo(x(trial), y(interval[1]));
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

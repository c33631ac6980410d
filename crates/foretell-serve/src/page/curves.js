// The learning curves: all of them, or quantile bands with the running and the best ones where there are too many.
import { $, better, ended, metric, number, outcome, page, state, worth } from "./state.js";
import { byShade, color, key, shadeOf } from "./colors.js";
import { chosen } from "./choice.js";
import { canvas, frame } from "./picture.js";
import { inSight } from "./filter.js";
import { tip, untip } from "./tip.js";
const SINGLY = 2000; // so many curves are drawn singly
const LEADERS = 50; // so many of the best are, where there are more
const FANS = 20; // so many forecasts are drawn
export const plot = { trials: [], dots: [], x: null, y: null, end: 1, box: null };
// How the curves are looked at: on a logarithmic axis, smoothed, a part of them.
export const looking = { log: false, smooth: 0, part: null, drag: null, dragged: false };

// The values of a trial as they are drawn: smoothed by an exponential mean that does not begin at 0, as in TensorBoard.
let smoothed = { by: 0, known: new WeakMap() };
export function seenValues(trial) {
  if (!looking.smooth) return trial.values;
  if (smoothed.by !== looking.smooth) smoothed = { by: looking.smooth, known: new WeakMap() };
  const found = smoothed.known.get(trial) || [],
    { values } = trial;
  if (found.length > values.length) found.length = 0;
  // it goes on from what is known; the sum of weights is 1 − wⁿ
  let mean = found.length ? found[found.length - 1] * (1 - looking.smooth ** found.length) : 0;
  for (let i = found.length; i < values.length; i++) {
    mean = looking.smooth * mean + (1 - looking.smooth) * values[i];
    found.push(mean / (1 - looking.smooth ** (i + 1)));
  }
  smoothed.known.set(trial, found);
  return found;
}

// The range that holds all but the wildest of at most 20,000 values.
function range(trials) {
  let count = 0;
  for (const trial of trials) count += trial.values.length;
  const every = Math.max(1, Math.ceil(count / 20000)),
    values = [];
  let at = 0;
  for (const trial of trials) for (const value of trial.values) if (at++ % every === 0) values.push(value);
  const sorted = Float64Array.from(values).sort();
  let low = sorted[Math.floor(sorted.length * 0.01)],
    high = sorted[Math.ceil((sorted.length - 1) * 0.99)];
  for (const trial of trials)
    if (trial.state === "running" && trial.forecast) {
      low = Math.min(low, trial.forecast.mean);
      high = Math.max(high, trial.forecast.mean);
    }
  if (!(low < high)) {
    low -= 0.5;
    high += 0.5;
  }
  const pad = (high - low) * 0.05;
  return [low - pad, high + pad];
}

export function curves(leader) {
  const all = [...state.trials.values()].filter((trial) => trial.last !== null);
  untip();
  Object.assign(plot, { trials: [], dots: [] });
  describe(all, leader);
  key();
  $("curves-empty").hidden = all.length > 0;
  $("curves-box").hidden = $("curve-controls").hidden = !all.length;
  if (!all.length) return;
  const { pen, width, height } = canvas("curves");
  canvas("hover");
  let [low, high] = range(all);
  const narrow = width < 560,
    many = all.length > SINGLY,
    single = many ? few(all, leader) : all;
  let end = (state.spec && state.spec.epochs) || 1;
  for (const trial of all) end = Math.max(end, trial.steps[trial.steps.length - 1]);
  const left = all.filter(isLeft),
    strip = left.length ? (narrow ? 50 : 110) : 0,
    least = positive(all),
    log = looking.log && least > 0,
    whole = end;
  $("log-y").disabled = !(least > 0);
  $("unzoom").hidden = !looking.part;
  if (log) low = Math.max(low, least);
  let begin = 0;
  if (looking.part) [begin, end, low, high] = looking.part;
  const edge = narrow ? 44 : 58;
  // above the picture stands the name of the best trial, where it covers no curve
  const top = leader ? 28 : 12;
  const { x, y, clip } = frame(pen, { left: edge, right: 14 + strip, top, bottom: 36, width, height, low, high, begin, end, label: "epoch", log });
  Object.assign(plot, { trials: single, x, y, end, box: { left: edge, right: width - 14 - strip, top, bottom: height - 36, begin, end, low, high, log } });
  if (leader) {
    pen.textAlign = "left";
    pen.fillStyle = color("best");
    pen.fillText(`best: trial ${leader.id}, ${number(worth(leader))}`, edge, 17);
  }
  if (strip) stoppedAt(pen, left, { from: width - strip, width: strip - 12, y, top, bottom: height - 36, low, high });
  clip();
  $("bands-legend").hidden = !many;
  if (many) {
    const rest = all.filter((trial) => trial.state !== "running");
    bands(pen, rest, whole, x, y);
    $("bands-legend").textContent = `bands: the middle 50 % and 90 % of the ${rest.length} ended trials, at each epoch that they reached`;
  }
  lines(pen, single, leader, x, y);
  for (const trial of single.filter((trial) => trial.state === "running" && inSight(trial)).slice(-FANS)) fan(pen, trial, x, y, whole);
  if (leader) {
    pen.strokeStyle = color("best");
    pen.lineWidth = 3;
    path(pen, [leader], x, y);
  }
  const picked = state.trials.get(chosen);
  if (picked && picked.last !== null) {
    fan(pen, picked, x, y, whole);
    pen.strokeStyle = color("ink");
    pen.lineWidth = 2.5;
    path(pen, [picked], x, y);
  }
  pen.restore();
}

// The least value above 0, if all are.
function positive(trials) {
  let least = Infinity;
  for (const { values } of trials) for (const value of values) least = Math.min(least, value);
  return least;
}

// The steps and values at a place of the picture.
function placeIn(left, top) {
  const { box } = plot,
    f = box.log ? Math.log : (v) => v,
    g = box.log ? Math.exp : (v) => v,
    share = (at, from, to) => Math.min(1, Math.max(0, (at - from) / (to - from)));
  return {
    step: box.begin + (box.end - box.begin) * share(left, box.left, box.right),
    value: g(f(box.high) + (f(box.low) - f(box.high)) * share(top, box.top, box.bottom)),
  };
}

// A part of the picture is enlarged by dragging over it; a click that does not move opens a trial.
const MOVED = 6;
export function beginDrag(event) {
  if (event.button !== 0 || !plot.box || event.pointerType === "touch") return;
  const box = $("curves").getBoundingClientRect();
  looking.drag = { left: event.clientX - box.left, top: event.clientY - box.top, moved: false };
}

export function drag(event) {
  const { drag } = looking,
    box = $("curves").getBoundingClientRect(),
    left = event.clientX - box.left,
    top = event.clientY - box.top;
  drag.moved = drag.moved || Math.hypot(left - drag.left, top - drag.top) > MOVED;
  if (!drag.moved) return;
  const { pen } = canvas("hover");
  untip();
  pen.strokeStyle = color("running");
  pen.fillStyle = color("running");
  pen.globalAlpha = 0.12;
  pen.fillRect(drag.left, drag.top, left - drag.left, top - drag.top);
  pen.globalAlpha = 1;
  pen.lineWidth = 1.2;
  pen.strokeRect(drag.left, drag.top, left - drag.left, top - drag.top);
}

export function endDrag(event) {
  const { drag } = looking,
    box = $("curves").getBoundingClientRect();
  looking.drag = null;
  if (!drag || !drag.moved) return;
  looking.dragged = true; // the click that follows opens nothing
  const [a, b] = [placeIn(drag.left, drag.top), placeIn(event.clientX - box.left, event.clientY - box.top)];
  const part = [Math.min(a.step, b.step), Math.max(a.step, b.step), Math.min(a.value, b.value), Math.max(a.value, b.value)];
  if (part[1] - part[0] > 1e-9 && part[3] - part[2] > 1e-12) looking.part = part;
  page.soon();
}

export function unzoom() {
  looking.part = null;
  page.soon();
}

// Ended before the end, and forecast: drawn beside the curves, where it was to end.
const isLeft = (trial) => ["stopped", "paused", "interrupted"].includes(trial.state) && outcome(trial).how === "forecast";

// Where trials that were stopped were forecast to end: all as dots, the best with their central 90 %.
function stoppedAt(pen, left, { from, width, y, top: upper, bottom, low, high }) {
  pen.strokeStyle = color("line");
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(from, bottom);
  pen.lineTo(from + width, bottom);
  pen.stroke();
  pen.fillStyle = color("soft");
  pen.textAlign = "center";
  pen.fillText(width < 80 ? "stopped" : "stopped: forecast", from + width / 2, bottom + 33);
  const seen = left
    .filter((trial) => inSight(trial) && outcome(trial).value >= low && outcome(trial).value <= high)
    .sort((a, b) => (better(outcome(a).value, outcome(b).value) ? -1 : 1));
  const place = (trial, i) => from + 4 + (width - 8) * (i < FANS ? (i + 0.5) / Math.min(FANS, seen.length) : (trial.id * 0.618034) % 1);
  plot.dots = seen
    .slice(0, SINGLY)
    .map((trial, i) => ({ trial, left: place(trial, i), top: y(outcome(trial).value) }))
    .reverse();
  pen.save();
  pen.beginPath();
  pen.rect(from, upper - 3, width, bottom - upper + 6);
  pen.clip();
  plot.dots.forEach(({ trial, left: at, top }, i) => {
    const { interval } = outcome(trial),
      spread = plot.dots.length - i <= FANS;
    pen.strokeStyle = pen.fillStyle = shadeOf(trial);
    pen.globalAlpha = spread ? 1 : 0.45;
    if (spread) {
      pen.lineWidth = 1.4;
      pen.beginPath();
      pen.moveTo(at, y(interval[0]));
      pen.lineTo(at, y(interval[1]));
      pen.stroke();
    }
    pen.beginPath();
    pen.arc(at, top, spread ? 2.6 : 1.6, 0, 7);
    pen.fill();
  });
  pen.restore();
}

function describe(all, leader) {
  const best = leader ? `; the best is trial ${leader.id} with ${number(worth(leader))}` : "";
  $("curves").setAttribute("aria-label", `Learning curves of ${all.length} trials${best}. The table below contains their values.`);
}

// What is drawn singly where there are many: the running, the best, the chosen one.
function few(all, leader) {
  const best = all
    .filter((trial) => ended(trial))
    .sort((a, b) => (better(worth(a), worth(b)) ? -1 : 1))
    .slice(0, LEADERS);
  return [
    ...new Set([...best, ...all.filter((trial) => trial.state === "running"), ...(leader ? [leader] : []), ...all.filter((trial) => trial.id === chosen)]),
  ];
}

function lines(pen, trials, leader, x, y) {
  // some curves a path: fast, and crossing curves still darken each other
  const stroke = (own) => {
    for (let i = 0; i < own.length; i += 25) path(pen, own.slice(i, i + 25).flatMap(foldsOf), x, y);
  };
  const others = trials.filter((trial) => trial !== leader),
    seen = others.filter(inSight);
  if (seen.length < others.length) {
    pen.strokeStyle = color("line");
    pen.lineWidth = 1;
    pen.globalAlpha = 0.7;
    stroke(others.filter((trial) => !inSight(trial)));
  }
  pen.strokeStyle = color("failed");
  pen.setLineDash([2, 3]);
  pen.globalAlpha = 0.8;
  stroke(seen.filter((trial) => trial.state === "failed"));
  pen.setLineDash([]);
  for (const running of [false, true]) {
    const own = seen.filter((trial) => trial.state !== "failed" && (trial.state === "running") === running);
    pen.globalAlpha = running ? 1 : Math.max(0.3, Math.min(0.9, 200 / own.length));
    pen.lineWidth = running ? 2.2 : 1;
    for (const group of byShade(own)) {
      pen.strokeStyle = pen.fillStyle = group.shade;
      stroke(group.trials);
      if (!running && own.length <= 400)
        for (const trial of group.trials)
          if (trial.state === "stopped") {
            pen.beginPath();
            pen.arc(x(trial.steps[trial.steps.length - 1]), y(seenValues(trial).at(-1)), 2, 0, 7);
            pen.fill();
          }
    }
  }
  pen.globalAlpha = 1;
}

// The curves of a trial: one per fold of a cross-validated training, all of them in the color of the trial.
const foldsOf = (trial) => [trial, ...trial.folds.map((fold) => ({ ...fold, gaps: [] }))];

function path(pen, trials, x, y) {
  pen.beginPath();
  for (const trial of trials) {
    const { steps, gaps } = trial,
      values = seenValues(trial);
    let gap = true,
      next = 0;
    for (let i = 0; i < steps.length; i++) {
      // steps at which the value was not finite are left out
      while (gaps[next] < steps[i]) {
        gap = true;
        next += 1;
      }
      if (gap) pen.moveTo(x(steps[i]), y(values[i]));
      else pen.lineTo(x(steps[i]), y(values[i]));
      if (gap && steps.length === 1) pen.lineTo(x(steps[i]) + 2, y(values[i]));
      gap = false;
    }
  }
  pen.stroke();
}

// A forecast: a curve from the last value to where the trial may end, ever flatter as learning curves are, with the central 90 %. Only its
// end is forecast; the way there is drawn.
const BEND = 3;
function fan(pen, trial, x, y, end) {
  const { forecast, steps } = trial;
  if (!forecast) return;
  const from = steps.length - 1,
    step = steps[from],
    last = seenValues(trial)[from],
    until = Math.max(trial.until || end, step),
    to = x(until);
  const parts = Array.from({ length: 25 }, (_, i) => i / 24),
    rise = (part) => (1 - Math.exp(-BEND * part)) / (1 - Math.exp(-BEND));
  const along = (goal) =>
    parts.map((part) => [x(step + (until - step) * part), y(last + (forecast.mean - last) * rise(part) + (goal - forecast.mean) * Math.sqrt(part))]);
  const tint = trial.id === chosen ? color("ink") : shadeOf(trial),
    draw = (points) => points.forEach(([left, top], i) => (i ? pen.lineTo(left, top) : pen.moveTo(left, top)));
  pen.fillStyle = tint;
  pen.globalAlpha = 0.1;
  pen.beginPath();
  draw([...along(forecast.interval[0]), ...along(forecast.interval[1]).reverse()]);
  pen.fill();
  pen.globalAlpha = 0.8;
  pen.strokeStyle = tint;
  pen.lineWidth = 1.2;
  pen.setLineDash([4, 3]);
  pen.beginPath();
  draw(along(forecast.mean));
  pen.stroke();
  pen.setLineDash([]);
  pen.beginPath();
  pen.moveTo(to, y(forecast.interval[0]));
  pen.lineTo(to, y(forecast.interval[1]));
  pen.stroke();
  pen.beginPath();
  pen.arc(to, y(forecast.mean), 3, 0, 7);
  pen.fill();
  pen.globalAlpha = 1;
}

let banded = { records: -1, at: 0, study: null, columns: [] };
function bands(pen, trials, end, x, y) {
  // worked out at most every two seconds
  if (banded.study !== state || (banded.records !== state.records && performance.now() - banded.at > 2000))
    banded = { records: state.records, at: performance.now(), study: state, columns: quantiles(trials, end) };
  for (const [low, high, alpha] of [
    [0, 4, 0.16],
    [1, 3, 0.26],
  ]) {
    pen.fillStyle = color("stopped");
    pen.globalAlpha = alpha;
    pen.beginPath();
    banded.columns.forEach(({ step, at }, i) => (i ? pen.lineTo(x(step), y(at[low])) : pen.moveTo(x(step), y(at[low]))));
    [...banded.columns].reverse().forEach(({ step, at }) => pen.lineTo(x(step), y(at[high])));
    pen.fill();
  }
  pen.globalAlpha = 1;
  pen.strokeStyle = color("stopped");
  pen.lineWidth = 1.4;
  pen.beginPath();
  banded.columns.forEach(({ step, at }, i) => (i ? pen.lineTo(x(step), y(at[2])) : pen.moveTo(x(step), y(at[2]))));
  pen.stroke();
}

// The 5, 25, 50, 75 and 95 % quantiles at up to 200 places.
function quantiles(trials, end) {
  const width = Math.max(1, Math.ceil(end / 200)),
    columns = new Map();
  for (const { steps, values } of trials)
    for (let i = 0; i < steps.length; i++) {
      const place = Math.floor(steps[i] / width) * width;
      if (!columns.has(place)) columns.set(place, []);
      columns.get(place).push(values[i]);
    }
  const found = [...columns].filter(([, values]) => values.length >= 5).sort((a, b) => a[0] - b[0]);
  return found.map(([step, values]) => {
    const sorted = Float64Array.from(values).sort();
    return { step, at: [0.05, 0.25, 0.5, 0.75, 0.95].map((q) => sorted[Math.round(q * (sorted.length - 1))]) };
  });
}

// The curve nearest to the pointer.
export function nearest(event) {
  const box = $("curves").getBoundingClientRect(),
    [left, top] = [event.clientX - box.left, event.clientY - box.top];
  const dot = plot.dots.findLast((dot) => Math.hypot(dot.left - left, dot.top - top) < 6);
  if (dot) return { trial: dot.trial, dot };
  let found = null,
    least = 24;
  for (const trial of plot.trials) {
    const { steps } = trial,
      values = seenValues(trial);
    let [low, high] = [0, steps.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (plot.x(steps[middle]) < left) low = middle + 1;
      else high = middle;
    }
    for (const i of [low - 1, low]) {
      if (i < 0) continue;
      if (values[i] < plot.box.low || values[i] > plot.box.high) continue;
      const away = Math.hypot(plot.x(steps[i]) - left, plot.y(values[i]) - top);
      if (away < least) {
        least = away;
        found = { trial, i };
      }
    }
  }
  return found;
}

export function hover(event) {
  const found = nearest(event),
    { pen } = canvas("hover");
  $("curves").classList.toggle("pick", Boolean(found));
  if (!found) {
    untip();
    return;
  }
  const { trial, i, dot } = found,
    [left, top] = dot ? [dot.left, dot.top] : [plot.x(trial.steps[i]), plot.y(seenValues(trial)[i])];
  const { box } = plot;
  pen.strokeStyle = pen.fillStyle = color("ink");
  pen.lineWidth = 2;
  pen.save();
  pen.beginPath();
  pen.rect(box.left - 3, box.top - 3, box.right - box.left + 6, box.bottom - box.top + 6);
  pen.clip();
  path(pen, [trial], plot.x, plot.y);
  pen.restore();
  pen.beginPath();
  pen.arc(left, top, 4, 0, 7);
  pen.fill();
  tip(event, trial, dot ? null : `epoch ${trial.steps[i]}: ${metric()} ${number(trial.values[i])}`);
}

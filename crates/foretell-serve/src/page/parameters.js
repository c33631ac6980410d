// What the parameters do: parallel coordinates with brushes, and how much of the results each of them explains.
import { $, better, leading, metric, outcome, state, varying } from "./state.js";
import { byShade, color } from "./colors.js";
import { chosen } from "./choice.js";
import { canvas, shortened, written } from "./picture.js";
import { results, scale } from "./scales.js";
import { choose, inView } from "./addresses.js";
import { inSight, quoted, setTerm, termOf } from "./filter.js";
import { tip, untip } from "./tip.js";
const THREADS = 1500; // so many trials are drawn
const AXES = 14;
const REACH = 24; // a brush begins so near to its axis
export const parallels = { axes: [], trials: [], drag: null, y: null, back: null };

// Networks have no order and are too long for an axis. The ones that matter come last, next to the result.
export function axesNow() {
  const rank = new Map((known.importance ? known.importance.parameters : []).map(({ name }, i) => [name, i]));
  const names = varying().filter((name) => name !== "net");
  return names.sort((a, b) => (rank.get(b) ?? -1) - (rank.get(a) ?? -1)).slice(-AXES);
}

export function parallel(leader) {
  const names = axesNow(),
    all = [...state.trials.values()].filter((trial) => outcome(trial).value !== null);
  $("parameters").hidden = !names.length || !all.length;
  if ($("parameters").hidden || !inView("parameters")) return;
  $("parallel").style.minWidth = Math.max(300, (names.length + 1) * 84) + "px";
  const { pen, width, height } = canvas("parallel"); // what is hidden has no size
  const trials = sampled(all),
    seen = trials.filter(inSight),
    left = 40,
    right = 64;
  const x = (i) => left + ((width - left - right) * i) / names.length,
    y = (share) => 40 + (height - 58) * (1 - share);
  /** @type {any[]} */
  const axes = [
    ...names.map((name) => ({ name, scale: scale(name), value: (trial) => trial.configuration[name] })),
    { name: metric(), scale: results(), value: (trial) => outcome(trial).value },
  ];
  axes.forEach((axis, i) => {
    axis.x = x(i);
  });
  Object.assign(parallels, { axes, trials: seen, y });
  $("threads").textContent =
    (trials.length < all.length
      ? `the ${Math.floor(THREADS / 2)} best and ${trials.length - Math.floor(THREADS / 2)} of the other ${all.length - Math.floor(THREADS / 2)} trials; `
      : "") + "drag along an axis to select trials, and click on the axis to undo";
  if (seen.length < trials.length) {
    pen.strokeStyle = color("line");
    pen.globalAlpha = 0.6;
    thread(
      pen,
      trials.filter((trial) => !inSight(trial)),
    );
  }
  pen.globalAlpha = Math.max(0.25, Math.min(0.85, 150 / seen.length));
  pen.lineWidth = 1.1;
  for (const group of byShade(seen)) {
    pen.strokeStyle = group.shade;
    thread(pen, group.trials);
  }
  pen.globalAlpha = 1;
  const picked = state.trials.get(chosen);
  for (const [trial, name] of [
    [leader, "best"],
    [picked && outcome(picked).value !== null ? picked : null, "ink"],
  ])
    if (trial) {
      pen.strokeStyle = color(name);
      pen.lineWidth = 2.5;
      thread(pen, [trial]);
      spreadOf(pen, trial);
    }
  axes.forEach((axis, i) => drawAxis(pen, axis, i === axes.length - 1, (width - left - right) / names.length, width));
  $("hover-parallel").style.minWidth = $("parallel").style.minWidth;
  canvas("hover-parallel");
}

// The lines of `trials`, some a path.
function thread(pen, trials) {
  const { axes, y } = parallels;
  for (let at = 0; at < trials.length; at += 10) {
    pen.beginPath();
    for (const trial of trials.slice(at, at + 10)) {
      let gap = true;
      for (const axis of axes) {
        const v = axis.value(trial);
        if (v === null || v === undefined) {
          gap = true;
          continue;
        }
        if (gap) pen.moveTo(axis.x, y(axis.scale.place(v)));
        else pen.lineTo(axis.x, y(axis.scale.place(v)));
        gap = false;
      }
    }
    pen.stroke();
  }
}

// The spread of a forecast, on the axis of the results.
function spreadOf(pen, trial) {
  const { interval } = outcome(trial),
    { axes, y } = parallels,
    axis = axes[axes.length - 1];
  if (!interval) return;
  pen.lineWidth = 4;
  pen.beginPath();
  pen.moveTo(axis.x, y(axis.scale.place(interval[0])));
  pen.lineTo(axis.x, y(axis.scale.place(interval[1])));
  pen.stroke();
}

function drawAxis(pen, { name, scale, x }, last, room, width) {
  const { y } = parallels,
    brush = brushOf(name, scale);
  if (brush) {
    pen.fillStyle = color("running");
    pen.globalAlpha = 0.25;
    pen.fillRect(x - 7, y(brush[1]), 14, Math.max(3, y(brush[0]) - y(brush[1])));
    pen.globalAlpha = 1;
  }
  pen.lineWidth = brush ? 2 : 1;
  pen.strokeStyle = color(brush ? "running" : "soft");
  pen.beginPath();
  pen.moveTo(x, y(0));
  pen.lineTo(x, y(1));
  pen.stroke();
  // the names at the sides are moved inside
  const label = shortened(pen, name, room - 6),
    half = pen.measureText(label).width / 2;
  written(pen, label, Math.min(width - half - 4, Math.max(half + 4, x)), 16, "center", color("ink"));
  if (scale.log) written(pen, "log", x, 29, "center", color("soft"));
  for (const { text, place } of scale.ticks) {
    pen.strokeStyle = color("soft");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x, y(place));
    pen.lineTo(x + 4, y(place));
    pen.stroke();
    written(pen, shortened(pen, text, last ? 56 : Math.min(90, room - 12)), x + 7, y(place) + 4, "left", color("soft"));
  }
}

// The part of an axis that the filter leaves, from 0 to 1.
function brushOf(name, scale) {
  const { drag } = parallels;
  if (drag && drag.axis.name === name && drag.moved) return [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
  const own = termOf(name);
  if (!own) return null;
  if (own.kinds) {
    const places = own.kinds.map((kind) => scale.place(kind)).filter((place) => place >= 0);
    return places.length ? [Math.max(0, Math.min(...places) - 0.03), Math.min(1, Math.max(...places) + 0.03)] : null;
  }
  return own.low === undefined ? null : [own.low === -Infinity ? 0 : scale.place(own.low), own.high === Infinity ? 1 : scale.place(own.high)];
}

// The pointer's place: the axis beside it, and how far up it is.
function onAxis(event) {
  const box = $("parallel").getBoundingClientRect(),
    left = event.clientX - box.left,
    top = event.clientY - box.top,
    { axes, y } = parallels;
  const axis = axes.find((axis) => Math.abs(axis.x - left) < REACH) || null;
  return { axis, left, top, share: y ? Math.min(1, Math.max(0, (y(0) - top) / (y(0) - y(1)))) : 0 };
}

export function beginBrush(event) {
  const { axis, share } = onAxis(event);
  if (!axis || event.button) return;
  parallels.drag = { axis, from: share, to: share, moved: false };
  $("parallel").setPointerCapture(event.pointerId);
  untip();
}

export function moveBrush(event) {
  const { drag } = parallels;
  if (!drag) {
    hoverThread(event);
    return;
  }
  drag.to = onAxis(event).share;
  drag.moved = drag.moved || Math.abs(drag.to - drag.from) > 0.02;
  if (drag.moved) parallel(leading());
}

export function endBrush(event) {
  const { drag } = parallels;
  parallels.drag = null;
  if (!drag) {
    const found = nearestThread(event);
    if (found) choose(found.id);
    return;
  }
  setTerm(drag.axis.name, drag.moved ? brushed(drag.axis.scale, Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)) : null);
}

// What a brush from `low` to `high` leaves, as the filter says it.
function brushed(scale, low, high) {
  if (scale.kinds) {
    const kinds = scale.kinds.filter((kind) => {
      const place = scale.place(kind);
      return place >= low - 0.02 && place <= high + 0.02;
    });
    return kinds.length ? kinds.map(quoted).join(",") : null;
  }
  return `${outward(scale.at(low), Math.floor)}..${outward(scale.at(high), Math.ceil)}`;
}

// Rounded to four digits.
function outward(value, rounded) {
  if (value === 0 || Number.isInteger(value)) return value;
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(value))) - 3);
  return +(rounded(value / unit) * unit).toPrecision(4);
}

function nearestThread(event) {
  const { left, top } = onAxis(event),
    { axes, trials, y } = parallels;
  const i = axes.findIndex((axis, i) => i + 1 < axes.length && left >= axis.x && left <= axes[i + 1].x);
  if (i < 0) return null;
  const [a, b] = [axes[i], axes[i + 1]],
    part = (left - a.x) / (b.x - a.x);
  let found = null,
    least = 6;
  for (const trial of trials) {
    const [from, to] = [a.value(trial), b.value(trial)];
    if (from === null || from === undefined || to === null || to === undefined) continue;
    const away = Math.abs(y(a.scale.place(from)) * (1 - part) + y(b.scale.place(to)) * part - top);
    if (away < least || (away === least && found && better(outcome(trial).value, outcome(found).value))) {
      least = away;
      found = trial;
    }
  }
  return found;
}

function hoverThread(event) {
  const { axis } = onAxis(event),
    found = nearestThread(event),
    { pen } = canvas("hover-parallel");
  $("parallel").style.cursor = axis ? "ns-resize" : found ? "pointer" : "";
  if (!found) {
    untip();
    return;
  }
  pen.strokeStyle = color("ink");
  pen.lineWidth = 2;
  thread(pen, [found]);
  spreadOf(pen, found);
  tip(event, found);
}

// The best half, and every so many-th of the others.
function sampled(trials) {
  if (trials.length <= THREADS) return trials;
  const sorted = [...trials].sort((a, b) => (better(outcome(a).value, outcome(b).value) ? -1 : 1)),
    best = sorted.slice(0, THREADS / 2),
    rest = sorted.slice(THREADS / 2);
  const every = rest.length / (THREADS / 2);
  return [...best, ...Array.from({ length: THREADS / 2 }, (_, i) => rest[Math.floor(i * every)])];
}

// What the server was asked about the parameters.
export const known = { importance: null };

export function importance(found) {
  known.importance = found;
  $("importance").hidden = !found || !(found.parameters.length || found.trials);
  if ($("importance").hidden) return;
  const enough = found.parameters.length > 0,
    explained = found.explained === null ? null : Math.max(0, Math.round(100 * found.explained));
  $("importance-note").textContent = !enough
    ? `Parameter importance needs ${found.needed} completed or stopped trials (${found.trials} so far).`
    : `Based on ${found.trials} trials${found.used < found.trials ? `, ${found.used} of them, evenly from the worst to the best` : ""}. A Gaussian process over the configurations ` +
      (explained === null
        ? "was fitted."
        : `explains ${explained} % of the differences between unseen trials` + (explained < 30 ? ": too little to trust this order." : "."));
  $("importance-bars").replaceChildren(
    ...found.parameters.map(({ name, share, share_sd: sd }) => {
      const row = document.createElement("li"),
        label = document.createElement("span"),
        bar = document.createElement("span"),
        value = document.createElement("span");
      const percent = Math.round(100 * Math.min(1, share));
      label.textContent = name;
      label.title = name;
      value.textContent = percent + (sd === null ? " %" : ` ± ${Math.round(100 * sd)} %`);
      bar.className = "bar";
      bar.style.setProperty("--share", percent + "%");
      bar.setAttribute("aria-hidden", "true");
      row.append(label, bar, value);
      return row;
    }),
  );
}

// The front of a study with several objectives: the trials that no other dominates, and the hypervolume against the epochs spent.
import { $, number, state, whole } from "./state.js";
import { color, shadeOf } from "./colors.js";
import { element } from "./elements.js";
import { canvas, frame, shortened, written } from "./picture.js";
import { between, results } from "./scales.js";
import { isSmallBetter, objectives, placed } from "./objectives.js";
import { inView } from "./addresses.js";
import { inSight } from "./filter.js";
import { MOST_DOTS, drawDots } from "./dots.js";
const LOG_FROM = 20; // an axis whose largest value is so many times its smallest is logarithmic

// The limits of an objective, as numbers.
function limitsOf(at) {
  const own = objectives()[at].name,
    read = (text) => text.match(/^`?(.*?)`?\s*(<=|>=)\s*(.*)$/) || [];
  return ((state.settings && state.settings.limits) || [])
    .map(read)
    .filter(([, name]) => name === own)
    .map(([, , , bound]) => Number(bound))
    .filter(isFinite);
}

export function front() {
  $("front").hidden = !((state.settings && state.settings.objectives) || []).length;
  if ($("front").hidden || !inView("front")) return;
  const all = state.front ? placed() : [],
    none = !state.front || !state.front.trials.length;
  $("front-note").textContent = none ? "No valid trial was completed, so there is no front yet." : frontInWords(all);
  $("front-problems").replaceChildren(...((state.front && state.front.problems) || []).map((text) => element("li", text)));
  $("front-picture-box").hidden = !all.length;
  $("front-growth-box").hidden = none;
  offerObjectives();
  if (all.length) frontPicture(all);
  if (!none) growth();
}

function frontInWords(all) {
  const { trials, safe } = state.front,
    stopped = all.filter(({ kind }) => kind === "stopped").length,
    names = objectives()
      .map(({ name }) => name)
      .join(", ");
  return (
    `${trials.length === 1 ? "One trial is" : `${whole(trials.length)} trials are`} on the front of ${names}: no other trial is at least as good in all objectives.` +
    (stopped
      ? ` ${whole(stopped)} were stopped, and appear hollow at their forecasts with 90 % intervals. Expected coverage: ${(100 * safe).toFixed(1)} % of the front.`
      : "") +
    " The other plot shows the hypervolume, the fraction of the space of all completed trials' values that the front dominates. Each dot is a trial that was on the front when it ended."
  );
}

// The axes can be chosen where there are more than two objectives.
function offerObjectives() {
  const names = objectives().map(({ name }) => name);
  $("front-axes").hidden = names.length < 3;
  for (const [id, otherwise] of /** @type {[string, number][]} */ ([
    ["front-x", 1],
    ["front-y", 0],
  ])) {
    if ([...$(id).options].map((option) => option.text).join() === names.join()) continue;
    $(id).replaceChildren(...names.map((name, at) => new Option(name, String(at))));
    $(id).value = names.length ? otherwise : "";
  }
}

// The scale of an objective, wide enough for its limits.
function objectiveScale(at, all) {
  const bounds = limitsOf(at),
    held = at === 0 ? results() : null,
    values = [...(held ? [held.low, held.high] : all.map(({ values }) => values[at])), ...bounds];
  const low = Math.min(...values),
    high = Math.max(...values),
    log = low > 0 && high > LOG_FROM * low;
  if (low === high) return between(low - (Math.abs(low) / 2 || 1), high + (Math.abs(high) / 2 || 1));
  const pad = log ? (high / low) ** 0.04 : (high - low) * 0.05;
  return log ? between(low / pad, high * pad, true) : between(low - pad, high + pad);
}

function frontPicture(all) {
  const { pen, width, height } = canvas("front-picture"),
    [left, right, top, bottom] = [64, 16, 14, 42],
    [across, up] = [Number($("front-x").value), Number($("front-y").value)];
  const [sx, sy] = [across, up].map((at) => objectiveScale(at, all)),
    x = (value) => left + (width - left - right) * sx.place(value),
    y = (value) => top + (height - top - bottom) * (1 - sy.place(value));
  const area = { left, right: width - right, top, bottom: height - bottom };
  axes(pen, sx, sy, area, /** @type {[string, string]} */ ([across, up].map((at) => objectives()[at].name)));
  /** @type {[number, (bound: number) => number[]][]} */
  const lines = [
    [across, (bound) => [x(bound), area.top, x(bound), area.bottom]],
    [up, (bound) => [area.left, y(bound), area.right, y(bound)]],
  ];
  for (const [at, line] of lines)
    for (const bound of limitsOf(at)) {
      const [x1, y1, x2, y2] = line(bound);
      pen.strokeStyle = color("failed");
      pen.lineWidth = 1.4;
      pen.setLineDash([5, 4]);
      pen.beginPath();
      pen.moveTo(x1, y1);
      pen.lineTo(x2, y2);
      pen.stroke();
      pen.setLineDash([]);
      written(pen, `limit ${number(bound)}`, Math.min(x2 - 4, area.right - 4), at === up && y1 > area.top + 20 ? y1 - 5 : y1 + 12, "right", color("failed"));
    }
  const own = all.filter(({ kind }) => kind === "front"),
    at = ({ values }) => /** @type {[number, number]} */ ([x(values[across]), y(values[up])]);
  if (objectives().length === 2)
    stairs(
      pen,
      own.map(at).sort(([a], [b]) => (isSmallBetter(across) ? 1 : -1) * (a - b)),
      isSmallBetter(up) ? area.top : area.bottom,
      isSmallBetter(across) ? area.right : area.left,
    );
  pen.lineWidth = 1;
  pen.globalAlpha = 0.45;
  for (const { trial, values, interval } of all.slice(0, MOST_DOTS))
    if (interval && inSight(trial)) {
      pen.strokeStyle = shadeOf(trial);
      pen.beginPath();
      if (up === 0) {
        pen.moveTo(x(values[across]), y(interval[0]));
        pen.lineTo(x(values[across]), y(interval[1]));
      } else if (across === 0) {
        pen.moveTo(x(interval[0]), y(values[up]));
        pen.lineTo(x(interval[1]), y(values[up]));
      }
      pen.stroke();
    }
  pen.globalAlpha = 1;
  const line = ({ values, interval, kind }) =>
    `${kind === "front" ? "on the front" : kind}: ${objectives()
      .map(({ name }, i) => `${name} ${number(values[i])}${i === 0 && interval ? " (forecast)" : ""}`)
      .join(", ")}`;
  drawDots(
    pen,
    "front-picture",
    all.slice(-MOST_DOTS).map((one) => ({ trial: one.trial, left: at(one)[0], top: at(one)[1], line: line(one) })),
  );
  pen.fillStyle = color("best");
  for (const one of own)
    if (inSight(one.trial)) {
      pen.beginPath();
      pen.arc(...at(one), 4.5, 0, 7);
      pen.fill();
    }
  $("front-picture").setAttribute(
    "aria-label",
    `The front, ${objectives()[up].name} against ${objectives()[across].name}: ${
      own
        .slice(0, 12)
        .map(({ trial, values }) => `trial ${trial.id} ${number(values[up])} at ${number(values[across])}`)
        .join("; ") || "no trial yet"
    }${own.length > 12 ? `; and ${own.length - 12} more` : ""}`,
  );
}

// The edge of what the front dominates: the points from the best across to the worst, then to the worst corners.
function stairs(pen, points, floor, end) {
  if (!points.length) return;
  pen.strokeStyle = color("best");
  pen.lineWidth = 1.6;
  pen.globalAlpha = 0.7;
  pen.beginPath();
  pen.moveTo(points[0][0], floor);
  points.forEach(([left, top], i) => {
    if (i) pen.lineTo(left, points[i - 1][1]);
    pen.lineTo(left, top);
  });
  pen.lineTo(end, points[points.length - 1][1]);
  pen.stroke();
  pen.globalAlpha = 1;
}

function axes(pen, sx, sy, { left, right, top, bottom }, [across, up]) {
  pen.strokeStyle = color("line");
  pen.fillStyle = color("soft");
  pen.lineWidth = 1;
  pen.textAlign = "right";
  for (const { text, place } of sy.ticks) {
    const at = top + (bottom - top) * (1 - place);
    pen.beginPath();
    pen.moveTo(left, at);
    pen.lineTo(right, at);
    pen.stroke();
    pen.fillText(text, left - 6, at + 4);
  }
  pen.textAlign = "center";
  for (const { text, place } of sx.ticks) {
    const at = left + (right - left) * place;
    pen.beginPath();
    pen.moveTo(at, bottom);
    pen.lineTo(at, bottom + 4);
    pen.stroke();
    pen.fillText(text, at, bottom + 17);
  }
  pen.fillText(shortened(pen, across + (sx.log ? " (log)" : ""), right - left), (left + right) / 2, bottom + 36);
  pen.save();
  pen.translate(12, (top + bottom) / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(shortened(pen, up + (sy.log ? " (log)" : ""), bottom - top), 0, 0);
  pen.restore();
}

// How the hypervolume grew.
function growth() {
  const { pen, width, height } = canvas("front-growth"),
    steps = state.front.growth,
    end = Math.max(state.totals.epochs.spent, steps[steps.length - 1].epochs) || 1;
  const { x, y } = frame(pen, { left: 58, right: 14, top: 12, bottom: 36, width, height, low: 0, high: 1, end, label: "epochs spent", whole: false });
  pen.strokeStyle = color("best");
  pen.lineWidth = 2.5;
  pen.beginPath();
  pen.moveTo(x(steps[0].epochs), y(0));
  steps.forEach(({ epochs, hypervolume }, i) => {
    if (i) pen.lineTo(x(epochs), y(steps[i - 1].hypervolume));
    pen.lineTo(x(epochs), y(hypervolume));
  });
  pen.lineTo(x(end), y(state.front.hypervolume));
  pen.stroke();
  const dot = ({ trial, epochs, hypervolume }) => ({
    trial: state.trials.get(trial),
    left: x(epochs),
    top: y(hypervolume),
    line: `on the front at its end, after ${whole(epochs)} epochs: hypervolume ${number(hypervolume)}`,
  });
  drawDots(
    pen,
    "front-growth",
    steps.map(dot).filter(({ trial }) => trial),
  );
  $("front-growth").setAttribute("aria-label", `The hypervolume against epochs spent: ${number(state.front.hypervolume)} after ${whole(end)}`);
}

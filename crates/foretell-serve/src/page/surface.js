// The results as a surface over the parameters: a slice along each, a contour over two, with how unsure they are.
import { $, address, better, number, outcome, shown, source, study, uncertain } from "./state.js";
import { color, shades, toned } from "./colors.js";
import { chosen } from "./choice.js";
import { element } from "./elements.js";
import { canvas, frame, shortened, ticks } from "./picture.js";
import { results, scale } from "./scales.js";
import { inView } from "./addresses.js";
import { inSight } from "./filter.js";
import { dotsOf, dotted, drawDots, findable } from "./dots.js";
import { axesNow, known } from "./parameters.js";
const CENTRAL = 1.645; // so many standard deviations on either side hold 90 %
Object.assign(known, { slices: [], through: null, contours: new Map(), isPairChosen: false });

const pair = (x, y) => JSON.stringify([x, y]);

// What the server, or the page's own data, has of the surface.
export function surface(found) {
  if (!found) {
    known.isPairChosen = false;
    known.slices = [];
    known.through = null;
    known.contours = new Map();
    offerPairs();
    return;
  }
  if (source) known.contours = new Map(); // others are of before
  known.slices = found.slices;
  known.through = found.through;
  for (const contour of found.contours) known.contours.set(pair(contour.x, contour.y), contour);
  offerPairs();
  slices();
  contour();
}

export function slices() {
  $("slices").hidden = !known.slices.length;
  if ($("slices").hidden || !inView("slices")) return;
  const order = axesNow().reverse(),
    shownSlices = known.slices.filter((slice) => order.includes(slice.name)).sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name)),
    box = $("slice-box");
  if (box.children.length !== shownSlices.length)
    box.replaceChildren(
      ...shownSlices.map((_, i) => {
        const figure = element("figure", null),
          frame = element("div", null, { class: "canvas" });
        frame.append(element("canvas", null, { id: "slice-" + i, role: "img" }));
        figure.append(frame);
        return figure;
      }),
    );
  shownSlices.forEach((slice, i) => {
    findable("slice-" + i);
    oneSlice("slice-" + i, slice);
  });
  $("slices-note").textContent =
    `The line shows the expected score if the other parameters are those of trial ${known.through}, the best so far. The band is its 90 % interval. Dots are trials; hollow ones were stopped, and appear at their forecasts.`;
}

function oneSlice(id, { name, values, means, sds }) {
  const { pen, width, height } = canvas(id),
    own = scale(name),
    held = results(),
    pad = (held.high - held.low) * 0.06,
    low = held.low - pad,
    high = held.high + pad;
  const side = own.kinds ? (width - 72) / (2 * own.kinds.length + 1) : 8,
    {
      x: across,
      y,
      clip,
      holds,
    } = frame(pen, {
      left: 52,
      right: 12,
      top: 12,
      bottom: 40,
      width,
      height,
      low,
      high,
      end: 1,
      label: shortened(pen, name + (own.log ? " (log)" : ""), width - 80),
      bare: true,
    });
  const x = (value) => {
    const [from, to] = [across(0) + side, across(1) - side];
    return from + (to - from) * own.place(value);
  };
  const wide = side * 0.7,
    jitter = (trial) => (own.kinds ? (((trial.id * 0.618034) % 1) - 0.5) * wide * 1.4 : 0);
  pen.fillStyle = color("soft");
  pen.textAlign = "center";
  for (const { text, place } of own.ticks)
    pen.fillText(shortened(pen, text, (width - 60) / own.ticks.length), across(0) + side + (across(1) - across(0) - 2 * side) * place, height - 22);
  const trials = dotsOf((trial) => trial.configuration[name] !== null && trial.configuration[name] !== undefined && holds(outcome(trial).value)).slice(-1000);
  clip();
  drawDots(
    pen,
    id,
    trials.map((trial) => ({ trial, left: x(trial.configuration[name]) + jitter(trial), top: y(outcome(trial).value) })),
    2.4,
  );
  const reach = (i, sign) => y(means[i] + sign * CENTRAL * sds[i]);
  pen.fillStyle = color("running");
  pen.strokeStyle = color("running");
  pen.lineWidth = 2;
  if (own.kinds)
    values.forEach((value, i) => {
      pen.globalAlpha = 0.22;
      pen.fillRect(x(value) - wide, reach(i, 1), 2 * wide, Math.max(1, reach(i, -1) - reach(i, 1)));
      pen.globalAlpha = 1;
      pen.beginPath();
      pen.moveTo(x(value) - wide, y(means[i]));
      pen.lineTo(x(value) + wide, y(means[i]));
      pen.stroke();
    });
  else {
    pen.globalAlpha = 0.22;
    pen.beginPath();
    values.forEach((value, i) => pen.lineTo(x(value), reach(i, 1)));
    [...values.keys()].reverse().forEach((i) => pen.lineTo(x(values[i]), reach(i, -1)));
    pen.fill();
    pen.globalAlpha = 1;
    pen.beginPath();
    values.forEach((value, i) => pen.lineTo(x(value), y(means[i])));
    pen.stroke();
  }
  pen.restore();
  const best = means.reduce((found, mean, i) => (better(mean, means[found]) ? i : found), 0);
  $(id).setAttribute("aria-label", `Scores along ${name}: the best expected score is ${uncertain(means[best], sds[best])} at ${shown(values[best])}`);
}

// The parameters that a contour can be over: any two; in a file those that it has.
function offerPairs() {
  const names =
    source || !known.contours.size ? known.slices.map((slice) => slice.name) : [...new Set([...known.contours.values()].flatMap(({ x, y }) => [x, y]))];
  const order = axesNow().reverse(),
    sorted = names.filter((name) => order.includes(name)).sort((a, b) => order.indexOf(a) - order.indexOf(b));
  $("contours").hidden = sorted.length < 2;
  for (const [id, otherwise] of /** @type {[string, number][]} */ ([
    ["contour-x", 0],
    ["contour-y", 1],
  ])) {
    const select = $(id),
      before = select.value;
    if ([...select.options].map((option) => option.value).join() === sorted.join()) continue;
    select.replaceChildren(...sorted.map((name) => new Option(name, name)));
    select.value = known.isPairChosen && sorted.includes(before) ? before : sorted[otherwise] || "";
  }
}

// The contour over the two chosen parameters, which may be known the other way round.
function chosenContour() {
  const x = $("contour-x").value,
    y = $("contour-y").value,
    direct = known.contours.get(pair(x, y)),
    turned = known.contours.get(pair(y, x)),
    over = (rows) => rows[0].map((_, i) => rows.map((row) => row[i]));
  if (direct || !turned) return direct || null;
  return { x, y, x_values: turned.y_values, y_values: turned.x_values, means: over(turned.means), sds: over(turned.sds) };
}

export function contour() {
  if ($("contours").hidden || !inView("contours")) return;
  const found = chosenContour(),
    same = $("contour-x").value === $("contour-y").value;
  $("contours-note").textContent = same
    ? "Choose two different parameters."
    : found
      ? ""
      : askedFor && askedFor === answered
        ? "One of the two does not apply to the best trial, or this file contains no contour of them."
        : "…";
  for (const id of ["contour", "contour-spread"]) {
    canvas(id);
    dotted.set(id, []);
  }
  if (!found) {
    if (!same) askContour();
    return;
  }
  const sds = found.sds.flat(),
    least = Math.min(...sds),
    most = Math.max(...sds);
  plane("contour", found, (mean) => shades()[toned(mean)], found.means, true);
  plane(
    "contour-spread",
    found,
    (sd) =>
      color("running") +
      Math.round(20 + 200 * (most > least ? (sd - least) / (most - least) : 0))
        .toString(16)
        .padStart(2, "0"),
    found.sds,
    false,
  );
  $("contours-note").textContent =
    `Left: the expected score if the other parameters are those of trial ${known.through}. Right: its standard deviation, from ${number(least)} to ${number(most)}; bluer areas are less certain. Dots are trials.`;
  $("contour").setAttribute(
    "aria-label",
    `The expected score over ${found.x} and ${found.y}, from ${number(Math.min(...found.means.flat()))} to ${number(Math.max(...found.means.flat()))}`,
  );
  $("contour-spread").setAttribute("aria-label", `Its standard deviation over ${found.x} and ${found.y}, from ${number(least)} to ${number(most)}`);
}

// A map of `cells`, a row for each value of y, with the trials on it.
function plane(id, { x: across, y: up, x_values: xs, y_values: ys }, tint, cells, lined) {
  const { pen, width, height } = canvas(id),
    [left, right, top, bottom] = [70, 78, 12, 40],
    [sx, sy] = [scale(across), scale(up)];
  const place = (own, i, count, share) => (own.kinds ? (i + 0.5) / count : share),
    kindsOf = (own) => (own.kinds ? own.kinds.length : 0);
  const x = (value) => left + (width - left - right) * (sx.kinds ? place(sx, sx.kinds.indexOf(String(value)), kindsOf(sx)) : sx.place(value));
  const y = (value) => top + (height - top - bottom) * (1 - (sy.kinds ? place(sy, sy.kinds.indexOf(String(value)), kindsOf(sy)) : sy.place(value)));
  const edges = (own, values, at, low, high) =>
    values.map((value, i) =>
      own.kinds
        ? [at(value) - (high - low) / (2 * kindsOf(own)), at(value) + (high - low) / (2 * kindsOf(own))]
        : [i ? (at(values[i - 1]) + at(value)) / 2 : low, i + 1 < values.length ? (at(value) + at(values[i + 1])) / 2 : high],
    );
  const columns = edges(sx, xs, x, left, width - right),
    rows = edges(sy, ys, y, height - bottom, top);
  cells.forEach((row, j) =>
    row.forEach((cell, i) => {
      pen.fillStyle = tint(cell);
      const [a, b] = columns[i],
        [c, d] = rows[j];
      const [l, t, r, u] = [Math.min(a, b), Math.min(c, d), Math.max(a, b), Math.max(c, d)].map(Math.round);
      pen.fillRect(l, t, r - l, u - t);
    }),
  );
  colorScale(pen, { left: width - right + 12, top, bottom: height - bottom }, tint, cells);
  if (lined && !sx.kinds && !sy.kinds) isolines(pen, xs.map(x), ys.map(y), cells);
  pen.fillStyle = color("soft");
  pen.textAlign = "center";
  for (const { text, place: share } of sx.ticks)
    pen.fillText(shortened(pen, text, 70), sx.kinds ? x(text) : left + (width - left - right) * share, height - 22);
  pen.fillText(across + (sx.log ? " (log)" : ""), left + (width - left - right) / 2, height - 5);
  pen.textAlign = "right";
  for (const { text, place: share } of sy.ticks)
    pen.fillText(shortened(pen, text, left - 10), left - 6, (sy.kinds ? y(text) : top + (height - top - bottom) * (1 - share)) + 4);
  pen.save();
  pen.translate(12, top + (height - top - bottom) / 2);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "center";
  pen.fillText(up + (sy.log ? " (log)" : ""), 0, 0);
  pen.restore();
  const on = ({ configuration: c }) => [across, up].every((name) => c[name] !== null && c[name] !== undefined),
    wide = (own, size) => (own.kinds ? (size / kindsOf(own)) * 0.6 : 0);
  const shift = (trial, by, size, own) => (((trial.id * by) % 1) - 0.5) * wide(own, size),
    dots = dotsOf(on)
      .slice(-600)
      .map((trial) => ({
        trial,
        left: x(trial.configuration[across]) + shift(trial, 0.618034, width - left - right, sx),
        top: y(trial.configuration[up]) + shift(trial, 0.754878, height - top - bottom, sy),
      }));
  dotted.set(id, dots);
  for (const { trial, left: a, top: b } of dots)
    if (inSight(trial)) {
      pen.beginPath();
      pen.arc(a, b, trial.id === chosen ? 5 : 2.6, 0, 7);
      pen.fillStyle = color("paper");
      pen.fill();
      pen.strokeStyle = color("ink");
      pen.lineWidth = trial.id === known.through || trial.id === chosen ? 2.5 : 0.8;
      pen.stroke();
    }
}

// What the colors mean: a bar from the least to the most of the cells, with round values beside it.
function colorScale(pen, { left, top, bottom }, tint, cells) {
  const flat = cells.flat(),
    low = Math.min(...flat),
    most = Math.max(...flat),
    high = most > low ? most : low + 1,
    at = (value) => bottom - ((bottom - top) * (value - low)) / (high - low);
  for (let row = top; row < bottom; row++) {
    pen.fillStyle = tint(low + ((high - low) * (bottom - row)) / (bottom - top));
    pen.fillRect(left, row, 12, 1);
  }
  pen.strokeStyle = color("line");
  pen.lineWidth = 1;
  pen.strokeRect(left, top, 12, bottom - top);
  pen.fillStyle = color("soft");
  pen.textAlign = "left";
  for (const value of ticks(low, high, 4)) pen.fillText(number(value), left + 17, at(value) + 4);
}

// Lines of the same result, by marching squares.
function isolines(pen, xs, ys, cells) {
  const flat = cells.flat(),
    levels = ticks(Math.min(...flat), Math.max(...flat) + 1e-12, 7);
  pen.strokeStyle = color("paper");
  pen.lineWidth = 1;
  pen.globalAlpha = 0.8;
  for (const level of levels) {
    pen.beginPath();
    for (let j = 0; j + 1 < ys.length; j++)
      for (let i = 0; i + 1 < xs.length; i++) {
        const corners = [
            [i, j],
            [i + 1, j],
            [i + 1, j + 1],
            [i, j + 1],
          ],
          crossed = [];
        corners.forEach(([a, b], k) => {
          const [c, d] = corners[(k + 1) % 4],
            from = cells[b][a],
            to = cells[d][c];
          if (from < level === to < level) return;
          const part = (level - from) / (to - from);
          crossed.push([xs[a] + (xs[c] - xs[a]) * part, ys[b] + (ys[d] - ys[b]) * part]);
        });
        for (let k = 0; k + 1 < crossed.length; k += 2) {
          pen.moveTo(...crossed[k]);
          pen.lineTo(...crossed[k + 1]);
        }
      }
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

// Asks the server for the slices, and for the contour that is looked at.
export async function askSurface() {
  if (!source) return;
  const x = $("contour-x").value,
    y = $("contour-y").value,
    query = x && y && x !== y ? { x, y } : {};
  const of = study,
    reply = await fetch(address(`/api/studies/${encodeURIComponent(of)}/surface`, query)).catch(() => null);
  if (reply && reply.ok && of === study) surface(await reply.json());
}

let askedFor = "",
  answered = "";
async function askContour() {
  const x = $("contour-x").value,
    y = $("contour-y").value,
    wanted = study + pair(x, y) + known.through;
  if (!source || !x || !y || askedFor === wanted) return;
  askedFor = wanted;
  await askSurface();
  answered = wanted;
  contour();
}

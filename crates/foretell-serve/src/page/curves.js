// The learning curves: all of them, or quantile bands with the running and the best ones where there are too many.
const SINGLY = 2000; // so many curves are drawn singly
const LEADERS = 50; // so many of the best are, where there are more
const FANS = 20; // so many forecasts are drawn
const plot = { trials: [], x: null, y: null, end: 1 };

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

function canvas(id) {
  const element = $(id), scale = window.devicePixelRatio || 1, box = element.getBoundingClientRect();
  element.width = box.width * scale; element.height = box.height * scale;
  const pen = element.getContext("2d");
  pen.scale(scale, scale); pen.font = "12px system-ui, sans-serif"; pen.lineJoin = "round";
  return { pen, width: box.width, height: box.height };
}

// Round numbers from low to high, about `count` of them.
function ticks(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw)), unit = [1, 2, 5, 10].find((u) => u * power >= raw) * power;
  const first = Math.ceil(low / unit), found = [];
  for (let i = first; i * unit <= high + unit * 1e-9 && found.length < 50; i++) found.push(+(i * unit).toPrecision(12));
  return found;
}

function frame(pen, { left, right, top, bottom, width, height, low, high, end, label }) {
  const x = (step) => left + (width - left - right) * step / end;
  const y = (value) => top + (height - top - bottom) * (1 - (Math.min(high, Math.max(low, value)) - low) / (high - low));
  pen.strokeStyle = colour("line"); pen.fillStyle = colour("soft"); pen.lineWidth = 1; pen.textAlign = "right";
  for (const value of ticks(low, high, Math.max(2, (height - top - bottom) / 45))) {
    pen.beginPath(); pen.moveTo(left, y(value)); pen.lineTo(width - right, y(value)); pen.stroke();
    pen.fillText(number(value), left - 6, y(value) + 4);
  }
  pen.textAlign = "center";
  for (const step of ticks(0, end, Math.max(2, Math.min(end, (width - left - right) / 90))))
    if (Number.isInteger(step)) pen.fillText(String(step), x(step), height - bottom + 16);
  pen.fillText(label, left + (width - left - right) / 2, height - 3);
  return { x, y };
}

// The range that holds all but the wildest of at most 20,000 values.
function range(trials) {
  let count = 0;
  for (const trial of trials) count += trial.values.length;
  const every = Math.max(1, Math.ceil(count / 20000)), values = [];
  let at = 0;
  for (const trial of trials) for (const value of trial.values) if (at++ % every === 0) values.push(value);
  const sorted = Float64Array.from(values).sort();
  let low = sorted[Math.floor(sorted.length * 0.01)], high = sorted[Math.ceil((sorted.length - 1) * 0.99)];
  for (const trial of trials) if (trial.state === "running" && trial.forecast) { low = Math.min(low, trial.forecast.mean); high = Math.max(high, trial.forecast.mean); }
  if (!(low < high)) { low -= 0.5; high += 0.5; }
  const pad = (high - low) * 0.05;
  return [low - pad, high + pad];
}

function curves(leader) {
  const { pen, width, height } = canvas("curves");
  const all = [...state.trials.values()].filter((trial) => trial.last !== null);
  canvas("hover"); $("tip").hidden = true; plot.trials = [];
  describe(all, leader);
  if (!all.length) { pen.fillStyle = colour("soft"); pen.fillText("no reports yet", 20, height / 2); return; }
  const [low, high] = range(all);
  let end = state.spec ? state.spec.epochs : 1;
  for (const trial of all) end = Math.max(end, trial.steps[trial.steps.length - 1]);
  const narrow = width < 560;
  const { x, y } = frame(pen, { left: narrow ? 44 : 58, right: narrow ? 14 : 70, top: 12, bottom: 36, width, height, low, high, end, label: "epoch" });
  const many = all.length > SINGLY, single = many ? few(all, leader) : all;
  Object.assign(plot, { trials: single, x, y, end });
  $("bands-legend").hidden = !many;
  if (many) {
    const rest = all.filter((trial) => trial.state !== "running");
    bands(pen, rest, end, x, y);
    $("bands-legend").textContent = `bands: the middle 50 % and 90 % of the ${rest.length} trials that run no more, at each epoch that they reached`;
  }
  lines(pen, single, leader, x, y, many);
  for (const trial of single.filter((trial) => trial.state === "running").slice(-FANS)) fan(pen, trial, x, y, end);
  if (leader) {
    pen.strokeStyle = colour("best"); pen.lineWidth = 2.5; path(pen, [leader], x, y);
    pen.fillStyle = colour("best"); pen.textAlign = narrow ? "right" : "left";
    const at = leader.steps[leader.steps.length - 1], place = y(worth(leader));
    pen.fillText("trial " + leader.id, x(at) + (narrow ? -2 : 8), narrow ? Math.max(12, place - 8) : place + 4);
  }
  const picked = state.trials.get(chosen);
  if (picked && picked.last !== null) { fan(pen, picked, x, y, end); pen.strokeStyle = colour("ink"); pen.lineWidth = 2.5; path(pen, [picked], x, y); }
}

function describe(all, leader) {
  const best = leader ? `; the best is trial ${leader.id} with ${number(worth(leader))}` : "";
  $("curves").setAttribute("aria-label", `Learning curves of ${all.length} trials${best}. The table below has their values.`);
}

// What is drawn singly where there are many: the running, the best, the chosen one.
function few(all, leader) {
  const best = all.filter((trial) => ended(trial)).sort((a, b) => better(worth(a), worth(b)) ? -1 : 1).slice(0, LEADERS);
  return [...new Set([...best, ...all.filter((trial) => trial.state === "running"), ...(leader ? [leader] : []), ...all.filter((trial) => trial.id === chosen)])];
}

function lines(pen, trials, leader, x, y, many) {
  const faint = Math.max(0.12, Math.min(0.8, 60 / trials.length));
  for (const kind of ["stopped", "paused", "failed", "completed", "running"]) {
    const running = kind === "running";
    pen.strokeStyle = colour(kind === "paused" ? "stopped" : kind); pen.globalAlpha = running ? 0.9 : many ? 0.45 : faint; pen.lineWidth = running ? 1.6 : 1;
    const own = trials.filter((trial) => trial.state === kind && trial !== leader);
    // some curves a path: fast, and crossing curves still darken each other
    for (let i = 0; i < own.length; i += 25) path(pen, own.slice(i, i + 25), x, y);
  }
  pen.globalAlpha = 1;
}

function path(pen, trials, x, y) {
  pen.beginPath();
  for (const { steps, values, gaps } of trials) {
    let gap = true, next = 0;
    for (let i = 0; i < steps.length; i++) {
      // steps at which the value was not finite are left out
      while (gaps[next] < steps[i]) { gap = true; next += 1; }
      if (gap) pen.moveTo(x(steps[i]), y(values[i])); else pen.lineTo(x(steps[i]), y(values[i]));
      if (gap && steps.length === 1) pen.lineTo(x(steps[i]) + 2, y(values[i]));
      gap = false;
    }
  }
  pen.stroke();
}

// A forecast: from the last value to the central 90 % of where it may end.
function fan(pen, trial, x, y, end) {
  const { forecast, steps } = trial;
  if (!forecast) return;
  const from = steps.length - 1, step = steps[from], to = x(Math.max(trial.until || end, step));
  const tint = colour(trial.id === chosen ? "ink" : "running");
  pen.fillStyle = tint; pen.globalAlpha = 0.1; pen.beginPath();
  pen.moveTo(x(step), y(trial.last)); pen.lineTo(to, y(forecast.interval[0])); pen.lineTo(to, y(forecast.interval[1])); pen.fill();
  pen.globalAlpha = 0.8; pen.strokeStyle = tint; pen.lineWidth = 1.2; pen.setLineDash([4, 3]); pen.beginPath();
  pen.moveTo(x(step), y(trial.last)); pen.lineTo(to, y(forecast.mean)); pen.stroke(); pen.setLineDash([]);
  pen.beginPath(); pen.moveTo(to, y(forecast.interval[0])); pen.lineTo(to, y(forecast.interval[1])); pen.stroke();
  pen.beginPath(); pen.arc(to, y(forecast.mean), 3, 0, 7); pen.fill(); pen.globalAlpha = 1;
}

let banded = { records: -1, at: 0, study: null, columns: [] };
function bands(pen, trials, end, x, y) {
  // worked out at most every two seconds
  if (banded.study !== state || (banded.records !== state.records && performance.now() - banded.at > 2000))
    banded = { records: state.records, at: performance.now(), study: state, columns: quantiles(trials, end) };
  for (const [low, high, alpha] of [[0, 4, 0.16], [1, 3, 0.26]]) {
    pen.fillStyle = colour("stopped"); pen.globalAlpha = alpha; pen.beginPath();
    banded.columns.forEach(({ step, at }, i) => i ? pen.lineTo(x(step), y(at[low])) : pen.moveTo(x(step), y(at[low])));
    [...banded.columns].reverse().forEach(({ step, at }) => pen.lineTo(x(step), y(at[high])));
    pen.fill();
  }
  pen.globalAlpha = 1; pen.strokeStyle = colour("stopped"); pen.lineWidth = 1.4; pen.beginPath();
  banded.columns.forEach(({ step, at }, i) => i ? pen.lineTo(x(step), y(at[2])) : pen.moveTo(x(step), y(at[2])));
  pen.stroke();
}

// The 5, 25, 50, 75 and 95 % quantiles at up to 200 places.
function quantiles(trials, end) {
  const width = Math.max(1, Math.ceil(end / 200)), columns = new Map();
  for (const { steps, values } of trials) for (let i = 0; i < steps.length; i++) {
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
function nearest(event) {
  const box = $("curves").getBoundingClientRect(), [left, top] = [event.clientX - box.left, event.clientY - box.top];
  let found = null, least = 24;
  for (const trial of plot.trials) {
    const { steps, values } = trial;
    let [low, high] = [0, steps.length - 1];
    while (low < high) { const middle = (low + high) >> 1; if (plot.x(steps[middle]) < left) low = middle + 1; else high = middle; }
    for (const i of [low - 1, low]) {
      if (i < 0) continue;
      const away = Math.hypot(plot.x(steps[i]) - left, plot.y(values[i]) - top);
      if (away < least) { least = away; found = { trial, i }; }
    }
  }
  return found;
}

function hover(event) {
  const found = nearest(event), { pen, width } = canvas("hover"), tip = $("tip");
  tip.hidden = !found;
  $("curves").classList.toggle("pick", Boolean(found));
  if (!found) return;
  const { trial, i } = found, [left, top] = [plot.x(trial.steps[i]), plot.y(trial.values[i])];
  pen.strokeStyle = colour("ink"); pen.lineWidth = 2; path(pen, [trial], plot.x, plot.y);
  pen.fillStyle = colour("ink"); pen.beginPath(); pen.arc(left, top, 4, 0, 7); pen.fill();
  tip.textContent = `trial ${trial.id}, epoch ${trial.steps[i]}: ${number(trial.values[i])} · ${named(trial)}`;
  tip.style.left = Math.min(left + 12, width - 230) + "px"; tip.style.top = Math.max(0, top - 34) + "px";
}

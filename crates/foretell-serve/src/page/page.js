"use strict";
// The page is a fold over a study's records, as the study itself is.
const $ = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search).get("token");
const withToken = (path) => path + (query ? "?token=" + encodeURIComponent(query) : "");
const ROWS = 500; // rows that are drawn at a time
let state, sort = { key: "score", down: true }, chosen = null, due = false, source = null;

function anew() { return { spec: null, trials: new Map(), records: 0 }; }

function apply(record) {
  state.records += 1;
  const trial = state.trials.get(record.trial);
  switch (record.event) {
    case "created": state.spec = record.study; break;
    case "started":
      if (trial) { trial.state = "running"; trial.until = record.until; }
      else state.trials.set(record.trial, { id: record.trial, configuration: record.configuration, until: record.until, state: "running", points: [], decisions: [], why: "" });
      break;
    case "reported":
      if (!trial) break;
      trial.points.push([record.step, record.value]);
      trial.extra = epochs(record, "failed_epochs") ?? trial.extra ?? 0;
      trial.trainedEpochs = epochs(record, "trained_epochs") ?? trial.trainedEpochs;
      break;
    case "decided":
      if (!trial) break;
      trial.decisions.push(record);
      if (record.action === "stop" && !record.shadow) { trial.state = "stopped"; trial.why = because(record.reason); }
      break;
    case "paused": case "completed": if (trial) trial.state = record.event; break;
    case "failed": if (trial) { trial.state = "failed"; trial.why = record.reason; } break;
  }
}

const words = { burn_in: "burn-in", no_incumbent: "nothing to compare with", may_win: "may win", will_not_win: "will not win", end_known: "its end is known", awaiting_confirmation: "will not win, if the next check agrees", below_median: "below the median", no_improvement: "no improvement", exempt: "exempt from stopping", diverged: "diverged", already_stopped: "would have been stopped before" };
const because = (reason) => typeof reason === "string" ? words[reason] || reason : reason && reason.no_forecast ? "no forecast: " + reason.no_forecast : "";
const number = (x) => x === null || x === undefined || !isFinite(x) ? "–" : x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6) ? x.toExponential(3) : String(+x.toFixed(4));
const shown = (value) => typeof value === "number" ? number(value) : value === null ? "–" : String(value);
const minimizes = () => String(state.spec && state.spec.direction).toLowerCase() === "minimize";
const better = (a, b) => minimizes() ? a < b : a > b;
const finite = (trial) => trial.points.filter((point) => point[1] !== null);
const last = (trial) => { const points = finite(trial); return points.length ? points[points.length - 1][1] : null; };
const forecast = (trial) => { const with_ = trial.decisions.filter((d) => d.forecast); return with_.length ? with_[with_.length - 1].forecast : null; };
function best() {
  let leader = null;
  for (const trial of state.trials.values()) if (trial.state === "completed" && last(trial) !== null && (!leader || better(last(trial), last(leader)))) leader = trial;
  return leader;
}

// Epochs as `Trial::cost` and `Trial::cost_to` count them: trained ones and those of failed attempts; without stopping, those that a
// stopped trial had left, too, unless it diverged or had given up.
function epochs(record, name) { const value = record.metrics && record.metrics[name]; return typeof value === "number" && value >= 0 ? Math.floor(value) : null; }
function trained(trial) {
  if (!trial.points.length) return 0;
  const step = trial.points[trial.points.length - 1][0];
  return step + (trial.points[0][0] === 0 && step < trial.until ? 1 : 0);
}
const cost = (trial) => Math.min(trial.trainedEpochs ?? Infinity, trained(trial)) + (trial.extra ?? 0);
function withoutStopping(trial) {
  const gaveUp = trial.trainedEpochs != null && trial.trainedEpochs < trained(trial);
  const stops = trial.state === "stopped" && trial.why !== words.diverged && !gaveUp;
  return cost(trial) + (stops ? Math.max(0, trial.until - trained(trial)) : 0);
}

function totals(leader) {
  const trials = [...state.trials.values()], count = (s) => trials.filter((t) => t.state === s).length;
  const spent = trials.reduce((sum, t) => sum + cost(t), 0);
  const full = trials.reduce((sum, t) => sum + withoutStopping(t), 0);
  const entries = [["best", leader ? number(last(leader)) + " (trial " + leader.id + ")" : "–"], ["trials", trials.length + (state.spec ? " of " + Math.max(state.spec.trials, trials.length) : "")], ["running", count("running")], ["trained to the end", count("completed")], ["stopped", count("stopped")], ["failed", count("failed")], ["epochs spent", spent], ["saved", full > 0 ? Math.round(100 * (1 - spent / full)) + " %" : "–"]];
  $("totals").replaceChildren(...entries.map(([name, value]) => { const div = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd"); dt.textContent = name; dd.textContent = value; div.append(dt, dd); return div; }));
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
function canvas(id) {
  const element = $(id), scale = window.devicePixelRatio || 1, box = element.getBoundingClientRect();
  element.width = box.width * scale; element.height = box.height * scale;
  const pen = element.getContext("2d"); pen.scale(scale, scale); pen.font = "12px system-ui, sans-serif";
  return { pen, width: box.width, height: box.height };
}

function curves(leader) {
  const { pen, width, height } = canvas("curves"), left = 58, right = 90, top = 12, bottom = 26;
  const trials = [...state.trials.values()].filter((t) => finite(t).length);
  if (!trials.length) { pen.fillStyle = colour("soft"); pen.fillText("no reports yet", left, height / 2); return; }
  const values = trials.flatMap((t) => finite(t).map((p) => p[1])).sort((a, b) => a - b);
  // a few wild values must not hide all others
  let low = values[Math.floor(values.length * 0.01)], high = values[Math.ceil((values.length - 1) * 0.99)];
  if (low === high) { low -= 0.5; high += 0.5; }
  const pad = (high - low) * 0.05; low -= pad; high += pad;
  const end = Math.max(1, state.spec ? state.spec.max_resource : 1, ...trials.map((t) => t.points[t.points.length - 1][0]));
  const x = (step) => left + (width - left - right) * step / end, y = (v) => top + (height - top - bottom) * (1 - (Math.min(high, Math.max(low, v)) - low) / (high - low));
  pen.strokeStyle = colour("line"); pen.fillStyle = colour("soft"); pen.lineWidth = 1;
  for (let i = 0; i <= 4; i++) { const v = low + (high - low) * i / 4; pen.beginPath(); pen.moveTo(left, y(v)); pen.lineTo(width - right, y(v)); pen.stroke(); pen.textAlign = "right"; pen.fillText(String(+v.toPrecision(3)), left - 6, y(v) + 4); }
  pen.textAlign = "center";
  for (let i = 0; i <= 5; i++) { const step = Math.round(end * i / 5); pen.fillText(String(step), x(step), height - 8); }
  const kinds = ["stopped", "paused", "failed", "completed", "running"], faint = Math.max(0.08, Math.min(0.8, 40 / trials.length));
  for (const kind of kinds) {
    pen.strokeStyle = colour(kind === "paused" ? "stopped" : kind); pen.globalAlpha = kind === "running" ? 0.9 : faint; pen.lineWidth = kind === "running" ? 1.6 : 1;
    for (const trial of trials) { if (trial.state === kind && trial !== leader) line(pen, trial, x, y); }
  }
  pen.globalAlpha = 1;
  for (const trial of trials.filter((t) => t.state === "running" || t.id === chosen).slice(0, 40)) fan(pen, trial, x(end), y);
  if (leader) { pen.strokeStyle = colour("best"); pen.lineWidth = 2.5; line(pen, leader, x, y); pen.fillStyle = colour("best"); pen.textAlign = "left"; pen.fillText("trial " + leader.id, x(end) + 8, y(last(leader)) + 4); }
  const picked = state.trials.get(chosen);
  if (picked) { pen.strokeStyle = colour("ink"); pen.lineWidth = 2; line(pen, picked, x, y); }
}
function line(pen, trial, x, y) {
  pen.beginPath();
  let gap = true;
  for (const [step, value] of trial.points) { if (value === null) { gap = true; continue; } if (gap) pen.moveTo(x(step), y(value)); else pen.lineTo(x(step), y(value)); gap = false; }
  pen.stroke();
}
function fan(pen, trial, at, y) {
  const f = forecast(trial);
  if (!f) return;
  pen.strokeStyle = colour("running"); pen.lineWidth = 1.5; pen.beginPath(); pen.moveTo(at, y(f.interval[0])); pen.lineTo(at, y(f.interval[1])); pen.stroke();
  pen.fillStyle = colour("running"); pen.beginPath(); pen.arc(at, y(f.mean), 3, 0, 7); pen.fill();
}

const plain = (value) => value !== null && typeof value === "object" ? Object.values(value)[0] : value;
function names() {
  const all = new Map();
  for (const trial of state.trials.values()) for (const [name, value] of Object.entries(trial.configuration)) { if (!all.has(name)) all.set(name, new Set()); all.get(name).add(String(plain(value))); }
  return [...all].filter(([, values]) => values.size > 1).map(([name]) => name);
}

function parallel(leader) {
  const { pen, width, height } = canvas("parallel"), columns = names().slice(0, 8), trials = [...state.trials.values()].filter((t) => last(t) !== null);
  if (!columns.length || !trials.length) return;
  const axes = [...columns, state.spec ? state.spec.metric : "result"], left = 50, x = (i) => left + (width - 2 * left) * i / (axes.length - 1);
  const value = (t, i) => i < columns.length ? plain(t.configuration[columns[i]]) : last(t);
  const place = axes.map((_, i) => {
    const all = trials.map((t) => value(t, i)).filter((v) => v !== null && v !== undefined);
    if (!all.every((v) => typeof v === "number")) { const kinds = [...new Set(all.map(String))].sort(); return (v) => kinds.length < 2 ? 0.5 : kinds.indexOf(String(v)) / (kinds.length - 1); }
    const sorted = [...all].sort((a, b) => a - b), low = sorted[0], high = sorted[sorted.length - 1], log = i < columns.length && low > 0 && high / low > 100, f = log ? Math.log : (v) => v;
    return (v) => high === low ? 0.5 : (f(v) - f(low)) / (f(high) - f(low));
  });
  const y = (share) => 24 + (height - 48) * (1 - share);
  const draw = (trial) => { pen.beginPath(); axes.forEach((_, i) => { const v = value(trial, i); if (v === null || v === undefined) return; const to = y(place[i](v)); if (i) pen.lineTo(x(i), to); else pen.moveTo(x(i), to); }); pen.stroke(); };
  pen.globalAlpha = Math.max(0.05, Math.min(0.7, 60 / trials.length));
  for (const trial of trials) { pen.strokeStyle = colour(trial.state === "completed" ? "completed" : trial.state === "running" ? "running" : "stopped"); draw(trial); }
  pen.globalAlpha = 1; if (leader) { pen.strokeStyle = colour("best"); pen.lineWidth = 2.5; draw(leader); }
  pen.strokeStyle = colour("soft"); pen.fillStyle = colour("ink"); pen.lineWidth = 1; pen.textAlign = "center";
  axes.forEach((name, i) => { pen.beginPath(); pen.moveTo(x(i), y(0)); pen.lineTo(x(i), y(1)); pen.stroke(); pen.fillText(name.slice(0, 18), x(i), 14); });
}

function table() {
  const columns = names(), filter = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean), down = sort.down ? -1 : 1;
  const rows = [...state.trials.values()].map((t) => { const f = forecast(t); return { trial: t, cells: { trial: t.id, state: t.state, epochs: t.points.length ? t.points[t.points.length - 1][0] : 0, score: last(t), forecast: f ? f.mean : null, why: t.why.split("\n")[0], ...Object.fromEntries(columns.map((c) => ["p:" + c, plain(t.configuration[c])])) } }; });
  const keys = ["trial", "state", "epochs", "score", "forecast", ...columns.map((c) => "p:" + c), "why"];
  const kept = rows.filter((row) => { const text = keys.map((k) => shown(row.cells[k])).join(" ").toLowerCase(); return filter.every((word) => text.includes(word)); });
  const sign = sort.key === "score" && minimizes() ? -down : down;
  kept.sort((a, b) => { const [x, y] = [a.cells[sort.key], b.cells[sort.key]]; if (x === y || (x == null && y == null)) return a.trial.id - b.trial.id; if (x == null) return 1; if (y == null) return -1; return (x < y ? -1 : 1) * sign; });
  const label = (key) => key.startsWith("p:") ? key.slice(2) : key === "score" && state.spec ? state.spec.metric : key;
  const head = document.createElement("tr");
  for (const key of keys) {
    const th = document.createElement("th"), button = document.createElement("button"); th.scope = "col"; button.textContent = label(key) + (sort.key === key ? (sort.down ? " ▾" : " ▴") : "");
    th.setAttribute("aria-sort", sort.key === key ? (sort.down ? "descending" : "ascending") : "none");
    button.onclick = () => { sort = { key, down: sort.key === key ? !sort.down : true }; table(); }; th.append(button); head.append(th);
  }
  const focused = document.activeElement && document.activeElement.closest("#trials thead") ? [...$("trials").querySelectorAll("thead button")].indexOf(document.activeElement) : -1;
  $("trials").tHead.replaceChildren(head);
  if (focused >= 0) $("trials").querySelectorAll("thead button")[focused].focus();
  const active = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.trial : undefined;
  $("trials").tBodies[0].replaceChildren(...kept.slice(0, ROWS).map(({ trial, cells }) => {
    const tr = document.createElement("tr");
    for (const key of keys) {
      const td = document.createElement("td");
      if (key === "trial") { const button = document.createElement("button"); button.textContent = trial.id; button.dataset.trial = trial.id; button.setAttribute("aria-label", "why: trial " + trial.id); button.onclick = () => { chosen = trial.id; draw(); }; td.append(button); }
      else { td.textContent = key === "why" ? cells.why.slice(0, 80) : shown(cells[key]); if (key === "state") td.className = trial.state; }
      tr.append(td);
    }
    return tr;
  }));
  if (active !== undefined) { const again = $("trials").querySelector(`[data-trial="${active}"]`); if (again) again.focus(); }
  $("shown").textContent = kept.length > ROWS ? `the first ${ROWS} of ${kept.length}` : `${kept.length} of ${rows.length}`;
}

function why() {
  const trial = state.trials.get(chosen); $("why").hidden = !trial;
  if (!trial) return;
  $("why-title").textContent = `Trial ${trial.id}: ${trial.state}${trial.why ? ", " + trial.why.split("\n")[0] : ""}`;
  const values = new Map(trial.points), row = (cells, name) => { const tr = document.createElement("tr"); for (const cell of cells) { const td = document.createElement(name); if (name === "th") td.scope = "col"; td.textContent = cell; tr.append(td); } return tr; };
  $("decisions").tHead.replaceChildren(row(["epoch", "value", "forecast", "90 % interval", "against", "sure", "then", "why"], "th"));
  $("decisions").tBodies[0].replaceChildren(...trial.decisions.map((d) => row([d.step, shown(values.get(d.step)), d.forecast ? number(d.forecast.mean) + " ± " + number(d.forecast.sd) : "–", d.forecast ? number(d.forecast.interval[0]) + " … " + number(d.forecast.interval[1]) : "–", number(d.incumbent), d.probability == null ? "–" : (100 * d.probability).toFixed(2) + " %", d.action === "stop" ? "stop" : "go on", because(d.reason)], "td")));
}

function draw() { due = false; const leader = best(); totals(leader); curves(leader); parallel(leader); table(); why(); document.documentElement.dataset.drawn = state.records; }
function soon() { if (!due) { due = true; requestAnimationFrame(draw); } }

function open(name) {
  if (source) source.close();
  state = anew(); chosen = null; $("title").textContent = name; document.title = name + " · Foretell"; soon();
  source = new EventSource(withToken("/api/studies/" + encodeURIComponent(name) + "/events"));
  source.onopen = () => { $("live").textContent = "live"; };
  source.onerror = () => { $("live").textContent = "the server does not answer; trying again …"; };
  source.onmessage = (event) => {
    const records = JSON.parse(event.data), after = Number(event.lastEventId);
    // what was seen before is not taken twice
    const fresh = records.slice(Math.max(0, records.length - (after - state.records)));
    fresh.forEach(apply); soon();
  };
  source.addEventListener("anew", () => { state = anew(); soon(); });
}

const data = JSON.parse($("data").textContent || "null");
if (data) { state = anew(); data.records.forEach(apply); $("title").textContent = data.study; document.title = data.study + " · Foretell"; draw(); }
else fetch(withToken("/api/studies")).then((r) => r.json()).then(({ studies }) => {
  state = anew();
  if (!studies.length) { $("live").textContent = "no study here yet; reload once one runs"; return; }
  $("study").replaceChildren(...studies.map((name) => new Option(name, name))); $("chooser").hidden = studies.length < 2;
  $("study").onchange = () => open($("study").value);
  open(studies[0]);
});
$("filter").oninput = () => table();
addEventListener("resize", () => soon());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => soon());

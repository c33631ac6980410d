// What the server has made of the study's log: `take` takes in what is new of it, the views show it.
export let state = anew();

function anew() {
  return { spec: null, settings: null, totals: null, front: null, trials: new Map(), parameters: new Map(), records: 0 };
}

// Forgets all that was taken in.
export function startAgain() {
  state = anew();
}

export function take(news) {
  if (news.anew) startAgain();
  state.records = news.records;
  state.spec = news.study;
  state.totals = news.totals;
  state.settings = news.settings || state.settings;
  state.front = news.front || state.front;
  for (const trial of news.trials) update(trial);
}

function update(news) {
  const id = news.trial;
  if (!state.trials.has(id))
    meet({
      id,
      configuration: news.configuration,
      steps: [],
      values: [],
      gaps: [],
      folds: [],
      decisions: [],
      metrics: {},
      last: null,
      forecast: null,
      probability: null,
      ordered: "",
    });
  const trial = state.trials.get(id),
    { state: now, epochs, until, kept, score, gaps, ended } = news;
  Object.assign(trial, {
    state: now,
    epochs,
    until,
    kept,
    score,
    gaps,
    ended,
    began: news.began ?? null,
    seconds: news.seconds ?? null,
    metrics: news.metrics || trial.metrics,
    folds: news.folds || trial.folds,
    why: news.why ?? "",
    byHand: news.reason === "by_hand",
  });
  // what a reader that was cut off had not seen to its end is sent again
  append(trial.steps, news.from, news.steps);
  append(trial.values, news.from, news.values);
  if (news.decisions) append(trial.decisions, news.decided, news.decisions);
  if (trial.values.length) trial.last = trial.values[trial.values.length - 1];
  Object.assign(trial, { forecast: news.forecast || null, probability: news.probability ?? null });
  if (now === "stopped") trial.ordered = "";
  trial.outcome = came(trial);
}

// What a trial came to, or is forecast to come to: a value, with a spread where it is a forecast.
function came({ state: now, score, forecast }) {
  if (now === "failed") return { value: null, sd: null, interval: null, how: "none" };
  if (now !== "completed" && forecast && forecast.mean !== null) return { value: forecast.mean, sd: forecast.sd, interval: forecast.interval, how: "forecast" };
  return { value: score ?? null, sd: null, interval: null, how: "measured" };
}
export const outcome = (trial) => trial.outcome;

function append(list, from, more) {
  list.length = Math.min(list.length, from);
  for (const one of more) list.push(one);
}

function meet(trial) {
  state.trials.set(trial.id, trial);
  for (const [name, value] of Object.entries(trial.configuration)) {
    const kinds = state.parameters.get(name) || new Set();
    if (kinds.size < 2) kinds.add(String(value));
    state.parameters.set(name, kinds);
  }
}

export const minimizes = () => Boolean(state.spec) && state.spec.direction === "minimize";
export const better = (a, b) => (minimizes() ? a < b : a > b);
// what a trial is worth so far
export const worth = (trial) => trial.score;
const countsBest = () => Boolean(state.spec) && state.spec.score === "best";
export const ended = (trial) => trial.state === "completed" || (countsBest() && (trial.state === "stopped" || trial.state === "paused"));
export const metric = () => (state.spec ? state.spec.metric : "result");
export const leading = () => (state.totals && state.totals.best && state.trials.get(state.totals.best.trial)) || null;

// The parameters that vary.
export const varying = () => [...state.parameters].filter(([, kinds]) => kinds.size > 1).map(([name]) => name);

export const number = (x) => {
  if (x === null || x === undefined || !isFinite(x)) return "–";
  return x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6) ? x.toExponential(2).replace(/\.?0+e/, "e") : String(+x.toPrecision(4));
};
// A value with two digits of its standard deviation: 0.8996 ± 0.0067.
export const uncertain = (mean, sd) => {
  if (!isFinite(mean) || !(sd > 0) || !isFinite(sd)) return `${number(mean)} ± ${number(sd)}`;
  const digits = 1 - Math.floor(Math.log10(sd));
  return digits < 0 || digits > 8 ? `${number(mean)} ± ${number(+sd.toPrecision(2))}` : `${mean.toFixed(digits)} ± ${sd.toFixed(digits)}`;
};
// Whether this is the configuration that was given first, before those that the sampler chose.
export const isYours = (trial) => trial.id === 0 && Boolean(state.spec) && (state.spec.queue || []).length === 1;
export const whole = (n) => (n || 0).toLocaleString("en");
export const shown = (value) => (typeof value === "number" ? number(value) : value === null || value === undefined ? "–" : String(value));
export function duration(seconds) {
  const minutes = seconds / 60;
  if (minutes < 1) return Math.round(seconds) + " s";
  return minutes < 60 ? Math.round(minutes) + " min" : minutes < 2880 ? (minutes / 60).toFixed(1) + " h" : (minutes / 1440).toFixed(1) + " d";
}

export const named = (trial) =>
  trial.state === "stopped" && trial.byHand
    ? "stopped manually"
    : trial.state === "completed"
      ? "completed"
      : trial.state === "running" && trial.kept
        ? "running, kept"
        : trial.state === "paused" && state.totals.budget_spent
          ? "paused, budget spent"
          : trial.state;

// Why a trial failed, on one line: the last line that it printed, which names the error, and how it ended.
export function reason({ why }) {
  const lines = why
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  if (lines.length < 2) return lines[0] || "";
  return `${lines[lines.length - 1]} (${lines[0].replace(/;? last output:$|:$/, "")})`;
}

/** @type {(id: string) => any} */
export const $ = (id) => document.getElementById(id);
/** @type {(selector: string, root?: any) => any[]} */
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const token = new URLSearchParams(location.search).get("token");
export const address = (path, query = {}) => {
  const words = new URLSearchParams(token ? { ...query, token } : query).toString();
  return words ? path + "?" + words : path;
};

// The study that is shown, all that are served, and the connection that its news come by: none in a file.
export let study = null,
  studies = [],
  source = null;
export function follows(change) {
  ({ study, studies, source } = { study, studies, source, ...change });
}

// What any part may ask of the whole page; main.js says how.
export const page = { draw() {}, soon() {}, look(_) {} };

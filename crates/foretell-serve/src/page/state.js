"use strict";
// The page is a fold over a study's records, as the study itself is: `apply` takes one in, the views read what it left.
let state = anew();

function anew() {
  return { spec: null, trials: new Map(), parameters: new Map(), records: 0, time: null };
}

function apply(record) {
  state.records += 1;
  if (typeof record.time === "number") state.time = record.time;
  const trial = state.trials.get(record.trial);
  switch (record.event) {
    case "created": state.spec = record.study; break;
    case "started": start(record, trial); break;
    case "reported": if (trial) report(record, trial); break;
    case "decided": if (trial) decide(record, trial); break;
    case "paused": case "completed": if (trial) trial.state = record.event; break;
    case "failed": if (trial) { trial.state = "failed"; trial.why = record.reason; } break;
  }
}

function start(record, known) {
  const trial = known || {
    id: record.trial, configuration: record.configuration, until: 0, state: "running", steps: [], values: [], last: null, best: null,
    decisions: [], forecast: null, why: "", kept: false, ordered: "", extra: 0, trainedEpochs: null, mark: null, busy: 0,
  };
  trial.state = "running"; trial.why = ""; trial.until = record.until; trial.mark = record.time ?? null;
  if (known) return;
  state.trials.set(record.trial, trial);
  for (const [name, value] of Object.entries(record.configuration)) {
    const kinds = state.parameters.get(name) || new Set();
    if (kinds.size < 2) kinds.add(String(value));
    state.parameters.set(name, kinds);
  }
}

function report(record, trial) {
  trial.steps.push(record.step); trial.values.push(record.value);
  if (record.value !== null) {
    trial.last = record.value;
    if (trial.best === null || better(record.value, trial.best)) trial.best = record.value;
  }
  trial.extra = epochs(record, "failed_epochs") ?? trial.extra;
  trial.trainedEpochs = epochs(record, "trained_epochs") ?? trial.trainedEpochs;
  if (record.time !== undefined && trial.mark !== null) { trial.busy += record.time - trial.mark; trial.mark = record.time; }
}

function decide(record, trial) {
  trial.decisions.push(record);
  trial.forecast = record.forecast || trial.forecast;
  trial.kept ||= record.reason === "kept";
  if (record.action === "stop" && !record.shadow) { trial.state = "stopped"; trial.why = because(record.reason); trial.ordered = ""; }
}

const words = {
  burn_in: "burn-in", no_incumbent: "nothing to compare with", may_win: "may win", will_not_win: "will not win", end_known: "its end is known",
  awaiting_confirmation: "will not win, if the next check agrees", below_median: "below the median", below_rung: "not among the best of its rung",
  no_improvement: "no improvement", exempt: "exempt from stopping", diverged: "diverged", already_stopped: "would have been stopped before",
  by_hand: "by hand", kept: "kept by hand",
};
const because = (reason) => typeof reason === "string" ? words[reason] || reason : reason && reason.no_forecast ? "no forecast: " + reason.no_forecast : "";

const minimizes = () => String(state.spec && state.spec.direction).toLowerCase() === "minimize";
const better = (a, b) => minimizes() ? a < b : a > b;
const countsBest = () => Boolean(state.spec) && state.spec.run_score === "best";
// what a trial is worth so far
const worth = (trial) => countsBest() ? trial.best : trial.last;
const ended = (trial) => trial.state === "completed" || (countsBest() && (trial.state === "stopped" || trial.state === "paused"));
const metric = () => state.spec ? state.spec.metric : "result";

function leading() {
  let leader = null;
  for (const trial of state.trials.values())
    if (ended(trial) && worth(trial) !== null && (!leader || better(worth(trial), worth(leader)))) leader = trial;
  return leader;
}

// The parameters that vary.
const varying = () => [...state.parameters].filter(([, kinds]) => kinds.size > 1).map(([name]) => name);

// Epochs as `Trial::cost` and `Trial::cost_to` count them: trained ones and those of failed attempts; without stopping, those that a
// stopped trial had left, too, unless it diverged, had given up, or was stopped by hand.
function epochs(record, name) {
  const value = record.metrics && record.metrics[name];
  return typeof value === "number" && value >= 0 ? Math.floor(value) : null;
}
function trained(trial) {
  if (!trial.steps.length) return 0;
  const step = trial.steps[trial.steps.length - 1];
  return step + (trial.steps[0] === 0 && step < trial.until ? 1 : 0);
}
const cost = (trial) => Math.min(trial.trainedEpochs ?? Infinity, trained(trial)) + trial.extra;
function spared(trial) {
  const gaveUp = trial.trainedEpochs !== null && trial.trainedEpochs < trained(trial);
  const saves = trial.state === "stopped" && trial.why !== words.diverged && trial.why !== words.by_hand && !gaveUp;
  return saves ? Math.max(0, trial.until - trained(trial)) : 0;
}

const number = (x) => {
  if (x === null || x === undefined || !isFinite(x)) return "–";
  return x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6) ? x.toExponential(2) : String(+x.toPrecision(4));
};
const whole = (n) => (n || 0).toLocaleString("en");
const shown = (value) => typeof value === "number" ? number(value) : value === null || value === undefined ? "–" : String(value);
function duration(milliseconds) {
  const minutes = milliseconds / 60000;
  if (minutes < 1) return Math.round(milliseconds / 1000) + " s";
  return minutes < 60 ? Math.round(minutes) + " min" : minutes < 2880 ? (minutes / 60).toFixed(1) + " h" : (minutes / 1440).toFixed(1) + " d";
}

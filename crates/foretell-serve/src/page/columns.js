// The columns of the table of trials: which there are, and what stands in them.
import { metric, named, reason, state, varying, worth } from "./state.js";
import { knownValues, objectives } from "./objectives.js";
export let columns = [];

const cells = {
  trial: (t) => t.id,
  state: named,
  epochs: (t) => t.epochs,
  score: worth,
  forecast: (t) => (t.forecast ? t.forecast.mean : null),
  why: (t) => (t.byHand ? "" : reason(t)),
};
export const cell = (trial, key) =>
  key.startsWith("p:") ? trial.configuration[key.slice(2)] : key.startsWith("m:") ? measured(trial, key.slice(2)) : cells[key](trial);
export const title = (key) => (key[1] === ":" ? key.slice(2) : key === "score" ? metric() : key);

// What a trial came to in another objective, or reported last of another metric.
function measured(trial, name) {
  const at = objectives().findIndex((objective) => objective.name === name),
    there = at > 0 ? knownValues().get(trial.id) : null;
  return there ? there[at] : (trial.metrics[name] ?? null);
}

// What the columns are: those of every trial, the other objectives, then the parameters that vary; and what the reader has chosen.
export let chosenColumns = new Map();
export function columnsNow() {
  const others = objectives()
      .slice(1)
      .map(({ name }) => name)
      .filter((name) => !state.parameters.has(name)),
    metrics = new Set([...others, ...[...state.trials.values()].slice(-200).flatMap((trial) => Object.keys(trial.metrics))]);
  const vary = new Set(varying()),
    parameters = [...state.parameters.keys()];
  const all = ["trial", "state", "epochs", "score", ...[...metrics].map((name) => "m:" + name), "forecast", ...parameters.map((name) => "p:" + name), "why"];
  const usual = (key) => (key.startsWith("m:") ? others.includes(key.slice(2)) : key.startsWith("p:") ? vary.has(key.slice(2)) : true);
  columns = all.filter((key) => key === "trial" || (chosenColumns.get(key) ?? usual(key)));
  return all.slice(1);
}

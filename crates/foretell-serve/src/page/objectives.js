// The objectives of a study with several, and what its trials came to in each.
import { state } from "./state.js";

// The study's front as the server sent it last; null with one objective, or before a trial has ended.
export const objectives = () => (state.front ? state.front.objectives : []);
export const isSmallBetter = (at) => objectives()[at].direction === "minimize";

// All trials of the front's picture: where they lie, and by which list.
export function placed() {
  const { trials, dominated, stopped } = state.front,
    finished =
      (kind) =>
      ({ trial, values }) => ({ trial: state.trials.get(trial), values, kind, interval: null });
  const forecast = ({ trial, forecast: { mean, interval }, others }) => ({
    trial: state.trials.get(trial),
    values: [mean, ...others],
    kind: "stopped",
    interval,
  });
  return [...stopped.map(forecast), ...dominated.map(finished("dominated")), ...trials.map(finished("front"))].filter(({ trial }) => trial);
}

// What the trials of the front's picture came to in each objective, by trial; found anew with the front.
let valuesOf = { of: null, found: new Map() };
export function knownValues() {
  if (state.front && valuesOf.of !== state.front) valuesOf = { of: state.front, found: new Map(placed().map(({ trial, values }) => [trial.id, values])) };
  return state.front ? valuesOf.found : new Map();
}

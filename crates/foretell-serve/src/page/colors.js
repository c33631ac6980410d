// The colors of trials, by what they came to; the table is the one of the pictures of the command line.
import { $, metric, minimizes, number, outcome, state } from "./state.js";
const SHADES = /** @type {any} */ ("/*SHADES*/");

export const color = (name) =>
  getComputedStyle(document.documentElement)
    .getPropertyValue("--" + name)
    .trim();
export const shades = () => SHADES[matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"];

// From the worst result that has a color of its own to the best: some trials may be worse.
let spanned = { of: null, records: -1, worst: 0, best: 0 };
export function span() {
  if (spanned.of === state && spanned.records === state.records) return spanned;
  const results = Float64Array.from([...state.trials.values()].map((trial) => outcome(trial).value).filter((value) => value !== null)).sort();
  if (minimizes()) results.reverse();
  const worst = results.length ? results[Math.floor(results.length * SHADES.worst_share)] : 0,
    best = results.length ? results[results.length - 1] : 0;
  spanned = { of: state, records: state.records, worst, best };
  return spanned;
}

// The number of a result's shade.
export function toned(value) {
  const { worst, best } = span(),
    share = best === worst ? 1 : (value - worst) / (best - worst);
  return Math.round(Math.min(1, Math.max(0, share)) * (shades().length - 1));
}
export const shadeOf = (trial) => {
  const { value } = outcome(trial);
  // a trial without a report has no result yet; only one that failed has the color of failures
  return value !== null ? shades()[toned(value)] : color(trial.state === "failed" ? "failed" : "line");
};

// Trials by their shade, the worst first: those of one shade are drawn together.
export function byShade(trials) {
  const groups = shades().map((shade) => ({ shade, trials: [] }));
  for (const trial of trials) {
    const { value } = outcome(trial);
    if (value !== null) groups[toned(value)].trials.push(trial);
  }
  return groups.filter((group) => group.trials.length);
}

// What the colors mean, in words and as a ramp.
export function key() {
  const { worst, best } = span(),
    none = ![...state.trials.values()].some((trial) => outcome(trial).value !== null);
  $("key").hidden = none;
  if (none) return;
  $("key-worst").textContent = `${metric()} ${number(worst)} or ${minimizes() ? "more" : "less"}`;
  $("key-best").textContent = number(best);
  $("ramp").style.background = `linear-gradient(to right, ${shades().join(", ")})`;
}

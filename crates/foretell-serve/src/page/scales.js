// Where the values of a parameter lie on an axis: by the scale that it is searched on.
import { number, state } from "./state.js";
import { span } from "./colors.js";
import { decades, ticks } from "./picture.js";

export const declared = (name) => {
  const space = state.settings && state.settings.space;
  return (space && space.parameters && space.parameters.find((parameter) => parameter.name === name)) || null;
};

export const optionsOf = (parameter) => (parameter.kind === "flag" ? ["false", "true"] : parameter.options || null);

// `place` of a value is from 0 to 1, `at` goes back; `ticks` are the values that are written.
export function scale(name) {
  const known = [];
  for (const { configuration } of state.trials.values()) {
    const value = configuration[name];
    if (value !== null && value !== undefined) known.push(value);
  }
  const parameter = declared(name);
  const options = parameter && optionsOf(parameter);
  if (parameter ? options : !known.every((value) => typeof value === "number")) return choices(options || [], known);
  let [low, high] = parameter ? [parameter.lo, parameter.hi] : [Infinity, -Infinity];
  for (const value of known) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const log = low > 0 && (parameter ? parameter.kind === "log" || parameter.kind === "logint" : high / low > 100);
  return between(low, high, log, parameter ? parameter.kind.endsWith("int") : known.every(Number.isInteger));
}

export function between(low, high, log = false, whole = false) {
  const f = log ? Math.log : (v) => v,
    g = log ? Math.exp : (v) => v;
  const place = (v) => (high === low ? 0.5 : Math.min(1, Math.max(0, (f(v) - f(low)) / (f(high) - f(low)))));
  const at = (share) => {
    const v = g(f(low) + share * (f(high) - f(low)));
    return whole ? Math.round(v) : v;
  };
  const wanted = high === low ? [low] : log ? decades(low, high) : ticks(low, high, 5);
  return {
    low,
    high,
    log,
    place,
    at,
    ticks: wanted.filter((v) => v >= low && v <= high && (!whole || Number.isInteger(v))).map((v) => ({ text: number(v), place: place(v) })),
  };
}

function choices(options, known) {
  const kinds = [...new Set([...options.map(String), ...known.map(String).sort()])];
  const place = (v) => (kinds.length < 2 ? 0.5 : kinds.indexOf(String(v)) / (kinds.length - 1));
  const every = Math.ceil(kinds.length / 12);
  return {
    kinds,
    place,
    at: (share) => kinds[Math.round(share * (kinds.length - 1))],
    ticks: kinds.filter((_, i) => i % every === 0).map((kind) => ({ text: kind, place: place(kind) })),
  };
}

// The scale of the results: all but the wildest tenth of the worse ones.
export function results() {
  const { worst, best } = span();
  return worst === best ? between(worst - 0.5, best + 0.5) : between(Math.min(worst, best), Math.max(worst, best));
}

// Which trials are looked at: words, and terms such as lr=0.01..0.1, optimizer=adam,sgd or state=stopped. Brushes write such terms.
import { $, metric, outcome, page, shown, state, worth } from "./state.js";
import { remember } from "./addresses.js";
import { cell, columns } from "./columns.js";

const RESULT = "result";
const split = (text) => text.match(/(?:[^\s"]|"[^"]*"?)+/g) || [];
const bare = (text) => text.replace(/"/g, "");
export const quoted = (text) => (/[\s,"]/.test(text) ? `"${text.replace(/"/g, "")}"` : text);

// What a term may name, and its value.
const namedValues = {
  trial: (t) => t.id,
  state: (t) => t.state,
  epochs: (t) => t.epochs,
  [RESULT]: (t) => outcome(t).value,
  score: (t) => worth(t),
  forecast: (t) => (t.forecast ? t.forecast.mean : null),
};
const valueOf = (trial, name) => (state.parameters.has(name) ? trial.configuration[name] : name === metric() ? outcome(trial).value : namedValues[name](trial));
const isNamed = (name) => state.parameters.has(name) || name === metric() || Object.hasOwn(namedValues, name);

function term(text) {
  const [, name, sign, rest] = text.match(/^([^=<>\s]+)(<=|>=|=|<|>)(.+)$/) || [];
  if (!name || !isNamed(name)) return { text, name: null, test: null, word: bare(text).toLowerCase() };
  const of = (test) => ({
    text,
    name,
    test: (trial) => {
      const value = valueOf(trial, name);
      return value !== null && value !== undefined && test(value);
    },
  });
  const bounds = sign === "=" ? rest.split("..") : [];
  if (bounds.length === 2) {
    const low = bounds[0] === "" ? -Infinity : Number(bounds[0]),
      high = bounds[1] === "" ? Infinity : Number(bounds[1]);
    if (!isNaN(low) && !isNaN(high)) return { ...of((v) => v >= low && v <= high), low, high };
  }
  const edge = Number(rest);
  if (sign !== "=" && !isNaN(edge)) return of({ "<": (v) => v < edge, ">": (v) => v > edge, "<=": (v) => v <= edge, ">=": (v) => v >= edge }[sign]);
  const kinds = (rest.match(/(?:[^,"]|"[^"]*"?)+/g) || []).map(bare);
  return { ...of((v) => kinds.some((kind) => String(v) === kind || (kind !== "" && typeof v === "number" && v === Number(kind)))), kinds };
}

let filtered = { text: null, records: -1, of: null, columns: "", terms: [], passing: [] };
const filterText = () => $("filter").value.trim();

// The trials that pass, in their order, and the terms by which they do.
export function filtering() {
  const text = filterText(),
    shownColumns = columns.join();
  if (filtered.text === text && filtered.of === state && filtered.records === state.records && filtered.columns === shownColumns) return filtered;
  const terms = split(text).map(term),
    tests = terms.filter((one) => one.test),
    wanted = terms.filter((one) => !one.test).map((one) => one.word);
  const passes = (trial) =>
    tests.every((one) => one.test(trial)) &&
    (!wanted.length ||
      (() => {
        const has = columns
          .map((key) => shown(cell(trial, key)))
          .join(" ")
          .toLowerCase();
        return wanted.every((word) => has.includes(word));
      })());
  const all = [...state.trials.values()];
  filtered = { text, of: state, records: state.records, columns: shownColumns, terms, passing: terms.length ? all.filter(passes) : all, set: null };
  filtered.set = terms.length ? new Set(filtered.passing) : null;
  return filtered;
}

// Whether a trial is looked at.
export const inSight = (trial) => {
  const { set } = filtering();
  return !set || set.has(trial);
};
export const termOf = (name) => filtering().terms.find((one) => one.name === name) || null;

// Puts `range` in the place of the term about `name`; null takes it away.
export function setTerm(name, range) {
  const kept = split(filterText()).filter((text) => term(text).name !== name);
  setFilter([...kept, ...(range === null ? [] : [`${name}=${range}`])].join(" "));
}

// The table and the pictures follow soon.
export function setFilter(text) {
  if ($("filter").value !== text) $("filter").value = text;
  $("rows").scrollTop = 0;
  page.soon();
  remember();
}

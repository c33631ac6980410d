// Trials and curves as files, with the columns that `foretell study export` has.
import { ended, metric, state, study, worth } from "./state.js";
import { element } from "./elements.js";

// As `foretell study export` writes it: a text that a spreadsheet would take for a formula begins with an apostrophe.
const plain = (text) => (/^[=+\-@\t\r]/.test(text) && isNaN(Number(text)) ? "'" + text : text);
const quotedCell = (text) => (/[,"\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
const csvCell = (value) => (value === null || value === undefined ? "" : typeof value === "string" ? quotedCell(plain(value)) : String(value));
const csv = (columns, rows) => [columns, ...rows.map((row) => columns.map((name) => row[name]))].map((cells) => cells.map(csvCell).join(",") + "\n").join("");

function trialRows() {
  return [...state.trials.values()].map((trial) => {
    const failed = trial.state === "failed";
    return {
      trial: trial.id,
      state: trial.state,
      score: ended(trial) ? worth(trial) : null,
      epochs: trial.epochs,
      last: trial.last,
      began: trial.began === null ? null : new Date(trial.began).toISOString().slice(0, 19).replace("T", " "),
      seconds: trial.seconds,
      forecast: trial.forecast ? trial.forecast.mean : null,
      forecast_sd: trial.forecast ? trial.forecast.sd : null,
      probability: trial.probability,
      reason: trial.state === "stopped" ? trial.why : null,
      error: failed ? trial.why : null,
      ...Object.fromEntries(Object.entries(trial.configuration).map(([name, value]) => ["param." + name, value])),
      ...Object.fromEntries(Object.entries(trial.metrics).map(([name, value]) => ["metric." + name, value])),
    };
  });
}

const files = {
  "trials.csv": () => {
    const rows = trialRows(),
      names = [...new Set(rows.flatMap(Object.keys))],
      own = names.filter((name) => !/^(param|metric)\./.test(name)),
      others = names.filter((name) => !own.includes(name)).sort();
    return csv([...own, ...others.filter((name) => name.startsWith("param.")), ...others.filter((name) => name.startsWith("metric."))], rows);
  },
  "trials.json": () => JSON.stringify(trialRows(), null, 1) + "\n",
  "curves.csv": () =>
    csv(
      ["trial", "step", metric()],
      [...state.trials.values()].flatMap(({ id, steps, values }) => steps.map((step, i) => ({ trial: id, step, [metric()]: values[i] }))),
    ),
  "curves.jsonl": () =>
    [...state.trials.values()]
      .filter(({ steps }) => steps.length)
      .map(
        ({ id, configuration, values, steps }) =>
          JSON.stringify({ id: String(id), metric: metric(), direction: state.spec.direction, configuration, values, steps }) + "\n",
      )
      .join(""),
};

export function download(name) {
  const link = element("a", null, { download: `${study}-${name}` });
  link.href = URL.createObjectURL(new Blob([files[name]()], { type: name.endsWith("csv") ? "text/csv" : "application/json" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

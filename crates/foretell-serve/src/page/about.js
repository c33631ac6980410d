// The study itself: its settings and space, who works on it, and a configuration of one's own to try next.
import { $, address, duration, number, page, shown, source, state, study } from "./state.js";
import { chosen } from "./choice.js";
import { api, asks, element, pairs, row } from "./elements.js";
import { declared, optionsOf } from "./scales.js";
import { inView, remember, view } from "./addresses.js";

// The settings by the names that flags and study files give them; the names that are the same are left out.
const NAMES = { max_resource: "epochs", run_score: "score", schedule: "scheduler", "workload.about": "trains" };
// Settings of a part of their own, such as the criterion, stand beside the others.
const OPENED = ["criterion", "workload"];

// What a value says, in words: a name with its numbers instead of JSON.
function worded(value) {
  if (value === null || typeof value !== "object") return shown(value);
  if (Array.isArray(value)) return value.map(worded).join("; ");
  const entries = Object.entries(value).filter(([, inner]) => inner !== null && inner !== "");
  const said = entries.map(([name, inner]) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner) ? `${name} (${worded(inner)})` : `${name.replaceAll("_", " ")} ${worded(inner)}`,
  );
  return said.join(", ");
}

function settingsOf(settings, before = "") {
  return Object.entries(settings).flatMap(([name, value]) => {
    // the metric stands among the settings already
    if (before + name === "workload.metric" || (name === "space" && value.parameters) || value === null || (Array.isArray(value) && !value.length)) return [];
    if (OPENED.includes(name)) return settingsOf(value, name + ".");
    return [[(NAMES[before + name] || NAMES[name] || name).replaceAll("_", " "), worded(value)]];
  });
}

const bounds = (parameter) => (optionsOf(parameter) ? optionsOf(parameter).join(", ") : `${number(parameter.lo)} … ${number(parameter.hi)}`);
const TEST_SIGNS = { equals: "=", any_of: "=", none_of: "≠", below: "<", at_most: "≤", at_least: "≥", above: ">" };

// A parameter's condition as its study writes it: an object for each parameter that it names.
export function conditionText(condition) {
  if (!condition) return "always";
  const tests = [condition].flat().flatMap(({ name, ...tests }) =>
    Object.entries(tests).map(([test, value]) => `${name} ${TEST_SIGNS[test] || test} ${[value].flat().join(" or ")}`),
  );
  return tests.join(" and ");
}

let aboutOf = null,
  offeredFor = null;

export function about(leader) {
  $("best-actions").hidden = !leader;
  if (leader) askBest(leader);
  if (!inView("all-settings") || !state.settings || aboutOf === state.settings) return;
  aboutOf = state.settings;
  const parameters = (state.settings.space && state.settings.space.parameters) || [];
  pairs($("all-settings"), settingsOf(state.settings));
  $("space").tHead.replaceChildren(row(["name", "kind", "values", "applies if"], "th"));
  $("space").tBodies[0].replaceChildren(
    ...parameters.map((one) => row([one.name, one.kind, bounds(one), conditionText(one.active_if)], "td")),
  );
  $("space-box").hidden = !parameters.length;
  $("enqueue").hidden = !source || !parameters.length;
  if (offeredFor !== study) fields({});
}

// What people noted about the study: read once it is opened, and written by the form.
export async function askNotes() {
  $("notes").hidden = !source;
  $("noted").textContent = "";
  $("notes-text").value = "";
  showTags("");
  const of = study,
    found = source ? await asks(api("/note")) : null;
  if (!found || of !== study) return;
  if (!$("notes-text").value) $("notes-text").value = found.text;
  showTags(found.text);
}

function showTags(text) {
  const tags = text.match(/#[\p{L}\p{N}_-]+/gu) || [];
  $("tags").hidden = !tags.length;
  $("tags").textContent = tags.join(" ");
}

export async function writeNotes(event) {
  event.preventDefault();
  $("noted").textContent = "…";
  try {
    const reply = await fetch(address(api("/note")), { method: "PUT", body: JSON.stringify({ text: $("notes-text").value }) }),
      answer = await reply.json();
    $("noted").textContent = reply.ok ? "saved" : answer.error;
    if (reply.ok) showTags(answer.text);
  } catch {
    $("noted").textContent = "the server does not answer; nothing was saved";
  }
}

// The form, filled with `configuration`.
function fields(configuration) {
  const parameters = (state.settings && state.settings.space && state.settings.space.parameters) || [];
  offeredFor = study;
  $("enqueued").textContent = "";
  $("enqueue-fields").replaceChildren(
    ...parameters.map((one) => {
      const label = element("label", one.name + " "),
        value = configuration[one.name] ?? "",
        field = optionsOf(one) ? element("select") : element("input", null, { type: "text", inputmode: "decimal", placeholder: bounds(one), size: 12 });
      if (optionsOf(one)) field.append(new Option("", ""), ...optionsOf(one).map((option) => new Option(option, option)));
      field.name = one.name;
      field.value = String(value);
      label.append(field);
      return label;
    }),
  );
}

// Sends the form: numbers as numbers, empty fields left to the sampler.
export async function enqueue(event) {
  event.preventDefault();
  const configuration = {};
  for (const field of $("enqueue-fields").querySelectorAll("input, select")) {
    const one = declared(field.name),
      text = field.value.trim();
    if (text === "") continue;
    configuration[field.name] = optionsOf(one) ? optionsOf(one).find((option) => String(option) === text) : isNaN(Number(text)) ? text : Number(text);
  }
  $("enqueued").textContent = "…";
  try {
    const reply = await fetch(address(api("/enqueue")), { method: "POST", body: JSON.stringify({ configuration, id: `${Date.now()}` }) }),
      answer = await reply.json();
    $("enqueued").textContent = !reply.ok ? answer.error : reply.status === 202 ? "sent to the search, which records it within a second" : "it is tried next";
  } catch {
    $("enqueued").textContent = "the server does not answer, so nothing was enqueued";
  }
}

export function tryAgain() {
  const trial = state.trials.get(chosen);
  if (!trial) return;
  page.look({ view: "settings", trial: null, filter: $("filter").value });
  remember(true);
  fields(trial.configuration);
  $("enqueue").hidden = false;
  $("enqueue-fields").querySelector("input, select")?.focus();
}

export async function askWorkers() {
  if (!source) return;
  const found = await asks(api("/workers")),
    workers = found ? found.workers : [];
  $("workers").hidden = false;
  $("workers-box").hidden = !workers.length;
  $("workers-note").textContent = workers.length
    ? ""
    : "No remote worker has reported in the last ten minutes. Running trials are on the machine of the search, or report by themselves.";
  $("workers-table").tHead.replaceChildren(row(["worker", "trial", "last heard"], "th"));
  $("workers-table").tBodies[0].replaceChildren(...workers.map((one) => row([one.name, one.trial ?? "–", duration(one.heard_seconds_ago) + " ago"], "td")));
}
setInterval(() => {
  if (!document.hidden && view === "settings") askWorkers();
}, 5000);

// The command of the best trial, where one is known.
export let bestOf = { id: null, of: null, command: null };
async function askBest(leader) {
  if (!source || (bestOf.of === state && bestOf.id === leader.id)) return;
  const own = (bestOf = { of: state, id: leader.id, command: null }),
    found = await asks(api(`/trials/${leader.id}`));
  if (own !== bestOf) return;
  own.command = found ? found.command : null;
  $("copy-best").hidden = !own.command;
}

// Copies, or where the browser forbids that, shows `text` to be copied.
export async function copy(text, says) {
  try {
    await navigator.clipboard.writeText(text);
    says.textContent = "copied: " + text;
  } catch {
    says.textContent = text;
  }
}

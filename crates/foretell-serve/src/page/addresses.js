// The address of what is looked at, after its #: /STUDY/VIEW?trial=17&filter=lr=0.01..0.1. Back and forward work.
import { $, $$, page, study } from "./state.js";
import { attend, chosen } from "./choice.js";

const VIEWS = ["overview", "parameters", "trials", "settings", "compare"];
export let view = VIEWS[0];

// Shows `name`, and hides the sections of all other views.
export function setView(name) {
  view = name;
  for (const section of $$("[data-views]")) section.classList.toggle("away", !section.dataset.views.split(" ").includes(view));
  document.documentElement.dataset.view = view;
}

export const inView = (id) => !$(id).closest(".away");
// What is looked at, with `change`.
export function addressOf(change = {}) {
  const now = { study, view, trial: chosen, filter: $("filter").value.trim(), ...change },
    query = new URLSearchParams();
  if (now.trial !== null) query.set("trial", now.trial);
  if (now.filter) query.set("filter", now.filter);
  const words = query.toString();
  return `#/${encodeURIComponent(now.study || "")}/${now.view}${words ? "?" + words : ""}`;
}

export function addressed() {
  const [, of, where, words] = location.hash.match(/^#\/([^/?]*)(?:\/([^/?]*))?(?:\?(.*))?$/) || [],
    query = new URLSearchParams(words || ""),
    trial = query.get("trial");
  let name = "";
  try {
    name = decodeURIComponent(of || "");
  } catch {
    /* no name of a study */
  }
  return {
    study: name,
    view: VIEWS.includes(where) ? where : VIEWS[0],
    trial: trial !== null && /^\d+$/.test(trial) ? Number(trial) : null,
    filter: query.get("filter") || "",
  };
}

// Keeps what is looked at in the address; as a step that Back takes back, if `step`.
export function remember(step = false) {
  const to = addressOf();
  if (to !== location.hash) history[step ? "pushState" : "replaceState"](null, "", to);
  links();
}

export function links() {
  for (const link of $$("#views a")) {
    link.setAttribute("href", addressOf({ view: link.dataset.view }));
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// Opens a trial: in its row of the table, or beneath the curves.
export function choose(id, where = view === "trials" ? "row" : "home") {
  attend({ chosen: id, asked: null, openIn: where });
  remember(true);
  page.draw();
  $("why-title").focus({ preventScroll: true });
  $("why").scrollIntoView({ block: "nearest" });
}

export function close() {
  const before = chosen;
  attend({ chosen: null, asked: null });
  remember(true);
  page.draw();
  rowButton(before)?.focus({ preventScroll: true });
}

// The button of the table that opens `trial`.
export const rowButton = (trial) => $("trials").querySelector(`[data-trial="${trial}"]`);

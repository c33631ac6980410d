// The address of what is looked at, after its #: /STUDY/VIEW?trial=17&filter=lr=0.01..0.1. Back and forward work.
import { known } from "./parameters.js";
import { askSurface } from "./surface.js";
import { attend, chosen, openIn } from "./trial.js";
import { askWorkers } from "./about.js";
import { comparisonSoon } from "./compare.js";
import { $, $$, open, soon, studies, study } from "./main.js";

const VIEWS = ["overview", "parameters", "trials", "settings", "compare"];
export let view = VIEWS[0];

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

// Shows what the address says.
function arrive() {
  const to = addressed();
  if (to.study && to.study !== study && studies.includes(to.study)) open(to.study, to);
  else look(to);
}

export function look(to) {
  view = to.view;
  $("filter").value = to.filter;
  attend({ openIn: to.view === "trials" ? "row" : to.view === "overview" && to.trial === chosen ? openIn : "home" });
  if (to.trial !== chosen || openIn === "row") attend({ chosen: to.trial, asked: null, reveal: to.trial !== null });
  for (const section of $$("[data-views]")) section.classList.toggle("away", !section.dataset.views.split(" ").includes(view));
  document.documentElement.dataset.view = view;
  links();
  soon();
  askForView();
  if (view === "compare" || view === "overview") comparisonSoon();
}

// Asks for what only this view shows.
export function askForView() {
  if (view === "parameters" && !known.slices.length) askSurface();
  if (view === "settings") askWorkers();
}

function links() {
  for (const link of $$("#views a")) {
    link.setAttribute("href", addressOf({ view: link.dataset.view }));
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

addEventListener("popstate", () => {
  if (study) arrive();
});

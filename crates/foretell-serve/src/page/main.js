// Takes the study from the page itself, or from the server as it goes on, and draws.
import { $, $$, address, duration, follows, leading, number, page, source, startAgain, state, studies, study, take, whole, worth } from "./state.js";
import { asked, attend, chosen, openIn, reveal } from "./choice.js";
import { canvas } from "./picture.js";
import { element } from "./elements.js";
import { addressed, choose, inView, links, remember, setView, view } from "./addresses.js";
import { columnsNow } from "./columns.js";
import { setFilter } from "./filter.js";
import { untip } from "./tip.js";
import { beginDrag, curves, drag, endDrag, hover, looking, nearest, plot, unzoom } from "./curves.js";
import { findable } from "./dots.js";
import { bestSoFar } from "./best.js";
import { front } from "./front.js";
import { beginBrush, endBrush, importance, known, moveBrush, parallel, parallels } from "./parameters.js";
import { askSurface, contour, slices, surface } from "./surface.js";
import { ROW, kept, rows, table } from "./table.js";
import { about, askNotes, askWorkers, bestOf, copy, enqueue, tryAgain, writeNotes } from "./about.js";
import { order, why } from "./trial.js";
import { download } from "./downloads.js";
import { comparisonSoon, offer } from "./compare.js";
let due = false,
  took = 0,
  drawnAt = 0,
  learned = { at: -Infinity, ended: -1, soon: null };

function totals(leader) {
  const {
    trials,
    epochs,
    planned,
    training_seconds: trained,
    saved_seconds: saved,
    left_seconds: left,
    done,
  } = state.totals || { trials: { total: 0, running: 0 }, epochs: {}, planned: 0 };
  const spared = epochs.without_stopping - epochs.spent;
  const entries = [
    ["best", leader ? `${number(worth(leader))} (trial ${leader.id})` : "–"],
    ["trials", state.totals && state.totals.budget_spent ? whole(trials.total) : `${whole(trials.total)} of ${whole(Math.max(planned, trials.total))}`],
    ...(done ? [] : [["running", whole(trials.running)]]),
    ["completed", whole(trials.completed)],
    ["stopped", whole(trials.stopped)],
    ...(trials.paused ? [["paused", whole(trials.paused)]] : []),
    ["failed", whole(trials.failed) + (trials.out_of_memory ? ` (${whole(trials.out_of_memory)} out of memory)` : "")],
    ["epochs per trial", state.spec && state.spec.epochs ? whole(state.spec.epochs) : "not known yet"],
    ["epochs spent", whole(epochs.spent)],
    ["saved", epochs.spent && trials.completed ? `${Math.round((100 * spared) / epochs.without_stopping)} %` : "–"],
    ...(trained
      ? [
          ["time trained", duration(trained)],
          ["time saved", duration(saved)],
        ]
      : []),
    ...(left && !done ? [["time left", "about " + duration(left)]] : []),
  ];
  $("totals").replaceChildren(
    ...entries.map(([name, value]) => {
      const div = document.createElement("div"),
        dt = document.createElement("dt"),
        dd = document.createElement("dd");
      dt.textContent = name;
      dd.textContent = value;
      div.append(dt, dd);
      return div;
    }),
  );
  lessons((state.totals && state.totals.lessons) || []);
  return trials.total - trials.running;
}

// The earlier studies, with whether the search learns from each.
function lessons(sentences) {
  $("lessons").hidden = !sentences.length;
  $("lessons").replaceChildren(...sentences.map((sentence) => element("li", sentence)));
}

function draw() {
  const began = performance.now(),
    leader = leading();
  due = false;
  const done = totals(leader);
  columnsNow();
  if (inView("curves-box")) curves(leader);
  front();
  bestSoFar();
  parallel(leader);
  slices();
  contour();
  table();
  why();
  about(leader);
  if (reveal && state.trials.has(chosen)) {
    attend({ reveal: false });
    arriveAt(chosen);
  }
  took = performance.now() - began;
  drawnAt = performance.now();
  document.documentElement.dataset.drawn = String(state.records);
  if (source && !learned.soon && done >= Math.max(learned.ended + 1, learned.ended * 1.15))
    learned.soon = setTimeout(() => learn(done), Math.max(0, learned.at + 2000 - drawnAt));
}

Object.assign(page, { draw, soon, look });

// Draws soon; where drawing takes long, not more than a quarter of the time.
function soon() {
  if (due) return;
  due = true;
  setTimeout(() => requestAnimationFrame(draw), Math.max(0, drawnAt + Math.min(2000, 3 * took) - performance.now()));
}

// Asks which parameters matter, at most every two seconds.
async function learn(done) {
  learned = { at: performance.now(), ended: done, soon: null };
  const of = study,
    reply = await fetch(address(`/api/studies/${encodeURIComponent(of)}/importance`)).catch(() => null);
  if (reply && reply.ok && of === study) {
    importance(await reply.json());
    if (inView("slices")) await askSurface();
    parallel(leading());
  }
}

// Shows the trial that the address names.
function arriveAt(id) {
  const index = openIn === "row" ? kept.findIndex((trial) => trial.id === id) : -1;
  if (index >= 0) {
    $("rows").scrollTop = Math.max(0, index - 1) * ROW;
    rows();
    why();
  }
  $("why").scrollIntoView({ block: "nearest" });
}

function open(name, to = { view, trial: null, filter: "" }) {
  if (source) source.close();
  follows({ study: name });
  startAgain();
  attend({ chosen: null });
  looking.part = null;
  clearTimeout(learned.soon);
  learned = { at: -Infinity, ended: -1, soon: null };
  importance(null);
  surface(null);
  $("title").textContent = name;
  document.title = name + " · Foretell";
  $("study").value = name;
  look(to);
  follow();
  askNotes();
  askForView();
}

// Follows the study from the first record that is not known. A browser that loses the server comes back by itself, unless it was refused.
function follow() {
  const own = new EventSource(address("/api/studies/" + encodeURIComponent(study) + "/state", { after: state.records, decisions: "none" }));
  follows({ source: own });
  const say = (text) => {
    if (own === source) $("live").textContent = text;
  };
  const going = () =>
    !state.totals || !state.totals.done ? "live" : state.totals.budget_spent ? "the search has ended: its budget is spent" : "the search has ended";
  own.onopen = () => say(going());
  own.onerror = () => {
    if (own !== source) return;
    say("the server does not answer; trying again …");
    if (own.readyState === EventSource.CLOSED)
      setTimeout(() => {
        if (own === source) follow();
      }, 2000);
  };
  own.onmessage = (event) => {
    if (own !== source) return;
    take(JSON.parse(event.data));
    if ($("live").textContent === "live") say(going());
    soon();
  };
  own.addEventListener("trouble", (event) => say(JSON.parse(event.data).error + ". This page shows the records read before"));
  own.addEventListener("mended", () => say(going()));
}

function look(to) {
  $("filter").value = to.filter;
  attend({ openIn: to.view === "trials" ? "row" : to.view === "overview" && to.trial === chosen ? openIn : "home" });
  if (to.trial !== chosen || openIn === "row") attend({ chosen: to.trial, asked: null, reveal: to.trial !== null });
  setView(to.view);
  links();
  soon();
  askForView();
  if (view === "compare" || view === "overview") comparisonSoon();
}

// Asks for what only this view shows.
function askForView() {
  if (view === "parameters" && !known.slices.length) askSurface();
  if (view === "settings") askWorkers();
}

// Shows what the address says.
function arrive() {
  const to = addressed();
  if (to.study && to.study !== study && studies.includes(to.study)) open(to.study, to);
  else look(to);
}

async function begin() {
  const data = JSON.parse($("data").textContent || "null");
  if (data) {
    follows({ study: data.study, studies: [data.study] });
    data.state.forEach(take);
    $("title").textContent = study;
    document.title = study + " · Foretell";
    importance(data.importance);
    surface(data.surface);
    look(addressed());
    remember();
    draw();
    return;
  }
  const reply = await fetch(address("/api/studies")).catch(() => null);
  if (!reply || !reply.ok) {
    $("live").textContent = reply ? (await reply.json()).error : "the server does not answer";
    return;
  }
  const there = await reply.json();
  follows({ studies: there.studies });
  if (!studies.length) {
    $("live").textContent = "there are no studies yet; this page checks again every five seconds";
    setTimeout(begin, 5000);
    return;
  }
  $("study").replaceChildren(...studies.map((name) => new Option(name, name)));
  $("chooser").hidden = studies.length < 2;
  $("study").onchange = () => {
    open($("study").value);
    remember(true);
  };
  const to = addressed(); // without one, the study that was written last: the one that runs
  open(studies.includes(to.study) ? to.study : there.latest || studies[0], to.study && !studies.includes(to.study) ? undefined : to);
  remember();
  offer(studies);
}

$("filter").oninput = () => setFilter($("filter").value);
$("unfilter").onclick = () => {
  setFilter("");
  $("filter").focus();
};
$("parallel").onpointerdown = beginBrush;
$("parallel").onpointermove = moveBrush;
$("parallel").onpointerup = endBrush;
$("parallel").onpointercancel = () => {
  parallels.drag = null;
  soon();
};
$("parallel").onpointerleave = () => {
  if (!parallels.drag) {
    canvas("hover-parallel");
    untip();
  }
};
$("rows").onscroll = () => rows();
$("curves-box").onmousemove = (event) => {
  if (looking.drag) drag(event);
  else if (plot.x) hover(event);
};
$("curves-box").onpointerdown = beginDrag;
addEventListener("pointerup", (event) => {
  if (looking.drag) endDrag(event);
});
$("curves-box").onmouseleave = () => {
  if (!looking.drag) canvas("hover");
  untip();
};
$("curves-box").ondblclick = unzoom;
$("unzoom").onclick = unzoom;
$("log-y").onchange = () => {
  looking.log = $("log-y").checked;
  looking.part = null;
  soon();
};
$("smooth").oninput = () => {
  looking.smooth = Number($("smooth").value);
  soon();
};
$("curves-box").onclick = (event) => {
  if (looking.dragged) {
    looking.dragged = false;
    return;
  }
  const found = plot.x && nearest(event);
  if (found) choose(found.trial.id);
};
for (const id of ["progress-epochs", "progress-hours", "contour", "contour-spread", "front-picture", "front-growth"]) findable(id);
$("front-x").onchange = $("front-y").onchange = () => front();
$("contour-x").onchange = $("contour-y").onchange = () => {
  known.isPairChosen = true;
  contour();
};
for (const button of $$("[data-download]")) button.onclick = () => download(button.dataset.download);
$("enqueue-form").onsubmit = enqueue;
$("notes-form").onsubmit = writeNotes;
$("try-again").onclick = tryAgain;
$("copy-command").onclick = () => copy($("command").textContent, $("copied"));
$("copy-best").onclick = () => copy(bestOf.command, $("copied-best"));
$("open-best").onclick = () => {
  const leader = leading();
  if (leader) choose(leader.id);
};
$("stop").onclick = () => {
  attend({ asked: chosen });
  why();
  $("no").focus();
};
$("no").onclick = () => {
  attend({ asked: null });
  why();
  $("stop").focus();
};
$("yes").onclick = () => order("stop");
$("keep").onclick = () => order("keep");
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && asked !== null) $("no").click();
});
addEventListener("popstate", () => {
  if (study) arrive();
});
const redraw = () => {
  soon();
  comparisonSoon();
};
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
begin();

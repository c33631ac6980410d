// Reads the records, from the page itself or from the server, and draws.
const $ = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token");
const address = (path, query = {}) => {
  const words = new URLSearchParams(token ? { ...query, token } : query).toString();
  return words ? path + "?" + words : path;
};
let study = null, source = null, due = false, took = 0, drawnAt = 0, learnt = { at: -Infinity, ended: -1, soon: null };

function totals(leader) {
  const count = {}; let spent = 0, saved = 0, savedTime = 0, busy = 0;
  for (const trial of state.trials.values()) {
    const left = spared(trial);
    count[trial.state] = (count[trial.state] || 0) + 1; spent += cost(trial); saved += left; busy += trial.busy;
    if (trained(trial)) savedTime += left * trial.busy / trained(trial);
  }
  const total = state.trials.size, planned = state.spec ? Math.max(state.spec.trials, total) : total;
  const entries = [
    ["best", leader ? `${number(worth(leader))} (trial ${leader.id})` : "–"], ["trials", `${whole(total)} of ${whole(planned)}`], ["running", whole(count.running)], ["trained to the end", whole(count.completed)],
    ["stopped", whole(count.stopped)], ...(count.paused ? [["paused", whole(count.paused)]] : []), ["failed", whole(count.failed)], ["epochs spent", whole(spent)],
    ["saved", spent ? `${Math.round(100 * saved / (spent + saved))} %` : "–"], ...(busy ? [["time trained", duration(busy)], ["time saved", duration(savedTime)]] : []),
  ];
  $("totals").replaceChildren(...entries.map(([name, value]) => {
    const div = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = name; dd.textContent = value; div.append(dt, dd);
    return div;
  }));
  return total - (count.running || 0);
}

function draw() {
  const began = performance.now(), leader = leading();
  due = false;
  const done = totals(leader);
  curves(leader); parallel(leader); table(); why();
  took = performance.now() - began; drawnAt = performance.now();
  document.documentElement.dataset.drawn = state.records;
  if (source && !learnt.soon && done >= Math.max(learnt.ended + 1, learnt.ended * 1.15))
    learnt.soon = setTimeout(() => learn(done), Math.max(0, learnt.at + 2000 - drawnAt));
}

// Draws soon; where drawing takes long, not more than a quarter of the time.
function soon() {
  if (due) return;
  due = true;
  setTimeout(() => requestAnimationFrame(draw), Math.max(0, drawnAt + Math.min(2000, 3 * took) - performance.now()));
}

// Asks which parameters matter, at most every two seconds.
async function learn(done) {
  learnt = { at: performance.now(), ended: done, soon: null };
  const of = study, reply = await fetch(address(`/api/studies/${encodeURIComponent(of)}/importance`)).catch(() => null);
  if (reply && reply.ok && of === study) importance(await reply.json());
}

function open(name) {
  if (source) source.close();
  study = name; state = anew(); chosen = null; clearTimeout(learnt.soon); learnt = { at: -Infinity, ended: -1, soon: null }; importance(null);
  $("title").textContent = name; document.title = name + " · Foretell";
  follow(); soon();
}

// Follows the log from the first record that is not known. A browser that loses the server comes back by itself, unless it was refused.
function follow() {
  const own = new EventSource(address("/api/studies/" + encodeURIComponent(study) + "/events", { after: state.records }));
  source = own;
  own.onopen = () => { $("live").textContent = "live"; };
  own.onerror = () => {
    if (own !== source) return;
    $("live").textContent = "the server does not answer; trying again …";
    if (own.readyState === EventSource.CLOSED) setTimeout(() => { if (own === source) follow(); }, 2000);
  };
  own.onmessage = (event) => {
    if (own !== source) return;
    const records = JSON.parse(event.data), after = Number(event.lastEventId);
    // what was seen before is not taken twice
    const fresh = Math.max(0, records.length - (after - state.records));
    for (let i = fresh; i < records.length; i++) apply(records[i]);
    soon();
  };
  own.addEventListener("anew", () => { state = anew(); soon(); });
}

async function begin() {
  const data = JSON.parse($("data").textContent || "null");
  if (data) {
    data.records.forEach(apply); $("title").textContent = data.study; document.title = data.study + " · Foretell";
    importance(data.importance); draw();
    return;
  }
  const reply = await fetch(address("/api/studies")).catch(() => null);
  if (!reply || !reply.ok) { $("live").textContent = reply ? (await reply.json()).error : "the server does not answer"; return; }
  const { studies } = await reply.json();
  if (!studies.length) { $("live").textContent = "no study here yet; this page looks again every five seconds"; setTimeout(begin, 5000); return; }
  $("study").replaceChildren(...studies.map((name) => new Option(name, name)));
  $("chooser").hidden = studies.length < 2;
  $("study").onchange = () => open($("study").value);
  open(studies[0]); offer(studies);
}

$("filter").oninput = () => { $("rows").scrollTop = 0; table(); };
$("rows").onscroll = () => rows();
$("curves-box").onmousemove = (event) => { if (plot.x) hover(event); };
$("curves-box").onmouseleave = () => { canvas("hover"); $("tip").hidden = true; };
$("curves-box").onclick = (event) => { const found = plot.x && nearest(event); if (found) choose(found.trial.id); };
$("stop").onclick = () => { asked = chosen; why(); $("no").focus(); };
$("no").onclick = () => { asked = null; why(); $("stop").focus(); };
$("yes").onclick = () => order("stop");
$("keep").onclick = () => order("keep");
addEventListener("keydown", (event) => { if (event.key === "Escape" && asked !== null) $("no").click(); });
const redraw = () => { soon(); if (compared.length) comparison(); };
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
begin();

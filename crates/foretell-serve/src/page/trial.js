// One trial: why it was stopped or goes on, decision by decision; and what a person orders about it.
let chosen = null, asked = null;

function choose(id) {
  chosen = id; asked = null; draw(); $("why-title").focus({ preventScroll: true }); $("why").scrollIntoView({ block: "nearest" });
}

function why() {
  const trial = state.trials.get(chosen);
  $("why").hidden = !trial;
  if (!trial) return;
  const reason = trial.why && trial.why !== words.by_hand ? ": " + trial.why.split("\n")[0] : "";
  $("why-title").textContent = `Trial ${trial.id}: ${named(trial)}${reason}`;
  $("settings").textContent = Object.entries(trial.configuration).filter(([, value]) => value !== null).map(([name, value]) => `${name} ${shown(value)}`).join(", ");
  hand(trial);
  const values = new Map(trial.steps.map((step, i) => [step, trial.values[i]]));
  const row = (texts, name) => {
    const tr = document.createElement("tr");
    for (const text of texts) { const td = document.createElement(name); if (name === "th") td.scope = "col"; td.textContent = text; tr.append(td); }
    return tr;
  };
  $("undecided").hidden = trial.decisions.length > 0;
  $("decided").hidden = !trial.decisions.length;
  $("decisions").tHead.replaceChildren(row(["epoch", metric(), "forecast", "90 % interval", "against", "sure", "then", "why"], "th"));
  $("decisions").tBodies[0].replaceChildren(...trial.decisions.map((d) => row([
    d.step, shown(values.get(d.step)), d.forecast ? number(d.forecast.mean) + " ± " + number(d.forecast.sd) : "–",
    d.forecast ? number(d.forecast.interval[0]) + " … " + number(d.forecast.interval[1]) : "–", number(d.incumbent),
    d.probability == null ? "–" : (100 * d.probability).toFixed(2) + " %",
    d.action === "stop" ? d.shadow ? "would stop" : "stop" : "go on", because(d.reason)], "td")));
}

// The buttons by which a person stops or keeps a running trial.
function hand(trial) {
  const may = Boolean(source) && trial.state === "running";
  $("hand").hidden = !may;
  if (!may) asked = null;
  const sure = asked === trial.id;
  $("stop").hidden = $("keep").hidden = sure;
  $("sure").hidden = !sure;
  $("keep").disabled = trial.kept;
  $("keep").textContent = trial.kept ? "Kept by hand" : "Keep it";
  $("sure-text").textContent = `Stop trial ${trial.id} for good?`;
  $("ordered").textContent = trial.ordered;
}

async function order(what) {
  const trial = state.trials.get(chosen);
  if (!trial) return;
  asked = null; trial.ordered = what === "stop" ? "stopping …" : "keeping …"; why();
  $(what === "stop" ? "why-title" : "keep").focus();
  try {
    const reply = await fetch(address(`/api/studies/${encodeURIComponent(study)}/trials/${trial.id}/${what}`), { method: "POST" });
    const text = await reply.json();
    trial.ordered = reply.ok ? (reply.status === 202 ? "ordered; recorded within a second while the study runs" : "") : text.error;
  } catch {
    trial.ordered = "the server does not answer; nothing was ordered";
  }
  why();
}

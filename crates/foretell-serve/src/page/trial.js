// One trial: settings, metrics, output, and why it was stopped or goes on, decision by decision; and what a person orders about it.
import { $, address, metric, named, number, outcome, reason, shown, source, state, study, uncertain, whole, worth } from "./state.js";
import { color } from "./colors.js";
import { asked, attend, chosen, openIn } from "./choice.js";
import { api, asks, element, pairs, row } from "./elements.js";
import { canvas, frame } from "./picture.js";
import { addressOf } from "./addresses.js";
import { kept, opened } from "./table.js";
/** @type {any} */
let whyPanel = null;
export function why() {
  const trial = state.trials.get(chosen),
    place = openIn === "row" && trial && kept.includes(trial) ? opened().cells[0].firstChild : $("why-home"),
    panel = $("why") || whyPanel;
  whyPanel = panel;
  if (panel.parentNode !== place) {
    const inside = panel.contains(document.activeElement) ? /** @type {any} */ (document.activeElement) : null;
    place.append(panel);
    inside?.focus({ preventScroll: true });
  }
  panel.hidden = !trial;
  if (!trial) return;
  const because = trial.why && !trial.byHand ? ": " + reason(trial) : "";
  const again = trial.repeats ? `; repeats ${trial.repeats}` : "";
  $("why-title").textContent = `Trial ${trial.id}: ${named(trial)}${because}${again}`;
  const more = trial.why.includes("\n") ? trial.why : "";
  $("failure").hidden = !more;
  $("failure").textContent = more;
  pairs(
    $("settings-of"),
    Object.entries(trial.configuration).filter(([, value]) => value !== null),
  );
  const { value, sd, how } = outcome(trial);
  pairs($("metrics-of"), [
    [metric(), number(worth(trial))],
    ...(how === "forecast" ? [["forecast", uncertain(value, sd)]] : []),
    ...Object.entries(trial.metrics),
    ["epochs", trial.until ? `${whole(trial.epochs)} of ${whole(trial.until)}` : whole(trial.epochs)],
  ]);
  hand(trial);
  decisions(trial);
  details(trial);
}

function decisions(trial) {
  const values = new Map(trial.steps.map((step, i) => [step, trial.values[i]]));
  $("undecided").hidden = trial.decisions.length > 0;
  $("decided").hidden = !trial.decisions.length;
  const odds = trial.decisions.some((d) => d.chance != null) ? "chance to be the best" : "sure";
  $("decisions").tHead.replaceChildren(row(["epoch", metric(), "forecast", "90 % interval", "against", odds, "then", "why"], "th"));
  $("decisions").tBodies[0].replaceChildren(
    ...trial.decisions.map((d) =>
      row(
        [
          d.step,
          shown(values.get(d.step)),
          d.forecast ? uncertain(d.forecast.mean, d.forecast.sd) : "–",
          d.forecast ? number(d.forecast.interval[0]) + " … " + number(d.forecast.interval[1]) : "–",
          number(d.incumbent),
          d.chance != null ? (100 * d.chance).toFixed(2) + " %" : d.probability == null ? "–" : (d.probability >= 0.9995 ? "> 99.9" : (100 * d.probability).toFixed(2)) + " %",
          d.action === "stop" ? (d.shadow ? "would stop" : "stop") : "continue",
          d.why,
        ],
        "td",
      ),
    ),
  );
}

// What only the server has of a trial: all metrics, its command, who runs it, what it prints.
let detailed = { of: null, id: null, as: null, found: null, printed: null, timer: null };
function details(trial) {
  if (detailed.of !== state || detailed.id !== trial.id) {
    clearTimeout(detailed.timer);
    detailed = { of: state, id: trial.id, as: null, found: null, printed: null, timer: null };
    showDetails();
  }
  $("address-of").href = addressOf({ view: "trials", trial: trial.id, filter: "" });
  $("try-again").hidden = !source || !(state.settings && state.settings.space && state.settings.space.parameters);
  const now = `${trial.epochs} ${trial.state} ${trial.kept}`;
  if (detailed.as === now) return;
  detailed.as = now;
  if (source) askDetails(detailed, trial);
  else showDetails();
}

async function askDetails(own, trial) {
  const found = await asks(api(`/trials/${trial.id}`));
  if (own !== detailed || !found) return;
  own.found = found;
  trial.decisions = found.decisions;
  decisions(trial);
  showDetails();
  if (!own.timer) askOutput(own, trial);
}

// Reads on what a trial prints, as long as it runs and is looked at.
async function askOutput(own, trial) {
  const query = own.printed ? { from: own.printed.to } : {},
    found = await asks(api(`/trials/${trial.id}/output`), query);
  if (own !== detailed) return;
  if (found && found.is_here) {
    const before = own.printed && found.from === own.printed.to ? own.printed.text : "";
    own.printed = { to: found.to, text: (before + found.text).slice(-200000) };
    showOutput();
  }
  own.timer = chosen === trial.id && (trial.state === "running" || trial.state === "interrupted") ? setTimeout(() => askOutput(own, trial), 1000) : null;
}

function showDetails() {
  const { found } = detailed,
    own = state.trials.get(detailed.id),
    known = [...(own ? [[metric(), own]] : []), ...Object.entries(found ? found.metrics : {})],
    series = known.filter(([, { steps }]) => steps.length > 1);
  $("command-of").hidden = $("copy-command").hidden = !(found && found.command);
  $("command").textContent = found && found.command ? found.command : "";
  $("used").textContent = found && found.usage ? used(found.usage) : "";
  $("copied").textContent = found && found.worker ? `runs on ${found.worker.name}` : "";
  $("metrics-curves").hidden = !series.length;
  $("metrics-curves").replaceChildren(
    ...series.map(([name], i) => {
      const box = element("div", null, { class: "canvas" });
      box.append(element("canvas", null, { id: "metric-" + i, class: "metric", role: "img", "aria-label": `${name} by epoch` }));
      return box;
    }),
  );
  series.forEach(([name, { steps, values }], i) => metricCurve("metric-" + i, name, steps, values));
  showOutput();
}

// The memory and the GPUs that a trial used.
function used({ peak_memory, peak_gpu_memory, samples }) {
  const size = (bytes) => (bytes < 2 ** 30 ? (bytes / 2 ** 20).toFixed(0) + " MiB" : (bytes / 2 ** 30).toFixed(1) + " GiB"),
    busy = samples.map((sample) => sample.gpu_busy).filter((value) => value != null);
  return [
    "memory up to " + size(peak_memory),
    ...(peak_gpu_memory ? ["GPU memory up to " + size(peak_gpu_memory)] : []),
    ...(busy.length ? [`GPU busy for ${(busy.reduce((a, b) => a + b) / busy.length).toFixed(0)} % of the time`] : []),
  ].join(", ");
}

function metricCurve(id, name, steps, values) {
  if (!$(id) || !$(id).getBoundingClientRect().width) return;
  const { pen, width, height } = canvas(id);
  let low = Math.min(...values),
    high = Math.max(...values);
  if (!(low < high)) {
    low -= 0.5;
    high += 0.5;
  }
  const pad = (high - low) * 0.08,
    { x, y } = frame(pen, {
      left: 58,
      right: 10,
      top: 10,
      bottom: 32,
      width,
      height,
      low: low - pad,
      high: high + pad,
      end: steps[steps.length - 1],
      label: name,
    });
  pen.strokeStyle = color("running");
  pen.lineWidth = 1.6;
  pen.beginPath();
  values.forEach((value, i) => pen.lineTo(x(steps[i]), y(value)));
  pen.stroke();
}

function showOutput() {
  const { printed } = detailed,
    pre = $("output"),
    atEnd = pre.scrollTop + pre.clientHeight > pre.scrollHeight - 30;
  $("output-of").hidden = !printed;
  // without colors; of a line that is drawn again and again, the last
  pre.textContent = printed ? printed.text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "").replace(/^.*\r(?!\n)/gm, "") : "";
  if (atEnd) pre.scrollTop = pre.scrollHeight;
}

// The buttons by which a person stops or keeps a running trial.
function hand(trial) {
  const may = Boolean(source) && trial.state === "running";
  $("hand").hidden = !may;
  if (!may) attend({ asked: null });
  const sure = asked === trial.id;
  $("stop").hidden = $("keep").hidden = sure;
  $("sure").hidden = !sure;
  $("keep").disabled = trial.kept;
  $("keep").textContent = trial.kept ? "Kept manually" : "Keep it";
  $("sure-text").textContent = `Stop trial ${trial.id} for good?`;
  $("ordered").textContent = trial.ordered;
}

export async function order(what) {
  const trial = state.trials.get(chosen);
  if (!trial) return;
  attend({ asked: null });
  trial.ordered = what === "stop" ? "stopping …" : "keeping …";
  why();
  $(what === "stop" ? "why-title" : "keep").focus();
  try {
    const reply = await fetch(address(`/api/studies/${encodeURIComponent(study)}/trials/${trial.id}/${what}`), { method: "POST" });
    const text = await reply.json();
    trial.ordered = reply.ok ? (reply.status === 202 ? "requested; recorded within a second while the study runs" : "") : text.error;
  } catch {
    trial.ordered = "the server does not answer, so nothing was changed";
  }
  why();
}

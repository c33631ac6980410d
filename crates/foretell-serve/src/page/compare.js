// Several studies side by side: the best so far against the epochs spent, and their totals.
import { $, $$, address, number } from "./state.js";
import { color } from "./colors.js";
import { row } from "./elements.js";
import { canvas, frame } from "./picture.js";
import { inView } from "./addresses.js";
const HUES = ["running", "best", "completed", "failed", "violet", "teal"];
let compared = [];

async function compare() {
  const names = $$("#chosen-studies input:checked").map((box) => box.value);
  const found = await Promise.all(
    names.map((name) =>
      fetch(address(`/api/studies/${encodeURIComponent(name)}/progress`))
        .then((reply) => (reply.ok ? reply.json() : null))
        .catch(() => null),
    ),
  );
  compared = found.filter(Boolean);
  comparison();
}

export const comparisonSoon = () => {
  if (compared.length) requestAnimationFrame(comparison);
};

function comparison() {
  if (!inView("compare")) {
    sideBySide();
    return;
  }
  const { pen, width, height } = canvas("comparison"),
    first = compared[0];
  const alike = compared.filter((one) => one.metric === first.metric && one.direction === first.direction);
  $("unlike").textContent = alike.length < compared.length ? `Studies with another metric than ${first.metric} appear only in the table.` : "";
  const drawn = alike.filter((one) => one.best_so_far.length),
    points = drawn.flatMap((one) => one.best_so_far);
  $("comparison").setAttribute(
    "aria-label",
    `Best so far against epochs spent: ${drawn.map((one) => `${one.study} ${number(one.best && one.best.score)}`).join(", ") || "no study has a result"}`,
  );
  sideBySide();
  if (!points.length) {
    pen.fillStyle = color("soft");
    pen.fillText("no study has a result yet", 20, height / 2);
    return;
  }
  let low = Math.min(...points.map((p) => p[1])),
    high = Math.max(...points.map((p) => p[1]));
  if (low === high) {
    low -= 0.5;
    high += 0.5;
  }
  const pad = (high - low) * 0.06,
    end = Math.max(...drawn.map((one) => one.epochs.spent));
  const { x, y } = frame(pen, { left: 58, right: 16, top: 12, bottom: 36, width, height, low: low - pad, high: high + pad, end, label: "epochs spent" });
  compared.forEach((one, i) => {
    if (!drawn.includes(one)) return;
    pen.strokeStyle = color(HUES[i % HUES.length]);
    pen.lineWidth = 2;
    pen.setLineDash([[], [6, 3], [2, 3]][Math.floor(i / HUES.length) % 3]);
    pen.beginPath();
    let before = null;
    for (const [spent, best] of one.best_so_far) {
      if (before === null) pen.moveTo(x(spent), y(best));
      else {
        pen.lineTo(x(spent), y(before));
        pen.lineTo(x(spent), y(best));
      }
      before = best;
    }
    pen.lineTo(x(one.epochs.spent), y(before));
    pen.stroke();
    pen.setLineDash([]);
  });
}

function sideBySide() {
  const percent = (one) => (one.epochs.without_stopping ? Math.round(100 * (1 - one.epochs.spent / one.epochs.without_stopping)) + " %" : "–");
  $("side-by-side").tHead.replaceChildren(row(["study", "metric", "best", "of trial", "trials", "stopped", "failed", "epochs", "saved", "state"], "th"));
  $("side-by-side").tBodies[0].replaceChildren(
    ...compared.map((one, i) => {
      const { best, trials, epochs } = one;
      const tr = row(
        [
          one.study,
          one.metric,
          number(best && best.score),
          best ? best.trial : "–",
          `${trials.total} of ${Math.max(one.planned, trials.total)}`,
          trials.stopped,
          trials.failed,
          epochs.spent,
          percent(one),
          one.done ? "done" : trials.running ? `${trials.running} running` : "not running",
        ],
        "td",
      );
      const key = document.createElement("span");
      key.className = "key";
      key.style.background = `var(--${HUES[i % HUES.length]})`;
      key.setAttribute("aria-hidden", "true");
      tr.cells[0].prepend(key);
      return tr;
    }),
  );
}

export function offer(names) {
  $("compare").hidden = $("to-compare").hidden = names.length < 2;
  if (names.length < 2) return;
  $("chosen-studies").replaceChildren(
    ...names.map((name, i) => {
      const label = document.createElement("label"),
        box = document.createElement("input");
      box.type = "checkbox";
      box.value = name;
      box.checked = i < 6;
      box.onchange = compare;
      label.append(box, " " + name);
      return label;
    }),
  );
  compare();
  setInterval(() => {
    if (!document.hidden) compare();
  }, 10000);
}

// The table of trials: sorted and filtered; only the rows in sight are in the document.
const ROW = 30; // a row's height
let sort = { key: "score", down: true }, kept = [], columns = [], focused = null;

const named = (trial) => trial.state === "stopped" && trial.why === words.by_hand ? "stopped by hand" : trial.state === "completed" ? "trained to the end" : trial.state === "running" && trial.kept ? "running, kept" : trial.state;

const cells = {
  trial: (t) => t.id, state: named, epochs: (t) => t.epochs, score: worth,
  forecast: (t) => t.forecast ? t.forecast.mean : null, why: (t) => t.why === words.by_hand ? "" : t.why.split("\n")[0],
};
const cell = (trial, key) => key.startsWith("p:") ? trial.configuration[key.slice(2)] : cells[key](trial);
const title = (key) => key.startsWith("p:") ? key.slice(2) : key === "score" ? metric() : key;

function table() {
  columns = ["trial", "state", "epochs", "score", "forecast", ...varying().map((name) => "p:" + name), "why"];
  const filter = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const all = [...state.trials.values()], text = (trial) => columns.map((key) => shown(cell(trial, key))).join(" ").toLowerCase();
  const passing = filter.length ? all.filter((trial) => { const has = text(trial); return filter.every((word) => has.includes(word)); }) : all;
  // the better first, where down
  const sign = (sort.down ? -1 : 1) * ((sort.key === "score" || sort.key === "forecast") && minimizes() ? -1 : 1);
  kept = passing.map((trial) => [cell(trial, sort.key), trial]).sort(([x, a], [y, b]) => {
    if (x === y || (x == null && y == null)) return a.id - b.id;
    if (x == null) return 1;
    if (y == null) return -1;
    return (x < y ? -1 : 1) * sign;
  }).map(([, trial]) => trial);
  head(); rows();
  $("trials").setAttribute("aria-rowcount", kept.length + 1);
  $("shown").textContent = kept.length === all.length ? `${all.length} trials` : `${kept.length} of ${all.length} trials`;
}

function head() {
  const labels = columns.map((key) => title(key) + (sort.key === key ? (sort.down ? " ▾" : " ▴") : "")), before = [...$("trials").querySelectorAll("thead button")];
  if (labels.length === before.length && labels.every((label, i) => label === before[i].textContent)) return;
  const row = document.createElement("tr"), at = before.indexOf(document.activeElement);
  columns.forEach((key, i) => {
    const th = document.createElement("th"), button = document.createElement("button");
    th.scope = "col"; th.className = numeric(key) ? "number" : ""; th.append(button); button.textContent = labels[i];
    th.setAttribute("aria-sort", sort.key === key ? (sort.down ? "descending" : "ascending") : "none");
    button.onclick = () => { sort = { key, down: sort.key === key ? !sort.down : true }; table(); };
    row.append(th);
  });
  $("trials").tHead.replaceChildren(row);
  if (at >= 0) $("trials").querySelectorAll("thead button")[at].focus();
}

const numeric = (key) => ["epochs", "score", "forecast"].includes(key) || (key.startsWith("p:") && typeof cell(kept[0] || { configuration: {} }, key) === "number");

function rows() {
  const scroller = $("rows"), inside = scroller.contains(document.activeElement) && document.activeElement.dataset.trial !== undefined;
  const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 8), last = Math.min(kept.length, first + Math.ceil(scroller.clientHeight / ROW) + 16);
  if (!kept.some((trial) => trial.id === focused)) focused = kept.length ? kept[0].id : null;
  const inSight = kept.slice(first, last), stop = inSight.some((trial) => trial.id === focused) ? focused : inSight.length ? inSight[0].id : null;
  const lines = inSight.map((trial, i) => line(trial, first + i, stop)), body = $("trials").tBodies[0];
  for (const [id, row] of drawn) if (!lines.includes(row)) drawn.delete(id);
  above.style.height = first * ROW + "px"; below.style.height = (kept.length - last) * ROW + "px";
  // rows that stay are not moved: a click may be under way
  const wanted = [above, ...lines, below];
  if (wanted.length === body.children.length && wanted.every((row, i) => row === body.children[i])) return;
  body.replaceChildren(...wanted);
  if (inside) (button(focused) || scroller).focus({ preventScroll: true });
}

// The rows in the document by trial, and the spaces for those that are not.
const drawn = new Map(), above = space(), below = space();

function space() {
  const row = document.createElement("tr");
  row.setAttribute("aria-hidden", "true"); row.className = "space"; row.append(document.createElement("td"));
  return row;
}

function line(trial, index, stop) {
  let row = drawn.get(trial.id);
  if (!row || row.cells.length !== columns.length) {
    row = document.createElement("tr");
    for (const key of columns) { const td = document.createElement("td"); if (key === "trial") td.append(opener(trial)); row.append(td); }
    drawn.set(trial.id, row);
  }
  row.setAttribute("aria-rowindex", index + 2); row.dataset.index = index; row.className = trial.id === chosen ? "chosen" : "";
  row.querySelector("button").tabIndex = trial.id === stop ? 0 : -1;
  columns.forEach((key, i) => {
    if (key === "trial") return;
    const td = row.cells[i], text = shown(cell(trial, key));
    if (td.textContent !== text) td.textContent = text;
    if (key === "why") td.title = text;
    td.className = key === "state" ? trial.state : numeric(key) ? "number" : "";
  });
  return row;
}

function opener(trial) {
  const button = document.createElement("button");
  button.textContent = trial.id; button.dataset.trial = trial.id;
  button.setAttribute("aria-label", `trial ${trial.id}: why`);
  button.onclick = () => choose(trial.id);
  button.onfocus = () => { focused = trial.id; };
  button.onkeydown = (event) => {
    const index = Number(button.closest("tr").dataset.index), page = Math.max(1, Math.floor($("rows").clientHeight / ROW) - 2);
    const to = { ArrowDown: index + 1, ArrowUp: index - 1, PageDown: index + page, PageUp: index - page, Home: 0, End: kept.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault(); goTo(Math.min(kept.length - 1, Math.max(0, to)));
  };
  return button;
}

const button = (trial) => $("trials").querySelector(`[data-trial="${trial}"]`);

// Moves the focus to row `index`.
function goTo(index) {
  const scroller = $("rows"), top = index * ROW, sight = scroller.clientHeight - 2 * ROW;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top > scroller.scrollTop + sight) scroller.scrollTop = top - sight;
  focused = kept[index].id; rows(); button(focused)?.focus({ preventScroll: true });
}

// The table of trials: sorted and filtered; only the rows in sight are in the document.
import { $, isYours, minimizes, shown, state, uncertain, whole } from "./state.js";
import { shadeOf } from "./colors.js";
import { chosen, openIn } from "./choice.js";
import { choose, close, inView, rowButton } from "./addresses.js";
import { cell, chosenColumns, columns, columnsNow, title } from "./columns.js";
import { filtering } from "./filter.js";
export const ROW = 30; // a row's height
export let sort = { key: "score", down: true },
  kept = [],
  focused = null;

// The choice of columns.
function offerColumns(all) {
  const box = $("column-boxes"),
    before = [...box.querySelectorAll("input")].map((input) => input.value);
  if (before.join("\n") !== all.join("\n"))
    box.replaceChildren(
      ...all.map((key) => {
        const label = document.createElement("label"),
          input = document.createElement("input");
        input.type = "checkbox";
        input.value = key;
        input.onchange = () => {
          chosenColumns.set(key, input.checked);
          drawn.clear();
          table();
        };
        label.append(input, " " + title(key));
        return label;
      }),
    );
  for (const input of box.querySelectorAll("input")) input.checked = columns.includes(input.value);
}

export function table() {
  offerColumns(columnsNow());
  const { passing, set } = filtering();
  // the better first, where down
  const sign = (sort.down ? -1 : 1) * ((sort.key === "score" || sort.key === "forecast") && minimizes() ? -1 : 1);
  kept = passing
    .map((trial) => [cell(trial, sort.key), trial])
    .sort(([x, a], [y, b]) => {
      if (x === y || (x == null && y == null)) return a.id - b.id;
      if (x == null) return 1;
      if (y == null) return -1;
      return (x < y ? -1 : 1) * sign;
    })
    .map(([, trial]) => trial);
  $("shown").textContent = set ? `${whole(kept.length)} of ${whole(state.trials.size)} trials` : `${whole(state.trials.size)} trials`;
  $("unfilter").hidden = !set;
  $("rows").hidden = $("column-choice").hidden = !state.trials.size;
  if (!inView("list") || !state.trials.size) return;
  head();
  rows();
  $("trials").setAttribute("aria-rowcount", kept.length + 1);
}

function head() {
  const labels = columns.map((key) => title(key) + (sort.key === key ? (sort.down ? " ▾" : " ▴") : "")),
    before = [...$("trials").querySelectorAll("thead button")];
  if (labels.length === before.length && labels.every((label, i) => label === before[i].textContent)) return;
  const row = document.createElement("tr"),
    at = before.indexOf(document.activeElement);
  columns.forEach((key, i) => {
    const th = document.createElement("th"),
      button = document.createElement("button");
    th.scope = "col";
    th.className = numeric(key) ? "number" : "";
    th.append(button);
    button.textContent = labels[i];
    th.setAttribute("aria-sort", sort.key === key ? (sort.down ? "descending" : "ascending") : "none");
    button.onclick = () => {
      sort = { key, down: sort.key === key ? !sort.down : true };
      table();
    };
    row.append(th);
  });
  $("trials").tHead.replaceChildren(row);
  if (at >= 0) $("trials").querySelectorAll("thead button")[at].focus();
}

const numeric = (key) =>
  ["epochs", "score", "forecast"].includes(key) ||
  key.startsWith("m:") ||
  (key.startsWith("p:") && typeof cell(kept[0] || { configuration: {} }, key) === "number");

export function rows() {
  const scroller = $("rows"),
    inside = scroller.contains(document.activeElement) && /** @type {any} */ (document.activeElement).dataset.trial !== undefined;
  const at = openIn === "row" ? kept.findIndex((trial) => trial.id === chosen) : -1,
    tall = at < 0 ? 0 : opened().offsetHeight || 300;
  // as if the open row were closed
  const top = at < 0 || scroller.scrollTop <= (at + 1) * ROW ? scroller.scrollTop : Math.max((at + 1) * ROW, scroller.scrollTop - tall);
  const first = Math.max(0, Math.floor(top / ROW) - 8),
    last = Math.min(kept.length, first + Math.ceil(scroller.clientHeight / ROW) + 16);
  if (!kept.some((trial) => trial.id === focused)) focused = kept.length ? kept[0].id : null;
  const visible = kept.slice(first, last),
    stop = visible.some((trial) => trial.id === focused) ? focused : visible.length ? visible[0].id : null;
  const lines = visible.map((trial, i) => line(trial, first + i, stop)),
    body = $("trials").tBodies[0];
  for (const [id, row] of drawn) if (!lines.includes(row)) drawn.delete(id);
  const wanted =
    at < 0
      ? [above, ...lines, below]
      : at < first
        ? [above, opened(), gap, ...lines, below]
        : at < last
          ? [above, ...lines.slice(0, at - first + 1), opened(), ...lines.slice(at - first + 1), below]
          : [above, ...lines, gap, opened(), below];
  const height = (space, count) => {
    space.style.height = count * ROW + "px";
  };
  height(above, at >= 0 && at < first ? at + 1 : first);
  height(gap, at < first ? first - at - 1 : at + 1 - last);
  height(below, kept.length - Math.max(last, at + 1));
  // rows that stay are not moved: a click may be under way
  if (wanted.length === body.children.length && wanted.every((row, i) => row === body.children[i])) return;
  const held = openedRow && openedRow.contains(document.activeElement) ? /** @type {any} */ (document.activeElement) : null;
  body.replaceChildren(...wanted);
  held?.focus({ preventScroll: true });
  if (inside) (rowButton(focused) || scroller).focus({ preventScroll: true });
}

// The row beneath the open one, which holds what is known of its trial.
let openedRow = null;
export function opened() {
  if (!openedRow) {
    openedRow = document.createElement("tr");
    openedRow.className = "open";
    const td = document.createElement("td");
    td.append(document.createElement("div"));
    openedRow.append(td);
  }
  openedRow.cells[0].colSpan = Math.max(1, columns.length);
  openedRow.cells[0].firstChild.style.width = $("rows").clientWidth - 2 + "px";
  return openedRow;
}

// The rows in the document by trial, and the spaces for those that are not.
const drawn = new Map(),
  above = space(),
  gap = space(),
  below = space();

function space() {
  const row = document.createElement("tr");
  row.setAttribute("aria-hidden", "true");
  row.className = "space";
  row.append(document.createElement("td"));
  return row;
}

function line(trial, index, stop) {
  let row = drawn.get(trial.id);
  if (!row || row.cells.length !== columns.length) {
    row = document.createElement("tr");
    for (const key of columns) {
      const td = document.createElement("td");
      if (key === "trial") td.append(openerOf(trial));
      row.append(td);
    }
    // a click anywhere opens the trial, unless it ends a selection of text
    row.onclick = (event) => {
      if (!event.target.closest("button, a") && getSelection().isCollapsed) row.querySelector("button").click();
    };
    drawn.set(trial.id, row);
  }
  row.setAttribute("aria-rowindex", index + 2);
  row.dataset.index = index;
  row.className = trial.id === chosen ? "chosen" : "";
  const own = row.querySelector("button"),
    open = openIn === "row" && trial.id === chosen;
  own.tabIndex = trial.id === stop ? 0 : -1;
  own.setAttribute("aria-expanded", open);
  own.firstChild.textContent = open ? "▾" : "▸";
  row.cells[0].style.boxShadow = `inset 4px 0 ${shadeOf(trial)}`;
  columns.forEach((key, i) => {
    if (key === "trial") return;
    const td = row.cells[i],
      text = key === "forecast" && trial.forecast ? uncertain(trial.forecast.mean, trial.forecast.sd) : shown(cell(trial, key));
    if (td.textContent !== text) td.textContent = text;
    if (key === "why") td.title = trial.why;
    td.className = key === "state" ? trial.state : key === "why" ? "why" : numeric(key) ? "number" : "";
  });
  return row;
}

function openerOf(trial) {
  const button = document.createElement("button");
  const mark = document.createElement("span");
  mark.setAttribute("aria-hidden", "true");
  mark.className = "mark";
  mark.textContent = "▸";
  button.append(mark, trial.id + (isYours(trial) ? " (yours)" : ""));
  button.dataset.trial = trial.id;
  button.setAttribute("aria-label", `trial ${trial.id}${isYours(trial) ? ", your own values" : ""}: all about it`);
  button.onclick = () => (chosen === trial.id && openIn === "row" ? close() : choose(trial.id, "row"));
  button.onfocus = () => {
    focused = trial.id;
  };
  button.onkeydown = (event) => {
    const index = Number(button.closest("tr").dataset.index),
      page = Math.max(1, Math.floor($("rows").clientHeight / ROW) - 2);
    const to = { ArrowDown: index + 1, ArrowUp: index - 1, PageDown: index + page, PageUp: index - page, Home: 0, End: kept.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    goTo(Math.min(kept.length - 1, Math.max(0, to)));
  };
  return button;
}

// Moves the focus to row `index`.
function goTo(index) {
  const at = openIn === "row" ? kept.findIndex((trial) => trial.id === chosen) : -1;
  const scroller = $("rows"),
    top = index * ROW + (at >= 0 && index > at ? opened().offsetHeight : 0),
    sight = scroller.clientHeight - 2 * ROW;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top > scroller.scrollTop + sight) scroller.scrollTop = top - sight;
  focused = kept[index].id;
  rows();
  rowButton(focused)?.focus({ preventScroll: true });
}

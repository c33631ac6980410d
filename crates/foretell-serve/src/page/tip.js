// What is said beside the pointer: a trial with its parameters. It is never cut at an edge.
import { $, metric, named, number, outcome, shown, uncertain } from "./state.js";

export function tip(event, trial, line) {
  const box = $("tip"),
    title = document.createElement("strong"),
    text = document.createElement("div"),
    list = document.createElement("dl"),
    { value, sd, how } = outcome(trial);
  title.textContent = `trial ${trial.id} · ${named(trial)}`;
  text.textContent = line || (value === null ? "no result" : `${metric()} ${how === "forecast" ? uncertain(value, sd) + ", forecast" : number(value)}`);
  const values = Object.entries(trial.configuration).filter(([name, value]) => value !== null && name !== "net");
  list.append(
    ...values.slice(0, 14).flatMap(([name, value]) => {
      const dt = document.createElement("dt"),
        dd = document.createElement("dd");
      dt.textContent = name;
      dd.textContent = shown(value);
      return [dt, dd];
    }),
  );
  box.replaceChildren(title, text, list);
  if (values.length > 14) {
    const more = document.createElement("div");
    more.textContent = `and ${values.length - 14} more`;
    box.append(more);
  }
  putBeside(event, box);
}

// Puts `box` beside the pointer, inside the window.
function putBeside(event, box) {
  box.hidden = false;
  box.style.left = "0";
  box.style.top = "0";
  const { width, height } = box.getBoundingClientRect(),
    gap = 14,
    wide = document.documentElement.clientWidth,
    high = innerHeight;
  const left = event.clientX + gap + width <= wide - 4 ? event.clientX + gap : event.clientX - gap - width;
  const top = event.clientY + gap + height <= high - 4 ? event.clientY + gap : event.clientY - gap - height;
  box.style.left = Math.max(4, Math.min(left, wide - width - 4)) + "px";
  box.style.top = Math.max(4, Math.min(top, high - height - 4)) + "px";
}

export const untip = () => {
  $("tip").hidden = true;
};

// A picture on a canvas: its axes, round numbers, and texts.
import { $, number } from "./state.js";
import { color } from "./colors.js";

export function canvas(id) {
  const element = $(id),
    scale = window.devicePixelRatio || 1,
    box = element.getBoundingClientRect();
  element.width = box.width * scale;
  element.height = box.height * scale;
  const pen = element.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "12px system-ui, sans-serif";
  pen.lineJoin = "round";
  return { pen, width: box.width, height: box.height };
}

// Round numbers from low to high, about `count` of them.
export function ticks(low, high, count) {
  const raw = (high - low) / count,
    power = 10 ** Math.floor(Math.log10(raw)),
    unit = [1, 2, 5, 10].find((u) => u * power >= raw) * power;
  const first = Math.ceil(low / unit),
    found = [];
  for (let i = first; i * unit <= high + unit * 1e-9 && found.length < 50; i++) found.push(+(i * unit).toPrecision(12));
  // one number alone tells no scale
  return found.length < 2 && count < 16 && high > low ? ticks(low, high, 2 * count) : found;
}

// The axes of a picture. What is drawn between `clip` and `pen.restore` is cut off at its edges, and never bent to them.
export function frame(pen, { left, right, top, bottom, width, height, low, high, begin = 0, end, label, whole = true, bare = false, log = false }) {
  const x = (step) => left + ((width - left - right) * (step - begin)) / (end - begin),
    f = log ? (value) => Math.log(Math.max(value, Number.MIN_VALUE)) : (value) => value;
  const y = (value) => top + (height - top - bottom) * (1 - (f(value) - f(low)) / (f(high) - f(low)));
  const holds = (value) => value >= low && value <= high;
  const clip = () => {
    pen.save();
    pen.beginPath();
    pen.rect(left - 3, top - 3, width - left - right + 6, height - top - bottom + 6);
    pen.clip();
  };
  pen.strokeStyle = color("line");
  pen.fillStyle = color("soft");
  pen.lineWidth = 1;
  pen.textAlign = "right";
  for (const value of log ? decades(low, high) : ticks(low, high, Math.max(2, (height - top - bottom) / 45))) {
    pen.beginPath();
    pen.moveTo(left, y(value));
    pen.lineTo(width - right, y(value));
    pen.stroke();
    pen.fillText(number(value), left - 6, y(value) + 4);
  }
  pen.textAlign = "center";
  if (!bare)
    for (const step of ticks(begin, end, Math.max(2, whole ? Math.min(end - begin, (width - left - right) / 90) : (width - left - right) / 90)))
      if (!whole || Number.isInteger(step)) pen.fillText(number(step), x(step), height - bottom + 16);
  pen.fillText(label, left + (width - left - right) / 2, height - 3);
  return { x, y, clip, holds };
}

// Powers of ten, with their doubles and fives where they are few, or of two where those are fewer still.
export function decades(low, high) {
  const found = (steps) => {
    const values = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      for (const step of steps) {
        const value = +(step * 10 ** power).toPrecision(6);
        if (value >= low && value <= high) values.push(value);
      }
    return values;
  };
  const tens = found([1]);
  if (tens.length >= 3) return tens.filter((_, i) => i % Math.ceil(tens.length / 6) === 0);
  const more = found([1, 2, 5]);
  return more.length >= 2 ? more : [low, high];
}

// A text that can be read over lines.
export function written(pen, text, x, y, align, ink) {
  pen.textAlign = align;
  pen.strokeStyle = color("paper");
  pen.lineWidth = 4;
  pen.strokeText(text, x, y);
  pen.fillStyle = ink;
  pen.fillText(text, x, y);
}

export function shortened(pen, text, width) {
  let kept = text;
  while (kept.length > 3 && pen.measureText(kept).width > width) kept = kept.slice(0, -2) + "…";
  return kept;
}

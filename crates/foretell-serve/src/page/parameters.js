// What the parameters do: parallel coordinates, and how much of the results each of them explains.
const THREADS = 1500; // so many trials are drawn
const AXES = 8;

// Networks have no order and are too long for an axis.
function parallel(leader) {
  const columns = varying().filter((name) => name !== "net").slice(0, AXES), all = [...state.trials.values()].filter((trial) => worth(trial) !== null);
  $("parameters").hidden = !columns.length || !all.length;
  if ($("parameters").hidden) return;
  const { pen, width, height } = canvas("parallel"); // what is hidden has no size
  const trials = sampled(all);
  $("threads").textContent = trials.length < all.length ? `the ${Math.floor(THREADS / 2)} best and ${trials.length - Math.floor(THREADS / 2)} of the other ${all.length - Math.floor(THREADS / 2)} trials` : "";
  const axes = [...columns, metric()], left = 56, x = (i) => left + (width - 2 * left) * i / (axes.length - 1), y = (share) => 44 + (height - 70) * (1 - share);
  const value = (trial, i) => i < columns.length ? trial.configuration[columns[i]] : worth(trial);
  const scales = axes.map((_, i) => axis(all.map((trial) => value(trial, i)), i < columns.length));
  const draw = (trial) => {
    let gap = true;
    for (let i = 0; i < axes.length; i++) {
      const v = value(trial, i);
      if (v === null || v === undefined) { gap = true; continue; }
      const to = y(scales[i].place(v));
      if (gap) pen.moveTo(x(i), to); else pen.lineTo(x(i), to);
      gap = false;
    }
  };
  pen.globalAlpha = Math.max(0.1, Math.min(0.7, 60 / trials.length));
  for (const [kind, name] of [["stopped", "stopped"], ["paused", "stopped"], ["failed", "failed"], ["completed", "completed"], ["running", "running"]]) {
    const own = trials.filter((trial) => trial.state === kind);
    pen.strokeStyle = colour(name); pen.lineWidth = 1;
    for (let i = 0; i < own.length; i += 10) { pen.beginPath(); own.slice(i, i + 10).forEach(draw); pen.stroke(); }
  }
  pen.globalAlpha = 1;
  const picked = state.trials.get(chosen);
  for (const [trial, name] of [[leader, "best"], [picked && worth(picked) !== null ? picked : null, "ink"]])
    if (trial) { pen.strokeStyle = colour(name); pen.lineWidth = 2.5; pen.beginPath(); draw(trial); pen.stroke(); }
  pen.lineWidth = 1; pen.textAlign = "center";
  axes.forEach((name, i) => {
    pen.strokeStyle = colour("soft"); pen.beginPath(); pen.moveTo(x(i), y(0)); pen.lineTo(x(i), y(1)); pen.stroke();
    pen.fillStyle = colour("ink"); pen.fillText(shortened(pen, name, (width - 2 * left) / (axes.length - 1) + 8), x(i), 14);
    pen.fillStyle = colour("soft");
    if (scales[i].kinds) scales[i].kinds.forEach((kind) => beside(pen, shortened(pen, kind, 90), x(i), y(scales[i].place(kind)), i === axes.length - 1));
    else { pen.fillText(scales[i].high, x(i), 32); pen.fillText(scales[i].low, x(i), height - 8); }
  });
}

// A text beside its axis, readable over the lines.
function beside(pen, text, x, y, left) {
  const width = pen.measureText(text).width + 6, from = left ? x - width - 4 : x + 4, ink = pen.fillStyle;
  pen.globalAlpha = 0.8; pen.fillStyle = colour("paper"); pen.fillRect(from, y - 8, width, 16);
  pen.globalAlpha = 1; pen.fillStyle = ink; pen.textAlign = "left"; pen.fillText(text, from + 3, y + 4); pen.textAlign = "center";
}

function shortened(pen, text, width) {
  let kept = text;
  while (kept.length > 3 && pen.measureText(kept).width > width) kept = kept.slice(0, -2) + "…";
  return kept;
}

// The best half, and every so many-th of the others.
function sampled(trials) {
  if (trials.length <= THREADS) return trials;
  const sorted = [...trials].sort((a, b) => better(worth(a), worth(b)) ? -1 : 1), best = sorted.slice(0, THREADS / 2), rest = sorted.slice(THREADS / 2);
  const every = rest.length / (THREADS / 2);
  return [...best, ...Array.from({ length: THREADS / 2 }, (_, i) => rest[Math.floor(i * every)])];
}

// Where values lie on an axis: numbers between the extremes (by logarithm over two decades of a parameter), texts side by side.
function axis(values, mayBeLog) {
  const known = values.filter((value) => value !== null && value !== undefined);
  if (!known.every((value) => typeof value === "number")) {
    const kinds = [...new Set(known.map(String))].sort();
    const place = (v) => kinds.length < 2 ? 0.5 : kinds.indexOf(String(v)) / (kinds.length - 1);
    return kinds.length <= 8 ? { place, kinds } : { place, low: kinds[0], high: kinds[kinds.length - 1] };
  }
  let [low, high] = [Infinity, -Infinity];
  for (const value of known) { low = Math.min(low, value); high = Math.max(high, value); }
  const f = mayBeLog && low > 0 && high / low > 100 ? Math.log : (v) => v;
  return { place: (v) => high === low ? 0.5 : (f(v) - f(low)) / (f(high) - f(low)), low: number(low), high: number(high) };
}

function importance(found) {
  $("importance").hidden = !found || !(found.parameters.length || found.trials);
  if ($("importance").hidden) return;
  const enough = found.parameters.length > 0, explained = found.explained === null ? null : Math.max(0, Math.round(100 * found.explained));
  $("importance-note").textContent = !enough
    ? `Which parameters matter is shown from ${found.needed} trials with a result on; there are ${found.trials}.`
    : `From ${found.trials} trials${found.used < found.trials ? `, ${found.used} of them, evenly from the worst to the best` : ""}. A Gaussian process over the configurations ` +
      (explained === null ? "was fitted." : `explains ${explained} % of the differences between trials that it did not see` + (explained < 30 ? ": too little to trust this order." : "."));
  $("importance-bars").replaceChildren(...found.parameters.map(({ name, share }) => {
    const row = document.createElement("li"), label = document.createElement("span"), bar = document.createElement("span"), value = document.createElement("span");
    const percent = Math.round(100 * Math.min(1, share));
    label.textContent = name; label.title = name; value.textContent = percent + " %"; bar.className = "bar"; bar.style.setProperty("--share", percent + "%"); bar.setAttribute("aria-hidden", "true");
    row.append(label, bar, value);
    return row;
  }));
}

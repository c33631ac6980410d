#!/usr/bin/env python3
"""A prototype of freeze–thaw search on the recorded tables of budget.py: it chooses a trial to continue, or starts a new one.

Usage: freeze_thaw.py [--data DIR] [--seeds N] [--tables NAME ...] [--by total|chunk]

Trials continue in ninths of their length. After each ninth, every paused trial has a forecast of its final value: its best so far plus the
mean gain of the seven trials of most similar score that were trained further, with their standard deviation. Foretell's samplers learn
from such forecasts. They enter a Gaussian process over configurations (Matérn 5/2, one of five lengths by likelihood, noise by
forecast). The next trial is the one with the largest expected improvement over the best score so far, per epoch that it takes to the end
(`total`) or per ninth (`chunk`). It is a paused trial, by the mean of its own forecast and the process's, each weighted by its precision,
or a new one, the best of 200 recorded configurations. The first five trials are random and trained for a ninth. Prints regret like
budget.py.
"""

import argparse
import math
import pathlib
import sys

import numpy as np

import budget
from budget_peers import Spent, coordinates, kind_of

NEIGHBOURS = 7


def normal(z):
    return 0.5 * np.array([math.erfc(-v / math.sqrt(2)) for v in np.atleast_1d(z)])


def improvement(mean, sd, best):
    z = (mean - best) / sd
    return sd * (z * normal(z) + np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi))


def matern(a, b, length):
    r = np.sqrt(np.maximum(((a[:, None, :] - b[None]) ** 2).sum(-1), 0)) * math.sqrt(5) / length
    return (1 + r + r * r / 3) * np.exp(-r)


class Process:
    """The likeliest of five processes."""

    def __init__(self, x, y, noise):
        self.x, self.mean, self.scale = x, y.mean(), y.std() or 1.0
        best = -math.inf
        for length in (0.1, 0.2, 0.4, 0.8, 1.6):
            k = matern(x, x, length) + np.diag((noise / self.scale) ** 2 + 1e-3)
            lower = np.linalg.cholesky(k)
            half = np.linalg.solve(lower, (y - self.mean) / self.scale)
            likelihood = -0.5 * half @ half - np.log(np.diag(lower)).sum()
            if likelihood > best:
                best, self.length, self.lower, self.half = likelihood, length, lower, half

    def forecast(self, x):
        v = np.linalg.solve(self.lower, matern(self.x, x, self.length))
        return self.mean + self.scale * (v.T @ self.half), self.scale * np.sqrt(np.maximum(1 - (v**2).sum(0), 1e-6))


def outlook(trial, trials):
    """Mean and standard deviation of a trial's end, from gains of similar trials that were trained further."""
    at = trial["step"]
    further = [t for t in trials if t["step"] > at]
    score = trial["best"][at - 1]
    if not further:
        return score, 0.0
    gains = sorted((abs(t["best"][at - 1] - score), t["best"][t["step"] - 1] - t["best"][at - 1]) for t in further)[:NEIGHBOURS]
    values = np.array([gain for _, gain in gains])
    return score + values.mean(), values.std() if len(values) > 1 else abs(values[0])


def search(data, seed, limit, by):
    source = np.random.default_rng(seed)
    points = coordinates([kind_of(text) for text in data["parameters"]], data["configurations"])
    found, length = Spent(data, limit), len(data["curves"][0])
    chunk = max(1, round(length / 9))
    lowest = min(v for curve in data["curves"] for v in curve if v is not None)
    trials, left = [], list(source.permutation(len(points)))

    def train(trial):
        until = min(trial["step"] + chunk, length)
        until = length if length - until < chunk else until
        for step in range(trial["step"] + 1, until + 1):
            value = found.train(trial["run"], step)
            trial["best"].append(max(trial["best"][-1] if trial["best"] else lowest, lowest if value is None else value))
        trial["step"] = until

    while left and found.pays(chunk):
        new = len(trials) < 5
        chosen = None
        if not new:
            means, sds = map(np.array, zip(*[outlook(t, trials) for t in trials]))
            # a forecast far below the median shows no more than that
            order = np.sort(means)
            clipped = np.maximum(means, order[len(order) // 2] - 2 * (order[-1] - order[len(order) // 2]))
            process = Process(points[[t["run"] for t in trials]], clipped, np.minimum(sds, 3 * (clipped.std() or 1)))
            best = max(t["best"][-1] for t in trials)
            candidates = source.choice(left, min(200, len(left)), replace=False)
            mean, sd = process.forecast(points[candidates])
            fresh = improvement(mean, sd, best) / (length if by == "total" else chunk)
            paused = [i for i, t in enumerate(trials) if t["step"] < length and found.pays(min(2 * chunk, length - t["step"]))]
            if paused:
                prior, spread = process.forecast(points[[trials[i]["run"] for i in paused]])
                own, own_sd = means[paused], np.maximum(sds[paused], 1e-6 * process.scale)
                weight = spread**2 / (spread**2 + own_sd**2)
                merged, merged_sd = weight * own + (1 - weight) * prior, np.sqrt(weight) * own_sd
                remaining = np.array([length - trials[i]["step"] if by == "total" else chunk for i in paused])
                thawed = improvement(merged, merged_sd, best) / remaining
            new = not paused or fresh.max() >= thawed.max()
            chosen = candidates[fresh.argmax()] if new else None
        if new:
            run = left[0] if chosen is None else chosen
            left.remove(run)
            trials.append({"run": int(run), "step": 0, "best": []})
            train(trials[-1])
        else:
            train(trials[paused[int(thawed.argmax())]])
    found.trace.append((found.spent, found.best, found.finished))
    return {"table": data["name"], "combination": f"freeze-thaw by {by}", "seed": seed, "trace": found.trace}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=budget.ROOT.parent / "shared/data")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--by", nargs="*", default=["total", "chunk"])
    arguments = parser.parse_args()
    data = [t for t in budget.tables(arguments.data) if not arguments.tables or t["name"] in arguments.tables]
    results = []
    for t in data:
        results += [search(t, seed, budget.BUDGETS[-1], by) for by in arguments.by for seed in range(arguments.seeds)]
        print(t["name"], file=sys.stderr, flush=True)
    scales, lengths = {t["name"]: budget.Scale(t) for t in data}, {t["name"]: len(t["curves"][0]) for t in data}
    for which, what in ((0, "best at any epoch"), (1, "best among finished")):
        budget.show(what, budget.summed(results, scales, lengths, which, list(scales)))
    for name in scales:
        budget.show(name, budget.summed(results, scales, lengths, 0, [name]))


if __name__ == "__main__":
    main()

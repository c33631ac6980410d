"""Writes least_squares.json: minimum-norm least squares by numpy.linalg.lstsq on 24 made-up runs seen up to step 6.

Run in this folder: python least_squares.py (numpy 2).
"""

import json

import numpy as np

random = np.random.default_rng(11)
n, queries, tau = 24, 4, 6
rate = random.uniform(0.3, 1.2, n + queries)
top = random.uniform(0.4, 0.9, n + queries)
steps = np.arange(1, tau + 1)
noise = 0.01 * random.normal(size=(n + queries, tau))
prefixes = top[:, None] - 0.5 * steps[None, :] ** -rate[:, None] + noise
configurations = random.normal(size=(n + queries, 3))
targets = top[:n] - 0.5 * 50.0 ** -rate[:n] + 0.02 * configurations[:n, 0]

first, second = np.diff(prefixes, axis=1), np.diff(prefixes, n=2, axis=1)
design = np.hstack([prefixes, first, second, configurations])
design = (design - design[:n].mean(axis=0)) / design[:n].std(axis=0)


def forecast(rows, y, query):
    center = rows.mean(axis=0)
    weights = np.linalg.lstsq(rows - center, y - y.mean(), rcond=1e-9)[0]
    return y.mean() + (query - center) @ weights


held_out = []
for i in range(n):
    keep = np.arange(n) != i
    held_out.append(forecast(design[:n][keep], targets[keep], design[i]))

document = {
    "prefixes": prefixes.tolist(),
    "configurations": configurations.tolist(),
    "targets": targets.tolist(),
    "forecasts": forecast(design[:n], targets, design[n:]).tolist(),
    "held_out": held_out,
}
with open("least_squares.json", "w") as file:
    json.dump(document, file, indent=1)

#!/usr/bin/env python3
"""LC-Net side by side: Foretell's `bnn` and the authors' package pybnn on the same curves.

    python3 benches/peers/lc_net.py [--seeds N] [--few N] [--sets NAME ...] [--program FILE] [--without-peer]

Each set has 265 runs at most, drawn at random; half of them have finished, of the others the first quarter is known. Both sides learn from all
known points and forecast the ends of the others. Prints R², the share of ends in the 90 % intervals, the mean log density, the posterior of the
noise's standard deviation, and the seconds of a fit.
`made-up` are curves of 40 epochs by the paper's five basis functions, whose parameters, weights and ends a random network makes of five
hyperparameters, with a noise of 1 %; `made-up, own noise` gives each run a noise of its own, between 0.3 % and 3 % for most. The others are recorded tables
(`$FORETELL_DATA` or `../shared/data`): metrics that are minimised are taken as −ln, values worse than 19 of 20 first and last ones as those.

pybnn runs with its defaults and the step size of the paper, 0.01; its noise starts at 10⁻³, since the package leaves that parameter uninitialised. It takes minutes
a set and is run with fewer seeds (--few). Needs NumPy, and pybnn with torch. Foretell's side is the program `lc_net` beside it.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from budget import FIRST, ROOT, tables
from budget_peers import coordinates, kind_of

RUNS = 265
STEPS = 13000
MINIMISED = ("lstm_ptb", "taskset_imdb_patch32_GRU128_bs128", "taskset_imdb_patch128_LSTM128_bs64", "nmt_ted-ru-en")


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def bases(a, t):
    """The five basis functions of Klein et al. 2017 at t, shape (runs, 5), for parameters of shape (runs, 13)."""
    a, log = a.T, math.log(t)
    vapor = np.exp(-a[0] - a[1] / 10 / t - a[2] / 10 * log) - np.exp(-a[0] - a[1] / 10)
    log_power = 2 * a[5] * (sigmoid(a[6] / 10 * a[7]) - sigmoid(a[7] * (a[6] / 10 - log)))
    exponential = a[8] * (np.exp(-10 * a[9]) - np.exp(-10 * a[9] * t))
    q = a[12] ** a[11]
    return np.array([vapor, a[3] * (t ** a[4] - 1), log_power, exponential, a[10] * (1 / (q * t ** -a[11] + 1) - 1 / (q + 1))]).T


def made_up(seed, own_noise):
    random = np.random.default_rng(1000 + seed)
    x = random.uniform(-1.73, 1.73, (RUNS, 5))
    hidden = np.tanh(x @ random.normal(0, 0.6, (5, 20)) + random.normal(0, 0.5, 20))
    out = hidden @ random.normal(0, 0.5, (20, 20)) + random.normal(0, 0.3, 20)
    weights = np.exp(out[:, 13:18])
    weights /= weights.sum(1, keepdims=True)
    curves = [sigmoid(0.8 + out[:, 18]) + (weights * bases(sigmoid(1.5 * out[:, :13]), t)).sum(1) for t in np.arange(1, 41) / 40]
    noise = np.exp(-4.6 + 0.5 * out[:, 19]) if own_noise else np.full(RUNS, 0.01)
    return x, np.array(curves).T + noise[:, None] * random.normal(size=(RUNS, 40))


def recorded(table, seed):
    """Encoded configurations and curves of runs that are drawn from a table."""
    chosen = np.random.default_rng(seed).permutation(len(table["curves"]))[:RUNS]
    x = coordinates([kind_of(text) for text in table["parameters"]], [table["configurations"][i] for i in chosen])
    every = np.array([[math.nan if value is None else value for value in curve] for curve in table["curves"]])
    if table["name"] in MINIMISED:
        every = -np.log(-every)
    ends = np.sort(np.concatenate([every[:, 0], every[:, -1]]))
    ends = ends[np.isfinite(ends)]
    return x, np.fmax(every, ends[len(ends) // 20])[chosen]


def sets(data):
    """Name: (whether scores are shares, drawing from a seed)."""
    found = {"made-up": (True, lambda seed: made_up(seed, False)), "made-up, own noise": (True, lambda seed: made_up(seed, True))}
    for table in tables(data, FIRST):
        found[table["name"]] = (table["name"] not in MINIMISED, lambda seed, table=table: recorded(table, seed))
    return found


def ours(program, x, curves, finished, seen, share, seed):
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(pathlib.Path(folder) / "configurations.csv", x, delimiter=",")
        np.savetxt(pathlib.Path(folder) / "curves.csv", curves, delimiter=",")
        command = [program, folder, str(finished), str(seen), str(seed), "share" if share else "any"]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return np.array(found["means"]), np.array(found["deviations"]), np.array(found["noise"]), found["fit_seconds"]


def theirs(x, curves, finished, seen, share, seed):
    import torch
    from pybnn import lcnet

    class Noise(lcnet.AppendLayer):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.bias.data.fill_(math.log(1e-3))

    lcnet.AppendLayer = Noise
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)
    length = curves.shape[1]
    times = np.arange(1, length + 1) / length
    low, high = (0.0, 1.0) if share else (curves[:finished].min(), curves[:finished].max())
    x = x[:, x.std(0) > 0]
    known = [(i, t) for i in range(len(x)) for t in range(length if i < finished else seen)]
    inputs = np.array([[*x[i], times[t]] for i, t in known])
    targets = np.array([(curves[i, t] - low) / (high - low) for i, t in known])
    model, begun = lcnet.LCNet(), time.process_time()
    model.train(inputs, targets, num_steps=STEPS, lr=1e-2)
    seconds = time.process_time() - begun
    mean, variance = model.predict(np.column_stack([x[finished:], np.ones(len(x) - finished)]))
    # the last parameter is the logarithm of the noise's variance
    noise = np.exp([weights[-1].item() / 2 for weights in model.sampled_weights])
    return low + (high - low) * mean, (high - low) * np.sqrt(variance), (high - low) * noise, seconds


def scores(means, deviations, ends):
    """R², coverage of 90 % intervals, mean log density."""
    errors = (ends - means) / deviations
    density = -0.5 * errors**2 - np.log(deviations) - 0.5 * math.log(2 * math.pi)
    return 1 - np.mean((ends - means) ** 2) / np.var(ends), np.mean(np.abs(errors) < 1.6449), density.mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(os.environ.get("FORETELL_DATA", ROOT.parent / "shared/data")))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--few", type=int, default=1, help="seeds of pybnn")
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--program", help="the built program lc_net")
    parser.add_argument("--without-peer", action="store_true", help="Foretell alone")
    chosen = parser.parse_args()
    program = chosen.program
    if not program:
        peers = ROOT / "benches/peers"
        subprocess.run(["cargo", "build", "--release", "--bin", "lc_net", "--target-dir", peers / "target"], cwd=peers, check=True)
        program = str(peers / "target/release/lc_net")
    print("| set | side | R² | ends in 90 % intervals | log density | noise: 5 %, median, 95 % | seconds per fit | seeds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (share, draw) in sets(chosen.data).items():
        if chosen.sets and name not in chosen.sets:
            continue
        for side in ("bnn",) if chosen.without_peer else ("bnn", "pybnn"):
            rows = []
            for seed in range(chosen.few if side == "pybnn" else chosen.seeds):
                x, curves = draw(seed)
                finished, seen = len(x) // 2, max(1, round(curves.shape[1] / 4))
                known = (x, curves, finished, seen, share, seed)
                means, deviations, noise, seconds = ours(program, *known) if side == "bnn" else theirs(*known)
                rows.append([*scores(means, deviations, curves[finished:, -1]), *np.quantile(noise, [0.05, 0.5, 0.95]), seconds])
            r2, inside, density, low, middle, high, seconds = np.mean(rows, axis=0)
            spread = f"{low:.4f}, {middle:.4f}, {high:.4f}"
            print(f"| {name} | {side} | {r2:.3f} | {100 * inside:.0f} % | {density:.2f} | {spread} | {seconds:.1f} | {len(rows)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Accuracy of the best prototype before Foretell, on the curves it was measured on, next to `auto`.

    python3 benches/peers/prototype.py [--seeds 3] [--sets naap440_cnn_cifar10,...] [--foretell PROGRAM]

The prototype, in numpy and scikit-learn: compact features of the curve in two groups (level, shape) and the configuration, the mean
of two Gaussian processes with grouped kernels (on y_T and on y_T - y_tau), 100 extremely randomised trees, a neighbour forecast,
weights in proportion to mse^-4 from held-out errors. Both learn from 100 runs (60 for small sets) of random splits, ten per seed, and
forecast all others: R^2, mean and standard error over seeds. Curves are read from $FORETELL_DATA or ../shared/data.
"""

import argparse
import csv
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FRACTIONS = [0.1, 0.25, 0.5]
SPLITS = 10
# set: (metric, it is a loss and taken as -log, larger losses and missing ones count as, runs to learn from)
SETS = {
    "metaqnn_cifar10": ("acc", False, None, 100),
    "deep_resnets_tinyimagenet": ("acc", False, None, 100),
    "lstm_ptb": ("ep", True, None, 100),
    "naap440_cnn_cifar10": ("test_acc", False, None, 100),
    "deepobs_cifar10_3c3d": ("test_acc", False, None, 60),
    "taskset_imdb_patch32_GRU128_bs128": ("val_loss", True, 2.0, 100),
    "taskset_imdb_patch128_LSTM128_bs64": ("val_loss", True, 2.0, 100),
}
NO_CONFIGURATION = {"config_id", "IsTest", "MaxAccuracy", "random_seed"}


def read_wide(path, metric):
    """Columns of the configuration, and the curves."""
    header, *rows = csv.reader(path.open())
    curve = [i for i, name in enumerate(header) if name.rsplit("_", 1)[0] == metric]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(header) if i not in curve}
    return columns, [[float(row[i]) for i in curve] for row in rows]


def read_long(folder, metric):
    header, *rows = csv.reader(gzip.open(folder / "curves.csv.gz", "rt"))
    at = header.index(metric)
    curves = {}
    for row in rows:
        curves.setdefault(row[0], []).append(float(row[at] or "nan"))
    header, *rows = csv.reader((folder / "configs.csv").open())
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}, [curves[row[0]] for row in rows]


def encode(columns):
    """Numbers, logarithms of those that span more than 20 times, one-hot categories of up to six values; medians if missing."""
    encoded = []
    for name, texts in columns.items():
        values = sorted(set(texts) - {""})
        if name in NO_CONFIGURATION or len(set(texts)) < 2:
            continue
        try:
            column = np.array([float(text or "nan") for text in texts])
        except ValueError:
            if len(values) <= 6:
                encoded += [[float(text == value) for text in texts] for value in values]
            continue
        column = np.where(np.isnan(column), np.nanmedian(column), column)
        spans = column.min() > 0 and column.max() > 20 * column.min()
        encoded.append(np.log(column) if spans else column)
    return np.array(encoded, dtype=float).T


def load(data, name):
    """Curves (higher is better), configurations (runs, columns), runs to learn from; repeated curves and configurations removed."""
    metric, is_loss, cap, train = SETS[name]
    wide = data / "curves/paper" / f"{name}.csv"
    columns, curves = read_wide(wide, metric) if wide.exists() else read_long(data / "curves/others" / name, metric)
    longest = max(len(curve) for curve in curves)
    curves = np.array([curve + [np.nan] * (longest - len(curve)) for curve in curves])
    if is_loss:
        curves = -np.log(np.where(np.isfinite(curves), np.minimum(curves, cap), cap) if cap else curves)
    configurations = zip(*(texts for column, texts in columns.items() if column not in NO_CONFIGURATION))
    kept, seen = [], set()
    for i, both in enumerate(zip(map(tuple, curves.tolist()), configurations)):
        if seen.isdisjoint(both):
            kept.append(i)
        seen |= set(both)
    return curves[kept], encode(columns)[kept], train


def extrapolation(curves, horizon):
    """m + b t^-c (or a logarithm), b <= 0, of least squares after the first quarter, at t = horizon.

    Clipped to the seen range widened by itself on each side.
    """
    tau = curves.shape[1]
    start = tau // 4 if tau >= 8 else 0
    t, seen = np.arange(start + 1.0, tau + 1), curves[:, start:]
    least, found = np.full(len(curves), np.inf), curves[:, -1].copy()
    for c in [0.25, 0.5, 1, 2, None]:
        basis, end = (t**-c, horizon**-c) if c else (-np.log(t), -np.log(horizon))
        centred = basis - basis.mean()
        slope = np.minimum(0, seen @ centred / (centred @ centred))
        constant = seen.mean(1) - slope * basis.mean()
        error = ((seen - constant[:, None] - slope[:, None] * basis) ** 2).sum(1)
        better = error < least
        least[better], found[better] = error[better], (constant + slope * end)[better]
    low, high = curves.min(1), curves.max(1)
    return np.clip(found, 2 * low - high, 2 * high - low)


def compact(curves, horizon):
    """Level and shape of the curves so far."""
    tau, last = curves.shape[1], curves[:, -1]
    recent = max(1, tau // 8)
    mean = curves[:, -max(recent, 2) :].mean(1)
    best = curves.max(1)
    lags = [2**k for k in range(20) if 2**k < tau]
    lags += [tau - 1] if tau > 1 and tau - 1 not in lags else []
    shape = [last - curves[:, -1 - lag] for lag in lags] + [best - last, mean - last]
    if tau >= 6:
        half = curves[:, -max(4, tau // 2) :]
        x = np.arange(half.shape[1]) - (half.shape[1] - 1) / 2
        slope = half @ x / (x @ x)
        left = half - half.mean(1, keepdims=True) - slope[:, None] * x
        shape += [slope, np.log(left.std(1) + 1e-4)]
    if tau >= 3:
        shape.append(extrapolation(curves, horizon) - last)
    return np.column_stack([last, mean, best]), np.column_stack(shape)


def standardise(train, test):
    """By mean and standard deviation of `train`; `test` winsorised to its range +- 10 %."""
    room = 0.1 * np.ptp(train, axis=0)
    test = np.clip(test, train.min(0) - room, train.max(0) + room)
    mean, deviation = train.mean(0), train.std(0)
    deviation = np.where(deviation > 0, deviation, 1)
    return (train - mean) / deviation, (test - mean) / deviation


def distance(a, b):
    return ((a[:, None] - b[None]) ** 2).mean(2)


class GaussianProcess:
    """K = s exp(-sum w D) + sum v L + 0.5 + (e + 1e-6) I over groups of features, maximum a posteriori."""

    def __init__(self, groups, y):
        self.groups, self.mean, self.scale = groups, y.mean(), y.std() or 1.0
        z, k = (y - self.mean) / self.scale, len(groups)
        distances, products = [distance(g, g) for g in groups], [g @ g.T / g.shape[1] for g in groups]
        prior = np.log([0.15 / 3**0.5] * k + [0.1] * k + [0.5, 0.05])
        spread = np.array([1.5] * k + [2.0] * k + [1.5, 2.0])

        def covariance(theta):
            w, v, (s, e) = np.exp(theta[:k]), np.exp(theta[k : 2 * k]), np.exp(theta[2 * k :])
            radial = s * np.exp(-sum(a * d for a, d in zip(w, distances)))
            linear = [a * l for a, l in zip(v, products)]
            return w, radial, linear, e, radial + sum(linear) + 0.5 + (e + 1e-6) * np.eye(len(z))

        def objective(theta):
            w, radial, linear, e, full = covariance(theta)
            if not np.isfinite(full).all():
                return 1e300, np.zeros_like(theta)
            inverse, away = np.linalg.inv(full), (theta - prior) / spread
            alpha = inverse @ z
            value = 0.5 * (z @ alpha + np.linalg.slogdet(full)[1] + away @ away)
            half = 0.5 * (inverse - np.outer(alpha, alpha))
            parts = [-a * d * radial for a, d in zip(w, distances)] + linear + [radial]
            return value, np.array([(half * part).sum() for part in parts] + [np.trace(half) * e]) + away / spread

        found = minimize(objective, prior, jac=True, method="L-BFGS-B", options={"maxiter": 40})
        self.theta = found.x
        inverse = np.linalg.inv(covariance(found.x)[-1])
        self.alpha = inverse @ z
        self.left_out = y - self.scale * self.alpha / np.diag(inverse)

    def predict(self, groups):
        k, pairs = len(groups), list(zip(groups, self.groups))
        w, v, s = np.exp(self.theta[:k]), np.exp(self.theta[k : 2 * k]), np.exp(self.theta[2 * k])
        radial = s * np.exp(-sum(a * distance(h, g) for a, (h, g) in zip(w, pairs)))
        linear = sum(a * h @ g.T / g.shape[1] for a, (h, g) in zip(v, pairs))
        return self.mean + self.scale * (radial + linear + 0.5) @ self.alpha


def neighbours(groups, tests, last, test_last, gains):
    """(held out, forecasts) of y_tau + kernel-weighted mean of the gains of like runs; likeness is chosen by leave-one-out."""
    curve, test_curve = np.hstack(groups[:2]), np.hstack(tests[:2])
    best = (np.inf, None, None)

    def mean_gain(away, k):
        width = np.sort(away, axis=1)[:, k - 1 : k] + 1e-12
        weights = np.exp(-2 * away / width)
        return weights @ gains / (weights.sum(1) + 1e-300)

    for share in [0, 0.3, 1, 3]:
        own = distance(curve, curve) + share * distance(groups[2], groups[2])
        new = distance(test_curve, curve) + share * distance(tests[2], groups[2])
        np.fill_diagonal(own, np.inf)
        for k in [3, 5, 8, 15, 30]:
            held_out = last + mean_gain(own, k)
            error = ((held_out - last - gains) ** 2).mean()
            if error < best[0]:
                best = (error, held_out, test_last + mean_gain(new, k))
    return best[1:]


def prototype(curves, y, configurations, tests, test_configurations, horizon, seed):
    pairs = list(zip(compact(curves, horizon), compact(tests, horizon))) + [(configurations, test_configurations)]
    groups, new = zip(*(standardise(a, b) for a, b in pairs))
    last, test_last = curves[:, -1], tests[:, -1]
    gains = y - last
    low, high = np.quantile(gains, [0.1, 0.9])

    def clip(forecast, last):
        return np.clip(forecast, np.minimum(y.min(), last + low), np.maximum(y.max(), last + high) + 0.05 * np.ptp(y))

    level, gain = GaussianProcess(groups, y), GaussianProcess(groups, gains)
    trees = ExtraTreesRegressor(100, max_features=0.4, bootstrap=True, oob_score=True, random_state=seed)
    trees.fit(np.hstack(groups), y)
    experts = [
        (clip((level.left_out + last + gain.left_out) / 2, last),
         clip((level.predict(new) + test_last + gain.predict(new)) / 2, test_last)),
        (trees.oob_prediction_, trees.predict(np.hstack(new))),
        neighbours(groups, new, last, test_last, gains),
    ]
    errors = np.array([((held_out - y) ** 2).mean() for held_out, _ in experts])
    weights = (errors.min() / errors) ** 4
    return sum(weight * forecast for weight, (_, forecast) in zip(weights / weights.sum(), experts))


def r_squared(forecast, truth):
    return 1 - ((forecast - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()


def measure_prototype(curves, configurations, train, seed):
    """Mean R^2 over the splits at each fraction."""
    random, horizon, scores = np.random.default_rng(seed), curves.shape[1], []
    for split in range(SPLITS):
        order = random.permutation(len(curves))
        (known, y, told), (new, truth, new_told) = (
            (curves[rows], curves[rows, -1], configurations[rows]) for rows in (order[:train], order[train:]))
        taus = [int(horizon * fraction) for fraction in FRACTIONS]
        forecasts = [prototype(known[:, :tau], y, told, new[:, :tau], new_told, horizon, split) for tau in taus]
        scores.append([r_squared(forecast, truth) for forecast in forecasts])
    return np.mean(scores, axis=0)


def measure_auto(program, data, name, train, seed):
    wide = data / "curves/paper" / f"{name}.csv"
    path = wide if wide.exists() else data / "curves/others" / name / "curves.csv.gz"
    observed = ",".join(map(str, FRACTIONS))
    command = [*program, "evaluate", path, "--predictor", "auto", "--observed", observed, "--train", str(train)]
    command += ["--seed", str(seed), "--repeats", str(SPLITS), "--format", "json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [row["r2_mean"] for row in json.loads(done.stdout)["rows"]]


def shown(scores):
    mean, error = np.mean(scores, axis=0), np.std(scores, axis=0, ddof=1) / len(scores) ** 0.5
    return " / ".join(f"{m:.4f} +- {e:.4f}" for m, e in zip(mean, error))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--foretell", help="the program (default: built here with cargo)")
    options = parser.parse_args()
    cargo = ["cargo", "run", "--quiet", "--release", "-p", "foretell-cli", "--no-default-features", "--"]
    program = [options.foretell] if options.foretell else cargo
    data = Path(os.environ.get("FORETELL_DATA", ROOT.parent / "shared/data"))
    if not data.exists():
        sys.exit(f"no curves in {data}: set FORETELL_DATA to the folder that holds curves/")
    print(f"R^2 at {', '.join(f'{100 * f:.0f} %' for f in FRACTIONS)}, {SPLITS} splits for each of {options.seeds} seeds")
    print("losses (taskset) are capped at 2 for the prototype, not for auto")
    for name in options.sets.split(","):
        curves, configurations, train = load(data, name)
        theirs = [measure_prototype(curves, configurations, train, seed) for seed in range(options.seeds)]
        ours = [measure_auto(program, data, name, train, seed) for seed in range(options.seeds)]
        print(f"{name} ({len(curves)} runs)\n  prototype  {shown(theirs)}\n  auto       {shown(ours)}", flush=True)


if __name__ == "__main__":
    if "PEERS_INSIDE" not in os.environ:
        from peers import enter_environment

        enter_environment(__file__)
    import numpy as np
    from scipy.optimize import minimize
    from sklearn.ensemble import ExtraTreesRegressor

    np.seterr(over="ignore", invalid="ignore")  # steps of a line search that go too far
    main()

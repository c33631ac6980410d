"""The cost of one `should_prune` with many completed trials, and of a forecast from Python.

    env/bin/python benches/peers/optuna_overhead.py

A study in SQLite gets 1,000 completed trials of 30 reports. Then 60 more trials run, and each `should_prune` is timed, for the median
pruner, for Foretell's (including calls that fit a model), for that one again (its models are fitted), and for one that fits in the
background.
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile
import time

import numpy as np
import optuna

import foretell
from foretell.optuna import ForetellPruner

EPOCHS = 30
DISTRIBUTIONS = {
    "lr": optuna.distributions.FloatDistribution(1e-4, 1, log=True),
    "units": optuna.distributions.IntDistribution(4, 64),
}


def curve(config, seed):
    """An accuracy that ends the higher the nearer the rate is to 0.01."""
    noise = np.random.default_rng(seed).normal(0, 0.004, EPOCHS)
    end = 0.9 - 0.15 * abs(np.log10(config["lr"]) + 2) - 0.1 / config["units"]
    return end * (1 - 0.85 ** np.arange(1, EPOCHS + 1)) + noise


def finished(count):
    """So many finished trials."""
    random = np.random.default_rng(0)
    for number in range(count):
        params = {"lr": float(10 ** random.uniform(-4, 0)), "units": int(random.integers(4, 65))}
        values = curve(params, number)
        yield optuna.trial.create_trial(
            params=params,
            distributions=DISTRIBUTIONS,
            value=values[-1],
            intermediate_values={step: float(value) for step, value in enumerate(values, 1)},
        )


def timed(storage, pruner, trials):
    """The seconds of each `should_prune` of so many trials."""
    study = optuna.load_study(study_name="s", storage=storage, pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=1))
    times = []
    for _ in range(trials):
        trial = study.ask(DISTRIBUTIONS)
        for step, value in enumerate(curve(trial.params, trial.number), 1):
            trial.report(float(value), step)
            begun = time.perf_counter()
            pruned = trial.should_prune()
            times.append(time.perf_counter() - begun)
            if pruned:
                break
        state = optuna.trial.TrialState.PRUNED if pruned else optuna.trial.TrialState.COMPLETE
        study.tell(trial, None if pruned else float(value), state=state)
    return np.array(times)


def prunes(count, trials):
    """The table of `should_prune`."""
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{pathlib.Path(folder)}/study.db"
        study = optuna.create_study(study_name="s", storage=storage, direction="maximize")
        study.add_trials(list(finished(count)))
        print(f"should_prune with {count} finished trials in SQLite, milliseconds")
        print(f"{'pruner':22} {'calls':>6} {'p50':>7} {'p99':>8} {'max':>8}")
        once = ForetellPruner(EPOCHS)
        pruners = [
            ("median", optuna.pruners.MedianPruner()),
            ("foretell", once),
            ("the same again", once),
            ("foretell, background", ForetellPruner(EPOCHS, background=True)),
        ]
        for name, pruner in pruners:
            times = 1e3 * timed(storage, pruner, trials)
            row = np.percentile(times, [50, 99, 100])
            print(f"{name:22} {len(times):6} {row[0]:7.2f} {row[1]:8.2f} {row[2]:8.2f}", flush=True)


def forecasts():
    """The cost of a forecast."""
    random = np.random.default_rng(0)
    configs = [{"lr": float(10 ** random.uniform(-4, 0)), "units": int(random.integers(4, 65))} for _ in range(100)]
    curves = [curve(config, seed) for seed, config in enumerate(configs)]
    for predictor in ("last-value", "svr-rbf", "auto"):
        forecaster = foretell.Forecaster.fit(curves, configs=configs, direction="maximize", predictor=predictor)
        begun = time.perf_counter()
        forecaster.prepare(10)
        fit = time.perf_counter() - begun
        seen, config = curves[3][:10].copy(), configs[3]
        best = np.inf
        for _ in range(20):
            begun = time.perf_counter()
            for _ in range(2000):
                forecaster.forecast(seen, config)
            best = min(best, (time.perf_counter() - begun) / 2000)
        print(f"{predictor}: fit {1e3 * fit:.2f} ms, forecast {1e6 * best:.2f} µs (100 runs, 10 of {EPOCHS} points)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--finished", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=60)
    chosen = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    forecasts()
    prunes(chosen.finished, chosen.trials)

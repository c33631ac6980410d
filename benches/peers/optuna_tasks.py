"""Foretell's pruner against Optuna's on real trainings: epochs, best score, lost best trials.

    python -m venv env && env/bin/pip install ./python optuna scikit-learn
    env/bin/python benches/peers/optuna_tasks.py                     # the table, about ten minutes
    env/bin/python benches/peers/optuna_tasks.py --sampler tpe       # the same with Optuna's default sampler

    env/bin/python benches/peers/optuna_tasks.py --returns best      # objectives that return the best epoch, as most people's do

Five tasks are trained here on data sets that scikit-learn brings along, each for 30 epochs or stages, in 60 trials and ten seeds:

- digits-mlp: a perceptron on handwritten digits; validation accuracy, larger is better
- digits-sgd: a linear model by stochastic gradient descent on noisy, squared digits; validation log-loss, smaller is better
- digits-mlp-loss: a perceptron on noisy digits; validation log-loss, smaller is better
- cancer-mlp: a perceptron on the breast-cancer set; validation log-loss, smaller is better
- diabetes-boosting: gradient boosting on the diabetes set; validation root-mean-square error, smaller is better

Columns: `epochs` spent, all seeds together, and as a fraction of those without a pruner; `regret`: how much worse the best complete trial is
than that without a pruner, mean ± standard error over seeds, in robust standard deviations (interquartile range / 1.35) of all final scores; `lost`: in how many seeds
the best trial was pruned (by the random sampler all pruners are given the same trials); `ms`: mean time of one `should_prune`. Then come the paired differences of
the best score from those of no pruner and of the median pruner, in the unit of the metric: mean ± standard error over seeds, where a positive one is worse. The last
lines are totals over the tasks.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import statistics
import sys
import tempfile
import time
import warnings

import numpy as np
import optuna
from optuna.pruners import (
    HyperbandPruner,
    MedianPruner,
    NopPruner,
    SuccessiveHalvingPruner,
    WilcoxonPruner,
)
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from foretell.optuna import ForetellPruner

EPOCHS = 30


def split(data, noise=0.0):
    """Training and validation halves, scaled."""
    x, y = data
    if noise:
        x = x + np.random.default_rng(0).normal(0, noise, x.shape)
    a, b, ya, yb = train_test_split(x, y, test_size=0.4, random_state=0)
    scaler = StandardScaler().fit(a)
    return scaler.transform(a), scaler.transform(b), ya, yb


def perceptron(trial, data, score):
    """The validation scores of a perceptron, epoch by epoch."""
    a, b, ya, yb = data
    model = MLPClassifier(
        hidden_layer_sizes=(trial.suggest_int("units", 4, 32, log=True),) * trial.suggest_int("layers", 1, 2),
        solver=trial.suggest_categorical("solver", ["sgd", "adam"]),
        learning_rate_init=trial.suggest_float("lr", 1e-4, 0.3, log=True),
        alpha=trial.suggest_float("alpha", 1e-6, 1.0, log=True),
        batch_size=trial.suggest_categorical("batch", [32, 128, 512]),
        random_state=trial.number,
    )
    for _ in range(EPOCHS):
        model.partial_fit(a, ya, classes=np.unique(ya))
        if score == "accuracy":
            yield float(model.score(b, yb))
        else:
            yield float(log_loss(yb, model.predict_proba(b), labels=model.classes_))


def linear(trial, data):
    """The validation log-losses of a linear model, epoch by epoch."""
    a, b, ya, yb = data
    model = SGDClassifier(
        loss="log_loss",
        penalty=trial.suggest_categorical("penalty", ["l2", "l1", "elasticnet"]),
        alpha=trial.suggest_float("alpha", 1e-6, 0.1, log=True),
        learning_rate=trial.suggest_categorical("schedule", ["constant", "invscaling", "optimal"]),
        eta0=trial.suggest_float("eta0", 1e-5, 0.1, log=True),
        power_t=trial.suggest_float("power_t", 0.05, 0.6),
        average=trial.suggest_categorical("average", [True, False]),
        random_state=trial.number,
    )
    order = np.random.default_rng(trial.number)
    for _ in range(EPOCHS):
        rows = order.permutation(len(a))[:200]
        model.partial_fit(a[rows], ya[rows], classes=np.unique(ya))
        yield float(log_loss(yb, np.clip(model.predict_proba(b), 1e-6, 1), labels=model.classes_))


def boosting(trial, data):
    """The validation errors of gradient boosting, five trees a stage."""
    a, b, ya, yb = data
    model = GradientBoostingRegressor(
        learning_rate=trial.suggest_float("lr", 3e-3, 0.5, log=True),
        max_depth=trial.suggest_int("depth", 1, 6),
        subsample=trial.suggest_float("subsample", 0.3, 1.0),
        max_features=trial.suggest_float("features", 0.2, 1.0),
        min_samples_leaf=trial.suggest_int("leaf", 1, 20),
        warm_start=True,
        n_estimators=0,
        random_state=trial.number,
    )
    for _ in range(EPOCHS):
        model.set_params(n_estimators=model.n_estimators + 5).fit(a, ya)
        yield float(np.sqrt(np.mean((model.predict(b) - yb) ** 2)))


def tasks():
    """Name: (direction, generator of values)."""
    digits = split(load_digits(return_X_y=True))
    rough = split(load_digits(return_X_y=True), noise=6.0)
    cancer = split(load_breast_cancer(return_X_y=True))
    diabetes = split(load_diabetes(return_X_y=True))
    return {
        "digits-mlp": ("maximize", lambda trial: perceptron(trial, digits, "accuracy")),
        "digits-sgd": ("minimize", lambda trial: linear(trial, rough)),
        "digits-mlp-loss": ("minimize", lambda trial: perceptron(trial, rough, "loss")),
        "cancer-mlp": ("minimize", lambda trial: perceptron(trial, cancer, "loss")),
        "diabetes-boosting": ("minimize", lambda trial: boosting(trial, diabetes)),
    }


PRUNERS = {
    "none": NopPruner,
    "median": MedianPruner,
    # the settings of Optuna's users who lose good trials by the defaults
    "median, strong": lambda: MedianPruner(n_startup_trials=10, n_warmup_steps=5),
    "successive halving": SuccessiveHalvingPruner,
    "hyperband": lambda: HyperbandPruner(max_resource=EPOCHS),
    "halving, tuned": lambda: SuccessiveHalvingPruner(min_resource=5),
    "hyperband, tuned": lambda: HyperbandPruner(min_resource=5, max_resource=EPOCHS),
    "wilcoxon": WilcoxonPruner,
    "foretell": ForetellPruner,
    "foretell, safe": lambda: ForetellPruner(caution="safe"),
    "foretell, fast": lambda: ForetellPruner(caution="fast"),
}


class Clocked(optuna.pruners.BasePruner):
    """A pruner with a watch."""

    def __init__(self, pruner):
        self.pruner, self.spent, self.calls = pruner, 0.0, 0

    def prune(self, study, trial):
        begun = time.perf_counter()
        try:
            return self.pruner.prune(study, trial)
        finally:
            self.spent += time.perf_counter() - begun
            self.calls += 1


def sampler(name, seed):
    return optuna.samplers.TPESampler(seed=seed) if name == "tpe" else optuna.samplers.RandomSampler(seed=seed)


class Curves:
    """Trained curves, kept in a file: a configuration that was trained under the same trial number is trained once."""

    def __init__(self, path):
        self.path, self.known = path, {}
        if path.exists():
            for line in path.read_text().splitlines():
                key, values = json.loads(line)
                self.known[key] = values

    def of(self, name, trial, training):
        """The whole curve of `trial`, whose parameters `training` suggests before it trains."""
        running = training(trial)
        first = next(running)
        key = json.dumps([name, trial.number, sorted(trial.params.items())])
        if key not in self.known:
            self.known[key] = [first, *running]
            with self.path.open("a") as file:
                file.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]


def run(task, pruner, seed, curves, chosen):
    """One study. Trainings are repeatable, so that pruners can be compared on the same ones; epochs are counted as reported."""
    name, (direction, training) = task
    sampler_name, trials = chosen.sampler, chosen.trials
    best = max if direction == "maximize" else min
    clocked = Clocked(pruner)
    # Optuna asks for Hyperband by its class
    watched = pruner if isinstance(pruner, HyperbandPruner) else clocked

    def objective(trial):
        values = curves.of(name, trial, training)
        for step, value in enumerate(values, 1):
            trial.report(value, step)
            if trial.should_prune():
                raise optuna.TrialPruned()
        return best(values) if chosen.returns == "best" else values[-1]

    study = optuna.create_study(
        direction=direction, sampler=sampler(sampler_name, seed), pruner=watched, study_name=f"s{seed}"
    )
    study.optimize(objective, n_trials=trials)
    return study, clocked


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sampler", choices=["random", "tpe"], default="random")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--returns", choices=["last", "best"], default="last", help="which epoch's value an objective returns")
    parser.add_argument("--tasks", default="", help="only tasks whose names contain this")
    parser.add_argument("--pruners", default="", help="only pruners whose names contain one of these, separated by commas, and none")
    kept = pathlib.Path(tempfile.gettempdir()) / "foretell-optuna-tasks.jsonl"
    parser.add_argument("--curves", type=pathlib.Path, default=kept, help="the file that keeps trained curves")
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    print(f"{chosen.sampler} sampler, {chosen.trials} trials, {chosen.seeds} seeds, {EPOCHS} epochs a whole training")
    print(f"{'task':18} {'pruner':19} {'epochs':>7} {'part':>6} {'best':>9} {'regret':>15} {'lost':>5} {'ms':>6}")
    curves, totals = Curves(chosen.curves), {}
    for task in tasks().items():
        if chosen.tasks not in task[0]:
            continue
        whole, tops = [], {}
        for pruner_name, make in PRUNERS.items():
            if pruner_name != "none" and not any(part in pruner_name for part in chosen.pruners.split(",")):
                continue
            results = [run(task, make(), seed, curves, chosen) for seed in range(chosen.seeds)]
            studies = [study for study, _ in results]
            whole = whole or studies
            counts, tops[pruner_name] = show(task, pruner_name, results, studies, whole)
            totals.setdefault(pruner_name, []).append(counts)
        for pruner_name, reference in [(name, other) for name in tops for other in ("none", "median") if other in tops and other != name]:
            if pruner_name == "none":
                continue
            differences = [other - own for own, other in zip(tops[pruner_name], tops[reference])]
            print(f"{task[0]:18} {pruner_name:19} minus {reference:7} {statistics.mean(differences):9.5f} ± {error_of(differences):.5f}")
    for pruner_name, counts in totals.items():
        epochs, full, lost, of = (sum(column) for column in zip(*counts))
        print(f"{'all tasks':18} {pruner_name:19} {epochs:7} {100 * epochs / full:5.1f}% best lost in {lost} of {of} studies")


def show(task, pruner_name, results, studies, whole):
    """One line of the table; returns the epochs, those without a pruner, the studies that lost their best trial, and all studies; and the
    best scores, larger is better."""
    turn = 1 if task[1][0] == "maximize" else -1
    epochs = sum(len(trial.intermediate_values) for study in studies for trial in study.trials)
    full = sum(len(trial.intermediate_values) for study in whole for trial in study.trials)
    regrets, best = [], []
    for study, reference in zip(studies, whole):
        scores = sorted(trial.value for trial in reference.trials if trial.value is not None and math.isfinite(trial.value))
        spread = (scores[3 * len(scores) // 4] - scores[len(scores) // 4]) / 1.35
        complete = [trial.value for trial in study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))]
        top = max((turn * value for value in complete), default=math.nan)
        best.append(turn * top)
        regrets.append((turn * reference.best_value - top) / spread)
    numbers = [(s.trials, w.best_trial.number) for s, w in zip(studies, whole)]
    lost = sum(trials[number].state == optuna.trial.TrialState.PRUNED for trials, number in numbers)
    calls = sum(clock.calls for _, clock in results)
    spent = f"{1e3 * sum(clock.spent for _, clock in results) / calls:6.2f}" if calls else "     –"
    print(
        f"{task[0]:18} {pruner_name:19} {epochs:7} {100 * epochs / full:5.1f}% {statistics.mean(best):9.4f} "
        f"{statistics.mean(regrets):7.3f} ± {error_of(regrets):5.3f} {lost:5} {spent}"
    )
    sys.stdout.flush()
    return (epochs, full, lost, len(studies)), [turn * value for value in best]


def error_of(values):
    """The standard error of their mean."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


if __name__ == "__main__":
    main()

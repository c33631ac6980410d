#!/usr/bin/env python3
"""Real trainings with a budget of epochs: the choices of `foretell search --budget-epochs` against Optuna's TPE with its median pruner.

Usage: budget_trainings.py [--seeds N] [--budget TRAININGS] [--tasks NAME ...] [--program FILE]

Three tasks, 30 epochs each, on data sets that scikit-learn brings along: a perceptron on handwritten digits (accuracy), a linear model on noisy
digits (log-loss) and gradient boosting on the diabetes set (root-mean-square error, five trees per epoch). Both sides spend the same
epochs; Foretell pauses and resumes trainings, as with checkpoints. Prints the best value at any epoch after 5, 10 and all trainings'
worth of epochs: mean over seeds ± standard error. Needs Optuna and scikit-learn. Foretell's side is the example `budget_over_pipes` of
foretell-search.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import warnings

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from samplers import choose

ROOT = pathlib.Path(__file__).resolve().parents[2]
EPOCHS = 30


def split(data, noise=0.0):
    x, y = data
    x = x + np.random.default_rng(0).normal(0, noise, x.shape) if noise else x
    a, b, ya, yb = train_test_split(x, y, test_size=0.4, random_state=0)
    scaler = StandardScaler().fit(a)
    return scaler.transform(a), scaler.transform(b), ya, yb


def perceptron(c, data):
    a, b, ya, yb = data
    model = MLPClassifier(hidden_layer_sizes=(int(c["units"]),) * int(c["layers"]), solver=c["solver"], learning_rate_init=c["lr"],
                          alpha=c["alpha"], batch_size=int(c["batch"]), random_state=0)
    while True:
        model.partial_fit(a, ya, classes=np.unique(ya))
        yield float(model.score(b, yb))


def linear(c, data):
    a, b, ya, yb = data
    model = SGDClassifier(loss="log_loss", penalty=c["penalty"], alpha=c["alpha"], learning_rate=c["schedule"], eta0=c["eta0"],
                          power_t=c["power"], average=c["average"] == "yes", random_state=0)
    order = np.random.default_rng(0)
    while True:
        rows = order.permutation(len(a))[:200]
        model.partial_fit(a[rows], ya[rows], classes=np.unique(ya))
        yield -float(log_loss(yb, np.clip(model.predict_proba(b), 1e-6, 1), labels=model.classes_))


def boosting(c, data):
    a, b, ya, yb = data
    model = GradientBoostingRegressor(learning_rate=c["lr"], max_depth=int(c["depth"]), subsample=c["subsample"], max_features=c["features"],
                                      min_samples_leaf=int(c["leaf"]), warm_start=True, n_estimators=0, random_state=0)
    while True:
        model.set_params(n_estimators=model.n_estimators + 5).fit(a, ya)
        yield -float(np.sqrt(np.mean((model.predict(b) - yb) ** 2)))


def tasks():
    """Name: parameters, training (larger is better)."""
    digits, rough, diabetes = split(load_digits(return_X_y=True)), split(load_digits(return_X_y=True), noise=6.0), split(load_diabetes(return_X_y=True))
    return {
        "digits-mlp": (["units=logint:4:32", "layers=int:1:2", "solver=choice:sgd,adam", "lr=log:1e-4:0.3", "alpha=log:1e-6:1",
                        "batch=choice:b32,b128,b512"], lambda c: perceptron({**c, "batch": c["batch"][1:]}, digits)),
        "digits-sgd": (["penalty=choice:l2,l1,elasticnet", "alpha=log:1e-6:0.1", "schedule=choice:constant,invscaling,optimal",
                        "eta0=log:1e-5:0.1", "power=float:0.05:0.6", "average=choice:yes,no"], lambda c: linear(c, rough)),
        "diabetes-boosting": (["lr=log:3e-3:0.5", "depth=int:1:6", "subsample=float:0.3:1", "features=float:0.2:1", "leaf=int:1:20"],
                              lambda c: boosting(c, diabetes)),
    }


class Found:
    """The best value after each epoch that was spent."""

    def __init__(self):
        self.best = []

    def spend(self, value):
        before = self.best[-1] if self.best else -math.inf
        self.best.append(max(before, value) if math.isfinite(value) else before)


def foretell(program, parameters, training, seed, budget):
    found, running = Found(), {}
    command = [program, str(budget), str(EPOCHS), str(seed), *parameters]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            job = json.loads(line)
            epochs = running.setdefault(job["trial"], training(job["configuration"]))
            values = [next(epochs) for _ in range(job["from"], job["until"])]
            for value in values:
                found.spend(value)
            process.stdin.write(json.dumps([value if math.isfinite(value) else None for value in values]) + "\n")
            process.stdin.flush()
    return found.best


def optuna(parameters, training, seed, budget):
    import optuna as tool

    tool.logging.set_verbosity(tool.logging.ERROR)
    study = tool.create_study(direction="maximize", sampler=tool.samplers.TPESampler(seed=seed), pruner=tool.pruners.MedianPruner())
    found = Found()
    while len(found.best) + EPOCHS <= budget:
        trial = study.ask()

        def draw(name, kind, bounds):
            if kind == "choice":
                return trial.suggest_categorical(name, bounds)
            if kind.endswith("int"):
                return trial.suggest_int(name, int(bounds[0]), int(bounds[1]), log=kind == "logint")
            return trial.suggest_float(name, *bounds, log=kind == "log")

        epochs, best, pruned = training(choose(parameters, draw)), -math.inf, False
        for step in range(1, EPOCHS + 1):
            value = next(epochs)
            found.spend(value)
            best = max(best, value)
            trial.report(value, step)
            if step < EPOCHS and trial.should_prune():
                pruned = True
                break
        study.tell(trial, None if pruned else best, state=tool.trial.TrialState.PRUNED if pruned else None)
    return found.best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", type=int, default=20, help="in full trainings")
    parser.add_argument("--tasks", nargs="*")
    parser.add_argument("--program", help="the built example budget_over_pipes")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    program = arguments.program
    if not program:
        subprocess.run(["cargo", "build", "--release", "-p", "foretell-search", "--example", "budget_over_pipes"], cwd=ROOT, check=True)
        program = str(ROOT / "target/release/examples/budget_over_pipes")
    budget = arguments.budget * EPOCHS
    for name, (parameters, training) in tasks().items():
        if arguments.tasks and name not in arguments.tasks:
            continue
        print(name)
        sides = {"foretell --budget-epochs": lambda seed: foretell(program, parameters, training, seed, budget),
                 "optuna tpe + median": lambda seed: optuna(parameters, training, seed, budget)}
        for side, run in sides.items():
            traces = [run(seed) for seed in range(arguments.seeds)]
            cells = []
            for trainings in sorted({5, 10, arguments.budget}):
                values = [trace[min(trainings * EPOCHS, len(trace)) - 1] for trace in traces]
                error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
                cells.append(f"{trainings}: {abs(statistics.fmean(values)):.4f} ± {error:.4f}")
            print(f"  {side:26} " + "   ".join(cells) + f"   {len(traces)} seeds", flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Searches of other tools on recorded tables, for budget.py: studies of Optuna, Ray Tune's ASHA, SMAC3.

Usage: budget_peers.py < jobs.jsonl > results.jsonl, each job {"table": …, "combination": …, "seed": …, "budget": …}. budget.py runs this
file with the interpreter that has the tool.
"""

import json
import math
import random
import sys
import tempfile
import types


def kind_of(text):
    name, kind = text.split("=", 1)
    kind, *rest = kind.split(":", 1)
    return name, kind, rest[0].split(",") if kind == "choice" else [float(bound) for bound in rest[0].split(":")]


def coordinates(kinds, configurations):
    """A row for each configuration: numbers in [0, 1], an option as a column of its own, halved so that two options are 1 apart."""
    import numpy

    columns = []
    for name, kind, bounds in kinds:
        values = [configuration[name] for configuration in configurations]
        if kind == "choice":
            columns += [[math.sqrt(0.5) * (str(value) == option) for value in values] for option in bounds]
        else:
            scale = math.log if kind.startswith("log") else float
            low, high = map(scale, bounds)
            columns.append([(scale(value) - low) / (high - low) for value in values])
    return numpy.array(columns).T


def suggest(trial, kinds):
    configuration = {}
    for name, kind, bounds in kinds:
        if kind == "choice":
            configuration[name] = trial.suggest_categorical(name, bounds)
        elif kind.endswith("int"):
            configuration[name] = trial.suggest_int(name, int(bounds[0]), int(bounds[1]), log=kind == "logint")
        else:
            configuration[name] = trial.suggest_float(name, bounds[0], bounds[1], log=kind == "log")
    return configuration


def recorded(kind, value):
    """A recorded value as Optuna wants it."""
    return str(value) if kind == "choice" else int(value) if kind.endswith("int") else value


class Spent:
    """The best values that a search has found, and the epochs that it has spent."""

    def __init__(self, data, budget):
        self.data, self.length = data, len(data["curves"][0])
        self.limit, self.spent, self.best, self.finished, self.trace = budget * self.length, 0, -math.inf, None, []

    def pays(self, epochs):
        return self.spent + epochs <= self.limit

    def train(self, run, step):
        """The value of a run after `step` epochs; None if it diverged. Pays for the last of these epochs."""
        self.spent += 1
        value = self.data["curves"][run][step - 1]
        if value is not None:
            if step == self.length:
                self.finished = value if self.finished is None else max(self.finished, value)
            if value > self.best or step == self.length:
                self.best = max(self.best, value)
                self.trace.append((self.spent, self.best, self.finished))
        return value


class Nearest:
    """Recorded configurations, each taken once."""

    def __init__(self, data, kinds):
        self.data, self.kinds = data, kinds
        self.points, self.left = coordinates(kinds, data["configurations"]), len(data["configurations"])

    def take(self, wanted):
        run = int(((self.points - coordinates(self.kinds, [wanted])) ** 2).sum(axis=1).argmin())
        self.points[run], self.left = math.inf, self.left - 1
        return run


def drawn(kinds, source):
    """A random configuration."""
    configuration = {}
    for name, kind, bounds in kinds:
        if kind == "choice":
            configuration[name] = source.choice(bounds)
        elif kind.endswith("int"):
            low, high = (math.log(bounds[0] - 0.5), math.log(bounds[1] + 0.5)) if kind == "logint" else (bounds[0] - 0.5, bounds[1] + 0.5)
            value = source.uniform(low, high)
            configuration[name] = min(max(round(math.exp(value) if kind == "logint" else value), int(bounds[0])), int(bounds[1]))
        else:
            low, high = (math.log(bounds[0]), math.log(bounds[1])) if kind == "log" else bounds
            value = source.uniform(low, high)
            configuration[name] = math.exp(value) if kind == "log" else value
    return configuration


def optuna_study(data, name, seed, budget):
    """One study of Optuna on one table."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    import warnings

    warnings.filterwarnings("ignore")
    length = len(data["curves"][0])
    sampler, pruner = name.removeprefix("optuna-").split("+")
    samplers = {"random": optuna.samplers.RandomSampler, "tpe": optuna.samplers.TPESampler,
                "gp": optuna.samplers.GPSampler}
    pruners = {"none": optuna.pruners.NopPruner, "median": optuna.pruners.MedianPruner,
               "halving": optuna.pruners.SuccessiveHalvingPruner,
               "hyperband": lambda: optuna.pruners.HyperbandPruner(min_resource=1, max_resource=length),
               "wilcoxon": optuna.pruners.WilcoxonPruner}
    study = optuna.create_study(direction="maximize", sampler=samplers[sampler](seed=seed), pruner=pruners[pruner]())
    kinds = [kind_of(text) for text in data["parameters"]]
    nearest, found = Nearest(data, kinds), Spent(data, budget)
    while nearest.left and found.pays(length):
        draft = study.ask()
        run = nearest.take(suggest(draft, kinds))
        # Optuna learns of the configuration that is trained, not of the one it wanted: the draft is given up, which its samplers and
        # pruners ignore
        study.tell(draft, state=optuna.trial.TrialState.FAIL)
        study.enqueue_trial({name: recorded(kind, data["configurations"][run][name]) for name, kind, _ in kinds})
        trial = study.ask()
        suggest(trial, kinds)
        state, last = optuna.trial.TrialState.COMPLETE, None
        for step in range(1, length + 1):
            value = found.train(run, step)
            if value is None:
                state = optuna.trial.TrialState.FAIL if last is None else optuna.trial.TrialState.PRUNED
                break
            last = value
            trial.report(value, step)
            if step < length and trial.should_prune():
                state = optuna.trial.TrialState.PRUNED
                break
        study.tell(trial, last if state == optuna.trial.TrialState.COMPLETE else None, state=state)
    return found


def ray_study(data, name, seed, budget):
    """Ray Tune's AsyncHyperBandScheduler, asked by hand, with random configurations: it stops trials, and never resumes them."""
    import numpy
    from ray.tune.schedulers import AsyncHyperBandScheduler, TrialScheduler

    numpy.random.seed(seed)
    kinds = [kind_of(text) for text in data["parameters"]]
    nearest, found, source = Nearest(data, kinds), Spent(data, budget), random.Random(seed)
    eta = 3 if name.endswith("3") else 4
    scheduler = AsyncHyperBandScheduler(time_attr="step", metric="value", mode="max", max_t=found.length, reduction_factor=eta)
    number = 0
    while nearest.left and found.pays(found.length):
        trial, number = types.SimpleNamespace(trial_id=str(number)), number + 1
        run = nearest.take(drawn(kinds, source))
        scheduler.on_trial_add(None, trial)
        for step in range(1, found.length + 1):
            value = found.train(run, step)
            if value is None:
                break
            if step < found.length:
                result = {"step": step, "value": value}
                if scheduler.on_trial_result(None, trial, result) == TrialScheduler.STOP:
                    break
    return found


def smac_space(kinds, seed):
    import ConfigSpace as cs

    space = cs.ConfigurationSpace(seed=seed)
    for name, kind, bounds in kinds:
        if kind == "choice":
            space.add(cs.Categorical(name, bounds))
        elif kind.endswith("int"):
            space.add(cs.Integer(name, (int(bounds[0]), int(bounds[1])), log=kind == "logint"))
        else:
            space.add(cs.Float(name, (bounds[0], bounds[1]), log=kind == "log"))
    return space


def smac_study(data, name, seed, budget):
    """SMAC3: its hyperparameter facade with full trainings, or its multi-fidelity facade (Hyperband), which resumes from checkpoints."""
    import logging
    import warnings

    import numpy
    from smac import HyperparameterOptimizationFacade, MultiFidelityFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    warnings.filterwarnings("ignore")
    kinds = [kind_of(text) for text in data["parameters"]]
    nearest, found, taken = Nearest(data, kinds), Spent(data, budget), {}
    fidelity = name.endswith("hyperband")
    facade = MultiFidelityFacade if fidelity else HyperparameterOptimizationFacade
    with tempfile.TemporaryDirectory() as folder:
        budgets = {"min_budget": 1, "max_budget": found.length} if fidelity else {}
        scenario = Scenario(smac_space(kinds, seed), n_trials=100_000, seed=seed, output_directory=folder, deterministic=True, **budgets)
        smac = facade(scenario, lambda configuration, seed=0, budget=0: 0.0, overwrite=True, logging_level=logging.ERROR,
                      initial_design=facade.get_initial_design(scenario, n_configs=10))
        while nearest.left:
            info = smac.ask()
            until = round(info.budget) if fidelity else found.length
            run, at = taken.get(info.config, (None, 0))
            if not found.pays(max(0, until - at)):
                break
            run = nearest.take(dict(info.config)) if run is None else run
            score = None
            for step in range(at + 1, until + 1):
                value = found.train(run, step)
                if value is None:
                    break
            taken[info.config] = (run, max(at, until))
            score = max((value for value in data["curves"][run][:until] if value is not None), default=None)
            # a run without any value counts as worse than all
            cost = -score if score is not None else 1e6
            smac.tell(info, TrialValue(cost=float(numpy.clip(cost, -1e12, 1e12))))
    return found


def study(job):
    """One search on one table."""
    data, name, seed, budget = job
    tool = {"optuna": optuna_study, "ray": ray_study, "smac": smac_study}[name.split("-")[0]]
    found = tool(data, name, seed, budget)
    found.trace.append((found.spent, found.best, found.finished))
    return {"table": data["name"], "combination": name, "seed": seed, "trace": found.trace}


def main():
    try:
        import torch

        torch.set_num_threads(1)
    except ImportError:
        pass
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps(study((job["table"], job["combination"], job["seed"], job["budget"]))), flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Searches for the whole front of accuracy and size on recorded tables, Foretell next to Optuna, Syne Tune's MO-ASHA and random.

    python3 benches/peers/objectives.py                    # the table; --seeds N --few N --tables NAME ... --contenders NAME ...
    python3 benches/peers/objectives.py --keep FILE        # keeps each search in FILE, and continues from there

Four tables have a cost: the number of weights, or a formula that grows like it (COSTS). A proposal takes the nearest recorded configuration
that was not taken yet, each epoch of its curve costs one, and the tool hears the recorded cost with every epoch. A tool is judged by the
front of its completed trainings. Regret is 1 − (hypervolume found)/(hypervolume of all runs of the table), after 10, 20, 40 and 80
trainings' worth of epochs, mean ± standard error over seeds. The hypervolume is that above the 5 % quantile of the final scores and the
largest cost; scores count as fractions of their range, costs on a logarithmic scale. All contenders get the same tables; a run that
diverged gets the worst value.

Contenders: `foretell`, with its defaults, and variants of it (`whole`: no trial is stopped); `random`, whole trainings; Optuna's samplers for several
objectives, by default and at the best of the settings tried (NSGA-II with a population of 10; TPE multivariate), which never stop a trial;
Syne Tune's MO-ASHA, by default and with the lowest rung at a ninth. Contenders that take long are run with fewer seeds (--few). Needs the Python
package foretell, Optuna, for its Gaussian process torch, and Syne Tune; contenders whose package is missing are left out with a message.
"""

import argparse
import importlib.metadata
import json
import math
import pathlib
import random
import statistics
import time
import types
import warnings

from budget import ROOT, tables
from budget_peers import Nearest, drawn, kind_of, suggest

BUDGETS = (10, 20, 40, 80)
# the cost of each table's configurations
COSTS = {
    "metaqnn_cifar10": lambda c: c["num_params"],
    "naap440_cnn_cifar10": lambda c: c["NumParams"],
    "lstm_ptb": lambda c: c["n_layer"] * c["n_inputs"] ** 2,
    "deep_resnets_tinyimagenet": lambda c: c["num_blocks"] * c["num_filters"] ** 2 * c["filter_size"] ** 2,
}
# a search of these takes minutes
SLOW = ("optuna gp", "mo-asha", "mo-asha, ninth")


def volume(points):
    """The area above (0, 0) that points (larger is better) dominate."""
    area, reached = 0.0, 0.0
    for score, cheapness in sorted(points, reverse=True):
        if cheapness > reached:
            area, reached = area + max(score, 0.0) * (cheapness - reached), cheapness
    return area


class Table:
    """A recorded table, its costs, and both as shares of their ranges."""

    def __init__(self, data):
        self.data, self.name, self.length = data, data["name"], len(data["curves"][0])
        worst = min(value for curve in data["curves"] for value in curve if value is not None)
        self.curves = [[worst if value is None else value for value in curve] for curve in data["curves"]]
        self.costs = [float(COSTS[self.name](configuration)) for configuration in data["configurations"]]
        self.kinds = [kind_of(text) for text in data["parameters"]]
        ends = sorted(curve[-1] for curve in self.curves)
        low, high = ends[len(ends) // 20], ends[-1]
        cheapest, dearest = min(self.costs), max(self.costs)
        self.points = [((curve[-1] - low) / (high - low), math.log(dearest / cost) / math.log(dearest / cheapest))
                       for curve, cost in zip(self.curves, self.costs)]
        self.whole = volume(self.points)


class Search:
    """The runs that a search has taken, the epochs spent and the front found."""

    def __init__(self, table):
        self.table, self.nearest = table, Nearest(table.data, table.kinds)
        self.spent, self.found, self.trace = 0, [], []

    def goes_on(self):
        return self.nearest.left and self.spent + self.table.length <= BUDGETS[-1] * self.table.length

    def train(self, wanted, stop=lambda value, epoch, cost: False):
        """The final value and cost of the run nearest to `wanted`; the value is `None` if `stop` ended it."""
        run = self.nearest.take(wanted)
        curve, cost = self.table.curves[run], self.table.costs[run]
        for epoch, value in enumerate(curve, 1):
            self.spent += 1
            if stop(value, epoch, cost) and epoch < len(curve):
                return None, cost
        self.found.append(self.table.points[run])
        self.trace.append((self.spent, volume(self.found)))
        return curve[-1], cost

    def regrets(self):
        at = [max((v for spent, v in self.trace if spent <= budget * self.table.length), default=0.0) for budget in BUDGETS]
        return [1 - found / self.table.whole for found in at]


def whole_random(search, seed):
    source = random.Random(seed)
    while search.goes_on():
        search.train(drawn(search.table.kinds, source))


def foretell(**settings):
    def run(search, seed):
        import foretell as tool

        space = {text.split("=", 1)[0]: text.split("=", 1)[1] for text in search.table.data["parameters"]}
        study = tool.Study(space, objective=["score:max", "cost:min"], epochs=search.table.length, trials=10 * BUDGETS[-1], seed=seed, **settings)
        while search.goes_on():
            trial = study.ask()
            search.train(trial.config, lambda value, epoch, cost: trial.report(value, epoch, cost=cost))
            trial.tell()

    return run


def optuna(make):
    def run(search, seed):
        import optuna as tool

        warnings.filterwarnings("ignore")
        tool.logging.set_verbosity(tool.logging.ERROR)
        study = tool.create_study(directions=["maximize", "minimize"], sampler=make(tool.samplers, seed))
        while search.goes_on():
            trial = study.ask()
            study.tell(trial, search.train(suggest(trial, search.table.kinds)))

    return run


def mo_asha(lowest):
    """Syne Tune's scheduler, asked by hand: it draws configurations at random, and stops trials at its rungs."""

    def run(search, seed):
        import numpy
        from syne_tune.optimizer.schedulers.multiobjective.moasha import MOASHA

        numpy.random.seed(seed)
        source, length = random.Random(seed), search.table.length
        scheduler = MOASHA({}, ["loss", "cost"], time_attr="epoch", max_t=length, grace_period=lowest(length), random_seed=seed)
        number = 0
        while search.goes_on():
            trial, number = types.SimpleNamespace(trial_id=number), number + 1
            scheduler.on_trial_add(trial)
            search.train(drawn(search.table.kinds, source), lambda value, epoch, cost: scheduler.on_trial_result(
                trial, {"loss": -value, "cost": cost, "epoch": epoch}) == "STOP")

    return run


CONTENDERS = {
    "foretell": foretell(),
    "foretell tpe": foretell(sampler="tpe"),
    "foretell gp": foretell(sampler="gp"),
    "foretell tpe-gp, whole": foretell(stopping=False),
    "foretell random": foretell(sampler="random"),
    "random": whole_random,
    "optuna nsga-ii": optuna(lambda samplers, seed: samplers.NSGAIISampler(seed=seed)),
    "optuna nsga-ii, 10": optuna(lambda samplers, seed: samplers.NSGAIISampler(seed=seed, population_size=10)),
    "optuna tpe": optuna(lambda samplers, seed: samplers.TPESampler(seed=seed)),
    "optuna tpe, multivariate": optuna(lambda samplers, seed: samplers.TPESampler(seed=seed, multivariate=True)),
    "optuna gp": optuna(lambda samplers, seed: samplers.GPSampler(seed=seed)),
    "mo-asha": mo_asha(lambda length: 1),
    "mo-asha, ninth": mo_asha(lambda length: max(1, length // 9)),
}


def searches(chosen, every):
    """All searches that were asked for, seed by seed; those kept in a file are not made again."""
    kept, missing = [], set()
    if chosen.keep and chosen.keep.exists():
        kept = [json.loads(line) for line in chosen.keep.read_text().splitlines()]
    known = {(result["contender"], result["table"], result["seed"]) for result in kept}
    for seed in range(chosen.seeds):
        for table in every:
            for name in chosen.contenders:
                if (name, table.name, seed) in known or name in missing or (name in SLOW and seed >= chosen.few):
                    continue
                search, begun = Search(table), time.process_time()
                try:
                    CONTENDERS[name](search, seed)
                except ImportError as error:
                    print(f"{name}: {error}")
                    missing.add(name)
                    continue
                kept.append({"contender": name, "table": table.name, "seed": seed, "regrets": search.regrets(),
                             "seconds": time.process_time() - begun})
                if chosen.keep:
                    with chosen.keep.open("a") as file:
                        file.write(json.dumps(kept[-1]) + "\n")
    names = {table.name for table in every}
    return [r for r in kept if r["seed"] < chosen.seeds and r["contender"] in chosen.contenders and r["table"] in names]


def show(title, by_table):
    """By contender: the mean over tables, ± the standard error over seeds."""
    print(f"\n| {title} | " + " | ".join(f"{budget}" for budget in BUDGETS) + " | seeds |\n|---|" + "---|" * (len(BUDGETS) + 1))
    for name in CONTENDERS:
        rows = [results[name] for results in by_table if name in results]
        if len(rows) < len(by_table):
            continue
        cells = []
        for at in range(len(BUDGETS)):
            columns = [[regrets[at] for regrets in row] for row in rows]
            mean = f"{100 * statistics.fmean(map(statistics.fmean, columns)):.1f}"
            if min(map(len, columns)) > 1:
                mean += f" ± {100 * math.sqrt(sum(statistics.variance(c) / len(c) for c in columns)) / len(columns):.1f}"
            cells.append(mean)
        print(f"| {name} | " + " | ".join(cells) + f" | {min(map(len, rows))} |")


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--few", type=int, default=2, help="seeds of contenders that take long")
    parser.add_argument("--tables", nargs="*", default=list(COSTS))
    parser.add_argument("--contenders", nargs="*", default=list(CONTENDERS))
    parser.add_argument("--keep", type=pathlib.Path, help="searches, kept from run to run")
    chosen = parser.parse_args()
    every = [Table(data) for data in tables(chosen.data) if data["name"] in chosen.tables]
    print(", ".join(f"{package} {version(package)}" for package in ("foretell", "optuna", "syne-tune", "torch")))
    found = {}
    for result in searches(chosen, every):
        found.setdefault(result["table"], {}).setdefault(result["contender"], []).append(result["regrets"])
    shown = [found[table.name] for table in every if table.name in found]
    for table in every:
        show(f"{table.name}: regret in %, after trainings", [found.get(table.name, {})])
    show(f"mean of {len(shown)} tables: regret in %, after trainings", shown)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Samplers alone: Foretell's random, tpe and gp against Optuna's on twelve test functions with mixed spaces.

Usage: samplers.py [--seeds N] [--trials N] [--few N] [--functions NAME ...] [--program FILE]

Regret is (found − best)/(median − best) after 25, 50 and the last trial, `best` the function's minimum and `median` that of 10,000 random
draws: 0 is the optimum, 1 the value that half of all random draws reach. Tables print the mean over seeds ± its standard error; the last
one prints the mean over functions. Optuna's Gaussian process takes a second per proposal and is run with fewer seeds (--few). Needs
Optuna, and torch for its gp. Foretell's side is the example `ask_and_tell` of foretell-search.
"""

import argparse
import json
import math
import pathlib
import random
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PI = math.pi


def branin(x, y):
    return (y - 5.1 / (4 * PI**2) * x * x + 5 / PI * x - 6) ** 2 + 10 * (1 - 1 / (8 * PI)) * math.cos(x) + 10 - 0.39788735772973816


HARTMANN = (
    (1.0, 1.2, 3.0, 3.2),
    ((10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14)),
    ((1312, 1696, 5569, 124, 8283, 5886), (2329, 4135, 8307, 3736, 1004, 9991),
     (2348, 1451, 3522, 2883, 3047, 6650), (4047, 8828, 8732, 5743, 1091, 381)),
)


def hartmann(x):
    terms = zip(*HARTMANN)
    return 3.322368011415515 - sum(a * math.exp(-sum(b * (u - p / 1e4) ** 2 for b, u, p in zip(bs, x, ps))) for a, bs, ps in terms)


def ackley(x):
    n = len(x)
    return 20 + math.e - 20 * math.exp(-0.2 * math.sqrt(sum(u * u for u in x) / n)) - math.exp(sum(math.cos(2 * PI * u) for u in x) / n)


def numbers(count, low, high):
    return [f"x{i}=float:{low}:{high}" for i in range(count)]


def xs(c):
    return [c[name] for name in sorted(c) if name[0] == "x" and name[1:].isdigit()]


def network(c):
    """Like the validation error of a network: a valley in the learning rate that depends on the optimizer, whose momentum counts for sgd alone."""
    middle = {"sgd": -1.0, "adam": -3.0, "rmsprop": -3.3}[c["opt"]]
    loss = 0.3 * (math.log10(c["lr"]) - middle) ** 2 + {"sgd": 0.0, "adam": 0.05, "rmsprop": 0.15}[c["opt"]]
    if c["opt"] == "sgd":
        loss += 2 * (c["momentum"] - 0.9) ** 2
    return loss + 0.1 * (math.log2(c["width"]) - 7.5) ** 2 / 4 + 0.05 * abs(c["layers"] - 3) + (c["dropout"] - 0.25) ** 2


def kernel(c):
    """A support vector machine: C always, γ for rbf, the degree for poly."""
    loss = 0.1 * (math.log10(c["c"]) - 1) ** 2 + {"rbf": 0.0, "poly": 0.1, "linear": 0.4}[c["kernel"]]
    if c["kernel"] == "rbf":
        loss += 0.3 * (math.log10(c["gamma"]) + 2) ** 2
    return loss + (0.1 * abs(c["degree"] - 3) if c["kernel"] == "poly" else 0)


def boosting(c):
    """Trees and learning rate trade off against each other."""
    product = math.log10(c["lr"] * c["trees"])
    return (product - 1.3) ** 2 + 0.1 * math.log10(c["lr"] / 0.05) ** 2 + 0.05 * abs(c["depth"] - 5) + (c["rows"] - 0.8) ** 2


# name: parameters, function to minimise, its minimum
FUNCTIONS = {
    "branin": (["x=float:-5:10", "y=float:0:15"], lambda c: branin(c["x"], c["y"]), 0.0),
    "hartmann6": (numbers(6, 0, 1), lambda c: hartmann(xs(c)), 0.0),
    "ackley5": (numbers(5, -20, 30), lambda c: ackley(xs(c)), 0.0),
    "rosenbrock4": (numbers(4, -2, 2), lambda c: math.log1p(sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in zip(xs(c), xs(c)[1:]))), 0.0),
    "rastrigin3": (numbers(3, -4, 5.12), lambda c: sum(u * u - 10 * math.cos(2 * PI * u) + 10 for u in xs(c)), 0.0),
    "styblinski10": (numbers(10, -5, 5), lambda c: sum(u**4 - 16 * u * u + 5 * u for u in xs(c)) / 2 + 391.6616570377142, 0.0),
    "log-valley": (["a=log:1e-6:1", "b=log:1e-4:1e4", "n=logint:1:4096"], lambda c: (math.log10(c["a"]) + 4) ** 2
                   + (math.log10(c["b"]) - math.log10(c["n"])) ** 2 + (math.log2(c["n"]) - 6) ** 2 / 4, 0.0),
    "integers": ([f"n{i}=int:0:15" for i in range(4)], lambda c: sum((c[f"n{i}"] - t) ** 2 for i, t in enumerate((3, 11, 7, 14))), 0.0),
    "options": ([f"o{i}=choice:a,b,c,d,e,f" for i in range(5)],
                lambda c: sum(abs("abcdef".index(c[f"o{i}"]) * 5 % 6 - t) for i, t in enumerate((0, 5, 2, 3, 1))), 0.0),
    "network": (["lr=log:1e-6:10", "opt=choice:sgd,adam,rmsprop", "momentum=float:0:1 if opt=sgd", "width=logint:8:1024",
                 "layers=int:1:8", "dropout=float:0:0.7"], network, 0.0),
    "kernel": (["c=log:1e-3:1e4", "kernel=choice:rbf,poly,linear", "gamma=log:1e-6:10 if kernel=rbf", "degree=int:2:8 if kernel=poly"],
               kernel, 0.0),
    "boosting": (["lr=log:1e-3:1", "trees=logint:8:2048", "depth=int:1:12", "rows=float:0.2:1"], boosting, 0.0),
}
SAMPLERS = ("foretell random", "foretell tpe", "foretell gp", "optuna random", "optuna tpe", "optuna gp")
AT = (25, 50)


def read(text):
    """(name, kind, bounds or options, condition)."""
    text, _, condition = text.partition(" if ")
    name, kind = text.split("=", 1)
    kind, rest = kind.split(":", 1)
    bounds = rest.split(",") if kind == "choice" else [float(bound) for bound in rest.split(":")]
    return name, kind, bounds, condition.split("=") if condition else None


def choose(parameters, draw):
    """A configuration, each parameter by `draw(name, kind, bounds)`, if it applies."""
    configuration = {}
    for name, kind, bounds, condition in map(read, parameters):
        if condition is None or configuration.get(condition[0]) == condition[1]:
            configuration[name] = draw(name, kind, bounds)
    return configuration


def median(parameters, function):
    source = random.Random(0)

    def draw(_, kind, bounds):
        if kind == "choice":
            return source.choice(bounds)
        if kind == "int":
            return source.randint(int(bounds[0]), int(bounds[1]))
        if kind == "float":
            return source.uniform(*bounds)
        value = math.exp(source.uniform(*map(math.log, bounds)))
        return round(value) if kind == "logint" else value

    return statistics.median(function(choose(parameters, draw)) for _ in range(10_000))


def foretell(program, sampler, parameters, function, seed, trials):
    found = []
    with subprocess.Popen([program, sampler, str(seed), *parameters], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(trials):
            configuration = {name: value for name, value in json.loads(process.stdout.readline()).items() if value is not None}
            found.append(function(configuration))
            process.stdin.write(f"{-found[-1]}\n")
            process.stdin.flush()
        process.stdin.close()
    return found


def optuna(sampler, parameters, function, seed, trials):
    import warnings

    import optuna as tool

    warnings.filterwarnings("ignore")
    tool.logging.set_verbosity(tool.logging.ERROR)
    samplers = {"random": tool.samplers.RandomSampler, "tpe": tool.samplers.TPESampler, "gp": tool.samplers.GPSampler}
    study = tool.create_study(sampler=samplers[sampler](seed=seed))

    def value(trial):
        def draw(name, kind, bounds):
            if kind == "choice":
                return trial.suggest_categorical(name, bounds)
            if kind.endswith("int"):
                return trial.suggest_int(name, int(bounds[0]), int(bounds[1]), log=kind == "logint")
            return trial.suggest_float(name, *bounds, log=kind == "log")

        return function(choose(parameters, draw))

    study.optimize(value, n_trials=trials)
    return [trial.value for trial in study.trials]


def cell(values):
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.fmean(values):.3f}±{error:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--few", type=int, default=3, help="seeds of Optuna's gp")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--functions", nargs="*", default=list(FUNCTIONS))
    parser.add_argument("--samplers", nargs="*", default=list(SAMPLERS))
    parser.add_argument("--program", help="the built example ask_and_tell")
    arguments = parser.parse_args()
    program = arguments.program
    if not program:
        subprocess.run(["cargo", "build", "--release", "-p", "foretell-search", "--example", "ask_and_tell"], cwd=ROOT, check=True)
        program = str(ROOT / "target/release/examples/ask_and_tell")
    at = sorted({min(n, arguments.trials) for n in (*AT, arguments.trials)})
    means = {}
    for name in arguments.functions:
        parameters, function, best = FUNCTIONS[name]
        middle = median(parameters, function)
        print(f"{name}: {'; '.join(parameters)}")
        for sampler in arguments.samplers:
            tool, kind = sampler.split()
            seeds = range(min(arguments.few, arguments.seeds) if sampler == "optuna gp" else arguments.seeds)
            run = (lambda seed: foretell(program, kind, parameters, function, seed, arguments.trials)) if tool == "foretell" else (
                lambda seed: optuna(kind, parameters, function, seed, arguments.trials))
            studies = [run(seed) for seed in seeds]
            regrets = [[(min(found[:n]) - best) / (middle - best) for found in studies] for n in at]
            print(f"  {sampler:16} " + " ".join(f"{n}: {cell(values)}" for n, values in zip(at, regrets)) + f"  {len(studies)} seeds", flush=True)
            means.setdefault(sampler, []).append([(statistics.fmean(values), statistics.variance(values) / len(values)) for values in regrets])
    print(f"mean over {len(arguments.functions)} functions, ± standard error over seeds")
    for sampler, rows in means.items():
        cells = [f"{n}: {statistics.fmean(row[i][0] for row in rows):.3f}±{math.sqrt(sum(row[i][1] for row in rows)) / len(rows):.3f}"
                 for i, n in enumerate(at)]
        print(f"  {sampler:16} " + " ".join(cells))


if __name__ == "__main__":
    main()

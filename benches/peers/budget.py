#!/usr/bin/env python3
"""What users get: the best score for the epochs spent, Foretell's combinations side by side with the peers'.

Usage: budget.py [--data DIR] [--seeds N] [--ours A:B:C ...] [--peers NAME ...] [--tables NAME ...] [--plot FILE]

Recorded tables stand for trainings: a proposal takes the nearest recorded configuration that was not taken yet, and each epoch
of its curve costs one. Regret is (best - found)/(best - median) of the table's scores, at most 1; `best` is the best value at
any epoch. One worker. Foretell's side is the example `best_so_far` of foretell-search.
"""

import argparse
import csv
import gzip
import json
import math
import multiprocessing
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUDGETS = (5, 10, 20, 40)
OURS = ["random:full:none", "random:full:median", "random:asha:none", "random:full:asha3", "random:hyperband:none",
        "tpe:full:none", "tpe:full:median", "tpe:full:asha3", "tpe:asha:none", "tpe:hyperband:none",
        "gp:full:none", "gp:full:median", "gp:full:asha3", "gp:asha:none"]
PEERS = [f"optuna-{sampler}+{pruner}" for sampler in ("random", "tpe", "gp")
         for pruner in ("none", "median", "halving", "hyperband", "wilcoxon")]
# numbers that are results, or say nothing but which run it is
OUTCOMES = ("OUTCOME", "MaxAccuracy", "IsTest", "config_id", "random_seed", "ss", "num_epochs")
# chosen on the first four, reported on the others
CHOSEN_ON = ("metaqnn_cifar10", "taskset_imdb_patch32_GRU128_bs128", "deepobs_cifar10_3c3d", "lstm_ptb")


def number(text):
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def wide(path, prefix):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    epochs = [name for name in rows[0] if name.startswith(prefix)]
    return [({k: v for k, v in row.items() if k not in epochs}, [number(row[name]) for name in epochs]) for row in rows]


def long(folder, metric):
    curves = {}
    with gzip.open(folder / "curves.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            curves.setdefault(row["config_id"], []).append((float(row["epoch"]), number(row[metric])))
    with open(folder / "configs.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["config_id"] in curves]
    return [(row, [value for _, value in sorted(curves[row["config_id"]], key=lambda point: point[0])]) for row in rows]


def parameter(name, texts):
    """How a column is searched; None if it cannot be."""
    values = [number(text) for text in texts]
    distinct = set(texts)
    if len(distinct) < 2 or name.startswith(OUTCOMES):
        return None
    if any(value is None for value in values):
        if len(distinct) > 20 or any(text in ("", None) for text in texts):
            return None
        return f"{name}=choice:" + ",".join(sorted(distinct))
    low, high = min(values), max(values)
    whole = all(value == int(value) for value in values)
    log = low > 0 and high / low >= 50
    kind = ("logint" if log else "int") if whole else ("log" if log else "float")
    return f"{name}={kind}:{int(low)}:{int(high)}" if whole else f"{name}={kind}:{low!r}:{high!r}"


def table(name, rows, sign):
    """A table of runs of one length, larger better, the same configuration once."""
    length = statistics.mode(len(curve) for _, curve in rows)
    rows = [(row, curve[:length]) for row, curve in rows if len(curve) >= length]
    columns = [column for column in rows[0][0] if parameter(column, [row[column] for row, _ in rows])]
    seen, runs = set(), []
    for row, curve in rows:
        key = tuple(row[column] for column in columns)
        if key not in seen:
            seen.add(key)
            runs.append(({c: number(row[c]) if number(row[c]) is not None else row[c] for c in columns},
                         [None if value is None else sign * value for value in curve]))
    parameters = [parameter(column, [row[column] for row, _ in rows]) for column in columns]
    return {"name": name, "parameters": parameters, "configurations": [run[0] for run in runs],
            "curves": [run[1] for run in runs]}


def tables(data):
    paper, others = data / "curves/paper", data / "curves/others"
    yield table("metaqnn_cifar10", wide(paper / "metaqnn_cifar10.csv", "acc_"), 1)
    yield table("deep_resnets_tinyimagenet", wide(paper / "deep_resnets_tinyimagenet.csv", "acc_"), 1)
    yield table("lstm_ptb", wide(paper / "lstm_ptb.csv", "ep_"), -1)
    for name, metric, sign in METRICS:
        yield table(name, long(others / name, metric), sign)


METRICS = [("naap440_cnn_cifar10", "test_acc", 1), ("deepobs_cifar10_3c3d", "test_acc", 1),
           ("taskset_imdb_patch32_GRU128_bs128", "val_loss", -1),
           ("taskset_imdb_patch128_LSTM128_bs64", "val_loss", -1), ("nmt_ted-ru-en", "val_ppl", -1)]


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


def peer(job):
    """One study of Optuna on one table."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    import warnings

    warnings.filterwarnings("ignore")
    data, name, seed, budget = job
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
    points, left = coordinates(kinds, data["configurations"]), len(data["configurations"])
    spent, best, finished, trace = 0, -math.inf, None, []
    while left and spent + length <= budget * length:
        trial = study.ask()
        wanted = suggest(trial, kinds)
        run = int(((points - coordinates(kinds, [wanted])) ** 2).sum(axis=1).argmin())
        points[run], left = math.inf, left - 1
        state, last = optuna.trial.TrialState.COMPLETE, None
        for step, value in enumerate(data["curves"][run], 1):
            spent += 1
            if value is None:
                state = optuna.trial.TrialState.FAIL if last is None else optuna.trial.TrialState.PRUNED
                break
            last = value
            if step == length:
                finished = value if finished is None else max(finished, value)
            if value > best or step == length:
                best = max(best, value)
                trace.append((spent, best, finished))
            trial.report(value, step)
            if step < length and trial.should_prune():
                state = optuna.trial.TrialState.PRUNED
                break
        study.tell(trial, last if state == optuna.trial.TrialState.COMPLETE else None, state=state)
    trace.append((spent, best, finished))
    return {"table": data["name"], "combination": name, "seed": seed, "trace": trace}


def ours(job):
    program, data, combination, seeds, budget = job
    command = [program, str(budget), str(seeds), combination]
    done = subprocess.run(command, input=json.dumps(data), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Scale:
    """Regret on a table: 0 at the best, 1 at the median, of values at any epoch or of final ones."""

    def __init__(self, data):
        any_epoch = [max((v for v in curve if v is not None), default=-math.inf) for curve in data["curves"]]
        final = [-math.inf if curve[-1] is None else curve[-1] for curve in data["curves"]]
        self.ends = [(max(scores), statistics.median(scores)) for scores in (any_epoch, final)]

    def regret(self, found, which):
        best, median = self.ends[which]
        if found is None or not math.isfinite(found):
            return 1.0
        return min(1.0, max(0.0, (best - found) / (best - median)))


def at(trace, epochs, which):
    found = None
    for spent, any_epoch, final in trace:
        if spent > epochs:
            break
        found = (any_epoch, final)[which]
    return found


def summed(results, scales, lengths, which, names):
    """By combination: regrets by budget and their area, each averaged over tables and seeds, with standard errors."""
    rows = {}
    for result in results:
        if result["table"] in names:
            scale, length = scales[result["table"]], lengths[result["table"]]
            regrets = [scale.regret(at(result["trace"], budget * length, which), which) for budget in BUDGETS]
            grid = [scale.regret(at(result["trace"], q * length / 2, which), which) for q in range(2, 81)]
            rows.setdefault(result["combination"], {}).setdefault(result["table"], []).append(
                regrets + [statistics.fmean(grid)])
    return rows


def line(by_table):
    columns = list(zip(*[row for rows in by_table.values() for row in rows]))
    errors = []
    for i in range(len(columns)):
        by = [[row[i] for row in rows] for rows in by_table.values()]
        errors.append(math.sqrt(sum(statistics.variance(v) / len(v) if len(v) > 1 else 0 for v in by)) / len(by))
    return [statistics.fmean(column) for column in columns], errors


def show(title, rows):
    print(f"\n{title}: mean regret × 1000 after 5, 10, 20, 40 full trainings, area; ± standard error over seeds")
    ranked = sorted(rows.items(), key=lambda item: statistics.fmean(line(item[1])[0][:4]))
    for name, by_table in ranked:
        means, errors = line(by_table)
        cells = " ".join(f"{1000 * m:4.0f}±{1000 * e:<3.0f}" for m, e in zip(means, errors))
        print(f"  {name:28} {cells}  mean {1000 * statistics.fmean(means[:4]):4.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--ours", nargs="*", default=OURS)
    parser.add_argument("--peers", nargs="*", default=PEERS)
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--by-table", action="store_true", help="also each table's mean over the budgets")
    parser.add_argument("--program", help="the built example best_so_far")
    parser.add_argument("--keep", type=pathlib.Path, help="peers' results, kept from run to run")
    parser.add_argument("--plot", type=pathlib.Path, help="draw regret against epochs, with bands over seeds")
    arguments = parser.parse_args()
    program = arguments.program
    if not program:
        subprocess.run(["cargo", "build", "--release", "-p", "foretell-search", "--example", "best_so_far"],
                       cwd=ROOT, check=True)
        program = str(ROOT / "target/release/examples/best_so_far")
    data = [t for t in tables(arguments.data) if not arguments.tables or t["name"] in arguments.tables]
    for t in data:
        print(f"{t['name']}: {len(t['curves'])} runs × {len(t['curves'][0])}, {'; '.join(t['parameters'])}", file=sys.stderr)
    budget = BUDGETS[-1]
    kept = {}
    if arguments.keep and arguments.keep.exists():
        for text in arguments.keep.read_text().splitlines():
            result = json.loads(text)
            kept[result["table"], result["combination"], result["seed"]] = result
    with multiprocessing.Pool() as pool:
        jobs = [(program, t, combination, arguments.seeds, budget) for t in data for combination in arguments.ours]
        results = [result for some in pool.imap_unordered(ours, jobs) for result in some]
        wanted = [(t, name, seed, budget) for name in arguments.peers for t in data for seed in range(arguments.seeds)]
        missing = [job for job in wanted if (job[0]["name"], job[1], job[2]) not in kept]
        for result in pool.imap_unordered(peer, missing):
            kept[result["table"], result["combination"], result["seed"]] = result
            if arguments.keep:
                with open(arguments.keep, "a") as file:
                    file.write(json.dumps(result) + "\n")
    results += [kept[job[0]["name"], job[1], job[2]] for job in wanted]
    scales = {t["name"]: Scale(t) for t in data}
    lengths = {t["name"]: len(t["curves"][0]) for t in data}
    report(results, scales, lengths, arguments)


def report(results, scales, lengths, arguments):
    for which, what in ((0, "best at any epoch"), (1, "best among finished")):
        parts = (("chosen on", [n for n in scales if n in CHOSEN_ON]),
                 ("reported on", [n for n in scales if n not in CHOSEN_ON]), ("all tables", list(scales)))
        for part, names in parts:
            if names and (part == "all tables" or len(names) < len(scales)):
                show(f"{what}, {part} ({len(names)} tables)", summed(results, scales, lengths, which, names))
    if arguments.by_table:
        rows = summed(results, scales, lengths, 0, list(scales))
        print("\nmean over the budgets × 1000 by table: " + ", ".join(scales))
        for name, by_table in sorted(rows.items()):
            print(f"  {name:28} " + " ".join(f"{1000 * statistics.fmean(line({t: by_table[t]})[0][:4]):5.0f}" for t in scales))
    if arguments.plot:
        plot(results, scales, lengths, arguments.plot)


def plot(results, scales, lengths, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    by = {}
    for result in results:
        scale, length = scales[result["table"]], lengths[result["table"]]
        regrets = [scale.regret(at(result["trace"], q * length / 2, 0), 0) for q in range(2, 81)]
        by.setdefault(result["combination"], {}).setdefault(result["seed"], []).append(regrets)
    figure, axes = pyplot.subplots(figsize=(9, 6))
    for name, seeds in sorted(by.items()):
        means = [[statistics.fmean(column) for column in zip(*tables)] for tables in seeds.values()]
        columns = list(zip(*means))
        x = [q / 2 for q in range(2, 81)]
        drawn = axes.plot(x, [statistics.fmean(c) for c in columns], label=name)
        quantiles = [statistics.quantiles(c, n=10) if len(c) > 1 else list(c) * 9 for c in columns]
        axes.fill_between(x, [q[0] for q in quantiles], [q[8] for q in quantiles], alpha=0.1, color=drawn[0].get_color())
    axes.set(xlabel="epochs spent, in full trainings", ylabel="regret, mean over tables", yscale="log")
    axes.legend(fontsize=7)
    figure.savefig(path, bbox_inches="tight")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Prints the best score for the epochs spent, Foretell's combinations next to the peers'.

Usage: budget.py [--data DIR] [--seeds N] [--ours A:B:C[:D] ...] [--peers NAME ...] [--tables NAME ... | --first] [--keep FILE]
                 [--ray PYTHON] [--smac PYTHON] [--jobs N] [--by-table] [--plot FILE]

Recorded tables stand for trainings: a proposal takes the nearest recorded configuration that was not taken yet, and each epoch
of its curve costs one. Regret is (best - found)/(best - median) of the table's scores, at most 1; `best` is the best value at
any epoch. One worker. Foretell's side is the example `best_so_far` of foretell-search, the peers' is budget_peers.py, which runs in the
interpreter that has Optuna (this one), Ray Tune and SMAC3. All are run with the same seeds.
"""

import argparse
import csv
import gzip
import json
import math
import multiprocessing.pool
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUDGETS = (5, 10, 20, 40)
# where the regret is read for the picture, in full trainings
SPENT = [half / 2 for half in range(2, 81)]
# the first is the default; safe and fast are other settings of --caution
OURS = ["tpe-gp:full:balanced", "tpe-gp:full:safe", "tpe-gp:full:fast", "random:full:none", "random:late-asha:none", "random:asha:none", "tpe:full:none", "gp:full:none", "tpe-gp:full:none",
        "tpe:late-asha:none", "gp:late-asha:none", "tpe-gp:late-asha:none", "tpe-gp:late-asha:none:mean", "tpe-gp:late-asha:none:upper",
        "tpe-gp:asha:none", "tpe-gp:asha:none:mean", "tpe-gp:hyperband:none", "tpe-gp:hyperband:none:mean", "tpe-gp:full:asha3",
        "tpe-gp:full:asha3:mean", "tpe-gp:full:median"]
PEERS = [f"optuna-{sampler}+{pruner}" for sampler in ("random", "tpe", "gp")
         for pruner in ("none", "median", "halving", "hyperband", "wilcoxon")]
PEERS += ["ray-random+asha3", "ray-random+asha4", "smac-forest+none", "smac-forest+hyperband"]
# what --plot draws, if it was run
DRAWN = {"tpe-gp:full:balanced": ("Foretell, default", "#0f766e"), "optuna-tpe+hyperband": ("Optuna, TPE + Hyperband", "#7c3aed"),
         "optuna-tpe+median": ("Optuna, TPE + median", "#b45309"), "random:full:none": ("random, nothing stopped", "#6b7280")}
# numbers that are results, or say nothing but which run it is
OUTCOMES = ("OUTCOME", "MaxAccuracy", "IsTest", "config_id", "random_seed", "ss", "num_epochs")
# what the settings of the sampler were chosen on; docs/research/chain.md says on which families those of the stop rule were
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


def tables(data, others_of=None):
    """The first three tables, and those of `others_of`, or all others."""
    paper, others = data / "curves/paper", data / "curves/others"
    yield table("metaqnn_cifar10", wide(paper / "metaqnn_cifar10.csv", "acc_"), 1)
    yield table("deep_resnets_tinyimagenet", wide(paper / "deep_resnets_tinyimagenet.csv", "acc_"), 1)
    yield table("lstm_ptb", wide(paper / "lstm_ptb.csv", "ep_"), -1)
    for name, metric, sign in others_of or METRICS:
        yield table(name, long(others / name, metric), sign)


# of the first eight tables, whose figures are in docs/research/budget.md
FIRST = [("naap440_cnn_cifar10", "test_acc", 1), ("deepobs_cifar10_3c3d", "test_acc", 1),
           ("taskset_imdb_patch32_GRU128_bs128", "val_loss", -1),
           ("taskset_imdb_patch128_LSTM128_bs64", "val_loss", -1), ("nmt_ted-ru-en", "val_ppl", -1)]
METRICS = FIRST + [(f"taskset_imdb_patch32_{net}", "val_loss", -1)
                   for net in ("GRU64_avg_bs128", "IRNN64_relu_avg_bs128", "LSTM128_bs128", "VRNN64_tanh_avg_bs128")]
METRICS += [(f"nmt_{task}", "val_ppl", -1)
            for task in ("material-so-en", "material-sw-en", "robust19-en-ja", "robust19-ja-en", "ted-zh-en",
                         "fr-en_bloomz", "fr-en_xglm", "zh-en_bloomz", "zh-en_xglm")]
METRICS += [(f"deepobs_{name}", "test_acc", 1)
            for name in ("cifar100_allcnnc", "fmnist_2c2d", "svhn_wrn164", "tolstoi_char_rnn")]
METRICS += [(f"deepobs_{name}", "test_loss", -1) for name in ("fmnist_vae", "mnist_vae")]


def ours(job):
    program, data, combination, seeds, budget = job
    command = [program, str(budget), str(seeds), combination]
    done = subprocess.run(command, input=json.dumps(data), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def peers(job):
    """The searches of one peer on one table, by the interpreter that has it; none, with a message, if it fails."""
    python, jobs = job
    lines = "".join(json.dumps({"table": t, "combination": name, "seed": seed, "budget": budget}) + "\n"
                    for t, name, seed, budget in jobs)
    command = [python, str(pathlib.Path(__file__).with_name("budget_peers.py"))]
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    if done.returncode:
        print(f"{jobs[0][1]} on {jobs[0][0]['name']} failed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


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


def rank_correlation(data, share):
    """Spearman's, of the best value after a share of the training with that at the end."""
    import numpy

    length = len(data["curves"][0])
    ends = []
    for points in (max(1, round(length * share)), length):
        ends.append([max((v for v in curve[:points] if v is not None), default=-math.inf) for curve in data["curves"]])
    ranks = [[numpy.mean(numpy.flatnonzero(numpy.array(sorted(of)) == value)) for value in of] for of in ends]
    return float(numpy.corrcoef(ranks)[0, 1])


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
        seeds = min(len(rows) for rows in by_table.values())
        print(f"  {name:32} {cells}  mean {1000 * statistics.fmean(means[:4]):4.0f}  {seeds} seeds, {len(by_table)} tables")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--ray", help="an interpreter that has ray[tune]")
    parser.add_argument("--smac", help="an interpreter that has smac")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--ours", nargs="*", default=OURS)
    parser.add_argument("--peers", nargs="*", default=PEERS)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--tables", nargs="*")
    which.add_argument("--first", action="store_true", help="only the eight tables of docs/research/budget.md, of 27")
    parser.add_argument("--by-table", action="store_true", help="also each table's figures, and how early ranks tell the end")
    parser.add_argument("--program", help="the built example best_so_far")
    parser.add_argument("--keep", type=pathlib.Path, help="peers' results, kept from run to run")
    parser.add_argument("--plot", type=pathlib.Path, help="draw an SVG of regret against epochs, of those in DRAWN")
    arguments = parser.parse_args()
    program = arguments.program
    if not program:
        subprocess.run(["cargo", "build", "--release", "-p", "foretell-search", "--example", "best_so_far"],
                       cwd=ROOT, check=True)
        program = str(ROOT / "target/release/examples/best_so_far")
    chosen = tables(arguments.data, FIRST if arguments.first else None)
    data = [t for t in chosen if not arguments.tables or t["name"] in arguments.tables]
    for t in data:
        print(f"{t['name']}: {len(t['curves'])} runs × {len(t['curves'][0])}, {'; '.join(t['parameters'])}", file=sys.stderr)
    budget = BUDGETS[-1]
    kept = {}
    if arguments.keep and arguments.keep.exists():
        for text in arguments.keep.read_text().splitlines():
            result = json.loads(text)
            kept[result["table"], result["combination"], result["seed"]] = result
    pythons = {"optuna": sys.executable, "ray": arguments.ray or sys.executable, "smac": arguments.smac or sys.executable}
    with multiprocessing.pool.ThreadPool(arguments.jobs) as pool:
        jobs = [(program, t, combination, arguments.seeds, budget) for t in data for combination in arguments.ours]
        results = [result for some in pool.imap_unordered(ours, jobs) for result in some]
        wanted = [(t, name, seed, budget) for name in arguments.peers for t in data for seed in range(arguments.seeds)]
        missing = {}
        for job in wanted:
            if (job[0]["name"], job[1], job[2]) not in kept:
                missing.setdefault((job[0]["name"], job[1]), []).append(job)
        asked = ((pythons[name.split("-")[0]], jobs) for (_, name), jobs in missing.items())
        for some in pool.imap_unordered(peers, asked):
            for result in some:
                kept[result["table"], result["combination"], result["seed"]] = result
                if arguments.keep:
                    with open(arguments.keep, "a") as file:
                        file.write(json.dumps(result) + "\n")
    results += [kept[t["name"], name, seed] for t, name, seed, _ in wanted if (t["name"], name, seed) in kept]
    scales = {t["name"]: Scale(t) for t in data}
    lengths = {t["name"]: len(t["curves"][0]) for t in data}
    report(results, scales, lengths, arguments, data)


def report(results, scales, lengths, arguments, data):
    for which, what in ((0, "best at any epoch"), (1, "best among finished")):
        parts = (("that the sampler was chosen on", [n for n in scales if n in CHOSEN_ON]),
                 ("other", [n for n in scales if n not in CHOSEN_ON]), ("all tables", list(scales)))
        for part, names in parts:
            if names and (part == "all tables" or len(names) < len(scales)):
                show(f"{what}, {part} ({len(names)} tables)", summed(results, scales, lengths, which, names))
    if arguments.by_table:
        for t in data:
            cells = [f"R/{d}: {rank_correlation(t, 1 / d):.2f}" for d in (27, 9, 3)]
            print(f"{t['name']}: rank correlation of the best so far with the end, {', '.join(cells)}")
        for name in scales:
            show(f"best at any epoch, {name}", summed(results, scales, lengths, 0, [name]))
    curves = by_training(results, scales, lengths)
    show_needed(curves)
    if arguments.plot:
        plot(curves, arguments.plot)


def by_training(results, scales, lengths):
    """By combination: the mean regret of the best value at any epoch and its standard error, after 1, 1.5, 2 … 40 full trainings."""
    rows = {}
    for result in results:
        scale, length = scales[result["table"]], lengths[result["table"]]
        regrets = [scale.regret(at(result["trace"], spent * length, 0), 0) for spent in SPENT]
        rows.setdefault(result["combination"], {}).setdefault(result["table"], []).append(regrets)
    return {name: line(tables) for name, tables in rows.items()}


def needed(means, regret):
    """The full trainings after which a mean regret is reached, interpolated; None if it is not."""
    for k, (spent, mean) in enumerate(zip(SPENT, means)):
        if mean <= regret:
            if k == 0 or means[k - 1] == mean:
                return spent
            return spent - (spent - SPENT[k - 1]) * (regret - mean) / (means[k - 1] - mean)
    return None


def show_needed(curves):
    """Prints for how much training each combination reaches what each peer has reached at the end."""
    for peer, (means, _) in sorted(curves.items()):
        if peer in PEERS:
            cells = [(needed(other, means[-1]), name) for name, (other, _) in curves.items() if name != peer]
            cells = ", ".join(f"{name} {'–' if spent is None else f'{spent:.1f}'}" for spent, name in cells)
            print(f"full trainings until the mean regret of {peer} after {SPENT[-1]:.0f} ({1000 * means[-1]:.0f}): {cells}")


def plot(curves, path):
    """Draws mean regret against training, with a band of one standard error. Without matplotlib, whose pictures are ten times as large."""
    width, height, left, top, right, bottom = 720, 400, 64, 24, 200, 52
    curves = {name: curves[name] for name in DRAWN if name in curves}
    high = math.ceil(10 * max(means[SPENT.index(3)] for means, _ in curves.values())) / 10
    x = lambda spent: left + (width - left - right) * (spent - 1) / (SPENT[-1] - 1)
    y = lambda regret: top + (height - top - bottom) * (1 - min(regret, high) / high)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="13" fill="#333">',
             "<title>Distance to the best network against training spent</title>",
             f'<rect width="{width}" height="{height}" rx="8" fill="#fff"/>']
    for tenth in range(round(10 * high) + 1):
        parts.append(f'<path d="M{left} {y(tenth / 10):.1f}H{width - right}" stroke="#e2e5ea"/>'
                     f'<text x="{left - 8}" y="{y(tenth / 10) + 4:.1f}" text-anchor="end">{10 * tenth} %</text>')
    for spent in BUDGETS:
        parts.append(f'<text x="{x(spent):.1f}" y="{height - bottom + 20}" text-anchor="middle">{spent}</text>')
    parts.append(f'<text x="{(left + width - right) / 2}" y="{height - 10}" text-anchor="middle">training spent, in complete trials</text>'
                 f'<text x="{-(top + height - bottom) / 2}" y="18" transform="rotate(-90)" text-anchor="middle">distance to the best (100 %: median)</text>')
    # the labels stand at the ends of their lines, and none above another
    last = height
    for name, (means, errors) in sorted(curves.items(), key=lambda item: item[1][0][-1]):
        label, color = DRAWN[name]
        upper = [f"{x(s):.1f},{y(m + e):.1f}" for s, m, e in zip(SPENT, means, errors)]
        lower = [f"{x(s):.1f},{y(max(0, m - e)):.1f}" for s, m, e in zip(SPENT, means, errors)]
        middle = " ".join(f"{x(s):.1f},{y(m):.1f}" for s, m in zip(SPENT, means))
        last = min(y(means[-1]) + 4, last - 16)
        parts.append(f'<polygon points="{" ".join(upper + lower[::-1])}" fill="{color}" opacity=".12"/>'
                     f'<polyline points="{middle}" fill="none" stroke="{color}" stroke-width="{3 if name == OURS[0] else 1.8}"/>'
                     f'<text x="{width - right + 8}" y="{last:.1f}" fill="{color}">{label}</text>')
    path.write_text("\n".join([*parts, "</svg>\n"]))


if __name__ == "__main__":
    main()

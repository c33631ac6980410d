#!/usr/bin/env python3
"""Early stopping on folders of recorded curves, by family: the saving, whether the best is kept, and the loss if it is not.

    python3 benches/peers/stopping.py FOLDER... [--sizes 40] [--workers 1] [--orderings 20] [--seed 0] [--by-family] [--leave-out]
                                      [--lessons] [--optuna ORDERS] [--plot FILE] [--foretell PROGRAM]

A set is a CSV or JSON-lines file, or a folder with `curves.csv` in it. Sets that are alike count as one: a set's family is its name up
to the first hyphen or underscore. All figures are means over families, ± is the standard error over families. `foretell replay`
replays random orders of as many runs of each set as --sizes names under each `--caution` of `foretell search`, and under the peers: the median
rule, patience, ASHA's late rungs (R/9 and R/3), a few epochs for all, and perfect foresight. A stop is wrong if the run would have ended better
than the score that it had to beat. With several sizes or numbers of workers, it prints one row for each, of the sets with enough runs.
--by-family also prints each family's figures.

--leave-out chooses the stop probability on all families but one, for each fraction of best runs to be kept, and measures it on that one:
the value of the choice on unseen curves. --lessons prints, for --caution safe and balanced, the training after earlier searches as a fraction of that without: searches of the same
set, of another set of its family, and of a wrong family, each replayed first with stopping on. --optuna adds Optuna's pruners, in the first ORDERS of the same orders (needs optuna and numpy),
and --plot draws saving against best kept and regret (needs matplotlib).
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULES = ["--policy", "none,srm,last-value,median,patience,asha,i-epoch,oracle"]
OURS = ["--predictor", "mean-gain", "--burn-in", "3", "--refit", "1.05", "--agreeing-checks", "2", "--error-budget", "per-check"]
# stop probabilities to choose from, and shares of best runs to be kept
CHOICES = "0.7,0.8,0.85,0.9,0.93,0.95,0.97,0.98,0.985,0.99,0.995,0.999"
TARGETS = {"85 %": 0.85, "93 % (balanced)": 0.93, "97 % (safe)": 0.97}
FIGURES = ("left", "best_kept", "best_three_kept", "regret_sd_mean", "regret_sd_where_lost", "wrong")


def sets(folders):
    """The sets in `folders`, by path."""
    found = []
    for folder in map(Path, folders):
        for path in [folder, *sorted(folder.rglob("*"))] if folder.is_dir() else [folder]:
            name = path.name.removesuffix(".gz")
            if path.is_file() and name.endswith((".csv", ".jsonl")) and name != "configs.csv":
                found.append(path)
    return found


def replayed(arguments, flags, orders=None, size=None, workers=1):
    """The output of `foretell replay` for all sets with enough runs, as JSON."""
    size = size or arguments.sizes[0]
    command = [arguments.foretell, "replay", *map(str, sets(arguments.folders)), "--sampler", arguments.sampler, *flags, *OURS, "--format", "json", "--workers", str(workers)]
    command += ["--study-size", str(size), "--orderings", str(arguments.orderings), "--seed", str(arguments.seed)]
    command += ["--write-orders", orders] if orders else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"foretell replay failed: {done.stderr.strip().splitlines()[-1]}")
    document = json.loads(done.stdout)
    return {**document, "rows": [row for row in document["rows"] if row["runs"] == size]}


def families(document):
    """Set → family."""
    return {name: family for family, names in document["families"]["sets"].items() for name in names}


def by_family(rows, family_of):
    """(rule → family → figures), each the mean over a family's sets, of rows {rule, curves, *FIGURES}."""
    collected = defaultdict(lambda: defaultdict(list))
    for row in rows:
        collected[row["rule"]][family_of[row["curves"]]].append(row)
    mean = lambda values: statistics.fmean(values) if values else None
    return {rule: {family: {figure: mean([row[figure] for row in of if row[figure] is not None]) for figure in FIGURES}
                   for family, of in families.items()} for rule, families in collected.items()}


def summary(rule, of):
    """One line: means over families and their standard errors."""
    def both(figure):
        values = [figures[figure] for figures in of if figures[figure] is not None]
        error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
        return (statistics.fmean(values), error) if values else None

    left, kept, three, regret = (both(figure) for figure in FIGURES[:4])
    lost = both(FIGURES[4])
    return {"rule": rule, "saving": (1 / left[0], left[1] / left[0] ** 2), "kept": kept, "three": three, "regret": regret, "lost": lost,
            "wrong": both("wrong")}


def percent(pair):
    return f"{100 * pair[0]:.1f} ± {100 * pair[1]:.1f} %"


def printed(lines):
    """A table of `lines`, as the pages have it."""
    print("| rule | speed-up | best kept | one of the best three kept | regret, all orders | regret where the best was lost | wrong stops |")
    print("|---" * 7 + "|")
    for line in lines:
        lost = f"{line['lost'][0]:.2f} ± {line['lost'][1]:.2f}" if line["lost"] else "–"
        wrong = f"{100 * line['wrong'][0]:.2f} %" if line["wrong"] else "–"
        print(f"| {line['rule']} | {line['saving'][0]:.2f} ± {line['saving'][1]:.2f} | {percent(line['kept'])} | {percent(line['three'])} "
              f"| {line['regret'][0]:.3f} ± {line['regret'][1]:.3f} | {lost} | {wrong} |", flush=True)


def cell(line):
    """A line in short: speed-up, best kept, one of the best three kept, regret."""
    return f"{line['saving'][0]:.2f}×, {percent(line['kept'])}, {100 * line['three'][0]:.0f} %, {line['regret'][0]:.3f}"


def grid(arguments):
    """A row for each number of trials and of workers: each caution, and forecasts without rungs."""
    shown = [*(f"--caution {name}" for name in ("safe", "balanced", "fast")), "forecasts alone, Δ 0.99"]
    print("speed-up, best kept, one of the best three kept, regret\n")
    print(f"| trials | workers | families | {' | '.join(shown)} |")
    print("|---" * (3 + len(shown)) + "|")
    for size in arguments.sizes:
        for workers in (workers for workers in arguments.workers if workers <= size):
            document = replayed(arguments, ["--policy", "srm", "--stop-probability", "0.99"], size=size, workers=workers)
            by_rule = by_family([named(row) for row in document["rows"]], families(document))
            cells = [cell(summary(rule, by_rule[rule].values())) for rule in shown]
            print(f"| {size} | {workers} | {len(by_rule[shown[0]])} | {' | '.join(cells)} |", flush=True)


def each_family(by_rule):
    """A row for each family: each caution."""
    shown = [f"--caution {name}" for name in ("safe", "balanced", "fast")]
    print(f"\nspeed-up, best kept, one of the best three kept, regret\n\n| family | {' | '.join(shown)} |")
    print("|---" * (1 + len(shown)) + "|")
    for family in sorted(by_rule[shown[0]]):
        figures = [by_rule[rule][family] for rule in shown]
        cells = [f"{1 / f['left']:.2f}×, {100 * f['best_kept']:.0f} %, {100 * f['best_three_kept']:.0f} %, {f['regret_sd_mean']:.3f}" for f in figures]
        print(f"| {family} | {' | '.join(cells)} |")


def named(row):
    """A row of a replay, with the name of its rule."""
    names = {"asha": "ASHA, stopping at R/9 and R/3", "patience": "5 points without a new best", "i-epoch": "5 % of the epochs, best ten go on",
             "median": "median rule", "oracle": "perfect foresight", "none": "no stopping", "chain": "--policy chain", "last-value": "last value for a forecast, Δ 0.95"}
    if row["caution"]:
        rule = f"--caution {row['caution']}"
    elif row["policy"] == "srm":
        rule = f"forecasts alone, Δ {row['stop_probability']}"
    else:
        rule = names[row["policy"]]
    # ranks at a rung compare with no score to beat
    counts = row["stopped_mean"] and row["policy"] not in ("asha", "i-epoch")
    wrong = row["wrong_stops_mean"] / row["stopped_mean"] if counts else None
    return {**row, "rule": rule, "left": 1 / row["speedup_total"], "wrong": wrong}


def left_out(arguments):
    """For each target the stop probability chosen on all families but one, measured on that one; and each stop probability on all families."""
    document = replayed(arguments, ["--policy", "srm", "--stop-probability", CHOICES])
    chosen = by_family([named(row) for row in document["rows"] if not row["caution"]], families(document))
    lines = []
    for name, target in TARGETS.items():
        measured = []
        for family in next(iter(chosen.values())):  # those with enough runs
            others = {rule: [of[other] for other in of if other != family] for rule, of in chosen.items()}
            mean = lambda rule, figure: statistics.fmean(figures[figure] for figures in others[rule])
            safe = [rule for rule in others if mean(rule, "best_kept") >= target]
            # none keeps so many: the most careful one
            rule = min(safe, key=lambda rule: mean(rule, "left")) if safe else max(others, key=lambda rule: mean(rule, "left"))
            measured.append(chosen[rule][family])
        lines.append(summary(f"Δ that keeps {name} elsewhere", measured))
    return lines, [summary(rule, of.values()) for rule, of in chosen.items()]


def family(path):
    """The name of the set at `path` up to the first hyphen or underscore."""
    name = path.parent.name if path.name.startswith("curves.") else path.name
    return name.split("-")[0].split("_")[0].split(".")[0]


def lessons(arguments):
    """The training after earlier searches, as a fraction of that without, and what was kept."""
    print("\nafter earlier searches, each replayed with stopping on (in parentheses: the same sets without them)\n")
    print("| caution | earlier searches | families | trained | speed-up | best kept | one of the best three kept | regret |")
    print("|---" * 8 + "|")
    for caution in ("safe", "balanced"):
        lessons_with(arguments, caution)


def lessons_with(arguments, caution):
    """The rows of one caution."""
    after = lambda path, count, source=None: after_searches(arguments, caution, path, count, source)
    cold = {path: after(path, 0) for path in sets(arguments.folders)}
    cold = {path: rows for path, rows in cold.items() if rows}
    # the next set of the family, and the next ones of other families, until one is better in the same direction
    ring = list(cold) * 2
    later = lambda path: ring[ring.index(path) + 1:ring.index(path) + len(cold)]
    own = lambda path: [other for other in later(path) if family(other) == family(path)]
    foreign = lambda path: [other for other in later(path) if family(other) != family(path)]
    kinds = [(f"{count} of the same set", count, lambda path: [None]) for count in (1, 2, 4)]
    kinds += [("1 of another set of the family", 1, own), ("1 of a wrong family", 1, foreign)]
    for kind, count, sources in kinds:
        taught = {path: next(filter(None, (after(path, count, source) for source in sources(path))), None) for path in cold}
        taught = {path: rows for path, rows in taught.items() if rows}
        if taught:
            ours, theirs = (of_families(kind, {path: of[path] for path in taught}) for of in (taught, cold))
            print(f"| {caution} | {kind} | {len(set(map(family, taught)))} | {theirs['saving'][0] / ours['saving'][0]:.2f} "
                  f"| {ours['saving'][0]:.2f} ({theirs['saving'][0]:.2f}) | {percent(ours['kept'])} ({percent(theirs['kept'])}) "
                  f"| {100 * ours['three'][0]:.1f} % ({100 * theirs['three'][0]:.1f} %) | {ours['regret'][0]:.3f} ({theirs['regret'][0]:.3f}) |", flush=True)


def of_families(name, by_path):
    """The summary of the rows of each set."""
    rows = [named(row) for rows in by_path.values() for row in rows]
    family_of = {row["curves"]: family(path) for path, rows in by_path.items() for row in rows}
    return summary(name, next(iter(by_family(rows, family_of).values())).values())


def after_searches(arguments, caution, path, count, source):
    """The row of the chain on the set at `path` after `count` earlier searches, on runs of `source` or of the set itself; none if it has
    too few runs, or if the metric of `source` is better in the other direction."""
    size = arguments.sizes[0]
    command = [arguments.foretell, "replay", str(path), "--sampler", "random", "--policy", "chain", "--caution", caution, "--format", "json"]
    command += ["--study-size", str(size), "--orderings", str(arguments.orderings), "--seed", str(arguments.seed)]
    command += ["--workers", str(arguments.workers[0])]
    command += ["--earlier-searches", str(count)] if count else []
    command += ["--earlier-from", str(source)] if source else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and source and "opposite direction" in done.stderr:
        return []
    if done.returncode:
        sys.exit(f"foretell replay failed: {done.stderr.strip().splitlines()[-1]}")
    return [row for row in json.loads(done.stdout)["rows"] if row["runs"] == size]


def pruners(points):
    """Optuna's pruners by name, with its defaults except the settings named; `points` is the length of a run."""
    from optuna.pruners import HyperbandPruner, MedianPruner, PatientPruner, PercentilePruner, SuccessiveHalvingPruner, WilcoxonPruner

    return {
        "median": MedianPruner(),
        "median, 5 epochs first": MedianPruner(n_warmup_steps=5),
        "median, strong": MedianPruner(n_startup_trials=10, n_warmup_steps=5),
        "percentile 75": PercentilePruner(75.0),
        "patient 5, median": PatientPruner(MedianPruner(), patience=5),
        "wilcoxon": WilcoxonPruner(),
        "successive halving": SuccessiveHalvingPruner(),
        "late successive halving": SuccessiveHalvingPruner(min_resource=max(1, points // 9), reduction_factor=3),
        "hyperband": HyperbandPruner(min_resource=1, max_resource=points),
    }


def prune(scores, pruner):
    """Trains the runs `scores` one after another under `pruner`: (points spent, best score trained to its end)."""
    import optuna
    from optuna.trial import TrialState

    study = optuna.create_study(direction="maximize", pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=0))
    spent, found = 0, float("-inf")
    for run in scores:
        trial = study.ask()
        for step, value in enumerate(run, start=1):
            spent += 1
            trial.report(value, step)
            if step < len(run) and trial.should_prune():
                study.tell(trial, state=TrialState.PRUNED)
                break
        else:
            study.tell(trial, run[-1])
            found = max(found, run[-1])
    return spent, found


def of_optuna(path, most):
    """The rows of Optuna's pruners over at most `most` orders of each set."""
    import warnings

    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    outcomes = defaultdict(list)
    with open(path) as orders:
        for order in map(json.loads, orders):
            if order["ordering"] >= most:
                continue
            scores = order["scores"]
            ends = sorted((run[-1] for run in scores), reverse=True)
            for name, pruner in pruners(order["points"]).items():
                spent, found = prune(scores, pruner)
                rank = sum(end > found for end in ends) + 1
                regret = (ends[0] - max(found, ends[-1])) / (statistics.pstdev(ends) or 1.0)
                outcomes[name, order["curves"]].append((spent, len(scores) * order["points"], rank, regret))
    rows = []
    for (name, curves), of in outcomes.items():
        lost = [regret for *_, rank, regret in of if rank > 1]
        rows.append({"rule": f"Optuna, {name}", "curves": curves, "left": sum(o[0] for o in of) / sum(o[1] for o in of),
                     "best_kept": statistics.fmean(o[2] == 1 for o in of), "best_three_kept": statistics.fmean(o[2] <= 3 for o in of),
                     "regret_sd_mean": statistics.fmean(o[3] for o in of),
                     "regret_sd_where_lost": statistics.fmean(lost) if lost else None, "wrong": None})
    return rows


def write_names(axis, named):
    """Writes each name next to its point: at the first of eight places that covers no other name and no other point, and is inside the axis."""
    places = [(5, 5, "left"), (-5, 5, "right"), (5, -11, "left"), (-5, -11, "right"), (5, 14, "left"), (-5, 14, "right"), (5, -20, "left"), (-5, -20, "right")]
    points, frame, taken = [axis.transData.transform(point) for _, point in named], axis.get_window_extent(), []
    for name, point in named:
        for x, y, side in places:
            text = axis.annotate(name, point, fontsize=7, xytext=(x, y), textcoords="offset points", ha=side)
            box = text.get_window_extent()
            is_free = not any(box.overlaps(other) for other in taken) and not any(box.contains(*other) for other in points)
            if is_free and frame.containsx(box.x0) and frame.containsx(box.x1) and frame.containsy(box.y0) and frame.containsy(box.y1):
                break
            text.remove()
        else:
            text = axis.annotate(name, point, fontsize=7, xytext=(5, 5), textcoords="offset points")
        taken.append(text.get_window_extent())


def draw(lines, sweep, path):
    """Saving against best kept, against one of the best three kept, and against regret; the forecasts of all stop probabilities as a line."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2))
    names = {}
    labels = {"kept": "best run kept (fraction of orders)", "three": "one of the best three kept", "regret": "regret (sd of final scores)"}
    for axis, (column, label) in zip(axes, labels.items()):
        names[axis], swept = [], sorted((line["saving"][0], line[column][0]) for line in sweep)
        axis.plot(*zip(*swept), color="tab:red", linewidth=1, alpha=0.5, label="forecasts, any Δ") if swept else None
        for line in lines:
            if line["rule"] == "no stopping":
                continue
            ours = "--caution" in line["rule"]
            color = "tab:red" if ours else "tab:blue" if line["rule"].startswith("Optuna") else "0.5"
            point = line["saving"][0], line[column][0]
            axis.errorbar(*point, yerr=line[column][1], color=color, fmt="o", markersize=6 if ours else 4, linewidth=0.8)
            name = line["rule"].removeprefix("Optuna, ").removeprefix("--caution ")
            names[axis].append((name, point))
        axis.set_xlabel("times less training")
        axis.set_ylabel(label)
        axis.set_xscale("log")
        ticks = [1.5, 2, 3, 4, 6]
        axis.set_xticks(ticks, [f"{tick:g}×" for tick in ticks])
        axis.minorticks_off()
        axis.set_xlim(1.2, 8)
    axes[0].legend(fontsize=7, loc="lower left")
    axes[2].set_yscale("symlog", linthresh=0.01)
    axes[2].set_ylim(bottom=-0.001)
    figure.tight_layout()
    for axis, named in names.items():
        write_names(axis, named)
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+")
    whole = lambda text: [int(number) for number in text.split(",")]
    parser.add_argument("--sizes", type=whole, default=[40], help="runs of a study; several with commas")
    parser.add_argument("--workers", type=whole, default=[1], help="workers of a study; several with commas")
    parser.add_argument("--by-family", action="store_true", help="also each family's figures")
    parser.add_argument("--sampler", default="random", help="whose orders are replayed; tpe-gp is that of a search")
    parser.add_argument("--orderings", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--leave-out", action="store_true", help="choose the stop probability on all families but one")
    parser.add_argument("--lessons", action="store_true", help="after earlier searches")
    parser.add_argument("--optuna", type=int, default=0, metavar="ORDERS", help="orders of each set for Optuna's pruners")
    parser.add_argument("--plot")
    parser.add_argument("--foretell", default=str(ROOT / "target/release/foretell"))
    arguments = parser.parse_args()
    if len(sets(arguments.folders)) < 2:
        sys.exit("there are fewer than two sets of curves in the folders: name a folder of CSV or JSON-lines files")
    if len(arguments.sizes) * len(arguments.workers) > 1:
        return grid(arguments)
    with tempfile.TemporaryDirectory() as folder:
        orders = f"{folder}/orders.jsonl"
        orders = orders if arguments.optuna else None
        document = replayed(arguments, RULES + ["--stop-probability", "0.95"], orders, workers=arguments.workers[0])
        family_of = families(document)
        rows = [named(row) for row in document["rows"]]
        rows += of_optuna(orders, arguments.optuna) if arguments.optuna else []
    print("families: " + ", ".join(f"{family} ({len(names)})" for family, names in document["families"]["sets"].items()))
    print(f"{len(family_of)} sets, {arguments.orderings} orders of {arguments.sizes[0]} runs each, seed {arguments.seed}\n")
    by_rule = by_family(rows, family_of)
    lines = [summary(rule, of.values()) for rule, of in by_rule.items()]
    printed(sorted(lines, key=lambda line: line["saving"][0]))
    if arguments.by_family:
        each_family(by_rule)
    if arguments.lessons:
        lessons(arguments)
    sweep = []
    if arguments.leave_out:
        print("\nstop probability chosen on all families but one, measured on that one:\n")
        chosen, sweep = left_out(arguments)
        printed(chosen)
    if arguments.plot:
        draw(lines, sweep, arguments.plot)


if __name__ == "__main__":
    main()

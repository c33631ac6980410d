#!/usr/bin/env python3
"""Early stopping on folders of recorded curves, by family: what is saved, whether the best is kept, and what is lost where it is not.

    python3 benches/peers/stopping.py FOLDER... [--size 40] [--orderings 20] [--seed 0] [--leave-out] [--optuna ORDERS]
                                      [--plot FILE] [--foretell PROGRAM]

A set is a CSV or JSON-lines file, or a folder with `curves.csv` in it. Sets that are alike count as one: a set's family is its name up
to the first hyphen or underscore. All figures are means over families, ± is the standard error over families. `foretell replay`
replays random orders of SIZE runs of each set under each `--caution` of `foretell search`, and under the peers: the median rule,
patience, ASHA's late rungs (R/9 and R/3), a few epochs for all, and perfect foresight. A stop is wrong if the run would have ended better
than what it had to beat.

--leave-out chooses the stop probability on all families but one, for each share of best runs to be kept, and measures it on that one: what
the choice is worth on curves that nobody has seen. --optuna adds Optuna's pruners, in the first ORDERS of the same orders (needs optuna
and numpy), and --plot draws saving against best kept and regret (needs matplotlib).
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
TARGETS = {"fast": 0.85, "balanced": 0.93, "safe": 0.97}
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


def replayed(arguments, flags, orders=None):
    """What `foretell replay` prints of all sets, as JSON."""
    command = [arguments.foretell, "replay", *map(str, sets(arguments.folders)), *flags, *OURS, "--format", "json"]
    command += ["--study-size", str(arguments.size), "--orderings", str(arguments.orderings), "--seed", str(arguments.seed)]
    command += ["--write-orders", orders] if orders else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"foretell replay failed: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


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


def printed(lines):
    print(f"{'rule':34s} {'speed-up':>12s} {'best kept':>14s} {'of best 3':>14s} {'regret in sd':>15s} {'where lost':>13s} {'wrong stops':>13s}")
    for line in lines:
        share = lambda pair: f"{100 * pair[0]:5.1f} ± {100 * pair[1]:3.1f} %"
        lost = f"{line['lost'][0]:.2f} ± {line['lost'][1]:.2f}" if line["lost"] else "–"
        wrong = f"{100 * line['wrong'][0]:.2f} %" if line["wrong"] else "–"
        print(f"{line['rule']:34s} {line['saving'][0]:5.2f} ± {line['saving'][1]:4.2f} {share(line['kept']):>14s} {share(line['three']):>14s} "
              f"{line['regret'][0]:7.4f} ± {line['regret'][1]:5.4f} {lost:>13s} {wrong:>13s}")


def named(row):
    """A row of a replay, with the name of its rule."""
    names = {"asha": "ASHA, stopping at R/9 and R/3", "patience": "5 points without a new best", "i-epoch": "5 % of the epochs, best ten go on",
             "median": "median rule", "oracle": "perfect foresight", "none": "no stopping", "last-value": "last value for a forecast, Δ 0.99"}
    if row["caution"]:
        rule = f"--caution {row['caution']}"
    elif row["policy"] == "srm":
        rule = f"mean gain, Δ {row['stop_probability']}"
    else:
        rule = names[row["policy"]]
    # ranks at a rung compare with no score to beat
    counts = row["stopped_mean"] and row["policy"] not in ("asha", "i-epoch")
    wrong = row["wrong_stops_mean"] / row["stopped_mean"] if counts else None
    return {**row, "rule": rule, "left": 1 / row["speedup_total"], "wrong": wrong}


def left_out(arguments):
    """For each target the stop probability chosen on all families but one, measured on that one."""
    document = replayed(arguments, ["--policy", "srm", "--stop-probability", CHOICES])
    chosen = by_family([named(row) for row in document["rows"] if not row["caution"]], families(document))
    lines = []
    for name, target in TARGETS.items():
        measured = []
        for family in document["families"]["sets"]:
            others = {rule: [of[other] for other in of if other != family] for rule, of in chosen.items()}
            mean = lambda rule, figure: statistics.fmean(figures[figure] for figures in others[rule])
            safe = [rule for rule in others if mean(rule, "best_kept") >= target]
            # none keeps so many: the most careful one
            rule = min(safe, key=lambda rule: mean(rule, "left")) if safe else max(others, key=lambda rule: mean(rule, "left"))
            measured.append(chosen[rule][family])
        lines.append(summary(f"{name}: Δ for {100 * target:.0f} % elsewhere", measured))
    return lines


def pruners(points):
    """Optuna's pruners by name, with its defaults but for what is named; `points` is the length of a run."""
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


def draw(lines, path):
    """Saving against best kept, and against regret."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    for axis, column, label in zip(axes, ("kept", "regret"), ("best run kept (share of orders)", "regret (sd of final scores)")):
        for line in lines:
            if line["rule"] == "no stopping":
                continue
            ours = "--caution" in line["rule"]
            colour = "tab:red" if ours else "tab:blue" if line["rule"].startswith("Optuna") else "0.6"
            point = line["saving"][0], line[column][0]
            axis.errorbar(*point, yerr=line[column][1], color=colour, fmt="o", markersize=6 if ours else 4, linewidth=0.8)
            axis.annotate(line["rule"].removeprefix("Optuna, "), point, fontsize=7, xytext=(4, 4), textcoords="offset points")
        axis.set_xlabel("times less training")
        axis.set_ylabel(label)
        axis.set_xscale("log")
        ticks = [1.5, 2, 3, 4, 6, 8]
        axis.set_xticks(ticks, [f"{tick:g}×" for tick in ticks])
        axis.minorticks_off()
        axis.set_xlim(1.2, 12)
    axes[1].set_yscale("symlog", linthresh=0.01)
    axes[1].set_ylim(bottom=-0.001)
    figure.tight_layout()
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--size", type=int, default=40, help="runs of a study")
    parser.add_argument("--orderings", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--leave-out", action="store_true", help="choose the stop probability on all families but one")
    parser.add_argument("--optuna", type=int, default=0, metavar="ORDERS", help="orders of each set for Optuna's pruners")
    parser.add_argument("--plot")
    parser.add_argument("--foretell", default=str(ROOT / "target/release/foretell"))
    arguments = parser.parse_args()
    if len(sets(arguments.folders)) < 2:
        sys.exit("there are fewer than two sets of curves in the folders: name a folder of CSV or JSON-lines files")
    with tempfile.TemporaryDirectory() as folder:
        orders = f"{folder}/orders.jsonl"
        document = replayed(arguments, RULES + ["--stop-probability", "0.99"], orders if arguments.optuna else None)
        family_of = families(document)
        rows = [named(row) for row in document["rows"]]
        rows = [row for row in rows if not row["rule"].startswith("mean gain")]
        rows += of_optuna(orders, arguments.optuna) if arguments.optuna else []
    print("families: " + ", ".join(f"{family} ({len(names)})" for family, names in document["families"]["sets"].items()))
    print(f"{len(family_of)} sets, {arguments.orderings} orders of {arguments.size} runs each, seed {arguments.seed}\n")
    lines = [summary(rule, of.values()) for rule, of in by_family(rows, family_of).items()]
    printed(sorted(lines, key=lambda line: line["saving"][0]))
    if arguments.leave_out:
        print("\nstop probability chosen on all families but one, measured on that one:")
        printed(left_out(arguments))
    if arguments.plot:
        draw(lines, arguments.plot)


if __name__ == "__main__":
    main()

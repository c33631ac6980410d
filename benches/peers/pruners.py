"""Stop rules side by side: Optuna's pruners on the runs and in the orders of `foretell replay`, and what Foretell's came to there.

    foretell replay SETS... --study-size 40 --orderings 20 --format json --write-orders orders.jsonl > replay.json
    python benches/peers/pruners.py orders.jsonl replay.json [--orders 5] [--plot frontier.svg]

Prints one table: means over sets of saving, share of orders that kept the best run, and regret in standard deviations of the
final scores. Needs optuna and numpy; matplotlib for the picture.
"""

import argparse
import json
from collections import defaultdict

import numpy as np
import optuna
from optuna.pruners import (
    HyperbandPruner,
    MedianPruner,
    PatientPruner,
    PercentilePruner,
    SuccessiveHalvingPruner,
    WilcoxonPruner,
)
from optuna.trial import TrialState

optuna.logging.set_verbosity(optuna.logging.ERROR)
import warnings

warnings.simplefilter("ignore")


def pruners(points):
    """Pruners by name, with Optuna's defaults but for what is named; `points` is the length of a run."""
    return {
        "median": MedianPruner(),
        "median, 5 epochs first": MedianPruner(n_warmup_steps=5),
        "percentile 25": PercentilePruner(25.0),
        "percentile 75": PercentilePruner(75.0),
        "patient 5, median": PatientPruner(MedianPruner(), patience=5),
        "wilcoxon": WilcoxonPruner(),
        "successive halving": SuccessiveHalvingPruner(),
        "hyperband": HyperbandPruner(min_resource=1, max_resource=points),
    }


def prune(scores, pruner):
    """Trains the runs `scores` one after another under `pruner`: (points spent, best score trained to its end)."""
    study = optuna.create_study(direction="maximize", pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=0))
    spent, found = 0, -np.inf
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
    """(rule, set) -> list of (saving, kept, regret in sd) over at most `most` orders of each set."""
    results = defaultdict(list)
    for line in open(path):
        order = json.loads(line)
        if order["ordering"] >= most:
            continue
        scores = np.array(order["scores"])
        best, deviation = scores[:, -1].max(), scores[:, -1].std() or 1.0
        for name, pruner in pruners(order["points"]).items():
            spent, found = prune(scores, pruner)
            worst = found if np.isfinite(found) else scores[:, -1].min()
            row = (scores.size / spent, found >= best, (best - worst) / deviation)
            results["optuna: " + name, order["curves"]].append(row)
    return results


def of_foretell(path):
    """The same of the rows of a replay."""
    results = defaultdict(list)
    for row in json.load(open(path))["rows"]:
        name = row["policy"]
        if row["caution"]:
            name = "--caution " + row["caution"] + (" (default)" if row["default"] else "")
        elif row["stop_probability"] is not None:
            name = f"{row['predictor']} {row['stop_probability']} x{row['agreeing_checks']} {row['error_budget']}"
        name = f"{name}, after {row['burn_in']}" if row["policy"] not in ("none", "i-epoch") else name
        key = ("foretell: " + name, row["curves"])
        results[key].append((row["speedup_mean"], row["best_kept"], row["regret_sd_mean"]))
    return results


def table(results):
    """(rule, saving, kept, regret, sets): means over sets, by saving."""
    by_rule = defaultdict(list)
    for (rule, _), rows in results.items():
        by_rule[rule].append(np.mean(rows, axis=0))
    rows = [(rule, *np.mean(sets, axis=0), len(sets)) for rule, sets in by_rule.items()]
    return sorted(rows, key=lambda row: row[1])


def draw(rows, path):
    """Saving against best kept, and against regret."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    for axis, column, label in zip(axes, (2, 3), ("best run kept (share of orders)", "regret (sd of final scores)")):
        for rule, *numbers, _ in rows:
            if rule.startswith("foretell: none"):
                continue
            ours = "--caution" in rule
            colour = "tab:red" if ours else "tab:blue" if rule.startswith("optuna") else "0.6"
            axis.scatter(numbers[0], numbers[column - 1], color=colour, s=40 if ours else 16, zorder=3 if ours else 2)
            if ours or rule.startswith("optuna") or "oracle" in rule:
                text = rule.split(": ", 1)[1]
                text = text.split(",")[0] if rule.startswith("foretell") else text
                axis.annotate(text, (numbers[0], numbers[column - 1]), fontsize=7, xytext=(3, 3), textcoords="offset points")
        axis.set_xlabel("times less training")
        axis.set_ylabel(label)
        axis.set_xscale("log")
        ticks = [1.5, 2, 3, 4, 6, 8]
        axis.set_xticks(ticks, [f"{tick:g}×" for tick in ticks])
        axis.minorticks_off()
        axis.set_xlim(1.2, 12)
    axes[0].set_ylim(0.3, 1.04)
    axes[1].set_yscale("symlog", linthresh=0.01)
    axes[1].set_yticks([0, 0.01, 0.03, 0.1, 0.3], ["0", "0.01", "0.03", "0.1", "0.3"])
    figure.tight_layout()
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("orders")
    parser.add_argument("replay")
    parser.add_argument("--orders", dest="most", type=int, default=5, help="orders of each set for Optuna")
    parser.add_argument("--plot")
    arguments = parser.parse_args()
    rows = table({**of_foretell(arguments.replay), **of_optuna(arguments.orders, arguments.most)})
    print(f"{'rule':58s} {'saving':>7s} {'kept':>7s} {'regret':>7s} {'sets':>5s}")
    for rule, saving, kept, regret, sets in rows:
        print(f"{rule:58s} {saving:6.2f}x {100 * kept:5.1f} % {regret:7.4f} {sets:5d}")
    if arguments.plot:
        draw(rows, arguments.plot)


if __name__ == "__main__":
    main()

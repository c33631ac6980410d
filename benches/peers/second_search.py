#!/usr/bin/env python3
"""Prints what a second search saves, with the stop rule's lessons and the repeated trials of the command.

Usage: second_search.py [--data DIR] [--seeds N] [--tables NAME ...] [--caution NAME] [--jobs N] [--program FILE] [--by-table] [--write FILE]

The recorded tables of budget.py stand for trainings, one worker, 40 trials, default sampler and caution. For each table and seed, the second search
comes after a search of the same table (whose runs it does not take again), of another table of its family, and of another family. It runs
with the lessons of the first search and without.

Epochs are those trained with lessons, as a fraction of those without. The target is a completed trial within 1 % of (best - median of the table) of the
best of a third search of 40 trials, which has another seed, no lessons and no stopping: neither side found the target itself. A search that
misses it pays, besides its own epochs, for the third search up to the first trial that has it. *Best kept*: the search completed the best of its
own trials. Regret is (best - found)/(best - median) of the table's final scores. ± is the standard error over searches: of ratios of means by the
jackknife, of *best kept* that of the differences.
"""

import argparse
import json
import math
import multiprocessing.pool
import pathlib
import random
import statistics
import subprocess

from budget import METRICS, ROOT, Scale, at, ours, tables

TRIALS = 40
KINDS = ("same table", "same family", "another family")


def family(name):
    return "lora" if name.endswith(("bloomz", "xglm")) else name.split("_")[0]


def search(program, table, seed, combination, lessons=(), without=()):
    """A search of the runs of a table that are not in `without`; its trials' runs have the numbers of the whole table."""
    kept = [run for run in range(len(table["curves"])) if run not in without]
    part = {**table, "configurations": [table["configurations"][run] for run in kept], "curves": [table["curves"][run] for run in kept],
            "trials": TRIALS, "first_seed": seed, "lessons": lessons}
    result, = ours((program, part, combination, 1, TRIALS))
    return {**result, "trained": [(kept[run], epochs) for run, epochs in result["trained"]]}


def ends(table, result, whole):
    """(epochs spent, final score) of each completed trial, or of all if they are seen as `whole`."""
    length, spent = len(table["curves"][0]), 0
    for run, epochs in result["trained"]:
        spent += epochs
        score = table["curves"][run][-1]
        if score is not None and (whole or epochs == length):
            yield spent, score


def figures(table, result, other, scale):
    """Of one search: its epochs in full trainings, those to the target, whether the best was kept, regret at 5 and 10 trainings and at the end."""
    length = len(table["curves"][0])
    spent = sum(epochs for _, epochs in result["trained"])
    best, median = scale.ends[1]
    final = [-math.inf if table["curves"][run][-1] is None else table["curves"][run][-1] for run, _ in other["trained"]]
    target = max(final) - 0.01 * (best - median)
    rerun = 1 + next(trial for trial, score in enumerate(final) if score >= target)
    reached = next((spent / length for spent, score in ends(table, result, False) if score >= target), spent / length + rerun)
    kept = max((score for _, score in ends(table, result, False)), default=-math.inf) >= max(score for _, score in ends(table, result, True))
    regrets = [scale.regret(at(result["trace"], budget * length, 1), 1) for budget in (5, 10, TRIALS)]
    return [spent / length, reached, float(kept), *regrets]


def job(program, caution, all_tables, table, seed):
    """The second searches of a table with a seed: a line for each kind of first search."""
    rng = random.Random(f"{table['name']} {seed}")
    combination, scale, found = f"tpe-gp:full:{caution}", Scale(table), []
    for kind in KINDS:
        others = {"same table": [table] if len(table["curves"]) >= 2 * TRIALS else [],
                  "same family": [t for t in all_tables if t is not table and family(t["name"]) == family(table["name"])],
                  "another family": [t for t in all_tables if family(t["name"]) != family(table["name"]) and t["is_loss"] == table["is_loss"]]}[kind]
        if not others:
            continue
        earlier = rng.choice(others)
        first = search(program, earlier, seed + 1000, combination)
        lessons = [(earlier["configurations"][run], earlier["curves"][run][:epochs]) for run, epochs in first["trained"]]
        without = {run for run, _ in first["trained"]} if earlier is table else ()
        if kind == "same table" or not found or found[-1]["kind"] == "same table":
            cold = search(program, table, seed, combination, without=without)
            other = search(program, table, seed + 2000, "tpe-gp:full:none", without=without)
        warm = search(program, table, seed, combination, lessons, without)
        found.append({"kind": kind, "table": table["name"], "earlier": earlier["name"], "seed": seed, "counts": warm["lessons"][0]["status"] == "counts",
                      "reason": warm["lessons"][0]["reason"], "cold": figures(table, cold, other, scale), "warm": figures(table, warm, other, scale)})
    return found


def ratio(pairs):
    """Mean of the first over mean of the second, and its jackknife error."""
    a, b = map(sum, zip(*pairs))
    n = len(pairs)
    if n < 2:
        return a / b, math.nan
    parts = [(a - x) / (b - y) for x, y in pairs]
    middle = statistics.fmean(parts)
    return a / b, math.sqrt((n - 1) / n * sum((part - middle) ** 2 for part in parts))


def show(title, rows):
    column = lambda which, k: [row[which][k] for row in rows]
    mean = lambda which, k: statistics.fmean(column(which, k))
    pairs = lambda k: list(zip(column("warm", k), column("cold", k)))
    (epochs, epochs_error), (target, target_error) = ratio(pairs(0)), ratio(pairs(1))
    differences = [warm - cold for warm, cold in pairs(2)]
    error = statistics.stdev(differences) / len(rows) ** 0.5 if len(rows) > 1 else math.nan
    regrets = ", ".join(f"{1000 * mean('cold', k):.0f} → {1000 * mean('warm', k):.0f}" for k in (3, 4, 5))
    counted = statistics.fmean(row["counts"] for row in rows)
    print(f"| {title} | {len(rows)} | {epochs:.2f} ± {epochs_error:.2f} | {mean('cold', 1):.1f} → {mean('warm', 1):.1f} | {target:.2f} ± {target_error:.2f} | "
          f"{100 * mean('cold', 2):.1f} → {100 * mean('warm', 2):.1f} (± {100 * error:.1f}) | {regrets} | {100 * counted:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--tables", nargs="*", help="those searched second; first searches are of all")
    parser.add_argument("--caution", default="balanced")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--program", help="the built example best_so_far")
    parser.add_argument("--by-table", action="store_true")
    parser.add_argument("--write", type=pathlib.Path, help="a JSON line for each second search")
    arguments = parser.parse_args()
    program = arguments.program
    if not program:
        subprocess.run(["cargo", "build", "--release", "-p", "foretell-search", "--example", "best_so_far"], cwd=ROOT, check=True)
        program = str(ROOT / "target/release/examples/best_so_far")
    losses = {name for name, _, sign in METRICS if sign < 0} | {"lstm_ptb"}
    # a search of 40 trials has to have a choice
    known = [{**t, "is_loss": t["name"] in losses} for t in tables(arguments.data) if len(t["curves"]) > TRIALS]
    jobs = [(program, arguments.caution, known, t, seed) for t in known if not arguments.tables or t["name"] in arguments.tables
            for seed in range(arguments.seeds)]
    with multiprocessing.pool.ThreadPool(arguments.jobs) as pool:
        rows = [row for some in pool.starmap(job, jobs, chunksize=1) for row in some]
    if arguments.write:
        arguments.write.write_text("".join(json.dumps(row) + "\n" for row in rows))
    version = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    print(f"{version}, {arguments.caution}, {TRIALS} trials, {len(known)} tables, {arguments.seeds} seeds")
    print("| second search | searches | epochs | trainings to the target | ratio | best kept, % | regret × 1000 after 5, 10 and all | lessons count at the end, % |")
    print("|---" * 8 + "|")
    names = sorted({family(row["table"]) for row in rows})
    for kind in KINDS:
        of = [row for row in rows if row["kind"] == kind]
        groups = [(f"{name}, {kind}", [row for row in of if family(row["table"]) == name]) for name in names]
        groups.append((f"**all but taskset, {kind}**", [row for row in of if family(row["table"]) != "taskset"]))
        for title, rows_of in groups + [(f"**all, {kind}**", of)]:
            if rows_of:
                show(title, rows_of)
        if arguments.by_table:
            for name in sorted({row["table"] for row in of}):
                show(f"{name}, {kind}", [row for row in of if row["table"] == name])


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The paper's check with another schedule of the learning rate, on networks of our own.

    python3 benches/schedules.py record MNIST [foretell]    # trains: three quarters of an hour of one core, writes data/schedules*.jsonl.gz
    python3 benches/schedules.py table [foretell]           # R2 of forecasts on both schedules: minutes; prints each row when it is ready

`record` trains random configurations of the cuda-convnet network on MNIST, 90 of them by steps and 50 by an exponential decay of the learning rate, in
ranges in which the network learns. After an interruption, the same command continues. `table` fits on 50 networks trained by steps, and forecasts the
others of that schedule, and those of the schedule that was never seen. Of several files, it prints the mean and the standard error between them.
"""

import argparse
import gzip
import json
import statistics
import sys
from pathlib import Path

from our_networks import RANGES, TRAIN, answer, keep, searched

TABLES = ["data/schedules.jsonl.gz", "data/schedules-1.jsonl.gz", "data/schedules-2.jsonl.gz"]
# seeds
SCHEDULES = {"step": 0, "exponential": 1}


def record(arguments):
    for seed in range(arguments.seeds):
        runs = [run for schedule in SCHEDULES for run in trained(arguments, schedule, seed)]
        path = Path(arguments.curves)
        if seed:
            path = path.with_name(path.name.replace(".", f"-{seed}.", 1))
        path.write_bytes(gzip.compress("".join(f"{run}\n" for run in runs).encode(), 9, mtime=0))


def trained(arguments, schedule, seed):
    """The curves of the networks of a schedule, as lines of JSON."""
    study = str(Path(arguments.studies) / f"{schedule}-{arguments.images}-{seed}")
    command = [arguments.foretell, "search", "--trials", str(getattr(arguments, schedule)), "--seed", str(SCHEDULES[schedule] + 2 * seed)]
    command += ["--epochs", "20", "--no-stopping", "--sampler", "random", "--metric", "val_acc", "--workers", "1"]
    command += ["--out", study, "--format", "json", *searched(RANGES)]
    command += ["--", arguments.foretell, "train", *TRAIN, "--train-size", str(arguments.images)]
    answer([*command, "--set", "learning_rate_reductions=0", "--schedule", schedule, "--data", f"mnist:{arguments.mnist}"])
    for line in answer([arguments.foretell, "study", "export", study]).splitlines():
        run = json.loads(line)
        run["id"] = f"{schedule}-{run['id']}"
        run["configuration"]["schedule"] = schedule
        yield json.dumps(run, separators=(",", ":"))


def table(arguments):
    print("| observed | predictor | networks tested | steps, R² | exponential, R² | rank correlation, steps | exponential |\n|---|---|---|---|---|---|---|", flush=True)
    for observed in arguments.observed.split(","):
        for predictor in arguments.predictor.split(","):
            both = [[evaluated(arguments, curves, schedule, predictor, observed) for curves in arguments.curves] for schedule in SCHEDULES]
            tested = sorted(round(row["forecasts"] / row["repeats"]) for row in both[1])
            cells = [f"{100 * float(observed):.0f} %", f"`{predictor}`", f"{tested[0]} to {tested[-1]}", *map(accuracy, both)]
            cells += [f"{statistics.mean(row['spearman_mean'] for row in rows):.3f}" for rows in both]
            print("| " + " | ".join(cells) + " |", flush=True)
            for schedule, rows in zip(SCHEDULES, both):
                mean, error = summary(rows)
                size = [round(rows[0]["forecasts"] / rows[0]["repeats"]), sum(row["repeats"] for row in rows), len(rows)]
                keep(arguments.keep, [(f"schedules {cells[0]} {predictor} {schedule}", 100 * mean, 100 * error, *size)])


def evaluated(arguments, curves, schedule, predictor, observed):
    """The row of a predictor that learns from networks trained by steps and forecasts those of a schedule."""
    print(f"{100 * float(observed):.0f} %, {predictor}, {schedule}: {curves}", file=sys.stderr, flush=True)
    command = [arguments.foretell, "evaluate", curves, "--predictor", predictor, "--observed", observed]
    command += ["--train", str(arguments.train), "--repeats", str(arguments.repeats), "--format", "json"]
    return json.loads(answer([*command, "--train-where", "schedule=step", "--test-where", f"schedule={schedule}"]))["rows"][0]


def summary(rows):
    """The mean of R² and its standard error, between files if there are several."""
    values = [row["r2_mean"] for row in rows]
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else rows[0]["r2_stderr"]
    return statistics.mean(values), error


def accuracy(rows):
    return "{:.3f} ± {:.3f}".format(*summary(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    learned = actions.add_parser("record")
    learned.add_argument("mnist", help="the folder of MNIST's files")
    learned.add_argument("--step", type=int, default=90, help="networks trained by steps")
    learned.add_argument("--exponential", type=int, default=50, help="networks trained by an exponential decay")
    learned.add_argument("--images", type=int, default=2000, help="images to learn from")
    learned.add_argument("--seeds", type=int, default=len(TABLES))
    learned.add_argument("--curves", default=TABLES[0], help="the file to write; that of seed 1 gets the suffix -1")
    learned.add_argument("--studies", default="foretell-out/schedules", help="the folder of the studies")
    measured = actions.add_parser("table")
    measured.add_argument("--curves", nargs="+", default=TABLES, help="the files that record wrote")
    measured.add_argument("--predictor", default="last-value,svr-rbf+gaussian,lce-domhan2015,bnn")
    measured.add_argument("--train", type=int, default=50, help="networks to fit on")
    measured.add_argument("--repeats", type=int, default=5)
    measured.add_argument("--observed", default="0.25,0.5,0.75", help="the parts of the curve that are seen")
    measured.add_argument("--keep", help="a file to add the figures to")
    for action in (learned, measured):
        action.add_argument("foretell", nargs="?", default="target/release/foretell")
    arguments = parser.parse_args()
    (record if arguments.action == "record" else table)(arguments)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The paper's check with another schedule of the learning rate, on networks of our own.

    python3 benches/schedules.py record MNIST [foretell]    # trains: some minutes of one core, writes data/schedules.jsonl.gz
    python3 benches/schedules.py table [foretell]           # R2 of forecasts on both schedules: some minutes

`record` trains random configurations of the cuda-convnet network on MNIST, 90 of them by steps and 50 by an exponential decay of the learning rate, in
ranges in which the network learns. It goes on where it was interrupted. `table` fits on 50 networks trained by steps, and forecasts the others of that
schedule, and those of the schedule that was never seen.
"""

import argparse
import gzip
import json
from pathlib import Path

from our_networks import RANGES, TRAIN, answer, searched

TABLE = Path("data/schedules.jsonl.gz")
# seeds
SCHEDULES = {"step": 0, "exponential": 1}


def record(arguments):
    runs = []
    for schedule, seed in SCHEDULES.items():
        trials = getattr(arguments, schedule)
        study = str(Path(arguments.studies) / schedule)
        command = [arguments.foretell, "search", "--trials", str(trials), "--seed", str(seed), "--epochs", "20", "--no-stopping"]
        command += ["--sampler", "random", "--metric", "val_acc", "--workers", "1", "--out", study, "--format", "json"]
        command += searched(RANGES)
        command += ["--", arguments.foretell, "train", *TRAIN, "--set", "learning_rate_reductions=0", "--schedule", schedule]
        answer([*command, "--data", f"mnist:{arguments.mnist}"])
        for line in answer([arguments.foretell, "study", "export", study]).splitlines():
            run = json.loads(line)
            run["id"] = f"{schedule}-{run['id']}"
            run["configuration"]["schedule"] = schedule
            runs.append(json.dumps(run, separators=(",", ":")))
    TABLE.write_bytes(gzip.compress("".join(f"{run}\n" for run in runs).encode(), 9, mtime=0))


def table(arguments):
    predictors = "last-value,svr-rbf+gaussian,lce-domhan2015,bnn"
    rows = {}
    for schedule in SCHEDULES:
        command = [arguments.foretell, "evaluate", str(TABLE), "--predictor", predictors, "--observed", arguments.observed]
        command += ["--train", str(arguments.train), "--repeats", str(arguments.repeats), "--format", "json"]
        for row in json.loads(answer([*command, "--train-where", "schedule=step", "--test-where", f"schedule={schedule}"]))["rows"]:
            rows[row["observed"], row["predictor"], schedule] = row
    print("| observed | predictor | steps, R² | exponential, R² | rank correlation, steps | exponential |\n|---|---|---|---|---|---|")
    for observed, predictor in dict.fromkeys(key[:2] for key in rows):
        both = [rows[observed, predictor, schedule] for schedule in SCHEDULES]
        cells = [f"{100 * observed:.0f} %", f"`{predictor}`"]
        cells += [f"{row['r2_mean']:.3f} ± {row['r2_stderr']:.3f}" for row in both]
        cells += [f"{row['spearman_mean']:.3f}" for row in both]
        print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    trained = actions.add_parser("record")
    trained.add_argument("mnist", help="the folder of MNIST's files")
    trained.add_argument("--step", type=int, default=90, help="networks trained by steps")
    trained.add_argument("--exponential", type=int, default=50, help="networks trained by an exponential decay")
    trained.add_argument("--studies", default="foretell-out/schedules", help="the folder of the studies")
    measured = actions.add_parser("table")
    measured.add_argument("--train", type=int, default=50, help="networks to fit on")
    measured.add_argument("--repeats", type=int, default=5)
    measured.add_argument("--observed", default="0.25,0.5,0.75", help="the parts of the curve that are seen")
    for action in (trained, measured):
        action.add_argument("foretell", nargs="?", default="target/release/foretell")
    arguments = parser.parse_args()
    (record if arguments.action == "record" else table)(arguments)


if __name__ == "__main__":
    main()

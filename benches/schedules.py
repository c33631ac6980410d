#!/usr/bin/env python3
"""The paper's check with another schedule of the learning rate, on networks of our own.

    python3 benches/schedules.py record [foretell]      # trains: about half an hour of one core, writes data/schedules.jsonl.gz
    python3 benches/schedules.py table [foretell]       # R2 of forecasts on both schedules: some minutes

`record` trains random networks of MetaQNN's space on the drawn shapes, 100 of them by steps and 60 by an exponential decay of the learning rate.
It goes on where it was interrupted. `table` fits on 80 networks trained by steps, and forecasts the others of that schedule, and those of the
schedule that was never seen.
"""

import argparse
import gzip
import json
import subprocess
import sys
from pathlib import Path

TABLE = Path("data/schedules.jsonl.gz")
SIZES = ["--data", "shapes", "--width", "0.0625", "--max-layers", "6", "--train-size", "500", "--validation-size", "500"]
SIZES += ["--batch-size", "16", "--epochs", "20"]
# trials and seed; MetaQNN's own schedule is `step`
SCHEDULES = {"step": (100, 0), "exponential": (60, 1)}


def answer(command):
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed")
    return process.stdout


def record(arguments):
    runs = []
    for schedule, (trials, seed) in SCHEDULES.items():
        study = str(Path(arguments.studies) / schedule)
        command = [arguments.foretell, "search", *SIZES, "--trials", str(trials), "--seed", str(seed), "--no-stopping"]
        answer([*command, "--workers", "1", "--schedule", schedule, "--out", study, "--format", "json"])
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
        command = [arguments.foretell, "evaluate", str(TABLE), "--predictor", predictors, "--observed", "0.1,0.25,0.5,0.75"]
        command += ["--train", "80", "--repeats", str(arguments.repeats), "--format", "json"]
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
    trained.add_argument("--studies", default="foretell-out/schedules", help="the folder of the studies")
    measured = actions.add_parser("table")
    measured.add_argument("--repeats", type=int, default=10)
    for action in (trained, measured):
        action.add_argument("foretell", nargs="?", default="target/release/foretell")
    arguments = parser.parse_args()
    (record if arguments.action == "record" else table)(arguments)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The paper's cuda-convnet experiments on networks of our own.

    python3 benches/convnet.py record CIFAR [foretell]               # trains 300 configurations for 60 epochs: two hours of one core
    foretell reproduce data/convnet --only table-2,observed,hyperband    # the paper's column, figure and Hyperband runs from these curves
    python3 benches/convnet.py live MNIST [foretell] [--seeds 1]     # trains: some minutes of one core for each seed
    python3 benches/convnet.py table [foretell]                      # replays data/cuda-convnet-cifar10.jsonl.gz: a minute

`record` writes the curves in the form of the paper's file and under its name with `own_` before it, so that `foretell reproduce` prints them next to the published numbers.
`live` trains eight runs of the brackets (R = 9, eta = 3) for each seed: by Hyperband, by f-Hyperband with a burn-in of its own, and by f-Hyperband that
learns from the curves of Hyperband with seed 100. The ranges are those in which these networks learn. After an interruption, the same command
continues: the studies are in foretell-out/convnet. `table` varies kappa and Delta.
"""

import argparse
import csv
import gzip
import io
import json
from pathlib import Path

from our_networks import RANGES, TRAIN, answer, searched

TABLE = "data/cuda-convnet-cifar10.jsonl.gz"
REDUCTIONS = "learning_rate_reductions=int:0:3"


def record(arguments):
    study = str(Path(arguments.studies) / "recorded")
    command = [arguments.foretell, "search", "--trials", str(arguments.trials), "--epochs", str(arguments.epochs), "--seed", "0"]
    command += ["--no-stopping", "--sampler", "random", "--metric", "val_acc", "--out", study, "--format", "json"]
    command += searched([*RANGES, REDUCTIONS])
    command += ["--", arguments.foretell, "train", "--space", "cuda-convnet", "--width", str(arguments.width), "--batch-size", "20"]
    answer([*command, "--train-size", str(arguments.images), "--validation-size", "500", "--data", f"cifar10:{arguments.cifar}"])
    runs = [json.loads(line) for line in answer([arguments.foretell, "study", "export", study]).splitlines()]
    names = sorted({name for run in runs for name in run["configuration"]})
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*names, *(f"acc_{epoch}" for epoch in range(1, arguments.epochs + 1))])
    for run in runs:
        values = [value if value is not None else "" for value in run["values"]]
        table.writerow([*(run["configuration"].get(name, "") for name in names), *values, *[""] * (arguments.epochs - len(values))])
    # the name of the paper's file, marked as a recording of our own
    path = Path(arguments.out, "own_cudaconvnet_cifar10.csv.gz")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))
    print(f"{len(runs)} configurations: {path}")


def live(arguments):
    train = [arguments.foretell, "train", *TRAIN, "--train-size", "300", "--data", f"mnist:{arguments.mnist}"]
    ranges = [*RANGES, REDUCTIONS]

    def search(name, seed, *more):
        command = [arguments.foretell, "search", "--epochs", "9", "--runs", "8", "--workers", "1", "--seed", str(seed)]
        command += ["--sampler", "random", "--metric", "val_acc", "--format", "json"]
        command += searched(ranges)
        return json.loads(answer([*command, "--out", str(Path(arguments.studies) / f"{name}-{seed}"), *more, "--", *train]))

    search("hyperband", 100, "--scheduler", "hyperband")
    earlier = ["--learn-from", str(Path(arguments.studies) / "hyperband-100")]
    variants = {
        "hyperband": ["--scheduler", "hyperband"],
        "f-hyperband": ["--scheduler", "f-hyperband"],
        "f-hyperband, learning from seed 100": ["--scheduler", "f-hyperband", *earlier],
    }
    print("| scheduler | seed | epochs | stopped | best |\n|---|---|---|---|---|", flush=True)
    for seed in range(arguments.seeds):
        for number, (name, flags) in enumerate(variants.items()):
            found = search("hyperband" if number == 0 else f"f-hyperband{number}", seed, *flags)
            best, epochs = found["best"], found["epochs"]["spent"]
            shown = f"{best['score']:.3f} (trial {best['trial']})" if best else "none"
            print(f"| {name} | {seed} | {epochs} | {found['trials']['stopped']} | {shown} |", flush=True)


def table(arguments):
    def replay(kappa, probability):
        command = [arguments.foretell, "replay", TABLE, "--scheduler", "hyperband", "--policy", "none,srm", "--format", "json"]
        command += ["--keep-repeats", "--max-resource", "9", "--kappa", str(kappa), "--stop-probability", str(probability)]
        return json.loads(answer([*command, "--reference", "level", "--orderings", str(arguments.orderings)]))

    print("| kappa | Delta | epochs | saved | best of a run of the brackets, Hyperband | f-Hyperband |\n|---|---|---|---|---|---|")
    for kappa in (1, 0.5, 0.25, 0.1):
        for probability in (0.95, 0.8, 0.5):
            plain, stopping = replay(kappa, probability)["rows"]
            saved = 100 * (1 - stopping["epochs_spent"] / plain["epochs_spent"])
            bests = [f"{row['best_of_run_mean']:.3f}" for row in (plain, stopping)]
            cells = [kappa, probability, f"{stopping['epochs_spent']:.0f}", f"{saved:.0f} %", *bests]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    recorded = actions.add_parser("record")
    recorded.add_argument("cifar", help="the folder of CIFAR-10's binary files")
    recorded.add_argument("--trials", type=int, default=300)
    recorded.add_argument("--epochs", type=int, default=60)
    recorded.add_argument("--images", type=int, default=800, help="images to learn from")
    recorded.add_argument("--width", type=float, default=0.25, help="factor on the paper's filters")
    recorded.add_argument("--studies", default="foretell-out/convnet", help="the folder of the study")
    recorded.add_argument("--out", default="data/convnet", help="the folder of the curves")
    trained = actions.add_parser("live")
    trained.add_argument("mnist", help="the folder of MNIST's files")
    trained.add_argument("--seeds", type=int, default=1)
    trained.add_argument("--studies", default="foretell-out/convnet", help="the folder of the studies")
    replayed = actions.add_parser("table")
    replayed.add_argument("--orderings", type=int, default=10)
    for action in (recorded, trained, replayed):
        action.add_argument("foretell", nargs="?", default="target/release/foretell")
    arguments = parser.parse_args()
    {"record": record, "live": live, "table": table}[arguments.action](arguments)


if __name__ == "__main__":
    main()

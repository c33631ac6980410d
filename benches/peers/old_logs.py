"""Time and memory of `foretell import` on the logs of tools, next to the tools' own readers, as ratios in one run.

    python3 benches/peers/old_logs.py [--scale 1.0]

Needs tensorboard, tensorboardX, mlflow, pandas and pyarrow. Each reader runs in a process of its own. Its wall time and peak memory count,
less those of starting the interpreter and its imports, which are measured by the same process reading nothing. All must give the same
number of values of the metric.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
METRIC = "val/acc"


def write_events(folder, runs, points):
    import tensorboardX

    for run in range(runs):
        writer = tensorboardX.SummaryWriter(str(folder / f"run_{run}"))
        for step in range(points):
            for tag in [METRIC, "val/loss", "train/loss", "train/acc", "lr"]:
                writer.add_scalar(tag, (step + run) / (step + run + 10), step)
        writer.close()


def write_mlflow(folder, runs, points):
    import logging

    logging.disable(logging.INFO)
    from mlflow.entities import Metric
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    experiment = client.create_experiment("all")
    for run in range(runs):
        name = client.create_run(experiment, run_name=f"run_{run}").info.run_id
        values = [Metric(METRIC, step / (step + run + 10), 1000 * step, step) for step in range(points)]
        for start in range(0, points, 1000):
            client.log_batch(name, metrics=values[start : start + 1000])


def write_parquet(folder, runs, points):
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(0)
    frame = pd.DataFrame({
        "run_id": np.repeat([f"run_{run}" for run in range(runs)], points),
        "epoch": np.tile(np.arange(1, points + 1), runs),
        "lr": np.repeat(random.random(runs), points),
        "val_acc": random.random(runs * points),
    })
    frame.to_parquet(folder / "runs.parquet", index=False)


def read_events(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    count = 0
    for run in sorted(Path(folder).iterdir()) if folder else []:
        accumulator = EventAccumulator(str(run), size_guidance={"scalars": 0})
        accumulator.Reload()
        count += len(accumulator.Scalars(METRIC))
    return count


def read_mlflow(folder):
    from mlflow.tracking import MlflowClient

    if not folder:
        return 0
    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    [experiment] = [e for e in client.search_experiments() if e.name == "all"]
    runs = client.search_runs([experiment.experiment_id], max_results=50_000)
    return sum(len(client.get_metric_history(run.info.run_id, METRIC)) for run in runs)


def read_parquet(folder):
    import pandas as pd

    if not folder:
        return 0
    frame = pd.read_parquet(Path(folder) / "runs.parquet")
    return int(sum(len(group) for _, group in frame.groupby("run_id")["val_acc"]))


def measured(command):
    """Wall seconds, peak megabytes and output of a command."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        sys.exit(f"{' '.join(map(str, command))} failed")
    return seconds, usage.ru_maxrss / 1024, output


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="how many runs, 1.0: 100 of events, 50 of MLflow, 1000 of Parquet")
    parser.add_argument("--read", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--foretell", default=str(HERE / "target/release/foretell"))
    arguments = parser.parse_args()
    if arguments.read:
        kind, folder = arguments.read
        print(globals()[f"read_{kind}"](folder))
        return
    if arguments.write:
        kind, folder, runs, points = arguments.write
        globals()[f"write_{kind}"](Path(folder), int(runs), int(points))
        return
    sizes = {"events": (100, 1000), "mlflow": (50, 1000), "parquet": (1000, 1000)}
    print(f"{'logs':10} {'values':>9} {'own reader':>12} {'foretell':>10} {'times faster':>13} {'own MB':>8} {'MB':>6} {'share':>6}")
    for kind, (runs, points) in sizes.items():
        runs = max(1, round(runs * arguments.scale))
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "logs"
            folder.mkdir()
            # in a process of its own: a child's peak memory begins with that of its parent
            measured([sys.executable, __file__, "--write", kind, str(folder), str(runs), str(points)])
            own = [sys.executable, __file__, "--read", kind]
            idle, idle_memory, _ = measured([*own, ""])
            seconds, memory, count = measured([*own, str(folder)])
            out = Path(scratch) / "curves.jsonl"
            path = folder / "runs.parquet" if kind == "parquet" else folder
            metric = "val_acc" if kind == "parquet" else METRIC
            ours, our_memory, _ = measured([arguments.foretell, "import", str(path), "--metric", metric, "--out", str(out)])
            with open(out) as file:
                values = sum(len(json.loads(line)["values"]) for line in file)
            if values != int(count):
                sys.exit(f"{kind}: {values} values for {count}")
            seconds, memory = seconds - idle, max(memory - idle_memory, 0.1)
            print(f"{kind:10} {values:9} {seconds:10.2f} s {ours:8.2f} s {seconds / ours:13.1f} {memory:8.0f} {our_memory:6.0f} {our_memory / memory:6.2f}")


if __name__ == "__main__":
    main()

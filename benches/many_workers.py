"""What stopping saves with 1 to 256 workers: replays of recorded runs with the defaults of `foretell search`, as a table.

    python3 benches/many_workers.py [FORETELL]    target/release/foretell by default; two minutes

The runs are in ../shared/data/curves, or in the folder curves of FORETELL_DATA.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else str(HERE / "target/release/foretell")
CURVES = pathlib.Path(os.environ.get("FORETELL_DATA", HERE.parent / "shared/data")) / "curves"
LOSSES = CURVES / "others/taskset_imdb_patch32_GRU128_bs128"
SETS = {
    "networks on CIFAR-10, 20 epochs": [str(CURVES / "paper/metaqnn_cifar10.csv")],
    "recurrent networks on IMDB, 51 points": [
        str(LOSSES / "curves.csv.gz"), "--configurations", str(LOSSES / "configs.csv")],
}
ORDERS = 10

print("| runs | study | workers | speed-up | best kept | mean regret in sd | time, in trainings one after another |")
print("|---|---|---|---|---|---|---|")
for name, words in SETS.items():
    for size in [100, 1000]:
        for workers in [1, 8, 64, 256]:
            if workers > size:
                continue
            done = subprocess.run(
                [PROGRAM, "replay", *words, "--policy", "srm", "--predictor", "mean-gain", "--burn-in", "3", "--caution", "balanced",
                 "--study-size", str(size), "--orderings", str(ORDERS), "--workers", str(workers), "--format", "json"],
                capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            row = next(row for row in json.loads(done.stdout)["rows"] if row["default"])
            rounds = row["elapsed_mean"] / (row["epochs_full"] / size)
            print(f"| {name} | {size} | {workers} | {row['speedup_mean']:.2f} ± {row['speedup_stderr']:.2f} | {row['best_kept']:.0%} "
                  f"| {row['regret_sd_mean']:.3f} | {rounds:.1f} |", flush=True)

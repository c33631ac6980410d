"""What stopping saves with 1 to 64 workers: replays of recorded runs with the defaults of `foretell search`, as a table.

    python3 benches/many_workers.py [FORETELL [FOLDER]]    target/release/foretell by default; ten minutes

The runs are those of ../shared/data/curves, or of the folder curves of FORETELL_DATA: each CSV of paper, and each folder of others with
its curves.csv.gz and configs.csv. With FOLDER, each CSV in it. A set counts for the sizes of study that it has runs for.
"""
import json
import math
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else str(HERE / "target/release/foretell")
CURVES = pathlib.Path(os.environ.get("FORETELL_DATA", HERE.parent / "shared/data")) / "curves"
SIZES, WORKERS, CAUTIONS, ORDERS = [40, 100, 300], [1, 4, 16, 64], ["safe", "balanced", "fast"], 10


def sets():
    """The words that read each set."""
    if len(sys.argv) > 2:
        return [[str(path)] for path in sorted(pathlib.Path(sys.argv[2]).glob("**/*.csv"))]
    others = [[str(path), "--configurations", str(path.with_name("configs.csv"))] for path in sorted(CURVES.glob("others/*/curves.csv.gz"))]
    return [[str(path)] for path in sorted(CURVES.glob("paper/*.csv"))] + others


def replayed(words, size, workers):
    """The rows of --caution, and of forecasts alone, by name; none where the set is too small."""
    done = subprocess.run(
        [PROGRAM, "replay", *words, "--policy", "srm", "--predictor", "mean-gain", "--burn-in", "3", "--refit", "1.05", "--stop-probability",
         "0.99", "--agreeing-checks", "2", "--error-budget", "per-check", "--caution", ",".join(CAUTIONS), "--study-size", str(size),
         "--orderings", str(ORDERS), "--workers", str(workers), "--format", "json"],
        capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    rows = [row for row in json.loads(done.stdout)["rows"] if row["runs"] == size]
    return {row.get("caution") or "alone": row for row in rows}


def cell(rows):
    """Saving (the harmonic mean over sets of epochs without over with), best kept ± standard error over sets, regret."""
    share = sum(row["epochs_spent"] / row["epochs_full"] for row in rows) / len(rows)
    kept = sum(row["best_kept"] for row in rows) / len(rows)
    error = math.sqrt(sum((row["best_kept"] - kept) ** 2 for row in rows)) / len(rows)
    regret = sum(row["regret_sd_mean"] for row in rows) / len(rows)
    return f"{1 / share:.2f}×, {kept:.0%} ± {100 * error:.0f}, {regret:.3f}"


def main():
    names = {"safe": "`safe`", "balanced": "`balanced`", "fast": "`fast`", "alone": "forecasts alone, 99 % sure"}
    print(f"| trials | workers | sets | {' | '.join(names.values())} | time, in trainings one after another |")
    print("|---|---|---|" + "---|" * (len(names) + 1))
    for size in SIZES:
        for workers in [workers for workers in WORKERS if workers <= size]:
            found = [rows for rows in (replayed(words, size, workers) for words in sets()) if rows]
            cells = [cell([rows[name] for rows in found]) for name in names]
            times = [rows["balanced"]["elapsed_mean"] / (rows["balanced"]["epochs_full"] / size) for rows in found]
            print(f"| {size} | {workers} | {len(found)} | {' | '.join(cells)} | {sum(times) / len(times):.1f} |", flush=True)


if __name__ == "__main__":
    main()

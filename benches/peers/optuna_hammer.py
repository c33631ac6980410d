"""Many processes report at once to one study: Optuna on SQLite and on its journal file, beside Foretell's own process.

    env/bin/python benches/peers/optuna_hammer.py [--processes 8 --trials 2 --reports 100]

Each process runs so many trials of so many reports; a report is `trial.report` and `trial.should_prune` with the median pruner. Foretell's side is
`cargo run --release -p foretell-run --example reliability -- hammer`, of the same size: 8 processes, 16 trials, 1600 reports. Prints a line each; they are
to be run in turn on an idle machine.
"""

from __future__ import annotations

import argparse
import multiprocessing
import pathlib
import subprocess
import tempfile
import time

import optuna


def storage(kind: str, folder: str):
    if kind == "sqlite":
        engine = {"connect_args": {"timeout": 100}}
        return optuna.storages.RDBStorage(f"sqlite:///{folder}/study.db", engine_kwargs=engine)
    backend = optuna.storages.journal.JournalFileBackend(f"{folder}/journal.log")
    return optuna.storages.JournalStorage(backend)


def work(arguments):
    kind, folder, trials, reports = arguments
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=3)
    study = optuna.load_study(study_name="hammer", storage=storage(kind, folder), pruner=pruner)
    times = []
    for _ in range(trials):
        trial = study.ask()
        trial.suggest_float("lr", 1e-4, 1, log=True)
        for step in range(1, reports + 1):
            begun = time.perf_counter()
            trial.report(0.5, step)
            trial.should_prune()
            times.append(time.perf_counter() - begun)
        study.tell(trial, 0.5)
    return times


def measure(kind: str, processes: int, trials: int, reports: int) -> tuple[float, float, int]:
    with tempfile.TemporaryDirectory() as folder:
        optuna.create_study(study_name="hammer", storage=storage(kind, folder), direction="maximize")
        begun = time.perf_counter()
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            parts = pool.map(work, [(kind, folder, trials, reports)] * processes, chunksize=1)
        seconds = time.perf_counter() - begun
    times = sorted(value for part in parts for value in part)
    return len(times) / seconds, 1e3 * times[int(0.99 * (len(times) - 1))], len(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--reports", type=int, default=100)
    given = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sizes = (given.processes, given.trials, given.reports)
    for kind in ["journal", "sqlite"]:
        rate, p99, count = measure(kind, *sizes)
        print(f"Optuna {optuna.__version__}, {kind}: {count} reports, {rate:.0f} reports/s, p99 {p99:.1f} ms", flush=True)
    if sizes == (8, 2, 100):
        root = pathlib.Path(__file__).resolve().parents[2]
        command = ["cargo", "run", "--release", "-q", "-p", "foretell-run", "--example", "reliability", "--", "hammer"]
        print(subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip())


if __name__ == "__main__":
    main()

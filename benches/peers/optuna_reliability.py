#!/usr/bin/env python3
"""Faults that Optuna's SQLite and journal storages survive, in the rows of `cargo run --release -p foretell-run --example reliability`.

    python3 benches/peers/optuna_reliability.py [--full]

Makes its own virtual environment (next to this file, or in $OPTUNA_VENV). Three tests of each storage:

- hammer: processes that report at once (`trial.report` and `trial.should_prune` with the median pruner); reports that are missing afterwards are counted.
- kill: a process that runs trials is killed at random moments and started again; afterwards trials that are still RUNNING are counted, though nobody
  runs them, and reports that were acknowledged and are missing.
- flip: one bit of the completed study's file is flipped; does it open, and if so, does it give other data? Flips that a later read does not
  notice are wrong data.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent
KINDS = ["sqlite", "journal"]
STEPS = 20
# how SQLite marks trials whose process is gone
HEARTBEAT = {}


def enter_environment(script=__file__):
    """Runs the script again where Optuna is."""
    home = pathlib.Path(os.environ.get("OPTUNA_VENV", HERE / ".venv-optuna"))
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    if subprocess.run([python, "-c", "import optuna"], capture_output=True).returncode:
        subprocess.run([python, "-m", "pip", "install", "--quiet", "optuna"], check=True)
    os.execve(python, [str(python), script, *sys.argv[1:]], {**os.environ, "OPTUNA_INSIDE": "1"})


def file_of(kind, folder):
    return pathlib.Path(folder) / {"sqlite": "study.db", "journal": "journal.log"}[kind]


def open_storage(kind, folder):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = file_of(kind, folder)
    if kind == "sqlite":
        return optuna.storages.RDBStorage(f"sqlite:///{path}", engine_kwargs={"connect_args": {"timeout": 100}}, **HEARTBEAT)
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))


def load(kind, folder):
    import optuna

    pruner = optuna.pruners.MedianPruner(n_startup_trials=3)
    return optuna.load_study(study_name="study", storage=open_storage(kind, folder), pruner=pruner)


def create(kind, folder):
    import optuna

    optuna.create_study(study_name="study", storage=open_storage(kind, folder), direction="maximize")


def run_trials(study, trials, reports, said=lambda number, step: None):
    times = []
    for _ in range(trials):
        trial = study.ask()
        trial.suggest_float("lr", 1e-4, 1, log=True)
        for step in range(1, reports + 1):
            begun = time.perf_counter()
            trial.report(0.5 + step / 1000, step)
            trial.should_prune()
            times.append(time.perf_counter() - begun)
            said(trial.number, step)
        study.tell(trial, 0.5)
    return times


def hammer_work(arguments):
    kind, folder, trials, reports = arguments
    return run_trials(load(kind, folder), trials, reports)


def hammer(kind, processes, trials, reports):
    with tempfile.TemporaryDirectory() as folder:
        create(kind, folder)
        begun = time.perf_counter()
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            parts = pool.map(hammer_work, [(kind, folder, trials, reports)] * processes, chunksize=1)
        seconds = time.perf_counter() - begun
        kept = sum(len(trial.intermediate_values) for trial in load(kind, folder).trials)
    times = sorted(value for part in parts for value in part)
    due = processes * trials * reports
    rate, p99 = len(times) / seconds, 1e3 * times[int(0.99 * (len(times) - 1))]
    return f"{processes} processes, {processes * trials} trials, {due} reports: {due - kept} lost, {rate:.0f} reports/s, p99 of a report and its decision {p99:.1f} ms"


def victim(kind, folder):
    """Runs trials until it is killed, and prints the acknowledged reports."""
    study = load(kind, folder)
    run_trials(study, 10**6, STEPS, lambda number, step: print(number, step, flush=True))


def kill(kind, kills):
    with tempfile.TemporaryDirectory() as folder:
        create(kind, folder)
        acknowledged, draw = set(), random.Random(1)
        for _ in range(kills):
            command = [sys.executable, __file__, "--victim", kind, folder]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            for number, line in enumerate(process.stdout, 1):
                acknowledged.add(tuple(map(int, line.split())))
                if number >= 1 + 50 * draw.random():
                    process.kill()
                    break
            # lines printed before the kill count
            acknowledged.update(tuple(map(int, line.split())) for line in process.stdout if line.endswith("\n"))
            process.wait()
        trials = load(kind, folder).trials
    kept = {(trial.number, step) for trial in trials for step in trial.intermediate_values}
    running = sum(trial.state.name == "RUNNING" for trial in trials)
    lost = len(acknowledged - kept)
    return f"{kills} kills: {lost} of {len(acknowledged)} acknowledged reports lost, {running} of {len(trials)} trials left RUNNING"


def contents(kind, folder):
    """All that a study tells."""
    trials = load(kind, folder).trials
    return [(t.number, t.state.name, t.values, sorted(t.params.items()), sorted(t.intermediate_values.items())) for t in trials]


def read_flipped(kind, folder, whole, seeds, expected):
    """How many flips were refused, harmless, and read as other data."""
    path, counts = file_of(kind, folder), [0, 0, 0]
    for seed in seeds:
        draw, data = random.Random(seed), bytearray(whole)
        place = draw.randrange(len(data) * 8)
        data[place // 8] ^= 1 << place % 8
        path.write_bytes(data)
        try:
            found = contents(kind, folder)
        except Exception:  # whatever it is: it is said
            counts[0] += 1
        else:
            counts[1 if found == expected else 2] += 1
    return counts


def flip(kind, flips):
    with tempfile.TemporaryDirectory() as folder:
        create(kind, folder)
        run_trials(load(kind, folder), 10, STEPS)
        whole, expected = file_of(kind, folder).read_bytes(), contents(kind, folder)
        refused, harmless, other = read_flipped(kind, folder, whole, range(flips), expected)
    return f"{flips} flipped bits of {len(whole)} bytes: {refused} refused, {harmless} without effect, {other} read as other data"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the sizes of the published table; minutes")
    parser.add_argument("--victim", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.victim:
        return victim(*given.victim)
    import optuna

    tests = {
        "hammer": lambda kind: hammer(kind, 8, 2 if given.full else 1, 100 if given.full else 10),
        "kill": lambda kind: kill(kind, 25 if given.full else 3),
        "flip": lambda kind: flip(kind, 300 if given.full else 20),
    }
    for name, test in tests.items():
        for kind in KINDS:
            print(f"| {name}, Optuna {optuna.__version__}, {kind} | {test(kind)} | |", flush=True)


if __name__ == "__main__":
    if "OPTUNA_INSIDE" not in os.environ:
        enter_environment()
    main()

#!/usr/bin/env python3
"""Five faults, and the data left of a study after each: Foretell next to Optuna's SQLite and journal storages.

    benches/peers/nothing_lost.py

The program is FORETELL, or `foretell` on the PATH. Optuna's environment is that of optuna_reliability.py. The full disk is a small tmpfs, which needs root;
without root, that row is left out. Takes about four minutes on an idle machine.

- kills: a search is killed eleven times, ten of them while its trial still starts; then it runs to its end.
- pages: each kilobyte of a finished study's file is filled with zeros, one at a time. Foretell repairs its log. Optuna has no repair, so the file is read.
- lines: two lines of rubbish are appended to the file.
- full disk: the disk is full for five seconds in the middle of a search.
- outage: a worker is stopped for 12 s. The lease, or Optuna's heartbeat, lasts 3 s, and a second worker continues.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import optuna_reliability as peer

PROGRAM = os.environ.get("FORETELL", "foretell")
EPOCHS = 6
SCRIPT = """
import json, os, pathlib, sys, time
rate, checkpoint = float(sys.argv[1]), pathlib.Path(os.environ["FORETELL_CHECKPOINT_DIR"]) / "epoch"
epoch = int(checkpoint.read_text() or 0) if checkpoint.exists() else 0
time.sleep(float(pathlib.Path("pause").read_text()))
while epoch < 6:
    epoch += 1
    time.sleep(0.2)
    open(os.environ["TRAINED"], "a").write("x")
    print(json.dumps({"foretell": {"step": epoch, "val_acc": rate * (1 - 0.6**epoch)}}), flush=True)
    try:
        checkpoint.write_text(str(epoch))
    except OSError:
        pass  # the disk is full
"""


def start(folder, *words):
    environment = {**os.environ, "TRAINED": str(folder.parent / "trained")}
    return subprocess.Popen([PROGRAM, *words], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def search(folder, trials, *more, pause="0"):
    (folder / "train.py").write_text(SCRIPT)
    (folder / "pause").write_text(pause)
    flags = ["--param", "rate=log:0.01:1", "--metric", "val_acc", "--epochs", str(EPOCHS), "--trials", str(trials), "--out", "study"]
    return start(folder, "search", *flags, "--no-stopping", "--format", "json", *more, "--", sys.executable, "train.py", "{rate}")


def finish(folder, process):
    answer = json.loads(process.communicate()[0])
    trained = len((folder.parent / "trained").read_text())
    return f"{answer['trials']['completed']} of {answer['trials']['total']} trials completed; {trained} epochs trained, {answer['epochs']['spent']} counted"


def foretell_kills(folder):
    for pause in ["0"] + ["3"] * 10:
        process = search(folder, 2, "--workers", "1", pause=pause)
        time.sleep(1.2)
        process.kill()
        process.wait()
    return finish(folder, search(folder, 2, "--workers", "1"))


def records(path):
    return [json.loads(line)["record"] for line in path.read_bytes().split(b"\n") if line.endswith(b"}") and b"\0" not in line]


def repaired(folder, damages):
    finish(folder, search(folder, 20, "--workers", "8"))
    path = folder / "study/events.jsonl"
    whole, true = path.read_bytes(), {each["trial"]: each["configuration"] for each in records(path) if each["event"] == "started"}
    sound = other = count = 0
    for count, damaged in enumerate(damages(whole), 1):
        path.write_bytes(damaged)
        sound += start(folder, "study", "doctor", "study", "--repair").wait() == 0
        other += any(each["configuration"] != true[each["trial"]] for each in records(path) if each["event"] == "started")
    return f"{sound} of {count} repaired, {other} with another configuration"


def pages(whole):
    return [whole[:place] + bytes(len(whole[place : place + 1024])) + whole[place + 1024 :] for place in range(0, len(whole), 1024)]


def lines(whole):
    return [whole + b"x\ny\n"]


def fill(folder):
    """Fills the disk for five seconds."""
    with open(folder / "filler", "wb", buffering=0) as filler:
        try:
            while filler.write(bytes(1024)):
                pass
        except OSError:
            pass
    time.sleep(5)
    (folder / "filler").unlink()


def foretell_full(folder):
    process, log = search(folder, 8, "--workers", "2"), folder / "study/events.jsonl"
    while not log.exists() or log.stat().st_size < 3000:
        time.sleep(0.1)
    fill(folder)
    return finish(folder, process)


def foretell_outage(folder):
    owner = search(folder, 4, "--on", "workers", "--serve=127.0.0.1:0", "--lease", "3s")
    while not (folder / "study/access.json").exists():
        time.sleep(0.1)
    cut = start(folder, "worker", "study", "--idle-exit", "5s")
    while not (folder / "study/trials/0000/process.json").exists():
        time.sleep(0.05)
    cut.send_signal(signal.SIGSTOP)
    other = start(folder, "worker", "study", "--idle-exit", "5s")
    time.sleep(12)
    cut.send_signal(signal.SIGCONT)
    end = finish(folder, owner)
    [worker.wait() for worker in (cut, other)]
    return end


def states(kind, folder):
    states = [trial.state.name for trial in peer.load(kind, folder).trials]
    return ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))


def child(kind, folder, trials):
    words = [sys.executable, __file__, "--child", kind, str(folder), str(trials)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def play(kind, folder, trials):
    """A process that runs trials of six slow epochs, and prints the acknowledged reports."""

    def objective(trial):
        trial.suggest_float("rate", 0.01, 1, log=True)
        for step in range(1, EPOCHS + 1):
            time.sleep(0.2)
            trial.report(0.5 + step / 1000, step)
            print(trial.number, step, flush=True)
        return 0.5

    peer.load(kind, folder).optimize(objective, int(trials))


def optuna_kills(kind, folder):
    for _ in range(11):
        process = child(kind, folder, 2)
        process.stdout.readline()
        process.kill()
        process.wait()
    child(kind, folder, 2).wait()
    return states(kind, folder)


def read(kind, folder, damages):
    peer.run_trials(peer.load(kind, folder), 20, EPOCHS)
    path, expected = peer.file_of(kind, folder), peer.contents(kind, folder)
    counts = {"refused": 0, "read as other data": 0, "without effect": 0}
    for damaged in damages(path.read_bytes()):
        path.write_bytes(damaged)
        try:
            counts["without effect" if peer.contents(kind, folder) == expected else "read as other data"] += 1
        except Exception:  # whatever it is: it is said
            counts["refused"] += 1
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def optuna_full(kind, folder):
    process = child(kind, folder, 8)
    acknowledged = [process.stdout.readline()]
    fill(folder)
    acknowledged += process.communicate()[0].splitlines()
    kept = sum(len(trial.intermediate_values) for trial in peer.load(kind, folder).trials)
    return f"exit status {process.returncode}; {states(kind, folder)}; {max(len(acknowledged) - kept, 0)} of {len(acknowledged)} acknowledged reports lost"


def optuna_outage(kind, folder):
    cut = child(kind, folder, 2)
    cut.stdout.readline()
    cut.send_signal(signal.SIGSTOP)
    time.sleep(5)
    other = child(kind, folder, 2)
    time.sleep(7)
    cut.send_signal(signal.SIGCONT)
    [process.communicate() for process in (cut, other)]
    return states(kind, folder)


def in_folder(name, test, kind=None):
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent) / "runs"
        folder.mkdir()
        if name == "full disk":
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder], check=True)
        try:
            if kind is None:
                return test(folder)
            peer.create(kind, folder)
            return test(kind, folder)
        finally:
            if name == "full disk":
                subprocess.run(["umount", "--lazy", folder], check=True)


def main():
    import optuna

    peer.HEARTBEAT |= {"heartbeat_interval": 1, "grace_period": 3}
    if sys.argv[1:2] == ["--child"]:
        return play(*sys.argv[2:])
    faults = {"kills": (foretell_kills, optuna_kills), "full disk": (foretell_full, optuna_full), "outage": (foretell_outage, optuna_outage)}
    for damages in (pages, lines):
        ours, theirs = lambda folder, damages=damages: repaired(folder, damages), lambda *where, damages=damages: read(*where, damages)
        faults[damages.__name__] = (ours, theirs)
    print(f"| fault | Foretell | Optuna {optuna.__version__}, SQLite | Optuna, journal |\n|---|---|---|---|")
    for name, (ours, theirs) in faults.items():
        if name != "full disk" or os.geteuid() == 0:
            cells = [in_folder(name, ours)] + [in_folder(name, theirs, kind) for kind in peer.KINDS]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    if "OPTUNA_INSIDE" not in os.environ:
        peer.enter_environment(__file__)
    main()

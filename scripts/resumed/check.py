#!/usr/bin/env python3
"""Interrupts searches at random moments, continues them, and compares what is recorded with what the training reported.

Usage: scripts/resumed/check.py [CASES] [SEED]    with FORETELL naming the program; 50 cases with seed 1 unless given

Each case has a source of the values, an interruption and, for a followed file, a way of writing it. Libraries that aren't installed are replaced by
stand-ins with the one method that is observed, and are named.
"""

import concurrent.futures
import importlib.util
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
EPOCHS, LIMIT = 8, 120
SOURCES = ["csv", "tensorboard", "wandb", "mlflow", "accelerate", "tqdm", "stable_baselines3", "follow", "follow-numbered"]
EVENTS = ["Ctrl-C", "kill the search", "kill the trial", "kill both", "pause"]
FORMS = ["appended", "rewritten", "rotated", "truncated"]
#: sources without numbers: a value that was lost between the checkpoint and its report cannot be told from the next one
UNNUMBERED = {"wandb", "tqdm", "follow"}
NOTHING = "    def {}(self, *values, **more):\n        pass\n"
STAND_INS = {
    "tensorboardX": {"__init__": "from .writer import SummaryWriter\n", "writer": "class SummaryWriter:\n    def __init__(self, folder):\n        pass\n" + NOTHING.format("add_scalar")},
    "wandb": {"__init__": "", "sdk/__init__": "", "sdk/wandb_run": "class Run:\n    step = -1\n    def log(self, data=None, step=None):\n        self.step += 1\n"},
    "mlflow": {"__init__": "", "tracking/__init__": "", "tracking/client": "class MlflowClient:\n" + NOTHING.format("log_metric")},
    "accelerate": {"__init__": "", "accelerator": "class Accelerator:\n" + NOTHING.format("log")},
    "tqdm": {"__init__": "from .std import tqdm\n", "std": "class tqdm:\n    def __init__(self, total, initial):\n        self.total, self.desc, self.disable = total, None, False\n" + NOTHING.format("update") + NOTHING.format("set_postfix")},
    "stable_baselines3": {"__init__": "", "common/__init__": "", "common/logger": "class Logger:\n    def __init__(self, folder, formats):\n        self.name_to_value = {}\n    def record(self, name, value):\n        self.name_to_value[name] = value\n    def dump(self, step=0):\n        self.name_to_value.clear()\n"},
}


def stand_ins(folder):
    """Writes stand-ins for the libraries that are missing, and returns their names."""
    missing = [name for name in STAND_INS if importlib.util.find_spec(name) is None]
    for name in missing:
        for module, text in STAND_INS[name].items():
            path = folder / name / (module + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return missing


def truth_of(folder):
    """The values that each trial reported, by epoch."""
    try:
        rows = [json.loads(line) for line in (folder / "truth").read_text().splitlines()]
    except FileNotFoundError:
        rows = []
    truth = {}
    for trial, epoch, loss in rows:
        truth.setdefault(int(trial), {})[epoch] = loss
    return truth


def start(folder, words, environment):
    with open(folder / "said", "a") as said:
        return subprocess.Popen(words, cwd=folder, env=environment, stdout=said, stderr=said, stdin=subprocess.DEVNULL, start_new_session=True)


def kill_trial(folder):
    try:
        os.kill(int((folder / "truth.pid").read_text()), signal.SIGKILL)
    except (FileNotFoundError, ValueError, ProcessLookupError):
        pass


def check(case, seed, modules):
    """Runs one case; returns its name, and what is wrong with it."""
    choose = random.Random(f"{seed} {case}")
    source, event = SOURCES[case % len(SOURCES)], EVENTS[case // len(SOURCES) % len(EVENTS)]
    form = choose.choice(FORMS) if source.startswith("follow") else "appended"
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"foretell-resumed-{case}-"))
    environment = dict(os.environ, TRUTH=str(folder / "truth"), CASE=f"{seed}-{case}", PYTHONPATH=str(modules), PYTHONDONTWRITEBYTECODE="1")
    where = ["--follow", "{trial_dir}/m.txt"] if source.startswith("follow") else ["--source", source]
    trials, more = ("4", ["--scheduler", "successive-halving"]) if event == "pause" else ("1", [])
    words = [os.environ["FORETELL"], "search", "--no-lessons", "--out", "o", "--param", "x=float:0:1", "--metric", "loss", "--minimize", "--epochs", str(EPOCHS)]
    words += ["--trials", trials, "--workers", "1", "--retries", "3", "--policy", "none", *more, *where, "--", sys.executable, str(HERE / "train.py"), source, form, "{trial_dir}/m.txt", "{x}"]
    search = start(folder, words, environment)
    latest, after = time.monotonic() + LIMIT, choose.randint(1, EPOCHS - 2)
    while sum(map(len, truth_of(folder).values())) < after and search.poll() is None and time.monotonic() < latest:
        time.sleep(0.005)
    time.sleep(choose.random() * 0.1)
    if event in ("kill the trial", "kill both"):
        kill_trial(folder)
    if event in ("kill the search", "kill both"):
        search.kill()
    elif event == "Ctrl-C":
        search.send_signal(signal.SIGINT)
    codes = [search.wait(LIMIT)]
    if codes[0] != 0:
        codes.append(start(folder, words, environment).wait(LIMIT))
    problem = compare(folder, source, codes)
    if problem is None:
        shutil.rmtree(folder, ignore_errors=True)
    return f"{source}, {form}, {event}", problem and f"{problem} (in {folder})"


def compare(folder, source, codes):
    if codes[-1] != 0:
        return f"the search ended with {codes}"
    records = [json.loads(line)["record"] for line in (folder / "o/events.jsonl").read_text().splitlines()]
    recorded, reached = {}, {}
    for record in records:
        if record["event"] == "reported":
            recorded.setdefault(record["trial"], {})[record["step"]] = record["value"]
    truth, is_said = truth_of(folder), "are lost" in (folder / "said").read_text()
    for trial, right in truth.items():
        reached[trial] = max(right)
        has_gap = len(right) < reached[trial]
        got = recorded.get(trial, {})
        if got != right and not (has_gap and source in UNNUMBERED) and not (is_said and all(right.get(step) == loss for step, loss in got.items())):
            return f"trial {trial}: recorded {got}, reported {right}"
    return None if reached and max(reached.values()) == EPOCHS else f"no trial was trained to its end: {reached}"


def main(cases, seed):
    modules = pathlib.Path(tempfile.mkdtemp(prefix="foretell-stand-ins-"))
    missing, wrong = stand_ins(modules), 0
    print(f"stand-ins: {', '.join(missing) or 'none'}")
    with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        for name, problem in pool.map(lambda case: check(case, seed, modules), range(cases)):
            if problem:
                wrong += 1
                print(f"WRONG: {name}: {problem}")
    shutil.rmtree(modules, ignore_errors=True)
    print(f"{cases - wrong} of {cases} interrupted searches have every value at its step")
    return 1 if wrong or cases == 0 else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 50, int(sys.argv[2]) if len(sys.argv) > 2 else 1))

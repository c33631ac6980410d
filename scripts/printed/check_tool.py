#!/usr/bin/env python3
"""Trains with one tool, and compares Foretell's reading of its output with the truth that the tool's own callback wrote.

Usage: check_tool.py TOOL    with FORETELL naming the program
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# the metric as each tool prints it, which way is better, and how long a training is at most
METRICS = {
    "sklearn": ("loss", "--minimize", 5), "xgboost": ("eval-logloss", "--minimize", 20), "lightgbm": ("valid's binary_logloss", "--minimize", 60),
    "catboost": ("test", "--minimize", 15), "keras": ("val_loss", "--minimize", 5), "keras-quiet": ("val_loss", "--minimize", 5),
    "tqdm": ("loss", "--minimize", 5), "rich": ("loss", "--minimize", 5), "lightning-tqdm": ("val_loss", "--minimize", 5),
    "lightning-rich": ("val_loss", "--minimize", 5), "lightning-none": ("val_loss", "--minimize", 5), "transformers": ("eval_loss", "--minimize", 5),
    "transformers-final": ("eval_loss", "--minimize", 5), "accelerate": ("accuracy", "--maximize", 5), "fastai": ("valid_loss", "--minimize", 5),
    "sb3": ("ep_rew_mean", "--maximize", 1280),
}


def foretell(arguments, folder):
    return subprocess.run([os.environ["FORETELL"], *arguments], cwd=folder, capture_output=True, text=True, errors="replace", timeout=600)


def same(got, wanted, digits):
    """Whether the curves agree; values as far as the tool prints them, epochs may count from 0."""
    near = lambda a, b: abs(a - b) <= digits * max(1.0, abs(b))
    steps = [(g[0], w[0]) for g, w in zip(got, wanted)]
    shifted = any(all(g + shift == w for g, w in steps) for shift in (0, 1))
    return len(got) == len(wanted) and shifted and all(near(g[1], w[1]) for g, w in zip(got, wanted))


def main(tool):
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"foretell-{tool}-"))
    truth_file = folder / "truth.json"
    os.environ["TRUTH"] = str(truth_file)
    metric, way, epochs = METRICS[tool]
    script = [sys.executable, str(HERE / "train_with.py"), tool]
    search = ["search", "--trials", "1", "--no-stopping", "--out", "o", "--metric", metric, way, "--epochs", str(epochs), "--param", "lr=float:0:1", "--", *script, "{lr}"]
    searched = foretell(search, folder)
    log, output = folder / "o/events.jsonl", folder / "o/trials/0000/output.log"
    if not truth_file.exists() or not log.exists():
        print(f"{tool}: the training failed\n{searched.stderr[-2000:]}")
        return 1
    truth = json.loads(truth_file.read_text())
    curve, digits = truth["curve"], truth["digits"]
    records = [json.loads(line)["record"] for line in log.read_text().splitlines()]
    live = [(record["step"], record["value"]) for record in records if record["event"] == "reported"]
    done = foretell(["import", str(output), "--metric", metric, way, "--out", "c.jsonl", "--force"], folder)
    run = json.loads((folder / "c.jsonl").read_text().splitlines()[0]) if done.returncode == 0 else {"values": []}
    imported = list(zip(run.get("steps") or range(1, len(run["values"]) + 1), run["values"]))
    wrong = []
    if not same(imported, curve, digits):
        wrong.append(f"import read {imported[:8]}, the truth is {curve[:8]}\n{done.stderr}")
    if not same(live, curve, digits):
        wrong.append(f"search read {live[:8]}, the truth is {curve[:8]}\n{searched.stderr[-1500:]}")
    print(f"{tool}: " + ("\n".join(wrong) + f"\nits output is in {folder}" if wrong else f"{len(curve)} values of {metric} equal, live and imported"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

#!/usr/bin/env python3
"""Trains with one tool, and compares what Foretell reads of its output with the truth that the tool's own callback wrote.

Usage: check_tool.py TOOL    with FORETELL naming the program
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


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
    script = [sys.executable, str(HERE / "train_with.py"), tool]
    environment = {**os.environ, "TRUTH": str(truth_file)}
    os.environ["TRUTH"] = str(truth_file)
    printed = subprocess.run(script, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    if printed.returncode != 0:
        print(printed.stdout.decode(errors="replace")[-2000:])
        print(f"{tool}: the training failed")
        return 1
    (folder / "input.log").write_bytes(printed.stdout)
    truth = json.loads(truth_file.read_text())
    metric, curve, digits = truth["metric"], truth["curve"], truth.get("digits", 1e-3)
    way = "--" + truth["direction"]
    done = foretell(["import", "input.log", "--metric", metric, way, "--out", "c.jsonl", "--force"], folder)
    run = json.loads((folder / "c.jsonl").read_text().splitlines()[0]) if done.returncode == 0 else {"values": []}
    imported = list(zip(run.get("steps") or range(1, len(run["values"]) + 1), run["values"]))
    truth_file.unlink()
    most = int(max(step for step, _ in curve)) + 1
    done_live = foretell(["search", "--trials", "1", "--no-stopping", "--out", "o", "--metric", metric, way, "--epochs", str(most), "--param", "lr=float:0:1", "--", *script, "{lr}"], folder)
    log = folder / "o/events.jsonl"
    records = [json.loads(line)["record"] for line in log.read_text().splitlines()] if log.exists() else []
    live = [(record["step"], record["value"]) for record in records if record["event"] == "reported"]
    curve_live = json.loads(truth_file.read_text())["curve"] if truth_file.exists() else curve
    wrong = []
    if not same(imported, curve, digits):
        wrong.append(f"import read {imported[:8]}, the truth is {curve[:8]}\n{done.stderr}")
    if not same(live, curve_live, digits):
        wrong.append(f"search read {live[:8]}, the truth is {curve_live[:8]}\n{done_live.stderr[-1500:]}")
    print(f"{tool}: " + ("\n".join(wrong) + f"\nits output is in {folder}" if wrong else f"{len(curve)} values of {metric} equal, live and imported"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

#!/usr/bin/env python3
"""Guards the ν-SVR search against getting slower: counts its instructions under callgrind and compares with the baseline.

    python3 benches/instructions/guard.py [--update]

Instructions do not depend on the machine's load. Fails (exit 1) where a count is more than 5 % above `baseline.json`;
`--update` writes the counts found. Prints `skipped` and exits with 0 where valgrind is missing.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASELINE = HERE / "baseline.json"
ROOM = 1.05
RUNS = {"rbf, 1000 draws": ["rbf", "1000"], "linear, 1000 draws": ["linear", "1000"]}


def build():
    command = ["cargo", "build", "--release", "-p", "foretell", "--example", "svr_search", "--message-format=json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return [message["executable"] for message in messages if message.get("executable")][-1]


def count(binary, arguments):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", binary, *arguments]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return int(re.search(r"Collected : (\d+)", report).group(1))


def main():
    if shutil.which("valgrind") is None:
        print("instructions: skipped, valgrind is not installed")
        return 0
    binary = build()
    found = {name: count(binary, arguments) for name, arguments in RUNS.items()}
    if "--update" in sys.argv:
        BASELINE.write_text(json.dumps(found, indent=2) + "\n")
    baseline = json.loads(BASELINE.read_text())
    slower = False
    for name, instructions in found.items():
        share = instructions / baseline[name]
        slower |= share > ROOM
        print(f"{name}: {instructions / 1e6:.1f} million instructions, {share:.3f} of the baseline")
    return int(slower)


if __name__ == "__main__":
    sys.exit(main())

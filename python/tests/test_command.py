"""The command that the wheel carries."""

import signal
import subprocess
import sys
import time

import pytest

COMMAND = [sys.executable, "-m", "foretell"]


def test_help_version_and_exit_codes():
    assert subprocess.run([*COMMAND, "--version"], capture_output=True, text=True).stdout.startswith("foretell ")
    shown = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True)
    assert shown.returncode == 0 and "replay" in shown.stdout and "train " not in shown.stdout.lower().split("commands:")[0]
    wrong = subprocess.run([*COMMAND, "replay", "no-such.csv"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "no-such.csv" in wrong.stderr and wrong.stdout == ""
    assert subprocess.run([*COMMAND, "dance"], capture_output=True).returncode == 2


def test_a_study_file_is_read(tmp_path):
    (tmp_path / "study.toml").write_text(
        'trials = 4\nepochs = 3\nburn-in = 3\nworkers = 1\nmetric = "acc=([0-9.]+)"\n'
        'command = ["sh", "-c", "for i in 1 2 3; do echo acc=0.$i; done", "{lr}"]\n'
        '[param]\nlr = "log:1e-4:1"\n'
    )
    done = subprocess.run([*COMMAND, "search", "study.toml", "--out", "s"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "s" / "events.jsonl").is_file()


def test_ctrl_c_ends_a_search_that_goes_on_later(tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(
        "import time\nfor e in range(1, 50):\n    print('acc=0.%d' % (10 + e), flush=True)\n    time.sleep(0.1)\n"
    )
    words = "search --param lr=float:0:1 --metric acc=([\\d.]+) --epochs 49 --trials 3 --burn-in 3 --workers 1"
    child = subprocess.Popen(
        [*COMMAND, *words.split(), "--out", str(tmp_path / "s"), "--", sys.executable, str(script), "{lr}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert child.returncode == 130 and "run the same command again" in said


def test_the_licenses_are_in_the_package():
    import importlib.metadata

    try:
        files = importlib.metadata.files("foretell")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed but used from its folder")
    assert {file.name for file in files or [] if "licenses" in file.parts} == {"LICENSE-APACHE", "LICENSE-MIT"}

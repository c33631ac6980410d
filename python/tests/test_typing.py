"""Type checkers find planted mistakes, and none elsewhere; the settings are those of the core."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MISTAKES = HERE / "typing" / "mistakes.py"
CHECKERS = {
    "mypy": [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file", str(HERE.parent / "mypy.ini")],
    "pyright": [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
}


def lines_found(checker, path):
    """The lines of `path` that a checker says something about."""
    pytest.importorskip(checker)
    if checker == "pyright":
        # it downloads Node, which needs the internet
        ready = subprocess.run([*CHECKERS[checker], "--version"], capture_output=True, text=True, timeout=300)
        if ready.returncode:
            pytest.skip("pyright does not start here")
    done = subprocess.run([*CHECKERS[checker], str(path)], capture_output=True, text=True, timeout=300, cwd=path.parent)
    return {int(line) for line in re.findall(rf"{path.name}:(\d+):.*error", done.stdout)}, done.stdout


def planted():
    text = MISTAKES.read_text().splitlines()
    return {number for number, line in enumerate(text, 1) if "  # mistake" in line}


@pytest.mark.parametrize("checker", CHECKERS)
def test_all_planted_mistakes_are_found(checker):
    found, said = lines_found(checker, MISTAKES)
    assert len(planted()) == 7 and found == planted(), said


def test_the_right_program_uses_every_public_name():
    import foretell

    used = set(re.findall(r"foretell\.(\w+)", (HERE / "typing" / "right.py").read_text()))
    assert not set(foretell.__all__) - used


@pytest.mark.parametrize("checker", CHECKERS)
def test_nothing_is_wrong_with_what_is_right(checker):
    found, said = lines_found(checker, HERE / "typing" / "right.py")
    assert not found, said


def test_the_settings_are_those_of_the_core():
    made = runpy.run_path(str(HERE.parent / "settings.py"))
    assert made["TARGET"].read_text() == made["text"](), "run python/settings.py"

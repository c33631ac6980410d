"""The matrix of doors and endings: how each interface records a run that ends in each way. Every cell is a test, or names another one."""

import json
import sys

#: Epochs of a whole run, and the epoch after which one ends early.
EPOCHS, EARLY = 12, 5


class Boom(Exception):
    """An error of the training."""


ENDINGS = ("finished", "stopped", "pruned", "failed", "interrupted")

#: Before Python 3.12, the kind of exception that leaves the body of a loop cannot be seen from the loop.
_LOOP = ("finished", "stopped", "pruned", "failed", "interrupted" if sys.version_info >= (3, 12) else "failed")
_TRIAL = ("completed", "completed", "stopped", "failed", "interrupted")
# these tools call no callback after an error. The run is recorded when the next one starts, or when the process ends
_SILENT = ("finished", "stopped", "pruned", "interrupted", "interrupted")

#: The state in the record, for each interface and ending. An ending that another test covers is replaced by the name of that test.
CELLS = {
    "command": _TRIAL,
    "study": _TRIAL,
    "connect": _TRIAL,
    # Optuna counts a trial that Ctrl-C ends as a failure
    "optuna": ("COMPLETE", "COMPLETE", "PRUNED", "FAIL", "FAIL"),
    # the records of a run that is killed are those that Tuner.restore reads
    "ray": ("learned", "learned", "stopped", "failed", "tools/test_ray.py::test_a_restored_run_knows_the_trials_that_had_finished"),
    "lightning": ENDINGS,
    "keras": _SILENT,
    "transformers": _SILENT,
    "xgboost": _SILENT,
    "lightgbm": _SILENT,
    "sklearn": _LOOP,
    "watch": _LOOP,
}

#: The file with the test of each interface.
FILES = {
    "tools/test_tool_endings.py": ("keras", "lightning", "transformers", "ray"),
    "tools/test_tree_endings.py": ("xgboost", "lightgbm"),
    "test_endings.py": ("command", "study", "connect", "optuna", "sklearn", "watch"),
}

#: What each interface records (`=`) or raises after a mistake, or after an end that only some interfaces know. A mistake that an interface
#: cannot make is missing. tests/test_mistakes.py has a test of each row.
MISTAKES = {
    "a history of the other direction": {
        "study": "ValueError: direction", "judge": "ValueError: direction", "optuna": "ValueError: direction",
        # the file is theirs to add to: its runs are set aside with a warning
        "watch": "= set aside", "monitor": "= set aside",
    },
    "another metric in the file": {"watch": "= set aside", "monitor": "= set aside", "judge": "ValueError: metric"},
    "an error after the last report": {"study": "= failed", "connect": "= failed", "command": "= completed"},
    "NaN returned after the last report": {"study": "= failed", "connect": "= failed"},
    "told to have failed after the last report": {"study": "= failed", "connect": "= failed"},
    "a TrialPruned of its own": {"study": "= stopped", "connect": "= stopped", "optuna": "= PRUNED"},
    "Ctrl-C with n_jobs": {"study": "= interrupted", "connect": "= interrupted"},
    "SIGTERM": {"watch": "= interrupted", "monitor": "= interrupted", "lightgbm": "= interrupted", "xgboost": "= interrupted"},
    "a crash and a resume": {"watch": "= finished", "monitor": "= finished"},
    "an unknown setting": {
        "study": "TypeError: colour", "connect": "TypeError: colour", "judge": "TypeError: colour", "optuna": "TypeError: colour", "watch": "TypeError: colour",
        "monitor": "TypeError: colour",
    },
    "no metric and no direction": {"study": "ValueError: metric=", "connect": "ValueError: metric=", "watch": "TypeError: direction=", "monitor": "ValueError: direction="},
}


def cells(*doors):
    """The interface, ending and state of each cell of `doors` that is tested with it."""
    return [(door, ending, state) for door in doors for ending, state in zip(ENDINGS, CELLS[door], strict=True) if "::" not in state]


def raised(ending):
    """The exception that ends a run so, if one does."""
    return {"failed": Boom("no memory"), "interrupted": KeyboardInterrupt()}.get(ending)


def length(ending):
    """The epochs of a run that ends so, unless Foretell stops it."""
    return EPOCHS if ending == "finished" else EARLY


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def check(path, ending, state, values, before=3):
    """The last record in `path` is that of the only run after `before` others, with all its `values`."""
    found = records(path)
    assert len(found) == before + 1, "one record per run"
    record = found[-1]
    assert record["ended"] == state
    assert record["steps"] == [float(step) for step in range(1, len(values) + 1)]
    assert record["values"] == [float(value) for value in values]
    assert len(values) < EPOCHS if ending == "pruned" else len(values) == length(ending)

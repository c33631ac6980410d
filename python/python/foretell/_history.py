"""Runs that other tools hold in memory, files that runs are added to."""

from __future__ import annotations

import glob
import json
import math
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ._foretell import Runs
from ._values import agreed, direction_for, plain

try:
    import fcntl
except ImportError:  # no POSIX
    fcntl = None  # type: ignore[assignment]


def of_tool(runs: Any, metric: str | None, direction: str | None, options: Mapping[str, Any]) -> Runs | None:
    """Runs of an Optuna study or of Ray's results, of a study of ours; `None` for anything else."""
    from ._search import Search

    if isinstance(runs, Search):
        agreed(direction, runs.settings["direction"], "the study")
        return _of_study(runs, options)
    first = runs[0] if isinstance(runs, (list, tuple)) and runs else runs
    tool = type(first).__module__.split(".")[0]
    if tool == "optuna":
        return _of_optuna(runs, metric, direction, options)
    if tool == "ray":
        return _of_ray(runs, metric, direction, options)
    return None


def _of_study(study: Any, options: Mapping[str, Any]) -> Runs:
    """The trials of a study of ours."""
    return runs_of_view(study._view(), options)


def runs_of_view(view: Mapping[str, Any], options: Mapping[str, Any]) -> Runs:
    """The trials of a study of ours. One that ends before the study's last epoch was stopped, or still runs."""
    settings = view["settings"]
    records = [
        (str(trial["number"]), plain(trial["config"]), trial["steps"], trial["values"])
        for trial in view["trials"]
        if trial["values"]
    ]
    return Runs.from_records(records, settings["direction"], settings["metric"], dict(options), settings["epochs"])


def _of_optuna(runs: Any, metric: str | None, direction: str | None, options: Mapping[str, Any]) -> Runs:
    """The complete trials of an Optuna study, or of a list of its trials. Pruned trials have no final value."""
    trials: Sequence[Any] = runs if isinstance(runs, (list, tuple)) else runs.trials
    if not isinstance(runs, (list, tuple)):
        if len(runs.directions) > 1:
            raise ValueError("the Optuna study has several objectives. Pass its trials as lists, with one value per step")
        direction = agreed(direction, runs.directions[0].name.lower(), "the Optuna study")
        metric = metric or (runs.metric_names or [None])[0]
    records, logarithmic, silent = [], set(options.get("log_columns") or ()), 0
    for trial in trials:
        if trial.state.name != "COMPLETE":
            continue
        if not trial.intermediate_values:
            silent += 1
            continue
        logarithmic |= {name for name, of in trial.distributions.items() if getattr(of, "log", False)}
        steps = sorted(trial.intermediate_values)
        records.append((str(trial.number), plain(trial.params), steps, [trial.intermediate_values[step] for step in steps]))
    if isinstance(runs, (list, tuple)) and direction is not None and (counts := worsening(records, direction))[0]:
        raise ValueError(
            f"{counts[0]} of the {counts[1]} Optuna trials end worse than they begin, if the direction is {direction!r}. A list of trials does not "
            "record its direction: pass the Optuna study instead"
        )
    if not records:
        raise ValueError(
            f"none of the {len(trials)} Optuna trials is complete with reported values. "
            f"{silent} complete trials reported no values. Call trial.report() in the objective"
        )
    return _made(records, metric, direction, {**options, "log_columns": sorted(logarithmic)})


#: The smallest number of runs, and their share, that show a direction.
_FEWEST, _SHARE = 3, 0.9


def worsening(records: Sequence[Any], direction: str) -> tuple[int, int]:
    """How many of how many runs end worse than they begin; (0, 0) if that is not nearly all of them."""
    ends = [[value for value in values if value is not None and math.isfinite(value)] for *_, values in records]
    told = [(values[0], values[-1]) for values in ends if len(values) > 1 and values[0] != values[-1]]
    worse = sum((last > first) == (direction == "minimize") for first, last in told)
    return (worse, len(told)) if len(told) >= _FEWEST and worse >= _SHARE * len(told) else (0, 0)


def _of_ray(runs: Any, metric: str | None, direction: str | None, options: Mapping[str, Any]) -> Runs:
    """Ray Tune's results: a `ResultGrid`, some of its `Result`s, or an `ExperimentAnalysis`."""
    analysis = getattr(runs, "_experiment_analysis", runs)
    metric = metric or getattr(analysis, "default_metric", None)
    mode = getattr(analysis, "default_mode", None)
    direction = agreed(direction, {"max": "maximize", "min": "minimize"}.get(mode or ""), "Ray's experiment")
    found = list(_ray_results(runs))
    if metric is None:
        names = sorted({name for _, frame, _ in found if frame is not None for name in frame.columns})
        raise ValueError(f"cannot choose the metric in Ray's results. Set metric= to one of: {', '.join(names) or 'none'}")
    records = []
    for name, frame, config in found:
        if frame is None or metric not in frame or not len(frame):
            continue
        rows = frame[frame[metric].notna()]
        steps = rows["training_iteration"] if "training_iteration" in rows else range(1, len(rows) + 1)
        # a trial that resumed from a checkpoint repeats steps: the first values are used
        curve: dict[float, float] = {}
        for step, value in zip(steps, rows[metric]):
            curve.setdefault(float(step), float(value))
        records.append((name, plain(config), sorted(curve), [curve[step] for step in sorted(curve)]))
    if not records:
        raise ValueError(f"none of Ray's {len(found)} results reports {metric!r}")
    return _made(records, metric, direction, options)


def _ray_results(runs: Any) -> Iterable[tuple[str, Any, Mapping[str, Any]]]:
    """(name, frame of reports, configuration)"""
    if hasattr(runs, "trial_dataframes"):
        configs = runs.get_all_configs()
        for name, frame in runs.trial_dataframes.items():
            yield name, frame, configs.get(name, {})
        return
    for number, result in enumerate(runs):
        yield str(number), result.metrics_dataframe, result.config or {}


def _made(records: list[Any], metric: str | None, direction: str | None, options: Mapping[str, Any]) -> Runs:
    return Runs.from_records(records, direction_for(metric, direction), metric or "score", dict(options))


class Additions:
    """A file of JSON lines that runs are added to when they end. Several processes can add to one file."""

    def __init__(self, path: str | os.PathLike[str], metric: str, direction: str) -> None:
        self.path, self.metric, self.direction = Path(path), metric, direction

    @staticmethod
    def of(history: Any, metric: str, direction: str) -> Additions | None:
        """The file that `history` names; `None` if runs cannot be added to it."""
        if not isinstance(history, (str, os.PathLike)):
            return None
        path = os.path.expanduser(os.fspath(history))
        # the log of a study is not ours to write
        fits = path.endswith(".jsonl") and os.path.basename(path) != "events.jsonl"
        is_one = os.path.isfile(path) or not (os.path.exists(path) or glob.has_magic(path))
        return Additions(path, metric, direction) if fits and is_one else None

    def is_empty(self) -> bool:
        """Whether the file is missing or empty."""
        return not self.path.exists() or self.path.stat().st_size == 0

    def add(
        self, values: Sequence[float], config: Mapping[str, Any], steps: Sequence[float], ended: str, name: str | None = None
    ) -> None:
        """Adds a run in one piece. It replaces an earlier run of the same name: the same run before it resumed."""
        line = {
            "id": name or uuid.uuid4().hex,
            "metric": self.metric,
            "direction": self.direction,
            "configuration": {name: _finite(value) for name, value in plain(config).items()},
            "values": [_finite(value) for value in values],
            "steps": list(steps),
            "ended": ended,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._opened() as file:
            text = (json.dumps(line, allow_nan=False) + "\n").encode()
            # ends a last line that broke off when its process was killed
            if file.seek(0, os.SEEK_END) and not _ends_in_newline(file):
                text = b"\n" + text
            others = None if name is None else _without(file, name)
            if others is None:
                file.seek(0, os.SEEK_END)
                file.write(text)
            else:
                path = Path(os.path.realpath(self.path))
                beside = path.with_name(f"{path.name}.new")
                beside.write_bytes(others + text)
                beside.replace(path)

    def broken_off(self, config: Mapping[str, Any], after: float, known: Sequence[tuple[float, float]]) -> dict[str, Any] | None:
        """The last record of a run of this configuration that broke off after step `after` or later, with the values `known` of its steps."""
        if self.is_empty():
            return None
        written = {name: _finite(value) for name, value in plain(config).items()}
        for line in reversed(self.path.read_bytes().splitlines()):
            record = _record_in(line)
            of_this = record.get("metric") == self.metric and record.get("direction") == self.direction and record.get("configuration") == written
            if not of_this or record.get("ended") not in ("interrupted", "failed") or not record.get("steps") or record["steps"][-1] < after:
                continue
            values = dict(zip(record["steps"], record["values"]))
            if all(values.get(step, value) == value for step, value in known):
                return record
        return None

    def _opened(self) -> BinaryIO:
        """The file, locked against other processes that add to it."""
        while True:
            self.path.touch()
            file = self.path.open("rb+")
            if fcntl is None:
                return file
            fcntl.flock(file, fcntl.LOCK_EX)
            # another process may have replaced the file while this one waited
            if os.fstat(file.fileno()).st_ino == os.stat(self.path).st_ino:
                return file
            file.close()


def _without(file: BinaryIO, name: str) -> bytes | None:
    """The lines without those of the runs called `name`; `None` if there are no such runs."""
    file.seek(0)
    lines = file.readlines()
    others = [line for line in lines if name.encode() not in line or _name_in(line) != name]
    return b"".join(others) if len(others) < len(lines) else None


def _name_in(line: bytes) -> Any:
    return _record_in(line).get("id")


def _record_in(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _ends_in_newline(file: BinaryIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value

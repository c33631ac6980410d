"""Runs from lists, arrays, frames, files and other tools, converted for the native module."""

from __future__ import annotations

import glob
import logging
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from ._foretell import OtherMetric, Runs, direction_of, stored
from ._history import of_tool, runs_of_view, worsening
from ._values import agreed, direction_for

_log = logging.getLogger("foretell")


class Reading(TypedDict, total=False):
    """Options for reading files and frames, which work like the flags of the command."""

    format: str | None
    id: str | None
    resource: str | None
    configurations: str | os.PathLike[str] | None
    exclude: Sequence[str]
    include: Sequence[str]
    architecture: Sequence[str]
    hyperparameters: Sequence[str]
    log_columns: Sequence[str]
    linear_columns: Sequence[str]


READING = tuple(Reading.__annotations__)
#: Options that also apply to runs passed as lists.
DECLARING = ("architecture", "hyperparameters", "log_columns", "linear_columns")


def numbers(given: Any, what: str) -> np.ndarray:
    """`given` as a row of float64. Errors name it `what`."""
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    if array.dtype == object or array.dtype.kind not in "fiub":
        try:
            if array.dtype.kind not in "O":
                raise TypeError
            array = np.array([np.nan if value is None else _number(value) for value in array.ravel()])
        except (TypeError, ValueError):
            raise TypeError(f"{what} must be a list or array of numbers, not of {_kind(array)}") from None
    if array.ndim != 1:
        raise ValueError(f"{what} must be one row of numbers, not an array of shape {array.shape}")
    return np.ascontiguousarray(array, dtype=np.float64)


def _number(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise TypeError
    return float(value)


def _kind(array: np.ndarray) -> str:
    if array.dtype.kind in "US":
        return "text"
    if array.dtype == object and array.size:
        return type(array.ravel()[0]).__name__ + " objects"
    return str(array.dtype)




def is_frame(given: Any) -> bool:
    """Whether it is a pandas or polars frame, without importing either."""
    return type(given).__module__.split(".")[0] in ("pandas", "polars") and type(given).__name__ in ("DataFrame", "LazyFrame")


def collect(
    runs: Any,
    *,
    configs: Sequence[Mapping[str, Any]] | None = None,
    steps: Any = None,
    metric: str | None = None,
    direction: str | None = None,
    **options: Any,
) -> Runs:
    """Runs from lists, arrays, dicts, a frame, a file, or already collected runs."""
    for name in options:
        if name not in READING:
            raise TypeError(f"unknown option {name!r}. Use one of: {', '.join(READING)}")
    if isinstance(runs, Runs):
        return runs
    if is_frame(runs) or is_path(runs) or are_paths(runs):
        if configs is not None or steps is not None:
            raise TypeError("configs= and steps= apply only to lists of curves. Files and frames contain them as columns")
        asked = {"metric": metric, "direction": direction, **options}
        return _of_frame(runs, asked) if is_frame(runs) else _of_paths([runs] if is_path(runs) else runs, asked)
    extra = sorted(set(options) - set(DECLARING))
    if extra:
        raise TypeError(f"{extra[0]}= applies only to files and frames, but these runs are lists")
    if configs is None and steps is None and (found := of_tool(runs, metric, direction, options)) is not None:
        return found
    return _of_lists(runs, configs, steps, metric, direction, options)


def learned(history: Any, direction: str | None, metric: str | None) -> Runs:
    """The runs of a history to learn from, for a `metric` and its `direction`. Files and frames are read for that metric; without it, for the
    one that looks like a result. Runs of the other direction are an error."""
    from_file = is_path(history) or are_paths(history) or is_frame(history)
    try:
        runs = collect(history, direction=direction, metric=metric)
    except OtherMetric:
        raise
    except ValueError as error:
        if metric is None or not from_file:
            raise
        # any other error occurs again without the metric
        runs = collect(history, direction=direction)
        _log.warning("history: %s. Its metric `%s` is used instead", error, runs.metric)
        metric = None
    if from_file and metric is None and runs.declared is None:
        agreed(direction, direction_of(runs.metric), f"the metric `{runs.metric}` of the history")
    elif not from_file:
        doubt(runs)
    return runs


def doubt(runs: Runs) -> None:
    """Logs a warning if nearly all runs of unknown direction get worse."""
    worse, told = worsening(runs.state()["records"], runs.direction)
    if worse:
        _log.warning(
            "%d of %d runs of the history end worse than they begin, if the direction is %r. Check that this is the history's direction", worse, told, runs.direction
        )  # fmt: skip


def is_path(given: Any) -> bool:
    """Whether it is the path of a file or folder, or a glob."""
    return isinstance(given, (str, os.PathLike))


def are_paths(given: Any) -> bool:
    """Whether it is a list of paths and globs."""
    return isinstance(given, (list, tuple)) and bool(given) and all(map(is_path, given))


def _of_paths(given: Iterable[Any], asked: dict[str, Any]) -> Runs:
    """The runs in all files and folders, with globs expanded. Files of other metrics are set aside, unless all are."""
    sets: list[Runs] = []
    others: list[OtherMetric] = []
    for path in (path for one in given for path in named_by(one)):
        try:
            sets.append(_of_path(path, asked))
        except OtherMetric as error:
            others.append(error)
            continue
        for warning in sets[-1].warnings:
            _log.warning("%s: %s", path, warning)
    if others and not sets:
        raise others[0]
    for other in others:
        _log.warning("set aside: %s", other)
    return sets[0] if len(sets) == 1 else Runs.joined(sets)


def named_by(given: str | os.PathLike[str]) -> list[Path]:
    """The paths that a path, a glob or an SQLite address names."""
    path = os.path.expanduser(os.fspath(given).removeprefix("sqlite:///"))
    if os.path.exists(path) or not glob.has_magic(path):
        return [Path(path)]
    found = sorted(glob.glob(path, recursive=True))
    if not found:
        raise ValueError(f"{path}: there is no such file or folder")
    return [Path(one) for one in found]


def _of_path(path: Path, asked: dict[str, Any]) -> Runs:
    if (path / "events.jsonl").is_file():
        view = stored(path)
        agreed(asked["direction"], view["settings"]["direction"], f"the study in {path}")
        return runs_of_view(view, asked)
    if path.suffix == ".parquet":
        return _of_frame(_parquet(path), asked, str(path))
    runs = Runs.read(path, asked)
    agreed(asked["direction"], runs.declared, str(path))
    return runs


def _parquet(path: Path) -> Any:
    """The table in a Parquet file, without its columns of lists."""
    try:
        import polars

        frame = polars.read_parquet(path)
        return frame.select([name for name, kind in frame.schema.items() if not kind.is_nested()])
    except ImportError:
        pass
    try:
        import pandas

        return pandas.read_parquet(path)
    except ImportError as error:
        raise ValueError(f"cannot read {path} ({error}). To read Parquet files, install polars, or pandas with pyarrow") from None


def _of_frame(frame: Any, asked: dict[str, Any], name: str = "the frame") -> Runs:
    """The runs of a frame, written as a table and read by the rules of the command."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frame.csv"
        if type(frame).__module__.startswith("polars"):
            (frame.collect() if type(frame).__name__ == "LazyFrame" else frame).write_csv(path)
        else:
            named = any(name is not None for name in frame.index.names)
            frame.to_csv(path, index=named)
        try:
            return Runs.read(path, asked)
        except ValueError as error:
            raise ValueError(str(error).replace(str(path), name)) from None


def _of_lists(
    runs: Any,
    configs: Sequence[Mapping[str, Any]] | None,
    steps: Any,
    metric: str | None,
    direction: str | None,
    options: Mapping[str, Any],
) -> Runs:
    direction = direction_for(metric, direction)
    if isinstance(runs, np.ndarray) and runs.ndim != 2:
        raise ValueError(f"an array of runs must have one row per run and one column per epoch, not the shape {runs.shape}")
    if not isinstance(runs, Iterable) or isinstance(runs, Mapping):
        raise TypeError(f"runs must be a list of curves, a frame or a path, not {type(runs).__name__}")
    runs = list(runs)
    configs = [None] * len(runs) if configs is None else list(configs)
    if len(configs) != len(runs):
        raise ValueError(f"there are {len(runs)} runs but {len(configs)} configurations. Pass one configuration per run")
    shared = None if steps is None else numbers(steps, "steps")
    records = [_record(at, *pair, shared, direction) for at, pair in enumerate(zip(runs, configs))]
    return Runs.from_records(records, direction, metric or "score", dict(options))


def _record(at: int, run: Any, config: Mapping[str, Any] | None, steps: Any, direction: str) -> tuple:
    """(id, configuration, steps, values) of one run: a row of values, or a dict with the keys of a JSON line."""
    name = str(at)
    values = run
    if isinstance(run, Mapping):
        if "values" not in run:
            raise ValueError(f"run {at} is a dict without `values`. Add them, and optionally `configuration`, `steps` and `id`")
        values, name = run["values"], str(run.get("id", at))
        agreed(direction, run.get("direction"), f"run {name}")
        config = run.get("configuration", config)
        steps = run.get("steps", steps)
    values = numbers(values, f"run {name}")
    if steps is not None:
        steps = numbers(steps, f"run {name}: steps")
        steps = steps[: len(values)] if len(steps) > len(values) and not isinstance(run, Mapping) else steps
    return name, None if config is None else dict(config), steps, values

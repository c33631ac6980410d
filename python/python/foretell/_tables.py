"""Rows as frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._records import TrialRecord


def frame_of(rows: list[dict[str, Any]], kind: str) -> Any:
    """The rows as a pandas or polars frame; as a list of dicts with the kind `dicts`."""
    if kind == "dicts":
        return rows
    if kind not in ("pandas", "polars"):
        raise ValueError(f"the kind of frame must be 'pandas', 'polars' or 'dicts', not {kind!r}")
    columns: dict[str, None] = {}
    for row in rows:
        columns.update(dict.fromkeys(row))
    if kind == "polars":
        import polars

        # a column of mixed values, such as choices of numbers and strings, becomes one of strings
        return polars.DataFrame({name: polars.Series(name, _alike([row.get(name) for row in rows]), strict=False) for name in columns})
    try:
        import pandas
    except ImportError:
        raise ImportError("frames require pandas. Install it with: pip install 'foretell[pandas]'. Otherwise, choose 'polars' or 'dicts'") from None
    return pandas.DataFrame(rows, columns=list(columns))


def _alike(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float, bool} or len(kinds) <= 1:
        return values
    return [None if value is None else str(value) for value in values]


def optuna_rows(trials: Sequence[TrialRecord], rows: Sequence[Mapping[str, Any]], attrs: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each trial, with the columns of Optuna's `trials_dataframe`."""
    return [dict(cell for name in attrs for cell in _cells(trial, row, name)) for trial, row in zip(trials, rows)]


def _cells(trial: TrialRecord, row: Mapping[str, Any], name: str) -> Iterable[tuple[str, Any]]:
    began, seconds = row.get("began"), row.get("seconds")
    start = None if began is None else datetime.fromisoformat(began)
    duration = None if start is None or seconds is None else timedelta(seconds=seconds)
    times = {"datetime_start": start, "duration": duration, "datetime_complete": None if start is None or duration is None else start + duration}
    if name in times:
        return [(name, times[name])]
    if name == "state":
        return [(name, trial.state.name)]
    value = getattr(trial, name)
    return [(f"{name}_{key}", one) for key, one in value.items()] if isinstance(value, dict) else [(name, value)]


def report_rows(reports: Mapping[str, list[Any]], **more: Any) -> list[dict[str, Any]]:
    """A row for each report: trial, step, value, and every metric that came with it."""
    return [{**more, **dict(zip(reports, row))} for row in zip(*reports.values())]

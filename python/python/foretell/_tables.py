"""Rows as frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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


def report_rows(reports: Mapping[str, list[Any]], **more: Any) -> list[dict[str, Any]]:
    """A row for each report: trial, step, value, and every metric that came with it."""
    return [{**more, **dict(zip(reports, row))} for row in zip(*reports.values())]

"""The commands `evaluate` and `replay`: forecasts and early stopping measured on recorded runs."""

from __future__ import annotations

import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

from ._foretell import answer
from ._runs import collect, is_frame
from ._tables import frame_of


def evaluate(curves: Any, **flags: Any) -> Any:
    """Measures the accuracy of forecasts on recorded runs. Returns a frame with one row per predictor and observed fraction.

    `curves` accepts everything that `Forecaster.fit` accepts. `flags` are the flags of `foretell evaluate`, with `_` for `-`, for example
    `predictor=["auto", "svr-rbf"]` and `observed=0.25`. To return a polars frame or a list of
    dicts instead of a pandas frame, set `frame` to `"polars"` or `"dicts"`.

    >>> import foretell
    >>> curves = [[end * (1 - 0.8**epoch) for epoch in range(1, 13)] for end in (0.3 + 0.02 * i for i in range(30))]
    >>> rows = foretell.evaluate(curves, metric="acc", predictor="mean-gain", observed=0.5, train=20, repeats=1, frame="dicts")
    >>> rows[0]["predictor"]
    'mean-gain'
    """
    return _measured("evaluate", curves, flags)


def replay(curves: Any, **flags: Any) -> Any:
    """Measures early stopping on recorded runs: the epochs it saves, and whether it keeps the best run. Returns a frame with one row per
    stop rule.

    `curves` accepts everything that `Forecaster.fit` accepts. `flags` are the flags of `foretell replay`, with `_` for `-`, for example
    `policy=["none", "srm", "median"]` and `burn_in=20`. To return a polars frame or a list of
    dicts instead of a pandas frame, set `frame` to `"polars"` or `"dicts"`.

    >>> import foretell
    >>> curves = [[end * (1 - 0.8**epoch) for epoch in range(1, 13)] for end in (0.3 + 0.02 * i for i in range(30))]
    >>> rows = foretell.replay(curves, metric="acc", policy=["none", "srm"], orderings=1, frame="dicts")
    >>> sorted({row["policy"] for row in rows})
    ['chain', 'none', 'srm']
    """
    return _measured("replay", curves, flags)


def _measured(command: str, curves: Any, flags: dict[str, Any]) -> Any:
    flags = dict(flags)
    as_frame = flags.pop("frame", "pandas")
    if "format" in flags or "plot" in flags:
        raise TypeError("format= and plot= are available only on the command line. Here, the rows are returned as a frame")
    is_path = isinstance(curves, (str, os.PathLike))
    if is_path or (isinstance(curves, list) and curves and all(isinstance(c, (str, os.PathLike)) for c in curves)):
        paths = [curves] if is_path else curves
        words = ["foretell", command, *_words(flags), "--", *map(os.fspath, paths)]
        return frame_of([_flat(row) for row in json.loads(answer(words))["rows"]], as_frame)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.jsonl"
        _write(path, curves, flags)
        words = ["foretell", command, *_words(flags), "--", str(path)]
        try:
            return frame_of([_flat(row) for row in json.loads(answer(words))["rows"]], as_frame)
        except ValueError as error:
            raise ValueError(str(error).replace(str(path), "the runs")) from None


def _write(path: Path, curves: Any, flags: dict[str, Any]) -> None:
    """Writes runs in memory as JSON lines for the command, and removes the arguments about them from `flags`."""
    taken = {name: flags.pop(name) for name in ("configs", "steps", "metric", "direction") if name in flags}
    if is_frame(curves):
        taken.update({name: flags.pop(name) for name in ("id", "resource", "exclude", "include") if name in flags})
    if "direction" not in taken and (flags.get("minimize") or flags.get("maximize")):
        taken["direction"] = "minimize" if flags.get("minimize") else "maximize"
    state = collect(curves, **taken).state()
    with path.open("w") as file:
        for name, config, steps, values in state["records"]:
            values = [value if math.isfinite(value) else None for value in values]
            config = {} if config is None else config
            file.write(json.dumps({"id": name, "configuration": config, "values": values, "steps": steps}) + "\n")
    flags.setdefault("minimize" if state["direction"] == "minimize" else "maximize", True)


def _words(flags: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is None or value is False:
            continue
        elif isinstance(value, (list, tuple)):
            words += [flag, ",".join(map(str, value))]
        else:
            words += [flag, str(value)]
    return words


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat.update({f"{name}_{inner}": one for inner, one in value.items()})
        else:
            flat[name] = value
    return flat

"""Stored studies and recorded runs as frames."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any, NamedTuple

from ._foretell import stored
from ._runs import collect, named_by
from ._search import FrameKind
from ._tables import frame_of, report_rows

_log = logging.getLogger("foretell")


class Loaded(NamedTuple):
    """The result of `foretell.load`: a frame of trials and a frame of reports.

    >>> import foretell
    >>> trials, curves = foretell.Loaded([], [])
    """

    #: One row per trial.
    trials: Any
    #: One row per report.
    curves: Any


def load(path: str | os.PathLike[str], kind: FrameKind = "pandas") -> Loaded:
    """Reads all studies in a folder as two frames. Running studies are included.

    - `trials`: one row per trial, with the columns of `foretell study export --trials` and the study's folder (`study`)
    - `curves`: one row per report, with `study`, `trial`, `step`, `value`, and `metric.…` for each other metric

    Without a study in `path`, it reads logs of other tools and files of curves, as `Forecaster.fit` does. `kind` is `'pandas'`, `'polars'`
    or `'dicts'`.

    >>> import foretell, tempfile
    >>> folder = tempfile.mkdtemp() + "/a"
    >>> study = foretell.Study({"x": foretell.float(0, 1)}, folder=folder, metric="acc", epochs=1, trials=2)
    >>> study.optimize(lambda trial: trial.config["x"])
    >>> len(foretell.load(folder, "dicts").trials)
    2
    """
    folders = [folder for one in named_by(path) for folder in _studies(one)]
    rows: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    for folder in folders:
        try:
            view = stored(folder)
        except ValueError as error:
            if len(folders) == 1:
                raise
            _log.warning("ignored: %s", error)
            continue
        rows += [{"study": str(folder), **row} for row in view["rows"]]
        curves += report_rows(view["reports"], study=str(folder))
    if not folders:
        rows, curves = _recorded(path)
    return Loaded(frame_of(rows, kind), frame_of(curves, kind))


def _studies(path: Path) -> list[Path]:
    """The folders of studies at and below a path, without the folders of their trials."""
    found: list[Path] = []
    for at, folders, files in os.walk(path):
        if "events.jsonl" in files:
            found.append(Path(at))
            folders[:] = [name for name in folders if name == "retrained"]
        folders.sort()
    return found


def _recorded(path: str | os.PathLike[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Runs recorded by other tools."""
    rows, curves = [], []
    for name, config, steps, values in collect(path).state()["records"]:
        row = {"trial": name, "score": values[-1] if values else None, "epochs": steps[-1] if steps else 0}
        rows.append({**row, **{f"param.{key}": value for key, value in config.items()}})
        curves += [{"trial": name, "step": step, "value": value} for step, value in zip(steps, values)]
    return rows, curves

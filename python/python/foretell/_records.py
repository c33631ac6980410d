"""The records of a study's trials."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

State = Literal["running", "interrupted", "paused", "completed", "stopped", "failed"]


class Best(TypedDict):
    """The best trial so far: its number (`trial`), `score` and `config`.

    >>> import foretell
    >>> study = foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=1, trials=1)
    >>> study.optimize(lambda trial: trial.config["x"])
    >>> study.best["score"] == study.best["config"]["x"]
    True
    """

    trial: int
    score: float
    config: dict[str, Any]


class TrialRecord(TypedDict):
    """The record of a trial.

    >>> import foretell
    >>> study = foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=1, trials=1)
    >>> study.optimize(lambda trial: trial.config["x"])
    >>> record: foretell.TrialRecord = study.trials[0]
    >>> record["state"]
    'completed'
    """

    #: The number of the trial, from 0.
    number: int
    #: The values of its parameters.
    config: dict[str, Any]
    #: Whether the trial runs, or how it ended.
    state: State
    #: The score, for example the last or the best value; `None` without a result.
    score: float | None
    #: The epochs with a report.
    steps: list[float]
    #: The value reported at each step.
    values: list[float]
    #: The last decision, or `None`.
    decision: dict[str, Any] | None
    #: The reason for a failure.
    error: str | None

"""The records of a study's trials."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict, overload

State = Literal["running", "interrupted", "paused", "completed", "stopped", "failed"]


class TrialPruned(Exception):
    """An objective raises it to end its trial as stopped, by a rule of its own. The search continues. Optuna's exception of this name works as
    well.

    >>> import foretell
    >>> study = foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=2, trials=3)
    >>> def objective(trial):
    ...     trial.report(trial.config["x"], 1)
    ...     raise foretell.TrialPruned
    >>> study.optimize(objective)
    >>> [trial["state"] for trial in study.trials]
    ['stopped', 'stopped', 'stopped']
    """


class TrialState(enum.IntEnum):
    """The state of a trial in Optuna's words: its members equal those of Optuna. `trial["state"]` is the state in Foretell's words.

    >>> import foretell
    >>> foretell.TrialState.COMPLETE.name
    'COMPLETE'
    """

    RUNNING = 0
    COMPLETE = 1
    PRUNED = 2
    FAIL = 3
    WAITING = 4


class StudyDirection(enum.IntEnum):
    """A direction in Optuna's words: its members equal those of Optuna.

    >>> import foretell
    >>> foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=1).direction.name
    'MAXIMIZE'
    """

    MINIMIZE = 1
    MAXIMIZE = 2


_STATES = {
    "running": TrialState.RUNNING,
    "interrupted": TrialState.WAITING,
    "paused": TrialState.WAITING,
    "completed": TrialState.COMPLETE,
    "stopped": TrialState.PRUNED,
    "failed": TrialState.FAIL,
}


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


class TrialRecord(dict):  # type: ignore[type-arg]
    """The record of a trial: a dict with these keys, and with the attributes of a trial of Optuna.

    - `number`: the number of the trial, from 0
    - `config`: the values of its parameters
    - `state`: `'running'`, `'interrupted'`, `'paused'`, `'completed'`, `'stopped'` or `'failed'`
    - `score`: the score, for example the last or the best value; `None` without a result
    - `steps` and `values`: the epochs with a report, and the value reported at each
    - `decision`: the last decision, or `None`
    - `error`: the reason for a failure

    >>> import foretell
    >>> study = foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=1, trials=1)
    >>> study.optimize(lambda trial: trial.config["x"])
    >>> record: foretell.TrialRecord = study.trials[0]
    >>> record["state"], record.state.name, record.params == record["config"]
    ('completed', 'COMPLETE', True)
    """

    def __init__(self, fields: Mapping[str, Any], read_user_attrs: Callable[[], dict[str, Any]] = dict) -> None:
        super().__init__(fields)
        # they may be in a file for each trial
        self._read_user_attrs = read_user_attrs

    def __reduce__(self) -> Any:
        return TrialRecord, (dict(self), functools.partial(dict, self.user_attrs))

    @overload  # type: ignore[override]
    def __getitem__(self, key: Literal["number"]) -> int: ...
    @overload
    def __getitem__(self, key: Literal["config"]) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: Literal["state"]) -> State: ...
    @overload
    def __getitem__(self, key: Literal["score"]) -> float | None: ...
    @overload
    def __getitem__(self, key: Literal["steps", "values"]) -> list[float]: ...
    @overload
    def __getitem__(self, key: Literal["decision"]) -> dict[str, Any] | None: ...
    @overload
    def __getitem__(self, key: Literal["error"]) -> str | None: ...
    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(key)

    @property
    def number(self) -> int:
        """The number of the trial, from 0."""
        return self["number"]

    @property
    def params(self) -> dict[str, Any]:
        """The values of its parameters, as in Optuna."""
        return self["config"]

    @property
    def state(self) -> TrialState:
        """Its state, as in Optuna."""
        return _STATES[self["state"]]

    @property
    def value(self) -> float | None:
        """Its score; of a stopped trial, the last report, as in Optuna. `None` without one."""
        if self["state"] == "stopped":
            return self["values"][-1] if self["values"] else None
        return self["score"]

    @property
    def values(self) -> list[float] | None:  # type: ignore[override]
        """Its score as a list, as in Optuna. `trial["values"]` are the values reported."""
        return None if self.value is None else [self.value]

    @property
    def intermediate_values(self) -> dict[int, float]:
        """The value reported at each step, as in Optuna. Steps count from 1."""
        return {int(step): value for step, value in zip(self["steps"], self["values"])}

    @property
    def user_attrs(self) -> dict[str, Any]:
        """The values stored by `Trial.set_user_attr`, as in Optuna."""
        return self._read_user_attrs()

    @property
    def last_step(self) -> int | None:
        """The last step with a report, as in Optuna."""
        return int(self["steps"][-1]) if self["steps"] else None

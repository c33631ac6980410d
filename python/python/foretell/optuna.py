"""A pruner for Optuna."""

from __future__ import annotations

import logging
import time
import weakref
from typing import TYPE_CHECKING, Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from ._foretell import LengthWatch
from .judge import Judge, Lock, ToolSettings, as_dict, tool_settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction

_log = logging.getLogger("foretell")

#: The least time between two readings of a storage, in units of the time for one reading.
_READING = 50.0

#: Settings of the Optuna study.
_OWN = {
    "direction": "Set the direction of the Optuna study: optuna.create_study(direction=…)",
    "metric": "The metric is the value that trials report with trial.report",
}


class ForetellPruner(optuna.pruners.BasePruner):
    """A pruner that forecasts the final value of each trial, and prunes trials that will not win.

    It learns from the configurations and curves of complete trials. `trial.user_attrs["foretell"]` of a pruned trial records the forecast
    and the reason. Several processes can share a storage, and one pruner can serve several studies.

    If trials return the best of their reports, the best report is used as the score. If the returned values do not match the reports, no
    trial is pruned. Both cases are logged once. To choose the score yourself, set `score` to `"last"` or `"best"`.

    >>> import optuna
    >>> from foretell.optuna import ForetellPruner
    >>> def objective(trial):
    ...     rate = trial.suggest_float("lr", 1e-4, 1, log=True)
    ...     for epoch in range(10):
    ...         value = (1 - abs(rate - 0.1)) * (1 - 0.6 ** (epoch + 1))
    ...         trial.report(value, epoch)
    ...         if trial.should_prune():
    ...             raise optuna.TrialPruned()
    ...     return value
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> study = optuna.create_study(direction="maximize", pruner=ForetellPruner(max_resource=10))
    >>> study.optimize(objective, n_trials=20)
    >>> any(trial.state.name == "PRUNED" for trial in study.trials)
    True

    Parameters
    ----------
    max_resource
        The number of steps of a complete trial, whether steps start from 0 or 1 (default: the length of the longest complete trial).
    n_startup_trials
        The number of complete trials before any trial is pruned, including runs of `history` (default: 3).
    n_warmup_steps
        The step before which no trial is pruned, as for Optuna's pruners.
    history
        Old runs to learn from: a path, a glob, the folder of a study, an Optuna study, the results of Ray Tune, a frame or lists.
        See `foretell.Forecaster.fit`.
    shadow
        Record decisions without pruning any trials.
    settings
        Settings of `foretell.Judge`, such as `caution`, `stop_probability`, `min_steps` and `background`.
    """

    def __init__(
        self,
        max_resource: int | None = None,
        *,
        n_startup_trials: int | None = None,
        n_warmup_steps: int = 0,
        history: Any = None,
        shadow: bool = False,
        **settings: Unpack[ToolSettings],
    ) -> None:
        if n_warmup_steps < 0:
            raise ValueError(f"n_warmup_steps must be at least 0, not {n_warmup_steps!r}")
        self._max_resource, self._n_warmup_steps = max_resource, n_warmup_steps
        self._shadow = shadow
        self._settings: Any = tool_settings(settings, n_startup_trials, _OWN)
        self._history = history
        Judge("maximize", shadow=shadow, **self._settings)  # refuses wrong settings now, and not after hours
        self._forget()

    def _forget(self) -> None:
        # study numbers are unique only within a storage
        self._studies: weakref.WeakKeyDictionary[Any, dict[int, _Known]] = weakref.WeakKeyDictionary()
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_studies", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def prune(self, study: optuna.study.Study, trial: FrozenTrial) -> bool:
        """Whether to prune `trial`. Optuna calls this."""
        if not trial.intermediate_values:
            return False
        with self._lock:
            known = self._known(study, trial.number)
        steps, values = _curve(trial)
        known.compare(trial.number, steps)
        if steps[-1] < self._n_warmup_steps or (self._max_resource is not None and _trained(steps) >= self._max_resource):
            return False
        decision = known.judge.decide(values, trial.params, steps, trial.number)
        if decision is None:
            return False
        if decision.stop:
            # writing to the storage is slow
            study._storage.set_trial_user_attr(trial._trial_id, "foretell", as_dict(decision))
            kind = "would be pruned" if self._shadow else "pruned"
            _log.info("trial %d %s at step %g: %s", trial.number, kind, steps[-1], decision.reason)
        return decision.stop and not self._shadow

    def _known(self, study: optuna.study.Study, number: int) -> _Known:
        """The state for `study`, updated with the trials completed since the last call."""
        studies = self._studies.setdefault(study._storage, {})
        known = studies.get(study._study_id)
        if known is not None and not known.is_due(number):
            return known
        began = time.perf_counter()
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        took = time.perf_counter() - began
        if known is None or not known.goes_on(complete):
            direction: Direction = "maximize" if study.direction.name == "MAXIMIZE" else "minimize"
            judge = Judge(direction, history=self._history, shadow=self._shadow, **self._settings)
            known = studies[study._study_id] = _Known(judge, self._max_resource)
        known.update(complete)
        known.was_read(number, took)
        return known


class _Known:
    """The state of a pruner for one study: the trials it has learned from."""

    def __init__(self, judge: Judge, max_resource: int | None) -> None:
        self.judge = judge
        #: Compares `max_resource` with what trials report.
        self._lengths = None if max_resource is None else LengthWatch("max_resource", max_resource, True)
        self._seen: dict[int, Any] = {}
        #: The trials that have asked, and the time of the next reading for them.
        self._asked: set[int] = set()
        self._next = 0.0

    def is_due(self, number: int) -> bool:
        """Whether to read the storage again: at the first call for each trial, and later at most once per interval, because only trials of
        other processes and threads can have changed."""
        return number not in self._asked or time.perf_counter() >= self._next

    def was_read(self, number: int, took: float) -> None:
        """Notes a reading of the storage for trial `number`, and its seconds."""
        self._asked.add(number)
        self._next = time.perf_counter() + _READING * took

    def goes_on(self, complete: list[FrozenTrial]) -> bool:
        """Whether `complete` are trials of the same study. A storage can reuse the number of a deleted study."""
        if len(complete) == len(self._seen):
            return True
        ended = {trial.number: trial.datetime_complete for trial in complete}
        return all(ended.get(number) == when for number, when in self._seen.items())

    def update(self, complete: list[FrozenTrial]) -> None:
        """Learns from the trials completed since the last call."""
        if len(complete) == len(self._seen):
            return
        for trial in complete:
            if trial.number in self._seen:
                continue
            self._seen[trial.number] = trial.datetime_complete
            if trial.intermediate_values:
                self._log_scaled(trial)
                steps, values = _curve(trial)
                if self._lengths is not None and (mismatch := self._lengths.completed(self.judge.burn_in, _trained(steps))) is not None:
                    _log.warning("%s", mismatch)
                self.judge.add(trial.number, values, trial.params, steps, trial.value)

    def compare(self, number: int, steps: list[float]) -> None:
        """Warns once if the steps of a trial do not fit `max_resource`."""
        begins = steps[0] == 0
        if self._lengths is not None and (mismatch := self._lengths.reported(number, steps[0] + begins, _trained(steps))) is not None:
            _log.warning("%s", mismatch)

    def _log_scaled(self, trial: FrozenTrial) -> None:
        of_trial = trial.distributions.items()
        self.judge.search_by_logarithm([name for name, distribution in of_trial if getattr(distribution, "log", False)])


def _trained(steps: list[float]) -> float:
    """The number of steps trained: one more than the last step if steps start from 0."""
    return steps[-1] + (steps[0] == 0)


def _curve(trial: FrozenTrial) -> tuple[list[float], list[float]]:
    steps = sorted(trial.intermediate_values)
    return [float(step) for step in steps], [float(trial.intermediate_values[step]) for step in steps]

"""A pruner for Optuna that forecasts where each trial will end.

::

    study = optuna.create_study(direction="maximize", pruner=ForetellPruner(max_resource=20))

A trial is pruned once its forecast says that it will not be the best. The forecast and the reason are in `trial.user_attrs["foretell"]`.
"""

from __future__ import annotations

import logging
import time
import weakref
from typing import TYPE_CHECKING, Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from .judge import Judge, Lock, ToolSettings, as_dict, tool_settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction

_log = logging.getLogger("foretell")

#: Between two readings of a storage passes this many times the time that one takes.
_READING = 50.0

#: Settings that the Optuna study has.
_OWN = {
    "direction": "the direction is that of the Optuna study: optuna.create_study(direction=…)",
    "metric": "the metric is the value that trials report by trial.report",
}


class ForetellPruner(optuna.pruners.BasePruner):
    """Prunes a trial when its forecast says that it will not win.

    It learns from the study's complete trials, from their configurations and their curves. One that ended before the longest did, by
    its own early stopping say, counts with its last value. Pruned trials teach nothing: what they would have come to is not known.
    Several processes on one storage need nothing but that storage, and one pruner may serve several studies.

    Parameters
    ----------
    max_resource
        How many steps a whole training has, counted from 0 or from 1; a trial that has come so far is not pruned. Default: as many as
        the longest complete trial.
    n_startup_trials
        No trial is pruned before this many are complete; runs of `history` count. Default: a study's burn-in, 3.
    n_warmup_steps
        No trial is pruned at a step before this one, as by Optuna's own pruners.
    history
        Old runs to learn from: another Optuna study or its trials, a path or a glob, a study's folder, a frame, lists; see
        `foretell.Forecaster.fit`.
    shadow
        Decide and record, but prune nothing.
    settings
        Those of `foretell.Judge`, such as `caution`, `stop_probability`, `predictor`, `min_steps`, `background` and `score`: which report of
        a trial counts, `"last"` or `"best"`. By default the returned values show it: if trials return the best of their reports, the
        best counts; if they return values that do not go together with their reports, none is pruned. Both are logged.
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
            raise ValueError(f"n_warmup_steps={n_warmup_steps!r} is negative; the least is 0")
        self._max_resource, self._n_warmup_steps = max_resource, n_warmup_steps
        self._shadow = shadow
        self._settings: Any = tool_settings(settings, n_startup_trials, _OWN)
        self._history = history
        Judge("maximize", shadow=shadow, **self._settings)  # refuses wrong settings now, and not after hours
        self._forget()

    def _forget(self) -> None:
        # studies are numbered within their storage: each new database begins with the same number
        self._studies: weakref.WeakKeyDictionary[Any, dict[int, _Known]] = weakref.WeakKeyDictionary()
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_studies", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def prune(self, study: optuna.study.Study, trial: FrozenTrial) -> bool:
        """Whether to prune `trial`."""
        if not trial.intermediate_values:
            return False
        with self._lock:
            known = self._known(study, trial.number)
        steps, values = _curve(trial)
        if steps[-1] < self._n_warmup_steps or (self._max_resource is not None and _trained(steps) >= self._max_resource):
            return False
        decision = known.judge.decide(values, trial.params, steps, trial.number)
        if decision is None:
            return False
        if decision.stop:
            # the storage is written only where there is something to say
            study._storage.set_trial_user_attr(trial._trial_id, "foretell", as_dict(decision))
            kind = "would be pruned" if self._shadow else "pruned"
            _log.info("trial %d %s at step %g: %s", trial.number, kind, steps[-1], decision.reason)
        return decision.stop and not self._shadow

    def _known(self, study: optuna.study.Study, number: int) -> _Known:
        """What is known of `study`, with the trials that were completed since the last time."""
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
    """What a pruner knows of one study: which of its trials have been learnt from."""

    def __init__(self, judge: Judge, max_resource: int | None) -> None:
        self.judge = judge
        #: Until a complete trial has come so far, somebody may have to be told.
        self._awaited = max_resource
        self._longest = 0.0
        self._seen: dict[int, Any] = {}
        #: The trials that asked, and when the storage is read again for them.
        self._asked: set[int] = set()
        self._next = 0.0

    def is_due(self, number: int) -> bool:
        """Whether to read the storage again: at the first question of each trial, and later only as often as it costs little, since
        nothing but the trials of other processes and threads can have changed."""
        return number not in self._asked or time.perf_counter() >= self._next

    def was_read(self, number: int, took: float) -> None:
        """The storage was read for trial `number`, which took some seconds."""
        self._asked.add(number)
        self._next = time.perf_counter() + _READING * took

    def goes_on(self, complete: list[FrozenTrial]) -> bool:
        """Whether `complete` are those of the same study. A storage may give a deleted study's number to the next."""
        if len(complete) == len(self._seen):
            return True
        ended = {trial.number: trial.datetime_complete for trial in complete}
        return all(ended.get(number) == when for number, when in self._seen.items())

    def update(self, complete: list[FrozenTrial]) -> None:
        """Takes in the trials that were completed since the last time."""
        if len(complete) == len(self._seen):
            return
        for trial in complete:
            if trial.number in self._seen:
                continue
            self._seen[trial.number] = trial.datetime_complete
            if trial.intermediate_values:
                self._log_scaled(trial)
                steps, values = _curve(trial)
                self._longest = max(self._longest, _trained(steps))
                self.judge.add(trial.number, values, trial.params, steps, trial.value)
        if self._awaited is not None and self._longest >= self._awaited:
            self._awaited = None
        if self._awaited is not None and len(self._seen) >= self.judge.burn_in:
            _log.warning(
                "none of the %d complete trials came to max_resource=%g: the longest has %g steps. Each counts with its last value. "
                "If that is a whole training, write ForetellPruner(max_resource=%g)",
                len(self._seen), self._awaited, self._longest, self._longest,
            )  # fmt: skip
            self._awaited = None

    def _log_scaled(self, trial: FrozenTrial) -> None:
        of_trial = trial.distributions.items()
        self.judge.search_by_logarithm([name for name, distribution in of_trial if getattr(distribution, "log", False)])


def _trained(steps: list[float]) -> float:
    """How many steps were trained: one more than the last where they count from 0."""
    return steps[-1] + (steps[0] == 0)


def _curve(trial: FrozenTrial) -> tuple[list[float], list[float]]:
    steps = sorted(trial.intermediate_values)
    return [float(step) for step in steps], [float(trial.intermediate_values[step]) for step in steps]

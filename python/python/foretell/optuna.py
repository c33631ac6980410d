"""A pruner for Optuna that forecasts where each trial will end.

::

    study = optuna.create_study(direction="maximize", pruner=ForetellPruner(max_resource=20))

A trial is pruned once its forecast says that it will not be the best. The forecast and the reason are in `trial.user_attrs["foretell"]`.
"""

from __future__ import annotations

import logging
import weakref
from typing import TYPE_CHECKING, Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from .judge import Judge, JudgeSettings, Lock, ToolSettings, as_dict

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction

_log = logging.getLogger("foretell")


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
        Those of `foretell.Judge`: `caution`, `stop_probability`, `offset`, `nth_best`, `agreeing_checks`, `refit`, `predictor`, `seed`,
        `min_steps`, `background`.
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
        self._settings: JudgeSettings = {**settings, "burn_in": n_startup_trials}
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
            known = self._known(study)
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

    def _known(self, study: optuna.study.Study) -> _Known:
        """What is known of `study`, with the trials that were completed since the last time."""
        studies = self._studies.setdefault(study._storage, {})
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        known = studies.get(study._study_id)
        if known is None or not known.goes_on(complete):
            direction: Direction = "maximize" if study.direction.name == "MAXIMIZE" else "minimize"
            judge = Judge(direction, history=self._history, shadow=self._shadow, **self._settings)
            known = studies[study._study_id] = _Known(judge, self._max_resource)
        known.update(complete)
        return known


class _Known:
    """What a pruner knows of one study: which of its trials have been learnt from."""

    def __init__(self, judge: Judge, max_resource: int | None) -> None:
        self.judge = judge
        #: Until a complete trial has come so far, somebody may have to be told.
        self._awaited = max_resource
        self._longest = 0.0
        self._seen: dict[int, Any] = {}

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
                self.judge.add(trial.number, values, trial.params, steps)
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

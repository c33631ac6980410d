"""A pruner for Optuna that forecasts where each trial will end.

::

    study = optuna.create_study(direction="maximize", pruner=ForetellPruner(max_resource=20))

A trial is pruned once its forecast says that it will not be the best. The forecast and the reason are in `trial.user_attrs["foretell"]`.
"""

from __future__ import annotations

import logging
import math
import threading
from typing import Any

import optuna
from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState

from .judge import Judge, as_dict

_log = logging.getLogger("foretell")


class ForetellPruner(optuna.pruners.BasePruner):
    """Prunes a trial when its forecast says that it will not win.

    It learns from the study's complete trials that reported at `max_resource`, from their configurations and their curves. Pruned
    trials teach nothing: what they would have come to is not known. Several processes on one storage need nothing but that storage.

    Parameters
    ----------
    max_resource
        The last step that a whole training reports. Default: the largest that any complete trial has reported.
    n_startup_trials
        How many trials are trained to their end before any is pruned; runs of `history` count.
    n_warmup_steps
        No trial is pruned before it has reported so many values.
    history
        Old runs to learn from: a path, a study's folder, a frame, lists; see `foretell.Forecaster.fit`.
    shadow
        Decide and record, but prune nothing.
    settings
        Those of `foretell.judge.Judge`: `stop_probability`, `offset`, `nth_best`, `agreeing_checks`, `refit`, `predictor`, `seed`.
    """

    def __init__(
        self,
        max_resource: int | None = None,
        *,
        n_startup_trials: int = 10,
        n_warmup_steps: int = 1,
        history: Any = None,
        shadow: bool = False,
        **settings: Any,
    ) -> None:
        self._max_resource = max_resource
        self._shadow = shadow
        self._settings = {**settings, "burn_in": n_startup_trials, "min_steps": n_warmup_steps, "shadow": shadow}
        self._history = history
        Judge("maximize", **self._settings)  # refuses wrong settings now, and not after hours
        self._forget()

    def _forget(self) -> None:
        self._judges: dict[int, _Known] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_judges", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def prune(self, study: optuna.study.Study, trial: FrozenTrial) -> bool:
        """Whether to prune `trial`."""
        if not trial.intermediate_values:
            return False
        with self._lock:
            known = self._judges.get(study._study_id)
            if known is None:
                direction = study.direction.name.lower()
                judge = Judge(direction, history=self._history, **self._settings)
                known = self._judges[study._study_id] = _Known(judge, self._max_resource)
            known.update(study)
        steps, values = _curve(trial)
        if known.last_step is not None and steps[-1] >= known.last_step:
            return False
        decision = known.judge.decide(values, trial.params, steps)
        if decision is None:
            return False
        if decision.stop:
            # the storage is written only where there is something to say
            study._storage.set_trial_user_attr(trial._trial_id, "foretell", as_dict(decision))
            kind = "would be pruned" if self._shadow else "pruned"
            _log.info("trial %d %s at step %g: %s", trial.number, kind, steps[-1], decision.reason)
        return decision.stop and not self._shadow


class _Known:
    """What a pruner knows of one study: which of its trials have been learnt from."""

    def __init__(self, judge: Judge, max_resource: int | None) -> None:
        self.judge = judge
        self.max_resource = max_resource
        self.last_step = max_resource
        self._seen: set[int] = set()
        self._complete: list[FrozenTrial] = []

    def update(self, study: optuna.study.Study) -> None:
        """Takes in the trials that were completed since the last time."""
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if len(complete) == len(self._complete):
            return
        new = [trial for trial in complete if trial.number not in self._seen and trial.intermediate_values]
        self._complete = complete
        self._seen.update(trial.number for trial in complete)
        if self.max_resource is None:
            last = max((trial.last_step for trial in complete if trial.intermediate_values), default=None)
            if last != self.last_step:
                self.last_step = last
                new = [trial for trial in complete if trial.intermediate_values]
        for trial in new:
            self._log_scaled(trial)
            steps, values = _curve(trial)
            if self.last_step is None or steps[-1] >= self.last_step:
                self.judge.add(trial.number, values, trial.params, steps)

    def _log_scaled(self, trial: FrozenTrial) -> None:
        for name, distribution in trial.distributions.items():
            if getattr(distribution, "log", False) and name not in self.judge.log_columns:
                self.judge.log_columns.append(name)


def _curve(trial: FrozenTrial) -> tuple[list[float], list[float]]:
    steps = sorted(trial.intermediate_values)
    return [float(step) for step in steps], [float(trial.intermediate_values[step]) for step in steps]

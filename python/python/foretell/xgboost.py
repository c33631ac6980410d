"""A callback for XGBoost that stops runs that will not win."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import xgboost

from ._callback import Rounds


class ForetellCallback(Rounds, xgboost.callback.TrainingCallback):
    """Stops XGBoost training if the forecast shows that the run will not win.

    `monitor` names the data set and the metric, for example `validation-auc`. By default, decisions are made every 10 rounds. To change
    this, set `every`.

    >>> import numpy as np, xgboost
    >>> from foretell.xgboost import ForetellCallback
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> train = xgboost.DMatrix(x, x[:, 0])
    >>> stop = ForetellCallback("train-rmse", history=[[0.9, 0.5, 0.3], [0.8, 0.4, 0.2], [0.7, 0.3, 0.1]], every=5)
    >>> booster = xgboost.train({}, train, 15, evals=[(train, "train")], callbacks=[stop], verbose_eval=False)
    >>> stop.watch.steps
    [5.0, 10.0, 15.0]
    """

    def before_training(self, model: Any) -> Any:
        """XGBoost calls this before the first round."""
        # continuing a model does not count its rounds
        self._before = model.num_boosted_rounds() if isinstance(model, xgboost.Booster) else 0
        self._log: Mapping[str, Any] = {}
        self._planned = _planned_rounds()
        self.watch.begin(after=self._before)
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
        """XGBoost calls this after each round. The first round is 0."""
        self._log = evals_log
        return self._report(self._before + epoch + 1, _last(evals_log))

    def after_training(self, model: Any) -> Any:
        """XGBoost calls this after the last round."""
        trained = max((len(values) for logs in self._log.values() for values in logs.values()), default=0)
        if trained:
            # a callback before this one may have ended the training in a round that this one has not seen
            self.watch.note(self.watch.value_in({f"{data}-{name}": value for data, name, value in _last(self._log)}), self._before + trained)
        self.watch.close(early=self._planned is not None and trained < self._planned)
        return model


def _last(log: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    """The last value of each metric on each data set."""
    return [(data, name, _mean(values[-1])) for data, logs in log.items() for name, values in logs.items()]


def _planned_rounds() -> int | None:
    """The argument `num_boost_round` of the function of XGBoost that is calling, which it passes to no callback."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "xgboost.training" and "num_boost_round" in frame.f_locals:
            return int(frame.f_locals["num_boost_round"])
        frame = frame.f_back
    return None


def _mean(value: Any) -> Any:
    """A value; cross-validation reports pairs of mean and standard deviation."""
    return value[0] if isinstance(value, tuple) else value

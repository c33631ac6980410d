"""A callback for XGBoost that stops runs that will not win."""

from __future__ import annotations

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
        self.watch.begin()
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
        """XGBoost calls this after each round. The first round is 0."""
        return self._report(epoch + 1, ((data, name, _mean(values[-1])) for data, logs in evals_log.items() for name, values in logs.items()))

    def after_training(self, model: Any) -> Any:
        """XGBoost calls this after the last round."""
        self.watch.end()
        return model


def _mean(value: Any) -> Any:
    """A value; cross-validation reports pairs of mean and standard deviation."""
    return value[0] if isinstance(value, tuple) else value

"""A callback for XGBoost that stops a training when its forecast says that it will not win.

::

    stop = ForetellCallback("validation-auc", history="runs.jsonl", config=params)
    xgboost.train(params, train, 500, evals=[(test, "validation")], callbacks=[stop])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import xgboost

from ._callback import CallbackSettings, Monitor

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction


class ForetellCallback(xgboost.callback.TrainingCallback):
    """Stops the training when its forecast says that it will not win.

    Parameters
    ----------
    monitor
        The name of the metric, with that of its data: `validation-auc`.
    history
        Finished runs to learn from: a path or a glob, a study's folder, a frame, lists; see `foretell.Forecaster.fit`. To a file that ends
        in `.jsonl` this run is added when it ends; the file may still be missing.
    direction
        `'maximize'` or `'minimize'`. Default: by the metric's name.
    config
        The configuration of this run.
    every
        Judge after so many rounds: forecasts of each of thousands of rounds would cost more than they save.
    shadow
        Decide and log, but do not stop.
    settings
        Those of `foretell.Judge`, such as `min_steps`, `caution` and `stop_probability`; `append=False` leaves a history in JSON lines as it is.
    """

    def __init__(
        self,
        monitor: str,
        history: Any,
        *,
        direction: Direction | None = None,
        config: Mapping[str, Any] | None = None,
        every: int = 10,
        shadow: bool = False,
        **settings: Unpack[CallbackSettings],
    ) -> None:
        super().__init__()
        self.watch = Monitor(monitor, history, direction=direction, config=config, shadow=shadow, **settings)
        self._every = every

    @property
    def decision(self) -> Any:
        """The last decision."""
        return self.watch.decision

    def before_training(self, model: Any) -> Any:
        """A training begins."""
        self.watch.begin()
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
        """A round has ended: XGBoost counts rounds from 0."""
        if (epoch + 1) % self._every:
            return False
        # of a cross-validation, pairs of mean and standard deviation
        last = {f"{data}-{name}": values[-1] for data, of_data in evals_log.items() for name, values in of_data.items()}
        return self.watch.report({name: value[0] if isinstance(value, tuple) else value for name, value in last.items()}, epoch + 1)

    def after_training(self, model: Any) -> Any:
        """The training has ended."""
        self.watch.end()
        return model

"""A callback for LightGBM that stops a training when its forecast says that it will not win.

::

    stop = ForetellCallback("valid_0-auc", history="runs.jsonl", config=params)
    lightgbm.train(params, train, 500, valid_sets=[test], callbacks=[stop])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lightgbm.callback import CallbackEnv, EarlyStopException

from ._callback import CallbackSettings, Monitor

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction


class ForetellCallback:
    """Stops the training when its forecast says that it will not win. Put it after LightGBM's own callbacks.

    Parameters
    ----------
    monitor
        The name of the metric, with that of its data: `valid_0-auc`.
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

    #: LightGBM calls it after its own callbacks, and after each round.
    order, before_iteration = 40, False

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
        self.watch = Monitor(monitor, history, direction=direction, config=config, shadow=shadow, **settings)
        self._every = every

    @property
    def decision(self) -> Any:
        """The last decision."""
        return self.watch.decision

    def __call__(self, env: CallbackEnv) -> None:
        """A round has ended: LightGBM counts rounds from 0."""
        if env.iteration == env.begin_iteration:
            self.watch.begin()
        stop, evaluated = False, env.evaluation_result_list or []
        if (env.iteration + 1) % self._every == 0:
            stop = self.watch.report({f"{data}-{name}": value for data, name, value, *_ in evaluated}, env.iteration + 1)
        if stop or env.iteration + 1 == env.end_iteration:
            self.watch.end()
        if stop:
            raise EarlyStopException(env.iteration, list(evaluated))

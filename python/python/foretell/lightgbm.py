"""A callback for LightGBM that stops runs that will not win."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lightgbm import Booster
from lightgbm.callback import CallbackEnv, EarlyStopException

from ._callback import Rounds


class ForetellCallback(Rounds):
    """Stops LightGBM training if the forecast shows that the run will not win.

    `monitor` names the data set and the metric, for example `valid_0-auc`. By default, decisions are made every 10 rounds. To change
    this, set `every`.

    >>> import lightgbm, numpy as np
    >>> from foretell.lightgbm import ForetellCallback
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> train = lightgbm.Dataset(x, x[:, 0])
    >>> history = [[0.9, 0.5, 0.3], [0.8, 0.4, 0.2], [0.7, 0.3, 0.1]]
    >>> stop = ForetellCallback("training-l2", history, direction="minimize", every=5)
    >>> params = {"objective": "regression", "verbose": -1}
    >>> booster = lightgbm.train(params, train, 15, valid_sets=[train], callbacks=[stop])
    >>> stop.watch.steps
    [5.0, 10.0, 15.0]
    """

    #: LightGBM calls it after each round.
    before_iteration = False

    def __new__(cls, *given: Any, **named: Any) -> ForetellCallback:
        callback = super().__new__(cls)
        # after the round is recorded (20), and before LightGBM's own early stopping (30), which ends the round by an exception. LightGBM
        # ignores an attribute of the class
        callback.order = 25
        return callback

    order: int

    def __call__(self, env: CallbackEnv) -> None:
        """LightGBM calls this after each round. The first round is 0."""
        if env.iteration == env.begin_iteration:
            self.watch.begin(after=env.begin_iteration)
            _when_ended(env.model, self._close_early)
        self._seen = env.iteration + 1
        evaluated = env.evaluation_result_list or []
        stop = self._report(env.iteration + 1, (tuple(row)[:3] for row in evaluated))
        if env.iteration + 1 == env.end_iteration:
            self.watch.close()
        if stop:
            raise EarlyStopException(env.iteration, list(evaluated))

    def _close_early(self, model: Any) -> None:
        """Closes a run that ended before its last round."""
        trained = model.current_iteration() if isinstance(model, Booster) else 0
        if trained > self._seen:
            # a callback of an earlier order ended the training in a round that this one has not seen
            values = {f"{data}-{metric}": value for data, metric, value, *_ in [*model.eval_train(), *model.eval_valid()]}
            if self.watch.monitor in values:
                self.watch.note(values[self.watch.monitor], trained)
        self.watch.close(early=True)


def _when_ended(model: Any, call: Callable[[Any], None]) -> None:
    """Calls `call` with the model when LightGBM sets the model's best iteration, as it does after a training that did not reach its last round. It calls no
    callback then."""
    plain = type(model)

    class Watched(plain):  # type: ignore[misc, valid-type]
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name in ("best_iteration", "best_score"):
                super().__setattr__("__class__", plain)
                call(self)

    model.__class__ = Watched

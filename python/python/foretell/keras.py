"""A callback for Keras that stops a training when its forecast says that it will not win.

::

    stop = ForetellCallback("val_accuracy", history="runs.jsonl", config={"lr": 0.01})
    model.fit(x, y, epochs=20, validation_data=(a, b), callbacks=[stop])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import keras

from ._callback import CallbackSettings, Monitor

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction


class ForetellCallback(keras.callbacks.Callback):
    """Stops the training when its forecast says that it will not win.

    Epochs without validation are passed over (`validation_freq`). The forecast and the reason are put into the logs as `foretell_forecast` and `foretell_probability`, so that `History` and loggers
    that come after this callback keep them.

    Parameters
    ----------
    monitor
        The name of the metric in the logs.
    history
        Finished runs to learn from: a path or a glob, a study's folder, a frame, lists; see `foretell.Forecaster.fit`. To a file that ends
        in `.jsonl` this run is added when it ends, so that the next one learns from it; the file may still be missing.
    direction
        `'maximize'` or `'minimize'`. Default: by the metric's name.
    config
        The configuration of this run.
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
        shadow: bool = False,
        **settings: Unpack[CallbackSettings],
    ) -> None:
        super().__init__()
        self.watch = Monitor(monitor, history, direction=direction, config=config, shadow=shadow, **settings)

    @property
    def decision(self) -> Any:
        """The last decision."""
        return self.watch.decision

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """A new training begins."""
        self.watch.begin()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """An epoch has ended: its metric is judged. Keras counts epochs from 0, curves from 1."""
        logs = {} if logs is None else logs
        if self.watch.monitor not in logs:
            if self.watch.monitor.startswith("val_") and not any(str(name).startswith("val_") for name in logs):
                return  # an epoch without validation
            raise self.watch.missing(logs)
        if self.watch.report(logs, epoch + 1):
            self.model.stop_training = True
        logs.update(self.watch.numbers())

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """The training has ended."""
        self.watch.end((self.params or {}).get("epochs"))

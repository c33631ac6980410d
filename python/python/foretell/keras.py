"""A callback for Keras that stops runs that will not win."""

from __future__ import annotations

from typing import Any

import keras

from ._callback import Callback


class ForetellCallback(Callback, keras.callbacks.Callback):
    """Stops `model.fit` when the forecast shows that the run will not win.

    Epochs without validation are skipped (`validation_freq`). The callback adds `foretell_forecast` and `foretell_probability` to the logs
    of each epoch. `History` contains them, and so do loggers listed after this callback.

    >>> import keras, numpy as np
    >>> from foretell.keras import ForetellCallback
    >>> model = keras.Sequential([keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> x = np.linspace(0, 1, 32)[:, None]
    >>> stop = ForetellCallback("val_loss", history=[[90, 50, 30], [80, 40, 20], [70, 30, 10]])
    >>> log = model.fit(x, x, epochs=3, validation_data=(x, x), callbacks=[stop], verbose=0)
    >>> stop.watch.steps
    [1.0, 2.0, 3.0]
    """

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Keras calls this when a run starts."""
        self.watch.begin()
        self._epoch: int | None = None

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Keras calls this before each epoch."""
        if self._epoch is None:
            self.watch.continues_after(epoch)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Keras calls this after each epoch. The first epoch is 0."""
        logs = {} if logs is None else logs
        self._epoch = epoch
        if self.watch.monitor not in logs:
            if self.watch.monitor.startswith("val_") and not any(str(name).startswith("val_") for name in logs):
                return  # an epoch without validation
            raise self.watch.missing(logs)
        if self.watch.report(self.watch.value_in(logs), epoch + 1):
            self.model.stop_training = True
        logs.update(self.watch.numbers())

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Keras calls this when a run ends."""
        planned = (self.params or {}).get("epochs")
        self.watch.close(early=planned is not None and self._epoch is not None and self._epoch + 1 < planned)

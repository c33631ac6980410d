"""A callback for Lightning that stops a training when its forecast says that it will not win.

::

    stop = ForetellCallback("val_loss", history="old_runs.csv", config={"lr": 0.01})
    trainer = L.Trainer(max_epochs=20, callbacks=[stop])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

try:
    import lightning.pytorch as pl
except ImportError:  # the older package
    import pytorch_lightning as pl

from ._callback import Monitor


class ForetellCallback(pl.Callback):
    """Stops the training when its forecast says that it will not win.

    Forecast and probability are logged by the trainer's loggers. Under DDP the first rank decides and all ranks follow.

    Parameters
    ----------
    monitor
        The name of a metric that the model logs during validation.
    history
        Finished runs to learn from: a path, a study's folder, a frame, lists; see `foretell.Forecaster.fit`.
    direction
        `'maximize'` or `'minimize'`. Default: by the metric's name.
    config
        The configuration of this run.
    shadow
        Decide and log, but do not stop.
    settings
        Those of `foretell.judge.Judge`, such as `min_steps` and `stop_probability`.
    """

    def __init__(
        self,
        monitor: str,
        history: Any,
        *,
        direction: str | None = None,
        config: Mapping[str, Any] | None = None,
        shadow: bool = False,
        **settings: Any,
    ) -> None:
        self.watch = Monitor(monitor, history, direction=direction, config=config, shadow=shadow, **settings)

    @property
    def decision(self) -> Any:
        """The last decision; on ranks other than the first `None`."""
        return self.watch.decision

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """A validation has ended: its metric is judged."""
        if trainer.sanity_checking or trainer.state.fn != "fit":
            return
        # every rank looks for the metric, so that a wrong name is an error everywhere and not a hang
        if self.watch.monitor not in trainer.callback_metrics:
            self.watch.report(trainer.callback_metrics, trainer.current_epoch + 1)
        stop = False
        if trainer.is_global_zero:
            stop = self.watch.report(trainer.callback_metrics, trainer.current_epoch + 1)
            for logger in trainer.loggers:
                logger.log_metrics(self.watch.numbers(), step=trainer.global_step)
        # true if it is on any rank; the first alone decides
        stop = trainer.strategy.reduce_boolean_decision(stop, all=False)
        trainer.should_stop = trainer.should_stop or stop

    def state_dict(self) -> dict[str, Any]:
        """The curve so far, for a checkpoint."""
        return {"steps": self.watch.steps, "values": self.watch.values}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The curve of a checkpoint."""
        self.watch.steps, self.watch.values = list(state_dict["steps"]), list(state_dict["values"])

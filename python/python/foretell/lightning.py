"""A callback for Lightning that stops a training when its forecast says that it will not win.

::

    stop = ForetellCallback("val_loss", history="runs.jsonl", config={"lr": 0.01})
    trainer = L.Trainer(max_epochs=20, callbacks=[stop])
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

try:
    import lightning.pytorch as pl
except ImportError:  # the older package
    import pytorch_lightning as pl

from ._callback import CallbackSettings, Monitor

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction


class ForetellCallback(pl.Callback):
    """Stops the training when its forecast says that it will not win.

    A metric of the validation is judged after each validation, also where there are several an epoch or one in several epochs; one
    that is logged in training alone, at the end of each epoch. Steps are epochs, parts of them as fractions.

    Forecast and probability are logged by the trainer's loggers. Under DDP the first rank decides and all ranks follow.

    Parameters
    ----------
    monitor
        The name of a metric that the model logs.
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
        self.watch = Monitor(monitor, history, direction=direction, config=config, shadow=shadow, **settings)

    @property
    def decision(self) -> Any:
        """The last decision; on ranks other than the first `None`."""
        return self.watch.decision

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """A training begins; a checkpoint's curve comes after this."""
        if stage == "fit":
            self.watch.begin()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Whether the metric is one of the validation shows at the first one."""
        self._is_of_validation: bool | None = None
        self._batches, self._is_new = 0, False

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """One more batch of this epoch."""
        self._batches = batch_idx + 1

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """What is there before the first validation is not of it."""
        self._was_there = self.watch.monitor in trainer.callback_metrics

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """A validation has ended: its metric is judged."""
        if trainer.sanity_checking or trainer.state.fn != "fit":
            return
        if self._is_of_validation is None:
            self._is_of_validation = self.watch.monitor in trainer.callback_metrics and not self._was_there
        self._is_new = self._is_of_validation
        batches = trainer.num_training_batches
        # how much of an epoch it is shows only where its length is known; else its last validation counts, at its end
        if self._is_new and math.isfinite(batches):
            self._look(trainer, round(trainer.current_epoch + self._batches / batches, 6))

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """An epoch has ended: a metric of the training is judged."""
        if self._is_of_validation is None and trainer.enable_validation and self.watch.monitor not in trainer.callback_metrics:
            return  # the first validation is still to come
        # every rank looks for the metric, so that a wrong name is an error everywhere and not a hang
        if self.watch.monitor not in trainer.callback_metrics:
            if not trainer.enable_validation:
                raise ValueError(
                    f"{self.watch.monitor!r} was not logged, and the trainer runs no validation (limit_val_batches=0, or no validation data): "
                    f"monitor a metric of the training ({', '.join(sorted(trainer.callback_metrics)) or 'it logs none'}), or validate"
                )
            raise self.watch.missing(trainer.callback_metrics)
        if self._is_new or not self._is_of_validation:
            self._look(trainer, trainer.current_epoch + 1)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """The training has ended."""
        if trainer.is_global_zero:
            most = trainer.max_epochs
            self.watch.end(most if most is not None and most > 0 else None)

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        """Ctrl-C or an error has ended the training: it is kept as one that failed, until it is continued."""
        if trainer.is_global_zero and trainer.state.fn == "fit":
            self.watch.end(failed=True)

    def _look(self, trainer: pl.Trainer, step: float) -> None:
        """Judges the metric. All ranks come here together: they wait for each other."""
        stop, self._is_new = False, False
        if trainer.is_global_zero:
            stop = self.watch.report(trainer.callback_metrics, step)
            for logger in trainer.loggers:
                logger.log_metrics(self.watch.numbers(), step=trainer.global_step)
        # true if it is on any rank; the first alone decides
        stop = trainer.strategy.reduce_boolean_decision(stop, all=False)
        trainer.should_stop = trainer.should_stop or stop

    def state_dict(self) -> dict[str, Any]:
        """The curve so far, for a checkpoint."""
        return {"steps": list(self.watch.steps), "values": list(self.watch.values), "name": self.watch.name}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The curve of a checkpoint."""
        self.watch.steps, self.watch.values = list(state_dict["steps"]), list(state_dict["values"])
        self.watch.name = state_dict.get("name", self.watch.name)

"""A callback for Lightning that stops runs that will not win."""

from __future__ import annotations

import math
from typing import Any

try:
    import lightning.pytorch as pl
except ImportError:  # the older package
    import pytorch_lightning as pl

from ._callback import Callback


class ForetellCallback(Callback, pl.Callback):
    """Stops `Trainer.fit` when the forecast shows that the run will not win.

    It decides after each validation. If the metric is logged in training only, it decides after each epoch. Steps are epochs; a
    validation within an epoch gets a fraction. The trainer's loggers record `foretell_forecast` and `foretell_probability`. With DDP, the
    first rank makes the decisions for all ranks.

    >>> import lightning as L, torch
    >>> from foretell.lightning import ForetellCallback
    >>> class Line(L.LightningModule):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = torch.nn.Linear(1, 1)
    ...     def training_step(self, batch):
    ...         loss = ((self.layer(batch) - batch) ** 2).mean()
    ...         self.log("train_loss", loss)
    ...         return loss
    ...     def configure_optimizers(self):
    ...         return torch.optim.SGD(self.parameters(), 0.1)
    >>> stop = ForetellCallback("train_loss", history=[[90, 50, 30], [80, 40, 20], [70, 30, 10]])
    >>> quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    >>> trainer = L.Trainer(max_epochs=3, accelerator="cpu", callbacks=[stop], **quiet)
    >>> trainer.fit(Line(), torch.utils.data.DataLoader(torch.rand(8, 1)))
    >>> stop.watch.steps
    [1.0, 2.0, 3.0]
    """

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Lightning calls this when a run starts, before it loads a checkpoint."""
        if stage == "fit":
            self.watch.begin()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Lightning calls this when training starts. The first validation shows whether it logs the metric."""
        self._is_of_validation: bool | None = None
        self._batches, self._is_new = 0, False
        # unless a checkpoint has restored the curve
        self.watch.continues_after(trainer.current_epoch)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Lightning calls this after each batch."""
        self._batches = batch_idx + 1

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Lightning calls this before a validation. A metric that exists by now is not one of the validation."""
        self._was_there = self.watch.monitor in trainer.callback_metrics

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Lightning calls this after a validation."""
        if trainer.sanity_checking or trainer.state.fn != "fit":
            return
        if self._is_of_validation is None:
            self._is_of_validation = self.watch.monitor in trainer.callback_metrics and not self._was_there
        self._is_new = self._is_of_validation
        batches = trainer.num_training_batches
        # without a known length of the epoch there is no fraction: its last validation is used, at its end
        if self._is_new and math.isfinite(batches):
            self._look(trainer, round(trainer.current_epoch + self._batches / batches, 6))

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Lightning calls this after each epoch."""
        if self._is_of_validation is None and trainer.enable_validation and self.watch.monitor not in trainer.callback_metrics:
            return  # the first validation is still to come
        # every rank looks for the metric, so that a wrong name is an error everywhere and not a hang
        if self.watch.monitor not in trainer.callback_metrics:
            if not trainer.enable_validation:
                raise ValueError(
                    f"the metric {self.watch.monitor!r} was not logged, and the trainer does not validate (limit_val_batches=0, or no data). "
                    f"Set monitor= to a training metric ({', '.join(sorted(trainer.callback_metrics)) or 'it logs none'}), or validate"
                )
            raise self.watch.missing(trainer.callback_metrics)
        if self._is_new or not self._is_of_validation:
            self._look(trainer, trainer.current_epoch + 1)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Lightning calls this when a run ends."""
        if trainer.is_global_zero:
            most = trainer.max_epochs or 0
            self.watch.close(early=trainer.should_stop and bool(self.watch.steps) and self.watch.steps[-1] < most)

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        """Lightning calls this after Ctrl-C or an error. If the run is resumed, its record is replaced."""
        if trainer.is_global_zero and trainer.state.fn == "fit":
            self.watch.close(exception)

    def _look(self, trainer: pl.Trainer, step: float) -> None:
        """Decides on the run. All ranks call this together, and wait for each other."""
        stop, self._is_new = False, False
        if trainer.is_global_zero:
            stop = self.watch.report(self.watch.value_in(trainer.callback_metrics), step)
            for logger in trainer.loggers:
                logger.log_metrics(self.watch.numbers(), step=trainer.global_step)
        # true if it is on any rank; the first alone decides
        stop = trainer.strategy.reduce_boolean_decision(stop, all=False)
        trainer.should_stop = trainer.should_stop or stop

    def state_dict(self) -> dict[str, Any]:
        """Lightning calls this to save the curve so far in a checkpoint."""
        return {"steps": list(self.watch.steps), "values": list(self.watch.values), "name": self.watch.name}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Lightning calls this to continue the curve of a checkpoint."""
        self.watch.steps, self.watch.values = list(state_dict["steps"]), list(state_dict["values"])
        self.watch.name = state_dict.get("name", self.watch.name)

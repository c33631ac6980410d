"""A callback for Hugging Face's `Trainer` that stops a training when its forecast says that it will not win.

::

    stop = ForetellCallback("eval_loss", history="old_runs.csv", config={"lr": 5e-5})
    trainer = Trainer(model, args, train_dataset=train, eval_dataset=test, callbacks=[stop])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ._callback import Monitor


class ForetellCallback(TrainerCallback):
    """Stops the training when its forecast says that it will not win.

    Forecast and probability are added to the last entry of `state.log_history`. Under DDP the first process decides and all follow.

    Parameters
    ----------
    monitor
        The name of the metric, with the trainer's `eval_` or without.
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
        monitor = monitor if monitor.startswith("eval_") else f"eval_{monitor}"
        self.watch = Monitor(monitor, history, direction=direction, config=config, shadow=shadow, **settings)

    @property
    def decision(self) -> Any:
        """The last decision; in processes other than the first `None`."""
        return self.watch.decision

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any
    ) -> None:
        """A training begins, or goes on from a checkpoint: its curve so far is in the log history."""
        self.watch.begin()
        for entry in state.log_history:
            if self.watch.monitor in entry:
                self.watch.steps.append(float(entry["epoch"]))
                self.watch.values.append(float(entry[self.watch.monitor]))

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> None:
        """An evaluation has ended: its metric is judged at the epoch, a whole one or a part."""
        metrics = metrics or {}
        # every process looks for the metric, so that a wrong name is an error everywhere and not a hang
        stop = False
        if state.is_world_process_zero or self.watch.monitor not in metrics:
            stop = self.watch.report(metrics, round(float(state.epoch or 0), 6))
            if state.log_history:
                state.log_history[-1].update(self.watch.numbers())
        control.should_training_stop = control.should_training_stop or _of_first(stop, args)


def _of_first(stop: bool, args: TrainingArguments) -> bool:
    """What the first process says, in all of them."""
    if args.world_size <= 1:
        return stop
    import torch

    told = torch.tensor([float(stop)], device=args.device)
    torch.distributed.broadcast(told, src=0)
    return bool(told.item())

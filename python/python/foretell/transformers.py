"""A callback for Hugging Face's `Trainer` that stops a training when its forecast says that it will not win.

::

    stop = ForetellCallback("eval_loss", history="runs.jsonl", config={"lr": 5e-5})
    trainer = Trainer(model, args, train_dataset=train, eval_dataset=test, callbacks=[stop])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ._callback import CallbackSettings, Monitor

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction


class ForetellCallback(TrainerCallback):
    """Stops the training when its forecast says that it will not win.

    Forecast and probability are added to the last entry of `state.log_history`. Under DDP the first process decides and all follow.

    Parameters
    ----------
    monitor
        The name of the metric, with the trainer's `eval_` or without; of several evaluation sets with the set's name, as in
        `eval_hard_loss`. Evaluations that have no such metric are passed over, as are those outside a training.
    history
        Finished runs to learn from: a path or a glob, a study's folder, a frame, lists; see `foretell.Forecaster.fit`. To a file that ends
        in `.jsonl` this run is added when it ends, so that the next one learns from it; the file may still be missing.
    direction
        `'maximize'` or `'minimize'`. Default: by the metric's name.
    config
        The configuration of this run. `Trainer.hyperparameter_search` adds the parameters of each trial.
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
        self._training = self._seen = False
        #: The step of an evaluation without the metric, until there is one with it.
        self._missed: int | None = None

    @property
    def decision(self) -> Any:
        """The last decision; in processes other than the first `None`."""
        return self.watch.decision

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any
    ) -> None:
        """A training begins, or goes on from a checkpoint: its curve so far is in the log history."""
        if self._training:
            # the training before this one ended in an error, or another pruner ended it
            self.watch.end(failed=True)
        self.watch.begin(state.trial_params if state.is_hyper_param_search else None)
        self._training, self._seen, self._missed = True, False, None
        for entry in state.log_history:
            if (name := self._name(entry)) is not None and (not self.watch.steps or entry["epoch"] > self.watch.steps[-1]):
                self.watch.steps.append(float(entry["epoch"]))
                self.watch.values.append(float(entry[name]))

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any
    ) -> None:
        """The training has ended."""
        self._training = False
        # in processes other than the first no value is kept
        if state.is_world_process_zero:
            self.watch.end(args.num_train_epochs if args.max_steps <= 0 else None)

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> None:
        """An evaluation has ended: its metric is judged at the epoch, a whole one or a part."""
        metrics, name = metrics or {}, self._name(metrics or {})
        if not self._training:
            return
        # every process looks for the metric, so that a wrong name is an error everywhere and not a hang
        if name is None:
            # the sets of a dictionary are evaluated one after another at one step
            if self._missed is not None and self._missed != state.global_step:
                raise self.watch.missing(metrics)
            self._missed = state.global_step if not self._seen else None
            return
        self._seen, self._missed = True, None
        stop = False
        if state.is_world_process_zero:
            stop = self.watch.report({self.watch.monitor: metrics[name]}, round(float(state.epoch or 0), 6))
            if state.log_history:
                state.log_history[-1].update(self.watch.numbers())
        control.should_training_stop = control.should_training_stop or _of_first(stop, args)

    def _name(self, metrics: Mapping[str, Any]) -> str | None:
        """What the metric is called among `metrics`."""
        named = (self.watch.monitor, f"eval_{self.watch.monitor}")
        return next((name for name in named if name in metrics), None)


def _of_first(stop: bool, args: TrainingArguments) -> bool:
    """What the first process says, in all of them."""
    if args.world_size <= 1:
        return stop
    import torch

    told = torch.tensor([float(stop)], device=args.device)
    torch.distributed.broadcast(told, src=0)
    return bool(told.item())

"""A callback for the `Trainer` of Hugging Face that stops runs that will not win."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ._callback import Callback


class ForetellCallback(Callback, TrainerCallback):
    """Stops `Trainer.train` when the forecast shows that the run will not win.

    You can leave out the `eval_` prefix of `monitor`. With several evaluation sets, include the name of the set, for example
    `eval_hard_loss`. The callback skips evaluations without the metric, and evaluations outside `train`. It adds `foretell_forecast` and
    `foretell_probability` to the last entry of `state.log_history`. `Trainer.hyperparameter_search` adds the parameters of each trial to
    `config`. With DDP, the first process makes the decisions for all processes.

    >>> import contextlib, tempfile, torch
    >>> from transformers import Trainer, TrainingArguments
    >>> from foretell.transformers import ForetellCallback
    >>> class Line(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = torch.nn.Linear(1, 1)
    ...     def forward(self, x, labels):
    ...         return {"loss": ((self.layer(x) - labels) ** 2).mean(), "logits": x}
    >>> data = [{"x": torch.ones(1), "labels": torch.ones(1)}] * 8
    >>> args = TrainingArguments(tempfile.mkdtemp(), num_train_epochs=3, eval_strategy="epoch", save_strategy="no",
    ...                          report_to="none", use_cpu=True, disable_tqdm=True)
    >>> stop = ForetellCallback("eval_loss", history=[[90, 50, 30], [80, 40, 20], [70, 30, 10]])
    >>> with contextlib.redirect_stdout(None):
    ...     trained = Trainer(Line(), args, train_dataset=data, eval_dataset=data, callbacks=[stop]).train()
    >>> stop.watch.steps
    [1.0, 2.0, 3.0]
    """

    #: Whether a run is under way, and whether it has reported the metric.
    _training = _seen = False
    #: The step of an evaluation without the metric, until there is one with it.
    _missed: int | None = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any
    ) -> None:
        """The trainer calls this when a run starts or resumes. The log history contains the curve so far."""
        self.watch.begin(state.trial_params if state.is_hyper_param_search else None)
        self._training, self._seen, self._missed = True, False, None
        for entry in state.log_history:
            if (name := self._name(entry)) is not None and (not self.watch.steps or entry["epoch"] > self.watch.steps[-1]):
                self.watch.steps.append(float(entry["epoch"]))
                self.watch.values.append(float(entry[name]))
        self.watch.continues_after(float(state.epoch or 0))

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any
    ) -> None:
        """The trainer calls this when a run ends."""
        self._training = False
        # only the first process keeps values
        if state.is_world_process_zero:
            self.watch.close(early=state.global_step < state.max_steps)

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> None:
        """The trainer calls this after each evaluation. Steps are epochs, with fractions."""
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
            stop = self.watch.report(float(metrics[name]), round(float(state.epoch or 0), 6))
            if state.log_history:
                state.log_history[-1].update(self.watch.numbers())
        control.should_training_stop = control.should_training_stop or _of_first(stop, args)

    def _name(self, metrics: Mapping[str, Any]) -> str | None:
        """The name of the metric in `metrics`."""
        named = (self.watch.monitor, f"eval_{self.watch.monitor}")
        return next((name for name in named if name in metrics), None)


def _of_first(stop: bool, args: TrainingArguments) -> bool:
    """The decision of the first process, in all processes."""
    if args.world_size <= 1:
        return stop
    import torch

    told = torch.tensor([float(stop)], device=args.device)
    torch.distributed.broadcast(told, src=0)
    return bool(told.item())

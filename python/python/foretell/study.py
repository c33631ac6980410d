"""A search: ask for a trial, report its values, tell how it ended."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ._foretell import Study as _Core
from ._runs import collect

_log = logging.getLogger("foretell")


class Trial:
    """A training to do: train `config` from epoch `start` + 1 to epoch `end`, and report each epoch's value."""

    __slots__ = ("_study", "config", "end", "last", "number", "reason", "seed", "start", "stopped")

    def __init__(self, study: Study, number: int, config: dict[str, Any], seed: int, start: int, end: int) -> None:
        self._study = study
        self.number = number
        self.config = config
        self.seed = seed
        #: The epoch that it has been trained to already; 0 for a new trial.
        self.start = start
        #: The epoch to train to.
        self.end = end
        #: The last decision as a dict; `None` before the first.
        self.last: dict[str, Any] | None = None
        #: Whether the study has stopped it.
        self.stopped = False
        #: Why, in one line.
        self.reason: str | None = None

    def report(self, value: float, step: int | None = None, **metrics: float) -> bool:
        """Reports the value of the study's metric, and whatever else was measured; returns whether to stop now."""
        step = self.start + 1 if step is None else step
        if isinstance(step, bool) or step != int(step) or step < 1:
            raise ValueError(f"step {step!r}: steps are whole numbers from 1 on")
        stop, decision = self._study._core.report(self.number, int(step), float(value), metrics)
        self.start = max(self.start, int(step))
        if decision is not None:
            self.last = decision
        if stop and not self.stopped:
            self.stopped = True
            self.reason = why(decision)
            _log.info("trial %d stopped at step %d: %s", self.number, step, self.reason)
        return stop

    def epochs(self) -> Iterator[int]:
        """The epochs to train, ended early when the study stops the trial."""
        for epoch in range(self.start + 1, self.end + 1):
            if self.stopped:
                return
            yield epoch

    def tell(self, failure: object = None) -> None:
        """The training has ended; `failure` says what went wrong, if anything did."""
        self._study._core.tell(self.number, None if failure is None else str(failure) or repr(failure))

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, Exception):
            self.tell(f"{type(error).__name__}: {error}")
        elif error is None:
            self.tell()
        return False

    def __repr__(self) -> str:
        state = "stopped" if self.stopped else f"epoch {self.start} of {self.end}"
        return f"Trial({self.number}, {self.config}, {state})"


class Study:
    """A search that stops trainings which will not win.

    >>> study = Study(None, {"lr": "log:1e-4:1"}, metric="val_acc", epochs=8, trials=9, burn_in=4)
    >>> for trial in study:
    ...     with trial:
    ...         for epoch in trial.epochs():
    ...             _ = trial.report((1 - abs(trial.config["lr"] - 0.1)) * (1 - 0.5**epoch), epoch)
    >>> study.best["score"] > 0.5
    True

    Parameters
    ----------
    folder
        Where the study is kept: the same folder goes on with the same study, also after a crash. `foretell study` shows it.
        `None` keeps it in memory.
    space
        The parameters by name, written as the command's `--param` has them: `'log:1e-4:1'`, `'int:1:8'`, `'float:0:0.9'`,
        `'choice:sgd,adam'`, `'float:0:1 if opt=sgd'`; or typed: `{'kind': 'log', 'lo': 1e-4, 'hi': 1}`. Left out, the study in the
        folder is opened as it is.
    metric, direction
        The metric's name, and which way is better where the name does not tell: `'maximize'` or `'minimize'`.
    epochs, trials, burn_in
        How long a whole training takes, how many trials there are in all, and how many are trained to their end before any is stopped.
    learn_from
        Earlier runs to learn from, too, as `Forecaster.fit` takes them: a path, a study's folder, a frame, lists.
    settings
        Every other choice of `foretell search`, by the name of its flag: `sampler`, `scheduler`, `policy`, `caution`, `budget_epochs`,
        `enqueue`, `stop_probability`, `predictor`, `score`, `seed`, … (`foretell search --help` names them all).
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        space: Mapping[str, str] | None = None,
        *,
        metric: str | None = None,
        direction: str | None = None,
        epochs: int | None = None,
        trials: int | None = None,
        burn_in: int | None = None,
        learn_from: Any = None,
        **settings: Any,
    ) -> None:
        given = {
            "space": dict(space) if isinstance(space, Mapping) else space,
            "metric": metric,
            "direction": direction,
            "epochs": epochs,
            "trials": trials,
            "burn_in": burn_in,
            **settings,
        }
        runs = None
        if learn_from is not None:
            runs = collect(learn_from, direction=direction, metric=metric)
            given["learn_from"] = []
        self.folder = None if folder is None else Path(folder)
        self._core = _Core.open(self.folder, given, runs)

    def ask(self) -> Trial | None:
        """The next training to do; `None` while there is none: until another ends, or for good (`done`)."""
        start = self._core.ask()
        return None if start is None else Trial(self, *start)

    def report(self, trial: int, step: int, value: float, **metrics: float) -> bool:
        """Reports the value of a trial's metric at `step`; returns whether to stop that training."""
        return self._core.report(trial, step, value, metrics)[0]

    def tell(self, trial: int, failure: str | None = None) -> None:
        """A training has ended; `failure` says what went wrong, if anything did."""
        self._core.tell(trial, failure)

    @property
    def best(self) -> dict[str, Any] | None:
        """The best trial so far: its `trial`, `score` and `config`."""
        best = self._core.best
        return None if best is None else dict(zip(("trial", "score", "config"), best))

    @property
    def done(self) -> bool:
        """Whether nothing runs and there is nothing left to run."""
        return self._core.done

    @property
    def trials(self) -> list[dict[str, Any]]:
        """All trials: `number`, `config`, `state`, `score`, `steps`, `values` and the last `decision`."""
        return self._core.trials()

    def __iter__(self) -> Iterator[Trial]:
        while (trial := self.ask()) is not None:
            yield trial

    def __repr__(self) -> str:
        settings, best = self._core.settings, self.best
        where = "in memory" if self.folder is None else f"in {self.folder}"
        score = "none yet" if best is None else f"{best['score']:.4g}"
        count = len(self._core.trials())
        return f"Study({where}, {count} of {settings['trials']} trials of `{settings['metric']}`, best {score})"


def why(decision: dict[str, Any] | None) -> str:
    """The reason of a decision, in one line."""
    if decision is None:
        return "it reported past its last step"
    reason = decision["reason"]
    text = next(iter(reason.values())) if isinstance(reason, dict) else str(reason).replace("_", " ")
    forecast = decision.get("forecast")
    if forecast is not None:
        text += f": forecast {forecast['mean']:.4g} ± {forecast['sd']:.2g}"
    if decision.get("incumbent") is not None and decision.get("probability") is not None:
        text += f", no better than {decision['incumbent']:.4g} with {100 * decision['probability']:.1f} %"
    return text

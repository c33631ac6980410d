"""What every study can do, whoever keeps it: go through its trials, run an objective, show what came out."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

from .space import Space

_log = logging.getLogger("foretell")

#: What an objective may return.
Objective = Callable[["Trial"], "float | None"]
FrameKind = Literal["pandas", "polars", "dicts"]
State = Literal["running", "interrupted", "paused", "completed", "stopped", "failed"]


class _Halt(BaseException):
    """Ends a thread's training in the middle, after Ctrl-C; its trial stays open, so that the study goes on with it."""


class Best(TypedDict):
    """The best trial so far."""

    trial: int
    score: float
    config: dict[str, Any]


class TrialRecord(TypedDict):
    """What is known of a trial."""

    number: int
    config: dict[str, Any]
    state: State
    #: What it counts with; `None` without a result.
    score: float | None
    steps: list[float]
    values: list[float]
    #: The last decision.
    decision: dict[str, Any] | None
    #: Why it failed.
    error: str | None


class Trial:
    """A training to do: train `config` from epoch `start` + 1 to epoch `end`, and report each epoch's value."""

    __slots__ = ("_ends", "_first", "_study", "config", "end", "last", "number", "reason", "reports", "seed", "start", "stopped")

    def __init__(self, study: Search, number: int, config: dict[str, Any], seed: int, start: int, end: int) -> None:
        self._study, self._first = study, start
        #: Whether the call that runs it has ended.
        self._ends: Callable[[], bool] = bool
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
        #: How many values it has reported here.
        self.reports = 0

    def report(self, value: float, step: int | None = None, **metrics: float) -> bool:
        """Reports the value of the study's metric, and whatever else was measured; returns whether to stop now."""
        step = self.start + 1 if step is None else step
        if isinstance(step, bool) or step != int(step) or step < 1:
            raise ValueError(f"step {step!r}: steps are whole numbers from 1 on")
        if self._ends():
            raise _Halt
        stop, decision = self._study._report(self.number, int(step), float(value), metrics)
        self.start = max(self.start, int(step))
        self.reports += 1
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

    @property
    def checkpoints(self) -> Path | None:
        """A folder of its own to keep checkpoints in, made when it is asked for; `None` for a study without a folder. A trial whose
        `start` is above 0 goes on from there."""
        folder = self._study.folder
        if folder is None:
            return None
        # the command's own place for them
        path = folder / "trials" / f"{self.number:04}" / "checkpoints"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def _again(self) -> Trial:
        """The same training, not begun."""
        return Trial(self._study, self.number, self.config, self.seed, self._first, self.end)

    def tell(self, failure: object = None) -> None:
        """The training has ended; `failure` says what went wrong, if anything did."""
        self._study._tell(self.number, None if failure is None else str(failure) or repr(failure))

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> Literal[False]:
        if isinstance(error, Exception):
            self.tell(f"{type(error).__name__}: {error}")
        elif error is None:
            self.tell()
        return False

    def __repr__(self) -> str:
        state = "stopped" if self.stopped else f"epoch {self.start} of {self.end}"
        return f"Trial({self.number}, {self.config}, {state})"


class Search:
    """What `Study` and `RemoteStudy` share."""

    _space: Space
    #: The study's folder; `None` in memory, and behind a server.
    folder: Path | None = None
    #: Trainings that Ctrl-C ended: they begin again.
    _interrupted: list[Trial]
    #: Whether other processes have trials of it.
    _has_others = False
    #: How long a worker waits before it asks again, where others are at work on the last trials.
    _pause: float = 0.05

    def _ask(self) -> Trial | None:
        raise NotImplementedError

    def _report(self, trial: int, step: int, value: float, metrics: Mapping[str, float]) -> tuple[bool, dict[str, Any] | None]:
        raise NotImplementedError

    def _tell(self, trial: int, failure: str | None) -> None:
        raise NotImplementedError

    def _enqueue(self, queued: Any) -> None:
        raise NotImplementedError

    def _view(self) -> dict[str, Any]:
        """`settings`, `trials`, `rows` and `reports`."""
        raise NotImplementedError

    @property
    def done(self) -> bool:
        """Whether nothing runs and there is nothing left to run."""
        raise NotImplementedError

    @property
    def best(self) -> Best | None:
        """The best trial so far: its `trial`, `score` and `config`."""
        raise NotImplementedError

    def ask(self) -> Trial | None:
        """The next training to do; `None` while there is none: until another ends, or for good (`done`)."""
        return self._interrupted.pop(0) if self._interrupted else self._ask()

    def report(self, trial: int, step: int, value: float, **metrics: float) -> bool:
        """Reports the value of a trial's metric at `step`; returns whether to stop that training."""
        return self._report(trial, step, value, metrics)[0]

    def tell(self, trial: int, failure: str | None = None) -> None:
        """A training has ended; `failure` says what went wrong, if anything did."""
        self._tell(trial, failure)

    def enqueue(self, config: Mapping[str, Any] | str) -> None:
        """Has a configuration tried next, such as `{"lr": 0.1}` or `"lr=0.1"`; the sampler chooses what it leaves open."""
        self._enqueue(self._space.queued(config))

    @property
    def settings(self) -> dict[str, Any]:
        """The settings, also those that were chosen for you."""
        return self._view()["settings"]

    @property
    def trials(self) -> list[TrialRecord]:
        """All trials: `number`, `config`, `state`, `score`, `steps`, `values`, the last `decision`, and `error`."""
        return self._view()["trials"]

    def optimize(
        self,
        objective: Objective,
        n_trials: int | None = None,
        *,
        n_jobs: int = 1,
        timeout: float | None = None,
        catch: type[Exception] | tuple[type[Exception], ...] = (),
    ) -> None:
        """Runs `objective` on one trial after another, until the study is done.

        The objective takes a `Trial`, trains `trial.config` and reports a value after each epoch (`for epoch in trial.epochs():
        trial.report(value, epoch)`). An objective that reports nothing returns its one value instead.

        Parameters
        ----------
        objective
            What to run.
        n_trials
            How many trainings to do in this call. Default: all that there are.
        n_jobs
            How many to do at a time, in threads of this process; -1: as many as there are cores. For several processes or machines
            see `foretell.connect`.
        timeout
            Seconds after which no new training is begun.
        catch
            Errors of the objective that only fail their trial. Any other ends the call, once its trial is recorded as failed.
        """
        if n_trials is not None and n_trials < 1:
            raise ValueError(f"n_trials={n_trials!r} is too small; the least is 1, and None does all")
        if n_jobs != -1 and n_jobs < 1:
            raise ValueError(f"n_jobs={n_jobs!r}: give the number of trainings at a time, or -1 for one per core")
        jobs = n_jobs if n_jobs > 0 else os.cpu_count() or 1
        crew = _Crew(self, objective, n_trials, timeout, catch)
        if jobs == 1:
            crew.work()
        else:
            crew.work_in_threads(jobs)

    def frame(self, kind: FrameKind = "pandas") -> Any:
        """A row for each trial, as `foretell study export --trials` writes it: state, score, epochs, forecast, reason, `param.…` and
        `metric.…`. `kind` is `'pandas'`, `'polars'` or `'dicts'`."""
        from ._tables import frame_of

        return frame_of(self._view()["rows"], kind)

    def curves(self, kind: FrameKind = "pandas") -> Any:
        """A row for each report: `trial`, `step`, `value`, and `metric.…` for each metric that came with it."""
        from ._tables import frame_of, report_rows

        return frame_of(report_rows(self._view()["reports"]), kind)

    def plot(self, kind: Literal["curves", "history", "parameters"] = "curves") -> Any:
        """Draws the study with matplotlib (`pip install 'foretell[plot]'`) and returns the figure: its `'curves'`, the `'history'` of the
        best against epochs trained, or the score against each of the `'parameters'`."""
        from ._plots import draw

        return draw(self._view(), kind)

    def __iter__(self) -> Iterator[Trial]:
        while (trial := self.ask()) is not None:
            yield trial

    def _described(self, where: str) -> str:
        view, best = self._view(), self.best
        score = "none yet" if best is None else f"{best['score']:.4g}"
        settings = view["settings"]
        return f"{where}, {len(view['trials'])} of {settings['trials']} trials of `{settings['metric']}`, best {score}"


class _Crew:
    """Those who run an objective together."""

    def __init__(
        self, study: Search, objective: Objective, n_trials: int | None, timeout: float | None, catch: Any
    ) -> None:
        self.study, self.objective, self.catch = study, objective, catch
        self.left = math.inf if n_trials is None else n_trials
        self.end = math.inf if timeout is None else time.monotonic() + timeout
        self.running = 0
        self.error: BaseException | None = None
        self.changed = threading.Condition()

    def work_in_threads(self, jobs: int) -> None:
        threads = [threading.Thread(target=self._work_aside, daemon=True) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                # a join that never times out cannot be ended by Ctrl-C
                while thread.is_alive():
                    thread.join(0.1)
        except BaseException as error:
            self._end(error)
            for thread in threads:
                thread.join(5.0)
            raise
        if self.error is not None:
            raise self.error

    def _work_aside(self) -> None:
        try:
            self.work()
        except _Halt:
            pass
        except BaseException as error:
            self._end(error)

    def _end(self, error: BaseException) -> None:
        with self.changed:
            self.error = self.error or error
            self.changed.notify_all()

    def work(self) -> None:
        while (trial := self._next()) is not None:
            try:
                self._train(trial)
            finally:
                with self.changed:
                    self.running -= 1
                    self.changed.notify_all()

    def _next(self) -> Trial | None:
        """The next trial; waits for it while others are at work."""
        with self.changed:
            while self.left > 0 and self.error is None and time.monotonic() < self.end:
                if (trial := self.study.ask()) is not None:
                    self.left -= 1
                    self.running += 1
                    return trial
                if self.study.done or not (self.running or self.study._has_others):
                    return None
                self.changed.wait(self.study._pause)
            return None

    def _is_interrupted(self) -> bool:
        # after another's error a training goes on to its end
        return self.error is not None and not isinstance(self.error, Exception)

    def _train(self, trial: Trial) -> None:
        try:
            with trial:
                trial._ends = self._is_interrupted
                value = self.objective(trial)
                if not trial.reports and not trial.stopped:
                    trial.report(_final(value), trial.end)
        except self.catch as error:
            _log.warning("trial %d failed: %s: %s", trial.number, type(error).__name__, error)
        except BaseException as error:
            if not isinstance(error, Exception):
                self.study._interrupted.append(trial._again())
            raise


def _final(value: Any) -> float:
    """What an objective returned that has reported nothing."""
    if value is None:
        raise TypeError("the objective reported nothing and returned None; call trial.report(value, epoch) after each epoch, or return a number")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"the objective returned {value!r}; return a number") from None


def why(decision: Mapping[str, Any] | None) -> str:
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

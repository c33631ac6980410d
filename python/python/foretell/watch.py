"""A loop over epochs that ends early if the run will not win."""

from __future__ import annotations

import gc
import numbers
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from ._callback import judge_and_additions
from ._foretell import direction_of
from ._run import Run
from .judge import Judge, Judgement, JudgeSettings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction


class watch(Iterable):
    """Iterates over `epochs`, and ends early if the run will not win. Call `report` once per epoch.

    The steps are those of the loop: `range(10, 20)` continues a run after ten epochs. If their values are not known, the run is recorded as
    partial, and is not compared with others.

    >>> import foretell
    >>> run = foretell.watch(range(3), history=[[0.1, 0.2, 0.3], [0.3, 0.6, 0.9], [0.2, 0.5, 0.8]], direction="maximize")
    >>> for epoch in run:
    ...     stop = run.report(0.1)
    >>> run.stopped
    False

    Parameters
    ----------
    epochs
        The iterable to loop over.
    history
        Completed runs to learn from: a path, a glob, the folder of a study, a frame or lists. See `foretell.Forecaster.fit`. If it is a
        `.jsonl` file, each run is added to it when it ends. The file is created if it does not exist.
    direction
        `'maximize'` or `'minimize'` (default: inferred from the name of the metric).
    metric
        The name of the metric that you report (default: `score`). In a `.jsonl` history, runs of other metrics are set aside.
    config
        The configuration of this run.
    judge
        A `foretell.Judge` shared by several runs, instead of `history` and `direction`.
    shadow
        Log decisions, but do not end the loop.
    append
        `False` leaves a `.jsonl` history unchanged.
    settings
        Settings of `foretell.Judge`, such as `min_steps`, `caution` and `stop_probability`.
    """

    def __init__(
        self,
        epochs: Iterable[Any],
        history: Any = None,
        direction: Direction | None = None,
        *,
        metric: str | None = None,
        config: Mapping[str, Any] | None = None,
        judge: Judge | None = None,
        shadow: bool = False,
        append: bool = True,
        **settings: Unpack[JudgeSettings],
    ) -> None:
        additions = None
        if judge is None:
            way = direction or (direction_of(metric) if metric is not None else None)
            if history is None or way is None:
                raise TypeError("watch requires history= and direction=, or judge=")
            judge, additions = judge_and_additions(history, way, metric, append, shadow, settings)
        elif shadow or history is not None or direction is not None or metric is not None or settings:
            raise TypeError("judge= cannot be combined with history=, direction= or other settings")
        self.epochs = epochs
        self._run = Run(judge, additions, config)

    @property
    def judge(self) -> Judge:
        """The judge that decides."""
        return self._run.judge

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of this run."""
        return self._run.config

    @property
    def values(self) -> list[float]:
        """The values reported so far."""
        return self._run.values

    @property
    def decision(self) -> Judgement | None:
        """The last decision; `None` before the first."""
        return self._run.decision

    @property
    def stopped(self) -> bool:
        """Whether the loop ends, or has ended, by a decision."""
        return self._run.stopped

    def report(self, value: float) -> bool:
        """Reports the value of the metric after an epoch. Returns whether the loop will end."""
        return self._run.report(value, self._step)

    def __iter__(self) -> Iterator[Any]:
        # a second loop is another run
        self._run.begin(self._run.config)
        before, self._step, known = 0.0, 0.0, 0
        try:
            for count, epoch in enumerate(self.epochs):
                if self.stopped:
                    break
                if count == 0:
                    counted_from, before = _counting(self.epochs, epoch, self._last_known())
                    self._run.continues_after(before)
                    known = len(self.values)
                self._step = _step(epoch, counted_from, self._step)
                yield epoch
                if len(self.values) - known != count + 1:
                    raise RuntimeError(f"report() was called {len(self.values) - known} times in {count + 1} epochs. Call report() once per epoch")
        except GeneratorExit:
            # the loop was left: by `break` or `return`, or by an exception in its body
            error = _unwinding(sys._getframe(1))
            self._run.close(error, early=True)
            raise
        except BaseException as error:
            self._run.close(error)
            raise
        self._run.close()

    def _last_known(self) -> float | None:
        """The last step of the runs that the judge has learned from."""
        return self.judge.last_step


def _counting(epochs: Iterable[Any], first: Any, last_known: float | None) -> tuple[int | None, float]:
    """Whether the elements of a loop count epochs from 0 or 1 (`None` if they are no numbers), and the number of epochs before the first.

    A loop that continues a run starts later. It counts from 1 if its last element is the last step of the other runs, else from 0.
    """
    if isinstance(first, bool) or not isinstance(first, numbers.Integral) or first < 0:
        return None, 0.0
    is_range = isinstance(epochs, range)
    stride = epochs.step if is_range else 1
    if first == 0 or first <= stride:
        return int(first > 0), 0.0
    counted_from = int(is_range and len(epochs) > 0 and float(epochs[-1]) == last_known)
    return counted_from, float(first - counted_from)


def _step(epoch: Any, counted_from: int | None, before: float) -> float:
    """The step of an epoch: how many epochs have been trained after it."""
    if counted_from is None or not isinstance(epoch, numbers.Integral):
        return before + 1
    step = float(epoch) + 1 - counted_from
    return step if step > before else before + 1


def _unwinding(frame: FrameType | None) -> BaseException | None:
    """The exception that is leaving `frame`. Python hides it from a generator that is closed meanwhile, but its traceback refers to the frame.

    Before Python 3.12, the traceback is not connected to the exception yet: then any exception counts as a failure.
    """
    for trace in gc.get_referrers(frame) if frame is not None else ():
        if isinstance(trace, TracebackType) and trace.tb_lasti == frame.f_lasti:
            found = (error for error in gc.get_referrers(trace) if isinstance(error, BaseException))
            return next(found, None) or RuntimeError("the loop was left by an exception")
    return None

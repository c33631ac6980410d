"""The record of a run: its curve, the decisions on it, and how it ended. All callbacks and `watch` keep one, and close it in the same way."""

from __future__ import annotations

import atexit
import logging
import math
import os
import signal
import sys
import threading
import uuid
import weakref
from collections.abc import Mapping
from types import FrameType
from typing import Any

from ._history import Additions
from .judge import Judge, Judgement

_log = logging.getLogger("foretell")

#: The runs under way in this process, which are closed when it ends.
_under_way: weakref.WeakSet[Run] = weakref.WeakSet()


class Run:
    """One run of a tool at a time.

    A tool calls `begin`, then `report` after each step, and `close` at the end. However a run ends, the history gets one record of it with
    its last value and step. A run that is still open when the next one begins, or when the process ends, was interrupted.
    """

    #: Also of a run whose constructor failed.
    _is_open = False

    def __init__(self, judge: Judge, additions: Additions | None, config: Mapping[str, Any] | None = None) -> None:
        self.judge, self._additions = judge, additions
        self._given = dict(config or {})
        self._reset(None)

    def _reset(self, config: Mapping[str, Any] | None) -> None:
        #: Its name in the history, also after it is continued from a checkpoint.
        self.name = uuid.uuid4().hex
        self.config = {**self._given, **(config or {})}
        self.steps: list[float] = []
        self.values: list[float] = []
        self.decision: Judgement | None = None
        self.stopped = False
        #: The epochs trained before this run, whose values it does not know.
        self._skipped = 0.0
        #: The last value and its step, if it comes between two decisions.
        self._last: tuple[float, float] | None = None

    def begin(self, config: Mapping[str, Any] | None = None, after: float = 0.0) -> None:
        """Starts a new run. The tool can add to its configuration. `after` is the number of steps trained before: see `continues_after`."""
        if self._is_open:
            self.close(interrupted=True)
        self._reset(config)
        self._is_open, self._process = True, os.getpid()
        _under_way.add(self)
        _end_at_sigterm()
        self.continues_after(after)

    def continues_after(self, steps: float) -> None:
        """The run starts after so many steps. If the history records a run of this configuration that broke off after them, the two are one
        run. Without the values before, its curve has no beginning, and is not compared with others."""
        if steps and self._additions is not None:
            self._close_broken(steps)
            self._join(self._additions.broken_off(self.config, steps, list(zip(self.steps, self.values))), steps)
        self._skipped = 0.0 if self.steps else steps

    def _close_broken(self, steps: float) -> None:
        """Closes the run that this one continues, where an error ended it in this process."""
        for other in list(_under_way):
            same = other is not self and other._additions is not None and self._additions is not None and other._additions.path == self._additions.path
            if same and other.config == self.config and other.steps and other.steps[-1] >= steps:
                other.close(interrupted=True)

    def _join(self, record: Mapping[str, Any] | None, steps: float) -> None:
        """Continues the run of an earlier record."""
        if record is None:
            return
        self.name = record["id"]
        if not self.steps:
            known = [(step, math.nan if value is None else value) for step, value in zip(record["steps"], record["values"]) if step <= steps]
            self.steps, self.values = [step for step, _ in known], [value for _, value in known]
        _log.info("the run continues after step %g, with the values of its record in the history", steps)

    @property
    def is_whole(self) -> bool:
        """Whether its curve has its beginning."""
        return self._skipped == 0.0

    def report(self, value: float, step: float) -> bool:
        """Takes the value after `step`, and decides. Returns whether to stop. Steps that are known already change nothing."""
        if self.steps and step <= self.steps[-1]:
            return self.stopped
        self._append(value, step)
        decision = self.judge.decide(self.values, self.config, self.steps, self.name) if self.is_whole else None
        if decision is not None:
            would, self.decision = self.decision is not None and self.decision.stop, decision
            if decision.stop and not would:
                kind = "would stop" if self.judge.shadow else "stopped"
                _log.info("%s at step %g: %s", kind, step, decision.reason)
            self.stopped = self.stopped or (decision.stop and not self.judge.shadow)
        return self.stopped

    def note(self, value: float, step: float) -> None:
        """Takes a value without a decision. If no further one follows, it is the last of the run."""
        self._last = (float(value), float(step))

    def _append(self, value: float, step: float) -> None:
        self._last = None
        self.steps.append(float(step))
        self.values.append(float(value))

    def close(self, error: BaseException | None = None, *, early: bool = False, interrupted: bool = False) -> None:
        """Ends the run, and records it: as pruned if it was stopped, else as failed or interrupted by `error`, or as stopped by itself if
        it ended `early`. Further calls change nothing."""
        # a forked child has a copy of its parent's run
        if not self._is_open or self._process != os.getpid():
            return
        self._is_open = False
        _under_way.discard(self)
        if self._last is not None and (not self.steps or self._last[1] > self.steps[-1]):
            self._append(*self._last)
        if not self.steps:
            self._nothing(error is not None or interrupted)
            return
        ended = self._ended(error, early, interrupted)
        if self._additions is not None:
            self._additions.add(self.values, self.config, self.steps, ended, self.name)
        if ended in ("finished", "stopped"):
            self.judge.add(self.name, self.values, self.config, self.steps)

    def _ended(self, error: BaseException | None, early: bool, interrupted: bool) -> str:
        if not self.is_whole:
            _log.warning(
                "the run continued after step %g, and its earlier values are not known. It is recorded as partial, and is not compared with others",
                self._skipped,
            )
            return "partial"
        if self.stopped:
            return "pruned"
        if interrupted or (error is not None and not isinstance(error, Exception)):
            return "interrupted"
        if error is not None:
            return "failed"
        return "stopped" if early else "finished"

    def _nothing(self, failed: bool) -> None:
        """The run ends without a value."""

    def __del__(self) -> None:
        self.close(interrupted=True)


@atexit.register
def _close_all() -> None:
    """Closes the runs of tools that do not report the end of a run by Ctrl-C or an error."""
    error = getattr(sys, "last_value", None)
    for run in list(_under_way):
        run.close(error, interrupted=error is None)


def _end_at_sigterm() -> None:
    """Lets SIGTERM, which job schedulers send, close the runs, unless the program handles it itself."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def _end(number: int, frame: FrameType | None) -> None:
    for run in list(_under_way):
        run.close(interrupted=True)
    # ends the process as without a handler
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)

"""A loop over epochs that ends early if the run will not win."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ._callback import judge_and_additions
from .judge import Judge, Judgement, JudgeSettings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction

_log = logging.getLogger("foretell")


class watch(Iterable):
    """Iterates over `epochs`, and ends early if the run will not win. Call `report` once per epoch.

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
        `'maximize'` or `'minimize'`.
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
        config: Mapping[str, Any] | None = None,
        judge: Judge | None = None,
        shadow: bool = False,
        append: bool = True,
        **settings: Unpack[JudgeSettings],
    ) -> None:
        self._additions = None
        if judge is None:
            if history is None or direction is None:
                raise TypeError("watch requires history= and direction=, or judge=")
            judge, self._additions = judge_and_additions(history, direction, None, append, shadow, settings)
        elif shadow or history is not None or direction is not None or settings:
            raise TypeError("judge= cannot be combined with history=, direction= or other settings")
        self.epochs = epochs
        self.judge = judge
        self._key = judge.name()
        self.config = dict(config or {})
        self.values: list[float] = []
        self.decision: Judgement | None = None
        self.stopped = False

    def report(self, value: float) -> bool:
        """Reports the value of the metric after an epoch. Returns whether the loop will end."""
        self.values.append(float(value))
        decision = self.judge.decide(self.values, self.config, key=self._key)
        if decision is not None:
            would, self.decision = self.decision is not None and self.decision.stop, decision
            if decision.stop and not would:
                kind = "would stop" if self.judge.shadow else "stopped"
                _log.info("%s after %d epochs: %s", kind, len(self.values), decision.reason)
            self.stopped = self.stopped or (decision.stop and not self.judge.shadow)
        return self.stopped

    def __iter__(self) -> Iterator[Any]:
        # a second loop is another run
        self.values, self.decision, self.stopped, self._key = [], None, False, self.judge.name()
        for at, epoch in enumerate(self.epochs):
            if self.stopped:
                break
            yield epoch
            if len(self.values) != at + 1:
                raise RuntimeError(f"report() was called {len(self.values)} times in {at + 1} epochs. Call report() once per epoch")
        if not self.stopped:
            self.judge.add(self._key, self.values, self.config)
        if self._additions is not None and self.values:
            steps = [float(step) for step in range(1, len(self.values) + 1)]
            self._additions.add(self.values, self.config, steps, "pruned" if self.stopped else "finished")

"""The code that all callbacks share: from a dict of metrics to a decision."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._foretell import OtherMetric, direction_of
from ._history import Additions
from ._run import Run
from .judge import Judge, Judgement, JudgeSettings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction

_log = logging.getLogger("foretell")


class CallbackSettings(JudgeSettings, total=False):
    """The settings of a callback."""

    #: Whether to add this run to `history`, where that is a file of JSON lines.
    append: bool


def judge_and_additions(
    history: Any, direction: Direction, metric: str | None, append: bool, shadow: bool, settings: Any
) -> tuple[Judge, Additions | None]:
    """A judge that has learned from `history`, and the file to add runs to if `history` names one. The file may not exist yet."""
    if "metric" in settings:
        raise TypeError("cannot set metric= here. The metric is the one that you report, or that monitor= sets")
    additions = Additions.of(history, metric or "score", direction) if append else None
    is_new = additions is not None and additions.is_empty()
    # runs that are added to a file are compared only with runs of the same name
    metric = metric if additions is None else additions.metric
    try:
        judge = Judge(direction, history=None if is_new else history, metric=metric, shadow=shadow, **settings)
    except OtherMetric as error:
        if additions is None:
            raise
        _log.warning("%s. These runs are set aside, and this run is added to the file", error)
        judge = Judge(direction, metric=metric, shadow=shadow, **settings)
    if additions is None:
        judge.check_history()
    elif len(judge) < judge.burn_in:
        _log.info("%s contains %d completed runs. The first %d runs are never stopped", additions.path, len(judge), judge.burn_in)
    return judge, additions


class Monitor(Run):
    """The run of a tool that passes on dicts of metrics."""

    def __init__(
        self,
        monitor: str,
        history: Any,
        *,
        direction: Direction | None = None,
        config: Mapping[str, Any] | None = None,
        shadow: bool = False,
        append: bool = True,
        **settings: Unpack[JudgeSettings],
    ) -> None:
        direction = direction or direction_of(monitor)
        if direction is None:
            raise ValueError(f"cannot infer the direction from the metric's name ({monitor!r}). Set direction='maximize' or direction='minimize'")
        if history is None:
            raise TypeError("history= is missing. Set it to completed runs to learn from")
        self.monitor = monitor
        super().__init__(*judge_and_additions(history, direction, monitor, append, shadow, settings), config)
        self.begin()

    def missing(self, metrics: Mapping[str, Any]) -> KeyError:
        """The error for a name that is not in `metrics`."""
        return KeyError(f"the metric {self.monitor!r} was not reported. Reported metrics: {', '.join(sorted(map(str, metrics))) or 'none'}")

    def value_in(self, metrics: Mapping[str, Any]) -> float:
        """The value of the metric. A name that is not in `metrics` is an error."""
        if self.monitor not in metrics:
            raise self.missing(metrics)
        return float(metrics[self.monitor])

    def _nothing(self, failed: bool) -> None:
        if not failed:
            _log.warning("the run ended without reporting %r, so Foretell made no decisions. Check the metric's name", self.monitor)

    def numbers(self) -> dict[str, float]:
        """The last decision as numbers for a logger."""
        if self.decision is None or self.decision.forecast is None:
            return {}
        named = {"foretell_forecast": self.decision.forecast.mean, "foretell_probability": self.decision.probability}
        return {name: value for name, value in named.items() if value is not None and math.isfinite(value)}


class Callback:
    """The base of the callbacks, in front of the tool's own class. Subclasses pass metrics to `watch`."""

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
        """All callbacks take these parameters.

        Parameters
        ----------
        monitor
            The name of the metric.
        history
            Completed runs to learn from: a path, a glob, the folder of a study, a frame or lists. See `foretell.Forecaster.fit`. If it is
            a `.jsonl` file, each run is added to it when it ends. The file is created if it does not exist.
        direction
            `'maximize'` or `'minimize'` (default: inferred from the metric's name).
        config
            The configuration of this run.
        shadow
            Log decisions without stopping any runs.
        settings
            Settings of `foretell.Judge`, such as `min_steps`, `caution` and `stop_probability`. To leave a `.jsonl` history unchanged,
            set `append=False`.
        """
        super().__init__()
        self.watch = Monitor(monitor, history, direction=direction, config=config, shadow=shadow, **settings)

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the run, with the values that the tool has added."""
        return self.watch.config

    @property
    def decision(self) -> Judgement | None:
        """The last decision; `None` before the first. In distributed training, only the first process makes decisions."""
        return self.watch.decision


class Rounds(Callback):
    """The base of the callbacks for boosted trees."""

    def __init__(
        self,
        monitor: str,
        history: Any,
        *,
        direction: Direction | None = None,
        config: Mapping[str, Any] | None = None,
        every: int = 10,
        shadow: bool = False,
        **settings: Unpack[CallbackSettings],
    ) -> None:
        """`every` is the number of rounds between decisions. The other parameters are those of all callbacks."""
        super().__init__(monitor, history, direction=direction, config=config, shadow=shadow, **settings)
        # a forecast after each of thousands of rounds would cost more than it saves
        self._every = every

    def _report(self, finished: int, values: Iterable[tuple[str, str, Any]]) -> bool:
        """Takes the values (data set, metric, value) after some `finished` rounds; returns whether to stop."""
        value = self.watch.value_in({f"{data}-{metric}": value for data, metric, value in values})
        if finished % self._every:
            self.watch.note(value, finished)
            return False
        return self.watch.report(value, finished)

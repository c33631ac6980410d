"""The stop rule of a study, for the trials of other tools."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._foretell import Judge as _Core
from ._runs import learned, numbers
from ._values import plain
from ._search import why
from ._settings import PrunerSettings, StopSettings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction

_log = logging.getLogger("foretell")


class JudgeSettings(StopSettings, total=False):
    """The settings of a `Judge`."""

    #: No run is stopped before it has reported this many values.
    min_steps: int
    #: Decide in a background thread.
    background: bool
    #: Parameters searched on a logarithmic scale.
    log_columns: Sequence[str]


def tool_settings(settings: Mapping[str, Any], n_startup_trials: int | None, own: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a judge for a tool. `own` maps settings that the tool itself provides to the reasons for refusing them."""
    own = {"burn_in": "Use n_startup_trials instead", **own}
    for name in settings:
        if name in own:
            raise TypeError(f"cannot set {name}={settings[name]!r} here. {own[name]}")
    return {**settings, "burn_in": n_startup_trials}


class ToolSettings(PrunerSettings, total=False):
    """The settings for tools with their own name for the burn-in, which also know the scales of their parameters."""

    #: No run is stopped before it has reported this many values.
    min_steps: int
    #: Decide in a background thread.
    background: bool


@dataclass(frozen=True)
class Expected:
    """A forecast of a final value: mean, standard deviation and central 90 % interval, in the metric's unit."""

    mean: float
    std: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Judgement:
    """Whether to stop a run, and why.

    >>> import foretell
    >>> judge = foretell.Judge("maximize", history=[[0.1, 0.2, 0.3], [0.3, 0.6, 0.9], [0.2, 0.5, 0.8]])
    >>> judgement: foretell.Judgement = judge.decide([0.1, 0.1])
    >>> judgement.stop  # a second check must agree
    False
    """

    #: Whether to stop the run.
    stop: bool
    #: The reason, in one line.
    reason: str
    #: The probability that the run ends no better than the incumbent; `None` without one.
    probability: float | None
    #: The final value to beat.
    incumbent: float | None
    #: The forecast; `None` if the decision needed none, or none was possible.
    forecast: Expected | None

    def __bool__(self) -> bool:
        return self.stop


class Lock:
    """A lock that is free in a forked child: the thread that held it does not exist there. A copy is a separate lock."""

    def __init__(self) -> None:
        self._process, self._lock = os.getpid(), threading.RLock()

    def __enter__(self) -> None:
        if self._process != os.getpid():
            self.__init__()
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple:
        return Lock, ()


class Judge:
    """Decides which runs to stop, for any tool. It uses the stop rule and the defaults of a study.

    >>> import foretell
    >>> judge = foretell.Judge("maximize")
    >>> for end in (0.3, 0.5, 0.7, 0.9):
    ...     judge.add(f"run {end}", [end * (1 - 0.6**epoch) for epoch in range(1, 11)])
    >>> bool(judge.decide([0.4 * (1 - 0.6**epoch) for epoch in range(1, 6)], key="a running one"))
    True

    Parameters
    ----------
    direction
        `'maximize'` or `'minimize'`.
    history
        Old runs to learn from: a path, a glob, the folder of a study, an Optuna study, the results of Ray Tune, a frame or lists.
        See `foretell.Forecaster.fit`.
    min_steps
        The number of values a run must report before it can be stopped.
    background
        Decide in a background thread. Reports never wait for a fit; they return the last available decision. Decisions then
        depend on timing.
    shadow
        Log decisions without stopping any runs.
    metric
        The name of the metric, to read from logs with several metrics.
    log_columns
        Parameters searched on a logarithmic scale.
    settings
        Settings of the stop rule, which work as in a study: `caution`, `burn_in` (the number of completed runs before any run is stopped,
        including those of `history`), `stop_probability`, `offset`, `nth_best`, `agreeing_checks`, `refit`, `predictor`, `seed`, `score`,
        `error_budget`, `exempt`, `paper`, and `policy` with `patience` or `eta`. Other settings are an error.
    """

    def __init__(
        self,
        direction: Direction,
        *,
        history: Any = None,
        min_steps: int = 1,
        background: bool = False,
        shadow: bool = False,
        metric: str | None = None,
        log_columns: Sequence[str] = (),
        **settings: Unpack[StopSettings],
    ) -> None:
        if min_steps < 1:
            raise ValueError(f"min_steps must be at least 1, not {min_steps!r}")
        self.direction, self.metric, self.min_steps = direction, metric or "score", min_steps
        self.background, self.shadow = background, shadow
        self._settings = settings
        self._begin(log_columns)
        if history is not None:
            self._core.learn_from(learned(history, direction, metric))

    def _begin(self, log_columns: Sequence[str]) -> None:
        self._core = _Core(self.metric, self.direction, dict(self._settings))
        self._log_columns: set[str] = set()
        self._keys: set[Any] = set()
        self._warned = self._warned_of_loss = False
        self._relation: str | None = None
        self._returned: dict[str, float] = {}
        self._lock = Lock()
        #: In the background: the last decision on each run, and the runs with a decision under way.
        self._latest: dict[Any, Judgement | None] = {}
        self._busy: set[Any] = set()
        self.search_by_logarithm(log_columns)

    @property
    def burn_in(self) -> int:
        """The number of completed runs before any run is stopped."""
        return self._core.burn_in

    def search_by_logarithm(self, names: Sequence[str]) -> None:
        """Marks parameters as searched on a logarithmic scale. The adapter calls this."""
        if not self._log_columns.issuperset(names):
            self._log_columns.update(names)
            self._core.search_by_logarithm(self._log_columns)

    def add(
        self,
        key: Any,
        values: Sequence[float],
        config: Mapping[str, Any] | None = None,
        steps: Any = None,
        returned: float | None = None,
    ) -> None:
        """Learns from a run that was not stopped, that is, a run that reached its last step, ended by its own early stopping, or diverged.

        If your objectives return a value, pass it as `returned`:

        - If runs return the best of their reports, the best value is used as the score from then on.
        - If the returned values do not match the reports, no run is stopped.

        Both cases are logged once. To turn this check off, set `score`."""
        if len(values) and key not in self._keys:
            self._keys.add(key)
            self._finish(str(key), plain(config), *_curve(values, steps), returned)

    def _finish(self, key: str, config: dict[str, Any], steps: np.ndarray, values: np.ndarray, returned: float | None) -> None:
        if returned is not None:
            self._returned[key] = returned = float(returned)
        name, words = self._core.finish(key, config, steps, values, returned) or (None, "")
        if name is not None and name != self._relation:
            _log.log(logging.INFO if name == "too-few" else logging.WARNING, "%s", words)
        self._relation = name or self._relation

    def check_history(self) -> None:
        """The adapter calls this to log a warning if `history` contains too few runs for any run to be stopped."""
        if len(self) < self.burn_in:
            _log.warning(
                "the history contains %d completed runs, but no run is stopped until it contains %d. Add runs, or set a smaller burn_in=",
                len(self), self.burn_in,
            )  # fmt: skip

    def __repr__(self) -> str:
        return f"Judge({self.direction} `{self.metric}`, {len(self)} completed runs, none is stopped before there are {self.burn_in})"

    def __contains__(self, key: Any) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._core)

    @property
    def last_step(self) -> float | None:
        """The last step of the runs that it has learned from."""
        return self._core.last_step

    def decide(
        self,
        values: Sequence[float],
        config: Mapping[str, Any] | None = None,
        steps: Any = None,
        key: Any = "",
    ) -> Judgement | None:
        """Decides whether to stop a run. Returns `None` before the burn-in and before `min_steps`. Pass the same `key` on each call for a
        run, because several checks in a row must agree before it stops."""
        if len(values) < self.min_steps or len(self) < self.burn_in:
            return None
        given = str(key), plain(config), *_curve(values, steps)
        if not self.background:
            return self._judge(*given)
        with self._lock:
            if key not in self._busy:
                self._busy.add(key)
                threading.Thread(target=self._judge_later, args=(key, given), daemon=True).start()
            return self._latest.get(key)

    def _judge(self, *given: Any) -> Judgement | None:
        decision = self._core.decide(*given)
        if (mismatch := self._core.mismatch()) is not None:
            _log.warning("%s", mismatch)
        if decision is None:
            return None
        reason = decision["reason"]
        if isinstance(reason, dict) and "no_forecast" in reason:
            self._warn(reason["no_forecast"], is_lost=not np.isfinite(given[-1][-1]))
        forecast = decision.get("forecast")
        return Judgement(
            stop=decision["action"] == "stop",
            reason=why(decision),
            probability=decision.get("probability"),
            incumbent=decision.get("incumbent"),
            forecast=forecast and Expected(forecast["mean"], forecast["sd"], tuple(forecast["interval"])),
        )

    def _warn(self, why: str, is_lost: bool) -> None:
        """Logs once why there is no forecast."""
        if is_lost:
            words = "the last value of a run is not finite. If it does not recover at the next step, it has diverged, and is stopped"
            if not self._warned_of_loss:
                _log.warning(words)
            self._warned_of_loss = True
            return
        if not self._warned:
            _log.warning("cannot forecast, so no run is stopped: %s", why)
        self._warned = True

    def _judge_later(self, key: Any, given: tuple) -> None:
        try:
            judgement = self._judge(*given)
        finally:
            with self._lock:
                self._busy.discard(key)
        with self._lock:
            self._latest[key] = judgement or self._latest.get(key)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("direction", "metric", "min_steps", "background", "shadow", "_settings", "_keys", "_warned", "_relation", "_returned")
        state = {name: getattr(self, name) for name in kept}
        return {"state": state, "columns": sorted(self._log_columns), "runs": self._core.finished.state()["records"]}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept["state"])
        self._begin(kept["columns"])
        self.__dict__.update(kept["state"])
        for name, config, steps, values in kept["runs"]:
            self._finish(name, config or {}, *_curve(values, steps), self._returned.get(name))


def _curve(values: Any, steps: Any) -> tuple[np.ndarray, np.ndarray]:
    values = numbers(values, "values")
    return (np.arange(1.0, len(values) + 1) if steps is None else numbers(steps, "steps")), values


def as_dict(decision: Judgement) -> dict[str, Any]:
    """A decision as plain values, to store in a tool's records."""
    forecast = decision.forecast
    return {
        "stop": decision.stop,
        "reason": decision.reason,
        "probability": decision.probability,
        "incumbent": decision.incumbent,
        "forecast": None if forecast is None else forecast.mean,
        "std": None if forecast is None else forecast.std,
    }

"""The judge that all adapters share: it learns from finished runs, and decides on running ones."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ._foretell import Decision
from ._runs import collect
from .forecaster import Forecaster

_log = logging.getLogger("foretell")


class Judge:
    """Finished runs so far, and whether a running one is to be stopped.

    It decides by the finished runs and the curve alone, so that every process with the same runs decides alike. It learns anew
    whenever there are `refit` times as many finished runs as when it learnt last.

    Parameters
    ----------
    direction
        `'maximize'` or `'minimize'`.
    history
        Old runs to learn from, as `Forecaster.fit` takes them: a path, a study's folder, a frame, lists.
    burn_in
        How many finished runs it takes before any run is stopped; those of `history` count.
    min_steps
        No run is stopped before it has reported so many values.
    stop_probability, offset, nth_best, agreeing_checks
        When a forecast stops a run: see `Forecaster.decide`.
    refit
        By how much the number of finished runs grows until it learns anew; at least 1.
    shadow
        Decide and say so, but stop nothing.
    metric, predictor, seed, log_columns
        See `Forecaster.fit`.
    """

    def __init__(
        self,
        direction: str,
        *,
        history: Any = None,
        burn_in: int = 10,
        min_steps: int = 1,
        stop_probability: float = 0.95,
        offset: float = 0.0,
        nth_best: int = 1,
        agreeing_checks: int = 2,
        refit: float = 1.2,
        shadow: bool = False,
        metric: str = "score",
        predictor: str = "auto",
        seed: int = 0,
        log_columns: Sequence[str] = (),
    ) -> None:
        if direction not in ("maximize", "minimize"):
            raise ValueError(f"direction {direction!r}: give 'maximize' or 'minimize'")
        for name, value, least in (("burn_in", burn_in, 3), ("min_steps", min_steps, 1), ("refit", refit, 1)):
            if not value >= least:
                raise ValueError(f"{name}={value!r} is too small; the least is {least}")
        self.direction, self.metric, self.burn_in, self.min_steps = direction, metric, burn_in, min_steps
        self.refit, self.shadow, self.predictor, self.seed = refit, shadow, predictor, seed
        self.log_columns = list(log_columns)
        self.criterion = {
            "stop_probability": stop_probability,
            "offset": offset,
            "nth_best": nth_best,
            "agreeing_checks": agreeing_checks,
        }
        self._runs: dict[Any, dict[str, Any]] = {}
        self._forecaster: Forecaster | None = None
        self._due = burn_in
        self._lock = threading.RLock()
        if history is not None:
            self._learn_from(history)

    def _learn_from(self, history: Any) -> None:
        state = collect(history, direction=self.direction, metric=None if _has_columns(history) else self.metric).state()
        if state["direction"] != self.direction:
            raise ValueError(f"history: its metric `{state['metric']}` is to {state['direction']}, this one to {self.direction}")
        for name, config, steps, values in state["records"]:
            self._runs["history", name] = {"id": name, "configuration": config or {}, "steps": steps, "values": values}

    def add(self, key: Any, values: Sequence[float], config: Mapping[str, Any] | None = None, steps: Any = None) -> None:
        """A run has finished: it reached its last step, or diverged."""
        run = {"id": str(key), "configuration": dict(config or {}), "values": list(values)}
        run["steps"] = list(range(1, len(run["values"]) + 1)) if steps is None else list(steps)
        with self._lock:
            self._runs[key] = run

    def __contains__(self, key: Any) -> bool:
        return key in self._runs

    def __len__(self) -> int:
        return len(self._runs)

    def decide(
        self, values: Sequence[float], config: Mapping[str, Any] | None = None, steps: Any = None
    ) -> Decision | None:
        """The decision on a running run; `None` while there is too little to decide by."""
        with self._lock:
            if len(values) < self.min_steps or len(self._runs) < self.burn_in:
                return None
            forecaster = self._learnt()
        try:
            return forecaster.decide(values, config, steps=steps, **self.criterion)
        except ValueError as error:
            # no forecast is no reason to stop
            _log.debug("no decision: %s", error)
            return None

    def _learnt(self) -> Forecaster:
        """The forecaster of the runs there were when their number last reached a mark: burn_in, burn_in · refit, …"""
        count = len(self._runs)
        if self._forecaster is None or count >= self._due:
            while self._due <= count:
                self._due = max(self._due + 1, int(self._due * self.refit))
            self._forecaster = Forecaster.fit(
                list(self._runs.values()),
                direction=self.direction,
                metric=self.metric,
                predictor=self.predictor,
                seed=self.seed,
                log_columns=self.log_columns,
            )
        return self._forecaster

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


def as_dict(decision: Decision) -> dict[str, Any]:
    """A decision as plain values, for the place where a tool keeps such things."""
    forecast = decision.forecast
    return {
        "stop": decision.stop,
        "reason": decision.reason,
        "probability": decision.probability,
        "incumbent": decision.incumbent,
        "forecast": None if forecast is None else forecast.mean,
        "std": None if forecast is None else forecast.std,
    }


def _has_columns(history: Any) -> bool:
    from ._runs import is_frame

    return isinstance(history, str) or hasattr(history, "__fspath__") or is_frame(history)

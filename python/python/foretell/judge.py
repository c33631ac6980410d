"""The judge that all adapters share: it learns from finished runs, and decides on running ones."""

from __future__ import annotations

import logging
import math
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
    whenever there are `refit` times as many finished runs as when it learnt last, from the best and the newest of them.

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
    most_runs
        It learns from so many runs at most: the `nth_best` best, and the newest others.
    background
        Fit models on a thread of their own; until they are there, the models before them decide, and without any no run is stopped. No
        decision then waits for a fit, but decisions depend on timing.
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
        most_runs: int = 200,
        background: bool = False,
        shadow: bool = False,
        metric: str = "score",
        predictor: str = "auto",
        seed: int = 0,
        log_columns: Sequence[str] = (),
    ) -> None:
        if direction not in ("maximize", "minimize"):
            raise ValueError(f"direction {direction!r}: give 'maximize' or 'minimize'")
        for name, value, least in (("burn_in", burn_in, 3), ("min_steps", min_steps, 1), ("refit", refit, 1), ("most_runs", most_runs, burn_in)):
            if not value >= least:
                raise ValueError(f"{name}={value!r} is too small; the least is {least}")
        self.direction, self.metric, self.burn_in, self.min_steps = direction, metric, burn_in, min_steps
        self.refit, self.shadow, self.predictor, self.seed = refit, shadow, predictor, seed
        self.most_runs, self.background = most_runs, background
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
        if forecaster is None:
            return None
        try:
            return forecaster.decide(values, config, steps=steps, **self.criterion)
        except ValueError as error:
            # no forecast is no reason to stop
            _log.debug("no decision: %s", error)
            return None

    def _learnt(self) -> Forecaster | None:
        """The forecaster of the runs there were when their number last reached a mark: burn_in, burn_in · refit, …"""
        count = len(self._runs)
        if self._due <= count:
            while self._due <= count:
                self._due = max(self._due + 1, int(self._due * self.refit))
            learnt = self._learn()
            if self.background:
                threading.Thread(target=self._prepare, args=(learnt,), daemon=True).start()
            else:
                self._forecaster = learnt
        return self._forecaster

    def _learn(self) -> Forecaster:
        """A forecaster of the best runs and the newest others."""
        runs = list(self._runs.values())
        if len(runs) > self.most_runs:
            turn = 1.0 if self.direction == "maximize" else -1.0
            ends = [turn * run["values"][-1] if run["values"] else -math.inf for run in runs]
            ranked = sorted(range(len(runs)), key=lambda at: -ends[at] if ends[at] == ends[at] else math.inf)
            best = set(ranked[: self.criterion["nth_best"]])
            newest = [at for at in range(len(runs) - 1, -1, -1) if at not in best][: self.most_runs - len(best)]
            runs = [runs[at] for at in sorted(best.union(newest))]
        return Forecaster.fit(
            runs,
            direction=self.direction,
            metric=self.metric,
            predictor=self.predictor,
            seed=self.seed,
            log_columns=self.log_columns,
        )

    def _prepare(self, learnt: Forecaster) -> None:
        """Fits all models of a forecaster, and lets it decide from then on."""
        for points in range(self.min_steps, learnt.points):
            try:
                learnt.prepare(points)
            except ValueError as error:
                _log.debug("no model of %d points: %s", points, error)
        with self._lock:
            self._forecaster = learnt

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

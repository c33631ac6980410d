"""Forecasts of unfinished runs, learned from completed ones."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._foretell import Decision, Forecast, Runs
from ._foretell import Forecaster as _Core
from ._runs import Reading, are_paths, collect, is_frame, is_path, numbers

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction, Predictor

_log = logging.getLogger("foretell")


class Forecaster:
    """Forecasts the final values of unfinished runs from completed ones.

    Create one with `Forecaster.fit`. A pickled copy contains the same runs and fits its models again.

    >>> import foretell
    >>> finished = [[end * (1 - 0.8**epoch) for epoch in range(1, 13)] for end in (0.3 + 0.02 * i for i in range(30))]
    >>> forecaster = foretell.Forecaster.fit(finished, direction="maximize")
    >>> forecaster.forecast([0.1, 0.18, 0.25]).mean > 0.25
    True
    """

    __slots__ = ("_core", "_runs", "_seen", "_settings")

    def __init__(self, runs: Runs, settings: Mapping[str, Any]) -> None:
        self._runs = runs
        self._settings = dict(settings)
        #: The sets of names in configurations so far.
        self._seen: set[frozenset[str]] = set()
        self._core = _Core(
            runs,
            settings["predictor"],
            settings["seed"],
            settings["target"],
            settings["scale"],
            settings["score"],
        )

    @classmethod
    def fit(
        cls,
        runs: Any,
        *,
        configs: Sequence[Mapping[str, Any]] | None = None,
        steps: Any = None,
        direction: Direction | None = None,
        metric: str | None = None,
        predictor: Predictor = "auto",
        target: float | None = None,
        scale: Literal["log", "linear"] | None = None,
        score: Literal["last", "best"] = "last",
        seed: int = 0,
        **reading: Unpack[Reading],
    ) -> Forecaster:
        """Learns from the completed runs among `runs`.

        Parameters
        ----------
        runs
            One of these:

            - a list of curves, or an array with one row per run and one column per epoch; NaN at the end marks a run that diverged
            - a list of dicts with `values`, and optionally `configuration`, `steps` and `id`
            - a pandas or polars frame, with one row per run or one row per epoch
            - a path, a glob, or a list of them: files of curves, folders of logs, folders of studies
            - an Optuna study or its trials (only complete trials are used), the results of Ray Tune, a `foretell.Study`
        configs
            For lists and arrays: the configuration of each run, as a dict of numbers and strings.
        steps
            For lists and arrays: the steps of the values, the same for all runs (default: 1, 2, 3, …).
        direction
            `'maximize'` or `'minimize'` (default: inferred from the metric's name).
        metric
            The name of the metric. For files and frames: the column, or the prefix of the columns, to read.
        predictor
            One of `foretell.predictors()`.
        target
            The step to forecast (default: the last step that at least half of the runs reach).
        scale
            `'log'` forecasts the logarithm of the metric (default for positive metrics that are minimized).
        score
            The value used as the score of a run: `'last'` or `'best'`.
        seed
            The seed of all random choices.
        reading
            For files and frames: `format`, `id`, `resource`, `configurations`, `exclude`, `include`. For all: `architecture`,
            `hyperparameters`, `log_columns`, `linear_columns`. They work like the flags of `foretell forecast`.

        Raises
        ------
        ValueError, TypeError
            If there are no runs to learn from. The message gives the reason.
        """
        collected = collect(
            runs, configs=configs, steps=steps, direction=direction, metric=metric, **reading
        )
        for note in collected.notes:
            _log.info(note)
        settings = {"predictor": predictor, "seed": seed, "target": target, "scale": scale, "score": score}
        fitted = cls(collected, settings)
        if not (is_frame(runs) or is_path(runs) or are_paths(runs)):
            fitted._say_dropped()
        return fitted

    def forecast(self, curve: Any, config: Mapping[str, Any] | None = None, *, steps: Any = None) -> Forecast:
        """Forecasts the final value of the run with this `curve` so far. The first call for each length of curve fits a model; later
        calls take microseconds."""
        if type(curve) is not np.ndarray or curve.dtype != np.float64 or curve.ndim != 1:
            curve = numbers(curve, "curve")
        if steps is not None:
            steps = numbers(steps, "steps")
        config = self._checked(config)
        return self._core.forecast(curve, config, steps, (self, curve, config, steps))

    def decide(
        self,
        curve: Any,
        config: Mapping[str, Any] | None = None,
        *,
        steps: Any = None,
        stop_probability: float = 0.99,
        offset: float = 0.0,
        nth_best: int = 1,
        agreeing_checks: int = 1,
    ) -> Decision:
        """Decides whether to stop the run with this `curve` so far. It stops the run in these cases:

        - The run will end no better than the `nth_best` completed run less `offset`, with probability `stop_probability` or higher, at
          each of the last `agreeing_checks` points of the curve.
        - The last two values are not finite.
        """
        if steps is not None:
            steps = numbers(steps, "steps")
        return self._core.decide(
            numbers(curve, "curve"), self._checked(config), steps, stop_probability, offset, nth_best, agreeing_checks
        )

    def _say_dropped(self) -> None:
        """Warns of runs that are too short to learn from."""
        ends = [(name, steps[-1] if steps else 0) for name, _, steps, _ in self._runs.state()["records"]]
        short = [name for name, end in ends if end < self.target]
        if short:
            _log.warning(
                "%d of %d runs end before step %g, so nothing is learned from them: %s. To forecast an earlier step, set target=",
                len(short), len(ends), self.target, _named(short),
            )  # fmt: skip

    def _checked(self, config: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The configuration. A name that no run has, and a missing one that all have, are logged once."""
        if config is None:
            return None
        names = frozenset(config)
        if names not in self._seen:
            self._seen.add(names)
            known, runs = self._runs.parameters, len(self._runs)
            unknown = [name for name in names if known and name not in known]
            missing = [name for name, count in known.items() if count == runs and name not in names]
            for name in sorted(map(str, unknown)):
                close = difflib.get_close_matches(name, [other for other in known if other not in names], 1)
                _log.warning("no run has the parameter %r, so it is ignored.%s", name, f" Did you mean {close[0]!r}?" if close else "")
            if missing:
                _log.warning("the configuration has no value for %s, which all runs have", _named(sorted(missing)))
        return config if isinstance(config, dict) else dict(config)

    def prepare(self, points: int) -> None:
        """Fits the model for curves with this many `points` in advance."""
        self._core.fit(points)

    @property
    def best(self) -> float:
        """The best final value of the completed runs."""
        return self._core.best

    @property
    def target(self) -> float:
        """The step whose value is forecast."""
        return self._core.target

    @property
    def points(self) -> int:
        """The number of points of a complete curve."""
        return len(self._core.grid)

    @property
    def direction(self) -> str:
        """`'maximize'` or `'minimize'`."""
        return self._core.direction

    @property
    def finished(self) -> int:
        """The number of completed runs it learned from."""
        return self._core.finished

    @property
    def notes(self) -> list[str]:
        """Notes on reading the runs, such as runs that were left out."""
        return self._runs.notes

    def __repr__(self) -> str:
        return (
            f"Forecaster({self.finished} completed runs of `{self._runs.metric}`, {self.direction}, step {self.target:g}, "
            f"best {self.best:.4g}, predictor {self._settings['predictor']})"
        )

    def __reduce__(self) -> tuple:
        # logs of tools contain the target; lists of curves do not
        return _restored, (self._runs.state(), {**self._settings, "target": self.target})


def forecast_again(forecaster: Forecaster, curve: Any, config: Mapping[str, Any] | None, steps: Any) -> Forecast:
    """The forecast of a pickle."""
    return forecaster.forecast(curve, config, steps=steps)


def _named(names: Sequence[str]) -> str:
    """The first names."""
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _restored(state: dict[str, Any], settings: dict[str, Any]) -> Forecaster:
    runs = Runs.from_records(state["records"], state["direction"], state["metric"], state["columns"])
    return Forecaster(runs, settings)

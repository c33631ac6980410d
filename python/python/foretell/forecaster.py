"""The forecaster: finished runs, asked about running ones."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._foretell import Decision, Forecast, Runs
from ._foretell import Forecaster as _Core
from ._runs import Reading, collect, numbers

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction, Predictor

_log = logging.getLogger("foretell")


class Forecaster:
    """Finished runs and a predictor, asked where running ones will end.

    Make one with `Forecaster.fit`. It can be pickled: the copy has the same runs and fits its models again.

    >>> import foretell
    >>> finished = [[end * (1 - 0.8**epoch) for epoch in range(1, 13)] for end in (0.3 + 0.02 * i for i in range(30))]
    >>> forecaster = foretell.Forecaster.fit(finished, direction="maximize")
    >>> forecaster.forecast([0.1, 0.18, 0.25]).mean > 0.25
    True
    """

    __slots__ = ("_core", "_runs", "_settings")

    def __init__(self, runs: Runs, settings: Mapping[str, Any]) -> None:
        self._runs = runs
        self._settings = dict(settings)
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
        """A forecaster that learns from the finished ones among `runs`.

        Parameters
        ----------
        runs
            One of these:

            - a list of curves, or an array with one row a run and one column an epoch; NaN at the end means that the run diverged;
            - a list of dicts with `values` and, if you like, `configuration`, `steps` and `id`;
            - a pandas or polars frame, wide (a row a run) or long (a row an epoch);
            - a path, a glob or a list of them: files of curves, folders of logs that `foretell import` reads, a study's folder;
            - a study of Optuna or its trials, of which the complete ones count; Ray Tune's results; a `foretell.Study`.
        configs
            For lists and arrays: the configuration of each run, a dict of numbers and texts.
        steps
            For lists and arrays: the steps of the values, the same for all runs. Default: 1, 2, 3, …
        direction
            `'maximize'` or `'minimize'`. Default: by the metric's name, where that tells.
        metric
            The metric's name; for a file or frame the column, or the prefix of columns, to read.
        predictor
            See `foretell.predictors()`.
        target
            The step to forecast. Default: the last that at least half of the runs reach.
        scale
            `'log'` forecasts the metric's logarithm. Default: for positive metrics that are minimised.
        score
            What a run counts with: its `'last'` value or its `'best'`.
        seed
            The seed of the predictor's draws.
        reading
            For a file or frame `format`, `id`, `resource`, `configurations`, `exclude`, `include`; for all `architecture`, `hyperparameters`,
            `log_columns`, `linear_columns`. They mean what the command's flags mean.

        Raises
        ------
        ValueError, TypeError
            If nothing can be learnt from the runs; the text says why.
        """
        collected = collect(
            runs, configs=configs, steps=steps, direction=direction, metric=metric, **reading
        )
        for note in collected.notes:
            _log.info(note)
        settings = {"predictor": predictor, "seed": seed, "target": target, "scale": scale, "score": score}
        return cls(collected, settings)

    def forecast(self, curve: Any, config: Mapping[str, Any] | None = None, *, steps: Any = None) -> Forecast:
        """Where the run with this `curve` so far will end. The first call for a number of points fits a model; later ones take
        microseconds."""
        if type(curve) is not np.ndarray or curve.dtype != np.float64 or curve.ndim != 1:
            curve = numbers(curve, "curve")
        if steps is not None:
            steps = numbers(steps, "steps")
        return self._core.forecast(curve, _as_dict(config), steps)

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
        """Whether the run with this `curve` so far is to be stopped: yes, if with probability `stop_probability` it will end no
        better than the `nth_best` finished run less `offset`. With `agreeing_checks` above 1 the same must have held at as many
        points of the curve in a row. A run whose last two values are not finite is stopped."""
        if steps is not None:
            steps = numbers(steps, "steps")
        return self._core.decide(
            numbers(curve, "curve"), _as_dict(config), steps, stop_probability, offset, nth_best, agreeing_checks
        )

    def prepare(self, points: int) -> None:
        """Fits the model for curves of this many `points` now."""
        self._core.fit(points)

    @property
    def best(self) -> float:
        """The best final value of the finished runs."""
        return self._core.best

    @property
    def target(self) -> float:
        """The step that is forecast."""
        return self._core.target

    @property
    def points(self) -> int:
        """How many points a whole curve has."""
        return len(self._core.grid)

    @property
    def direction(self) -> str:
        """`'maximize'` or `'minimize'`."""
        return self._core.direction

    @property
    def finished(self) -> int:
        """How many finished runs it learns from."""
        return self._core.finished

    @property
    def notes(self) -> list[str]:
        """What was dropped or found when the runs were read."""
        return self._runs.notes

    def __repr__(self) -> str:
        return (
            f"Forecaster({self.finished} finished runs of `{self._runs.metric}`, {self.direction}, step {self.target:g}, "
            f"best {self.best:.4g}, predictor {self._settings['predictor']})"
        )

    def __reduce__(self) -> tuple:
        # logs of tools say which step counts, lists of curves do not
        return _restored, (self._runs.state(), {**self._settings, "target": self.target})


def _as_dict(config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return config if config is None or isinstance(config, dict) else dict(config)


def _restored(state: dict[str, Any], settings: dict[str, Any]) -> Forecaster:
    runs = Runs.of(state["records"], state["direction"], state["metric"], state["columns"])
    return Forecaster(runs, settings)

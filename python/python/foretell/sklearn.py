"""The predictors as scikit-learn regressors.

::

    model = make_pipeline(StandardScaler(), CurveRegressor("svr-rbf", points=5))
    model.fit(x, final_values).predict(x)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._foretell import Regressor


class CurveRegressor(RegressorMixin, BaseEstimator):
    """Forecasts a final value from a curve so far and a configuration.

    Larger values are better: turn the sign of a loss.

    Parameters
    ----------
    predictor
        See `foretell.predictors()`.
    points
        Number of columns that are the curve so far: the first ones, in order. The others describe the configuration. Default: all of
        them are the curve.
    seed
        The seed of the predictor's draws.
    draws
        Draws of its random search or of its posterior. Default: its own.

    Attributes
    ----------
    n_features_in_
        How many columns it was fitted on.
    """

    def __init__(
        self, predictor: str = "svr-rbf", *, points: int | None = None, seed: int = 0, draws: int | None = None
    ) -> None:
        self.predictor = predictor
        self.points = points
        self.seed = seed
        self.draws = draws

    def fit(self, X: Any, y: Any) -> CurveRegressor:
        """Fits on the rows of `X`, shape (n, columns), and their final values `y`, length n."""
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64, ensure_min_samples=2)
        columns = X.shape[1]
        points = columns if self.points is None else self.points
        if not 1 <= points <= columns:
            raise ValueError(f"points={self.points}: the table has {columns} columns, of which 1 to {columns} are the curve")
        self._data = (X, np.ascontiguousarray(y, dtype=np.float64), points)
        self._fit()
        return self

    def _fit(self) -> None:
        X, y, points = self._data
        X = np.ascontiguousarray(X)
        self._model = Regressor.fit(self.predictor, X, y, points, self.seed, self.draws)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The expected final values of the rows of `X`; with `return_std` also their standard deviations."""
        check_is_fitted(self, "_data")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        mean, std = self._model.predict(np.ascontiguousarray(X))
        return (mean, std) if return_std else mean

    def __getstate__(self) -> dict[str, Any]:
        # the native model does not pickle: the copy fits again, on the same rows
        return {name: value for name, value in super().__getstate__().items() if name != "_model"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_data" in state:
            self._fit()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_data")

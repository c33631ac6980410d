"""The predictors as scikit-learn regressors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._foretell import Regressor


class CurveRegressor(RegressorMixin, BaseEstimator):
    """A scikit-learn regressor that forecasts final values from curves so far and configurations. Larger values must be better: change the
    sign of a loss.

    >>> import numpy as np
    >>> from foretell.sklearn import CurveRegressor
    >>> ends = np.linspace(0.3, 0.9, 30)
    >>> curves = ends[:, None] * (1 - 0.8 ** np.arange(1, 6))
    >>> model = CurveRegressor("mean-gain").fit(curves, ends)
    >>> model.predict(curves).shape
    (30,)

    Parameters
    ----------
    predictor
        One of `foretell.predictors()`.
    points
        The number of leading columns that contain the curve so far (default: all). Other columns describe the configuration.
    seed
        The seed of all random choices.
    draws
        The number of samples in the predictor's random search or posterior (default: the predictor's own).

    Attributes
    ----------
    n_features_in_
        The number of columns in `fit`.
    """

    def __init__(
        self, predictor: str = "svr-rbf", *, points: int | None = None, seed: int = 0, draws: int | None = None
    ) -> None:
        self.predictor = predictor
        self.points = points
        self.seed = seed
        self.draws = draws

    def fit(self, X: Any, y: Any) -> CurveRegressor:
        """Fits the predictor to rows `X` of shape (n, columns) with final values `y`."""
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64, ensure_min_samples=2)
        columns = X.shape[1]
        points = columns if self.points is None else self.points
        if not 1 <= points <= columns:
            raise ValueError(f"points must be from 1 to {columns}, the number of columns, not {self.points}")
        self._data = (X, np.ascontiguousarray(y, dtype=np.float64), points)
        self._fit()
        return self

    def _fit(self) -> None:
        X, y, points = self._data
        X = np.ascontiguousarray(X)
        self._model = Regressor.fit(self.predictor, X, y, points, self.seed, self.draws)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The expected final values of the rows of `X`; with `return_std`, also their standard deviations."""
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # these continue the curve from its last value, and a table without curves, as in scikit-learn's checks, tells them nothing
        tags.regressor_tags.poor_score = self.predictor.partition("+")[0] in ("last-value", "mean-gain")
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_data")

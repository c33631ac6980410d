"""Forecasts where neural-network trainings will end, and stops the ones that will not win.

>>> import foretell
>>> finished = [[0.2 + 0.01 * i, 0.3 + 0.02 * i, 0.4 + 0.03 * i] for i in range(10)]
>>> forecaster = foretell.Forecaster.fit(finished, direction="maximize")
>>> forecast = forecaster.forecast([0.25, 0.40])
>>> 0.4 < forecast.mean < 0.7
True
>>> forecaster.decide([0.20, 0.30]).stop
True

- `Forecaster`: finished runs, asked about running ones.
- `Study`: a search with `ask`, `report`, `tell` and `best`.
- `watch`: a loop over epochs that ends when a run will not win.
- `evaluate`, `replay`: what forecasts and early stopping would have been worth on recorded runs.
- `foretell.optuna`, `foretell.ray`, `foretell.lightning`, `foretell.transformers`, `foretell.keras`: for the tool that you use.
- `foretell.sklearn`: the predictors as regressors.
"""

from ._foretell import Decision, Forecast, __version__, predictors
from .forecaster import Forecaster
from .measure import evaluate, replay
from .study import Study, Trial
from .watch import watch

__all__ = [
    "Decision",
    "Forecast",
    "Forecaster",
    "Study",
    "Trial",
    "__version__",
    "evaluate",
    "predictors",
    "replay",
    "watch",
]

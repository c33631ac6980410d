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
- `Study`: a search: `optimize`, or `ask`, `report`, `tell` and `best`; `connect`: one that several processes work on.
- `float`, `log`, `int`, `logint`, `choice`: the parameters of a search.
- `Judge`: whether a running training is to be stopped, for any tool; `watch`: a loop over epochs that ends when a run will not win.
- `load`: stored studies as frames.
- `evaluate`, `replay`: what forecasts and early stopping would have been worth on recorded runs.
- `foretell.optuna`, `foretell.ray`, `foretell.lightning`, `foretell.transformers`, `foretell.keras`: for the tool that you use.
- `foretell.sklearn`: the predictors as regressors.
"""

from ._foretell import Decision, Forecast, __version__, predictors
from ._search import Best, FinishedStudy, Trial, TrialRecord
from .forecaster import Forecaster
from .judge import Judge, Judgement
from .load import Loaded, load
from .measure import evaluate, replay
from .remote import RemoteStudy, connect
from .space import Parameter
from .space import choice as choice
from .space import float as float
from .space import int as int
from .space import log as log
from .space import logint as logint
from .study import Study
from .watch import watch

# `float` and `int` are not among them: `from foretell import *` leaves Python's own
__all__ = [
    "Best",
    "Decision",
    "FinishedStudy",
    "Forecast",
    "Forecaster",
    "Judge",
    "Judgement",
    "Loaded",
    "Parameter",
    "RemoteStudy",
    "Study",
    "Trial",
    "TrialRecord",
    "__version__",
    "choice",
    "connect",
    "evaluate",
    "load",
    "log",
    "logint",
    "predictors",
    "replay",
    "watch",
]

"""Forecasts the final values of neural-network training runs, and stops runs that will not win.

>>> import foretell
>>> finished = [[0.2 + 0.01 * i, 0.3 + 0.02 * i, 0.4 + 0.03 * i] for i in range(10)]
>>> forecaster = foretell.Forecaster.fit(finished, direction="maximize")
>>> forecast = forecaster.forecast([0.25, 0.40])
>>> 0.4 < forecast.mean < 0.7
True
>>> forecaster.decide([0.20, 0.30]).stop
True

- `Study` runs a search: `optimize`, or `ask`, `report` and `tell`. `connect` shares a study among processes.
- `float`, `log`, `int`, `logint` and `choice` define the parameters of a search.
- `watch` ends your own loop over epochs early. `Judge` decides for any tool.
- `Forecaster` forecasts the final values of unfinished runs from completed ones.
- `load` reads stored studies as frames.
- `evaluate` and `replay` measure forecasts and early stopping on recorded runs.
- `foretell.optuna`, `foretell.ray`, `foretell.lightning`, `foretell.transformers`, `foretell.keras`, `foretell.xgboost` and
  `foretell.lightgbm` integrate with these tools.
- `foretell.sklearn` provides the predictors as regressors.
"""

from ._foretell import Decision, Forecast, __version__, predictors
from ._records import Best, StudyDirection, TrialPruned, TrialRecord, TrialState
from ._search import FinishedStudy, Trial
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

# without `float` and `int`: `from foretell import *` must not replace Python's own
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
    "StudyDirection",
    "Trial",
    "TrialPruned",
    "TrialRecord",
    "TrialState",
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

"""A program that uses the callbacks for boosted trees: type checkers find no error in it."""

import foretell
from foretell.lightgbm import ForetellCallback as OfLightgbm
from foretell.xgboost import ForetellCallback as OfXgboost

stop = OfXgboost("validation-auc", "runs.jsonl", config={"eta": 0.1}, every=5, min_steps=2, append=False)
decision: foretell.Judgement | None = stop.decision
OfLightgbm("valid_0-auc", [[0.1, 0.2]], direction="maximize", shadow=True, caution="safe")

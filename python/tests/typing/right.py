"""A program that uses every public name: type checkers find no error in it."""

import pickle

import foretell
from foretell.optuna import ForetellPruner
from foretell.sklearn import CurveRegressor


def objective(trial: foretell.Trial) -> float:
    for epoch in trial.epochs():
        if trial.report(float(trial.config["lr"]) * epoch, epoch, loss=0.5):
            break
    return 0.5


study = foretell.Study(
    {"lr": foretell.log(1e-4, 1), "opt": foretell.choice("sgd", None), "n": "int:1:3", "width": [32, 64]},
    folder="runs/a",
    metric="acc",
    epochs=20,
    trials=40,
    sampler="tpe",
    scheduler="asha",
    caution="safe",
    budget_epochs=800,
    refit="once",
    enqueue=[{"lr": 0.1}, "lr=0.2"],
    history="runs/old.jsonl",
)
study.optimize(objective, n_jobs=2, timeout=60.0, catch=(RuntimeError, ValueError))
if (best := study.best) is not None:
    print(best["score"] + 1, best["config"]["lr"])
print([trial["state"] == "completed" for trial in study.trials])
foretell.Judge("minimize", predictor="svr-rbf+calibrated", burn_in=5).add("a", [0.1, 0.2], {"lr": 0.1})
foretell.Forecaster.fit("old.csv", metric="acc", log_columns=["lr"], predictor="gp", score="best")
foretell.connect("http://127.0.0.1:8675", "a", {"lr": foretell.log(1e-4, 1)}, metric="acc", epochs=20).optimize(objective)
ForetellPruner(max_resource=20, caution="fast", min_steps=2)
for epoch in foretell.watch(range(3), "runs.jsonl", "maximize", shadow=True, stop_probability=0.95):
    print(epoch)
trials, curves = foretell.load("runs", "polars")


def of_optuna(trial: foretell.Trial) -> float:
    rate: float = trial.suggest_float("lr", 1e-4, 1, log=True)
    layers: int = trial.suggest_int("layers", 1, 4)
    trial.report(rate * layers, 0)
    if trial.should_prune():
        return 0.0
    return rate + len(trial.suggest_categorical("opt", ["sgd", "adam"])) + len(trial.params)


def several(trial: foretell.Trial) -> dict[str, float]:
    return {"acc": 0.5, "latency": float(trial.config["lr"])}


space: dict[str, foretell.Parameter] = {"x": foretell.float(0, 1), "n": foretell.int(1, 8).when("x", 1), "w": foretell.logint(1, 64)}
other = foretell.Study(metric="acc", epochs=20, score="best")
other.optimize(of_optuna, show_progress_bar=True)
other.optimize(several)
value: float = other.best_value
record: foretell.TrialRecord = other.best_trial
kept: foretell.FinishedStudy = pickle.loads(pickle.dumps(other))
print(len(kept), other.best_params["lr"], record["score"], foretell.__version__, foretell.predictors())
remote: foretell.RemoteStudy = foretell.connect("runs/a", space={"lr": foretell.log(1e-4, 1)}, metric="acc", epochs=20)
found: foretell.Best | None = remote.best
forecaster = foretell.Forecaster.fit([[0.1, 0.2]] * 10, direction="maximize")
forecast: foretell.Forecast = forecaster.forecast([0.1])
decision: foretell.Decision = forecaster.decide([0.1])
judgement: foretell.Judgement | None = foretell.Judge("maximize", policy="patience", patience=3, score="best").decide([0.1, 0.2])
print(forecast.mean, decision.stop, judgement, foretell.evaluate("old.csv"), foretell.replay("old.csv"))
loaded: foretell.Loaded = foretell.load("runs")
model: CurveRegressor = CurveRegressor("ridge", points=1).fit([[0.1], [0.2]], [0.3, 0.4])
with foretell.Study(direction="minimize", epochs=1) as tutorial:
    tutorial.enqueue_trial({"x": 1.0})
    tutorial.optimize(lambda trial: (trial.suggest_float("x", -10, 10) - 2) ** 2, n_trials=3)
    tutorial.set_user_attr("tool", "sgd")
states: list[foretell.TrialState] = [one.state for one in tutorial.get_trials(states=[foretell.TrialState.COMPLETE])]
way: foretell.StudyDirection = tutorial.direction
print(tutorial.best_trial.params["x"], tutorial.user_attrs, foretell.TrialPruned(), states, way)

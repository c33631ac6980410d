"""What is right is found right: a type checker has nothing to say about this file."""

import foretell
from foretell.optuna import ForetellPruner


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

"""What the wheel does in an empty environment: forecasts, decides, runs a study, runs the command."""

import subprocess
import sys
import tempfile
from pathlib import Path

import foretell

curves = [[end * (1 - 0.6**epoch) for epoch in range(1, 11)] for end in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9)]
forecaster = foretell.Forecaster.fit(curves, metric="accuracy")
forecast = forecaster.forecast(curves[2][:4])
assert abs(forecast.mean - curves[2][-1]) < 0.05, forecast
assert forecaster.decide(curves[0][:4]).stop
assert foretell.replay(curves, metric="accuracy", policy="none", orderings=1, frame="dicts")[0]["best_kept"] == 1

with tempfile.TemporaryDirectory() as folder:
    study = foretell.Study({"lr": foretell.log(1e-4, 1)}, folder=folder, metric="accuracy", epochs=3, trials=4, burn_in=3)
    for trial in study:
        with trial:
            for epoch in trial.epochs():
                trial.report(trial.config["lr"] * epoch / 3, epoch)
    best = study.best["score"]
    del study, trial
    command = [str(Path(sys.executable).parent / "foretell"), "study", "show", folder]
    assert f"{best:.4f}" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
print("the wheel works alone:", forecast)

"""The callbacks in real trainings of XGBoost and LightGBM."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROUNDS = 60


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    x = random.normal(size=(600, 6))
    y = (x[:, 0] * x[:, 1] + 0.5 * x[:, 2] + random.normal(0, 0.3, 600) > 0).astype(float)
    return x[:400], y[:400], x[400:], y[400:]


def by_xgboost(data, rate, **given):
    xgboost = pytest.importorskip("xgboost")
    from foretell.xgboost import ForetellCallback

    x, y, a, b = data
    stop = ForetellCallback("validation-logloss", config={"eta": rate}, every=5, **given)
    params = {"eta": rate, "objective": "binary:logistic", "nthread": 1}
    xgboost.train(params, xgboost.DMatrix(x, y), ROUNDS, evals=[(xgboost.DMatrix(a, b), "validation")], callbacks=[stop], verbose_eval=False)
    return stop


def by_lightgbm(data, rate, **given):
    lightgbm = pytest.importorskip("lightgbm")
    from foretell.lightgbm import ForetellCallback

    x, y, a, b = data
    stop = ForetellCallback("valid_0-binary_logloss", config={"eta": rate}, every=5, **given)
    params = {"learning_rate": rate, "objective": "binary", "num_threads": 1, "verbose": -1}
    train = lightgbm.Dataset(x, y)
    lightgbm.train(params, train, ROUNDS, valid_sets=[lightgbm.Dataset(a, b, reference=train)], callbacks=[stop])
    return stop


@pytest.mark.parametrize("train", [by_xgboost, by_lightgbm])
def test_a_bad_training_ends_early_and_a_good_one_does_not(train, data, tmp_path):
    path = tmp_path / "runs.jsonl"
    for rate in (0.1, 0.05, 0.03):
        train(data, rate, history=path)
    bad = train(data, 0.0005, history=path)
    assert bad.watch.stopped and bad.watch.steps[-1] < ROUNDS and bad.decision.stop
    good = train(data, 0.15, history=path)
    assert not good.watch.stopped and good.watch.steps == list(range(5, ROUNDS + 1, 5))
    runs = [json.loads(line) for line in path.read_text().splitlines()]
    assert [run["ended"] for run in runs] == ["finished"] * 3 + ["pruned", "finished"]
    assert runs[3]["configuration"] == {"eta": 0.0005} and runs[3]["steps"][-1] == bad.watch.steps[-1]


@pytest.mark.parametrize("train", [by_xgboost, by_lightgbm])
def test_shadow_stops_nothing(train, data, tmp_path):
    path = tmp_path / "runs.jsonl"
    for rate in (0.1, 0.05, 0.03):
        train(data, rate, history=path)
    shadow = train(data, 0.0005, history=path, shadow=True)
    assert shadow.watch.steps[-1] == ROUNDS and shadow.decision.stop


def test_a_wrong_name_is_said(data, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    from foretell.xgboost import ForetellCallback

    x, y, a, b = data
    stop = ForetellCallback("test-loss", tmp_path / "runs.jsonl", every=1)
    with pytest.raises(KeyError, match="the metric 'test-loss' was not reported. Reported metrics: validation-logloss"):
        xgboost.train(
            {"objective": "binary:logistic"}, xgboost.DMatrix(x, y), 3, evals=[(xgboost.DMatrix(a, b), "validation")], callbacks=[stop], verbose_eval=False
        )  # fmt: skip


@pytest.mark.parametrize("tool", ["xgboost", "lightgbm"])
def test_the_example_holds(tool, examples_hold):
    pytest.importorskip(tool)
    examples_hold(importlib.import_module(f"foretell.{tool}"))


def test_type_checkers_know_the_callbacks():
    for module in ("mypy", "xgboost", "lightgbm"):
        pytest.importorskip(module)
    program = Path(__file__).parents[1] / "typing" / "trees.py"
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-incremental", str(program)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout

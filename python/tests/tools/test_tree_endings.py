"""Every run leaves one record, however it ends: XGBoost, LightGBM, their scikit-learn classes, and scikit-learn's own loop."""

import numpy as np
import pytest
from endings import Boom, cells, raised, records

ROUNDS = 25


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    x = random.normal(size=(300, 4))
    y = (x[:, 0] * x[:, 1] + random.normal(0, 0.5, 300) > 0).astype(int)
    return x[:200], y[:200], x[200:], y[200:]


def raising(at, error, **base):
    """A callback of either library that raises `error` after so many rounds."""
    import xgboost

    class Raise(xgboost.callback.TrainingCallback):
        order = 99

        def after_iteration(self, model, epoch, log):
            if epoch + 1 == at:
                raise error
            return False

        def __call__(self, env):
            self.after_iteration(env.model, env.iteration, None)

    return Raise()


def by_xgboost(data, path, rate=0.3, rounds=ROUNDS, patience=None, extra=(), **more):
    xgboost = pytest.importorskip("xgboost")
    from foretell.xgboost import ForetellCallback

    x, y, a, b = data
    stop = ForetellCallback("validation-logloss", path, config={"eta": rate})
    log = {}
    try:
        xgboost.train(
            {"eta": rate, "objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(x, y), rounds, evals=[(xgboost.DMatrix(a, b), "validation")],
            early_stopping_rounds=patience, evals_result=log, callbacks=[*extra, stop], verbose_eval=False, **more,
        )  # fmt: skip
    except (Boom, KeyboardInterrupt):
        return stop, None
    return stop, log["validation"]["logloss"]


def by_lightgbm(data, path, rate=0.3, rounds=ROUNDS, patience=None, extra=(), **more):
    lightgbm = pytest.importorskip("lightgbm")
    from foretell.lightgbm import ForetellCallback

    x, y, a, b = data
    stop, log = ForetellCallback("valid_0-binary_logloss", path, config={"eta": rate}), {}
    callbacks = [stop, lightgbm.record_evaluation(log), *([lightgbm.early_stopping(patience, verbose=False)] if patience else []), *extra]
    params = {"learning_rate": rate, "objective": "binary", "num_threads": 1, "verbose": -1}
    train = lightgbm.Dataset(x, y)
    try:
        lightgbm.train(params, train, rounds, valid_sets=[lightgbm.Dataset(a, b, reference=train)], callbacks=callbacks, **more)
    except (Boom, KeyboardInterrupt):
        return stop, None
    return stop, log["valid_0"]["binary_logloss"]


TREES = [by_xgboost, by_lightgbm]


@pytest.mark.parametrize(("door", "ending", "state"), cells("xgboost", "lightgbm"))
def test_a_run_leaves_one_record(door, ending, state, data, tmp_path):
    """The endings of the matrix; the tests below look closer at each."""
    path, train = tmp_path / "runs.jsonl", {"xgboost": by_xgboost, "lightgbm": by_lightgbm}[door]
    for rate in (0.01, 0.02, 0.03):
        train(data, path, rate=rate, rounds=60)
    error = raised(ending)
    rate = {"pruned": 0.0005, "stopped": 1.0}.get(ending, 0.1)
    stop, log = train(data, path, rate=rate, rounds=60, patience=3 if ending == "stopped" else None, extra=[raising(13, error)] if error else [])
    if error is not None:
        stop.watch.begin()  # the next run
    record = records(path)[-1]
    assert len(records(path)) == 4 and record["ended"] == state
    # the error comes before the callback is called in the 13th round
    assert record["steps"][-1] == (12 if log is None else len(log)) and (ending == "finished") == (record["steps"][-1] == 60)
    assert log is None or record["values"][-1] == pytest.approx(log[-1])


@pytest.mark.parametrize("train", TREES)
@pytest.mark.parametrize("rounds", [7, 20, 25])
def test_the_last_round_is_the_last_value(train, rounds, data, tmp_path):
    _, log = train(data, tmp_path / "runs.jsonl", rounds=rounds)
    (record,) = records(tmp_path / "runs.jsonl")
    assert record["ended"] == "finished" and record["steps"][-1] == rounds == len(log) and record["values"][-1] == pytest.approx(log[-1])


@pytest.mark.parametrize("train", TREES)
def test_early_stopping_leaves_a_record_of_each_run(train, data, tmp_path):
    path, lengths = tmp_path / "runs.jsonl", []
    for rate in (0.3, 0.6, 0.9, 1.0):
        _, log = train(data, path, rate=rate, rounds=200, patience=3)
        lengths.append(len(log))
        assert len(records(path)) == len(lengths), "at once"
        assert records(path)[-1]["values"][-1] == pytest.approx(log[-1]) and records(path)[-1]["steps"][-1] == len(log)
    assert [record["ended"] in ("stopped", "pruned") for record in records(path)] == [True] * 4 and max(lengths) < 200


@pytest.mark.parametrize("train", TREES)
@pytest.mark.parametrize(("error", "ended"), [(Boom(), "interrupted"), (KeyboardInterrupt(), "interrupted")])
def test_a_run_that_breaks_off_is_recorded_before_the_next(train, error, ended, data, tmp_path):
    path = tmp_path / "runs.jsonl"
    stop, _ = train(data, path, extra=[raising(13, error)])
    stop.watch.begin()
    (record,) = records(path)
    assert record["ended"] == ended and record["steps"][-1] >= 12


@pytest.mark.parametrize("train", TREES)
def test_a_stopped_run_leaves_one_record(train, data, tmp_path):
    path = tmp_path / "runs.jsonl"
    for rate in (0.1, 0.15, 0.2):
        train(data, path, rate=rate, rounds=60)
    bad, log = train(data, path, rate=0.0005, rounds=60)
    assert bad.watch.stopped and len(records(path)) == 4 and records(path)[-1]["ended"] == "pruned" and records(path)[-1]["steps"][-1] == len(log) < 60


def test_a_model_that_is_trained_further_is_partial(data, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    x, y, *_ = data
    model = xgboost.train({"objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(x, y), 10)
    by_xgboost(data, tmp_path / "runs.jsonl", xgb_model=model)
    (record,) = records(tmp_path / "runs.jsonl")
    assert record["ended"] == "partial" and record["steps"] == [20, 30, 35]


@pytest.mark.parametrize("tool", ["xgboost", "lightgbm"])
def test_the_classes_of_scikit_learn(tool, data, tmp_path):
    module = pytest.importorskip(tool)
    from importlib import import_module

    x, y, a, b = data
    path = tmp_path / "runs.jsonl"
    metric = {"xgboost": "validation_0-logloss", "lightgbm": "valid_0-binary_logloss"}[tool]
    stop = import_module(f"foretell.{tool}").ForetellCallback(metric, path)
    if tool == "xgboost":
        module.XGBClassifier(n_estimators=15, n_jobs=1, callbacks=[stop]).fit(x, y, eval_set=[(a, b)], verbose=False)
    else:
        module.LGBMClassifier(n_estimators=15, n_jobs=1, verbose=-1).fit(x, y, eval_set=[(a, b)], callbacks=[stop])
    (record,) = records(path)
    assert record["ended"] == "finished" and record["steps"] == [10, 15]


@pytest.mark.parametrize("order", [10, 20, 25, 30])
def test_lightgbm_keeps_the_last_round_whatever_the_order_of_the_callback_that_ends_it(order, data, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")

    def end(env):
        if env.iteration == 6:
            raise lightgbm.callback.EarlyStopException(4, env.evaluation_result_list)

    end.order = order
    stop, _ = by_lightgbm(data, tmp_path / "runs.jsonl", extra=[end])
    (record,) = records(tmp_path / "runs.jsonl")
    assert record["ended"] == "stopped" and record["steps"] == [7]

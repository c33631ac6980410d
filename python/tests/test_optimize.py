"""The front door: an objective, spaces of every kind, tables, pictures, stored studies."""

import logging
import math
import subprocess
import sys
import threading
import time

import foretell
import pytest
from conftest import curve_of
from foretell import Study, choice

SPACE = {"lr": foretell.log(1e-4, 1), "act": choice("relu", "tanh")}
#: How all studies here are made.
HOW = {"metric": "val_acc", "epochs": 20, "trials": 12, "policy": "srm", "burn_in": 4}


def objective(trial):
    values = curve_of(trial.config["lr"], trial.number)
    for epoch in trial.epochs():
        trial.report(values[epoch - 1], epoch, loss=1 - values[epoch - 1])


@pytest.fixture(scope="module")
def study():
    study = Study(SPACE, **HOW)
    study.optimize(objective)
    return study


def test_an_objective_is_run_until_the_study_is_done(study):
    assert study.done and len(study.trials) == 12
    assert {trial["state"] for trial in study.trials} == {"completed", "stopped"}
    assert study.best["score"] == max(trial["score"] for trial in study.trials if trial["state"] == "completed")


def test_the_decisions_are_those_of_the_loop_by_hand(study):
    by_hand = Study(SPACE, **HOW)
    for trial in by_hand:
        with trial:
            objective(trial)
    assert by_hand.trials == study.trials


def test_an_objective_that_only_returns_a_value():
    study = Study({"x": foretell.float(-10, 10)}, metric="loss", epochs=1, trials=25, seed=1)
    study.optimize(lambda trial: (trial.config["x"] - 2) ** 2)
    assert abs(study.best["config"]["x"] - 2) < 1.5 and isinstance(study.trials[0]["config"]["x"], float)


def test_several_trainings_at_a_time_in_threads():
    names, most, running = set(), [0], [0]

    def slow(trial):
        names.add(threading.current_thread().name)
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.02)
        running[0] -= 1
        objective(trial)

    study = Study(SPACE, **HOW)
    study.optimize(slow, n_jobs=3)
    assert study.done and len(names) == 3 and 1 < most[0] <= 3


def test_a_number_of_trials_and_a_time_end_a_call():
    study = Study(SPACE, **HOW)
    study.optimize(objective, 5)
    assert len(study.trials) == 5 and not study.done
    study.optimize(objective, timeout=0)
    assert len(study.trials) == 5
    study.optimize(objective)
    assert study.done


def test_an_error_fails_its_trial_and_ends_the_call_or_is_caught():
    def sometimes(trial):
        if trial.number in (1, 4):
            raise RuntimeError("out of memory")
        objective(trial)

    for jobs in (1, 2):
        study = Study(SPACE, **HOW)
        with pytest.raises(RuntimeError, match="out of memory"):
            study.optimize(sometimes, n_jobs=jobs)
        assert study.trials[1]["state"] == "failed" and study.trials[1]["error"] == "RuntimeError: out of memory"
        study.optimize(sometimes, n_jobs=jobs, catch=RuntimeError)
        assert study.done and [trial["state"] for trial in study.trials].count("failed") == 2


def test_ctrl_c_leaves_a_study_that_goes_on(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import foretell, time\n"
        "def objective(trial):\n"
        "    for epoch in trial.epochs():\n"
        "        time.sleep(0.02)\n"
        "        trial.report(trial.config['x'] * epoch, epoch)\n"
        "    print('trained', flush=True)\n"
        "study = foretell.Study({'x': foretell.float(0, 1)}, folder='s', metric='acc', epochs=5, trials=300)\n"
        "study.optimize(objective, n_jobs=2)\n"
    )
    import signal

    run = subprocess.Popen([sys.executable, str(script)], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    run.stdout.readline()
    time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert run.returncode != 0 and "KeyboardInterrupt" in errors
    study = Study(folder=tmp_path / "s")
    there = len(study.trials)
    assert 1 <= there < 300
    # none is interrupted if both end as the signal arrives
    interrupted = [trial["number"] for trial in study.trials if trial["state"] == "interrupted"]
    assert study.ask().number == (interrupted[0] if interrupted else there), "interrupted trials continue first"


def test_what_ctrl_c_ended_begins_again_in_the_same_process():
    calls = []

    def interrupted(trial):
        calls.append(trial.number)
        trial.report(0.5)
        if len(calls) == 2:
            raise KeyboardInterrupt
        objective(trial)

    study = Study(SPACE, **HOW)
    with pytest.raises(KeyboardInterrupt):
        study.optimize(interrupted)
    study.optimize(interrupted)
    assert study.done and calls[1:3] == [1, 1]


def test_what_an_objective_gets_wrong_is_said():
    study = Study(SPACE, **HOW)
    for wrong, words in [(lambda trial: None, "reported nothing and returned None"), (lambda trial: "good", "returned 'good'")]:
        with pytest.raises(TypeError, match=words):
            study.optimize(wrong)
    for given in ({"n_jobs": 0}, {"n_trials": 0}):
        with pytest.raises(ValueError, match=next(iter(given))):
            study.optimize(objective, **given)


def test_without_epochs_the_first_trial_shows_them(caplog):
    caplog.set_level(logging.INFO, "foretell")
    study = Study(SPACE, metric="val_acc", trials=8)
    assert study.ask().end is None and study.settings["epochs"] is None
    study = Study(SPACE, metric="val_acc", trials=8)

    def objective(trial):
        for epoch in range(1, 11):
            if trial.report(0.1 * epoch, epoch):
                return

    study.optimize(objective)
    assert study.settings["epochs"] == 10
    assert sum("a complete trial has 10 epochs" in line for line in caplog.messages) == 1
    with pytest.raises(ValueError, match=r"trial\.epochs\(\) needs the number of epochs"):
        next(Study(SPACE, metric="val_acc").ask().epochs())
    with pytest.raises(ValueError, match="rungs"):
        Study(SPACE, metric="val_acc", scheduler="asha")


def test_an_objective_that_only_returns_a_value_needs_no_epochs():
    study = Study(SPACE, metric="val_acc", trials=6)
    study.optimize(lambda trial: trial.config["lr"])
    assert study.settings["epochs"] == 1
    assert [trial["state"] for trial in study.trials] == ["completed"] * 6


@pytest.mark.parametrize(("epochs", "step", "words"), [(20, 1000, ("step 1000", "`epochs` is 20")), (1000, 1, ("step 20", "`epochs` is 1000")), (8, 1, ("step 9", "`epochs` is 8"))])
def test_epochs_that_do_not_fit_the_reports_are_named_once(epochs, step, words, caplog):
    study = Study(SPACE, metric="val_acc", epochs=epochs, trials=5)

    def objective(trial):
        for epoch in range(1, 21):
            trial.report(0.02 * epoch, step * epoch)
        return 0.4

    study.optimize(objective)
    said = [line for line in caplog.messages if "`epochs`" in line]
    assert len(said) == 1 and all(word in said[0] for word in words), said
    assert [trial["state"] for trial in study.trials] == ["completed"] * 5
    assert len(study.trials[0]["values"]) == min(epochs if step == 1 else 20, 20)


def test_a_folder_in_the_place_of_the_space_is_said(tmp_path):
    with pytest.raises(TypeError, match="the space comes first, and a folder is passed by name"):
        Study(tmp_path)
    with pytest.raises(TypeError, match="Use history= instead"):
        Study(SPACE, learn_from="runs", **HOW)


def test_a_misspelled_setting_and_an_empty_folder_are_said(tmp_path):
    with pytest.raises(TypeError, match="unknown setting 'trails'. Did you mean 'trials'?"):
        Study(SPACE, metric="val_acc", epochs=20, trails=40)
    with pytest.raises(ValueError, match="there is no study in this folder"):
        Study(folder=tmp_path / "nowhere")
    assert not list(tmp_path.iterdir())


def test_queued_configurations_come_first():
    study = Study(SPACE, **HOW, enqueue=[{"lr": 0.01, "act": "tanh"}, "lr=0.5,act=relu"])
    configs = [study.ask().config for _ in range(3)]
    assert configs[:2] == [{"lr": 0.01, "act": "tanh"}, {"lr": 0.5, "act": "relu"}]


def test_options_of_any_kind_come_back_as_they_were(tmp_path):
    space = {
        "bias": choice(True, False),
        "layers": choice((64, 64), (128,)),
        "norm": choice(None, "batch"),
        "width": [32, 64],
        "depth": foretell.int(1, 1),
        "rate": foretell.float(1, 1),
        "momentum": foretell.float(0, 0.9).when("layers", (128,)),
    }
    study = Study(space, folder=tmp_path / "s", **{**HOW, "sampler": "random"})
    seen = [study.ask().config for _ in range(12)]
    assert {type(config["bias"]) for config in seen} == {bool} and {config["layers"] for config in seen} == {(64, 64), (128,)}
    assert {config["norm"] for config in seen} == {None, "batch"} and {config["width"] for config in seen} == {32, 64}
    assert all(type(config["depth"]) is int and type(config["rate"]) is float for config in seen)
    assert all((config["momentum"] is None) == (config["layers"] == (64, 64)) for config in seen)
    del study
    assert Study(space, folder=tmp_path / "s", **{**HOW, "sampler": "random"}).trials[0]["config"] == seen[0]


def test_the_same_space_as_texts_and_as_objects_is_the_same_study():
    typed = Study(SPACE, **HOW)
    written = Study({"lr": "log:1e-4:1", "act": "choice:relu,tanh"}, **HOW)
    assert [typed.ask().config for _ in range(5)] == [written.ask().config for _ in range(5)]


def test_distributions_of_optuna():
    distributions = pytest.importorskip("optuna").distributions
    space = {
        "lr": distributions.FloatDistribution(1e-4, 1, log=True),
        "units": distributions.IntDistribution(4, 64, log=True),
        "layers": distributions.IntDistribution(1, 3),
        "drop": distributions.FloatDistribution(0, 0.5, step=0.1),
        "act": distributions.CategoricalDistribution(["relu", None]),
    }
    study = Study(space, **HOW)
    kinds = {one["name"]: one["kind"] for one in study.settings["space"]}
    assert kinds == {"lr": "log", "units": "logint", "layers": "int", "drop": "choice", "act": "choice"}
    assert study.ask().config["drop"] in [0, 0.1, 0.2, 0.3, 0.4, 0.5]


def test_a_configuration_space():
    tool = pytest.importorskip("ConfigSpace")
    space = tool.ConfigurationSpace(
        {"lr": tool.Float("lr", (1e-4, 1.0), log=True), "layers": tool.Integer("layers", (1, 4)), "opt": tool.Categorical("opt", ["sgd", "adam"])}
    )
    momentum = tool.Float("a_momentum", (0.0, 0.9))
    space.add(momentum)
    space.add(tool.EqualsCondition(momentum, space["opt"], "sgd"))
    study = Study(space, **{**HOW, "trials": 30, "sampler": "random"})
    seen = [study.ask().config for _ in range(12)]
    assert all((config["a_momentum"] is not None) == (config["opt"] == "sgd") for config in seen)
    assert {one["name"]: one["kind"] for one in study.settings["space"]}["lr"] == "log"


def test_conditions_of_a_configuration_space():
    tool = pytest.importorskip("ConfigSpace")
    space = tool.ConfigurationSpace({"layers": (1, 4), "opt": ["sgd", "rmsprop", "adam"], "units": (8, 64), "beta": (0.0, 1.0)})
    both = tool.AndConjunction(
        tool.GreaterThanCondition(space["units"], space["layers"], 2), tool.NotEqualsCondition(space["units"], space["opt"], "adam")
    )
    space.add(both, tool.InCondition(space["beta"], space["opt"], ["rmsprop", "adam"]))
    study = Study(space, **{**HOW, "trials": 30, "sampler": "random"})
    seen = [study.ask().config for _ in range(30)]
    assert all((config["units"] is not None) == (config["layers"] > 2 and config["opt"] != "adam") for config in seen)
    assert all((config["beta"] is not None) == (config["opt"] != "sgd") for config in seen)


def test_conditions_have_several_values_and_compare():
    space = {
        "units3": foretell.int(8, 256).when("layers", at_least=3),
        "momentum": foretell.float(0, 1).when("opt", any_of=["sgd", "rmsprop"]).when("units3", below=200),
        "layers": foretell.int(1, 4),
        "opt": choice("sgd", "rmsprop", "adam"),
        "wide": foretell.int(1, 2).when("sizes", none_of=[(64, 64)]),
        "sizes": choice((64, 64), (128,)),
    }
    study = Study(space, **{**HOW, "trials": 40, "sampler": "random"}, limit=["layers*layers<=9"])
    seen = [study.ask().config for _ in range(40)]
    for config in seen:
        assert (config["units3"] is not None) == (config["layers"] == 3) and config["layers"] <= 3
        assert (config["momentum"] is not None) == (config["opt"] != "adam" and config["units3"] is not None and config["units3"] < 200)
        assert (config["wide"] is not None) == (config["sizes"] == (128,))
    assert {config["momentum"] is None for config in seen} == {True, False}
    for space, words in [
        ({"a": foretell.int(0, 1).when("b", 1)}, "there is no parameter b"),
        ({"a": foretell.int(0, 1).when("b", 1), "b": foretell.int(0, 1).when("a", 1)}, "go in a circle"),
        ({"n": foretell.int(1, 4), "m": foretell.int(0, 1).when("n", above=4)}, "never applies"),
    ]:
        with pytest.raises(ValueError, match=words):
            Study(space, **HOW)
    with pytest.raises(TypeError, match="has no test"):
        foretell.int(0, 1).when("b")


def test_larger_batches_near_one_that_ran_out_of_memory_are_not_tried():
    study = Study({"batch_size": [32, 64, 128], "lr": foretell.float(0, 1)}, **{**HOW, "sampler": "random"})

    def objective(trial):
        if trial.config["batch_size"] > 64:
            raise MemoryError("Unable to allocate 16.0 GiB")
        return trial.config["lr"]

    study.optimize(objective, catch=(MemoryError,))
    seen = [(trial["config"]["batch_size"], trial["config"]["lr"], trial["state"]) for trial in study.trials]
    assert any(state == "failed" for *_, state in seen) and any(state == "completed" for *_, state in seen)
    for place, (batch, lr, state) in enumerate(seen):
        later = seen[place + 1 :] if state == "failed" else []
        assert not [one for one in later if one[0] > batch and abs(one[1] - lr) <= 0.25]


def test_a_trial_of_folds_counts_with_their_mean():
    study = Study({"lr": foretell.float(0, 1)}, **{**HOW, "epochs": 4, "trials": 8, "sampler": "random"}, folds=3)

    def objective(trial):
        for fold in range(1, 4):
            for epoch in range(1, 5):
                if trial.report(trial.config["lr"] * epoch / 4 + 0.01 * fold, step=epoch, fold=fold):
                    return

    study.optimize(objective)
    whole = [trial for trial in study.trials if trial["state"] == "completed"]
    assert whole and all(trial["score"] == pytest.approx(trial["config"]["lr"] + 0.02) for trial in whole)
    assert all(trial["folds"] == pytest.approx([trial["config"]["lr"] + 0.01 * fold for fold in (1, 2, 3)]) for trial in whole)
    other = Study({"lr": foretell.float(0, 1)}, **HOW, folds=3)
    with pytest.raises(ValueError, match="fold is 0, but must be a whole number from 1 to 3"):
        other.ask().report(0.5, step=1, fold=0)
    with pytest.raises(ValueError, match="folds need"):
        Study({"lr": foretell.float(0, 1)}, **HOW, folds=3, repeats=2)


def test_what_is_no_parameter_is_said():
    for space, kind, words in [
        ({"lr": 0.1}, TypeError, "parameter lr: 0.1 is not a parameter. Use foretell.log"),
        ({"lr": (1e-4, 1)}, TypeError, "may be a range or two options. For a range, use foretell.float(0.0001, 1)"),
        ({"lr": "log:0:1"}, ValueError, "a log scale needs bounds above 0"),
        ({"lr": "float:2:1"}, ValueError, "lower bound 2 is above upper bound 1"),
        ({"a": choice("x", "x")}, ValueError, "two of its options are equal"),
        ({"a": []}, ValueError, "at least one option"),
    ]:
        with pytest.raises(kind) as error:
            Study(space, **HOW)
        assert words in str(error.value)
    with pytest.raises(TypeError, match="whole number"):
        foretell.int(1, 2.5)
    with pytest.raises(ValueError, match="'gelu' is not an option of act. Its options: 'relu', 'tanh'"):
        Study(SPACE, enqueue={"lr": 0.1, "act": "gelu"}, **HOW)


def test_what_is_enqueued_comes_next_and_the_sampler_chooses_the_rest():
    study = Study(SPACE, **HOW)
    study.ask()
    study.enqueue({"act": "tanh"})
    study.enqueue("lr=0.25")
    first, second = study.ask().config, study.ask().config
    assert first["act"] == "tanh" and 1e-4 <= first["lr"] <= 1
    assert second["lr"] == 0.25 and second["act"] in ("relu", "tanh")
    for wrong, words in [({"lr": 7.0}, "which is outside"), ({"act": "gelu"}, "is not an option"), ("depth=3", "depth")]:
        with pytest.raises(ValueError, match=words):
            study.enqueue(wrong)


@pytest.mark.parametrize("kind", ["pandas", "polars", "dicts"])
def test_frames(study, kind):
    if kind != "dicts":
        pytest.importorskip(kind)
    frame, curves = study.frame(kind), study.curves(kind)
    assert len(frame) == 12 and len(curves) == sum(len(trial["values"]) for trial in study.trials)
    columns = list(frame[0]) if kind == "dicts" else list(frame.columns)
    assert columns[:4] == ["trial", "state", "score", "epochs"] and {"param.lr", "param.act", "metric.loss"} <= set(columns)
    losses = [row["metric.loss"] for row in curves] if kind == "dicts" else list(curves["metric.loss"])
    values = [row["value"] for row in curves] if kind == "dicts" else list(curves["value"])
    assert losses == [1 - value for value in values]
    with pytest.raises(ValueError, match="must be 'pandas', 'polars' or 'dicts'"):
        study.frame("list")


def test_the_frame_is_what_the_command_exports(tmp_path):
    study = Study(SPACE, folder=tmp_path / "s", **HOW)
    study.optimize(objective)
    out = tmp_path / "trials.jsonl"
    words = [sys.executable, "-m", "foretell", "study", "export", str(tmp_path / "s"), "--trials", "--out", str(out)]
    subprocess.run(words, check=True, capture_output=True)
    import json

    assert [json.loads(line) for line in out.read_text().splitlines()] == study.frame("dicts")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_parquet_tables_are_the_frames(tmp_path, kind):
    library = pytest.importorskip(kind)
    if kind == "pandas":
        pytest.importorskip("pyarrow")
    study = Study(SPACE, folder=tmp_path / "s", **HOW)
    study.optimize(objective)
    for words, frame in (["--trials"], study.frame), ([], study.curves):
        out = tmp_path / "table.parquet"
        export = [sys.executable, "-m", "foretell", "study", "export", str(tmp_path / "s"), *words, "--out", str(out)]
        refused = subprocess.run(export, capture_output=True, text=True)
        assert refused.returncode and "to_parquet" in refused.stderr
        written = frame(kind)
        (written.to_parquet if kind == "pandas" else written.write_parquet)(out)
        read = library.read_parquet(out)
        rows = read.to_dict("records") if kind == "pandas" else read.to_dicts()
        expected = frame("dicts")
        assert len(rows) == len(expected) > 0
        for row, other in zip(rows, expected):
            for name, value in row.items():
                missing = value is None or value != value
                assert value == other.get(name) or missing and other.get(name) is None, (name, value)


def test_stored_studies_are_loaded_as_frames(tmp_path):
    for name in ("a", "b"):
        study = Study(SPACE, folder=tmp_path / "runs" / name, **{**HOW, "trials": 5})
        study.optimize(objective)
    open_one = study
    trials, curves = foretell.load(tmp_path / "runs", "dicts")
    assert [row["study"].rsplit("/", 1)[1] for row in trials] == ["a"] * 5 + ["b"] * 5
    assert trials[5:] == [{"study": str(tmp_path / "runs" / "b"), **row} for row in open_one.frame("dicts")]
    assert len([row for row in curves if row["study"].endswith("b")]) == len(open_one.curves("dicts"))
    assert len(foretell.load(tmp_path / "runs" / "*", "dicts").trials) == 10
    pandas = pytest.importorskip("pandas")
    assert isinstance(foretell.load(tmp_path / "runs").trials, pandas.DataFrame)
    (tmp_path / "old.csv").write_text("lr,acc_1,acc_2\n0.1,0.5,0.6\n0.01,0.4,0.7\n")
    assert [row["score"] for row in foretell.load(tmp_path / "old.csv", "dicts").trials] == [0.6, 0.7]
    with pytest.raises((ValueError, OSError)):
        foretell.load(tmp_path / "nowhere")


@pytest.mark.parametrize("kind", ["curves", "history", "parameters"])
def test_pictures(study, kind, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = study.plot(kind)
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000
    matplotlib.pyplot.close(figure)
    with pytest.raises(ValueError, match="Use one of: curves, history, parameters"):
        study.plot("pie")


def test_checkpoints_have_a_folder_of_the_trial(tmp_path, study):
    kept = Study(SPACE, folder=tmp_path / "s", **HOW)
    assert kept.ask().checkpoints == tmp_path / "s" / "trials" / "0000" / "checkpoints"
    assert Study(SPACE, **HOW).ask().checkpoints is None


def test_callbacks_end_a_search_as_in_optuna():
    study, seen = foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=1, trials=9), []

    def after(study, record):
        seen.append((record["number"], record["state"]))
        if len(seen) == 3:
            study.stop()

    study.optimize(lambda trial: trial.config["x"], callbacks=[after])
    assert seen == [(number, "completed") for number in range(3)] and not study.done
    study.optimize(lambda trial: trial.config["x"])
    assert study.done


def test_an_error_before_the_first_parameter_is_not_masked():
    study = foretell.Study(metric="acc", epochs=1, trials=2)
    with pytest.raises(AttributeError, match="suggest_anything"):
        study.optimize(lambda trial: trial.suggest_anything("x", 1e-3, 1))


@pytest.mark.parametrize("folder", [None, "study"])
def test_older_suggestions_and_attributes_of_optuna_work(folder, tmp_path):
    study = foretell.Study(folder=folder and tmp_path / folder, metric="acc", epochs=1, trials=3, sampler="random")

    def objective(trial):
        rate = trial.suggest_loguniform("lr", 1e-4, 1)
        share, width = trial.suggest_uniform("dropout", 0, 0.9), trial.suggest_discrete_uniform("width", 0.5, 2, 0.5)
        trial.set_user_attr("layers", [int(2 * width)])
        trial.set_user_attr("lr", rate)
        assert trial.user_attrs == {"layers": [int(2 * width)], "lr": rate} and 0 <= share <= 0.9 and width in (0.5, 1, 1.5, 2)
        with pytest.raises(TypeError, match="JSON"):
            trial.set_user_attr("model", object())
        return -abs(math.log10(rate) + 2)

    study.optimize(objective)
    written = foretell.Study({"lr": foretell.log(1e-4, 1), "dropout": foretell.float(0, 0.9)}, metric="acc", epochs=1, trials=1)
    assert study.settings["space"][:2] == written.settings["space"]
    assert [trial.user_attrs["lr"] for trial in study.trials] == [trial["config"]["lr"] for trial in study.trials]
    if folder is not None:
        kept = study.trials[2].user_attrs
        del study
        assert foretell.Study(folder=tmp_path / folder).trials[2].user_attrs == kept

"""What people who come from other tools write: steps from 0, Optuna's objectives, folders for several processes, no checkpoints."""

import os
import subprocess
import sys
import textwrap

import foretell
import pytest
from foretell import Study

RATES = {"lr": foretell.log(1e-4, 1)}
#: How all studies here are made.
HOW = {"metric": "val_acc", "epochs": 9, "trials": 12}


def value(rate, epoch):
    return (1 - abs(rate - 0.1)) * (1 - 0.6**epoch)


def test_steps_that_count_from_0_are_those_that_count_from_1():
    curves = []
    for first in (0, 1):
        study = Study(RATES, **HOW)

        def objective(trial, first=first):
            for step in range(first, 9 + first):
                if trial.report(value(trial.config["lr"], step + 1 - first), step):
                    return

        study.optimize(objective)
        curves.append([(trial["steps"], trial["values"], trial["state"]) for trial in study.trials])
    assert curves[0] == curves[1]


def test_a_step_that_goes_back_is_refused_and_one_that_is_repeated_is_said(caplog):
    study = Study(RATES, policy="none", **HOW)
    trial = study.ask()
    trial.report(0.5, 5)
    with pytest.raises(ValueError, match="step 3 was reported after step 5. Steps must increase"):
        trial.report(0.6, 3)
    trial.report(0.7, 5)
    assert "step 5 of trial 0 was reported more than once. Only its first value is used" in caplog.text
    assert study.trials[0]["values"] == [0.5]
    for step in (-1, 1.5, True, float("nan")):
        with pytest.raises(ValueError, match="Steps must be whole numbers that start from 0 or 1"):
            trial.report(0.5, step)
    # by number, too
    other = study.ask()
    study.report(other.number, 0, 0.1)
    study.report(other.number, 1, 0.2)
    assert study.trials[1]["steps"] == [1, 2]


def test_one_objective_that_fails_loses_nothing_of_the_others(tmp_path):
    import threading

    begun = threading.Barrier(3)

    def objective(trial):
        if trial.number < 3:
            begun.wait(10)
        if trial.number == 1:
            raise ValueError("broken")
        for epoch in trial.epochs():
            trial.report(value(trial.config["lr"], epoch), epoch)

    study = Study(RATES, folder=tmp_path / "study", policy="none", **HOW)
    with pytest.raises(ValueError, match="broken"):
        study.optimize(objective, n_jobs=3)
    states = [trial["state"] for trial in study.trials]
    assert states[:3] == ["completed", "failed", "completed"] and "running" not in states
    assert [len(trial["values"]) for trial in study.trials if trial["state"] == "completed"] == [9] * states.count("completed")


def whole(rate):
    """A training that begins anew each time the objective is called."""
    return [value(rate, epoch) for epoch in range(1, 10)]


@pytest.mark.parametrize("given", [{"scheduler": "asha", "budget_epochs": 80}, {"scheduler": "asha", "trials": 12}, {"scheduler": "hyperband"}])
def test_an_objective_without_checkpoints_trains_every_curve_from_the_start(given, caplog):
    def objective(trial):
        state = 0
        for epoch in trial.epochs():
            state += 1
            trial.report(value(trial.config["lr"], state), epoch)

    how = {"metric": "val_acc", "epochs": 9, **given}
    study = Study(RATES, seed=1, **how)
    study.optimize(objective)
    completed = [trial for trial in study.trials if trial["state"] == "completed"]
    assert completed
    for trial in study.trials:
        assert trial["values"] == pytest.approx(whole(trial["config"]["lr"])[: len(trial["values"])])
    assert len([line for line in caplog.messages if "trained again from epoch 1" in line]) == 1


def test_an_objective_that_reads_where_it_continues_is_continued(tmp_path):
    begun = []

    def objective(trial):
        begun.append(trial.start)
        for epoch in range(trial.start, trial.end):
            if trial.report(value(trial.config["lr"], epoch + 1), epoch):
                return

    study = Study(RATES, folder=tmp_path / "study", metric="val_acc", epochs=9, trials=12, scheduler="asha")
    study.optimize(objective)
    assert any(begun), "some trials are continued"
    for trial in study.trials:
        assert trial["values"] == pytest.approx(whole(trial["config"]["lr"])[: len(trial["values"])])


def test_a_setting_says_whether_there_are_checkpoints(caplog):
    for checkpoints, continued in ((True, True), (False, False)):
        begun = []

        def objective(trial, begun=begun):
            for epoch in trial.epochs():
                begun.append(epoch)
                trial.report(value(trial.config["lr"], epoch), epoch)

        study = Study(RATES, metric="val_acc", epochs=9, trials=12, scheduler="asha", checkpoints=checkpoints)
        study.optimize(objective)
        assert (begun.count(1) == len(study.trials)) == continued


class TrialPruned(Exception):
    """As Optuna calls it."""


def optuna_s(trial):
    """An objective as people write it for Optuna."""
    rate = trial.suggest_float("lr", 1e-4, 1, log=True)
    layers = trial.suggest_int("layers", 1, 4)
    optimizer = trial.suggest_categorical("optimizer", ["sgd", "adam"])
    for step in range(9):
        trial.report(value(rate, step + 1) - 0.01 * layers - 0.1 * (optimizer == "sgd"), step)
        if trial.should_prune():
            raise TrialPruned
    return value(rate, 9) - 0.01 * layers - 0.1 * (optimizer == "sgd")


def test_an_objective_written_for_optuna_runs_unchanged(tmp_path):
    study = Study(folder=tmp_path / "study", seed=3, metric="val_acc", epochs=9, trials=30)
    study.optimize(optuna_s)
    assert study.done and len(study.trials) == 30
    states = [trial["state"] for trial in study.trials]
    assert states.count("stopped") > 5 and "failed" not in states
    first = study.trials[0]["config"]
    assert set(first) == {"lr", "layers", "optimizer"} and isinstance(first["layers"], int)
    assert study.best["score"] > 0.7
    kept = study.trials
    del study
    assert Study(folder=tmp_path / "study").trials == kept


def test_an_objective_written_for_optuna_runs_on_several_threads():
    study = Study(metric="val_acc", epochs=9, trials=20)
    study.optimize(optuna_s, n_jobs=4)
    assert len(study.trials) == 20 and study.done


def test_a_parameter_that_appears_later_joins_the_space_and_it_is_said(caplog):
    seen = []

    def objective(trial):
        rate = trial.suggest_float("lr", 1e-4, 1, log=True)
        if trial.suggest_categorical("optimizer", ["adam", "sgd"]) == "sgd":
            seen.append(trial.suggest_float("momentum", 0, 0.99))
        return value(rate, 5)

    study = Study(metric="val_acc", epochs=1, trials=20, enqueue={"optimizer": "adam"})
    study.optimize(objective)
    assert len([line for line in caplog.messages if "momentum is added to the space" in line]) == 1
    trials = study.trials
    failed = [trial for trial in trials if trial["state"] == "failed"]
    assert [trial["error"] for trial in failed] == ["momentum joined the space"]
    assert [trial["state"] for trial in trials].count("completed") == 20
    later = trials[failed[0]["number"] + 1 :]
    assert all(trial["config"].get("momentum") is not None for trial in later[1:])
    assert any(trial["config"].get("momentum") in seen for trial in later)


def test_a_given_space_does_not_grow_and_its_values_count(caplog):
    study = Study(RATES, **{**HOW, "epochs": 1})
    with pytest.raises(KeyError, match="no parameter 'momentum'. Its parameters: lr"):
        study.optimize(lambda trial: trial.suggest_float("momentum", 0, 1))
    study.optimize(lambda trial: trial.suggest_float("lr", 1e-4, 1, log=True), 2)
    assert study.trials[1]["score"] == study.trials[1]["config"]["lr"]
    study.optimize(lambda trial: trial.suggest_float("lr", 2, 3), 1)
    assert "not in the range that the objective asks for" in caplog.text


def test_an_objective_that_asks_for_nothing_is_refused():
    study = Study(metric="val_acc", epochs=3, trials=3)
    with pytest.raises(RuntimeError, match="Pass a space to the study"):
        study.optimize(lambda trial: 0.5)
    assert study.trials == [] and study.done


def test_a_dict_has_a_value_for_each_objective():
    study = Study(RATES, metric="val_acc", objective=["val_acc", "latency:min"], epochs=1, trials=8)
    study.optimize(lambda trial: {"val_acc": value(trial.config["lr"], 3), "latency": trial.config["lr"]})
    assert [trial["state"] for trial in study.trials] == ["completed"] * 8
    assert "metric.latency" in study.frame("dicts")[0]

    def both(trial):
        for epoch in trial.epochs():
            trial.report(0.5, epoch)
        return {"val_acc": 0.5, "latency": 3.0}

    other = Study(RATES, metric="val_acc", objective=["val_acc", "latency:min"], epochs=2, trials=8)
    with pytest.raises(TypeError, match="returned latency after the trial had reported values. Report"):
        other.optimize(both)


WORKER = """
    import sys, time, foretell
    study = foretell.connect("runs/rates", space={"lr": foretell.log(1e-4, 1)}, metric="val_acc", epochs=5, trials=24)
    def objective(trial):
        trial.checkpoints.joinpath("here").touch()
        for epoch in trial.epochs():
            time.sleep(0.01)
            trial.report((1 - abs(trial.config["lr"] - 0.1)) * (1 - 0.6**epoch), epoch)
        print(trial.number, flush=True)
    study.optimize(objective)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a folder's server needs a Unix")
def test_processes_that_connect_to_one_folder_share_a_study(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(WORKER))
    workers = [subprocess.Popen([sys.executable, "train.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    done = [worker.communicate(timeout=120)[0].split() for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 4
    numbers = sorted(int(number) for each in done for number in each)
    assert numbers == list(range(24)) and sum(bool(each) for each in done) >= 2
    folder = tmp_path / "runs" / "rates"
    address = folder / "server.json"
    for _ in range(200):
        if not address.exists():
            break
        import time

        time.sleep(0.1)
    assert not address.exists(), "the server ends after its last user"
    study = Study(folder=folder)
    assert study.done and len(study.trials) == 24 and os.path.exists(folder / "trials" / "0003" / "checkpoints" / "here")

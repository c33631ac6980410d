"""The pruner: on every storage, in threads and processes, with its reasons kept."""

import contextlib
import logging
import multiprocessing
import os
import pickle

import pytest

optuna = pytest.importorskip("optuna")
from conftest import curve_of  # noqa: E402
from foretell.optuna import ForetellPruner  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.WARNING)


def objective(trial):
    rate = trial.suggest_float("lr", 1e-4, 1, log=True)
    trial.suggest_categorical("act", ["relu", None, True])
    for epoch, value in enumerate(curve_of(rate, trial.number)):
        trial.report(value, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return value


def loss(trial):
    rate = trial.suggest_float("lr", 1e-4, 1, log=True)
    trial.suggest_categorical("act", ["relu", None, True])
    for epoch, value in enumerate(curve_of(rate, trial.number)):
        trial.report(1 - value, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return 1 - value


def check(study, trials=40, startup=10):
    states = [trial.state.name for trial in study.trials]
    assert len(states) == trials and set(states) <= {"COMPLETE", "PRUNED"}
    assert states[:startup] == ["COMPLETE"] * startup
    pruned = [trial for trial in study.trials if trial.state.name == "PRUNED"]
    assert len(pruned) >= 10
    for trial in pruned:
        said = trial.user_attrs["foretell"]
        assert said["stop"] and said["reason"].startswith("will not win") and len(trial.intermediate_values) < 20
    return [(trial.number, trial.state.name, len(trial.intermediate_values)) for trial in study.trials]


def create(direction="maximize", **more):
    more.setdefault("pruner", ForetellPruner())
    return optuna.create_study(direction=direction, sampler=optuna.samplers.RandomSampler(seed=1), **more)


def test_trials_are_pruned_and_the_reason_is_kept(caplog):
    with caplog.at_level(logging.INFO, "foretell"):
        study = create()
        study.optimize(objective, n_trials=40)
    check(study)
    assert study.best_value > 0.8
    assert any(line.startswith("trial") and "pruned at step" in line for line in caplog.messages)


def test_a_loss_is_pruned_like_the_accuracy():
    up, down = create(), create("minimize")
    up.optimize(objective, n_trials=40)
    down.optimize(loss, n_trials=40)
    check(down)
    assert down.best_value == pytest.approx(1 - up.best_value, abs=0.02)


def storages(folder):
    journal = optuna.storages.journal.JournalFileBackend(str(folder / "journal.log"))
    return {
        "memory": None,
        "sqlite": f"sqlite:///{folder}/study.db",
        "journal": optuna.storages.JournalStorage(journal),
    }


@pytest.mark.parametrize("name", ["sqlite", "journal"])
def test_the_storage_changes_no_decision(name, tmp_path):
    memory, stored = create(), create(storage=storages(tmp_path)[name])
    memory.optimize(objective, n_trials=40)
    stored.optimize(objective, n_trials=40)
    assert check(memory) == check(stored)


def test_a_study_that_goes_on_decides_as_one_that_never_ended(tmp_path):
    whole, parts = create(), create(storage=f"sqlite:///{tmp_path}/study.db", study_name="s")
    whole.optimize(objective, n_trials=40)
    parts.optimize(objective, n_trials=18)
    sampler = parts.sampler
    again = optuna.load_study(
        study_name="s", storage=f"sqlite:///{tmp_path}/study.db", sampler=sampler, pruner=ForetellPruner()
    )
    again.optimize(objective, n_trials=22)
    assert check(again) == check(whole)


def test_threads():
    study = create()
    study.optimize(objective, n_trials=40, n_jobs=4)
    assert len(study.trials) == 40 and sum(trial.state.name == "PRUNED" for trial in study.trials) >= 10


def work(storage, seed, trials):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(
        study_name="s", storage=storage, sampler=optuna.samplers.RandomSampler(seed=seed), pruner=ForetellPruner()
    )
    study.optimize(objective, n_trials=trials)


@pytest.fixture(params=["sqlite", "postgresql"])
def storage(request, tmp_path):
    """The address of an empty storage; that of a PostgreSQL server is in FORETELL_POSTGRES."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/study.db"
    server = os.environ.get("FORETELL_POSTGRES")
    if not server:
        pytest.skip("PostgreSQL: FORETELL_POSTGRES names no server, such as postgresql+psycopg2://user:password@localhost/database")
    return server


def test_eight_processes_lose_nothing(storage):
    with contextlib.suppress(KeyError):
        optuna.delete_study(study_name="s", storage=storage)
    optuna.create_study(study_name="s", storage=storage, direction="maximize")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(storage, seed, 8)) for seed in range(8)]
    [worker.start() for worker in workers]
    [worker.join(240) for worker in workers]
    assert [worker.exitcode for worker in workers] == [0] * 8
    trials = optuna.load_study(study_name="s", storage=storage).trials
    assert sorted(trial.number for trial in trials) == list(range(64))
    assert {trial.state.name for trial in trials} == {"COMPLETE", "PRUNED"}
    for trial in trials:
        steps = sorted(trial.intermediate_values)
        assert steps == list(range(len(steps)))
        assert (len(steps) == 20) or trial.state.name == "PRUNED"


def test_old_runs_stand_in_for_the_startup(recorded):
    history = [{"values": c, "configuration": {**k, "act": "relu"}, "steps": range(20)} for c, k in zip(*recorded)]
    study = create(pruner=ForetellPruner(history=history))
    study.optimize(objective, n_trials=10)
    assert any(trial.state.name == "PRUNED" for trial in study.trials)


def test_shadow_records_and_prunes_nothing():
    study = create(pruner=ForetellPruner(shadow=True))
    study.optimize(objective, n_trials=25)
    assert {trial.state.name for trial in study.trials} == {"COMPLETE"}
    assert any(trial.user_attrs.get("foretell", {}).get("stop") for trial in study.trials)


def test_it_pickles_and_wrong_settings_are_refused_at_once():
    assert isinstance(pickle.loads(pickle.dumps(ForetellPruner(20, stop_probability=0.9))), ForetellPruner)
    with pytest.raises(ValueError, match="burn_in=1"):
        ForetellPruner(n_startup_trials=1)
    with pytest.raises(TypeError, match="colour"):
        ForetellPruner(colour="red")

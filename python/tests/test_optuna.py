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


def check(study, trials=40, startup=3):
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


def test_one_pruner_serves_two_studies():
    pruner = ForetellPruner()
    first, second = create(pruner=pruner), create("minimize", pruner=pruner)
    first.optimize(objective, n_trials=40)
    second.optimize(loss, n_trials=40)
    alone = create("minimize")
    alone.optimize(loss, n_trials=40)
    assert check(second) == check(alone)
    check(first)


def test_a_study_that_takes_a_deleted_ones_number_begins_anew(tmp_path):
    storage, pruner = optuna.storages.RDBStorage(f"sqlite:///{tmp_path}/study.db"), ForetellPruner()
    lengths = []
    for name in ["one", "two"]:
        study = create(storage=storage, study_name=name, pruner=pruner)
        study.optimize(objective, n_trials=20)
        lengths.append([(trial.state.name, len(trial.intermediate_values)) for trial in study.trials])
        optuna.delete_study(study_name=name, storage=storage)
    assert lengths[0] == lengths[1]


class Relu:
    """A layer, say."""


class Tanh:
    """Another."""


THING = object()


@pytest.mark.filterwarnings("ignore:Choices for a categorical")
def test_any_categorical_value_will_do():
    def objective(trial):
        rate = trial.suggest_float("lr", 1e-4, 1, log=True)
        trial.suggest_categorical("layers", [(64, 64), (128,), [32, 32]])
        trial.suggest_categorical("activation", [Relu, Tanh, max, THING])
        for epoch, value in enumerate(curve_of(rate, trial.number)):
            trial.report(value, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned()
        return value

    study = create()
    study.optimize(objective, n_trials=40)
    check(study)


def steps_from(first, epochs=lambda trial: 20):
    """Trains, with steps from `first` on, for so many epochs."""

    def objective(trial):
        rate = trial.suggest_float("lr", 1e-4, 1, log=True)
        for epoch, value in enumerate(curve_of(rate, trial.number)[: epochs(trial)]):
            trial.report(value, first + epoch)
            if trial.should_prune():
                raise optuna.TrialPruned()
        return value

    return objective


def pruned(study):
    return [trial for trial in study.trials if trial.state.name == "PRUNED"]


def test_values_steps_and_savings_are_those_of_the_training_s_own_count(tmp_path):
    def objective(trial):
        rate = trial.suggest_float("lr", 1e-4, 1, log=True)
        for epoch, value in enumerate(curve_of(rate, trial.number)):
            with (tmp_path / str(trial.number)).open("a") as file:
                print(epoch, repr(float(value)), file=file)
            trial.report(value, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned()
        return value

    study, trained = create(), 0
    study.optimize(objective, n_trials=40)
    for trial in study.trials:
        lines = [line.split() for line in (tmp_path / str(trial.number)).read_text().splitlines()]
        assert trial.intermediate_values == {int(epoch): float(value) for epoch, value in lines}
        assert (len(lines) < 20) == (trial.state.name == "PRUNED")
        trained += len(lines)
    assert trained <= 0.7 * 40 * 20


@pytest.mark.parametrize("first", [0, 1])
def test_steps_count_from_0_or_1_up_to_max_resource(first, caplog):
    study = create(pruner=ForetellPruner(max_resource=20))
    study.optimize(steps_from(first), n_trials=40)
    assert len(pruned(study)) >= 10
    assert not [line for line in caplog.messages if "max_resource" in line]


def test_a_max_resource_that_no_trial_comes_to_is_said_once_and_does_not_keep_it_from_pruning(caplog):
    study = create(pruner=ForetellPruner(max_resource=100))
    study.optimize(steps_from(0), n_trials=40)
    said = [line for line in caplog.messages if "max_resource" in line]
    assert len(said) == 1 and said[0].startswith("the first trial ended by itself after step 20, but `max_resource` is 100")
    assert "Set `max_resource` to 20" in said[0]
    assert len(pruned(study)) >= 10 and study.best_value > 0.8


def test_steps_in_another_unit_than_max_resource_are_said_once(caplog):
    def objective(trial):
        for epoch in range(1, 21):
            trial.report(0.04 * epoch, 1000 * epoch)
            trial.should_prune()
        return 0.8

    study = create(pruner=ForetellPruner(max_resource=20))
    study.optimize(objective, n_trials=5)
    said = [line for line in caplog.messages if "max_resource" in line]
    assert len(said) == 1 and "step 1000" in said[0] and "`max_resource` is 20" in said[0], said


@pytest.mark.parametrize("max_resource", [None, 20])
def test_trainings_with_early_stopping_of_their_own_are_pruned(max_resource):
    """A trial that ends before, as one with patience does, counts with its last value."""
    study = create(pruner=ForetellPruner(max_resource))
    study.optimize(steps_from(1, lambda trial: 12 + trial.number * 7 % 9), n_trials=40)
    assert len(pruned(study)) >= 8 and study.best_value > 0.8


def test_trainings_whose_epochs_are_a_parameter_are_pruned():
    study = create()
    study.optimize(steps_from(0, lambda trial: trial.suggest_int("epochs", 10, 20)), n_trials=40)
    assert len(pruned(study)) >= 8 and study.best_value > 0.8


@pytest.mark.parametrize("warmup", [0, 5])
def test_warmup_steps_are_steps_as_in_optuna(warmup):
    def shortest(pruner):
        study = create(pruner=pruner)
        study.optimize(steps_from(0), n_trials=40)
        return min(trial.last_step for trial in pruned(study))

    theirs = shortest(optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=warmup))
    ours = shortest(ForetellPruner(n_warmup_steps=warmup))
    # the median rule decides at the first step; two checks must agree here
    assert ours >= warmup and theirs == warmup and ours <= warmup + 2


def test_a_forecast_that_cannot_be_made_is_said_once(caplog):
    """There is none at a value that is not finite."""
    study = create()

    def objective(trial):
        for epoch, value in enumerate(curve_of(0.01, trial.number)):
            trial.report(value if trial.number < 3 or epoch % 3 else float("nan"), epoch)
            trial.should_prune()
        return value

    study.optimize(objective, n_trials=6)
    assert len([line for line in caplog.messages if "is not finite. If it does not recover at the next step" in line]) == 1
    assert "no run is stopped" not in caplog.text


def test_it_pickles_and_wrong_settings_are_refused_at_once():
    assert isinstance(pickle.loads(pickle.dumps(ForetellPruner(20, stop_probability=0.9))), ForetellPruner)
    with pytest.raises(ValueError, match="burn-in"):
        ForetellPruner(n_startup_trials=0)
    with pytest.raises(ValueError, match="n_warmup_steps must be at least 0, not -1"):
        ForetellPruner(n_warmup_steps=-1)
    with pytest.raises(TypeError, match="colour"):
        ForetellPruner(colour="red")


def test_the_example_holds(examples_hold):
    import foretell.optuna

    examples_hold(foretell.optuna)

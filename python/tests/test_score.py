"""Which value of a trial counts, by what trials return; settings without an effect."""

import logging

import foretell
import numpy as np
import pytest

optuna = pytest.importorskip("optuna")

from foretell.optuna import ForetellPruner  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)


def overfitting(trial, number):
    """A network that gets worse after a peak: the better it is, the more."""
    quality, peak = trial.suggest_float("q", 0, 1), trial.suggest_int("peak", 4, 19)
    epochs = np.arange(1, 21)
    fall = np.maximum(0, epochs - peak) * 0.03 * quality
    return (0.6 + 0.3 * quality) * (1 - 0.6**epochs) - fall + np.random.default_rng(number).normal(0, 0.004, 20)


def search(pruner, returned, reported=lambda curve: curve, trials=60, seed=0):
    """The study, and what each trial would have returned."""
    whole = {}

    def objective(trial):
        curve = overfitting(trial, trial.number)
        whole[trial.number] = float(returned(curve))
        for step, value in enumerate(reported(curve)):
            trial.report(float(value), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return whole[trial.number]

    study = optuna.create_study(direction="maximize", pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=seed))
    study.optimize(objective, n_trials=trials)
    return study, whole


def pruned(study):
    return [trial.number for trial in study.trials if trial.state.name == "PRUNED"]


@pytest.mark.parametrize("seed", range(6))
def test_where_trials_return_their_best_epoch_the_best_counts_and_it_is_said_once(seed, caplog):
    study, whole = search(ForetellPruner(), max, seed=seed)
    lost = [number for number in pruned(study) if whole[number] > study.best_value]
    assert not lost and pruned(study)
    assert [line for line in caplog.messages if "returns the best of its reports" in line] == [
        "each trial returns the best of its reports, so the best report is its score"
    ]


def test_a_loss_reported_and_an_accuracy_returned_prune_nothing_and_it_is_said(caplog):
    study, _ = search(ForetellPruner(), lambda curve: curve[-1], lambda curve: 1 - curve)
    assert not pruned(study)
    assert len([line for line in caplog.messages if "hardly depend on" in line]) == 1


def test_a_percentage_returned_and_a_fraction_reported_are_said(caplog):
    study, whole = search(ForetellPruner(), lambda curve: 100 * max(curve))
    assert "times 100" in caplog.text and pruned(study)
    assert not [number for number in pruned(study) if whole[number] > study.best_value]


def test_values_that_follow_the_reports_keep_pruning(caplog):
    study, _ = search(ForetellPruner(), np.mean)
    assert pruned(study) and min(pruned(study)) >= 5
    assert "rise and fall together" in caplog.text


def test_a_chosen_score_is_kept(caplog):
    study, _ = search(ForetellPruner(score="last"), max)
    assert pruned(study) and "best" not in caplog.text


#: What a study of `foretell.Study` searches in these tests.
SPACE = {"q": foretell.float(0, 1), "peak": foretell.int(4, 19)}


def whole_curve(config, number):
    fall = np.maximum(0, np.arange(1, 21) - config["peak"]) * 0.03 * config["q"]
    return (0.6 + 0.3 * config["q"]) * (1 - 0.6 ** np.arange(1, 21)) - fall + np.random.default_rng(number).normal(0, 0.004, 20)


def searched(returned, **settings):
    """A study whose objective reports its curve and returns something else."""

    def objective(trial):
        curve = whole_curve(trial.config, trial.number)
        for epoch in trial.epochs():
            trial.report(curve[epoch - 1], epoch)
        return float(returned(curve))

    study = foretell.Study(SPACE, metric="acc", epochs=20, trials=40, sampler="random", **settings)
    study.optimize(objective)
    return study


def test_a_study_whose_objective_returns_its_best_epoch_counts_the_best(caplog):
    study = searched(max)
    completed = [trial for trial in study.trials if trial["state"] == "completed"]
    assert study.settings["score"] == "best" and [trial["score"] for trial in completed] == [max(trial["values"]) for trial in completed]
    assert study.best["score"] == max(trial["score"] for trial in completed)
    stopped = [trial for trial in study.trials if trial["state"] == "stopped"]
    assert stopped and not [trial for trial in stopped if max(whole_curve(trial["config"], trial["number"])) > study.best["score"]]
    assert len([line for line in caplog.messages if "returns the best of its reports" in line]) == 1


def test_a_study_whose_objective_returns_something_else_stops_nothing(caplog):
    study = searched(lambda curve: 1 - curve[-1])
    assert [trial["state"] for trial in study.trials] == ["completed"] * 40
    assert len([line for line in caplog.messages if "hardly depend on" in line]) == 1


def test_a_chosen_score_of_a_study_is_kept(caplog):
    study = searched(max, score="last")
    assert study.settings["score"] == "last" and "best" not in caplog.text


def test_what_a_comprehension_of_reports_returns_is_no_value():
    study = foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=3, trials=3)
    study.optimize(lambda trial: [trial.report(0.1 * epoch, epoch) for epoch in trial.epochs()])
    assert [trial["state"] for trial in study.trials] == ["completed"] * 3


def test_a_judge_that_is_pickled_knows_what_was_returned():
    import pickle

    judge = foretell.Judge("maximize")
    for number in range(4):
        judge.add(number, [0.1 * number, 0.5 + 0.1 * number, 0.3], {"x": number}, returned=0.5 + 0.1 * number)
    again = pickle.loads(pickle.dumps(judge))
    assert again._relation == judge._relation == "best" and len(again) == 4


WITHOUT_EFFECT = {
    "sampler": "gp", "epochs": 40, "budget_epochs": 100, "trials": 5, "eta": 4, "patience": 3, "limit": "latency<3",
    "scheduler": "asha", "enqueue": {"lr": 0.1}, "objective": "val_acc", "until_no_improvement": 5, "target": 0.9, "checkpoints": True, "policy": "chain",
}  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_a_setting_without_an_effect_is_refused_with_the_reason(name):
    given = {name: WITHOUT_EFFECT[name]}
    for make in (lambda: ForetellPruner(**given), lambda: foretell.Judge("maximize", **given)):
        with pytest.raises(ValueError, match=f"^{name}: .*(used here|works only|one metric|needs)"):
            make()


def test_what_the_tool_knows_itself_is_refused_with_the_place():
    with pytest.raises(TypeError, match="direction='minimize' here. Set the direction of the Optuna study"):
        ForetellPruner(direction="minimize")
    with pytest.raises(TypeError, match="burn_in=5 here. Use n_startup_trials instead"):
        ForetellPruner(burn_in=5)
    with pytest.raises(TypeError, match="unknown setting \"foo\". Choose one of .*score"):
        ForetellPruner(foo=1)


def test_settings_with_an_effect_are_taken():
    for given in (
        {"policy": "patience", "patience": 3}, {"policy": "asha", "eta": 4}, {"score": "best"}, {"exempt": 0.5}, {"error_budget": "per-run"},
        {"paper": True}, {"policy": "median"}, {"caution": "fast"},
    ):  # fmt: skip
        assert repr(foretell.Judge("maximize", **given))


def test_the_settings_are_typed_and_documented():
    from foretell._foretell import judge_settings
    from foretell._settings import PrunerSettings, StopSettings

    assert set(StopSettings.__annotations__) == set(judge_settings())
    assert set(PrunerSettings.__annotations__) == set(judge_settings()) - {"burn_in"}
    assert "score" in ForetellPruner.__doc__ and "score" in foretell.Judge.__doc__


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stop_probability": float("nan")}, "stop_probability: nan"),
        ({"offset": float("inf")}, "offset: inf"),
        ({"refit": float("nan")}, "refit: nan"),
        ({"refit": object}, "refit: <class 'object'>"),
        ({"seed": "one"}, 'seed: .*"one"'),
    ],
)
def test_a_value_that_is_no_setting_is_said_by_its_name(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        foretell.Judge("maximize", **given)
    with pytest.raises((ValueError, TypeError), match=message):
        foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=3, **given)


@pytest.mark.parametrize(
    ("queued", "message"),
    [({"x": float("nan")}, "nan"), ({"x": [1]}, r"x: \[1\] is not a value"), ({"x": True}, "x: true is not a value"), (5, "5 is not a configuration")],
)
def test_a_configuration_that_cannot_be_tried_is_said(queued, message):
    study = foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=3)
    with pytest.raises((ValueError, TypeError), match=message) as said:
        study.enqueue(queued)
    assert "untagged" not in str(said.value) and "line 1" not in str(said.value)
    with pytest.raises((ValueError, TypeError), match=message):
        foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=3, enqueue=queued)


def test_what_a_trial_cannot_report_is_said():
    study = foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=3)
    trial = study.ask()
    with pytest.raises(TypeError, match="value must be a number, not None"):
        trial.report(None, 1)
    with pytest.raises(TypeError, match="loss must be a number, not 'low'"):
        trial.report(0.5, 1, loss="low")
    with pytest.raises(ValueError, match="timeout must be a number of seconds"):
        study.optimize(lambda trial: None, timeout=float("nan"))


def test_a_database_is_not_read_again_for_each_decision(tmp_path):
    logging.getLogger("alembic").setLevel(logging.ERROR)
    study = optuna.create_study(direction="maximize", storage=f"sqlite:///{tmp_path / 'study.db'}", pruner=ForetellPruner())
    reads = []

    def objective(trial):
        rate = trial.suggest_float("x", 0, 1)
        whole = study._storage.get_all_trials
        try:
            study._storage.get_all_trials = lambda *given, **named: reads.append(trial.number) or whole(*given, **named)
            for step in range(10):
                trial.report(rate * (1 - 0.5**step), step)
                trial.should_prune()
        finally:
            study._storage.get_all_trials = whole
        return rate * (1 - 0.5**9)

    study.optimize(objective, n_trials=8)
    # 80 decisions: one reading for each trial, and a few where the machine is slow
    assert len(reads) <= 32, reads

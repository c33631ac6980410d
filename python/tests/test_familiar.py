"""A study behaves as a user of Optuna expects: objectives of its tutorials, and the attributes of studies and trials."""

import pickle

import foretell
import pytest

optuna = pytest.importorskip("optuna")
pytest.importorskip("sklearn")
optuna.logging.set_verbosity(optuna.logging.ERROR)


def quadratic(trial):
    """The first objective of Optuna's tutorial."""
    x = trial.suggest_float("x", -10, 10)
    return (x - 2) ** 2


def classifiers(trial):
    """Its objective with a condition."""
    import sklearn.datasets
    import sklearn.ensemble
    import sklearn.model_selection
    import sklearn.svm

    iris = sklearn.datasets.load_iris()
    classifier_name = trial.suggest_categorical("classifier", ["SVC", "RandomForest"])
    if classifier_name == "SVC":
        svc_c = trial.suggest_float("svc_c", 1e-10, 1e10, log=True)
        classifier_obj = sklearn.svm.SVC(C=svc_c, gamma="auto")
    else:
        rf_max_depth = trial.suggest_int("rf_max_depth", 2, 32, log=True)
        classifier_obj = sklearn.ensemble.RandomForestClassifier(max_depth=rf_max_depth, n_estimators=10)
    score = sklearn.model_selection.cross_val_score(classifier_obj, iris.data, iris.target, n_jobs=1, cv=3)
    return score.mean()


def pruned(trial):
    """Its objective with pruning."""
    import sklearn.datasets
    import sklearn.linear_model
    import sklearn.model_selection

    iris = sklearn.datasets.load_iris()
    classes = list(set(iris.target))
    train_x, valid_x, train_y, valid_y = sklearn.model_selection.train_test_split(iris.data, iris.target, test_size=0.25, random_state=0)
    alpha = trial.suggest_float("alpha", 1e-5, 1e-1, log=True)
    clf = sklearn.linear_model.SGDClassifier(alpha=alpha)
    for step in range(30):
        clf.partial_fit(train_x, train_y, classes=classes)
        intermediate_value = 1.0 - clf.score(valid_x, valid_y)
        trial.report(intermediate_value, step)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return 1.0 - clf.score(valid_x, valid_y)


@pytest.mark.parametrize(("objective", "direction", "trials"), [(quadratic, "minimize", 12), (classifiers, "maximize", 8), (pruned, "minimize", 12)])
@pytest.mark.parametrize("folder", [None, "study"])
def test_an_objective_of_the_tutorial_runs_unchanged(objective, direction, trials, folder, tmp_path):
    study = foretell.Study(direction=direction, trials=trials, folder=folder and tmp_path / folder)
    queued = [{"classifier": name} for name in ("SVC", "RandomForest")] if objective is classifiers else []
    for params in queued:
        study.enqueue_trial(params)
    study.optimize(objective)
    complete = study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    assert len(complete) >= 3 and all(trial.state in (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED, optuna.trial.TrialState.FAIL) for trial in study.trials)
    best = (min if direction == "minimize" else max)(trial.value for trial in complete)
    assert study.best_value == best == study.best_trial.value and study.best_params == study.best_trial.params
    theirs = optuna.create_study(direction=direction)
    for params in queued:
        theirs.enqueue_trial(params)
    theirs.optimize(objective, n_trials=8)
    left_out = {name for name in theirs.trials_dataframe().columns if name.startswith("system_attrs")}
    ours = study.trials_dataframe()
    assert set(theirs.trials_dataframe().columns) - left_out == set(ours.columns)
    assert list(ours["number"]) == list(range(len(study.trials))) and set(ours["state"]) <= {"COMPLETE", "PRUNED", "FAIL"}
    if folder is not None:
        assert (ours["duration"].dropna().dt.total_seconds() >= 0).all() and ours["datetime_start"].notna().all()


def test_the_plots_of_a_tutorial_are_drawn_from_the_frame():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    study = foretell.Study(direction="minimize", epochs=1, trials=10)
    study.optimize(quadratic)
    frame = study.trials_dataframe()
    axes = frame.plot.scatter(x="params_x", y="value")
    frame[frame["state"] == "COMPLETE"]["value"].cummin().plot(ax=axes)
    assert len(frame) == 10 and axes.get_xlabel() == "params_x"
    pyplot.close("all")


def test_the_attributes_of_trials_and_studies(tmp_path):
    study = foretell.Study(folder=tmp_path / "s", metric="val_loss", epochs=2, trials=4, sampler="random")
    study.enqueue_trial({"x": 0.25})
    study.set_user_attr("data", "iris")

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_user_attr("twice", 2 * x)
        trial.report(x, 1)
        if trial.number == 1:
            raise foretell.TrialPruned
        trial.report(x / 2, 2)

    study.optimize(objective)
    first, second, *_ = study.trials
    assert (first.number, first.params, first.value, first.values, first.state) == (0, {"x": 0.25}, 0.125, [0.125], foretell.TrialState.COMPLETE)
    assert first.intermediate_values == {1: 0.25, 2: 0.125} and first.user_attrs == {"twice": 0.5} and first.last_step == 2
    assert first["values"] == [0.25, 0.125] and first["config"] == first.params, "a dict as before"
    assert second.state == optuna.trial.TrialState.PRUNED and second.value == second.params["x"] and second["state"] == "stopped"
    assert study.direction == optuna.study.StudyDirection.MINIMIZE and study.directions == [study.direction] and study.study_name == "s"
    assert study.user_attrs == {"data": "iris"} and [trial.number for trial in study.get_trials(states=(foretell.TrialState.PRUNED,))] == [1]
    kept = pickle.loads(pickle.dumps(study))
    assert kept.trials[0].user_attrs == {"twice": 0.5} and kept.user_attrs == {"data": "iris"} and kept.trials == study.trials
    study.close()
    assert study.trials == kept.trials and foretell.Study(folder=tmp_path / "s").user_attrs == {"data": "iris"}


def test_ask_and_tell_as_in_optuna():
    study = foretell.Study({"x": foretell.float(0, 1)}, direction="minimize", epochs=1, trials=5, sampler="random")
    for value in (0.3, [0.2]):
        study.tell(study.ask(), value)
    study.tell(study.ask().number, 0.1)
    study.tell(study.ask(), state=optuna.trial.TrialState.FAIL)
    study.tell(study.ask(), state=optuna.trial.TrialState.PRUNED)
    assert [trial.value for trial in study.trials[:3]] == [0.3, 0.2, 0.1] and study.best_value == 0.1
    assert [trial["state"] for trial in study.trials[3:]] == ["failed", "stopped"]
    with pytest.raises(ValueError, match="one value, not 2"):
        foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=1).tell(0, [1.0, 2.0])


def test_help_lists_the_settings_and_texts_describe():
    assert "until_no_improvement" in foretell.Study.__doc__ and "budget_epochs" in foretell.Study.__doc__
    study = foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=3, trials=2)
    trial = study.ask()
    trial.report(0.5, 1)
    assert repr(trial) == f"Trial(0, {trial.config}, epoch 1 of 3, last value 0.5)"
    trial.tell("no memory")
    assert "failed after epoch 1 of 3: no memory" in repr(trial)
    assert repr(study) == "Study(in memory, 1 of 2 trials of `acc` (maximize), best none yet)"

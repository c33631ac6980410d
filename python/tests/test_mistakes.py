"""What each interface records or raises after a mistake: the rows of MISTAKES in endings.py."""

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time

import foretell
import pytest
from endings import MISTAKES, Boom, records
from foretell._callback import Monitor

SPACE = {"x": foretell.float(0, 1)}
EPOCHS = 5


#: The rows that a test goes over.
TESTED = []


def doors(mistake):
    TESTED.append(mistake)
    return pytest.mark.parametrize(("door", "then"), MISTAKES[mistake].items())


def raises(then):
    """The error that a cell names."""
    kind, words = then.split(": ")
    return pytest.raises({"ValueError": ValueError, "TypeError": TypeError}[kind], match=words)


def curve(quality, epochs=EPOCHS):
    return [quality * (1 - 0.6**epoch) for epoch in range(1, epochs + 1)]


def written(path, metric="acc", direction="maximize", sign=1, number=10):
    lines = [
        {"id": f"{metric} {one}", "metric": metric, "direction": direction, "configuration": {"x": one / 10}, "values": [sign * v for v in curve(one / 10)], "ended": "finished"}
        for one in range(1, number + 1)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def looped(path, quality, **more):
    run = foretell.watch(range(EPOCHS), path, **more)
    for epoch in run:
        run.report(curve(quality)[epoch])
    return run


def monitored(path, quality, monitor="acc", **more):
    run = Monitor(monitor, path, **more)
    for step, value in enumerate(curve(quality), 1):
        run.report(value, step)
    run.close()
    return run


def study(door, tmp_path, **more):
    settings = {"metric": "acc", "epochs": EPOCHS, "trials": 3, "sampler": "random", "seed": 0, **more}
    return foretell.Study(SPACE, **settings) if door == "study" else foretell.connect(tmp_path / "study", space=SPACE, **settings)


def test_each_row_has_a_test():
    assert sorted(TESTED) == sorted(MISTAKES)


@doors("a history of the other direction")
@pytest.mark.parametrize("form", ["runs.jsonl", "a database", "an Optuna study", "a list of trials", "the folder of a study", "a study"])
def test_a_history_of_the_other_direction(door, then, form, tmp_path, caplog):
    optuna = pytest.importorskip("optuna")
    path = written(tmp_path / "runs.jsonl")
    history = path
    if "runs" not in form and "folder" not in form and form != "a study":
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        old = optuna.create_study(storage=f"sqlite:///{tmp_path}/old.db", study_name="old", direction="maximize")

        def earlier(trial):
            values = curve(trial.suggest_float("x", 0.1, 1))
            for step, value in enumerate(values, 1):
                trial.report(value, step)
            return values[-1]

        old.optimize(earlier, n_trials=6)
        history = {"a database": f"sqlite:///{tmp_path}/old.db", "an Optuna study": old, "a list of trials": old.trials}[form]
    elif form != "runs.jsonl":
        old = foretell.Study(SPACE, folder=tmp_path / "old", metric="acc", epochs=EPOCHS, trials=5)
        old.optimize(lambda trial: [trial.report(v, e) for e, v in enumerate(curve(trial.config["x"]), 1)] and None)
        history = tmp_path / "old" if "folder" in form else old
    makes = {
        "study": lambda: foretell.Study(SPACE, direction="minimize", epochs=EPOCHS, history=history),
        "judge": lambda: foretell.Judge("minimize", history=history),
        "watch": lambda: looped(history, 0.5, metric="acc", direction="minimize").judge,
        "monitor": lambda: monitored(history, 0.5, direction="minimize").judge,
        "optuna": lambda: pruned(optuna, history),
    }
    if then.startswith("=") and form == "runs.jsonl":
        assert len(makes[door]()) == 1, "its own run"
        assert "set aside" in caplog.text and len(foretell.Judge("maximize", history=path)) == 10
        return
    with raises("ValueError: direction" if then.startswith("=") else then):
        makes[door]()


def pruned(optuna, history):
    from foretell.optuna import ForetellPruner

    later = optuna.create_study(direction="minimize", pruner=ForetellPruner(history=history))

    def objective(trial):
        trial.report(1.0, 1)
        trial.should_prune()
        return 1.0

    later.optimize(objective, n_trials=1)


@doors("another metric in the file")
def test_another_metric_in_the_file(door, then, tmp_path, caplog):
    path = written(tmp_path / "runs.jsonl")
    if not then.startswith("="):
        with raises(then):
            foretell.Judge("minimize", metric="loss", history=path)
        return
    run = {"watch": lambda: looped(path, 0.1, metric="auc"), "monitor": lambda: monitored(path, 0.1, "auc")}[door]()
    assert run.decision is None and len(run.judge) == 1, "it is compared with no run of the other metric"
    assert sum("set aside" in line for line in caplog.messages) == 1
    again = looped(path, 1.1, metric="acc") if door == "watch" else monitored(path, 1.1)
    assert len(again.judge) == 11, "the file stays usable for both"
    assert len(foretell.Judge("maximize", metric="auc", history=path)) == 1


@doors("an error after the last report")
def test_an_error_after_the_last_report(door, then, tmp_path):
    if door == "command":
        (tmp_path / "train.py").write_text("import sys\nfor e in range(1, 6): print(f'acc={float(sys.argv[1]) * e / 5}')\nsys.exit('teardown')\n")
        flags = "search --param x=float:0:1 --metric acc --maximize --epochs 5 --trials 2 --workers 1 --out study --".split()
        said = subprocess.run(
            [sys.executable, "-m", "foretell", *flags, sys.executable, "train.py", "{x}"], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        states = [trial["state"] for trial in foretell.Study(folder=tmp_path / "study").trials]
        assert states == [then[2:]] * 2 and "failed after its last report" in said.stderr
        return

    def objective(trial):
        for step, value in enumerate(curve(0.9 if trial.number == 1 else 0.2), 1):
            trial.report(value, step)
        if trial.number == 1:
            raise Boom("no memory")

    made = study(door, tmp_path)
    made.optimize(objective, catch=Boom)
    check_failed(made, then, "Boom: no memory")


def check_failed(made, then, error):
    record = made.trials[1]
    assert (record["state"], record["error"]) == (then[2:], error)
    assert record["values"] == curve(0.9) and made.best["trial"] != 1 and record.state.name == "FAIL"


@doors("NaN returned after the last report")
def test_nan_returned_after_the_last_report(door, then, tmp_path, caplog):
    caplog.set_level("INFO", "foretell")

    def objective(trial):
        for step, value in enumerate(curve(0.9 if trial.number == 1 else 0.2), 1):
            trial.report(value, step)
        return math.nan if trial.number == 1 else None

    made = study(door, tmp_path)
    made.optimize(objective)
    check_failed(made, then, "the objective returned nan")
    assert "trial 1 failed: the objective returned nan" in caplog.text


@doors("told to have failed after the last report")
def test_told_to_have_failed_after_the_last_report(door, then, tmp_path):
    made = study(door, tmp_path)
    for trial in made:
        for step, value in enumerate(curve(0.9 if trial.number == 1 else 0.2), 1):
            trial.report(value, step)
        made.tell(trial.number, "no memory") if trial.number == 1 else made.tell(trial)
    check_failed(made, then, "no memory")


@doors("a TrialPruned of its own")
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("reports", [0, 2, EPOCHS])
def test_a_trial_pruned_of_its_own(door, then, own, reports, tmp_path):
    optuna = pytest.importorskip("optuna")
    error = foretell.TrialPruned if own else optuna.TrialPruned
    if door == "optuna" and own:
        return

    def objective(trial):
        for step in range(1, EPOCHS + 1):
            if trial.number == 1 and step == reports + 1:
                raise error
            trial.report(0.5, step)
        if trial.number == 1:
            raise error
        return 0.5

    if door == "optuna":
        made = optuna.create_study(direction="maximize")
        made.optimize(objective, n_trials=3)
        assert made.trials[1].state.name == then[2:]
        return
    made = study(door, tmp_path)
    made.optimize(objective)
    assert [trial["state"] for trial in made.trials] == ["completed", then[2:], "completed"]
    assert len(made.trials[1]["values"]) == reports and made.trials[1]["error"] is None and made.best["trial"] != 1


@doors("Ctrl-C with n_jobs")
def test_ctrl_c_with_n_jobs_leaves_no_trial_running(door, then, tmp_path, monkeypatch):
    from foretell import _search

    monkeypatch.setattr(_search, "_FAREWELL", 0.5)
    made, busy, free = study(door, tmp_path), threading.Barrier(3), threading.Event()

    def objective(trial):
        trial.report(0.1, 1)
        busy.wait(30)
        free.wait(30)  # a long epoch, which Ctrl-C does not end
        trial.report(0.2, 2)

    threading.Thread(target=lambda: (busy.wait(30), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        made.optimize(objective, n_jobs=2)
    states = [trial["state"] for trial in made.trials]
    assert "running" not in states or door == "connect", states
    free.set()
    time.sleep(0.5)
    made.optimize(lambda trial: [trial.report(0.3, epoch) for epoch in range(1, EPOCHS + 1)] and None)
    assert [trial["state"] for trial in made.trials] == ["completed"] * 3 and then == "= interrupted"


@doors("SIGTERM")
def test_sigterm_leaves_a_record(door, then, tmp_path):
    if door in ("lightgbm", "xgboost"):
        pytest.importorskip(door)
    path = tmp_path / "runs.jsonl"
    data = "import numpy as np; x = np.random.default_rng(0).normal(size=(200, 3)); y = x[:, 0]"
    scripts = {
        "watch": f"run = foretell.watch(range(9), {str(path)!r}, 'maximize')\nfor epoch in run:\n    run.report(0.1 * epoch)\n    if epoch == 4: end()",
        "monitor": f"from foretell._callback import Monitor\nrun = Monitor('acc', {str(path)!r})\nfor step in range(1, 6): run.report(0.1 * step, step)\nend()",
        "lightgbm": f"""{data}
import lightgbm
from foretell.lightgbm import ForetellCallback
train = lightgbm.Dataset(x, y)
stop = ForetellCallback("training-l2", {str(path)!r}, direction="minimize", every=1)
lightgbm.train({{"verbose": -1}}, train, 9, valid_sets=[train], callbacks=[stop, lambda env: end() if env.iteration == 5 else None])""",
        "xgboost": f"""{data}
import xgboost
from foretell.xgboost import ForetellCallback
class End(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        if epoch == 4: end()
train = xgboost.DMatrix(x, y)
stop = ForetellCallback("train-rmse", {str(path)!r}, every=1)
xgboost.train({{}}, train, 9, evals=[(train, "train")], callbacks=[stop, End()], verbose_eval=False)""",
    }
    head = "import foretell, os, signal, time\ndef end(): os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)\n"
    done = subprocess.run([sys.executable, "-c", head + scripts[door]], capture_output=True, text=True, timeout=120)
    assert done.returncode == -signal.SIGTERM, done.stderr
    (record,) = records(path)
    assert record["ended"] == then[2:] and record["steps"][:4] == [1, 2, 3, 4]


def test_a_handler_of_the_program_stays():
    script = "import foretell, signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\nrun = foretell.watch(range(3), [[1, 2, 3]] * 3, 'maximize')\nfor epoch in run:\n    run.report(1)\n    signal.raise_signal(signal.SIGTERM)"
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 7


@doors("a crash and a resume")
def test_a_crash_and_a_resume_are_one_record(door, then, tmp_path):
    path, config = tmp_path / "runs.jsonl", {"lr": 0.1}
    written(path)
    values = curve(1.1)  # the best, so that it is not stopped
    if door == "watch":
        with pytest.raises(Boom):
            run = foretell.watch(range(EPOCHS), path, "maximize", metric="acc", config=config)
            for epoch in run:
                run.report(values[epoch])
                if epoch == 3:
                    raise Boom
        assert records(path)[-1]["ended"] == "failed"
        # the checkpoint was written after three epochs
        run = foretell.watch(range(3, EPOCHS), path, "maximize", metric="acc", config=config)
        for epoch in run:
            run.report(values[epoch])
    else:
        broken = Monitor("acc", path, config=config)  # kept, as by a traceback
        for step in range(1, 5):
            broken.report(values[step - 1], step)
        again = Monitor("acc", path, config=config)
        again.begin(after=3)
        for step in range(4, EPOCHS + 1):
            again.report(values[step - 1], step)
        again.close()
    assert len(records(path)) == 11
    record = records(path)[-1]
    assert record["ended"] == then[2:] and record["values"] == values and record["steps"] == [1, 2, 3, 4, 5]


def test_a_run_of_another_configuration_is_not_continued(tmp_path):
    path = tmp_path / "runs.jsonl"
    broken = Monitor("acc", path, config={"lr": 0.1})
    broken.report(0.5, 1)
    broken.close(interrupted=True)
    other = Monitor("acc", path, config={"lr": 0.2})
    other.begin(after=1)
    other.report(0.6, 2)
    other.close()
    assert [record["ended"] for record in records(path)] == ["interrupted", "partial"]


@doors("an unknown setting")
def test_an_unknown_setting(door, then, tmp_path):
    optuna_pruner = pytest.importorskip("foretell.optuna").ForetellPruner
    makes = {
        "study": lambda: foretell.Study(SPACE, metric="acc", epochs=2, colour=1),
        "connect": lambda: foretell.connect(tmp_path / "study", space=SPACE, metric="acc", epochs=2, colour=1),
        "judge": lambda: foretell.Judge("maximize", colour=1),
        "optuna": lambda: optuna_pruner(colour=1),
        "watch": lambda: foretell.watch(range(3), [[1, 2, 3]] * 3, "maximize", colour=1),
        "monitor": lambda: Monitor("acc", [[1, 2, 3]] * 3, colour=1),
    }
    with raises(then):
        makes[door]()


@doors("no metric and no direction")
def test_no_metric_and_no_direction(door, then, tmp_path):
    makes = {
        "study": lambda: foretell.Study(SPACE, epochs=2),
        "connect": lambda: foretell.connect(tmp_path / "study", space=SPACE, epochs=2),
        "watch": lambda: foretell.watch(range(3), [[1, 2, 3]] * 3),
        "monitor": lambda: Monitor("thing", [[1, 2, 3]] * 3),
    }
    with raises(then):
        makes[door]()


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: foretell.log(0, 1), ValueError, "above 0"),
        (lambda: foretell.logint(0, 8), ValueError, "at least 1"),
        (lambda: foretell.float(1, 0), ValueError, "lower bound comes first"),
        (lambda: foretell.int(3, 1), ValueError, "lower bound comes first"),
        (lambda: foretell.float(0, math.inf), ValueError, "finite"),
        (lambda: foretell.choice(), ValueError, "at least one option"),
        (lambda: foretell.choice([]), ValueError, "at least one option"),
        (lambda: foretell.Study([1, 2], metric="acc", epochs=2), TypeError, "dict of parameters"),
        (lambda: foretell.Study({"x": {"lo": 0}}, metric="acc", epochs=2), TypeError, "has no kind"),
        (lambda: foretell.Study(metric="acc", epochs=2, load_if_exists=True), TypeError, "unknown setting"),
        (lambda: foretell.Study(metric="acc", epochs=2, caution="unsure"), ValueError, "caution"),
        (lambda: foretell.Study(metric="acc", epochs=2, sampler="nosuch"), ValueError, "nosuch"),
        (lambda: foretell.Study(metric="acc", epochs=2, sampler=object()), TypeError, "sampler"),
        (lambda: foretell.Study(metric="thing", epochs=2), ValueError, "direction="),
        (lambda: foretell.Study(SPACE, metric="acc", epochs=2, patience=3), ValueError, "a setting of the policy patience"),
        (lambda: foretell.Study(SPACE, metric="acc", epochs=2, eta=4), ValueError, "a setting of the policy asha"),
        (lambda: foretell.Judge("maximize", sampler="gp"), ValueError, "sampler"),
        (lambda: foretell.Study(direction="up", epochs=2), ValueError, "'up'"),
    ],
)
def test_errors_come_at_once(make, kind, words):
    with pytest.raises(kind, match=words) as error:
        make()
    assert "struct" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [({"n_trials": 2.5}, TypeError), ({"n_trials": "2"}, TypeError), ({"n_trials": True}, TypeError), ({"n_jobs": 1.5}, TypeError), ({"catch": "x"}, TypeError),
     ({"catch": (ValueError, "x")}, TypeError), ({"timeout": "soon"}, TypeError), ({"callbacks": [3]}, TypeError)],
)  # fmt: skip
def test_wrong_arguments_of_optimize_are_refused_before_the_first_trial(arguments, kind, tmp_path):
    made = study("study", tmp_path)
    with pytest.raises(kind, match=next(iter(arguments))):
        made.optimize(lambda trial: 0.5, **arguments)
    assert len(made) == 0
    with pytest.raises(TypeError, match="function of a trial"):
        made.optimize(None)


def test_an_error_of_a_constructor_prints_nothing_else():
    script = "from foretell._callback import Monitor\ntry: Monitor('thing', [[1, 2]])\nexcept ValueError: print('refused')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("refused\n", "")


def test_a_lost_value_is_announced_as_what_happens_next(caplog):
    judge = foretell.Judge("maximize", history=[curve(one / 10, 10) for one in range(1, 10)])
    values = curve(0.9, 3)
    assert not judge.decide([*values, math.nan], key="a")
    assert "not finite" in caplog.text and "is stopped" in caplog.text and "no run is stopped" not in caplog.text
    assert judge.decide([*values, math.nan, math.nan], key="a").stop


def test_a_cell_of_a_notebook_runs_twice(tmp_path):
    def cell(trials=9):
        return foretell.Study(SPACE, folder=tmp_path / "study", metric="acc", epochs=2, trials=trials)

    first = cell()
    first.optimize(lambda trial: [trial.report(0.1, epoch) for epoch in trial.epochs()] and None, n_trials=3)
    second = cell()
    assert len(second) == 3 and len(first) == 3 and "closed" in repr(first)
    with pytest.raises(RuntimeError, match="closed"):
        first.ask()
    with pytest.raises(ValueError, match="another study"):
        foretell.Study({"y": foretell.int(1, 2)}, folder=tmp_path / "study", metric="acc", epochs=2)
    assert second.ask() is not None, "a refused study takes nothing over"

    def nested(trial):
        cell()

    with pytest.raises(RuntimeError, match=r"this process.*close\(\)"):
        second.optimize(nested, n_trials=1)
    with second:
        pass
    subprocess.run([sys.executable, "-m", "foretell", "study", "show", str(tmp_path / "study")], check=True, capture_output=True)
    with cell(trials=10) as third:
        assert third.settings["trials"] == 10
    assert len(third.trials) >= 4 and third.best["score"] == 0.1, "a closed study can be read"

"""Every run leaves one record, however it ends: each way of reporting, with each ending. The heavy tools are in tests/tools."""

import ast
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import foretell
import pytest
from endings import CELLS, EARLY, ENDINGS, EPOCHS, FILES, Boom, cells, check, length, raised, records


def curve(quality):
    return [quality * (1 - 0.6**epoch) for epoch in range(1, EPOCHS + 1)]


def test_each_interface_has_each_ending():
    """A cell of the matrix is tested with its interface, or names the test that covers it."""
    here = Path(__file__).parent
    named = {file: {node.name for node in ast.parse((here / file).read_text()).body if isinstance(node, ast.FunctionDef)} for file in FILES}
    assert {door for doors in FILES.values() for door in doors} == set(CELLS)
    for file, doors in FILES.items():
        assert all(len(CELLS[door]) == len(ENDINGS) for door in doors)
        # the tests call cells("DOOR", …)
        called = {
            argument.value for node in ast.walk(ast.parse((here / file).read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cells"
            for argument in node.args if isinstance(argument, ast.Constant)
        }  # fmt: skip
        assert called == set(doors) and named[file]
    for name in (state for states in CELLS.values() for state in states if "::" in state):
        file, test = name.split("::")
        assert f"def {test}(" in (here / file).read_text()


def looped(path, quality, ending="finished", epochs=None):
    """A loop over `foretell.watch`."""
    run = foretell.watch(range(EPOCHS) if epochs is None else epochs, path, "maximize", config={"quality": quality})
    for epoch in run:
        run.report(curve(quality)[epoch])
        if epoch + 1 == EARLY and ending in ("stopped", "failed", "interrupted"):
            if (error := raised(ending)) is not None:
                raise error
            break
    return run


def trained_by_sklearn(path, quality, ending="finished"):
    """A loop over the epochs of a scikit-learn model; `quality` is its learning rate. Returns its validation scores."""
    import numpy as np
    from sklearn.linear_model import SGDRegressor

    random = np.random.default_rng(0)
    x = random.normal(size=(200, 3))
    y = x @ [1.0, 2.0, 3.0] + random.normal(0, 0.1, 200)
    model, scores = SGDRegressor(learning_rate="constant", eta0=quality, random_state=0), []
    run = foretell.watch(range(EPOCHS), path, "maximize", config={"eta0": quality})
    for epoch in run:
        model.partial_fit(x[:100], y[:100])
        scores.append(model.score(x[100:], y[100:]))
        run.report(scores[-1])
        if epoch + 1 == EARLY and ending in ("stopped", "failed", "interrupted"):
            if (error := raised(ending)) is not None:
                raise error
            break
    return scores


@pytest.mark.parametrize(("door", "ending", "state"), cells("watch", "sklearn"))
def test_a_loop_leaves_one_record(door, ending, state, tmp_path):
    if door == "sklearn":
        pytest.importorskip("sklearn")
    path = tmp_path / "runs.jsonl"
    train, *worse, best, bad = {"watch": (looped, 0.7, 0.8, 0.9, 0.95, 0.1), "sklearn": (trained_by_sklearn, 2e-3, 3e-3, 4e-3, 5e-3, 1e-6)}[door]
    for quality in worse:
        train(path, quality)
    quality = bad if ending == "pruned" else best
    try:
        train(path, quality, ending)
    except (Boom, KeyboardInterrupt):
        pass
    check(path, ending, state, records(path)[-1]["values"])
    true = curve(quality) if door == "watch" else trained_by_sklearn([[0.5] * EPOCHS] * 3, quality)
    assert records(path)[-1]["values"] == true[: len(records(path)[-1]["values"])]


def test_a_loop_that_handled_an_error_before_was_left_by_break(tmp_path):
    path = tmp_path / "runs.jsonl"
    run = foretell.watch(range(EPOCHS), path, "maximize")
    for epoch in run:
        try:
            raise Boom
        except Boom as error:
            kept = error  # its traceback refers to this frame, too
        run.report(0.5)
        if epoch == 3:
            break
    assert kept is not None and records(path)[0]["ended"] == "stopped"


@pytest.mark.parametrize("error", ["raise ValueError", "raise KeyboardInterrupt", "sys.exit(3)", "os.kill(os.getpid(), signal.SIGINT)"])
def test_a_script_that_ends_in_its_loop_leaves_a_record(error, tmp_path):
    path = tmp_path / "runs.jsonl"
    script = f"""
import foretell, os, signal, sys
run = foretell.watch(range(9), {str(path)!r}, "maximize")
for epoch in run:
    run.report(0.1 * epoch)
    if epoch == 4:
        {error}
"""
    subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120)
    (record,) = records(path)
    assert record["ended"] == ("failed" if "Value" in error else CELLS["watch"][-1]) and record["steps"] == [1, 2, 3, 4, 5]


def test_a_loop_that_starts_later_is_partial_and_is_not_compared(tmp_path, caplog):
    path = tmp_path / "runs.jsonl"
    for quality in (0.7, 0.8, 0.9):
        looped(path, quality)
    judge = foretell.Judge("maximize", history=path)
    run = looped(path, 0.1, epochs=range(6, EPOCHS))
    record = records(path)[-1]
    assert record["ended"] == "partial" and record["steps"] == [float(step) for step in range(7, EPOCHS + 1)]
    assert run.decision is None and "continued after step 6" in caplog.text
    assert len(foretell.Judge("maximize", history=path)) == len(judge) == 3


def test_loops_that_count_from_one_and_in_strides():
    for epochs, steps in [(range(1, 4), [1, 2, 3]), (range(3), [1, 2, 3]), (range(5, 16, 5), [5, 10, 15]), (["a", "b"], [1, 2])]:
        run = foretell.watch(epochs, judge=foretell.Judge("maximize"))
        for _ in run:
            run.report(0.5)
        assert run._run.steps == steps


def made(where, tmp_path, **more):
    settings = {"metric": "acc", "epochs": EPOCHS, "trials": 3, "sampler": "random", **more}
    space = {"x": foretell.float(0, 1)}
    return foretell.Study(space, **settings) if where in ("local", "study") else foretell.connect(tmp_path / "study", space=space, **settings)


@pytest.mark.parametrize(("door", "ending", "state"), cells("study", "connect"))
def test_a_trial_leaves_one_record(door, ending, state, tmp_path):
    qualities = (0.7, 0.8, 0.9, 0.1 if ending == "pruned" else 0.95)
    study = made(door, tmp_path, trials=4, burn_in=3, enqueue=[{"x": quality} for quality in qualities])

    def objective(trial):
        for epoch in trial.epochs():
            trial.report(curve(trial.config["x"])[epoch - 1], epoch)
            if trial.number == 3 and epoch == EARLY and ending in ("stopped", "failed", "interrupted"):
                if (error := raised(ending)) is not None:
                    raise error
                return

    try:
        study.optimize(objective)
    except (Boom, KeyboardInterrupt):
        pass
    assert len(study.trials) == 4, "one record per trial"
    record = study.trials[3]
    # a trial that was interrupted is still to be trained: nobody else may have it meanwhile
    assert record["state"] == state or (state, record["state"]) == ("interrupted", "running")
    assert record["values"] == curve(qualities[3])[: len(record["values"])] and record["steps"][-1] == len(record["values"])
    assert len(record["values"]) < EPOCHS if ending == "pruned" else len(record["values"]) == length(ending)
    if ending == "interrupted":
        assert study.ask().number == 3, "the trial is asked for again"


#: Reports the curve of its quality. The fourth trial ends as the environment variable sets.
COMMAND = """
import os, sys, time
quality, ending = float(sys.argv[1]), os.environ["ENDING"] if os.environ["FORETELL_TRIAL"] == "3" else "finished"
for epoch in range(1, 13):
    print(f"epoch={epoch} acc={quality * (1 - 0.6**epoch)!r}", flush=True)
    time.sleep(0.2 if ending == "pruned" else 0)
    if epoch == 5 and ending == "interrupted":
        open("waits", "w").close()
        time.sleep(60)
    if epoch == 5 and ending == "failed":
        sys.exit("no memory")
    if epoch == 5 and ending == "stopped":
        break
"""


@pytest.mark.parametrize(("door", "ending", "state"), cells("command"))
def test_a_command_leaves_one_record(door, ending, state, tmp_path):
    (tmp_path / "train.py").write_text(COMMAND)
    quality = 0.1 if ending == "pruned" else 0.95
    flags = "search --param q=float:0:1 --metric acc --maximize --epochs 12 --trials 4 --burn-in 3 --workers 1 --out study".split()
    enqueued = [f"--enqueue=q={value}" for value in (0.7, 0.8, 0.9, quality)]
    words = [sys.executable, "-m", "foretell", *flags, *enqueued, "--", sys.executable, "train.py", "{q}"]

    def search(ending):
        kept = {"cwd": tmp_path, "env": {**os.environ, "ENDING": ending}, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        child = subprocess.Popen(words, text=True, **kept)
        until = time.monotonic() + 60
        while ending == "interrupted" and not (tmp_path / "waits").exists() and time.monotonic() < until:
            time.sleep(0.1)
        if ending == "interrupted":
            child.send_signal(signal.SIGINT)
        return child.communicate(timeout=120)[1]

    def rows():
        shown = subprocess.run([sys.executable, "-m", "foretell", "study", "export", "study", "--trials"], cwd=tmp_path, capture_output=True, text=True)
        return [json.loads(line) for line in shown.stdout.splitlines()]

    said = search(ending)
    assert len(rows()) == 4, said
    row = rows()[3]
    assert row["state"] == state, said
    assert row["epochs"] < EPOCHS if ending == "pruned" else row["epochs"] == length(ending)
    if state == "completed":
        assert row["score"] == pytest.approx(curve(quality)[row["epochs"] - 1])
    if ending == "interrupted":
        search("finished")
        assert [row["state"] for row in rows()] == ["completed"] * 4, "it is trained again, under its number"


@pytest.mark.parametrize(("door", "ending", "state"), cells("optuna"))
def test_a_trial_of_optuna_leaves_one_record(door, ending, state):
    optuna = pytest.importorskip("optuna")
    from foretell.optuna import ForetellPruner

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruner = ForetellPruner(max_resource=EPOCHS)
    study = optuna.create_study(direction="maximize", pruner=pruner)
    qualities = (0.7, 0.8, 0.9, 0.1 if ending == "pruned" else 0.95, 0.99)
    for quality in qualities:
        study.enqueue_trial({"q": quality})

    def objective(trial):
        quality = trial.suggest_float("q", 0, 1)
        for step, value in enumerate(curve(quality), 1):
            trial.report(value, step)
            if trial.should_prune():
                raise optuna.TrialPruned
            if trial.number == 3 and step == EARLY and ending in ("stopped", "failed", "interrupted"):
                if (error := raised(ending)) is not None:
                    raise error
                return value
        return value

    study.optimize(objective, n_trials=3)
    try:
        study.optimize(objective, n_trials=1)
    except (Boom, KeyboardInterrupt):
        pass
    study.optimize(objective, n_trials=1)
    record = study.trials[3]
    reported = list(record.intermediate_values.values())
    assert len(study.trials) == 5 and record.state.name == state and reported == curve(qualities[3])[: len(reported)]
    assert len(reported) < EPOCHS if ending == "pruned" else len(reported) == length(ending)
    # the fifth trial was compared with those that count: complete ones
    known = pruner._known(study, 5)
    assert len(known.judge) == (5 if state == "COMPLETE" else 4)


@pytest.mark.parametrize("where", ["local", "remote"])
@pytest.mark.parametrize("returned", ["apart", "best", "percent"])
def test_the_returned_value_is_the_score(where, returned, tmp_path, caplog):
    """An objective that reports one number and returns another: here the best of the reports are not the best of the returned values."""
    values = {"apart": lambda x, c: 1 - x, "best": lambda x, c: max(c), "percent": lambda x, c: 100 * c[-1]}[returned]
    study = made(where, tmp_path, trials=8)
    truth = {}

    def objective(trial):
        x = trial.config["x"]
        reports = [x * (1 - 0.5**epoch) - 0.1 * max(0, epoch - 6) * x for epoch in range(1, EPOCHS + 1)]
        for epoch in trial.epochs():
            trial.report(reports[epoch - 1], epoch)
        truth[trial.number] = values(x, reports)
        return truth[trial.number]

    study.optimize(objective)
    completed = [trial for trial in study.trials if trial["state"] == "completed"]
    assert len(completed) >= 3 and all(trial["score"] == pytest.approx(truth[trial["number"]]) for trial in completed)
    assert study.best["score"] == pytest.approx(max(truth[trial["number"]] for trial in completed))
    said = {"apart": "trials return values that they did not report", "best": "returns the best of its reports", "percent": "times 100"}
    assert said[returned] in caplog.text or returned == "apart"


def test_a_value_that_is_told_is_the_score():
    study = foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=2, trials=2)
    for score in (0.3, 0.9):
        trial = study.ask()
        trial.report(0.5, 1)
        trial.report(0.6, 2)
        trial.tell(returned=score)
    assert study.best == {**study.best, "trial": 1, "score": 0.9}


@pytest.mark.parametrize("where", ["local", "remote"])
def test_a_task_that_is_canceled_leaves_its_trial_to_another(where, tmp_path):
    import asyncio

    study = made(where, tmp_path, trials=2)

    async def worker(stuck):
        while (trial := study.ask()) is not None:
            with trial:
                for epoch in trial.epochs():
                    trial.report(curve(0.5)[epoch - 1], epoch)
                    await asyncio.sleep(60 if stuck and epoch == 2 else 0)

    async def both():
        first = asyncio.create_task(worker(True))
        await asyncio.sleep(1)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await asyncio.wait_for(worker(False), 60)

    asyncio.run(both())
    assert study.done and [trial["state"] for trial in study.trials] == ["completed"] * 2

"""Every run leaves one record, however it ends: each way of reporting, with each ending. The heavy tools are in tests/tools/test_endings.py."""

import json
import subprocess
import sys

import foretell
import pytest

EPOCHS = 12


class Boom(Exception):
    """An error of the training."""


def curve(quality):
    return [quality * (1 - 0.6**epoch) for epoch in range(1, EPOCHS + 1)]


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def finish_three(path, train):
    for quality in (0.7, 0.8, 0.9):
        train(path, quality)


#: Before Python 3.12, the kind of exception that leaves the body of a loop cannot be seen from the loop.
INTERRUPTED = "interrupted" if sys.version_info >= (3, 12) else "failed"

#: How a run ends, and the epoch after which it does.
ENDINGS = {"finished": (None, EPOCHS), "stopped": ("break", 5), "failed": (Boom, 5), "interrupted": (KeyboardInterrupt, 5)}


def looped(path, quality, how=None, at=EPOCHS, epochs=None):
    """A loop over `foretell.watch`."""
    run = foretell.watch(range(EPOCHS) if epochs is None else epochs, path, "maximize", config={"quality": quality})
    for epoch in run:
        run.report(curve(quality)[epoch])
        if epoch + 1 == at and how == "break":
            break
        if epoch + 1 == at and how is not None:
            raise how
    return run


@pytest.mark.parametrize("ended", ENDINGS)
def test_a_watched_loop_leaves_one_record(ended, tmp_path):
    path = tmp_path / "runs.jsonl"
    how, at = ENDINGS[ended]
    try:
        looped(path, 0.8, how, at)
    except (Boom, KeyboardInterrupt):
        pass
    ended = INTERRUPTED if ended == "interrupted" else ended
    (record,) = records(path)
    assert (record["ended"], record["steps"], record["values"]) == (ended, [float(step) for step in range(1, at + 1)], curve(0.8)[:at])


def test_a_watched_loop_that_is_stopped_leaves_one_record(tmp_path):
    path = tmp_path / "runs.jsonl"
    finish_three(path, looped)
    run = looped(path, 0.1)
    record = records(path)[-1]
    assert run.stopped and len(records(path)) == 4 and record["ended"] == "pruned" and record["values"] == run.values


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
    assert record["ended"] == ("failed" if "Value" in error else INTERRUPTED) and record["steps"] == [1, 2, 3, 4, 5]


def test_a_loop_that_starts_later_is_partial_and_is_not_compared(tmp_path, caplog):
    path = tmp_path / "runs.jsonl"
    finish_three(path, looped)
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


def trained(study, how, at):
    def objective(trial):
        for epoch in trial.epochs():
            trial.report(curve(0.8)[epoch - 1], epoch)
            if epoch == at and how == "break":
                return
            if epoch == at and how is not None:
                raise how

    try:
        study.optimize(objective, n_trials=1)
    except (Boom, KeyboardInterrupt):
        pass


def made(where, tmp_path, **more):
    settings = {"metric": "acc", "epochs": EPOCHS, "trials": 3, "sampler": "random", **more}
    space = {"x": foretell.float(0, 1)}
    return foretell.Study(space, **settings) if where == "local" else foretell.connect(tmp_path / "study", space=space, **settings)


@pytest.mark.parametrize("ended", ENDINGS)
@pytest.mark.parametrize("where", ["local", "remote"])
def test_a_trial_leaves_one_record(where, ended, tmp_path):
    study = made(where, tmp_path)
    how, at = ENDINGS[ended]
    trained(study, how, at)
    (record,) = study.trials
    # a trial that was interrupted is still to be trained
    states = {"finished": ("completed",), "stopped": ("completed",), "failed": ("failed",), "interrupted": ("running", "interrupted")}
    assert record["state"] in states[ended] and record["values"] == curve(0.8)[:at] and record["steps"][-1] == at
    if ended == "interrupted":
        assert study.ask().number == 0, "the trial is asked for again"


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

"""The loop helper and the judge behind all adapters."""

import logging
import pickle
import time

import foretell
import pytest
from conftest import curve_of
from foretell.judge import Judge


def loop(rate, **settings):
    values = curve_of(rate, 7)
    watch = foretell.watch(range(20), config={"lr": rate}, **settings)
    done = 0
    for epoch in watch:
        watch.report(values[epoch])
        done += 1
    return watch, done


def old(recorded):
    return [{"values": c, "configuration": k} for c, k in zip(*recorded)]


def test_a_bad_run_ends_early_and_says_why(recorded, caplog):
    with caplog.at_level(logging.INFO, "foretell"):
        watch, done = loop(0.9, history=old(recorded), direction="maximize")
    assert done < 6 and watch.stopped and "will not win" in watch.decision.reason
    assert sum("stopped at step" in line for line in caplog.messages) == 1
    assert loop(0.01, history=old(recorded), direction="maximize", nth_best=5)[1] == 20


def test_shadow_only_says_so(recorded, caplog):
    with caplog.at_level(logging.INFO, "foretell"):
        watch, done = loop(0.9, history=old(recorded), direction="maximize", shadow=True)
    assert done == 20 and not watch.stopped and watch.decision is not None
    assert sum("would stop" in line for line in caplog.messages) == 1


def test_a_shared_judge_learns_from_whole_runs():
    judge = Judge("maximize", burn_in=8)
    lengths = [loop(rate, judge=judge)[1] for rate in [0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.3, 0.5, 0.9, 0.0002]]
    assert lengths[:8] == [20] * 8 and max(lengths[8:]) < 20
    assert len(judge) == 8
    again = pickle.loads(pickle.dumps(judge))
    values = curve_of(0.9, 3)[:6]
    assert again.decide(values, {"lr": 0.9}).reason == judge.decide(values, {"lr": 0.9}).reason


def test_a_second_loop_is_another_run(recorded):
    values = curve_of(0.9, 7)
    watch = foretell.watch(range(20), history=old(recorded), direction="maximize", config={"lr": 0.9})
    rounds = []
    for _ in range(2):
        rounds.append(0)
        for epoch in watch:
            watch.report(values[epoch])
            rounds[-1] += 1
    assert rounds[0] == rounds[1] < 20


def test_a_history_that_is_too_short_is_said_at_once(recorded, caplog):
    foretell.watch(range(20), history=old(recorded)[:2], direction="maximize")
    assert "history contains 2 completed runs" in caplog.text


def test_a_run_that_gave_up_keeps_its_last_value():
    """By early stopping of its own; without those, eight whole runs are too few to stop any."""
    judge = Judge("maximize", burn_in=12)
    rates = [0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.3, 0.5, 0.9, 0.0002, 0.004, 0.2]
    for number, rate in enumerate(rates):
        judge.add(number, curve_of(rate, number)[: 20 if number % 3 else 15], {"lr": rate})
    assert judge.decide(curve_of(0.7, 50)[:8], {"lr": 0.7}).stop
    assert not judge.decide(curve_of(0.01, 51)[:8], {"lr": 0.01}).stop
    assert judge.decide(curve_of(0.7, 50), {"lr": 0.7}) is None, "it has come to its end"


def test_runs_of_the_history_that_were_stopped_teach_nothing(recorded):
    runs = old(recorded)[:20]
    cut = [{**run, "values": run["values"][:4]} for run in old(recorded)[20:30]]
    judge = Judge("maximize", history=runs + cut)
    assert len(judge) == 20


def test_settings_of_any_kind(recorded):
    config = {"layers": (64, [1, 2]), "optimizer": {"name": print, "betas": {0.9}}, "size": 10**400, "object": object(), "none": None}
    judge = Judge("maximize")
    for number, (values, known) in enumerate(zip(*recorded)):
        judge.add(number, values, {**known, **config})
    assert judge.decide(curve_of(0.9, 3)[:6], {"lr": 0.9, **config}).stop


def test_a_judge_stops_where_a_study_stops():
    study = foretell.Study({"lr": "log:1e-4:1"}, metric="acc", epochs=20, trials=30, policy="srm", burn_in=3, refit=1.05)
    judge, stops = Judge("maximize", metric="acc", log_columns=["lr"]), 0
    for trial in study:
        with trial:
            values = []
            for epoch in trial.epochs():
                values.append(curve_of(trial.config["lr"], trial.number)[epoch - 1])
                stop = trial.report(values[-1], epoch)
                decision = judge.decide(values, trial.config, key=trial.number)
                assert stop == (decision is not None and decision.stop)
                if stop:
                    stops += 1
                    assert decision.reason == trial.reason and decision.forecast.mean == trial.last["forecast"]["mean"]
            if not trial.stopped:
                judge.add(trial.number, values, trial.config)
    assert stops >= 15


def test_a_run_whose_values_are_lost_is_stopped(recorded):
    judge = Judge("maximize", history=old(recorded))
    nan = float("nan")
    assert judge.decide([0.1, nan], key=1) is None or not judge.decide([0.1, nan], key=1)
    assert judge.decide([0.1, nan, nan], key=1).stop and judge.decide([nan, nan], key=2).stop


def test_background_decisions_come_later(recorded):
    judge = Judge("maximize", history=old(recorded), background=True)
    values, asked = curve_of(0.9, 3)[:6], 0
    while (decision := judge.decide(values, {"lr": 0.9}, key=1)) is None and asked < 200:
        time.sleep(0.02)
        asked += 1
    assert decision.stop and judge.decide(values, {"lr": 0.9}, key=2) is None


def test_bad_input(recorded):
    for call, kind, words in [
        (lambda: foretell.watch(range(3)), TypeError, "history= and direction="),
        (lambda: loop(0.1, history=old(recorded), direction="up"), ValueError, "Use 'maximize'"),
        (lambda: loop(0.1, history=old(recorded), direction="maximize", burn_in=0), ValueError, "burn-in"),
        (lambda: list(foretell.watch(range(3), old(recorded), "maximize")), RuntimeError, "Call report() once"),
    ]:
        with pytest.raises(kind) as error:
            call()
        assert words in str(error.value)

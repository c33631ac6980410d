"""The loop helper and the judge behind all adapters."""

import logging
import pickle

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
    assert sum("stopped after" in line for line in caplog.messages) == 1
    assert loop(0.01, history=old(recorded), direction="maximize", nth_best=5)[1] == 20


def test_shadow_only_says_so(recorded, caplog):
    with caplog.at_level(logging.INFO, "foretell"):
        watch, done = loop(0.9, history=old(recorded), direction="maximize", shadow=True)
    assert done == 20 and not watch.stopped and watch.decision is not None
    assert any("would stop" in line for line in caplog.messages)


def test_a_shared_judge_learns_from_whole_runs():
    judge = Judge("maximize", burn_in=8)
    lengths = [loop(rate, judge=judge)[1] for rate in [0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.3, 0.5, 0.9, 0.0002]]
    assert lengths[:8] == [20] * 8 and max(lengths[8:]) < 20
    assert len(judge) == 8
    again = pickle.loads(pickle.dumps(judge))
    values = curve_of(0.9, 3)[:6]
    assert again.decide(values, {"lr": 0.9}).reason == judge.decide(values, {"lr": 0.9}).reason


def test_bad_input(recorded):
    for call, kind, words in [
        (lambda: foretell.watch(range(3)), TypeError, "history= and direction="),
        (lambda: loop(0.1, history=old(recorded), direction="up"), ValueError, "give 'maximize'"),
        (lambda: loop(0.1, history=old(recorded), direction="maximize", burn_in=1), ValueError, "burn_in=1"),
        (lambda: list(foretell.watch(range(3), old(recorded), "maximize")), RuntimeError, "call report() once"),
    ]:
        with pytest.raises(kind) as error:
            call()
        assert words in str(error.value)

"""Evaluations and replays: the same numbers as the command's."""

import json
import subprocess
import sys

import foretell
import pytest


def test_frames_have_the_command_s_rows(recorded, tmp_path):
    pandas = pytest.importorskip("pandas")
    curves, configs = recorded
    wide = pandas.DataFrame(
        [{**config, **{f"acc_{i + 1}": v for i, v in enumerate(c)}} for c, config in zip(curves, configs)]
    )
    path = tmp_path / "wide.csv"
    wide.to_csv(path, index=False)
    command = [sys.executable, "-m", "foretell", "replay", str(path), "--orderings", "2", "--policy", "none,median,srm"]
    shown = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=True)
    rows = json.loads(shown.stdout)["rows"]
    frame = foretell.replay(path, orderings=2, policy=["none", "median", "srm"])
    assert list(frame["speedup_mean"]) == [row["speedup_mean"] for row in rows]
    from_memory = foretell.replay(curves, configs=configs, metric="acc", orderings=2, policy=["none", "median", "srm"])
    assert list(from_memory["speedup_mean"]) == pytest.approx(list(frame["speedup_mean"]))


def test_evaluate_in_each_kind_of_frame(recorded):
    pytest.importorskip("polars")
    given = dict(configs=recorded[1], direction="maximize", train=30, repeats=2, predictor="svr-linear", seed=3)
    rows = foretell.evaluate(recorded[0], frame="dicts", **given)
    assert rows[0]["predictor"] == "svr-linear" and rows[0]["r2_mean"] > 0.8 and "coverage_0.9" in rows[0]
    assert foretell.evaluate(recorded[0], frame="polars", **given)["r2_mean"][0] == rows[0]["r2_mean"]


def test_the_direction_may_be_said_as_by_the_flags(recorded):
    losses = [1 - curve for curve in recorded[0]]
    given = dict(orderings=1, policy=["srm"], frame="dicts")
    assert foretell.replay(recorded[0], maximize=True, **given) == foretell.replay(recorded[0], direction="maximize", **given)
    assert foretell.replay(losses, minimize=True, **given) == foretell.replay(losses, direction="minimize", **given)


def test_bad_input(recorded):
    curves, configs = recorded
    for call, kind, words in [
        (lambda: foretell.replay("no/such.csv"), ValueError, "no/such.csv"),
        (lambda: foretell.evaluate(curves, direction="maximize", train=600), ValueError, "there are 60"),
        (lambda: foretell.evaluate(curves, direction="maximize", colour=1), ValueError, "--colour"),
        (lambda: foretell.replay(curves, direction="maximize", format="json"), TypeError, "format="),
        (lambda: foretell.replay(curves), ValueError, "Set direction="),
        (lambda: foretell.replay(curves, direction="maximize", policy="magic"), ValueError, "magic"),
    ]:
        with pytest.raises(kind) as error:
            call()
        assert words in str(error.value)

"""Studies: the four verbs, stopping, going on from the folder, the command's view of them."""

import json
import pickle
import subprocess
import sys

import pytest
from conftest import curve_of
from foretell import Forecaster, Study

SPACE = {"lr": "log:1e-4:1", "act": "choice:relu,tanh"}


def run(study, limit=10**9):
    for done, trial in enumerate(study):
        if done == limit:
            return
        with trial:
            values = curve_of(trial.config["lr"], trial.number)
            for epoch in trial.epochs():
                trial.report(values[epoch - 1], epoch)


def test_a_study_finds_a_good_rate_and_stops_others(tmp_path):
    study = Study(SPACE, folder=tmp_path / "s", metric="val_acc", epochs=20, trials=24, policy="srm", burn_in=8)
    run(study)
    assert study.done and study.best["score"] > 0.8
    states = [trial["state"] for trial in study.trials]
    assert states.count("stopped") >= 5 and len(states) == 24
    stopped = next(trial for trial in study.trials if trial["state"] == "stopped")
    assert len(stopped["values"]) < 20 and stopped["decision"]["forecast"]["mean"] < study.best["score"]


def test_it_goes_on_from_its_folder_with_the_same_decisions(tmp_path):
    whole = Study(SPACE, folder=tmp_path / "whole", epochs=20, metric="val_acc", trials=18, policy="srm", burn_in=6)
    run(whole)
    part = Study(SPACE, folder=tmp_path / "part", epochs=20, metric="val_acc", trials=18, policy="srm", burn_in=6)
    run(part, limit=9)
    del part
    again = Study(folder=tmp_path / "part")
    assert len(again.trials) >= 9
    run(again)
    plain = lambda study: [(t["config"], t["state"], t["values"]) for t in study.trials]  # noqa: E731
    assert plain(again) == plain(whole)


def test_the_command_reads_it_and_a_forecaster_learns_from_it(tmp_path):
    folder = tmp_path / "s"
    study = Study(SPACE, folder=folder, epochs=20, metric="val_acc", trials=12, policy="srm", burn_in=6)
    run(study)
    best = study.best
    del study
    shown = subprocess.run(
        [sys.executable, "-m", "foretell", "study", "show", str(folder), "--format", "json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(shown.stdout)["best"]["trial"] == best["trial"]
    forecaster = Forecaster.fit(folder)
    assert forecaster.best == pytest.approx(best["score"])


def test_it_goes_on_with_a_study_of_the_command(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import sys\nlr = float(sys.argv[1])\nfor e in range(1, 6): print(f'acc={(1 - abs(lr - 0.3)) * (1 - 0.5**e)}')\n"
    )
    words = "search --param lr=float:0:1 --metric acc=([\\d.]+) --epochs 5 --trials 4 --workers 1 --no-stopping --format json"
    command = [sys.executable, "-m", "foretell", *words.split(), "--out", str(tmp_path / "s"), "--"]
    subprocess.run([*command, sys.executable, str(script), "{lr}"], check=True, capture_output=True)
    study = Study(folder=tmp_path / "s", trials=6)
    for trial in study:
        with trial:
            for epoch in trial.epochs():
                trial.report((1 - abs(trial.config["lr"] - 0.3)) * (1 - 0.5**epoch), epoch)
    assert [trial["state"] for trial in study.trials] == ["completed"] * 6


def test_orders_of_a_person_are_obeyed_at_the_next_report(tmp_path):
    study = Study(SPACE, folder=tmp_path, epochs=20, metric="val_acc", trials=4, burn_in=3)
    first, second = study.ask(), study.ask()
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / f"{first.number}.stop").touch()
    assert not second.report(0.5, 1)
    assert first.report(0.5, 1) and first.stopped
    first.tell()
    assert study.trials[0]["state"] == "stopped" and study.trials[0]["decision"]["reason"] == "by_hand"
    assert not list((tmp_path / "orders").iterdir())


def test_a_failed_training_is_told(tmp_path):
    study = Study(SPACE, metric="val_acc", epochs=20, trials=4, burn_in=3)
    with pytest.raises(ZeroDivisionError):
        with study.ask() as trial:
            1 / 0
    assert trial.number == 0 and study.trials[0]["state"] == "failed"


def test_bad_input(tmp_path):
    study = Study(SPACE, folder=tmp_path / "s", epochs=20, metric="val_acc", trials=4, burn_in=3)
    trial = study.ask()
    for call, kind, words in [
        (lambda: Study(), ValueError, "a new study needs metric="),
        (lambda: Study({"lr": "cubic:1:2"}, metric="acc", epochs=2), ValueError, "unknown kind `cubic:1:2`"),
        (lambda: Study({"lr": "float:1:2"}, metric="thing", epochs=2), ValueError, "Set direction="),
        (lambda: Study(SPACE, metric="acc", epochs=2, trials=-1), ValueError, "trials: "),
        (lambda: Study(SPACE, metric="acc", epochs=2, policy="srm", burn_in=99), ValueError, "burn-in of 99"),
        (lambda: Study(SPACE, metric="acc", epochs=2, colour=1), TypeError, 'unknown setting "colour"'),
        (lambda: Study(SPACE, metric="acc", epochs=2, out="\udc80"), ValueError, r"out: '\udc80' is not valid text"),
        (lambda: Study(SPACE, folder=tmp_path / "s", epochs=20, metric="acc"), ValueError, "another study"),
        (lambda: pickle.dumps(study), TypeError, "cannot be pickled"),
        (lambda: study.report(7, 1, 0.5), KeyError, "no ask has returned it"),
        (lambda: trial.report("x"), TypeError, "x"),
        (lambda: trial.report(0.5, -1), ValueError, "step -1"),
        (lambda: trial.report(0.5, 0.5), ValueError, "step 0.5"),
    ]:
        with pytest.raises(kind) as error:
            call()
        assert words in str(error.value)


def test_another_study_in_the_folder_is_refused(tmp_path):
    Study(SPACE, folder=tmp_path, epochs=20, metric="val_acc", trials=4, burn_in=3)
    with pytest.raises(ValueError, match="this folder contains another study"):
        Study({"other": "int:1:3"}, folder=tmp_path, epochs=20, metric="val_acc", trials=4, burn_in=3)
    assert repr(Study(SPACE, folder=tmp_path, epochs=20, metric="val_acc", trials=6, burn_in=3)).endswith("best none yet)")


def first_record(folder):
    with open(folder / "events.jsonl", encoding="utf-8") as log:
        study = json.loads(log.readline())["record"]["study"]
    return {name: value for name, value in study.items() if name != "workload"}


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"policy": "srm", "trials": 7, "burn_in": 2, "seed": 5, "score": "best", "nth_best": 2},
        {"sampler": "tpe", "caution": "fast", "exempt": 0.25},
        {"scheduler": "asha", "eta": 2, "rank": "upper", "rungs": 1},
        {"budget_epochs": 40},
        {"policy": "patience", "patience": 3, "burn_in": 4},
    ],
)
def test_the_same_words_make_the_same_study_here_and_on_the_command_line(tmp_path, words):
    Study({"lr": "log:1e-4:1"}, folder=tmp_path / "here", metric="val_acc", epochs=8, **words)
    flags = [word for name, value in words.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    always = "search --out there --workers 1 --max-epochs 1 --param lr=log:1e-4:1 --metric val_acc --epochs 8".split()
    command = ["--", "sh", "-c", "echo val_acc=0.5", "{lr}"]
    run = subprocess.run(
        [sys.executable, "-m", "foretell", *always, *flags, *command], cwd=tmp_path, capture_output=True, text=True
    )
    assert (tmp_path / "there" / "events.jsonl").is_file(), run.stderr
    assert first_record(tmp_path / "here") == first_record(tmp_path / "there")


def test_the_settings_are_all_that_a_study_can_be_asked_for():
    from foretell._foretell import schema

    study = Study(SPACE, metric="val_acc", epochs=9, scheduler="asha", rungs=1, policy="srm", error_budget="per-run", nth_best=2)
    assert set(study.settings) == set(schema())
    wanted = {"scheduler": "asha", "rungs": 1, "eta": 3, "error_budget": "per-run", "nth_best": 2, "offset": 0.0, "kappa": None}
    assert {name: study.settings[name] for name in wanted} == wanted

"""`history=` takes what there is: other tools' studies in memory, files, folders, globs; and files that grow with each run."""

import json
import subprocess
import sys

import foretell
import numpy as np
import pytest
from conftest import curve_of
from foretell import Forecaster, Judge, Study
from foretell._callback import Monitor
from foretell._runs import collect

RATES = [float(rate) for rate in 10 ** np.random.default_rng(5).uniform(-4, 0, 12)]


def lines(path, rates=RATES, metric="val_acc"):
    with path.open("w") as file:
        for number, rate in enumerate(rates):
            run = {"id": f"{path.stem}-{number}", "metric": metric, "configuration": {"lr": rate}, "values": list(curve_of(rate, number))}
            file.write(json.dumps(run) + "\n")
    return path


def optuna_study(pruned=3):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))

    def objective(trial):
        values = curve_of(trial.suggest_float("lr", 1e-4, 1, log=True), trial.number)
        for step, value in enumerate(values, 1):
            trial.report(value, step)
            if trial.number < pruned and step == 5:
                raise optuna.TrialPruned
        return value

    study.optimize(objective, 15)
    return study


def test_a_study_of_optuna_and_its_trials():
    study = optuna_study()
    for given, more in ((study, {}), (study.trials, {"direction": "maximize"})):
        runs = collect(given, **more)
        assert len(runs) == 12 and runs.direction == "maximize", "pruned ones did not come to their end"
        assert runs.state()["columns"]["log_columns"] == ["lr"]
    assert len(Judge("maximize", history=study)) == 12
    assert Forecaster.fit(study).best == pytest.approx(study.best_value)
    with pytest.raises(ValueError, match="Set direction="):
        collect(study.trials)
    with pytest.raises(ValueError, match="is complete with reported values"):
        collect(study.trials[:3], direction="maximize")


def test_a_new_study_learns_from_a_study_of_optuna():
    study = Study({"lr": foretell.log(1e-4, 1)}, metric="val_acc", epochs=20, trials=6, history=optuna_study())
    study.optimize(lambda trial: [trial.report(v, e) for e, v in zip(trial.epochs(), curve_of(trial.config["lr"], 99))] and None)
    assert [trial["state"] for trial in study.trials].count("stopped") >= 2, "none had to be trained to its end first"


def test_results_of_ray():
    pandas = pytest.importorskip("pandas")

    # they say where they are from, and have what Ray's have; tests/tools/test_ray.py has the real ones
    class Result:
        __module__ = "ray.air.result"

        def __init__(self, rate, number):
            self.config = {"lr": rate, "net": {"layers": 2}}
            values = curve_of(rate, number)
            self.metrics_dataframe = pandas.DataFrame({"training_iteration": range(1, 21), "val_acc": values, "loss": 1 - values})

    results = [Result(rate, number) for number, rate in enumerate(RATES)]
    runs = collect(results, metric="val_acc")
    assert len(runs) == 12 and runs.state()["records"][0][1] == {"lr": RATES[0], "net.layers": 2}
    assert collect(results, metric="loss").direction == "minimize"
    with pytest.raises(ValueError, match="Set metric= to one of: loss, training_iteration, val_acc"):
        collect(results)
    with pytest.raises(ValueError, match="none of Ray's 12 results reports 'f1'"):
        collect(results, metric="f1", direction="maximize")


def test_files_folders_and_globs(tmp_path):
    lines(tmp_path / "a.jsonl", RATES[:6])
    lines(tmp_path / "b.jsonl", RATES[6:])
    study = Study({"lr": foretell.log(1e-4, 1)}, folder=tmp_path / "study", metric="val_acc", epochs=20, trials=4, sampler="random")
    study.optimize(lambda trial: [trial.report(v, e) for e, v in zip(trial.epochs(), curve_of(trial.config["lr"], 7))] and None)
    assert len(collect(str(tmp_path / "*.jsonl"))) == 12
    assert len(collect([tmp_path / "a.jsonl", str(tmp_path / "study")])) == 6 + len(collect(study))
    assert len(Judge("maximize", history=str(tmp_path / "?.jsonl"))) == 12
    # the same names in several files are several runs
    (tmp_path / "more").mkdir()
    lines(tmp_path / "more" / "a.jsonl", [0.5, 0.6])
    assert len(collect(str(tmp_path / "**" / "a.jsonl"))) == 8
    with pytest.raises(ValueError, match="there is no such file or folder"):
        collect(str(tmp_path / "*.parquet"))
    polars = pytest.importorskip("polars")
    wide = {"run": [str(n) for n in range(12)], "lr": RATES, "tags": [["a"]] * 12}
    wide |= {f"acc_{epoch}": [curve_of(rate, n)[epoch] for n, rate in enumerate(RATES)] for epoch in range(20)}
    polars.DataFrame(wide).write_parquet(tmp_path / "runs.parquet")
    assert len(collect(tmp_path / "runs.parquet", direction="maximize")) == 12
    lines(tmp_path / "loss.jsonl", RATES[:6], "val_loss")
    with pytest.raises(ValueError, match="`val_acc` is to maximize, but `val_loss` to minimize. Choose a common metric with metric="):
        collect(str(tmp_path / "*.jsonl"))


def test_logs_of_several_metrics_are_read_for_the_monitored_one(tmp_path):
    rows = ["run_id,lr,epoch,val_acc,val_loss"]
    for number, rate in enumerate(RATES):
        rows += [f"{number},{rate},{e},{v},{2 - v}" for e, v in enumerate(curve_of(rate, number), 1)]
    (tmp_path / "log.csv").write_text("\n".join(rows))
    monitor = Monitor("val_loss", str(tmp_path / "log.csv"), config={"lr": 0.9})
    assert len(monitor.judge) == 12
    for epoch, value in enumerate(curve_of(0.9, 77)[:8], 1):
        monitor.report(2 - value, epoch)
    assert monitor.stopped


def trained(path, rate, seed, **more):
    watch = foretell.watch(range(20), path, "maximize", config={"lr": rate}, **more)
    values = curve_of(rate, seed)
    for epoch in watch:
        watch.report(values[epoch])
    return watch


def test_a_history_grows_with_each_run_from_nothing(tmp_path, caplog):
    caplog.set_level("INFO", "foretell")
    path = tmp_path / "new" / "runs.jsonl"
    watches = [trained(path, rate, seed) for seed, rate in enumerate([0.02, 0.01, 0.03, 0.9, 0.0002, 0.5])]
    assert "contains 0 completed runs. The first 3 runs are never stopped" in caplog.text
    written = [json.loads(line) for line in path.read_text().splitlines()]
    assert [one["ended"] == "pruned" for one in written] == [watch.stopped for watch in watches]
    assert [watch.stopped for watch in watches[:3]] == [False] * 3 and sum(watch.stopped for watch in watches) >= 2
    assert written[0]["configuration"] == {"lr": 0.02} and written[0]["values"] == list(curve_of(0.02, 0))
    assert len(Judge("maximize", history=path)) == sum(not watch.stopped for watch in watches), "stopped ones teach nothing"


def test_a_history_is_left_alone_where_it_is_asked_for_or_no_such_file(tmp_path):
    path = lines(tmp_path / "runs.jsonl")
    before = path.read_bytes()
    trained(path, 0.01, 1, append=False)
    assert path.read_bytes() == before
    trained(str(tmp_path / "*.jsonl"), 0.01, 1)
    trained([str(path)], 0.01, 1)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_most_runs_of_a_history_may_have_been_stopped(tmp_path):
    path = lines(tmp_path / "runs.jsonl", RATES[:4])
    with path.open("a") as file:
        for number in range(9):
            run = {"id": f"p{number}", "values": list(curve_of(0.5, number)[: 3 + number % 3]), "configuration": {"lr": 0.5}, "ended": "pruned"}
            file.write(json.dumps(run) + "\n")
        for run in path.read_text().splitlines()[:4]:
            file.write(json.dumps({**json.loads(run), "id": "f" + json.loads(run)["id"], "configuration": {"lr": 0.01}, "ended": "finished"}) + "\n")
    assert len(Judge("maximize", history=path)) < 9


def test_several_processes_add_to_one_history(tmp_path):
    script = (
        "import sys, foretell\n"
        "from foretell._history import Additions\n"
        "file = Additions.of('runs.jsonl', 'val_acc', 'maximize')\n"
        "for number in range(40):\n"
        "    file.add([0.1 * number] * 500, {'lr': 0.1, 'who': sys.argv[1]}, list(range(1, 501)), 'finished')\n"
        "    file.add([0.1 * number] * 500, {}, list(range(1, 501)), 'failed', 'continued by ' + sys.argv[1])\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", script, str(who)], cwd=tmp_path) for who in range(3)]
    assert [worker.wait(120) for worker in workers] == [0] * 3
    written = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert len(written) == 123 and len({run["id"] for run in written}) == 123


def test_a_callback_adds_how_its_run_ended(tmp_path):
    path = tmp_path / "runs.jsonl"
    for rate, planned in ((0.03, 40), (0.02, 20), (0.01, 20), (0.009, 20), (0.9, 20)):
        monitor = Monitor("val_acc", path, config={"lr": rate})
        for epoch, value in enumerate(curve_of(rate, 3), 1):
            if monitor.report(value, epoch):
                break
        monitor.close(early=monitor.steps[-1] < planned)
    ended = [json.loads(line)["ended"] for line in path.read_text().splitlines()]
    assert ended == ["stopped", "finished", "finished", "finished", "pruned"]
    monitor = Monitor("val_acc", path, config={"lr": float("nan"), "layers": (1, 2)})
    monitor.report(float("nan"), 1)
    monitor.close()
    assert json.loads(path.read_text().splitlines()[-1])["values"] == [None]


def test_a_study_beside_one_of_the_same_parameters_is_told_of_it(tmp_path, caplog):
    def objective(trial):
        for epoch in trial.epochs():
            trial.report(trial.config["lr"] * epoch, epoch)

    def study(name, **settings):
        return Study({"lr": foretell.float(0, 1)}, metric="val_acc", epochs=4, trials=5, folder=tmp_path / name, **settings)

    study("first", stopping=False).optimize(objective)
    assert not caplog.records
    study("second")
    assert "history=" in caplog.text and "completed trials" in caplog.text
    caplog.clear()
    study("third", history=tmp_path / "first")
    study("second")
    Study({"lr": foretell.float(0, 1)}, metric="val_loss", epochs=4, folder=tmp_path / "fourth")
    assert not caplog.records


def test_a_history_of_the_other_direction_is_an_error():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize")

    def objective(trial):
        trial.suggest_float("lr", 0, 1)
        trial.report(0.5, 1)
        return 0.5

    study.optimize(objective, n_trials=3)
    ours = foretell.Study({"lr": foretell.float(0, 1)}, metric="acc", epochs=1, trials=3)
    ours.optimize(lambda trial: trial.config["lr"])
    for history in (study, ours):
        with pytest.raises(ValueError, match="has the direction 'maximize', but direction='minimize'"):
            Judge("minimize", history=history)


def test_misspelt_and_missing_parameters_and_short_runs_are_named(caplog):
    runs = [{"id": f"r{n}", "values": [0.1, 0.2, 0.3][: 1 + 2 * (n % 3 > 0)], "configuration": {"lr": 0.1 * n, "decay": n}} for n in range(12)]
    forecaster = foretell.Forecaster.fit(runs, direction="maximize")
    assert "4 of 12 runs end before step 3, so nothing is learned from them: r0, r3, r6, r9" in caplog.text
    for _ in range(2):
        forecaster.forecast([0.1, 0.2], {"lrr": 0.1, "decay": 1})
    assert caplog.text.count("no run has the parameter 'lrr', so it is ignored. Did you mean 'lr'?") == 1
    assert "the configuration has no value for lr, which all runs have" in caplog.text


def test_a_lazy_frame_is_collected():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"lr": [0.1 * n for n in range(12)], "acc_1": [0.1] * 12, "acc_2": [0.02 * n for n in range(12)]})
    assert foretell.Forecaster.fit(frame.lazy()).best == foretell.Forecaster.fit(frame).best

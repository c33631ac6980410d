"""The scheduler in Ray Tune: stops, restores, two nodes."""

import os
import sys
import tempfile
import types

os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
# a restored run knows the trials of the last snapshot: by default, a short run ends before the second one
os.environ["TUNE_GLOBAL_CHECKPOINT_S"] = "0"
os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "0")
os.environ["HOME"] = tempfile.mkdtemp()

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import ray  # noqa: E402
from foretell.ray import ForetellScheduler  # noqa: E402
from ray import tune  # noqa: E402

EPOCHS = 12
# workers cannot import this file
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])


def train(config):
    """Writes each epoch into a file, if there is one: what really happened."""
    noise = np.random.default_rng(int(config["seed"])).normal(0, 0.004, EPOCHS)
    for epoch in range(1, EPOCHS + 1):
        value = (0.9 - 0.3 * abs(np.log10(config["lr"]) + 2)) * (1 - 0.7**epoch) + noise[epoch - 1]
        if config.get("count"):
            with open(f"{config['count']}/{config['lr']}", "a") as file:
                print(epoch, repr(float(value)), file=file)
        if not config.get("every") or epoch % config["every"] == 0:
            tune.report({"accuracy": float(value), "epoch": epoch})
        else:
            tune.report({"loss": 1.0, "epoch": epoch})


def counted(folder, rate):
    lines = [line.split() for line in (folder / str(rate)).read_text().splitlines()]
    return [float(epoch) for epoch, _ in lines], [float(value) for _, value in lines]


SPACE = {"lr": tune.grid_search([float(rate) for rate in np.geomspace(1e-4, 0.9, 14)]), "seed": 0}


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    # two more than the tests need: a run that was cut short keeps its worker's processor
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    cluster.add_node(num_cpus=2)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def fit(folder, scheduler, space=SPACE, **more):
    return tune.Tuner(
        train,
        param_space=space,
        tune_config=tune.TuneConfig(metric="accuracy", mode="max", scheduler=scheduler, max_concurrent_trials=1, reuse_actors=True),
        run_config=tune.RunConfig(name="run", storage_path=str(folder), verbose=0, **more),
    ).fit()


def lengths(results):
    return {round(r.config["lr"], 9): r.metrics["training_iteration"] for r in results}


def test_two_nodes_stop_what_will_not_win(cluster, tmp_path):
    scheduler = ForetellScheduler(max_t=EPOCHS, n_startup_trials=6)
    results = fit(tmp_path, scheduler)
    assert len(ray.nodes()) == 2 and len(results) == 14 and not results.errors
    stopped = [r.metrics["trial_id"] for r in results if r.metrics["training_iteration"] < EPOCHS]
    assert len(stopped) >= 3
    assert all(scheduler.decisions[trial]["reason"].startswith("will not win") for trial in stopped)


class Interrupt(tune.Callback):
    """Ends the driver after so many results, as a kill would."""

    def __init__(self, after):
        self.left = after

    def on_trial_result(self, iteration, trials, trial, result, **info):
        self.left -= 1
        # once: the restored run has this callback, too
        if self.left == 0 and os.environ.setdefault("FORETELL_CUT", "now") == "now":
            os.environ["FORETELL_CUT"] = "done"
            raise KeyboardInterrupt


def test_a_restored_run_decides_as_one_that_never_ended(cluster, tmp_path):
    whole = lengths(fit(tmp_path / "whole", ForetellScheduler(max_t=EPOCHS, n_startup_trials=6)))
    try:
        fit(tmp_path / "cut", ForetellScheduler(max_t=EPOCHS, n_startup_trials=6), callbacks=[Interrupt(90)])
    except BaseException:
        pass
    restored = tune.Tuner.restore(str(tmp_path / "cut" / "run"), train, resume_unfinished=True, restart_errored=True)
    assert lengths(restored.fit()) == whole


class Telling(ForetellScheduler):
    """Writes how many trials it knows when it hears its first result."""

    def on_trial_result(self, controller, trial, result):
        answer = super().on_trial_result(controller, trial, result)
        if not hasattr(self, "_told"):
            self._told = True
            with open(os.environ["FORETELL_TOLD"], "a") as file:
                print(0 if self._judge is None else len(self._judge), len(self._stopped), file=file)
        return answer


def test_a_restored_run_knows_the_trials_that_had_finished(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("FORETELL_TOLD", str(tmp_path / "told"))
    monkeypatch.delenv("FORETELL_CUT", raising=False)
    try:
        fit(tmp_path / "cut", Telling(max_t=EPOCHS, n_startup_trials=6), callbacks=[Interrupt(105)])
    except BaseException:
        pass
    tune.Tuner.restore(str(tmp_path / "cut" / "run"), train, resume_unfinished=True, restart_errored=True).fit()
    first, restored = [tuple(map(int, line.split())) for line in (tmp_path / "told").read_text().splitlines()]
    assert first == (0, 0)
    assert restored[0] >= 6 and restored[1] >= 1, restored


def test_state_survives_save_and_restore(tmp_path):
    one = ForetellScheduler("accuracy", "max", max_t=3, n_startup_trials=3)
    for number, rate in enumerate([0.1, 0.5, 0.7, 0.9, 0.95]):
        one._curves[str(number)] = ([1.0, 2.0, 3.0], [rate / 2, rate / 1.2, rate])
        one._known().add(str(number), [rate / 2, rate / 1.2, rate], {"lr": rate}, [1, 2, 3])
    one.save(str(tmp_path / "state"))
    two = ForetellScheduler("accuracy", "max", max_t=9)
    two.restore(str(tmp_path / "state"))
    query = ([0.05, 0.1], {"lr": 0.12}, [1, 2])
    assert two._known().decide(*query).reason == one._known().decide(*query).reason
    assert two._max_t == 3


def test_values_epochs_and_savings_are_those_of_the_training_s_own_count(cluster, tmp_path):
    (tmp_path / "count").mkdir()
    scheduler = ForetellScheduler(max_t=EPOCHS, n_startup_trials=6)
    results = fit(tmp_path / "run", scheduler, space={**SPACE, "count": str(tmp_path / "count")})
    trained = 0
    for result in results:
        steps, values = counted(tmp_path / "count", result.config["lr"])
        assert scheduler._curves[result.metrics["trial_id"]] == (steps, values)
        assert result.metrics["training_iteration"] == steps[-1]
        stopped = scheduler.decisions.get(result.metrics["trial_id"], {"stop": False})["stop"]
        assert (steps[-1] < EPOCHS) == stopped
        trained += len(steps)
    assert trained <= 0.85 * EPOCHS * len(results)


def test_results_without_the_metric_are_passed_over(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("TUNE_DISABLE_STRICT_METRIC_CHECKING", "1")
    (tmp_path / "count").mkdir()
    scheduler = ForetellScheduler(max_t=EPOCHS, time_attr="epoch", n_startup_trials=6)
    results = fit(tmp_path / "run", scheduler, space={**SPACE, "every": 2, "count": str(tmp_path / "count")})
    assert not results.errors
    lengths = []
    for result in results:
        steps, values = counted(tmp_path / "count", result.config["lr"])
        assert scheduler._curves[result.metrics["trial_id"]] == (steps[1::2], values[1::2])
        lengths.append(len(steps))
    assert min(lengths) < EPOCHS and lengths.count(EPOCHS) >= 6


def test_a_max_t_that_no_trial_comes_to_is_said_once_and_does_not_keep_it_from_stopping(cluster, tmp_path, caplog):
    scheduler = ForetellScheduler(max_t=100, n_startup_trials=6)
    results = fit(tmp_path, scheduler)
    said = [line for line in caplog.messages if "max_t=" in line]
    assert len(said) == 1 and said[0].startswith("none of the 6 completed trials reached max_t=100. The longest one has training_iteration=12")
    assert sum(length < EPOCHS for length in lengths(results).values()) >= 3


def test_the_grace_period_is_in_units_of_time_attr_as_in_ray(cluster, tmp_path):
    scheduler = ForetellScheduler(max_t=EPOCHS, n_startup_trials=6, grace_period=6, time_attr="epoch")
    shortest = min(lengths(fit(tmp_path, scheduler)).values())
    assert 6 <= shortest <= 7


def told(scheduler, trial, *results):
    """What the scheduler says to each result of a trial, without a cluster."""
    trial = types.SimpleNamespace(trial_id=trial, config={"lr": 0.1, "layers": [64, 64], "act": max})
    answers = [scheduler.on_trial_result(None, trial, {"training_iteration": at + 1, **result}) for at, result in enumerate(results)]
    scheduler.on_trial_complete(None, trial, {"training_iteration": len(results), **results[-1]})
    return answers


def test_a_trial_that_never_reports_the_metric_is_said(caplog):
    scheduler = ForetellScheduler("accuracy", "max", max_t=5)
    assert told(scheduler, "a", {"loss": 1.0}, {"loss": 0.5}) == ["CONTINUE", "CONTINUE"]
    assert "trial a ended without a result that contains 'accuracy'" in caplog.text and "loss" in caplog.text
    told(scheduler, "b", {"accuracy": 0.1}, {"accuracy": 0.2})
    assert scheduler._curves["b"] == ([1.0, 2.0], [0.1, 0.2]) and len(scheduler._known()) == 1


def test_bad_input():
    with pytest.raises(ValueError, match="mode must be .*'up'"):
        ForetellScheduler("accuracy", "up", max_t=3)
    with pytest.raises(ValueError, match="burn-in"):
        ForetellScheduler("accuracy", "max", max_t=3, n_startup_trials=0)


def test_results_are_a_history(cluster, tmp_path):
    from foretell import Judge
    from foretell._runs import collect

    results = fit(tmp_path, None)
    runs = collect(results)
    assert len(runs) == 14 and (runs.metric, runs.direction) == ("accuracy", "maximize")
    record = max(runs.state()["records"], key=lambda record: record[3][-1])
    best = results.get_best_result()
    assert record[1]["lr"] == best.config["lr"] and record[3][-1] == best.metrics["accuracy"] and record[2] == list(range(1, EPOCHS + 1))
    assert len(collect(list(results), metric="accuracy")) == 14
    assert len(Judge("maximize", history=results)) == 14
    bad = fit(tmp_path / "later", ForetellScheduler(max_t=EPOCHS, history=results), {"lr": tune.grid_search([0.5, 0.7]), "seed": 1})
    assert max(lengths(bad).values()) < EPOCHS, "no trial had to train to its end first"


def test_the_example_holds(examples_hold):
    import foretell.ray

    examples_hold(foretell.ray)

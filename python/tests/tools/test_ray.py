"""The scheduler in Ray Tune: stops, restores, two nodes."""

import os
import sys
import tempfile

os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "0")
os.environ["HOME"] = tempfile.mkdtemp()

import numpy as np
import pytest

ray = pytest.importorskip("ray")
from foretell.ray import ForetellScheduler  # noqa: E402
from ray import tune  # noqa: E402

EPOCHS = 12
# workers cannot import this file
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])


def train(config):
    noise = np.random.default_rng(int(config["seed"])).normal(0, 0.004, EPOCHS)
    for epoch in range(1, EPOCHS + 1):
        value = (0.9 - 0.3 * abs(np.log10(config["lr"]) + 2)) * (1 - 0.7**epoch) + noise[epoch - 1]
        tune.report({"accuracy": float(value)})


SPACE = {"lr": tune.grid_search([float(rate) for rate in np.geomspace(1e-4, 0.9, 14)]), "seed": 0}


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def fit(folder, scheduler, **more):
    return tune.Tuner(
        train,
        param_space=SPACE,
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


def test_bad_input():
    with pytest.raises(ValueError, match="mode 'up'"):
        ForetellScheduler("accuracy", "up", max_t=3)
    with pytest.raises(ValueError, match="burn_in=0"):
        ForetellScheduler("accuracy", "max", max_t=3, n_startup_trials=0)
    with pytest.raises(KeyError, match="no 'accuracy' among the results reported: loss"):
        ForetellScheduler("accuracy", "max", max_t=3).on_trial_result(None, None, {"loss": 1.0})

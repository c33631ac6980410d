"""Every run leaves one record, however it ends: Keras, Lightning, transformers and Ray, with each ending of tests/endings.py."""

import os
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")

import numpy as np
import pytest
from endings import EARLY, EPOCHS, Boom, cells, check, length, raised

#: Early stopping that sees no improvement after the first epoch.
PATIENCE, NEVER = EARLY - 1, 1e9


def data():
    random = np.random.default_rng(0)
    x = random.normal(size=(64, 8)).astype("float32")
    return x, (x @ np.arange(8.0)[:, None]).astype("float32")


def by_keras(folder, rate, ending="finished"):
    """Returns the callback and the values that Keras gave to another one."""
    keras = pytest.importorskip("keras")
    from foretell.keras import ForetellCallback

    values, error = [], raised(ending)

    class End(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            values.append(logs["val_loss"])
            if epoch + 1 == EARLY and error is not None:
                raise error

    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(rate), loss="mse")
    stop = ForetellCallback("val_loss", folder / "runs.jsonl", config={"rate": rate})
    early = [keras.callbacks.EarlyStopping("val_loss", min_delta=NEVER, patience=PATIENCE)] if ending == "stopped" else []
    x, y = data()
    try:
        model.fit(x, y, epochs=EPOCHS, validation_data=(x, y), verbose=0, callbacks=[*early, stop, End()])
    except (Boom, KeyboardInterrupt):
        stop.on_train_begin()  # of the next run
    return stop, values


def by_lightning(folder, rate, ending="finished"):
    """Returns the callback and the values that Lightning gave to another one."""
    pl = pytest.importorskip("lightning.pytorch")
    torch = pytest.importorskip("torch")
    from foretell.lightning import ForetellCallback

    values, error = [], raised(ending)

    class Line(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def training_step(self, batch):
            return ((self.layer(batch[0]) - batch[1]) ** 2).mean()

        def validation_step(self, batch):
            self.log("val_loss", ((self.layer(batch[0]) - batch[1]) ** 2).mean())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), rate)

    class End(pl.Callback):
        def on_train_epoch_end(self, trainer, module):
            values.append(float(trainer.callback_metrics["val_loss"]))
            if trainer.current_epoch + 1 == EARLY and error is not None:
                raise error

    torch.manual_seed(0)
    stop = ForetellCallback("val_loss", folder / "runs.jsonl", config={"rate": rate})
    early = pl.callbacks.EarlyStopping("val_loss", min_delta=NEVER, patience=PATIENCE)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*map(torch.tensor, data())), batch_size=32)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    callbacks = [*([early] if ending == "stopped" else []), stop, End()]
    trainer = pl.Trainer(max_epochs=EPOCHS, accelerator="cpu", callbacks=callbacks, **quiet)
    try:
        trainer.fit(Line(), loader, loader)
    except (Boom, KeyboardInterrupt, SystemExit):
        # Lightning ends the process after Ctrl-C
        assert error is not None
    return stop, values


def by_transformers(folder, rate, ending="finished"):
    """Returns the callback and the values that the trainer gave to another one."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    from foretell.transformers import ForetellCallback

    values, error = [], raised(ending)

    class Line(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def forward(self, x, labels):
            predicted = self.layer(x)
            return {"loss": torch.nn.functional.mse_loss(predicted, labels), "logits": predicted}

    class End(transformers.TrainerCallback):
        def on_evaluate(self, args, state, control, metrics=None, **others):
            values.append(metrics["eval_loss"])
            if round(state.epoch) == EARLY and error is not None:
                raise error

    transformers.set_seed(0)
    stop = ForetellCallback("eval_loss", folder / "runs.jsonl", config={"rate": rate})
    arguments = transformers.TrainingArguments(
        output_dir=str(folder / "trainer"), num_train_epochs=EPOCHS, learning_rate=rate, per_device_train_batch_size=32,
        save_strategy="no", logging_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True, lr_scheduler_type="constant",
        optim="sgd", eval_strategy="epoch", metric_for_best_model="eval_loss", greater_is_better=False,
    )  # fmt: skip
    sets = [{"x": torch.tensor(a), "labels": torch.tensor(b)} for a, b in zip(*data())]
    early = [transformers.EarlyStoppingCallback(PATIENCE, NEVER)] if ending == "stopped" else []
    trainer = transformers.Trainer(Line(), arguments, train_dataset=sets, eval_dataset=sets, callbacks=[*early, stop, End()])
    trainer.remove_callback(transformers.PrinterCallback)
    try:
        trainer.train()
    except (Boom, KeyboardInterrupt):
        stop.watch.begin()  # the next run
    return stop, values


TRAIN = {"keras": by_keras, "lightning": by_lightning, "transformers": by_transformers}
#: Rates of runs that end well, the best last, and of one that does not.
*GOOD, BEST, BAD = 1e-2, 2e-2, 3e-2, 6e-2, 1e-5


@pytest.mark.parametrize(("door", "ending", "state"), cells("keras", "lightning", "transformers"))
def test_a_run_leaves_one_record(door, ending, state, tmp_path):
    for rate in GOOD:
        TRAIN[door](tmp_path, rate)
    rate = BAD if ending == "pruned" else BEST
    stop, values = TRAIN[door](tmp_path, rate, ending)
    assert stop.config == {"rate": rate}
    assert ending in ("failed", "interrupted") or stop.watch.stopped == (ending == "pruned")
    check(tmp_path / "runs.jsonl", ending, state, values)


def train_for_ray(config):
    from ray import tune

    config = config["run"]
    for epoch in range(1, EPOCHS + 1):
        tune.report({"accuracy": config["quality"] * (1 - 0.6**epoch), "epoch": epoch})
        if epoch == EARLY and config["ending"] == "failed":
            raise RuntimeError("no memory")
        if epoch == EARLY and config["ending"] == "stopped":
            return


@pytest.mark.parametrize(("door", "ending", "state"), cells("ray"))
def test_a_trial_of_ray_leaves_one_record(door, ending, state, tmp_path, monkeypatch):
    # Ray reads them while it is imported
    for name, value in {"RAY_AUTH_MODE": "disabled", "RAY_AIR_NEW_OUTPUT": "0", "RAY_TRAIN_V2_ENABLED": "0", "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    ray = pytest.importorskip("ray")
    from foretell.ray import ForetellScheduler
    from ray import tune

    # workers cannot import this file
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        scheduler = ForetellScheduler("accuracy", "max", max_t=EPOCHS)
        ends = [(quality, "finished") for quality in (0.7, 0.8, 0.9)] + [(0.1 if ending == "pruned" else 0.95, ending)]
        runs = [{"quality": quality, "ending": ended} for quality, ended in ends]
        results = tune.Tuner(
            train_for_ray, param_space={"run": tune.grid_search(runs)},
            tune_config=tune.TuneConfig(scheduler=scheduler, max_concurrent_trials=1),
            run_config=tune.RunConfig(storage_path=str(tmp_path / "results"), verbose=0),
        ).fit()  # fmt: skip
    finally:
        ray.shutdown()
    last = results[3]
    values = list(last.metrics_dataframe["accuracy"])
    assert len(results) == 4 and values == pytest.approx([runs[3]["quality"] * (1 - 0.6**epoch) for epoch in range(1, len(values) + 1)])
    assert len(values) < EPOCHS if ending == "pruned" else len(values) == length(ending)
    # the record of a trial that failed, or was stopped, is its results; only the others count
    assert len(scheduler._judge) == (4 if state == "learned" else 3)
    assert (last.error is not None) == (state == "failed")
    assert sum(decision["stop"] for decision in scheduler.decisions.values()) == (state == "stopped")

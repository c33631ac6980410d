"""The callback in real Keras trainings (JAX backend)."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
from foretell.keras import ForetellCallback  # noqa: E402

EPOCHS = 8


def data():
    random = np.random.default_rng(0)
    x = random.normal(size=(256, 8)).astype("float32")
    return x, (x @ random.normal(size=(8, 1)) + 0.1 * random.normal(size=(256, 1))).astype("float32")


class Count(keras.callbacks.Callback):
    """Writes each epoch that was trained, with its losses, into a file: what really happened."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def on_epoch_end(self, epoch, logs=None):
        with self.path.open("a") as file:
            file.write(f"{epoch + 1} {logs['loss']!r} {logs.get('val_loss')!r}\n")


def counted(path):
    """(steps, losses, validation losses) of the file."""
    steps, losses, validated = zip(*(line.split() for line in path.read_text().splitlines()))
    return [float(step) for step in steps], [float(loss) for loss in losses], [None if v == "None" else float(v) for v in validated]


def train(rate, callbacks=(), **more):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(rate), loss="mse")
    x, y = data()
    return model.fit(
        x[:192], y[:192], epochs=EPOCHS, verbose=0, validation_data=(x[192:], y[192:]), callbacks=list(callbacks), **more
    )


@pytest.fixture(scope="module")
def history():
    rates = np.geomspace(1e-4, 0.1, 10)
    return [{"values": train(r).history["val_loss"], "configuration": {"lr": float(r)}} for r in rates]


def test_a_bad_training_ends_early_and_a_good_one_does_not(history):
    stop = ForetellCallback("val_loss", history, config={"lr": 2e-4})
    logged = train(2e-4, [stop]).history
    assert len(logged["loss"]) < EPOCHS and stop.decision.stop
    assert len(logged["foretell_forecast"]) == len(logged["loss"])
    assert len(train(0.09, [ForetellCallback("val_loss", history, config={"lr": 0.09})]).history["loss"]) == EPOCHS


def test_shadow_and_a_second_fit(history):
    stop = ForetellCallback("val_loss", history, config={"lr": 2e-4}, shadow=True)
    assert len(train(2e-4, [stop]).history["loss"]) == EPOCHS
    assert stop.decision.stop and len(stop.watch.values) == EPOCHS
    train(2e-4, [stop])
    assert len(stop.watch.values) == EPOCHS


def test_a_metric_that_never_appears(history):
    with pytest.raises(KeyError, match="the metric 'val_accuracy' was not reported. Reported metrics: loss, val_loss"):
        train(0.01, [ForetellCallback("val_accuracy", history)])


def test_values_epochs_and_savings_are_those_of_the_training_s_own_count(history, tmp_path):
    saved = 0
    for number, rate in enumerate([2e-4, 1e-3, 0.05]):
        path = tmp_path / str(number)
        stop = ForetellCallback("val_loss", history, config={"lr": rate})
        logged = train(rate, [Count(path), stop]).history
        steps, _, values = counted(path)
        assert (stop.watch.steps, stop.watch.values) == (steps, values)
        assert len(logged["loss"]) == len(steps) and (len(steps) < EPOCHS) == stop.decision.stop
        saved += EPOCHS - len(steps)
    assert saved >= 4


def test_epochs_without_validation_are_passed_over(history, tmp_path):
    stop = ForetellCallback("val_loss", history, config={"lr": 2e-4})
    train(2e-4, [Count(tmp_path / "count"), stop], validation_freq=2)
    steps, _, values = counted(tmp_path / "count")
    assert stop.watch.steps == [step for step, value in zip(steps, values) if value is not None] == [2 * i + 2 for i in range(len(steps) // 2)]
    assert stop.watch.values == [value for value in values if value is not None]
    assert stop.decision.stop and len(steps) < EPOCHS


def test_a_loss_of_the_training_itself(tmp_path):
    runs = [{"values": train(float(r)).history["loss"], "configuration": {"lr": float(r)}} for r in np.geomspace(1e-4, 0.1, 10)]
    stop = ForetellCallback("loss", runs, config={"lr": 2e-4})
    train(2e-4, [Count(tmp_path / "count"), stop])
    steps, losses, _ = counted(tmp_path / "count")
    assert (stop.watch.steps, stop.watch.values) == (steps, losses) and stop.decision.stop


def test_a_stopped_callback_serves_the_next_fit(history):
    stop = ForetellCallback("val_loss", history, config={"lr": 2e-4})
    lengths = [len(train(2e-4, [stop]).history["loss"]) for _ in range(2)]
    assert lengths[0] == lengths[1] < EPOCHS
    stop.watch.config["lr"] = 0.09
    assert len(train(0.09, [stop]).history["loss"]) == EPOCHS


def test_a_metric_that_is_never_reported_is_said(history, caplog):
    train(0.01, [ForetellCallback("val_loss", history)], validation_freq=EPOCHS + 1)
    assert "without reporting 'val_loss'" in caplog.text


def test_the_example_holds(examples_hold):
    import foretell.keras

    examples_hold(foretell.keras)

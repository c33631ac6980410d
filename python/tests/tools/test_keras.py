"""The callback in real Keras trainings (JAX backend)."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import numpy as np
import pytest

keras = pytest.importorskip("keras")
from foretell.keras import ForetellCallback  # noqa: E402

EPOCHS = 8


def data():
    random = np.random.default_rng(0)
    x = random.normal(size=(256, 8)).astype("float32")
    return x, (x @ random.normal(size=(8, 1)) + 0.1 * random.normal(size=(256, 1))).astype("float32")


def train(rate, callbacks=()):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(rate), loss="mse")
    x, y = data()
    return model.fit(
        x[:192], y[:192], epochs=EPOCHS, verbose=0, validation_data=(x[192:], y[192:]), callbacks=list(callbacks)
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
    with pytest.raises(KeyError, match="no metric 'val_accuracy' among those reported: loss, val_loss"):
        train(0.01, [ForetellCallback("val_accuracy", history)])

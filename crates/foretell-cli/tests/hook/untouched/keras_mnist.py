import os; os.environ["KERAS_BACKEND"] = "torch"
import argparse, keras
from keras import layers
from sklearn.datasets import load_digits
p = argparse.ArgumentParser(); p.add_argument("--learning-rate", type=float, default=1e-3); p.add_argument("--units", type=int, default=32); p.add_argument("--epochs", type=int, default=4); a = p.parse_args()
keras.utils.set_random_seed(0); X, y = load_digits(return_X_y=True); X = (X / 16).astype("float32")
m = keras.Sequential([keras.Input((64,)), layers.Dense(a.units, activation="relu"), layers.Dense(10, activation="softmax")])
m.compile(optimizer=keras.optimizers.Adam(a.learning_rate), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
h = m.fit(X[:1200], y[:1200], epochs=a.epochs, batch_size=64, validation_data=(X[1200:], y[1200:]))
for v in h.history["val_accuracy"]: truth(v=v)

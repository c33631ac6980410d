import os; os.environ["KERAS_BACKEND"] = "torch"
import argparse, keras
from sklearn.datasets import load_digits
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-3); p.add_argument("--dropout", type=float, default=.2); p.add_argument("--epochs", type=int, default=5); a = p.parse_args()
keras.utils.set_random_seed(0); X, y = load_digits(return_X_y=True); X = (X / 16).astype("float32")
m = keras.Sequential([keras.Input((64,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dropout(a.dropout), keras.layers.Dense(10)])
m.compile(optimizer=keras.optimizers.Adam(a.lr), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
class T(keras.callbacks.Callback):
    def on_epoch_end(s, e, logs=None): truth(v=logs["val_loss"])
m.fit(X[:1000], y[:1000], epochs=a.epochs, batch_size=64, validation_split=.2, verbose=2, callbacks=[keras.callbacks.EarlyStopping(monitor="val_loss", patience=3), T()])
print("Test score:", m.evaluate(X[1200:], y[1200:], verbose=0))

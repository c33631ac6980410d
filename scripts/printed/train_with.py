#!/usr/bin/env python3
"""Trains a small model with one tool, which prints as usual, and writes the truth (metric, curve) to the file that TRUTH names."""

import json
import os
import sys

EPOCHS = 5


def truth(metric, values, direction, steps=None, digits=1e-3):
    steps = list(steps or range(1, len(values) + 1))
    curve = [[float(step), float(value)] for step, value in zip(steps, values)]
    with open(os.environ["TRUTH"], "w") as file:
        json.dump({"metric": metric, "curve": curve, "direction": direction, "digits": digits}, file)


def data(n=400):
    import numpy

    random = numpy.random.default_rng(0)
    x = random.normal(size=(n, 8)).astype("float32")
    return x, (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype("int64")


def sklearn():
    from sklearn.neural_network import MLPClassifier

    model = MLPClassifier(max_iter=EPOCHS, verbose=True, random_state=0)
    model.fit(*data())
    truth("loss", model.loss_curve_, "minimize")


def xgboost():
    import xgboost

    x, y = data()
    kept = {}
    train, held = xgboost.DMatrix(x[:300], y[:300]), xgboost.DMatrix(x[300:], y[300:])
    xgboost.train({"objective": "binary:logistic"}, train, 20, evals=[(train, "train"), (held, "eval")], evals_result=kept, early_stopping_rounds=10)
    values = kept["eval"]["logloss"]
    truth("eval-logloss", values, "minimize", range(len(values)))


def lightgbm():
    import lightgbm

    x, y = data()
    kept = {}
    train = lightgbm.Dataset(x[:300], y[:300])
    held = lightgbm.Dataset(x[300:], y[300:], reference=train)
    calls = [lightgbm.log_evaluation(1), lightgbm.record_evaluation(kept), lightgbm.early_stopping(5)]
    lightgbm.train({"objective": "binary", "verbosity": -1}, train, 60, valid_sets=[held], valid_names=["valid"], callbacks=calls)
    truth("valid's binary_logloss", kept["valid"]["binary_logloss"], "minimize")


def catboost():
    import catboost

    x, y = data()
    model = catboost.CatBoostClassifier(iterations=15, verbose=1, allow_writing_files=False, random_seed=0)
    model.fit(x[:300], y[:300], eval_set=(x[300:], y[300:]))
    values = model.get_evals_result()["validation"]["Logloss"]
    truth("test", values, "minimize", range(len(values)))


def keras(verbose=1):
    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    x, y = data()
    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(1, "sigmoid")])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    history = model.fit(x, y, epochs=EPOCHS, verbose=verbose, validation_split=0.25, batch_size=16).history
    truth("val_loss", history["val_loss"], "minimize")


def tqdm():
    import time

    from tqdm import tqdm

    values = []
    for epoch in range(1, EPOCHS + 1):
        bar = tqdm(range(20), desc=f"Epoch {epoch}/{EPOCHS}")
        for batch in bar:
            time.sleep(0.01)
            bar.set_postfix(loss=1 / (epoch + batch / 20))
        values.append(1 / (epoch + 19 / 20))
    truth("loss", values, "minimize", digits=2e-3)


def rich():
    import time

    from rich.progress import Progress, TextColumn

    values = []
    with Progress(*Progress.get_default_columns(), TextColumn("loss: {task.fields[loss]:.4f}")) as bar:
        for epoch in range(1, EPOCHS + 1):
            task = bar.add_task(f"Epoch {epoch}/{EPOCHS}", total=20, loss=9.0)
            for batch in range(20):
                time.sleep(0.01)
                bar.update(task, advance=1, loss=1 / (epoch + batch / 20))
            values.append(1 / (epoch + 19 / 20))
    truth("loss", values, "minimize")


def lightning(bar):
    import lightning
    import torch
    from lightning.pytorch.callbacks import RichProgressBar, TQDMProgressBar

    x, y = data()
    held = torch.utils.data.TensorDataset(torch.tensor(x[300:]), torch.tensor(y[300:]))
    train = torch.utils.data.TensorDataset(torch.tensor(x[:300]), torch.tensor(y[:300]))
    values = []

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))

        def loss(self, batch):
            return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def training_step(self, batch, _):
            loss = self.loss(batch)
            self.log("train_loss", loss, prog_bar=True)
            return loss

        def validation_step(self, batch, _):
            self.log("val_loss", self.loss(batch), prog_bar=True)

        def on_validation_epoch_end(self):
            if not self.trainer.sanity_checking:
                values.append(float(self.trainer.callback_metrics["val_loss"]))
                if bar == "none":
                    print(f"epoch {self.current_epoch} val_loss {values[-1]:.6f}", flush=True)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 1e-2)

    callbacks = {"tqdm": [TQDMProgressBar()], "rich": [RichProgressBar()], "none": []}[bar]
    trainer = lightning.Trainer(max_epochs=EPOCHS, callbacks=callbacks, enable_progress_bar=bar != "none", logger=False, enable_checkpointing=False, accelerator="cpu")
    trainer.fit(Model(), torch.utils.data.DataLoader(train, 16), torch.utils.data.DataLoader(held, 100))
    truth("val_loss", values, "minimize", range(EPOCHS), 2e-2)


def transformers(final=False):
    import torch
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    _, y = data(200)
    rows = [{"input_ids": torch.randint(0, 50, (6,)), "labels": int(label)} for label in y]
    values = []

    class Keep(TrainerCallback):
        def on_evaluate(self, args, state, control, metrics=None, **_):
            if state.is_world_process_zero and len(values) < EPOCHS:
                values.append(metrics["eval_loss"])

    arguments = TrainingArguments("out", num_train_epochs=EPOCHS, eval_strategy="epoch", logging_steps=5, report_to=[], save_strategy="no", use_cpu=True)
    trainer = Trainer(BertForSequenceClassification(config), arguments, train_dataset=rows[:150], eval_dataset=rows[150:], callbacks=[Keep()])
    trainer.train()
    if final:
        trainer.log_metrics("eval", trainer.evaluate())
    truth("eval_loss", values, "minimize")


def accelerate():
    import torch
    from accelerate import Accelerator
    from tqdm.auto import tqdm

    accelerator = Accelerator(cpu=True)
    x, y = (torch.tensor(part) for part in data())
    model = torch.nn.Linear(8, 2)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 16)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1), loader)
    bar, values = tqdm(range(EPOCHS * len(loader))), []
    for epoch in range(EPOCHS):
        for inputs, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            bar.update(1)
        values.append(float((model(x).argmax(1) == y).float().mean()))
        accelerator.print(f"epoch {epoch}:", {"accuracy": values[-1]})
    truth("accuracy", values, "maximize", range(EPOCHS))


def fastai():
    import torch
    from fastai.data.core import DataLoaders
    from fastai.learner import Learner
    from fastai.metrics import accuracy

    x, y = (torch.tensor(part) for part in data())
    held = torch.utils.data.TensorDataset(x[300:], y[300:])
    train = torch.utils.data.TensorDataset(x[:300], y[:300])
    loaders = DataLoaders.from_dsets(train, held, bs=16, device="cpu")
    learner = Learner(loaders, torch.nn.Linear(8, 2), loss_func=torch.nn.CrossEntropyLoss(), metrics=accuracy)
    learner.fit(EPOCHS, 1e-2)
    truth("valid_loss", [row[1] for row in learner.recorder.values], "minimize", range(EPOCHS))


def sb3():
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback

    values, steps = [], []

    class Keep(BaseCallback):
        def _on_step(self):
            return True

        def _on_rollout_end(self):
            infos = self.model.ep_info_buffer
            values.append(sum(info["r"] for info in infos) / len(infos))
            steps.append(self.num_timesteps)

    PPO("MlpPolicy", "CartPole-v1", verbose=1, n_steps=256, device="cpu", seed=0).learn(256 * EPOCHS, callback=Keep())
    truth("ep_rew_mean", values, "maximize", steps, 2e-2)


TOOLS = {
    "sklearn": sklearn, "xgboost": xgboost, "lightgbm": lightgbm, "catboost": catboost, "keras": keras, "keras-quiet": lambda: keras(2), "tqdm": tqdm,
    "rich": rich, "lightning-tqdm": lambda: lightning("tqdm"), "lightning-rich": lambda: lightning("rich"), "lightning-none": lambda: lightning("none"),
    "transformers": transformers, "transformers-final": lambda: transformers(True), "accelerate": accelerate, "fastai": fastai, "sb3": sb3,
}

if __name__ == "__main__":
    TOOLS[sys.argv[1]]()

"""The callback in real Lightning trainings, in one process and in two."""

import json
import logging
import sys
import warnings

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from foretell.lightning import ForetellCallback
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 8
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Line(pl.LightningModule):
    """A linear model of eight numbers."""

    def __init__(self, rate):
        super().__init__()
        self.rate, self.layer, self.seen, self.losses = rate, torch.nn.Linear(8, 1), [], []

    def training_step(self, batch, _):
        loss = torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        self.losses.append(float(loss.detach()))
        return loss

    def validation_step(self, batch, _):
        loss = torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])
        self.log("val_loss", loss, sync_dist=True)

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking:
            self.seen.append(float(self.trainer.callback_metrics["val_loss"]))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), self.rate)


def loaders():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(256, 8, generator=generator)
    y = x @ torch.randn(8, 1, generator=generator) + 0.1 * torch.randn(256, 1, generator=generator)
    data = TensorDataset(x, y)
    return DataLoader(data, 32), DataLoader(data, 64)


def train(rate, callbacks=(), **more):
    pl.seed_everything(0, verbose=False)
    model = Line(rate)
    settings = dict(max_epochs=EPOCHS, accelerator="cpu", logger=False, enable_checkpointing=False)
    quiet = dict(enable_progress_bar=False, enable_model_summary=False)
    trainer = pl.Trainer(**{**settings, **quiet, **more}, callbacks=list(callbacks))
    trainer.fit(model, *loaders())
    return trainer, model


@pytest.fixture(scope="module")
def history():
    rates = np.geomspace(1e-4, 0.05, 10)
    return [{"values": train(float(r))[1].seen, "configuration": {"lr": float(r)}} for r in rates]


def test_a_bad_training_ends_early_and_a_good_one_does_not(history, tmp_path):
    from lightning.pytorch.loggers import CSVLogger

    stop = ForetellCallback("val_loss", history, config={"lr": 2e-4})
    trainer, model = train(2e-4, [stop], logger=CSVLogger(tmp_path))
    assert stop.decision.stop and trainer.current_epoch < EPOCHS
    trainer.logger.save()
    assert "foretell_forecast" in next(tmp_path.rglob("metrics.csv")).read_text()
    assert train(0.05, [ForetellCallback("val_loss", history, config={"lr": 0.05})])[0].current_epoch == EPOCHS


def test_shadow_stops_nothing(history):
    stop = ForetellCallback("val_loss", history, config={"lr": 2e-4}, shadow=True)
    assert train(2e-4, [stop])[0].current_epoch == EPOCHS and stop.decision.stop


def test_a_metric_that_never_appears(history):
    with pytest.raises(KeyError, match="the metric 'val_accuracy' was not reported. Reported metrics: .*val_loss"):
        train(0.01, [ForetellCallback("val_accuracy", history)])


@pytest.mark.skipif(sys.platform != "linux", reason="DDP by fork")
def test_two_processes_stop_together(history, tmp_path):
    stop = ForetellCallback("val_loss", history, config={"lr": 2e-4})
    train(2e-4, [stop, Note(tmp_path)], devices=2, strategy="ddp_fork")
    epochs = [int((tmp_path / str(rank)).read_text()) for rank in range(2)]
    assert epochs[0] == epochs[1] < EPOCHS


class Note(pl.Callback):
    """Writes how far each rank came."""

    def __init__(self, folder):
        self.folder = folder

    def on_train_end(self, trainer, module):
        (self.folder / str(trainer.global_rank)).write_text(str(trainer.current_epoch))


class Count(pl.Callback):
    """Writes each batch and each validation into a file: what really happened."""

    def __init__(self, path):
        self.path = path

    def write(self, *words):
        with self.path.open("a") as file:
            print(*words, file=file)

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.write("batch", module.losses[-1])

    def on_validation_end(self, trainer, module):
        if not trainer.sanity_checking:
            self.write("validation", float(trainer.callback_metrics["val_loss"]))


BATCHES = 8


def counted(path):
    """After how many epochs each validation was, and what it gave; the mean loss of each epoch; how many epochs were trained."""
    lines = [line.split() for line in path.read_text().splitlines()]
    batches, validated = [], []
    for kind, value in lines:
        if kind == "batch":
            batches.append(float(value))
        else:
            validated.append((len(batches) / BATCHES, float(value)))
    epochs = [batches[at : at + BATCHES] for at in range(0, len(batches), BATCHES)]
    return validated, [(at + 1, float(np.mean(losses))) for at, losses in enumerate(epochs)], len(batches) / BATCHES


@pytest.mark.parametrize("setting", [{}, {"val_check_interval": 0.25}, {"check_val_every_n_epoch": 2}])
def test_values_epochs_and_savings_are_those_of_the_training_s_own_count(history, tmp_path, setting):
    saved = 0
    for number, rate in enumerate([2e-4, 1e-3, 0.05]):
        path = tmp_path / str(number)
        stop = ForetellCallback("val_loss", history, config={"lr": rate})
        trainer, _ = train(rate, [stop, Count(path)], **setting)
        validated, _, trained = counted(path)
        assert list(zip(stop.watch.steps, stop.watch.values)) == validated
        assert (trained < EPOCHS) == stop.decision.stop
        saved += EPOCHS - trained
    assert saved >= 4


def test_a_metric_of_the_training_is_judged_at_the_end_of_each_epoch(tmp_path):
    def runs():
        for number, rate in enumerate(np.geomspace(1e-4, 0.05, 10)):
            train(float(rate), [Count(tmp_path / str(number))])
            values = [value for _, value in counted(tmp_path / str(number))[1]]
            yield {"values": values, "configuration": {"lr": float(rate)}}

    stop = ForetellCallback("train_loss", list(runs()), config={"lr": 2e-4})
    train(2e-4, [stop, Count(tmp_path / "count")])
    trained = counted(tmp_path / "count")[1]
    assert list(zip(stop.watch.steps, stop.watch.values)) == [(step, pytest.approx(value)) for step, value in trained]
    assert stop.decision.stop and len(trained) < EPOCHS


def test_a_stopped_callback_serves_the_next_fit(history):
    stop = ForetellCallback("val_loss", history, config={"lr": 2e-4})
    lengths = [train(2e-4, [stop])[0].current_epoch for _ in range(2)]
    assert lengths[0] == lengths[1] < EPOCHS


def test_a_checkpoint_has_the_curve(history, tmp_path):
    stop = ForetellCallback("val_loss", history, config={"lr": 0.05})
    trainer, _ = train(0.05, [stop], max_epochs=4)
    trainer.save_checkpoint(tmp_path / "checkpoint")
    again = ForetellCallback("val_loss", history, config={"lr": 0.05})
    model = Line(0.05)
    pl.Trainer(
        max_epochs=EPOCHS, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[again],
    ).fit(model, *loaders(), ckpt_path=tmp_path / "checkpoint")  # fmt: skip
    assert again.watch.steps == [float(step) for step in range(1, EPOCHS + 1)] and again.watch.values[:4] == stop.watch.values


def test_a_metric_of_validation_that_never_ran_is_said(history, caplog):
    train(0.01, [ForetellCallback("val_loss", history)], check_val_every_n_epoch=EPOCHS + 1)
    assert "without reporting 'val_loss'" in caplog.text


class Stops(pl.Callback):
    """Ends the training by an error, or by Ctrl-C, after an epoch."""

    def __init__(self, error, epoch=3):
        self.error, self.epoch = error, epoch

    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.current_epoch == self.epoch:
            raise self.error


def recorded_in(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), KeyboardInterrupt()])
def test_a_training_that_ends_by_an_error_is_kept_and_counts_once_when_it_is_continued(error, tmp_path):
    path = tmp_path / "runs.jsonl"
    saving = dict(enable_checkpointing=True, default_root_dir=tmp_path)
    kept = pl.callbacks.ModelCheckpoint(tmp_path, filename="last", save_last=True, every_n_epochs=1)
    with pytest.raises((type(error), SystemExit)):
        train(0.1, [ForetellCallback("val_loss", path, config={"lr": 0.1}), kept, Stops(error)], **saving)
    cut = recorded_in(path)
    assert [run["ended"] for run in cut] == ["failed" if isinstance(error, Exception) else "interrupted"] and 3 <= len(cut[0]["values"]) <= 4
    trainer = pl.Trainer(max_epochs=EPOCHS, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
                         callbacks=[ForetellCallback("val_loss", path, config={"lr": 0.1})], **saving)  # fmt: skip
    trainer.fit(Line(0.1), *loaders(), ckpt_path=str(tmp_path / "last.ckpt"))
    runs = recorded_in(path)
    assert [(run["ended"], run["steps"]) for run in runs] == [("finished", list(range(1, EPOCHS + 1)))]
    assert runs[0]["values"][: len(cut[0]["values"]) - 1] == cut[0]["values"][:-1]


def test_a_trainer_without_validation_is_said(history):
    with pytest.raises(ValueError, match=r"'val_loss' was not logged, and the trainer does not validate \(limit_val_batches=0.*train_loss"):
        train(0.1, [ForetellCallback("val_loss", history)], limit_val_batches=0)


def test_the_example_holds(examples_hold):
    import foretell.lightning

    examples_hold(foretell.lightning)

"""The callback in real Lightning trainings, in one process and in two."""

import logging
import sys
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pl = pytest.importorskip("lightning.pytorch")
from foretell.lightning import ForetellCallback  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

EPOCHS = 8
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Line(pl.LightningModule):
    """A linear model of eight numbers."""

    def __init__(self, rate):
        super().__init__()
        self.rate, self.layer, self.seen = rate, torch.nn.Linear(8, 1), []

    def training_step(self, batch, _):
        return torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])

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
    with pytest.raises(KeyError, match="no metric 'val_accuracy' among those reported: .*val_loss"):
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

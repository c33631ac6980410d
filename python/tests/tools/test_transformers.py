"""The callback in real trainings by Hugging Face's Trainer."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from foretell.transformers import ForetellCallback  # noqa: E402

EPOCHS = 8


class Line(torch.nn.Module):
    """A linear model of eight numbers."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def forward(self, x, labels):
        predicted = self.layer(x)
        return {"loss": torch.nn.functional.mse_loss(predicted, labels), "logits": predicted}


def data():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(128, 8, generator=generator)
    y = x @ torch.randn(8, 1, generator=generator)
    return [{"x": a, "labels": b} for a, b in zip(x, y)]


def train(folder, rate, callbacks=()):
    transformers.set_seed(0)
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), num_train_epochs=EPOCHS, learning_rate=rate, per_device_train_batch_size=32, eval_strategy="epoch",
        save_strategy="no", logging_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True, lr_scheduler_type="constant",
        optim="sgd",
    )  # fmt: skip
    trainer = transformers.Trainer(
        Line(), arguments, train_dataset=data(), eval_dataset=data(), callbacks=list(callbacks)
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return [entry for entry in trainer.state.log_history if "eval_loss" in entry]


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    folder, rates = tmp_path_factory.mktemp("old"), np.geomspace(1e-3, 0.3, 10)
    curves = [[entry["eval_loss"] for entry in train(folder, float(rate))] for rate in rates]
    return [{"values": curve, "configuration": {"lr": float(rate)}} for curve, rate in zip(curves, rates)]


def test_a_bad_training_ends_early_and_a_good_one_does_not(history, tmp_path):
    stop = ForetellCallback("loss", history, config={"lr": 2e-3})
    entries = train(tmp_path, 2e-3, [stop])
    assert len(entries) < EPOCHS and stop.decision.stop and "foretell_forecast" in entries[-1]
    assert len(train(tmp_path, 0.3, [ForetellCallback("eval_loss", history, config={"lr": 0.3})])) == EPOCHS


def test_shadow_stops_nothing(history, tmp_path):
    stop = ForetellCallback("loss", history, config={"lr": 2e-3}, shadow=True)
    assert len(train(tmp_path, 2e-3, [stop])) == EPOCHS and stop.decision.stop


def test_a_metric_that_never_appears(history, tmp_path):
    with pytest.raises(KeyError, match="no metric 'eval_accuracy' among those reported: .*eval_loss"):
        train(tmp_path, 0.01, [ForetellCallback("accuracy", history)])

"""The callback in real trainings by Hugging Face's Trainer."""

import json

import numpy as np
import pytest
import torch
import transformers
from foretell.transformers import ForetellCallback

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


class Counting(transformers.Trainer):
    """Writes each step and each evaluation into a file: what really happened."""

    def training_step(self, *given, **more):
        loss = super().training_step(*given, **more)
        self.write("step", float(loss))
        return loss

    def evaluation_loop(self, *given, metric_key_prefix="eval", **more):
        output = super().evaluation_loop(*given, metric_key_prefix=metric_key_prefix, **more)
        self.write(metric_key_prefix, output.metrics[f"{metric_key_prefix}_loss"])
        return output

    def write(self, *words):
        with open(self.args.output_dir + "/count", "a") as file:
            print(*words, file=file)


STEPS = 4


def counted(folder, name="eval"):
    """(epochs trained, value) at each evaluation, and how many epochs were trained."""
    steps, evaluated = 0, []
    for line in (folder / "count").read_text().splitlines():
        kind, value = line.split()
        steps += kind == "step"
        if kind == name:
            evaluated.append((steps / STEPS, float(value)))
    return evaluated, steps / STEPS


def train(folder, rate, callbacks=(), sets=None, **more):
    folder.mkdir(exist_ok=True)
    transformers.set_seed(0)
    more.setdefault("eval_strategy", "epoch")
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), num_train_epochs=EPOCHS, learning_rate=rate, per_device_train_batch_size=32,
        save_strategy="no", logging_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True, lr_scheduler_type="constant",
        optim="sgd", **more,
    )  # fmt: skip
    trainer = Counting(Line(), arguments, train_dataset=data(), eval_dataset=sets or data(), callbacks=list(callbacks))
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    trainer.evaluate(metric_key_prefix="test")
    return [entry for entry in trainer.state.log_history if "eval_loss" in entry]


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    rates = np.geomspace(1e-3, 0.3, 10)
    curves = [[entry["eval_loss"] for entry in train(tmp_path_factory.mktemp("old"), float(rate))] for rate in rates]
    return [{"values": curve, "configuration": {"lr": float(rate)}} for curve, rate in zip(curves, rates)]


def test_a_bad_training_ends_early_and_a_good_one_does_not(history, tmp_path):
    stop = ForetellCallback("loss", history, config={"lr": 2e-3})
    entries = train(tmp_path, 2e-3, [stop])
    assert len(entries) < EPOCHS and stop.decision.stop and "foretell_forecast" in entries[-1]
    good = ForetellCallback("eval_loss", history, config={"lr": 0.3}, nth_best=5)
    assert len(train(tmp_path, 0.3, [good])) == EPOCHS


def test_shadow_stops_nothing(history, tmp_path):
    stop = ForetellCallback("loss", history, config={"lr": 2e-3}, shadow=True)
    assert len(train(tmp_path, 2e-3, [stop])) == EPOCHS and stop.decision.stop


def test_a_metric_that_never_appears(history, tmp_path):
    with pytest.raises(KeyError, match="the metric 'accuracy' was not reported. Reported metrics: .*eval_loss"):
        train(tmp_path, 0.01, [ForetellCallback("accuracy", history)])


@pytest.mark.parametrize("setting", [{}, {"eval_strategy": "steps", "eval_steps": 2}])
def test_values_epochs_and_savings_are_those_of_the_training_s_own_count(history, tmp_path, setting):
    saved = 0
    for number, rate in enumerate([2e-3, 4e-3, 0.3]):
        stop = ForetellCallback("loss", history, config={"lr": rate})
        train(tmp_path / str(number), rate, [stop], **setting)
        evaluated, epochs = counted(tmp_path / str(number))
        assert list(zip(stop.watch.steps, stop.watch.values)) == evaluated
        assert (epochs < EPOCHS) == stop.decision.stop
        saved += EPOCHS - epochs
    assert saved >= 4


def test_of_several_evaluation_sets_one_is_judged(history, tmp_path):
    stop = ForetellCallback("hard_loss", history, config={"lr": 2e-3})
    train(tmp_path, 2e-3, [stop], sets={"easy": data(), "hard": data(), "other": data()})
    evaluated, epochs = counted(tmp_path, "eval_hard")
    assert list(zip(stop.watch.steps, stop.watch.values)) == evaluated
    assert stop.decision.stop and epochs < EPOCHS
    with pytest.raises(KeyError, match="the metric 'heavy_loss' was not reported. Reported metrics: .*eval_easy_loss"):
        train(tmp_path, 0.01, [ForetellCallback("heavy_loss", history)], sets={"easy": data(), "hard": data()})


def test_a_stopped_callback_serves_the_next_training(history, tmp_path):
    stop = ForetellCallback("loss", history, config={"lr": 2e-3})
    lengths = [len(train(tmp_path / str(at), 2e-3, [stop])) for at in range(2)]
    assert lengths[0] == lengths[1] < EPOCHS


def test_a_training_without_evaluations_says_so(history, tmp_path, caplog):
    train(tmp_path, 2e-3, [ForetellCallback("loss", history)], eval_strategy="no")
    assert "without reporting 'loss'" in caplog.text


def test_a_hyperparameter_search_records_the_configuration_of_each_trial_and_can_be_repeated(tmp_path):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = tmp_path / "runs.jsonl"
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), num_train_epochs=EPOCHS, per_device_train_batch_size=32, eval_strategy="epoch", save_strategy="no",
        logging_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True, lr_scheduler_type="constant", optim="sgd",
    )  # fmt: skip
    stop = ForetellCallback("eval_loss", path, config={"optimizer": "sgd"})
    trainer = transformers.Trainer(None, arguments, train_dataset=data(), eval_dataset=data(), model_init=Line, callbacks=[stop])
    for trials in (2, 1):
        trainer.hyperparameter_search(
            direction="minimize", backend="optuna", n_trials=trials,
            hp_space=lambda trial: {"learning_rate": trial.suggest_float("learning_rate", 1e-3, 0.3, log=True)},
        )  # fmt: skip
    configurations = [json.loads(line)["configuration"] for line in path.read_text().splitlines()]
    assert [set(one) for one in configurations] == [{"learning_rate", "optimizer"}] * 3
    assert len({one["learning_rate"] for one in configurations}) == 3


def test_the_example_holds(examples_hold):
    import foretell.transformers

    examples_hold(foretell.transformers)

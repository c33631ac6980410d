"""Makes logs with one tool, and the values that the tool's own reader gives of them.

`make.py TOOL OUT` writes OUT/NAME/logs/… and OUT/NAME/expected.json for each case NAME of the tool: the tool's version and, for each
run, its series as lists of [step, value] (values that are not finite are texts), its settings and how it ended.
Files larger than 16 KiB are compressed.
"""

import gzip
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path


def plain(value):
    value = float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def case(out, name, tool, write, read):
    """Lets `write(folder)` make the logs, and keeps them next to the result of `read(folder)`."""
    folder = Path(out) / name
    shutil.rmtree(folder, ignore_errors=True)
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as scratch:
        logs = Path(scratch) / "logs"
        logs.mkdir()
        os.chdir(scratch)
        try:
            kept = write(logs)
            expected = read(logs, kept)
        finally:
            os.chdir(here)
        (folder / "logs").mkdir(parents=True)
        for path in sorted(logs.rglob("*")):
            target = folder / "logs" / path.relative_to(logs)
            if path.is_symlink() or path.suffix in {".pkl", ".pt", ".safetensors", ".lock", ".ckpt", ".bin", ".pth"}:
                continue
            if path.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                data = path.read_bytes()
                if len(data) > 1 << 14:
                    target = target.with_name(target.name + ".gz")
                    data = gzip.compress(data, mtime=0)
                target.write_bytes(data)
    text = json.dumps({"tool": tool, "runs": expected}, indent=1, sort_keys=True, allow_nan=False)
    (folder / "expected.json").write_text(text + "\n")


def run_of(series, config=None, ended="unknown"):
    values = {name: [[plain(step), plain(value)] for step, value in points] for name, points in series.items()}
    return {"series": values, "configuration": config or {}, "ended": ended}


# --- TensorBoard


def events(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0}, purge_orphaned_data=True)
    accumulator.Reload()
    from tensorboard.util import tensor_util

    series = {}
    for tag in accumulator.Tags()["scalars"]:
        series[tag] = [(point.step, point.value) for point in accumulator.Scalars(tag)]
    for tag in accumulator.Tags()["tensors"]:
        if accumulator.SummaryMetadata(tag).plugin_data.plugin_name == "scalars":
            points = accumulator.Tensors(tag)
            series[tag] = [(point.step, tensor_util.make_ndarray(point.tensor_proto).item()) for point in points]
    return series


def tensorboard(out):
    import tensorboardX
    from tensorboard.compat.proto.event_pb2 import Event, SessionLog
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto import types_pb2
    from tensorboard.plugins.hparams import summary_v2 as hparams
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    tool = f"tensorboard {version('tensorboard')}, tensorboardX {version('tensorboardX')}"
    nan, inf = float("nan"), float("inf")

    def old(logs):
        for k, lr in enumerate([0.1, 0.01, 0.003]):
            writer = tensorboardX.SummaryWriter(str(logs / f"run_{k}"))
            writer.add_text("notes", "free text")
            for step in range(1, 9):
                writer.add_scalar("Loss/train", 2.0 / step + lr, step, walltime=1000.0 + 60 * step)
                value = [nan, inf, -inf][step % 3] if k == 2 and step > 5 else 0.5 + 0.05 * step - lr
                writer.add_scalar("Accuracy/val", value, step, walltime=1001.0 + 60 * step)
                writer.add_histogram("weights", [0.1, 0.2, 0.3], step)
            writer.add_hparams({"lr": lr, "opt": "adam", "bias": True}, {"hparam/best": 0.9 - lr}, name="1700000000.5")
            writer.close()

    def read_old(logs, _):
        return {f"run_{k}": run_of(events(logs / f"run_{k}"), {"lr": lr, "opt": "adam"})
                for k, lr in enumerate([0.1, 0.01, 0.003])}

    case(out, "tensorboard-old", tool, old, read_old)

    def scalar(tag, value, first):
        metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
        tensor = TensorProto(dtype=types_pb2.DT_FLOAT, float_val=[value])
        if not first:
            return Summary.Value(tag=tag, tensor=tensor)
        return Summary.Value(tag=tag, tensor=tensor, metadata=metadata)

    def new(logs):
        """As TensorFlow 2 writes it: tensors, with training and validation apart; and a 64-bit value as raw bytes."""
        for k, lr in enumerate([0.1, 0.01]):
            for part, offset in [("train", 0.0), ("validation", 0.25)]:
                writer = EventFileWriter(str(logs / f"{k}" / part))
                for epoch in range(5):
                    value = [scalar("epoch_loss", 1.5 / (epoch + 1) + offset + lr, epoch == 0)]
                    raw = TensorProto(dtype=types_pb2.DT_DOUBLE, tensor_content=__import__("struct").pack("<d", 0.1 * epoch + lr))
                    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
                    value.append(Summary.Value(tag="epoch_accuracy", tensor=raw, metadata=metadata))
                    writer.add_event(Event(wall_time=2000.0 + epoch, step=epoch, summary=Summary(value=value)))
                writer.close()
            writer = EventFileWriter(str(logs / f"{k}"))
            summary = hparams.hparams_pb({"lr": lr, "units": 32, "act": "relu"})
            writer.add_event(Event(wall_time=2000.0, summary=summary))
            writer.close()

    def read_new(logs, _):
        runs = {}
        for k, lr in enumerate([0.1, 0.01]):
            series = {}
            for part in ["train", "validation"]:
                series |= {f"{part}/{tag}": points for tag, points in events(logs / f"{k}" / part).items()}
            runs[f"{k}"] = run_of(series, {"lr": lr, "units": 32.0, "act": "relu"})
        return runs

    case(out, "tensorboard-new", tool, new, read_new)

    def resumed(logs):
        """A run that was cut off and resumed: the second session starts again at step 4; a doubled step; a record cut off."""
        writer = EventFileWriter(str(logs / "resumed"), filename_suffix=".a")
        for step in range(7):
            summary = Summary(value=[Summary.Value(tag="val_loss", simple_value=1.0 / (step + 1))])
            writer.add_event(Event(wall_time=step, step=step, summary=summary))
        writer.close()
        writer = EventFileWriter(str(logs / "resumed"), filename_suffix=".b")
        writer.add_event(Event(wall_time=50.0, step=4, session_log=SessionLog(status=SessionLog.START)))
        for step in [4, 5, 5, 6, 7]:
            summary = Summary(value=[Summary.Value(tag="val_loss", simple_value=0.5 / (step + 1))])
            writer.add_event(Event(wall_time=100.0 + step, step=step, summary=summary))
        writer.close()
        first, second = sorted((logs / "resumed").iterdir())
        first.rename(first.with_name("events.out.tfevents.0000000001.host.1.0"))
        second.rename(second.with_name("events.out.tfevents.0000000002.host.1.0"))
        writer = EventFileWriter(str(logs / "cut"))
        for step in range(6):
            summary = Summary(value=[Summary.Value(tag="val_loss", simple_value=2.0 / (step + 1))])
            writer.add_event(Event(wall_time=step, step=step, summary=summary))
        writer.close()
        [path] = (logs / "cut").iterdir()
        path.write_bytes(path.read_bytes()[:-9])

    case(out, "tensorboard-resumed", tool, resumed,
         lambda logs, _: {name: run_of(events(logs / name)) for name in ["resumed", "cut"]})


# --- W&B


def wandb(out):
    """W&B has no reader of its own for offline files outside its Go program: its protobuf classes read the records here."""
    import struct

    os.environ |= {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_CONSOLE": "off", "WANDB_X_DISABLE_META": "true",
                   "WANDB_X_DISABLE_STATS": "true", "WANDB_DISABLE_GIT": "true", "WANDB_DISABLE_CODE": "true"}
    import wandb as w
    from wandb.proto import wandb_internal_pb2 as pb

    tool = f"wandb {version('wandb')}"
    settings = dict(x_disable_stats=True, x_disable_meta=True, disable_git=True, save_code=False)

    def write(logs):
        for k, lr in enumerate([0.1, 0.02, 0.003]):
            run = w.init(project="p", dir=str(logs), id=f"run{k}", name=f"net-{k}", reinit="finish_previous",
                         config={"lr": lr, "opt": "adam", "net": {"depth": 3 + k}, "flag": True}, settings=w.Settings(**settings))
            for epoch in range(6):
                run.log({"epoch": epoch, "val_loss": 2.0 / (epoch + 1) + lr, "val": {"acc": 0.5 + 0.05 * epoch - lr}, "text": "x",
                         "odd": [float("nan"), float("inf"), float("-inf"), 1.0, 2.0, 3.0][epoch]})
            if k == 0:
                run.log({"long": "é" * 40_000})  # a record that goes over several blocks
            run.finish(exit_code=1 if k == 2 else 0)
        for path in sorted(logs.rglob("*"), reverse=True):
            if path.is_symlink() or (path.is_file() and path.suffix != ".wandb"):
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        files = sorted(logs.rglob("*.wandb"))
        files[1].write_bytes(files[1].read_bytes()[:-700])

    def records(path):
        data = path.read_bytes()
        at, record = 7, b""
        while at < len(data):
            if 32768 - at % 32768 < 7:
                at += 32768 - at % 32768
                continue
            if at + 7 > len(data):
                return
            _, length, kind = struct.unpack("<IHB", data[at:at + 7])
            if at + 7 + length > len(data):
                return
            record += data[at + 7:at + 7 + length]
            at += 7 + length
            if kind in (1, 4):
                found = pb.Record()
                found.ParseFromString(record)
                record = b""
                yield found

    def flat(name, value, row):
        if isinstance(value, dict):
            for key, inner in value.items():
                flat(f"{name}.{key}", inner, row)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            row[name] = value

    def read(logs, _):
        runs = {}
        for path in sorted(logs.rglob("*.wandb")):
            series, config, ended, name = {}, {}, "running", ""
            for record in records(path):
                kind = record.WhichOneof("record_type")
                if kind == "run":
                    name = record.run.run_id
                    for item in record.run.config.update:
                        if item.key != "_wandb":
                            flat(item.key, json.loads(item.value_json), config)
                if kind == "exit":
                    ended = "finished" if record.exit.exit_code == 0 else "failed"
                if kind == "history":
                    row = {}
                    for item in record.history.item:
                        flat(".".join(item.nested_key) or item.key, json.loads(item.value_json), row)
                    for key, value in row.items():
                        if not key.startswith("_") and key != "epoch":
                            series.setdefault(key, []).append((row["_step"], value))
            runs[name] = run_of(series, config, ended)
        return runs

    case(out, "wandb", tool, write, read)


# --- MLflow


def mlflow(out):
    os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    import logging

    logging.disable(logging.INFO)
    import mlflow as m
    from mlflow.tracking import MlflowClient

    tool = f"mlflow {version('mlflow')}"
    nan, inf = float("nan"), float("inf")

    def write_to(uri):
        m.set_tracking_uri(uri)
        client = MlflowClient(uri)
        experiment = client.create_experiment("digits", artifact_location="artifacts")
        for k, lr in enumerate([0.1, 0.02, 0.003, 0.5]):
            run = client.create_run(experiment, run_name=f"net-{k}").info.run_id
            client.log_param(run, "lr", lr)
            client.log_param(run, "opt", "adam")
            for epoch in range(5):
                client.log_metric(run, "val/acc", 0.5 + 0.06 * epoch - lr / 10, timestamp=1000 * epoch, step=epoch)
                odd = [nan, inf, -inf, 1.0, 2.0][epoch]
                client.log_metric(run, "odd", odd, timestamp=1000 * epoch, step=epoch)
            client.log_metric(run, "val/acc", 0.9 - lr, timestamp=9000, step=4)
            client.set_terminated(run, ["FINISHED", "FAILED", "FINISHED", "FINISHED"][k], end_time=10_000)
            if k == 3:
                client.delete_run(run)

    def read_from(uri):
        client = MlflowClient(uri)
        [experiment] = [e for e in client.search_experiments() if e.name == "digits"]
        runs = {}
        for run in client.search_runs([experiment.experiment_id]):
            series = {}
            for name in run.data.metrics:
                history = sorted(client.get_metric_history(run.info.run_id, name), key=lambda p: (p.timestamp, p.step, p.value))
                # the database takes no infinity: its client gives the largest number for it
                turned = {sys.float_info.max: inf, -sys.float_info.max: -inf}
                series[name] = [(point.step, turned.get(point.value, point.value)) for point in history]
            runs[run.info.run_name] = run_of(series, {"lr": float(run.data.params["lr"]), "opt": "adam"},
                                             run.info.status.lower())
        return runs

    case(out, "mlflow-files", tool, lambda logs: write_to(f"file:{logs}/mlruns"), lambda logs, _: read_from(f"file:{logs}/mlruns"))
    case(out, "mlflow-sqlite", tool, lambda logs: write_to(f"sqlite:///{logs}/mlflow.db"),
         lambda logs, _: read_from(f"sqlite:///{logs}/mlflow.db"))


# --- Optuna


def optuna(out):
    import optuna as o
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    o.logging.set_verbosity(o.logging.ERROR)
    tool = f"optuna {version('optuna')}"

    def objective(trial):
        lr = trial.suggest_float("lr", 1e-4, 1, log=True)
        trial.suggest_categorical("opt", ["sgd", "adam", None, True])
        trial.suggest_int("layers", 1, 4)
        for epoch in range(6):
            odd = trial.number == 3 and epoch > 2
            value = [float("nan"), float("inf"), float("-inf")][epoch % 3] if odd else lr + 0.1 * epoch
            trial.report(value, epoch)
            if trial.number > 3 and trial.should_prune():
                raise o.TrialPruned
        if trial.number == 2:
            raise ValueError
        return lr + 0.5

    def write(storage):
        study = o.create_study(storage=storage, study_name="digits", direction="maximize",
                               pruner=o.pruners.MedianPruner(n_startup_trials=2), sampler=o.samplers.RandomSampler(seed=1))
        study.optimize(objective, n_trials=8, catch=(ValueError,))
        gone = o.create_study(storage=storage, study_name="deleted", direction="minimize")
        gone.optimize(lambda trial: trial.report(1.0, 0) or 1.0, n_trials=2)
        o.delete_study(study_name="deleted", storage=storage)

    def read(storage):
        ended = {"COMPLETE": "finished", "PRUNED": "pruned", "FAIL": "failed"}
        runs = {}
        for trial in o.load_study(study_name="digits", storage=storage).trials:
            config = {name: value for name, value in trial.params.items() if value is not None}
            config = {name: str(value).lower() if isinstance(value, bool) else value for name, value in config.items()}
            series = {"value": sorted(trial.intermediate_values.items())}
            runs[str(trial.number)] = run_of(series, config, ended[trial.state.name])
        return runs

    def journal(logs):
        return JournalStorage(JournalFileBackend(str(logs / "journal.log")))

    case(out, "optuna-sqlite", tool, lambda logs: write(f"sqlite:///{logs}/study.db"),
         lambda logs, _: read(f"sqlite:///{logs}/study.db"))
    case(out, "optuna-journal", tool, lambda logs: write(journal(logs)), lambda logs, _: read(journal(logs)))


# --- Parquet


def parquet(out):
    import pandas as pd

    tool = f"pandas {version('pandas')}, pyarrow {version('pyarrow')}"
    rows = [{"run_id": f"net-{k}", "epoch": epoch, "lr": lr, "opt": ["adam", "sgd"][k % 2],
             "val_acc": float("nan") if k == 3 and epoch > 3 else 0.5 + 0.05 * epoch - lr}
            for k, lr in enumerate([0.1, 0.02, 0.003, 0.3]) for epoch in range(1, 7)]
    table = pd.DataFrame(rows)

    def read(logs, path):
        back = pd.read_parquet(path)
        runs = {}
        for name, group in back.groupby("run_id"):
            lr, opt = float(group["lr"].iloc[0]), group["opt"].iloc[0]
            runs[name] = run_of({"val_acc": list(zip(group["epoch"], group["val_acc"]))}, {"lr": lr, "opt": opt})
        return runs

    for name, options in {
        "snappy": {}, "zstd": {"compression": "zstd"}, "gzip": {"compression": "gzip", "row_group_size": 10},
        "plain": {"compression": None, "use_dictionary": False},
        "v2": {"data_page_version": "2.0", "version": "2.6"},
        "delta": {"compression": None, "use_dictionary": False,
                  "column_encoding": {"epoch": "DELTA_BINARY_PACKED", "run_id": "DELTA_LENGTH_BYTE_ARRAY", "opt": "DELTA_BYTE_ARRAY",
                                      "val_acc": "BYTE_STREAM_SPLIT"}},
    }.items():
        def write(logs, name=name, options=options):
            path = logs / "runs.parquet"
            table.to_parquet(path, index=False, **options)
            return path

        case(out, f"parquet-{name}", tool, write, read)


# --- Keras


def keras(out):
    os.environ |= {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    import csv

    import keras as k
    import numpy as np

    tool = f"keras {version('keras')}, jax {version('jax')}"
    random = np.random.default_rng(0)
    x = random.normal(size=(200, 8))
    y = (x[:, 0] > 0).astype(int)

    def write(logs):
        for at, lr in enumerate([0.1, 0.01, 1e30]):
            k.utils.set_random_seed(at)
            model = k.Sequential([k.layers.Input((8,)), k.layers.Dense(4, activation="relu"), k.layers.Dense(2)])
            model.compile(k.optimizers.SGD(lr), k.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
            name = f"run{at}_lr={lr}.csv"
            model.fit(x, y, epochs=6, validation_split=0.3, verbose=0, callbacks=[k.callbacks.CSVLogger(str(logs / name))])

    def read(logs, _):
        runs = {}
        for path in sorted(logs.glob("*.csv")):
            with open(path) as file:
                rows = list(csv.DictReader(file))
            series = {name: [(row["epoch"], row[name]) for row in rows] for name in rows[0] if name != "epoch"}
            runs[path.name.removesuffix(".csv")] = run_of(series, {"lr": float(path.name.removesuffix(".csv").split("=")[1])})
        return runs

    case(out, "keras", tool, write, read)


# --- Ray Tune


def ray(out):
    home = tempfile.mkdtemp()
    os.environ |= {"RAY_AUTH_MODE": "disabled", "HOME": home, "RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    import ray as r
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler

    tool = f"ray {version('ray')}"
    r.init(num_cpus=1, include_dashboard=False, logging_level=40, configure_logging=False, log_to_driver=False)

    def train(config):
        for epoch in range(6):
            if config["lr"] == 0.3 and epoch == 3:
                raise ValueError("out of luck")
            loss = float("nan") if epoch == 2 else 1 / (epoch + 1)
            tune.report({"val_acc": config["lr"] * (epoch + 1), "val_loss": loss, "nested": {"a": epoch}})

    def write(logs):
        tuner = tune.Tuner(
            train, param_space={"lr": tune.grid_search([0.4, 0.2, 0.3, 0.1]), "net": {"depth": 2}},
            tune_config=tune.TuneConfig(metric="val_acc", mode="max", max_concurrent_trials=1,
                                        scheduler=ASHAScheduler(max_t=6, grace_period=2, reduction_factor=2)),
            run_config=tune.RunConfig(storage_path=str(logs), name="exp", verbose=0))
        tuner.fit()
        return [(result.metrics["trial_id"], result.config, result.metrics_dataframe, result.error) for result in tune.Tuner.restore(
            str(logs / "exp"), train).get_results()]

    def read(logs, results):
        for path in list((logs / "exp").glob("*")):
            if path.is_file():
                path.unlink()
        runs = {}
        for name, config, frame, error in results:
            series = {key: list(zip(frame["training_iteration"], frame[key])) for key in ["val_acc", "val_loss", "nested/a"]}
            runs[name] = run_of(series, {"lr": config["lr"], "net.depth": 2}, "failed" if error else "unknown")
        return runs

    case(out, "ray", tool, write, read)


# --- Lightning and transformers


def torch(out):
    import csv
    import logging
    import warnings

    import lightning as L
    import torch as t

    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    t.set_num_threads(1)
    tool = f"lightning {version('lightning')}, torch {version('torch')}"
    x = t.randn(64, 4, generator=t.Generator().manual_seed(0))
    data = t.utils.data.TensorDataset(x, (x[:, 0] > 0).float())

    class Net(L.LightningModule):
        def __init__(self, lr, units=3):
            super().__init__()
            self.save_hyperparameters()
            self.net = t.nn.Sequential(t.nn.Linear(4, units), t.nn.ReLU(), t.nn.Linear(units, 1))

        def training_step(self, batch, _):
            loss = t.nn.functional.binary_cross_entropy_with_logits(self.net(batch[0])[:, 0], batch[1])
            self.log("train_loss", loss)
            return loss

        def validation_step(self, batch, _):
            out = self.net(batch[0])[:, 0]
            self.log("val_loss", t.nn.functional.binary_cross_entropy_with_logits(out, batch[1]))
            self.log("val_acc", ((out > 0) == (batch[1] > 0.5)).float().mean())

        def configure_optimizers(self):
            return t.optim.SGD(self.parameters(), self.hparams.lr)

    def loader():
        return t.utils.data.DataLoader(data, batch_size=8)

    def fit(logger, lr):
        L.seed_everything(0, verbose=False)
        trainer = L.Trainer(max_epochs=4, logger=logger, log_every_n_steps=3, enable_progress_bar=False, enable_model_summary=False,
                            enable_checkpointing=False, accelerator="cpu")
        trainer.fit(Net(lr), loader(), loader())

    def write(logs):
        from lightning.pytorch.loggers import CSVLogger

        for lr in [0.5, 0.05, 0.005]:
            fit(CSVLogger(str(logs), name="nets"), lr)

    def read(logs, _):
        runs = {}
        for path in sorted(logs.rglob("metrics.csv")):
            series = {}
            with open(path) as file:
                for row in csv.DictReader(file):
                    for name, value in row.items():
                        if name not in ("epoch", "step") and value != "":
                            series.setdefault(name, []).append((row["step"], value))
            lr = [0.5, 0.05, 0.005][int(path.parent.name.split("_")[1])]
            runs[f"nets/{path.parent.name}"] = run_of(series, {"lr": lr, "units": 3})
        return runs

    case(out, "lightning-csv", tool, write, read)

    def write_events(logs):
        from lightning.pytorch.loggers import TensorBoardLogger

        for lr in [0.5, 0.05]:
            fit(TensorBoardLogger(str(logs), name="nets"), lr)

    def read_events(logs, _):
        return {f"nets/version_{k}": run_of(events(logs / "nets" / f"version_{k}"), {"lr": lr, "units": 3})
                for k, lr in enumerate([0.5, 0.05])}

    case(out, "lightning-tensorboard", tool, write_events, read_events)

    import transformers as h

    h.logging.set_verbosity_error()
    tool = f"transformers {version('transformers')}, torch {version('torch')}"

    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = t.nn.Linear(4, 1)

        def forward(self, x, labels=None):
            out = self.net(x)[:, 0]
            return {"loss": t.nn.functional.binary_cross_entropy_with_logits(out, labels), "logits": out}

    rows = [{"x": row, "labels": label} for row, label in data]

    def train(logs):
        for k, lr in enumerate([0.5, 0.05, 0.005]):
            h.set_seed(0)
            arguments = h.TrainingArguments(
                str(logs / f"net-{k}"), learning_rate=lr, num_train_epochs=4, per_device_train_batch_size=8, eval_strategy="epoch",
                save_strategy="epoch", save_total_limit=2, logging_steps=5, report_to="none", use_cpu=True, disable_tqdm=True,
                load_best_model_at_end=True, metric_for_best_model="eval_loss")
            callbacks = [h.EarlyStoppingCallback(1, 10.0)] if k == 2 else []
            trainer = h.Trainer(Model(), arguments, train_dataset=rows, eval_dataset=rows, callbacks=callbacks)
            trainer.train()
            trainer.save_state()

    def states(logs, _):
        runs = {}
        for path in sorted(logs.glob("*/trainer_state.json")):
            state = h.trainer_callback.TrainerState.load_from_json(str(path))
            series = {}
            for row in state.log_history:
                if "train_runtime" not in row:
                    for name, value in row.items():
                        if name not in ("epoch", "step", "total_flos"):
                            series.setdefault(name, []).append((row["step"], value))
            ended = "stopped" if state.global_step < state.max_steps else "finished"
            runs[path.parent.name] = run_of(series, {}, ended)
        return runs

    case(out, "transformers", tool, train, states)


if __name__ == "__main__":
    globals()[sys.argv[1]](os.path.abspath(sys.argv[2]))

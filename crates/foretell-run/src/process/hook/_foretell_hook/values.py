"""The values that a script passes to its libraries. One entry of at most ten lines per library and call."""
import sys
from _thread import _local as Local

series = hook.load("series")  # noqa: F821
many, number, value, pairs = series.many, series.number, series.value, hook.pairs  # noqa: F821
emit, is_own, held, variables = hook.emit, hook.is_own, hook.held, hook.variables  # noqa: F821
ENTRIES = {}
_local = Local()


def on(module, target, before=False):
    def add(handler):
        ENTRIES.setdefault(module, []).append((target, handler, before))
        return handler

    return add


def length(source, epochs, unit="epoch"):
    got = number(epochs)
    if got is not None and got > 0:
        emit("length", source=source, unit=unit, of=got)


def monitor(source, name, mode=None):
    """The series by which the script itself selects a checkpoint or its end, and in which direction."""
    if isinstance(name, str):
        better = {"min": "min", "max": "max", True: "max", False: "min"}.get(mode)
        emit("monitor", source=source, series=name, better=better)


def called(thing):
    """The script's own name for an object: `val_loader` in `evaluator.run(val_loader)`."""
    frame = sys._getframe(1)
    while thing is not None and frame is not None:
        code = frame.f_code
        if is_own(code.co_filename):
            own = variables(frame, code.co_varnames + code.co_cellvars + code.co_freevars)
            for name, other in list(own.items()) + list(frame.f_globals.items()):
                if other is thing and not name.startswith("_"):
                    return name
        frame = frame.f_back
    return None


# TensorBoard
for _module in ("torch.utils.tensorboard.writer", "tensorboardX.writer"):

    @on(_module, "SummaryWriter.add_scalar")
    def add_scalar(_, self, tag, scalar_value, global_step=None, *a, **k):
        value("tensorboard", tag, scalar_value, global_step)

    @on(_module, "SummaryWriter.add_scalars")
    def add_scalars(_, self, main_tag, tag_scalar_dict, global_step=None, *a, **k):
        many("tensorboard", tag_scalar_dict, global_step, main_tag + "/")


@on("tensorboard.plugins.scalar.summary_v2", "scalar")
def tf_scalar(_, name, data, step=None, *a, **k):
    value("tensorboard", name, data.numpy() if hasattr(data, "numpy") else data, step)


# Weights & Biases, MLflow, accelerate
@on("wandb.sdk.wandb_run", "Run.log", before=True)
def wandb(self, data=None, step=None, *a, **k):
    many("wandb", data, self.step if step is None else step, counted=step is None)


@on("mlflow.tracking.client", "MlflowClient.log_metric")
def mlflow_metric(_, self, run_id, key, value_=None, timestamp=None, step=None, *a, **k):
    value("mlflow", key, k.get("value", value_), step or None)  # 0 stands for no step


@on("mlflow.tracking.client", "MlflowClient.log_batch")
def mlflow_batch(_, self, run_id, metrics=(), *a, **k):
    for m in metrics:
        value("mlflow", m.key, m.value, m.step or None)


@on("accelerate.accelerator", "Accelerator.log")
def accelerate(_, self, data, step=None, *a, **k):
    many("accelerate", data, step)


# Lightning
STAGES = {"on_validation_end": "val", "on_test_end": "test", "on_train_epoch_end": "train"}


def lightning(_, trainer, hook, *a, **k):
    if hook in STAGES and not trainer.sanity_checking:
        results, is_fit = trainer._results, trainer.state.fn == "fit"
        measured = results.metrics(False)["callback"] if results is not None else trainer.callback_metrics
        epoch = trainer.current_epoch + 1 if is_fit else None
        many("lightning", measured, trainer.global_step, stage=STAGES[hook], epoch=epoch, after=not is_fit)


def lightning_begin(_, trainer, hook, *a, **k):
    if hook == "on_fit_start":
        length("lightning", trainer.max_epochs)
        for callback in trainer.callbacks:
            monitor("lightning", held(callback, "monitor"), held(callback, "mode"))


for _module in ("lightning.pytorch.trainer.call", "pytorch_lightning.trainer.call"):
    on(_module, "_call_callback_hooks")(lightning)
    on(_module, "_call_callback_hooks")(lightning_begin)


# Keras
for _module in ("keras.src.callbacks.callback_list", "keras.src.callbacks", "tf_keras.src.callbacks"):

    @on(_module, "CallbackList.on_epoch_end")
    def keras(_, self, epoch, logs=None, *a, **k):
        for name, raw in pairs(logs):
            value("keras", name, raw, epoch=epoch + 1, stage="val" if name.startswith("val_") else "train")

    @on(_module, "CallbackList.on_train_begin")
    def keras_begin(_, self, *a, **k):
        length("keras", (getattr(self, "params", None) or getattr(self, "_params", None) or {}).get("epochs"))
        for callback in self.callbacks:
            monitor("keras", held(callback, "monitor"), held(callback, "mode"))


# transformers
@on("transformers.trainer", "Trainer.log")
def transformers(_, self, logs, *a, **k):
    last = self.state.log_history[-1]
    after = not getattr(self, "is_in_train", True)
    for name, raw in pairs(last):
        if name not in ("step", "epoch"):
            stage = "val" if name.startswith("eval_") else "train"
            value("transformers", name, raw, last.get("step"), epoch=last.get("epoch"), stage=stage, after=after)


@on("transformers.trainer", "Trainer.train", before=True)
def transformers_begin(self, *a, **k):
    steps = self.args.max_steps
    length("transformers", *((steps, "step") if steps and steps > 0 else (self.args.num_train_epochs,)))
    monitor("transformers", self.args.metric_for_best_model, self.args.greater_is_better)


# gradient boosting
@on("xgboost.callback", "CallbackContainer.after_iteration")
def xgboost(_, self, model, epoch, *a, **k):
    names = list(self.history)
    for data in names:
        is_train = "train" in data or data == "learn"
        for name, got in self.history[data].items():
            last = got[-1][0] if isinstance(got[-1], (tuple, list)) else got[-1]
            value("xgboost", data + "-" + name, last, epoch=epoch + 1, stage="train" if is_train else "val" if data == names[-1] else None)


@on("xgboost.callback", "CallbackContainer.after_iteration")
def xgboost_monitor(_, self, model, epoch, *a, **k):
    """EarlyStopping without names watches the last metric of the last data set."""
    names = list(self.history)
    if names and all(len(got) == 1 for got in self.history[names[-1]].values()):
        for callback in (c for c in self.callbacks if hasattr(c, "metric_name")):
            data = callback.data or names[-1]
            monitor("xgboost", data + "-" + (callback.metric_name or list(self.history[data])[-1]), callback.maximize)


@on("xgboost.training", "train", before=True)
def xgboost_length(params=None, dtrain=None, num_boost_round=10, *a, **k):
    length("xgboost", num_boost_round)


@on("lightgbm.engine", "train", before=True)
def lightgbm_length(params=None, train_set=None, num_boost_round=100, *a, **k):
    length("lightgbm", next((v for name, v in pairs(params) if name in ROUNDS), num_boost_round))


#: other names of LightGBM for the number of rounds, which come before the argument
ROUNDS = ("num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round", "num_rounds", "nrounds", "n_estimators", "max_iter")

for _method in ("eval_valid", "eval_train"):

    @on("lightgbm.basic", "Booster." + _method)
    def lightgbm(result, self, *a, **k):
        for data, name, got, larger in [row[:4] for row in result]:
            stage, better = "train" if data in ("training", "train") else "val", "max" if larger else "min"
            value("lightgbm", data + "-" + name, got, epoch=self.current_iteration(), better=better, stage=stage)


@on("catboost.core", "CatBoost._train", before=True)
def catboost_begin(self, *a, **k):
    parameters = next((p for p in a if isinstance(p, dict)), None) or k.get("params") or {}
    length("catboost", parameters.get("iterations"))


@on("catboost.core", "CatBoost._train")
def catboost(_, self, *a, **k):
    for data, metrics in self.get_evals_result().items():
        for name, got in metrics.items():
            for i, v in enumerate(got):
                value("catboost", data + "-" + name, v, epoch=i + 1, stage="train" if data == "learn" else "val", late=True)


# scikit-learn's networks
@on("sklearn.neural_network._multilayer_perceptron", "BaseMultilayerPerceptron._update_no_improvement_count")
def sklearn(_, self, early_stopping, *a, **k):
    value("sklearn", "loss", self.loss_curve_[-1], epoch=len(self.loss_curve_), stage="train")
    if early_stopping:
        scores = self.validation_scores_
        value("sklearn", "validation_score", scores[-1], epoch=len(scores), stage="val", better="max")


@on("sklearn.neural_network._multilayer_perceptron", "BaseMultilayerPerceptron._fit", before=True)
def sklearn_begin(self, *a, incremental=False, **k):
    if not incremental:  # partial_fit trains for one epoch
        length("sklearn", self.max_iter)


# fastai, ignite
@on("fastai.learner", "Recorder.after_epoch", before=True)
def fastai(self):
    learn = self.learn
    if learn.epoch == 0:
        length("fastai", learn.n_epoch)
    for name, raw in zip(list(self.metric_names)[1:], self.log[1:]):
        value("fastai", name, raw, epoch=learn.epoch + 1, stage="train" if name == "train_loss" else "val")


@on("ignite.engine.engine", "Engine.run", before=True)
def ignite_begin(self, data=None, max_epochs=None, *a, **k):
    running = _local.__dict__.setdefault("running", [])
    if not running:
        length("ignite", max_epochs)
    running.append(self)


@on("ignite.engine.engine", "Engine.run")
def ignite(_, self, data=None, *a, **k):
    running = _local.__dict__.get("running", [])
    while running and running.pop() is not self:
        pass
    state = running[-1].state if running else None
    name = called(data) or "engine"
    stage = next((stage for stage in ("train", "val", "test") if stage in name.lower()), None)
    for metric, raw in self.state.metrics.items():
        value("ignite", name + "/" + metric, raw, epoch=state and state.epoch, stage=stage)


# bars, schedulers, summaries, reinforcement learning
@on("tqdm.std", "tqdm.set_postfix")
def tqdm(_, self, ordered_dict=None, refresh=True, **k):
    if self.disable:  # a bar that is turned off has no description
        return
    desc = str(self.desc or "").rstrip(": ")
    desc = "" if any(c.isdigit() for c in desc) else desc + "/" if desc else ""  # `Epoch 3`: a bar per epoch
    for name, raw in pairs(ordered_dict) + pairs(k):
        if type(raw) is str:
            raw = float(raw.rstrip("% ")) if raw.rstrip("% ").replace(".", "", 1).lstrip("-").isdigit() else None
        value("tqdm", desc + name, raw, of=self.total)  # self.n lags behind


@on("torch.optim.lr_scheduler", "ReduceLROnPlateau.step")
def plateau(_, self, metrics, *a, **k):
    name = called(metrics) or "metric"
    value("lr_scheduler", name, metrics, self.last_epoch, stage="val", better=self.mode, counted=True)
    if self.last_epoch == 1:
        monitor("lr_scheduler", name, self.mode)


@on("timm.utils.summary", "update_summary", before=True)
def timm(epoch, train_metrics, eval_metrics, *a, **k):
    many("timm", train_metrics, prefix="train_", epoch=epoch + 1, stage="train")
    many("timm", eval_metrics or {}, prefix="eval_", epoch=epoch + 1, stage="val")


@on("stable_baselines3.common.logger", "Logger.dump", before=True)
def sb3(self, step=0, *a, **k):
    many("stable_baselines3", self.name_to_value, step, counted=True)


# a script's own table
@on("csv", "DictWriter.writerow", before=True)
def csv(self, rowdict, *a, **k):
    got = {name: number(v) for name, v in pairs(rowdict)}
    counters = ("epoch", "step", "iteration", "global_step")
    counter = next((name for name in counters if got.get(name) is not None), None)
    for name, v in got.items():
        if v is not None and name != counter:
            value("csv", name, v, got[counter] if counter else None)

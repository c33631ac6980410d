"""Writes the options and values that a script passes to its libraries as JSON lines to the file FORETELL_HOOK.

It only observes: arguments and results pass unchanged, and its own errors never reach the script. Without FORETELL_HOOK_SERIES it records
everything, for `foretell init`. With it, for a search, it observes one library, and writes the values of one series as reports.
"""
import os
import sys

PATH = os.environ["FORETELL_HOOK"]
#: `keras:val_acc`; `keras/val:acc` for the values of one stage; `keras=mean:acc` for the mean over the trainings of one run
CHOSEN = os.environ.get("FORETELL_HOOK_SERIES")
WHERE, _, SERIES = (CHOSEN or "").partition(":")
WHERE, _, WAY = WHERE.partition("=")
SOURCE, _, STAGE = WHERE.partition("/")
RANKS = ("RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
#: rank variables of the job that Foretell itself runs in: they say nothing about this script
INHERITED = os.environ.get("FORETELL_HOOK_IGNORE", "").split(",")
#: after so many values of one series, init only sees one in a hundred
LIMIT = 20000

#: module -> the file of its entries, and the name of the source. Everything else is loaded when the script imports the module.
TABLE = {
    "argparse": ("options", "argparse"),
    "click.core": ("options", "click"),
    "typer.core": ("options", "click"),
    "absl.flags._flagvalues": ("options", "absl"),
    "fire.core": ("options", "fire"),
    "hydra.core.utils": ("options", "hydra"),
    "omegaconf.omegaconf": ("options", "omegaconf"),
    "jsonargparse._core": ("options", "jsonargparse"),
    "tyro._cli": ("options", "tyro"),
    "torch.utils.tensorboard.writer": ("values", "tensorboard"),
    "tensorboardX.writer": ("values", "tensorboard"),
    "tensorboard.plugins.scalar.summary_v2": ("values", "tensorboard"),
    "wandb.sdk.wandb_run": ("values", "wandb"),
    "mlflow.tracking.client": ("values", "mlflow"),
    "accelerate.accelerator": ("values", "accelerate"),
    "lightning.pytorch.trainer.call": ("values", "lightning"),
    "pytorch_lightning.trainer.call": ("values", "lightning"),
    "keras.src.callbacks.callback_list": ("values", "keras"),
    "keras.src.callbacks": ("values", "keras"),
    "tf_keras.src.callbacks": ("values", "keras"),
    "transformers.trainer": ("values", "transformers"),
    "xgboost.callback": ("values", "xgboost"),
    "xgboost.training": ("values", "xgboost"),
    "lightgbm.engine": ("values", "lightgbm"),
    "lightgbm.basic": ("values", "lightgbm"),
    "catboost.core": ("values", "catboost"),
    "sklearn.neural_network._multilayer_perceptron": ("values", "sklearn"),
    "fastai.learner": ("values", "fastai"),
    "ignite.engine.engine": ("values", "ignite"),
    "tqdm.std": ("values", "tqdm"),
    "torch.optim.lr_scheduler": ("values", "lr_scheduler"),
    "timm.utils.summary": ("values", "timm"),
    "stable_baselines3.common.logger": ("values", "stable_baselines3"),
    "csv": ("values", "csv"),
}
STANDARD = os.path.dirname(os.__file__) + os.sep
_troubles = set()
_busy = set()


def is_own(path):
    """Whether a source file belongs to the script, and not to a library."""
    parts = ("site-packages", "dist-packages", "_foretell_hook")
    return not path.startswith((STANDARD, "<")) and not any(os.sep + part + os.sep in path for part in parts)


def trouble(where, error):
    """An entry that does not fit the library's version: `init` shows it, once."""
    if CHOSEN is None and where not in _troubles:
        _troubles.add(where)
        try:
            emit("trouble", where=where, error=repr(error)[:500])
        except Exception:
            pass


def rank():
    """This process's rank; 0 without distributed training."""
    for name in RANKS:
        value = os.environ.get(name, "")
        if value.isdigit() and name not in INHERITED:
            return int(value)
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank()
    except Exception:
        pass
    return 0


def append(record):
    """Appends one line in one write. The file is opened each time: a script may close all descriptors, fork, or change its folder."""
    import json

    line = json.dumps(record, default=repr) + "\n"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    file = os.open(PATH, flags, 0o600)
    try:
        os.write(file, line.encode("utf-8", "replace"))
    finally:
        os.close(file)


def emit(kind, **record):
    """A record for `init`."""
    if CHOSEN is None and rank() == 0:
        append(dict(kind=kind, pid=os.getpid(), **record))


def number(value):
    """A float; None for anything that is no single number."""
    if isinstance(value, (bool, str, bytes)) or value is None:
        return None
    if not isinstance(value, (int, float)):
        if getattr(value, "shape", ()) not in ((), (1,), [1]) or not hasattr(value, "__float__"):
            return None
        detach = getattr(value, "detach", None)
        value = detach() if detach is not None else value
    return float(value)


def finite(value):
    return value if value == value and abs(value) != float("inf") else None


class Series:
    """One series of one source and stage: where it is, and in which training of this process."""

    known = {}
    __slots__ = ("last", "training", "count", "finals", "is_between")

    def __init__(self):
        self.last, self.training, self.count, self.finals = None, 1, 0, []
        self.is_between = False  # whether values came between epochs, so that they are counted

    @classmethod
    def get(cls, *key):
        return cls.known.setdefault(key, cls())

    def follow(self, place):
        """Counts one value at `place`. Answers False for a repeated place, as of an evaluation after the training."""
        if place is not None and self.last is not None:
            if place == self.last:
                return False
            if place < self.last:
                self.training, self.count = self.training + 1, 0
        self.last = place
        self.count += 1
        return True


def value(source, series, raw, step=None, epoch=None, stage=None, after=False, **more):
    """One value of a series. `epoch` counts finished epochs, from 1. `after` marks an evaluation outside of the training."""
    series = str(series)
    if CHOSEN is not None:
        if series == SERIES and source == SOURCE and STAGE in ("", stage) and not after:
            report(Series.get(source, stage, series), raw, epoch if epoch is not None else number(step), epoch)
        return
    got = number(raw)
    if got is None:
        return
    step, epoch = number(step), number(epoch)
    seen = Series.get(source, stage, series)
    if not after and not seen.follow(step if epoch is None else epoch):
        after = True
    if seen.count > LIMIT and seen.count % 100:
        return
    more.update(step=step, epoch=epoch, stage=stage, after=after or None)
    more = {name: held for name, held in more.items() if held is not None}
    emit("value", source=source, series=series, value=finite(got), training=seen.training, **more)


def report(seen, raw, place, epoch):
    """For a search: one value of the chosen series, in the form of the trial protocol."""
    got = number(raw)
    if got is None or rank() != 0 or not _is_first_process():
        return
    training = seen.training
    if not seen.follow(place):
        return
    if WAY == "mean":
        if not seen.finals:
            import atexit

            atexit.register(_report_mean, seen)
        elif seen.training != training:
            _report_mean(seen)
        if not seen.finals or seen.training != training:
            seen.finals.append(got)
        seen.finals[-1] = got
    elif seen.training == 1:
        fields = {SERIES: finite(got)}
        seen.is_between = seen.is_between or (epoch is not None and epoch != int(epoch))
        if epoch is not None and not seen.is_between:
            fields["step"] = int(epoch)
        append({"foretell": fields})


def _report_mean(seen):
    """The mean over the last values of the trainings so far, as the value of one step per training."""
    append({"foretell": {"step": len(seen.finals), SERIES: finite(sum(seen.finals) / len(seen.finals))}})


_claims = {}


def _is_first_process():
    """Whether this is the process of this trial's start that reported first: two trainings are never merged."""
    pid = os.getpid()
    if pid not in _claims:
        claim = "%s.%s" % (PATH, os.environ.get("FORETELL_START", "first"))
        try:
            file = os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(file, str(pid).encode())
            os.close(file)
            _claims[pid] = True
        except FileExistsError:
            with open(claim) as file:
                _claims[pid] = file.read() == str(pid)
    return _claims[pid]


def many(source, mapping, step=None, prefix="", **more):
    """Values by their names, as loggers take them; nested ones are joined by `/`."""
    for name, raw in list(mapping.items()):
        if isinstance(raw, dict):
            many(source, raw, step, prefix + str(name) + "/", **more)
        else:
            value(source, prefix + str(name), raw, step, **more)


def _wrap(owner, name, handler, before):
    """Has `handler` called before or after `owner.name`, with its arguments, and for after its result in front of them."""
    import functools

    classes = owner.__mro__ if isinstance(owner, type) else ()
    raw = next((vars(c)[name] for c in classes if name in vars(c)), None) if classes else getattr(owner, name, None)
    kind = type(raw) if isinstance(raw, (staticmethod, classmethod)) else None
    function = raw.__func__ if kind else raw
    if function is None:
        return
    inner = function
    while inner is not None:  # a class may be reached by two names
        if getattr(inner, "_foretell", None) == (handler.__name__, before):
            return
        inner = getattr(inner, "__wrapped__", None)

    def observe(arguments, keywords):
        try:
            handler(*arguments, **keywords)
        except Exception as error:
            trouble("%s.%s" % (handler.__module__, handler.__name__), error)

    @functools.wraps(function)
    def watched(*args, **kwargs):
        if before:
            observe(args, kwargs)
            return function(*args, **kwargs)
        result = function(*args, **kwargs)
        observe((result,) + args, kwargs)
        return result

    watched._foretell = (handler.__name__, before)
    setattr(owner, name, kind(watched) if kind else watched)


def patch(name, module):
    """Puts the entries of one module in place."""
    try:
        handlers = __import__(__name__ + "." + TABLE[name][0], fromlist=["ENTRIES"])
        for target, handler, before in handlers.ENTRIES[name]:
            owner = module
            *path, last = target.split(".")
            for part in path:
                owner = getattr(owner, part, None)
            if owner is not None:
                _wrap(owner, last, handler, before)
    except Exception as error:
        trouble(name, error)


def is_observed(name):
    """In a search only the chosen library is."""
    entry = TABLE.get(name)
    return entry is not None and (CHOSEN is None or entry[1] == SOURCE)


class Finder:
    """Finds nothing itself: it asks the others, and has a module of the table patched when it has been executed."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in _busy or not is_observed(name):
            return None
        _busy.add(name)
        try:
            for finder in sys.meta_path:
                find = getattr(finder, "find_spec", None)
                spec = find(name, path, target) if find is not None and finder is not Finder else None
                if spec is not None:
                    break
            else:
                return None
        finally:
            _busy.discard(name)
        loader = spec.loader
        if loader is not None and not isinstance(loader, type) and hasattr(loader, "exec_module"):
            execute = loader.exec_module

            def exec_module(module):
                try:
                    del loader.exec_module
                except AttributeError:
                    pass
                execute(module)
                if module.__name__ == name:
                    patch(name, module)

            try:
                loader.exec_module = exec_module
            except AttributeError:
                pass
        return spec


sys.meta_path.insert(0, Finder)
if CHOSEN is None:
    from . import files, lines  # noqa: F401

    emit("start", python=".".join(map(str, sys.version_info[:3])))
for _name in [name for name in TABLE if name in sys.modules and is_observed(name)]:
    patch(_name, sys.modules[_name])

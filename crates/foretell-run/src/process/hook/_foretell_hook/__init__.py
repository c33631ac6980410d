"""Writes the options and values that a script passes to its libraries as JSON lines to the file FORETELL_HOOK.

It only observes: arguments and results pass unchanged, its own errors never reach the script, and it calls nothing of the script that the script
would not have called. It uses only modules that every Python has loaded by then, and keeps no object of the script beyond the call that it observes.
Without FORETELL_HOOK_SERIES it records everything, for `foretell init`. With it, for a search, it observes one library, and writes the values of one
series as reports.
"""
import os
import sys
import time
from _frozen_importlib_external import SourceFileLoader

PATH = os.environ["FORETELL_HOOK"]
#: `keras:val_acc`; `keras/val:acc` for the values of one stage; `keras=mean:acc` for the mean over the trainings of one run
CHOSEN = os.environ.get("FORETELL_HOOK_SERIES")
WHERE, _, SERIES = (CHOSEN or "").partition(":")
WHERE, _, WAY = WHERE.partition("=")
SOURCE, _, STAGE = WHERE.partition("/")
#: the folds of each trial: the reports of all trainings in the run are written then, each with the number of its fold
FOLDS = int(os.environ.get("FORETELL_FOLDS", "1"))
RANKS = ("RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
#: rank variables of the job that Foretell itself runs in: they say nothing about this script
INHERITED = os.environ.get("FORETELL_HOOK_IGNORE", "").split(",")
#: module -> the file of its entries, and the name of the source. Everything else is loaded when the script imports the module.
TABLE = {
    "logging": ("lines", "logging"),
    "argparse": ("options", "argparse"),
    "jsonargparse._core": ("options", "jsonargparse"),
    "click.core": ("parsers", "click"),
    "typer.core": ("parsers", "click"),
    "absl.flags._flagvalues": ("parsers", "absl"),
    "fire.core": ("parsers", "fire"),
    "hydra.core.utils": ("parsers", "hydra"),
    "omegaconf.omegaconf": ("parsers", "omegaconf"),
    "tyro._cli": ("parsers", "tyro"),
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
_parts = {}
_own = {}
_MISSING = object()
_attribute = object.__getattribute__
_vars, _classes = type.__dict__["__dict__"].__get__, type.__dict__["__mro__"].__get__
_Slot = type(type(lambda: 0).__code__)
#: names in a function that may use the dict of its variables
READERS = {"locals", "exec", "f_locals", "currentframe", "_getframe"}


def load(name):
    """A file of the hook as a module that isn't in `sys.modules`."""
    if name not in _parts:
        part = type(sys)(__name__ + "." + name)
        part.hook = hook  # noqa: F821
        path = os.path.join(FOLDER, name + ".py")  # noqa: F821
        exec(SourceFileLoader(part.__name__, path).get_code(part.__name__), part.__dict__)
        _parts[name] = part
    return _parts[name]


def is_own(path):
    """Whether a source file belongs to the script, and not to a library."""
    if path not in _own:
        parts = ("site-packages", "dist-packages", "_foretell_hook")
        _own[path] = not path.startswith((STANDARD, "<")) and not any(os.sep + part + os.sep in path for part in parts)
    return _own[path]


def is_own_kind(kind):
    """Whether a class belongs to the script. Objects of a class of the script are never asked."""
    module = sys.modules.get(type.__getattribute__(kind, "__module__"))
    path = getattr(module, "__file__", None)
    return getattr(module, "__name__", "__main__") == "__main__" or type(path) is str and is_own(path)


def held(thing, name, default=None):
    """An attribute, read without running code of the script: no property, no `__getattr__`."""
    kind = type(thing)
    found = next((_vars(owner)[name] for owner in _classes(kind) if name in _vars(owner)), _MISSING)
    if type(found) is property:
        code = getattr(found.fget, "__code__", None)
        return default if code is None or is_own(code.co_filename) else found.fget(thing)
    if type(found) is _Slot:
        try:
            return found.__get__(thing, kind)
        except AttributeError:
            return default
    try:
        own = _attribute(thing, "__dict__")
    except AttributeError:
        own = {}
    if name in own:
        return own[name]
    return default if found is _MISSING or hasattr(type(found), "__get__") else found


def variables(frame, names):
    """The variables with these `names` of a running function.

    Before Python 3.13, the dict of all of them stays with the function, which keeps their objects alive, and is the one that `locals()` returns.
    It is emptied again, and isn't asked for if the script itself may use it or watches itself with a debugger.
    """
    code, space = frame.f_code, frame.f_globals
    inner = code.co_varnames + code.co_cellvars + code.co_freevars
    found = {name: space[name] for name in names if name in space and name not in inner}
    if code.co_flags & 1 and not READERS.isdisjoint(code.co_names) and sys.version_info < (3, 13):
        return {}
    if code.co_flags & 1 and (sys.version_info >= (3, 13) or sys.gettrace() is None and sys.getprofile() is None):
        space = frame.f_locals
        found.update((name, space[name]) for name in names if name in space)
        if sys.version_info < (3, 13) and sys.getrefcount(space) == 3:  # nobody but the frame has it
            space.clear()
    return found


def trouble(where, error):
    """An entry that does not fit the library's version: `init` shows it, once."""
    if CHOSEN is None and where not in _troubles:
        _troubles.add(where)
        try:
            said = [word for word in error.args if type(word) is str]
            emit("trouble", where=where, error=(type(error).__name__ + ": " + " ".join(said))[:500])
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


def load_encoder():
    """The part of json that is written in C: the whole module loads a dozen others."""
    names = set(sys.modules)
    try:
        from _json import encode_basestring_ascii, make_encoder
    finally:
        if "_json" not in names:
            sys.modules.pop("_json", None)
    encode = make_encoder(None, lambda thing: type(thing).__name__, encode_basestring_ascii, None, ": ", ", ", False, False, False)
    return lambda thing: "".join(encode(thing, 0))


encode = load_encoder()


def clean(thing):
    """A copy without the numbers and characters that JSON has no form for."""
    if type(thing) is float:
        return thing if thing == thing and abs(thing) != float("inf") else repr(thing)
    if type(thing) is str:
        return thing.encode("utf-8", "replace").decode("utf-8")
    if type(thing) is dict:
        return {clean(name): clean(part) for name, part in thing.items()}
    return [clean(part) for part in thing] if type(thing) in (list, tuple) else thing


def to_json(thing):
    try:
        line = encode(thing)
    except ValueError:
        line = "\\ud"
    return encode(clean(thing)) if "\\ud" in line else line


_file_open, _file_write, _file_close, _now = os.open, os.write, os.close, time.monotonic


def append(text):
    """Appends lines in one write. The file is opened each time: a script may close all descriptors, fork, or change its folder."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    file = _file_open(PATH, flags, 0o600)
    try:
        _file_write(file, text.encode("utf-8", "replace"))
    finally:
        _file_close(file)


#: so many records within a tenth of a second are written at once. Later ones wait, so that a flood of values costs the script little.
FLOOD = 200
_waiting, _pace = [], [0.0, 0, 0]


def emit(kind, **record):
    """A record for `init`."""
    if CHOSEN is None:
        write_soon(to_json(dict(kind=kind, pid=os.getpid(), **record)) + "\n")


def write_soon(line):
    now, pid = _now(), os.getpid()
    if _pace[2] != pid:  # a fork has a copy of what its parent will write
        _waiting.clear()
    if now >= _pace[0] or _pace[2] != pid:
        _pace[:] = [now + 0.1, 0, pid]
    _waiting.append(line)
    _pace[1] += 1
    if _pace[1] == FLOOD and flush not in _troubles:
        _troubles.add(flush)
        import atexit  # written in C: no file of the script has its name

        atexit.register(flush)
    if _pace[1] <= FLOOD:
        flush()


def flush():
    if _waiting and _pace[2] == os.getpid() and rank() == 0:
        append("".join(_waiting))
    _waiting.clear()


def text(value):
    """A name as text."""
    return str.__str__(value) if issubclass(type(value), str) else str(value) if type(value) is int else type(value).__name__


def pairs(mapping):
    """The items of a dict; of another mapping, whose methods may be the script's, none."""
    return list(dict.items(mapping)) if issubclass(type(mapping), dict) else []


def _wrap(owner, name, handler, before):
    """Has `handler` called before or after `owner.name`, with its arguments, and for after its result in front of them."""
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

    watched = load("importlib_bootstrap").watch(function, handler, before, trouble)
    setattr(owner, name, kind(watched) if kind else watched)


def patch(name, module):
    """Puts the entries of one module in place."""
    path = getattr(module, "__file__", None)
    if name in ("argparse", "csv", "logging") and not (path or "").startswith(STANDARD):
        return  # a module of the script
    try:
        handlers = load(TABLE[name][0])
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
    load("files")
    load("lines")
    emit("start", python=".".join(map(str, sys.version_info[:3])))
for _name in [name for name in TABLE if name in sys.modules and is_observed(name)]:
    patch(_name, sys.modules[_name])

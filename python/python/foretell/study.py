"""A search in this process."""

from __future__ import annotations

import difflib
import logging
import os
import random
import textwrap
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._foretell import Study as _Core
from ._foretell import direction_of, schema, stored
from ._runs import learned
from ._records import Best
from ._search import Grown, Search, Trial
from ._settings import StudySettings
from .space import Parameter, Space, SpaceLike, listed

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction

__all__ = ["Study", "Trial"]

_log = logging.getLogger("foretell")

#: The studies of this process by their folders. A notebook runs a cell again while something, such as a traceback, still holds its study.
_by_folder: weakref.WeakValueDictionary[str, Study] = weakref.WeakValueDictionary()


class Study(Search):
    """A hyperparameter search that stops trials that will not win.

    >>> import foretell
    >>> def objective(trial):
    ...     for epoch in trial.epochs():
    ...         trial.report((1 - abs(trial.config["lr"] - 0.1)) * (1 - 0.5**epoch), epoch)
    >>> study = foretell.Study({"lr": foretell.log(1e-4, 1)}, metric="val_acc", epochs=8, trials=12)
    >>> study.optimize(objective)
    >>> study.best["score"] > 0.5
    True

    Parameters
    ----------
    space
        A dict of parameters: `foretell.log(1e-4, 1)`, `foretell.int(1, 8)`, `foretell.choice("sgd", "adam")`, strings as on the command
        line (`"log:1e-4:1"`), distributions of Optuna; or a `ConfigurationSpace`. Without a space, the study opens an existing folder, or
        takes the parameters that the objective asks for by `trial.suggest_float`, `suggest_int` and `suggest_categorical`.
    folder
        The folder of the study. If it contains a study, the search resumes. `foretell study` shows it. By default, the study is kept in
        memory. One process at a time uses a folder: `close()`, or `with foretell.Study(...) as study`, frees it.
    metric, direction
        The name of the metric, and `'maximize'` or `'minimize'` (default: inferred from the name). A new study needs one of the two.
    epochs
        The number of epochs (reports) of a complete trial (default: as many as the first complete trial; until then, no trial is stopped).
    trials
        The number of trials.
    history
        Earlier runs to learn from: a path, a glob, the folder of a study, an Optuna study, the results of Ray Tune, a frame or lists.
        See `foretell.Forecaster.fit`.
    settings
        Any other setting of a study, such as `sampler`, `scheduler`, `caution`, `budget_epochs` and `enqueue`. `foretell search --help`
        describes them.
    """

    def __init__(
        self,
        space: SpaceLike | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        metric: str | None = None,
        direction: Direction | None = None,
        epochs: int | None = None,
        trials: int | None = None,
        history: Any = None,
        **settings: Unpack[StudySettings],
    ) -> None:
        is_new = folder is None or not (Path(folder) / "events.jsonl").exists()
        _check(space, settings)
        if is_new and space is None and folder is not None and metric is None and direction is None and epochs is None:
            raise ValueError(f"{folder}: there is no study in this folder. To create one, pass `metric`")
        if is_new:
            _check_direction(metric, direction, settings)
        self._space = Space(space)
        self._begin_search(settings.get("checkpoints"))
        given: dict[str, Any] = {
            "space": self._space.written,
            "metric": metric,
            "direction": direction,
            "epochs": epochs,
            "trials": trials,
            **settings,
        }
        if given.get("enqueue") is not None:
            given["enqueue"] = [self._space.queued(config) for config in listed(given["enqueue"])]
        runs = None
        if history is not None:
            there = {} if is_new or folder is None else stored(folder)["settings"]
            metric = metric or there.get("metric")
            runs = learned(history, direction or there.get("direction") or (direction_of(metric) if metric else None), metric)
            given["learn_from"] = []
        self.folder = None if folder is None else Path(folder)
        self._given, self._runs = given, runs
        #: Whether the space grows by the parameters that the objective asks for; the first trial until it reports.
        self._grows, self._scout = space is None, None
        self._lock = threading.RLock()
        self._opened: _Core | None = None
        #: What is readable once it is closed.
        self._closed: dict[str, Any] | None = None
        self._hopeless = False
        if space is None and is_new:
            # wrong settings are refused now, and not once the objective has asked for its first parameters
            trial = _Core.open(None, {**{name: one for name, one in given.items() if name not in _OF_SPACE}, "space": ["x=int:0:1000000"]}, runs)
            _check_used(trial.settings, settings)
            self._space = Space({})
        else:
            if is_new and self.folder is not None:
                # before there is a folder
                _check_used(_Core.open(None, given, runs).settings, settings)
            self._open_core()
            if is_new:
                _check_used(self.settings, settings)
        if is_new and self.folder is not None and space is not None and history is None:
            self._offer_earlier()

    @property
    def _core(self) -> _Core:
        """The study; an error while its space is unknown."""
        if self._opened is None:
            raise RuntimeError("this study does not have a space yet. Pass one, or run an objective that calls methods such as trial.suggest_float")
        return self._opened

    def _open_core(self) -> None:
        self._take_over()
        self._opened = _Core.open(self.folder, self._given, self._runs)
        if self.folder is not None:
            _by_folder[os.path.realpath(self.folder)] = self
        self._space.stored(self._core.settings["space"])

    def _take_over(self) -> None:
        """Closes another study of this process in the same folder."""
        other = None if self.folder is None else _by_folder.get(os.path.realpath(self.folder))
        if other is None or other._opened is None or other._closed is not None or other._opened.process != os.getpid():
            return
        if other._calls:
            raise RuntimeError(f"{self.folder}: this process runs this study already, in another call of optimize(). Wait for its end, or call close()")
        other._opened.check(self._given, self.folder)
        other.close()

    def close(self) -> None:
        """Ends the use of the study: its folder is free for other processes, and its results stay readable. `with` does the same at its end."""
        with self._lock:
            if self._closed is None and self._opened is not None:
                self._closed = {"view": self._view(), "best": self.best, "done": self.done, "settings": self.settings}
                self._opened.close()

    def _check_open(self) -> None:
        if self._closed is not None and self._opened is not None:
            self._opened.ask()  # it refuses a closed study

    def _begin_trial(self, trial: Trial) -> None:
        """Opens a study without a space when its first trial reports or ends. The space is the parameters it asked for."""
        with self._lock:
            if self._opened is not None:
                return
            self._scout = None
            if not trial.config:
                self._hopeless = True
                raise RuntimeError("the objective reported or ended before it asked for a parameter. Pass a space to the study")
            _log.info("the space consists of the parameters that the objective asked for: %s", ", ".join(trial.config))
            queued = [self._space.queued(trial.config), *(self._given.get("enqueue") or [])]
            self._given.update(space=self._space.written, enqueue=queued)
            self._open_core()
            start = self._core.ask()
            assert start is not None
            trial.number, _, trial.seed, _, trial.end = start

    def _first(self) -> Trial | None:
        """The first trial of a study without a space; `None` while another thread runs it."""
        with self._lock:
            if self._scout is not None or self._opened is not None or self._hopeless:
                return None
            queue = list(self._given.get("enqueue") or [])
            self._tried = dict(queue.pop(0)) if queue and isinstance(queue[0], Mapping) else {}
            self._given["enqueue"] = queue or None
            self._scout = Trial(self, 0, {}, self._given.get("seed") or 0, 0, self._given["epochs"])
            return self._scout

    def _join(self, trial: Trial, name: str, parameter: Parameter) -> Any:
        value = parameter.sample(random.Random(f"{trial.seed} {trial.number} {name}"))
        with self._lock:
            if self._opened is None:
                self._space.join(name, parameter)
                return self._tried.get(name, value)
            if not self._grows or trial.reports:
                return super()._join(trial, name, parameter)
            if name not in trial.config and self._space.join(name, parameter):
                self._core.change({"space": self._space.written, "trials": self._core.settings["trials"] + 1})
                self._space.stored(self._core.settings["space"])
                _log.warning("%s is added to the space in trial %d. The objective runs again with a value for it", name, trial.number)
        trial.tell(f"{name} joined the space")
        asked = {key: known for key, known in trial.config.items() if known is not None}
        self._core.enqueue(self._space.queued({**asked, name: value}))
        raise Grown

    def _offer_earlier(self) -> None:
        """Warns of earlier studies next to the folder with the same parameters, metric and length, to learn from."""
        assert self.folder is not None
        own = self._core.settings
        here = self.folder.resolve()
        for log in sorted(here.parent.glob("*/events.jsonl")):
            if log.parent == here:
                continue
            try:
                there = stored(log.parent)
            except ValueError:
                continue
            settings = there["settings"]
            same = own.get("epochs") is not None and all(settings.get(name) == own[name] for name in ("metric", "direction", "epochs")) and _names(settings["space"]) == _names(own["space"])
            finished = sum(trial["state"] == "completed" for trial in there["trials"])
            if same and finished >= own["burn_in"]:
                _log.warning(
                    "%s is an earlier study of these parameters. With history=%r, this study learns from its %d completed trials. It then forecasts "
                    "after one completed trial instead of %d, which saves up to %d epochs",
                    log.parent, str(log.parent), finished, own["burn_in"], (own["burn_in"] - 1) * own["epochs"],
                )

    def _ask(self) -> Trial | None:
        if self._opened is None and ((first := self._first()) is not None or self._opened is None):
            return first
        start = self._core.ask()
        if start is None:
            return None
        number, config, *others = start
        return Trial(self, number, self._space.decoded(config), *others)

    def _begin(self, trial: int) -> None:
        self._core.begin(trial, 0)

    def _report(self, trial: int, step: int, value: float, metrics: Mapping[str, float]) -> tuple[bool, dict[str, Any] | None]:
        answer = self._core.report(trial, step, value, metrics)
        self._say_notices(self._core.notices())
        return answer

    def _tell(self, trial: int, failure: str | None, returned: float | None) -> tuple[str, str] | None:
        relation = self._core.tell(trial, failure, returned)
        self._say_notices(self._core.notices())
        return relation

    def _stop(self, trial: int) -> None:
        self._core.stop(trial)

    def _enqueue(self, queued: Any) -> None:
        with self._lock:
            if self._opened is None:
                self._given["enqueue"] = [*(self._given.get("enqueue") or []), queued]
                return
        self._core.enqueue(queued)

    def _view(self) -> dict[str, Any]:
        if self._opened is None:
            return {"settings": {}, "trials": [], "rows": [], "reports": {}}
        if self._closed is not None:
            return self._closed["view"]
        view = self._opened.view()
        waiting = {trial.number for trial in self._interrupted}
        for trial, row in zip(view["trials"], view["rows"]):
            trial["config"] = self._space.decoded(trial["config"])
            if trial["number"] in waiting:
                trial["state"] = row["state"] = "interrupted"
        return view

    @property
    def best(self) -> Best | None:
        """The best trial so far, as a dict of `trial`, `score` and `config`; `None` before the first result."""
        if self._closed is not None:
            return self._closed["best"]
        best = None if self._opened is None else self._opened.best
        return None if best is None else {"trial": best[0], "score": best[1], "config": self._space.decoded(best[2])}

    @property
    def done(self) -> bool:
        """Whether all trials have ended."""
        if self._closed is not None:
            return self._closed["done"]
        return self._hopeless if self._opened is None else self._opened.done

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, including those chosen automatically."""
        return self._core.settings if self._closed is None else self._closed["settings"]

    def __repr__(self) -> str:
        if self._opened is None:
            where = "in memory" if self.folder is None else f"in {self.folder}"
            return f"Study({where}, without a space until the first trial reports)"
        closed = "closed, " if self._closed is not None else ""
        return f"Study({closed}{self._described('in memory' if self.folder is None else f'in {self.folder}')})"


#: The settings that name parameters.
_OF_SPACE = ("space", "enqueue", "objective", "limit", "reward")


def _check_direction(metric: str | None, direction: str | None, settings: Mapping[str, Any]) -> None:
    """Requires the direction of a new study."""
    if direction is not None and direction not in ("maximize", "minimize"):
        raise ValueError(f"direction must be 'maximize' or 'minimize', not {direction!r}")
    if metric is None and direction is None and not settings.get("objective"):
        raise ValueError("a new study needs metric=, whose name shows which way is better, for example metric='val_acc', or direction='maximize' or 'minimize'")


def _check_used(resolved: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuses settings without effect."""
    for name, value in given.items():
        if value not in (None, False) and name not in (*_OF_SPACE, "checkpoints", "caution") and resolved.get(name) is None:
            raise ValueError(
                f"{name}={value!r} has no effect with the other settings. Leave it out, or choose the policy, scheduler or sampler that uses it: see "
                "`foretell search --help`"
            )


def _check(space: Any, settings: Mapping[str, Any]) -> None:
    """Refuses common mistakes and old spellings."""
    if isinstance(space, os.PathLike) or (isinstance(space, str) and space != "metaqnn"):
        raise TypeError(f"space={os.fspath(space)!r}: the space comes first, and a folder is passed by name: Study(space, folder={os.fspath(space)!r})")
    if "learn_from" in settings:
        raise TypeError("learn_from= is not a setting in Python. Use history= instead")
    known = [*StudySettings.__annotations__, "metric", "direction", "epochs", "trials", "history", "folder"]
    for name in settings:
        # the core refuses the rest, and lists all settings
        if name not in known and (close := difflib.get_close_matches(name, known, 1)):
            raise TypeError(f"unknown setting {name!r}. Did you mean {close[0]!r}?")


def _names(space: Any) -> Any:
    """The names of the parameters of a space in the form of settings."""
    return space if isinstance(space, str) else {parameter["name"] for parameter in space}



def _described_settings() -> str:
    """The other settings as a section of a docstring."""
    of_settings = {name: of for name, of in schema().items() if name in StudySettings.__annotations__}
    described = [f"    {name}\n" + textwrap.fill(of["description"], 140, initial_indent=" " * 8, subsequent_indent=" " * 8) for name, of in of_settings.items()]
    return "\n    Settings\n    --------\n" + "\n".join(described) + "\n"


# `help` lists the settings, which the core describes
Study.__doc__ = (Study.__doc__ or "") + _described_settings()

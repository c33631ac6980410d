"""A search in this process: ask for a trial, report its values, tell how it ended."""

from __future__ import annotations

import difflib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._foretell import Study as _Core
from ._foretell import stored
from ._runs import collect
from ._search import Best, Search, Trial
from ._settings import StudySettings
from .space import Space, SpaceLike

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction

__all__ = ["Study", "Trial"]

_log = logging.getLogger("foretell")


class Study(Search):
    """A search that stops trainings which will not win.

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
        The parameters by name: `foretell.log(1e-4, 1)`, `foretell.int(1, 8)`, `foretell.float(0, 0.9)`, `foretell.choice("sgd", "adam")`,
        each with `.when(other, value)` where it applies only then; or as the command's `--param` has them, `'log:1e-4:1'`; a
        distribution of Optuna; or a whole `ConfigurationSpace`. Left out, the study in the folder is opened as it is.
    folder
        Where the study is kept: the same folder goes on with the same study, also after a crash. `foretell study` shows it. Default: in
        memory.
    metric, direction
        The metric's name, and which way is better where the name does not tell: `'maximize'` or `'minimize'`.
    epochs
        How many epochs (reports) a whole training has; a new study needs it. 1 for an objective that only returns a value.
    trials
        How many trials there are in all.
    history
        Earlier runs to learn from, too, as `Forecaster.fit` takes them: a path or a glob, a study's folder, an Optuna study, Ray's results, a
        frame, lists.
    settings
        Every other choice of `foretell search`, by the name of its flag: `sampler`, `scheduler`, `policy`, `caution`, `budget_epochs`,
        `burn_in`, `stop_probability`, `predictor`, `score`, `seed`, `enqueue` (configurations to try first), … (`foretell search --help`
        explains them all).
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
        _check(space, settings)
        self._space, self._interrupted = Space(space), []
        given: dict[str, Any] = {
            "space": self._space.written,
            "metric": metric,
            "direction": direction,
            "epochs": epochs,
            "trials": trials,
            **settings,
        }
        if given.get("enqueue") is not None:
            given["enqueue"] = [self._space.queued(config) for config in _listed(given["enqueue"])]
        runs = None
        if history is not None:
            runs = collect(history, direction=direction, metric=metric)
            given["learn_from"] = []
        self.folder = None if folder is None else Path(folder)
        if space is None and self.folder is not None and not (self.folder / "events.jsonl").exists():
            raise ValueError(f"{self.folder}: there is no study in this folder; a new one needs a space, such as {{'lr': foretell.log(1e-4, 1)}}")
        is_new = self.folder is not None and not (self.folder / "events.jsonl").exists()
        self._core = _Core.open(self.folder, given, runs)
        self._space.stored(self._core.settings["space"])
        if is_new and history is None:
            self._offer_earlier()

    def _offer_earlier(self) -> None:
        """Says which studies beside the folder this one could learn from: those of the same parameters, metric and length."""
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
            same = all(settings[name] == own[name] for name in ("metric", "direction", "epochs")) and _names(settings["space"]) == _names(own["space"])
            finished = sum(trial["state"] == "completed" for trial in there["trials"])
            if same and finished >= own["burn_in"]:
                _log.warning(
                    "%s is an earlier study of these parameters: history=%r learns from its %d finished trials; then forecasts begin once one trial "
                    "has finished, not %d: up to %d epochs less",
                    log.parent, str(log.parent), finished, own["burn_in"], (own["burn_in"] - 1) * own["epochs"],
                )

    def _ask(self) -> Trial | None:
        start = self._core.ask()
        if start is None:
            return None
        number, config, *others = start
        return Trial(self, number, self._space.decoded(config), *others)

    def _report(self, trial: int, step: int, value: float, metrics: Mapping[str, float]) -> tuple[bool, dict[str, Any] | None]:
        return self._core.report(trial, step, value, metrics)

    def _tell(self, trial: int, failure: str | None) -> None:
        self._core.tell(trial, failure)

    def _enqueue(self, queued: Any) -> None:
        self._core.enqueue(json.dumps(queued))

    def _view(self) -> dict[str, Any]:
        view = self._core.view()
        for trial in view["trials"]:
            trial["config"] = self._space.decoded(trial["config"])
        return view

    @property
    def best(self) -> Best | None:
        """The best trial so far: its `trial`, `score` and `config`."""
        best = self._core.best
        return None if best is None else {"trial": best[0], "score": best[1], "config": self._space.decoded(best[2])}

    @property
    def done(self) -> bool:
        """Whether nothing runs and there is nothing left to run."""
        return self._core.done

    @property
    def settings(self) -> dict[str, Any]:
        """The settings, also those that were chosen for you."""
        return self._core.settings

    def __repr__(self) -> str:
        return f"Study({self._described('in memory' if self.folder is None else f'in {self.folder}')})"


def _check(space: Any, settings: Mapping[str, Any]) -> None:
    """What was written otherwise before, and what is easily mistaken."""
    if isinstance(space, os.PathLike) or (isinstance(space, str) and space != "metaqnn"):
        raise TypeError(f"space={os.fspath(space)!r}: the space comes first; a folder is given by name: Study(space, folder={os.fspath(space)!r})")
    if "learn_from" in settings:
        raise TypeError("learn_from= is called history= here")
    known = [*StudySettings.__annotations__, "metric", "direction", "epochs", "trials", "history", "folder"]
    for name in settings:
        # the core refuses what is nothing like a setting, and names them all
        if name not in known and (close := difflib.get_close_matches(name, known, 1)):
            raise TypeError(f"unknown setting {name!r}; did you mean {close[0]!r}?")


def _names(space: Any) -> Any:
    """The names of the parameters of a space as settings have it."""
    return space if isinstance(space, str) else {parameter["name"] for parameter in space}


def _listed(queued: Any) -> Sequence[Any]:
    return [queued] if isinstance(queued, (Mapping, str)) else queued

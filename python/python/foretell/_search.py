"""The part that local and remote studies share: trials, objectives, results."""

from __future__ import annotations

import functools
import gc
import json
import logging
import math
import numbers
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

from . import space
from ._records import Best, StudyDirection, TrialRecord, TrialState
from ._show import Bar, html, trial_html
from .space import Parameter, Space

if TYPE_CHECKING:
    from typing_extensions import Self

_log = logging.getLogger("foretell")

#: An objective returns nothing, a value, or a dict with a value for each objective.
Objective = Callable[["Trial"], "float | Mapping[str, float] | None"]
FrameKind = Literal["pandas", "polars", "dicts"]

#: Seconds for the threads of `optimize` to end after Ctrl-C.
_FAREWELL = 5.0


class _Halt(BaseException):
    """Interrupts a thread's trial after Ctrl-C. The trial stays open, so that the study can resume it."""


class Grown(BaseException):
    """A parameter has joined the space: the objective runs again, in a trial with a value for it."""


class Trial:
    """A trial of a study. Train `config` from epoch `start` + 1 to `end`, and report a value after each epoch.

    Other attributes are `number`, `seed` (a seed for the training), `values`, `stopped`, `reason` and `last` (the last decision).

    >>> import foretell
    >>> study = foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=2, trials=1)
    >>> trial: foretell.Trial = study.ask()
    >>> with trial:
    ...     for epoch in trial.epochs():
    ...         stop = trial.report(0.1 * epoch, epoch)
    >>> study.trials[0]["values"]
    [0.1, 0.2]
    """

    __slots__ = (
        "__weakref__", "_ended", "_ends", "_failure", "_first", "_fold", "_from_zero", "_returned", "_step", "_study", "_trained", "config", "end", "last", "number", "reason", "seed", "stopped", "values",
    )  # fmt: skip

    def __init__(self, study: Search, number: int, config: dict[str, Any], seed: int, start: int, end: int | None) -> None:
        self._study, self._first, self._trained = study, start, start
        #: Whether the call that runs the trial has ended.
        self._ends: Callable[[], bool] = bool
        #: The last step reported in this process, and whether steps count from 0.
        self._step, self._from_zero = 0, False
        #: The fold of the last report.
        self._fold = 1.0
        #: Whether its end was told, and the value that the objective returned.
        self._ended, self._returned = False, None
        #: Why it failed.
        self._failure: str | None = None
        self.number = number
        self.config = config
        #: A seed for the training.
        self.seed = seed
        #: The epoch to train to; `None` while nobody knows how long a complete trial trains.
        self.end = end
        #: The last decision as a dict; `None` before the first.
        self.last: dict[str, Any] | None = None
        #: Whether the study has stopped the trial.
        self.stopped = False
        #: The reason, in one line.
        self.reason: str | None = None
        #: The values reported in this process.
        self.values: list[float] = []

    @property
    def reports(self) -> int:
        """The number of values reported in this process."""
        return len(self.values)

    @property
    def start(self) -> int:
        """The number of epochs already trained; 0 for a new trial. A paused trial resumes from here if the objective reads `start` or
        `checkpoints`, or the study sets `checkpoints=True`. Otherwise, the trial starts again from epoch 1."""
        self._study._shows_checkpoints()
        return self._trained

    def report(self, value: float, step: int | None = None, **metrics: float) -> bool:
        """Reports the value of the metric at `step` (default: the next), and optionally other `metrics`. Returns whether to stop.

        Steps start from 1, or from 0 if the first report of a trial is at step 0. They must increase. In a study with `folds`, name the
        fold of each report, counted from 1: `trial.report(value, fold=2)`. The steps of each fold start again."""
        value = _number(value, "value")
        metrics = {name: _number(one, name) for name, one in metrics.items()}
        if metrics.get("fold", self._fold) != self._fold:
            # a study without folds refuses steps that start again
            self._fold, self._step = metrics["fold"], 0
        if not self.reports:
            self._begin()
        epoch = self._epoch(step)
        if self._ends():
            raise _Halt
        if epoch == self._step:
            self._study._say_once("step %s of trial %d was reported more than once. Only its first value is used", step, self.number)
            return self.stopped
        stop, decision = self._study._report(self.number, epoch, value, metrics)
        self._step, self._trained = epoch, max(self._trained, epoch)
        self.values.append(value)
        if decision is not None:
            self.last = decision
        if stop and not self.stopped:
            self.stopped = True
            self.reason = why(decision)
            _log.info("trial %d stopped at step %d: %s", self.number, epoch - self._from_zero, self.reason)
        return stop

    def _epoch(self, step: int | None) -> int:
        """The epoch, counted from 1, for the objective's `step`."""
        if step is None:
            return max(self._step, self._trained if not self.reports else 0) + 1
        if isinstance(step, bool) or not math.isfinite(step) or step != int(step) or step < 0:
            raise ValueError(f"step {step!r} is invalid. Steps must be whole numbers that start from 0 or 1")
        if not self.reports:
            self._from_zero = self._study._counts_from_zero(int(step), self._trained)
        epoch = int(step) + self._from_zero
        if epoch < max(self._step, 1):
            raise ValueError(f"step {step!r} was reported after step {self._step - self._from_zero}. Steps must increase within a trial")
        return epoch

    def _begin(self) -> None:
        """Starts the trial: from epoch 1 unless the objective resumes paused trials."""
        self._study._begin_trial(self)
        if self._trained and not self._study._keeps_checkpoints:
            self._study._say_once(
                "trial %d was paused after epoch %d and is trained again from epoch 1, because the objective read neither trial.start nor "
                "trial.checkpoints. If it resumes paused trials in another way, set checkpoints=True",
                self.number, self._trained,
            )  # fmt: skip
            self._study._begin(self.number)
            self._trained = self._first = 0

    def epochs(self) -> Iterator[int]:
        """Iterates over the epochs to train. The loop ends early when the study stops the trial."""
        if self.end is None:
            raise ValueError("trial.epochs() needs the number of epochs of a complete trial. Pass epochs= to the study, or loop over your own number")
        self._begin()
        for epoch in range(self._trained + 1, self.end + 1):
            if self.stopped:
                return
            yield epoch

    @property
    def checkpoints(self) -> Path | None:
        """The trial's folder for checkpoints, created on first use; `None` for a study in memory. If `start` is above 0, resume from a
        checkpoint in it."""
        folder = self._study.folder
        if folder is None:
            return None
        self._study._shows_checkpoints()
        # where the command keeps them
        path = folder / "trials" / f"{self.number:04}" / "checkpoints"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def suggest_float(self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False) -> float:
        """The value of a float parameter, as in Optuna. A new parameter joins the space."""
        if step is not None:
            return self._suggest(name, space.stepped(name, low, high, step))
        return self._suggest(name, space.log(low, high) if log else space.float(low, high))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """The value of an integer parameter, as in Optuna. A new parameter joins the space."""
        if step != 1:
            return self._suggest(name, space.stepped(name, low, high, step))
        return self._suggest(name, space.logint(low, high) if log else space.int(low, high))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """One of `choices`, as in Optuna. A new parameter joins the space."""
        return self._suggest(name, Parameter("choice", options=tuple(choices)))

    def suggest_uniform(self, name: str, low: float, high: float) -> float:
        """The same as `suggest_float`, as in older programs for Optuna."""
        return self.suggest_float(name, low, high)

    def suggest_loguniform(self, name: str, low: float, high: float) -> float:
        """The same as `suggest_float` with `log=True`, as in older programs for Optuna."""
        return self.suggest_float(name, low, high, log=True)

    def suggest_discrete_uniform(self, name: str, low: float, high: float, q: float) -> float:
        """The same as `suggest_float` with `step=q`, as in older programs for Optuna."""
        return self.suggest_float(name, low, high, step=q)

    def set_user_attr(self, key: str, value: Any) -> None:
        """Stores a value with the trial, as in Optuna. It must be JSON. A study in a folder keeps it in the folder of the trial."""
        self._study._set_attribute(self.number, key, value)

    @property
    def user_attrs(self) -> dict[str, Any]:
        """The values stored by `set_user_attr`, as in Optuna."""
        return self._study._attributes(self.number)

    def _suggest(self, name: str, parameter: Parameter) -> Any:
        if self.config.get(name) is None and not (name in self.config and parameter.has(None)):
            self.config[name] = self._study._join(self, name, parameter)
        value = self.config[name]
        if parameter.kind == "choice":
            value = self.config[name] = self._study._space.chosen(name, parameter.options, value)
        if not parameter.has(value):
            self._study._say_once(
                f"parameter {name}: trial %d has %r, which is not in the range that the objective asks for. The study's own range is used",
                self.number, value,
            )  # fmt: skip
        return value

    def should_prune(self) -> bool:
        """Whether the study has stopped the trial, as in Optuna."""
        return self.stopped

    @property
    def params(self) -> dict[str, Any]:
        """The same as `config`, as in Optuna."""
        return self.config

    def _again(self) -> Trial:
        """The same trial, not started."""
        return Trial(self._study, self.number, self.config, self.seed, self._first, self.end)

    def tell(self, failure: object = None, *, returned: float | None = None) -> None:
        """Ends the trial. `failure` is the reason for a failure. Set `returned` if the trial's score isn't one of its reports. A number as the
        first argument means the same as `returned`."""
        if isinstance(failure, numbers.Real) and not isinstance(failure, bool):
            failure, returned = None, float(failure)
        self._study._begin_trial(self)
        returned = self._returned if returned is None else _number(returned, "returned")
        if returned is not None and not math.isfinite(returned) and failure is None:
            failure = f"the objective returned {returned}"
        if returned is not None and failure is None and not self.reports:
            self.report(returned, self.end or 1)
        self._ended = True
        self._study._conclude(self.number, None if failure is None else str(failure) or repr(failure), returned)
        if not self.stopped:
            self._failure = None if failure is None else str(failure)
            how = "ended" if failure is None else f"failed: {failure}"
            value = f" at {self.values[-1]:.4g}" if self.values and failure is None else ""
            _log.info("trial %d %s%s after epoch %d", self.number, how, value, self._trained)

    def _prune(self) -> None:
        """Ends the trial as stopped: the objective raised `TrialPruned`."""
        if self.stopped:
            return self.tell()
        self._study._begin_trial(self)
        self._ended = self.stopped = True
        self.reason = "pruned by the objective"
        self._study._stop(self.number)
        self._study._conclude(self.number, None, None)
        _log.info("trial %d stopped after epoch %d: %s", self.number, self._trained, self.reason)

    def _repr_html_(self) -> str:
        return trial_html(self._study.trials[self.number])

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        is_pruned = kind is not None and any(known.__name__ == "TrialPruned" for known in kind.__mro__)
        if self._ended:
            return is_pruned
        if error is None:
            self.tell()
        elif is_pruned:
            self._prune()
            return True
        elif isinstance(error, Exception):
            try:
                self.tell(f"{type(error).__name__}: {error}")
            except RuntimeError as other:
                # the first error explains the second, for example if a study without a space has not asked for a parameter yet
                _log.debug("trial %d cannot be ended: %s", self.number, other)
        else:
            # Ctrl-C, or a canceled task: the trial has not failed, and the next `ask` returns it again
            self._study._interrupt(self)
        return False

    def __repr__(self) -> str:
        epoch = f"epoch {self._trained} of {self.end or 'unknown'}"
        value = f", last value {self.values[-1]:.4g}" if self.values else ""
        state = f"stopped after {epoch}" if self.stopped else epoch if not self._ended else f"failed after {epoch}: {self._failure}" if self._failure else f"ended after {epoch}"
        return f"Trial({self.number}, {self.config}, {state}{value})"


def _number(value: Any, name: str) -> float:
    """A reported value as a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {value!r}. If the run diverged, report nan") from None


class Search:
    """The base of all studies."""

    _space: Space
    #: The study's folder; `None` in memory, and for a server's address.
    folder: Path | None = None
    #: Trials interrupted by Ctrl-C, which start again.
    _interrupted: list[Trial]
    #: Trials under way.
    _open: WeakValueDictionary[int, Trial]
    #: Whether the objective keeps checkpoints; `None` while unknown.
    _checkpoints: bool | None
    #: Whether steps count from 0, by the first report of a new trial.
    _from_zero: bool | None
    #: Warnings already logged.
    _said: set[str]
    #: The relation between returned values and reports that was logged last.
    _relation: str | None = None
    #: Whether `optimize` starts no further trial.
    _is_ending = False
    #: Whether other processes can run its trials.
    _has_others = False
    #: Seconds before a worker asks again while others run the last trials.
    _pause: float = 0.05

    def _begin_search(self, checkpoints: bool | None) -> None:
        # a trial holds its study; a strong reference back would keep the lock of the study's folder
        self._interrupted, self._open, self._said = [], WeakValueDictionary(), set()
        #: The attributes of trials, and of the study (`None`), if it has no folder here.
        self._user_attrs: dict[int | None, dict[str, Any]] = {}
        #: The number of `optimize` calls under way.
        self._calls = 0
        self._checkpoints, self._from_zero = checkpoints, None

    def _ask(self) -> Trial | None:
        raise NotImplementedError

    def _begin_trial(self, trial: Trial) -> None:
        """A trial reports for the first time, or ends."""

    def _join(self, trial: Trial, name: str, parameter: Parameter) -> Any:
        """The value of a parameter that is not in the space, for this trial."""
        raise KeyError(f"the study has no parameter {name!r}. Its parameters: {', '.join(trial.config) or 'none'}")

    def _begin(self, trial: int) -> None:
        """A paused trial starts again from epoch 1."""
        raise NotImplementedError

    def _report(self, trial: int, step: int, value: float, metrics: Mapping[str, float]) -> tuple[bool, dict[str, Any] | None]:
        raise NotImplementedError

    def _tell(self, trial: int, failure: str | None, returned: float | None) -> tuple[str, str] | None:
        """Returns how returned values relate to reports, if that is unusual: a name, and a sentence."""
        raise NotImplementedError

    def _stop(self, trial: int) -> None:
        """Stops a trial that the objective has pruned."""
        raise NotImplementedError

    def _interrupt(self, trial: Trial) -> None:
        """A trial was left before its end. It starts again."""
        self._interrupted.append(trial._again())

    def _enqueue(self, queued: Any) -> None:
        raise NotImplementedError

    def _view(self) -> dict[str, Any]:
        """`settings`, `trials`, `rows` and `reports`."""
        raise NotImplementedError

    @property
    def done(self) -> bool:
        """Whether all trials have ended."""
        raise NotImplementedError

    @property
    def best(self) -> Best | None:
        """The best trial so far, as a dict of `trial`, `score` and `config`; `None` before the first result."""
        raise NotImplementedError

    def _shows_checkpoints(self) -> None:
        """The objective reads where a trial resumes."""
        if self._checkpoints is None:
            self._checkpoints = True

    @property
    def _keeps_checkpoints(self) -> bool:
        return self._checkpoints is True

    def _counts_from_zero(self, first: int, trained: int) -> bool:
        """Whether the steps of a trial start from 0, inferred from its first report after `trained` epochs."""
        if not trained:
            self._from_zero = first == 0
        elif self._from_zero is None:
            # counted from 0, the next epoch has the number of epochs before it
            return first in (0, trained)
        return bool(self._from_zero)

    def _say_once(self, words: str, *values: Any) -> None:
        if words not in self._said:
            self._said.add(words)
            _log.warning(words, *values)

    def _say_notices(self, notices: Sequence[tuple[str, bool]]) -> None:
        """Logs the study's notices on the epochs of a complete trial."""
        for text, is_warning in notices:
            _log.log(logging.WARNING if is_warning else logging.INFO, "%s", text)

    @property
    def _metric(self) -> str:
        """The metric's name."""
        return self.settings["metric"]

    def ask(self) -> Trial | None:
        """The next trial; `None` if there is none now. Ask again after another trial ends, unless `done`."""
        trial = self._interrupted.pop(0) if self._interrupted else self._ask()
        if trial is not None:
            self._open[trial.number] = trial
        return trial

    def report(self, trial: int, step: int, value: float, **metrics: float) -> bool:
        """Reports the value of a trial at `step`. Returns whether to stop the trial."""
        known = self._open.get(trial)
        return self._report(trial, step, _number(value, "value"), metrics)[0] if known is None else known.report(value, step, **metrics)

    def tell(
        self,
        trial: int | Trial,
        value: float | str | Sequence[float] | None = None,
        failure: str | None = None,
        *,
        returned: float | None = None,
        state: int | None = None,
    ) -> None:
        """Ends a trial, as in Optuna. Set `value` if the trial's score isn't one of its reports; a text is the reason for a failure, as is
        `failure`. `state` can be `TrialState.FAIL` or `PRUNED`. `returned` is the same as `value`."""
        number = trial.number if isinstance(trial, Trial) else trial
        known = trial if isinstance(trial, Trial) else self._open.get(number)
        if isinstance(value, str):
            failure, value = value, None
        if isinstance(value, Sequence):
            value = _only(value)
        returned = returned if value is None else _number(value, "value")
        if state == TrialState.FAIL and failure is None:
            failure = "it was told to have failed"
        if state == TrialState.PRUNED:
            self._stop(number)
        elif known is not None:
            return known.tell(failure, returned=returned)
        elif failure is None and returned is not None and not self._view()["trials"][number]["values"]:
            self._report(number, self.settings["epochs"] or 1, returned, {})
        self._conclude(number, failure, returned)

    def _conclude(self, trial: int, failure: str | None, returned: float | None) -> None:
        """Records the end of a trial."""
        relation = self._tell(trial, failure, None if failure is not None else returned)
        self._open.pop(trial, None)
        name, words = relation or (None, "")
        if name is not None and name != self._relation:
            _log.log(logging.INFO if name == "too-few" else logging.WARNING, "%s", words)
        self._relation = name or self._relation

    def enqueue(self, config: Mapping[str, Any] | str) -> None:
        """Tries a configuration next, for example `{"lr": 0.1}` or `"lr=0.1"`. The sampler chooses the other parameters."""
        self._enqueue(self._space.queued(config))

    def enqueue_trial(self, params: Mapping[str, Any]) -> None:
        """The same as `enqueue`, as in Optuna."""
        self.enqueue(params)

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, including those chosen automatically."""
        return self._view()["settings"]

    @property
    def trials(self) -> list[TrialRecord]:
        """The records of all trials."""
        return [TrialRecord(trial, functools.partial(self._attributes, trial["number"])) for trial in self._view()["trials"]]

    def get_trials(self, deepcopy: bool = True, states: Iterable[int] | None = None) -> list[TrialRecord]:
        """The records of all trials, or of those in the given `states`, such as `foretell.TrialState.COMPLETE`, as in Optuna."""
        wanted = None if states is None else {int(state) for state in states}
        return [trial for trial in self.trials if wanted is None or int(trial.state) in wanted]

    @property
    def direction(self) -> StudyDirection:
        """The direction of the metric, as in Optuna."""
        return StudyDirection[self.settings["direction"].upper()]

    @property
    def directions(self) -> list[StudyDirection]:
        """The direction of the metric as a list, as in Optuna."""
        return [self.direction]

    @property
    def study_name(self) -> str:
        """The name of the study's folder, or `no-name` in memory."""
        return "no-name" if self.folder is None else self.folder.resolve().name

    def optimize(
        self,
        objective: Objective,
        n_trials: int | None = None,
        timeout: float | None = None,
        n_jobs: int = 1,
        catch: type[Exception] | Iterable[type[Exception]] = (),
        callbacks: Iterable[Callable[[Any, TrialRecord], None]] | None = None,
        gc_after_trial: bool = False,
        show_progress_bar: bool = False,
    ) -> None:
        """Runs `objective` for each trial until all trials have ended.

        The objective must train `trial.config` and report a value after each epoch. If it does not report any values, it must return the
        final one.

        Parameters
        ----------
        objective
            A function of a `Trial`.
        n_trials
            The number of trials to run in this call (default: all).
        n_jobs
            The number of trials to run at the same time, in threads; -1 for one per core. For processes, see `foretell.connect`.
        timeout
            The number of seconds after which no new trial starts.
        catch
            Exceptions that fail only their trial. Any other exception fails its trial and ends the call.
        callbacks
            Functions of the study and the record of a trial, called after each trial, as in Optuna. To end the search, a callback can call
            `study.stop()`.
        gc_after_trial
            Run Python's garbage collector after each trial, as in Optuna.
        show_progress_bar
            Show a progress bar in the terminal or notebook; requires `tqdm`.
        """
        if not callable(objective):
            raise TypeError(f"the objective must be a function of a trial, not {objective!r}")
        if n_trials is not None and _count(n_trials, "n_trials") < 1:
            raise ValueError(f"n_trials must be at least 1, or None for all trials, not {n_trials!r}")
        if _count(n_jobs, "n_jobs") != -1 and n_jobs < 1:
            raise ValueError(f"n_jobs must be the number of trials to run at a time, or -1 for one per core, not {n_jobs!r}")
        if timeout is not None and not _number(timeout, "timeout") >= 0:
            raise ValueError(f"timeout must be a number of seconds, or None for no limit, not {timeout!r}")
        jobs = n_jobs if n_jobs > 0 else os.cpu_count() or 1
        self._check_open()
        self._is_ending = False
        crew = _Crew(self, objective, n_trials, timeout, _exceptions(catch), _functions(callbacks))
        crew.collects = gc_after_trial
        if show_progress_bar:
            crew.bar = Bar(n_trials or self._view()["settings"].get("trials"), 0 if n_trials else len(self))
        self._calls += 1
        try:
            if jobs == 1:
                crew.work()
            else:
                crew.work_in_threads(jobs)
        finally:
            self._calls -= 1
            if crew.bar is not None:
                crew.bar.close()

    def _check_open(self) -> None:
        """Refuses a study that is closed."""

    def close(self) -> None:
        """Ends the use of the study: its folder is free for other processes, and its results stay readable. `with` does the same at its end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def set_user_attr(self, key: str, value: Any) -> None:
        """Stores a value with the study, as in Optuna. It must be JSON. A study in a folder keeps it there."""
        self._set_attribute(None, key, value)

    @property
    def user_attrs(self) -> dict[str, Any]:
        """The values stored by `set_user_attr`, as in Optuna. Those of trial 7 are `study.trials[7].user_attrs`."""
        return self._attributes(None)

    def _attributes(self, trial: int | None) -> dict[str, Any]:
        """The attributes of a trial, or of the study."""
        path = self._attributes_of(trial)
        if path is None:
            return dict(self._user_attrs.get(trial, {}))
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def _set_attribute(self, trial: int | None, key: str, value: Any) -> None:
        # a value that is no JSON is refused for each kind of study
        attributes = {**self._attributes(trial), key: json.loads(json.dumps(value))}
        path = self._attributes_of(trial)
        if path is None:
            self._user_attrs[trial] = attributes
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.with_suffix(".next")
        written.write_text(json.dumps(attributes))
        written.replace(path)

    def _attributes_of(self, trial: int | None) -> Path | None:
        if self.folder is None:
            return None
        return (self.folder if trial is None else self.folder / "trials" / f"{trial:04}") / "user_attrs.json"

    def stop(self) -> None:
        """Ends `optimize` after the trials that are running, as in Optuna. Calling it again resumes the search."""
        self._is_ending = True

    @property
    def best_value(self) -> float:
        """The best score so far, as in Optuna. Raises `ValueError` before the first result."""
        return self._need_best()["score"]

    @property
    def best_params(self) -> dict[str, Any]:
        """The configuration of the best trial, as in Optuna."""
        return self._need_best()["config"]

    @property
    def best_trial(self) -> TrialRecord:
        """The record of the best trial, as in Optuna."""
        return self.trials[self._need_best()["trial"]]

    def _need_best(self) -> Best:
        best = self.best
        if best is None:
            raise ValueError("no trial has completed")
        return best

    def trials_dataframe(self, attrs: Sequence[str] = ("number", "value", "datetime_start", "datetime_complete", "duration", "params", "user_attrs", "state")) -> Any:
        """A pandas frame of all trials with the columns of Optuna. Times are known for a study in a folder."""
        from ._tables import frame_of, optuna_rows

        return frame_of(optuna_rows(self.trials, self._view()["rows"], attrs), "pandas")

    def __len__(self) -> int:
        return len(self.trials)

    def __bool__(self) -> bool:
        # a study without trials is not false
        return True

    def _repr_html_(self) -> str:
        return html(self._view(), repr(self))

    def __reduce__(self) -> Any:
        if not self.done:
            raise TypeError("a study that is not done cannot be pickled, because one process owns its log. Pickle study.trials, or wait until the study is done")
        attributes = {number: self._attributes(number) for number in (None, *range(len(self)))}
        return FinishedStudy, (self._view(), self.best, attributes)

    def frame(self, kind: FrameKind = "pandas") -> Any:
        """A frame with one row per trial, with the columns of `foretell study export --trials`. `kind` is `'pandas'`, `'polars'` or
        `'dicts'`."""
        from ._tables import frame_of

        return frame_of(self._view()["rows"], kind)

    def curves(self, kind: FrameKind = "pandas") -> Any:
        """A frame with one row per report: `trial`, `step`, `value`, and `metric.…` for each other metric."""
        from ._tables import frame_of, report_rows

        return frame_of(report_rows(self._view()["reports"]), kind)

    def plot(self, kind: Literal["curves", "history", "parameters"] = "curves") -> Any:
        """Plots the study with matplotlib and returns the figure: the `'curves'`, the best score by epochs trained (`'history'`), or the
        score by each parameter (`'parameters'`)."""
        from ._plots import draw

        return draw(self._view(), kind)

    def __iter__(self) -> Iterator[Trial]:
        while (trial := self.ask()) is not None:
            yield trial

    def _described(self, where: str) -> str:
        view, best = self._view(), self.best
        score = "none yet" if best is None else f"{best['score']:.4g}"
        settings = view["settings"]
        return f"{where}, {len(view['trials'])} of {settings['trials']} trials of `{settings['metric']}` ({settings['direction']}), best {score}"


class FinishedStudy(Search):
    """A finished study, as `pickle.loads` returns it: trials, frames and plots.

    >>> import foretell, pickle
    >>> study = foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=1, trials=3)
    >>> study.optimize(lambda trial: trial.config["x"])
    >>> pickle.loads(pickle.dumps(study)).best == study.best
    True
    """

    def __init__(self, view: dict[str, Any], best: Best | None, user_attrs: Mapping[int | None, dict[str, Any]]) -> None:
        self._kept, self._kept_best = view, best
        self._begin_search(None)
        self._user_attrs = dict(user_attrs)

    def _view(self) -> dict[str, Any]:
        return self._kept

    @property
    def best(self) -> Best | None:
        """The best trial, as a dict of `trial`, `score` and `config`."""
        return self._kept_best

    @property
    def done(self) -> bool:
        """Always true."""
        return True

    def _ask(self) -> Trial | None:
        return None

    def __repr__(self) -> str:
        return f"FinishedStudy({self._described('kept')})"


class _Crew:
    """The threads of one `optimize` call."""

    def __init__(
        self, study: Search, objective: Objective, n_trials: int | None, timeout: float | None, catch: tuple[type[Exception], ...],
        callbacks: Sequence[Callable[[Any, TrialRecord], None]],
    ) -> None:
        self.callbacks = callbacks
        self.study, self.objective, self.catch = study, objective, catch
        self.left = math.inf if n_trials is None else n_trials
        self.end = math.inf if timeout is None else time.monotonic() + timeout
        self.running = 0
        #: The trials under way.
        self.trials: set[Trial] = set()
        self.collects = False
        self.bar: Bar | None = None
        self.error: BaseException | None = None
        self.changed = threading.Condition()

    def work_in_threads(self, jobs: int) -> None:
        threads = [threading.Thread(target=self._work_aside, daemon=True) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                # Ctrl-C cannot interrupt a join without a timeout
                while thread.is_alive():
                    thread.join(0.1)
        except BaseException as error:
            self._end(error)
            until = time.monotonic() + _FAREWELL
            for thread in threads:
                thread.join(max(0.0, until - time.monotonic()))
            self._abandon()
            raise
        if self.error is not None:
            raise self.error

    def _work_aside(self) -> None:
        try:
            self.work()
        except _Halt:
            pass
        except BaseException as error:
            self._end(error)

    def _abandon(self) -> None:
        """Interrupts the trials of threads that are busy between two reports. Their threads end at their next report."""
        for trial in [trial for trial in list(self.trials) if not trial._ended]:
            trial._ended = True
            self.study._interrupt(trial)

    def _end(self, error: BaseException) -> None:
        with self.changed:
            self.error = self.error or error
            self.changed.notify_all()

    def work(self) -> None:
        while (trial := self._next()) is not None:
            try:
                self._train(trial)
                for callback in self.callbacks:
                    callback(self.study, self.study.trials[trial.number])
                if self.collects:
                    gc.collect()
                if self.bar is not None:
                    best = self.study.best
                    self.bar.step("" if best is None else f"best {best['score']:.4g}")
            finally:
                with self.changed:
                    self.running -= 1
                    self.trials.discard(trial)
                    self.changed.notify_all()

    def _next(self) -> Trial | None:
        """The next trial; waits while other trials run."""
        with self.changed:
            while self.left > 0 and self.error is None and not self.study._is_ending and time.monotonic() < self.end:
                if (trial := self.study.ask()) is not None:
                    self.left -= 1
                    self.running += 1
                    self.trials.add(trial)
                    return trial
                if self.study.done or not (self.running or self.study._has_others):
                    return None
                self.changed.wait(self.study._pause)
            return None

    def _is_interrupted(self) -> bool:
        # after an error in another thread, a trial continues to its end
        return self.error is not None and not isinstance(self.error, Exception)

    def _train(self, trial: Trial) -> None:
        try:
            with trial:
                trial._ends = self._is_interrupted
                self._ended(trial, self.objective(trial))
        except Grown:
            with self.changed:
                self.left += 1
        except self.catch as error:
            _log.warning("trial %d failed: %s: %s", trial.number, type(error).__name__, error)

    def _ended(self, trial: Trial, returned: Any) -> None:
        """Takes the returned value: a number, a dict with one for each objective, or nothing."""
        values = dict(returned) if isinstance(returned, Mapping) else {}
        value = values.pop(self.study._metric, None) if values else returned
        if trial.stopped and trial.last is not None and trial.last["action"] == "stop":
            return
        if not trial.reports:
            trial.report(_final(value), trial.end or 1, **values)
        elif values:
            raise TypeError(f"the objective returned {', '.join(values)} after the trial had reported values. Report it instead: trial.report(value, epoch, {next(iter(values))}=…)")
        elif hasattr(value, "__float__") and not isinstance(value, bool):
            # ignore anything else, such as a list of the answers of report
            trial._returned = float(value)


def _count(value: Any, name: str) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    return int(value)


def _only(values: Sequence[float]) -> float:
    """The value of a trial of one objective."""
    if len(values) != 1:
        raise ValueError(f"a trial has one value, not {len(values)}. Report the other objectives: trial.report(value, epoch, latency=…)")
    return values[0]


def _exceptions(given: Any) -> tuple[type[Exception], ...]:
    """The exceptions to catch."""
    listed = given if isinstance(given, Iterable) and not isinstance(given, (str, type)) else (given,)
    catch = tuple(listed)
    for one in catch:
        if not (isinstance(one, type) and issubclass(one, BaseException)):
            raise TypeError(f"catch must be an exception, such as RuntimeError, or a tuple of them, not {given!r}")
    return catch


def _functions(given: Any) -> Sequence[Callable[[Any, TrialRecord], None]]:
    """The callbacks."""
    callbacks = () if given is None else (given,) if callable(given) else tuple(given)
    for one in callbacks:
        if not callable(one):
            raise TypeError(f"callbacks must be functions of the study and a trial, not {one!r}")
    return callbacks


def _final(value: Any) -> float:
    """The returned value of an objective without reports."""
    if value is None:
        raise TypeError("the objective reported nothing and returned None. Call trial.report(value, epoch) after each epoch, or return a number")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"the objective returned {value!r}. Return a number, or a dict with one number per objective") from None


def why(decision: Mapping[str, Any] | None) -> str:
    """The reason for a decision, in one line."""
    if decision is None:
        return "it reported past its last step"
    text = str(decision["why"])
    forecast = decision.get("forecast")
    if forecast is not None:
        text += f": forecast {forecast['mean']:.4g} ± {forecast['sd']:.2g}"
    if decision.get("chance") is not None:
        text += f", chance to be the best {100 * decision['chance']:.1f} %"
    elif decision.get("incumbent") is not None and decision.get("probability") is not None:
        text += f", no better than {decision['incumbent']:.4g} with {100 * decision['probability']:.1f} %"
    return text

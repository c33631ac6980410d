"""A scheduler for Ray Tune."""

from __future__ import annotations

import json
import logging
import pickle
from typing import TYPE_CHECKING, Any, Literal

from ray.tune.experiment import Trial
from ray.tune.result import EXPR_RESULT_FILE
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from ._values import plain
from .judge import Judge, ToolSettings, as_dict, tool_settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction

_log = logging.getLogger("foretell")

#: The file in a trial's folder that records how the trial ended.
_STATE = "foretell.json"

#: Settings with another name in Ray.
_OWN = {"direction": "Set mode='max' or mode='min' instead"}


class ForetellScheduler(FIFOScheduler):
    """A scheduler that forecasts the final value of each trial, and stops trials that will not win.

    It learns from trials that reach `max_t` or end without being stopped. `decisions` contains the last decision on each trial. After
    `Tuner.restore`, it continues with everything it had learned: each trial's folder records how the trial ended, in `foretell.json`.

    >>> from foretell.ray import ForetellScheduler
    >>> from ray import tune
    >>> scheduler = ForetellScheduler(max_t=20, grace_period=2)
    >>> config = tune.TuneConfig(metric="accuracy", mode="max", scheduler=scheduler, num_samples=60)

    Parameters
    ----------
    metric, mode
        The metric in the results, and `'max'` or `'min'` (default: those of `TuneConfig`).
    max_t
        The last step of a complete trial. A trial that reaches it is stopped, as by Ray's schedulers.
    time_attr
        The step in the results. If trials resume from checkpoints, use a step that your training code counts.
    grace_period
        The step before which no trial is stopped, as for Ray's schedulers.
    n_startup_trials
        The number of completed trials before any trial is stopped, including runs of `history` (default: 3).
    history
        Old runs to learn from: a path, a glob, the folder of a study, an Optuna study, the results of Ray Tune, a frame or lists.
        See `foretell.Forecaster.fit`.
    shadow
        Record decisions without stopping any trials.
    settings
        Settings of `foretell.Judge`, such as `caution`, `stop_probability`, `min_steps` and `background`. With `score="best"`, the
        score of a trial is its best result instead of its last.
    """

    _supports_buffered_results = False

    def __init__(
        self,
        metric: str | None = None,
        mode: Literal["max", "min"] | None = None,
        *,
        max_t: int,
        time_attr: str = "training_iteration",
        grace_period: int = 1,
        n_startup_trials: int | None = None,
        history: Any = None,
        shadow: bool = False,
        **settings: Unpack[ToolSettings],
    ) -> None:
        super().__init__()
        if mode not in (None, "max", "min"):
            raise ValueError(f"mode must be 'max' or 'min', not {mode!r}")
        self._metric, self._mode, self._max_t, self._time_attr = metric, mode, max_t, time_attr
        self._history = history
        self._settings: Any = tool_settings(settings, n_startup_trials, _OWN)
        self._shadow = shadow
        self._grace_period = grace_period
        Judge("maximize", shadow=shadow, **self._settings)  # refuses wrong settings now, and not after hours
        self._judge: Judge | None = None
        #: Whether no trial has reached `max_t` so far, to warn about.
        self._awaited = True
        self._curves: dict[str, tuple[list[float], list[float]]] = {}
        self._stopped: set[str] = set()
        #: The last decision on each trial by id: `stop`, `reason`, `forecast`, `std`, `probability`, `incumbent`.
        self.decisions: dict[str, dict[str, Any]] = {}

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        """Ray calls this with the metric and mode of `TuneConfig`."""
        if (self._metric and metric) or (self._mode and mode):
            return False
        self._metric, self._mode = self._metric or metric, self._mode or mode
        return True

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        """Ray calls this for each new trial."""
        if not self._metric or not self._mode:
            raise ValueError("ForetellScheduler requires a metric and a mode. Set them here or in TuneConfig")
        super().on_trial_add(tune_controller, trial)
        self._restore(trial)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        """Ray calls this for each result. Returns whether the trial continues."""
        step = self._take(trial, result)
        if step is not None and step >= self._max_t:
            self._finish(trial)
            return TrialScheduler.STOP
        steps, values = self._curves.get(trial.trial_id, ([], []))
        # no new value, or too early
        if not steps or step != steps[-1] or step < self._grace_period:
            return TrialScheduler.CONTINUE
        judge = self._known()
        decision = judge.decide(values, trial.config, steps, trial.trial_id)
        if decision is None:
            return TrialScheduler.CONTINUE
        self.decisions[trial.trial_id] = as_dict(decision)
        if decision.stop:
            kind = "would stop" if judge.shadow else "stopped"
            _log.info("trial %s %s at %g: %s", trial.trial_id, kind, step, decision.reason)
        if not decision.stop or judge.shadow:
            return TrialScheduler.CONTINUE
        self._stopped.add(trial.trial_id)
        _keep(trial, {"decision": as_dict(decision)})
        return TrialScheduler.STOP

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> None:
        """Ray calls this when a trial ends."""
        if trial.trial_id in self._stopped:
            return
        self._take(trial, result)
        if trial.trial_id in self._curves:
            self._finish(trial)
        else:
            names = ", ".join(sorted(map(str, result))) or "none"
            _log.warning(
                "trial %s ended without a result that contains %r and %r, so it is ignored. Its last result contains: %s",
                trial.trial_id, self._metric, self._time_attr, names,
            )  # fmt: skip

    def _take(self, trial: Trial, result: dict[str, Any]) -> float | None:
        """Adds a result to its curve, and returns its step. Results without the metric or the step are skipped."""
        if self._time_attr not in result:
            return None
        step = float(result[self._time_attr])
        if result.get(self._metric) is not None:
            steps, values = self._curves.setdefault(trial.trial_id, ([], []))
            # a trial resumed from a checkpoint reports some steps again: the first values are used
            if not steps or step > steps[-1]:
                steps.append(step)
                values.append(float(result[self._metric]))
        return step

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        """Ray calls this when a trial fails."""
        self._curves.pop(trial.trial_id, None)

    def _restore(self, trial: Trial) -> None:
        """Reads how a trial of a restored run ended, or its curve so far. A new trial has no files yet."""
        if (kept := _kept(trial, _STATE)) is not None:
            state = json.loads(kept)
            if "decision" in state:
                self._stopped.add(trial.trial_id)
                self.decisions[trial.trial_id] = state["decision"]
                return
            self._curves[trial.trial_id] = (state["steps"], state["values"])
            self._finish(trial, keep=False)
        elif trial.status == Trial.TERMINATED:
            _log.warning("trial %s ended before the run was restored, and its folder does not contain %s, so it is ignored", trial.trial_id, _STATE)
        elif (results := _kept(trial, EXPR_RESULT_FILE)) is not None:
            for line in results.splitlines():
                self._take(trial, json.loads(line))

    def save(self, checkpoint_path: str) -> None:
        """Ray calls this to write the scheduler's state. `Tuner.restore` does not need it."""
        kept = {name: value for name, value in self.__dict__.items() if name.startswith("_") or name == "decisions"}
        with open(checkpoint_path, "wb") as file:
            pickle.dump(kept, file)

    def restore(self, checkpoint_path: str) -> None:
        """Ray calls this to read the state written by `save`."""
        with open(checkpoint_path, "rb") as file:
            self.__dict__.update(pickle.load(file))

    def debug_string(self) -> str:
        """Ray calls this for its status."""
        count = 0 if self._judge is None else len(self._judge)
        stopped = sum(decision["stop"] for decision in self.decisions.values())
        return f"Using Foretell: learned from {count} completed trials, {stopped} trials will not win."

    def _known(self) -> Judge:
        if self._judge is None:
            direction: Direction = "maximize" if self._mode == "max" else "minimize"
            self._judge = Judge(direction, history=self._history, metric=self._metric, shadow=self._shadow, **self._settings)
        return self._judge

    def _finish(self, trial: Trial, keep: bool = True) -> None:
        if trial.trial_id not in self._curves:
            return
        steps, values = self._curves[trial.trial_id]
        if keep:
            _keep(trial, {"steps": steps, "values": values})
        judge = self._known()
        judge.add(trial.trial_id, values, trial.config, steps)
        self._awaited = self._awaited and steps[-1] < self._max_t
        if self._awaited and len(judge) >= judge.burn_in:
            self._awaited = False
            longest = max(ended[-1] for ended, _ in self._curves.values())
            _log.warning(
                "none of the %d completed trials reached max_t=%g. The longest one has %s=%g. The last value of each is used as its score. If "
                "that is the full length, use ForetellScheduler(max_t=%g)",
                len(judge), self._max_t, self._time_attr, longest, longest,
            )  # fmt: skip


def _keep(trial: Trial, state: dict[str, Any]) -> None:
    """Writes how a trial ended into its folder, for `Tuner.restore`."""
    storage = getattr(trial, "storage", None)
    if storage is None:
        return
    try:
        storage.storage_filesystem.create_dir(storage.trial_fs_path, recursive=True)
        with storage.storage_filesystem.open_output_stream(f"{storage.trial_fs_path}/{_STATE}") as file:
            file.write(json.dumps(state).encode())
    except OSError as error:
        _log.warning("cannot record how trial %s ended, so a restored run will not know it: %s", trial.trial_id, error)


def _kept(trial: Trial, name: str) -> str | None:
    """The text of a file in the trial's folder; `None` if there is none."""
    storage = getattr(trial, "storage", None)
    if storage is None or storage.trial_dir_name is None:
        return None
    try:
        with storage.storage_filesystem.open_input_stream(f"{storage.trial_fs_path}/{name}") as file:
            return str(file.read().decode())
    except OSError:
        return None

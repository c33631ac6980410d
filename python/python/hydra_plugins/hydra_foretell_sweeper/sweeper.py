"""A sweeper for Hydra that searches configurations with `foretell.Study`, and stops jobs that will not win."""

# without `from __future__ import annotations`: a dataclass looks up such annotations in sys.modules, where Hydra puts a plugin only after running it
import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import foretell
from foretell._ears import Ears
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, RangeSweep
from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from omegaconf import OmegaConf


@dataclass
class ForetellSweeperConf:
    """The settings under `hydra.sweeper`. `settings` contains further settings of `foretell.Study`."""

    _target_: str = "hydra_plugins.hydra_foretell_sweeper.sweeper.ForetellSweeper"
    metric: str = "score"
    direction: Optional[str] = None  # noqa: UP007, UP045
    epochs: int = 1
    trials: int = 40
    settings: Any = None


ConfigStore.instance().store(group="hydra/sweeper", name="foretell", node=ForetellSweeperConf, provider="foretell")


class _Stopped(BaseException):
    """Ends a job that will not win. Jobs that catch `Exception` do not catch it."""


class ForetellSweeper(Sweeper):
    """Runs one job after another. A job reports its metric by logging or printing lines such as `val_acc=0.91` or `val_acc: 0.91`."""

    def __init__(self, metric: str, direction: str | None, epochs: int, trials: int, settings: Any = None) -> None:
        self._metric = metric
        self._given = {"metric": metric, "direction": direction, "epochs": epochs, "trials": trials, **(settings or {})}
        self._trial: foretell.Trial | None = None

    def setup(self, *, hydra_context: Any, task_function: Callable[[Any], Any], config: Any) -> None:
        """Hydra calls this with the job."""
        self.config = config
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=lambda given: self._heard(task_function, given), config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        """Runs the study in the folder of the sweep, and writes `optimization_results.yaml`."""
        overrides = OverridesParser.create().parse_overrides(arguments)
        fixed = [override.input_line for override in overrides if not override.is_sweep_override()]
        searched = [override for override in overrides if override.is_sweep_override()]
        space = {_name(override): _parameter(override) for override in searched}
        keys = {_name(override): override.get_key_element() for override in searched}
        folder = Path(str(self.config.hydra.sweep.dir))
        study = foretell.Study(space, folder=folder / "foretell", **self._given)
        for trial in study:
            self._trial = trial
            with trial:
                words = [f"{keys[name]}={value}" for name, value in trial.config.items()]
                with contextlib.suppress(_Stopped):
                    (job,) = self.launcher.launch([[*fixed, *words]], initial_job_idx=trial.number)
                    returned = job.return_value
                    if not trial.reports:
                        trial.report(float(returned), trial.end)
        best = study.best
        if best is not None:
            result = {"name": "foretell", "best_evaluated_params": best["config"], "best_evaluated_result": best["score"]}
            OmegaConf.save(OmegaConf.create(result), folder / "optimization_results.yaml")

    def _heard(self, task: Callable[[Any], Any], given: Any) -> Any:
        """Runs the job, and reports the values in its output."""
        with Ears(self._metric, self._report):
            return task(given)

    def _report(self, value: float) -> None:
        trial = self._trial
        if trial is not None and trial.reports < trial.end and trial.report(value):
            raise _Stopped


def _name(override: Override) -> str:
    """The parameter's name: the key without `+`. In `group/option@package`, dots replace the signs that a name cannot contain."""
    return re.sub(r"[/@]", ".", override.get_key_element().lstrip("+"))


def _parameter(override: Override) -> Any:
    """The parameter of an override: `interval(1e-4,1e-1)`, `tag(log,interval(…))`, `range(1,9)`, `choice(a,b)` or `a,b`."""
    sweep = override.value()
    if isinstance(sweep, IntervalSweep):
        low, high = sweep.start, sweep.end
        of_ints = isinstance(low, int) and isinstance(high, int)
        if "log" in sweep.tags:
            return foretell.logint(low, high) if of_ints else foretell.log(low, high)
        return foretell.int(low, high) if of_ints else foretell.float(low, high)
    if isinstance(sweep, (RangeSweep, ChoiceSweep)):
        return foretell.choice(list(override.sweep_iterator()))
    raise ValueError(f"{override.input_line}: the parameter is unsupported. Give interval(…), range(…) or choice(…)")

"""The settings of a study, for editors and type checkers. Generated from the core by `python python/settings.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

#: The directions of a metric.
Direction = Literal[
    "maximize", "minimize",
]
#: The predictors, optionally with another width of the forecast.
Predictor = Literal[
    "last-value", "mean-gain", "svr-rbf", "svr-linear", "gp", "auto", "random-forest", "ols", "ridge", "last-value+gaussian",
    "last-value+calibrated", "mean-gain+gaussian", "mean-gain+calibrated", "svr-rbf+gaussian", "svr-rbf+calibrated",
    "svr-linear+gaussian", "svr-linear+calibrated", "gp+gaussian", "gp+calibrated", "auto+gaussian", "auto+calibrated",
    "random-forest+gaussian", "random-forest+calibrated", "ols+gaussian", "ols+calibrated", "ridge+gaussian",
    "ridge+calibrated",
]


class StudySettings(TypedDict, total=False):
    """The settings of a study, except the named arguments of `Study`."""

    #: Add an objective: a metric, a parameter, or a formula of parameters, for example `val_acc`, `weights:min` or
    #: `width^2*depth:min`. The first objective is the metric to forecast, and with several, the search looks for the Pareto
    #: front. Can be repeated (in a file: a table `[objectives]` with lines such as weights = "min").
    objective: str | Sequence[str] | Mapping[str, str] | None
    #: Set a limit that every trial must keep, such as `latency<=20` or `width*depth<=512`. Configurations whose parameters
    #: break it are not tried. A trial that certainly exceeds it is stopped and never becomes the best one. Can be repeated.
    limit: str | Sequence[str] | None
    #: Spend at most this many epochs on all trials together, instead of training a fixed number of trials.
    budget_epochs: int | None
    #: In Python: whether the objective continues a paused trial after the epochs that it has trained.
    checkpoints: bool | None
    #: Try this configuration first, for example `lr=0.1,opt=sgd` or a network such as `[C(64,3,1), SM(10)]`. The sampler
    #: chooses the values that you leave out. Can be repeated (in a file: `[[trial]]`).
    enqueue: Mapping[str, Any] | str | Sequence[Mapping[str, Any] | str] | None
    #: End the search once this many trials in a row bring no improvement.
    until_no_improvement: int | None
    #: End the search once a completed trial reaches this score. Running trials complete.
    target: float | None
    #: Train each configuration with this many seeds and compare configurations by their means. Each seed is a trial, and the
    #: remaining ones are skipped once the mean so far cannot win.
    repeats: int | None
    #: Into how many folds the script divides its data, to train once per fold. A trial then counts with the mean of its
    #: folds, and may be stopped between or within them. `epochs` is the length of one fold.
    folds: int | None
    #: Score each trial by its `last` or its `best` report, or, with `last:5`, by the mean of the last five. Foretell
    #: forecasts this score and compares trials by it.
    score: str | None
    #: Seed for all random choices. The same seed repeats a search with one worker.
    seed: int | None
    #: How to choose the next configuration (default: tpe-gp)
    sampler: Literal["random", "grid", "tpe", "gp", "tpe-gp"] | None
    #: How to decide which trial to train next, and for how long (default: full)
    scheduler: Literal["full", "successive-halving", "hyperband", "f-hyperband", "asha"] | None
    #: Promote one in ETA trials at each rung (η, the reduction factor).
    eta: int | None
    #: Use at most this many rungs of asha below the last epoch, leaving out the lowest ones (default: all)
    rungs: int | None
    #: How to rank trials at a rung, with the policy none or asha. Ranking by forecasts uses `predictor` and starts after
    #: `burn_in` completed trials; asha then ignores rungs that do not predict the final value.
    rank: Literal["value", "mean", "upper"] | None
    #: Run all brackets of Hyperband this many times.
    runs: int | None
    #: κ of f-Hyperband, in (0, 1]. Smaller values stop more trials.
    kappa: float | None
    #: Whether κ is a fraction of the promoted trials (next) or of all trials in the rung (rung).
    kappa_of: Literal["next", "rung"] | None
    #: Which results f-Hyperband compares a trial with: the earlier ones of its rung, as in the paper (rung), or all results
    #: at its level (level).
    reference: Literal["rung", "level"] | None
    #: Length of Q-learning's ε schedule, in networks (paper: 2700; default: the number of trials).
    epsilon_trials: int | None
    #: α, the learning rate of Q-learning.
    alpha: float | None
    #: γ, the discount: weight of the next state's value.
    gamma: float | None
    #: Q₀: value of actions that were never updated.
    initial_value: float | None
    #: How many earlier networks to replay after each result (paper: 100; its code: 128).
    replay: int | None
    #: Reward of Q-learning, such as `val_acc - 1e-8*weights`: a formula of the metric and of a network's weights, layers and
    #: flops (default: the metric)
    reward: str | None
    #: How to decide which trials to stop early (default: chain; with rungs none; with several objectives or a limit on a
    #: measured value srm; with `paper` srm)
    policy: Literal["none", "srm", "chain", "median", "patience", "asha"] | None
    #: How much risk to take for saving training. safe rarely loses the best trial, while fast often ends with the second or
    #: third best.
    caution: Literal["safe", "balanced", "fast"] | None
    #: Stop as in the paper: fit svr-rbf once, on 100 trials, and stop at the first check that is 95 % sure.
    paper: bool | None
    #: How many trials must complete before the first one is stopped. With rungs, this applies to each level (policy srm,
    #: median, patience) (default: 3; with rungs 20; with rungs ranked by forecasts 5; with `paper` 100)
    burn_in: int | None
    #: Stop a trial once the probability that it will lose is this high (Δ, in [0.5, 1)) (policy srm) (default: 0.99; with
    #: caution safe 0.999; with caution fast 0.95; with rungs 0.9; with `paper` 0.95)
    stop_probability: float | None
    #: Don't stop trials that are forecast to come this close to the best one, in units of the metric (δ) (policy srm)
    offset: float | None
    #: Compare each trial with the n-th best completed one instead of the best (policy srm)
    nth_best: int | None
    #: How many checks in a row must agree before a trial is stopped (policy srm) (default: 2; with rungs 1; with `paper` 1)
    agreeing_checks: int | None
    #: Whether Δ applies to each check, or to all checks of a trial together (policy srm)
    error_budget: Literal["per-check", "per-run", "per-run-evenly"] | None
    #: Fit the forecasts again once the completed trials have grown by this factor, for example 1.25, or only `once` (policy
    #: srm) (default: 1.05; with rungs once; with rungs ranked by forecasts 1.05; with `paper` once)
    refit: float | str | None
    #: Never stop this fraction of the trials, as an audit of the stop rule.
    exempt: float | None
    #: Stop a trial after this many reports without an improvement (policy patience)
    patience: int | None
    #: How to forecast the final value of a trial (policy srm) (default: mean-gain; with rungs auto; with `paper`
    #: svr-rbf+gaussian)
    predictor: Predictor | None
    #: Whether trials are stopped. If not, every trial is completed and no forecasts are made.
    stopping: bool | None
    #: Train every trial to the end, but record which ones would have been stopped. The report shows how much training that
    #: would have saved, and which good trials it would have lost.
    shadow: bool | None


class StopSettings(TypedDict, total=False):
    """The settings of the stop rule."""

    #: Score each trial by its `last` or its `best` report, or, with `last:5`, by the mean of the last five. Foretell
    #: forecasts this score and compares trials by it.
    score: str | None
    #: Seed for all random choices. The same seed repeats a search with one worker.
    seed: int | None
    #: Promote one in ETA trials at each rung (η, the reduction factor).
    eta: int | None
    #: How to decide which trials to stop early (default: chain; with rungs none; with several objectives or a limit on a
    #: measured value srm; with `paper` srm)
    policy: Literal["none", "srm", "chain", "median", "patience", "asha"] | None
    #: How much risk to take for saving training. safe rarely loses the best trial, while fast often ends with the second or
    #: third best.
    caution: Literal["safe", "balanced", "fast"] | None
    #: Stop as in the paper: fit svr-rbf once, on 100 trials, and stop at the first check that is 95 % sure.
    paper: bool | None
    #: How many trials must complete before the first one is stopped. With rungs, this applies to each level (policy srm,
    #: median, patience) (default: 3; with rungs 20; with rungs ranked by forecasts 5; with `paper` 100)
    burn_in: int | None
    #: Stop a trial once the probability that it will lose is this high (Δ, in [0.5, 1)) (policy srm) (default: 0.99; with
    #: caution safe 0.999; with caution fast 0.95; with rungs 0.9; with `paper` 0.95)
    stop_probability: float | None
    #: Don't stop trials that are forecast to come this close to the best one, in units of the metric (δ) (policy srm)
    offset: float | None
    #: Compare each trial with the n-th best completed one instead of the best (policy srm)
    nth_best: int | None
    #: How many checks in a row must agree before a trial is stopped (policy srm) (default: 2; with rungs 1; with `paper` 1)
    agreeing_checks: int | None
    #: Whether Δ applies to each check, or to all checks of a trial together (policy srm)
    error_budget: Literal["per-check", "per-run", "per-run-evenly"] | None
    #: Fit the forecasts again once the completed trials have grown by this factor, for example 1.25, or only `once` (policy
    #: srm) (default: 1.05; with rungs once; with rungs ranked by forecasts 1.05; with `paper` once)
    refit: float | str | None
    #: Never stop this fraction of the trials, as an audit of the stop rule.
    exempt: float | None
    #: Stop a trial after this many reports without an improvement (policy patience)
    patience: int | None
    #: How to forecast the final value of a trial (policy srm) (default: mean-gain; with rungs auto; with `paper`
    #: svr-rbf+gaussian)
    predictor: Predictor | None


class PrunerSettings(TypedDict, total=False):
    """The settings of the stop rule for tools with their own name for the burn-in."""

    #: Score each trial by its `last` or its `best` report, or, with `last:5`, by the mean of the last five. Foretell
    #: forecasts this score and compares trials by it.
    score: str | None
    #: Seed for all random choices. The same seed repeats a search with one worker.
    seed: int | None
    #: Promote one in ETA trials at each rung (η, the reduction factor).
    eta: int | None
    #: How to decide which trials to stop early (default: chain; with rungs none; with several objectives or a limit on a
    #: measured value srm; with `paper` srm)
    policy: Literal["none", "srm", "chain", "median", "patience", "asha"] | None
    #: How much risk to take for saving training. safe rarely loses the best trial, while fast often ends with the second or
    #: third best.
    caution: Literal["safe", "balanced", "fast"] | None
    #: Stop as in the paper: fit svr-rbf once, on 100 trials, and stop at the first check that is 95 % sure.
    paper: bool | None
    #: Stop a trial once the probability that it will lose is this high (Δ, in [0.5, 1)) (policy srm) (default: 0.99; with
    #: caution safe 0.999; with caution fast 0.95; with rungs 0.9; with `paper` 0.95)
    stop_probability: float | None
    #: Don't stop trials that are forecast to come this close to the best one, in units of the metric (δ) (policy srm)
    offset: float | None
    #: Compare each trial with the n-th best completed one instead of the best (policy srm)
    nth_best: int | None
    #: How many checks in a row must agree before a trial is stopped (policy srm) (default: 2; with rungs 1; with `paper` 1)
    agreeing_checks: int | None
    #: Whether Δ applies to each check, or to all checks of a trial together (policy srm)
    error_budget: Literal["per-check", "per-run", "per-run-evenly"] | None
    #: Fit the forecasts again once the completed trials have grown by this factor, for example 1.25, or only `once` (policy
    #: srm) (default: 1.05; with rungs once; with rungs ranked by forecasts 1.05; with `paper` once)
    refit: float | str | None
    #: Never stop this fraction of the trials, as an audit of the stop rule.
    exempt: float | None
    #: Stop a trial after this many reports without an improvement (policy patience)
    patience: int | None
    #: How to forecast the final value of a trial (policy srm) (default: mean-gain; with rungs auto; with `paper`
    #: svr-rbf+gaussian)
    predictor: Predictor | None

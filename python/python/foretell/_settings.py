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

    #: Objective: a metric, a parameter, or a formula of parameters. For example: `val_acc`, `weights:min`,
    #: `width^2*depth:min`. The first objective is the metric to forecast. With several objectives, the search looks for the
    #: Pareto front. Can be repeated (in a file: a table `[objectives]` with lines such as weights = "min").
    objective: str | Sequence[str] | Mapping[str, str] | None
    #: Limit that every trial must keep, such as `latency<=20`. A trial that certainly exceeds it is stopped, and is never the
    #: best one. Can be repeated.
    limit: str | Sequence[str] | None
    #: Maximum number of epochs of all trials together.
    budget_epochs: int | None
    #: In Python: whether the objective continues a paused trial after the epochs that it has trained.
    checkpoints: bool | None
    #: Configuration to try first. For example: `lr=0.1,opt=sgd`, or a network such as `[C(64,3,1), SM(10)]`. The sampler
    #: chooses the values that you leave out. Can be repeated (in a file: `[[trial]]`).
    enqueue: Mapping[str, Any] | str | Sequence[Mapping[str, Any] | str] | None
    #: End the search after this many trials without improvement.
    until_no_improvement: int | None
    #: End the search once a completed trial reaches this score. Running trials complete.
    target: float | None
    #: Number of seeds to train each configuration with. Each seed is a trial, and configurations are compared by their means.
    #: The remaining seeds are not trained once the mean so far cannot win.
    repeats: int | None
    #: Score of a trial: its `last` or `best` report. With `last:5`, the score is the mean of the last five reports. Foretell
    #: forecasts the score and compares trials by it.
    score: str | None
    #: Seed for all random choices.
    seed: int | None
    #: Method that chooses the next configuration (default: tpe-gp)
    sampler: Literal["random", "grid", "tpe", "gp", "tpe-gp"] | None
    #: Method that decides which trial to train, and how long (default: full)
    scheduler: Literal["full", "successive-halving", "hyperband", "f-hyperband", "asha"] | None
    #: η, the reduction factor. One in ETA trials is promoted at each rung.
    eta: int | None
    #: Maximum number of rungs of asha below the last epoch. The lowest ones are left out (default: all)
    rungs: int | None
    #: How to rank trials at a rung. This needs the policy none or asha. Ranking by forecasts uses `predictor` and starts
    #: after `burn_in` completed trials. asha then ignores rungs that do not predict the final value.
    rank: Literal["value", "mean", "upper"] | None
    #: Number of times to run all brackets of Hyperband.
    runs: int | None
    #: κ of f-Hyperband, in (0, 1]. A smaller κ stops more trials.
    kappa: float | None
    #: Base of the fraction κ: the promoted trials (next) or all trials in the rung (rung).
    kappa_of: Literal["next", "rung"] | None
    #: Results that f-Hyperband compares a trial with. With rung, these are the earlier results of its rung (as in the paper);
    #: with level, all results at its level.
    reference: Literal["rung", "level"] | None
    #: Length of Q-learning's ε schedule, in networks (paper: 2700; default: the number of trials).
    epsilon_trials: int | None
    #: α, the learning rate of Q-learning.
    alpha: float | None
    #: γ, the discount: weight of the next state's value.
    gamma: float | None
    #: Q₀: value of actions that were never updated.
    initial_value: float | None
    #: Number of networks to replay after each result (paper: 100; its code: 128).
    replay: int | None
    #: Reward of Q-learning, such as `val_acc - 1e-8*weights`. It is a formula of the metric and of a network's weights,
    #: layers and flops (default: the metric)
    reward: str | None
    #: Stop rule (default: chain; with caution fast asha; with rungs none; with `paper` srm)
    policy: Literal["none", "srm", "chain", "median", "patience", "asha"] | None
    #: How much risk to accept to save training. With safe, the best trial is rarely lost; with fast, a search often ends with
    #: the second or third best.
    caution: Literal["safe", "balanced", "fast"] | None
    #: Use the settings of the paper. Fit svr-rbf once, on 100 trials, and stop at the first check that is 95 % sure.
    paper: bool | None
    #: Number of completed trials before the first stop. With rungs, this applies to each level (default: 3; with rungs 20;
    #: with rungs ranked by forecasts 5; with `paper` 100)
    burn_in: int | None
    #: Δ, in [0.5, 1): probability of not winning that stops a trial (default: 0.99; with caution safe 0.999; with caution
    #: fast 0.95; with rungs 0.9; with `paper` 0.95)
    stop_probability: float | None
    #: δ, in units of the metric. Trials that are forecast to come this close to the best one are not stopped.
    offset: float | None
    #: Compare each trial with the n-th best completed one.
    nth_best: int | None
    #: Number of consecutive checks that must agree before stopping (default: 2; with rungs 1; with `paper` 1)
    agreeing_checks: int | None
    #: Whether Δ applies to each check, or to all checks together.
    error_budget: Literal["per-check", "per-run", "per-run-evenly"] | None
    #: Growth factor of completed trials before refitting, or `once`. For example: 1.25 (default: 1.05; with rungs once; with
    #: rungs ranked by forecasts 1.05; with `paper` once)
    refit: float | str | None
    #: Fraction of trials that are never stopped, as an audit.
    exempt: float | None
    #: Policy patience: number of reports without improvement before stopping.
    patience: int | None
    #: Predictor for the forecasts (default: mean-gain; with rungs auto; with `paper` svr-rbf+gaussian)
    predictor: Predictor | None
    #: Whether trials are stopped. If not, every trial is completed and no forecasts are made.
    stopping: bool | None
    #: Record decisions without stopping any trials. The report shows how much training early stopping would have saved, and
    #: its losses.
    shadow: bool | None


class StopSettings(TypedDict, total=False):
    """The settings of the stop rule."""

    #: How much risk to accept to save training. With safe, the best trial is rarely lost; with fast, a search often ends with
    #: the second or third best.
    caution: Literal["safe", "balanced", "fast"] | None
    #: Number of completed trials before the first stop. With rungs, this applies to each level (default: 3; with rungs 20;
    #: with rungs ranked by forecasts 5; with `paper` 100)
    burn_in: int | None
    #: Δ, in [0.5, 1): probability of not winning that stops a trial (default: 0.99; with caution safe 0.999; with caution
    #: fast 0.95; with rungs 0.9; with `paper` 0.95)
    stop_probability: float | None
    #: δ, in units of the metric. Trials that are forecast to come this close to the best one are not stopped.
    offset: float | None
    #: Compare each trial with the n-th best completed one.
    nth_best: int | None
    #: Number of consecutive checks that must agree before stopping (default: 2; with rungs 1; with `paper` 1)
    agreeing_checks: int | None
    #: Whether Δ applies to each check, or to all checks together.
    error_budget: Literal["per-check", "per-run", "per-run-evenly"] | None
    #: Growth factor of completed trials before refitting, or `once`. For example: 1.25 (default: 1.05; with rungs once; with
    #: rungs ranked by forecasts 1.05; with `paper` once)
    refit: float | str | None
    #: Predictor for the forecasts (default: mean-gain; with rungs auto; with `paper` svr-rbf+gaussian)
    predictor: Predictor | None
    #: Use the settings of the paper. Fit svr-rbf once, on 100 trials, and stop at the first check that is 95 % sure.
    paper: bool | None
    #: Score of a trial: its `last` or `best` report. With `last:5`, the score is the mean of the last five reports. Foretell
    #: forecasts the score and compares trials by it.
    score: str | None
    #: Fraction of trials that are never stopped, as an audit.
    exempt: float | None
    #: Stop rule (default: chain; with caution fast asha; with rungs none; with `paper` srm)
    policy: Literal["none", "srm", "chain", "median", "patience", "asha"] | None
    #: Policy patience: number of reports without improvement before stopping.
    patience: int | None
    #: η, the reduction factor. One in ETA trials is promoted at each rung.
    eta: int | None
    #: Seed for all random choices.
    seed: int | None


class PrunerSettings(TypedDict, total=False):
    """The settings of the stop rule for tools with their own name for the burn-in."""

    #: How much risk to accept to save training. With safe, the best trial is rarely lost; with fast, a search often ends with
    #: the second or third best.
    caution: Literal["safe", "balanced", "fast"] | None
    #: Δ, in [0.5, 1): probability of not winning that stops a trial (default: 0.99; with caution safe 0.999; with caution
    #: fast 0.95; with rungs 0.9; with `paper` 0.95)
    stop_probability: float | None
    #: δ, in units of the metric. Trials that are forecast to come this close to the best one are not stopped.
    offset: float | None
    #: Compare each trial with the n-th best completed one.
    nth_best: int | None
    #: Number of consecutive checks that must agree before stopping (default: 2; with rungs 1; with `paper` 1)
    agreeing_checks: int | None
    #: Whether Δ applies to each check, or to all checks together.
    error_budget: Literal["per-check", "per-run", "per-run-evenly"] | None
    #: Growth factor of completed trials before refitting, or `once`. For example: 1.25 (default: 1.05; with rungs once; with
    #: rungs ranked by forecasts 1.05; with `paper` once)
    refit: float | str | None
    #: Predictor for the forecasts (default: mean-gain; with rungs auto; with `paper` svr-rbf+gaussian)
    predictor: Predictor | None
    #: Use the settings of the paper. Fit svr-rbf once, on 100 trials, and stop at the first check that is 95 % sure.
    paper: bool | None
    #: Score of a trial: its `last` or `best` report. With `last:5`, the score is the mean of the last five reports. Foretell
    #: forecasts the score and compares trials by it.
    score: str | None
    #: Fraction of trials that are never stopped, as an audit.
    exempt: float | None
    #: Stop rule (default: chain; with caution fast asha; with rungs none; with `paper` srm)
    policy: Literal["none", "srm", "chain", "median", "patience", "asha"] | None
    #: Policy patience: number of reports without improvement before stopping.
    patience: int | None
    #: η, the reduction factor. One in ETA trials is promoted at each rung.
    eta: int | None
    #: Seed for all random choices.
    seed: int | None

"""The settings of a study, for editors and type checkers. Made from the core by `python python/settings.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

#: Which way is better.
Direction = Literal[
    "maximize", "minimize",
]
#: The predictors, each with another spread if you like.
Predictor = Literal[
    "last-value", "mean-gain", "svr-rbf", "svr-linear", "gp", "auto", "random-forest", "ols", "ridge", "lce", "lce-domhan2015",
    "bnn", "bnn-plain", "last-value+gaussian", "last-value+calibrated", "mean-gain+gaussian", "mean-gain+calibrated",
    "svr-rbf+gaussian", "svr-rbf+calibrated", "svr-linear+gaussian", "svr-linear+calibrated", "gp+gaussian", "gp+calibrated",
    "auto+gaussian", "auto+calibrated", "random-forest+gaussian", "random-forest+calibrated", "ols+gaussian", "ols+calibrated",
    "ridge+gaussian", "ridge+calibrated", "lce+gaussian", "lce+calibrated", "lce-domhan2015+gaussian",
    "lce-domhan2015+calibrated", "bnn+gaussian", "bnn+calibrated", "bnn-plain+gaussian", "bnn-plain+calibrated",
]


class StudySettings(TypedDict, total=False):
    """Every choice of a study beyond the arguments that `Study` names."""

    #: Objective, such as `val_acc`, `weights:min` or `width^2*depth:min`: what is reported, a parameter or a formula over
    #: parameters; the first is the metric that is forecast, and with others the search looks for the whole front; may be
    #: repeated (in a file: a table `[objectives]` of lines such as weights = "min").
    objective: str | Sequence[str] | Mapping[str, str] | None
    #: Limit that a trial must keep, such as `latency<=20`: one that surely breaks it is stopped, and never counts as best;
    #: may be repeated.
    limit: str | Sequence[str] | None
    #: Total epochs that all trials together may consume; the sampler, scheduler and policy that use them best are chosen
    #: unless you give them.
    budget_epochs: int | None
    #: Whether the training keeps checkpoints; where it does not, nothing is chosen that pauses trials.
    checkpoints: bool | None
    #: Configuration to try first, such as `lr=0.1,opt=sgd`, or a network such as `[C(64,3,1), SM(10)]`; the sampler chooses
    #: what it leaves open; may be repeated (in a file: `[[trial]]`).
    enqueue: Mapping[str, Any] | str | Sequence[Mapping[str, Any] | str] | None
    #: End the search once this many trials in a row have ended without a new best.
    until_no_improvement: int | None
    #: Which value of a trial counts, and is forecast: `last`, `best`, or `last:5` for the mean of the last five reports.
    score: str | None
    #: Seed of all random choices.
    seed: int | None
    #: How the next configuration is chosen (default: tpe-gp)
    sampler: Literal["random", "grid", "tpe", "gp", "tpe-gp", "q-learning"] | None
    #: Which trial to train next, and for how many epochs (default: full; with a budget asha)
    scheduler: Literal["full", "successive-halving", "hyperband", "f-hyperband", "asha"] | None
    #: η, the reduction factor: one in ETA trials is promoted at each rung.
    eta: int | None
    #: Largest number of rungs that asha uses below the end; the lowest ones are left out (default: all; with a budget 2)
    rungs: int | None
    #: How to rank trials at a rung, with the policies none and asha. Forecasts are made by `predictor` once `burn_in` trials
    #: have finished; asha then ignores rungs that do not predict the end.
    rank: Literal["value", "mean", "upper"] | None
    #: Number of times to run Hyperband's brackets.
    runs: int | None
    #: κ of f-Hyperband, in (0, 1]; a smaller κ is bolder.
    kappa: float | None
    #: Which trials κ is a share of: the promoted ones, or all in the rung.
    kappa_of: Literal["next", "rung"] | None
    #: Which results f-Hyperband compares a trial with: those of its rung so far (as in the paper), or all at its level.
    reference: Literal["rung", "level"] | None
    #: Number of networks over which Q-learning's ε schedule runs (the paper: 2700; default: the number of trials).
    epsilon_trials: int | None
    #: α, the learning rate: how far a value moves towards its target.
    alpha: float | None
    #: γ, the discount: the weight of the next state's value.
    gamma: float | None
    #: Q₀: the value of actions that were never updated.
    initial_value: float | None
    #: Number of networks to replay after each result (the paper: 100; its code: 128).
    replay: int | None
    #: Reward of Q-learning, such as `val_acc - 1e-8*weights`: a formula over the metric and a network's weights, layers and
    #: flops (default: the metric)
    reward: str | None
    #: Rule by which trials are stopped (default: rungs-first; with rungs none; with `paper` srm)
    policy: Literal["none", "srm", "rungs-first", "median", "patience", "asha", "lce", "lce-optimistic"] | None
    #: How much risk to accept to save training: safe almost never loses the best trial, fast sometimes ends with the second
    #: best.
    caution: Literal["safe", "balanced", "fast"] | None
    #: Use the paper's settings: fit svr-rbf once, on 100 trials, and stop at the first check that is 95 % sure.
    paper: bool | None
    #: Number of trials to train to their end before any is stopped; with rungs, to each level (default: 3; with rungs 20;
    #: with rungs ranked by forecasts 5; with `paper` 100)
    burn_in: int | None
    #: Δ, in [0.5, 1): stop a trial once the probability that it will not win reaches this (default: 0.99; with caution safe
    #: 0.999; with caution fast 0.95; with rungs 0.9; with `paper` 0.95)
    stop_probability: float | None
    #: δ, in units of the metric: let trials finish that are forecast to come this close to the best.
    offset: float | None
    #: Compare with the n-th best finished trial.
    nth_best: int | None
    #: Number of consecutive checks that must agree before a trial is stopped (default: 2; with rungs 1; with `paper` 1)
    agreeing_checks: int | None
    #: Whether Δ applies to each check, or to all checks of a trial together.
    error_budget: Literal["per-check", "per-run", "per-run-evenly"] | None
    #: Refit when the number of finished trials has grown by this factor, such as 1.25, or `once` (default: 1.05; with rungs
    #: once; with rungs ranked by forecasts 1.05; with `paper` once)
    refit: float | str | None
    #: Share of trials that are never stopped, as an unbiased audit.
    exempt: float | None
    #: Policy patience: number of reports without a new best before a trial is stopped.
    patience: int | None
    #: Predictor that makes the forecasts (default: mean-gain; with rungs auto; with `paper` svr-rbf+gaussian)
    predictor: Predictor | None
    #: Whether trials are stopped; without, every one trains to its end and no forecasts are made.
    stopping: bool | None
    #: Decide and record, but stop nothing: shows what stopping would have saved and lost.
    shadow: bool | None


class StopSettings(TypedDict, total=False):
    """When a forecast stops a training."""

    #: How much risk to accept to save training: safe almost never loses the best trial, fast sometimes ends with the second
    #: best.
    caution: Literal["safe", "balanced", "fast"] | None
    #: Number of trials to train to their end before any is stopped; with rungs, to each level (default: 3; with rungs 20;
    #: with rungs ranked by forecasts 5; with `paper` 100)
    burn_in: int | None
    #: Δ, in [0.5, 1): stop a trial once the probability that it will not win reaches this (default: 0.99; with caution safe
    #: 0.999; with caution fast 0.95; with rungs 0.9; with `paper` 0.95)
    stop_probability: float | None
    #: δ, in units of the metric: let trials finish that are forecast to come this close to the best.
    offset: float | None
    #: Compare with the n-th best finished trial.
    nth_best: int | None
    #: Number of consecutive checks that must agree before a trial is stopped (default: 2; with rungs 1; with `paper` 1)
    agreeing_checks: int | None
    #: Whether Δ applies to each check, or to all checks of a trial together.
    error_budget: Literal["per-check", "per-run", "per-run-evenly"] | None
    #: Refit when the number of finished trials has grown by this factor, such as 1.25, or `once` (default: 1.05; with rungs
    #: once; with rungs ranked by forecasts 1.05; with `paper` once)
    refit: float | str | None
    #: Predictor that makes the forecasts (default: mean-gain; with rungs auto; with `paper` svr-rbf+gaussian)
    predictor: Predictor | None
    #: Use the paper's settings: fit svr-rbf once, on 100 trials, and stop at the first check that is 95 % sure.
    paper: bool | None
    #: Which value of a trial counts, and is forecast: `last`, `best`, or `last:5` for the mean of the last five reports.
    score: str | None
    #: Share of trials that are never stopped, as an unbiased audit.
    exempt: float | None
    #: Rule by which trials are stopped (default: rungs-first; with rungs none; with `paper` srm)
    policy: Literal["none", "srm", "rungs-first", "median", "patience", "asha", "lce", "lce-optimistic"] | None
    #: Policy patience: number of reports without a new best before a trial is stopped.
    patience: int | None
    #: η, the reduction factor: one in ETA trials is promoted at each rung.
    eta: int | None
    #: Seed of all random choices.
    seed: int | None


class PrunerSettings(TypedDict, total=False):
    """The same for tools that name the burn-in themselves."""

    #: How much risk to accept to save training: safe almost never loses the best trial, fast sometimes ends with the second
    #: best.
    caution: Literal["safe", "balanced", "fast"] | None
    #: Δ, in [0.5, 1): stop a trial once the probability that it will not win reaches this (default: 0.99; with caution safe
    #: 0.999; with caution fast 0.95; with rungs 0.9; with `paper` 0.95)
    stop_probability: float | None
    #: δ, in units of the metric: let trials finish that are forecast to come this close to the best.
    offset: float | None
    #: Compare with the n-th best finished trial.
    nth_best: int | None
    #: Number of consecutive checks that must agree before a trial is stopped (default: 2; with rungs 1; with `paper` 1)
    agreeing_checks: int | None
    #: Whether Δ applies to each check, or to all checks of a trial together.
    error_budget: Literal["per-check", "per-run", "per-run-evenly"] | None
    #: Refit when the number of finished trials has grown by this factor, such as 1.25, or `once` (default: 1.05; with rungs
    #: once; with rungs ranked by forecasts 1.05; with `paper` once)
    refit: float | str | None
    #: Predictor that makes the forecasts (default: mean-gain; with rungs auto; with `paper` svr-rbf+gaussian)
    predictor: Predictor | None
    #: Use the paper's settings: fit svr-rbf once, on 100 trials, and stop at the first check that is 95 % sure.
    paper: bool | None
    #: Which value of a trial counts, and is forecast: `last`, `best`, or `last:5` for the mean of the last five reports.
    score: str | None
    #: Share of trials that are never stopped, as an unbiased audit.
    exempt: float | None
    #: Rule by which trials are stopped (default: rungs-first; with rungs none; with `paper` srm)
    policy: Literal["none", "srm", "rungs-first", "median", "patience", "asha", "lce", "lce-optimistic"] | None
    #: Policy patience: number of reports without a new best before a trial is stopped.
    patience: int | None
    #: η, the reduction factor: one in ETA trials is promoted at each rung.
    eta: int | None
    #: Seed of all random choices.
    seed: int | None

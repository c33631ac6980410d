//! Policies: by what rule running trials are stopped.

use serde::{Deserialize, Serialize};

/// By what rule running trials are stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// No trial is stopped, and no decision is made.
    None,
    /// By their forecasts: the paper's rule, with any predictor (`srm` on the command line). `last-value` as the predictor
    /// gives the last-value criterion.
    #[default]
    Forecast,
    /// By their forecasts, and also where the end is known, whatever its rank: where the forecast's standard deviation is below
    /// 0.005 of the metric's range (of what lies between the floor and the ceiling or best score, where no ceiling is known).
    /// The optimistic mode of Domhan et al. 2015; their spread leaves the curve's noise out, a forecast's has it in.
    Optimistic,
    /// The median rule: stop a trial whose best score so far is below the median of the running means of those that were
    /// trained as far as it is to be. Source: Golovin et al., "Google Vizier", KDD 2017, §3.2.2.
    Median,
    /// Stop a trial whose best score is this many reports old. It saves training that has come to rest, of winners too.
    Patience(usize),
    /// ASHA that stops instead of pausing, so that no checkpoint is needed: at its rungs, R/η² and R/η, a trial goes on if it is among
    /// the best ⌊n/η⌋ (at least the best) of the n that have reached the level, itself counted. There is no burn-in. The number is η.
    /// Rungs below R/η² are left out: their ranks say little of the end (see `docs/research/budget.md`). Source: Li et al. 2020; the stopping variant is that of Ray Tune and of Optuna's `SuccessiveHalvingPruner`.
    Asha(u64),
    /// Perfect foresight: stop a trial that ends at or below what it has to beat. The most that any forecast could save;
    /// in replays only.
    Oracle,
}

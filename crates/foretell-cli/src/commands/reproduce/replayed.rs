//! A row of the simulated speed-ups, and the setting that it is measured with.

use super::measure::Part;
use super::released::Prepared;
use crate::plot;
use foretell_search::{PolicyName, Reference, ReplaySpec};
use serde::Serialize;

/// The paper's predictor with its one Gaussian σ(τ), and ours.
pub(super) const PREDICTORS: [&str; 2] = ["svr-rbf+gaussian", "auto"];
/// Curves before anything is stopped: d, and how many are handed in for a warm start.
pub(super) const BURN_IN: usize = 100;

/// A row of the simulated speed-ups.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Replayed {
    pub(super) part: Part,
    pub(super) curves: &'static str,
    pub(super) preparation: &'static str,
    /// `delta`, `delta and offset`, `nth best`; with Hyperband `none`, `cold`, `warm` or `oracle`.
    pub(super) variant: &'static str,
    pub(super) predictor: Option<&'static str>,
    /// Which rule stops: the policy's name in `foretell search`.
    pub(super) policy: Option<PolicyName>,
    /// How many of the runs each order has; `None` for all of them, and with Hyperband.
    pub(super) study_size: Option<usize>,
    /// How many runs are trained to their end before any is stopped.
    pub(super) burn_in: usize,
    pub(super) stop_probability: Option<f64>,
    pub(super) offset: f64,
    pub(super) nth_best: usize,
    pub(super) reference: Option<Reference>,
    pub(super) kappa: Option<f64>,
    pub(super) orderings: usize,
    /// How many runs were taken in each order.
    pub(super) runs: usize,
    pub(super) speedup_mean: f64,
    pub(super) speedup_stderr: f64,
    /// The share of orderings in which the best run was kept; of Hyperband, the mean of the best final values of its runs.
    pub(super) best_kept: Option<f64>,
    pub(super) best_of_run_mean: Option<f64>,
    pub(super) best_of_run_stderr: Option<f64>,
    pub(super) regret_sd_mean: f64,
    pub(super) published: Option<f64>,
    /// Of Hyperband, for figures: the speed-up by iteration, and the best so far by what was spent.
    #[serde(skip)]
    pub(super) iterations: Vec<(f64, f64, f64)>,
    #[serde(skip)]
    pub(super) trajectory: Vec<plot::BestSoFarPoint>,
}

/// A row that is to be filled, and its setting.
pub(super) struct Wanted {
    pub(super) row: Replayed,
    pub(super) spec: ReplaySpec,
}

/// A row of `part` on `prepared` without numbers.
pub(super) fn blank(part: Part, prepared: &Prepared, variant: &'static str) -> Replayed {
    Replayed {
        part,
        curves: prepared.stem,
        preparation: prepared.preparation,
        variant,
        predictor: None,
        policy: None,
        study_size: None,
        burn_in: BURN_IN,
        stop_probability: None,
        offset: 0.0,
        nth_best: 1,
        reference: None,
        kappa: None,
        orderings: 0,
        runs: 0,
        speedup_mean: f64::NAN,
        speedup_stderr: f64::NAN,
        best_kept: None,
        best_of_run_mean: None,
        best_of_run_stderr: None,
        regret_sd_mean: f64::NAN,
        published: None,
        iterations: Vec::new(),
        trajectory: Vec::new(),
    }
}

/// A speed-up with its standard error.
pub(super) fn times(mean: f64, stderr: f64) -> String {
    format!("{mean:.2} ± {stderr:.2}")
}

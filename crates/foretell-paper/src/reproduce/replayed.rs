//! A row of the simulated speed-ups, and the setting that it is measured with.

use super::measure::Part;
use super::released::Prepared;
use crate::plot;
use foretell_search::{Reference, ReplaySpec};
use serde::{Deserialize, Serialize};

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
    /// Whether scores below the floor were compressed, which the paper does not do.
    pub(super) compressed: bool,
    /// `delta`, `delta and offset`, `nth best`; with Hyperband `none`, `cold`, `warm` or `oracle`.
    pub(super) variant: &'static str,
    pub(super) predictor: Option<&'static str>,
    /// Which rule stops: the policy's name in `foretell search`.
    pub(super) policy: Option<String>,
    /// How many of the runs each order has; `None` for all of them, and with Hyperband.
    pub(super) study_size: Option<usize>,
    /// How many runs are trained to their end before any is stopped.
    pub(super) burn_in: usize,
    pub(super) stop_probability: Option<f64>,
    pub(super) offset: f64,
    pub(super) nth_best: usize,
    pub(super) reference: Option<Reference>,
    pub(super) kappa: Option<f64>,
    #[serde(flatten)]
    pub(super) numbers: Numbers,
    pub(super) published: Option<f64>,
    /// Of Hyperband, for figures.
    #[serde(skip)]
    pub(super) course: Course,
}

impl Replayed {
    /// The file, for people; marked where scores were compressed.
    pub(super) fn name(&self) -> String {
        format!("{}{}", self.curves, if self.compressed { " (compressed)" } else { "" })
    }
}

/// What a replay gave.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Numbers {
    pub(super) orderings: usize,
    /// How many runs were taken in each order.
    pub(super) runs: usize,
    pub(super) speedup_mean: f64,
    pub(super) speedup_stderr: f64,
    /// The fraction of orderings in which the best run was kept.
    pub(super) best_kept: Option<f64>,
    /// Of Hyperband, the mean of the best final values of its runs.
    pub(super) best_of_run_mean: Option<f64>,
    pub(super) best_of_run_stderr: Option<f64>,
    pub(super) regret_sd_mean: f64,
}

/// The course of a replay of Hyperband.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Course {
    /// The speed-up by iteration: (iteration, mean, standard error).
    pub(super) iterations: Vec<(f64, f64, f64)>,
    /// The best so far by what was spent.
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
        compressed: prepared.compressed,
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
        numbers: Numbers::default(),
        published: None,
        course: Course::default(),
    }
}

/// A speed-up with its standard error.
pub(super) fn times(mean: f64, stderr: f64) -> String {
    format!("{mean:.2} ± {stderr:.2}")
}

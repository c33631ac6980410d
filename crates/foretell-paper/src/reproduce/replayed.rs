//! A row of the simulated speed-ups, and the setting that it is measured with.

use super::kept::{StaticName, interned, interned_if_any};
use super::measure::PaperPart;
use super::released::PreparedFile;
use foretell_search::{BestSoFarPoint, Reference, ReplaySetting};
use serde::{Deserialize, Serialize};

/// The paper's predictor with its one Gaussian σ(τ), and ours.
pub(super) const STOPPING_PREDICTORS: [&str; 2] = ["svr-rbf+gaussian", "auto"];
/// Curves before anything is stopped: d, and how many are handed in for a warm start.
pub(super) const BURN_IN: usize = 100;

/// A row of the simulated speed-ups.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReplayRow {
    /// The part of the paper.
    pub part: PaperPart,
    /// The name of the file.
    #[serde(deserialize_with = "interned")]
    pub curves: StaticName,
    /// The name of its preparation.
    #[serde(deserialize_with = "interned")]
    pub preparation: StaticName,
    /// Whether scores below the floor were compressed, which the paper does not do.
    pub compressed: bool,
    /// `delta`, `delta and offset`, `nth best`; with Hyperband `none`, `cold`, `warm` or `oracle`.
    #[serde(deserialize_with = "interned")]
    pub variant: StaticName,
    /// The name of the predictor; `None` where nothing is forecast.
    #[serde(deserialize_with = "interned_if_any")]
    pub predictor: Option<StaticName>,
    /// The stop rule: the policy's name in `foretell search`.
    pub policy: Option<String>,
    /// The number of runs of each order; `None` for all of them, and with Hyperband.
    pub study_size: Option<usize>,
    /// The number of runs trained to their end before any is stopped.
    pub burn_in: usize,
    /// Δ.
    pub stop_probability: Option<f64>,
    /// δ.
    pub offset: f64,
    /// n, where trials have to beat the n-th best.
    pub nth_best: usize,
    /// The reference of f-Hyperband.
    pub reference: Option<Reference>,
    /// κ of f-Hyperband.
    pub kappa: Option<f64>,
    /// The measured numbers.
    #[serde(flatten)]
    pub numbers: ReplayNumbers,
    /// The published speed-up.
    pub published: Option<f64>,
    /// Of Hyperband, for figures.
    #[serde(skip)]
    pub course: HyperbandCourse,
}

impl ReplayRow {
    /// The file, for people; marked where scores were compressed.
    pub(super) fn display_name(&self) -> String {
        format!("{}{}", self.curves, if self.compressed { " (compressed)" } else { "" })
    }
}

/// The results of a replay.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReplayNumbers {
    /// Orders of the runs.
    pub orderings: usize,
    /// The number of runs taken in each order.
    pub runs: usize,
    /// The mean speed-up over orders.
    pub speedup_mean: f64,
    /// Standard error of the mean speed-up.
    pub speedup_stderr: f64,
    /// The fraction of orderings in which the best run was kept.
    pub best_kept: Option<f64>,
    /// Of Hyperband, the mean of the best final values of its runs.
    pub best_of_run_mean: Option<f64>,
    /// Standard error of that mean.
    pub best_of_run_stderr: Option<f64>,
    /// The mean regret, in standard deviations of the final scores.
    pub regret_sd_mean: f64,
}

/// The course of a replay of Hyperband.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HyperbandCourse {
    /// The speed-up by iteration: (iteration, mean, standard error).
    pub iterations: Vec<(f64, f64, f64)>,
    /// The best so far by what was spent.
    pub trajectory: Vec<BestSoFarPoint>,
}

/// A row that is to be filled, and its setting.
pub(super) struct PlannedReplay {
    pub(super) row: ReplayRow,
    pub(super) setting: ReplaySetting,
}

/// A row of `part` on `prepared` without numbers.
pub(super) fn blank_row(part: PaperPart, prepared: &PreparedFile, variant: &'static str) -> ReplayRow {
    ReplayRow {
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
        numbers: ReplayNumbers::default(),
        published: None,
        course: HyperbandCourse::default(),
    }
}

/// A speed-up with its standard error.
pub(super) fn format_speedup(mean: f64, stderr: f64) -> String {
    format!("{mean:.2} ± {stderr:.2}")
}

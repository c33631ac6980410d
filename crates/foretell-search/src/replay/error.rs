//! Why there is no replay.

use crate::objective::ObjectiveError;
use crate::range::RangeError;
use crate::schedulers::schedule::ScheduleError;
use crate::study::StudyError;
use foretell::{FitError, HistoryError, StopCriterionError};
use thiserror::Error;

/// The reason why a replay is impossible.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum ReplayError {
    /// Nothing to replay.
    #[error(
        "a replay needs at least 2 completed runs, but there are {got} ({unfinished} unfinished). {}",
        if *unfinished > 0 { "Choose an earlier target step" } else { "Put more runs into one file, each with its own id" }
    )]
    TooFewRuns {
        /// Finished runs.
        got: usize,
        /// The others.
        unfinished: usize,
    },
    /// A run of one point cannot be stopped early.
    #[error("each run contains a single point, so there is nothing to stop early")]
    OnePoint,
    /// More burn-in than runs.
    #[error(
        "the burn-in of {burn_in} runs is too long for {got} completed runs, since no run could ever be stopped. Lower it below {got}"
    )]
    BurnIn {
        /// The burn-in.
        burn_in: u64,
        /// Finished runs.
        got: usize,
    },
    /// More runs to hold back than there are.
    #[error(
        "the warm start of {warm_start} runs leaves none of {got} completed runs to replay. Lower `warm_start` below {got}"
    )]
    WarmStart {
        /// The runs to hold back.
        warm_start: usize,
        /// Finished runs.
        got: usize,
    },
    /// A predictor learns from completed runs only.
    #[error(
        "the curves of earlier searches end where they were stopped, and predictors learn from completed runs. Use a warm start of completed runs"
    )]
    EarlierSearches,
    /// A study of one run stops nothing.
    #[error("a study of fewer than 2 runs cannot stop any. Sample at least 2")]
    StudySize,
    /// The recorded runs are too short.
    #[error(
        "the largest resource is {max_resource}, but the recorded runs have {points} points. Lower it to at most {points}"
    )]
    TooShort {
        /// R.
        max_resource: u64,
        /// Points of a recorded run.
        points: usize,
    },
    /// A number is out of range.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// The stop criterion is out of range.
    #[error(transparent)]
    Criterion(#[from] StopCriterionError),
    /// The runs make no history.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A sampler that learns has nothing to search.
    #[error(
        "no parameter differs between the recorded runs, so a sampler cannot learn from them. Leave the sampler out"
    )]
    NoSpace,
    /// A sampler that learns takes each run once, and Hyperband wants more of them.
    #[error(
        "these Hyperband runs need {wanted} configurations, but a sampler that learns uses each of the {got} recorded ones only once. Lower the number of Hyperband runs"
    )]
    Spent {
        /// Configurations of all brackets.
        wanted: u64,
        /// Recorded runs.
        got: usize,
    },
    /// An objective cannot be read.
    #[error(transparent)]
    Objective(#[from] ObjectiveError),
    /// A run's configuration does not have an objective.
    #[error(
        "objective {of}: the configuration of run {run} contains no number for it. Configurations contain {known}"
    )]
    Unmeasured {
        /// The objective.
        of: String,
        /// The run.
        run: String,
        /// The parameters that configurations have.
        known: String,
    },
    /// Forecasts need a predictor.
    #[error("stopping or ranking by forecasts needs a predictor. Choose one")]
    NoPredictor,
    /// The study is not valid.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// There is no such schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The predictor could not be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
}

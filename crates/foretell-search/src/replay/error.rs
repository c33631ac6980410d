//! Why there is no replay.

use crate::objective::ObjectiveError;
use crate::range::RangeError;
use crate::schedulers::schedule::ScheduleError;
use crate::study::StudyError;
use foretell::{FitError, HistoryError, StopCriterionError};
use thiserror::Error;

/// Why there is no replay.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum ReplayError {
    /// Nothing to replay.
    #[error(
        "finished runs: {got}, unfinished: {unfinished}; a replay needs at least 2 that are finished: {}",
        if *unfinished > 0 { "choose an earlier target step" } else { "put more runs into one file, each with its id" }
    )]
    TooFewRuns {
        /// Finished runs.
        got: usize,
        /// The others.
        unfinished: usize,
    },
    /// A run of one point cannot be stopped early.
    #[error("the runs have a single point: there is nothing to stop early")]
    OnePoint,
    /// More burn-in than runs.
    #[error(
        "burn-in of {burn_in} runs, but only {got} finished runs are recorded: no run could ever be stopped; lower the burn-in below {got}"
    )]
    BurnIn {
        /// The burn-in.
        burn_in: usize,
        /// Finished runs.
        got: usize,
    },
    /// More runs to hold back than there are.
    #[error(
        "a warm start of {warm_start} runs, but only {got} finished runs are recorded: none would be left to replay; lower `warm_start` below {got}"
    )]
    WarmStart {
        /// The runs to hold back.
        warm_start: usize,
        /// Finished runs.
        got: usize,
    },
    /// A study of one run stops nothing.
    #[error("a study size of less than 2 runs: nothing could be stopped; draw at least 2")]
    StudySize,
    /// The recorded runs are too short.
    #[error(
        "the largest resource is {max_resource}, but the recorded runs have {points} points: lower it to at most {points}"
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
        "the recorded runs have no parameter that differs between them: a sampler that learns has nothing to search; leave out the sampler"
    )]
    NoSpace,
    /// A sampler that learns takes each run once, and Hyperband wants more of them.
    #[error(
        "these Hyperband runs want {wanted} configurations, and a sampler that learns takes each of the {got} recorded ones once; lower the number of Hyperband runs"
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
    #[error("objective {of}: run {run} has no number for it; the configurations have {known}")]
    Unmeasured {
        /// The objective.
        of: String,
        /// The run.
        run: String,
        /// What configurations have.
        known: String,
    },
    /// Forecasts need a predictor.
    #[error("stopping or ranking by forecasts needs a predictor")]
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

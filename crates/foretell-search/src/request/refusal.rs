//! Why a request is no study.

use crate::objective::ObjectiveError;
use crate::parameter_space::ParameterSpaceError;
use crate::study::StudyError;
use foretell::StopCriterionError;
use std::fmt;

/// A request that is no study: which field, and why. The reason names fields in backticks. The caller words both in its own terms: as
/// flags, keys or arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The field of the [`StudyRequest`](crate::StudyRequest).
    pub field: String,
    /// What is wrong with it, and what to do.
    pub reason: String,
    /// Whether nothing is wrong with it in itself: the study that is there is another one.
    pub differs: bool,
}

impl Refusal {
    /// The refusal of `field`.
    pub fn new(field: &str, reason: impl fmt::Display) -> Self {
        Self { field: field.to_owned(), reason: reason.to_string(), differs: false }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

impl std::error::Error for Refusal {}

impl From<ParameterSpaceError> for Refusal {
    fn from(error: ParameterSpaceError) -> Self {
        Self::new("space", error)
    }
}

impl From<StudyError> for Refusal {
    fn from(error: StudyError) -> Self {
        let field = match &error {
            StudyError::BurnIn { .. } => "burn_in",
            StudyError::Range(range) => match range.field() {
                "exempt share" => "exempt",
                "refit factor" => "refit",
                "burn-in" => "burn_in",
                field => field,
            },
            StudyError::NoLayers | StudyError::NoParameters | StudyError::NoRewards => "sampler",
            StudyError::Sampler(_) => "sampler",
            StudyError::Queue(_) | StudyError::QueuedNetwork { .. } | StudyError::NoQueue => "enqueue",
            StudyError::Rank => "rank",
            StudyError::Schedule(_) => "scheduler",
            StudyError::Oracle => "policy",
            StudyError::Objective(error) => match error {
                ObjectiveError::Alone { part, .. } if part.contains("policy") => "policy",
                ObjectiveError::Alone { .. } => "rank",
                ObjectiveError::Reward => "reward",
                _ => "objective",
            },
            StudyError::Predictor(_) | StudyError::NoExtrapolation { .. } => "predictor",
            StudyError::Criterion(error) => match error {
                StopCriterionError::Probability(_) => "stop_probability",
                StopCriterionError::Offset(_) => "offset",
                StopCriterionError::NthBest => "nth_best",
                _ => "agreeing_checks",
            },
            _ => "study",
        };
        Self::new(field, error)
    }
}

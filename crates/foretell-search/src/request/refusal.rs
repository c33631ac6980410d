//! Why a request is no study.

use crate::objective::ObjectiveError;
use crate::parameter_space::ParameterSpaceError;
use crate::part::PartError;
use crate::schedulers::schedule::ScheduleError;
use crate::study::StudyError;
use foretell::StopCriterionError;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt;

/// The longest value that a refusal shows.
const MAX_SHOWN_CHARS: usize = 60;

/// An invalid request: the field, and the reason. The reason names fields in backticks, so that callers can translate them to
/// flags, keys or arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The field of the [`StudyRequest`](crate::StudyRequest).
    pub field: String,
    /// The problem with it, and what to do.
    pub reason: String,
    /// Whether the request is valid, but describes a study other than the existing one.
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

/// Reads `fields`, a JSON object, as a `T`.
///
/// # Errors
/// The [`Refusal`] of the first field that is unknown, missing or of another type, in words that name no type of Rust.
pub fn read_fields<T: DeserializeOwned>(fields: &Map<String, Value>) -> Result<T, Refusal> {
    let read = serde_path_to_error::deserialize(Value::Object(fields.clone()));
    read.map_err(|error: serde_path_to_error::Error<serde_json::Error>| {
        let path = error.path().to_string();
        let field = path.split(['.', '[']).next().unwrap_or_default();
        refusal_from_serde(field, fields.get(field), &error.into_inner().to_string())
    })
}

/// The refusal of `field`, whose value is `found`, for serde's `text`.
fn refusal_from_serde(field: &str, found: Option<&Value>, text: &str) -> Refusal {
    let mut quoted = text.split('`').skip(1).step_by(2);
    let named = quoted.next().unwrap_or(field);
    if text.starts_with("missing field") {
        return Refusal::new(named, "missing");
    }
    if text.starts_with("unknown field") {
        let known = quoted.collect::<Vec<_>>().join(", ");
        let known =
            if known.is_empty() { "Leave it out".to_owned() } else { format!("Choose one of {known}") };
        return Refusal::new(named, format!("unknown field. {known}"));
    }
    const SERDE_PHRASES: [(&str, &str); 8] = [
        (" u64", " a whole number from 0"),
        (" u32", " a whole number from 0"),
        (" usize", " a whole number from 0"),
        (" f64", " a number"),
        (" a sequence", " a list"),
        (" a boolean", " true or false"),
        ("unknown variant", "unknown"),
        (", expected one of", ". Choose one of"),
    ];
    let text = SERDE_PHRASES.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours));
    match (text.split_once("expected "), found) {
        // of serde's "invalid type: integer `1`, expected …" the value is shown as it was written
        (Some((_, expected)), Some(found)) if text.starts_with("invalid") || text.starts_with("expected") => {
            let shown: String = found.to_string().chars().take(MAX_SHOWN_CHARS).collect();
            Refusal::new(field, format!("expected {expected}, found {shown}"))
        }
        _ => Refusal::new(field, text),
    }
}

impl From<ParameterSpaceError> for Refusal {
    fn from(error: ParameterSpaceError) -> Self {
        Self::new("space", error)
    }
}

impl From<PartError> for Refusal {
    fn from(error: PartError) -> Self {
        Self::new(error.field, error.reason)
    }
}

impl From<StudyError> for Refusal {
    fn from(error: StudyError) -> Self {
        let field = match &error {
            StudyError::BurnIn { .. } => "burn_in",
            StudyError::Range(range) => match range.field() {
                "exempt fraction" => "exempt",
                "refit factor" => "refit",
                "burn-in" => "burn_in",
                field => field,
            },
            StudyError::NoRewards { .. } => "sampler",
            StudyError::Queue(_) | StudyError::QueueLimit { .. } | StudyError::NoQueue { .. } => "enqueue",
            StudyError::Rank => "rank",
            StudyError::Schedule(ScheduleError::Kappa(_)) => "kappa",
            StudyError::Schedule(_) => "scheduler",
            StudyError::Truth { .. } => "policy",
            StudyError::Objective(error) => match error {
                ObjectiveError::Alone { part, .. } if part.contains("policy") => "policy",
                ObjectiveError::Alone { .. } => "rank",
                ObjectiveError::Reward => "reward",
                ObjectiveError::Limit { .. } | ObjectiveError::Region { .. } => "limit",
                ObjectiveError::Formula(_)
                | ObjectiveError::Direction { .. }
                | ObjectiveError::Twice { .. } => "objective",
            },
            StudyError::Part(error) => return error.clone().into(),
            StudyError::Predictor(_) | StudyError::NoExtrapolation { .. } => "predictor",
            StudyError::Criterion(error) => match error {
                StopCriterionError::Probability(_) => "stop_probability",
                StopCriterionError::Offset(_) => "offset",
                StopCriterionError::NthBest => "nth_best",
                StopCriterionError::AgreeingChecks => "agreeing_checks",
            },
            StudyError::NoResource => "epochs",
            StudyError::Repeats => "repeats",
            StudyError::Folds => "folds",
            StudyError::NoRoom { .. } => "enqueue",
            StudyError::Record { .. }
            | StudyError::Plan { .. }
            | StudyError::MoreTrials { .. }
            | StudyError::NoValue { .. }
            | StudyError::NoHeader => "study",
        };
        Self::new(field, error)
    }
}

//! One report of a trial, and why a line that should be one cannot be used.

use std::collections::BTreeMap;
use thiserror::Error;

/// One report of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The resource spent so far, epochs by default. If the trial does not report it: one more than in its previous
    /// report, 1 in its first.
    pub step: u64,
    /// The metric in the user's own direction; `None` when it is not finite, that is, training diverged.
    pub value: Option<f64>,
    /// How many other trainings came before in the same output, as of folds, stages or repeats; 0 for the first.
    pub training: u64,
    /// All finite numbers of the report but `step`, by name; of a pattern's match, none.
    pub metrics: BTreeMap<String, f64>,
}

/// Why a line that should be a report cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReportProblem {
    /// The line is marked as a report, but is no JSON.
    #[error(
        "the report is not JSON ({problem}). Print one line like {{\"foretell\":{{\"step\":3,\"val_acc\":0.71}}}}"
    )]
    Json {
        /// The error of the decoder.
        problem: String,
    },
    /// The report has no such field.
    #[error(
        "the report has no field `{field}` (fields: {found}). Choose another field as the metric, or print this one"
    )]
    Missing {
        /// The metric's name.
        field: String,
        /// The fields there are, separated by commas.
        found: String,
    },
    /// The metric's field was not set.
    #[error("the report's metric could be any of {found}. Choose one of them as the metric")]
    Ambiguous {
        /// The fields there are, separated by commas.
        found: String,
    },
    /// The metric's value is no number.
    #[error("the metric's value `{found}` is not a number")]
    Number {
        /// The text found.
        found: String,
    },
    /// The value stands where an epoch's number does.
    #[error(
        "the pattern finds `{found}`, the number of the epoch. Put its group around the metric's value, and (?P<step>\\d+) around the epoch"
    )]
    Epoch {
        /// The text that it finds, with the word before.
        found: String,
    },
    /// The line is longer than is read.
    #[error("the line is longer than 1 MiB and is ignored. Print the metric on its own line")]
    Long,
    /// The numbers can be read in two ways, and nothing in the output shows the right one.
    #[error("`{found}` is ambiguous: it may be {point} or {comma}. Print more decimals, or a decimal point")]
    Notation {
        /// The text found.
        found: String,
        /// The number, if commas stand between thousands.
        point: String,
        /// The number, if a comma stands before the decimals.
        comma: String,
    },
    /// The step is no whole number from 0.
    #[error("the step `{found}` is not a whole number from 0")]
    Step {
        /// The text found.
        found: String,
    },
}

/// `step` as a whole number from 0.
pub(crate) fn whole_step(step: f64) -> Option<u64> {
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0; // 2^53: beyond, f64 has no longer all whole numbers
    ((0.0..=MAX_EXACT_INTEGER).contains(&step) && step.fract().abs() < f64::EPSILON).then_some(step as u64)
}

//! Differences between an existing study and the requested one.

use crate::failure::Failure;
use foretell_search::{Difference, StudySpec};
use std::path::Path;

/// Names the settings in which the study in `directory` differs from the one that was asked for, of those that may not
/// change.
pub(super) fn another_study(directory: &Path, there: &StudySpec, asked: &StudySpec) -> Failure {
    let parts: Vec<String> = there.conflicts(asked).iter().map(in_words).collect();
    Failure::input(format!(
        "{}: contains another study: {}. Choose another --out, or use the flags of that study (ranges, choices, sampler, stop rule, number of trials and budgets may change, and epochs may increase)",
        directory.display(),
        parts.join(", ")
    ))
}

/// `name is … there and … here`, with its flag.
fn in_words(Difference { field, there, here }: &Difference) -> String {
    format!("{field}{} is {there} there and {here} here", flag_of(field))
}

/// A value as JSON without the quotes of a text.
pub(super) fn quoted(value: &str) -> &str {
    value.trim_matches('"')
}

/// The flag that sets a field of a study's description, in brackets, where it is named otherwise.
fn flag_of(field: &str) -> &'static str {
    match field {
        "max_resource" => " (--epochs)",
        "run_score" => " (--score)",
        "criterion" => " (--stop-probability, --offset, --nth-best, --agreeing-checks, --error-budget)",
        "schedule" => " (--scheduler and its settings)",
        "space" => " (--param, or --space, --width, --max-layers)",
        "workload" => " (the command, or --data and its sizes)",
        "queue" => " (--enqueue)",
        _ => "",
    }
}

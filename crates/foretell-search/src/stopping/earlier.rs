//! Earlier studies to learn from, and what a stop rule thinks of them.

use foretell::LessonVerdict;
use serde::Serialize;
use std::fmt;

/// What stands between the name of a study and that of its trial.
const TRIAL_SEPARATOR: &str = " trial ";

/// The identity of trial `trial` of the study called `study`, as a run to learn from.
pub fn name_lesson(study: &str, trial: &str) -> String {
    format!("{study}{TRIAL_SEPARATOR}{trial}")
}

/// The study that a run to learn from is of, and the rest of its identity; the study is empty for a run of none.
pub(crate) fn split_lesson(id: &str) -> (&str, &str) {
    id.rsplit_once(TRIAL_SEPARATOR).unwrap_or(("", id))
}

/// The study that a run to learn from is of; empty for a run of none.
pub(super) fn study_of(id: &str) -> &str {
    split_lesson(id).0
}

/// Whether a search learns from an earlier study by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LessonStatus {
    /// Not yet: nothing has tested it.
    Open,
    /// Yes.
    Counts,
    /// No, because it foretells this search no better than the search itself.
    PutAside,
    /// No, because its values cannot teach this search anything.
    LeftOut,
}

/// An earlier study as a stop rule judges it by now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EarlierStudy {
    /// The study's name; empty for runs that are of no study.
    pub study: String,
    /// The number of its runs that are learned from.
    pub trials: usize,
    /// Whether it counts by now.
    pub status: LessonStatus,
    /// The reason.
    pub reason: &'static str,
}

impl EarlierStudy {
    /// The study called `study` with so many `trials`. No verdict stands for values that have no place on this search's scale.
    pub(super) fn new(study: &str, trials: usize, verdict: Option<LessonVerdict>) -> Self {
        use LessonStatus::{Counts, LeftOut, Open, PutAside};
        let (status, reason) = match verdict {
            Some(LessonVerdict::Counts) => {
                (Counts, "with it, next and final values are forecast better than without")
            }
            Some(LessonVerdict::Untested) => (Open, "no trial has been completed yet that could test it"),
            Some(LessonVerdict::NextNoBetter) => {
                (PutAside, "with it, next values are forecast no better than without")
            }
            Some(LessonVerdict::EndsNoBetter) => {
                (PutAside, "with it, final values are forecast no better than without")
            }
            Some(LessonVerdict::Flat) => (LeftOut, "the values of its trials hardly moved"),
            Some(LessonVerdict::Alike) => (LeftOut, "its trials ended alike"),
            None => (LeftOut, "it has values of zero or less, and this search has none"),
        };
        Self { study: study.to_owned(), trials, status, reason }
    }
}

impl fmt::Display for EarlierStudy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.study.is_empty() { "(earlier runs)" } else { &self.study };
        let status = match self.status {
            LessonStatus::Open => "does not count yet",
            LessonStatus::Counts => "counts",
            LessonStatus::PutAside => "does not count",
            LessonStatus::LeftOut => "is left out",
        };
        write!(f, "the earlier study {name} ({} trials) {status}: {}", self.trials, self.reason)
    }
}

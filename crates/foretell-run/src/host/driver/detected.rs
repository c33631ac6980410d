//! The value that a trial counts with, detected from the values that completed trials print last.

use std::collections::BTreeMap;

use foretell::RunScore;
use foretell_search::{ReturnRelation, ReturnedTrial, Study, StudySettings, StudySpec, TrialState};

/// Collects the values that trainings print last, until they show that the best report counts.
#[derive(Debug, Default)]
pub(super) struct ScoreDetector {
    is_on: bool,
    printed: BTreeMap<u64, f64>,
    finished: Vec<ReturnedTrial>,
}

impl ScoreDetector {
    /// Looks at `study`, for which nobody has chosen a score.
    pub(super) fn in_study(study: &Study) -> Self {
        let is_on = best_report_settings(study.spec()).is_some();
        Self { is_on, ..Self::default() }
    }

    /// The training of `trial` printed `value` last.
    pub(super) fn note_printed_value(&mut self, trial: u64, value: f64) {
        if self.is_on {
            self.printed.insert(trial, value);
        }
    }

    /// The settings that hold from here on, if the trials in `ended` show that the best report counts. Only equal values tell: the last
    /// number of a program may be anything.
    pub(super) fn settings(&mut self, study: &Study, ended: &[u64]) -> Option<StudySettings> {
        for number in ended {
            let printed = self.printed.remove(number);
            let trial = study.trial(*number);
            let known =
                printed.zip(trial.filter(|trial| matches!(trial.state, TrialState::Completed { .. })));
            self.finished.extend(
                known.and_then(|(value, trial)| {
                    ReturnedTrial::new(&trial.curve, value, study.spec().direction)
                }),
            );
        }
        let relation = ReturnRelation::between(&self.finished);
        if !self.is_on || !matches!(relation, ReturnRelation::Equal { score: Some(RunScore::Best), .. }) {
            return None;
        }
        self.is_on = false;
        best_report_settings(study.spec())
    }
}

/// The settings by which the best report counts; `None` where it does already, or where trials were compared by the last one.
fn best_report_settings(spec: &StudySpec) -> Option<StudySettings> {
    let best = StudySpec { run_score: RunScore::Best, ..spec.clone() };
    let may = spec.run_score == RunScore::Last && spec.continues(&best) && best.validate().is_ok();
    may.then(|| best.settings())
}

//! Values that trainings return: they are the scores of their trials.

use super::step::AppendRecord;
use crate::record::Record;
use crate::returned::{ReturnRelation, ReturnedTrial};
use crate::study::{Study, StudySpec};
use foretell::RunScore;

impl Study {
    /// Records the `value` that the training of `trial`, which is about to end, returned.
    ///
    /// # Errors
    /// The error of `append`.
    pub(crate) fn note_returned<E>(
        &mut self,
        trial: u64,
        value: f64,
        append: &mut AppendRecord<'_, E>,
    ) -> Result<(), E> {
        self.retry_start(append)?;
        let known = self.trial(trial).filter(|known| known.is_open() && known.has_reported());
        match known.is_some_and(|known| known.returned != Some(value)) && value.is_finite() {
            true => self.emit(Record::Returned { trial, value }, append),
            false => Ok(()),
        }
    }

    /// Trial `index` has completed: the value that it returned shows with the others which report counts for forecasts, and whether
    /// trials may be stopped by their reports. O(trials), for the latest trials O(trials²).
    pub(super) fn take_returned(&mut self, index: usize) {
        let (trial, direction) = (&self.trials[index], self.spec.direction);
        let Some(returned) =
            trial.returned.and_then(|value| ReturnedTrial::new(&trial.curve, value, direction))
        else {
            return;
        };
        self.returned.push(returned);
        let before = std::mem::replace(&mut self.relation, ReturnRelation::between(&self.returned));
        if before != self.relation {
            self.take_settings(&self.settings.clone());
        }
        // what the sampler learns of completed trials depends on this, so it has to hear of all of them again
        if before.allows_stopping() != self.relation.allows_stopping() {
            self.take_sampler();
        }
    }

    /// The study of `spec` with what the returned values have shown.
    pub(super) fn by_returns(&self, spec: StudySpec) -> StudySpec {
        let known = self.relation.score().filter(|_| !spec.score_chosen && spec.schedule.is_full());
        // a mean of the last reports is chosen by somebody in any case
        let run_score = match spec.run_score {
            RunScore::Last | RunScore::Best => known.unwrap_or(spec.run_score),
            RunScore::Mean(_) => spec.run_score,
        };
        StudySpec { run_score, returns_own_scores: self.relation.is_of_another_unit(), ..spec }
    }

    /// The name and the words of an unusual relation between returned and reported values; `None` also where somebody chose the score.
    pub fn told_relation(&self) -> Option<(&'static str, String)> {
        self.relation.user_notice().filter(|_| !self.spec.score_chosen)
    }

    /// Whether the values that trials return do not allow stopping any by its reports.
    pub(in crate::study) fn returns_forbid_stopping(&self) -> bool {
        !self.spec.score_chosen && !self.relation.allows_stopping()
    }

    /// The score that the sampler learns of completed trial `index`, whose reports score `reported`. Stopped trials have only forecasts of
    /// reports: while there may be any, reports are compared with these.
    pub(super) fn worth_of(&self, index: usize, reported: f64) -> f64 {
        let returned = self.trials[index].returned.filter(|_| self.returns_forbid_stopping());
        returned.map_or(reported, |value| self.spec.direction.to_score(value))
    }
}

//! R from the trials of a study for which nobody gave it.

use super::step::AppendRecord;
use crate::record::Record;
use crate::resource::UNKNOWN_RESOURCE;
use crate::study::{Study, StudySettings, TrialState};

impl Study {
    /// Records R where the trials that have ended show it, or where the one that ended last, `trial`, is longer than all before it.
    /// Without a trial, all are looked at: a crash may have come between the end of a trial and this record.
    ///
    /// # Errors
    /// The error of `append`.
    pub(crate) fn measure_resource<E>(
        &mut self,
        trial: Option<u64>,
        append: &mut AppendRecord<'_, E>,
    ) -> Result<(), E> {
        match self.shown_resource(trial) {
            Some((trial, max_resource)) => self.emit(Record::Resource { trial, max_resource }, append),
            None => Ok(()),
        }
    }

    /// R as trials show it, if that is news, and the trial that shows it. The first one is not the trial that completes first but the one with the lowest
    /// number, so that R does not depend on which worker is faster.
    fn shown_resource(&self, ended: Option<u64>) -> Option<(u64, u64)> {
        if !self.spec.is_open_ended {
            return None;
        }
        let Some(known) = self.spec.resource() else {
            let first = self.trials.iter().position(|trial| {
                trial.is_open() || matches!(trial.state, TrialState::Completed { .. }) && !trial.is_unknown()
            });
            return self.completed_length(first? as u64);
        };
        let all = 0..self.trials.len() as u64;
        let looked_at = ended.map_or(all, |trial| trial..trial + 1);
        let lengths = looked_at.filter_map(|trial| self.completed_length(trial));
        lengths.filter(|(_, length)| *length > known).max_by_key(|(_, length)| *length)
    }

    /// `trial` and its length, if it has completed.
    fn completed_length(&self, trial: u64) -> Option<(u64, u64)> {
        let known = self.trial(trial)?;
        matches!(known.state, TrialState::Completed { .. }).then(|| (trial, known.length()))
    }

    /// R is `max_resource` from here on.
    pub(super) fn take_resource(&mut self, max_resource: u64) {
        self.take_settings(&StudySettings { max_resource, ..self.settings.clone() });
    }

    /// Trial `index` trains on beyond the step it was to be trained to: it is not cut where trials show R, nor where its first report is in
    /// another unit than R.
    pub(super) fn prolong_trial(&mut self, index: usize, step: u64) {
        let trial = &self.trials[index];
        let is_of_another_unit = !trial.has_reported() && self.spec.schedule.is_full();
        let is_free = self.spec.is_open_ended || is_of_another_unit;
        if is_free && trial.is_open() && trial.would_have_trained(step) > trial.until {
            self.change(index, |trial| trial.until = UNKNOWN_RESOURCE);
        }
    }

    /// The trials that were to be trained to `before`, and those that trained for as long as they liked, are whole with the new R. Those that still
    /// train beyond it stay as they are.
    pub(super) fn lengthen_open_ended(&mut self, before: u64) {
        let whole = self.spec.max_resource;
        self.scheduler.lengthen(whole);
        self.levels.remove(&before);
        self.levels.insert(whole);
        for index in 0..self.trials.len() {
            let trial = &self.trials[index];
            let is_due = trial.until == before || trial.until == UNKNOWN_RESOURCE;
            if is_due && !(trial.is_open() && trial.trained_epochs() > whole) {
                self.change(index, |trial| trial.retarget(whole));
            }
        }
        if let Some((job, _)) = &mut self.pending {
            job.until = whole;
        }
    }
}

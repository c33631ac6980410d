//! The orders of a person, and trainings that continue without having been handed out by this session.

use super::{Session, TrainingAnswer, TrainingStart};
use crate::store::{Store, StoreError};
use crate::study::{ManualOrder, StudyError, Trial, TrialState, WorkerTurn};
use foretell::Configuration;

impl<S: Store> Session<S> {
    /// Carries out a manual order about `trial`. The answer contains the next action of its training; `None` if it does not run.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored; order the same again.
    pub fn by_hand(&mut self, trial: u64, order: ManualOrder) -> Result<Option<TrainingAnswer>, StoreError> {
        self.news.clear();
        let decision = self.with_study(|study, append| study.by_hand(trial, order, append))?;
        if decision.is_none() && !self.study.trial(trial).is_some_and(Trial::is_open) {
            return Ok(None);
        }
        // what the trial has reported while a decision was awaited follows now
        if let Some(waiting) = self.held.remove(&trial) {
            self.take_held_events(trial, waiting, &mut Vec::new())?;
        }
        Ok(Some(self.answer_for_decision(trial, decision)))
    }

    /// Enqueues `configuration`, which may name only some parameters: the next new trial has it, and the sampler chooses the rest. Where
    /// all trials are started, there is one more. The same `order` twice changes nothing.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored; enqueue the same again. The inner error says why it cannot be enqueued.
    pub fn enqueue(
        &mut self,
        configuration: Configuration,
        order: Option<String>,
    ) -> Result<Result<(), StudyError>, StoreError> {
        self.news.clear();
        if let Err(error) = self.study.check_enqueue(&configuration) {
            return Ok(Err(error));
        }
        self.with_study(|study, append| study.enqueue(configuration, order, append))?;
        Ok(Ok(()))
    }

    /// Takes up an interrupted trial whose training continues elsewhere: it runs again, as if [`ask`](Self::ask) had handed it
    /// out. `None` if it was not interrupted, or ends without more training.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored; try again.
    pub fn take_up(&mut self, trial: u64) -> Result<Option<TrainingStart>, StoreError> {
        self.news.clear();
        while self.study.trial(trial).is_some_and(|trial| trial.state == TrialState::Interrupted) {
            match self.with_study(|study, append| study.start_next(|other| other != trial, append))? {
                WorkerTurn::Nothing => return Ok(None),
                WorkerTurn::Closed(_) => {}
                WorkerTurn::Started(_) | WorkerTurn::Undecided(_) => {
                    if self.is_held_or_decided(trial)? {
                        return Ok(None);
                    }
                }
            }
        }
        let start = self.take_start(trial);
        self.running.extend(start.as_ref().map(|start| start.trial));
        Ok(start)
    }
}

//! Applying records to a study: the only place where its state changes.

use crate::record::{Decision, Reason, Record};
use crate::resource::UNKNOWN_RESOURCE;
use crate::samplers::worth::Worth;
use crate::schedulers::{JobEnd, TrainingJob};
use crate::study::{ConfigurationQueue, Study, Trial, TrialState};
use foretell::{Action, Configuration, Curve, Run};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Why a record does not follow from those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordMisfit {
    /// The record is about a trial that was never started.
    Unknown(u64),
    /// The record starts another job than the plan has there.
    Unplanned(u64),
    /// The record starts a trial that the study's total has no place for.
    Beyond(u64),
    /// The record ends a trial with a result that never reported a finite value.
    NoValue(u64),
}

impl Study {
    /// Applies one record.
    pub(super) fn apply(&mut self, record: &Record) -> Result<(), RecordMisfit> {
        let joined = self.measures.joined_count();
        self.apply_one(record)?;
        if record.ended_trial().is_some() {
            if self.spec.has_front() {
                self.progress.note_front(self.measures.joined_count() > joined);
            } else {
                self.progress.note_improvement();
            }
        }
        Ok(())
    }

    fn apply_one(&mut self, record: &Record) -> Result<(), RecordMisfit> {
        match record {
            Record::Created { study } => {
                self.take_settings(&study.settings());
                self.spec.queue.clone_from(&study.queue);
                self.queue = ConfigurationQueue::new(study.queue.clone());
                Ok(())
            }
            Record::Changed { settings } => {
                self.take_settings(settings);
                Ok(())
            }
            Record::Enqueued { configuration, order, earlier } => {
                self.queue.push(configuration, order.as_ref(), earlier.as_ref());
                self.reopen_proposal();
                Ok(())
            }
            Record::Chosen { series } => {
                self.series = Some(series.clone());
                Ok(())
            }
            Record::Resource { trial, max_resource } => {
                self.known_index(*trial).map(|_| self.take_resource(*max_resource))
            }
            Record::WarmStart { id, configuration, points } => self.take_run(id, configuration, points),
            Record::Unknown { trial } => {
                self.unknown.insert(*trial);
                Ok(())
            }
            Record::Started { trial, configuration, from, until, .. } => {
                // an open trial continues, after an interruption or on another worker: the scheduler must not be asked for a job
                if self.trial(*trial).is_some_and(Trial::is_open) {
                    self.go_on(*trial as usize, *from);
                    return Ok(());
                }
                self.begin_job(TrainingJob { trial: *trial, until: *until }, configuration, *from)
            }
            Record::Reported { trial, step, value, metrics } => self.take_in(*trial, *step, *value, metrics),
            Record::Repeated { trial, step, epochs, elsewhere } => {
                let reached = (!elsewhere).then_some(*step);
                self.change_known(*trial, |trial| trial.repeat(reached, *epochs))
            }
            Record::Late { trial, .. } => self.change_known(*trial, |trial| trial.late += 1),
            Record::Read { trial, position } => {
                self.change_known(*trial, |trial| trial.read = Some(*position))
            }
            Record::Returned { trial, value } => {
                self.change_known(*trial, |trial| trial.returned = Some(*value))
            }
            Record::Decided(decision) => {
                let index = self.known_index(decision.trial)?;
                self.note_decision(index, decision);
                Ok(())
            }
            Record::Paused { trial } => self.note_trained(*trial, false),
            Record::Completed { trial } => self.note_trained(*trial, true),
            Record::Failed { trial, reason } => self.fail_trial(*trial, reason),
        }
    }

    /// Changes trial number `trial`.
    fn change_known(&mut self, trial: u64, change: impl FnOnce(&mut Trial)) -> Result<(), RecordMisfit> {
        let index = self.known_index(trial)?;
        self.change(index, change);
        Ok(())
    }

    fn fail_trial(&mut self, trial: u64, reason: &str) -> Result<(), RecordMisfit> {
        let index = self.known_index(trial)?;
        self.change(index, |trial| trial.state = TrialState::Failed { reason: reason.to_owned() });
        self.hear_end(index);
        self.without_result(index);
        Ok(())
    }

    /// A trial reported.
    fn take_in(
        &mut self,
        trial: u64,
        step: u64,
        value: Option<f64>,
        metrics: &BTreeMap<String, f64>,
    ) -> Result<(), RecordMisfit> {
        let (direction, index) = (self.spec.direction, self.known_index(trial)?);
        self.prolong_trial(index, step);
        let whole = self.spec.whole_resource();
        if self.trials[index].is_beyond(step, whole) {
            self.change(index, |trial| trial.run_on(step, value, metrics, whole));
            return Ok(());
        }
        let (folds, epochs) = (self.spec.folds() as usize, self.spec.max_resource);
        self.change(index, |trial| {
            trial.enter_fold(trial.fold_at(step, epochs).min(folds - 1), epochs);
            trial.take_in(step, value, metrics, direction);
        });
        value.into_iter().for_each(|value| self.knowledge.meet_value(value, direction));
        // forecasts compare the first folds of trials, which are trained on the same data
        let is_first_fold = self.trials[index].folds.is_empty();
        if is_first_fold {
            self.hear_report(index, value);
        }
        self.measures.take_in(&mut self.trials[index], metrics);
        self.check_limits(index);
        if is_first_fold {
            self.reach_rung(index);
        }
        Ok(())
    }

    fn known_index(&self, trial: u64) -> Result<usize, RecordMisfit> {
        let known = trial < self.trials.len() as u64;
        known.then_some(trial as usize).ok_or(RecordMisfit::Unknown(trial))
    }

    /// A run of an earlier search, for every level that it reached; refused once there are trials.
    fn take_run(
        &mut self,
        id: &str,
        configuration: &Configuration,
        points: &[(f64, f64)],
    ) -> Result<(), RecordMisfit> {
        if !self.trials.is_empty() {
            // trials are numbered after the runs of the warm start, so a later run would shift the numbers of all trials
            return Err(RecordMisfit::Unplanned(0));
        }
        let (direction, mut curve) = (self.spec.direction, Curve::default());
        for &(step, value) in points {
            // points come from a curve: in order
            let _ = curve.push(step, value, direction);
            self.knowledge.meet_value(value, direction);
        }
        let end = curve.last_point().map_or(0.0, |(step, _)| step);
        let levels = self.spec.schedule.levels(self.spec.max_resource).unwrap_or_default();
        let index = self.warm_start.len();
        for level in levels.into_iter().filter(|&level| level as f64 <= end) {
            self.knowledge.warm_start(level, index, &curve, self.spec.run_score);
        }
        self.warm_start.push(Run { id: id.to_owned(), configuration: configuration.clone(), curve });
        self.hear_earlier();
        Ok(())
    }

    /// Trial `index` continues with its job, after `from` epochs. If it was paused and starts from the beginning, there are no checkpoints.
    fn go_on(&mut self, index: usize, from: u64) {
        let lost = from == 0 && self.trials[index].is_as_paused();
        self.change(index, |trial| trial.go_on(from));
        if lost {
            self.pause_no_more();
        }
    }

    fn begin_job(
        &mut self,
        job: TrainingJob,
        configuration: &Configuration,
        from: u64,
    ) -> Result<(), RecordMisfit> {
        let index = job.trial as usize;
        // compared before anything changes: a record that is refused during a repair must leave the plan of rungs as it was
        if self.next_job() != Some(job) {
            let beyond = job.trial >= self.spec.trials;
            return Err(if beyond {
                RecordMisfit::Beyond(job.trial)
            } else {
                RecordMisfit::Unplanned(job.trial)
            });
        }
        self.pending = None;
        self.levels.insert(self.level_of(job.until));
        match index.cmp(&self.trials.len()) {
            Ordering::Less => {
                self.change(index, |trial| trial.promote(job.until));
                // without them the curve would have a gap, and forecasts from it would be wrong; logs of earlier versions, whose
                // curves did have it, start after the epochs before it
                let joins = from > self.trials[index].trained_epochs();
                let beyond = std::mem::take(&mut self.trials[index].beyond);
                for (step, value, metrics) in beyond.into_iter().filter(|_| joins) {
                    self.take_in(job.trial, step, value, &metrics)?;
                }
            }
            Ordering::Equal => {
                let unknown = self.unknown.remove(&job.trial);
                let earlier = self.queue.take();
                let mut trial = Trial::new(configuration.clone(), job.until, unknown);
                trial.earlier = earlier;
                self.progress.add(index, &trial, &self.spec);
                self.trials.push(trial);
                self.running.insert(index);
                if !unknown {
                    self.sampler.observe_start(job.trial, configuration);
                }
                self.check_limits(index);
            }
            Ordering::Greater => return Err(RecordMisfit::Unplanned(job.trial)),
        }
        Ok(())
    }

    /// `trial` was trained as far as it was to be: to its end if it is `whole`, else to its rung.
    fn note_trained(&mut self, trial: u64, whole: bool) -> Result<(), RecordMisfit> {
        let index = self.known_index(trial)?;
        let score =
            self.trials[index].reported_score(self.spec.run_score).ok_or(RecordMisfit::NoValue(trial))?;
        let (value, max_resource) = (self.spec.direction.to_value(score), self.spec.max_resource);
        self.change(index, |trial| {
            trial.state = match whole {
                true => TrialState::Completed { value: trial.returned.unwrap_or(value) },
                false => TrialState::Paused { value },
            };
            // one that trained longer than R ends what it began: a record of the new R follows
            trial.until = if whole && trial.until == UNKNOWN_RESOURCE { max_resource } else { trial.until };
            match trial.folds.is_empty() {
                true => trial.ends.insert(trial.until, trial.step),
                false => {
                    trial.ends.insert(max_resource, trial.curve.steps().last().map_or(0, |step| *step as u64))
                }
            };
        });
        self.hear_end(index);
        if self.trials[index].is_unknown() {
            self.without_result(index);
            return Ok(());
        }
        self.check_limits(index);
        self.join_standings(index);
        let until = self.level_of(self.trials[index].until);
        let stopped = self.trials[index].shadow.is_some();
        // a trial that the shadow has stopped teaches nothing, because a study that stops trials would not know its end
        if !stopped {
            let (of_all, curve) = (self.warm_start.len() + index, &self.trials[index].curve);
            self.knowledge.add_trained(until, of_all, curve, self.spec.run_score);
        }
        self.rank_rungs(index);
        let by_front = self.rank_by_front(index, until);
        let compared = by_front.or(self.ranks.score(trial, until)).unwrap_or(score);
        self.scheduler.end_job(trial, JobEnd { score: compared, stopped });
        if whole {
            if self.spec.has_front() {
                self.measures.finish(self.progress.spent, index);
            }
            let worth =
                self.sampler_worth(&self.trials[index], Worth::from_measurement(self.worth_of(index, score)));
            self.sampler.learn(trial, &self.trials[index].configuration, worth);
            self.take_returned(index);
        }
        self.tell_outlooks(index);
        Ok(())
    }

    /// Trial `index` failed or diverged, or its configuration is lost.
    fn without_result(&mut self, index: usize) {
        self.scheduler.end_job(index as u64, JobEnd { score: f64::NEG_INFINITY, stopped: true });
        if self.trials[index].is_unknown() {
            return;
        }
        self.sampler.observe_failure(index as u64, &self.trials[index].configuration);
    }

    fn note_decision(&mut self, index: usize, decision: &Decision) {
        let stopping = decision.action == Action::Stop;
        let stopped = stopping && !decision.shadow;
        let against = stopping
            || matches!(decision.reason, Reason::AwaitingConfirmation | Reason::Exempt | Reason::FoldsLeft);
        self.change(index, |trial| {
            trial.judged = Some(decision.step);
            trial.votes = if against { trial.votes + 1 } else { 0 };
            trial.decision = Some(decision.clone());
            // never taken back: an order of a person holds even if a later decision has another reason
            trial.kept |= decision.reason == Reason::Kept;
            if decision.reason == Reason::Exempt {
                trial.spared.get_or_insert_with(|| decision.clone());
            }
            if stopped {
                let (step, reason) = (decision.step, decision.reason.clone());
                trial.state = TrialState::Stopped { step, reason, forecast: decision.forecast };
            } else if stopping {
                trial.shadow.get_or_insert_with(|| decision.clone());
            }
        });
        if stopping {
            self.hear_end(index);
        }
        if stopped {
            self.stop_trial(index);
        }
    }

    /// Trial `index` was stopped: it counts with its forecast.
    fn stop_trial(&mut self, index: usize) {
        let result = self.trials[index].result().filter(|_| !self.trials[index].is_unknown());
        let Some(result) = result else { return self.without_result(index) };
        let score = self.spec.direction.to_score(result);
        let by_hand = matches!(self.trials[index].state, TrialState::Stopped { reason: Reason::ByHand, .. });
        // what a person has stopped is never promoted
        let standing = if by_hand { f64::NEG_INFINITY } else { score };
        self.scheduler.end_job(index as u64, JobEnd { score: standing, stopped: true });
        let sd = self.trials[index].forecast().map_or(0.0, |forecast| forecast.sd);
        let worth = self.sampler_worth(&self.trials[index], Worth::forecast(score, sd));
        self.sampler.learn(index as u64, &self.trials[index].configuration, worth);
        self.tell_outlooks(index);
    }
}

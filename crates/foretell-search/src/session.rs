//! A session: a study behind the four verbs `ask`, `report`, `tell` and `best`, for anybody who runs trainings.

mod by_hand;
mod open;

pub use open::SessionError;

use crate::length_watch::{LengthNotice, LengthWatch};
use crate::record::{Decision, Record, SourcePosition, StudyInput};
use crate::store::{MemoryStore, Store, StoreError};
use crate::study::Best;
use crate::study::{FittedModel, ModelFit, Study, Trial, TrialState, WorkerTurn};
use foretell::Configuration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// As many trials that run out of memory before any has reported mean that nothing fits.
const HOPELESS_MISFITS: u64 = 10;
/// As many trials failing before any has reported mean that trainings do not work at all.
const HOPELESS_FAILURES: u64 = 3;

/// A training to start: a new trial, or one that continues.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingStart {
    /// The trial's number, from 0.
    pub trial: u64,
    /// The trial's configuration.
    pub configuration: Configuration,
    /// The seed of its training.
    pub seed: u32,
    /// The step that it has already reached; 0 for a new trial.
    pub from: u64,
    /// The step to train to.
    pub until: u64,
    /// The last step that is recorded; `None` if there is none.
    pub reported: Option<u64>,
    /// The place up to which the file that it appends its metrics to was read.
    pub read: Option<SourcePosition>,
}

/// The next action of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingAnswer {
    /// The trial's number.
    pub trial: u64,
    /// Whether the training is to stop.
    pub stop: bool,
    /// Whether something was recorded: not if it was there already.
    pub recorded: bool,
    /// The decision about the trial. `None` where there was nothing to decide, or where a model is fitted first
    /// ([`Session::defer_fits`]).
    pub decision: Option<Decision>,
}

impl TrainingAnswer {
    fn goes_on(trial: u64) -> Self {
        Self { trial, stop: false, recorded: false, decision: None }
    }
}

/// The end of a training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrainingEnd {
    /// As it should: it was trained as far as asked for, ended by itself, or was stopped.
    Finished,
    /// The training failed, for the given reason.
    Failed(String),
}

/// A study that any program can run: a training loop, a tuner, a process runner or a server.
///
/// 1. [`ask`](Self::ask) for a training to start, as often as there are idle workers.
/// 2. [`report`](Self::report) each value of its metric; the answer is whether to continue.
/// 3. [`tell`](Self::tell) how the training ended, also where it was stopped. Then its worker is idle again.
/// 4. [`best`](Self::best) is the best trial so far.
///
/// Each record is stored before the study changes. If the store refuses one, the study is as stored, and the same call can be tried again.
///
/// The session owns the rules between a study and its trainings:
///
/// - A stopped trial that is promoted starts again only after the end of its stopped training was reported.
/// - A training that reports past the step it was to train to is stopped, and counts with its reports until then.
/// - When the first trainings all fail without a report, there is no [hope](Self::hopeless).
///
/// ```
/// use foretell::Direction;
/// use foretell_search::{TrainingEnd, ParameterSpace, Session, Space, StudySpec};
///
/// let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"])?);
/// let spec = StudySpec { trials: 12, max_resource: 8, burn_in: 5, ..StudySpec::new(space, "val_acc", Direction::Maximize) };
/// let mut session = Session::new(spec)?;
/// while let Some(start) = session.ask()? {
///     let lr = start.configuration["lr"].as_number().unwrap_or_default();
///     for epoch in start.from + 1..=start.until {
///         let accuracy = (0.9 - 0.2 * (lr.log10() + 2.0).abs()) * (1.0 - 0.7_f64.powi(epoch as i32));
///         if session.report(start.trial, epoch, accuracy, Default::default())?.stop {
///             break;
///         }
///     }
///     session.tell(start.trial, TrainingEnd::Finished)?;
/// }
/// assert!(session.best().is_some_and(|best| best.score > 0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session<S: Store = MemoryStore> {
    study: Study,
    store: S,
    /// The records that the last call stored.
    news: Vec<Record>,
    /// Trainings that were handed out, and whose end has not been reported.
    running: BTreeSet<u64>,
    /// Starts that are not handed out yet: the trial's stopped training has not ended, or a decision is awaited.
    starts: VecDeque<TrainingStart>,
    /// Trials whose decision awaits a model, each with its events meanwhile.
    held: BTreeMap<u64, VecDeque<StudyInput>>,
    /// Trainings that went on past their last step, each with the step that showed it.
    overrun: BTreeMap<u64, u64>,
    /// Whether models are fitted by the caller.
    defers_fits: bool,
    /// Whether the caller has a model to fit.
    fitting: bool,
    /// The smallest and the largest value of the warm start.
    learned_range: Option<(f64, f64)>,
    /// Compares R with the reports.
    lengths: LengthWatch,
    /// Sentences for whoever watches the study.
    notices: Vec<LengthNotice>,
}

impl<S: Store> Session<S> {
    /// Returns the next training to start. `None` means that there is none until another ends, until a model is fitted, or for
    /// good ([`is_done`](Self::is_done)).
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored.
    pub fn ask(&mut self) -> Result<Option<TrainingStart>, StoreError> {
        self.news.clear();
        loop {
            if let Some(trial) = self.first_ready() {
                if self.is_held_or_decided(trial)? {
                    return Ok(None);
                }
                // no start is left where the trial was stopped as it stood
                if let Some(start) = self.take_start(trial) {
                    self.running.insert(trial);
                    return Ok(Some(start));
                }
                continue;
            }
            let held: BTreeSet<u64> = self.held.keys().copied().collect();
            match self.with_study(|study, append| study.start_next(|trial| held.contains(&trial), append))? {
                WorkerTurn::Nothing => return Ok(None),
                // nothing was left to train, so the worker is still idle and takes the next job
                WorkerTurn::Closed(_) => {}
                WorkerTurn::Started(trial) | WorkerTurn::Undecided(trial) => {
                    if self.is_held_or_decided(trial)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// The training of `trial`, which was to continue, starts after only `from` epochs, since it has no later checkpoint: epochs that it
    /// reports again count again. If a paused trial starts from the beginning, no checkpoint is kept: asha then pauses no trial any more.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored.
    pub fn began_after(&mut self, trial: u64, from: u64) -> Result<(), StoreError> {
        self.news.clear();
        self.with_study(|study, append| study.began_after(trial, from, append))?;
        // it runs already
        self.take_start(trial);
        Ok(())
    }

    /// Records that the training of `trial` continues on another worker, after all recorded steps.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored.
    pub fn record_worker_change(&mut self, trial: u64) -> Result<(), StoreError> {
        self.news.clear();
        self.with_study(|study, append| study.record_worker_change(trial, append))?;
        self.take_start(trial);
        Ok(())
    }

    /// A report of `step` does not count, since another worker has the trial; the `epochs` that it adds were trained.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored.
    pub fn trained_again(&mut self, trial: u64, step: u64, epochs: u64) -> Result<(), StoreError> {
        self.news.clear();
        let record = Record::Repeated { trial, step, epochs, elsewhere: true };
        self.with_study(|study, append| study.emit(record, append))
    }

    /// The report of `step` that was recorded last came late: its worker had lost the trial.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored.
    pub fn mark_report_late(&mut self, trial: u64, step: u64) -> Result<(), StoreError> {
        self.with_study(|study, append| study.emit(Record::Late { trial, step }, append))
    }

    /// The training of `trial` reports `step` first of all since it was started: where that is recorded already, it has begun after
    /// the recorded step before.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored.
    pub fn record_first_report(&mut self, trial: u64, step: u64) -> Result<(), StoreError> {
        self.news.clear();
        self.with_study(|study, append| study.repeats_from(trial, step, append))?;
        self.take_start(trial);
        Ok(())
    }

    /// The first training's output has shown which of its `series` is the metric.
    ///
    /// # Errors
    /// [`StoreError`] if the record could not be stored.
    pub fn chose(&mut self, series: &str) -> Result<(), StoreError> {
        self.news.clear();
        self.with_study(|study, append| study.choose_series(series, append))
    }

    /// The file that `trial` appends its metrics to was read up to `position`, and what was reported until there was passed on. It is not
    /// recorded while reports of the trial await a model: it must never be ahead of them.
    ///
    /// # Errors
    /// [`StoreError`] if the record could not be stored.
    pub fn read_to(&mut self, trial: u64, position: SourcePosition) -> Result<(), StoreError> {
        self.news.clear();
        let is_known = self.study.trial(trial).is_none_or(|known| known.read == Some(position));
        if is_known || self.has_start(trial) || self.held.contains_key(&trial) {
            return Ok(());
        }
        self.with_study(|study, append| study.emit(Record::Read { trial, position }, append))
    }

    /// Records a report of a training, in the unit and direction of the user. `None`, or a value that is not finite, means that
    /// it diverged. `metrics` contains its other reported values; the one called `fold`, in a study of folds, is the fold that `step` counts
    /// in, from 1.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored; report the same again.
    pub fn report(
        &mut self,
        trial: u64,
        step: u64,
        value: impl Into<Option<f64>>,
        mut metrics: BTreeMap<String, f64>,
    ) -> Result<TrainingAnswer, StoreError> {
        self.news.clear();
        // a fold that the study does not have is a value like any other
        let step = self.study.spec().step_across_folds(step, &mut metrics).unwrap_or(step);
        let report = StudyInput::Reported { trial, step, value: value.into(), metrics };
        if self.has_start(trial) {
            // its stopped training still runs; what that reports is not the promoted trial's
            return Ok(TrainingAnswer::goes_on(trial));
        }
        if let Some(waiting) = self.held.get_mut(&trial) {
            waiting.push_back(report);
            return Ok(TrainingAnswer::goes_on(trial));
        }
        let is_stopped = |trial: &Trial| matches!(trial.state, TrialState::Stopped { .. });
        if !self.running.contains(&trial) && self.study.trial(trial).is_some_and(is_stopped) {
            return Ok(TrainingAnswer { stop: true, ..TrainingAnswer::goes_on(trial) });
        }
        self.take_report(trial, step, &report)
    }

    /// A training that has ended by itself had reported this: it is recorded, and nothing is decided by it any more.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored; report the same again.
    pub fn report_late(
        &mut self,
        trial: u64,
        step: u64,
        value: impl Into<Option<f64>>,
        mut metrics: BTreeMap<String, f64>,
    ) -> Result<(), StoreError> {
        self.news.clear();
        let step = self.study.spec().step_across_folds(step, &mut metrics).unwrap_or(step);
        let report = StudyInput::Reported { trial, step, value: value.into(), metrics };
        if self.has_start(trial) {
            return Ok(());
        }
        if let Some(waiting) = self.held.get_mut(&trial) {
            waiting.push_back(report);
            return Ok(());
        }
        self.record(trial, step, &report).map(drop)
    }

    /// The training of `trial`, whose end is told next, returned `value`: the score of the trial, unless it was stopped.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored; say the same again.
    pub fn record_returned(&mut self, trial: u64, value: f64) -> Result<(), StoreError> {
        self.news.clear();
        if self.has_start(trial) {
            return Ok(());
        }
        self.with_study(|study, append| study.note_returned(trial, value, append))
    }

    /// A training ended, by itself or because it was to stop.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored; tell the same again.
    pub fn tell(&mut self, trial: u64, ending: TrainingEnd) -> Result<(), StoreError> {
        self.news.clear();
        if self.has_start(trial) {
            self.running.remove(&trial);
            self.overrun.remove(&trial);
            return Ok(());
        }
        let failure = match ending {
            TrainingEnd::Finished => None,
            TrainingEnd::Failed(why) => Some(why),
        };
        let ended = StudyInput::Ended { trial, failure };
        if let Some(waiting) = self.held.get_mut(&trial) {
            // the end waits behind the reports, because in the log it must come after the decisions on them
            waiting.push_back(ended);
            return Ok(());
        }
        self.take_end(trial, ended)
    }

    /// The best trial so far. O(log trials).
    pub fn best(&self) -> Option<Best> {
        self.study.best()
    }

    /// Whether all trials have ended.
    pub fn is_done(&self) -> bool {
        self.study.is_done()
    }

    /// The current study.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// The records that the last call stored, in order; the study has applied them.
    pub fn news(&self) -> &[Record] {
        &self.news
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The store, for example to flush it. Appending to it directly breaks the log of the study.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// The number of busy workers: trainings that were handed out and have not ended, and trials that await a model before they can start.
    pub fn busy(&self) -> usize {
        self.running.len() + self.held.keys().filter(|trial| !self.running.contains(trial)).count()
    }

    /// The running trainings.
    pub fn running(&self) -> impl Iterator<Item = u64> {
        self.running.iter().copied()
    }

    /// The step that a running training reported past its last one, if it did.
    pub fn overrun_step(&self, trial: u64) -> Option<u64> {
        self.overrun.get(&trial).copied()
    }

    /// Why the last trial failed, if the first three have failed and none has reported: trainings do not work.
    pub fn hopeless(&self) -> Option<&str> {
        let progress = self.study.progress();
        // smaller configurations than those that ran out of memory may fit
        let others = progress.trials.failed - progress.trials.out_of_memory;
        if progress.has_reports
            || others < HOPELESS_FAILURES && progress.trials.out_of_memory < HOPELESS_MISFITS
        {
            return None;
        }
        self.study.trials().iter().rev().find_map(|trial| match &trial.state {
            TrialState::Failed { reason } => Some(reason.as_str()),
            _ => None,
        })
    }

    /// The smallest and the largest finite value of the warm start's curves, in the metric's unit.
    pub fn warm_start_range(&self) -> Option<(f64, f64)> {
        self.learned_range
    }

    /// From now on reports never wait for a model to be fitted: the caller fits it, for example on another thread. A report is
    /// stored at once, and the decision follows when the model is [back](Self::accept_fit). Until then other reports of the trial
    /// are kept in order, and other trials continue. With one worker the decisions are the same as without.
    pub fn defer_fits(&mut self) {
        self.defers_fits = true;
    }

    /// The next model to fit, one at a time: [`ModelFit::run`] it, and give it [back](Self::accept_fit).
    pub fn next_fit(&mut self) -> Option<ModelFit> {
        if self.fitting {
            return None;
        }
        let fit = self.held.keys().find_map(|&trial| self.study.fit_for(trial));
        self.fitting = fit.is_some();
        fit
    }

    /// Takes back a fitted model, decides on the trials that awaited it, and goes through their reports since.
    /// Returns the answers that are due.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored. [`settle`](Self::settle) tries again.
    pub fn accept_fit(&mut self, fitted: FittedModel) -> Result<Vec<TrainingAnswer>, StoreError> {
        self.study.accept_fit(fitted);
        self.fitting = false;
        self.settle()
    }

    /// Decides on all trials that await no model any more: see [`accept_fit`](Self::accept_fit).
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored.
    pub fn settle(&mut self) -> Result<Vec<TrainingAnswer>, StoreError> {
        self.news.clear();
        let mut answers = Vec::new();
        for trial in self.held.keys().copied().collect::<Vec<_>>() {
            if self.study.needs_fit(trial) {
                continue;
            }
            // the trial is held until its decision is stored: where the store fails, the next call must find it here again
            let decided = self.decide(trial)?;
            let waiting = self.held.remove(&trial).unwrap_or_default();
            // nobody awaits an answer about a training that is not handed out yet: `ask` gives it
            if !self.has_start(trial) {
                answers.push(decided);
            }
            self.take_held_events(trial, waiting, &mut answers)?;
        }
        Ok(answers)
    }

    /// Takes in the events of `trial` while it was held, until it is held again.
    fn take_held_events(
        &mut self,
        trial: u64,
        mut waiting: VecDeque<StudyInput>,
        answers: &mut Vec<TrainingAnswer>,
    ) -> Result<(), StoreError> {
        while let Some(input) = waiting.pop_front() {
            let taken = match &input {
                StudyInput::Ended { .. } => self.take_end(trial, input.clone()),
                StudyInput::Reported { step, .. } => {
                    self.take_report(trial, *step, &input).map(|answer| answers.push(answer))
                }
                StudyInput::WorkerIdle => Ok(()),
            };
            if let Err(error) = taken {
                // the event is put back, so that nothing is lost: the next call tries it again
                waiting.push_front(input);
                self.held.insert(trial, waiting);
                return Err(error);
            }
            if let Some(held) = self.held.get_mut(&trial) {
                // this event needs another model, so the rest waits, too
                held.append(&mut waiting);
            }
        }
        Ok(())
    }

    /// The sentences about the study since the last call, for whoever watches it: where R, the epochs of a complete trial, does not fit the reports,
    /// and once trials have shown it.
    pub fn take_notices(&mut self) -> Vec<LengthNotice> {
        std::mem::take(&mut self.notices)
    }

    /// Compares a report with R, which somebody gave.
    fn watch_length(&mut self, trial: u64, step: u64) {
        let spec = self.study.spec();
        let Some(resource) = spec.resource().filter(|_| !spec.is_open_ended) else { return };
        let first = self.study.trial(trial).and_then(Trial::first_step).unwrap_or(step);
        let mismatch = self.lengths.check_report(resource, trial, first, step);
        self.notices.extend(mismatch.map(LengthNotice::from));
    }

    /// Notes what `record` shows of R, which was `known` before.
    fn watch_record(&mut self, record: &Record, known: Option<u64>) {
        let spec = self.study.spec();
        match *record {
            Record::Resource { trial, max_resource } => {
                let rest = match known {
                    Some(known) => format!(
                        "more than the {known} before. Forecasts are for epoch {max_resource} from here on"
                    ),
                    None if max_resource == 1 => "so there is nothing to stop".to_owned(),
                    None if spec.policy.stops() => "so trials can be stopped from here on".to_owned(),
                    None => "so the length of the search is known".to_owned(),
                };
                let text =
                    format!("trial {trial} shows that a complete trial has {max_resource} epochs, {rest}");
                self.notices.push(LengthNotice { text, is_warning: false });
            }
            Record::Completed { trial } if !spec.is_open_ended => {
                let length = self.study.trial(trial).map_or(0, Trial::trained_epochs);
                let mismatch = self.lengths.check_completed(spec.max_resource, spec.burn_in, length);
                self.notices.extend(mismatch.map(LengthNotice::from));
            }
            _ => {}
        }
    }

    fn take_report(
        &mut self,
        trial: u64,
        step: u64,
        report: &StudyInput,
    ) -> Result<TrainingAnswer, StoreError> {
        let recorded = self.record(trial, step, report)?;
        let answer = if self.is_held(trial) { TrainingAnswer::goes_on(trial) } else { self.decide(trial)? };
        let is_over = self.study.trial(trial).is_some_and(|trial| step > trial.until);
        Ok(TrainingAnswer { stop: answer.stop || is_over, recorded, ..answer })
    }

    /// Records a report, and notes whether it is past the step that the training was to train to. Returns whether it counts.
    fn record(&mut self, trial: u64, step: u64, report: &StudyInput) -> Result<bool, StoreError> {
        self.watch_length(trial, step);
        let recorded = self.with_study(|study, append| study.take_report(report, append))?;
        if self.study.trial(trial).is_some_and(|trial| step > trial.until) {
            self.overrun.entry(trial).or_insert(step);
        }
        Ok(recorded)
    }

    fn take_end(&mut self, trial: u64, ended: StudyInput) -> Result<(), StoreError> {
        let reported = self.study.trial(trial).is_some_and(Trial::has_reported);
        let ended = match ended {
            // a program was stopped because it went on, and not because anything went wrong
            _ if reported && self.overrun.contains_key(&trial) && !self.study.spec().workload.is_empty() => {
                StudyInput::Ended { trial, failure: None }
            }
            ended => ended,
        };
        self.with_study(|study, append| study.step_into(&ended, append))?;
        self.running.remove(&trial);
        self.overrun.remove(&trial);
        Ok(())
    }

    /// Decides on `trial`; one that runs no more is to stop.
    fn decide(&mut self, trial: u64) -> Result<TrainingAnswer, StoreError> {
        let decision = self.with_study(|study, append| study.decide(trial, append))?;
        Ok(self.answer_for_decision(trial, decision))
    }

    /// The answer after a `decision` about `trial`.
    fn answer_for_decision(&mut self, trial: u64, decision: Option<Decision>) -> TrainingAnswer {
        let stop = self.study.trial(trial).is_some_and(|trial| !trial.is_open());
        if stop {
            self.starts.retain(|start| start.trial != trial);
        }
        TrainingAnswer { trial, stop, recorded: decision.is_some(), decision }
    }

    /// Decides on `trial`, unless that awaits a model: then the trial is held, and the answer is yes.
    fn is_held_or_decided(&mut self, trial: u64) -> Result<bool, StoreError> {
        if self.is_held(trial) {
            return Ok(true);
        }
        self.decide(trial)?;
        Ok(false)
    }

    /// Whether the decision on `trial` awaits a model; it is held then.
    fn is_held(&mut self, trial: u64) -> bool {
        let held = self.defers_fits && self.study.needs_fit(trial);
        if held {
            self.held.entry(trial).or_default();
        }
        held
    }

    fn has_start(&self, trial: u64) -> bool {
        self.starts.iter().any(|start| start.trial == trial)
    }

    /// The first trial to start that awaits neither its stopped training nor a model.
    fn first_ready(&self) -> Option<u64> {
        let mut trials = self.starts.iter().map(|start| start.trial);
        trials.find(|trial| !self.running.contains(trial) && !self.held.contains_key(trial))
    }

    fn take_start(&mut self, trial: u64) -> Option<TrainingStart> {
        let place = self.starts.iter().position(|start| start.trial == trial)?;
        self.starts.remove(place)
    }

    /// Calls the study with the store; all stored records are news, also where an error follows.
    fn with_study<T>(
        &mut self,
        call: impl FnOnce(&mut Study, &mut dyn FnMut(&Record) -> Result<(), StoreError>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // R is read before the call, because a record of a new R replaces it
        let (before, resource) = (self.news.len(), self.study.spec().resource());
        let Self { study, store, news, .. } = self;
        let called = call(study, &mut |record| {
            store.append(record)?;
            news.push(record.clone());
            Ok(())
        });
        let new: Vec<Record> = self.news[before..].to_vec();
        for record in new {
            self.watch_record(&record, resource);
            if let Record::Started { trial, configuration, seed, from, until } = record {
                let known = self.study.trial(trial);
                let reported = known.filter(|known| known.has_reported()).map(|known| known.step);
                let read = known.and_then(|known| known.read);
                self.starts.push_back(TrainingStart {
                    trial,
                    configuration,
                    seed,
                    from,
                    until,
                    reported,
                    read,
                });
            }
        }
        called
    }
}

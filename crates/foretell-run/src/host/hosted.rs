//! A study that this process hosts: its session, the workers of its trials, and the orders of people.

#[cfg(test)]
mod model;

use std::collections::BTreeMap;
use std::time::Duration;

use foretell::{Configuration, Run};
use foretell_search::{
    FittedModel, LengthNotice, ManualOrder, Record, Session, SourcePosition, Store, StoreError, Study,
    StudyError, StudySettings, TrainingAnswer, TrainingEnd, TrainingStart, Trial, TrialState,
};
use thiserror::Error;

use crate::host::leases::{Leases, LifeSign, MessageSender, UnheldTraining, WorkerView};
use crate::host::orders::{EnqueueOrder, Orders};

/// After so many trials in a row that failed as every one of their command would, the study does not work.
const MAX_FAILURES_IN_A_ROW: u32 = 3;

/// A study that this process hosts: trainings [`ask`](Self::ask), [`report`](Self::report) and [`tell`](Self::tell), people
/// [`carry_out_order`](Self::carry_out_order), and anybody may [read](Self::session).
///
/// | promise                                                   | and                                                     |
/// |-----------------------------------------------------------|---------------------------------------------------------|
/// | a report twice changes nothing                            | another value for a step, or an earlier step, is refused |
/// | a training that is to stop gets the reason                | also if it was stopped before it reported again         |
/// | with [`Leases`], a trial has one worker                   | late reports of another are accepted only if they continue the curve |
/// | a worker that names itself gets its own trial again       | also when the host was restarted                        |
///
/// ```
/// use foretell::Direction;
/// use foretell_run::{MetricReading, StudyHost};
/// use foretell_search::{ManualOrder, ParameterSpace, Session, Space, StudySpec};
///
/// let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"])?);
/// let mut study = StudyHost::new(Session::new(StudySpec::new(space, "val_acc", Direction::Maximize))?);
/// let task = study.ask(None)?.expect("nothing was trained yet");
/// let reading = MetricReading { step: 1, value: Some(0.4), ..MetricReading::default() };
/// assert!(study.report(task.start.trial, reading.clone(), None)?.recorded);
/// assert!(!study.report(task.start.trial, reading, None)?.recorded, "it is there already");
/// assert!(study.carry_out_order(task.start.trial, ManualOrder::Stop)?.stop);
/// assert_eq!(study.tell(task.start.trial, None, None)?, "stopped");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StudyHost<S: Store> {
    pub(crate) session: Session<S>,
    leases: Option<Leases>,
    orders: Option<Orders>,
    /// The records stored, and the trainings that ended, since somebody who watches looked; `None` where nobody does.
    news: Option<StudyNews>,
    /// Why the study does not work.
    refusal_reason: Option<String>,
    /// How many trials ended last, one after the other, by a failure of the command.
    failed_in_a_row: u32,
}

/// The news of a study since somebody looked.
#[derive(Debug, Default)]
pub(crate) struct StudyNews {
    pub(crate) records: Vec<Record>,
    pub(crate) ended: Vec<u64>,
}

/// A training to run.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingTask {
    /// The training; it continues from the epoch that it has reached.
    pub start: TrainingStart,
    /// The key by which its worker names itself in reports, and the time it may be silent once it renews; `None` without leases.
    pub lease: Option<(String, Duration)>,
}

/// A report of a training.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricReading {
    /// The step.
    pub step: u64,
    /// The metric in its own unit; `None` if it is not finite.
    pub value: Option<f64>,
    /// The other values it reports.
    pub metrics: BTreeMap<String, f64>,
    /// Whether the training had ended by then: it is recorded, and nothing is decided by it.
    pub late: bool,
    /// The lease under which it was made, where a worker passes on a report that another could not send.
    pub made_under: Option<String>,
}

/// The reason why a host refuses a request.
#[derive(Debug, Error)]
pub enum HostError {
    /// There is no such trial.
    #[error("trial {trial} does not exist: no ask has returned it")]
    NoTrial {
        /// The trial's number.
        trial: u64,
    },
    /// The trial's training has ended.
    #[error("trial {trial} has ended: {state}")]
    TrialEnded {
        /// The trial's number.
        trial: u64,
        /// The trial's state: [`TrialState::name`].
        state: &'static str,
    },
    /// A training that was recorded as a whole one is said to have failed.
    #[error("trial {trial} has ended: {state}, so it cannot fail")]
    CannotFail {
        /// The trial's number.
        trial: u64,
        /// The trial's state: [`TrialState::name`].
        state: &'static str,
    },
    /// Another worker has the trial.
    #[error("trial {trial} was silent for too long and runs elsewhere now. Ask for another")]
    HeldElsewhere {
        /// The trial's number.
        trial: u64,
    },
    /// A worker's later question was answered already.
    #[error("turn {turn} is old: worker {worker} has asked again since")]
    OutdatedTurn {
        /// The worker's name.
        worker: String,
        /// The number of its question.
        turn: u64,
    },
    /// Another value was reported at this step.
    #[error("trial {trial} already reported {value} at step {step}, and a report cannot be changed")]
    ConflictingValue {
        /// The trial's number.
        trial: u64,
        /// The step.
        step: u64,
        /// The reported value.
        value: f64,
    },
    /// A later step was reported.
    #[error("trial {trial} already reported step {step}, and steps must increase")]
    StepPassed {
        /// The trial's number.
        trial: u64,
        /// The last step that it reported.
        step: u64,
    },
    /// The fold of a report is none of the study's.
    #[error(
        "fold is {fold}, but must be a whole number from 1 to {folds}. Count folds from 1, or change the study's folds"
    )]
    InvalidFold {
        /// The reported fold.
        fold: f64,
        /// The number of folds.
        folds: u64,
    },
    /// The study's first training failed as all others would.
    #[error("the study's command does not work: {why}")]
    BrokenCommand {
        /// The problem.
        why: String,
    },
    /// A configuration cannot be enqueued.
    #[error(transparent)]
    NotEnqueued(#[from] StudyError),
    /// A record could not be stored; the same may be tried again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl HostError {
    /// The field of a request that is wrong; `None` if it could not be stored.
    pub fn invalid_field(&self) -> Option<&'static str> {
        match self {
            Self::NoTrial { .. } | Self::TrialEnded { .. } => Some("trial"),
            Self::CannotFail { .. } => Some("failure"),
            Self::HeldElsewhere { .. } => Some("lease"),
            Self::OutdatedTurn { .. } => Some("turn"),
            Self::ConflictingValue { .. } => Some("value"),
            Self::StepPassed { .. } => Some("step"),
            Self::InvalidFold { .. } => Some("metrics"),
            Self::BrokenCommand { .. } => Some("study"),
            Self::NotEnqueued(_) => Some("configuration"),
            Self::Store(_) => None,
        }
    }
}

impl<S: Store> StudyHost<S> {
    /// Hosts the study of `session`. Its trainings end with this process: those that ran when it was left are asked for again.
    pub fn new(session: Session<S>) -> Self {
        Self { session, leases: None, orders: None, news: None, refusal_reason: None, failed_in_a_row: 0 }
    }

    /// Serves trainings elsewhere, which hold `leases`. Those that ran when the study was left are taken to run still.
    ///
    /// # Errors
    /// [`HostError::Store`] if a record could not be stored.
    pub fn with_leases(self, leases: Leases) -> Result<Self, HostError> {
        let is_open = |(number, trial): (usize, &Trial)| trial.is_open().then_some(number as u64);
        let open = self.session.study().trials().iter().enumerate().filter_map(is_open).collect();
        self.take_up_trials(open, leases)
    }

    /// Serves trainings here and elsewhere: those that [`Leases`] noted are taken to run elsewhere still, and the
    /// others to have been interrupted.
    ///
    /// # Errors
    /// [`HostError::Store`] if a record could not be stored.
    pub fn with_partial_leases(self, leases: Leases) -> Result<Self, HostError> {
        let noted = leases.noted_trials();
        self.take_up_trials(noted, leases)
    }

    fn take_up_trials(mut self, trials: Vec<u64>, mut leases: Leases) -> Result<Self, HostError> {
        let mut starts = Vec::new();
        for trial in trials {
            starts.extend(self.session.take_up(trial)?);
        }
        leases.take_over(starts);
        Ok(Self { leases: Some(leases), ..self })
    }

    /// Keeps [`StudyNews`] for somebody who watches.
    pub(crate) fn with_news(self) -> Self {
        Self { news: Some(StudyNews::default()), ..self }
    }

    /// The news since the last call.
    pub(crate) fn take_news(&mut self) -> StudyNews {
        self.news.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The sentences about R since the last call: see [`Session::take_notices`].
    pub fn take_notices(&mut self) -> Vec<LengthNotice> {
        self.session.take_notices()
    }

    /// Keeps the records that the session's last call stored.
    fn collect_news(&mut self) {
        if let Some(news) = &mut self.news {
            news.records.extend_from_slice(self.session.news());
        }
    }

    /// Carries out orders by files, too, whenever a training is heard.
    #[must_use]
    pub fn with_orders(self, orders: Orders) -> Self {
        Self { orders: Some(orders), ..self }
    }

    /// Hands the study runs of earlier searches to learn from, before its first trial.
    ///
    /// # Errors
    /// [`HostError::Store`].
    pub fn warm_start(&mut self, runs: &[Run]) -> Result<(), HostError> {
        Ok(self.session.warm_start(runs)?)
    }

    /// The session, to read.
    pub fn session(&self) -> &Session<S> {
        &self.session
    }

    /// The next training to do: the one that `worker` has already, one whose worker is silent, or a new one.
    ///
    /// # Errors
    /// [`HostError::Store`]; ask again.
    pub fn ask(&mut self, worker: Option<&str>) -> Result<Option<TrainingTask>, HostError> {
        self.carry_out_order_files()?;
        if let Some(why) = &self.refusal_reason {
            return Err(HostError::BrokenCommand { why: why.clone() });
        }
        self.end_forgotten(worker)?;
        if let Some(leases) = &mut self.leases
            && let Some(trial) = worker.and_then(|worker| leases.trial_of_worker(worker))
        {
            // a worker that was restarted, or whose answer was lost, gets its trial again instead of a second one: otherwise
            // nobody would train the first
            leases.note_life_sign(trial, LifeSign::Asked);
            return Ok(self.held_task(trial));
        }
        let start = self.next_start()?;
        Ok(start.and_then(|start| self.hand_out(start, worker)))
    }

    /// Answers a worker that numbers its questions, and sends one again that got no answer: one that comes late, after
    /// the next was answered, hands out nothing. Such a worker renews its lease from the beginning.
    ///
    /// # Errors
    /// [`HostError::OutdatedTurn`], [`HostError::Store`].
    pub fn ask_in_turn(&mut self, worker: &str, turn: u64) -> Result<Option<TrainingTask>, HostError> {
        if self.leases.as_mut().is_some_and(|leases| !leases.accept_turn(worker, turn)) {
            return Err(HostError::OutdatedTurn { worker: worker.to_owned(), turn });
        }
        let task = self.ask(Some(worker))?;
        if let Some(leases) = self.leases.as_mut().filter(|_| task.is_none() && self.session.is_done()) {
            leases.dismiss_worker(worker);
        }
        Ok(task)
    }

    /// The next training for the process that hosts the study itself.
    pub(crate) fn ask_locally(&mut self) -> Result<Option<TrainingTask>, HostError> {
        // no order files here: the driver carries orders out itself
        self.end_forgotten(None)?;
        let Some(start) = self.next_start()? else { return Ok(None) };
        let lease = self
            .leases
            .as_mut()
            .map(|leases| (leases.grant_local_lease(start.clone()), leases.lease_duration()));
        Ok(Some(TrainingTask { start, lease }))
    }

    /// A training of `trial` failed as every one of its command would. If nothing was reported yet, or three trials in a row failed so, the
    /// study does not work: from then on it hands out no training.
    ///
    /// # Errors
    /// Those of [`tell`](Self::tell).
    pub fn tell_command_failure(
        &mut self,
        trial: u64,
        why: String,
        lease: Option<&str>,
    ) -> Result<&'static str, HostError> {
        let is_first = !self.session.study().progress().has_reports;
        // the same message again is no other failure
        let in_a_row = self.failed_in_a_row + u32::from(self.is_handed_out(trial));
        let state = self.tell(trial, Some(why.clone()), lease)?;
        // after `tell`, which sets the count to 0 as any other end does
        self.failed_in_a_row = in_a_row;
        if is_first {
            self.refusal_reason.get_or_insert_with(|| format!("trial {trial} {why}"));
        } else if in_a_row >= MAX_FAILURES_IN_A_ROW {
            let said = || {
                format!("{in_a_row} trials in a row ended without a value of the metric. Trial {trial} {why}")
            };
            self.refusal_reason.get_or_insert_with(said);
        }
        Ok(state)
    }

    /// Why the study does not work, if that is known.
    pub(crate) fn refusal_reason(&self) -> Option<&str> {
        self.refusal_reason.as_deref()
    }

    /// Whether the training of `trial` is to stop.
    pub(crate) fn must_stop(&self, trial: u64) -> bool {
        !self.session.study().is_running(trial) || self.session.overrun_step(trial).is_some()
    }

    /// A training's output has shown which of its `series` is the metric.
    pub(crate) fn choose_series(&mut self, series: &str) -> Result<(), HostError> {
        let chosen = self.session.chose(series);
        self.collect_news();
        Ok(chosen?)
    }

    /// The worker of `trial` has read the file that the training appends its metrics to up to `position`, and reported all until there.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn record_source_position(
        &mut self,
        trial: u64,
        position: SourcePosition,
        lease: Option<&str>,
    ) -> Result<TrainingAnswer, HostError> {
        self.check_holder(trial, lease, LifeSign::Reported)?;
        let stored = self.session.read_to(trial, position);
        self.collect_news();
        stored?;
        self.next_answer(trial)
    }

    /// Takes in a fitted model, and decides on the trials that awaited it.
    pub(crate) fn apply_fitted_model(&mut self, fitted: FittedModel) -> Result<(), HostError> {
        let decided = self.session.accept_fit(fitted);
        self.collect_news();
        decided?;
        Ok(())
    }

    /// A training that was handed back, one whose worker is silent, or a new one.
    fn next_start(&mut self) -> Result<Option<TrainingStart>, HostError> {
        while let Some(UnheldTraining { mut start, had_worker }) =
            self.leases.as_mut().and_then(Leases::next_unheld)
        {
            let trial = start.trial;
            let known = self.find_trial(trial)?;
            // the silent worker may have reported since its start, so that less is left to train
            start.from = known.trained_epochs();
            let is_short = self.session.study().is_running(trial) && start.from < known.until;
            let again = match &mut self.leases {
                // a trial that was given to nobody has not started in vain
                Some(leases) if is_short && had_worker => leases.start_again(trial, start.from),
                _ => Ok(()),
            };
            let ending = match again {
                Ok(()) if is_short => {
                    let moved = self.session.record_worker_change(trial);
                    self.collect_news();
                    moved?;
                    return Ok(Some(start));
                }
                // all epochs were reported, or the trial was stopped: only the message of the end is missing
                Ok(()) => TrainingEnd::Finished,
                Err(why) => TrainingEnd::Failed(why),
            };
            let ended = self.session.tell(trial, ending);
            self.collect_news();
            ended?;
        }
        // one that awaits a model is handed out before another is begun
        let awaits_model = self.leases.is_some() && self.session.busy() > self.session.running().count();
        if awaits_model {
            return Ok(None);
        }
        let start = self.session.ask();
        self.collect_news();
        Ok(start?)
    }

    /// The training of `trial` continues after only `after` epochs, from a checkpoint or from the beginning: repeated epochs are
    /// not recorded again, and count when they are reported. A worker that numbers its `attempt`s may send this again.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn begin_attempt(
        &mut self,
        trial: u64,
        after: u64,
        attempt: Option<u64>,
        lease: Option<&str>,
    ) -> Result<TrainingAnswer, HostError> {
        self.check_holder(trial, lease, LifeSign::Renewed)?;
        let trained = self.find_trial(trial)?.trained_epochs();
        let is_news =
            self.leases.as_mut().is_none_or(|leases| leases.note_attempt(trial, trained, after, attempt));
        if is_news && self.is_handed_out(trial) && after < trained {
            let begun = self.session.began_after(trial, after);
            self.collect_news();
            begun?;
        }
        self.next_answer(trial)
    }

    /// The worker of `trial` ends, and hands the training back unfinished: it continues elsewhere, and has not failed. Answers with
    /// the trial's state.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn hand_back(&mut self, trial: u64, lease: Option<&str>) -> Result<&'static str, HostError> {
        if self.is_handed_back(trial, lease) {
            return Ok("handed_back");
        }
        self.check_holder(trial, lease, LifeSign::Renewed)?;
        if !self.session.study().is_running(trial) {
            return self.tell(trial, None, lease);
        }
        if let Some(leases) = &mut self.leases {
            leases.hand_back(trial);
        }
        Ok("handed_back")
    }

    /// The workers that name themselves and were heard in the last `time`.
    pub fn recent_workers(&self, time: Duration) -> Vec<WorkerView> {
        self.leases.as_ref().map(|leases| leases.recent_workers(time)).unwrap_or_default()
    }

    /// Whether somebody trains `trial`.
    pub(crate) fn is_held(&self, trial: u64) -> bool {
        self.leases.as_ref().is_some_and(|leases| leases.lease_of(trial).is_some())
    }

    /// Whether no training runs elsewhere.
    pub(crate) fn has_no_remote_trials(&self) -> bool {
        self.leases.as_ref().is_none_or(Leases::has_no_remote_trials)
    }

    /// Whether trainings elsewhere may take part.
    pub(crate) fn allows_remote_trials(&self) -> bool {
        self.leases.is_some()
    }

    fn hand_out(&mut self, start: TrainingStart, worker: Option<&str>) -> Option<TrainingTask> {
        let Some(leases) = &mut self.leases else { return Some(TrainingTask { start, lease: None }) };
        let trial = start.trial;
        leases.grant_lease(start, worker);
        self.held_task(trial)
    }

    /// A training reports; `lease` is the key that its worker was given.
    ///
    /// # Errors
    /// [`HostError`]; after [`HostError::Store`], report the same again.
    pub fn report(
        &mut self,
        trial: u64,
        reading: MetricReading,
        lease: Option<&str>,
    ) -> Result<TrainingAnswer, HostError> {
        // before the report is judged, so that its answer already says whether a person has stopped the trial
        self.carry_out_order_files()?;
        let reading = self.place_in_folds(reading)?;
        let known = self.find_trial(trial)?;
        let is_new = !known.has_reported() || reading.step > known.step;
        let sender =
            self.leases.as_mut().map_or(MessageSender::Holder, |leases| leases.classify_sender(trial, lease));
        let is_late = match sender {
            MessageSender::Holder => false,
            // a copy of a report that was accepted before the lease was lost: its worker must not take this for a refusal
            _ if self.leases.as_ref().is_some_and(|it| it.has_reported(trial, reading.step, lease)) => {
                return self.next_answer(trial);
            }
            MessageSender::Returning if is_new && self.is_handed_out(trial) => true,
            MessageSender::Returning | MessageSender::Stranger => {
                return self.refuse_report(trial, reading.step, lease);
            }
        };
        if is_late {
            self.move_back(trial, lease)?;
        }
        self.check_holder(trial, lease, LifeSign::Reported)?;
        let (step, maker) = (reading.step, reading.made_under.clone());
        let next = self.record_reading(trial, reading)?;
        if let Some(leases) = &mut self.leases {
            leases.record_step(trial, step, 0, None);
            // the one who made the report may send it, too, and its copy must be known as one even if it has lost the trial
            if maker.is_some() && leases.is_lost(trial, maker.as_deref()) {
                leases.record_step(trial, step, 0, maker.as_deref());
            }
            if next.recorded {
                // from here on the curve is that of another training, which late reports would not continue
                leases.forbid_return(trial);
            }
        }
        if is_late && next.recorded {
            self.session.mark_report_late(trial, step)?;
            self.collect_news();
        }
        Ok(next)
    }

    /// The reading with its step among those of all folds.
    fn place_in_folds(&self, mut reading: MetricReading) -> Result<MetricReading, HostError> {
        let spec = self.session.study().spec();
        let step = spec.step_across_folds(reading.step, &mut reading.metrics);
        let step = step.map_err(|fold| HostError::InvalidFold { fold, folds: spec.folds() })?;
        Ok(MetricReading { step, ..reading })
    }

    /// The trial moves back to the worker that lost it: the epochs that the other one has repeated so far are no part of its training.
    fn move_back(&mut self, trial: u64, lease: Option<&str>) -> Result<(), HostError> {
        if let Some(leases) = &mut self.leases {
            leases.give_back(trial, lease);
        }
        let moved = self.session.record_worker_change(trial);
        self.collect_news();
        Ok(moved?)
    }

    /// Another worker holds the trial: reports of this one count as trained epochs, and for nothing else.
    fn refuse_report(
        &mut self,
        trial: u64,
        step: u64,
        lease: Option<&str>,
    ) -> Result<TrainingAnswer, HostError> {
        let before = self.find_trial(trial)?.trained_before(step);
        let epochs = self.leases.as_mut().map_or(0, |leases| match leases.is_lost(trial, lease) {
            true => leases.record_step(trial, step, before, lease),
            false => 0,
        });
        if epochs > 0 {
            let counted = self.session.trained_again(trial, step, epochs);
            self.collect_news();
            counted?;
        }
        Err(HostError::HeldElsewhere { trial })
    }

    /// Takes a report of the worker of `trial`.
    fn record_reading(&mut self, trial: u64, reading: MetricReading) -> Result<TrainingAnswer, HostError> {
        let step = reading.step;
        let is_known = match self.has_reading(trial, &reading) {
            // a training that was interrupted repeats steps with other values
            Err(HostError::ConflictingValue { .. } | HostError::StepPassed { .. })
                if self.may_repeat(trial, step) =>
            {
                true
            }
            known => known?,
        };
        if is_known {
            return self.record_repeat(trial, reading);
        }
        if !self.is_handed_out(trial) {
            let known = self.find_trial(trial)?;
            let stopped = matches!(known.state, TrialState::Stopped { .. });
            return if stopped { self.next_answer(trial) } else { Err(self.ended_error(trial, known)) };
        }
        let MetricReading { value, metrics, late, .. } = reading;
        let answer = match late {
            true => self.session.report_late(trial, step, value, metrics).map(|()| None),
            false => self.session.report(trial, step, value, metrics).map(Some),
        };
        self.collect_news();
        let Some(answer) = answer? else {
            return Ok(TrainingAnswer { recorded: true, ..self.next_answer(trial)? });
        };
        let before = if answer.stop { self.find_trial(trial)?.decision.clone() } else { None };
        Ok(TrainingAnswer { decision: answer.decision.or(before), ..answer })
    }

    /// A training reports a step that is recorded: it is a copy of a report, or was trained once more.
    fn record_repeat(
        &mut self,
        trial: u64,
        MetricReading { step, value, metrics, .. }: MetricReading,
    ) -> Result<TrainingAnswer, HostError> {
        if self.is_handed_out(trial) {
            if self.leases.as_mut().is_some_and(|leases| leases.note_first_repeat(trial, step)) {
                let begun = self.session.record_first_report(trial, step);
                self.collect_news();
                begun?;
            }
            let repeated = self.session.report(trial, step, value, metrics);
            self.collect_news();
            repeated?;
        }
        self.next_answer(trial)
    }

    /// The worker of `trial` shows that it is alive, and hears whether to stop.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn renew_lease(&mut self, trial: u64, lease: Option<&str>) -> Result<TrainingAnswer, HostError> {
        self.carry_out_order_files()?;
        self.check_holder(trial, lease, LifeSign::Renewed)?;
        self.next_answer(trial)
    }

    /// The training of `trial`, whose end is told next, returned `value`: the trial's score, unless it was stopped.
    ///
    /// # Errors
    /// [`HostError`]; after [`HostError::Store`], say the same again.
    pub fn record_returned_value(
        &mut self,
        trial: u64,
        value: f64,
        lease: Option<&str>,
    ) -> Result<(), HostError> {
        self.find_trial(trial)?;
        let sender =
            self.leases.as_mut().map_or(MessageSender::Holder, |leases| leases.classify_sender(trial, lease));
        if sender == MessageSender::Stranger || !self.is_handed_out(trial) {
            return Ok(());
        }
        let noted = self.session.record_returned(trial, value);
        self.collect_news();
        Ok(noted?)
    }

    /// A training has ended. The same request again changes nothing. Answers how the trial is then; `handed_back` if that was no end, see
    /// [`Leases`].
    ///
    /// # Errors
    /// [`HostError`]; after [`HostError::Store`], tell the same again.
    pub fn tell(
        &mut self,
        trial: u64,
        failure: Option<String>,
        lease: Option<&str>,
    ) -> Result<&'static str, HostError> {
        self.find_trial(trial)?;
        let is_well = self.is_handed_out(trial) && failure.is_none();
        let sender =
            self.leases.as_mut().map_or(MessageSender::Holder, |leases| leases.classify_sender(trial, lease));
        // the end of a training that went well is worth more than a second training of the same trial
        if is_well && sender == MessageSender::Returning {
            self.move_back(trial, lease)?;
        }
        if self.is_handed_back(trial, lease) {
            return Ok("handed_back");
        }
        if self.is_handed_out(trial) {
            // the end is no report: the time before it must not count as a pause between reports
            self.check_holder(trial, lease, LifeSign::Asked)?;
            self.failed_in_a_row = 0;
            return self.end_training(trial, failure);
        }
        let known = self.find_trial(trial)?;
        if known.is_open() {
            return Err(self.ended_error(trial, known));
        }
        let state = &known.state;
        let is_whole = matches!(state, TrialState::Completed { .. } | TrialState::Paused { .. });
        // its score may have decided about others already, so it cannot be taken back
        if is_whole && failure.is_some() {
            return Err(HostError::CannotFail { trial, state: state.name() });
        }
        Ok(state.name())
    }

    /// Whether `trial` waits for its next worker, and this is a copy of the last one's message.
    fn is_handed_back(&self, trial: u64, lease: Option<&str>) -> bool {
        lease.is_some() && self.leases.as_ref().is_some_and(|leases| leases.is_handed_back(trial))
    }

    /// The training of `trial`, which runs, has ended.
    fn end_training(&mut self, trial: u64, failure: Option<String>) -> Result<&'static str, HostError> {
        let known = self.find_trial(trial)?;
        let is_short = self.session.study().is_running(trial) && known.trained_epochs() < known.until;
        let from = known.trained_epochs();
        let mut ending = failure.map_or(TrainingEnd::Finished, TrainingEnd::Failed);
        if let Some(leases) = &mut self.leases
            && is_short
            && ending == TrainingEnd::Finished
            && leases.is_silent_end(trial)
        {
            // its checkpoint was ahead of the record, so epochs without a report are missing: it trains once more from its
            // beginning (decision 42)
            if leases.note_silent_end(trial) {
                leases.hand_back(trial);
                return Ok("handed_back");
            }
            ending = TrainingEnd::Failed(describe_silent_end(from));
        }
        let ended = self.session.tell(trial, ending);
        self.collect_news();
        ended?;
        // after the record: if that could not be stored, the worker must still hold the trial when it tells the end again
        self.leases.as_mut().and_then(|leases| leases.end_lease(trial));
        self.news.iter_mut().for_each(|news| news.ended.push(trial));
        Ok(self.find_trial(trial)?.state.name())
    }

    /// Carries out an order of a person.
    ///
    /// # Errors
    /// [`HostError`]; after [`HostError::Store`], order the same again.
    pub fn carry_out_order(&mut self, trial: u64, order: ManualOrder) -> Result<TrainingAnswer, HostError> {
        let ordered = carry_out_manual_order(&mut self.session, trial, order);
        self.collect_news();
        ordered
    }

    /// Enqueues a configuration, which may name only some parameters: the next new trial has it.
    ///
    /// # Errors
    /// [`HostError::NotEnqueued`]; after [`HostError::Store`], enqueue the same again.
    pub fn enqueue(&mut self, configuration: Configuration) -> Result<(), HostError> {
        self.enqueue_once(configuration, None)
    }

    /// Enqueues a configuration by an `order`, which is carried out once however often it comes.
    ///
    /// # Errors
    /// Those of [`enqueue`](Self::enqueue).
    pub fn enqueue_once(
        &mut self,
        configuration: Configuration,
        order: Option<String>,
    ) -> Result<(), HostError> {
        let enqueued = self.session.enqueue(configuration, order);
        self.collect_news();
        Ok(enqueued??)
    }

    /// From here on the `settings` hold.
    ///
    /// # Errors
    /// [`HostError::Store`].
    pub fn change_settings(&mut self, settings: StudySettings) -> Result<(), HostError> {
        let changed = self.session.change(settings);
        self.collect_news();
        Ok(changed?)
    }

    /// Carries out orders by files. An order is withdrawn only once it is recorded.
    fn carry_out_order_files(&mut self) -> Result<(), HostError> {
        let Some(orders) = &self.orders else { return Ok(()) };
        let orders = orders.clone();
        for (trial, order) in orders.waiting_orders() {
            self.session.by_hand(trial, order)?;
            self.collect_news();
            orders.withdraw_order(trial, order);
        }
        for EnqueueOrder { file, id, configuration } in orders.waiting_configurations() {
            // whoever gave the order has checked it; a configuration for which no place is left is dropped
            let enqueued = self.session.enqueue(configuration, Some(id));
            self.collect_news();
            let _ = enqueued?;
            orders.withdraw_enqueued(&file);
        }
        Ok(())
    }

    /// Ends, in the place of their workers, stopped trainings whose worker asks for another, or is silent.
    fn end_forgotten(&mut self, worker: Option<&str>) -> Result<(), HostError> {
        let Some(leases) = &mut self.leases else { return Ok(()) };
        let own = worker.and_then(|worker| leases.trial_of_worker(worker));
        for trial in leases.held_trials() {
            let is_left = own == Some(trial) || leases.is_silent(trial);
            // a worker that was told to stop may have died before it told the end, which would keep the study open
            if is_left && !self.session.study().is_running(trial) {
                if self.session.running().any(|running| running == trial) {
                    let ended = self.session.tell(trial, TrainingEnd::Finished);
                    if let Some(news) = &mut self.news {
                        news.records.extend_from_slice(self.session.news());
                        news.ended.push(trial);
                    }
                    ended?;
                }
                leases.end_lease(trial);
            }
        }
        Ok(())
    }

    /// The training of `trial`, which somebody holds, as it stands.
    fn held_task(&self, trial: u64) -> Option<TrainingTask> {
        let leases = self.leases.as_ref()?;
        let (known, lease) = (self.session.study().trial(trial)?, leases.lease_of(trial)?);
        let start = TrainingStart {
            from: known.trained_epochs(),
            until: known.until,
            reported: known.has_reported().then_some(known.step),
            read: known.read,
            ..lease.start.clone()
        };
        Some(TrainingTask {
            start,
            lease: Some((lease.key.clone().unwrap_or_default(), leases.lease_duration())),
        })
    }

    /// Whether the study has this reading already.
    fn has_reading(&self, trial: u64, reading: &MetricReading) -> Result<bool, HostError> {
        let (study, known) = (self.session.study(), self.find_trial(trial)?);
        if !known.has_reported() {
            return Ok(false);
        }
        let (spec, curve, step) = (study.spec(), &known.curve, reading.step);
        let value = known.score_at(step, spec.max_resource).map(|score| spec.direction.to_value(score));
        match (value, reading.value) {
            (Some(value), Some(given)) if value.total_cmp(&given).is_eq() => Ok(true),
            // a training that diverged has no value at this step to compare with
            (None, None) if step <= known.step && curve.diverged_at().is_some() => Ok(true),
            (Some(value), _) => Err(HostError::ConflictingValue { trial, step, value }),
            (None, _) if step <= known.step => Err(HostError::StepPassed { trial, step: known.step }),
            _ => Ok(false),
        }
    }

    /// Whether the training of `trial` may report a step again with another value.
    fn may_repeat(&self, trial: u64, step: u64) -> bool {
        self.leases.as_ref().is_none_or(|leases| leases.may_repeat(trial, step))
    }

    /// Whether the training of `trial` was handed out and has not ended, be it that it is to stop.
    fn is_handed_out(&self, trial: u64) -> bool {
        self.session.running().any(|running| running == trial)
    }

    fn next_answer(&self, trial: u64) -> Result<TrainingAnswer, HostError> {
        let decision = self.find_trial(trial)?.decision.clone();
        let stop = self.must_stop(trial);
        Ok(TrainingAnswer { trial, stop, recorded: false, decision })
    }

    fn find_trial(&self, trial: u64) -> Result<&Trial, HostError> {
        self.session.study().trial(trial).ok_or(HostError::NoTrial { trial })
    }

    fn ended_error(&self, trial: u64, known: &Trial) -> HostError {
        // one that is open ran before this process began, and was not asked for again
        if known.is_open() {
            HostError::NoTrial { trial }
        } else {
            HostError::TrialEnded { trial, state: known.state.name() }
        }
    }

    /// Refuses a worker whose trial was given to another one meanwhile.
    fn check_holder(&mut self, trial: u64, lease: Option<&str>, sign: LifeSign) -> Result<(), HostError> {
        self.find_trial(trial)?;
        let Some(leases) = &mut self.leases else { return Ok(()) };
        if leases.classify_sender(trial, lease) != MessageSender::Holder {
            return Err(HostError::HeldElsewhere { trial });
        }
        leases.note_life_sign(trial, sign);
        Ok(())
    }
}

/// Why a training that went on after `from` epochs, and ended without a report, has failed.
pub(crate) fn describe_silent_end(from: u64) -> String {
    format!(
        "it continued after epoch {from} and ended without a report, so its final value is unknown: its checkpoint may be from a later epoch than the last report"
    )
}

/// Carries out a manual order about `trial` in `session`, for a study without a host.
///
/// # Errors
/// [`HostError`]; after [`HostError::Store`], order the same again.
pub fn carry_out_manual_order<S: Store>(
    session: &mut Session<S>,
    trial: u64,
    order: ManualOrder,
) -> Result<TrainingAnswer, HostError> {
    check_running(session.study(), trial)?;
    let answer = session.by_hand(trial, order)?;
    Ok(answer.unwrap_or(TrainingAnswer { trial, stop: true, recorded: false, decision: None }))
}

/// Refuses an order about a trial that is not running.
///
/// # Errors
/// [`HostError::NoTrial`] and [`HostError::TrialEnded`].
pub fn check_running(study: &Study, trial: u64) -> Result<(), HostError> {
    match study.trial(trial) {
        None => Err(HostError::NoTrial { trial }),
        Some(known) if known.is_open() => Ok(()),
        Some(known) => Err(HostError::TrialEnded { trial, state: known.state.name() }),
    }
}

//! A driver: runs a study over an executor and a store, from the first trial to the last.

mod by_hand;
mod detected;
mod elsewhere;
mod fitter;
#[cfg(test)]
mod random_searches;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foretell_search::{Session, Store, StoreError, Study, TrainingEnd, Trial, TrialState};
use thiserror::Error;

use crate::fleet::executor::{Executor, ExecutorError};
use crate::fleet::trainer::{
    AskAnswer, GivenTraining, StudyAnswer, StudyLink, Trainer, TrainingEvent, TrainingMessage,
};
use crate::host::door::HostCalls;
use crate::host::hosted::{HostError, MetricReading, StudyHost, StudyNews};
use crate::host::orders::Orders;
use crate::process::executor::is_out_of_files;
use crate::process::message::TrialNotice;
use detected::ScoreDetector;
pub use elsewhere::RemoteTrainings;
use fitter::ModelFitter;

/// The time that the driver waits for messages before it looks for a cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The time that it waits while a model is fitted on another thread.
const FIT_POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The time that stopped trials may take to end when a study is left.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// An event while a study runs.
#[derive(Clone, Debug)]
pub enum DriverEvent<'a> {
    /// A record was stored and applied.
    Recorded(&'a foretell_search::Record),
    /// A training of this process reported; the study has not seen it yet.
    Report {
        /// The trial's number.
        trial: u64,
        /// The report.
        reading: &'a MetricReading,
    },
    /// Something else was noticed of a training of this process.
    Noticed {
        /// The trial's number.
        trial: u64,
        /// The notice.
        notice: &'a TrialNotice,
    },
    /// So few trials run at a time from now on: the system has no files, or processes, for more.
    FewerWorkers {
        /// The number of workers.
        workers: usize,
        /// The error of the operating system.
        why: &'a str,
    },
    /// Trainings print the best of their reports last: the best counts from now on.
    BestCounts,
    /// A sentence about the study: see [`Session::take_notices`].
    StudyNotice {
        /// The sentence.
        text: &'a str,
    },
    /// A configuration that somebody ordered to be tried cannot be.
    NotEnqueued {
        /// The reason.
        why: &'a str,
    },
}

/// Observes events. An error ends the run with [`DriverError::Refused`], and the report is not recorded.
pub(crate) type EventObserver<'a> = dyn FnMut(&Study, DriverEvent<'_>) -> Result<(), String> + 'a;

/// The limits of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunLimits {
    /// The number of retries of a training that failed.
    pub retries: u32,
    /// The time that earlier runs of the study lasted: they count, too.
    pub before: Duration,
    /// The time that the study may run.
    pub time: Option<Duration>,
    /// The number of epochs the study may spend.
    pub epochs: Option<u64>,
    /// The time that the study may run, and its number of GPUs.
    pub gpu_time: Option<(Duration, u32)>,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// The study is done.
    Done,
    /// The run was canceled.
    Canceled,
    /// Nothing runs, but the study is not done.
    Unfinished,
    /// One of the [`RunLimits`] was reached, named by the text.
    LimitReached(&'static str),
}

/// The reason why a run failed. Earlier records are kept.
#[derive(Debug, Error)]
pub enum DriverError {
    /// The store refused a record.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A training could not be started.
    #[error("{0}")]
    Start(ExecutorError),
    /// The observer refused a report.
    #[error("{0}")]
    ObserverRefused(String),
    /// Fitting a model panicked.
    #[error("fitting a model panicked: {0}. This is a bug of the predictor")]
    Fit(String),
    /// The system has no thread to give for fitting a model.
    #[error(
        "cannot start a thread to fit a model: {0}. Raise the limits of memory and processes (ulimit -v, ulimit -u), or end other programs"
    )]
    Thread(std::io::Error),
    /// The first trials all failed without a report.
    #[error(
        "the first 3 trials failed without reporting anything. Fix the command and search again. The last trial: {last}"
    )]
    Hopeless {
        /// Why the last one failed.
        last: String,
    },
}

/// Runs a study: requests trainings from its session, lets the executor run them, and reports the results.
///
/// The driver installs no signal handler and prints nothing, so that one process can run several studies, each on its own
/// thread. Models are fitted on a thread of their own: reports of other trials flow on meanwhile.
pub struct Driver<E: Executor, S: Store> {
    host: StudyHost<S>,
    trainer: Trainer<E>,
    workers: usize,
    /// A training that waits for a free worker, since the system had no files for one more.
    postponed: Option<GivenTraining>,
    fitter: ModelFitter,
    /// The trial whose checkpoints are kept because it is the best.
    best: Option<u64>,
    limits: RunLimits,
    /// The orders that a person gives meanwhile.
    orders: Option<Orders>,
    begun: Instant,
    /// The requests and reports of trainings elsewhere.
    calls: Option<HostCalls<S>>,
    /// The time for them to be handed back when the study is left.
    patience: Box<dyn Fn() -> Duration>,
    /// The values that trainings print last.
    detected: ScoreDetector,
}

impl<E: Executor, S: Store> Driver<E, S> {
    /// A driver with so many `workers` (≥ 1). `expected_report` says what a training that reports nothing should have
    /// printed; it ends the reason of such a failure.
    pub fn new(
        mut session: Session<S>,
        executor: E,
        workers: usize,
        expected_report: impl Into<String>,
    ) -> Self {
        session.defer_fits();
        let trainer = Trainer::new(executor, session.study().spec().given_resource(), expected_report.into());
        let host = StudyHost::new(session).with_news();
        let best = host.session.best().map(|best| best.trial);
        Self {
            host,
            trainer,
            workers: workers.max(1),
            postponed: None,
            fitter: ModelFitter::default(),
            best,
            limits: RunLimits::default(),
            orders: None,
            begun: Instant::now(),
            calls: None,
            patience: Box::new(|| Duration::ZERO),
            detected: ScoreDetector::default(),
        }
    }

    /// Sets the `limits`.
    #[must_use]
    pub fn with_limits(mut self, limits: RunLimits) -> Self {
        self.trainer.retries = limits.retries;
        Self { limits, ..self }
    }

    /// Lets the best report of a trial count where trainings print it last. For a study whose score nobody chose.
    #[must_use]
    pub fn with_score_detection(self) -> Self {
        Self { detected: ScoreDetector::in_study(self.host.session.study()), ..self }
    }

    /// The session.
    pub fn session(&self) -> &Session<S> {
        &self.host.session
    }

    /// The session, for example to flush its store.
    pub fn session_mut(&mut self) -> &mut Session<S> {
        &mut self.host.session
    }

    /// The number of trainings that run at a time.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Runs the study to its end, or until `cancel` is set; then the running trainings are stopped and waited for.
    ///
    /// # Errors
    /// [`DriverError`]; the running trainings are stopped then, too.
    pub fn run(
        &mut self,
        cancel: &AtomicBool,
        observe: &mut EventObserver<'_>,
    ) -> Result<RunOutcome, DriverError> {
        let ran = self.run_steps(cancel, observe);
        self.stop_all(ran.is_ok());
        ran?;
        self.dismiss(observe)?;
        // because no trial can be promoted any more, the checkpoints of stopped ones go, too
        if self.host.session.is_done() {
            (0..self.host.session.study().trials().len() as u64)
                .for_each(|trial| self.discard_if_ended(trial));
            return Ok(RunOutcome::Done);
        }
        if let Some(limit) = self.reached_limit() {
            return Ok(RunOutcome::LimitReached(limit));
        }
        let canceled = cancel.load(Ordering::SeqCst);
        Ok(if canceled { RunOutcome::Canceled } else { RunOutcome::Unfinished })
    }

    fn run_steps(&mut self, cancel: &AtomicBool, observe: &mut EventObserver<'_>) -> Result<(), DriverError> {
        while !cancel.load(Ordering::SeqCst) && self.reached_limit().is_none() {
            self.obey(observe)?;
            self.fill_workers(observe)?;
            if self.host.session.busy() == 0 && self.is_over() {
                return Ok(());
            }
            if let Some(fit) = self.host.session.next_fit() {
                self.fitter.start(fit).map_err(DriverError::Thread)?;
            }
            let wait = if self.fitter.is_busy() { FIT_POLL_INTERVAL } else { POLL_INTERVAL };
            self.wait(wait, observe)?;
            if let Some(fitted) = self.fitter.take().map_err(DriverError::Fit)? {
                let decided = self.host.apply_fitted_model(fitted);
                self.publish_news(observe)?;
                decided.map_err(to_driver_error)?;
                self.check_command_works()?;
            }
            self.end_stopped_trainings();
        }
        Ok(())
    }

    /// Ends the trainings of trials that were stopped: by a model that came later, by a person, or from elsewhere.
    fn end_stopped_trainings(&mut self) {
        let stops: Vec<u64> =
            self.trainer.running_trials().filter(|&trial| self.host.must_stop(trial)).collect();
        stops.into_iter().for_each(|trial| self.trainer.stop(trial));
    }

    /// The limit that is reached, if one is.
    fn reached_limit(&self) -> Option<&'static str> {
        let RunLimits { before, time, epochs, gpu_time, .. } = self.limits;
        let elapsed = before + self.begun.elapsed();
        let spent = || self.host.session.study().progress().spent;
        let gpu = gpu_time.is_some_and(|(most, gpus)| elapsed * gpus >= most);
        if time.is_some_and(|most| elapsed >= most) {
            Some("time limit")
        } else if gpu {
            Some("limit of GPU hours")
        } else {
            epochs.is_some_and(|most| spent() >= most).then_some("limit of epochs")
        }
    }

    /// Gives every idle worker a training, as far as there are any.
    fn fill_workers(&mut self, observe: &mut EventObserver<'_>) -> Result<(), DriverError> {
        let is_free = self.trainer.running_trials().count() < self.workers;
        if let Some(given) = self.postponed.take_if(|_| is_free) {
            self.launch_training(given, observe)?;
        }
        while self.count_busy_workers() < self.workers {
            let busy = self.count_busy_workers();
            let asked = StudyLink::ask(&mut self.host);
            self.publish_news(observe)?;
            match asked.map_err(to_driver_error)? {
                AskAnswer::Task(given) => self.launch_training(given, observe)?,
                AskAnswer::Nothing | AskAnswer::Done if self.count_busy_workers() > busy => {}
                AskAnswer::Nothing | AskAnswer::Done => return Ok(()),
            }
        }
        Ok(())
    }

    /// The number of the driver's own workers that are busy.
    fn count_busy_workers(&self) -> usize {
        let session = &self.host.session;
        match self.host.allows_remote_trials() {
            false => session.busy(),
            // a trial that awaits a model is busy but does not run, and its worker must stay free for it
            true => self.trainer.running_trials().count() + session.busy() - session.running().count(),
        }
    }

    /// Starts a training on the first worker that is free.
    fn launch_training(
        &mut self,
        given: GivenTraining,
        observe: &mut EventObserver<'_>,
    ) -> Result<(), DriverError> {
        let trial = given.trial();
        let Err(error) = self.trainer.start_training(self.trainer.free_slot(), given.clone()) else {
            return Ok(());
        };
        let running = self.trainer.running_trials().count();
        // one worker fewer instead of an error: a training that ends gives its files back. If nothing runs, waiting would free
        // none
        if running > 0 && is_out_of_files(error.as_ref()) {
            (self.workers, self.postponed) = (running, Some(given));
            return self.notify_observer(
                observe,
                DriverEvent::FewerWorkers { workers: running, why: &error.to_string() },
            );
        }
        self.fail_if_silent(trial, &error.to_string())?;
        Err(DriverError::Start(error))
    }

    /// Passes on a message about a training.
    fn pass_on_event(
        &mut self,
        given: &GivenTraining,
        happening: &TrainingEvent,
        observe: &mut EventObserver<'_>,
    ) -> Result<(), DriverError> {
        let trial = given.trial();
        let heard = match happening {
            TrainingEvent::Noticed(notice) => {
                return self.notify_observer(observe, DriverEvent::Noticed { trial, notice });
            }
            TrainingEvent::Chosen(series) => {
                let chosen = self.host.choose_series(series);
                self.publish_news(observe)?;
                return chosen.map_err(to_driver_error);
            }
            TrainingEvent::PrintedLast(value) => {
                self.detected.note_printed_value(trial, *value);
                return Ok(());
            }
            TrainingEvent::Heard(heard) => heard,
        };
        // before it is recorded: an observer that refuses a report keeps it out of the log
        if let TrainingMessage::Report(reading) = heard {
            self.show_report(trial, reading, observe)?;
        }
        let sent = self.host.pass_on(given, heard);
        if let Some(why) = self.host.refusal_reason() {
            // the error says what the record of the failure does
            return Err(DriverError::ObserverRefused(why.to_owned()));
        }
        self.publish_news(observe)?;
        match sent {
            Ok(StudyAnswer::Stops) => {
                self.trainer.stop(trial);
                Ok(())
            }
            Ok(StudyAnswer::GoesOn) => Ok(()),
            Ok(StudyAnswer::Ended(_)) => {
                self.discard_if_ended(trial);
                self.check_command_works()
            }
            Err(HostError::Store(error)) => Err(error.into()),
            // a step that was reported with another value, or an earlier one: what is recorded stays
            Err(_) => Ok(()),
        }
    }

    fn show_report(
        &mut self,
        trial: u64,
        reading: &MetricReading,
        observe: &mut EventObserver<'_>,
    ) -> Result<(), DriverError> {
        if let Err(refused) = observe(self.host.session.study(), DriverEvent::Report { trial, reading }) {
            self.fail_if_silent(trial, &refused)?;
            return Err(DriverError::ObserverRefused(refused));
        }
        Ok(())
    }

    /// Records the failure of a trial of a study in which nothing was reported yet: such a study does not work, and
    /// another may take its place. The observer does not see the record, because the error that follows reports the same.
    fn fail_if_silent(&mut self, trial: u64, why: &str) -> Result<(), DriverError> {
        if self.host.session.study().progress().has_reports {
            return Ok(());
        }
        Ok(self.host.session.tell(trial, TrainingEnd::Failed(why.to_owned()))?)
    }

    /// Shows the host's actions, and removes the data that ended trials no longer need.
    fn publish_news(&mut self, observe: &mut EventObserver<'_>) -> Result<(), DriverError> {
        let StudyNews { records, ended } = self.host.take_news();
        let closed = self.show_records(&records, observe)?;
        for notice in self.host.take_notices() {
            self.notify_observer(observe, DriverEvent::StudyNotice { text: &notice.text })?;
        }
        self.detect_score(&closed, observe)?;
        self.discard_ended_trials(closed);
        ended.into_iter().for_each(|trial| self.discard_if_ended(trial));
        Ok(())
    }

    /// Lets the best report count if the trials that have `ended` show that it does.
    fn detect_score(&mut self, ended: &[u64], observe: &mut EventObserver<'_>) -> Result<(), DriverError> {
        let Some(settings) = self.detected.settings(self.host.session.study(), ended) else { return Ok(()) };
        self.host.change_settings(settings).map_err(to_driver_error)?;
        let StudyNews { records, .. } = self.host.take_news();
        self.show_records(&records, observe)?;
        self.notify_observer(observe, DriverEvent::BestCounts)
    }

    /// Shows `records`; answers which trials they end.
    fn show_records(
        &self,
        records: &[foretell_search::Record],
        observe: &mut EventObserver<'_>,
    ) -> Result<Vec<u64>, DriverError> {
        let mut closed = Vec::new();
        for record in records {
            observe(self.host.session.study(), DriverEvent::Recorded(record))
                .map_err(DriverError::ObserverRefused)?;
            closed.extend(record.ended_trial());
        }
        Ok(closed)
    }

    /// Removes the data that the trials `closed` no longer need, and that of the one that was the best before them.
    fn discard_ended_trials(&mut self, mut closed: Vec<u64>) {
        if closed.is_empty() {
            return;
        }
        let best = self.host.session.best().map(|best| best.trial);
        if best != self.best {
            closed.extend(std::mem::replace(&mut self.best, best));
        }
        closed.into_iter().for_each(|trial| self.discard_if_ended(trial));
    }

    fn notify_observer(
        &self,
        observe: &mut EventObserver<'_>,
        event: DriverEvent<'_>,
    ) -> Result<(), DriverError> {
        observe(self.host.session.study(), event).map_err(DriverError::ObserverRefused)
    }

    /// Discards `trial` if it has ended for good and is not the best.
    fn discard_if_ended(&mut self, trial: u64) {
        let study = self.host.session.study();
        let promotes = !study.spec().schedule.is_full() && !study.is_done();
        let may_go_on = |trial: &Trial| {
            promotes && matches!(trial.state, TrialState::Paused { .. } | TrialState::Stopped { .. })
        };
        let ended = study.trial(trial).is_some_and(|trial| !trial.is_open() && !may_go_on(trial));
        if ended && !self.trainer.is_running(trial) && !self.host.is_held(trial) && self.best != Some(trial) {
            self.trainer.discard(trial);
        }
    }

    fn check_command_works(&self) -> Result<(), DriverError> {
        match self.host.session.hopeless() {
            Some(last) => Err(DriverError::Hopeless { last: last.to_owned() }),
            None => Ok(()),
        }
    }

    /// Stops all trainings and waits for their ends. They continue when the study does. Their reports until then are recorded, if the
    /// study still `works`.
    fn stop_all(&mut self, works: bool) {
        self.trainer.hand_back_all();
        let until = Instant::now() + STOP_TIMEOUT;
        while self.trainer.running_trials().next().is_some() && Instant::now() < until {
            for (given, happening) in self.trainer.receive_events(POLL_INTERVAL, None) {
                if let TrainingEvent::Heard(
                    heard @ (TrainingMessage::Report(_) | TrainingMessage::Began { .. }),
                ) = &happening
                    && works
                {
                    // what cannot be recorded is trained again
                    let _ = self.host.pass_on(&given, heard);
                }
            }
        }
    }
}

/// Only the store fails where nothing is asked of a training.
fn to_driver_error(error: HostError) -> DriverError {
    match error {
        HostError::Store(error) => error.into(),
        other => DriverError::ObserverRefused(other.to_string()),
    }
}

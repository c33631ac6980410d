//! A driver: runs a study over an executor and a store, from the first trial to the last.

mod by_hand;
mod elsewhere;
mod failure;
mod fitter;

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foretell_search::{Answer, Ending, Session, Start, Store, StoreError, Study, Trial, TrialState};
use serde_json::Value;
use thiserror::Error;

use crate::door::Calls;
use crate::hosted::{HostError, Hosted};
use crate::message::{Message, MessageKind, Status};
use crate::orders::Orders;
pub use elsewhere::{Elsewhere, Patience};
pub(crate) use failure::said_at_the_end;
use fitter::Fitter;
use foretell_logs::printed::{Report, ReportProblem};

/// How long the driver waits for messages before it looks for a cancellation.
const TICK: Duration = Duration::from_millis(100);
/// How long it waits while a model is fitted on another thread.
const FIT_TICK: Duration = Duration::from_millis(2);
/// How long stopped trials may take to end when a study is left.
const PATIENCE: Duration = Duration::from_secs(15);

/// Runs trainings: as local processes ([`LocalTrials`](crate::LocalTrials)), on a cluster, or simulated.
pub trait Executor {
    /// Starts a training on worker number `worker` (from 0). Its messages follow; the last is [`MessageKind::Ended`].
    ///
    /// # Errors
    /// When it cannot be started; no message follows then.
    fn start(&mut self, start: &Start, worker: usize) -> Result<Begin, ExecutorError>;

    /// Stops the training of `trial`, if it runs. Returns at once; its [`MessageKind::Ended`] follows.
    fn stop(&mut self, trial: u64);

    /// What has been heard of all trainings since the last call, in each one's order. Waits up to `wait` for the first.
    fn messages(&mut self, wait: Duration) -> Vec<Message>;

    /// `trial` has ended for good, and is not the best: what it would need to go on (checkpoints) can be removed.
    fn discard(&mut self, trial: u64);
}

/// An executor's own error.
pub type ExecutorError = Box<dyn Error + Send + Sync>;

/// From where a training began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// From its beginning.
    Anew,
    /// From the step that [`Start::from`] names.
    Resumed,
}

/// What happens while a study runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A record was stored and applied.
    Recorded(&'a foretell_search::Record),
    /// A training reported; the study has not seen it yet.
    Report {
        /// The trial's number.
        trial: u64,
        /// The report.
        report: &'a Report,
    },
    /// All that a training reported came at once with its end: nothing could be decided by it.
    Late {
        /// The trial's number.
        trial: u64,
        /// How many reports.
        reports: usize,
    },
    /// What is to be said of how a training's output is read.
    Noted {
        /// The trial's number.
        trial: u64,
        /// A sentence.
        note: &'a str,
    },
    /// A training has reported nothing for long.
    Quiet {
        /// The trial's number.
        trial: u64,
        /// For how long.
        silence: Duration,
    },
    /// A training printed a report that cannot be used.
    Unusable {
        /// The trial's number.
        trial: u64,
        /// The line.
        line: &'a str,
        /// Why.
        problem: &'a ReportProblem,
    },
    /// A training has printed many lines, but no report.
    Silent {
        /// The trial's number.
        trial: u64,
        /// How many lines.
        lines: usize,
        /// The last of them.
        line: &'a str,
    },
    /// A training reported past the step that it was to train to, and is ended.
    Overran {
        /// The trial's number.
        trial: u64,
    },
    /// A training failed, and is tried again.
    Retried {
        /// The trial's number.
        trial: u64,
        /// The number of the new attempt, from 1.
        attempt: u32,
        /// What went wrong.
        why: &'a str,
    },
    /// A configuration that somebody ordered to be tried cannot be.
    NotEnqueued {
        /// Why.
        why: &'a str,
    },
    /// A trial that was to go on from a step is trained again from its beginning: it has no checkpoint.
    Retrained {
        /// The trial's number.
        trial: u64,
        /// The step.
        from: u64,
    },
}

/// Sees what happens. An error ends the run with [`DriverError::Refused`]; the report it was given is not recorded.
pub type Observer<'a> = dyn FnMut(&Study, Event<'_>) -> Result<(), String> + 'a;

/// What a run may take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// How often a training that failed is tried again.
    pub retries: u32,
    /// How long earlier runs of the study lasted: they count, too.
    pub before: Duration,
    /// How long the study may run.
    pub time: Option<Duration>,
    /// How many epochs the study may spend.
    pub epochs: Option<u64>,
    /// How long the study may run, by its number of GPUs.
    pub gpu_time: Option<(Duration, u32)>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The study is done.
    Done,
    /// The run was cancelled.
    Cancelled,
    /// Nothing runs, but the study is not done.
    Unfinished,
    /// One of the [`Limits`] was reached: the text says which.
    Spent(&'static str),
}

/// Why a run failed. What was recorded until then is kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The store refused a record.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A training could not be started.
    #[error("{0}")]
    Start(ExecutorError),
    /// The observer refused a report.
    #[error("{0}")]
    Refused(String),
    /// Fitting a model panicked.
    #[error("fitting a model panicked: {0}; this is a bug of the predictor")]
    Fit(String),
    /// The first trials all failed without a report.
    #[error(
        "the first 3 trials failed without reporting anything; mend the command and search again. The last one {last}"
    )]
    Hopeless {
        /// Why the last one failed.
        last: String,
    },
}

/// Runs a study: asks its session for trainings, has the executor run them, and reports back what they say.
///
/// The driver installs no signal handler and prints nothing, so that one process can run several studies, each on its own
/// thread. Models are fitted on a thread of their own: reports of other trials flow on meanwhile.
pub struct Driver<E: Executor, S: Store> {
    host: Hosted<S>,
    executor: E,
    workers: usize,
    /// The trainings that run, each with its worker's number.
    active: BTreeMap<u64, usize>,
    fitter: Fitter,
    /// The trial whose checkpoints are kept because it is the best.
    best: Option<u64>,
    /// What a training that reports nothing should have printed.
    expected_report: String,
    limits: Limits,
    /// The trainings that run, as they were started, and how often each was tried again.
    starts: BTreeMap<u64, (Start, u32)>,
    /// What a person orders meanwhile.
    orders: Option<Orders>,
    begun: Instant,
    /// What trainings elsewhere ask and report.
    calls: Option<Calls<S>>,
    /// How long they have to be handed back when the study is left.
    patience: Patience,
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
        let host = Hosted::new(session).watched();
        let best = host.session.best().map(|best| best.trial);
        Self {
            host,
            executor,
            workers: workers.max(1),
            active: BTreeMap::new(),
            fitter: Fitter::default(),
            best,
            expected_report: expected_report.into(),
            limits: Limits::default(),
            starts: BTreeMap::new(),
            orders: None,
            begun: Instant::now(),
            calls: None,
            patience: Box::new(|| Duration::ZERO),
        }
    }

    /// The same driver within `limits`.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The session.
    pub fn session(&self) -> &Session<S> {
        &self.host.session
    }

    /// The session, to flush its store say.
    pub fn session_mut(&mut self) -> &mut Session<S> {
        &mut self.host.session
    }

    /// How many trainings run at a time.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Runs the study to its end, or until `cancel` is set; then the running trainings are stopped and waited for.
    ///
    /// # Errors
    /// [`DriverError`]; the running trainings are stopped then, too.
    pub fn run(&mut self, cancel: &AtomicBool, observe: &mut Observer<'_>) -> Result<Finish, DriverError> {
        let ran = self.drive(cancel, observe);
        self.stop_all();
        ran?;
        self.dismiss(observe)?;
        if self.host.session.is_done() {
            (0..self.host.session.study().trials().len() as u64).for_each(|trial| self.tidy(trial));
            return Ok(Finish::Done);
        }
        if let Some(limit) = self.spent() {
            return Ok(Finish::Spent(limit));
        }
        let cancelled = cancel.load(Ordering::SeqCst);
        Ok(if cancelled { Finish::Cancelled } else { Finish::Unfinished })
    }

    fn drive(&mut self, cancel: &AtomicBool, observe: &mut Observer<'_>) -> Result<(), DriverError> {
        while !cancel.load(Ordering::SeqCst) && self.spent().is_none() {
            self.obey(observe)?;
            self.fill(observe)?;
            if self.host.session.busy() == 0 && self.is_over() {
                return Ok(());
            }
            if let Some(fit) = self.host.session.next_fit() {
                self.fitter.start(fit);
            }
            let wait = if self.fitter.is_busy() { FIT_TICK } else { TICK };
            self.wait(wait, observe)?;
            if let Some(fitted) = self.fitter.take().map_err(DriverError::Fit)? {
                let answers = self.host.session.fitted(fitted);
                self.publish(observe)?;
                for (trial, answer) in answers? {
                    self.carry_out(trial, &answer, observe)?;
                }
                self.check_hope()?;
            }
        }
        Ok(())
    }

    /// The limit that is reached, if one is.
    fn spent(&self) -> Option<&'static str> {
        let Limits { before, time, epochs, gpu_time, .. } = self.limits;
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
    fn fill(&mut self, observe: &mut Observer<'_>) -> Result<(), DriverError> {
        while self.busy_here() < self.workers {
            let busy = self.busy_here();
            let asked = self.host.ask_here();
            self.publish_news(observe)?;
            match asked.map_err(stored)? {
                Some(start) => self.launch(&start, observe)?,
                None if self.busy_here() > busy => {}
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// How many of the driver's own workers are busy.
    fn busy_here(&self) -> usize {
        let session = &self.host.session;
        match self.host.is_leasing() {
            false => session.busy(),
            true => self.active.len() + session.busy() - session.running().count(),
        }
    }

    /// Starts a training on the first worker that is free.
    fn launch(&mut self, start: &Start, observe: &mut Observer<'_>) -> Result<(), DriverError> {
        let (trial, from) = (start.trial, start.from);
        let is_free = |worker: &usize| !self.active.values().any(|busy| busy == worker);
        let worker = (0..).find(is_free).unwrap_or(0);
        match self.executor.start(start, worker) {
            Ok(begun) => {
                self.active.insert(trial, worker);
                let attempts = self.starts.get(&trial).map_or(0, |(_, attempts)| *attempts);
                self.starts.insert(trial, (start.clone(), attempts));
                if from > 0 && begun == Begin::Anew {
                    let counted = self.host.session.began_after(trial, 0);
                    self.publish(observe)?;
                    counted?;
                    self.notify(observe, Event::Retrained { trial, from })?;
                }
                Ok(())
            }
            Err(error) => {
                self.fail_if_silent(trial, &error.to_string())?;
                Err(DriverError::Start(error))
            }
        }
    }

    fn take(&mut self, message: Message, observe: &mut Observer<'_>) -> Result<(), DriverError> {
        let Message { trial, kind } = message;
        match kind {
            MessageKind::Report(report) => self.take_report(trial, &report, observe),
            MessageKind::Late { reports } => self.take_late(trial, &reports, observe),
            MessageKind::Settled { reports } => self.record_late(trial, &reports, observe),
            MessageKind::Chosen { series } => self.record_choice(&series, observe),
            MessageKind::Noted { note } => self.notify(observe, Event::Noted { trial, note: &note }),
            MessageKind::Quiet { silence } => self.notify(observe, Event::Quiet { trial, silence }),
            MessageKind::Unusable {
                line,
                problem: problem @ (ReportProblem::Epoch { .. } | ReportProblem::Notation { .. }),
            } => self.refuse(trial, format!("trial {trial} printed `{line}`: {problem}")),
            MessageKind::Unusable { line, problem } => {
                self.notify(observe, Event::Unusable { trial, line: &line, problem: &problem })
            }
            MessageKind::Silent { lines, line } => {
                self.notify(observe, Event::Silent { trial, lines, line: &line })
            }
            MessageKind::Missed { epochs, seen } => {
                let why =
                    format!("trial {trial} has named {epochs} epochs and no metric; {}", self.missed(&seen));
                self.refuse(trial, why)
            }
            MessageKind::Unread { parameters } => {
                let why = format!(
                    "{parameters} reached no trial: no placeholder in the command stands for it, and trial {trial} did not open the file FORETELL_PARAMS; write it into the command, such as --{0} {{{0}}}, or read the file",
                    parameters.split(',').next().unwrap_or_default()
                );
                self.refuse(trial, why)
            }
            MessageKind::Ended { status, tail, seen, fault, .. } => {
                let silent = status == Status::Exited(0) && !self.host.session.study().progress().has_reports;
                if silent && self.host.session.overran(trial).is_none() {
                    let missed = self.missed(&seen);
                    self.active.remove(&trial);
                    let ending = failure::ending(&self.host.session, trial, status, &[], &missed);
                    let why = if let Ending::Failed(why) = ending { why } else { missed };
                    return self.refuse(trial, format!("trial {trial} {why}"));
                }
                self.active.remove(&trial);
                let ending = match fault {
                    Some(fault) => Ending::Failed(fault),
                    None => failure::ending(&self.host.session, trial, status, &tail, &self.expected_report),
                };
                if let Ending::Failed(why) = &ending
                    && self.try_again(trial, why, observe)?
                {
                    return Ok(());
                }
                self.starts.remove(&trial);
                let told = self.host.session.tell(trial, ending);
                self.publish(observe)?;
                told?;
                self.host.ended_here(trial);
                self.tidy(trial);
                self.check_hope()
            }
        }
    }

    /// Starts a training that failed again, from its last checkpoint, unless it was to end or was tried often enough.
    fn try_again(&mut self, trial: u64, why: &str, observe: &mut Observer<'_>) -> Result<bool, DriverError> {
        let open = self.host.session.study().is_running(trial);
        let Some((start, attempts)) = self.starts.get_mut(&trial).filter(|_| open) else { return Ok(false) };
        if *attempts >= self.limits.retries {
            return Ok(false);
        }
        *attempts += 1;
        let (mut start, attempt) = (start.clone(), *attempts);
        start.from = self.host.session.study().trial(trial).map_or(0, |trial| trial.step);
        self.notify(observe, Event::Retried { trial, attempt, why })?;
        self.launch(&start, observe)?;
        Ok(true)
    }

    fn take_report(
        &mut self,
        trial: u64,
        report: &Report,
        observe: &mut Observer<'_>,
    ) -> Result<(), DriverError> {
        self.show_report(trial, report, observe)?;
        let (value, metrics) = numbers(report);
        let answer = self.host.session.report(trial, report.step, value, metrics);
        self.publish(observe)?;
        self.carry_out(trial, &answer?, observe)
    }

    /// What a training has reported that has ended: it was trained, and nothing can be saved of it any more.
    fn take_late(
        &mut self,
        trial: u64,
        reports: &[Report],
        observe: &mut Observer<'_>,
    ) -> Result<(), DriverError> {
        self.record_late(trial, reports, observe)?;
        self.notify(observe, Event::Late { trial, reports: reports.len() })
    }

    /// Records which series of the output is the metric.
    fn record_choice(&mut self, series: &str, observe: &mut Observer<'_>) -> Result<(), DriverError> {
        let chosen = self.host.session.chose(series);
        self.publish(observe)?;
        Ok(chosen?)
    }

    /// Records reports of a training that has ended: nothing is decided by them any more.
    fn record_late(
        &mut self,
        trial: u64,
        reports: &[Report],
        observe: &mut Observer<'_>,
    ) -> Result<(), DriverError> {
        for report in reports {
            self.show_report(trial, report, observe)?;
            let (value, metrics) = numbers(report);
            let reported = self.host.session.report_late(trial, report.step, value, metrics);
            self.publish(observe)?;
            reported?;
        }
        self.say_overrun(trial, observe)
    }

    fn show_report(
        &mut self,
        trial: u64,
        report: &Report,
        observe: &mut Observer<'_>,
    ) -> Result<(), DriverError> {
        if let Err(refused) = observe(self.host.session.study(), Event::Report { trial, report }) {
            self.fail_if_silent(trial, &refused)?;
            return Err(DriverError::Refused(refused));
        }
        Ok(())
    }

    fn say_overrun(&self, trial: u64, observe: &mut Observer<'_>) -> Result<(), DriverError> {
        match self.host.session.overran(trial) {
            Some(_) => self.notify(observe, Event::Overran { trial }),
            None => Ok(()),
        }
    }

    fn carry_out(
        &mut self,
        trial: u64,
        answer: &Answer,
        observe: &mut Observer<'_>,
    ) -> Result<(), DriverError> {
        if !answer.stops() {
            return Ok(());
        }
        self.executor.stop(trial);
        self.say_overrun(trial, observe)
    }

    /// What a training should have printed, and what it did.
    fn missed(&self, seen: &str) -> String {
        let expected = &self.expected_report;
        if seen.is_empty() { expected.clone() } else { format!("{expected}; it printed {seen}") }
    }

    /// Ends a run that cannot come to anything.
    fn refuse(&mut self, trial: u64, why: String) -> Result<(), DriverError> {
        self.fail_if_silent(trial, &why)?;
        Err(DriverError::Refused(why))
    }

    /// Records the failure of a trial of a study in which nothing was reported yet: such a study does not work, and
    /// another may take its place. The observer does not see the record, because the error that follows says the same.
    fn fail_if_silent(&mut self, trial: u64, why: &str) -> Result<(), DriverError> {
        if self.host.session.study().progress().has_reports {
            return Ok(());
        }
        Ok(self.host.session.tell(trial, Ending::Failed(why.to_owned()))?)
    }

    /// Shows the records of the session's last call, and removes what the trials that they end need no more.
    fn publish(&mut self, observe: &mut Observer<'_>) -> Result<(), DriverError> {
        let closed = self.show(self.host.session.news(), observe)?;
        self.close(closed);
        Ok(())
    }

    /// Shows `records`; answers which trials they end.
    fn show(
        &self,
        records: &[foretell_search::Record],
        observe: &mut Observer<'_>,
    ) -> Result<Vec<u64>, DriverError> {
        let mut closed = Vec::new();
        for record in records {
            observe(self.host.session.study(), Event::Recorded(record)).map_err(DriverError::Refused)?;
            closed.extend(record.ends());
        }
        Ok(closed)
    }

    /// Removes what the trials `closed` need no more, and the one that was the best before them.
    fn close(&mut self, mut closed: Vec<u64>) {
        if closed.is_empty() {
            return;
        }
        let best = self.host.session.best().map(|best| best.trial);
        if best != self.best {
            closed.extend(std::mem::replace(&mut self.best, best));
        }
        closed.into_iter().for_each(|trial| self.tidy(trial));
    }

    fn notify(&self, observe: &mut Observer<'_>, event: Event<'_>) -> Result<(), DriverError> {
        observe(self.host.session.study(), event).map_err(DriverError::Refused)
    }

    /// Discards `trial` if it has ended for good and is not the best.
    fn tidy(&mut self, trial: u64) {
        let study = self.host.session.study();
        let promotes = !study.spec().schedule.is_full() && !study.is_done();
        let may_go_on = |trial: &Trial| {
            promotes && matches!(trial.state, TrialState::Paused { .. } | TrialState::Stopped { .. })
        };
        let ended = study.trial(trial).is_some_and(|trial| !trial.is_open() && !may_go_on(trial));
        if ended && !self.active.contains_key(&trial) && !self.host.is_held(trial) && self.best != Some(trial)
        {
            self.executor.discard(trial);
        }
    }

    fn check_hope(&self) -> Result<(), DriverError> {
        match self.host.session.hopeless() {
            Some(last) => Err(DriverError::Hopeless { last: last.to_owned() }),
            None => Ok(()),
        }
    }

    /// Stops all trainings and waits for their ends. They go on when the study does.
    fn stop_all(&mut self) {
        self.active.keys().for_each(|&trial| self.executor.stop(trial));
        while !self.active.is_empty() {
            let messages = self.executor.messages(PATIENCE);
            if messages.is_empty() {
                break;
            }
            for message in messages {
                if matches!(message.kind, MessageKind::Ended { .. }) {
                    self.active.remove(&message.trial);
                }
            }
        }
    }
}

/// Only the store fails where nothing is asked of a training.
fn stored(error: HostError) -> DriverError {
    match error {
        HostError::Store(error) => error.into(),
        other => DriverError::Refused(other.to_string()),
    }
}

/// The metric's value and the other numbers of a report.
pub(crate) fn numbers(report: &Report) -> (Option<f64>, BTreeMap<String, f64>) {
    let number = |(name, value): (&String, &Value)| value.as_f64().map(|value| (name.clone(), value));
    (report.value, report.metrics.iter().filter_map(number).collect())
}

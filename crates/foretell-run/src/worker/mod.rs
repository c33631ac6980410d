//! A worker: takes trials from a study on another machine, and runs them as that machine would.
//!
//! One thread runs the processes of all slots, and one thread for each slot talks to the server: a server that is away holds up no
//! training.

mod client;
mod link;
mod slot;
mod unsent;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use foretell_search::Start;
use thiserror::Error;

use crate::abandoned::end_abandoned;
use crate::access::Access;
use crate::driver::{Begin, Executor, numbers, said_at_the_end};
use crate::hosted::Reading;
use crate::local_trials::{LocalTrials, TrialSetup, trial_directory};
use crate::message::{Message, MessageKind, Status};
use crate::work::{Work, WorkError};
use client::Trouble;
use foretell_logs::printed::{Report, ReportProblem};
use link::Link;
use slot::{Heard, Slot, Wish};

/// How long a stopped training may take to end before it is killed; it writes its checkpoint then.
const GRACE: Duration = Duration::from_secs(10);
/// A signal reaches all processes of a job within this time.
const SAME_SIGNAL: Duration = Duration::from_millis(500);
/// How long the worker waits for its trainings before it looks whether it is to end.
const TICK: Duration = Duration::from_millis(50);

/// What a worker does, and what differs on its machine.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// Where the server is.
    pub access: Access,
    /// The study; the only one there where none is named.
    pub study: Option<String>,
    /// A name that no other worker has.
    pub name: String,
    /// This version of Foretell.
    pub version: String,
    /// This program: what runs the built-in networks.
    pub program: PathBuf,
    /// How many trials run at a time.
    pub slots: usize,
    /// The GPUs that are handed out, one to a slot.
    pub gpus: Vec<String>,
    /// A slot that has nothing to do for so long ends, and the worker with its last one.
    pub idle_exit: Option<Duration>,
    /// The folder in which the command runs; that of the search where none is named.
    pub workdir: Option<PathBuf>,
    /// Where the trials' folders are kept if the study's own folder is not seen here.
    pub folder: PathBuf,
    /// Environment variables to add.
    pub environment: BTreeMap<String, String>,
}

/// Why a worker did nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The server refuses.
    #[error("{0}")]
    Refused(String),
    /// The server is not there.
    #[error("no server answers: {0}")]
    Away(String),
    /// It is not said which study.
    #[error("the server has several studies; name one of {0}")]
    Studies(String),
    /// There is nothing to run.
    #[error(
        "study {0} has no command: its trials report over HTTP; workers are for studies that `foretell search -- COMMAND` began"
    )]
    NoCommand(String),
    /// The folder of the command is not there.
    #[error(
        "{}: the study's command runs in this folder, and it is not on this machine; name another by --workdir DIR", .0.display()
    )]
    Workdir(PathBuf),
    /// The study's metric or configuration file.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// A folder cannot be made, or a thread not be started.
    #[error("{0}")]
    System(String),
}

/// A worker, ready to take trials.
pub struct Worker {
    settings: WorkerSettings,
    study: String,
    work: Work,
    /// The folder that the trials' folders are in.
    directory: PathBuf,
    is_shared: bool,
}

/// A training that runs.
struct Running {
    slot: usize,
    start: Start,
    /// The last step that it reported.
    step: Option<u64>,
    attempts: u32,
    is_stopped: bool,
    is_handed_back: bool,
    /// Why it is ended, if something is wrong with it.
    fault: Option<String>,
}

/// The trainings of a worker, and who hears of them.
struct Trainings<'a> {
    trials: LocalTrials,
    worker: &'a Worker,
    running: BTreeMap<u64, Running>,
    slots: Vec<Sender<Heard>>,
    say: &'a dyn Fn(&str),
    /// Whether the worker was asked to end.
    leave: &'a AtomicBool,
}

impl Worker {
    /// Asks the server what there is to run, and waits for it for as long as an idle slot stays.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn join(
        settings: WorkerSettings,
        leave: &AtomicBool,
        say: &dyn Fn(&str),
    ) -> Result<Self, WorkerError> {
        let begun = Instant::now();
        let mut is_said = false;
        loop {
            let away = match Self::joined(&settings) {
                Err(Joining::Away(why)) => why,
                Err(Joining::Failed(error)) => return Err(error),
                Ok((study, work)) => return Self::of(settings, study, work),
            };
            let patience = settings.idle_exit.unwrap_or(Duration::MAX);
            if begun.elapsed() >= patience || leave.load(Ordering::SeqCst) {
                return Err(WorkerError::Away(away));
            }
            if !std::mem::replace(&mut is_said, true) {
                say(&format!("no server answers ({away}); trying again"));
            }
            thread::sleep(Duration::from_millis(500).min(patience));
        }
    }

    fn joined(settings: &WorkerSettings) -> Result<(String, Work), Joining> {
        let study = match &settings.study {
            Some(study) => study.clone(),
            None => match Link::studies(settings.access.clone())?.as_slice() {
                [study] => study.clone(),
                [] => return Err(Joining::Away("the server has no study yet".to_owned())),
                several => return Err(Joining::Failed(WorkerError::Studies(several.join(", ")))),
            },
        };
        let mut link = Link::new(settings.access.clone(), study.clone(), settings.name.clone());
        let work = link.work(&settings.version)?;
        Ok((study, work))
    }

    fn of(settings: WorkerSettings, study: String, mut work: Work) -> Result<Self, WorkerError> {
        if work.command.is_empty() {
            return Err(WorkerError::NoCommand(study));
        }
        if work.is_built_in {
            work.command[0] = settings.program.to_string_lossy().into_owned();
        }
        let folder = settings.workdir.clone().unwrap_or_else(|| work.folder.clone());
        if !folder.is_dir() {
            return Err(WorkerError::Workdir(folder));
        }
        work.folder = folder;
        let is_shared = work.is_shared();
        let own = || settings.folder.join(format!("{study}-{}", work.mark));
        let directory = if is_shared { work.study.clone() } else { own() };
        fs::create_dir_all(&directory)
            .map_err(|error| WorkerError::System(format!("{}: {error}", directory.display())))?;
        Ok(Self { settings, study, work, directory, is_shared })
    }

    /// The study.
    pub fn study(&self) -> &str {
        &self.study
    }

    /// The folder that the trials' folders are in.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether that is the study's own folder: then a trial goes on here from the checkpoint that another worker wrote.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Runs trials until there is nothing more to do, or `leave` is set: then what runs is asked to end, and handed back.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn run(&self, leave: &AtomicBool, say: &dyn Fn(&str)) -> Result<(), WorkerError> {
        let (wishes, wished) = channel();
        let leaving = Arc::new(AtomicBool::new(false));
        let mut slots = Vec::new();
        for number in 0..self.settings.slots {
            let (sender, heard) = channel();
            slots.push(sender);
            let slot = self.slot(number, heard, wishes.clone(), Arc::clone(&leaving));
            let named = thread::Builder::new().name(format!("slot {number}"));
            named.spawn(move || slot.run()).map_err(|error| WorkerError::System(error.to_string()))?;
        }
        let trials = LocalTrials::new(self.setup()?, GRACE);
        let mut trainings = Trainings { trials, worker: self, running: BTreeMap::new(), slots, say, leave };
        let (mut open, mut refused) = (self.settings.slots, None);
        while open > 0 {
            if leave.load(Ordering::SeqCst) && !leaving.swap(true, Ordering::SeqCst) {
                trainings.hand_back();
            }
            for wish in wished.try_iter() {
                match wish {
                    Wish::Ended(why) => {
                        open -= 1;
                        refused = refused.or(why);
                    }
                    wish => trainings.fulfil(wish, leaving.load(Ordering::SeqCst)),
                }
            }
            trainings.listen(TICK);
        }
        refused.map_or(Ok(()), |why| Err(WorkerError::Refused(why)))
    }

    fn slot(
        &self,
        number: usize,
        heard: Receiver<Heard>,
        wishes: Sender<Wish>,
        leaving: Arc<AtomicBool>,
    ) -> Slot {
        let name = format!("{}/{number}", self.settings.name);
        Slot {
            number,
            link: Link::new(self.settings.access.clone(), self.study.clone(), name),
            heard,
            wishes,
            leaving,
            idle_exit: self.settings.idle_exit,
            directory: self.directory.clone(),
            is_shared: self.is_shared,
        }
    }

    fn setup(&self) -> Result<TrialSetup, WorkerError> {
        let Self { settings, work, .. } = self;
        Ok(TrialSetup {
            directory: self.directory.clone(),
            command: work.command.clone(),
            metric: work.metric()?,
            max_resource: work.max_resource,
            environment: settings.environment.clone(),
            space: work.space.clone(),
            watch: work.watch(),
            gpus: settings.gpus.clone(),
            unplaced: work.unplaced.clone(),
            config: work.config()?,
            working_dir: Some(work.folder.clone()),
        })
    }
}

/// Why a worker has not joined a study.
enum Joining {
    Away(String),
    Failed(WorkerError),
}

impl From<Trouble> for Joining {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Away(why) => Self::Away(why),
            Trouble::Refused { text, .. } => Self::Failed(WorkerError::Refused(text)),
        }
    }
}

impl Trainings<'_> {
    fn fulfil(&mut self, wish: Wish, leaving: bool) {
        match wish {
            Wish::Start(slot, start) if leaving => {
                self.tell(slot, Heard::HandedBack);
                (self.say)(&format!("trial {} is handed back", start.trial));
            }
            Wish::Start(slot, start) => {
                (self.say)(&format!("trial {} begins after epoch {}", start.trial, start.from));
                let running = Running {
                    slot,
                    start,
                    step: None,
                    attempts: 0,
                    is_stopped: false,
                    is_handed_back: false,
                    fault: None,
                };
                self.start(running);
            }
            Wish::Stop(trial) => {
                if let Some(running) = self.running.get_mut(&trial) {
                    running.is_stopped = true;
                    self.trials.stop(trial);
                }
            }
            Wish::Over(trial, is_useless) => {
                if is_useless {
                    self.trials.discard(trial);
                }
            }
            Wish::Say(text) => (self.say)(&text),
            Wish::Ended(_) => {}
        }
    }

    fn start(&mut self, running: Running) {
        let (slot, start) = (running.slot, running.start.clone());
        let directory = trial_directory(&self.worker.directory, start.trial);
        // what a killed worker of this machine left running; what cannot be looked for is not there
        let _ = end_abandoned(&directory, GRACE);
        match self.trials.start(&start, slot) {
            Ok(begun) => {
                let is_anew = begun == Begin::Anew && start.from > 0;
                let repeats = is_anew.then_some(0).or((running.attempts > 0).then_some(start.from));
                self.running.insert(start.trial, running);
                repeats.into_iter().for_each(|after| self.tell(slot, Heard::Began(after)));
            }
            Err(error) => self.tell(slot, Heard::Failed(error.to_string())),
        }
    }

    /// Asks all trainings to end, to be handed back.
    fn hand_back(&mut self) {
        for (&trial, running) in &mut self.running {
            running.is_handed_back = true;
            (self.say)(&format!("trial {trial} is asked to end, and handed back"));
            self.trials.stop(trial);
        }
    }

    fn listen(&mut self, wait: Duration) {
        for Message { trial, kind } in self.trials.messages(wait) {
            self.hear(trial, kind);
        }
    }

    fn hear(&mut self, trial: u64, kind: MessageKind) {
        let say = |text: &str| (self.say)(&format!("trial {trial}: {text}"));
        match kind {
            MessageKind::Report(report) => self.report(trial, &report, false),
            MessageKind::Late { reports } => {
                reports.iter().for_each(|report| self.report(trial, report, true));
            }
            MessageKind::Settled { reports } => {
                reports.iter().for_each(|report| self.report(trial, report, true));
            }
            MessageKind::Noted { note } => say(&note),
            // the worker's own trials share it
            MessageKind::Chosen { .. } => {}
            MessageKind::Quiet { silence } => say(&format!("no report for {} s", silence.as_secs())),
            MessageKind::Silent { lines, line } => {
                say(&format!("{lines} lines, `{line}` the last, but no report yet"));
            }
            MessageKind::Unusable { line, problem } => {
                say(&format!("unusable report `{line}`: {problem}"));
                if let ReportProblem::Epoch { .. } = problem {
                    self.give_up(trial, format!("printed `{line}`: {problem}"));
                }
            }
            MessageKind::Missed { epochs, seen } => {
                let expected = &self.worker.work.expected_report;
                self.give_up(trial, format!("has named {epochs} epochs and no metric: {expected}; it printed {seen}"));
            }
            MessageKind::Unread { parameters } => self.give_up(
                trial,
                format!("{parameters}: no placeholder in the command stands for it, and the training did not read FORETELL_PARAMS"),
            ),
            MessageKind::Ended { status, tail, fault, .. } => self.ended(trial, status, &tail, fault),
        }
    }

    fn report(&mut self, trial: u64, report: &Report, late: bool) {
        let Some(running) = self.running.get_mut(&trial) else { return };
        running.step = running.step.max(Some(report.step));
        let slot = running.slot;
        let (value, metrics) = numbers(report);
        self.tell(slot, Heard::Report(Reading { step: report.step, value, metrics, late }));
    }

    /// Ends a training that something is wrong with.
    fn give_up(&mut self, trial: u64, why: String) {
        if let Some(running) = self.running.get_mut(&trial) {
            running.fault = Some(why);
            self.trials.stop(trial);
        }
    }

    fn ended(&mut self, trial: u64, status: Status, tail: &[String], fault: Option<String>) {
        let Some(running) = self.running.remove(&trial) else { return };
        let slot = running.slot;
        let is_handed_back = running.is_handed_back || self.ends_with_this(&running, status);
        let is_whole = running.step.is_some_and(|step| step >= running.start.until);
        let failure =
            fault.or_else(|| running.fault.clone()).or_else(|| self.failure(&running, status, tail));
        let heard = match failure {
            _ if running.is_stopped || is_whole => Heard::Finished,
            _ if is_handed_back => Heard::HandedBack,
            None => Heard::Finished,
            Some(why) if running.attempts < self.worker.work.retries => return self.try_again(running, &why),
            Some(why) => Heard::Failed(why),
        };
        (self.say)(&format!(
            "trial {trial} has {}",
            match &heard {
                Heard::HandedBack => "ended, and is handed back".to_owned(),
                Heard::Failed(why) => format!("failed: {why}"),
                _ => "ended".to_owned(),
            }
        ));
        self.tell(slot, heard);
    }

    /// Whether a signal has ended the training that asks this worker to end, too: clusters send it to all processes of a job.
    fn ends_with_this(&self, running: &Running, status: Status) -> bool {
        if running.is_stopped || running.fault.is_some() || !matches!(status, Status::Signalled(_)) {
            return false;
        }
        // the training's end may be seen before the signal to this process
        let until = Instant::now() + SAME_SIGNAL;
        while !self.leave.load(Ordering::SeqCst) && Instant::now() < until {
            thread::sleep(TICK);
        }
        self.leave.load(Ordering::SeqCst)
    }

    /// What is wrong with a training that ended so, if anything is.
    fn failure(&self, running: &Running, status: Status, tail: &[String]) -> Option<String> {
        let is_silent = running.step.is_none() && running.start.from == 0;
        match status {
            Status::Exited(0) if is_silent => {
                let expected = &self.worker.work.expected_report;
                Some(said_at_the_end(&format!("ended without a report: {expected}"), tail))
            }
            Status::Exited(0) => None,
            Status::Exited(code) => Some(said_at_the_end(&format!("exit code {code}"), tail)),
            Status::Signalled(signal) => Some(said_at_the_end(&format!("ended by signal {signal}"), tail)),
            Status::Unknown => Some(said_at_the_end("ended in an unknown way", tail)),
        }
    }

    /// Starts a training that failed again, from its last checkpoint.
    fn try_again(&mut self, running: Running, why: &str) {
        let (trial, attempts) = (running.start.trial, running.attempts + 1);
        (self.say)(&format!("trial {trial} failed ({why}); it is tried again"));
        let from = running.step.unwrap_or(running.start.from);
        let start = Start { from, ..running.start.clone() };
        self.start(Running { start, attempts, step: None, ..running });
    }

    fn tell(&self, slot: usize, heard: Heard) {
        // a slot that has ended needs to hear nothing
        let _ = self.slots[slot].send(heard);
    }
}

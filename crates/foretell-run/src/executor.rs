//! Many trials as child processes, and one channel for all that they report.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use thiserror::Error;

use crate::group::ProcessIdentity;
use crate::leftover::{ProcessRecord, forget};
use crate::output::OutputLog;
use crate::placeholder::PlaceholderError;
use crate::process::{Output, Process, Stop};
use crate::protocol::{Report, ReportProblem, ReportReader};
use crate::trial::TrialSpec;

/// How many messages wait for the consumer before trials have to wait for it.
const MESSAGES: usize = 1024;
/// The time between SIGTERM and SIGKILL unless named otherwise.
const GRACE: Duration = Duration::from_secs(5);

/// What a trial says, or what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The trial's number.
    pub trial: u64,
    /// What it is about.
    pub kind: MessageKind,
}

/// The kinds of message, in a trial's order: reports as they were printed, then one `Ended`, then nothing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MessageKind {
    /// A report.
    Report(Report),
    /// A line that should be a report, but cannot be used.
    Unusable {
        /// The line, its first 1,000 bytes.
        line: String,
        /// Why.
        problem: ReportProblem,
    },
    /// It has printed many lines, but no report yet; said once.
    Silent {
        /// How many lines.
        lines: usize,
        /// The last of them, its first 1,000 bytes.
        line: String,
    },
    /// The trial's process has ended, nothing of its process group runs any more, and all it printed was read.
    Ended {
        /// How it ended.
        status: Status,
        /// Whether [`Executor::stop`] was called while it ran.
        stopped_by_us: bool,
        /// The last lines it printed, up to 20, oldest first.
        tail: Vec<String>,
    },
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It exited by itself, with this code; 0 means well.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// Another part of the program took its status away.
    Unknown,
}

/// Why a trial was not started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The command is empty.
    #[error("trial {trial} has no command: write one after `--`")]
    NoCommand {
        /// The trial's number.
        trial: u64,
    },
    /// A placeholder cannot be filled in.
    #[error(transparent)]
    Placeholder(#[from] PlaceholderError),
    /// A trial of this number runs already.
    #[error("trial {trial} runs already: wait for its end")]
    Running {
        /// The trial's number.
        trial: u64,
    },
    /// A folder or file of the trial cannot be made.
    #[error("cannot {what} {path}: {source}", path = path.display())]
    Folder {
        /// `make the folder`, `write`, …
        what: &'static str,
        /// The folder or file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The folder to run in is not there.
    #[error("cannot run in {path}: there is no such folder", path = path.display())]
    WorkingDir {
        /// The folder.
        path: PathBuf,
    },
    /// There is no such program.
    #[error(
        "cannot find the command `{program}` (or the interpreter in its first line): is it installed, and spelt right?"
    )]
    NotFound {
        /// The program.
        program: String,
    },
    /// The program is there, but does not start.
    #[error("cannot start the command `{program}`: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// There are too many threads.
    #[error("cannot start a thread to watch trial {trial}: {source}; run fewer workers")]
    Thread {
        /// The trial's number.
        trial: u64,
        /// What the operating system said.
        source: io::Error,
    },
}

impl StartError {
    pub(crate) fn folder(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Folder { what, path, source }
    }
}

/// Runs trials as child processes.
///
/// Each trial has its own process group, two threads that read its output and one that watches it. What it prints is
/// copied to `output.log` in its folder (the first 64 MiB), and reports are handed over in order through
/// [`messages`](Self::messages). The channel holds 1,024 messages; when the consumer lags further behind, trials wait
/// in their next print, so that memory stays bounded and no report is lost.
///
/// Dropping the executor stops all trials and waits until they are gone.
///
/// ```
/// use std::collections::BTreeMap;
/// use foretell_run::{Executor, MessageKind, MetricSource, TrialSpec};
///
/// let dir = tempfile::tempdir()?;
/// let parameters = serde_json::json!({"lr": 0.1});
/// let spec = TrialSpec {
///     trial: 1,
///     command: ["echo", r#"{{"foretell":{{"step":1,"val_acc":{lr}}}}}"#].map(String::from).to_vec(),
///     parameters: parameters.as_object().cloned().unwrap_or_default(),
///     seed: 7,
///     max_resource: 10,
///     until: 10,
///     directory: dir.path().join("trial-1"),
///     checkpoint_dir: dir.path().join("trial-1/checkpoints"),
///     resume_from: None,
///     resumed_at: 0,
///     working_dir: None,
///     environment: BTreeMap::new(),
///     metric: MetricSource::default(),
/// };
/// let mut executor = Executor::default();
/// executor.start(&spec)?;
/// let message = executor.messages().recv()?;
/// assert!(matches!(message.kind, MessageKind::Report(report) if report.value == Some(0.1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Executor {
    grace: Duration,
    sender: SyncSender<Message>,
    receiver: Receiver<Message>,
    stops: Arc<Mutex<BTreeMap<u64, Sender<Stop>>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Default for Executor {
    /// With a grace period of 5 s.
    fn default() -> Self {
        Self::new(GRACE)
    }
}

impl Executor {
    /// An executor that gives stopped trials the time `grace` between SIGTERM and SIGKILL.
    pub fn new(grace: Duration) -> Self {
        let (sender, receiver) = sync_channel(MESSAGES);
        Self { grace, sender, receiver, stops: Arc::default(), threads: Vec::new() }
    }

    /// Starts a trial; answers the identity of its process, which leads its process group.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then, and no message comes.
    pub fn start(&mut self, spec: &TrialSpec) -> Result<ProcessIdentity, StartError> {
        if lock(&self.stops).contains_key(&spec.trial) {
            return Err(StartError::Running { trial: spec.trial });
        }
        let record = ProcessRecord::new(spec.trial);
        let command = spec.command(&record.token)?;
        check_working_dir(spec)?;
        spec.prepare()?;
        let log_path = spec.directory.join("output.log");
        let log = OutputLog::open(&log_path).map_err(StartError::folder("write", &log_path))?;
        record.write(&spec.directory).map_err(StartError::folder("write into", &spec.directory))?;
        let started = self.run(spec, command, log, record);
        if started.is_err() {
            forget(&spec.directory);
        }
        started
    }

    /// Stops a trial: SIGTERM to its process group, the grace period, SIGKILL. Returns at once; its `Ended` message
    /// comes when all of the group is gone. Answers whether the trial was running.
    pub fn stop(&self, trial: u64) -> bool {
        lock(&self.stops).get(&trial).is_some_and(|stops| stops.send(Stop).is_ok())
    }

    /// The numbers of the trials that run, ascending. A trial leaves this list just before its `Ended` message.
    pub fn running(&self) -> Vec<u64> {
        lock(&self.stops).keys().copied().collect()
    }

    /// Where the messages of all trials arrive.
    pub fn messages(&self) -> &Receiver<Message> {
        &self.receiver
    }

    /// Starts the command and its watcher; the watcher's thread first, as a process without one would be unwatched.
    fn run(
        &mut self,
        spec: &TrialSpec,
        mut command: Command,
        log: OutputLog,
        mut record: ProcessRecord,
    ) -> Result<ProcessIdentity, StartError> {
        let trial = spec.trial;
        let no_thread = |source| StartError::Thread { trial, source };
        let (hand_over, handed_over) = channel();
        self.spawn_watcher(trial, handed_over).map_err(no_thread)?;
        let child = command.spawn().map_err(|source| spawn_error(&command, source))?;
        let identity = ProcessIdentity::of(child.id());
        record.leader = Some(identity);
        // Without the id, which a full disk may keep out of the record, the token in it still finds the process.
        let _ = record.write(&spec.directory);
        let reports = ReportReader::new(spec.metric.clone(), spec.resumed_at);
        let output = Output::new(trial, reports, log, self.sender.clone());
        let (stop, stops) = channel();
        let process =
            Process::attach(child, spec.directory.clone(), output, stops, self.grace).map_err(no_thread)?;
        lock(&self.stops).insert(trial, stop);
        // The watcher waits for exactly this: it cannot have gone.
        let _ = hand_over.send(process);
        Ok(identity)
    }

    fn spawn_watcher(&mut self, trial: u64, handed_over: Receiver<Process>) -> io::Result<()> {
        self.threads.retain(|thread| !thread.is_finished());
        let stops = self.stops.clone();
        let watch = move || {
            if let Ok(process) = handed_over.recv() {
                process.supervise(|| drop(lock(&stops).remove(&trial)));
            }
        };
        self.threads.push(thread::Builder::new().name(format!("trial-{trial}")).spawn(watch)?);
        Ok(())
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // Without its receiver the channel refuses messages at once: no thread can wait for room in it.
        self.receiver = sync_channel(0).1;
        lock(&self.stops).values().for_each(|stops| drop(stops.send(Stop)));
        for thread in self.threads.drain(..) {
            // A watcher that panicked has nothing left to wait for.
            let _ = thread.join();
        }
    }
}

/// A missing folder to run in would look like a missing command.
fn check_working_dir(spec: &TrialSpec) -> Result<(), StartError> {
    match &spec.working_dir {
        Some(path) if !path.is_dir() => Err(StartError::WorkingDir { path: path.clone() }),
        _ => Ok(()),
    }
}

fn spawn_error(command: &Command, source: io::Error) -> StartError {
    let program = command.get_program().to_string_lossy().into_owned();
    match source.kind() {
        io::ErrorKind::NotFound => StartError::NotFound { program },
        _ => StartError::Spawn { program, source },
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

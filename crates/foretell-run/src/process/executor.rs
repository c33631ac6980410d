//! Many trials as child processes, and one channel for all that they report.

use std::io;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::fleet::executor::UnreadReports;
use crate::log::room::FullDiskWait;
use crate::process::abandoned::{ProcessRecord, forget_ended_processes};
use crate::process::control_group::ControlGroup;
use crate::process::followed::FollowedFile;
use crate::process::group::ProcessIdentity;
use crate::process::life::TrialProcess;
use crate::process::message::{MessageKind, ProcessStatus, TrialMessage};
use crate::process::output::{OUTPUT_FILE, OutputLog};
use crate::process::reading::TrialOutput;
use crate::process::start_error::StartError;
use crate::process::strays::is_adopting;
use crate::process::terminal::Terminal;
use crate::process::trial::TrialSpec;
use crate::process::unread::read_unread;
use crate::process::usage::UsageMeter;
use crate::process::watcher::{RunningTrials, Watcher};
use foretell_logs::printed::ChosenSeries;
use foretell_search::SourcePosition;

/// The number of messages that wait for the consumer before trials have to wait for it.
const CHANNEL_CAPACITY: usize = 1024;
/// The time between SIGTERM and SIGKILL unless named otherwise.
const DEFAULT_GRACE: Duration = Duration::from_secs(5);

/// The most files that this process asks for.
const MAX_OPEN_FILES: u64 = 1 << 16;

/// Runs trials as child processes.
///
/// Each trial has its own process group. One thread watches all of them: it is started with the first trial, and
/// however many trials run, there is no second one. What a trial prints is copied to `output.log` in its folder (the first 64 MiB), and reports are handed over in order through
/// [`messages`](Self::messages). The channel holds 1,024 messages; when the consumer lags further behind, trials wait
/// in their next print, so that memory stays bounded and no report is lost.
///
/// Dropping the executor stops all trials and waits until they are gone.
///
/// ```
/// use std::collections::BTreeMap;
/// use foretell_run::{LocalProcesses, MessageKind, MetricSource, TrialSpec, WatchSettings};
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
///     watch: WatchSettings::default(),
/// };
/// let mut executor = LocalProcesses::default();
/// executor.start(&spec)?;
/// let message = executor.messages().recv()?;
/// assert!(matches!(message.kind, MessageKind::Report(report) if report.value == Some(0.1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LocalProcesses {
    grace: Duration,
    receiver: Receiver<TrialMessage>,
    running: RunningTrials,
    watch: WatcherState,
    room: FullDiskWait,
    /// The series that is the metric, as the first trial's output showed.
    chosen: Arc<Mutex<Option<ChosenSeries>>>,
    meter: UsageMeter,
}

/// The thread that watches trials; before the first trial, what it will send its messages through.
#[derive(Debug)]
enum WatcherState {
    Unstarted(SyncSender<TrialMessage>),
    Started(Watcher),
}

impl Default for LocalProcesses {
    /// With a grace period of 5 s.
    fn default() -> Self {
        Self::new(DEFAULT_GRACE)
    }
}

impl LocalProcesses {
    /// An executor that gives stopped trials the time `grace` between SIGTERM and SIGKILL.
    pub fn new(grace: Duration) -> Self {
        raise_file_limit();
        let (sender, receiver) = sync_channel(CHANNEL_CAPACITY);
        let (running, watch) = (RunningTrials::default(), WatcherState::Unstarted(sender));
        Self {
            grace,
            receiver,
            running,
            watch,
            room: FullDiskWait::default(),
            chosen: Arc::default(),
            meter: UsageMeter::default(),
        }
    }

    /// An executor that reads the series that was `chosen` for earlier trials.
    #[must_use]
    pub(crate) fn with_chosen_series(mut self, chosen: Option<ChosenSeries>) -> Self {
        self.chosen = Arc::new(Mutex::new(chosen));
        self
    }

    /// An executor that says by `room` that trials wait for room on a full disk.
    #[must_use]
    pub(crate) fn with_full_disk_wait(mut self, room: FullDiskWait) -> Self {
        self.room = room;
        self
    }

    /// The reports that the file followed by `spec` has from `position` on, after the one of step `reported`.
    ///
    /// # Errors
    /// [`StartError`] if the name of the file cannot be filled in.
    pub(crate) fn unread_reports(
        &self,
        spec: &TrialSpec,
        position: SourcePosition,
        reported: Option<u64>,
    ) -> Result<UnreadReports, StartError> {
        let Some(path) = spec.followed_path()? else { return Ok(UnreadReports::default()) };
        let chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let reports = spec.report_reader(position.after).with_chosen_series(chosen);
        Ok(read_unread(path, position, reported, reports))
    }

    /// The way that a full disk is waited out.
    pub(crate) fn full_disk_wait(&self) -> &FullDiskWait {
        &self.room
    }

    /// Starts a trial; answers the identity of its process, which leads its process group.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then, and no message comes.
    pub fn start(&mut self, spec: &TrialSpec) -> Result<ProcessIdentity, StartError> {
        if self.running.lock_trials().contains(&spec.trial) {
            return Err(StartError::Running { trial: spec.trial });
        }
        let mut record = ProcessRecord::new(spec.trial);
        let command = spec.build_command(&record.token)?;
        check_working_dir(spec)?;
        spec.make_folders()?;
        let log_path = spec.directory.join(OUTPUT_FILE);
        let log =
            OutputLog::open(&log_path, self.room.clone()).map_err(StartError::folder("write", &log_path))?;
        // remembered before it is made, so that it is removed whenever this process is killed
        record.control_group = is_adopting().then(|| ControlGroup::for_token(&record.token)).flatten();
        record.write(&spec.directory).map_err(StartError::folder("write into", &spec.directory))?;
        let token = record.token.clone();
        let control_group = record.control_group.clone();
        let started = self.spawn_watched(spec, command, log, record);
        match &started {
            Ok(leader) => {
                self.meter.start_measuring(spec.trial, *leader, control_group, &spec.directory, &self.room);
            }
            Err(_) => forget_ended_processes(&spec.directory, &token),
        }
        started
    }

    /// Stops a trial: SIGTERM to its process group, the grace period, SIGKILL. Returns at once; its `Ended` message
    /// comes when all of the group is gone. Answers whether the trial was running.
    pub fn stop(&self, trial: u64) -> bool {
        match &self.watch {
            WatcherState::Started(watcher) => {
                self.running.lock_trials().contains(&trial) && watcher.stop(trial)
            }
            WatcherState::Unstarted(_) => false,
        }
    }

    /// The numbers of the trials that run, ascending. A trial leaves this list just before its `Ended` message.
    pub fn running_trials(&self) -> Vec<u64> {
        self.running.lock_trials().iter().copied().collect()
    }

    /// The messages of all trials since the last call; waits up to `wait` for the first. Trials that nobody watches any more have ended.
    pub(crate) fn receive_messages(&self, wait: Duration) -> Vec<TrialMessage> {
        match self.receiver.recv_timeout(wait) {
            Ok(first) => std::iter::once(first).chain(self.receiver.try_iter()).collect(),
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => {
                let unwatched = std::mem::take(&mut *self.running.lock_trials());
                if unwatched.is_empty() {
                    thread::sleep(wait);
                }
                unwatched.into_iter().map(unwatched_end).collect()
            }
        }
    }

    /// Where the messages of all trials arrive.
    pub fn messages(&self) -> &Receiver<TrialMessage> {
        &self.receiver
    }

    /// Starts the command; the thread that watches it first, as a process without one would be unwatched.
    fn spawn_watched(
        &mut self,
        spec: &TrialSpec,
        mut command: Command,
        log: OutputLog,
        mut record: ProcessRecord,
    ) -> Result<ProcessIdentity, StartError> {
        let trial = spec.trial;
        let (grace, running, chosen) = (self.grace, self.running.clone(), Arc::clone(&self.chosen));
        let watcher = self.start_watcher().map_err(|source| StartError::Thread { trial, source })?;
        // before it starts: from here on it may write
        let followed = spec.followed_path()?.map(FollowedFile::new);
        // until it is watched nobody knows the new process, and a look for strays would end it
        let starting = running.count_starting();
        let reads = Terminal::open().and_then(|terminal| terminal.attach_to(&mut command));
        let reads = reads.map_err(|source| spawn_error(&command, source))?;
        let child = command.spawn().map_err(|source| spawn_error(&command, source))?;
        let identity = ProcessIdentity::with_pid(child.id());
        record.leader = Some(identity);
        record.control_group = record.control_group.take().filter(|group| group.make_for(identity.pid));
        // Without the id, which a full disk may keep out of the record, the token in it still finds the process.
        let _ = record.write(&spec.directory);
        // a training that continues in a later fold counts the steps of that fold
        let has_folds = super::trial::fold_count(spec.until, spec.max_resource).is_some();
        let reports = spec.report_reader(if has_folds { 0 } else { spec.resumed_at });
        let output = TrialOutput::new(trial, reports, log).with_shared_choice(chosen);
        let process = TrialProcess::new(child, reads, spec.directory.clone(), output, grace)
            .with_watch(spec.watch.clone(), followed)
            .with_record(record);
        // before it is watched, because a trial that ends at once would otherwise stay in the list
        running.lock_trials().insert(trial);
        if watcher.watch_process(process, starting) {
            return Ok(identity);
        }
        running.lock_trials().remove(&trial);
        let source = io::Error::other("the thread that watches trials has ended");
        Err(StartError::Thread { trial, source })
    }

    fn start_watcher(&mut self) -> io::Result<&Watcher> {
        if let WatcherState::Unstarted(sender) = &self.watch {
            self.watch = WatcherState::Started(Watcher::start(sender.clone(), self.running.clone())?);
        }
        match &self.watch {
            WatcherState::Started(watcher) => Ok(watcher),
            WatcherState::Unstarted(_) => Err(io::Error::other("it was not started")),
        }
    }
}

impl Drop for LocalProcesses {
    fn drop(&mut self) {
        // Without its receiver the channel takes no messages: the watcher, dropped next, does not wait for room in it.
        self.receiver = sync_channel(0).1;
    }
}

/// Lets this process open as many files as the system allows: each trial takes two, and the usual soft limit is low.
fn raise_file_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard.min(MAX_OPEN_FILES)
    {
        // with the lower limit fewer trials run
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard.min(MAX_OPEN_FILES), hard);
    }
}

/// Whether `error` says that this process, or the system, has no more files or processes to give.
pub(crate) fn is_out_of_files(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |&error| error.source());
    causes.any(|cause| {
        let code = cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        code.is_some_and(|code| {
            [Errno::EMFILE, Errno::ENFILE, Errno::EAGAIN].contains(&Errno::from_raw(code))
        })
    })
}

/// The end of a trial whose thread has died.
fn unwatched_end(trial: u64) -> TrialMessage {
    let fault = Some("the thread that watches trials has died. This is a bug: please report it".to_owned());
    let (tail, seen) = (Vec::new(), String::new());
    let kind = MessageKind::Ended { status: ProcessStatus::Unknown, stopped_by_us: false, tail, seen, fault };
    TrialMessage { trial, kind }
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
        io::ErrorKind::PermissionDenied if std::path::Path::new(&program).is_file() => {
            StartError::NotExecutable { program }
        }
        _ => StartError::Spawn { program, source },
    }
}

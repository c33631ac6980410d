//! Processes that a killed Foretell left running: found again by the record in a trial's folder, and ended.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::log::atomic_write::write_atomically;
use crate::process::control_group::ControlGroup;
use crate::process::group::{
    ProcessIdentity, ProcessStat, is_portable, running_processes, signal_group, signal_process,
};
use crate::regular;

/// The environment variable that names one start of one trial, inherited by all that it starts.
pub(crate) const TOKEN_VARIABLE: &str = "FORETELL_START";
/// The time that killed processes may take to vanish before that is an error.
const VANISH_TIMEOUT: Duration = Duration::from_secs(10);
/// The time between two looks for processes that are to end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The outcome for the processes that are recorded in a trial's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbandonedOutcome {
    /// The folder records none: the trial never ran, or Foretell saw it end.
    None,
    /// The folder records some, but they had ended already.
    Ended,
    /// They were running, and are gone now.
    Killed {
        /// The number of processes.
        processes: usize,
    },
}

/// The reason why abandoned processes were not ended.
#[derive(Debug, Error)]
pub enum AbandonedError {
    /// The record cannot be read or removed.
    #[error("cannot {what} {path}: {source}. Remove it once no process of this trial is running", path = path.display())]
    Record {
        /// `read`, `remove`.
        what: &'static str,
        /// The record.
        path: PathBuf,
        /// The error of the operating system or of the decoder.
        source: io::Error,
    },
    /// This system does not tell whether the process under the remembered id is still the trial's.
    #[error(
        "process {pid} may be left over from an interrupted trial, but this system cannot tell. End the process \
         if it is, and then remove {path}",
        path = path.display()
    )]
    Unverifiable {
        /// The remembered id.
        pid: u32,
        /// The record.
        path: PathBuf,
    },
    /// They do not even end when killed: they hang inside the operating system.
    #[error("{count} processes of the trial in {path} were killed, but still exist. Check the device that they wait for", path = path.display())]
    Unkillable {
        /// The number of them.
        count: usize,
        /// The trial's folder.
        path: PathBuf,
    },
}

/// The record of a process in its trial's folder, while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessRecord {
    /// The value of [`TOKEN_VARIABLE`] in its environment.
    pub(crate) token: String,
    /// The search that started it; earlier versions did not record it.
    #[serde(default)]
    driver: Option<ProcessIdentity>,
    /// The boot of the machine that it belongs to: ids and start times mean nothing after the next boot.
    boot: Option<String>,
    /// The leader of its process group; `None` from just before the start to just after.
    pub(crate) leader: Option<ProcessIdentity>,
    /// The start's control group, where there are such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) control_group: Option<ControlGroup>,
    /// The processes that may be its own, and have left its process group and its environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) strays: Vec<ProcessIdentity>,
}

impl ProcessRecord {
    /// A record for a trial about to start, with a token that no other start has.
    pub(crate) fn new(trial: u64) -> Self {
        static STARTS: AtomicU64 = AtomicU64::new(0);
        let start = STARTS.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let token = format!("{trial}-{}-{start}-{now}", std::process::id());
        let driver = Some(ProcessIdentity::current());
        Self { token, driver, boot: boot_id(), leader: None, control_group: None, strays: Vec::new() }
    }

    /// Writes the record into the trial's folder.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        write_atomically(&record_path(directory), serde_json::to_string(self)?.as_bytes())
    }

    fn read(path: &Path) -> io::Result<Option<Self>> {
        match regular::read(path) {
            // what a loss of power left empty is of an earlier run of the machine
            Ok(text) if text.is_empty() => Ok(None),
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether another process of this machine runs the trial now, for example a worker. Then it is not abandoned.
    fn is_driven_by_another(&self) -> bool {
        let another = self.driver.filter(|driver| *driver != ProcessIdentity::current());
        self.boot == boot_id() && another.is_some_and(|driver| driver.start.is_some() && driver.is_alive())
    }

    /// The leader, if nothing tells whether the living process with its id is still that one.
    fn unverifiable_leader(&self) -> Option<ProcessIdentity> {
        self.leader.filter(|leader| leader.start.is_none() && leader.is_alive())
    }

    /// The processes of this start that still run, among all that do.
    fn running_pids(&self, all: &[RunningProcess]) -> BTreeSet<u32> {
        let marked = all.iter().filter(|it| it.token.as_deref() == Some(self.token.as_str()));
        let mut running: BTreeSet<u32> = marked.map(|it| it.pid).collect();
        running.extend(self.control_group.iter().flat_map(ControlGroup::process_ids));
        running.extend(self.strays.iter().filter(|stray| stray.is_alive()).map(|stray| stray.pid));
        // A group outlives its leader; its id is ours as long as one of its members descends from our start.
        if let Some(leader) = self.leader {
            let members = all.iter().filter(|it| it.stat.group == leader.pid).map(|it| it.pid);
            if leader.is_alive() || members.clone().any(|pid| running.contains(&pid)) {
                running.extend(members);
            }
        }
        let mut more = running.len();
        while more > 0 {
            let children = all.iter().filter(|it| running.contains(&it.stat.parent)).map(|it| it.pid);
            let found: Vec<u32> = children.filter(|pid| !running.contains(pid)).collect();
            more = found.len();
            running.extend(found);
        }
        running
    }
}

/// A process that runs.
struct RunningProcess {
    pid: u32,
    stat: ProcessStat,
    /// The value of [`TOKEN_VARIABLE`] in its environment.
    token: Option<String>,
}

/// All processes that run now.
fn list_running_processes() -> Vec<RunningProcess> {
    running_processes().map(|(pid, stat)| RunningProcess { pid, stat, token: token_of(pid) }).collect()
}

/// Ends the remaining processes of the trial in `directory`, after the Foretell that started it was killed.
///
/// SIGTERM to its process group, up to `grace` of waiting, SIGKILL; returns when all of it is gone. A process that
/// merely has the remembered id by now is never touched: the start time, the machine's boot, or for a group without
/// its leader the inherited `FORETELL_START` must agree. So what another machine started is not looked for.
/// Processes that left the group (for example by `setsid`) are found by the token, those without it by the trial's control group
/// where there is one, else as descendants of the others, or because they were seen before.
///
/// Call it for each trial once the study's log is opened, that is, locked: a running Foretell's trials are not abandoned.
///
/// # Errors
/// [`AbandonedError::Record`], [`AbandonedError::Unverifiable`] (only on systems without `/proc`),
/// [`AbandonedError::Unkillable`] after 10 s.
pub fn end_abandoned(directory: &Path, grace: Duration) -> Result<AbandonedOutcome, AbandonedError> {
    let Some(trial) = read_record(directory)? else { return Ok(AbandonedOutcome::None) };
    end_trials(std::slice::from_ref(&trial), grace)
        .remove(0)
        .and_then(|outcome| remove_record(directory, outcome))
}

/// Ends what still runs of the trials in `directories`, as [`end_abandoned`] does, all of them at once: one grace period for all.
/// Answers how many processes there were.
///
/// # Errors
/// The first of [`end_abandoned`]'s; what could be ended is.
pub fn end_all_abandoned(
    directories: impl IntoIterator<Item = PathBuf>,
    grace: Duration,
) -> Result<usize, AbandonedError> {
    let read: Vec<_> =
        directories.into_iter().filter_map(|directory| read_record(&directory).transpose()).collect();
    let mut first_error = None;
    let mut note = |error| {
        first_error.get_or_insert(error);
    };
    let trials: Vec<_> = read.into_iter().filter_map(|trial| trial.map_err(&mut note).ok()).collect();
    let mut ended = 0;
    for (outcome, (_, directory)) in end_trials(&trials, grace).into_iter().zip(&trials) {
        match outcome.and_then(|outcome| remove_record(directory, outcome)) {
            Ok(AbandonedOutcome::Killed { processes }) => ended += processes,
            Ok(_) => {}
            Err(error) => note(error),
        }
    }
    first_error.map_or(Ok(ended), Err)
}

/// The record of the trial in `directory`, and its folder.
fn read_record(directory: &Path) -> Result<Option<RecordedTrial>, AbandonedError> {
    let path = record_path(directory);
    let record = ProcessRecord::read(&path);
    let record = record.map_err(|source| AbandonedError::Record { what: "read", path, source })?;
    let record = record.filter(|record| !record.is_driven_by_another());
    Ok(record.map(|record| (record, directory.to_owned())))
}

/// Removes the record of processes that are gone.
fn remove_record(directory: &Path, outcome: AbandonedOutcome) -> Result<AbandonedOutcome, AbandonedError> {
    let path = record_path(directory);
    match fs::remove_file(&path) {
        Ok(()) => Ok(outcome),
        // somebody else has seen to it meanwhile
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(outcome),
        Err(source) => Err(AbandonedError::Record { what: "remove", path, source }),
    }
}

/// Ends what `driver` has left running of the trials in `directory`, a study's folder, after it was killed; what another
/// search started since then is left alone.
pub(crate) fn end_trials_of(driver: ProcessIdentity, directory: &Path, grace: Duration) {
    let trials = fs::read_dir(directory.join("trials")).into_iter().flatten().flatten();
    let remembered = trials.filter_map(|trial| {
        // whether the driver is alive is not asked: its pipe breaks a moment before it is gone
        let record = ProcessRecord::read(&record_path(&trial.path())).ok().flatten()?;
        Some((record, trial.path()))
    });
    let own: Vec<_> = remembered.filter(|(record, _)| record.driver == Some(driver)).collect();
    if is_portable() {
        return end_groups(&own, grace);
    }
    // nobody is left to be told of an error; the study's next start tries again, and removes the records, which
    // by then may be those of other starts
    let _ = end_trials(&own, grace);
}

/// Ends the process groups of trials whose driver ended a moment ago: their ids are still theirs.
fn end_groups(trials: &[RecordedTrial], grace: Duration) {
    let leaders: Vec<ProcessIdentity> = trials.iter().filter_map(|(record, _)| record.leader).collect();
    leaders.iter().for_each(|leader| signal_group(leader.pid, Signal::SIGTERM));
    let until = Instant::now() + grace;
    while leaders.iter().any(|leader| leader.is_alive()) && Instant::now() < until {
        thread::sleep(POLL_INTERVAL);
    }
    leaders.iter().for_each(|leader| signal_group(leader.pid, Signal::SIGKILL));
}

/// The record of a trial, and its folder.
type RecordedTrial = (ProcessRecord, PathBuf);

/// Ends the processes of all `trials` at once.
fn end_trials(trials: &[RecordedTrial], grace: Duration) -> Vec<Result<AbandonedOutcome, AbandonedError>> {
    let here = boot_id();
    // a process that was killed a moment ago answers until its parent has collected it
    let until = Instant::now() + VANISH_TIMEOUT;
    while trials.iter().any(|(record, _)| record.unverifiable_leader().is_some()) && Instant::now() < until {
        thread::sleep(POLL_INTERVAL);
    }
    // once, because a leader that vanishes while others are ended would otherwise take the count of another trial
    let unverifiable =
        trials.iter().map(|(record, _)| record.unverifiable_leader().filter(|_| record.boot == here));
    let unverifiable: Vec<Option<ProcessIdentity>> = unverifiable.collect();
    let ours = trials
        .iter()
        .zip(&unverifiable)
        .filter(|((record, _), leader)| record.boot == here && leader.is_none());
    let ours: Vec<&ProcessRecord> = ours.map(|((record, _), _)| record).collect();
    let mut counts = end_running(&ours, grace).into_iter();
    ours.iter().filter_map(|record| record.control_group.as_ref()).for_each(ControlGroup::remove);
    let outcomes = trials.iter().zip(unverifiable).map(|((record, path), unverifiable)| {
        if let Some(ProcessIdentity { pid, .. }) = unverifiable {
            return Err(AbandonedError::Unverifiable { pid, path: record_path(path) });
        }
        match Some(record).filter(|it| it.boot == here).and_then(|_| counts.next()) {
            None | Some((0, 0)) => Ok(AbandonedOutcome::Ended),
            Some((processes, 0)) => Ok(AbandonedOutcome::Killed { processes }),
            Some((_, count)) => Err(AbandonedError::Unkillable { count, path: path.clone() }),
        }
    });
    outcomes.collect()
}

/// Ends what runs of each of `records`: SIGTERM, SIGKILL after `grace`, and an end to waiting [`VANISH_TIMEOUT`] later.
/// Answers how many processes of each were seen at once, and how many are left.
///
/// SIGKILL is sent again and again: a process that was forking just then may have got away.
fn end_running(records: &[&ProcessRecord], grace: Duration) -> Vec<(usize, usize)> {
    let begun = Instant::now();
    let mut asked = BTreeSet::new();
    let mut seen = vec![0; records.len()];
    // A process that is just being started bears its token a moment later: it is looked for once more.
    let mut is_sure = records.iter().all(|record| record.leader.is_some());
    loop {
        let all = list_running_processes();
        let running: Vec<BTreeSet<u32>> = records.iter().map(|record| record.running_pids(&all)).collect();
        seen.iter_mut().zip(&running).for_each(|(seen, running)| *seen = running.len().max(*seen));
        let is_gone = running.iter().all(BTreeSet::is_empty);
        if (is_gone && is_sure) || begun.elapsed() >= grace + VANISH_TIMEOUT {
            return seen.into_iter().zip(running.iter().map(BTreeSet::len)).collect();
        }
        is_sure = is_gone;
        for &pid in running.iter().flatten() {
            if begun.elapsed() >= grace {
                signal_process(pid, Signal::SIGKILL);
            } else if asked.insert(pid) {
                signal_process(pid, Signal::SIGTERM);
            }
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Forgets the trial's processes that were started as `token` says, once they are gone.
pub(crate) fn forget_ended_processes(directory: &Path, token: &str) {
    let path = record_path(directory);
    // another process may have started the trial since
    if ProcessRecord::read(&path).ok().flatten().is_none_or(|record| record.token == token) {
        // Should it stay, end_abandoned finds out that they have ended.
        let _ = fs::remove_file(path);
    }
}

/// Whether processes of the trial in `directory` may still run that were started by another process of this machine that lives, or on
/// another machine.
pub(crate) fn runs_elsewhere(directory: &Path) -> bool {
    let record = ProcessRecord::read(&record_path(directory)).ok().flatten();
    record.is_some_and(|record| record.boot != boot_id() || record.is_driven_by_another())
}

fn record_path(directory: &Path) -> PathBuf {
    directory.join("process.json")
}

fn boot_id() -> Option<String> {
    if is_portable() {
        return None;
    }
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

/// The value of [`TOKEN_VARIABLE`] in the environment of process `pid`.
pub(crate) fn token_of(pid: u32) -> Option<String> {
    if is_portable() {
        return None;
    }
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let name = format!("{TOKEN_VARIABLE}=");
    let value =
        environment.split(|&byte| byte == 0).find_map(|variable| variable.strip_prefix(name.as_bytes()))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// Whether `token` is in the environment of process `pid`.
pub(crate) fn has_token(pid: u32, token: &str) -> bool {
    token_of(pid).is_some_and(|it| it == token)
}

#[cfg(test)]
mod tests {
    use super::{AbandonedOutcome, ProcessRecord, end_abandoned, end_all_abandoned};
    use crate::process::group::ProcessIdentity;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};
    use std::time::Duration;

    const GRACE: Duration = Duration::from_millis(300);

    fn sleeper(token: Option<&str>) -> Child {
        let mut command = Command::new("sleep");
        command.arg("600").process_group(0);
        if let Some(token) = token {
            command.env(super::TOKEN_VARIABLE, token);
        }
        command.spawn().expect("sleep starts")
    }

    /// Leaves a record that says `leader` runs, opens as after a crash, and says whether `child` outlived that.
    fn outlives(record: &ProcessRecord, mut child: Child) -> (bool, AbandonedOutcome) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        record.write(dir.path()).expect("the record is written");
        let outcome = end_abandoned(dir.path(), GRACE).expect("nothing is in the way");
        let alive = child.try_wait().expect("our child").is_none();
        assert_eq!(
            end_abandoned(dir.path(), GRACE).expect("nothing is in the way"),
            AbandonedOutcome::None,
            "it was forgotten"
        );
        child.kill().expect("our child");
        child.wait().expect("our child");
        (alive, outcome)
    }

    #[test]
    fn a_remembered_process_is_ended() {
        let child = sleeper(None);
        let record =
            ProcessRecord { leader: Some(ProcessIdentity::with_pid(child.id())), ..ProcessRecord::new(1) };
        assert_eq!(outlives(&record, child), (false, AbandonedOutcome::Killed { processes: 1 }));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_stranger_under_a_recycled_id_is_not_touched() {
        let child = sleeper(None);
        let now = ProcessIdentity::with_pid(child.id());
        let before = ProcessIdentity { start: now.start.map(|start| start - 1), ..now };
        let record = ProcessRecord { leader: Some(before), ..ProcessRecord::new(1) };
        assert_eq!(outlives(&record, child), (true, AbandonedOutcome::Ended));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_trial_that_another_process_runs_is_not_abandoned() {
        let (child, mut driver) = (sleeper(None), sleeper(None));
        let leader = Some(ProcessIdentity::with_pid(child.id()));
        let record = ProcessRecord {
            leader,
            driver: Some(ProcessIdentity::with_pid(driver.id())),
            ..ProcessRecord::new(1)
        };
        let (alive, outcome) = outlives(&record, child);
        assert!(alive && outcome == AbandonedOutcome::None);
        driver.kill().expect("our child");
        driver.wait().expect("our child");
    }

    #[test]
    fn a_process_of_another_boot_is_not_touched() {
        let child = sleeper(None);
        let leader = Some(ProcessIdentity::with_pid(child.id()));
        let record = ProcessRecord { leader, boot: Some("another".to_owned()), ..ProcessRecord::new(1) };
        assert_eq!(outlives(&record, child), (true, AbandonedOutcome::Ended));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_started_just_before_the_crash_is_found_by_its_token() {
        let record = ProcessRecord::new(1);
        let child = sleeper(Some(&record.token));
        // the system shows an environment a moment after the program has begun
        let until = std::time::Instant::now() + super::VANISH_TIMEOUT;
        while !super::has_token(child.id(), &record.token) && std::time::Instant::now() < until {
            std::thread::sleep(super::POLL_INTERVAL);
        }
        assert_eq!(outlives(&record, child), (false, AbandonedOutcome::Killed { processes: 1 }));
        let other = sleeper(Some("another-token"));
        assert_eq!(outlives(&ProcessRecord::new(1), other), (true, AbandonedOutcome::Ended));
    }

    #[test]
    fn all_trials_are_ended_at_once_with_one_grace_period_for_all() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let grace = Duration::from_secs(1);
        let start = |trial: u64| {
            let ready = dir.path().join(format!("ready-{trial}"));
            let script = format!("trap '' TERM; touch {}; while :; do sleep 0.1; done", ready.display());
            let child = Command::new("sh").args(["-c", &script]).process_group(0).spawn().expect("sh starts");
            let leader = Some(ProcessIdentity::with_pid(child.id()));
            let folder = dir.path().join(trial.to_string());
            std::fs::create_dir(&folder).expect("a folder");
            ProcessRecord { leader, ..ProcessRecord::new(trial) }.write(&folder).expect("it is written");
            while !ready.exists() {
                std::thread::sleep(super::POLL_INTERVAL);
            }
            (child, folder)
        };
        let mut trials: Vec<(Child, std::path::PathBuf)> = (0..8).map(start).collect();
        let nowhere = dir.path().join("nowhere");
        let folders = trials.iter().map(|(_, folder)| folder.clone()).chain([nowhere]);
        let begun = std::time::Instant::now();
        let ended = end_all_abandoned(folders, grace).expect("nothing is in the way");
        let took = begun.elapsed();
        assert!(ended >= 8, "{ended}");
        assert!(took < 4 * grace, "eight trials took {took:?}, at a grace period of {grace:?}");
        for (child, folder) in &mut trials {
            assert!(child.try_wait().expect("our child").is_some());
            assert!(!super::record_path(folder).exists(), "it was forgotten");
        }
    }

    #[test]
    fn an_empty_control_group_that_is_remembered_without_a_process_is_removed() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let group = dir.path().join("group");
        let written = serde_json::to_value(ProcessRecord::new(1)).expect("it has a JSON form");
        let mut fields = written.as_object().cloned().expect("it has fields");
        fields.insert("control_group".to_owned(), group.to_str().into());
        let record: ProcessRecord = serde_json::from_value(fields.into()).expect("it is a record");
        record.write(dir.path()).expect("the record is written");
        std::fs::create_dir(&group).expect("a folder");
        assert_eq!(end_abandoned(dir.path(), GRACE).expect("nothing is in the way"), AbandonedOutcome::Ended);
        assert!(!group.exists());
    }

    #[test]
    fn tokens_are_never_the_same() {
        assert_ne!(ProcessRecord::new(1).token, ProcessRecord::new(1).token);
    }
}

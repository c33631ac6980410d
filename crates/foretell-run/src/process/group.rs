//! Process groups: who is in one, signaling it, and telling a process from a later one with the same id.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// The identity of a process, distinct from every other process with the same id on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The process id.
    pub pid: u32,
    /// When it started, in clock ticks since the machine did (Linux, `/proc/PID/stat`, field 22); `None` where it is unknown.
    pub start: Option<u64>,
}

impl ProcessIdentity {
    /// The process that now has the id `pid`.
    pub fn with_pid(pid: u32) -> Self {
        Self { pid, start: read_stat(pid).map(|stat| stat.start) }
    }

    /// This process.
    pub fn current() -> Self {
        Self::with_pid(std::process::id())
    }

    /// Whether it runs: neither gone, nor ended and waiting to be reaped, nor replaced by another under its id.
    pub fn is_alive(self) -> bool {
        match self.start {
            Some(start) => read_stat(self.pid).is_some_and(|stat| stat.start == start && stat.is_running()),
            None => kill(to_pid(self.pid), None) != Err(Errno::ESRCH),
        }
    }
}

/// The contents of `/proc/PID/stat` of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    state: char,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) start: u64,
}

impl ProcessStat {
    /// Whether the process is more than an exit status waiting to be reaped.
    pub(crate) fn is_running(self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// The environment variable that disables the features of Linux, to test the back end of other systems.
pub const PORTABLE_VARIABLE: &str = "FORETELL_PORTABLE";

/// Whether only what every Unix system has is used: process groups, signals and `waitpid`. What leaves a trial's group is not found
/// then, and after a crash it cannot be told whether a process that is left is still the trial's.
pub(crate) fn is_portable() -> bool {
    static IS_PORTABLE: LazyLock<bool> =
        LazyLock::new(|| cfg!(not(target_os = "linux")) || std::env::var_os(PORTABLE_VARIABLE).is_some());
    *IS_PORTABLE
}

/// The system's record of process `pid`; `None` when there is no such process, or no `/proc`.
pub(crate) fn read_stat(pid: u32) -> Option<ProcessStat> {
    if is_portable() {
        return None;
    }
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Fields 3 (state), 4 (parent), 5 (process group) and 22 (start time); the name, field 2, may hold blanks and brackets.
fn parse_stat(text: &str) -> Option<ProcessStat> {
    let (_, after_name) = text.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    Some(ProcessStat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
    })
}

/// All processes and the system's records of them, ended ones that wait to be reaped included; none where there is no `/proc`.
fn all_processes() -> impl Iterator<Item = (u32, ProcessStat)> {
    let entries = (!is_portable()).then(|| fs::read_dir(Path::new("/proc")));
    let entries = entries.into_iter().flatten().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, read_stat(pid)?)))
}

/// All running processes and what the system says of them; none where there is no `/proc`.
pub(crate) fn running_processes() -> impl Iterator<Item = (u32, ProcessStat)> {
    all_processes().filter(|(_, stat)| stat.is_running())
}

/// All processes at one moment.
#[derive(Debug)]
pub(crate) struct ProcessCensus(Vec<(u32, ProcessStat)>);

impl ProcessCensus {
    pub(crate) fn take() -> Self {
        Self(all_processes().collect())
    }

    /// Whether any process runs in group `leader`.
    pub(crate) fn is_group_running(&self, leader: u32) -> bool {
        if is_portable() {
            return killpg(to_pid(leader), None) != Err(Errno::ESRCH);
        }
        self.0.iter().any(|(_, stat)| stat.group == leader && stat.is_running())
    }

    /// The running children of this process but `leader`, which lead or left other groups: orphans that this process has
    /// adopted, among others.
    pub(crate) fn children_except(&self, leader: u32) -> impl Iterator<Item = u32> {
        let own = std::process::id();
        let children = self
            .0
            .iter()
            .filter(move |(pid, stat)| stat.parent == own && *pid != leader && stat.is_running());
        children.map(|(pid, _)| *pid)
    }

    /// `pid` and all that descends from it.
    pub(crate) fn process_tree(&self, pid: u32) -> Vec<u32> {
        let mut tree = vec![pid];
        let mut next = 0;
        while let Some(&parent) = tree.get(next) {
            let children = self.0.iter().filter(|(_, stat)| stat.parent == parent && stat.is_running());
            tree.extend(children.map(|(child, _)| *child));
            next += 1;
        }
        tree
    }

    /// The ended children of this process, but `leader`, in the group `leader`: adopted orphans that nobody else reaps.
    pub(crate) fn ended_orphans(&self, leader: u32) -> impl Iterator<Item = u32> {
        let own = std::process::id();
        let orphans = self.0.iter().filter(move |(pid, stat)| {
            stat.parent == own && stat.group == leader && *pid != leader && !stat.is_running()
        });
        orphans.map(|(pid, _)| *pid)
    }
}

/// Takes the exit status of an ended child that nobody else waits for.
pub(crate) fn reap_child(pid: u32) {
    let _ = waitpid(to_pid(pid), Some(WaitPidFlag::WNOHANG));
}

/// Sends `signal` to all of group `leader`; one that is gone needs none.
pub(crate) fn signal_group(leader: u32, signal: Signal) {
    // The only other refusal, EPERM, means that all of the group belongs to other users: nothing is ours to signal.
    let _ = killpg(to_pid(leader), signal);
}

/// Sends `signal` to one process; one that is gone needs none.
pub(crate) fn signal_process(pid: u32, signal: Signal) {
    let _ = kill(to_pid(pid), signal);
}

/// The id in the system's type; process ids fit it on every system.
fn to_pid(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::{ProcessIdentity, parse_stat, read_stat};

    #[test]
    fn reads_the_fields_behind_any_name() {
        let rest = "S 10 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 424242 1000 10";
        for name in ["sh", "a b", "odd) R 1 2 (name", ""] {
            let found = parse_stat(&format!("12 ({name}) {rest}")).expect("a good line");
            assert_eq!(
                (found.parent, found.group, found.start, found.is_running()),
                (10, 77, 424_242, true),
                "{name:?}"
            );
        }
        assert!(
            !parse_stat(&format!("12 (sh) {}", rest.replacen('S', "Z", 1)))
                .expect("a good line")
                .is_running()
        );
        assert_eq!(parse_stat("12 (sh) S 10"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_alive_and_one_that_had_its_id_before_is_not() {
        let here = ProcessIdentity::current();
        assert!(here.is_alive());
        assert!(read_stat(here.pid).is_some_and(|stat| stat.is_running()));
        let before = ProcessIdentity { start: here.start.map(|start| start - 1), ..here };
        assert!(!before.is_alive());
    }
}

//! A child that ends when the process that started it is gone, however that ended.

use std::process::exit;
use std::thread;
use std::time::Duration;

use crate::process::group::ProcessIdentity;
use crate::supervised::spawn_supervised;

/// The environment variable that names the process which started a trial.
pub(crate) const PARENT_VARIABLE: &str = "FORETELL_PARENT";
/// The time between two looks for the parent.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The exit status of a child whose parent is gone: that of a shell for SIGTERM, 128 + 15.
const ORPHANED_EXIT_STATUS: i32 = 143;

/// Shows that the parent is being watched. Watching lasts as long as the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParentGuard {
    /// The parent.
    pub parent: ProcessIdentity,
}

/// Watches the process that started this one as a trial, and ends this one with status 143 within about 200 ms of the
/// other's end, even by SIGKILL.
///
/// `foretell train` calls this first. A process that no [`crate::LocalProcesses`] started is not watched: the answer is
/// `None`, also when the thread that watches cannot be started.
///
/// Other programs get two weaker promises: their output pipes break, so that the next print ends most of them
/// (SIGPIPE; in Python a `BrokenPipeError`), and [`crate::end_abandoned`] ends them when the study is opened again.
pub fn watch_parent() -> Option<ParentGuard> {
    let parent = parse(&std::env::var(PARENT_VARIABLE).ok()?)?;
    // without it, the end of the search is noticed by the next print
    spawn_supervised("parent-guard", move || exit_after_parent(parent), |_| ()).ok()?;
    Some(ParentGuard { parent })
}

fn exit_after_parent(parent: ProcessIdentity) {
    while parent.is_alive() {
        thread::sleep(POLL_INTERVAL);
    }
    exit(ORPHANED_EXIT_STATUS);
}

/// The name of a process in [`VARIABLE`]: `PID:START`, or `PID` where the start is not known.
pub(crate) fn name(parent: ProcessIdentity) -> String {
    match parent.start {
        Some(start) => format!("{}:{start}", parent.pid),
        None => parent.pid.to_string(),
    }
}

/// The process that [`name`] named.
pub(crate) fn parse(name: &str) -> Option<ProcessIdentity> {
    match name.split_once(':') {
        Some((pid, start)) => {
            Some(ProcessIdentity { pid: pid.parse().ok()?, start: Some(start.parse().ok()?) })
        }
        None => Some(ProcessIdentity { pid: name.parse().ok()?, start: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcessIdentity, name, parse};

    #[test]
    fn a_parent_is_named_so_that_the_child_finds_it() {
        for start in [None, Some(77)] {
            let parent = ProcessIdentity { pid: 12, start };
            assert_eq!(parse(&name(parent)), Some(parent));
        }
        assert_eq!([parse(""), parse("a:b"), parse("12:")], [None; 3]);
    }
}

//! Processes that left their trial's process group and have no name in their environment (`env -i setsid`, for example): orphans that
//! this process has adopted.

use std::collections::BTreeSet;
use std::io;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::process::abandoned::token_of;
use crate::process::control_group::children_of;
use crate::process::group::{ProcessIdentity, is_portable, read_stat, reap_child};

/// Whether what leaves a trial is ended with it.
static ADOPTS_STRAYS: AtomicBool = AtomicBool::new(false);
/// Whether every child of this process is a trial's, but for its helpers.
static OWNS_ALL_CHILDREN: AtomicBool = AtomicBool::new(false);
/// Children of this process that are no trial's.
static HELPER_PIDS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// From now on strays are ended with their trial; `all`: whether every child of this process, except its helpers, is a trial's.
pub(crate) fn adopt(all: bool) {
    ADOPTS_STRAYS.store(true, Ordering::SeqCst);
    OWNS_ALL_CHILDREN.fetch_or(all, Ordering::SeqCst);
}

/// Whether what leaves a trial is ended with it.
pub(crate) fn is_adopting() -> bool {
    ADOPTS_STRAYS.load(Ordering::SeqCst)
}

/// The child `pid` is no trial's.
pub(crate) fn is_helper(pid: u32) {
    HELPER_PIDS.lock().unwrap_or_else(PoisonError::into_inner).insert(pid);
}

/// Starts `command` as a helper, and what `with` makes of it, which waits for its end.
pub(crate) fn run_helper<T>(
    command: &mut Command,
    with: impl FnOnce(&mut Child) -> io::Result<T>,
) -> io::Result<T> {
    let mut child = {
        // nobody looks for strays before it is known
        let mut helpers = HELPER_PIDS.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        helpers.insert(child.id());
        child
    };
    let made = with(&mut child);
    HELPER_PIDS.lock().unwrap_or_else(PoisonError::into_inner).remove(&child.id());
    made
}

/// The children of this process that bear no trial's name and are none of its `leaders`; those that have ended are reaped. None
/// where this process may have other children.
pub(crate) fn nameless(leaders: &BTreeSet<u32>) -> Vec<ProcessIdentity> {
    if is_portable() || !OWNS_ALL_CHILDREN.load(Ordering::SeqCst) {
        return Vec::new();
    }
    let helpers = HELPER_PIDS.lock().unwrap_or_else(PoisonError::into_inner);
    let others = children_of(std::process::id()).into_iter();
    let others = others.filter(|pid| !leaders.contains(pid) && !helpers.contains(pid));
    let nameless = others.filter_map(|pid| {
        let stat = read_stat(pid)?;
        if !stat.is_running() {
            reap_child(pid);
            return None;
        }
        token_of(pid).is_none().then_some(ProcessIdentity { pid, start: Some(stat.start) })
    });
    nameless.collect()
}

//! A process next to the search that outlives it, and ends its trials if the search is killed.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::process::abandoned::end_trials_of;
use crate::process::group::{ProcessIdentity, is_portable};
use crate::process::parent::{name, parse};
use crate::process::strays::{adopt, is_helper};
use crate::supervised::{may_panic, spawn_supervised};

/// The time between two checks of the guardian.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// From now on processes whose parent has ended become children of this one (a *subreaper*), so that what a trial left
/// behind in groups of its own (for example by `setsid`) is found when the trial ends, and ended. A program calls this once, before
/// its first trial. Answers whether the system can do that (Linux).
///
/// `has_other_children` says whether this program, or what it is a part of, starts other processes, too. If not, an orphan
/// without a name belongs to the trials that ran when it began, and is ended with the last of them.
pub fn adopt_orphans(has_other_children: bool) -> bool {
    adopt(!has_other_children);
    if is_portable() {
        return false;
    }
    #[cfg(target_os = "linux")]
    return nix::sys::prctl::set_child_subreaper(true).is_ok();
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// A process that waits for this one to end, however it ends, and then ends the trials that it has left running: children
/// of a search that is killed by SIGKILL die with it.
///
/// It notices by a pipe that this process alone holds open. Should it be killed itself, it is started again. Dropping it ends it; call
/// that once no trial runs any more.
#[derive(Debug)]
pub struct Guardian {
    /// `None` only while it is dropped.
    stays: Option<Sender<()>>,
    thread: Option<JoinHandle<Option<()>>>,
}

impl Guardian {
    /// Starts the guardian of the study in `directory`: `program`, which calls [`run_guardian`] with the two words that follow
    /// those of `program` on its command line. `say` hears that it had to be started again.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(
        program: &[OsString],
        directory: &Path,
        say: impl Fn(&str) + Clone + Send + 'static,
    ) -> io::Result<Self> {
        let say_death = say.clone();
        let (program, directory) = (program.to_vec(), directory.to_owned());
        // a process instead of PR_SET_PDEATHSIG, which needs unsafe code and reaches only the first process of a trial
        // (decision 37)
        let mut child = spawn_guardian(&program, &directory)?;
        let (stays, leaves) = channel::<()>();
        let thread = spawn_supervised(
            "guardian",
            move || {
                while leaves.recv_timeout(CHECK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    may_panic("guardian");
                    if matches!(child.try_wait(), Ok(None)) {
                        continue;
                    }
                    // one that cannot be started now is tried again
                    if let Ok(again) = spawn_guardian(&program, &directory) {
                        child = again;
                        say(
                            "the process that ends the trials of a killed search has ended, and is started again",
                        );
                    }
                }
                drop(child.stdin.take());
                let _ = child.wait();
            },
            // the guardian process survives its watcher, and ends when this program ends
            move |why| {
                say_death(&format!(
                    "the process that ends the trials of a killed search is not watched any more, because of a bug: {why}"
                ));
            },
        )?;
        Ok(Self { stays: Some(stays), thread: Some(thread) })
    }
}

fn spawn_guardian(program: &[OsString], directory: &Path) -> io::Result<Child> {
    let (program, rest) = program.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(rest).arg(name(ProcessIdentity::current())).arg(directory);
    // a group of its own: Ctrl-C is for the search
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn()?;
    // otherwise it would be taken for a process that left its trial, and ended with it
    is_helper(child.id());
    Ok(child)
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.stays = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The guardian's program: waits for the process called `parent` to end, and ends the trials in `directory` that it
/// has left running, those that do not end within `grace` by SIGKILL.
pub fn run_guardian(parent: &str, directory: &Path, grace: Duration) {
    let mut rest = Vec::new();
    let _ = io::stdin().lock().read_to_end(&mut rest);
    if let Some(parent) = parse(parent) {
        end_trials_of(parent, directory, grace);
    }
}

//! Processes that a killed Foretell left running: found again by what a trial's folder remembers of them, and ended.

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

use crate::atomic_write::write_atomically;
use crate::group::{ProcessIdentity, processes, signal_process, stat};

/// The environment variable that names one start of one trial, inherited by all that it starts.
pub(crate) const TOKEN: &str = "FORETELL_TOKEN";
/// How long killed processes may take to vanish before that is an error.
const VANISH: Duration = Duration::from_secs(10);
/// How often they are looked for.
const POLL: Duration = Duration::from_millis(20);

/// What became of the processes that a trial's folder remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abandoned {
    /// It remembers none: the trial never ran, or Foretell saw it end.
    None,
    /// It remembers some, but they had ended already.
    Ended,
    /// They were running, and are gone now.
    Killed {
        /// How many there were.
        processes: usize,
    },
}

/// why abandoned processes were not ended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AbandonedError {
    /// The record cannot be read or removed.
    #[error("cannot {what} {path}: {source}; remove it once no process of this trial runs any more", path = path.display())]
    Record {
        /// `read`, `remove`.
        what: &'static str,
        /// The record.
        path: PathBuf,
        /// What the operating system or the decoder said.
        source: io::Error,
    },
    /// This system does not tell whether the process under the remembered id is still the trial's.
    #[error(
        "process {pid} may be left over from a trial that was cut off, but this system does not tell: end it by hand \
         if it is, then remove {path}",
        path = path.display()
    )]
    Unverifiable {
        /// The remembered id.
        pid: u32,
        /// The record.
        path: PathBuf,
    },
    /// They do not even end when killed: they hang inside the operating system.
    #[error("{count} processes of the trial in {path} are killed, but still there: see what device they wait for", path = path.display())]
    Unkillable {
        /// How many.
        count: usize,
        /// The trial's folder.
        path: PathBuf,
    },
}

/// What a trial's folder remembers of its process while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessRecord {
    /// The value of [`TOKEN`] in its environment.
    pub(crate) token: String,
    /// The search that started it; earlier versions did not say.
    #[serde(default)]
    driver: Option<ProcessIdentity>,
    /// Which run of the machine it belongs to: ids and start times mean nothing after the next boot.
    boot: Option<String>,
    /// The leader of its process group; `None` from just before the start to just after.
    pub(crate) leader: Option<ProcessIdentity>,
}

impl ProcessRecord {
    /// A record for a trial about to start, with a token that no other start has.
    pub(crate) fn new(trial: u64) -> Self {
        static STARTS: AtomicU64 = AtomicU64::new(0);
        let start = STARTS.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let token = format!("{trial}-{}-{start}-{now}", std::process::id());
        Self { token, driver: Some(ProcessIdentity::current()), boot: boot(), leader: None }
    }

    /// Writes the record into the trial's folder.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        write_atomically(&record_path(directory), serde_json::to_string(self)?.as_bytes())
    }

    fn read(path: &Path) -> io::Result<Option<Self>> {
        match fs::read(path) {
            // what a loss of power left empty is of an earlier run of the machine
            Ok(text) if text.is_empty() => Ok(None),
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The processes of this start that still run.
    fn running(&self) -> Vec<u32> {
        let mut running: BTreeSet<u32> = self.token_bearers().collect();
        let Some(leader) = self.leader else { return running.into_iter().collect() };
        let members = || processes().filter(|(_, stat)| stat.group == leader.pid).map(|(pid, _)| pid);
        // A group outlives its leader; its id is ours as long as one of its members descends from our start.
        if leader.is_alive() || members().any(|pid| running.contains(&pid)) {
            running.extend(members());
        }
        running.into_iter().collect()
    }

    fn token_bearers(&self) -> impl Iterator<Item = u32> {
        processes().map(|(pid, _)| pid).filter(|&pid| bears(pid, &self.token))
    }

    fn signal(&self, running: &[u32], signal: Signal) {
        running.iter().for_each(|&pid| signal_process(pid, signal));
    }
}

/// Ends what still runs of the trial in `directory`, after the Foretell that started it was killed.
///
/// SIGTERM to its process group, up to `grace` of waiting, SIGKILL; returns when all of it is gone. A process that
/// merely has the remembered id by now is never touched: the start time, the machine's boot, or for a group without
/// its leader the inherited `FORETELL_TOKEN` must agree. So what another machine started is not looked for.
/// Processes that left the group (by `setsid`, say) are found by the token.
///
/// Call it for each trial once the study's log is opened, that is, locked: a running Foretell's trials are not abandoned.
///
/// # Errors
/// [`AbandonedError::Record`], [`AbandonedError::Unverifiable`] (only on systems without `/proc`),
/// [`AbandonedError::Unkillable`] after 10 s.
pub fn end_abandoned(directory: &Path, grace: Duration) -> Result<Abandoned, AbandonedError> {
    let path = record_path(directory);
    let failed = |what| {
        let path = path.clone();
        move |source| AbandonedError::Record { what, path, source }
    };
    let Some(record) = ProcessRecord::read(&path).map_err(failed("read"))? else {
        return Ok(Abandoned::None);
    };
    let outcome = if record.boot == boot() { end(&record, directory, grace)? } else { Abandoned::Ended };
    match fs::remove_file(&path) {
        // somebody else has seen to it meanwhile
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(outcome),
        removed => removed.map(|()| outcome).map_err(failed("remove")),
    }
}

/// Ends what `driver` has left running of the trials in `directory`, a study's folder, after it was killed; what another
/// search started since then is left alone.
pub(crate) fn end_all_of(driver: ProcessIdentity, directory: &Path, grace: Duration) {
    let trials = fs::read_dir(directory.join("trials")).into_iter().flatten().flatten();
    for trial in trials.map(|entry| entry.path()) {
        let record = ProcessRecord::read(&record_path(&trial)).ok().flatten();
        if let Some(record) = record.filter(|record| record.driver == Some(driver)) {
            // nobody is left to be told of an error; the study's next start tries again, and removes the record, which
            // by then may be that of another start
            let _ = end(&record, &trial, grace);
        }
    }
}

fn end(record: &ProcessRecord, directory: &Path, grace: Duration) -> Result<Abandoned, AbandonedError> {
    if let Some(pid) =
        record.leader.filter(|leader| leader.start.is_none() && leader.is_alive()).map(|it| it.pid)
    {
        return Err(AbandonedError::Unverifiable { pid, path: record_path(directory) });
    }
    let first = record.running().len();
    if first == 0 {
        return Ok(Abandoned::Ended);
    }
    let mut left = signal_until_gone(record, Signal::SIGTERM, grace);
    if left > 0 {
        left = signal_until_gone(record, Signal::SIGKILL, VANISH);
    }
    match left {
        0 => Ok(Abandoned::Killed { processes: first }),
        count => Err(AbandonedError::Unkillable { count, path: directory.to_owned() }),
    }
}

/// Signals what runs and waits up to `patience` for it to be gone; answers how many are left.
///
/// SIGKILL is sent again and again: a process that was forking just then may have got away.
fn signal_until_gone(record: &ProcessRecord, signal: Signal, patience: Duration) -> usize {
    let until = Instant::now() + patience;
    let mut sent = false;
    loop {
        let running = record.running();
        if running.is_empty() || (sent && Instant::now() >= until) {
            return running.len();
        }
        if !sent || signal == Signal::SIGKILL {
            record.signal(&running, signal);
            sent = true;
        }
        thread::sleep(POLL);
    }
}

/// Forgets the trial's processes, once they are gone.
pub(crate) fn forget(directory: &Path) {
    // Should it stay, end_abandoned finds out that they have ended.
    let _ = fs::remove_file(record_path(directory));
}

fn record_path(directory: &Path) -> PathBuf {
    directory.join("process.json")
}

fn boot() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

/// Whether `token` is in the environment of process `pid`.
pub(crate) fn bears(pid: u32, token: &str) -> bool {
    let entry = format!("{TOKEN}={token}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|&byte| byte == 0).any(|variable| variable == entry.as_bytes()) && stat(pid).is_some()
}

#[cfg(test)]
mod tests {
    use super::{Abandoned, ProcessRecord, end_abandoned};
    use crate::group::ProcessIdentity;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};
    use std::time::Duration;

    const GRACE: Duration = Duration::from_millis(300);

    fn sleeper(token: Option<&str>) -> Child {
        let mut command = Command::new("sleep");
        command.arg("600").process_group(0);
        if let Some(token) = token {
            command.env(super::TOKEN, token);
        }
        command.spawn().expect("sleep starts")
    }

    /// Leaves a record that says `leader` runs, opens as after a crash, and says whether `child` outlived that.
    fn outlives(record: &ProcessRecord, mut child: Child) -> (bool, Abandoned) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        record.write(dir.path()).expect("the record is written");
        let outcome = end_abandoned(dir.path(), GRACE).expect("nothing is in the way");
        let alive = child.try_wait().expect("our child").is_none();
        assert_eq!(
            end_abandoned(dir.path(), GRACE).expect("nothing is in the way"),
            Abandoned::None,
            "it was forgotten"
        );
        child.kill().expect("our child");
        child.wait().expect("our child");
        (alive, outcome)
    }

    #[test]
    fn a_remembered_process_is_ended() {
        let child = sleeper(None);
        let record = ProcessRecord { leader: Some(ProcessIdentity::of(child.id())), ..ProcessRecord::new(1) };
        assert_eq!(outlives(&record, child), (false, Abandoned::Killed { processes: 1 }));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_stranger_under_a_recycled_id_is_not_touched() {
        let child = sleeper(None);
        let now = ProcessIdentity::of(child.id());
        let before = ProcessIdentity { start: now.start.map(|start| start - 1), ..now };
        let record = ProcessRecord { leader: Some(before), ..ProcessRecord::new(1) };
        assert_eq!(outlives(&record, child), (true, Abandoned::Ended));
    }

    #[test]
    fn a_process_of_another_boot_is_not_touched() {
        let child = sleeper(None);
        let leader = Some(ProcessIdentity::of(child.id()));
        let record = ProcessRecord { leader, boot: Some("another".to_owned()), ..ProcessRecord::new(1) };
        assert_eq!(outlives(&record, child), (true, Abandoned::Ended));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_started_just_before_the_crash_is_found_by_its_token() {
        let record = ProcessRecord::new(1);
        let child = sleeper(Some(&record.token));
        // the system shows an environment a moment after the program has begun
        let until = std::time::Instant::now() + super::VANISH;
        while !super::bears(child.id(), &record.token) && std::time::Instant::now() < until {
            std::thread::sleep(super::POLL);
        }
        assert_eq!(outlives(&record, child), (false, Abandoned::Killed { processes: 1 }));
        let other = sleeper(Some("another-token"));
        assert_eq!(outlives(&ProcessRecord::new(1), other), (true, Abandoned::Ended));
    }

    #[test]
    fn tokens_are_never_the_same() {
        assert_ne!(ProcessRecord::new(1).token, ProcessRecord::new(1).token);
    }
}

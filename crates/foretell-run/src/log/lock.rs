//! One writer a log: an exclusive lock on the log itself, which dies with the process that holds it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use thiserror::Error;

use super::file::with_suffix;
use crate::log::no_links;

/// The number of waits for a lock whose holder is dead, and the time of each: two seconds in all.
const MAX_WAITS: u32 = 200;
const WAIT_TIME: Duration = Duration::from_millis(10);

/// The reason why the lock was not acquired.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another process, or another part of this one, holds it.
    #[error("{path} is held by {holder}: another foretell is writing this study. Wait for it, or end it", path = path.display())]
    Held {
        /// The log.
        path: PathBuf,
        /// `process N`, or `an unknown process`.
        holder: String,
    },
    /// The log cannot be locked, or the note next to it not be opened.
    #[error("cannot lock {path}: {source}. The folder must be writable, and its file system must support locks", path = path.display())]
    Unavailable {
        /// The log.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// An exclusive lock, held until it is dropped or the process ends, however it ends.
///
/// The lock is the operating system's advisory lock on the opened log (`flock`). `LOG.lock` next to it only names the holder:
/// without it, or with a stale one, the lock is the same. It is locked, too, because earlier versions look at nothing else.
/// Child processes do not inherit the lock. If the parent is killed while starting a child, the child holds it for the moment
/// until it executes its program, which [`LogLock::acquire`] waits for.
#[derive(Debug)]
pub(crate) struct LogLock {
    _log: File,
    _note: File,
}

impl LogLock {
    /// Locks `log`, the opened file at `path`, and writes this process's id next to it for others to name. Waits a little if
    /// the process that signed is dead.
    pub(crate) fn acquire(log: &File, path: &Path) -> Result<Self, LockError> {
        let mut waits = 0..MAX_WAITS;
        loop {
            match try_acquire(log, path) {
                Ok(lock) => return Ok(lock),
                Err(TryLockError::Error(source)) => {
                    return Err(LockError::Unavailable { path: path.to_owned(), source });
                }
                Err(TryLockError::WouldBlock) => {
                    let holder = read_holder(path);
                    if !holder.is_some_and(is_dead) || waits.next().is_none() {
                        let holder = holder.map(|pid| format!("process {pid}"));
                        let holder = holder.unwrap_or_else(|| "an unknown process".to_owned());
                        return Err(LockError::Held { path: path.to_owned(), holder });
                    }
                    std::thread::sleep(WAIT_TIME);
                }
            }
        }
    }
}

fn try_acquire(log: &File, path: &Path) -> Result<LogLock, TryLockError> {
    let log = log.try_clone().map_err(TryLockError::Error)?;
    log.try_lock()?;
    let mut options = OpenOptions::new();
    let note = no_links::open(options.read(true).write(true).create(true).truncate(false), &note_path(path));
    let locked = note.map_err(TryLockError::Error).and_then(|mut note| {
        note.try_lock()?;
        // The name is a courtesy: a full disk must not keep the log from being opened.
        let _ = write_holder(&mut note);
        Ok(note)
    });
    match locked {
        Ok(note) => Ok(LogLock { _log: log, _note: note }),
        Err(error) => {
            let _ = log.unlock(); // the caller's file shares the lock
            Err(error)
        }
    }
}

/// The file that names who holds the log at `path`.
fn note_path(path: &Path) -> PathBuf {
    with_suffix(path, ".lock")
}

fn write_holder(file: &mut File) -> io::Result<()> {
    let mut there = String::new();
    file.take(32).read_to_string(&mut there)?;
    if there.trim() == std::process::id().to_string() {
        return Ok(());
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// The process that signed for the log at `path`.
fn read_holder(path: &Path) -> Option<u32> {
    let mut text = String::new();
    crate::regular::open(&note_path(path)).and_then(|file| file.take(32).read_to_string(&mut text)).ok()?;
    text.trim().parse().ok()
}

fn is_dead(pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return false };
    kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::{LockError, LogLock, note_path};
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};

    /// A log, and what opens it.
    fn log() -> (tempfile::TempDir, PathBuf, impl Fn() -> File) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("events.jsonl");
        fs::write(&path, "").expect("a file is written");
        let there = path.clone();
        (folder, path, move || fs::OpenOptions::new().append(true).open(&there).expect("it is there"))
    }

    fn refusal(log: &File, path: &Path) -> String {
        LogLock::acquire(log, path).expect_err("it is held").to_string()
    }

    #[test]
    fn a_second_holder_is_refused_and_told_who_holds_it() {
        let (_folder, path, open) = log();
        let first = LogLock::acquire(&open(), &path).expect("nobody holds it");
        let said = refusal(&open(), &path);
        assert!(said.contains(&format!("process {}", std::process::id())), "{said}");
        drop(first);
        LogLock::acquire(&open(), &path).expect("it was let go");
    }

    #[test]
    fn removing_the_note_lets_no_second_holder_in() {
        let (_folder, path, open) = log();
        let first = LogLock::acquire(&open(), &path).expect("nobody holds it");
        fs::remove_file(note_path(&path)).expect("it is there");
        assert!(refusal(&open(), &path).contains("an unknown process"));
        drop(first);
        LogLock::acquire(&open(), &path).expect("it was let go");
    }

    #[test]
    fn who_is_refused_by_an_earlier_version_leaves_the_log_unlocked() {
        let (_folder, path, open) = log();
        let note = File::create(note_path(&path)).expect("a file is written");
        note.try_lock().expect("nobody holds it");
        let log = open();
        refusal(&log, &path);
        open().try_lock().expect("the log itself is free");
    }

    #[test]
    fn what_a_dead_process_left_locked_is_waited_for() {
        let (_folder, path, open) = log();
        let orphan = open();
        orphan.try_lock().expect("nobody holds it");
        let mut dead = std::process::Command::new("true").spawn().expect("a process");
        let pid = dead.id();
        dead.wait().expect("it ends");
        fs::write(note_path(&path), format!("{pid}\n")).expect("it is signed");
        #[allow(clippy::disallowed_methods, reason = "a test whose thread dies fails")]
        let release = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            drop(orphan);
        });
        LogLock::acquire(&open(), &path).expect("it was let go in time");
        release.join().expect("it ends");
    }

    #[test]
    fn a_stale_note_hinders_nobody() {
        let (_folder, path, open) = log();
        fs::write(note_path(&path), "1234567890\n").expect("a file is written");
        LogLock::acquire(&open(), &path).expect("the note is there, but nobody holds the lock");
    }

    #[test]
    fn a_note_that_is_a_link_is_refused_and_what_it_points_to_is_left_alone() {
        let (folder, path, open) = log();
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").expect("a file is written");
        std::os::unix::fs::symlink(&victim, note_path(&path)).expect("a link is made");
        let error = LogLock::acquire(&open(), &path).expect_err("it is a link");
        assert!(matches!(error, LockError::Unavailable { .. }), "{error}");
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert_eq!(fs::read_to_string(&victim).expect("it is there"), "precious");
    }
}

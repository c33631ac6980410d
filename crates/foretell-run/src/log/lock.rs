//! One writer a log: an exclusive lock on a file beside it, which dies with the process that holds it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use thiserror::Error;

/// How often, and how long each time, a lock is waited for whose holder is dead: two seconds in all.
const WAITS: u32 = 200;
const WAIT: Duration = Duration::from_millis(10);

/// Why the lock was not taken.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process, or another part of this one, holds it.
    #[error("{path} is held by {holder}: another foretell is writing this study; wait for it or end it", path = path.display())]
    Held {
        /// The lock file.
        path: PathBuf,
        /// `process N`, or `an unknown process`.
        holder: String,
    },
    /// The lock file cannot be opened, locked or written.
    #[error("cannot lock {path}: {source}; the folder must be writable and its file system must support locks", path = path.display())]
    Unavailable {
        /// The lock file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// An exclusive lock, held until it is dropped or the process ends, however it ends.
///
/// The lock is the operating system's advisory lock on the open file (`flock`), not the file's existence: a stale file
/// hinders nobody. Child processes do not inherit it; one that its parent was killed in the act of starting holds it for
/// the moment until it executes its program, which [`Lock::acquire`] waits for.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock `path`, and writes this process's id into it for others to name. Waits a little if the process
    /// that signed it is dead.
    pub(crate) fn acquire(path: PathBuf) -> Result<Self, LockError> {
        let mut waits = 0..WAITS;
        loop {
            match try_acquire(&path) {
                Ok(file) => return Ok(Self { _file: file }),
                Err(TryLockError::Error(source)) => return Err(LockError::Unavailable { path, source }),
                Err(TryLockError::WouldBlock) => {
                    let holder = holder(&path);
                    if !holder.is_some_and(is_dead) || waits.next().is_none() {
                        let holder = holder.map(|pid| format!("process {pid}"));
                        let holder = holder.unwrap_or_else(|| "an unknown process".to_owned());
                        return Err(LockError::Held { path, holder });
                    }
                    std::thread::sleep(WAIT);
                }
            }
        }
    }
}

fn try_acquire(path: &Path) -> Result<File, TryLockError> {
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let mut file = options.map_err(TryLockError::Error)?;
    file.try_lock()?;
    // The name is a courtesy: a full disk must not keep the log from being opened.
    let _ = sign(&mut file);
    Ok(file)
}

fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// Who signed the lock.
fn holder(path: &Path) -> Option<u32> {
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(32).read_to_string(&mut text)).ok()?;
    text.trim().parse().ok()
}

fn is_dead(pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return false };
    kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::{Lock, LockError};

    #[test]
    fn a_second_holder_is_refused_and_told_who_holds_it() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("log.lock");
        let first = Lock::acquire(path.clone()).expect("nobody holds it");
        let refusal = Lock::acquire(path.clone()).expect_err("it is held").to_string();
        assert!(refusal.contains(&format!("process {}", std::process::id())), "{refusal}");
        drop(first);
        Lock::acquire(path).expect("it was let go");
    }

    #[test]
    fn what_a_dead_process_left_locked_is_waited_for() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("log.lock");
        let orphan = std::fs::File::create(&path).expect("a file is written");
        orphan.try_lock().expect("nobody holds it");
        let mut dead = std::process::Command::new("true").spawn().expect("a process");
        let pid = dead.id();
        dead.wait().expect("it ends");
        std::fs::write(&path, format!("{pid}\n")).expect("it is signed");
        let release = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            drop(orphan);
        });
        Lock::acquire(path).expect("it was let go in time");
        release.join().expect("it ends");
    }

    #[test]
    fn a_stale_lock_file_hinders_nobody() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("log.lock");
        std::fs::write(&path, "1234567890\n").expect("a file is written");
        Lock::acquire(path).expect("the file is there, but nobody holds the lock");
    }

    #[test]
    fn a_missing_folder_is_not_taken_for_a_holder() {
        let path = std::path::PathBuf::from("no/such/folder/log.lock");
        assert!(matches!(Lock::acquire(path), Err(LockError::Unavailable { .. })));
    }
}

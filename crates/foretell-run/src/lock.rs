//! One writer a log: an exclusive lock on a file beside it, which dies with the process that holds it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

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
/// hinders nobody. Child processes do not inherit it.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock `path`, and writes this process's id into it for others to name.
    pub(crate) fn acquire(path: PathBuf) -> Result<Self, LockError> {
        match try_acquire(&path) {
            Ok(file) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(LockError::Held { holder: holder(&path), path }),
            Err(TryLockError::Error(source)) => Err(LockError::Unavailable { path, source }),
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

fn holder(path: &Path) -> String {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(32).read_to_string(&mut text));
    match read.ok().and_then(|_| text.trim().parse::<u32>().ok()) {
        Some(pid) => format!("process {pid}"),
        None => "an unknown process".to_owned(),
    }
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

//! Why a trial was not started.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::placeholder::PlaceholderError;

/// The reason why a trial was not started.
#[derive(Debug, Error)]
pub enum StartError {
    /// The command is empty.
    #[error("the command of trial {trial} is missing. Write one after `--`")]
    NoCommand {
        /// The trial's number.
        trial: u64,
    },
    /// A placeholder cannot be filled in.
    #[error(transparent)]
    Placeholder(#[from] PlaceholderError),
    /// A trial of this number runs already.
    #[error("trial {trial} is already running. Wait until it ends")]
    Running {
        /// The trial's number.
        trial: u64,
    },
    /// A folder or file of the trial cannot be made.
    #[error("cannot {what} {path}: {source}", path = path.display())]
    Folder {
        /// `make the folder`, `write`, …
        what: &'static str,
        /// The folder or file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The folder to run in is not there.
    #[error("cannot run in {path}: there is no such folder", path = path.display())]
    WorkingDir {
        /// The folder.
        path: PathBuf,
    },
    /// There is no such program.
    #[error(
        "cannot find the command `{program}` (or the interpreter in its first line). Check that it is installed and spelled correctly"
    )]
    NotFound {
        /// The program.
        program: String,
    },
    /// The program is a file without the permission to run.
    #[error(
        "`{program}` is not executable. Run `chmod +x {program}`, or name its interpreter, for example `python {program}`"
    )]
    NotExecutable {
        /// The program.
        program: String,
    },
    /// The program is there, but does not start.
    #[error("cannot start the command `{program}`: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The thread that watches all trials cannot be started, or has ended.
    #[error("cannot watch trial {trial}: {source}. End other programs, or start this one again")]
    Thread {
        /// The trial's number.
        trial: u64,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl StartError {
    pub(crate) fn folder(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Folder { what, path, source }
    }
}

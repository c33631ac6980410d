//! Why an event log was not opened, read or written.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::file::Displacement;
use super::line::LineProblem;
use super::lock::LockError;
use crate::command_line::quote_for_shell;

/// The reason why an event log could not be opened, read or written.
#[derive(Debug, Error)]
pub enum EventLogError {
    /// Another process writes this log.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The file cannot be opened, read or made.
    #[error("cannot {what} {path}: {source}", path = path.display())]
    File {
        /// `open`, `read`, …
        what: &'static str,
        /// The log.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line before the last is damaged, or a line comes from another program.
    #[error(
        "{path}, line {line}: {problem}. The file was not changed{}", remedy(problem, path, *good_records, *good_bytes),
        path = path.display()
    )]
    Line {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The problem with it.
        problem: LineProblem,
        /// The number of good records before it.
        good_records: usize,
        /// The number of bytes these take.
        good_bytes: u64,
    },
    /// No record of the log begins there.
    #[error(
        "no record of {path} starts at byte {bytes}. The position belongs to another log, or the log was truncated; read it from its start",
        path = path.display()
    )]
    Position {
        /// The log.
        path: PathBuf,
        /// Where a record should begin.
        bytes: u64,
    },
    /// The record has no JSON form (for example, a map whose keys are not strings).
    #[error("a record cannot be written as JSON: {source}. Nothing was written")]
    Encode {
        /// The error of the encoder.
        source: serde_json::Error,
    },
    /// The record's line was made, but gives another record: for example, a number is not finite, and JSON holds `null` in its place.
    #[error(
        "the record {written} would be read back as {read}, so it was not written. Please report this bug"
    )]
    ReadsOtherwise {
        /// The record.
        written: String,
        /// The data that is read back.
        read: String,
    },
    /// The record's line was made, but cannot be read back.
    #[error(
        "a record cannot be read back from its line, so it was not written: {problem}. Please report this bug"
    )]
    Unreadable {
        /// The problem with the line.
        problem: LineProblem,
    },
    /// The record was not written, and is not acknowledged; all those before it are safe.
    #[error(
        "{}: {source}. This record was not written, but the {acknowledged} acknowledged before it are kept. {}",
        full(path, source),
        advice(source)
    )]
    Write {
        /// The log.
        path: PathBuf,
        /// The number of records the log holds.
        acknowledged: u64,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The log's file is not where it was opened.
    #[error(
        "{path} {how} during the search, which ends here. {acknowledged} records were acknowledged before. {}",
        way_back(*how, path), path = path.display()
    )]
    Displaced {
        /// The log.
        path: PathBuf,
        /// The way it was displaced.
        how: Displacement,
        /// The number of records it held.
        acknowledged: u64,
    },
    /// The records are written, but may not survive a loss of power.
    #[error(
        "cannot flush {path} to its device: {source}. Its {acknowledged} records are written, but those since the last \
         successful sync may not survive a loss of power. Check the device",
        path = path.display()
    )]
    Sync {
        /// The log.
        path: PathBuf,
        /// The number of records the log holds.
        acknowledged: u64,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl EventLogError {
    /// Makes the error of a file operation that failed.
    pub(super) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }
}

/// The advice for a log that is not as its writer left it.
fn way_back(how: Displacement, path: &Path) -> String {
    match how {
        Displacement::Written => {
            let folder = folder_of(path);
            format!("End that program, check the log with `foretell study doctor {folder}`, and search again")
        }
        Displacement::Deleted | Displacement::Replaced | Displacement::Cut => {
            "Put the file back and search again, or start in another folder".to_owned()
        }
    }
}

/// The advice for a damaged line; a line of a newer program is not damaged and needs no repair.
fn remedy(problem: &LineProblem, path: &Path, good_records: usize, good_bytes: u64) -> String {
    if !problem.is_damage() {
        return String::new();
    }
    let folder = folder_of(path);
    format!(
        ", and the {good_records} records before this line (first {good_bytes} bytes) are intact. Restore it from a copy, or keep \
         the intact records with `foretell study doctor {folder} --repair`"
    )
}

fn full(path: &Path, source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::StorageFull => format!("the disk that holds {} is full", path.display()),
        io::ErrorKind::QuotaExceeded => format!("the disk quota for {} is used up", path.display()),
        _ => format!("cannot write {}", path.display()),
    }
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "Free some space and search again",
        _ => "Check the device and try again",
    }
}

/// The folder of a log, as a shell reads it.
fn folder_of(path: &Path) -> String {
    quote_for_shell(&[path.parent().unwrap_or(path).display().to_string()])
}

//! Reading an event log record by record, in the memory of one line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::EventLogError;
use super::line::{LineProblem, LineStamp, decode_line, diagnose_line, number_of_cut_line, read_line};

/// The number of bytes of the file read at a time.
const BUFFER_BYTES: usize = 256 * 1024;
/// The number of bytes of a torn last line kept to be shown.
const SHOWN_BYTES: usize = 64 * 1024;

/// A position between two records of a log. It stays valid while the log is only appended to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPosition {
    /// The number of records before it.
    pub records: u64,
    /// The number of bytes before it.
    pub bytes: u64,
}

impl LogPosition {
    /// Before the first record.
    pub const START: Self = Self { records: 0, bytes: 0 };
}

/// The torn end of a log, which opening dropped: the beginning of one line, without its newline, at the end of the file.
///
/// It is what a crash in the middle of a write leaves behind; such a record was never acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornLine {
    /// The line, from 1.
    pub line: usize,
    /// The length in bytes.
    pub bytes: u64,
    /// The first 64 KiB of its text, what was not UTF-8 replaced.
    pub text: String,
    /// The problem with it.
    pub problem: LineProblem,
}

/// An iterator over the records of a log, in writing order. It holds one line and a buffer of 256 KiB at a time.
///
/// It ends after the last whole record: a torn last line is no item, but is found in [`torn_line`](Self::torn_line)
/// afterwards. After an error it ends, too.
///
/// ```
/// use foretell_run::{EventLog, LogPosition, LogReader, OpenedLog};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("events.jsonl");
/// let OpenedLog { mut log, .. } = EventLog::<u64>::open(&path)?;
/// log.append_all(&[1, 2])?;
/// let after_two = log.end_position();
/// log.append(&3)?;
///
/// let sum: u64 = LogReader::<u64>::open(&path, LogPosition::START)?.sum::<Result<u64, _>>()?;
/// assert_eq!(sum, 6);
/// let later: Vec<u64> = log.read_from(after_two)?.collect::<Result<_, _>>()?;
/// assert_eq!(later, [3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LogReader<R, F = BufReader<io::Take<File>>> {
    path: PathBuf,
    file: F,
    line: Vec<u8>,
    position: LogPosition,
    stamp: Option<LineStamp>,
    dropped: Option<TornLine>,
    ended: bool,
    _record: PhantomData<fn() -> R>,
}

impl<R: DeserializeOwned> LogReader<R> {
    /// Reads the log at `path` from `position`, without lock or change: for looking at a study, also while it runs.
    ///
    /// # Errors
    /// [`EventLogError::File`]; [`EventLogError::Position`] when no record begins at `position`. The iterator's items
    /// have the errors of [`EventLog::open`](crate::EventLog::open), except for the lock.
    pub fn open(path: impl AsRef<Path>, position: LogPosition) -> Result<Self, EventLogError> {
        Self::open_until(path.as_ref(), position, u64::MAX)
    }

    /// Opens the log without what the file has beyond byte `end`.
    pub(super) fn open_until(path: &Path, position: LogPosition, end: u64) -> Result<Self, EventLogError> {
        let opened = super::check_regular_file(path).and_then(|()| File::open(path));
        let mut file = opened.map_err(EventLogError::file("open", path))?;
        if !begins_record(&mut file, position.bytes).map_err(EventLogError::file("read", path))? {
            return Err(EventLogError::Position { path: path.to_owned(), bytes: position.bytes });
        }
        let rest = file.take(end.saturating_sub(position.bytes));
        Ok(Self { position, ..Self::from_reader(path, BufReader::with_capacity(BUFFER_BYTES, rest)) })
    }
}

impl<R: DeserializeOwned, F: BufRead> LogReader<R, F> {
    /// Reads a log that is not in a file, but in memory, for example. Errors call it `name`.
    pub fn from_reader(name: impl Into<PathBuf>, log: F) -> Self {
        Self {
            path: name.into(),
            file: log,
            line: Vec::new(),
            position: LogPosition::START,
            stamp: None,
            dropped: None,
            ended: false,
            _record: PhantomData,
        }
    }

    /// The place after the last record that was handed over.
    pub fn position(&self) -> LogPosition {
        self.position
    }

    /// When the last record that was handed over was written, and by which run; `None` for lines of version 1.
    pub fn last_stamp(&self) -> Option<LineStamp> {
        self.stamp
    }

    /// The torn last line, once the iterator has ended; in a log that is being written it may be a record on its way.
    pub fn torn_line(&self) -> Option<&TornLine> {
        self.dropped.as_ref()
    }

    /// Takes the torn last line out.
    pub fn into_torn_line(self) -> Option<TornLine> {
        self.dropped
    }

    fn read_record(&mut self) -> Result<Option<R>, EventLogError> {
        let read = read_line(&mut self.file, &mut self.line);
        let (length, is_long) = read.map_err(EventLogError::file("read", &self.path))?;
        if length == 0 {
            return Ok(None);
        }
        let decoded = if is_long { Err(LineProblem::TooLong) } else { decode_line(&self.line) };
        match decoded.and_then(|(stamp, record)| self.check_place(stamp).map(|()| (stamp, record))) {
            Ok((stamp, record)) => {
                self.stamp = stamp;
                self.position.records += 1;
                self.position.bytes += self.line.len() as u64;
                Ok(Some(record))
            }
            Err(problem) => self.drop_or_refuse(problem, length).map(|()| None),
        }
    }

    /// Whether a line with this stamp is due after those that were read.
    fn check_place(&self, stamp: Option<LineStamp>) -> Result<(), LineProblem> {
        let due = self.position.records + 1;
        match stamp {
            None if self.stamp.is_some() => Err(LineProblem::Unnumbered),
            Some(LineStamp { number, .. }) if number != due => {
                Err(LineProblem::Sequence { found: number, due })
            }
            _ => Ok(()),
        }
    }

    /// `problem`, or the one of a line that is cut short and not due: records before it are missing.
    fn check_cut(&self, problem: LineProblem) -> LineProblem {
        let due = self.position.records + 1;
        match number_of_cut_line(&self.line) {
            Some(found) if problem == LineProblem::CutShort && found != due => {
                LineProblem::Sequence { found, due }
            }
            _ => problem,
        }
    }

    /// Drops a last line that was cut short; refuses any other line that cannot be read.
    fn drop_or_refuse(&mut self, problem: LineProblem, bytes: u64) -> Result<(), EventLogError> {
        let rest = self.file.fill_buf().map_err(EventLogError::file("read", &self.path))?;
        let is_last = rest.is_empty();
        let line = self.position.records as usize + 1;
        // before the line is dropped: it may hold acknowledged records, or come after missing ones, and that must not pass in
        // silence
        let problem = self.check_cut(diagnose_line(&self.line, problem));
        if is_last && problem == LineProblem::CutShort {
            let shown = &self.line[..self.line.len().min(SHOWN_BYTES)];
            let text = String::from_utf8_lossy(shown).into_owned();
            self.dropped = Some(TornLine { line, bytes, text, problem });
            return Ok(());
        }
        Err(EventLogError::Line {
            path: self.path.clone(),
            line,
            problem,
            good_records: self.position.records as usize,
            good_bytes: self.position.bytes,
        })
    }
}

impl<R: DeserializeOwned, F: BufRead> Iterator for LogReader<R, F> {
    type Item = Result<R, EventLogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.read_record().transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}

/// Moves to byte `at`; says whether a record can begin there: at the start, or after the end of a line.
fn begins_record(file: &mut File, at: u64) -> io::Result<bool> {
    if at == 0 {
        return Ok(true);
    }
    if at > file.metadata()?.len() {
        return Ok(false);
    }
    let mut end = [0];
    file.seek(SeekFrom::Start(at - 1))?;
    file.read_exact(&mut end)?;
    Ok(end == *b"\n")
}

/// Reads the records of the log at `path` without a lock or a change, even while the study runs.
///
/// The second half of the answer is a torn last line; in a log that is being written it may be a record on its way.
/// This holds all records in memory; [`LogReader`] does not.
///
/// # Errors
/// As [`EventLog::open`](crate::EventLog::open), except for the lock.
pub fn read_log<R: DeserializeOwned>(
    path: impl AsRef<Path>,
) -> Result<(Vec<R>, Option<TornLine>), EventLogError> {
    let mut reader = LogReader::open(path, LogPosition::START)?;
    let records = reader.by_ref().collect::<Result<_, _>>()?;
    Ok((records, reader.into_torn_line()))
}

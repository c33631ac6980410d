//! An append-only event log: JSON lines, one checksummed record a line.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

use crate::lock::{Lock, LockError};
use crate::log_file::{LogFile, write_all};
use crate::log_line::{LineProblem, decode, diagnose, encode};

/// Why an event log was not opened, read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
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
        /// What the operating system said.
        source: io::Error,
    },
    /// A line before the last is damaged, or a line comes from another program.
    #[error(
        "{path}, line {line}: {problem}; nothing was changed; restore the file from a copy, or keep only the \
         {good_records} records before this line by cutting a copy of it to its first {good_bytes} bytes",
        path = path.display()
    )]
    Line {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: LineProblem,
        /// How many good records stand before it.
        good_records: usize,
        /// How many bytes these take.
        good_bytes: u64,
    },
    /// The record has no JSON form (a map whose keys are not text, say).
    #[error("a record cannot be written as JSON: {source}; nothing was written")]
    Encode {
        /// What the encoder said.
        source: serde_json::Error,
    },
    /// The record was not written, and is not acknowledged; all those before it are safe.
    #[error(
        "{}: {source}; this record was not written, the {acknowledged} acknowledged before it are kept; {}",
        full(path, source),
        advice(source)
    )]
    Write {
        /// The log.
        path: PathBuf,
        /// How many records the log holds.
        acknowledged: u64,
        /// What the operating system said.
        source: io::Error,
    },
    /// The records are written, but may not survive a loss of power.
    #[error(
        "cannot flush {path} to its device: {source}; its {acknowledged} records are written, but those since the last \
         successful sync may not survive a loss of power; check the device",
        path = path.display()
    )]
    Sync {
        /// The log.
        path: PathBuf,
        /// How many records the log holds.
        acknowledged: u64,
        /// What the operating system said.
        source: io::Error,
    },
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
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some room and go on",
        _ => "check the device and try again",
    }
}

/// The torn end of a log, which opening dropped: the last line, when it was cut short or fails its checksum.
///
/// It is what a crash in the middle of a write leaves behind; such a record was never acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The line, from 1.
    pub line: usize,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its text, what was not UTF-8 replaced.
    pub text: String,
    /// What is wrong with it.
    pub problem: LineProblem,
}

/// An opened log, and what was in it.
#[derive(Debug)]
pub struct Opened<R> {
    /// The log, ready for the next record.
    pub log: EventLog<R>,
    /// The records in it, in the order of their writing.
    pub records: Vec<R>,
    /// The torn end that was cut off, if there was one.
    pub dropped: Option<Dropped>,
}

/// An append-only log of records, one JSON line each: `{"v":1,"crc":"9ae0daaf","record":…}`.
///
/// | what happens to the process or machine  | what the log holds afterwards                                  |
/// |------------------------------------------|----------------------------------------------------------------|
/// | killed (SIGKILL, out of memory, panic)   | every acknowledged record                                      |
/// | power lost                               | every record acknowledged before the last successful `sync`   |
/// | disk full, write error                   | every acknowledged record; writing goes on once there is room  |
/// | any one bit flipped                      | found on opening: a dropped last line, or an error             |
///
/// [`append`](Self::append) hands the whole line to the operating system in one write before it returns, so it costs
/// microseconds. [`sync`](Self::sync) waits for the device, milliseconds; call it where losing power may not lose what
/// came before, in a study at each trial's end and before the result is printed. A power loss in between costs the
/// unsynced reports of running trials, which have to run again in any case.
///
/// One process writes a log at a time: it holds a lock on `PATH.lock`, which dies with it. Readers need no lock:
/// [`read_log`].
pub struct EventLog<R> {
    path: PathBuf,
    file: Box<dyn LogFile>,
    length: u64,
    records: u64,
    torn: bool,
    _lock: Option<Lock>,
    _record: PhantomData<fn(&R)>,
}

impl<R> std::fmt::Debug for EventLog<R> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("EventLog")
            .field("path", &self.path)
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}

impl<R: Serialize + DeserializeOwned> EventLog<R> {
    /// Opens the log at `path` for writing and reads what it holds; makes it, and its folder, where there is none.
    ///
    /// A torn last line is cut off the file and reported in [`Opened::dropped`].
    ///
    /// # Errors
    /// [`EventLogError::Lock`] when another process writes it, [`EventLogError::Line`] when a line before the last is
    /// damaged or any line was written by a program that this one does not understand, [`EventLogError::File`] else.
    /// In each of these cases the log is left as it was.
    pub fn open(path: impl AsRef<Path>) -> Result<Opened<R>, EventLogError> {
        let path = path.as_ref();
        let (file, path) = open_file(path).map_err(failed("open", path))?;
        let lock = Lock::acquire(with_suffix(&path, ".lock"))?;
        let contents = read_contents(&path)?;
        let mut log = Self {
            path,
            file: Box::new(file),
            length: contents.good_bytes,
            records: contents.records.len() as u64,
            torn: contents.dropped.is_some(),
            _lock: Some(lock),
            _record: PhantomData,
        };
        log.mend().map_err(failed("cut the torn end off", &log.path))?;
        Ok(Opened { log, records: contents.records, dropped: contents.dropped })
    }

    /// Writes `record` at the end. Once this returns `Ok`, the record is *acknowledged*: it survives this process.
    ///
    /// # Errors
    /// [`EventLogError::Write`]: the record is not in the log, all before it are, and the log can be used further:
    /// append again once the cause is gone. [`EventLogError::Encode`]: the record has no JSON form.
    pub fn append(&mut self, record: &R) -> Result<(), EventLogError> {
        let line = encode(record).map_err(|source| EventLogError::Encode { source })?;
        self.write(&line).map_err(|source| EventLogError::Write {
            path: self.path.clone(),
            acknowledged: self.records,
            source,
        })?;
        self.length += line.len() as u64;
        self.records += 1;
        Ok(())
    }

    /// Forgets all records: for a study in which nothing has happened yet.
    ///
    /// # Errors
    /// [`EventLogError::File`]: the log is as it was.
    pub fn clear(&mut self) -> Result<(), EventLogError> {
        self.file.truncate(0).map_err(failed("empty", &self.path))?;
        (self.length, self.records, self.torn) = (0, 0, false);
        Ok(())
    }

    /// Returns once all acknowledged records would survive a loss of power.
    ///
    /// # Errors
    /// [`EventLogError::Sync`]: the device refused; the records are still acknowledged.
    pub fn sync(&mut self) -> Result<(), EventLogError> {
        self.file.sync().map_err(|source| EventLogError::Sync {
            path: self.path.clone(),
            acknowledged: self.records,
            source,
        })
    }

    /// How many records the log holds.
    pub fn len(&self) -> u64 {
        self.records
    }

    /// Whether the log holds no record.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The log's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.mend()?;
        let written = write_all(self.file.as_mut(), line);
        if written.is_err() {
            self.torn = true;
            // Should this fail as well, the next append tries again first, and opening would drop the torn line.
            let _ = self.mend();
        }
        written
    }

    /// Cuts what was not acknowledged off the end.
    fn mend(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.truncate(self.length)?;
            self.torn = false;
        }
        Ok(())
    }
}

/// The records of the log at `path`, without lock or change: for looking at a study, also while it runs.
///
/// The second half of the answer is a torn last line; in a log that is being written it may be a record on its way.
///
/// # Errors
/// As [`EventLog::open`], except for the lock.
pub fn read_log<R: DeserializeOwned>(
    path: impl AsRef<Path>,
) -> Result<(Vec<R>, Option<Dropped>), EventLogError> {
    read_contents(path.as_ref()).map(|contents| (contents.records, contents.dropped))
}

struct Contents<R> {
    records: Vec<R>,
    good_bytes: u64,
    dropped: Option<Dropped>,
}

fn read_contents<R: DeserializeOwned>(path: &Path) -> Result<Contents<R>, EventLogError> {
    let file = File::open(path).map_err(failed("open", path))?;
    let mut reader = BufReader::new(file);
    let mut contents = Contents { records: Vec::new(), good_bytes: 0, dropped: None };
    let mut line = Vec::new();
    while contents.dropped.is_none() && read_line(&mut reader, &mut line).map_err(failed("read", path))? {
        match decode(&line) {
            Ok(record) => {
                contents.records.push(record);
                contents.good_bytes += line.len() as u64;
            }
            Err(problem) => {
                let last = reader.fill_buf().map_err(failed("read", path))?.is_empty();
                contents.dropped = Some(drop_or_refuse(path, &contents, &line, problem, last)?);
            }
        }
    }
    Ok(contents)
}

fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    Ok(reader.read_until(b'\n', line)? > 0)
}

fn drop_or_refuse<R>(
    path: &Path,
    before: &Contents<R>,
    line: &[u8],
    problem: LineProblem,
    last: bool,
) -> Result<Dropped, EventLogError> {
    let number = before.records.len() + 1;
    let problem = diagnose(line, problem);
    if last && problem.is_damage() && problem != LineProblem::Joined {
        let text = String::from_utf8_lossy(line).into_owned();
        return Ok(Dropped { line: number, bytes: line.len() as u64, text, problem });
    }
    Err(EventLogError::Line {
        path: path.to_owned(),
        line: number,
        problem,
        good_records: before.records.len(),
        good_bytes: before.good_bytes,
    })
}

/// The log's file, opened for appending, and its path without links, so that one log has one lock.
fn open_file(path: &Path) -> io::Result<(File, PathBuf)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let is_new = !path.exists();
    let file = OpenOptions::new().append(true).create(true).open(path)?;
    if is_new {
        File::open(folder)?.sync_all()?; // the file's name, too, must survive a loss of power
    }
    Ok((file, fs::canonicalize(path)?))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EventLogError + use<> {
    let path = path.to_owned();
    move |source| EventLogError::File { what, path, source }
}

#[cfg(test)]
mod tests;

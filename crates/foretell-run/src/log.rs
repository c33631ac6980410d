//! An append-only event log: JSON lines, one checksummed record a line.

pub(crate) mod atomic_write;
mod checksum;
mod chunks;
mod error;
pub(crate) mod event_store;
mod file;
pub(crate) mod flusher;
mod line;
mod lock;
pub(crate) mod no_links;
pub(crate) mod notes;
mod reader;
mod recover;
pub(crate) mod room;
mod salvage;
pub(crate) mod stored;

pub use error::EventLogError;
pub use line::{LineProblem, LineStamp};
pub use lock::LockError;
pub(crate) use reader::TornLine;
pub use reader::{LogPosition, LogReader, read_log};
pub use salvage::{LineTreatment, LogRepair, LogSalvage};

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Serialize, de::DeserializeOwned};

use file::{LogFile, replacement_at, with_suffix, write_all};
use line::{decode_line, encode_into, read_line};
use lock::LogLock;

use atomic_write::write_atomically;

/// An opened log, with its content.
#[derive(Debug)]
pub struct OpenedLog<R> {
    /// The log, ready for the next record.
    pub log: EventLog<R>,
    /// The records in it, in the order of their writing.
    pub records: Vec<R>,
    /// The torn end that was cut off, if there was one.
    pub torn_line: Option<TornLine>,
}

/// An append-only log of records, one JSON line each: `{"v":2,"crc":"9ae0daaf","seq":17,"run":1,"time":1763908529123,"record":…}`.
///
/// | event of the process or machine         | contents of the log afterwards                                 |
/// |------------------------------------------|----------------------------------------------------------------|
/// | killed (SIGKILL, out of memory, panic)   | every acknowledged record                                      |
/// | power lost                               | every record acknowledged before the last successful `sync`   |
/// | disk full, write error                   | every acknowledged record; writing resumes once there is room  |
/// | any one bit flipped                      | found on opening: a dropped last line, or an error             |
/// | a line taken out, doubled or moved       | found on opening by its sequence number: an error              |
/// | the file deleted, replaced, cut, written | found before the next write: an error                          |
///
/// A line that could not be read back is never written: each line is decoded once before it is written, and
/// must give the same record. Nothing rewrites a line: parts that a reader does not know stay in it.
///
/// [`append`](Self::append) hands the whole line to the operating system in one write before it returns, so it costs
/// microseconds; [`append_all`](Self::append_all) does the same for several records at once. [`sync`](Self::sync) waits for the device, milliseconds; call it where losing power may not lose what
/// came before, in a study at each trial's end and before the result is printed. A power loss in between costs the
/// unsynced reports of running trials, which have to run again in any case.
///
/// One process writes a log at a time: it holds a lock on the file, which dies with it; `PATH.lock` only names it. Readers need
/// no lock: [`read_log`]. A symbolic link in the place of the file is refused.
pub struct EventLog<R> {
    path: PathBuf,
    file: Box<dyn LogFile>,
    end: LogPosition,
    /// The number of this opening, among those that wrote.
    run: u32,
    stamp: Option<LineStamp>,
    torn: bool,
    _lock: Option<LogLock>,
    _record: PhantomData<fn(&R)>,
}

impl<R> Debug for EventLog<R> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("EventLog").field("path", &self.path).field("end", &self.end).finish_non_exhaustive()
    }
}

impl<R: Debug + PartialEq + Serialize + DeserializeOwned> EventLog<R> {
    /// Opens the log at `path` for writing and reads its records into memory; makes it, and its folder, where there is
    /// none. [`open_each`](Self::open_each) does the same in bounded memory.
    ///
    /// A torn last line is cut off the file and reported in [`OpenedLog::torn_line`].
    ///
    /// # Errors
    /// [`EventLogError::Lock`] when another process writes it, [`EventLogError::Line`] when a line before the last is
    /// damaged or any line was written by a program that this one does not understand, [`EventLogError::File`] else.
    /// In each of these cases the log is left as it was.
    pub fn open(path: impl AsRef<Path>) -> Result<OpenedLog<R>, EventLogError> {
        let mut records = Vec::new();
        let (log, dropped) = Self::open_each(path, |record, _| records.push(record))?;
        Ok(OpenedLog { log, records, torn_line: dropped })
    }

    /// Opens the log at `path` as [`open`](Self::open) does, and hands its records over one at a time, in order, without
    /// keeping them; each with the stamp of its line, which lines of version 1 have not. The second half of the answer is the torn end that was cut off, if there was one.
    ///
    /// # Errors
    /// Those of [`open`](Self::open); the records before the error have been handed over then.
    pub fn open_each(
        path: impl AsRef<Path>,
        mut each: impl FnMut(R, Option<LineStamp>),
    ) -> Result<(Self, Option<TornLine>), EventLogError> {
        let path = path.as_ref();
        let (file, path, lock) = open_locked(path)?;
        let mut reader = LogReader::open(&path, LogPosition::START)?;
        while let Some(record) = reader.next() {
            each(record?, reader.last_stamp());
        }
        let mut log = Self {
            path,
            file: Box::new(file),
            end: reader.position(),
            run: reader.last_stamp().map_or(1, |stamp| stamp.run.saturating_add(1)),
            stamp: reader.last_stamp(),
            torn: reader.torn_line().is_some(),
            _lock: Some(lock),
            _record: PhantomData,
        };
        log.cut_unacknowledged().map_err(EventLogError::file("cut the torn end off", &log.path))?;
        if !log.is_empty() {
            log.keep_first_line();
        }
        Ok((log, reader.into_torn_line()))
    }

    /// Writes `record` at the end. Once this returns `Ok`, the record is *acknowledged*: it survives this process.
    ///
    /// # Errors
    /// [`EventLogError::Write`]: the record is not in the log, all before it are, and the log can be used further:
    /// append again once the cause is gone. [`EventLogError::Displaced`]: the log's file was deleted, replaced or cut by
    /// somebody else; nothing was written. [`EventLogError::ReadsOtherwise`], [`EventLogError::Encode`] and
    /// [`EventLogError::Unreadable`]: the record has no line that could be read back; nothing was written.
    pub fn append(&mut self, record: &R) -> Result<(), EventLogError> {
        self.append_all(std::slice::from_ref(record))
    }

    /// Writes `records` at the end in one write: all of them are acknowledged, or none is. A crash in the middle may
    /// leave the first of them; a reader sees them as records like any others.
    ///
    /// # Errors
    /// Those of [`append`](Self::append); the log holds none of `records` then.
    pub fn append_all(&mut self, records: &[R]) -> Result<(), EventLogError> {
        // before each write: in a file that was deleted or replaced, records would be acknowledged that nobody can read
        if let Some(how) = self.file.displacement_at(&self.path, self.end.bytes, self.torn) {
            let (path, acknowledged) = (self.path.clone(), self.end.records);
            return Err(EventLogError::Displaced { path, how, acknowledged });
        }
        let mut lines = Vec::with_capacity(192 * records.len());
        let (run, time) = (self.run, unix_milliseconds());
        let mut last = self.stamp;
        for (number, record) in (self.end.records + 1..).zip(records) {
            let start = lines.len();
            let stamp = LineStamp { number, run, time };
            last = Some(stamp);
            encode_into(&mut lines, stamp, record).map_err(|source| EventLogError::Encode { source })?;
            let (_, read) =
                decode_line::<R>(&lines[start..]).map_err(|problem| EventLogError::Unreadable { problem })?;
            if read != *record {
                // for example a number that is not finite: JSON holds `null` in its place
                let (written, read) = (format!("{record:?}"), format!("{read:?}"));
                return Err(EventLogError::ReadsOtherwise { written, read });
            }
        }
        self.write_lines(&lines).map_err(|source| EventLogError::Write {
            path: self.path.clone(),
            acknowledged: self.end.records,
            source,
        })?;
        if self.is_empty() && !records.is_empty() {
            self.keep_first_line();
        }
        self.stamp = last;
        self.end.records += records.len() as u64;
        self.end.bytes += lines.len() as u64;
        Ok(())
    }

    /// Reads the acknowledged records from `position` on, in bounded memory.
    ///
    /// # Errors
    /// Those of [`LogReader::open`].
    pub fn read_from(&self, position: LogPosition) -> Result<LogReader<R>, EventLogError> {
        LogReader::open_until(&self.path, position, self.end.bytes)
    }

    /// Forgets all records: for a study in which nothing has happened yet.
    ///
    /// # Errors
    /// [`EventLogError::File`]: the log is as it was.
    pub fn clear(&mut self) -> Result<(), EventLogError> {
        self.file.truncate(0).map_err(EventLogError::file("empty", &self.path))?;
        (self.end, self.torn, self.stamp) = (LogPosition::START, false, None);
        Ok(())
    }

    /// Returns once all acknowledged records would survive a loss of power.
    ///
    /// # Errors
    /// [`EventLogError::Sync`]: the device refused; the records are still acknowledged.
    pub fn sync(&mut self) -> Result<(), EventLogError> {
        self.file.sync().map_err(|source| EventLogError::Sync {
            path: self.path.clone(),
            acknowledged: self.end.records,
            source,
        })
    }

    /// The number of this opening: 1 for the first that wrote into the log.
    pub fn run_number(&self) -> u32 {
        self.run
    }

    /// The stamp of the last record; `None` if it is one of version 1, or there is none.
    pub fn last_stamp(&self) -> Option<LineStamp> {
        self.stamp
    }

    /// The number of records the log holds.
    pub fn len(&self) -> u64 {
        self.end.records
    }

    /// Whether the log holds no record.
    pub fn is_empty(&self) -> bool {
        self.end.records == 0
    }

    /// The place after the last acknowledged record.
    pub fn end_position(&self) -> LogPosition {
        self.end
    }

    /// The log's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write_lines(&mut self, lines: &[u8]) -> io::Result<()> {
        // the rest of a write that failed would join with the first new line to one that cannot be read
        self.cut_unacknowledged()?;
        let written = write_all(self.file.as_mut(), lines);
        if written.is_err() {
            self.torn = true;
            // Should this fail as well, the next append tries again first, and opening would drop the torn line.
            let _ = self.cut_unacknowledged();
        }
        written
    }

    /// Keeps a copy of the first line next to the log, unless there is one: only this line describes the study, should it be damaged.
    /// Where the copy cannot be written the log is as good as without.
    fn keep_first_line(&self) {
        let copy = first_line_path(&self.path);
        if let Ok(line) = read_first_line(&self.path)
            && read_first_line(&copy).ok().as_ref() != Some(&line)
        {
            let _ = write_atomically(&copy, &line);
        }
    }

    /// Cuts records that were not acknowledged off the end.
    fn cut_unacknowledged(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.truncate(self.end.bytes)?;
            self.torn = false;
        }
        Ok(())
    }
}

/// Milliseconds since the beginning of 1970, UTC.
fn unix_milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The log's file, opened for appending and locked, and its path without links in its folders.
fn open_locked(path: &Path) -> Result<(File, PathBuf, LogLock), EventLogError> {
    loop {
        let (file, real) = open_file(path).map_err(EventLogError::file("open", path))?;
        let lock = LogLock::acquire(&file, &real)?;
        // between opening and locking somebody may have repaired the log, which puts another file in its place
        if replacement_at(&file, &real).is_none() {
            return Ok((file, real, lock));
        }
    }
}

fn open_file(path: &Path) -> io::Result<(File, PathBuf)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.is_symlink() && !folder.exists() {
        let why =
            "it is a symbolic link to a folder that does not exist. Create that folder, or remove the link";
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("{}: {why}", folder.display())));
    }
    fs::create_dir_all(folder)?;
    check_regular_file(path)?;
    let is_new = !path.exists();
    let file = no_links::open(OpenOptions::new().append(true).create(true), path)?;
    if is_new {
        File::open(folder)?.sync_all()?; // the file's name, too, must survive a loss of power
    }
    let name = path.file_name().unwrap_or_default();
    Ok((file, fs::canonicalize(folder)?.join(name)))
}

/// Refuses a path that is no file: for example, opening a pipe would wait for ever.
fn check_regular_file(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(about) if !about.is_file() => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a file. Remove it, or choose another folder",
        )),
        _ => Ok(()),
    }
}

fn read_first_line(path: &Path) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    crate::regular::open(path).and_then(|file| read_line(&mut BufReader::new(file), &mut line))?;
    Ok(line)
}

/// The file that has a copy of the first line of the log at `path`.
fn first_line_path(path: &Path) -> PathBuf {
    with_suffix(path, ".first")
}

#[cfg(test)]
mod tests;

//! What is sound in a damaged log, and a log that has nothing else.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::error::EventLogError;
use super::line::{LineProblem, Stamp, decode, diagnose, parts, write_line};
use super::lock::Lock;
use super::with_suffix;

/// A log that is looked through, or repaired, line by line. While it is repaired nobody else can write it.
#[derive(Debug)]
pub struct Salvage<R> {
    path: PathBuf,
    _lock: Option<Lock>,
    /// The sound records, in the order of their sequence numbers.
    pub records: Vec<Salvaged<R>>,
    /// The lines that are not sound, or not in their place.
    pub unsound: Vec<UnsoundLine>,
    _record: PhantomData<fn() -> R>,
}

/// A sound record of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Salvaged<R> {
    /// The record.
    pub record: R,
    /// Its line, from 1.
    pub line: usize,
    /// When it was written; `None` in lines of version 1.
    pub stamp: Option<Stamp>,
    bytes: Vec<u8>,
}

/// A line that is not sound, or a hole between lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsoundLine {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: LineProblem,
    /// Whether its record is kept: it only stands in the wrong place.
    pub kept: bool,
    /// Its text, what was not UTF-8 replaced.
    pub text: String,
}

impl<R: DeserializeOwned> Salvage<R> {
    /// Reads the log at `path` without lock or change, past all that is damaged.
    ///
    /// # Errors
    /// [`EventLogError::File`] if it cannot be read; [`EventLogError::Line`] for a line that a newer program wrote: that
    /// is no damage.
    pub fn look(path: impl AsRef<Path>) -> Result<Self, EventLogError> {
        Self::read(path.as_ref(), None)
    }

    /// The same, with the log locked until this is dropped.
    ///
    /// # Errors
    /// Those of [`look`](Self::look), and [`EventLogError::Lock`] while somebody writes the log.
    pub fn locked(path: impl AsRef<Path>) -> Result<Self, EventLogError> {
        let path = path.as_ref();
        let real = fs::canonicalize(path).map_err(EventLogError::file("open", path))?;
        let lock = Lock::acquire(with_suffix(&real, ".lock"))?;
        Self::read(&real, Some(lock))
    }

    fn read(path: &Path, lock: Option<Lock>) -> Result<Self, EventLogError> {
        let mut file = BufReader::new(File::open(path).map_err(EventLogError::file("open", path))?);
        let (mut records, mut unsound) = (Vec::<Salvaged<R>>::new(), Vec::new());
        let (mut bytes, mut line) = (Vec::new(), 0);
        while file.read_until(b'\n', &mut bytes).map_err(EventLogError::file("read", path))? > 0 {
            line += 1;
            match decode::<R>(&bytes) {
                Ok((stamp, record)) => {
                    records.push(Salvaged { record, line, stamp, bytes: std::mem::take(&mut bytes) });
                }
                Err(problem) if problem.is_damage() => {
                    let problem = diagnose(&bytes, problem);
                    unsound.push(UnsoundLine { line, problem, kept: false, text: text(&bytes) });
                }
                Err(problem) => {
                    let (good_records, path) = (records.len(), path.to_owned());
                    return Err(EventLogError::Line { path, line, problem, good_records, good_bytes: 0 });
                }
            }
            bytes.clear();
        }
        let records = in_order(records, &mut unsound);
        unsound.sort_by_key(|unsound| unsound.line);
        Ok(Self { path: path.to_owned(), _lock: lock, records, unsound, _record: PhantomData })
    }

    /// Writes a log of `keep`, numbered anew, in the place of the damaged one, which is copied aside first. Answers where
    /// the damaged one is. Records are kept to the letter, and with their times.
    ///
    /// # Errors
    /// [`EventLogError::File`]: the log is as it was.
    pub fn write(&self, keep: &[Salvaged<R>]) -> Result<PathBuf, EventLogError> {
        let aside = self.free_name().map_err(EventLogError::file("find a name beside", &self.path))?;
        let copied = fs::copy(&self.path, &aside).and_then(|_| File::open(&aside)?.sync_all());
        copied.map_err(EventLogError::file("copy the log to", &aside))?;
        let new = with_suffix(&self.path, ".repaired");
        let written = self.write_all(keep, &new).and_then(|()| fs::rename(&new, &self.path));
        written.map_err(EventLogError::file("write", &new))?;
        Ok(aside)
    }

    fn write_all(&self, keep: &[Salvaged<R>], path: &Path) -> io::Result<()> {
        let mut lines = Vec::new();
        for (number, salvaged) in (1..).zip(keep) {
            match salvaged.stamp {
                None => lines.extend_from_slice(&salvaged.bytes),
                Some(stamp) => {
                    let record = parts(&salvaged.bytes).map_or(&[][..], |(_, record)| record);
                    write_line(&mut lines, Stamp { number, ..stamp }, &String::from_utf8_lossy(record));
                }
            }
        }
        let mut file = File::create(path)?;
        file.write_all(&lines)?;
        file.sync_all()
    }

    /// `events.jsonl.damaged`, or with the first number that is free.
    fn free_name(&self) -> io::Result<PathBuf> {
        let first = with_suffix(&self.path, ".damaged");
        let more = (2..).map(|number| with_suffix(&first, &format!(".{number}")));
        for name in std::iter::once(first.clone()).chain(more) {
            if !name.try_exists()? {
                return Ok(name);
            }
        }
        Ok(first)
    }
}

/// The records by their sequence numbers, each once; what stands in a wrong place, and holes, are noted.
fn in_order<R>(records: Vec<Salvaged<R>>, unsound: &mut Vec<UnsoundLine>) -> Vec<Salvaged<R>> {
    let is_numbered = |salvaged: &Salvaged<R>| salvaged.stamp.is_some();
    let first_numbered = records.iter().position(is_numbered).unwrap_or(records.len());
    let mut note = |salvaged: &Salvaged<R>, problem, kept| {
        unsound.push(UnsoundLine { line: salvaged.line, problem, kept, text: text(&salvaged.bytes) });
    };
    let mut due = first_numbered as u64 + 1;
    let mut kept: Vec<Salvaged<R>> = Vec::with_capacity(records.len());
    for (place, salvaged) in records.into_iter().enumerate() {
        match salvaged.stamp {
            None if place > first_numbered => note(&salvaged, LineProblem::Unnumbered, false),
            None => kept.push(salvaged),
            Some(Stamp { number, .. }) => {
                let has_it = |other: &Salvaged<R>| other.stamp.is_some_and(|stamp| stamp.number == number);
                let is_double = number < due && kept.iter().rev().any(has_it);
                if number != due {
                    note(&salvaged, LineProblem::Sequence { found: number, due }, !is_double);
                }
                due = due.max(number + 1);
                if !is_double {
                    kept.push(salvaged);
                }
            }
        }
    }
    kept.sort_by_key(|salvaged| salvaged.stamp.map_or(0, |stamp| stamp.number));
    kept
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

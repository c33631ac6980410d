//! The sound lines of a damaged log, and a log that contains nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::chunks::{LogChunk, LogChunks};
use super::error::EventLogError;
use super::file::with_suffix;
use super::line::{LineProblem, LineStamp, decode_line, diagnose_line, split_line, write_line};
use super::lock::LogLock;
use super::recover::recover;
use super::{first_line_path, open_locked, read_first_line};

/// A log that is checked or repaired line by line. During a repair, no other process can write it.
///
/// It holds some 60 bytes per record; the records themselves are read again from the file.
#[derive(Debug)]
pub struct LogSalvage<R> {
    path: PathBuf,
    _lock: Option<LogLock>,
    /// Where the sound records are, in the order of their sequence numbers.
    places: Vec<RecordPlace>,
    /// The first line of the log, where only its copy is sound.
    first: Option<Vec<u8>>,
    unsound: Vec<UnsoundLine>,
    _record: PhantomData<fn() -> R>,
}

/// Where a sound record is.
#[derive(Clone, Copy, Debug)]
struct RecordPlace {
    line: usize,
    stamp: Option<LineStamp>,
    /// The bytes in the file; `None` for the copy of the first line.
    bytes: Option<(u64, usize)>,
}

impl RecordPlace {
    fn in_chunk(chunk: &LogChunk, stamp: Option<LineStamp>) -> Self {
        Self { line: chunk.line, stamp, bytes: Some((chunk.offset, chunk.bytes.len())) }
    }

    /// The number of the record; 0 in logs of versions that did not number theirs.
    fn record_number(&self) -> u64 {
        self.stamp.map_or(0, |stamp| stamp.number)
    }
}

/// An intact record of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct SalvagedRecord<R> {
    /// The record.
    pub record: R,
    /// The line, from 1.
    pub line: usize,
    /// The number of records missing just before it.
    pub missing: u64,
}

/// A damaged line, or a gap between lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsoundLine {
    /// The line, from 1.
    pub line: usize,
    /// The problem.
    pub problem: LineProblem,
    /// The treatment of its record.
    pub treatment: LineTreatment,
}

/// The treatment of a damaged line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineTreatment {
    /// The record is sound, and only stands in the wrong place.
    Kept,
    /// The checksum tells what the record was.
    Corrected,
    /// The record is lost, or a copy of another.
    LeftOut,
}

/// The records to put into a repaired log, and those to drop. Records are counted from 0 in the order of [`LogSalvage::records`].
#[derive(Clone, Debug)]
pub struct LogRepair<R> {
    /// Records that are put before a sound one.
    pub inserted: BTreeMap<usize, Vec<R>>,
    /// Sound records that follow from nothing.
    pub left_out: BTreeSet<usize>,
}

impl<R: Serialize + DeserializeOwned> LogSalvage<R> {
    /// Reads the log at `path` without lock or change, past all that is damaged.
    ///
    /// # Errors
    /// [`EventLogError::File`] if it cannot be read; [`EventLogError::Line`] for a line that a newer program wrote: that
    /// is no damage.
    pub fn open_unlocked(path: impl AsRef<Path>) -> Result<Self, EventLogError> {
        Self::read_lines(path.as_ref(), None)
    }

    /// Looks through the log, and keeps it locked until this is dropped.
    ///
    /// # Errors
    /// Those of [`open_unlocked`](Self::open_unlocked), and [`EventLogError::Lock`] while somebody writes the log.
    pub fn open_locked(path: impl AsRef<Path>) -> Result<Self, EventLogError> {
        let (_, path, lock) = open_locked(path.as_ref())?;
        Self::read_lines(&path, Some(lock))
    }

    fn read_lines(path: &Path, lock: Option<LogLock>) -> Result<Self, EventLogError> {
        let file = File::open(path).map_err(EventLogError::file("open", path))?;
        let mut chunks = LogChunks::new(BufReader::new(file));
        let (mut places, mut unsound) = (Vec::new(), Vec::new());
        while let Some(chunk) = chunks.next().map_err(EventLogError::file("read", path))? {
            match decode_line::<R>(&chunk.bytes) {
                Ok((stamp, _)) => places.push(RecordPlace::in_chunk(&chunk, stamp)),
                Err(problem) => {
                    let problem = diagnose_line(&chunk.bytes, problem);
                    if !problem.is_damage() {
                        let (line, good_records, path) = (chunk.line, places.len(), path.to_owned());
                        return Err(EventLogError::Line { path, line, problem, good_records, good_bytes: 0 });
                    }
                    let piece = chunks.piece(chunk).map_err(EventLogError::file("read", path))?;
                    let (stamp, found) = diagnose_piece::<R>(&piece, &problem);
                    places.extend(stamp.map(|stamp| RecordPlace::in_chunk(&piece, stamp)));
                    if unsound.last() != Some(&found) {
                        unsound.push(found);
                    }
                }
            }
        }
        let mut places = sort_by_number(places, &mut unsound);
        let has_first = places.first().is_some_and(|first| match first.stamp {
            Some(stamp) => stamp.number == 1,
            None => first.line == 1,
        });
        let first = if has_first { None } else { read_first_line_copy::<R>(path) };
        if let Some((stamp, _)) = &first {
            places.insert(0, RecordPlace { line: 1, stamp: *stamp, bytes: None });
        }
        unsound.sort_by_key(|unsound| unsound.line);
        let first = first.map(|(_, bytes)| bytes);
        Ok(Self { path: path.to_owned(), _lock: lock, places, first, unsound, _record: PhantomData })
    }

    /// The lines that are not sound, or not in their place.
    pub fn unsound_lines(&self) -> &[UnsoundLine] {
        &self.unsound
    }

    /// The file that the first record comes from, if its line is lost: the copy that is kept of it.
    pub fn first_record_source(&self) -> Option<PathBuf> {
        self.first.is_some().then(|| first_line_path(&self.path))
    }

    /// The last line that has anything.
    pub fn last_line(&self) -> usize {
        let last = self.places.iter().map(|place| place.line);
        last.chain(self.unsound.iter().map(|unsound| unsound.line)).max().unwrap_or(0)
    }

    /// The sound records in the order of their sequence numbers, read one by one.
    ///
    /// # Errors
    /// [`EventLogError::File`] if the log cannot be read, also for single records.
    pub fn records(
        &self,
    ) -> Result<impl Iterator<Item = Result<SalvagedRecord<R>, EventLogError>>, EventLogError> {
        let mut file = self.open_file()?;
        let (mut written, mut last_line) = (0, 0);
        Ok(self.places.iter().map(move |place| {
            let number = match place.stamp {
                Some(stamp) => stamp.number,
                None => written + (place.line - last_line) as u64,
            };
            let missing = number.saturating_sub(written + 1);
            (written, last_line) = (number, place.line);
            let decoded = self.read_record_line(place, &mut file).map(|line| decode_line::<R>(&line));
            let decoded = decoded.and_then(|decoded| decoded.map_err(|_| changed_error()));
            let (_, record) = decoded.map_err(EventLogError::file("read", &self.path))?;
            Ok(SalvagedRecord { record, line: place.line, missing })
        }))
    }

    /// Puts a log repaired as in `repair`, numbered again, in the place of the damaged one, which is copied aside first. Answers with
    /// the path of the damaged one. Records are kept to the letter, with their times; one that is inserted gets the time of the
    /// one before it.
    ///
    /// # Errors
    /// [`EventLogError::File`]: the log is as it was.
    pub fn write_repaired(&self, repair: &LogRepair<R>) -> Result<PathBuf, EventLogError> {
        let aside = self.copy_aside().map_err(EventLogError::file("copy aside", &self.path))?;
        let new = with_suffix(&self.path, ".repaired");
        let written = self.write_repaired_file(repair, &new).and_then(|()| fs::rename(&new, &self.path));
        written.map_err(EventLogError::file("write", &new))?;
        Ok(aside)
    }

    fn write_repaired_file(&self, repair: &LogRepair<R>, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut out = BufWriter::new(File::create_new(path)?);
        let mut file = self.open_file().map_err(io::Error::other)?;
        let (mut line, mut number) = (Vec::new(), 0);
        let mut write = |stamp: Option<LineStamp>, text: &str| {
            line.clear();
            number += 1;
            write_line(&mut line, stamp.map(|stamp| LineStamp { number, ..stamp }), text);
            out.write_all(&line)
        };
        let mut last = self.places.first().and_then(|place| place.stamp);
        for (index, place) in self.places.iter().enumerate() {
            for record in repair.inserted.get(&index).into_iter().flatten() {
                write(last, &serde_json::to_string(record)?)?;
            }
            if !repair.left_out.contains(&index) {
                let bytes = self.read_record_line(place, &mut file)?;
                let (_, record) = split_line(&bytes).map_err(|_| changed_error())?;
                write(place.stamp, &String::from_utf8_lossy(record))?;
                last = place.stamp;
            }
        }
        // before it takes the place of the log: otherwise a loss of power could leave the new name with nothing in it
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }

    fn open_file(&self) -> Result<BufReader<File>, EventLogError> {
        let file = File::open(&self.path).map_err(EventLogError::file("open", &self.path))?;
        Ok(BufReader::with_capacity(256 * 1024, file))
    }

    /// The line of a sound record, as it was written.
    fn read_record_line(&self, place: &RecordPlace, file: &mut BufReader<File>) -> io::Result<Vec<u8>> {
        let Some((offset, length)) = place.bytes else {
            return Ok(self.first.clone().unwrap_or_default());
        };
        let here = file.stream_position()?;
        match i64::try_from(i128::from(offset) - i128::from(here)) {
            Ok(way) => file.seek_relative(way)?, // keeps what is buffered
            Err(_) => drop(file.seek(SeekFrom::Start(offset))?),
        }
        let mut line = vec![0; length];
        file.read_exact(&mut line)?;
        if split_line(&line).is_err() {
            line = recover(&line).ok_or_else(changed_error)?.0;
        }
        Ok(line)
    }

    /// Copies the log to `events.jsonl.damaged`, or to that with the first number that is free.
    fn copy_aside(&self) -> io::Result<PathBuf> {
        let first = with_suffix(&self.path, ".damaged");
        let mut names = (1..).map(|number| match number {
            1 => first.clone(),
            _ => with_suffix(&first, &format!(".{number}")),
        });
        let (name, mut copy) = loop {
            let name = names.next().unwrap_or_else(|| first.clone());
            match File::create_new(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => break (name, created?),
            }
        };
        io::copy(&mut File::open(&self.path)?, &mut copy)?;
        copy.sync_all()?;
        Ok(name)
    }
}

/// The stamp of a piece of a damaged line, if it is a whole record or its checksum tells which it was; and what is said of it.
fn diagnose_piece<R: DeserializeOwned>(
    piece: &LogChunk,
    problem: &LineProblem,
) -> (Option<Option<LineStamp>>, UnsoundLine) {
    let line = piece.line;
    if let Ok((stamp, _)) = decode_line::<R>(&piece.bytes) {
        return (
            Some(stamp),
            UnsoundLine { line, problem: LineProblem::JoinedRecords, treatment: LineTreatment::Kept },
        );
    }
    if let Some((whole, problem)) = recover(&piece.bytes)
        && let Ok((stamp, _)) = decode_line::<R>(&whole)
    {
        return (Some(stamp), UnsoundLine { line, problem, treatment: LineTreatment::Corrected });
    }
    (None, UnsoundLine { line, problem: problem.clone(), treatment: LineTreatment::LeftOut })
}

/// The copy of the first line, if it is sound.
fn read_first_line_copy<R: DeserializeOwned>(path: &Path) -> Option<(Option<LineStamp>, Vec<u8>)> {
    let bytes = read_first_line(&first_line_path(path)).ok()?;
    let (stamp, _) = decode_line::<R>(&bytes).ok()?;
    stamp.is_none_or(|stamp| stamp.number == 1).then_some((stamp, bytes))
}

fn changed_error() -> io::Error {
    io::Error::other("it changed while it was read")
}

/// The records by their sequence numbers, each once; what stands in a wrong place, and holes, are noted.
fn sort_by_number(places: Vec<RecordPlace>, unsound: &mut Vec<UnsoundLine>) -> Vec<RecordPlace> {
    let first_numbered = places.iter().position(|place| place.stamp.is_some()).unwrap_or(places.len());
    let mut due = places[..first_numbered].last().map_or(0, |place| place.line as u64) + 1;
    let mut kept = Vec::with_capacity(places.len());
    for (index, place) in places.into_iter().enumerate() {
        let line = place.line;
        match place.stamp {
            None if index > first_numbered => {
                let (problem, treatment) = (LineProblem::Unnumbered, LineTreatment::LeftOut);
                unsound.push(UnsoundLine { line, problem, treatment });
                continue;
            }
            Some(LineStamp { number: found, .. }) => {
                if found != due {
                    let problem = LineProblem::Sequence { found, due };
                    unsound.push(UnsoundLine { line, problem, treatment: LineTreatment::Kept });
                }
                due = due.max(found.saturating_add(1));
            }
            None => {}
        }
        kept.push(place);
    }
    kept[first_numbered..].sort_by_key(RecordPlace::record_number);
    let mut doubled = BTreeSet::new();
    kept.dedup_by(|later, earlier| {
        let is_double = later.stamp.is_some() && later.record_number() == earlier.record_number();
        if is_double {
            doubled.insert(later.line);
        }
        is_double
    });
    for unsound in unsound.iter_mut() {
        if matches!(unsound.problem, LineProblem::Sequence { .. }) && doubled.contains(&unsound.line) {
            unsound.treatment = LineTreatment::LeftOut;
        }
    }
    kept
}

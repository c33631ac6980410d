//! The event log as the store of a study.

use std::path::Path;

use foretell_search::{Record, RecordIterator, RecordTime, Store, StoreError, StudySpec, StudyTimes};

use crate::log::flusher::Flusher;
use crate::log::room::FullDiskWait;
use crate::log::{EventLog, EventLogError, LineStamp, LogPosition, LogReader, TornLine};

/// A study's event log, `events.jsonl` in its folder.
///
/// Whenever a trial ends or is stopped, the log is flushed to the device by a thread of its own, so that no trial waits for
/// it; [`sync`](Self::sync) waits. A loss of power may cost what was written since the last flush began: some milliseconds.
#[derive(Debug)]
pub struct EventStore {
    log: EventLog<Record>,
    flusher: Flusher,
    times: StudyTimes,
    room: FullDiskWait,
}

/// The content of a log when it was opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventLogSurvey {
    /// The description in its first record, with the settings that hold at its end; `None` if the log is empty or begins with another record.
    pub study: Option<Box<StudySpec>>,
    /// The number of records.
    pub records: u64,
    /// The number of trials started.
    pub trials: u64,
    /// Whether any trial has reported.
    pub has_reports: bool,
    /// Whether any trial has failed.
    pub has_failures: bool,
    /// The time that the study had taken.
    pub times: StudyTimes,
    /// A torn last line that was dropped; it was never acknowledged.
    pub dropped: Option<TornLine>,
}

impl EventLogSurvey {
    /// Looks through the records of the log at `path`, without a lock, as far as they can be read; the second half of the answer
    /// says why not to the end.
    pub fn read(path: impl AsRef<Path>) -> (Self, Option<EventLogError>) {
        let mut survey = Self::default();
        let trouble = survey.read_records(path.as_ref()).err();
        (survey, trouble)
    }

    fn read_records(&mut self, path: &Path) -> Result<(), EventLogError> {
        let mut reader = LogReader::open(path, LogPosition::START)?;
        while let Some(record) = reader.next() {
            self.see(record?, reader.last_stamp());
        }
        self.dropped = reader.into_torn_line();
        Ok(())
    }

    fn see(&mut self, record: Record, stamp: Option<LineStamp>) {
        self.times.see(&record, stamp.map(RecordTime::from));
        self.records += 1;
        self.trials = self.trials.max(record.trials_started());
        match record {
            Record::Created { study } => self.study = Some(study),
            Record::Changed { settings } => {
                let changed = self.study.take().map(|study| Box::new(study.with_settings(&settings)));
                self.study = changed;
            }
            Record::Resource { max_resource, .. } => {
                self.study.iter_mut().for_each(|study| study.max_resource = max_resource);
            }
            Record::Enqueued { configuration, .. } => {
                self.study.iter_mut().for_each(|study| study.queue.push(configuration.clone()));
            }
            Record::Reported { .. } => self.has_reports = true,
            Record::Failed { .. } => self.has_failures = true,
            _ => {}
        }
    }
}

impl From<LineStamp> for RecordTime {
    fn from(stamp: LineStamp) -> Self {
        Self { run: stamp.run, time: stamp.time }
    }
}

impl EventStore {
    /// Opens the log at `path`, or makes it, and looks through its records without keeping them.
    ///
    /// # Errors
    /// Those of [`EventLog::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<(Self, EventLogSurvey), EventLogError> {
        let mut survey = EventLogSurvey::default();
        let (log, dropped) = EventLog::open_each(path, |record, stamp| survey.see(record, stamp))?;
        survey.dropped = dropped;
        let times = survey.times.clone();
        let flusher = Flusher::start(log.path()).map_err(|source| EventLogError::File {
            what: "flush",
            path: log.path().to_owned(),
            source,
        })?;
        Ok((Self { log, flusher, times, room: FullDiskWait::default() }, survey))
    }

    /// From now on a full disk is waited out as `room` says.
    pub fn set_full_disk_wait(&mut self, room: FullDiskWait) {
        self.room = room;
    }

    /// Forgets all records.
    ///
    /// # Errors
    /// Those of [`EventLog::clear`].
    pub fn clear(&mut self) -> Result<(), EventLogError> {
        self.times = StudyTimes::default();
        self.log.clear()
    }

    /// The time that the study has taken.
    pub fn times(&self) -> &StudyTimes {
        &self.times
    }

    /// Returns once all records would survive a loss of power.
    ///
    /// # Errors
    /// Those of [`EventLog::sync`].
    pub fn sync(&mut self) -> Result<(), EventLogError> {
        let Self { room, log, .. } = self;
        room.retry_while_full(|error| error, || log.sync())
    }

    fn append_once(&mut self, record: &Record) -> Result<(), StoreError> {
        if let Some(source) = self.flusher.failure() {
            // once more, so that the next append knows whether the device is back
            self.flusher.ask();
            let (path, acknowledged) = (self.log.path().to_owned(), self.log.len());
            return Err(StoreError::new(EventLogError::Sync { path, acknowledged, source }));
        }
        self.log.append(record).map_err(StoreError::new)
    }
}

impl Store for EventStore {
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        let room = self.room.clone();
        room.retry_while_full(|error| error, || self.append_once(record))?;
        self.times.see(record, self.log.last_stamp().map(RecordTime::from));
        if record.ended_trial().is_some() {
            self.flusher.ask();
        }
        Ok(())
    }

    fn read_from(&self, first: u64) -> Result<RecordIterator<'_>, StoreError> {
        let records = self.log.read_from(LogPosition::START).map_err(StoreError::new)?;
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        Ok(Box::new(records.skip(first).map(|record| record.map_err(StoreError::new))))
    }
}

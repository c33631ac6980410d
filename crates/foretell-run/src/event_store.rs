//! The event log as the store of a study.

use std::path::Path;

use foretell_search::{Record, Records, Store, StoreError, StudySpec};

use crate::log::{Dropped, EventLog, EventLogError, Position};

/// A study's event log, `events.jsonl` in its folder.
///
/// What ends or stops a trial is flushed to the device before anything later is written.
#[derive(Debug)]
pub struct EventStore {
    log: EventLog<Record>,
    unsynced: bool,
}

/// What was seen in a log when it was opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survey {
    /// The description in its first record; `None` if the log is empty or begins with another record.
    pub study: Option<Box<StudySpec>>,
    /// How many trials were started.
    pub trials: u64,
    /// Whether any trial has reported.
    pub has_reports: bool,
    /// Whether any trial has failed.
    pub has_failures: bool,
    /// A torn last line that was dropped; it was never acknowledged.
    pub dropped: Option<Dropped>,
}

impl Survey {
    fn see(&mut self, record: Record) {
        self.trials = self.trials.max(record.trials_started());
        match record {
            Record::Created { study } => self.study = Some(study),
            Record::Reported { .. } => self.has_reports = true,
            Record::Failed { .. } => self.has_failures = true,
            _ => {}
        }
    }
}

impl EventStore {
    /// Opens the log at `path`, or makes it, and looks through its records without keeping them.
    ///
    /// # Errors
    /// Those of [`EventLog::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<(Self, Survey), EventLogError> {
        let mut survey = Survey::default();
        let (log, dropped) = EventLog::open_each(path, |record| survey.see(record))?;
        survey.dropped = dropped;
        Ok((Self { log, unsynced: false }, survey))
    }

    /// Forgets all records.
    ///
    /// # Errors
    /// Those of [`EventLog::clear`].
    pub fn clear(&mut self) -> Result<(), EventLogError> {
        self.log.clear()
    }

    /// Returns once all records would survive a loss of power.
    ///
    /// # Errors
    /// Those of [`EventLog::sync`].
    pub fn sync(&mut self) -> Result<(), EventLogError> {
        self.log.sync()?;
        self.unsynced = false;
        Ok(())
    }
}

impl Store for EventStore {
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        if self.unsynced {
            self.sync().map_err(StoreError::new)?;
        }
        self.log.append(record).map_err(StoreError::new)?;
        self.unsynced = record.ends().is_some();
        Ok(())
    }

    fn read_from(&self, first: u64) -> Result<Records<'_>, StoreError> {
        let records = self.log.read_from(Position::START).map_err(StoreError::new)?;
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        Ok(Box::new(records.skip(first).map(|record| record.map_err(StoreError::new))))
    }
}

//! The event log as the store of a study.

use std::path::Path;

use foretell_search::{Moment, Record, Records, Store, StoreError, StudySpec, Times};

use crate::log::{Dropped, EventLog, EventLogError, Position, Stamp};

/// A study's event log, `events.jsonl` in its folder.
///
/// What ends or stops a trial is flushed to the device before anything later is written.
#[derive(Debug)]
pub struct EventStore {
    log: EventLog<Record>,
    unsynced: bool,
    times: Times,
}

/// What was seen in a log when it was opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survey {
    /// The description in its first record, with the settings that hold at its end; `None` if the log is empty or begins with another record.
    pub study: Option<Box<StudySpec>>,
    /// How many trials were started.
    pub trials: u64,
    /// Whether any trial has reported.
    pub has_reports: bool,
    /// Whether any trial has failed.
    pub has_failures: bool,
    /// How long the study had taken.
    pub times: Times,
    /// A torn last line that was dropped; it was never acknowledged.
    pub dropped: Option<Dropped>,
}

impl Survey {
    fn see(&mut self, record: Record, stamp: Option<Stamp>) {
        self.times.see(&record, stamp.map(Moment::from));
        self.trials = self.trials.max(record.trials_started());
        match record {
            Record::Created { study } => self.study = Some(study),
            Record::Changed { settings } => {
                let changed = self.study.take().map(|study| Box::new(study.with_settings(&settings)));
                self.study = changed;
            }
            Record::Reported { .. } => self.has_reports = true,
            Record::Failed { .. } => self.has_failures = true,
            _ => {}
        }
    }
}

impl From<Stamp> for Moment {
    fn from(stamp: Stamp) -> Self {
        Self { run: stamp.run, time: stamp.time }
    }
}

impl EventStore {
    /// Opens the log at `path`, or makes it, and looks through its records without keeping them.
    ///
    /// # Errors
    /// Those of [`EventLog::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<(Self, Survey), EventLogError> {
        let mut survey = Survey::default();
        let (log, dropped) = EventLog::open_each(path, |record, stamp| survey.see(record, stamp))?;
        survey.dropped = dropped;
        let times = survey.times.clone();
        Ok((Self { log, unsynced: false, times }, survey))
    }

    /// Forgets all records.
    ///
    /// # Errors
    /// Those of [`EventLog::clear`].
    pub fn clear(&mut self) -> Result<(), EventLogError> {
        self.times = Times::default();
        self.log.clear()
    }

    /// How long the study has taken.
    pub fn times(&self) -> &Times {
        &self.times
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
        self.times.see(record, self.log.stamp().map(Moment::from));
        self.unsynced = record.ends().is_some();
        Ok(())
    }

    fn read_from(&self, first: u64) -> Result<Records<'_>, StoreError> {
        let records = self.log.read_from(Position::START).map_err(StoreError::new)?;
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        Ok(Box::new(records.skip(first).map(|record| record.map_err(StoreError::new))))
    }
}

//! Studies as they are stored: read from their logs, without lock or change, also while they run.

use crate::log::{EventLogError, LogPosition, LogReader, TornLine};
use foretell::{Curve, Run};
use foretell_search::{
    Catalogue, Record, RecordTime, RestoreError, Study, StudyError, StudySpec, StudyTimes, Trial, name_lesson,
};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A study read from its folder.
pub struct StoredStudy {
    /// The folder.
    pub directory: PathBuf,
    /// The study.
    pub study: Study,
    /// The number of records its log holds.
    pub records: u64,
    /// The durations.
    pub times: StudyTimes,
    /// A torn last line; in a study that runs it may be a record on its way.
    pub dropped: Option<TornLine>,
}

/// The reason why a stored study cannot be read, or learned from.
#[derive(Debug, Error)]
pub enum StoredError {
    /// There is none.
    #[error(
        "{}: there is no study in this folder (no events.jsonl). Pass the folder of a study; `foretell study ls` lists them",
        .0.display()
    )]
    Missing(PathBuf),
    /// The log has no record.
    #[error("{}: the log is empty. To start the study, run `foretell search` with this folder as --out", .0.display())]
    Empty(PathBuf),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] EventLogError),
    /// The records are no study.
    #[error("{}: {error}", .log.display())]
    Study {
        /// The log.
        log: PathBuf,
        /// The reason.
        error: Box<StudyError>,
    },
    /// The metric is better in the other direction.
    #[error("{}: its metric {metric} has the opposite direction. Remove it", .directory.display())]
    Direction {
        /// The folder.
        directory: PathBuf,
        /// The metric.
        metric: String,
    },
}

/// The log of the study in `directory`.
pub fn log_path(directory: &Path) -> PathBuf {
    directory.join("events.jsonl")
}

/// The folders of the studies in `folder`, by name: those with a log.
///
/// # Errors
/// When `folder` cannot be read.
pub fn list_studies(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut directories = entries.collect::<io::Result<Vec<PathBuf>>>()?;
    directories.retain(|directory| log_path(directory).is_file());
    directories.sort();
    Ok(directories)
}

/// The first `count` records of `log`, which may have grown since they were counted.
fn first_records(
    log: &Path,
    count: u64,
) -> Result<impl Iterator<Item = Result<Record, EventLogError>> + use<>, EventLogError> {
    let reader = LogReader::<Record>::open(log, LogPosition::START)?;
    Ok(reader.take(usize::try_from(count).unwrap_or(usize::MAX)))
}

/// The description of the study in `directory` when it was new: only the first record of its log is read. `None` without a readable one.
pub fn read_stored_spec(directory: &Path) -> Option<StudySpec> {
    let mut reader = LogReader::<Record>::open(log_path(directory), LogPosition::START).ok()?;
    match reader.next()? {
        Ok(Record::Created { study }) => Some(*study),
        _ => None,
    }
}

impl StoredStudy {
    /// Reads the study in `directory`, whose parts `catalogue` knows.
    ///
    /// # Errors
    /// [`StoredError`].
    pub fn read(directory: &Path, catalogue: &Catalogue) -> Result<Self, StoredError> {
        let log = log_path(directory);
        if !log.is_file() {
            return Err(StoredError::Missing(directory.to_owned()));
        }
        if std::fs::metadata(&log).is_ok_and(|about| about.len() == 0) {
            return Err(StoredError::Empty(log));
        }
        let mut reader = LogReader::<Record>::open(&log, LogPosition::START)?;
        let (mut spec, mut trials, mut times) = (None, 0, StudyTimes::default());
        while let Some(record) = reader.next() {
            let record = record?;
            times.see(&record, reader.last_stamp().map(RecordTime::from));
            trials = trials.max(record.trials_started());
            spec = match record {
                Record::Created { study } if reader.position().records == 1 => Some(*study),
                Record::Resource { max_resource, .. } => {
                    spec.map(|spec: StudySpec| StudySpec { max_resource, ..spec })
                }
                Record::Changed { settings } => spec.map(|spec: StudySpec| spec.with_settings(&settings)),
                _ => spec,
            };
        }
        let spec = spec
            .ok_or_else(|| StoredError::Study { log: log.clone(), error: Box::new(StudyError::NoHeader) })?;
        let spec = spec.covering(trials);
        let records = reader.position().records;
        let mut study = Study::restore(spec, catalogue.into(), first_records(&log, records)?).map_err(
            |error| match error {
                RestoreError::Study(error) => StoredError::Study { log: log.clone(), error: Box::new(error) },
                RestoreError::Read(error) => error.into(),
            },
        )?;
        study.look_ahead();
        let dropped = reader.into_torn_line();
        Ok(Self { directory: directory.to_owned(), study, records, times, dropped })
    }

    /// Reads its records once more, one after another.
    ///
    /// # Errors
    /// [`StoredError::Log`].
    pub fn for_each_record(&self, mut each: impl FnMut(Record)) -> Result<(), StoredError> {
        for record in first_records(&log_path(&self.directory), self.records)? {
            each(record?);
        }
        Ok(())
    }

    /// The trials that reported anything, and whose configuration is known, as runs by number, each with its `curve`.
    pub fn to_runs(&self, curve: impl Fn(&Trial) -> Curve) -> Vec<Run> {
        let trials = self
            .study
            .trials()
            .iter()
            .enumerate()
            .filter(|(_, trial)| !trial.curve.is_empty() && !trial.is_unknown());
        let runs = trials.map(|(index, trial)| Run {
            id: index.to_string(),
            configuration: trial.configuration.clone(),
            curve: curve(trial),
        });
        runs.collect()
    }

    /// The trials that reported anything, as runs that a study of `spec` can learn from.
    ///
    /// # Errors
    /// [`StoredError::Direction`] if its metric is better in the other direction.
    pub fn runs_for(&self, spec: &StudySpec) -> Result<Vec<Run>, StoredError> {
        let there = self.study.spec();
        if there.direction != spec.direction {
            let (directory, metric) = (self.directory.clone(), there.metric.clone());
            return Err(StoredError::Direction { directory, metric });
        }
        let name = self.directory.display().to_string();
        let runs = self.to_runs(|trial| trial.curve_to(trial.until, spec.direction));
        Ok(runs.into_iter().map(|run| Run { id: name_lesson(&name, &run.id), ..run }).collect())
    }
}

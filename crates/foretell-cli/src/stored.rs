//! Studies as they are stored: read from their logs, without lock or change, also while they run.

use crate::failure::Failure;
use foretell::{Curve, Run};
use foretell_run::{Dropped, LogReader, Position};
use foretell_search::{Moment, Record, Study, Times, Trial};
use std::path::{Path, PathBuf};

/// A study read from its folder.
pub(crate) struct Stored {
    /// The folder.
    pub(crate) directory: PathBuf,
    pub(crate) study: Study,
    pub(crate) records: Vec<Record>,
    /// How long it has taken.
    pub(crate) times: Times,
    /// A torn last line; in a study that runs it may be a record on its way.
    pub(crate) dropped: Option<Dropped>,
}

/// The log of the study in `directory`.
pub(crate) fn log(directory: &Path) -> PathBuf {
    directory.join("events.jsonl")
}

impl Stored {
    /// Reads the study in `directory`.
    pub(crate) fn read(directory: &Path) -> Result<Self, Failure> {
        let log = log(directory);
        if !log.is_file() {
            return Err(Failure::input(format!(
                "{}: there is no study in this folder (no events.jsonl); name the folder that `foretell search` said it keeps the study in",
                directory.display()
            )));
        }
        let wrong = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", log.display()));
        let mut reader = LogReader::<Record>::open(&log, Position::START).map_err(Failure::input)?;
        let (mut records, mut times) = (Vec::new(), Times::default());
        while let Some(record) = reader.next() {
            let record = record.map_err(Failure::input)?;
            times.see(&record, reader.stamp().map(Moment::from));
            records.push(record);
        }
        let Some(Record::Created { study }) = records.first() else {
            return Err(wrong(&"does not begin with a study's description"));
        };
        let changed = records.iter().rev().find_map(|record| match record {
            Record::Changed { settings } => Some(settings.as_ref()),
            _ => None,
        });
        let spec = study.as_ref().clone();
        let spec = changed.map_or_else(|| spec.clone(), |settings| spec.clone().with_settings(settings));
        let study = Study::resume(spec, &records).map_err(|error| wrong(&error))?;
        let dropped = reader.into_dropped();
        Ok(Self { directory: directory.to_owned(), study, records, times, dropped })
    }

    /// Its trials that reported anything, as runs by number, each with its `curve`.
    pub(crate) fn runs(&self, curve: impl Fn(&Trial) -> Curve) -> Vec<Run> {
        let trials = self.study.trials().iter().enumerate().filter(|(_, trial)| !trial.curve.is_empty());
        let run = |(index, trial): (usize, &Trial)| Run {
            id: index.to_string(),
            configuration: trial.configuration.clone(),
            curve: curve(trial),
        };
        trials.map(run).collect()
    }
}

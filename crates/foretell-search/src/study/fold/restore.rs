//! A study from its records: the fold, one record at a time.

use super::apply::RecordMisfit;
use crate::record::Record;
use crate::study::{Study, StudyError, StudyParts, StudySpec, TrialState};
use std::convert::Infallible;
use thiserror::Error;

/// The reason why a study cannot be restored.
#[derive(Debug, Error, PartialEq)]
pub enum RestoreError<E> {
    /// The records are not those of a study.
    #[error(transparent)]
    Study(StudyError),
    /// The records cannot be read.
    #[error("{0}")]
    Read(E),
}

impl Study {
    /// The study whose log holds `records`, its running trials marked as interrupted. `spec` may have another total of
    /// trials than the log's; trials that the log has beyond it stay.
    ///
    /// # Errors
    /// [`StudyError`] if the records are not those of a study.
    pub fn resume(spec: StudySpec, records: &[Record]) -> Result<Self, StudyError> {
        let spec = spec.covering(Self::trials_started(records));
        let records = records.iter().cloned().map(Ok::<_, Infallible>);
        Self::restore(spec, StudyParts::default(), records).map_err(|error| match error {
            RestoreError::Study(error) => error,
            RestoreError::Read(never) => match never {},
        })
    }

    /// As [`resume`](Self::resume), with the caller's own `parts`, and from records that are read one after another and
    /// not kept. `spec` must plan for as many trials as the log has: see [`StudySpec::covering`].
    ///
    /// # Errors
    /// [`RestoreError`]; [`StudyError::MoreTrials`] where the log has more trials than `spec` plans for.
    pub fn restore<E>(
        spec: StudySpec,
        parts: StudyParts,
        records: impl IntoIterator<Item = Result<Record, E>>,
    ) -> Result<Self, RestoreError<E>> {
        Self::restore_watching(spec, parts, records, &mut |_, _| ())
    }

    /// As [`restore`](Self::restore); `watch` sees the study after each record.
    ///
    /// # Errors
    /// Those of [`restore`](Self::restore).
    pub fn restore_watching<E>(
        spec: StudySpec,
        parts: StudyParts,
        records: impl IntoIterator<Item = Result<Record, E>>,
        watch: &mut dyn FnMut(&Self, &Record),
    ) -> Result<Self, RestoreError<E>> {
        let mut study = Self::of_log(spec, parts).map_err(RestoreError::Study)?;
        let mut last = 0;
        for record in records {
            let record = record.map_err(RestoreError::Read)?;
            last += 1;
            study.follow(&record, last).map_err(RestoreError::Study)?;
            watch(&study, &record);
        }
        if last == 0 {
            return Err(RestoreError::Study(StudyError::NoHeader));
        }
        for index in 0..study.trials.len() {
            if study.trials[index].state == TrialState::Running {
                study.change(index, |trial| trial.state = TrialState::Interrupted);
            }
        }
        Ok(study)
    }

    /// Takes in record `number`, from 1, of a log that another process may be writing. The study is that of the description
    /// it was made with: where a record changes its total or its budget, start again with those.
    ///
    /// # Errors
    /// [`StudyError`] if the record does not follow from those before it; [`StudyError::MoreTrials`] if it starts a trial that
    /// the study does not plan for.
    pub fn follow(&mut self, record: &Record, number: usize) -> Result<(), StudyError> {
        if (number == 1) != matches!(record, Record::Created { .. }) {
            return Err(StudyError::NoHeader);
        }
        self.apply(record).map_err(|misfit| study_error(misfit, number))
    }

    /// The number of trials that `records` start: one more than the largest number of one. O(records).
    pub fn trials_started<'a>(records: impl IntoIterator<Item = &'a Record>) -> u64 {
        records.into_iter().map(Record::trials_started).max().unwrap_or(0)
    }
}

pub(super) fn study_error(misfit: RecordMisfit, record: usize) -> StudyError {
    match misfit {
        RecordMisfit::Unknown(trial) => StudyError::Record { record, trial },
        RecordMisfit::Unplanned(trial) => StudyError::Plan { record, trial },
        RecordMisfit::Beyond(trial) => StudyError::MoreTrials { record, trial },
        RecordMisfit::NoValue(trial) => StudyError::NoValue { record, trial },
    }
}

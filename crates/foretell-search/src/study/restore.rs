//! A study from its records: the fold, one record at a time.

use super::apply::Misfit;
use super::{Parts, Study, StudyError, StudySpec, TrialState};
use crate::record::Record;
use std::convert::Infallible;
use thiserror::Error;

/// Why a study cannot be restored.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
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
        Self::restore(spec, Parts::default(), records).map_err(|error| match error {
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
        parts: Parts,
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
        parts: Parts,
        records: impl IntoIterator<Item = Result<Record, E>>,
        watch: &mut dyn FnMut(&Self, &Record),
    ) -> Result<Self, RestoreError<E>> {
        let mut study = Self::with(spec, parts).map_err(RestoreError::Study)?;
        let mut last = 0;
        for record in records {
            let record = record.map_err(RestoreError::Read)?;
            last += 1;
            let described = matches!(record, Record::Created { .. });
            if (last == 1) != described {
                return Err(RestoreError::Study(StudyError::NoHeader));
            }
            let misfit = |misfit| RestoreError::Study(study_error(misfit, last));
            study.apply(&record).map_err(misfit)?;
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

    /// Of each of `records`, why it does not follow from those before it that do: `None` for one that does. For a log that
    /// has lost some of its records.
    ///
    /// # Errors
    /// [`StudyError`] if the first is no study's description, or its study is not valid.
    pub fn check_records(records: &[Record]) -> Result<Vec<Option<StudyError>>, StudyError> {
        let Some(Record::Created { study }) = records.first() else { return Err(StudyError::NoHeader) };
        let spec = study.as_ref().clone().covering(Self::trials_started(records));
        let mut study = Self::new(spec)?;
        let follows = |(number, record): (usize, &Record)| match record {
            Record::Created { .. } if number > 1 => Some(StudyError::NoHeader),
            _ => study.apply(record).err().map(|misfit| study_error(misfit, number)),
        };
        Ok((1..).zip(records).map(follows).collect())
    }

    /// How many trials `records` start: one more than the largest number of one. O(records).
    pub fn trials_started<'a>(records: impl IntoIterator<Item = &'a Record>) -> u64 {
        records.into_iter().map(Record::trials_started).max().unwrap_or(0)
    }
}

fn study_error(misfit: Misfit, record: usize) -> StudyError {
    match misfit {
        Misfit::Unknown(trial) => StudyError::Record { record, trial },
        Misfit::Unplanned(trial) => StudyError::Plan { record, trial },
        Misfit::Beyond(trial) => StudyError::MoreTrials { record, trial },
        Misfit::NoValue(trial) => StudyError::NoValue { record, trial },
    }
}

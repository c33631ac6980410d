//! Beginning a session, or going on with the study in a store.

use super::Session;
use crate::length_watch::LengthWatch;
use crate::record::{Record, StudyInput};
use crate::store::{MemoryStore, Store, StoreError};
use crate::study::{RestoreError, Study, StudyError, StudyParts, StudySettings, StudySpec};
use foretell::{Direction, Run};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use thiserror::Error;

/// The reason why a session cannot be opened.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The description is not valid, or the records do not follow from it.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store contains another study.
    #[error("the store holds another study. Use an empty store, or the description of that study")]
    Another {
        /// The study that is there.
        there: Box<StudySpec>,
    },
}

impl From<RestoreError<StoreError>> for SessionError {
    fn from(error: RestoreError<StoreError>) -> Self {
        match error {
            RestoreError::Study(error) => Self::Study(error),
            RestoreError::Read(error) => Self::Store(error),
        }
    }
}

impl Session {
    /// A session on a new study that is kept in memory.
    ///
    /// # Errors
    /// [`SessionError::Study`] if `spec` is not valid.
    pub fn new(spec: StudySpec) -> Result<Self, SessionError> {
        Self::open(spec, StudyParts::default(), MemoryStore::default())
    }
}

impl<S: Store> Session<S> {
    /// A session on the study of `spec` in `store`: a new one if the store is empty, else the one that is there, which may
    /// have had other [`StudySettings`]: then their change is recorded. The store is read once, one record at a time (twice if it holds more trials than
    /// `spec` plans for, or the caller brings `parts`).
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn open(spec: StudySpec, parts: StudyParts, mut store: S) -> Result<Self, SessionError> {
        let header = store.read_from(0)?.next().transpose()?;
        let (spec_settings, wanted) = (spec.settings(), spec.queue.clone());
        let study = match header {
            None => {
                // the study is made before anything is stored, so that a description that is refused leaves no log
                let study = Study::with(spec, parts)?;
                store.append(&Record::Created { study: Box::new(study.spec().clone()) })?;
                study
            }
            Some(Record::Created { study: there }) if there.continues(&spec) => restore(spec, parts, &store)?,
            Some(Record::Created { study: there }) => return Err(SessionError::Another { there }),
            Some(_) => return Err(StudyError::NoHeader.into()),
        };
        let changed = Some(spec_settings).filter(|settings| settings != study.settings());
        let learned_range = range(study.warm_start_runs(), study.spec().direction);
        let mut session = Self {
            study,
            store,
            news: Vec::new(),
            running: BTreeSet::new(),
            starts: VecDeque::new(),
            held: BTreeMap::new(),
            overrun: BTreeMap::new(),
            defers_fits: false,
            fitting: false,
            lengths: LengthWatch::default(),
            notices: Vec::new(),
            learned_range,
        };
        if let Some(settings) = changed {
            session.with_study(|study, append| study.change_settings(settings, append))?;
        }
        // a trial whose configuration is lost cannot continue
        for trial in 0..session.study.trials().len() as u64 {
            if session.study.trial(trial).is_some_and(|trial| trial.is_open() && trial.is_unknown()) {
                let failure = Some("its configuration is lost: the log was repaired".to_owned());
                session.with_study(|study, append| {
                    study.step_into(&StudyInput::Ended { trial, failure }, append)
                })?;
            }
        }
        for configuration in session.study.queue().missing(wanted) {
            session.enqueue(configuration, None)??;
        }
        session.with_study(|study, append| study.measure_resource(None, append))?;
        session.news.clear();
        Ok(session)
    }

    /// Applies the `settings`, which were [resolved](crate::StudyRequest::resolve) for this study, from here on. Running trials continue.
    ///
    /// # Errors
    /// [`StoreError`] if the change could not be stored.
    pub fn change(&mut self, settings: StudySettings) -> Result<(), StoreError> {
        self.news.clear();
        if settings == *self.study.settings() {
            return Ok(());
        }
        self.with_study(|study, append| study.change_settings(settings, append))
    }

    /// Gives the study runs of an earlier search to learn from (a warm start), before its first trial; of a study that
    /// was interrupted while it took them in, the rest.
    ///
    /// # Errors
    /// [`StoreError`] if a record could not be stored.
    pub fn warm_start(&mut self, runs: &[Run]) -> Result<(), StoreError> {
        self.news.clear();
        // after an interruption some of the runs are recorded already, and would otherwise teach twice
        let missing = runs.get(self.study.warm_start_runs().len()..).unwrap_or_default();
        self.with_study(|study, append| study.warm_start_into(missing, append))?;
        self.learned_range = range(self.study.warm_start_runs(), self.study.spec().direction);
        Ok(())
    }
}

fn restore(spec: StudySpec, parts: StudyParts, store: &impl Store) -> Result<Study, SessionError> {
    // the caller's parts can be used once, so the trials are counted first; otherwise the log is read twice only if it has more
    // trials than asked for
    if !parts.is_empty() {
        let spec = spec.covering(trials_started(store)?);
        return Ok(Study::restore(spec, parts, store.read_from(0)?)?);
    }
    match Study::restore(spec.clone(), parts, store.read_from(0)?) {
        Err(RestoreError::Study(StudyError::MoreTrials { .. })) => {
            let spec = spec.covering(trials_started(store)?);
            Ok(Study::restore(spec, StudyParts::default(), store.read_from(0)?)?)
        }
        restored => Ok(restored?),
    }
}

fn trials_started(store: &impl Store) -> Result<u64, StoreError> {
    let started = |most: u64, record: Result<Record, StoreError>| Ok(most.max(record?.trials_started()));
    store.read_from(0)?.try_fold(0, started)
}

/// The smallest and the largest finite value of `runs`.
fn range(runs: &[Run], direction: Direction) -> Option<(f64, f64)> {
    let scores = runs.iter().flat_map(|run| run.curve.scores());
    let values = scores.map(|&score| direction.to_value(score)).filter(|value| value.is_finite());
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

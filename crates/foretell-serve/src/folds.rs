//! The folds of all studies that somebody reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foretell_search::{Catalogue, Study};

use crate::fold::StudyFold;
use crate::problem::RequestProblem;

/// The folds of all studies that somebody reads. Reading one study holds up no other.
pub(crate) struct StudyFolds {
    catalogue: Catalogue,
    folds: Mutex<BTreeMap<PathBuf, Arc<Mutex<StudyFold>>>>,
}

impl StudyFolds {
    pub(crate) fn new(catalogue: &Catalogue) -> Self {
        Self { catalogue: catalogue.clone(), folds: Mutex::default() }
    }

    /// The fold of `log`.
    pub(crate) fn fold_for_log(&self, log: &Path) -> Arc<Mutex<StudyFold>> {
        let fold = || Arc::new(Mutex::new(StudyFold::new(log, &self.catalogue)));
        Arc::clone(lock_unpoisoned(&self.folds).entry(log.to_owned()).or_insert_with(fold))
    }

    /// Reads the study called `name` as it stands.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        log: &Path,
        read: impl FnOnce(&StudyFold, &Study) -> T,
    ) -> Result<T, RequestProblem> {
        let fold = self.fold_for_log(log);
        let mut fold = lock_unpoisoned(&fold);
        let conflict = |why: &str| RequestProblem::conflict(format!("{name}: {why}"));
        fold.update().map_err(|why| conflict(&why))?;
        let study = fold.study().ok_or_else(|| conflict("nothing is recorded yet"))?;
        Ok(read(&fold, study))
    }
}

/// The data that `mutex` guards; a panic leaves it as sound as it was before.
pub(crate) fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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
        let mut folds = lock_unpoisoned(&self.folds);
        let fold = folds.entry(log.to_owned());
        Arc::clone(fold.or_insert_with(|| Arc::new(Mutex::new(StudyFold::new(log, &self.catalogue)))))
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
        let updated = fold.update();
        let study = updated.and_then(|()| fold.study().ok_or_else(|| "nothing is recorded yet".to_owned()));
        let study = study.map_err(|why| RequestProblem::conflict(format!("{name}: {why}")))?;
        Ok(read(&fold, study))
    }
}

/// The data that `mutex` guards; a panic leaves it as sound as it was before.
pub(crate) fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The folds of all studies that somebody reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foretell_search::{Catalogue, Study};

use crate::fold::Fold;
use crate::problem::Problem;

/// The folds of all studies that somebody reads. Reading one study holds up no other.
pub(crate) struct Folds {
    catalogue: Catalogue,
    folds: Mutex<BTreeMap<PathBuf, Arc<Mutex<Fold>>>>,
}

impl Folds {
    pub(crate) fn new(catalogue: &Catalogue) -> Self {
        Self { catalogue: catalogue.clone(), folds: Mutex::default() }
    }

    /// The fold of `log`.
    pub(crate) fn fold(&self, log: &Path) -> Arc<Mutex<Fold>> {
        let fold = || Arc::new(Mutex::new(Fold::new(log, &self.catalogue)));
        Arc::clone(locked(&self.folds).entry(log.to_owned()).or_insert_with(fold))
    }

    /// Reads the study called `name` as it stands.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        log: &Path,
        read: impl FnOnce(&Fold, &Study) -> T,
    ) -> Result<T, Problem> {
        let fold = self.fold(log);
        let mut fold = locked(&fold);
        let conflict = |why: &str| Problem::conflict(format!("{name}: {why}"));
        fold.update().map_err(|why| conflict(&why))?;
        let study = fold.study().ok_or_else(|| conflict("nothing is recorded yet"))?;
        Ok(read(&fold, study))
    }
}

/// The data that `mutex` guards; a panic leaves it as sound as it was before.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

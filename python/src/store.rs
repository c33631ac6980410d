//! Where a study that is driven from Python keeps its records.

use foretell_run::EventStore;
use foretell_search::{MemoryStore, Record, RecordIterator, Store, StoreError, StudyTimes};

/// In memory, or in a folder.
pub(crate) enum AnyStore {
    /// They end with the process.
    Memory(MemoryStore),
    /// They have times.
    Folder(Box<EventStore>),
}

impl AnyStore {
    /// The times of the study; empty in memory.
    pub(crate) fn times(&self) -> StudyTimes {
        match self {
            Self::Memory(_) => StudyTimes::default(),
            Self::Folder(store) => store.times().clone(),
        }
    }
}

impl Store for AnyStore {
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        match self {
            Self::Memory(store) => store.append(record),
            Self::Folder(store) => store.append(record),
        }
    }

    fn read_from(&self, first: u64) -> Result<RecordIterator<'_>, StoreError> {
        match self {
            Self::Memory(store) => store.read_from(first),
            Self::Folder(store) => store.read_from(first),
        }
    }
}

//! Stores: where a study's records are kept.

use crate::record::Record;
use std::error::Error;
use std::fmt;

/// Stores the records of one study, in order.
///
/// Once [`append`](Self::append) returns `Ok` the record is *acknowledged*: the study applies it, and
/// [`read_from`](Self::read_from) returns it from then on. A record that was refused must not appear later.
pub trait Store {
    /// Appends `record`.
    ///
    /// # Errors
    /// [`StoreError`]: the record is not stored, and all before it are. The caller may try again.
    fn append(&mut self, record: &Record) -> Result<(), StoreError>;

    /// The records from number `first` on, counted from 0, one after another.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read; also for single records.
    fn read_from(&self, first: u64) -> Result<RecordIterator<'_>, StoreError>;
}

/// An iterator over records.
pub type RecordIterator<'a> = Box<dyn Iterator<Item = Result<Record, StoreError>> + 'a>;

/// The store's error when appending or reading.
#[derive(Debug)]
pub struct StoreError(Box<dyn Error + Send + Sync>);

impl StoreError {
    /// The store's own error.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.0.as_ref())
    }
}

impl<S: Store + ?Sized> Store for Box<S> {
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        (**self).append(record)
    }

    fn read_from(&self, first: u64) -> Result<RecordIterator<'_>, StoreError> {
        (**self).read_from(first)
    }
}

/// A store in memory, for tests, simulations and studies that end with the process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryStore {
    records: Vec<Record>,
}

impl MemoryStore {
    /// The records, in order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
}

impl From<Vec<Record>> for MemoryStore {
    fn from(records: Vec<Record>) -> Self {
        Self { records }
    }
}

impl Store for MemoryStore {
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        self.records.push(record.clone());
        Ok(())
    }

    fn read_from(&self, first: u64) -> Result<RecordIterator<'_>, StoreError> {
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        Ok(Box::new(self.records.iter().skip(first).cloned().map(Ok)))
    }
}

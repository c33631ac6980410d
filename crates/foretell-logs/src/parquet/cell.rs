//! The cells of a table, and what can be wrong with it.

use std::io;
use std::rc::Rc;

/// Something that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damaged;

impl From<Damaged> for io::Error {
    fn from(_: Damaged) -> Self {
        invalid("the Parquet data are damaged or end early; write the file again")
    }
}

/// An error of the data.
pub(super) fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

/// How a column's values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Physical {
    Boolean,
    Int32,
    Int64,
    Float,
    Double,
    Bytes,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Missing,
    Bool(bool),
    Int(i64),
    Number(f64),
    Text(Rc<str>),
}

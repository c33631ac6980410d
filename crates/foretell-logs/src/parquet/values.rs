//! The columns of a table.

/// The values of a column; `None` is a missing value.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// Whole numbers.
    Integers(Vec<Option<i64>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Flags.
    Flags(Vec<Option<bool>>),
    /// Texts.
    Texts(Vec<Option<String>>),
}

impl ColumnValues {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::Flags(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

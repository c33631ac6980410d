//! What the readers of the three formats have in common: runs as they stand in the file, before any is judged.

use crate::recorded::Note;
use foretell::{Configuration, Direction};

/// One run as it stands in the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawRun {
    /// Its name; `None` if the file has none.
    pub(crate) id: Option<String>,
    /// The line it starts in.
    pub(crate) line: u64,
    /// Every column that is no curve.
    pub(crate) configuration: Configuration,
    /// The steps.
    pub(crate) steps: Vec<f64>,
    /// The metric's values at the steps, in its own direction; NaN where nothing finite was reported.
    pub(crate) values: Vec<f64>,
}

/// A file as it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Raw {
    /// The runs in the order of the file.
    pub(crate) runs: Vec<RawRun>,
    /// The metric's name.
    pub(crate) metric: String,
    /// The direction that the file declares.
    pub(crate) direction: Option<Direction>,
    /// The column that names the runs.
    pub(crate) id_column: Option<String>,
    /// What was done so far.
    pub(crate) notes: Vec<Note>,
}

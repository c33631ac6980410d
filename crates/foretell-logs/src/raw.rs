//! What the readers of the three formats have in common: runs as they stand in the file, before any is judged.

use crate::recorded::{Note, Topic};
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

impl Raw {
    /// Says how many runs end in cells that are empty, and are not known to have diverged.
    pub(crate) fn note_empty_ends(&mut self, count: usize) {
        if count > 0 {
            let text = format!(
                "{count} of {} runs end in empty cells: not measured there, and not taken for diverged",
                self.runs.len()
            );
            self.notes.push(Note::new(Topic::EmptyEnds, text));
        }
    }
}

/// How many of the cells of a run count, and whether it ends in empty ones without having diverged.
///
/// An empty cell is a value that was not measured: the run ends before those at its end. Where they count as divergence they
/// are kept, unless there are as many in a row inside the curve: then the metric is only reported now and then, and the run
/// just ends between two reports.
pub(crate) fn end(cells: &[Option<f64>], empty_is_divergence: bool) -> (usize, bool) {
    let end = cells.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
    let inside = cells[..end].split(Option::is_some).map(<[_]>::len).max().unwrap_or(0);
    if cells.len() - end <= inside {
        return (end, false);
    }
    let diverged = end > 0 && cells[end - 1].is_some_and(|value| !value.is_finite());
    if empty_is_divergence { (cells.len(), false) } else { (end, !diverged) }
}

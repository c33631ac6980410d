//! What the readers of the three formats have in common: runs as they stand in the file, before any is judged.

use crate::options::EmptyEnds;
use crate::recorded::{Note, Topic};
use foretell::{Configuration, Direction};
use std::collections::BTreeSet;

/// One run as it stands in the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawRun {
    /// Its name; `None` if the file has none.
    pub(crate) id: Option<String>,
    /// The line it first stands in.
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
    /// The columns that were joined from a second file: the lines of the runs are not theirs.
    pub(crate) joined: BTreeSet<String>,
    /// What was done so far.
    pub(crate) notes: Vec<Note>,
}

impl Raw {
    /// Says how many runs end in empty cells, and what these were taken for; not where the user has said it.
    pub(crate) fn note_empty_ends(&mut self, ends: Ends, meaning: EmptyEnds) {
        let taken = [
            (ends.diverged, "taken for diverged"),
            (ends.unmeasured, "not measured there, and not taken for diverged"),
        ];
        for (count, what) in
            taken.into_iter().filter(|(count, _)| *count > 0 && meaning == EmptyEnds::Guessed)
        {
            let text = format!("{count} of {} runs end in empty cells: {what}", self.runs.len());
            self.notes.push(Note::new(Topic::EmptyEnds, text));
        }
    }
}

/// How many runs end in empty cells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends {
    /// Taken for diverged by these.
    pub(crate) diverged: usize,
    /// Taken to end before these, without having diverged.
    pub(crate) unmeasured: usize,
}

impl Ends {
    /// How many of the cells of a run count, where `diverged_from` empty ones at its end, or more, mean that it diverged.
    ///
    /// As many in a row inside the curve mean that the metric is only reported now and then: the run just ends between two
    /// reports.
    pub(crate) fn take(&mut self, cells: &[Option<f64>], diverged_from: usize) -> usize {
        let end = cells.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        let inside = cells[..end].split(Option::is_some).map(<[_]>::len).max().unwrap_or(0);
        let empty = cells.len() - end;
        if empty <= inside {
            return end;
        }
        if empty >= diverged_from {
            self.diverged += 1;
            return cells.len();
        }
        self.unmeasured += usize::from(end == 0 || cells[end - 1].is_some_and(f64::is_finite));
        end
    }
}

//! The common result of the readers of the three formats: runs as they stand in the file, before any is judged.

use crate::note::{Note, NoteTopic};
use crate::old::RunEnd;
use crate::options::{EmptyEnds, ReadOptions};
use foretell::{Configuration, Direction};
use std::collections::{BTreeMap, BTreeSet};

/// One run as it stands in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RawRun {
    /// The run's name; `None` if the file has none.
    pub(crate) id: Option<String>,
    /// The line it first stands in.
    pub(crate) line: u64,
    /// Every column that is no curve.
    pub(crate) configuration: Configuration,
    /// The steps.
    pub(crate) steps: Vec<f64>,
    /// The metric's values at the steps, in its own direction; NaN where nothing finite was reported.
    pub(crate) values: Vec<f64>,
    /// The most empty cells in a row inside the curve: not measured there.
    pub(crate) empty_inside: usize,
    /// How it ended.
    pub(crate) ended: RunEnd,
    /// Seconds for one unit of the resource, where times were logged.
    pub(crate) seconds: Option<f64>,
}

impl RawRun {
    /// The last step; `None` if the last value is not finite.
    pub(crate) fn end(&self) -> Option<f64> {
        self.steps.last().copied().filter(|_| self.values.last().is_some_and(|value| value.is_finite()))
    }

    /// With the curve of `cells` at `steps`. Empty cells inside it were not measured; those at its end are values that are not
    /// finite.
    pub(crate) fn with_curve(mut self, steps: impl IntoIterator<Item = f64>, cells: &[Option<f64>]) -> Self {
        let end = cells.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        self.empty_inside = longest_empty(&cells[..end]);
        let points =
            steps.into_iter().zip(cells).enumerate().filter(|(at, (_, cell))| *at >= end || cell.is_some());
        (self.steps, self.values) = points.map(|(_, (step, cell))| (step, cell.unwrap_or(f64::NAN))).unzip();
        self
    }
}

/// The most empty cells in a row.
fn longest_empty(cells: &[Option<f64>]) -> usize {
    cells.split(Option::is_some).map(<[_]>::len).max().unwrap_or(0)
}

/// The median over `runs` of the most empty cells in a row.
pub(crate) fn empty_between(runs: &[RawRun]) -> usize {
    let mut inside: Vec<usize> = runs.iter().map(|run| run.empty_inside).collect();
    inside.sort_unstable();
    inside.get(inside.len() / 2).copied().unwrap_or(0)
}

/// A file as it stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RawRuns {
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
    /// The step at which completed runs are compared, where it is known how runs ended.
    pub(crate) target: Option<f64>,
    /// How many other metrics are left out.
    pub(crate) others: usize,
    /// How many runs ended in which way.
    pub(crate) ends: BTreeMap<RunEnd, usize>,
    /// Notes on the reading so far.
    pub(crate) notes: Vec<Note>,
}

impl RawRuns {
    /// Notes how many runs end in empty cells, and the meaning given to these, unless the user set it.
    pub(crate) fn note_empty_ends(&mut self, ends: EmptyEndCounts, options: &ReadOptions) {
        let taken = [
            (ends.diverged, "counted as diverged"),
            (ends.unmeasured, "treated as not measured there, instead of diverged"),
        ];
        for (count, what) in
            taken.into_iter().filter(|(count, _)| *count > 0 && options.empty_ends == EmptyEnds::Guessed)
        {
            let text = format!("{count} of {} runs end in empty cells: {what}", self.runs.len());
            self.notes.push(Note::new(NoteTopic::EmptyEnds, text));
        }
    }
}

/// How many runs end in empty cells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EmptyEndCounts {
    /// Taken for diverged by these.
    pub(crate) diverged: usize,
    /// Taken to end before these, without having diverged.
    pub(crate) unmeasured: usize,
}

impl EmptyEndCounts {
    /// The number of cells of a run, in a `long` file or a wide one, that count: all if the empty ones at its end mean that it
    /// diverged, else those before them.
    ///
    /// As many in a row inside the curve, or usually inside others, mean that the metric is only reported now and then: the run
    /// just ends between two reports.
    pub(crate) fn take(&mut self, cells: &[Option<f64>], long: bool, options: &ReadOptions) -> usize {
        let diverged_from = options.empty_ends.diverged_from(long, options.running);
        let end = cells.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        let inside = longest_empty(&cells[..end]).max(options.empty_between);
        let empty = cells.len() - end;
        if empty <= inside {
            return end;
        }
        if empty >= diverged_from {
            self.diverged += 1;
            return cells.len();
        }
        let finite = end == 0 || cells[end - 1].is_some_and(f64::is_finite);
        self.unmeasured += usize::from(finite && (long || !options.running));
        end
    }
}

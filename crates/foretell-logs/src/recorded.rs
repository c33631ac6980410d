//! Recorded runs as they were read, with notes on changes.

use crate::columns::RecordedConfigurations;
use crate::note::{Note, NoteTopic};
use crate::old::RunEnd;
use foretell::evaluate::{EvaluationFold, RunSplit};
use foretell::{ColumnDeclarations, Configuration, Direction, HistoryError, HistoryOptions, Metric, Run};
use std::collections::BTreeMap;

/// The runs of a file, with the data needed to use them without leaks.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedSet {
    /// The name of the set: the file's stem, or its folder's name for `curves.csv`.
    pub name: String,
    /// The runs, in the order of the file. A run may have no finite value at all: its curve is then empty.
    pub runs: Vec<Run>,
    /// The metric. The curves are already turned: larger is better.
    pub metric: Metric,
    /// The direction that the logs themselves record.
    pub declared: Option<Direction>,
    /// The group of each configuration column that was kept, and the scales that were declared.
    pub columns: ColumnDeclarations,
    /// For each run, the index of the first run it repeats (its own if none): same configuration, same value of
    /// the grouping column, or the same curve. A split must keep equal numbers on one side.
    pub repeats: Vec<usize>,
    /// The most empty cells in a row inside a curve, the median over the runs: above 0 where the metric is reported now and then
    /// only.
    pub empty_between: usize,
    /// The end of each run, as far as its log records it.
    pub ended: Vec<RunEnd>,
    /// Seconds that one unit of the resource took in each run, where its log has times.
    pub seconds: Vec<Option<f64>>,
    /// The step at which completed runs are compared, if the logs record how runs ended. `None` stands for the last step that at least
    /// half of the runs reach.
    pub target: Option<f64>,
    /// The number of other metrics, which are left out.
    pub other_metrics: usize,
    /// Notes about the reading.
    pub notes: Vec<Note>,
    /// The configurations of `runs` with every column of the file.
    pub(crate) configurations: RecordedConfigurations,
}

impl RecordedSet {
    /// The runs that repeat none before them: the first of each number in [`RecordedSet::repeats`].
    ///
    /// The result contains no repeats, and its notes record how many were removed.
    #[must_use]
    pub fn without_repeats(self) -> Self {
        let keep: Vec<bool> = self.repeats.iter().enumerate().map(|(at, &first)| at == first).collect();
        self.retain_runs(&keep, "the first of each group of repeats")
    }

    /// The runs whose curve is not bit by bit that of a run before them.
    ///
    /// Runs that repeat a configuration with another curve stay, and stay marked in [`RecordedSet::repeats`].
    #[must_use]
    pub fn without_identical_curves(self) -> Self {
        let first = crate::repeats::same_curves(&self.runs);
        let keep: Vec<bool> = first.iter().enumerate().map(|(at, &first)| at == first).collect();
        self.retain_runs(&keep, "the first of identical curves")
    }

    /// The runs `indices` in this order, with the columns that a file of them alone would have: features, constants and names are
    /// judged again, by these runs and no others.
    #[must_use]
    pub fn only(&self, indices: &[usize]) -> (Vec<Run>, ColumnDeclarations) {
        let columns = self.configurations.features_by_runs(indices);
        let runs = indices.iter().map(|&at| Run {
            configuration: self.configurations.configuration(at, |name| columns.groups.contains_key(name)),
            ..self.runs[at].clone()
        });
        (runs.collect(), columns)
    }

    /// Run `at` with every column of the file, as [`ReadOptions::keep_all_columns`](crate::ReadOptions::keep_all_columns) gives
    /// it, as for a running run that is to be forecast.
    #[must_use]
    pub fn run_with_all_columns(&self, at: usize) -> Run {
        Run { configuration: self.configurations.configuration(at, |_| true), ..self.runs[at].clone() }
    }

    /// One split as if two files had been read: one of its training runs, and one of the others, to be cut off. `options` are those
    /// of the whole file; the columns that are features are judged again.
    ///
    /// # Errors
    /// [`HistoryError`] if the training runs make no history.
    pub fn fold_for_split(
        &self,
        split: &RunSplit,
        options: &HistoryOptions,
    ) -> Result<EvaluationFold, HistoryError> {
        let (finished, columns) = self.only(&split.train);
        let tested = split
            .test
            .iter()
            .chain(&split.unfinished)
            .map(|&at| (at, self.run_with_all_columns(at)))
            .collect();
        EvaluationFold::new(&finished, &HistoryOptions { columns, ..options.clone() }, tested)
    }

    /// The columns that never vary, without labels and outcomes. Forecasts do not learn from them.
    #[must_use]
    pub fn constant_columns(&self) -> Configuration {
        self.configurations.constants()
    }

    /// The runs marked in `keep`; `repeats` are renumbered to the runs that are left.
    fn retain_runs(mut self, keep: &[bool], what: &str) -> Self {
        let removed = keep.iter().filter(|&&kept| !kept).count();
        if removed == 0 {
            return self;
        }
        // the run that others repeat may be among those removed, so that the first one left takes its place
        let mut first_left: BTreeMap<usize, usize> = BTreeMap::new();
        let mut repeats = Vec::new();
        for (at, _) in keep.iter().enumerate().filter(|(_, kept)| **kept) {
            let place = repeats.len();
            repeats.push(*first_left.entry(self.repeats[at]).or_insert(place));
        }
        fn only<T>(list: &mut Vec<T>, keep: &[bool]) {
            let mut kept = keep.iter();
            list.retain(|_| *kept.next().unwrap_or(&true));
        }
        only(&mut self.runs, keep);
        only(&mut self.ended, keep);
        only(&mut self.seconds, keep);
        self.configurations.keep(keep);
        self.repeats = repeats;
        self.notes.push(Note::new(
            NoteTopic::Removed,
            format!("{} removed, {what} kept", crate::table::count(removed, "run")),
        ));
        self
    }
}

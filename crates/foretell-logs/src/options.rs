//! Options that describe a file whose names leave its content open.

use crate::source::FileLimits;
use foretell::{ColumnDeclarations, Direction};
use std::path::PathBuf;

/// The meaning of empty cells at the end of a run in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyEnds {
    /// In a long file two or more in a row, and more than are anywhere inside the curve, mean that the run diverged: some
    /// programs, pandas among them, write `nan` as nothing. One alone, and those of a wide row, were not measured.
    #[default]
    Guessed,
    /// They were not measured: the run ends before them.
    Unmeasured,
    /// The run diverged there, unless as many in a row are inside the curve, whose metric is then reported now and then only.
    Diverged,
}

impl EmptyEnds {
    /// How many empty cells in a row mean divergence, in a long file or a wide one. A running run has a row in a long file for each epoch that
    /// it has been through, so that one empty cell tells as much as many; the empty cells of a wide row are still to come.
    pub(crate) fn diverged_from(self, long: bool, running: bool) -> usize {
        match self {
            _ if running && !long => usize::MAX,
            Self::Guessed if running => 1,
            Self::Guessed if long => 2,
            Self::Diverged => 1,
            Self::Guessed | Self::Unmeasured => usize::MAX,
        }
    }
}

/// Options for reading recorded runs. The default detects every format by the names of its columns.
///
/// ```
/// use foretell_logs::ReadOptions;
/// let options = ReadOptions { metric: Some("test_loss".into()), ..ReadOptions::default() };
/// assert!(options.direction.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// How large lines and files may be.
    pub limits: FileLimits,
    /// The tool that wrote the logs; `None`: recognized by their content.
    pub format: Option<crate::LogFormat>,
    /// The metric: a column of a long file, the prefix of a wide one (`acc` or `acc_`). Default: by name, see
    /// [`read_runs`](crate::read_runs).
    pub metric: Option<String>,
    /// The direction. By default, it is declared in the file, or inferred from the name of the metric or from the data.
    pub direction: Option<Direction>,
    /// The column that names the run. Default: `config_id`, `run_id`, `trial_id`, `id`, `run`, … whichever is there.
    pub id_column: Option<String>,
    /// The column of the step in a long file. Default: `epoch`, `step`, `iteration`, `global_step`, … in this order.
    pub step_column: Option<String>,
    /// The file with one row of configuration per run, joined by id. By default, long files use `configs.csv` (or `.gz`) next
    /// to the curves.
    pub configurations: Option<PathBuf>,
    /// Columns that are never features, besides those excluded by name.
    pub exclude: Vec<String>,
    /// Columns to use as features, despite names of outcomes, labels or seeds.
    pub include: Vec<String>,
    /// The feature groups and scales of columns, instead of those inferred from names and values.
    pub columns: ColumnDeclarations,
    /// The column whose equal values mark repetitions of one configuration. Default: `config_group`, if it is there.
    pub group_by: Option<String>,
    /// The meaning of empty cells at the end of a run.
    pub empty_ends: EmptyEnds,
    /// Whether the runs are still running. In a long file an empty cell is then taken for a value that is not finite, one alone too
    /// (unless `empty_ends` says otherwise); empty cells at the end of a wide row are still to come.
    pub running: bool,
    /// As many empty cells in a row are usual inside a curve, see [`RecordedSet::empty_between`](crate::RecordedSet::empty_between): at its
    /// end they mean that the metric is not reported at every step.
    pub empty_between: usize,
    /// Whether to keep only the first of the runs that share a curve or a configuration.
    pub deduplicate: bool,
    /// Whether to keep every configuration column, constant ones, labels and outcomes too: an exact copy.
    pub keep_all_columns: bool,
}

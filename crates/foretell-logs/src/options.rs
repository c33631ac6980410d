//! What a user may say about a file when its names do not.

use foretell::{Columns, Direction};
use std::path::PathBuf;

/// How to read a file of recorded runs. The default reads every format by the names of its columns.
///
/// ```
/// use foretell_logs::ReadOptions;
/// let options = ReadOptions { metric: Some("test_loss".into()), ..ReadOptions::default() };
/// assert!(options.direction.is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The metric: a column of a long file, the prefix of a wide one (`acc` or `acc_`). Default: by name, see
    /// [`read`](crate::read()).
    pub metric: Option<String>,
    /// Which way is better. Default: what the file declares, else the metric's name, else the data.
    pub direction: Option<Direction>,
    /// The column that names the run. Default: `config_id`, `run_id`, `trial_id`, `id`, `run`, … whichever is there.
    pub id_column: Option<String>,
    /// The column of the step in a long file. Default: `epoch`, `step`, `iteration`, `global_step`, … in this order.
    pub step_column: Option<String>,
    /// The file with one row of configuration a run, joined by id. Default for long files: `configs.csv` (or `.gz`)
    /// beside the curves.
    pub configurations: Option<PathBuf>,
    /// Columns that are never features, besides those excluded by name.
    pub exclude: Vec<String>,
    /// Columns that are features although their names say otherwise (outcomes, labels, seeds).
    pub include: Vec<String>,
    /// The feature groups and scales of columns, where names and values would say otherwise.
    pub columns: Columns,
    /// The column whose equal values mark repetitions of one configuration. Default: `config_group`, if it is there.
    pub group_by: Option<String>,
    /// Whether empty cells at the end of a run in a table mean that it diverged there, as where `nan` was written as nothing (by
    /// pandas, say). Default: they were not measured.
    pub empty_is_divergence: bool,
    /// Whether to keep only the first of the runs that share a curve or a configuration.
    pub deduplicate: bool,
    /// Whether to keep every configuration column, constant ones, labels and outcomes too: an exact copy.
    pub keep_all_columns: bool,
}

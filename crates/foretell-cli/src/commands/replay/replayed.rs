//! Results of the replay of one file.

use super::report::SettingRow;
use foretell_search::RunTable;
use std::sync::Arc;

/// One file's replay.
pub(super) struct ReplayedFile {
    pub(super) curves: String,
    pub(super) metric: String,
    /// Whether these are the logs of a tool.
    pub(super) of_tool: bool,
    /// Seconds that a unit of the resource took in each run read, where its log has times.
    pub(super) seconds: Vec<Option<f64>>,
    /// Notes on the reading.
    pub(super) notes: Vec<String>,
    /// The ids of all runs read.
    pub(super) names: Vec<String>,
    pub(super) table: Arc<RunTable>,
    pub(super) outcomes: Vec<foretell_search::ReplayOutcome>,
    pub(super) rows: Vec<SettingRow>,
}

impl ReplayedFile {
    /// The row of the settings that `foretell search` would use for a study of this size, if it was replayed.
    pub(super) fn usual(&self) -> Option<usize> {
        self.rows.iter().position(|row| row.variant.is_default())
    }
}

//! Earlier studies of the same script, from which a new one can learn.

use super::metric::FoundMetric;
use super::options::CommandOptions;
use crate::catalogue::catalogue;
use crate::commands::search::{DEFAULT_STUDIES_FOLDER, metric_name_in};
use foretell::Direction;
use foretell_run::{StoredStudy, list_studies, program_of, read_stored_spec};
use foretell_search::StudySpec;
use std::path::{Path, PathBuf};

/// An earlier study of the same script.
pub(super) struct OfferedStudy {
    pub(super) folder: PathBuf,
    /// The number of its completed trials.
    pub(super) finished: u64,
}

/// The studies in `around` of the script that is `described`, with this metric, all its parameters, and completed trials. Unreadable
/// ones are skipped: studies are offered, not asked for.
pub(super) fn studies(
    described_script: &CommandOptions,
    metric: Option<&FoundMetric>,
    around: &Path,
) -> Vec<OfferedStudy> {
    let Some(metric) = metric else { return Vec::new() };
    let folders = list_studies(&around.join(DEFAULT_STUDIES_FOLDER)).unwrap_or_default();
    let studies = folders.into_iter().filter_map(|folder| {
        // only the first line of other programs' logs is read
        read_stored_spec(&folder).filter(|spec| is_of_same_script(described_script, metric, spec))?;
        let stored = StoredStudy::read(&folder, catalogue()).ok()?;
        let finished = stored.study.progress().trials.completed;
        let folder = folder.strip_prefix(around).map(Path::to_path_buf).unwrap_or(folder);
        (finished > 0).then_some(OfferedStudy { folder, finished })
    });
    studies.collect()
}

/// Whether `study` ran the script that is `described`, for this metric, and searched all its parameters.
fn is_of_same_script(described: &CommandOptions, metric: &FoundMetric, spec: &StudySpec) -> bool {
    let minimizes = spec.direction == Direction::Minimize;
    let command = spec.workload.get("command").map_or("", String::as_str);
    let names = spec.space.names();
    program_of(command.split(' ')) == program_of(described.command.iter().map(String::as_str))
        && (spec.metric.as_str(), minimizes) == (metric_name_in(&metric.source).as_str(), metric.minimize)
        && described.parameters.iter().all(|searched| names.contains(&searched.name.as_str()))
}

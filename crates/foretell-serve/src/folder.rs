//! The studies in a folder, read without a lock.

use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use foretell_run::{list_studies, log_path};

use crate::problem::RequestProblem;

/// The studies in `folder`, or the one that it is: name and log, by name.
///
/// A study is only ever found by comparing its name with these: no name from outside becomes a path.
pub(crate) fn studies(folder: &Path) -> Vec<(String, PathBuf)> {
    let log = log_path(folder);
    if log.is_file() {
        let name = std::path::absolute(folder).ok();
        let name = name.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        return vec![(name.unwrap_or_else(|| "study".to_owned()), log)];
    }
    let studies = list_studies(folder).unwrap_or_default().into_iter().filter_map(|study| {
        let name = study.file_name()?.to_string_lossy().into_owned();
        Some((name, log_path(&study)))
    });
    studies.collect()
}

/// The log of the study called `name`.
pub(crate) fn log(folder: &Path, name: &str) -> Result<PathBuf, RequestProblem> {
    there(folder)?;
    let found = studies(folder).into_iter().find(|(known, _)| known == name);
    found.map(|(_, log)| log).ok_or_else(|| RequestProblem::no_study(name))
}

/// Refuses where the folder itself is gone: a device that is not mounted any more, say.
pub(crate) fn there(folder: &Path) -> Result<(), RequestProblem> {
    if folder.is_dir() {
        return Ok(());
    }
    let text = format!(
        "the folder {} that this server serves no longer exists. Put it back, and send the request again",
        folder.display()
    );
    Err(RequestProblem::new(StatusCode::GONE, text))
}

/// Whether `folder` is a study's own.
pub(crate) fn is_study(folder: &Path) -> bool {
    log_path(folder).is_file()
}

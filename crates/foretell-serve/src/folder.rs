//! The studies in a folder, read without a lock.

use std::path::{Path, PathBuf};

use axum::http::StatusCode;

use crate::problem::Problem;

/// The log of a study, in its folder.
pub(crate) const LOG: &str = "events.jsonl";

/// The studies in `folder`, or the one that it is: name and log, by name.
///
/// A study is only ever found by comparing its name with these: no name from outside becomes a path.
pub(crate) fn studies(folder: &Path) -> Vec<(String, PathBuf)> {
    let log = folder.join(LOG);
    if log.is_file() {
        let name = std::path::absolute(folder).ok();
        let name = name.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        return vec![(name.unwrap_or_else(|| "study".to_owned()), log)];
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let study = |entry: std::fs::DirEntry| {
        let log = entry.path().join(LOG);
        log.is_file().then(|| (entry.file_name().to_string_lossy().into_owned(), log))
    };
    let mut studies: Vec<_> = entries.filter_map(study).collect();
    studies.sort();
    studies
}

/// The log of the study called `name`.
pub(crate) fn log(folder: &Path, name: &str) -> Result<PathBuf, Problem> {
    there(folder)?;
    let found = studies(folder).into_iter().find(|(known, _)| known == name);
    found.map(|(_, log)| log).ok_or_else(|| Problem::no_study(name))
}

/// Refuses where the folder itself is gone: a device that is not mounted any more, say.
pub(crate) fn there(folder: &Path) -> Result<(), Problem> {
    if folder.is_dir() {
        return Ok(());
    }
    let text = format!(
        "the folder {} that this server serves is gone; put it back, and send the same again",
        folder.display()
    );
    Err(Problem::new(StatusCode::GONE, text))
}

/// Whether `folder` is a study's own.
pub(crate) fn is_study(folder: &Path) -> bool {
    folder.join(LOG).is_file()
}

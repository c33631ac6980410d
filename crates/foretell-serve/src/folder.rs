//! The studies in a folder, read without a lock.

use std::path::{Path, PathBuf};

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
pub(crate) fn log(folder: &Path, name: &str) -> Option<PathBuf> {
    studies(folder).into_iter().find(|(known, _)| known == name).map(|(_, log)| log)
}

/// Whether `folder` is a study's own.
pub(crate) fn is_study(folder: &Path) -> bool {
    folder.join(LOG).is_file()
}

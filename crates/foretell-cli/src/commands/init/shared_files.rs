//! Files that both runs of a script write: trials at the same time would overwrite each other's.

use super::options::CommandOptions;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The most files that are looked at, and the most folders below each other.
const MAX_FILES: usize = 5_000;
const MAX_FOLDER_DEPTH: usize = 4;
/// Folders that hold no results of a training.
const SKIPPED_FOLDERS: [&str; 5] = ["__pycache__", "foretell-out", "node_modules", "venv", "target"];

/// When each file of the working folder was written.
pub(super) type FileTimes = BTreeMap<PathBuf, SystemTime>;

/// The files in the working folder, hidden ones left out.
pub(super) fn list_file_times() -> FileTimes {
    let mut found = FileTimes::new();
    add_files_in(Path::new("."), 0, &mut found);
    found
}

fn add_files_in(folder: &Path, depth: usize, found: &mut FileTimes) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') || SKIPPED_FOLDERS.contains(&name.as_ref()) || found.len() >= MAX_FILES {
            continue;
        }
        let (path, Ok(about)) = (entry.path(), entry.metadata()) else { continue };
        if about.is_dir() && depth < MAX_FOLDER_DEPTH {
            add_files_in(&path, depth + 1, found);
        } else if let (true, Ok(written)) = (about.is_file(), about.modified()) {
            found.insert(path.strip_prefix(".").unwrap_or(&path).to_owned(), written);
        }
    }
}

/// The first file that was written between `before` and `between`, and once more until `after`: by the first run and by the second.
pub(super) fn find_shared(before: &FileTimes, between: &FileTimes, after: &FileTimes) -> Option<PathBuf> {
    let written = between.iter().find(|(path, time)| {
        before.get(*path) != Some(*time) && after.get(*path).is_some_and(|later| later != *time)
    });
    written.map(|(path, _)| path.clone())
}

/// What to do so that each trial has its own file in place of `path`: the option that names it, if there is one.
pub(super) fn advise(path: &Path, described: &CommandOptions) -> String {
    let shown = path.display();
    let own = described.words_for_path(path).map_or_else(
        || "let the script write into the folder that the environment variable FORETELL_CHECKPOINT_DIR names, or set workers = 1".to_owned(),
        |words| format!("write {} into the command, so that each trial has its own", words.join(" ")),
    );
    format!("both runs wrote {shown}, so trials at the same time overwrite each other's: {own}")
}

#[cfg(test)]
mod tests {
    use super::{FileTimes, find_shared};
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_file_is_shared_if_both_runs_have_written_it() {
        let time = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let files = |files: &[(&str, u64)]| -> FileTimes {
            files.iter().map(|(path, seconds)| (PathBuf::from(path), time(*seconds))).collect()
        };
        let before = files(&[("data.csv", 1), ("best.pt", 1)]);
        let between = files(&[("data.csv", 1), ("best.pt", 5), ("runs/a", 5)]);
        let after = files(&[("data.csv", 1), ("best.pt", 9), ("runs/a", 5), ("runs/b", 9)]);
        assert_eq!(find_shared(&before, &between, &after), Some("best.pt".into()));
        assert_eq!(find_shared(&before, &between, &between), None);
    }
}

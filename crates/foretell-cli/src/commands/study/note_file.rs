//! `foretell study note`: a person's notes on a study, kept in a file of its folder.

use crate::failure::{CommandResult, Failure};
use crate::output::print;
use foretell_run::{NOTES_FILE, read_notes};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Notes `text`, as a line of its own, unless it is noted already.
pub(crate) fn add(directory: &Path, text: &str) -> CommandResult {
    let path = directory.join(NOTES_FILE);

    if read_notes(directory).is_some_and(|there| there.lines().any(|line| line.trim() == text.trim())) {
        return Ok(());
    }
    if path.is_symlink() {
        return Err(Failure::input(format!(
            "{}: it is a symbolic link, and Foretell does not write through links",
            path.display()
        )));
    }
    let file = OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| writeln!(file, "{}", text.trim()));
    written.map_err(|error| Failure::midway_at(&path, error))
}

/// Adds `words`, or shows the notes if there are no words.
pub(super) fn run(directory: &Path, words: &[String]) -> CommandResult {
    if !words.is_empty() {
        return add(directory, &words.join(" "));
    }
    print(
        &read_notes(directory)
            .unwrap_or_else(|| "no notes yet. Add one with `foretell study note STUDY TEXT`".to_owned()),
    )
}

//! `foretell study note`: what a person wants to remember about a study, kept in a file of its folder.

use crate::failure::{Failure, Outcome};
use crate::output::print;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// The file, in a study's folder; it may be edited by hand.
const FILE: &str = "notes.txt";

/// What is noted about the study in `directory`.
pub(crate) fn of(directory: &Path) -> Option<String> {
    let text = std::fs::read_to_string(directory.join(FILE)).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Notes `text`, as a line of its own, unless it is noted already.
pub(crate) fn add(directory: &Path, text: &str) -> Outcome {
    let path = directory.join(FILE);
    let failed = |error| Failure::midway(format!("{}: {error}", path.display()));
    if of(directory).is_some_and(|there| there.lines().any(|line| line.trim() == text.trim())) {
        return Ok(());
    }
    if path.is_symlink() {
        return Err(Failure::input(format!(
            "{}: it is a symbolic link, and Foretell does not write through links",
            path.display()
        )));
    }
    let mut file = OpenOptions::new().append(true).create(true).open(&path).map_err(failed)?;
    writeln!(file, "{}", text.trim()).map_err(failed)
}

/// Adds `words`, or shows what is noted where there are none.
pub(super) fn run(directory: &Path, words: &[String]) -> Outcome {
    if !words.is_empty() {
        return add(directory, &words.join(" "));
    }
    print(
        &of(directory)
            .unwrap_or_else(|| "no notes yet. Add one with `foretell study note STUDY TEXT`".to_owned()),
    )
}

//! `foretell study rm`: removes a study.

use crate::catalogue::catalogue;
use crate::failure::{CommandResult, Failure};
use crate::output::{note, print};
use crate::terminal::{harmless, say};
use foretell_run::{EventLogError, EventStore, StoredStudy, is_own_file, log_path};
use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

/// Runs the command.
pub(super) fn run(directory: &Path, yes: bool) -> CommandResult {
    let log = log_path(directory);
    if !log.is_file() {
        return StoredStudy::read(directory, catalogue()).map(drop).map_err(Failure::input); // the error names the missing study
    }
    let what = match StoredStudy::read(directory, catalogue()) {
        Ok(stored) => {
            let progress = stored.study.progress();
            format!("{} trials, {} epochs", progress.trials.total, progress.spent)
        }
        Err(_) => "its log is damaged".to_owned(),
    };
    // a search that runs holds the log; the refusal of a damaged log is no reason to keep it
    let lock = match EventStore::open(&log) {
        Err(error @ EventLogError::Lock(_)) => return Err(Failure::input(error)),
        opened => opened,
    };
    if !yes && !confirm_on_terminal(&format!("remove the study in {} ({what})", directory.display()))? {
        return print("nothing was removed");
    }
    for entry in fs::read_dir(directory).map_err(|error| Failure::midway_at(directory, error))? {
        let entry = entry.map_err(|error| Failure::midway_at(directory, error))?;
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        if is_own_file(&name) {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let removed = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(|error| Failure::midway_at(&path, error))?;
        }
    }
    drop(lock);
    let _ = fs::remove_file(directory.join("events.jsonl.lock"));
    if fs::remove_dir(directory).is_err() {
        note(&format!("{}: it contains other files, which are left there", directory.display()));
    }
    print(&format!("removed {} ({what})", directory.display()))
}

/// Asks on the terminal.
fn confirm_on_terminal(question: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::input(format!("{question}? There is no terminal to answer. Add --yes")));
    }
    say(&harmless(&format!("{question}? [y/N] ")));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(Failure::midway)?;
    Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}

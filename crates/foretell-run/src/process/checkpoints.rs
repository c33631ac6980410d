//! The folders of trials and of their checkpoints: no two processes write into one folder.
//!
//! A trial's folder is `checkpoints`. Where another process may still be writing there, for example on another machine, the next attempt
//! gets a folder of its own, `checkpoints-2`, with a copy of the first. The folder with the highest number counts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

const CHECKPOINTS_FOLDER: &str = "checkpoints";
/// The number of tries of a copy that was written to meanwhile, and the time between them.
const MAX_COPY_TRIES: u32 = 20;
const COPY_RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// The folder of a trial of the study in `directory`.
pub fn trial_directory(directory: &Path, trial: u64) -> PathBuf {
    directory.join("trials").join(format!("{trial:04}"))
}

/// The folder of the checkpoints of the trial in `directory`.
pub fn checkpoint_directory(directory: &Path) -> PathBuf {
    all(directory).pop().map_or_else(|| directory.join(CHECKPOINTS_FOLDER), |(_, path)| path)
}

/// The folders that there are, by their numbers.
fn all(directory: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let numbered = entries.filter_map(|entry| {
        let name = entry.file_name();
        let rest = name.to_str()?.strip_prefix(CHECKPOINTS_FOLDER)?;
        let number = if rest.is_empty() { 1 } else { rest.strip_prefix('-')?.parse().ok()? };
        Some((number, entry.path()))
    });
    let mut all: Vec<_> = numbered.collect();
    all.sort();
    all
}

/// Makes the next folder of the trial in `directory`, with what is in the last one: whoever writes there still is left alone.
///
/// # Errors
/// When it cannot be made, or the last one is written to all the time.
pub(crate) fn copy_to_next_folder(directory: &Path) -> io::Result<()> {
    let Some((mut number, last)) = all(directory).pop() else { return Ok(()) };
    for _ in 0..MAX_COPY_TRIES {
        number += 1;
        let next = directory.join(format!("{CHECKPOINTS_FOLDER}-{number}"));
        match fs::create_dir(&next) {
            // another process has made it, for itself
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        }
        let before = list_files(&last)?;
        copy(&last, &next)?;
        if list_files(&last)? == before {
            return Ok(());
        }
        fs::remove_dir_all(&next)?;
        thread::sleep(COPY_RETRY_INTERVAL);
    }
    Err(io::Error::other(format!("{}: it changes all the time", last.display())))
}

/// Removes the checkpoints of the trial in `directory`. A folder that cannot be removed stays.
pub fn remove_checkpoints(directory: &Path) {
    // what cannot be removed only takes room
    all(directory).iter().for_each(|(_, path)| drop(fs::remove_dir_all(path)));
}

/// Removes what is in `folder`, and keeps the folder: its number stays taken.
pub(crate) fn empty(folder: &Path) {
    // a checkpoint that stays only costs the trial another silent end, after which it fails
    let _ = fs::remove_dir_all(folder).and_then(|()| fs::create_dir(folder));
}

/// The files in `folder`, with when they were written last, and their lengths.
fn list_files(folder: &Path) -> io::Result<Vec<(PathBuf, SystemTime, u64)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(about) = entry.metadata() else { continue }; // gone meanwhile
        if about.is_dir() {
            files.extend(list_files(&entry.path())?);
        } else {
            files.push((entry.path(), about.modified()?, about.len()));
        }
    }
    files.sort();
    Ok(files)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&place)?;
            copy(&entry.path(), &place)?;
        } else {
            match fs::copy(entry.path(), &place) {
                // removed, or renamed, while it was read: what was written is looked at once more
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                copied => drop(copied?),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{checkpoint_directory, copy_to_next_folder, empty, remove_checkpoints};
    use std::fs;

    #[test]
    fn each_process_has_a_folder_of_its_own_which_begins_as_the_last_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let trial = folder.path();
        assert_eq!(checkpoint_directory(trial), trial.join("checkpoints"));
        copy_to_next_folder(trial).expect("there is nothing to copy");
        fs::create_dir_all(trial.join("checkpoints/deep")).expect("it is made");
        fs::write(trial.join("checkpoints/deep/epoch"), "2").expect("it is written");
        copy_to_next_folder(trial).expect("it is copied");
        let second = checkpoint_directory(trial);
        assert_eq!(second, trial.join("checkpoints-2"));
        fs::write(trial.join("checkpoints/deep/epoch"), "3").expect("the first process goes on");
        assert_eq!(fs::read_to_string(second.join("deep/epoch")).expect("it is there"), "2");
        copy_to_next_folder(trial).expect("it is copied");
        let third = checkpoint_directory(trial);
        assert_eq!(third, trial.join("checkpoints-3"));
        empty(&third);
        assert_eq!(checkpoint_directory(trial), third, "its number stays taken");
        assert!(!third.join("deep").exists() && second.join("deep/epoch").exists());
        remove_checkpoints(trial);
        assert!(!trial.join("checkpoints").exists() && !second.exists());
    }
}

//! Notes of people about a study. A text editor can change the file in the folder of the study. Words that begin with `#` are tags.

use std::fs;
use std::io;
use std::path::Path;

use crate::log::atomic_write::write_atomically;
use crate::regular;

/// The file, in a study's folder.
pub const NOTES_FILE: &str = "notes.txt";
/// Longer notes are refused.
const MAX_NOTES_BYTES: usize = 64 * 1024;

/// The notes about the study in `directory`; `None` if there are none.
pub fn read_notes(directory: &Path) -> Option<String> {
    let text = regular::read_regular_text(&directory.join(NOTES_FILE)).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Notes `text` in place of what is noted about the study in `directory`.
///
/// # Errors
/// When the file cannot be written, is a symbolic link, or `text` is longer than 64 KiB.
pub fn replace_notes(directory: &Path, text: &str) -> io::Result<()> {
    let path = directory.join(NOTES_FILE);
    if text.len() > MAX_NOTES_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "notes are at most 64 KiB long"));
    }
    if path.is_symlink() {
        let why = "notes.txt is a symbolic link, and Foretell does not write through links";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let text = text.trim();
    if text.is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    write_atomically(&path, format!("{text}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{MAX_NOTES_BYTES, NOTES_FILE, read_notes, replace_notes};

    #[test]
    fn notes_are_replaced_and_removed_and_not_written_through_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let here = folder.path();
        assert_eq!(read_notes(here), None);
        replace_notes(here, "  first try #baseline\n").expect("it is written");
        assert_eq!(read_notes(here).as_deref(), Some("first try #baseline"));
        replace_notes(here, " \n").expect("it is removed");
        replace_notes(here, "").expect("nothing is there");
        assert!(read_notes(here).is_none() && !here.join(NOTES_FILE).exists());
        assert!(replace_notes(here, &"x".repeat(MAX_NOTES_BYTES + 1)).is_err());
        std::os::unix::fs::symlink(here.join("other"), here.join(NOTES_FILE)).expect("a link");
        assert!(replace_notes(here, "text").is_err() && !here.join("other").exists());
    }
}

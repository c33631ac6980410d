//! The output of a trial, as stored in its folder, for people who look at it while it runs.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::log::no_links;
use crate::process::checkpoints::trial_directory;
use crate::process::output::OUTPUT_FILE;

/// The most bytes that are read at a time.
const MAX_READ_BYTES: u64 = 64 * 1024;

/// A part of the output of a trial.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Printed {
    /// The byte that it begins at.
    pub from: u64,
    /// The byte after it, from which to read on.
    pub to: u64,
    /// The text; what is not UTF-8 is replaced.
    pub text: String,
}

impl Printed {
    /// The output of trial `trial` of the study in `directory` from byte `from` on, or the last part: 64 KiB at most. `None` if none of
    /// it is here, for example where a worker on another machine keeps it.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn read(directory: &Path, trial: u64, from: Option<u64>) -> io::Result<Option<Self>> {
        let path = trial_directory(directory, trial).join(OUTPUT_FILE);
        let mut file = match no_links::open(OpenOptions::new().read(true), &path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let data = file.metadata()?;
        if !data.is_file() {
            return Ok(None);
        }
        // a file that is shorter than the part already read was started again
        let known = from.filter(|from| *from <= data.len());
        let from = known.unwrap_or_else(|| data.len().saturating_sub(MAX_READ_BYTES));
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
        bytes.truncate(bytes.len() - count_incomplete_bytes(&bytes));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Some(Self { from, to: from + bytes.len() as u64, text }))
    }
}

/// The number of bytes at the end that begin a character without completing it.
fn count_incomplete_bytes(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::Printed;

    #[test]
    fn it_is_read_on_from_where_it_was_read_to_without_cutting_a_character() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(Printed::read(folder.path(), 3, None).expect("no error"), None);
        let own = super::trial_directory(folder.path(), 3);
        std::fs::create_dir_all(&own).expect("a folder");
        let write =
            |bytes: &[u8]| std::fs::write(own.join(super::OUTPUT_FILE), bytes).expect("it is written");
        let read =
            |from| Printed::read(folder.path(), 3, from).expect("it is read").expect("something is there");
        write("epoch 1 µ".as_bytes().split_last().expect("bytes").1);
        assert_eq!(read(None), Printed { from: 0, to: 8, text: "epoch 1 ".to_owned() });
        write("epoch 1 µs\n".as_bytes());
        assert_eq!(read(Some(8)), Printed { from: 8, to: 12, text: "µs\n".to_owned() });
        assert_eq!(read(Some(12)).text, "");
        write(b"anew");
        assert_eq!(read(Some(12)).text, "anew", "the file was begun anew");
        write(&[b'a'; 100_000]);
        assert_eq!((read(None).from, read(None).text.len()), (100_000 - 65_536, 65_536));
    }

    #[test]
    fn nothing_is_read_through_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = super::trial_directory(folder.path(), 0);
        std::fs::create_dir_all(&own).expect("a folder");
        std::fs::write(folder.path().join("secret"), "a secret").expect("it is written");
        std::os::unix::fs::symlink(folder.path().join("secret"), own.join(super::OUTPUT_FILE))
            .expect("a link");
        assert!(Printed::read(folder.path(), 0, None).is_err());
    }
}

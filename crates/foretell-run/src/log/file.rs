//! The file below the event log, as few operations as the log needs, so that tests can make each of them fail.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file that grows at its end.
pub(crate) trait LogFile: Send {
    /// Writes some of `bytes` at the end; answers how many.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts the file to `length` bytes; the next write goes there.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Returns once the file's contents would survive a loss of power.
    fn sync(&mut self) -> io::Result<()>;
    /// The displacement of the file, if it no longer is at `path`, or has another length than the `length` that its writer gave
    /// it. One whose last write was `torn` may be longer.
    fn displacement_at(&self, path: &Path, length: u64, torn: bool) -> Option<Displacement>;
}

/// A file opened for appending.
impl LogFile for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(self, bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn displacement_at(&self, path: &Path, length: u64, torn: bool) -> Option<Displacement> {
        replacement_at(self, path).or_else(|| match self.metadata().ok()?.len() {
            there if there < length => Some(Displacement::Cut),
            there if there > length && !torn => Some(Displacement::Written),
            _ => None,
        })
    }
}

/// The change to a log's file while it was in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Displacement {
    /// The file is not there.
    Deleted,
    /// Another file is in its place.
    Replaced,
    /// The file is shorter.
    Cut,
    /// The file is longer.
    Written,
}

impl fmt::Display for Displacement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Deleted => "was deleted",
            Self::Replaced => "was replaced by another file",
            Self::Cut => "was truncated by another program",
            Self::Written => "was written by another program",
        })
    }
}

/// The displacement of `file`, if it is no longer the one at `path`.
pub(crate) fn replacement_at(file: &File, path: &Path) -> Option<Displacement> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Displacement::Deleted),
        Err(_) => return None, // the write that follows says what is wrong
    };
    let own = file.metadata().ok()?;
    ((own.dev(), own.ino()) != (there.dev(), there.ino())).then_some(Displacement::Replaced)
}

/// `path` with more at its end: the name of a file next to it.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Writes all of `bytes`: one call, unless the operating system takes only a part of them.
pub(crate) fn write_all(file: &mut dyn LogFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

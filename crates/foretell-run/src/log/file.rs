//! The file below the event log, as few operations as the log needs, so that tests can make each of them fail.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file that grows at its end.
pub(crate) trait LogFile: Send {
    /// Writes some of `bytes` at the end; answers how many.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts the file to `length` bytes; the next write goes there.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Returns once the file's contents would survive a loss of power.
    fn sync(&mut self) -> io::Result<()>;
    /// Whether the file no longer is at `path` with at least `length` bytes, and what became of it.
    fn displaced(&self, path: &Path, length: u64) -> Option<&'static str>;
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

    fn displaced(&self, path: &Path, length: u64) -> Option<&'static str> {
        let there = match fs::metadata(path) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some("was deleted"),
            Err(_) => return None, // the write that follows says what is wrong
        };
        let own = self.metadata().ok()?;
        if (own.dev(), own.ino()) != (there.dev(), there.ino()) {
            return Some("was replaced by another file");
        }
        (there.len() < length).then_some("was cut by another program")
    }
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

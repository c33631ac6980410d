//! The file below the event log, as few operations as the log needs, so that tests can make each of them fail.

use std::fs::File;
use std::io::{self, Write};

/// A file that grows at its end.
pub(crate) trait LogFile: Send {
    /// Writes some of `bytes` at the end; answers how many.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts the file to `length` bytes; the next write goes there.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Returns once the file's contents would survive a loss of power.
    fn sync(&mut self) -> io::Result<()>;
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

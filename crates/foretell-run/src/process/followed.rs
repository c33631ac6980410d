//! A file that a trial appends its metrics to, read as if it were printed.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use crate::process::output::LineSplitter;
use crate::regular;

/// The most of the first line that is read.
const HEADER_BYTES: u64 = 64 * 1024;

/// A file that is followed. Its content from before the start of the trial is skipped; if it shrinks it was started again.
pub(crate) struct Followed {
    path: PathBuf,
    at: u64,
    pub(crate) lines: LineSplitter,
}

impl Followed {
    /// Follows the file at `path`, which may not be there yet.
    pub(crate) fn new(path: PathBuf) -> Self {
        let at = path.metadata().map_or(0, |file| file.len());
        Self { path, at, lines: LineSplitter::default() }
    }

    /// Its first line, if it was there before: the header of a table.
    pub(crate) fn header(&self) -> Option<Vec<u8>> {
        let mut head = Vec::new();
        regular::open(&self.path).ok()?.take(HEADER_BYTES.min(self.at)).read_to_end(&mut head).ok()?;
        let end = head.iter().position(|&byte| byte == b'\n')?;
        head.truncate(end);
        Some(head)
    }

    /// Reads on; answers how many bytes, 0 where there is nothing new.
    ///
    /// # Errors
    /// When it is no regular file. Other trouble, such as a file that is not there yet, may pass.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, String> {
        let read = self.try_read(buffer);
        let is_none = |error: &io::Error| error.kind() == io::ErrorKind::InvalidInput;
        match read {
            Err(error) if is_none(&error) => Err(format!(
                "{} cannot be followed: it is not a regular file, but a pipe or a device, for example. Let the script append to a file",
                self.path.display()
            )),
            read => Ok(read.unwrap_or(0)),
        }
    }

    fn try_read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = regular::open(&self.path)?;
        if file.metadata()?.len() < self.at {
            (self.at, self.lines) = (0, LineSplitter::default());
        }
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

//! A file that a trial appends its metrics to, read as if it were printed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use crate::output::LineSplitter;

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
        File::open(&self.path).ok()?.take(HEADER_BYTES.min(self.at)).read_to_end(&mut head).ok()?;
        let end = head.iter().position(|&byte| byte == b'\n')?;
        head.truncate(end);
        Some(head)
    }

    /// Reads on; answers how many bytes, 0 where there is nothing new.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> usize {
        self.try_read(buffer).unwrap_or(0)
    }

    fn try_read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = File::open(&self.path)?;
        if file.metadata()?.len() < self.at {
            (self.at, self.lines) = (0, LineSplitter::default());
        }
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

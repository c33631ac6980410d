//! Opens a file of curves: plain or gzip, any line ending, with the number of lines read so far.

use crate::error::Error;
use crate::{history, parquet};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Limits on the length of a line and on the size of an expanded file, since a small file can contain a gigabyte of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLimits {
    /// Bytes of a line.
    pub line: u64,
    /// Bytes that a compressed file may expand to; `None`: 64 MiB, or 200 times its size.
    pub file: Option<u64>,
}

impl Default for FileLimits {
    fn default() -> Self {
        Self { line: 8 << 20, file: None }
    }
}

impl FileLimits {
    fn expanded_limit(self, packed: u64) -> u64 {
        self.file.unwrap_or_else(|| packed.saturating_mul(200).max(64 << 20))
    }
}

/// A compressed file that may not expand without end.
struct LimitedDecoder<R> {
    inner: R,
    left: u64,
    packed: u64,
}

impl<R: Read> Read for LimitedDecoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            let packed = self.packed;
            too_large_error(format!(
                "its {packed} bytes expand to more than a curve file should contain. If this is intended, raise the limit with --largest-file MB"
            ))
        })?;
        Ok(read)
    }
}

fn too_large_error(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, text)
}

/// The two kinds of curve files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CurveFormat {
    /// A table with a header.
    Csv,
    /// One JSON object per line.
    JsonLines,
}

/// An open file: decompressed, without byte-order mark, every line ending in `\n`.
pub(crate) struct TextSource {
    file: PathBuf,
    gzip: bool,
    limits: FileLimits,
    reader: BufReader<LineNormalizer<Box<dyn Read>>>,
}

impl TextSource {
    /// Opens `file`; the first two bytes show whether it is gzip.
    pub(crate) fn open(file: &Path, limits: FileLimits) -> Result<Self, Error> {
        let mut raw = BufReader::with_capacity(1 << 16, File::open(file).map_err(Error::io_at(file))?);
        let start = raw.fill_buf().map_err(Error::io_at(file))?;
        let (gzip, parquet) = (start.starts_with(&[0x1f, 0x8b]), start.starts_with(b"PAR1"));
        let plain: Box<dyn Read> = if parquet {
            parquet::text(raw.into_inner()).map_err(Error::io_at(file))?
        } else if gzip {
            let packed = raw.get_ref().metadata().map_err(Error::io_at(file))?.len();
            Box::new(LimitedDecoder {
                left: limits.expanded_limit(packed),
                packed,
                inner: MultiGzDecoder::new(raw),
            })
        } else {
            Box::new(raw)
        };
        let mut reader = BufReader::with_capacity(1 << 16, LineNormalizer::new(plain, limits.line));
        let begins = reader.fill_buf().map_err(|source| read_error(file, gzip, 0, source))?;
        // a history has one list per metric, so that no row is complete before its end
        if !parquet && history::begins_one(begins) {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).map_err(|source| read_error(file, gzip, 0, source))?;
            // bytes that are no text are refused later, with their line, by the reader
            let table = std::str::from_utf8(&bytes).map_or(Ok(None), history::table);
            let table = table.map_err(|problem| Error::Old { file: file.to_owned(), problem })?;
            let plain: Box<dyn Read> = Box::new(io::Cursor::new(table.map_or(bytes, String::into_bytes)));
            reader = BufReader::with_capacity(1 << 16, LineNormalizer::new(plain, limits.line));
        }
        Ok(Self { file: file.to_owned(), gzip, limits, reader })
    }

    /// How large lines and the file may be.
    pub(crate) fn limits(&self) -> FileLimits {
        self.limits
    }

    /// The kind of the file, by its first character; an error if it is empty.
    pub(crate) fn kind(&mut self) -> Result<CurveFormat, Error> {
        let first = match self.reader.fill_buf() {
            Ok(bytes) => bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace()),
            Err(source) => return Err(self.error(0, source)),
        };
        match first {
            None => Err(Error::Empty { file: self.file.clone() }),
            Some(b'{' | b'[') => Ok(CurveFormat::JsonLines),
            Some(_) => Ok(CurveFormat::Csv),
        }
    }

    /// The separator of a table: the commonest of `,`, `;` and tab outside quotes in the first line.
    pub(crate) fn separator(&mut self) -> u8 {
        let bytes = self.reader.fill_buf().unwrap_or_default();
        let start = bytes.iter().position(|&byte| byte != b'\n').unwrap_or(0);
        let mut quoted = false;
        let mut counts = [0_usize; 3];
        for &byte in bytes[start..].iter().take_while(|&&byte| byte != b'\n') {
            quoted ^= byte == b'"';
            if let Some(at) = b",;\t".iter().position(|&s| s == byte && !quoted) {
                counts[at] += 1;
            }
        }
        // reversed, because the last of equal counts wins: a heading of one column gets the comma
        let best = (0..3).rev().max_by_key(|&at| counts[at]).expect("three separators");
        b",;\t"[best]
    }

    /// The path, for messages.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The error for a failure after `line`.
    pub(crate) fn error(&self, line: u64, source: io::Error) -> Error {
        read_error(&self.file, self.gzip, line, source)
    }

    /// Whether the file is compressed.
    pub(crate) fn is_gzip(&self) -> bool {
        self.gzip
    }

    /// The text.
    pub(crate) fn into_reader(self) -> impl BufRead {
        self.reader
    }
}

/// The error for a failed read; it distinguishes damaged gzip data from a failing disk.
pub(crate) fn read_error(file: &Path, gzip: bool, line: u64, source: io::Error) -> Error {
    let damaged = matches!(
        source.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
    );
    if gzip && damaged {
        return Error::Gzip { file: file.to_owned(), line, message: source.to_string() };
    }
    Error::io_at(file)(source)
}

/// Turns every line ending into `\n`, ends the last line, and drops a byte-order mark.
struct LineNormalizer<R> {
    inner: R,
    started: bool,
    after_return: bool,
    last: u8,
    pending: Option<io::Error>,
    /// Bytes of the line that is being read, and how many there may be.
    line: u64,
    longest: u64,
}

impl<R: Read> LineNormalizer<R> {
    fn new(inner: R, longest: u64) -> Self {
        Self { inner, started: false, after_return: false, last: b'\n', pending: None, line: 0, longest }
    }

    /// Counts the bytes of a line.
    fn check_line_length(&mut self, read: &[u8]) -> io::Result<()> {
        for part in read.split_inclusive(|&byte| byte == b'\n') {
            self.line += part.len() as u64;
            if self.line > self.longest {
                let megabytes = self.longest >> 20;
                return Err(too_large_error(format!(
                    "a line is longer than {megabytes} MB. If this is intended, raise the limit with --largest-line MB"
                )));
            }
            if part.ends_with(b"\n") {
                self.line = 0;
            }
        }
        Ok(())
    }

    /// Reads available bytes; the first time as many as fit, so that the whole header can be inspected.
    fn read_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        if self.started {
            return self.inner.read(buffer);
        }
        self.started = true;
        let mut filled = 0;
        while filled < buffer.len() {
            match self.inner.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if filled == 0 => return Err(error),
                Err(error) => {
                    // what was read before the error goes first, so that the error is named with its line
                    self.pending = Some(error);
                    break;
                }
            }
        }
        Ok(strip_byte_order_mark(buffer, filled))
    }

    /// Rewrites `buffer[..read]` in place; returns the number of remaining bytes.
    fn normalize_endings(&mut self, buffer: &mut [u8], read: usize) -> usize {
        let mut kept = 0;
        for at in 0..read {
            let byte = buffer[at];
            let repeated = self.after_return && byte == b'\n';
            self.after_return = byte == b'\r';
            if !repeated {
                buffer[kept] = if byte == b'\r' { b'\n' } else { byte };
                kept += 1;
            }
        }
        kept
    }
}

/// Takes a UTF-8 byte-order mark off the start of `buffer[..filled]`; returns the number of remaining bytes.
fn strip_byte_order_mark(buffer: &mut [u8], filled: usize) -> usize {
    if !buffer[..filled].starts_with(&[0xef, 0xbb, 0xbf]) {
        return filled;
    }
    buffer.copy_within(3..filled, 0);
    filled - 3
}

impl<R: Read> Read for LineNormalizer<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // a byte-order mark has three bytes, and would otherwise be seen in parts
        if buffer.len() < 3 {
            return Err(io::Error::other("a buffer of at least 3 bytes is needed"));
        }
        loop {
            let read = self.read_some(buffer)?;
            if read == 0 {
                let unfinished = self.last != b'\n';
                self.last = b'\n';
                buffer[0] = b'\n';
                return Ok(usize::from(unfinished));
            }
            let kept = self.normalize_endings(buffer, read);
            if kept > 0 {
                self.check_line_length(&buffer[..kept])?;
                self.last = buffer[kept - 1];
                return Ok(kept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_and_an_expanded_file_have_limits() {
        let long = format!("a\n{}\n", "b".repeat(50));
        let read = |longest| {
            let mut found = Vec::new();
            LineNormalizer::new(long.as_bytes(), longest)
                .read_to_end(&mut found)
                .map_err(|error| error.to_string())
        };
        assert!(read(51).is_ok());
        assert!(read(50).unwrap_err().contains("--largest-line"));
        let zeros = io::repeat(b'0').take(100);
        let mut expanding = LimitedDecoder { inner: zeros, left: 99, packed: 3 };
        let error = expanding.read_to_end(&mut Vec::new()).unwrap_err().to_string();
        assert!(error.starts_with("its 3 bytes expand") && error.contains("--largest-file"), "{error}");
        assert_eq!(
            [FileLimits::default().expanded_limit(10), FileLimits::default().expanded_limit(1 << 20)],
            [64 << 20, 200 << 20]
        );
    }

    #[test]
    fn every_line_ending_becomes_one() {
        let cases: [(&[u8], &str); 6] = [
            (b"a\nb\n", "a\nb\n"),
            (b"a\r\nb", "a\nb\n"),
            (b"a\rb\r", "a\nb\n"),
            (b"\xef\xbb\xbfa\n\r\nb", "a\n\nb\n"),
            (b"", ""),
            (b"ab", "ab\n"),
        ];
        for (text, expected) in cases {
            let mut read = Vec::new();
            BufReader::with_capacity(3, LineNormalizer::new(text, 100)).read_to_end(&mut read).unwrap();
            assert_eq!(String::from_utf8(read).unwrap(), expected, "{text:?}");
        }
    }
}

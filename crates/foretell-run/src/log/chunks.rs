//! The lines of a damaged log, taken apart and put together where newlines are damaged.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};

use super::line::{BEFORE_CHECKSUM, BEFORE_VERSION, LONGEST, split_line};
use super::recover::{nearly_begins, recover};

/// So many lines are put together at most: a record that is damaged in more places is lost.
const MAX_JOINED_LINES: usize = 8;

/// Some bytes of a log: a line, or what is left of one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LogChunk {
    /// The line that it begins in, from 1.
    pub(super) line: usize,
    /// Where it begins in the file.
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

/// The lines of a file, with a look ahead.
pub(super) struct LogChunks<F> {
    file: F,
    ahead: VecDeque<LogChunk>,
    line: usize,
    offset: u64,
}

impl<F: BufRead> LogChunks<F> {
    pub(super) fn new(file: F) -> Self {
        Self { file, ahead: VecDeque::new(), line: 1, offset: 0 }
    }

    /// The next line with its newline, or a part of one that is longer than any record.
    pub(super) fn next(&mut self) -> io::Result<Option<LogChunk>> {
        if let Some(chunk) = self.ahead.pop_front() {
            return Ok(Some(chunk));
        }
        let mut bytes = Vec::new();
        if Read::take(&mut self.file, LONGEST as u64).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        let chunk = LogChunk { line: self.line, offset: self.offset, bytes };
        self.line += usize::from(chunk.bytes.ends_with(b"\n"));
        self.offset += chunk.bytes.len() as u64;
        Ok(Some(chunk))
    }

    /// The record, or what may be left of one, at the beginning of a damaged line: with the lines after it that begin no record, because
    /// the newline before them was none; and without the record that begins inside, which is next.
    pub(super) fn piece(&mut self, mut chunk: LogChunk) -> io::Result<LogChunk> {
        let mut lines = 1;
        while lines < MAX_JOINED_LINES && nearly_begins(&chunk.bytes) && !is_known_line(&chunk.bytes) {
            let Some(next) = self.next()? else { break };
            if begins_line(&next.bytes) || is_known_line(&next.bytes) || chunk.bytes.len() > LONGEST {
                self.ahead.push_front(next);
                break;
            }
            chunk.bytes.extend(next.bytes);
            lines += 1;
        }
        let inside = (1..chunk.bytes.len()).find(|&place| begins_line(&chunk.bytes[place..]));
        if let Some(place) = inside.filter(|_| !is_known_line(&chunk.bytes)) {
            let bytes = chunk.bytes.split_off(place);
            let before = chunk.bytes.iter().filter(|&&byte| byte == b'\n').count();
            let (line, offset) = (chunk.line + before, chunk.offset + place as u64);
            self.ahead.push_front(LogChunk { line, offset, bytes });
        }
        Ok(chunk)
    }
}

/// Whether `text` is the beginning of a line. The version alone is not enough: records may begin with one, too.
fn begins_line(text: &[u8]) -> bool {
    let rest = text.strip_prefix(BEFORE_VERSION.as_bytes()).and_then(|rest| rest.get(1..));
    rest.is_some_and(|rest| rest.starts_with(BEFORE_CHECKSUM.as_bytes()))
}

fn is_known_line(line: &[u8]) -> bool {
    split_line(line).is_ok() || recover(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::line::{LineStamp, write_line};

    #[test]
    fn lines_whose_newlines_are_damaged_are_taken_apart_though_their_records_begin_like_lines() {
        let mut lines = Vec::new();
        for number in 1..=3 {
            let stamp = LineStamp { number, run: 1, time: 1_763_908_529_123 };
            write_line(&mut lines, Some(stamp), "{\"v\":1,\"event\":\"paused\"}");
        }
        let length = lines.len() / 3;
        for zeroed in [length - 1..length, 0..length, 5..length, length - 1..length + 9, 3..3] {
            let mut damaged = lines.clone();
            damaged[zeroed.clone()].fill(0);
            let whole = (0..3).filter(|line| {
                zeroed.is_empty() || zeroed.end <= line * length || line * length + length <= zeroed.start
            });
            let mut chunks = LogChunks::new(&damaged[..]);
            let mut known = Vec::new();
            while let Some(chunk) = chunks.next().expect("it is in memory") {
                let is_whole = split_line(&chunk.bytes).is_ok();
                let piece = if is_whole { chunk } else { chunks.piece(chunk).expect("it is in memory") };
                known.extend(is_known_line(&piece.bytes).then_some(piece.offset as usize / length));
            }
            let own_newline = (zeroed == (length - 1..length)).then_some(0);
            assert_eq!(known, own_newline.into_iter().chain(whole).collect::<Vec<_>>(), "{zeroed:?}");
        }
    }
}

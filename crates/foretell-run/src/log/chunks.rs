//! The lines of a damaged log, taken apart and put together where newlines are damaged.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use super::line::{BEFORE_CHECKSUM, BEFORE_VERSION, parts};
use super::recover::recover;

/// So much is put together at most.
const MOST: usize = 1 << 20;

/// Some bytes of a log: a line, or what is left of one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chunk {
    /// The line that it begins in, from 1.
    pub(super) line: usize,
    /// Where it begins in the file.
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

/// The lines of a file, with a look ahead.
pub(super) struct Chunks<F> {
    file: F,
    ahead: VecDeque<Chunk>,
    line: usize,
    offset: u64,
}

impl<F: BufRead> Chunks<F> {
    pub(super) fn new(file: F) -> Self {
        Self { file, ahead: VecDeque::new(), line: 0, offset: 0 }
    }

    /// The next line with its newline.
    pub(super) fn next(&mut self) -> io::Result<Option<Chunk>> {
        if let Some(chunk) = self.ahead.pop_front() {
            return Ok(Some(chunk));
        }
        let mut bytes = Vec::new();
        if self.file.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        let offset = self.offset;
        self.line += 1;
        self.offset += bytes.len() as u64;
        Ok(Some(Chunk { line: self.line, offset, bytes }))
    }

    /// The records, or what may be left of them, in a damaged line: with the lines after it that begin no record, because the
    /// newline before them was none; and apart where a record begins inside.
    pub(super) fn pieces(&mut self, mut chunk: Chunk) -> io::Result<Vec<Chunk>> {
        while !is_known(&chunk.bytes) && chunk.bytes.len() < MOST {
            let Some(next) = self.next()? else { break };
            if begins_line(&next.bytes) || is_known(&next.bytes) {
                self.ahead.push_front(next);
                break;
            }
            chunk.bytes.extend(next.bytes);
        }
        if is_known(&chunk.bytes) {
            return Ok(vec![chunk]);
        }
        let begins = |at: &usize| *at == 0 || begins_line(&chunk.bytes[*at..]);
        let begins: Vec<usize> = (0..chunk.bytes.len()).filter(begins).collect();
        let ends = begins.iter().skip(1).copied().chain([chunk.bytes.len()]);
        let piece = |(start, end): (usize, usize)| Chunk {
            line: chunk.line,
            offset: chunk.offset + start as u64,
            bytes: chunk.bytes[start..end].to_vec(),
        };
        Ok(begins.iter().copied().zip(ends).map(piece).collect())
    }
}

/// Whether `text` is the beginning of a line. The version alone is not enough: records may begin with one, too.
fn begins_line(text: &[u8]) -> bool {
    let rest = text.strip_prefix(BEFORE_VERSION.as_bytes()).and_then(|rest| rest.get(1..));
    rest.is_some_and(|rest| rest.starts_with(BEFORE_CHECKSUM.as_bytes()))
}

fn is_known(line: &[u8]) -> bool {
    parts(line).is_ok() || recover(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::line::{Stamp, write_line};

    #[test]
    fn lines_whose_newlines_are_damaged_are_taken_apart_though_their_records_begin_like_lines() {
        let mut lines = Vec::new();
        for number in 1..=3 {
            let stamp = Stamp { number, run: 1, time: 1_763_908_529_123 };
            write_line(&mut lines, Some(stamp), "{\"v\":1,\"event\":\"paused\"}");
        }
        let length = lines.len() / 3;
        for zeroed in [length - 1..length, 0..length, 5..length, length - 1..length + 9, 3..3] {
            let mut damaged = lines.clone();
            damaged[zeroed.clone()].fill(0);
            let whole = (0..3).filter(|line| {
                zeroed.is_empty() || zeroed.end <= line * length || line * length + length <= zeroed.start
            });
            let mut chunks = Chunks::new(&damaged[..]);
            let mut known = Vec::new();
            while let Some(chunk) = chunks.next().expect("it is in memory") {
                let pieces = if parts(&chunk.bytes).is_ok() {
                    vec![chunk]
                } else {
                    chunks.pieces(chunk).expect("it is in memory")
                };
                known.extend(
                    pieces
                        .iter()
                        .filter(|piece| is_known(&piece.bytes))
                        .map(|piece| piece.offset as usize / length),
                );
            }
            let own_newline = (zeroed == (length - 1..length)).then_some(0);
            assert_eq!(known, own_newline.into_iter().chain(whole).collect::<Vec<_>>(), "{zeroed:?}");
        }
    }
}

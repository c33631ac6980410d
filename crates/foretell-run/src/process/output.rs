//! A trial's output: split into lines, copied to `output.log`, the last lines kept for messages.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::log::room::{FullDiskWait, WaitingGuard, is_disk_full};

/// The file with a trial's output, in the trial's folder.
pub(crate) const OUTPUT_FILE: &str = "output.log";
/// The number of lines a failure message shows.
pub(crate) const TAIL_LINES: usize = 20;
/// The number of bytes of a line a message shows.
const SHOWN_BYTES: usize = 1_000;
/// Lines longer than this are cut, so that output without newlines cannot fill the memory.
pub(crate) const LINE_BYTES: usize = 1024 * 1024;
/// The number of bytes of a trial's output kept on disk.
const LOG_BYTES: u64 = 64 * 1024 * 1024;
/// The number of its bytes that wait in memory while they cannot be written.
const PENDING_BYTES: usize = 1024 * 1024;

/// Splits a stream of bytes into lines; a carriage return ends a line, too, as progress bars use it.
///
/// Whether the next line is drawn over one is only known by the byte after its carriage returns: a newline ends the line as usual.
#[derive(Debug, Default)]
pub(crate) struct LineSplitter {
    line: Vec<u8>,
    cut: bool,
    /// Whether a carriage return followed the line.
    is_returned: bool,
}

/// A line without its end. One that was `cut` to [`LINE_BYTES`] is shown, but no report is read from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutputLine<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) cut: bool,
    /// Whether a carriage return ends it: the next line is drawn over it.
    pub(crate) transient: bool,
    /// The number of the pushed bytes up to its end.
    pub(crate) end: usize,
}

impl LineSplitter {
    /// Takes the next `bytes`, and hands over each line that they complete; empty lines are left out.
    pub(crate) fn push(&mut self, bytes: &[u8], mut hand_over: impl FnMut(OutputLine<'_>)) {
        let mut end = 0;
        for part in bytes.split_inclusive(|&byte| byte == b'\n' || byte == b'\r') {
            if self.is_returned && !matches!(part, b"\n" | b"\r") {
                self.finish_line(true, end, &mut hand_over);
            }
            end += part.len();
            match part.split_last() {
                Some((b'\n', content)) => {
                    self.extend(content);
                    self.finish_line(false, end, &mut hand_over);
                }
                Some((b'\r', content)) => {
                    self.extend(content);
                    self.is_returned = !self.line.is_empty();
                }
                _ => self.extend(part),
            }
        }
    }

    /// The rest after the last line's end, and whether a carriage return ends it.
    pub(crate) fn into_rest(self) -> (Vec<u8>, bool) {
        (self.line, self.is_returned)
    }

    fn extend(&mut self, bytes: &[u8]) {
        let taken = bytes.len().min(LINE_BYTES - self.line.len());
        self.line.extend_from_slice(&bytes[..taken]);
        self.cut |= taken < bytes.len();
    }

    fn finish_line(&mut self, transient: bool, end: usize, hand_over: &mut impl FnMut(OutputLine<'_>)) {
        if !self.line.is_empty() {
            hand_over(OutputLine { bytes: &self.line, cut: self.cut, transient, end });
        }
        self.line.clear();
        (self.cut, self.is_returned) = (false, false);
    }
}

/// The last [`TAIL_LINES`] lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputTail {
    lines: VecDeque<String>,
}

impl OutputTail {
    /// Adds a line, and forgets the oldest when there are too many.
    pub(crate) fn push(&mut self, line: &[u8]) {
        if self.lines.len() == TAIL_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(printable_start(line));
    }

    /// The lines, oldest first.
    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines.into()
    }
}

/// The start of a line as text, for messages: programs color what they print to a terminal.
pub(crate) fn printable_start(line: &[u8]) -> String {
    let start = String::from_utf8_lossy(&line[..line.len().min(SHOWN_BYTES)]);
    console::strip_ansi_codes(&start).into_owned()
}

/// The file that keeps a trial's output: what it printed before a pause, a restart or a crash stays in front.
///
/// A full disk does not end a trial: unwritten output waits here, and where that is too much, the log shows how much is missing.
#[derive(Debug)]
pub(crate) struct OutputLog<W = File> {
    file: W,
    room: u64,
    /// The bytes not written yet.
    pending: Vec<u8>,
    /// The number of bytes left out since, because there was no room here either.
    missing: usize,
    /// Whether a full disk refused the last write.
    is_full: bool,
    /// Whether another error was said.
    is_refused: bool,
    path: PathBuf,
    /// Says that it is waited for.
    disk: FullDiskWait,
    waiting: Option<WaitingGuard>,
}

impl OutputLog {
    /// Opens the log at `path`, or makes it.
    pub(crate) fn open(path: &Path, disk: FullDiskWait) -> io::Result<Self> {
        let file = crate::log::no_links::open(OpenOptions::new().append(true).create(true), path)?;
        let room = LOG_BYTES.saturating_sub(file.metadata()?.len());
        Ok(Self { disk, path: path.to_owned(), ..Self::with_file(file, room) })
    }
}

impl<W: Write> OutputLog<W> {
    fn with_file(file: W, room: u64) -> Self {
        let disk = FullDiskWait::default();
        Self {
            file,
            room,
            pending: Vec::new(),
            missing: 0,
            is_full: false,
            is_refused: false,
            path: PathBuf::new(),
            disk,
            waiting: None,
        }
    }

    /// Adds `text`, as long as there is room for it.
    pub(crate) fn write(&mut self, text: &[u8]) {
        let fits = text.len() as u64 <= self.room;
        if fits {
            self.write_or_keep(text);
            self.room -= text.len() as u64;
        } else if self.room > 0 {
            self.write_or_keep(
                format!("[foretell keeps {LOG_BYTES} bytes of output; the rest is left out]\n").as_bytes(),
            );
            self.room = 0;
        }
    }

    /// Whether it waits for room on a full disk, which is said; tries again.
    pub(crate) fn is_waiting(&mut self) -> bool {
        self.write_pending();
        if self.is_full {
            let cause = "the output of a trial cannot be written";
            self.waiting.get_or_insert_with(|| self.disk.begin_wait(cause));
        } else if let Some(waiting) = self.waiting.take() {
            waiting.announce_free_space();
        }
        self.is_full
    }

    fn write_or_keep(&mut self, text: &[u8]) {
        // what is read at once may be longer than all that waits
        let fits = self.pending.is_empty() || self.pending.len() + text.len() <= PENDING_BYTES;
        // after a gap nothing more is kept until the gap is noted, so that the note stands where the bytes are missing
        if self.missing == 0 && fits {
            self.pending.extend_from_slice(text);
        } else {
            self.missing += text.len();
        }
        self.write_pending();
    }

    fn write_pending(&mut self) {
        self.is_full = false;
        while !self.pending.is_empty() {
            match self.file.write(&self.pending) {
                Ok(written) if written > 0 => drop(self.pending.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                refused => {
                    self.is_full = refused.as_ref().is_err_and(|error| is_disk_full(error));
                    if let Some(error) = refused.err().filter(|_| !self.is_full && !self.is_refused) {
                        self.is_refused = true;
                        self.disk.say(&format!(
                            "{}: {error}. Further output of the trial is not kept",
                            self.path.display()
                        ));
                    }
                    return;
                }
            }
            if self.pending.is_empty() && self.missing > 0 {
                let missing = std::mem::take(&mut self.missing);
                let said = format!(
                    "[foretell: there was no room on the disk; {missing} bytes of output are missing here]\n"
                );
                self.pending = said.into_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        FullDiskWait, LINE_BYTES, LOG_BYTES, LineSplitter, OutputLine, OutputLog, OutputTail, PENDING_BYTES,
        TAIL_LINES,
    };
    use proptest::prelude::*;

    /// Each line with whether it was cut, and whether the next is drawn over it; and the rest.
    type Split = (Vec<(Vec<u8>, bool, bool)>, (Vec<u8>, bool));

    fn lines(chunks: &[&[u8]]) -> Split {
        let mut splitter = LineSplitter::default();
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.push(chunk, |OutputLine { bytes, cut, transient, .. }| {
                lines.push((bytes.to_vec(), cut, transient));
            });
        }
        (lines, splitter.into_rest())
    }

    #[test]
    fn splits_at_newlines_and_carriage_returns() {
        let (found, rest) = lines(&[b"one\ntw", b"o\r\r\nthree\r\rfour\r\n\r\nfive\r", b"\nsix\r"]);
        let found: Vec<_> =
            found.iter().map(|(line, _, is_transient)| (line.as_slice(), *is_transient)).collect();
        let ended = |line: &'static str| (line.as_bytes(), false);
        assert_eq!(found, [ended("one"), ended("two"), (b"three", true), ended("four"), ended("five")]);
        assert_eq!(rest, (b"six".to_vec(), true));
    }

    #[test]
    fn a_line_without_end_is_cut_and_takes_bounded_memory() {
        let flood = vec![b'x'; 100_000];
        let mut chunks: Vec<&[u8]> = vec![&flood; 50];
        chunks.push(b"\nnext\n");
        let (found, rest) = lines(&chunks);
        assert_eq!((found[0].0.len(), found[0].1), (LINE_BYTES, true));
        assert_eq!(found[1], (b"next".to_vec(), false, false));
        assert!(rest.0.is_empty());
    }

    #[test]
    fn keeps_the_last_lines_only() {
        let mut tail = OutputTail::default();
        (0..100).for_each(|number| tail.push(format!("line {number}").as_bytes()));
        let lines = tail.into_lines();
        assert_eq!(lines.len(), TAIL_LINES);
        assert_eq!((lines[0].as_str(), lines[TAIL_LINES - 1].as_str()), ("line 80", "line 99"));
    }

    #[test]
    fn messages_show_no_colors() {
        assert_eq!(
            super::printable_start(b"\x1b[1;35mValueError\x1b[0m: \x1b[35mno\x1b[0m"),
            "ValueError: no"
        );
    }

    #[test]
    fn a_flood_of_output_takes_bounded_disk() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("output.log");
        let mut log = OutputLog::open(&path, FullDiskWait::default()).expect("the log opens");
        log.write(b"first\n");
        log.room = 10; // as if nearly all were used
        log.write(b"0123456789abcdef\n");
        log.write(b"more\n");
        let text = std::fs::read_to_string(&path).expect("readable");
        assert!(text.starts_with("first\n[foretell keeps") && !text.contains("more"), "{text}");
        assert!(text.contains(&LOG_BYTES.to_string()));
    }

    /// A disk with so much room.
    #[derive(Default)]
    struct Disk {
        text: Vec<u8>,
        room: usize,
    }

    impl std::io::Write for Disk {
        fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
            let fits = text.len().min(self.room - self.text.len());
            self.text.extend(&text[..fits]);
            if fits > 0 { Ok(fits) } else { Err(std::io::ErrorKind::StorageFull.into()) }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_that_is_longer_than_what_may_wait_loses_nothing_of_what_follows() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("output.log");
        let mut log = OutputLog::open(&path, FullDiskWait::default()).expect("the log opens");
        log.write(b"first\n");
        log.write(&[vec![b'x'; LINE_BYTES], b"\nmore\n".to_vec()].concat());
        log.write(b"last\n");
        let text = std::fs::read_to_string(&path).expect("readable");
        assert!(text.starts_with("first\nxxx") && text.ends_with("x\nmore\nlast\n"), "{}", text.len());
    }

    #[test]
    fn output_waits_for_room_on_a_full_disk_and_what_did_not_fit_is_said() {
        let mut log = OutputLog::with_file(Disk { room: 9, ..Disk::default() }, LOG_BYTES);
        log.write(b"before\n");
        assert!(!log.is_waiting());
        log.write(b"waits\n");
        assert!(log.is_waiting());
        assert_eq!(log.file.text, b"before\nwa");
        log.file.room = 100;
        assert!(!log.is_waiting());
        assert_eq!(log.file.text, b"before\nwaits\n");
        log.file.room = 13;
        let flood = vec![b'x'; PENDING_BYTES];
        log.write(&flood);
        log.write(b"lost\n");
        log.write(b"too\n");
        log.file.room = usize::MAX;
        log.write(b"after\n");
        log.write(b"and on\n");
        let text = String::from_utf8(log.file.text).expect("text");
        assert!(text.starts_with("before\nwaits\nxxx"), "nothing overtakes");
        let said = "no room on the disk; 15 bytes of output are missing here]\nand on\n";
        assert!(text.ends_with(said), "{}", &text[text.len() - 100..]);
    }

    proptest! {
        #[test]
        fn how_the_stream_is_cut_into_chunks_does_not_matter(text in "[ab\r\n]{0,40}", at in 0_usize..40) {
            let bytes = text.as_bytes();
            let (head, rest) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(lines(&[head, rest]), lines(&[bytes]));
        }
    }
}

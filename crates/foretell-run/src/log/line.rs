//! One line of the event log: format version, checksum, sequence number, run, time, record.

use std::io::{self, BufRead, Read};

use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use thiserror::Error;

use crc32fast::hash as crc32;

/// The version of the line format that this crate writes. It reads version 1, too: lines without number, run and time.
pub(crate) const VERSION: u32 = 2;
pub(super) const UNNUMBERED_VERSION: u32 = 1;
/// The most bytes of a line: a log that holds a longer one, such as the zeros that a crash left at its end, takes no more memory.
pub(super) const LONGEST: usize = 16 << 20;

pub(super) const BEFORE_VERSION: &str = "{\"v\":";
pub(super) const BEFORE_CHECKSUM: &str = ",\"crc\":\"";
const BEFORE_BODY: &str = "\",";
const BEFORE_NUMBER: &str = "\"seq\":";
const BEFORE_RUN: &str = ",\"run\":";
const BEFORE_TIME: &str = ",\"time\":";
const BEFORE_RECORD: &str = "\"record\":";
const AFTER_RECORD: &str = "}";

/// The metadata of a line. No decision depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineStamp {
    /// The record's sequence number, which is also its line: 1, 2, 3, …
    pub number: u64,
    /// The opening of the log that wrote it: 1, 2, 3, … Between two runs nobody was writing.
    pub run: u32,
    /// When it was written, in milliseconds since the beginning of 1970 (UTC).
    pub time: u64,
}

/// A problem with a line of the event log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LineProblem {
    /// The beginning of a line that was being written: its newline is missing, and nothing in it is damaged.
    #[error("it is cut short")]
    CutShort,
    /// The line is longer than any record.
    #[error("it is longer than {LONGEST} bytes, the maximum for a record")]
    TooLong,
    /// The frame `{"v":2,"crc":"…","seq":…,"run":…,"time":…,"record":…}` around the record is broken.
    #[error(
        "it is not of the form {{\"v\":{VERSION},\"crc\":\"…\",\"seq\":…,\"run\":…,\"time\":…,\"record\":…}}"
    )]
    Frame,
    /// The line holds a whole record and more: the newline after that record is damaged.
    #[error("it contains more than one record, because the newline between them is damaged")]
    JoinedRecords,
    /// The record's text is not the one that was written.
    #[error("its checksum is {found:08x}, but {written:08x} was written")]
    Checksum {
        /// The checksum in the line.
        written: u32,
        /// The checksum of the record's text as it is now.
        found: u32,
    },
    /// The record is not the one that is due in this line.
    #[error("its sequence number is {found} instead of {due}: {}", misplacement(*found, *due))]
    Sequence {
        /// The number in the line.
        found: u64,
        /// The number that follows the line before it.
        due: u64,
    },
    /// The line has no sequence number, but one before it has.
    #[error("it contains no sequence number, unlike the lines before it: it was inserted or moved")]
    Unnumbered,
    /// The line was written in another format version.
    #[error("its format version is {found}, but this program reads {VERSION}. Use a newer foretell")]
    Version {
        /// The version in the line.
        found: u32,
    },
    /// One bit of the line is not the one that was written: its checksum tells which.
    #[error("bit {bit} of its byte {byte} was flipped")]
    FlippedBit {
        /// The byte, from 1.
        byte: usize,
        /// The bit, from 0.
        bit: usize,
    },
    /// An editor or a transfer has put a byte-order mark before the line, or a carriage return behind it.
    #[error("an editor or a transfer added a byte-order mark before it, or a carriage return after it")]
    Edited,
    /// The text is what was written, but not a record that this program knows.
    #[error(
        "the record is intact, but this program cannot read it: {problem}. Use a newer foretell, or the one that wrote it"
    )]
    Record {
        /// The error of the decoder.
        problem: String,
    },
}

impl LineProblem {
    /// Whether the bytes are not those that were written (as opposed to written by another program).
    pub fn is_damage(&self) -> bool {
        use LineProblem::{Edited, FlippedBit, JoinedRecords, Sequence, TooLong, Unnumbered};
        let is_other = matches!(
            self,
            TooLong | JoinedRecords | Sequence { .. } | Unnumbered | FlippedBit { .. } | Edited
        );
        is_other || matches!(self, Self::CutShort | Self::Frame | Self::Checksum { .. })
    }
}

/// The explanation of a wrong sequence number.
fn misplacement(found: u64, due: u64) -> String {
    match found.checked_sub(due) {
        Some(1) => format!("line {due} was removed or moved"),
        Some(missing) => format!("{missing} lines before it were removed or moved"),
        None => format!("it is a copy of line {found}, or was moved"),
    }
}

/// Adds the line, newline included, that holds `record`.
///
/// # Errors
/// When the record has no JSON form; `lines` is as it was.
pub(crate) fn encode_into<R: Serialize>(
    lines: &mut Vec<u8>,
    stamp: LineStamp,
    record: &R,
) -> Result<(), serde_json::Error> {
    let text = serde_json::to_string(record)?;
    write_line(lines, Some(stamp), &text);
    Ok(())
}

/// Adds the line, newline included, that holds the record with this `text`; without a stamp one of version 1.
pub(super) fn write_line(lines: &mut Vec<u8>, stamp: Option<LineStamp>, text: &str) {
    let (version, body, crc) = match stamp {
        None => (UNNUMBERED_VERSION, format!("{BEFORE_RECORD}{text}"), crc32(text.as_bytes())),
        Some(LineStamp { number, run, time }) => {
            let stamp = format!("{BEFORE_NUMBER}{number}{BEFORE_RUN}{run}{BEFORE_TIME}{time},");
            let body = stamp + BEFORE_RECORD + text;
            let crc = crc32(body.as_bytes());
            (VERSION, body, crc)
        }
    };
    let head = format!("{BEFORE_VERSION}{version}{BEFORE_CHECKSUM}{crc:08x}{BEFORE_BODY}");
    for part in [&head, &body, AFTER_RECORD, "\n"] {
        lines.extend_from_slice(part.as_bytes());
    }
}

/// The record in `line`, which ends with its newline, and the line's stamp; lines of version 1 have none.
pub(crate) fn decode_line<R: DeserializeOwned>(line: &[u8]) -> Result<(Option<LineStamp>, R), LineProblem> {
    let (stamp, text) = split_line(line)?;
    let record = serde_json::from_slice(text)
        .map_err(|error| LineProblem::Record { problem: without_place(&error) })?;
    Ok((stamp, record))
}

/// The stamp and the record's text of `line`, which ends with its newline.
pub(super) fn split_line(line: &[u8]) -> Result<(Option<LineStamp>, &[u8]), LineProblem> {
    if line.len() > LONGEST {
        return Err(LineProblem::TooLong);
    }
    let whole = line.strip_suffix(b"\n");
    parse_frame(
        whole.ok_or_else(|| if is_cut_short(line) { LineProblem::CutShort } else { LineProblem::Frame })?,
    )
}

/// Whether `line`, which has no newline, is the beginning of a line, as a write that was cut short leaves it. Zeros, rubbish and a
/// second record in it are damage instead: acknowledged records may have stood there.
fn is_cut_short(line: &[u8]) -> bool {
    let start = BEFORE_VERSION.as_bytes();
    let begins = if line.len() < start.len() { start.starts_with(line) } else { line.starts_with(start) };
    // a number that ends after its sign, point or exponent is no JSON, but the text before it is a beginning
    let before_number =
        line.iter().rposition(|byte| !b"+-.eE0123456789".contains(byte)).map_or(0, |end| end + 1);
    begins && (begins_json(line) || begins_json(&line[..before_number]))
}

/// Whether `text` is a JSON value, or the beginning of one.
fn begins_json(text: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => values.byte_offset() == text.len(),
        Some(Err(error)) => error.is_eof(),
        None => false,
    }
}

/// The sequence number of a line that may be cut short behind it.
pub(super) fn number_of_cut_line(line: &[u8]) -> Option<u64> {
    let place = line.windows(BEFORE_NUMBER.len()).position(|text| text == BEFORE_NUMBER.as_bytes())?;
    let (found, rest) = parse_number(&line[place..], BEFORE_NUMBER).ok()?;
    rest.starts_with(b",").then_some(found)
}

/// Reads a line into `line`, at most [`LONGEST`] bytes of it; answers its length, and whether more of it was passed over up to its newline.
pub(super) fn read_line(file: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<(u64, bool)> {
    line.clear();
    let mut length = Read::take(&mut *file, LONGEST as u64).read_until(b'\n', line)? as u64;
    if line.len() < LONGEST || line.ends_with(b"\n") {
        return Ok((length, false));
    }
    loop {
        let rest = file.fill_buf()?;
        let newline = rest.iter().position(|&byte| byte == b'\n');
        let passed = newline.map_or(rest.len(), |place| place + 1);
        length += passed as u64;
        file.consume(passed);
        if newline.is_some() || passed == 0 {
            return Ok((length, newline.is_some()));
        }
    }
}

/// The error of the decoder, without the place in the record's text: the line and its column mean nothing in the log.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(problem, _)| problem.to_owned())
}

/// `problem`, or [`LineProblem::JoinedRecords`] when the damaged `line` starts with a whole one and another follows, or
/// [`LineProblem::Frame`] when its version is damaged: with the right one its checksum is right. A later version must let its
/// checksum cover its version, so that its lines are not taken for such.
pub(crate) fn diagnose_line(line: &[u8], problem: LineProblem) -> LineProblem {
    if matches!(problem, LineProblem::Version { .. }) && is_of_known_version(line) {
        return LineProblem::Frame;
    }
    let mut second = (1..line.len()).filter(|at| line[*at..].starts_with(BEFORE_VERSION.as_bytes()));
    let joined = problem.is_damage() && second.any(|at| parse_frame(&line[..at - 1]).is_ok());
    if joined { LineProblem::JoinedRecords } else { problem }
}

/// Whether `line` is whole but for the digit of its version.
fn is_of_known_version(line: &[u8]) -> bool {
    let mut line = line.to_vec();
    let at = BEFORE_VERSION.len();
    [UNNUMBERED_VERSION, VERSION].into_iter().any(|version| {
        line.get_mut(at).is_some_and(|digit| {
            *digit = b'0' + version as u8;
            true
        }) && split_line(&line).is_ok()
    })
}

/// The stamp and the record's text, once frame, version and checksum are found right.
///
/// The frame is compared byte by byte rather than parsed as JSON, so that no bit of it can change unnoticed.
fn parse_frame(line: &[u8]) -> Result<(Option<LineStamp>, &[u8]), LineProblem> {
    let (version, rest) = parse_number(line, BEFORE_VERSION)?;
    let rest = strip_start(rest, BEFORE_CHECKSUM)?;
    let found = u32::try_from(version).map_err(|_| LineProblem::Frame)?;
    // before anything else is looked at: in a later version the rest may be different, which is no damage
    if ![UNNUMBERED_VERSION, VERSION].contains(&found) {
        return Err(LineProblem::Version { found });
    }
    let (crc, rest) = rest.split_at_checked(8).ok_or(LineProblem::Frame)?;
    let rest = strip_start(rest, BEFORE_BODY)?;
    let body = rest.strip_suffix(AFTER_RECORD.as_bytes()).ok_or(LineProblem::Frame)?;
    let written = std::str::from_utf8(crc).map_err(|_| LineProblem::Frame)?;
    let written = u32::from_str_radix(written, 16).map_err(|_| LineProblem::Frame)?;
    if found == UNNUMBERED_VERSION {
        let text = strip_start(body, BEFORE_RECORD)?;
        return check_checksum(written, crc32(text)).map(|()| (None, text));
    }
    let (number_is, rest) = parse_number(body, BEFORE_NUMBER)?;
    let (run, rest) = parse_number(rest, BEFORE_RUN)?;
    let (time, rest) = parse_number(rest, BEFORE_TIME)?;
    let text = strip_start(strip_start(rest, ",")?, BEFORE_RECORD)?;
    check_checksum(written, crc32(body))?;
    let run = u32::try_from(run).map_err(|_| LineProblem::Frame)?;
    Ok((Some(LineStamp { number: number_is, run, time }), text))
}

fn check_checksum(written: u32, found: u32) -> Result<(), LineProblem> {
    if written == found { Ok(()) } else { Err(LineProblem::Checksum { written, found }) }
}

/// The text that follows `start`.
fn strip_start<'a>(text: &'a [u8], start: &str) -> Result<&'a [u8], LineProblem> {
    text.strip_prefix(start.as_bytes()).ok_or(LineProblem::Frame)
}

/// The number that follows `start`, and what follows it.
fn parse_number<'a>(text: &'a [u8], start: &str) -> Result<(u64, &'a [u8]), LineProblem> {
    let rest = strip_start(text, start)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = rest.split_at(digits);
    let number = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
    number.map(|number| (number, rest)).ok_or(LineProblem::Frame)
}

#[cfg(test)]
mod tests {
    use super::{LineProblem, LineStamp, decode_line, encode_into};
    use serde::Serialize;

    const STAMP: LineStamp = LineStamp { number: 4, run: 2, time: 1_763_908_529_123 };

    fn encode<R: Serialize>(record: &R) -> Result<Vec<u8>, serde_json::Error> {
        let mut line = Vec::new();
        encode_into(&mut line, STAMP, record).map(|()| line)
    }

    #[test]
    fn a_line_is_json_that_others_can_read() {
        let line = encode(&serde_json::json!({"trial": 3})).expect("a plain value encodes");
        let value: serde_json::Value = serde_json::from_slice(&line).expect("a line is JSON");
        assert_eq!(value["v"], 2);
        assert_eq!(value["seq"], 4);
        assert_eq!(value["run"], 2);
        assert_eq!(value["time"], 1_763_908_529_123_u64);
        assert_eq!(value["record"]["trial"], 3);
        assert_eq!(value["crc"].as_str().map(str::len), Some(8));
        assert_eq!(decode_line::<serde_json::Value>(&line).expect("it is readable").0, Some(STAMP));
    }

    #[test]
    fn a_line_of_the_first_version_is_read() {
        let line = b"{\"v\":1,\"crc\":\"6abf4a82\",\"record\":7}\n";
        assert_eq!(decode_line::<u32>(line), Ok((None, 7)));
    }

    #[test]
    fn says_what_is_wrong_with_a_line() {
        let good = String::from_utf8(encode(&7_u32).expect("a number encodes")).expect("JSON is UTF-8");
        let cases = [
            (good.trim_end().to_owned(), "cut short"),
            (good.replace("record", "rekord"), "not of the form"),
            (good.replace(":7}", ":8}"), "checksum"),
            (good.replace("\"seq\":4", "\"seq\":5"), "checksum"),
            (good.replace("\"time\":1", "\"time\":2"), "checksum"),
            (good.replace("\"run\":2", "\"run\":x"), "not of the form"),
            (good.replace("\"v\":2", "\"v\":3"), "newer foretell"),
            (good.replace("\"v\":2", "\"v\":1"), "not of the form"),
            (good.replace("\"v\":2", "\"v\":"), "not of the form"),
            ("\n".to_owned(), "not of the form"),
        ];
        for (line, expected) in cases {
            let problem = decode_line::<u32>(line.as_bytes()).expect_err(&line).to_string();
            assert!(problem.contains(expected), "{line:?} gave {problem:?}");
        }
    }

    #[test]
    fn a_record_of_another_kind_is_not_taken_for_damage() {
        let line = encode(&"text").expect("a string encodes");
        let problem = decode_line::<u32>(&line).expect_err("a string is no number");
        assert!(matches!(problem, LineProblem::Record { .. }));
        assert!(!problem.is_damage());
    }
}

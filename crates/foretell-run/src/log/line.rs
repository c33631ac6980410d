//! One line of the event log: format version, checksum, record.

use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

use super::checksum::crc32;

/// The version of the line format that this crate writes.
pub(crate) const VERSION: u32 = 1;

const BEFORE_VERSION: &str = "{\"v\":";
const BEFORE_CHECKSUM: &str = ",\"crc\":\"";
const BEFORE_RECORD: &str = "\",\"record\":";
const AFTER_RECORD: &str = "}";

/// What is wrong with a line of the event log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LineProblem {
    /// The line does not end with a newline: its writing was cut short.
    #[error("it is cut short")]
    Cut,
    /// The frame `{"v":1,"crc":"…","record":…}` around the record is broken.
    #[error("it is not of the form {{\"v\":{VERSION},\"crc\":\"…\",\"record\":…}}")]
    Frame,
    /// The line holds a whole record and more: the newline after that record is damaged.
    #[error("it holds more than one record: the newline between them is damaged")]
    Joined,
    /// The record's text is not the one that was written.
    #[error("its checksum is {found:08x}, but {written:08x} was written")]
    Checksum {
        /// The checksum in the line.
        written: u32,
        /// The checksum of the record's text as it is now.
        found: u32,
    },
    /// The line was written in another format version.
    #[error("its format version is {found}, this program reads {VERSION}: use a newer foretell")]
    Version {
        /// The version in the line.
        found: u32,
    },
    /// The text is what was written, but not a record that this program knows.
    #[error(
        "the record is whole, but this program cannot read it: {problem}; use a newer foretell, or the one that wrote it"
    )]
    Record {
        /// What the decoder said.
        problem: String,
    },
}

impl LineProblem {
    /// Whether the bytes are not those that were written (as opposed to written by another program).
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Cut | Self::Frame | Self::Joined | Self::Checksum { .. })
    }
}

/// Adds the line, newline included, that holds `record`: `{"v":1,"crc":"9ae0daaf","record":…}`.
///
/// # Errors
/// When the record has no JSON form; `lines` is as it was.
pub(crate) fn encode_into<R: Serialize>(lines: &mut Vec<u8>, record: &R) -> Result<(), serde_json::Error> {
    let text = serde_json::to_string(record)?;
    let crc = crc32(text.as_bytes());
    let head = format!("{BEFORE_VERSION}{VERSION}{BEFORE_CHECKSUM}{crc:08x}{BEFORE_RECORD}");
    for part in [&head, &text, AFTER_RECORD, "\n"] {
        lines.extend_from_slice(part.as_bytes());
    }
    Ok(())
}

/// The record in `line`, which ends with its newline.
pub(crate) fn decode<R: DeserializeOwned>(line: &[u8]) -> Result<R, LineProblem> {
    let text = record_text(line.strip_suffix(b"\n").ok_or(LineProblem::Cut)?)?;
    serde_json::from_slice(text).map_err(|error| LineProblem::Record { problem: without_place(&error) })
}

/// What the decoder said, without the place in the record's text: the line and its column mean nothing in the log.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(problem, _)| problem.to_owned())
}

/// `problem`, or [`LineProblem::Joined`] when the damaged `line` starts with a whole one and another follows.
pub(crate) fn diagnose(line: &[u8], problem: LineProblem) -> LineProblem {
    let starts = |at: &usize| line[*at..].starts_with(BEFORE_VERSION.as_bytes());
    let mut second = (1..line.len()).filter(starts);
    let joined = problem.is_damage() && second.any(|at| record_text(&line[..at - 1]).is_ok());
    if joined { LineProblem::Joined } else { problem }
}

/// The record's text, once frame, version and checksum are found right.
///
/// The frame is compared byte by byte rather than parsed as JSON, so that no bit of it can change unnoticed.
fn record_text(line: &[u8]) -> Result<&[u8], LineProblem> {
    let rest = line.strip_prefix(BEFORE_VERSION.as_bytes()).ok_or(LineProblem::Frame)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (version, rest) = rest.split_at(digits);
    let rest = rest.strip_prefix(BEFORE_CHECKSUM.as_bytes()).ok_or(LineProblem::Frame)?;
    let found = parse(version, 10)?;
    if found != VERSION {
        return Err(LineProblem::Version { found });
    }
    let (crc, rest) = rest.split_at_checked(8).ok_or(LineProblem::Frame)?;
    let rest = rest.strip_prefix(BEFORE_RECORD.as_bytes()).ok_or(LineProblem::Frame)?;
    let text = rest.strip_suffix(AFTER_RECORD.as_bytes()).ok_or(LineProblem::Frame)?;
    check(parse(crc, 16)?, crc32(text)).map(|()| text)
}

fn check(written: u32, found: u32) -> Result<(), LineProblem> {
    if written == found { Ok(()) } else { Err(LineProblem::Checksum { written, found }) }
}

fn parse(digits: &[u8], radix: u32) -> Result<u32, LineProblem> {
    let text = std::str::from_utf8(digits).map_err(|_| LineProblem::Frame)?;
    u32::from_str_radix(text, radix).map_err(|_| LineProblem::Frame)
}

#[cfg(test)]
mod tests {
    use super::{LineProblem, decode, encode_into};
    use serde::Serialize;

    fn encode<R: Serialize>(record: &R) -> Result<Vec<u8>, serde_json::Error> {
        let mut line = Vec::new();
        encode_into(&mut line, record).map(|()| line)
    }

    #[test]
    fn a_line_is_json_that_others_can_read() {
        let line = encode(&serde_json::json!({"trial": 3})).expect("a plain value encodes");
        let value: serde_json::Value = serde_json::from_slice(&line).expect("a line is JSON");
        assert_eq!(value["v"], 1);
        assert_eq!(value["record"]["trial"], 3);
        assert_eq!(value["crc"].as_str().map(str::len), Some(8));
    }

    #[test]
    fn says_what_is_wrong_with_a_line() {
        let good = String::from_utf8(encode(&7_u32).expect("a number encodes")).expect("JSON is UTF-8");
        let cases = [
            (good.trim_end().to_owned(), "cut short"),
            (good.replace("record", "rekord"), "not of the form"),
            (good.replace(":7}", ":8}"), "checksum"),
            (good.replace("\"v\":1", "\"v\":2"), "newer foretell"),
            (good.replace("\"v\":1", "\"v\":"), "not of the form"),
            ("\n".to_owned(), "not of the form"),
        ];
        for (line, expected) in cases {
            let problem = decode::<u32>(line.as_bytes()).expect_err(&line).to_string();
            assert!(problem.contains(expected), "{line:?} gave {problem:?}");
        }
    }

    #[test]
    fn a_record_of_another_kind_is_not_taken_for_damage() {
        let line = encode(&"text").expect("a string encodes");
        let problem = decode::<u32>(&line).expect_err("a string is no number");
        assert!(matches!(problem, LineProblem::Record { .. }));
        assert!(!problem.is_damage());
    }
}

//! Recovery of a damaged line, where its checksum proves the original.

use super::checksum::flipped_bit;
use super::line::{BEFORE_CHECKSUM, BEFORE_VERSION, LineProblem, UNNUMBERED_VERSION, VERSION, split_line};
use crc32fast::hash as crc32;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// The bytes of `{"v":2,"crc":"9ae0daaf",`, which no checksum covers.
const HEAD_BYTES: usize = 24;
/// The bytes of `}` and the newline.
const TAIL_BYTES: usize = 2;
/// Where the body of an unnumbered line begins that its checksum covers.
const UNNUMBERED_BODY: usize = HEAD_BYTES + "\"record\":".len();

/// The line that was written in the place of `line`, which is damaged, and what happened to it. `None` where nobody can tell.
///
/// Recovers from an editor's byte-order mark and line ends, a damaged newline, and any one flipped bit. Two lines whose
/// checksums are right differ in four bits at least up to 11 kB, so one flipped bit has one explanation; that other damage looks
/// like one flipped bit has the probability (bits of the line)/2³².
pub(super) fn recover(line: &[u8]) -> Option<(Vec<u8>, LineProblem)> {
    if !nearly_begins(line) {
        return None;
    }
    without_editor_marks(line)
        .map(|whole| (whole, LineProblem::Edited))
        .or_else(|| with_newline(line).map(|whole| (whole, LineProblem::JoinedRecords)))
        .or_else(|| {
            let (whole, bit) = unflip_bit(line)?;
            Some((whole, LineProblem::FlippedBit { byte: bit / 8 + 1, bit: bit % 8 }))
        })
}

fn is_whole_line(line: &[u8]) -> bool {
    split_line(line).is_ok()
}

/// Without what an editor or a transfer has added.
fn without_editor_marks(line: &[u8]) -> Option<Vec<u8>> {
    let without_mark = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let text = without_mark.strip_suffix(b"\n")?;
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    Some([text, b"\n"].concat()).filter(|whole| is_whole_line(whole))
}

/// With a newline in the place of its last byte, or after it.
fn with_newline(line: &[u8]) -> Option<Vec<u8>> {
    let (_, text) = line.split_last()?;
    [text, line].map(|text| [text, b"\n"].concat()).into_iter().find(|whole| is_whole_line(whole))
}

/// Whether `line` begins as a line does, but for one bit or an editor's mark.
pub(super) fn nearly_begins(line: &[u8]) -> bool {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    differing_bits(line, BEFORE_VERSION.as_bytes()).take(2).count() < 2
}

/// The bits of `line` that are not as in `expected`, which it should begin with.
fn differing_bits(line: &[u8], expected: &[u8]) -> impl Iterator<Item = usize> {
    let there = line.iter().copied().chain(std::iter::repeat(0));
    let bits = there.zip(expected).enumerate().flat_map(|(byte, (there, &expected))| {
        let wrong = there ^ expected;
        (0..8).filter(move |bit| wrong >> bit & 1 == 1).map(move |bit| byte * 8 + bit)
    });
    bits.collect::<Vec<_>>().into_iter()
}

/// With one bit flipped back, and which.
fn unflip_bit(line: &[u8]) -> Option<(Vec<u8>, usize)> {
    nearly_begins(line).then(|| {
        [VERSION, UNNUMBERED_VERSION].into_iter().find_map(|version| unflip_bit_in_version(line, version))
    })?
}

/// Undoes a flipped bit in a line of this version.
fn unflip_bit_in_version(line: &[u8], version: u32) -> Option<(Vec<u8>, usize)> {
    let start = if version == UNNUMBERED_VERSION { UNNUMBERED_BODY } else { HEAD_BYTES };
    let end = line.len().checked_sub(TAIL_BYTES).filter(|&end| end > start)?;
    let found = crc32(&line[start..end]);
    let head = format!("{BEFORE_VERSION}{version}{BEFORE_CHECKSUM}{found:08x}\",\"record\":").into_bytes();
    let head = &head[..start];
    let in_tail = differing_bits(&line[end..], b"}\n").map(|bit| end * 8 + bit);
    let mut in_frame = differing_bits(line, head).chain(in_tail);
    let bit = match (in_frame.next(), in_frame.next()) {
        (Some(bit), None) => bit,
        _ => {
            let written = u32::from_str_radix(std::str::from_utf8(line.get(14..22)?).ok()?, 16).ok()?;
            start * 8 + flipped_bit(end - start, written ^ found)?
        }
    };
    let mut whole = line.to_vec();
    whole[bit / 8] ^= 1 << (bit % 8);
    // the line must pass as a whole, because the bit was found by parts of it
    Some((whole, bit)).filter(|(whole, _)| is_whole_line(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::line::{LineStamp, write_line};

    fn line() -> Vec<u8> {
        let mut line = Vec::new();
        let stamp = LineStamp { number: 4, run: 2, time: 1_763_908_529_123 };
        write_line(&mut line, Some(stamp), "{\"trial\":3}");
        line
    }

    fn line_without_number() -> Vec<u8> {
        let mut line = Vec::new();
        write_line(&mut line, None, "{\"trial\":3}");
        line
    }

    #[test]
    fn any_one_flipped_bit_is_put_right() {
        for line in [line(), line_without_number()] {
            for bit in 0..line.len() * 8 {
                let mut damaged = line.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                if split_line(&damaged).is_ok() {
                    continue; // the case of a digit of the checksum
                }
                let (whole, _) = recover(&damaged).unwrap_or_else(|| panic!("bit {bit} is not put right"));
                assert_eq!(split_line(&whole), split_line(&line), "bit {bit}");
            }
        }
    }

    #[test]
    fn what_an_editor_has_added_is_taken_away_and_a_lost_newline_is_put_back() {
        let line = line();
        let text = &line[..line.len() - 1];
        let cases = [
            ([BYTE_ORDER_MARK, &line].concat(), LineProblem::Edited),
            ([text, b"\r\n"].concat(), LineProblem::Edited),
            ([BYTE_ORDER_MARK, text, b"\r\n"].concat(), LineProblem::Edited),
            (text.to_vec(), LineProblem::JoinedRecords),
            ([text, b" "].concat(), LineProblem::JoinedRecords),
        ];
        for (damaged, expected) in cases {
            assert_eq!(recover(&damaged), Some((line.clone(), expected)));
        }
    }

    #[test]
    fn more_damage_than_that_is_not_guessed_at() {
        let line = line();
        for at in 26..line.len() - 3 {
            let mut damaged = line.clone();
            damaged[at] ^= 1;
            damaged[at - 1] ^= 4;
            assert_eq!(recover(&damaged), None, "byte {at}");
        }
        for cut in 0..line.len() - 2 {
            assert_eq!(recover(&line[..cut]), None, "cut after {cut}");
        }
        assert_eq!(recover(&[0; 4096]), None);
    }
}

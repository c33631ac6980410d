//! The numbers in a line of text, and parts that only look like one: dates, clock times, versions, sizes.

use regex::bytes::Regex;
use std::sync::LazyLock;

/// A printed number by the two ways to write one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PrintedNumber {
    /// With a point before the decimals, and commas between thousands.
    pub(crate) point: Option<f64>,
    /// With a comma before the decimals, and points between thousands.
    pub(crate) comma: Option<f64>,
}

/// How a log writes its decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecimalNotation {
    Point,
    Comma,
}

impl PrintedNumber {
    /// A number that both ways of reading give alike.
    pub(crate) fn plain(value: f64) -> Self {
        Self { point: Some(value), comma: Some(value) }
    }

    /// The number times `factor`.
    pub(crate) fn scale_by(self, factor: f64) -> Self {
        Self { point: self.point.map(|value| value * factor), comma: self.comma.map(|value| value * factor) }
    }

    /// The notation, as far as the number alone shows it.
    pub(crate) fn evidence(self) -> Option<DecimalNotation> {
        match (self.point, self.comma) {
            (Some(_), None) => Some(DecimalNotation::Point),
            (None, Some(_)) => Some(DecimalNotation::Comma),
            _ => None,
        }
    }

    /// Whether the two ways give different numbers.
    pub(crate) fn is_ambiguous(self) -> bool {
        self.evidence().is_none() && self.point.map(f64::to_bits) != self.comma.map(f64::to_bits)
    }

    /// The number in a `notation`, or by the only way that there is.
    pub(crate) fn value(self, notation: DecimalNotation) -> f64 {
        let (first, second) = match notation {
            DecimalNotation::Point => (self.point, self.comma),
            DecimalNotation::Comma => (self.comma, self.point),
        };
        first.or(second).unwrap_or(f64::NAN)
    }
}

/// The kind of a stretch of text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// A number. `of` is the second one in `3/10` and `3 of 10`.
    Number { reading: PrintedNumber, of: Option<f64>, percent: bool },
    /// A date, a time, a version, a size: no metric, and no part of a name.
    Other,
}

/// A stretch of text with digits in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NumberToken {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: TokenKind,
}

/// A pattern that is part of the program.
pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of the program")
}

/// The digits of a number and their signs: `-1,234.5`, `12.106,5`, `1.2e-3`.
static NUMBER_DIGITS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?-u)^[-+]?([0-9]*)((?:,[0-9]+)*)(\.[0-9]+)?(?:(,[0-9]+)(?:[^.0-9]|$))?"));
static NUMBER_EXPONENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?-u)^[eE][-+]?[0-9]+"));
/// Numbers as old C libraries write them: `-1.#IND`, `1.#INF`.
static C_LIBRARY_NUMBER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?-u)^[-+]?[0-9]+\.#(INF)?[A-Za-z0-9]*"));
/// Words that stand for a number.
static NUMBER_WORD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?-u)^(?:([-+]?)(?:(?i:(nan)|inf(?:inity)?))|null|None)(?:\W|$)"));
/// The text behind a number that belongs to it: `k`, `%`, `/10`, ` of 10`.
static NUMBER_SUFFIX: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?-u)^([kKM])?(?:(%)| *(?:/|of ) *([0-9,]*[0-9][0-9,]*)(?:[^.,\w]|\.[^0-9]|\.?$))?")
});
/// The numbers behind an `@` are part of a name: `Acc@1`, `mAP@0.5:0.95`, `@[ IoU=0.50:0.95 | maxDets=100 ]`.
/// Of `pass@1:0.51` only `@1` is: a range has decimals (`0.5:0.95`), or an end of two digits (`50:95`).
static AT_SIGN_NAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?-u)^(@(?: *\[[^\]]*\]|[0-9]*\.[0-9]+(?:[-:][0-9]*\.?[0-9]+)*|[0-9]+)?)(?:([-:][0-9]{2,})(?:[^.0-9]|$))?",
    )
});
/// A clock time, a date, a version.
static TIME_OR_VERSION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?-u)^(?:[0-9]{1,3}:[0-9]{2}(?:[^.0-9]|$)|[0-9]+-[0-9]+-[0-9]|[0-9]+/[0-9]+/[0-9]|[0-9]+\.[0-9]+\.[0-9])",
    )
});
/// Where that ends.
static TIME_END: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?-u)^[-0-9:.,/TZ+]*[0-9Z][\w/]*"));
/// A number with letters behind it, or the name of a file.
static SIZE_OR_FILE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?-u)^([0-9]+(?:\.[0-9]+)?)(?:[A-Za-z_]|\.[A-Za-z])[\w/]*"));
/// Letters that are part of a number, or the unit of a metric.
static GLUED_UNIT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(r"(?-u)^(?:(?:[kKM]|st|nd|rd|th|[eE][0-9]+|{METRIC_UNITS})(?:\W|$)|[eE][-+])"))
});
/// Units of metrics, glued to their values: `25.31dB`. Those of times and sizes are none.
const METRIC_UNITS: &str = "dB|db|pct|percent|bpc|bpb|bpd|ppl|nats|bits|pts?|pp";
static UNIT_END: LazyLock<Regex> = LazyLock::new(|| pattern(&format!(r"(?-u)^({METRIC_UNITS})(?:\W|$)")));
/// How much of a bar is drawn.
static BAR_PERCENTAGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?-u)^[0-9]+(?:\.[0-9]+)?%\s*[-|#]"));
/// A name that is followed by its number without a sign between: `epoch_5`, `ep5`, but not the `e` of `1e-3`.
static COUNTER_NAME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i-u)(?:^|[^a-z0-9.])(?:epoch|ep|e|step|iter|iteration|round|fold)[^a-z]?$"));
/// More bytes than the longest of these names and its neighbors.
const MAX_COUNTER_NAME_BYTES: usize = 16;
static COUNTER_NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?-u)^[0-9]+(?:\.(?:\W|$)|[^\w.]|$)"));

/// The number that begins at `at`, wherever that is.
pub(crate) fn reading_at(bytes: &[u8], at: usize) -> Option<PrintedNumber> {
    let rest = bytes.get(at..)?;
    if begins_number(rest) {
        Some(number(rest).1)
    } else {
        parse_number_word(rest).map(|(_, reading)| reading)
    }
}

/// The numbers in `text`, and parts that only look like one, from left to right.
pub(crate) fn tokens(text: &str) -> Vec<NumberToken> {
    let bytes = text.as_bytes();
    let (mut found, mut start) = (Vec::new(), 0);
    while start < bytes.len() {
        let rest = &bytes[start..];
        let token = match rest[0] {
            b'0'..=b'9' | b'+' | b'-' | b'.' | b'n' | b'N' | b'i' | b'I'
                if may_start_number(bytes, start) =>
            {
                token(rest)
            }
            _ => None,
        };
        start += match token {
            Some((length, kind)) => {
                found.push(NumberToken { start, end: start + length, kind });
                length
            }
            None if rest[0] == b'@' => AT_SIGN_NAME
                .captures(rest)
                .and_then(|part| part.get(2).or(part.get(1)))
                .map_or(1, |part| part.end()),
            None => 1,
        };
    }
    found
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn begins_number(rest: &[u8]) -> bool {
    let unsigned = if matches!(rest, [b'+' | b'-', ..]) { &rest[1..] } else { rest };
    matches!(unsigned, [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..])
}

/// Whether a number, or a word for one, can begin at `at`: not inside a word, a path or another number.
fn may_start_number(bytes: &[u8], at: usize) -> bool {
    let (before, rest) = bytes.split_at(at);
    let is_free = match *before {
        [] => true,
        [.., byte] if rest[0].is_ascii_alphabetic() => !is_word_byte(byte) && !b".-+/@".contains(&byte),
        [.., byte, b'-' | b'/' | b'+'] | [.., byte] => !is_word_byte(byte) && byte != b'.',
    };
    // a long line has many numbers inside of words
    let tail = &before[before.len().saturating_sub(MAX_COUNTER_NAME_BYTES)..];
    is_free || (rest[0].is_ascii_digit() && COUNTER_NUMBER.is_match(rest) && COUNTER_NAME.is_match(tail))
}

/// The token at the beginning of `rest`, and its length.
fn token(rest: &[u8]) -> Option<(usize, TokenKind)> {
    if !begins_number(rest) {
        let (length, reading) = parse_number_word(rest)?;
        return Some((length, TokenKind::Number { reading, of: None, percent: false }));
    }
    let sign = usize::from(matches!(rest[0], b'+' | b'-'));
    if let Some(length) = non_number_length(&rest[sign..]) {
        return Some((sign + length, TokenKind::Other));
    }
    let (length, reading) = number(rest);
    // the suffix begins with one of these, behind blanks
    if !matches!(rest[length..].trim_ascii_start(), [b'k' | b'K' | b'M' | b'%' | b'/' | b'o', ..])
        && !rest.get(length).is_some_and(u8::is_ascii_alphabetic)
    {
        return Some((length, TokenKind::Number { reading, of: None, percent: false }));
    }
    let suffix = NUMBER_SUFFIX.captures(&rest[length..])?;
    let scale = suffix.get(1).map_or(1.0, |letter| if letter.as_bytes() == b"M" { 1e6 } else { 1e3 });
    let reading = if scale > 1.0 { reading.scale_by(scale) } else { reading };
    let of = suffix.get(3).and_then(|of| parse_digits(of.as_bytes(), b','));
    let last = if of.is_some() { 3 } else { 1 };
    let end = length + suffix.get(2).or(suffix.get(last)).map_or(0, |part| part.end());
    let unit = UNIT_END.captures(&rest[end..]).map_or(0, |unit| unit[1].len());
    Some((end + unit, TokenKind::Number { reading, of, percent: suffix.get(2).is_some() }))
}

/// `nan`, `inf`, `null` or `None` as a word of its own.
fn parse_number_word(rest: &[u8]) -> Option<(usize, PrintedNumber)> {
    let found = NUMBER_WORD.captures(rest)?;
    let length = rest.iter().skip(1).take_while(|byte| is_word_byte(**byte)).count() + 1;
    if matches!(rest[length..], [b'-' | b'/' | b'.', next, ..] if is_word_byte(next)) {
        return None;
    }
    let infinite = if rest[0] == b'-' { f64::NEG_INFINITY } else { f64::INFINITY };
    let is_infinite = found.get(1).is_some() && found.get(2).is_none();
    Some((length, PrintedNumber::plain(if is_infinite { infinite } else { f64::NAN })))
}

/// The length of a date, a clock time, a version or a size at the beginning of `rest`.
fn non_number_length(rest: &[u8]) -> Option<usize> {
    // no expression below matches a number that a blank or a sign of a list follows
    let mut end = count_digits(rest);
    if rest.get(end) == Some(&b'.') {
        end += 1 + count_digits(&rest[end + 1..]);
    }
    if rest.get(end).is_none_or(|next| b" \t,;)]}\"'|".contains(next)) {
        return None;
    }
    if TIME_OR_VERSION.is_match(rest) {
        return TIME_END.find(rest).map(|part| part.end());
    }
    if let Some(size) = SIZE_OR_FILE.captures(rest) {
        return (!GLUED_UNIT.is_match(&rest[size[1].len()..])).then(|| size[0].len());
    }
    let bar = BAR_PERCENTAGE.find(rest)?;
    (rest[bar.end() - 1..].iter().filter(|byte| **byte == b'|').count() != 1)
        .then(|| rest.iter().take_while(|byte| **byte != b'%').count() + 1)
}

/// The number at the beginning of `rest`, sign included, and its length.
fn number(rest: &[u8]) -> (usize, PrintedNumber) {
    let whole = count_digits(&rest[1..]) + 1;
    if rest[whole..].starts_with(b".#")
        && let Some(found) = C_LIBRARY_NUMBER.captures(rest)
    {
        let infinite = if rest[0] == b'-' { f64::NEG_INFINITY } else { f64::INFINITY };
        let value = if found.get(1).is_some() { infinite } else { f64::NAN };
        return (found[0].len(), PrintedNumber::plain(value));
    }
    let Some(found) = NUMBER_DIGITS.captures(rest) else { return (1, PrintedNumber::default()) };
    let [whole, groups, decimals] =
        [1, 2, 3].map(|group| found.get(group).map_or(&b""[..], |part| part.as_bytes()));
    let is_group = whole.first().is_some_and(|digit| *digit != b'0') && whole.len() <= 3;
    let thousands = is_group && groups.split(|byte| *byte == b',').skip(1).all(|group| group.len() == 3);
    let many = groups.iter().filter(|byte| **byte == b',').count();
    let [whole_end, groups_end, decimals_end] =
        [1, 2, 3].map(|group| found.get(group).map_or(0, |part| part.end()));
    if many > 0 && !thousands && (many > 1 || !decimals.is_empty()) {
        // a list without blanks
        return read_notations(rest, whole_end, true, true);
    }
    // `1.234` may mean 1234 in a log with decimal commas, so that both readings stay until the log shows its notation
    let point_thousands = many == 0 && is_group && decimals.len() == 4;
    if let Some(comma_decimals) = found.get(4).filter(|_| point_thousands) {
        return read_notations(rest, comma_decimals.end(), false, true);
    }
    let end = decimals_end.max(groups_end);
    let exponent = NUMBER_EXPONENT.find(&rest[end..]).map_or(0, |exponent| exponent.end());
    let (is_plain, end) = (exponent == 0, end + exponent);
    let (point, comma) = match (many, decimals.is_empty()) {
        (0, true) => (true, true),
        (0, false) => (true, point_thousands && is_plain),
        (1, true) if is_plain => (thousands, true),
        (1, _) if !thousands || !is_plain => (false, true),
        _ => (true, false),
    };
    read_notations(rest, end, point, comma)
}

/// The number before `end`, in each of the notations that it may be meant in.
fn read_notations(rest: &[u8], end: usize, point: bool, comma: bool) -> (usize, PrintedNumber) {
    let point = if point { parse_digits(&rest[..end], b',') } else { None };
    let comma = if comma { parse_digits(&rest[..end], b'.') } else { None };
    (end, PrintedNumber { point, comma })
}

fn count_digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// `text` as a number, once the separators of thousands are left out.
fn parse_digits(text: &[u8], thousands: u8) -> Option<f64> {
    let text = text.strip_prefix(b"+").unwrap_or(text);
    if !text.contains(&b',') && (thousands == b',' || !text.contains(&b'.')) {
        return std::str::from_utf8(text).ok()?.parse().ok();
    }
    let plain: String =
        text.iter().filter(|&&byte| byte != thousands).map(|&byte| char::from(byte)).collect();
    plain.replace(',', ".").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{DecimalNotation, TokenKind, tokens};

    fn numbers(text: &str) -> Vec<f64> {
        let number = |token: super::NumberToken| match token.kind {
            TokenKind::Number { reading, .. } => Some(reading.value(DecimalNotation::Point)),
            TokenKind::Other => None,
        };
        tokens(text).into_iter().filter_map(number).collect()
    }

    #[test]
    fn a_number_ends_where_a_person_would_end_it() {
        let cases: [(&str, &[f64]); 29] = [
            ("loss 1.5.", &[1.5]),
            ("a=1.2e-3, b=.5 c -0.25", &[1.2e-3, 0.5, -0.25]),
            ("1,234.5 and 12,106 and 3,224,224", &[1234.5, 12106.0, 3224224.0]),
            ("76.13%", &[76.13]),
            ("torch 1.0.2 kernel 3x64 resnet18", &[]),
            ("2031-05-06 10:00:01,123 acc 0.5", &[0.5]),
            ("05.06.2031 10:00 acc 0.5", &[0.5]),
            ("12ms 1.5s 2.38G 45.2it/s [00:03<00:07, 3]", &[3.0]),
            ("Acc@1 50.5 mAP@0.5:0.95 0.4", &[50.5, 0.4]),
            ("(AP) @[ IoU=0.50:0.95 | maxDets=100 ] = 0.234", &[0.234]),
            ("mAP50-95 0.3 top5 0.9", &[0.3, 0.9]),
            ("epoch_5 epoch-7 ep9 fold_2", &[5.0, 7.0, 9.0, 2.0]),
            ("weights.03-0.34.hdf5 model_12.pt run/4", &[]),
            ("iter 10k", &[10000.0]),
            ("0.5,0.6", &[0.5, 0.6]),
            ("[0.8, 0.7]", &[0.8, 0.7]),
            ("33%|### | 1/3 [00:01]", &[1.0]),
            ("Epoch 5:0.31", &[5.0, 0.31]),
            ("5e-4", &[5e-4]),
            ("2nd 0.5", &[2.0, 0.5]),
            ("step 1/1,500", &[1.0]),
            ("lr=1e-05", &[1e-5]),
            ("nano information", &[]),
            ("loss=1.2-3", &[1.2]),
            ("pass@1:0.51 hit@10:0.12 mAP@50:95 0.4 mAP@.5:.95:", &[0.51, 0.12, 0.4]),
            ("PSNR 25.31dB, SSIM 0.9", &[25.31, 0.9]),
            ("bits 1.02bpc 3.5db 12kB 12ms", &[1.02, 3.5]),
            ("Acc@1: 50.5 top@5 0.9", &[50.5, 0.9]),
            ("精度0.93", &[0.93]),
        ];
        for (text, expected) in cases {
            assert_eq!(numbers(text), expected, "{text}");
        }
        for text in ["nan", "loss=-1.#IND", "loss: inf", "1.#INF", "x=-Infinity", "x: null"] {
            assert!(matches!(numbers(text)[..], [value] if !value.is_finite()), "{text}");
        }
    }

    #[test]
    fn a_number_tells_how_it_writes_its_decimals_if_it_can() {
        let cases = [
            ("1,6331", Some(DecimalNotation::Comma)),
            ("0,532", Some(DecimalNotation::Comma)),
            ("12.106,5", Some(DecimalNotation::Comma)),
            ("1,234.5", Some(DecimalNotation::Point)),
            ("0.532", Some(DecimalNotation::Point)),
            ("1,234,567", Some(DecimalNotation::Point)),
            ("1,234", None),
            ("1.234", None),
            ("1.234e-01", Some(DecimalNotation::Point)),
            ("1,234e-01", Some(DecimalNotation::Comma)),
            ("12", None),
        ];
        for (text, expected) in cases {
            let TokenKind::Number { reading, .. } = tokens(text)[0].kind else { panic!("{text}") };
            assert_eq!(reading.evidence(), expected, "{text}");
        }
    }
}

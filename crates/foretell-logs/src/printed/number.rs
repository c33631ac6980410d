//! The numbers in a line of text, and parts that only look like one: dates, clock times, versions, sizes.

/// A printed number by the two ways to write one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// With a point before the decimals, and commas between thousands.
    pub(crate) point: Option<f64>,
    /// With a comma before the decimals, and points between thousands.
    pub(crate) comma: Option<f64>,
}

/// How a log writes its decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    Point,
    Comma,
}

impl Reading {
    /// The same number by both ways.
    pub(crate) fn plain(value: f64) -> Self {
        Self { point: Some(value), comma: Some(value) }
    }

    /// The number times `factor`.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        let scaled = |value: f64| value * factor;
        Self { point: self.point.map(scaled), comma: self.comma.map(scaled) }
    }

    /// The notation, as far as the number alone shows it.
    pub(crate) fn evidence(self) -> Option<Notation> {
        match (self.point, self.comma) {
            (Some(_), None) => Some(Notation::Point),
            (None, Some(_)) => Some(Notation::Comma),
            _ => None,
        }
    }

    /// Whether the two ways give different numbers.
    pub(crate) fn is_ambiguous(self) -> bool {
        self.evidence().is_none() && self.point.map(f64::to_bits) != self.comma.map(f64::to_bits)
    }

    /// The number in a `notation`, or by the only way that there is.
    pub(crate) fn value(self, notation: Notation) -> f64 {
        let (first, second) = match notation {
            Notation::Point => (self.point, self.comma),
            Notation::Comma => (self.comma, self.point),
        };
        first.or(second).unwrap_or(f64::NAN)
    }
}

/// The kind of a stretch of text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A number. `of` is the second one in `3/10` and `3 of 10`.
    Number { reading: Reading, of: Option<f64>, percent: bool },
    /// A date, a time, a version, a size: no metric, and no part of a name.
    Other,
}

/// A stretch of text with digits in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: Kind,
}

/// The number that begins at `at`, wherever that is.
pub(crate) fn reading_at(bytes: &[u8], at: usize) -> Option<Reading> {
    let sign = usize::from(bytes.get(at).is_some_and(|byte| b"+-".contains(byte)));
    let begins = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    if begins(at + sign) || (bytes.get(at + sign) == Some(&b'.') && begins(at + sign + 1)) {
        return Some(number(bytes, at).1);
    }
    match word_number(bytes.get(at..)?, 0)?.kind {
        Kind::Number { reading, .. } => Some(reading),
        Kind::Other => None,
    }
}

/// Words behind a name that are followed by a number without a sign between: `epoch_5`.
const COUNTERS: [&str; 8] = ["epoch", "ep", "e", "step", "iter", "iteration", "round", "fold"];

/// The numbers in `text`, and parts that only look like one, from left to right.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        if bytes[at] == b'@' {
            at = after_at(bytes, at + 1);
        } else if let Some(token) = token(bytes, at) {
            at = token.end;
            found.push(token);
        } else {
            at += 1;
        }
    }
    found
}

/// The numbers behind an `@` are part of a name: `Acc@1`, `mAP@0.5:0.95`, `@[ IoU=0.50:0.95 | maxDets=100 ]`.
fn after_at(bytes: &[u8], at: usize) -> usize {
    let blanks = bytes[at..].iter().take_while(|byte| **byte == b' ').count();
    if bytes.get(at + blanks) == Some(&b'[') {
        let close = bytes[at..].iter().position(|&byte| byte == b']');
        return close.map_or(at, |close| at + close + 1);
    }
    let is_part = |byte: &&u8| byte.is_ascii_digit() || b".:-".contains(byte);
    let length = bytes[at..].iter().take_while(is_part).count();
    let trailing = bytes[at..at + length].iter().rev().take_while(|byte| !byte.is_ascii_digit()).count();
    at + length - trailing
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a number can begin at `at`: not inside a word, a path or another number.
fn may_begin(bytes: &[u8], at: usize) -> bool {
    let Some(&before) = at.checked_sub(1).and_then(|before| bytes.get(before)) else { return true };
    if is_word(before) || before == b'.' {
        return is_counter(bytes, at);
    }
    let earlier = at.checked_sub(2).map(|earlier| bytes[earlier]);
    let joins = b"-/+".contains(&before) && earlier.is_some_and(|byte| is_word(byte) || byte == b'.');
    !joins || is_counter(bytes, at)
}

/// Whether the word that ends at `at` names a counter, and the rest of the word are digits: `epoch_5`, `ep5`, `epoch-5`.
fn is_counter(bytes: &[u8], at: usize) -> bool {
    let end = if bytes[at - 1].is_ascii_alphabetic() { at } else { at - 1 };
    let letters = bytes[..end].iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let word = String::from_utf8_lossy(&bytes[end - letters..end]).to_ascii_lowercase();
    let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let after = &bytes[at + digits..];
    let is_decimal = after.starts_with(b".") && after.get(1).is_some_and(|&byte| is_word(byte));
    let closes = !is_decimal && after.first().is_none_or(|&byte| !is_word(byte));
    // 1e-3
    let is_exponent =
        bytes[..end - letters].last().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
    digits > 0 && closes && !is_exponent && COUNTERS.contains(&word.as_str())
}

fn token(bytes: &[u8], at: usize) -> Option<Token> {
    let byte = bytes[at];
    if byte.is_ascii_alphabetic() {
        return word_number(bytes, at);
    }
    let sign = usize::from(b"+-".contains(&byte));
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let begins = digit(at + sign) || (bytes.get(at + sign) == Some(&b'.') && digit(at + sign + 1));
    if !may_begin(bytes, at) {
        return None;
    }
    if !begins {
        return if sign == 1 { word_number(bytes, at) } else { None };
    }
    if let Some(end) = other(bytes, at + sign) {
        return Some(Token { start: at, end, kind: Kind::Other });
    }
    let (end, reading) = number(bytes, at);
    Some(finished(bytes, at, end, reading))
}

/// `nan`, `inf`, `null` or `None` as a word of its own.
fn word_number(bytes: &[u8], at: usize) -> Option<Token> {
    let sign = usize::from(!bytes[at].is_ascii_alphabetic());
    if sign == 0
        && at.checked_sub(1).is_some_and(|before| is_word(bytes[before]) || b"-+./@".contains(&bytes[before]))
    {
        return None;
    }
    let letters = bytes[at + sign..].iter().take_while(|byte| is_word(**byte)).count();
    let end = at + sign + letters;
    if bytes.get(end).is_some_and(|byte| b"-/.".contains(byte))
        && bytes.get(end + 1).is_some_and(|&byte| is_word(byte))
    {
        return None;
    }
    let word = &bytes[at + sign..end];
    let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    let value = if is("nan") || (sign == 0 && (word == b"null" || word == b"None")) {
        f64::NAN
    } else if is("inf") || is("infinity") {
        if bytes[at] == b'-' { f64::NEG_INFINITY } else { f64::INFINITY }
    } else {
        return None;
    };
    let kind = Kind::Number { reading: Reading::plain(value), of: None, percent: false };
    Some(Token { start: at, end, kind })
}

/// The end of a date, a clock time, a version or a size that begins at `at`.
fn other(bytes: &[u8], at: usize) -> Option<usize> {
    let run = |at: usize| bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let first = run(at);
    let next = *bytes.get(at + first)?;
    let second = if first > 0 { run(at + first + 1) } else { 0 };
    let after = at + first + 1 + second;
    let third = bytes.get(after).copied();
    let clock = next == b':' && first <= 3 && second == 2 && third != Some(b'.');
    let parts = b"-/.".contains(&next) && second > 0 && third == Some(next) && run(after + 1) > 0;
    let is_point = next == b'.' && second > 0;
    if clock || parts {
        let is_part = |byte: &&u8| byte.is_ascii_digit() || b":.,-/TZ+".contains(byte);
        let length = bytes[at..].iter().take_while(is_part).count();
        let trailing = bytes[at..at + length]
            .iter()
            .rev()
            .take_while(|byte| !byte.is_ascii_digit() && **byte != b'Z')
            .count();
        return Some(word_end(bytes, at + length - trailing));
    }
    let end = if is_point { after } else { at + first };
    let letters = bytes[end..].iter().take_while(|&&byte| is_word(byte)).count();
    if letters > 0 {
        let suffix = &bytes[end..end + letters];
        let is_scaled = matches!(suffix, b"k" | b"K" | b"M");
        let is_exponent = b"eE".contains(&suffix[0])
            && (letters > 1 || bytes.get(end + 1).is_some_and(|byte| b"+-".contains(byte)));
        let is_ordinal = matches!(suffix, b"st" | b"nd" | b"rd" | b"th");
        if !(is_scaled || is_ordinal || is_exponent && suffix[1..].iter().all(u8::is_ascii_digit)) {
            return Some(word_end(bytes, end));
        }
    }
    let is_file = bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_alphabetic);
    if is_file {
        return Some(word_end(bytes, end + 1));
    }
    // how much of a bar is drawn
    let rest = bytes[end..].strip_prefix(b"%").map(<[u8]>::trim_ascii_start)?;
    rest.first()
        .is_some_and(|byte| {
            b"|#-".contains(byte) && bytes[end + 1..].iter().filter(|byte| **byte == b'|').count() != 1
        })
        .then_some(end + 1)
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|&&byte| is_word(byte) || byte == b'/').count()
}

/// The number that begins at `at`, sign included, and where it ends.
fn number(bytes: &[u8], at: usize) -> (usize, Reading) {
    let run =
        |at: usize| bytes.get(at..).unwrap_or(&[]).iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(b"+-".contains(&bytes[at]));
    let begin = at + sign;
    let whole = run(begin);
    let mut end = begin + whole;
    if bytes[end..].starts_with(b".#") {
        let letters = bytes[end + 2..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let is_infinite = bytes[end + 2..].starts_with(b"INF");
        let infinite = if bytes[at] == b'-' { f64::NEG_INFINITY } else { f64::INFINITY };
        return (end + 2 + letters, Reading::plain(if is_infinite { infinite } else { f64::NAN }));
    }
    let mut groups = Vec::new();
    while bytes.get(end) == Some(&b',') && run(end + 1) > 0 {
        groups.push(run(end + 1));
        end += 1 + run(end + 1);
    }
    let thousands =
        (1..=3).contains(&whole) && bytes[begin] != b'0' && groups.iter().all(|&group| group == 3);
    let decimals = if bytes.get(end) == Some(&b'.') { run(end + 1) } else { 0 };
    if !groups.is_empty() && !thousands && (groups.len() > 1 || decimals > 0) {
        // a list without blanks
        (end, groups) = (begin + whole, Vec::new());
    }
    let grouped = end;
    let decimals = if bytes.get(end) == Some(&b'.') { run(end + 1) } else { 0 };
    end += if decimals > 0 { 1 + decimals } else { 0 };
    let point_thousands =
        groups.is_empty() && decimals == 3 && (1..=3).contains(&whole) && bytes[begin] != b'0';
    let tail = run(end + 1);
    if point_thousands
        && bytes.get(end) == Some(&b',')
        && tail > 0
        && bytes.get(end + 1 + tail) != Some(&b'.')
    {
        let end = end + 1 + tail;
        return (end, Reading { point: None, comma: parsed(&bytes[at..end], b'.') });
    }
    let has_exponent = exponent(bytes, end) > 0;
    end += exponent(bytes, end);
    let text = &bytes[at..end];
    let reading = match groups.len() {
        0 if decimals == 0 => Reading { point: parsed(text, b','), comma: parsed(text, b'.') },
        0 => Reading {
            point: parsed(text, b','),
            comma: if point_thousands && !has_exponent { parsed(text, b'.') } else { None },
        },
        1 if grouped == end => {
            Reading { point: if thousands { parsed(text, b',') } else { None }, comma: parsed(text, b'.') }
        }
        1 if !thousands || has_exponent => Reading { point: None, comma: parsed(text, b'.') },
        _ => Reading { point: parsed(text, b','), comma: None },
    };
    (end, reading)
}

/// The length of the exponent at `at`.
fn exponent(bytes: &[u8], at: usize) -> usize {
    if !bytes.get(at).is_some_and(|byte| b"eE".contains(byte)) {
        return 0;
    }
    let sign = usize::from(bytes.get(at + 1).is_some_and(|byte| b"+-".contains(byte)));
    let digits =
        bytes.get(at + 1 + sign..).unwrap_or(&[]).iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 0 { 1 + sign + digits } else { 0 }
}

/// `text` as a number, once the separators of thousands are left out.
fn parsed(text: &[u8], thousands: u8) -> Option<f64> {
    let plain: String =
        text.iter().filter(|&&byte| byte != thousands).map(|&byte| char::from(byte)).collect();
    plain.replace(',', ".").parse().ok()
}

/// The token of a number, with its suffix: `k`, `%`, `/10`, ` of 10`.
fn finished(bytes: &[u8], start: usize, mut end: usize, mut reading: Reading) -> Token {
    let scale = match bytes.get(end) {
        Some(b'k' | b'K') => 1e3,
        Some(b'M') => 1e6,
        _ => 1.0,
    };
    if scale > 1.0 {
        (reading, end) = (reading.scaled(scale), end + 1);
    }
    let percent = bytes.get(end) == Some(&b'%');
    end += usize::from(percent);
    let blanks = |at: usize| bytes[at..].iter().take_while(|byte| **byte == b' ').count();
    let digits = |at: usize| {
        bytes
            .get(at..)
            .unwrap_or(&[])
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b',')
            .count()
    };
    let sign = end + blanks(end);
    let total = if bytes.get(sign) == Some(&b'/') { Some(sign + 1) } else { None };
    let total = total.or_else(|| bytes[sign..].starts_with(b"of ").then_some(sign + 3));
    let mut of = None;
    if let Some(total) =
        total.map(|total| total + blanks(total)).filter(|&total| digits(total) > 0 && !percent)
    {
        let close = total + digits(total);
        let goes_on = bytes.get(close).is_some_and(|&byte| {
            is_word(byte) || byte == b'.' && bytes.get(close + 1).is_some_and(u8::is_ascii_digit)
        });
        of = parsed(&bytes[total..close], b',').filter(|_| !goes_on);
        end = if of.is_some() { close } else { end };
    }
    Token { start, end, kind: Kind::Number { reading, of, percent } }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Notation, tokens};

    fn numbers(text: &str) -> Vec<f64> {
        let number = |token: super::Token| match token.kind {
            Kind::Number { reading, .. } => Some(reading.value(Notation::Point)),
            Kind::Other => None,
        };
        tokens(text).into_iter().filter_map(number).collect()
    }

    #[test]
    fn a_number_ends_where_a_person_would_end_it() {
        let cases: [(&str, &[f64]); 24] = [
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
            ("1,6331", Some(Notation::Comma)),
            ("0,532", Some(Notation::Comma)),
            ("12.106,5", Some(Notation::Comma)),
            ("1,234.5", Some(Notation::Point)),
            ("0.532", Some(Notation::Point)),
            ("1,234,567", Some(Notation::Point)),
            ("1,234", None),
            ("1.234", None),
            ("1.234e-01", Some(Notation::Point)),
            ("1,234e-01", Some(Notation::Comma)),
            ("12", None),
        ];
        for (text, expected) in cases {
            let Kind::Number { reading, .. } = tokens(text)[0].kind else { panic!("{text}") };
            assert_eq!(reading.evidence(), expected, "{text}");
        }
    }
}

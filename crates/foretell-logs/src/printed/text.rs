//! A printed line as plain text: escapes go, drawings become signs, and wrapped numbers are unwrapped.

use std::borrow::Cow;

/// Text that programs wrap a number in: `np.float64(0.93)`, `tensor(0.93, device='cuda:0')`.
const WRAPPERS: [&str; 8] =
    ["float64(", "float32(", "float16(", "int64(", "int32(", "ensor(", "rray(", "float("];
/// Where TensorFlow puts the number of a tensor: `<tf.Tensor: shape=(), dtype=float32, numpy=0.93>`.
const TENSOR: (&str, &str) = ("<tf.", "numpy=");

/// A line without the signs that only a terminal understands.
#[derive(Debug)]
pub struct Plain<'a> {
    /// Its text.
    pub text: Cow<'a, str>,
    /// Whether it is drawn over lines before it: the cursor goes up first.
    pub redraws: bool,
}

/// `line` as plain text.
///
/// ```
/// use foretell_logs::printed::plain;
/// assert_eq!(plain(b"\x1b[32mval_acc\x1b[0m: np.float64(0.5)").text, "val_acc: 0.5");
/// ```
pub fn plain(line: &[u8]) -> Plain<'_> {
    let is_simple = line.iter().all(|&byte| (0x20..0x7f).contains(&byte) || byte == b'\t');
    let (text, redraws) = if is_simple {
        (String::from_utf8_lossy(line), false)
    } else {
        let (bytes, redraws) = without_escapes(line);
        (Cow::Owned(String::from_utf8_lossy(&bytes).chars().filter_map(drawn).collect()), redraws)
    };
    let is_wrapped = text.contains('(')
        && (WRAPPERS.iter().any(|wrapper| text.contains(wrapper)) || text.contains(TENSOR.0));
    Plain { text: if is_wrapped { Cow::Owned(unwrapped(&text)) } else { text }, redraws }
}

/// The bytes without escape sequences and control characters, and whether one moved the cursor up.
fn without_escapes(line: &[u8]) -> (Vec<u8>, bool) {
    let (mut plain, mut redraws) = (Vec::with_capacity(line.len()), false);
    let mut rest = line;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match (byte, tail) {
            (0x1b, [b'[', parameters @ ..]) => {
                let end = parameters.iter().position(|byte| (0x40..=0x7e).contains(byte));
                redraws |= end.is_some_and(|end| parameters[end] == b'A');
                rest = end.map_or(&[], |end| &parameters[end + 1..]);
            }
            (0x1b, [b']', text @ ..]) => {
                let end = text.iter().position(|&byte| byte == 0x07 || byte == b'\\');
                rest = end.map_or(&[], |end| &text[end + 1..]);
            }
            (0x1b, [b'(' | b')', _, after @ ..]) => rest = after,
            (0x1b, [_, after @ ..]) => rest = after,
            (0..0x20 | 0x7f, _) if *byte != b'\t' => {}
            _ => plain.push(*byte),
        }
    }
    (plain, redraws)
}

/// The sign that stands for a character of a drawing or of another script's punctuation.
fn drawn(character: char) -> Option<char> {
    Some(match character {
        '│' | '┃' | '║' | '｜' | '┆' | '┊' | '├' | '┤' | '┼' | '╎' | '╏' => '|',
        '\u{2500}'..='\u{257f}' => '-',
        '\u{2580}'..='\u{259f}' => '#',
        '：' => ':',
        '，' | '、' => ',',
        '；' => ';',
        '（' => '(',
        '）' => ')',
        '＝' => '=',
        '％' => '%',
        '−' | '–' | '—' => '-',
        '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' | '\u{3000}' => ' ',
        '\u{feff}' | '\u{fffd}' | '\u{200b}' => return None,
        other => other,
    })
}

/// `text` with the wrappers of numbers removed.
fn unwrapped(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((begin, inside)) = next_wrapper(rest) {
        let number = inside.split([',', ')', '>']).next().unwrap_or_default();
        let number = number.trim().trim_matches(['[', ']']);
        if number.parse::<f64>().is_err() {
            plain.push_str(&rest[..rest.len() - inside.len()]);
            rest = inside;
            continue;
        }
        plain.push_str(&rest[..begin]);
        plain.push_str(number);
        rest = if rest[begin..].starts_with(TENSOR.0) {
            inside.split_once('>').map_or("", |(_, rest)| rest)
        } else {
            after_bracket(inside)
        };
    }
    plain.push_str(rest);
    plain
}

/// The start of the next wrapper, module included, and the text inside of it.
fn next_wrapper(text: &str) -> Option<(usize, &str)> {
    if let Some(begin) = text.find(TENSOR.0)
        && let Some(length) = text[begin..].find(TENSOR.1)
    {
        return Some((begin, &text[begin + length + TENSOR.1.len()..]));
    }
    let found = WRAPPERS.iter().filter_map(|wrapper| Some((text.find(wrapper)?, wrapper.len())));
    let (at, length) = found.min()?;
    let module = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let begin = text[..at].rfind(|c| !module(c)).map_or(0, |before| before + 1);
    Some((begin, &text[at + length..]))
}

/// The text after the bracket that was opened before `inside`.
fn after_bracket(inside: &str) -> &str {
    let mut depth = 1;
    for (at, character) in inside.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &inside[at + 1..];
        }
    }
    ""
}

/// The length of the prefix of a logger, a launcher or a container at the start of `text`: times, levels, sources, processes.
pub(crate) fn prefix(text: &str) -> usize {
    let (mut end, mut is_level) = (0, false);
    loop {
        let rest = &text[end..];
        let blanks = rest.len() - rest.trim_start().len();
        let Some((length, level)) = element(&rest[blanks..], end > 0, is_level) else { return end };
        is_level |= level;
        end += blanks + length;
        let separator = text[end..].trim_start_matches([' ', '\t']);
        let sign = ["- ", "| ", ": "].into_iter().find(|sign| separator.starts_with(sign));
        end = match sign {
            // indented text stays so
            Some(sign) => text.len() - separator.len() + sign.len(),
            None => end + usize::from(text[end..].starts_with([' ', ':'])),
        };
    }
}

/// The length of the part of a prefix that `text` begins with, and whether that is a level.
fn element(text: &str, is_inside: bool, is_level: bool) -> Option<(usize, bool)> {
    const LEVELS: [&str; 9] =
        ["INFO", "DEBUG", "WARNING", "WARN", "ERROR", "CRITICAL", "NOTICE", "TRACE", "SUCCESS"];
    const COUNTS: [&str; 4] = ["ep", "e-", "step", "iter"];
    let first = *text.as_bytes().first()?;
    let is_sign = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if first == b'[' || first == b'(' {
        let close = if first == b'[' { ']' } else { ')' };
        let length = text.find(close)?;
        let inside = text[1..length].trim();
        let is_time =
            time(inside) > 0 || inside.strip_suffix('s').is_some_and(|s| s.trim().parse::<f64>().is_ok());
        let is_source =
            inside.contains("pid=") || LEVELS.contains(&inside) || (is_inside && inside.contains(".py:"));
        let is_rank = first == b'['
            && inside.strip_prefix("rank").is_some_and(|rank| rank.trim().parse::<u64>().is_ok());
        return (is_time || is_source || is_rank).then_some((length + 1, LEVELS.contains(&inside)));
    }
    if first.is_ascii_digit() || first == b'I' || first == b'W' || first == b'E' {
        let length = time(text);
        if length > 0 {
            return Some((length, false));
        }
    }
    let word = &text[..text.find(|c| !is_sign(c)).unwrap_or(text.len())];
    let after = &text[word.len()..];
    let ends = |signs: &[&str]| signs.iter().any(|sign| after.starts_with(sign));
    if LEVELS.contains(&word) && ends(&[" ", ":", "|", "]"]) {
        // INFO:root:epoch 1
        let name =
            after[1..].find(|c| !is_sign(c)).filter(|_| after.starts_with(':') && !after.starts_with(": "));
        let name = name.filter(|&name| after[1 + name..].starts_with(':'));
        return Some((word.len() + name.map_or(0, |name| 1 + name), true));
    }
    let is_container = after.trim_start().starts_with("| ")
        && !COUNTS.iter().any(|count| word.to_lowercase().starts_with(count))
        && word
            .rsplit_once('-')
            .is_some_and(|(name, count)| !name.is_empty() && count.parse::<u16>().is_ok());
    if is_container && !is_inside {
        return Some((word.len(), false));
    }
    if !is_inside {
        return None;
    }
    // 140123456789 train.py:101] or __main__:train:42 - or package.module -
    if let Some(length) = text.find(".py:") {
        let digits = text[length + 4..].bytes().take_while(u8::is_ascii_digit).count();
        let end = length + 4 + digits;
        if digits > 0 && !text[..length].contains([':', '=']) && text[end..].starts_with([']', ' ', ':']) {
            return Some((end + usize::from(text[end..].starts_with(']')), false));
        }
    }
    let source = &text[..text.find(" - ").or(text.find(" | ")).or(text.find("] "))?];
    let is_name =
        !source.is_empty() && source.chars().all(|c| is_sign(c) || c == ':' || c == '<' || c == '>');
    let is_path = source.contains("__") || source.contains(':') || source.contains('.');
    let rest = text[source.len()..].trim_start_matches([' ', '-', '|']);
    let before_level = !is_level && LEVELS.iter().any(|level| rest.starts_with(level));
    (is_name && first.is_ascii_alphabetic() | (first == b'_') && (is_path || before_level))
        .then_some((source.len(), false))
}

/// The length of a date, a clock time or both at the beginning of `text`; of absl's `I0506` and of a month and a day only before a time.
fn time(text: &str) -> usize {
    let part = |text: &str| {
        let end =
            text.find(|c: char| !(c.is_ascii_alphanumeric() || ":.,-/+".contains(c))).unwrap_or(text.len());
        text[..end].trim_end_matches([':', ',', '.', '-']).len()
    };
    let is_any = |text: &str, shapes: &[&str]| shapes.iter().any(|shape| is_like(text, shape));
    let first = part(text);
    let is_stamp = first > 10 && is_like(&text[..10], "dddd-dd-dd") && text[10..].starts_with('T');
    let dates = ["dddd-dd-dd", "dddd/dd/dd", "dd-dd-dddd", "dd/dd/dddd", "dd.dd.dddd"];
    let is_date = is_stamp || is_any(&text[..first], &dates);
    let is_short = is_any(&text[..first], &["dd/dd", "Adddd"]);
    let rest = if is_date || is_short { text[first..].trim_start() } else { text };
    let second = part(rest);
    let is_clock = is_like(&rest[..second], "dd:dd") || (second >= 8 && is_like(&rest[..8], "dd:dd:dd"));
    match (is_clock, is_date) {
        (true, _) => text.len() - rest.len() + second,
        (false, true) => first,
        (false, false) => 0,
    }
}

/// Whether `text` has the `shape` of digits (`d`), capitals (`A`) and signs.
fn is_like(text: &str, shape: &str) -> bool {
    let fits = |(byte, sign): (u8, u8)| match sign {
        b'd' => byte.is_ascii_digit(),
        b'A' => byte.is_ascii_uppercase(),
        _ => byte == sign,
    };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}

#[cfg(test)]
mod tests {
    use super::{plain, prefix};

    #[test]
    fn prefixes_of_loggers_and_launchers_are_told_from_the_message() {
        let cases = [
            ("2024-03-02 10:00:01,123 - INFO - ", "[10]\ttrain 1"),
            ("2024-03-02 10:00:01,123 - train - INFO - ", "val - loss 1"),
            ("2024-03-02 10:00:01.123 | INFO     | __main__:train:42 - ", "Epoch 1 | loss 2"),
            ("trainer-1  | ", "1,0.1,2.0"),
            ("2024-03-02T10:00:01.000007919Z ", "  val_acc: 1"),
            ("(RayTrainWorker pid=4121, ip=10.0.0.3) ", "{"),
            ("[rank0]: ", "| a | 1 |"),
            ("[     12.30s] ", "loss 1"),
            ("I0302 10:10:12.123456 140123456789 logging_writer.py:48] ", "[500] loss=1"),
            ("INFO:__main__:", "epoch 0: 1"),
            ("INFO:root:", "epoch 0: 1"),
            ("[2024-03-02 10:00:01] [INFO] ", "Epoch 1"),
            ("2024-03-02 10:00:22,120 - INFO - allennlp.training.callbacks - ", "accuracy | 0.1 | 0.2"),
            ("2024/03/02 10:11:12 - mmengine - INFO - ", "Iter(train) [ 4000/40000]  lr: 9.0e-03"),
            ("", "INFOS 3"),
            ("", "[10] loss 1"),
            ("", "[train] loss 1"),
            ("", "EPOCH-3 | loss 1"),
            ("", "[05/10] loss 1"),
            ("", "Epoch 1 - loss 0.5"),
            ("", "12:\tlearn: 0.6"),
            ("", "3/10 loss 1"),
            ("", "(val) loss 1"),
        ];
        for (before, message) in cases {
            let text = format!("{before}{message}");
            assert_eq!(text.split_at(prefix(&text)), (before, message));
        }
    }

    #[test]
    fn colors_drawings_and_wrappers_vanish() {
        let cases: [(&[u8], &str); 12] = [
            (b"\x1b[1;32mval_acc\x1b[0m=\x1b[33m0.71\x1b[m", "val_acc=0.71"),
            (b"\x1b]0;title\x07loss 1", "loss 1"),
            (b"50\x08\x08loss 1\0", "50loss 1"),
            (b"plain \x1b[", "plain "),
            ("val_acc：0.7，ok".as_bytes(), "val_acc:0.7,ok"),
            (b"{'a': np.float64(0.5), 'b': 1}", "{'a': 0.5, 'b': 1}"),
            (b"{'a': tensor(0.5, device='cuda:0'), 'b': 1}", "{'a': 0.5, 'b': 1}"),
            (b"Array(0.5, dtype=float32) array(x)", "0.5 array(x)"),
            (b"acc DeviceArray(0.5, dtype=float32)", "acc 0.5"),
            (b"acc: <tf.Tensor: shape=(), numpy=0.5>, b", "acc: 0.5, b"),
            (b"acc: tensor([0.5])", "acc: 0.5"),
            ("│ ep │ 5 ━━ ██ │".as_bytes(), "| ep | 5 -- ## |"),
        ];
        for (line, expected) in cases {
            assert_eq!(plain(line).text, expected, "{}", String::from_utf8_lossy(line));
        }
        assert!(plain(b"\x1b[1A\x1b[2Kloss 1").redraws && !plain(b"\x1b[2Kloss 1").redraws);
    }
}

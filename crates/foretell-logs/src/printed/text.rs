//! A printed line as plain text: escapes go, drawings become signs, and wrapped numbers are unwrapped.

use super::number;
use super::words::{counter, stage};
use foretell::direction_of;
use regex::{Captures, Regex, bytes};
use std::borrow::Cow;
use std::sync::LazyLock;

/// Escape sequences and control characters. Group 1 is the last letter of a sequence that moves the cursor.
static ESCAPE_SEQUENCE: LazyLock<bytes::Regex> = LazyLock::new(|| {
    number::pattern(
        r"(?s-u)\x1b(?:\[[^@-~]*([@-~])?|\][^\x07\\]*[\x07\\]?|[()].|.|$)|[\x00-\x08\x0a-\x1f\x7f]",
    )
});
/// Numbers as programs wrap them: `np.float64(0.93)`, `tensor(0.93, device='cuda:0')`, `<tf.Tensor: shape=(), dtype=float32, numpy=0.93>`.
static WRAPPED_NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"([-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[nN]a[nN]|inf))";
    pattern(&format!(
        r"[0-9A-Za-z._]*(?:float(?:64|32|16)?|int(?:64|32)|ensor|rray)\( *\[* *{number}[ \]]*(?:[,>](?:[^()]|\([^()]*\))*)?(?:\)|$)|<tf\..*?numpy= *{number} *(?:[,)][^>]*)?(?:>|$)"
    ))
});
/// A date, a clock time or both; absl's `I0506` and a month and a day only before a time.
static LOG_TIME: LazyLock<Regex> = LazyLock::new(|| {
    let (part, end) = (r"[0-9A-Za-z:.,/+-]", r"[0-9A-Za-z/+]");
    let date = r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}/[0-9]{2}/[0-9]{2}|[0-9]{2}(?:-[0-9]{2}-|/[0-9]{2}/|\.[0-9]{2}\.)[0-9]{4}";
    let stamp = format!(r"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T(?:{part}*{end})?");
    pattern(&format!(
        r"^((?:(?:{date}|{stamp}|[0-9]{{2}}/[0-9]{{2}}|[IWE][0-9]{{4}})[ \t]+)?[0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:{part}*{end})?)?|{date}|{stamp})[:,.-]*(?:[^0-9A-Za-z:.,/+-]|$)"
    ))
});
/// The content of brackets that are part of a prefix: `12.30s`, a process, a level, a rank.
static PREFIX_BRACKETS: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r"^(?:[-+0-9.eE]+ *s|({LOG_LEVELS})|.*pid=.*)$")));
const LOG_LEVELS: &str = "INFO|DEBUG|WARNING|WARN|ERROR|CRITICAL|NOTICE|TRACE|SUCCESS";
/// A level, with the name of its logger: `INFO:root:`.
static LEVEL_AND_LOGGER: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r"^(?:((?:{LOG_LEVELS}):[0-9A-Za-z_.-]*):|({LOG_LEVELS})[ :|\]])")));
/// A container: `trainer-1  | `, but not `EPOCH-3 | `.
static CONTAINER_PREFIX: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^([0-9A-Za-z_.-]+-[0-9]{1,4})[ \t]*\| "));
static COUNTER_START: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?i-u:ep|e-|step|iter)"));
/// A source: `train.py:101]`.
static SOURCE_FILE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([^:=]*?\.py:[0-9]+)(?:(\])|[ :])"));
/// Another source: `__main__:train:42 - `, `package.module - `, or a name before a level.
static LOGGER_SOURCE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(r"^([A-Za-z_][0-9A-Za-z_.:<>/-]*)(?: [-|] [ |-]*({LOG_LEVELS})| [-|] |\] )"))
});

/// A pattern that is part of the program.
pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of the program")
}

/// A line without the signs that only a terminal understands.
#[derive(Debug)]
pub struct PlainLine<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// Whether it is drawn over lines before it: the cursor goes up first.
    pub redraws: bool,
}

/// `line` as plain text.
///
/// ```
/// use foretell_logs::printed::to_plain_line;
/// assert_eq!(to_plain_line(b"\x1b[32mval_acc\x1b[0m: np.float64(0.5)").text, "val_acc: 0.5");
/// ```
pub fn to_plain_line(line: &[u8]) -> PlainLine<'_> {
    let is_simple = line.iter().all(|&byte| (0x20..0x7f).contains(&byte) || byte == b'\t');
    let (text, redraws) = if is_simple {
        (String::from_utf8_lossy(line), false)
    } else {
        let bytes = ESCAPE_SEQUENCE.replace_all(line, &b""[..]);
        let text = String::from_utf8_lossy(&bytes).chars().filter_map(drawn).collect();
        let mut last_letters = ESCAPE_SEQUENCE.captures_iter(line).filter_map(|found| found.get(1));
        (Cow::Owned(text), last_letters.any(|last| last.as_bytes() == b"A"))
    };
    let may_wrap = text.contains(['(', '<']) && WRAPPED_NUMBER.is_match(&text);
    PlainLine { text: if may_wrap { Cow::Owned(unwrap_numbers(&text)) } else { text }, redraws }
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
fn unwrap_numbers(text: &str) -> String {
    let number =
        |found: &Captures<'_>| found.get(1).or(found.get(2)).map_or("", |number| number.as_str()).to_owned();
    WRAPPED_NUMBER.replace_all(text, number).into_owned()
}

/// The length of the prefix of a logger, a launcher or a container at the start of `text`: times, levels, sources, processes.
pub(crate) fn prefix(text: &str) -> usize {
    let (mut end, mut is_level) = (0, false);
    loop {
        let rest = text[end..].trim_start();
        let Some((length, level)) = prefix_part(rest, end > 0, is_level) else { return end };
        is_level |= level;
        end = text.len() - rest.len() + length;
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
fn prefix_part(text: &str, is_inside: bool, is_level: bool) -> Option<(usize, bool)> {
    if text.starts_with(['[', '(']) {
        let close = text.find(if text.starts_with('[') { ']' } else { ')' })?;
        let inside = text[1..close].trim();
        let known = PREFIX_BRACKETS.captures(inside);
        let is_rank = text.starts_with("[rank") && inside[4..].trim().parse::<u64>().is_ok();
        let is_part =
            known.is_some() || is_rank || is_inside && inside.contains(".py:") || LOG_TIME.is_match(inside);
        return is_part.then(|| (close + 1, known.is_some_and(|known| known.get(1).is_some())));
    }
    if let Some(time) = LOG_TIME.captures(text) {
        return Some((time[1].len(), false));
    }
    if let Some(level) = LEVEL_AND_LOGGER.captures(text) {
        return level.get(1).or(level.get(2)).map(|part| (part.end(), true));
    }
    if !is_inside {
        let container = CONTAINER_PREFIX.captures(text).filter(|_| !COUNTER_START.is_match(text))?;
        return Some((container[1].len(), false));
    }
    if let Some(file) = SOURCE_FILE.captures(text) {
        return Some((file[1].len() + file.get(2).map_or(0, |bracket| bracket.len()), false));
    }
    let source = LOGGER_SOURCE.captures(text)?;
    let is_path = source[1].contains("__") || source[1].contains([':', '.']);
    // a logger behind its level, but not a name of its message: `val - loss 1`
    let rest = text[source[1].len()..].trim_start_matches([' ', '-', '|']);
    let is_logger = is_level
        && rest.starts_with(char::is_alphabetic)
        && stage(&source[1]).is_none()
        && counter(&source[1]).is_none()
        && direction_of(&source[1]).is_none();
    (is_path || !is_level && source.get(2).is_some() || is_logger).then(|| (source[1].len(), false))
}

#[cfg(test)]
mod tests {
    use super::{prefix, to_plain_line};

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
            ("2031-05-06 10:01:00,147 - log/train.log - INFO - ", "evaluate:dev"),
            ("[2024-03-02 10:00:01] [INFO] ", "Epoch 1"),
            ("2024-03-02 10:00:22,120 - INFO - allennlp.training.callbacks - ", "accuracy | 0.1 | 0.2"),
            ("2024/03/02 10:11:12 - mmengine - INFO - ", "Iter(train) [ 4000/40000]  lr: 9.0e-03"),
            ("2031-01-01 10:00:00 - INFO - tensorboard - ", "accuracy | 0.1 | 0.2"),
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
        let cases: [(&[u8], &str); 16] = [
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
            (b"acc: tensor(1., device='cuda:0')", "acc: 1."),
            (b"size: tensor(...) float(1.2.3)", "size: tensor(...) float(1.2.3)"),
            ("精度tensor(0.93)".as_bytes(), "精度0.93"),
            ("val_acc→np.float64(0.9)".as_bytes(), "val_acc→0.9"),
            ("│ ep │ 5 ━━ ██ │".as_bytes(), "| ep | 5 -- ## |"),
        ];
        for (line, expected) in cases {
            assert_eq!(to_plain_line(line).text, expected, "{}", String::from_utf8_lossy(line));
        }
        assert!(to_plain_line(b"\x1b[1A\x1b[2Kloss 1").redraws && !to_plain_line(b"\x1b[2Kloss 1").redraws);
    }
}

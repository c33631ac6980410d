//! A printed line as plain text: escapes go, drawings become signs, and wrapped numbers are unwrapped.

use std::borrow::Cow;

/// What programs wrap a number in: `np.float64(0.93)`, `tensor(0.93, device='cuda:0')`.
const WRAPPERS: [&str; 12] = [
    "float64(",
    "float32(",
    "float16(",
    "bfloat16(",
    "int64(",
    "int32(",
    "tensor(",
    "Tensor(",
    "Array(",
    "array(",
    "numpy=",
    "float(",
];

/// A line without what only a terminal understands.
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
    let is_wrapped = text.contains('(') && WRAPPERS.iter().any(|wrapper| text.contains(wrapper));
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

/// `text` with what stands around wrapped numbers removed.
fn unwrapped(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((begin, inside)) = next_wrapper(rest) {
        let number = inside.split([',', ')']).next().unwrap_or_default();
        if number.trim().parse::<f64>().is_err() {
            plain.push_str(&rest[..rest.len() - inside.len()]);
            rest = inside;
            continue;
        }
        plain.push_str(&rest[..begin]);
        plain.push_str(number.trim());
        rest = after_bracket(inside);
    }
    plain.push_str(rest);
    plain
}

/// Where the next wrapper begins, module included, and what is inside of it.
fn next_wrapper(text: &str) -> Option<(usize, &str)> {
    let found = WRAPPERS.iter().filter_map(|wrapper| Some((text.find(wrapper)?, wrapper.len())));
    let (at, length) = found.min()?;
    let module = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let begin = text[..at].rfind(|c| !module(c)).map_or(0, |before| before + 1);
    let begin = if text[begin..at].contains('.') { begin } else { at };
    Some((begin, &text[at + length..]))
}

/// What stands behind the bracket that was opened before `inside`.
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

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn colours_drawings_and_wrappers_vanish() {
        let cases: [(&[u8], &str); 9] = [
            (b"\x1b[1;32mval_acc\x1b[0m=\x1b[33m0.71\x1b[m", "val_acc=0.71"),
            (b"\x1b]0;title\x07loss 1", "loss 1"),
            (b"50\x08\x08loss 1\0", "50loss 1"),
            (b"plain \x1b[", "plain "),
            ("val_acc：0.7，ok".as_bytes(), "val_acc:0.7,ok"),
            (b"{'a': np.float64(0.5), 'b': 1}", "{'a': 0.5, 'b': 1}"),
            (b"{'a': tensor(0.5, device='cuda:0'), 'b': 1}", "{'a': 0.5, 'b': 1}"),
            (b"Array(0.5, dtype=float32) array(x)", "0.5 array(x)"),
            ("│ ep │ 5 ━━ ██ │".as_bytes(), "| ep | 5 -- ## |"),
        ];
        for (line, expected) in cases {
            assert_eq!(plain(line).text, expected, "{}", String::from_utf8_lossy(line));
        }
        assert!(plain(b"\x1b[1A\x1b[2Kloss 1").redraws && !plain(b"\x1b[2Kloss 1").redraws);
    }
}

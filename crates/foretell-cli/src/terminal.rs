//! Standard error, on which commands speak: writing there never ends anything, and nothing that a terminal would carry out is written.

use foretell_run::NOTICES_FILE;
use indicatif::MultiProgress;
use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The beginning of a line that people copy, which stays whole.
const COPIED_LINE_START: &str = "foretell ";

/// The file for messages that cannot be written to standard error; none outside of a search.
static UNSAID_FILE: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The bars of a search on a terminal; while they exist, messages are printed above them.
static LIVE_BARS: Mutex<Option<MultiProgress>> = Mutex::new(None);

/// Prints everything above `bars` from now on; `None` ends that.
pub(crate) fn speak_above(bars: Option<MultiProgress>) {
    *LIVE_BARS.lock().unwrap_or_else(PoisonError::into_inner) = bars;
}

/// From now on, messages that cannot be written to standard error are kept in `notices.log` in `folder`.
pub(crate) fn keep_unsaid_in(folder: &Path) {
    *UNSAID_FILE.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.join(NOTICES_FILE));
}

/// Prints a note on the work to standard error; on a terminal, in lines that fit it.
pub(crate) fn note(text: &str) {
    let text = harmless(text);
    let text = fit_to_terminal(&text, &console::Term::stderr());
    let bars = LIVE_BARS.lock().unwrap_or_else(PoisonError::into_inner);
    match bars.as_ref().map(|bars| bars.println(&text)) {
        None => say(&format!("{text}\n")),
        Some(Err(error)) => keep_unsaid(&format!("{text}\n"), &error),
        Some(Ok(())) => {}
    }
}

/// The columns of a help text: those of the terminal, at most 120, because longer lines are hard to read; 80 without a terminal.
pub(crate) fn help_width() -> usize {
    let terminal = console::Term::stdout().size_checked().map(|(_, width)| usize::from(width));
    terminal.unwrap_or(80).clamp(40, 120)
}

/// Wraps `text` to the width of `terminal`; returns it unchanged if there is no terminal.
pub(crate) fn fit_to_terminal<'a>(text: &'a str, terminal: &console::Term) -> Cow<'a, str> {
    match terminal.size_checked() {
        Some((_, width)) => Cow::Owned(wrap_lines(text, usize::from(width))),
        None => Cow::Borrowed(text),
    }
}

/// `text` with lines of at most `width` columns: broken between words, each further line indented by two more columns than the first.
pub(crate) fn wrap_lines(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| {
        let is_long = console::measure_text_width(line) > width;
        match is_long && !line.trim_start().starts_with(COPIED_LINE_START) {
            true => break_line(line, width),
            false => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn break_line(line: &str, width: usize) -> String {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let (mut text, mut column) = (" ".repeat(indent), indent);
    for word in line.split(' ').skip(indent) {
        let length = console::measure_text_width(word);
        let is_first = text.trim_start().is_empty();
        if !is_first && column + 1 + length > width {
            text.push('\n');
            column = indent + 2;
            text.push_str(&" ".repeat(column));
        } else if !is_first {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

/// Writes `text` to standard error. That it cannot be written (its reader has quit, the disk is full) ends nothing: it is kept
/// elsewhere, if anywhere.
pub(crate) fn say(text: &str) {
    if let Err(error) = std::io::stderr().lock().write_all(text.as_bytes()) {
        keep_unsaid(text, &error);
    }
}

/// Keeps a message that could not be written because of `error`.
pub(crate) fn keep_unsaid(text: &str, error: &std::io::Error) {
    let unsaid = UNSAID_FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(path) = unsaid.as_ref() else { return };
    let begins = !path.exists();
    let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path) else { return };
    if begins {
        let why = format!(
            "standard error cannot be written ({error}). The search continues, and prints its messages here"
        );
        let _ = writeln!(file, "{why}");
    }
    let _ = file.write_all(text.as_bytes());
}

/// `text` without sequences that a terminal would carry out: a script, or the log of somebody else's study, may hold some.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let plain = console::strip_ansi_codes(text);
    Cow::Owned(plain.replace("\r\n", "\n").replace(is_harmful, "\u{fffd}"))
}

fn is_harmful(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` on one line of a table, each control character as it is written in a program: a line break as `\n`.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let parts = text.chars().map(|c| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    });
    Cow::Owned(parts.collect())
}

#[cfg(test)]
mod tests {
    use super::{harmless, visible, wrap_lines};

    #[test]
    fn a_text_in_a_table_keeps_to_its_line() {
        let cases =
            [("größe ±1", "größe ±1"), ("a\nb\tc", r"a\nb\tc"), ("\u{1b}[31mred\r", r"\u{1b}[31mred\r")];
        for (text, expected) in cases {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        let cases = [
            ("short", 20, "short"),
            ("one two three four", 9, "one two\n  three\n  four"),
            ("  one two three", 9, "  one two\n    three"),
            ("first\nsecond line here", 11, "first\nsecond line\n  here"),
            ("a-path/that/is/too/long for it", 10, "a-path/that/is/too/long\n  for it"),
            ("tables  keep  two", 40, "tables  keep  two"),
            ("to copy:\n  foretell search x.toml", 10, "to copy:\n  foretell search x.toml"),
        ];
        for (text, width, expected) in cases {
            assert_eq!(wrap_lines(text, width), expected, "{width}: {text}");
        }
    }

    #[test]
    fn what_a_terminal_would_carry_out_is_not_printed() {
        let cases = [
            ("plain – text\n\twith ± signs", "plain – text\n\twith ± signs"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}rest", "rest"),
            ("cleared\u{1b}[2J\u{1b}[H", "cleared"),
            ("a bell \u{7}, a back\u{8}, one\rover", "a bell \u{fffd}, a back\u{fffd}, one\u{fffd}over"),
            ("c1 \u{9b}31m", "c1 "),
            ("moc.\u{202e}txt", "moc.\u{fffd}txt"),
        ];
        for (text, expected) in cases {
            let shown = harmless(text);
            assert!(!shown.contains('\u{1b}'), "{text:?}");
            assert_eq!(shown, expected, "{text:?}");
        }
    }
}

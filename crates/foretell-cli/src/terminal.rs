//! Standard error, on which commands speak: writing there never ends anything, and nothing that a terminal would carry out is written.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Where what cannot be said on standard error is kept; nowhere outside of a search.
static UNSAID: Mutex<Option<PathBuf>> = Mutex::new(None);

/// From now on what cannot be said on standard error is kept in `notices.log` in `folder`.
pub(crate) fn keep_unsaid_in(folder: &Path) {
    *UNSAID.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.join(NOTICES));
}

/// The file, in a study's folder, that keeps what could not be said.
pub(crate) const NOTICES: &str = "notices.log";

/// Says something about the work to standard error.
pub(crate) fn note(text: &str) {
    say(&format!("{}\n", harmless(text)));
}

/// Writes `text` to standard error. That it cannot be written (its reader has quit, the disk is full) ends nothing: it is kept
/// elsewhere, if anywhere.
pub(crate) fn say(text: &str) {
    if let Err(error) = std::io::stderr().lock().write_all(text.as_bytes()) {
        keep_unsaid(text, &error);
    }
}

/// Keeps what could not be said because of `error`.
pub(crate) fn keep_unsaid(text: &str, error: &std::io::Error) {
    let unsaid = UNSAID.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(path) = unsaid.as_ref() else { return };
    let begins = !path.exists();
    let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path) else { return };
    if begins {
        let why = format!(
            "standard error cannot be written ({error}): the search goes on, and says here what it has to say"
        );
        let _ = writeln!(file, "{why}");
    }
    let _ = file.write_all(text.as_bytes());
}

/// `text` without what a terminal would carry out: a script, or the log of somebody else's study, may hold its escape sequences.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let plain = console::strip_ansi_codes(text);
    Cow::Owned(plain.replace("\r\n", "\n").replace(is_harmful, "\u{fffd}"))
}

#[cfg(test)]
mod tests {
    use super::harmless;

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

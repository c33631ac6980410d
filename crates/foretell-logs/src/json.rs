//! JSON as Python writes it: with `NaN` and `Infinity`, which are no JSON.

use serde_json::Value as Json;
use std::borrow::Cow;

/// Parses `text`; bare `NaN`, `Infinity` and `-Infinity` become texts of that name, which [`number`] reads.
pub(crate) fn parse(text: &str) -> Option<Json> {
    let text = requote_python_dict(text);
    serde_json::from_str(&text).ok().or_else(|| serde_json::from_str(&quote_special_numbers(&text)?).ok())
}

/// The text of a dictionary that Python printed, in the quotes of JSON; other text as it is.
pub(crate) fn requote_python_dict(text: &str) -> Cow<'_, str> {
    let is_printed =
        text.trim_start().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('\''));
    if is_printed { Cow::Owned(text.replace('\'', "\"")) } else { Cow::Borrowed(text) }
}

/// A number, also one that is not finite.
pub(crate) fn number(value: &Json) -> Option<f64> {
    match value {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => match text.as_str() {
            "NaN" | "nan" => Some(f64::NAN),
            "Infinity" | "inf" => Some(f64::INFINITY),
            "-Infinity" | "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// The text with `NaN`, `Infinity` and `-Infinity`, which Python writes, replaced by `null`; `None` if it has none.
pub(crate) fn finite_only(text: &str) -> Option<String> {
    replace_special_numbers(text, |_| "null".to_owned())
}

/// The text with `NaN`, `Infinity` and `-Infinity` in quotation marks, as strings; `None` if it has none.
fn quote_special_numbers(text: &str) -> Option<String> {
    replace_special_numbers(text, |word| format!("\"{word}\""))
}

fn replace_special_numbers(text: &str, by: impl Fn(&str) -> String) -> Option<String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    let (mut quoted, mut found) = (false, false);
    while let Some(letter) = rest.chars().next() {
        let word =
            ["NaN", "-Infinity", "Infinity"].into_iter().find(|word| !quoted && rest.starts_with(word));
        let length = match (word, letter) {
            (Some(word), _) => word.len(),
            (None, '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            _ => letter.len_utf8(),
        };
        quoted ^= letter == '"';
        found |= word.is_some();
        match word {
            Some(word) => result.push_str(&by(word)),
            None => result.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    found.then_some(result)
}

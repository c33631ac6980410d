//! Values in the text of parameters, conditions and configurations: options, quotes, commas.

use foretell::Value;

/// A finite number if it reads as one, otherwise a text: unlike in a table, `none` is a text.
pub(crate) fn read_value(text: &str) -> Value {
    let number = text.trim().parse().ok().filter(|x: &f64| x.is_finite());
    number.map_or_else(|| Value::Text(text.trim().to_owned()), Value::Number)
}

/// Splits `text` at commas outside brackets and quotes.
///
/// ```
/// # use foretell_search::split_at_commas;
/// assert_eq!(split_at_commas("[64,64], 'a,b', c"), ["[64,64]", "'a,b'", "c"]);
/// ```
pub fn split_at_commas(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_usize, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            // an apostrophe inside a word quotes nothing
            (None, '"' | '\'') if text[start..at].trim().is_empty() || depth > 0 => quote = Some(letter),
            (None, '[' | '(' | '{') => depth += 1,
            (None, ']' | ')' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// Splits `text` at each `separator` outside of quotes.
pub(crate) fn split_unquoted<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let (mut parts, mut start, mut quote, mut before) = (Vec::new(), 0, None, ' ');
    for (at, letter) in text.char_indices() {
        match quote {
            Some(open) if open == letter => quote = None,
            Some(_) => {}
            // an apostrophe inside a word quotes nothing
            None if "\"'".contains(letter) && !before.is_alphanumeric() => quote = Some(letter),
            None if at >= start && text[at..].starts_with(separator) => {
                parts.push(&text[start..at]);
                start = at + separator.len();
            }
            None => {}
        }
        before = letter;
    }
    parts.push(&text[start..]);
    parts
}

/// The text between the quotes that `text` as a whole is in.
pub(crate) fn without_quotes(text: &str) -> Option<&str> {
    ['"', '\''].into_iter().find_map(|quote| {
        text.strip_prefix(quote)?.strip_suffix(quote).filter(|inner| !inner.contains(quote))
    })
}

/// An option as a list of options has it: in quotes if it would be read as something else without.
pub(crate) fn quote_option(option: &Value, are_texts: bool) -> String {
    let text = option.to_string();
    let is_whole = [" if ", " and ", " or "].iter().all(|word| split_unquoted(&text, word).len() == 1);
    let is_plain = is_whole
        && split_at_commas(&text) == [text.as_str()]
        && without_quotes(&text).is_none()
        && has_closed_brackets(&text);
    if is_plain && !(are_texts && text.parse::<f64>().is_ok()) {
        return text;
    }
    let quote = if text.contains('\'') { '"' } else { '\'' };
    format!("{quote}{text}{quote}")
}

/// Whether a comma after `text` separates options.
fn has_closed_brackets(text: &str) -> bool {
    split_at_commas(&format!("{text},x")).len() == 2
}

//! The little YAML that tools write for settings: nested names with plain values.

use crate::table::cell_value;
use foretell::{Configuration, Value};

/// The settings of a YAML text, those of nested objects named `outer.inner`. Lists are texts; what is not understood is left out.
pub(crate) fn settings(text: &str) -> Configuration {
    let mut found = Configuration::new();
    // (indentation, name) of the objects that the line is in
    let mut outer: Vec<(usize, String)> = Vec::new();
    let mut list: Option<(usize, String, Vec<String>)> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', '%']) || trimmed == "---" || trimmed == "..." {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        if let Some((_, _, items)) = list.as_mut().filter(|(at, ..)| indent >= *at)
            && let Some(item) = trimmed.strip_prefix("- ")
        {
            items.push(unquoted(item).to_owned());
            continue;
        }
        if let Some((_, name, items)) = list.take().filter(|(.., items)| !items.is_empty()) {
            found.insert(name, Value::Text(format!("[{}]", items.join(", "))));
        }
        let Some((name, value)) = pair(trimmed) else { continue };
        outer.retain(|(at, _)| *at < indent);
        let path: Vec<&str> = outer.iter().map(|(_, name)| name.as_str()).chain([name]).collect();
        let whole = path.join(".");
        // `!!python/name:…` and anchors say something of the value, and are no part of it
        let value = value.trim_start_matches(['&', '!']).trim();
        if value.is_empty() {
            list = Some((indent, whole, Vec::new()));
            outer.push((indent, name.to_owned()));
        } else if let Some(inner) = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            for (key, value) in split(inner).iter().filter_map(|part| pair(part)) {
                found.insert(format!("{whole}.{key}"), cell_value(unquoted(value)));
            }
        } else {
            found.insert(whole, plain(value));
        }
    }
    if let Some((_, name, items)) = list.filter(|(.., items)| !items.is_empty()) {
        found.insert(name, Value::Text(format!("[{}]", items.join(", "))));
    }
    found
}

/// `name: value`; the name may be quoted.
fn pair(text: &str) -> Option<(&str, &str)> {
    let colon = match text.chars().next()? {
        quote @ ('"' | '\'') => text[1..].find(quote)? + 2,
        '-' if text.starts_with("- ") => return None,
        _ => {
            text.match_indices(':')
                .find(|(at, _)| text[at + 1..].is_empty() || text[at + 1..].starts_with(' '))?
                .0
        }
    };
    let value = text.get(colon..)?.strip_prefix(':')?;
    Some((unquoted(text[..colon].trim()), value.trim()))
}

/// The parts of a flow mapping, split at its commas.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut start, mut parts) = (0_i32, None, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '"' | '\'' if quoted == Some(letter) => quoted = None,
            '"' | '\'' if quoted.is_none() => quoted = Some(letter),
            '[' | '{' if quoted.is_none() => depth += 1,
            ']' | '}' if quoted.is_none() => depth -= 1,
            ',' if quoted.is_none() && depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inner = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// A value: quoted, it is a text, though it look like a number.
fn plain(value: &str) -> Value {
    if unquoted(value) != value {
        return Value::Text(unquoted(value).to_owned());
    }
    let value = value.split(" #").next().unwrap_or(value).trim();
    if value == "~" { Value::Missing } else { cell_value(value) }
}

#[cfg(test)]
mod tests {
    use super::settings;
    use foretell::Value;

    #[test]
    fn nested_names_lists_flow_maps_and_comments_are_read() {
        let text = "# a comment\nlr: 1e-3\nopt:\n  name: 'adam'\n  betas: {b1: 0.9, \"b2\": 0.99}\nlayers:\n- 3\n- 4\nnone: null\nnum: \"7\"  \nurl: http://x:1\n";
        let found = settings(text);
        let expected = [
            ("lr", Value::Number(0.001)),
            ("opt.name", Value::Text("adam".into())),
            ("opt.betas.b1", Value::Number(0.9)),
            ("opt.betas.b2", Value::Number(0.99)),
            ("layers", Value::Text("[3, 4]".into())),
            ("none", Value::Missing),
            ("num", Value::Text("7".into())),
            ("url", Value::Text("http://x:1".into())),
        ];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(expected.iter().all(|(name, value)| found.get(*name) == Some(value)), "{found:?}");
    }
}

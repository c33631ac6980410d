//! Placeholders in a trial's command: `{lr}` becomes the trial's learning rate.

use foretell_search::split_at_commas;
use serde_json::{Map, Value};
use thiserror::Error;

/// The placeholder that stands for all parameters, as one JSON object.
pub const PARAMS_JSON: &str = "params_json";

/// The placeholder that stands for the path of the file with all parameters, a JSON object.
pub const PARAMS_FILE: &str = "params_file";
/// The placeholder that stands for the trial's own folder.
pub const TRIAL_DIR: &str = "trial_dir";
/// The placeholder that stands for the trial's own seed, unless a parameter has this name.
pub const SEED_PLACEHOLDER: &str = "seed";
/// The placeholder that stands for the epochs of a whole training, unless a parameter has this name.
pub const EPOCHS_PLACEHOLDER: &str = "epochs";

/// The reason why a placeholder could not be replaced.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlaceholderError {
    /// No parameter has this name.
    #[error(
        "unknown placeholder {{{name}}} in `{text}`. The parameters are {known}, and {{{PARAMS_JSON}}} stands for all; \
         write {{{{ and }}}} for plain braces"
    )]
    Unknown {
        /// The name between the braces.
        name: String,
        /// The argument it is in.
        text: String,
        /// The names there are, separated by commas.
        known: String,
    },
    /// A brace without its partner.
    #[error("a single `{brace}` at byte {at} of `{text}`. Write {brace}{brace} for a plain brace")]
    Unbalanced {
        /// The brace.
        brace: char,
        /// The argument it is in.
        text: String,
        /// Where, in bytes from 0.
        at: usize,
    },
}

/// `text` with each `{name}` replaced by the parameter of that name, `{params_json}` by all of them, `{{` by `{`, `}}` by `}`.
///
/// A text parameter stands without quotes, a number in the fewest digits that give it back exactly, a truth value as
/// `true` or `false`, null (a parameter that does not apply) as nothing, anything else as JSON.
///
/// # Errors
/// [`PlaceholderError::Unknown`] for a name that is no parameter, [`PlaceholderError::Unbalanced`] for a single brace.
pub(crate) fn substitute_placeholders(
    text: &str,
    parameters: &Map<String, Value>,
) -> Result<String, PlaceholderError> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let brace = if rest.starts_with('{') { '{' } else { '}' };
        if rest[1..].starts_with(brace) {
            filled.push(brace);
            rest = &rest[2..];
            continue;
        }
        let Some(end) = rest.find('}').filter(|&end| end > 0) else {
            let at = text.len() - rest.len();
            return Err(PlaceholderError::Unbalanced { brace, text: text.to_owned(), at });
        };
        filled.push_str(&find_replacement(&rest[1..end], text, parameters)?);
        rest = &rest[end + 1..];
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The arguments of `command` with their placeholders filled in.
///
/// - A parameter that does not apply (null) takes its argument with it: `--momentum={m}` and `momentum={m}` are left out, and so are
///   `{m}` and the flag before it.
/// - A flag that is present leaves `--amp` of `--amp={amp}` and of `--amp {amp}`; one that is absent takes them with it. `{amp}` alone is
///   `--amp` or nothing, and `amp={amp}` is `amp=true` or `amp=false`.
/// - `{*widths}` is a list: its values are arguments of their own, divided at commas or blanks, without brackets.
///
/// ```
/// use foretell_run::fill_placeholders;
/// use serde_json::json;
///
/// let command = ["train", "--opt", "{opt}", "--momentum", "{m}", "--amp={amp}", "--widths", "{*widths}"].map(str::to_owned);
/// let parameters = json!({"opt": "adam", "m": null, "amp": true, "widths": "[64,32]"});
/// let filled = fill_placeholders(&command, parameters.as_object().unwrap()).unwrap();
/// assert_eq!(filled, ["train", "--opt", "adam", "--amp", "--widths", "64", "32"]);
/// ```
///
/// # Errors
/// [`PlaceholderError::Unknown`] for a name that is no parameter, [`PlaceholderError::Unbalanced`] for a single brace.
pub fn fill_placeholders(
    command: &[String],
    parameters: &Map<String, Value>,
) -> Result<Vec<String>, PlaceholderError> {
    let mut filled = Vec::with_capacity(command.len());
    let mut flag_before = false;
    for text in command {
        let value = substitute_placeholders(text, parameters)?;
        match parse_single_placeholder(text, parameters) {
            Some(("", _, Value::Null | Value::Bool(false))) if flag_before => drop(filled.pop()),
            Some((before, _, Value::Bool(_))) if is_assignment_start(before) => filled.push(value),
            Some((_, _, Value::Null | Value::Bool(false))) => {}
            Some(("", _, Value::Bool(true))) if flag_before => {}
            Some(("", name, Value::Bool(true))) => filled.push(format!("--{name}")),
            Some((before, _, Value::Bool(true))) => filled.push(before.trim_end_matches('=').to_owned()),
            Some(("", name, list)) if name.starts_with('*') => filled.extend(list_items(list)),
            _ => filled.push(value),
        }
        // a flag with its value in the same word, as in `--lr=0.1`, must not go with the word behind it
        flag_before = text.starts_with('-') && !text.contains(['=', '{']);
    }
    Ok(filled)
}

/// Whether this is the start of a word such as `amp=`, which takes a value.
fn is_assignment_start(before: &str) -> bool {
    before.ends_with('=') && !before.starts_with('-')
}

/// Of an argument that is for one placeholder alone: the text before it, which is nothing or ends with `=` and has no spaces, its name and
/// its value.
fn parse_single_placeholder<'a>(
    text: &'a str,
    parameters: &'a Map<String, Value>,
) -> Option<(&'a str, &'a str, &'a Value)> {
    let (before, name) = text.strip_suffix('}')?.rsplit_once('{')?;
    let alone = before.is_empty() || before.ends_with('=');
    let plain = !before.contains(|c: char| c.is_whitespace() || "{}".contains(c));
    let value = parameters.get(name.trim_start_matches('*'))?;
    (alone && plain).then_some((before, name, value))
}

/// The values of a list: of a JSON array, or of a text such as `[64,64]`, `(64, 64)` and `64 64`.
fn list_items(list: &Value) -> Vec<String> {
    let text = match list {
        Value::Array(values) => return values.iter().map(to_argument).collect(),
        other => to_argument(other),
    };
    let inner = ["[]", "()"].iter().find_map(|pair| text.strip_prefix(&pair[..1])?.strip_suffix(&pair[1..]));
    let inner = inner.unwrap_or(&text);
    let parts: Vec<&str> = match inner.contains(',') {
        true => split_at_commas(inner),
        false => inner.split_whitespace().collect(),
    };
    parts.into_iter().filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// A value as one argument.
fn to_argument(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn find_replacement(
    name: &str,
    text: &str,
    parameters: &Map<String, Value>,
) -> Result<String, PlaceholderError> {
    match (parameters.get(name), name.strip_prefix('*').and_then(|name| parameters.get(name))) {
        (Some(value), _) => Ok(to_argument(value)),
        (None, Some(list)) => Ok(list_items(list).join(" ")),
        _ if name == PARAMS_JSON => Ok(Value::Object(parameters.clone()).to_string()),
        _ => Err(unknown_error(name, text, parameters)),
    }
}

fn unknown_error(name: &str, text: &str, parameters: &Map<String, Value>) -> PlaceholderError {
    let names: Vec<&str> = parameters.keys().map(String::as_str).collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    PlaceholderError::Unknown { name: name.to_owned(), text: text.to_owned(), known }
}

#[cfg(test)]
mod tests {
    use super::{Map, Value, fill_placeholders, substitute_placeholders};
    use serde_json::json;

    fn parameters() -> Map<String, Value> {
        let value = json!({"lr": 1e-5, "units": 64, "name": "a b", "fast": true, "widths": [1, 2]});
        value.as_object().expect("an object").clone()
    }

    /// The words of a command, and those that are run.
    type Case<'a> = (&'a [&'a str], &'a [&'a str]);

    fn assert_filled_in(cases: &[Case<'_>], parameters: &Map<String, Value>) {
        for (command, expected) in cases {
            let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(
                &fill_placeholders(&command, parameters).expect("known parameters"),
                expected,
                "{command:?}"
            );
        }
    }

    #[test]
    fn fills_in_values_as_a_command_line_wants_them() {
        let cases = [
            ("--lr", "--lr"),
            ("{lr}", "0.00001"),
            ("--units={units}/{units}", "--units=64/64"),
            ("{name}", "a b"), // one argument stays one argument: no shell is involved
            ("{fast}", "true"),
            ("{widths}", "[1,2]"),
            ("print {{$1}}", "print {$1}"),
            ("{{lr}}", "{lr}"),
            ("{{{units}}}", "{64}"),
            ("\u{e9}{units}\u{e9}", "\u{e9}64\u{e9}"),
        ];
        for (text, expected) in cases {
            assert_eq!(substitute_placeholders(text, &parameters()).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_does_not_apply_takes_its_argument_with_it() {
        let value = json!({"m": null, "lr": -0.5, "opt": "adam"});
        let parameters = value.as_object().expect("an object");
        let cases: [Case; 8] = [
            (&["t", "--m", "{m}", "--lr", "{lr}"], &["t", "--lr", "-0.5"]),
            (&["t", "--m={m}", "m={m}", "-v"], &["t", "-v"]),
            (&["{m}"], &[]),
            (&["t", "{lr}", "{m}"], &["t", "-0.5"]), // a value that looks like a flag is none
            (&["t", "--lr={lr}", "{m}"], &["t", "--lr=-0.5"]),
            (&["t", "--m", "{m}", "{m}"], &["t"]),
            (&["sh", "-c", "train --m={m} {opt}"], &["sh", "-c", "train --m= adam"]),
            (&["t", "--both={lr},{m}", "{{m}}"], &["t", "--both=-0.5,", "{m}"]),
        ];
        assert_filled_in(&cases, parameters);
    }

    #[test]
    fn flags_are_present_or_absent_and_lists_are_several_arguments() {
        let value = json!({"on": true, "off": false, "w": "[64, 32]", "v": "3 4", "a": [1, 2.5], "e": "[]"});
        let parameters = value.as_object().expect("an object");
        let cases: [Case; 7] = [
            (&["t", "--on={on}", "--off={off}", "-v"], &["t", "--on", "-v"]),
            (&["t", "--use-amp", "{on}", "--fast", "{off}", "-v"], &["t", "--use-amp", "-v"]),
            (&["t", "{on}", "{off}"], &["t", "--on"]),
            (&["t", "on={on}", "off={off}"], &["t", "on=true", "off=false"]),
            (&["t", "--w", "{*w}", "{*v}", "{*a}"], &["t", "--w", "64", "32", "3", "4", "1", "2.5"]),
            (&["sh", "-c", "t --w {*w}; t {w}"], &["sh", "-c", "t --w 64 32; t [64, 32]"]),
            (&["t", "--w={w}", "{*e}"], &["t", "--w=[64, 32]"]),
        ];
        assert_filled_in(&cases, parameters);
    }

    #[test]
    fn refuses_what_it_cannot_fill_in_and_says_why() {
        let cases = [
            ("--lr={rate}", "lr, units, name, fast, widths"),
            ("{}", "unknown placeholder {}"),
            ("{print $1}", "{{ and }}"),
            ("{lr", "a single `{` at byte 0"),
            ("a}", "a single `}` at byte 1"),
            ("{lr}}", "a single `}` at byte 4"),
        ];
        for (text, expected) in cases {
            let message = substitute_placeholders(text, &parameters()).expect_err(text).to_string();
            assert!(message.contains(expected), "{text} gave {message:?}");
        }
        assert!(
            substitute_placeholders("{lr}", &Map::new())
                .expect_err("no parameters")
                .to_string()
                .contains("are none")
        );
    }
}

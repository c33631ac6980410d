//! Placeholders in a trial's command: `{lr}` becomes the trial's learning rate.

use serde_json::{Map, Value};
use thiserror::Error;

/// The placeholder that stands for all parameters, as one JSON object.
pub const PARAMS_JSON: &str = "params_json";

/// The placeholder that stands for the path of the file with all parameters, a JSON object.
pub const PARAMS_FILE: &str = "params_file";
/// The placeholder that stands for the trial's own folder.
pub const TRIAL_DIR: &str = "trial_dir";

/// Why a command was not filled in.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlaceholderError {
    /// No parameter has this name.
    #[error(
        "unknown placeholder {{{name}}} in `{text}`: the parameters are {known}, and {{{PARAMS_JSON}}} stands for all; \
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
    #[error("a single `{brace}` at byte {at} of `{text}`: write {brace}{brace} for a plain brace")]
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
/// ```
/// use foretell_run::substitute;
/// use serde_json::json;
///
/// let parameters = json!({"lr": 0.1, "optimizer": "adam"});
/// let parameters = parameters.as_object().unwrap();
/// assert_eq!(substitute("--lr={lr}", parameters).unwrap(), "--lr=0.1");
/// assert_eq!(substitute("{{{optimizer}}}", parameters).unwrap(), "{adam}");
/// assert_eq!(substitute("{params_json}", parameters).unwrap(), r#"{"lr":0.1,"optimizer":"adam"}"#);
/// assert!(substitute("{rate}", parameters).unwrap_err().to_string().contains("lr, optimizer"));
/// ```
///
/// # Errors
/// [`PlaceholderError::Unknown`] for a name that is no parameter, [`PlaceholderError::Unbalanced`] for a single brace.
pub fn substitute(text: &str, parameters: &Map<String, Value>) -> Result<String, PlaceholderError> {
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
        let unbalanced =
            || PlaceholderError::Unbalanced { brace, text: text.to_owned(), at: text.len() - rest.len() };
        let end = rest.find('}').filter(|&end| end > 0).ok_or_else(unbalanced)?;
        filled.push_str(&replacement(&rest[1..end], text, parameters)?);
        rest = &rest[end + 1..];
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The arguments of `command` with their placeholders filled in. A parameter that does not apply (null) takes its argument with
/// it: `--momentum={m}` and `momentum={m}` are left out, and so are `{m}` and the flag before it.
///
/// ```
/// use foretell_run::fill_in;
/// use serde_json::json;
///
/// let command = ["train", "--opt", "{opt}", "--momentum", "{m}", "--wd={wd}", "-v"].map(str::to_owned);
/// let parameters = json!({"opt": "adam", "m": null, "wd": null});
/// assert_eq!(fill_in(&command, parameters.as_object().unwrap()).unwrap(), ["train", "--opt", "adam", "-v"]);
/// ```
///
/// # Errors
/// Those of [`substitute`].
pub fn fill_in(command: &[String], parameters: &Map<String, Value>) -> Result<Vec<String>, PlaceholderError> {
    let mut filled = Vec::with_capacity(command.len());
    let mut flag_before = false;
    for text in command {
        let value = substitute(text, parameters)?;
        match before_absent(text, parameters) {
            None => filled.push(value),
            Some("") if flag_before => drop(filled.pop()),
            Some(_) => {}
        }
        flag_before = text.starts_with('-') && !text.contains(['=', '{']);
    }
    Ok(filled)
}

/// What stands before the placeholder of a parameter that does not apply, in an argument that is for it alone: nothing, or
/// text without spaces that ends with `=`.
fn before_absent<'a>(text: &'a str, parameters: &Map<String, Value>) -> Option<&'a str> {
    let (before, name) = text.strip_suffix('}')?.rsplit_once('{')?;
    let alone = before.is_empty() || before.ends_with('=');
    let plain = !before.contains(|c: char| c.is_whitespace() || "{}".contains(c));
    (alone && plain && parameters.get(name) == Some(&Value::Null)).then_some(before)
}

fn replacement(name: &str, text: &str, parameters: &Map<String, Value>) -> Result<String, PlaceholderError> {
    match parameters.get(name) {
        Some(Value::String(value)) => Ok(value.clone()),
        Some(Value::Null) => Ok(String::new()),
        Some(value) => Ok(value.to_string()),
        None if name == PARAMS_JSON => Ok(Value::Object(parameters.clone()).to_string()),
        None => Err(unknown(name, text, parameters)),
    }
}

fn unknown(name: &str, text: &str, parameters: &Map<String, Value>) -> PlaceholderError {
    let names: Vec<&str> = parameters.keys().map(String::as_str).collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    PlaceholderError::Unknown { name: name.to_owned(), text: text.to_owned(), known }
}

#[cfg(test)]
mod tests {
    use super::{Map, Value, fill_in, substitute};
    use serde_json::json;

    fn parameters() -> Map<String, Value> {
        let value = json!({"lr": 1e-5, "units": 64, "name": "a b", "fast": true, "widths": [1, 2]});
        value.as_object().expect("an object").clone()
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
            assert_eq!(substitute(text, &parameters()).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_does_not_apply_takes_its_argument_with_it() {
        let value = json!({"m": null, "lr": -0.5, "opt": "adam"});
        let parameters = value.as_object().expect("an object");
        let cases: [(&[&str], &[&str]); 8] = [
            (&["t", "--m", "{m}", "--lr", "{lr}"], &["t", "--lr", "-0.5"]),
            (&["t", "--m={m}", "m={m}", "-v"], &["t", "-v"]),
            (&["{m}"], &[]),
            (&["t", "{lr}", "{m}"], &["t", "-0.5"]), // a value that looks like a flag is none
            (&["t", "--lr={lr}", "{m}"], &["t", "--lr=-0.5"]),
            (&["t", "--m", "{m}", "{m}"], &["t"]),
            (&["sh", "-c", "train --m={m} {opt}"], &["sh", "-c", "train --m= adam"]),
            (&["t", "--both={lr},{m}", "{{m}}"], &["t", "--both=-0.5,", "{m}"]),
        ];
        for (command, expected) in cases {
            let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(fill_in(&command, parameters).expect("known parameters"), expected, "{command:?}");
        }
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
            let message = substitute(text, &parameters()).expect_err(text).to_string();
            assert!(message.contains(expected), "{text} gave {message:?}");
        }
        assert!(substitute("{lr}", &Map::new()).expect_err("no parameters").to_string().contains("are none"));
    }
}

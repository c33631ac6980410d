//! The differences between two descriptions.

use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;

/// A field in which two descriptions differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDifference {
    /// The field's name.
    pub field: String,
    /// The value in the first one, as JSON.
    pub there: String,
    /// The value in the second one, as JSON.
    pub here: String,
}

impl FieldDifference {
    /// The difference in words, such as `seed 7 (was 0)`. For an object with the same keys in both, one entry per key that differs.
    pub fn in_words(&self) -> Vec<String> {
        let objects = [&self.there, &self.here].map(|json| serde_json::from_str::<Map<_, _>>(json));
        match objects {
            [Ok(there), Ok(here)] if there.keys().eq(here.keys()) => {
                differences(&there, &here).iter().flat_map(Self::in_words).collect()
            }
            _ => {
                let (there, here) = (strip_json_syntax(&self.there), strip_json_syntax(&self.here));
                vec![match self.field.as_str() {
                    "command" => changed_words(&there, &here),
                    field => format!("{} {here} (was {there})", setting_name(field)),
                }]
            }
        }
    }
}

impl fmt::Display for FieldDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words().join(", "))
    }
}

/// The name of a field as people set it.
fn setting_name(field: &str) -> String {
    match field {
        "max_resource" => "epochs".to_owned(),
        "run_score" => "score".to_owned(),
        "schedule" => "scheduler".to_owned(),
        other => other.replace('_', "-"),
    }
}

/// A value in JSON without quotes and braces: `{"asha":{"eta":3}}` is `asha (eta 3)`.
fn strip_json_syntax(json: &str) -> String {
    serde_json::from_str(json).map_or_else(|_| json.to_owned(), |value| without_marks(&value))
}

fn without_marks(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(without_marks).collect::<Vec<_>>().join(", "),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(name, value)| match value {
                Value::Object(_) => format!("{name} ({})", without_marks(value)),
                _ => format!("{name} {}", without_marks(value)),
            });
            entries.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// The words in which the command `here` differs from the command `there`: all between their common beginning and end.
fn changed_words(there: &str, here: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (there.split(' ').collect(), here.split(' ').collect());
    let mut start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    // the value of an option stands with its name
    let is_name = start > 0 && new[start - 1].starts_with('-');
    if is_name && old.len() > start + end && new.len() > start + end {
        start -= 1;
    }
    match [old, new].map(|words| words[start..words.len() - end].join(" ")) {
        [old, new] if old.is_empty() => format!("the command now has `{new}`"),
        [old, new] if new.is_empty() => format!("the command no longer has `{old}`"),
        [old, new] => format!("the command has `{new}` (was `{old}`)"),
    }
}

/// The fields in which `there` and `here` differ, by name. An omitted field has its default value.
pub fn differences<T: Serialize>(there: &T, here: &T) -> Vec<FieldDifference> {
    let [there, here] = [there, here].map(|described| match serde_json::to_value(described) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    });
    let names: BTreeSet<&String> = there.keys().chain(here.keys()).collect();
    let differing = names.into_iter().filter(|&name| there.get(name) != here.get(name));
    let differences = differing.map(|name| {
        let [there, here] =
            [&there, &here].map(|fields| fields.get(name).map_or("the default".to_owned(), Value::to_string));
        FieldDifference { field: name.clone(), there, here }
    });
    differences.collect()
}

#[cfg(test)]
mod tests {
    use super::FieldDifference;

    #[test]
    fn differences_are_worded_without_json() {
        let cases = [
            ("seed", "0", "7", "seed 7 (was 0)"),
            ("max_resource", "5", "10", "epochs 10 (was 5)"),
            ("schedule", "\"full\"", r#"{"asha":{"eta":3}}"#, "scheduler asha (eta 3) (was full)"),
            (
                "criterion",
                r#"{"stop_probability":0.99,"offset":0.0}"#,
                r#"{"stop_probability":0.999,"offset":0.0}"#,
                "stop-probability 0.999 (was 0.99)",
            ),
            ("run_score", "the default", "\"best\"", "score best (was the default)"),
            ("command", "\"a --lr {lr}\"", "\"a --lr {lr} --d {d}\"", "the command now has `--d {d}`"),
            ("command", "\"a -b 1 -c 2\"", "\"a -b 3 -c 2\"", "the command has `-b 3` (was `-b 1`)"),
            ("command", "\"a -b 1 -c 2\"", "\"a -c 2\"", "the command no longer has `-b 1`"),
        ];
        for (field, there, here, expected) in cases {
            let [field, there, here] = [field, there, here].map(str::to_owned);
            assert_eq!(FieldDifference { field, there, here }.to_string(), expected);
        }
    }
}

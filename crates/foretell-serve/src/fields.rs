//! The fields of a request's body.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::problem::Problem;

/// The fields of a request's body, a JSON object; no body is an empty one.
pub(crate) struct Fields(Map<String, Value>);

/// The object that `body` is; no body is an empty one.
pub(crate) fn object(body: &[u8]) -> Result<Map<String, Value>, Problem> {
    let body = if body.trim_ascii().is_empty() { b"{}" } else { body };
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        Problem::field("body", format!("not JSON: {error}; a value that is not finite is written null"))
    })?;
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Err(Problem::field("body", "expected a JSON object, such as {\"step\": 1, \"value\": 0.5}")),
    }
}

impl Fields {
    /// Reads `body`, which may have the fields `known`.
    pub(crate) fn read(body: &[u8], known: &[&str]) -> Result<Self, Problem> {
        let fields = object(body)?;
        match fields.keys().find(|name| !known.contains(&name.as_str())) {
            Some(unknown) if known.is_empty() => {
                Err(Problem::field(unknown, "unknown; this takes no fields"))
            }
            Some(unknown) => Err(Problem::field(unknown, format!("unknown; known are {}", known.join(", ")))),
            None => Ok(Self(fields)),
        }
    }

    /// The field `name`, `expected` in words; `None` if it is absent or null.
    pub(crate) fn take<T: DeserializeOwned>(
        &mut self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = self.0.remove(name).filter(|value| !value.is_null()) else { return Ok(None) };
        let shown = value.to_string();
        let shown: String = shown.chars().take(60).collect();
        serde_json::from_value(value)
            .map(Some)
            .map_err(|_| Problem::field(name, format!("expected {expected}, found {shown}")))
    }

    /// The field `name`, which must be there.
    pub(crate) fn need<T: DeserializeOwned>(&mut self, name: &str, expected: &str) -> Result<T, Problem> {
        self.take(name, expected)?
            .ok_or_else(|| Problem::field(name, format!("missing; expected {expected}")))
    }

    /// Whether the field `name` is there, be it null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use super::Fields;

    #[test]
    fn what_is_wrong_is_named() {
        let known = ["step", "value"];
        let cases = [
            ("{", "body: not JSON"),
            ("[1]", "expected a JSON object"),
            ("{\"step\": NaN}", "written null"),
            ("{\"stepp\": 1}", "stepp: unknown; known are step, value"),
            ("{\"step\": -1}", "step: expected a whole number, found -1"),
            ("{\"step\": \"1\"}", "found \\\"1\\\""),
            ("{}", "step: missing"),
            ("", "step: missing"),
        ];
        for (body, words) in cases {
            let read = Fields::read(body.as_bytes(), &known);
            let problem = match read.and_then(|mut fields| fields.need::<u64>("step", "a whole number")) {
                Ok(step) => panic!("{body} gave {step}"),
                Err(problem) => format!("{problem:?}"),
            };
            assert!(problem.contains(words), "{body}: {problem}");
        }
    }
}

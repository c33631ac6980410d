//! JSON as Python writes it: with `NaN` and `Infinity`, which are no JSON.

use foretell::{Configuration, Value};
use serde_json::{Map, Value as Json};

/// Parses `text`; bare `NaN`, `Infinity` and `-Infinity` become texts of that name, which [`number`] reads.
pub(crate) fn parse(text: &str) -> Option<Json> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&crate::json_lines::quoted(text)?).ok())
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

/// The settings in `values`, those of nested objects named `outer.inner`.
pub(crate) fn settings(values: &Map<String, Json>) -> Configuration {
    let mut configuration = Configuration::new();
    crate::json_lines::flatten("", values, &mut configuration);
    configuration
}

/// A text as a setting: a number if it is one.
pub(crate) fn setting(text: &str) -> Value {
    crate::table::cell_value(text)
}

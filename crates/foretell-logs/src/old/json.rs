//! Settings in JSON.

pub(crate) use crate::json::{number, parse};
use foretell::{Configuration, Value};
use serde_json::{Map, Value as Json};

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

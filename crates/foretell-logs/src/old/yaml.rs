//! The settings in the YAML files that tools write.

use super::json;
use crate::yaml::parse_yaml_documents;
use foretell::{Configuration, Value};
use serde_json::Value as Json;

/// The settings of a YAML text, those of nested objects named `outer.inner`. Lists are texts; a text that is no YAML has none.
///
/// A plain `1e-3` is a text for PyYAML. It is a number here: scripts turn it into one.
pub(crate) fn settings(text: &str) -> Configuration {
    let documents = parse_yaml_documents(text).unwrap_or_default();
    let mut found = Configuration::new();
    for document in documents {
        if let Json::Object(fields) = document.to_json() {
            found.extend(json::settings(&fields));
        }
    }
    for value in found.values_mut() {
        if let Value::Text(text) = &*value
            && text.contains(['e', 'E'])
            && let Ok(number) = text.parse::<f64>()
            && number.is_finite()
        {
            *value = Value::Number(number);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::settings;
    use foretell::Value;

    #[test]
    fn nested_names_lists_aliases_flow_maps_and_booleans_are_read() {
        let text = "# a comment\nlr: 1e-3\nopt: &opt\n  name: 'adam'\n  betas: {b1: 0.9, \"b2\": 0.99}\nlayers:\n- 3\n- 4\nnone: null\nnum: \"7\"  \nurl: http://x:1\nsteps: 1_000_000\nnesterov: yes\nother: *opt\nnote: |\n  lr: 5\n";
        let found = settings(text);
        let text = |text: &str| Value::Text(text.into());
        let expected = [
            ("lr", Value::Number(0.001)),
            ("opt.name", text("adam")),
            ("opt.betas.b1", Value::Number(0.9)),
            ("opt.betas.b2", Value::Number(0.99)),
            ("layers", text("[3,4]")),
            ("none", Value::Missing),
            ("num", text("7")),
            ("url", text("http://x:1")),
            ("steps", Value::Number(1e6)),
            ("nesterov", text("true")),
            ("other.name", text("adam")),
            ("other.betas.b1", Value::Number(0.9)),
            ("other.betas.b2", Value::Number(0.99)),
            ("note", text("lr: 5\n")),
        ];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(expected.iter().all(|(name, value)| found.get(*name) == Some(value)), "{found:?}");
    }
}

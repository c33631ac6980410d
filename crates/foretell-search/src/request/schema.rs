//! The JSON Schema of a request, from which flags, study files and the description of the HTTP interface are made.

use super::StudyRequest;
use super::usual::in_words;
use crate::catalogue::Catalogue;
use crate::stopping::{ChainRule, NamedRule};
use serde_json::{Map, Value, json};

/// The keywords that schemars writes for the types of Rust, and nobody else needs.
const OMITTED_KEYWORDS: [&str; 2] = ["format", "title"];

impl StudyRequest {
    /// The JSON Schema of each field, self-contained: its `description`, its `type` or its choices as `oneOf`, its `default` where there
    /// is one, or else its description ends in what it is usually; and for flags `x-heading`, `x-value` (what the value is called),
    /// `x-flag-help` (where the flag turns something off), `x-meaning` (the description without what it is usually) `x-rare` (few need it),
    /// `x-compared` (a replay compares several values) and `x-judged` (it matters to a [`Judge`](crate::Judge), whatever the policy).
    pub fn schema(catalogue: &Catalogue) -> Map<String, Value> {
        let whole = Value::from(schemars::schema_for!(Self));
        let Value::Object(fields) = &whole["properties"] else { return Map::new() };
        let mut fields: Map<_, _> =
            fields.iter().map(|(name, field)| (name.clone(), inline_references(field, &whole))).collect();
        for (name, known) in [
            ("sampler", catalogue.list_samplers().collect::<Vec<_>>()),
            ("policy", catalogue.list_policies().collect()),
        ] {
            if let Some(Value::Object(field)) = fields.get_mut(name) {
                let choice = |(name, about)| json!({"type": "string", "const": name, "description": about});
                field.shift_remove("type");
                field.insert("oneOf".to_owned(), known.into_iter().map(choice).collect());
            }
        }
        for (name, field) in fields.iter_mut().filter(|(_, field)| field["x-heading"] == "Stopping") {
            let by = catalogue.policies_with(name);
            if !by.is_empty() && !by.contains(&ChainRule::NAME) {
                let meaning = field["description"].as_str().unwrap_or_default().trim_end_matches('.');
                field["description"] = format!("{meaning} (policy {})", by.join(", ")).into();
            }
        }
        for (name, values) in Self::usual() {
            let Some(field) = fields.get_mut(name) else { continue };
            let meaning = field["description"].as_str().unwrap_or_default().trim_end_matches('.').to_owned();
            field["description"] = format!("{meaning} (default: {})", in_words(name, &values)).into();
            field["x-meaning"] = meaning.into();
        }
        fields
    }
}

/// `schema` without references into `whole`, and without the `null` of what may be left out.
fn inline_references(schema: &Value, whole: &Value) -> Value {
    let Value::Object(entries) = schema else { return schema.clone() };
    let mut made = Map::new();
    for (key, value) in entries {
        match (key.as_str(), value) {
            ("$ref", Value::String(path)) => {
                let named = inline_references(
                    whole.pointer(path.trim_start_matches('#')).unwrap_or(&Value::Null),
                    whole,
                );
                // the field says what it is for, the type what it is
                let named = named.as_object().cloned().unwrap_or_default();
                made.extend(named.into_iter().filter(|(key, _)| key != "description"));
            }
            ("anyOf", Value::Array(ways)) if ways.len() == 2 && ways[1]["type"] == "null" => {
                made.extend(inline_references(&ways[0], whole).as_object().cloned().unwrap_or_default());
            }
            ("type", Value::Array(types)) => {
                let mut types: Vec<Value> = types.iter().filter(|&name| name != "null").cloned().collect();
                let one = if types.len() == 1 { types.pop() } else { None };
                made.insert(key.clone(), one.unwrap_or(Value::Array(types)));
            }
            ("default", Value::Null) => {}
            ("description", Value::String(text)) => {
                made.insert(key.clone(), text.split_whitespace().collect::<Vec<_>>().join(" ").into());
            }
            (_, Value::Array(ways)) => {
                made.insert(key.clone(), ways.iter().map(|way| inline_references(way, whole)).collect());
            }
            (noise, _) if OMITTED_KEYWORDS.contains(&noise) => {}
            _ => {
                made.insert(key.clone(), inline_references(value, whole));
            }
        }
    }
    Value::Object(made)
}

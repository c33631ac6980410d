//! The notation of the space of a request.

use crate::parameter::Parameter;
use crate::parameter_space::ParameterSpace;
use crate::space::Space;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads a space: an object with a text or a typed kind for each parameter, a list of texts such as `lr=log:1e-4:1`, a
/// name of a catalogue, or a [`Space`] as it is stored.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Space>, D::Error> {
    let written = Value::deserialize(deserializer)?;
    space(written).map(Some).map_err(D::Error::custom)
}

fn space(written: Value) -> Result<Space, String> {
    let parameters = match written {
        // a catalogue knows, or refuses it
        name @ Value::String(_) => return serde_json::from_value(name).map_err(|error| error.to_string()),
        Value::Object(fields) if is_stored(&fields) => {
            return serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string());
        }
        Value::Object(fields) => {
            fields.into_iter().map(|(name, kind)| parameter(&name, kind)).collect::<Result<Vec<_>, _>>()?
        }
        Value::Array(texts) => {
            texts.into_iter().map(parse_listed_parameter).collect::<Result<Vec<_>, _>>()?
        }
        other => return Err(format!("expected an object such as {{\"lr\": \"log:1e-4:1\"}}, found {other}")),
    };
    ParameterSpace::new(parameters).map(Space::Parameters).map_err(|error| error.to_string())
}

/// Whether these are the fields of a [`Space`] as it is stored: one variant's name, and what it holds.
fn is_stored(fields: &serde_json::Map<String, Value>) -> bool {
    let mut entries = fields.iter();
    match (entries.next(), entries.next()) {
        (Some((name, Value::Array(_))), None) => name == "parameters",
        (Some((_, Value::Object(held))), None) => !held.contains_key("kind"),
        _ => false,
    }
}

/// A parameter of a list: `lr=log:1e-4:1`, or as it is stored.
fn parse_listed_parameter(written: Value) -> Result<Parameter, String> {
    match written {
        Value::String(text) => text.parse::<Parameter>().map_err(|error| error.to_string()),
        typed => serde_json::from_value(typed).map_err(|error| error.to_string()),
    }
}

/// The parameter `name` of this kind: `log:1e-4:1`, or `{"kind": "log", "lo": 1e-4, "hi": 1}`.
fn parameter(name: &str, kind: Value) -> Result<Parameter, String> {
    match kind {
        Value::String(text) => {
            format!("{name}={text}").parse::<Parameter>().map_err(|error| error.to_string())
        }
        Value::Object(mut fields) => {
            fields.insert("name".to_owned(), name.into());
            serde_json::from_value(Value::Object(fields))
                .map_err(|error| format!("parameter {name}: {error}"))
        }
        other => Err(format!("parameter {name}: expected a string such as \"log:1e-4:1\", found {other}")),
    }
}

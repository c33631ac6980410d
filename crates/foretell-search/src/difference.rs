//! The differences between two descriptions.

use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;

/// A field in which two descriptions differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field's name.
    pub field: String,
    /// Its value in the first one, as JSON.
    pub there: String,
    /// Its value in the second one, as JSON.
    pub here: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {} there and {} here", self.field, self.there, self.here)
    }
}

/// The fields in which `there` and `here` differ, by name. An omitted field has its default value.
pub fn differences<T: Serialize>(there: &T, here: &T) -> Vec<Difference> {
    let fields = |described: &T| match serde_json::to_value(described) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let (there, here) = (fields(there), fields(here));
    let names: BTreeSet<&String> = there.keys().chain(here.keys()).collect();
    let shown = |value: Option<&Value>| value.map_or("the default".to_owned(), Value::to_string);
    let differing = names.into_iter().filter(|&name| there.get(name) != here.get(name));
    differing
        .map(|name| Difference {
            field: name.clone(),
            there: shown(there.get(name)),
            here: shown(here.get(name)),
        })
        .collect()
}

//! Parts of a study that are not of this crate: by name and settings as they are stored, and as a catalogue has made them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// The error for a part that is unknown or has invalid settings.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field}: {reason}")]
pub struct PartError {
    /// The field of the request.
    pub field: &'static str,
    /// The problem with it, and what to do.
    pub reason: String,
}

impl PartError {
    /// The error of `field`.
    pub fn new(field: &'static str, reason: impl fmt::Display) -> Self {
        Self { field, reason: reason.to_string() }
    }
}

/// The name and settings of a part, as in requests and logs: `"median"`, or `{"bar": {"level": 0.5}}`.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedSettings {
    /// The name.
    pub name: String,
    /// The part's settings; `null` for none.
    pub settings: Value,
}

impl From<&str> for NamedSettings {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), settings: Value::Null }
    }
}

impl Serialize for NamedSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.settings {
            Value::Null => serializer.serialize_str(&self.name),
            settings => Map::from_iter([(self.name.clone(), settings.clone())]).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for NamedSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(name) => Ok(Self { name, settings: Value::Null }),
            Value::Object(fields) if fields.len() == 1 => {
                let (name, settings) = fields.into_iter().next().expect("it has one field");
                Ok(Self { name, settings })
            }
            other => Err(D::Error::custom(format!(
                "expected a name, or a name with its settings such as {{\"NAME\": {{}}}}, found {other}"
            ))),
        }
    }
}

/// A part of another crate: its stored form, and the part itself once a [`Catalogue`](crate::Catalogue) has created it.
pub struct StudyPart<T: ?Sized> {
    named: NamedSettings,
    made: Option<Arc<T>>,
}

impl<T: ?Sized> StudyPart<T> {
    /// The part of a caller that makes it itself.
    pub fn new(named: NamedSettings, made: Arc<T>) -> Self {
        Self { named, made: Some(made) }
    }

    /// A part with a name and settings, but no implementation yet.
    pub(crate) fn without_implementation(named: NamedSettings) -> Self {
        Self { named, made: None }
    }

    /// The part's name and settings.
    pub fn named_settings(&self) -> &NamedSettings {
        &self.named
    }

    /// The part's name.
    pub fn name(&self) -> &str {
        &self.named.name
    }

    /// The part's settings.
    pub fn settings(&self) -> &Value {
        &self.named.settings
    }

    /// The part; `None` where only its description was read.
    pub fn implementation(&self) -> Option<&Arc<T>> {
        self.made.as_ref()
    }
}

impl<T: ?Sized> Clone for StudyPart<T> {
    fn clone(&self) -> Self {
        Self { named: self.named.clone(), made: self.made.clone() }
    }
}

impl<T: ?Sized> PartialEq for StudyPart<T> {
    fn eq(&self, other: &Self) -> bool {
        self.named == other.named
    }
}

impl<T: ?Sized> fmt::Debug for StudyPart<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.named.fmt(f)
    }
}

impl<T: ?Sized> Serialize for StudyPart<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.named.serialize(serializer)
    }
}

impl<'de, T: ?Sized> Deserialize<'de> for StudyPart<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { named: NamedSettings::deserialize(deserializer)?, made: None })
    }
}

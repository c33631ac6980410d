//! The version of records, and how it is written and checked.

use super::Record;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The key of a record's version; it comes first.
const VERSION_KEY: &str = "v";
/// The key of a record's type; only the version comes before it.
const TYPE_KEY: &str = "event";

/// The version of all records that this program writes, and the only one that it reads.
///
/// Raise it when an older program would misunderstand a record. A new optional field that older programs may ignore needs no new version.
const RECORD_VERSION: u32 = 1;

impl Record {
    /// The name of the record's type, as in the log's `event` field.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Created { .. } => "created",
            Self::Changed { .. } => "changed",
            Self::WarmStart { .. } => "warm_start",
            Self::Enqueued { .. } => "enqueued",
            Self::Unknown { .. } => "unknown",
            Self::Chosen { .. } => "chosen",
            Self::Resource { .. } => "resource",
            Self::Started { .. } => "started",
            Self::Reported { .. } => "reported",
            Self::Repeated { .. } => "repeated",
            Self::Late { .. } => "late",
            Self::Read { .. } => "read",
            Self::Returned { .. } => "returned",
            Self::Decided(_) => "decided",
            Self::Paused { .. } => "paused",
            Self::Completed { .. } => "completed",
            Self::Failed { .. } => "failed",
        }
    }
}

#[derive(Serialize)]
struct VersionedRecord<'a> {
    #[serde(rename = "v")]
    version: u32,
    #[serde(flatten, serialize_with = "serialize_fields")]
    record: &'a Record,
}

fn serialize_fields<S: Serializer>(record: &&Record, serializer: S) -> Result<S::Ok, S::Error> {
    Record::serialize(record, serializer)
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        VersionedRecord { version: RECORD_VERSION, record: self }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RecordVisitor)
    }
}

struct RecordVisitor;

impl<'de> Visitor<'de> for RecordVisitor {
    type Value = Record;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a record of a study: an object that starts with its version and its type")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut fields: M) -> Result<Record, M::Error> {
        if fields.next_key::<String>()?.as_deref() != Some(VERSION_KEY) {
            return Err(M::Error::custom("it does not start with the version of a record, `v`"));
        }
        let version: u32 = fields.next_value()?;
        if fields.next_key::<String>()?.as_deref() != Some(TYPE_KEY) {
            return Err(M::Error::custom("its version is not followed by the type of a record, `event`"));
        }
        // the version comes before the fields, because those of another version cannot be read
        let name: String = fields.next_value()?;
        if version != RECORD_VERSION {
            let text =
                format!("it is `{name}` version {version}, but this program reads version {RECORD_VERSION}");
            return Err(M::Error::custom(text));
        }
        Record::deserialize(MapAccessDeserializer::new(FromType {
            name: Some(name),
            is_value: false,
            fields,
        }))
    }
}

/// A record's fields from its type on: the type has been read already, so it is handed out again first.
struct FromType<M> {
    name: Option<String>,
    is_value: bool,
    fields: M,
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for FromType<M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, M::Error> {
        self.is_value = self.name.is_some();
        if self.is_value {
            return seed.deserialize(TYPE_KEY.into_deserializer()).map(Some);
        }
        self.fields.next_key_seed(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, M::Error> {
        match self.name.take().filter(|_| self.is_value) {
            Some(name) => seed.deserialize(name.into_deserializer()),
            None => self.fields.next_value_seed(seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Decision, Reason, RecordedForecast};
    use super::Record;
    use crate::record::SourcePosition;
    use foretell::{Action, Configuration};
    use std::collections::BTreeMap;

    fn records() -> Vec<Record> {
        let forecast = RecordedForecast { mean: 0.5, sd: 0.1, interval: (0.3, 0.7) };
        let decision = Decision {
            trial: 3,
            step: 2,
            action: Action::Stop,
            reason: Reason::NoForecast("why".to_owned()),
            forecast: Some(forecast),
            value: None,
            incumbent: Some(0.9),
            probability: Some(1.0),
            chance: None,
            shadow: false,
        };
        let configuration = Configuration::default();
        let metrics = BTreeMap::from([("loss".to_owned(), 1e-300)]);
        vec![
            Record::WarmStart {
                id: "a".to_owned(),
                configuration: configuration.clone(),
                points: vec![(1.0, 0.2)],
            },
            Record::Started { trial: 3, configuration, seed: 7, from: 0, until: 9 },
            Record::Reported { trial: 3, step: 2, value: None, metrics },
            Record::Read { trial: 3, position: SourcePosition { at: 512, after: 2, crc: 0x9a3f_01c2 } },
            Record::Decided(decision),
            Record::Paused { trial: 3 },
            Record::Completed { trial: 3 },
            Record::Failed { trial: 3, reason: "exit code 1".to_owned() },
        ]
    }

    #[test]
    fn every_type_is_written_with_its_version_and_read_back() {
        for record in records() {
            let text = serde_json::to_string(&record).expect("a record is JSON");
            let start = format!("{{\"v\":1,\"event\":\"{}\",", record.type_name());
            assert!(text.starts_with(&start), "{text}");
            assert_eq!(serde_json::from_str::<Record>(&text).expect("it is readable"), record);
        }
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let text = r#"{"v":1,"event":"paused","trial":3,"worker":{"host":"a"}}"#;
        assert_eq!(
            serde_json::from_str::<Record>(text).expect("it is readable"),
            Record::Paused { trial: 3 }
        );
    }

    #[test]
    fn what_cannot_be_understood_is_refused_by_name_and_version() {
        let cases = [
            (r#"{"v":3,"event":"paused","trial":1}"#, "`paused` version 3, but this program reads version 1"),
            (r#"{"v":0,"event":"paused","trial":1}"#, "`paused` version 0"),
            (r#"{"v":1,"event":"moved","trial":1}"#, "unknown variant `moved`"),
            (r#"{"event":"paused","trial":1}"#, "does not start with the version"),
            (r#"{"v":1,"trial":1,"event":"paused"}"#, "not followed by the type"),
            (r#"{"v":1,"event":"paused"}"#, "missing field `trial`"),
            ("{}", "does not start"),
            ("7", "expected a record of a study"),
        ];
        for (text, expected) in cases {
            let error = serde_json::from_str::<Record>(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text} gave {error}");
        }
    }
}

//! A study's records as the page gets them: each as its line in the log has it, with the line's time.

use foretell_run::{LogReader, Position, Stamp};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use std::path::Path;

/// Reads record after record.
pub(crate) type Reader = LogReader<Box<RawValue>>;

/// `record` with the field `time`, in milliseconds since the beginning of 1970; as it is where its line has none.
pub(crate) fn timed(record: &RawValue, stamp: Option<Stamp>) -> String {
    let text = record.get();
    match (stamp, text.strip_suffix('}')) {
        (Some(stamp), Some(fields)) if fields.len() > 1 => format!("{fields},\"time\":{}}}", stamp.time),
        _ => text.to_owned(),
    }
}

/// All records of a study.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "foretell.records/1")]
pub(crate) struct Records {
    pub(crate) study: String,
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub(crate) records: Vec<Box<RawValue>>,
}

/// All records of `log`.
///
/// # Errors
/// The text of the log's reader.
pub(crate) fn all(log: &Path) -> Result<Vec<Box<RawValue>>, String> {
    let mut reader = Reader::open(log, Position::START).map_err(|error| error.to_string())?;
    let mut records = Vec::new();
    while let Some(record) = reader.next() {
        let record = record.map_err(|error| error.to_string())?;
        records
            .push(RawValue::from_string(timed(&record, reader.stamp())).map_err(|error| error.to_string())?);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gets_the_time_of_its_line() {
        let stamp = Some(Stamp { number: 3, run: 1, time: 1_700_000_000_123 });
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        assert_eq!(timed(&raw(r#"{"event":"x"}"#), stamp), r#"{"event":"x","time":1700000000123}"#);
        assert_eq!(timed(&raw(r#"{"event":"x"}"#), None), r#"{"event":"x"}"#);
        for odd in ["{}", "3", "[]"] {
            assert_eq!(timed(&raw(odd), stamp), odd);
        }
    }
}

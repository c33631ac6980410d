//! A study's records as the page gets them: each as its line in the log has it, with the line's time.

use foretell_run::{EventLogError, LineStamp, LogPosition, LogReader};
use futures_util::future::ready;
use futures_util::stream::{once, unfold};
use futures_util::{Stream, StreamExt};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use std::path::Path;

/// Reads record after record.
pub(crate) type RawRecordReader = LogReader<Box<RawValue>>;

/// `record` with the field `time`, in milliseconds since the beginning of 1970; as it is where its line has none.
pub(crate) fn with_time(record: &RawValue, stamp: Option<LineStamp>) -> String {
    let text = record.get();
    match (stamp, text.strip_suffix('}')) {
        (Some(stamp), Some(fields)) if fields.len() > 1 => format!("{fields},\"time\":{}}}", stamp.time),
        _ => text.to_owned(),
    }
}

/// How many bytes of records are read before they are sent.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;

/// A JSON document with all records of `log`, some at a time: `head`, up to the beginning of the list, the list, and the end.
///
/// # Errors
/// Errors of the log's reader at its start. A log that is damaged later cuts the document short.
pub(crate) fn all(
    log: &Path,
    head: String,
) -> Result<impl Stream<Item = Result<String, EventLogError>> + use<>, EventLogError> {
    let mut reader = RawRecordReader::open(log, LogPosition::START)?;
    let mut first = head;
    if let Some(record) = reader.next() {
        first.push_str(&with_time(&record?, reader.last_stamp()));
    }
    let rest = unfold(Some(reader), |reader| async move {
        let read = tokio::task::spawn_blocking(move || read_chunk(reader?)).await;
        read.ok().flatten()
    });
    Ok(once(ready(Ok(first))).chain(rest))
}

/// The next records, each after a comma, and the reader if there may be more.
fn read_chunk(
    mut reader: RawRecordReader,
) -> Option<(Result<String, EventLogError>, Option<RawRecordReader>)> {
    let mut text = String::new();
    while text.len() < CHUNK_BYTES {
        match reader.next() {
            Some(Ok(record)) => {
                text.push(',');
                text.push_str(&with_time(&record, reader.last_stamp()));
            }
            Some(Err(error)) => return Some((Err(error), None)),
            None => {
                text.push_str("]}");
                return Some((Ok(text), None));
            }
        }
    }
    Some((Ok(text), Some(reader)))
}

/// All records of a study.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "foretell.records/1")]
pub(crate) struct Records {
    pub(crate) study: String,
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub(crate) records: Vec<Box<RawValue>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gets_the_time_of_its_line() {
        let stamp = Some(LineStamp { number: 3, run: 1, time: 1_700_000_000_123 });
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        assert_eq!(with_time(&raw(r#"{"event":"x"}"#), stamp), r#"{"event":"x","time":1700000000123}"#);
        assert_eq!(with_time(&raw(r#"{"event":"x"}"#), None), r#"{"event":"x"}"#);
        for odd in ["{}", "3", "[]"] {
            assert_eq!(with_time(&raw(odd), stamp), odd);
        }
    }
}

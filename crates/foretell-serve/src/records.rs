//! A study's records as the page gets them: each as its line in the log has it, with the line's time.

use foretell_run::{EventLogError, LogReader, Position, Stamp};
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

/// All records of `log` as a JSON list.
///
/// # Errors
/// What the log's reader says.
pub(crate) fn all(log: &Path) -> Result<String, EventLogError> {
    let mut reader = Reader::open(log, Position::START)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next() {
        records.push(timed(&record?, reader.stamp()));
    }
    Ok(list(&records))
}

/// Records as a JSON list.
pub(crate) fn list(records: &[String]) -> String {
    format!("[{}]", records.join(","))
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

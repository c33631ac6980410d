//! A study's records as server-sent events, each batch numbered by its last record.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use foretell_run::{LogReader, Position};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde_json::Value;

/// How often the log is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How many records are sent at a time.
const BATCH: usize = 5_000;

struct Tail {
    log: PathBuf,
    position: Position,
    /// Records that the reader has already.
    skip: u64,
}

/// The records of `log` after the first `seen`, and those that follow.
pub(crate) fn stream(log: PathBuf, seen: u64) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let tail = Tail { log, position: Position::START, skip: seen };
    let events = unfold(tail, |mut tail| async move {
        loop {
            if let Some(event) = tail.next() {
                return Some((Ok(event), tail));
            }
            tokio::time::sleep(LOOK).await;
        }
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

impl Tail {
    /// The next batch, if there is anything new. A log that was begun anew is said to be so.
    fn next(&mut self) -> Option<Event> {
        let Ok(mut reader) = LogReader::<Value>::open(&self.log, self.position) else {
            let known = std::mem::take(&mut self.position);
            return (known != Position::START).then(|| Event::default().event("anew").id("0").data("[]"));
        };
        let mut records = Vec::new();
        while records.len() < BATCH {
            let Some(Ok(record)) = reader.next() else { break };
            if reader.position().records > self.skip {
                records.push(record);
            }
        }
        self.position = reader.position();
        if records.is_empty() {
            return None;
        }
        let data = serde_json::to_string(&records).unwrap_or_default();
        Some(Event::default().id(self.position.records.to_string()).data(data))
    }
}

//! A study's records as server-sent events, each batch numbered by its last record.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use foretell_run::Position;
use futures_util::Stream;
use futures_util::stream::unfold;

use crate::records::{Reader, list, timed};

/// How often the log is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How many records are sent at a time.
const BATCH: usize = 10_000;

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
    /// The next batch, if there is anything new. A log that was begun anew is announced.
    fn next(&mut self) -> Option<Event> {
        let Ok(mut reader) = Reader::open(&self.log, self.position) else {
            let known = (std::mem::take(&mut self.position), std::mem::take(&mut self.skip));
            return (known != (Position::START, 0)).then(begun_anew);
        };
        let mut records = Vec::new();
        let mut at_end = false;
        while records.len() < BATCH && !at_end {
            match reader.next() {
                Some(Ok(record)) if reader.position().records > self.skip => {
                    records.push(timed(&record, reader.stamp()));
                }
                Some(Ok(_)) => {}
                _ => at_end = true,
            }
        }
        self.position = reader.position();
        if at_end && self.position.records < self.skip {
            // the reader knows of more than there is: another log had this name
            (self.position, self.skip) = (Position::START, 0);
            return Some(begun_anew());
        }
        if records.is_empty() {
            return None;
        }
        Some(Event::default().id(self.position.records.to_string()).data(list(&records)))
    }
}

fn begun_anew() -> Event {
    Event::default().event("anew").id("0").data("[]")
}

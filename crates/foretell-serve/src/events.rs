//! New records of a study's log as server-sent events: the records themselves, or the changes that they make to the study.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use foretell_run::LogPosition;
use foretell_run::wire::Refused;
use futures_util::StreamExt;
use futures_util::stream::{iter, unfold};

use crate::fold::StudyFold;
use crate::folds::lock_unpoisoned;
use crate::records::{CHUNK_BYTES, RawRecordReader, with_time};
use crate::snapshot::ReceivedPart;
use crate::views::{is_little, news};

/// The pause between two looks at the log.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// A comment is sent after so long without an event, so that no proxy takes the connection for dead.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// A source of events that are sent as they arrive.
trait EventSource: Send + 'static {
    /// The new events, if any.
    fn look(&mut self) -> Vec<Bytes>;
}

/// The events of `follow`, as they are read: a reader that takes none holds up none, and holds one look's events at most.
fn stream(follow: impl EventSource) -> Response {
    let events = unfold(Some(follow), |follow| async move {
        let mut follow = follow?;
        let began = Instant::now();
        loop {
            // a long log takes a while: other readers are answered meanwhile
            let look = tokio::task::spawn_blocking(move || (follow.look(), follow));
            let mut found;
            (found, follow) = look.await.ok()?;
            if found.is_empty() && began.elapsed() > KEEP_ALIVE_INTERVAL {
                found.push(Bytes::from_static(b":\n\n"));
            }
            if !found.is_empty() {
                return Some((iter(found), Some(follow)));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    });
    let body = Body::from_stream(events.flatten().map(Ok::<_, Infallible>));
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// A server-sent event: its name, unless it is a message, the id to come back with, and its data, which is JSON on one line.
fn format_event(name: Option<&str>, id: Option<u64>, data: &str) -> Bytes {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{name}{id}data: {data}\n\n").into()
}

/// The records of `log` after the first `seen`, and those that follow.
pub(crate) fn records(log: PathBuf, seen: u64) -> Response {
    stream(RecordSource { log, position: LogPosition::START, skip: seen, trouble: LogTrouble::default() })
}

/// The study of `fold` for a reader that has seen the first `seen` records, then its changes; without decisions if `is_brief`.
pub(crate) fn state(fold: Arc<Mutex<StudyFold>>, seen: u64, is_brief: bool) -> Response {
    stream(StateSource { fold, seen, is_brief, shown: None, trouble: LogTrouble::default() })
}

struct RecordSource {
    log: PathBuf,
    position: LogPosition,
    /// Records that the reader has already.
    skip: u64,
    trouble: LogTrouble,
}

impl EventSource for RecordSource {
    fn look(&mut self) -> Vec<Bytes> {
        let mut reader = match RawRecordReader::open(&self.log, self.position) {
            Ok(reader) => reader,
            Err(error) => {
                let known = (std::mem::take(&mut self.position), std::mem::take(&mut self.skip));
                let anew = (known != (LogPosition::START, 0)).then(begun_anew);
                let trouble =
                    if self.log.is_file() { None } else { self.trouble.change(Some(error.to_string())) };
                return anew.into_iter().chain(trouble).collect();
            }
        };
        let mut records = String::new();
        let mut end = None;
        while records.len() < CHUNK_BYTES && end.is_none() {
            match reader.next() {
                Some(Ok(record)) if reader.position().records > self.skip => {
                    records.push_str(if records.is_empty() { "[" } else { "," });
                    records.push_str(&with_time(&record, reader.last_stamp()));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => end = Some(Some(error.to_string())),
                None => end = Some(None),
            }
        }
        self.position = reader.position();
        if end.is_some() && self.position.records < self.skip {
            // the reader knows of more than there is: another log had this name
            (self.position, self.skip) = (LogPosition::START, 0);
            return vec![begun_anew()];
        }
        records.push(']');
        let found = (records.len() > 1).then(|| format_event(None, Some(self.position.records), &records));
        let trouble = end.and_then(|end| self.trouble.change(end));
        found.into_iter().chain(trouble).collect()
    }
}

struct StateSource {
    fold: Arc<Mutex<StudyFold>>,
    seen: u64,
    is_brief: bool,
    /// What the reader has; shared until it is sent something of its own.
    shown: Option<Arc<ReceivedPart>>,
    trouble: LogTrouble,
}

impl StateSource {
    /// The first events for a reader: what it lacks, if that is little; else the snapshot that all readers share.
    fn first_events(&mut self, fold: &StudyFold) -> Vec<Bytes> {
        let back = ReceivedPart::until(self.seen, fold).with_decisions(!self.is_brief);
        if (1..=fold.records()).contains(&self.seen) && is_little(fold, &back) {
            self.shown = Some(Arc::new(back));
            return Vec::new();
        }
        let snapshot = fold.snapshots().whole(
            self.is_brief,
            |shown| is_little(fold, shown),
            || {
                let mut shown = ReceivedPart::default().with_decisions(!self.is_brief);
                (news_events(fold, &mut shown), shown)
            },
        );
        self.shown = Some(Arc::clone(&snapshot.shown));
        snapshot.events()
    }
}

impl EventSource for StateSource {
    fn look(&mut self) -> Vec<Bytes> {
        let fold = Arc::clone(&self.fold);
        let mut fold = lock_unpoisoned(&fold);
        let updated = fold.update();
        let mut found = Vec::new();
        if fold.study().is_some() {
            if self.shown.is_none() {
                found = self.first_events(&fold);
            }
            if let Some(shown) = self.shown.as_mut().filter(|shown| !shown.is_current(&fold)) {
                found.extend(news_events(&fold, Arc::make_mut(shown)));
            }
        }
        found.extend(self.trouble.change(updated.err()));
        found
    }
}

/// The news for a reader as events. Whoever is cut off before the last part is sent all of them again.
fn news_events(fold: &StudyFold, shown: &mut ReceivedPart) -> Vec<Bytes> {
    let mut found = Vec::new();
    news(fold, shown, &mut |news, id| found.push(format_event(None, id, &news.to_string())));
    found
}

/// The problem with the log that a reader was told last.
#[derive(Default)]
struct LogTrouble(Option<String>);

impl LogTrouble {
    /// The event that reports the current problem, or that there is none any more; `None` if the reader knows.
    fn change(&mut self, now: Option<String>) -> Option<Bytes> {
        if self.0 == now {
            return None;
        }
        self.0 = now;
        let Some(text) = &self.0 else { return Some(format_event(Some("mended"), None, "{}")) };
        let refused = Refused { error: text.clone(), field: None };
        Some(format_event(Some("trouble"), None, &serde_json::to_string(&refused).ok()?))
    }
}

fn begun_anew() -> Bytes {
    format_event(Some("anew"), Some(0), "[]")
}

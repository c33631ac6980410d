//! New records of a study's log as server-sent events: the records themselves, or the changes that they make to the study.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use foretell_run::Position;
use foretell_run::wire::Refused;
use futures_util::Stream;
use futures_util::StreamExt;
use futures_util::stream::{iter, unfold};

use crate::fold::Fold;
use crate::folds::locked;
use crate::records::{Reader, timed};
use crate::views::{Shown, news};

/// The pause between two looks at the log.
const LOOK: Duration = Duration::from_millis(250);
/// The most records sent at a time.
const BATCH: usize = 10_000;

/// A source of events that are sent as they arrive.
trait Follow: Send + 'static {
    /// The new events, if any.
    fn look(&mut self) -> Vec<Event>;
}

fn stream(follow: impl Follow) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = unfold(Some(follow), |follow| async move {
        let mut follow = follow?;
        loop {
            // a long log takes a while: other readers are answered meanwhile
            let look = tokio::task::spawn_blocking(move || (follow.look(), follow));
            let found;
            (found, follow) = look.await.ok()?;
            if !found.is_empty() {
                return Some((iter(found.into_iter().map(Ok)), Some(follow)));
            }
            tokio::time::sleep(LOOK).await;
        }
    });
    Sse::new(events.flatten()).keep_alive(KeepAlive::default())
}

/// The records of `log` after the first `seen`, and those that follow.
pub(crate) fn records(log: PathBuf, seen: u64) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    stream(Tail { log, position: Position::START, skip: seen, trouble: Trouble::default() })
}

/// The study of `fold` for a reader that has seen the first `seen` records, then its changes; without decisions if `is_brief`.
pub(crate) fn state(
    fold: Arc<Mutex<Fold>>,
    seen: u64,
    is_brief: bool,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    stream(State { fold, seen, is_brief, shown: None, trouble: Trouble::default() })
}

struct Tail {
    log: PathBuf,
    position: Position,
    /// Records that the reader has already.
    skip: u64,
    trouble: Trouble,
}

impl Follow for Tail {
    fn look(&mut self) -> Vec<Event> {
        let mut reader = match Reader::open(&self.log, self.position) {
            Ok(reader) => reader,
            Err(error) => {
                let known = (std::mem::take(&mut self.position), std::mem::take(&mut self.skip));
                let anew = (known != (Position::START, 0)).then(begun_anew);
                let trouble =
                    if self.log.is_file() { None } else { self.trouble.change(Some(error.to_string())) };
                return anew.into_iter().chain(trouble).collect();
            }
        };
        let mut records = Vec::new();
        let mut end = None;
        while records.len() < BATCH && end.is_none() {
            match reader.next() {
                Some(Ok(record)) if reader.position().records > self.skip => {
                    records.push(timed(&record, reader.stamp()));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => end = Some(Some(error.to_string())),
                None => end = Some(None),
            }
        }
        self.position = reader.position();
        if end.is_some() && self.position.records < self.skip {
            // the reader knows of more than there is: another log had this name
            (self.position, self.skip) = (Position::START, 0);
            return vec![begun_anew()];
        }
        let number = self.position.records.to_string();
        let found = (!records.is_empty())
            .then(|| Event::default().id(number).data(format!("[{}]", records.join(","))));
        let trouble = end.and_then(|end| self.trouble.change(end));
        found.into_iter().chain(trouble).collect()
    }
}

struct State {
    fold: Arc<Mutex<Fold>>,
    seen: u64,
    is_brief: bool,
    shown: Option<Shown>,
    trouble: Trouble,
}

impl Follow for State {
    fn look(&mut self) -> Vec<Event> {
        let mut fold = locked(&self.fold);
        let updated = fold.update();
        let mut found = Vec::new();
        if fold.study().is_some() {
            let shown = self
                .shown
                .get_or_insert_with(|| Shown::until(self.seen, &fold).with_decisions(!self.is_brief));
            let news = news(&fold, shown);
            let last = news.len();
            for (place, news) in (1..).zip(news) {
                let event = Event::default().data(news.to_string());
                // whoever is cut off before the last part is sent all of them again
                found.push(if place == last { event.id(shown.records.to_string()) } else { event });
            }
        }
        found.extend(self.trouble.change(updated.err()));
        found
    }
}

/// The problem with the log that a reader was told last.
#[derive(Default)]
struct Trouble(Option<String>);

impl Trouble {
    /// The event that reports the current problem, or that there is none any more; `None` if the reader knows.
    fn change(&mut self, now: Option<String>) -> Option<Event> {
        if self.0 == now {
            return None;
        }
        self.0 = now;
        let Some(text) = &self.0 else { return Some(Event::default().event("mended").data("{}")) };
        let refused = Refused { error: text.clone(), field: None };
        Event::default().event("trouble").json_data(refused).ok()
    }
}

fn begun_anew() -> Event {
    Event::default().event("anew").id("0").data("[]")
}

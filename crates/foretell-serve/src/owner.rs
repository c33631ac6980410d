//! The studies that this server owns: opened by the first request that writes, closed once they are done.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use foretell_run::{EventLogError, EventStore, LockError, Orders, Survey};
use foretell_search::{Order, Parts, Session, StudyRequest, StudyRequestError, StudySpec};

use crate::owned::{self, Next, Owned};
use crate::problem::Problem;
use crate::{folder, views};

/// The longest name of a study.
const LONGEST: usize = 100;

type Shared = Arc<Mutex<Owned>>;

/// The studies that this server owns.
pub(crate) struct Owner {
    folder: PathBuf,
    patience: Duration,
    studies: Mutex<BTreeMap<String, Shared>>,
}

/// What became of an order.
pub(crate) enum Ordered {
    /// It is recorded.
    Recorded(Next),
    /// The process that drives the study will record it.
    HandedOn,
}

impl Owner {
    pub(crate) fn new(folder: PathBuf, patience: Duration) -> Self {
        Self { folder, patience, studies: Mutex::default() }
    }

    /// Calls the study called `name`, and closes it if it is done then.
    pub(crate) fn call<T>(
        &self,
        name: &str,
        call: impl FnOnce(&mut Owned) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let shared = self.shared(name)?;
        let mut owned = lock(&shared);
        let (called, done) = (call(&mut owned), owned.session().is_done());
        drop(owned);
        let mut studies = lock(&self.studies);
        // the list and this call have it, and nobody waits for it
        if done && Arc::strong_count(&shared) == 2 {
            studies.remove(name);
        }
        drop(shared); // before anybody can look for it in the list
        drop(studies);
        called
    }

    /// Makes the study called `name`, or goes on with it. The first half of the answer is whether it is new.
    pub(crate) fn create(&self, name: &str, settings: &StudyRequest) -> Result<(bool, StudySpec), Problem> {
        let mut studies = lock(&self.studies);
        if let Some(shared) = studies.get(name) {
            let there = lock(shared).session().study().spec().clone();
            let spec = settings.continued(there.clone()).map_err(|error| unfit(&error))?;
            if spec == there {
                return Ok((false, spec));
            }
            if Arc::strong_count(shared) > 1 {
                return Err(Problem::conflict(format!(
                    "{name}: another request is under way; send the same again"
                )));
            }
            studies.remove(name); // to be opened again with more trials
        }
        let log = match folder::log(&self.folder, name) {
            Some(log) => log,
            None if folder::is_study(&self.folder) => return Err(Problem::no_study(name)),
            None => self.folder.join(checked(name)?).join(folder::LOG),
        };
        if let Some(folder) = log.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| Problem::midway(&format!("{}: {error}", folder.display())))?;
        }
        let (store, survey) = open_log(&log)?;
        let is_new = survey.study.is_none();
        let spec = match survey.study {
            Some(there) => settings.continued(*there),
            None => settings.new_study(),
        };
        let spec = match spec {
            Ok(spec) => spec,
            Err(error) => {
                drop(store);
                if is_new {
                    discard(&log);
                }
                return Err(unfit(&error));
            }
        };
        let owned = self.opened(spec.clone(), store)?;
        studies.insert(name.to_owned(), Arc::new(Mutex::new(owned)));
        Ok((is_new, spec))
    }

    /// A person's order about a trial: recorded at once, or handed on to the process that drives the study.
    pub(crate) fn by_hand(&self, name: &str, trial: u64, order: Order) -> Result<Ordered, Problem> {
        let log = folder::log(&self.folder, name).ok_or_else(|| Problem::no_study(name))?;
        let studies = lock(&self.studies);
        if let Some(shared) = studies.get(name).cloned() {
            drop(studies);
            return lock(&shared).by_hand(trial, order).map(Ordered::Recorded);
        }
        if let Ok((store, survey)) = open_log(&log) {
            // nobody drives it: its trials stay interrupted, and the log is left to whoever goes on with it
            let spec = *survey.study.ok_or_else(|| Problem::no_study(name))?;
            let mut session = open_session(spec, store)?;
            return owned::by_hand(&mut session, trial, order).map(Ordered::Recorded);
        }
        drop(studies);
        let study = views::study(name, &log)?;
        owned::check_open(&study, trial)?;
        let folder = log.parent().unwrap_or(&self.folder);
        Orders::of(folder).give(trial, order).map_err(|error| Problem::midway(&error))?;
        Ok(Ordered::HandedOn)
    }

    fn shared(&self, name: &str) -> Result<Shared, Problem> {
        let mut studies = lock(&self.studies);
        if let Some(shared) = studies.get(name) {
            return Ok(Arc::clone(shared));
        }
        let log = folder::log(&self.folder, name).ok_or_else(|| Problem::no_study(name))?;
        let (store, survey) = open_log(&log)?;
        let spec = survey.study.ok_or_else(|| {
            Problem::conflict(format!("{name}: its log does not begin with a study's description"))
        })?;
        let shared = Arc::new(Mutex::new(self.opened(*spec, store)?));
        studies.insert(name.to_owned(), Arc::clone(&shared));
        Ok(shared)
    }

    fn opened(&self, spec: StudySpec, store: EventStore) -> Result<Owned, Problem> {
        Owned::new(open_session(spec, store)?, self.patience).map_err(|error| Problem::midway(&error))
    }
}

fn open_session(spec: StudySpec, store: EventStore) -> Result<Session<EventStore>, Problem> {
    Session::open(spec, Parts::default(), store).map_err(|error| Problem::conflict(error.to_string()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The log for writing; a conflict if another process writes it.
fn open_log(log: &std::path::Path) -> Result<(EventStore, Survey), Problem> {
    EventStore::open(log).map_err(|error| match &error {
        EventLogError::Lock(LockError::Held { .. }) => {
            Problem::conflict(format!("{error}; its trials are run there, and report there"))
        }
        _ => Problem::conflict(error.to_string()),
    })
}

/// Removes a log that holds nothing, and its folder if that holds nothing else.
fn discard(log: &std::path::Path) {
    let lock = log.with_extension("jsonl.lock");
    for file in [log, lock.as_path()] {
        // what cannot be removed is an empty log, which is no study
        let _ = std::fs::remove_file(file);
    }
    let _ = log.parent().map(std::fs::remove_dir);
}

/// A name from outside becomes a folder's only if it is a plain word.
fn checked(name: &str) -> Result<&str, Problem> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.is_empty() && name.len() <= LONGEST && !name.starts_with('.') && name.chars().all(plain) {
        return Ok(name);
    }
    let text = format!(
        "a new study's name has letters, digits, '.', '_' and '-', does not begin with '.', and is at most {LONGEST} long"
    );
    Err(Problem::field("study", text))
}

fn unfit(error: &StudyRequestError) -> Problem {
    match error {
        StudyRequestError::NoSpace | StudyRequestError::Space(_) => Problem::field("space", error),
        StudyRequestError::NoDirection { .. } => Problem::field("direction", error),
        StudyRequestError::Another => {
            Problem::conflict("another study of that name is there; name another, or leave the space out to go on with that study").at("space")
        }
        _ => Problem::new(StatusCode::BAD_REQUEST, error.to_string()),
    }
}

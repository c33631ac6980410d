//! The studies that this server hosts: opened by the first request that writes, closed once they are done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foretell::{Configuration, Run};
use foretell_run::{
    EventLogError, EventLogSurvey, EventStore, HostDoor, HostError, Leases, LockError, Orders, StudyHost,
    WorkerView, carry_out_manual_order, check_running, is_own_file,
};
use foretell_run::{StoredStudy, log_path};
use foretell_search::{
    Catalogue, FieldDifference, ManualOrder, Queued, Refusal, Session, StoreError, StudyRequest, StudySpec,
    differences,
};

use crate::folder;
use crate::folds::{StudyFolds, lock_unpoisoned};
use crate::options::ServeOptions;
use crate::problem::RequestProblem;

/// The longest name of a study.
const MAX_NAME_LENGTH: usize = 100;
/// A worker that was not heard for so long is not shown.
const MAX_WORKER_SILENCE: Duration = Duration::from_secs(600);

/// A study's place in the list: empty until it is opened, and again once it is closed. Opening one holds up no other.
type StudySlot = Arc<Mutex<Option<OpenStudy>>>;

/// A study that this server hosts.
pub(crate) struct OpenStudy {
    log: PathBuf,
    host: StudyHost<EventStore>,
}

/// The studies that this server hosts.
pub(crate) struct StudyOwner {
    folder: PathBuf,
    lease: Duration,
    studies: Mutex<BTreeMap<String, StudySlot>>,
    /// The way to the study that a driver in this process runs: the only one in the folder.
    door: Option<HostDoor<EventStore>>,
    /// The meaning of the names of the studies' parts.
    catalogue: Catalogue,
}

/// The outcome of an order.
pub(crate) enum OrderOutcome {
    /// The order is recorded.
    Recorded(foretell_search::TrainingAnswer),
    /// The process that drives the study will record it.
    HandedOn,
}

/// Refuses to change the study `there` into `asked`, unless that is meant.
fn check_update(there: &StudySpec, asked: &StudySpec, update: bool) -> Result<(), RequestProblem> {
    let found = differences(there, asked).into_iter().next().filter(|_| !update);
    let Some(FieldDifference { field, there, here }) = found else { return Ok(()) };
    let field = if field == "max_resource" { "epochs".to_owned() } else { field };
    let text = format!(
        "{field}: the study has {there}, but this request has {here}. To change the study for everyone, set update=true"
    );
    Err(RequestProblem::conflict(text).with_field(&field))
}

impl StudyOwner {
    pub(crate) fn new(options: &ServeOptions) -> Self {
        Self {
            folder: options.folder.clone(),
            lease: options.lease,
            studies: Mutex::default(),
            door: options.door.clone(),
            catalogue: options.catalogue.clone(),
        }
    }

    /// Calls the study called `name`, and closes it if it is done then, or its log is not its own any more. The second half of
    /// the answer is whether it is done.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        name: &str,
        call: impl FnOnce(&mut StudyHost<EventStore>) -> Result<T, HostError> + Send + 'static,
    ) -> Result<(T, bool), RequestProblem> {
        if let Some(door) = &self.door {
            folder::log(&self.folder, name)?;
            let called = door.call_host(|host| (call(host), host.session().is_done()));
            let (called, done) = called.ok_or_else(|| RequestProblem::search_ended(name))?;
            return Ok((called?, done));
        }
        let place = self.place(name);
        let mut place = lock_unpoisoned(&place);
        close_if_gone(name, &mut place)?;
        let open = match place.take() {
            Some(open) => open,
            None => self.open_existing(name)?,
        };
        let open = place.insert(open);
        let called = call(&mut open.host);
        let done = open.host.session().is_done();
        let displaced = called.as_ref().err().and_then(displacement_reason);
        if done || displaced.is_some() {
            *place = None;
        }
        match displaced {
            Some(how) => Err(RequestProblem::gone(name, &how)),
            None => Ok((called?, done)),
        }
    }

    /// Makes the study called `name`, or continues it. The first half of the answer is whether it is new.
    ///
    /// Unless `update`, a request that differs from the study that is there is refused: its other users count on their settings.
    pub(crate) fn create(
        &self,
        name: &str,
        asked: &StudyRequest,
        update: bool,
    ) -> Result<(bool, StudySpec), RequestProblem> {
        let place = self.place(name);
        let mut place = lock_unpoisoned(&place);
        if let Some(open) = place.as_ref().filter(|open| open.log.is_file()) {
            let there = open.host.session().study().spec().clone();
            let spec = self.resolve_spec(asked, Some(&there))?;
            if spec == there {
                return Ok((false, spec));
            }
            check_update(&there, &spec, update)?;
        }
        *place = None; // to be opened again, with more trials say
        let log = match folder::log(&self.folder, name) {
            Ok(log) => log,
            Err(_) if folder::is_study(&self.folder) => return Err(RequestProblem::no_study(name)),
            Err(_) => {
                folder::there(&self.folder)?;
                let place = self.folder.join(check_name(name)?);
                if place.exists() && !place.is_dir() {
                    return Err(RequestProblem::field("study", "a file has this name. Choose another one"));
                }
                log_path(&place)
            }
        };
        if let Some(folder) = log.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| RequestProblem::midway(&format!("{}: {error}", folder.display())))?;
        }
        let (store, survey) = open_log(&log)?;
        let is_new = survey.study.is_none();
        let spec = self.resolve_spec(asked, survey.study.as_deref()).and_then(|spec| match &survey.study {
            Some(there) => check_update(there, &spec, update).map(|()| spec),
            None => Ok(spec),
        });
        match spec.and_then(|spec| Ok((self.lessons(asked, &spec)?, spec))) {
            Ok((lessons, mut spec)) => {
                if let Some(best) = asked.lessons(&spec, &lessons).filter(|_| is_new) {
                    spec = best.apply_to(spec);
                }
                let mut open = self.open_study(log, spec.clone(), store)?;
                open.host.warm_start(&lessons)?;
                *place = Some(open);
                Ok((is_new, spec))
            }
            Err(problem) => {
                // the lock of the log is released first, because the files are removed only while nobody holds them
                drop(store);
                if is_new {
                    discard_empty_log(&log);
                }
                Err(problem)
            }
        }
    }

    /// The runs that a new study is to learn from, of other studies in the folder.
    fn lessons(&self, asked: &StudyRequest, spec: &StudySpec) -> Result<Vec<Run>, RequestProblem> {
        let mut runs = Vec::new();
        for name in asked.learn_from.iter().flatten() {
            let log = folder::log(&self.folder, name).map_err(|_| {
                RequestProblem::field("learn_from", format!("no study here is called {name:?}"))
            })?;
            let stored = StoredStudy::read(log.parent().unwrap_or(&self.folder), &self.catalogue);
            let found = stored.and_then(|stored| stored.runs_for(spec));
            runs.extend(found.map_err(|error| RequestProblem::field("learn_from", error))?);
        }
        spec.check_burn_in(runs.len()).map_err(Refusal::from)?;
        Ok(runs)
    }

    /// A person's order about a trial: recorded at once, or handed on to the process that drives the study.
    pub(crate) fn by_hand(
        &self,
        folds: &StudyFolds,
        name: &str,
        trial: u64,
        order: ManualOrder,
    ) -> Result<OrderOutcome, RequestProblem> {
        let log = folder::log(&self.folder, name)?;
        let place = self.place(name);
        let mut place = lock_unpoisoned(&place);
        close_if_gone(name, &mut place)?;
        if let Some(open) = place.as_mut() {
            return Ok(OrderOutcome::Recorded(open.host.carry_out_order(trial, order)?));
        }
        if let Ok((store, survey)) = open_log(&log) {
            // nobody drives it: its trials stay interrupted, and the log is left to the process that continues it
            let spec = *survey.study.ok_or_else(|| RequestProblem::no_study(name))?;
            return Ok(OrderOutcome::Recorded(carry_out_manual_order(
                &mut self.session(spec, store)?,
                trial,
                order,
            )?));
        }
        drop(place);
        folds.read(name, &log, |_, study| check_running(study, trial))??;
        let folder = log.parent().unwrap_or(&self.folder);
        Orders::for_study(folder)
            .write_order(trial, order)
            .map_err(|error| RequestProblem::midway(&error))?;
        Ok(OrderOutcome::HandedOn)
    }

    /// A configuration to try next: recorded at once, or handed on to the process that drives the study. The answer is whether it is
    /// recorded. A request that comes again, with the same `id`, changes nothing.
    pub(crate) fn enqueue(
        &self,
        folds: &StudyFolds,
        name: &str,
        queued: &Queued,
        id: Option<String>,
    ) -> Result<bool, RequestProblem> {
        let log = folder::log(&self.folder, name)?;
        let place = self.place(name);
        let mut place = lock_unpoisoned(&place);
        close_if_gone(name, &mut place)?;
        if let Some(open) = place.as_mut() {
            let configuration = queued.read(&open.host.session().study().spec().space)?;
            let id = id.unwrap_or_else(|| default_request_id(&configuration));
            open.host.enqueue_once(configuration, Some(id))?;
            return Ok(true);
        }
        if let Ok((store, survey)) = open_log(&log) {
            let spec = *survey.study.ok_or_else(|| RequestProblem::no_study(name))?;
            let configuration = queued.read(&spec.space)?;
            let mut host = StudyHost::new(self.session(spec, store)?);
            let id = id.unwrap_or_else(|| default_request_id(&configuration));
            host.enqueue_once(configuration, Some(id))?;
            return Ok(true);
        }
        drop(place);
        let configuration = folds.read(name, &log, |_, study| {
            let configuration = queued.read(&study.spec().space)?;
            study.check_enqueue(&configuration).map_err(HostError::from)?;
            Ok::<_, RequestProblem>(configuration)
        })??;
        let folder = log.parent().unwrap_or(&self.folder);
        let id = id.unwrap_or_else(|| default_request_id(&configuration));
        Orders::for_study(folder)
            .enqueue(&configuration, Some(&id))
            .map_err(|error| RequestProblem::midway(&error))?;
        Ok(false)
    }

    /// The workers of the study called `name`, as far as this server hosts it now.
    pub(crate) fn workers(&self, name: &str) -> Result<Vec<WorkerView>, RequestProblem> {
        if self.door.is_some() {
            return Ok(self.call(name, |host| Ok(host.recent_workers(MAX_WORKER_SILENCE)))?.0);
        }
        let place = self.place(name);
        let place = lock_unpoisoned(&place);
        Ok(place.as_ref().map(|open| open.host.recent_workers(MAX_WORKER_SILENCE)).unwrap_or_default())
    }

    fn place(&self, name: &str) -> StudySlot {
        let mut studies = lock_unpoisoned(&self.studies);
        // places that are empty and that nobody waits for
        studies.retain(|_, place| {
            Arc::strong_count(place) > 1 || place.try_lock().is_ok_and(|open| open.is_some())
        });
        Arc::clone(studies.entry(name.to_owned()).or_default())
    }

    fn open_existing(&self, name: &str) -> Result<OpenStudy, RequestProblem> {
        let log = folder::log(&self.folder, name)?;
        let (store, survey) = open_log(&log)?;
        let spec = survey.study.ok_or_else(|| {
            RequestProblem::conflict(format!("{name}: its log does not start with a study's description"))
        })?;
        self.open_study(log, *spec, store)
    }

    /// The study that is `asked` for, where `there` is one already.
    fn resolve_spec(
        &self,
        asked: &StudyRequest,
        there: Option<&StudySpec>,
    ) -> Result<StudySpec, RequestProblem> {
        Ok(asked.clone().resolve_with(there, &self.catalogue)?)
    }

    fn session(&self, spec: StudySpec, store: EventStore) -> Result<Session<EventStore>, RequestProblem> {
        let session = Session::open(spec, (&self.catalogue).into(), store);
        session.map_err(|error| RequestProblem::conflict(error.to_string()))
    }

    fn open_study(
        &self,
        log: PathBuf,
        spec: StudySpec,
        store: EventStore,
    ) -> Result<OpenStudy, RequestProblem> {
        let leases = Leases::new(self.lease).with_pauses(store.times().pauses());
        let folder = log.parent().unwrap_or(&self.folder);
        let (leases, orders) = (leases.with_folder(folder), Orders::for_study(folder));
        let host = StudyHost::new(self.session(spec, store)?).with_leases(leases)?.with_orders(orders);
        Ok(OpenStudy { log, host })
    }
}

/// Closes a study whose log was removed: it is opened again once its log is back.
fn close_if_gone(name: &str, place: &mut Option<OpenStudy>) -> Result<(), RequestProblem> {
    let gone = place.as_ref().filter(|open| !open.log.is_file()).map(|open| open.log.clone());
    let Some(log) = gone else { return Ok(()) };
    *place = None;
    Err(RequestProblem::gone(name, &format!("its log {} no longer exists", log.display())))
}

/// How the log was taken away from under its writer, if that is why it cannot be written.
fn displacement_reason(error: &HostError) -> Option<String> {
    let HostError::Store(error) = error else { return None };
    let error: &StoreError = error;
    match std::error::Error::source(error)?.downcast_ref()? {
        EventLogError::Displaced { path, how, .. } => Some(format!("{} {how}", path.display())),
        _ => None,
    }
}

/// The name of a request to enqueue that was given none: that of every request for the same configuration.
fn default_request_id(configuration: &Configuration) -> String {
    serde_json::to_string(configuration).expect("names and values are JSON")
}

/// The log for writing; a conflict if another process writes it.
fn open_log(log: &Path) -> Result<(EventStore, EventLogSurvey), RequestProblem> {
    EventStore::open(log).map_err(|error| match &error {
        EventLogError::Lock(LockError::Held { .. }) => {
            RequestProblem::conflict(format!("{error}. Its trials run and report there"))
        }
        _ => RequestProblem::conflict(error.to_string()),
    })
}

/// Removes a log that holds nothing, and its folder if that holds nothing else.
fn discard_empty_log(log: &Path) {
    let [first, lock] = ["first", "lock"].map(|what| log.with_extension(format!("jsonl.{what}")));
    for file in [log, first.as_path(), lock.as_path()] {
        // if it cannot be removed, an empty log stays, which is no study
        let _ = std::fs::remove_file(file);
    }
    let _ = log.parent().map(std::fs::remove_dir);
}

/// A name from outside becomes a folder's only if it is a plain word.
fn check_name(name: &str) -> Result<&str, RequestProblem> {
    if is_own_file(name) {
        return Err(RequestProblem::field(
            "study",
            "Foretell keeps a file with this name. Choose another one",
        ));
    }
    if !name.is_empty()
        && name.len() <= MAX_NAME_LENGTH
        && !name.starts_with(['.', '-'])
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    {
        return Ok(name);
    }
    let text = format!(
        "the name of a new study consists of letters, digits, '.', '_' and '-', starts with neither '.' nor '-', and is at most {MAX_NAME_LENGTH} characters long"
    );
    Err(RequestProblem::field("study", text))
}

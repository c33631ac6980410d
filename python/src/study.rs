//! Studies: the session behind the four verbs, its log in a folder or in memory.

use crate::background::{self, ProcessUsage};
use crate::convert::{dict, invalid};
use crate::runs::Runs;
use crate::store::AnyStore;
use crate::view::{self, as_dict};
use foretell_run::{EventStore, HostError, MetricReading, Orders, StudyHost};
use foretell_search::{
    ManualOrder, MemoryStore, Queued, Record, Refusal, Session, Store, StudyParts, StudyRequest, StudySpec,
    TrainingStart, known_resource,
};
use pyo3::exceptions::{PyKeyError, PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

type AnyHost = StudyHost<AnyStore>;

/// The host of a study; `None` once the study is closed.
type HostSlot = Mutex<Option<AnyHost>>;

/// A study that is driven from Python.
#[pyclass(frozen, module = "foretell._foretell")]
pub(crate) struct Study {
    host: Arc<HostSlot>,
    /// The process that opened it.
    usage: ProcessUsage,
}

#[pymethods]
impl Study {
    /// The study in `folder` (in memory without one): the one that is there, or one of the `settings`, which learns from earlier runs,
    /// too.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        folder: Option<PathBuf>,
        settings: &Bound<'_, PyDict>,
        learn_from: Option<&Runs>,
    ) -> PyResult<Self> {
        let (store, there): (AnyStore, Option<Box<StudySpec>>) = match &folder {
            None => (AnyStore::Memory(MemoryStore::default()), None),
            Some(folder) => {
                let make = std::fs::create_dir_all(folder);
                make.map_err(|error| PyOSError::new_err(format!("{}: {error}", folder.display())))?;
                let (store, survey) = EventStore::open(folder.join("events.jsonl")).map_err(store_error)?;
                (AnyStore::Folder(Box::new(store)), survey.study)
            }
        };
        let request = parse_request(settings)?;
        let asked = request.clone();
        let mut spec = request
            .resolve(there.as_deref())
            .map_err(|refusal| request_error(&refusal, folder.as_deref()))?;
        if let Some(runs) = learn_from {
            runs.check_direction(spec.direction)?;
        }
        let runs = learn_from.map_or(&[][..], |runs| &runs.runs);
        spec.check_burn_in(runs.len()).map_err(|error| invalid(Refusal::from(error)))?;
        if there.is_none() {
            let lessons = py.detach(|| asked.lessons(&spec, runs));
            if let Some(lessons) = lessons {
                spec = lessons.apply_to(spec);
            }
        }
        let session = py.detach(|| Session::open(spec, StudyParts::default(), store)).map_err(invalid)?;
        let mut host = StudyHost::new(session);
        host.warm_start(runs).map_err(host_error)?;
        let host = match folder.as_deref().map(Orders::for_study) {
            Some(orders) => host.with_orders(orders),
            None => host,
        };
        Ok(Self { host: Arc::new(Mutex::new(Some(host))), usage: ProcessUsage::new() })
    }

    /// Refuses the `settings` of another study.
    fn check(&self, settings: &Bound<'_, PyDict>, folder: Option<PathBuf>) -> PyResult<()> {
        let there = self.read(|host| host.session().study().spec().clone())?;
        let resolved = parse_request(settings)?.resolve(Some(&there));
        resolved.map(drop).map_err(|refusal| request_error(&refusal, folder.as_deref()))
    }

    /// Ends the use of the study's folder, whose lock is free then.
    fn close(&self, py: Python<'_>) {
        let host = Arc::clone(&self.host);
        // a thread of the background may hold it
        py.detach(|| drop(host.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }

    /// The process that opened it.
    #[getter]
    fn process(&self) -> u32 {
        self.usage.process()
    }

    /// A trial is stopped by the objective itself.
    fn stop(&self, py: Python<'_>, trial: u64) -> PyResult<()> {
        self.call(py, move |host| host.carry_out_order(trial, ManualOrder::Stop).map(drop))?
            .map_err(host_error)
    }

    /// The next training to start: (trial, configuration, seed, from, until), the last `None` while R is unknown; `None` while there is no training.
    fn ask<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let task = self.call(py, |host| host.ask(None))?.map_err(host_error)?;
        task.map(|task| start_tuple(py, &task.start)).transpose()
    }

    /// The training of a trial that was to be resumed starts after only `from` epochs.
    fn begin(&self, py: Python<'_>, trial: u64, from: u64) -> PyResult<()> {
        self.call(py, move |host| host.begin_attempt(trial, from, None, None).map(|_| ()))?
            .map_err(host_error)
    }

    /// A value of a trial's metric; returns (stop, decision or None).
    fn report<'py>(
        &self,
        py: Python<'py>,
        trial: u64,
        step: u64,
        value: f64,
        metrics: BTreeMap<String, f64>,
    ) -> PyResult<(bool, Option<Bound<'py, PyDict>>)> {
        let reading = MetricReading {
            step,
            value: Some(value).filter(|value| value.is_finite()),
            metrics,
            late: false,
            made_under: None,
        };
        let next = self.call(py, move |host| host.report(trial, reading, None))?.map_err(host_error)?;
        let decision = next.decision.as_ref().map(|decision| as_dict(py, decision)).transpose()?;
        Ok((next.stop, decision))
    }

    /// Records the end of a trial: `failure` is the problem, if it failed, and `returned` the value that its objective returned. Returns
    /// how such values relate to reports, where that is not the usual: a name, and words.
    #[pyo3(signature = (trial, failure = None, returned = None))]
    fn tell(
        &self,
        py: Python<'_>,
        trial: u64,
        failure: Option<String>,
        returned: Option<f64>,
    ) -> PyResult<Option<(&'static str, String)>> {
        let relation = self.call(py, move |host| {
            if let Some(value) = returned {
                host.record_returned_value(trial, value, None)?;
            }
            host.tell(trial, failure, None)?;
            Ok(host.session().study().told_relation())
        })?;
        relation.map_err(host_error)
    }

    /// The sentences about R since the last call: text, and whether something should be changed.
    fn notices(&self) -> PyResult<Vec<(String, bool)>> {
        let notices = self.read(StudyHost::take_notices)?;
        Ok(notices.into_iter().map(|notice| (notice.text, notice.is_warning)).collect())
    }

    /// Has a configuration tried next: a dict of values, or a string; the sampler chooses the values that it leaves open.
    fn enqueue(&self, py: Python<'_>, configuration: &Bound<'_, PyAny>) -> PyResult<()> {
        let queued: Queued = serde_json::from_value(json_of("enqueue", configuration)?).map_err(invalid)?;
        let space = self.read(|host| host.session().study().spec().space.clone())?;
        let configuration = queued.read(&space).map_err(invalid)?;
        self.call(py, move |host| host.enqueue(configuration))?.map_err(host_error)
    }

    /// From here on, other settings hold; settings left open stay as before.
    fn change(&self, py: Python<'_>, settings: &Bound<'_, PyDict>) -> PyResult<()> {
        let there = self.read(|host| host.session().study().spec().clone())?;
        let spec = parse_request(settings)?.resolve(Some(&there)).map_err(invalid)?;
        self.call(py, move |host| host.change_settings(spec.settings()))?.map_err(host_error)
    }

    /// The best trial so far: (trial, score, configuration).
    #[getter]
    fn best<'py>(&self, py: Python<'py>) -> PyResult<Option<(u64, f64, Bound<'py, PyDict>)>> {
        let best = self.read(|host| host.session().best())?;
        best.map(|best| Ok((best.trial, best.score, dict(py, &best.configuration)?))).transpose()
    }

    /// Whether there is nothing left to run.
    #[getter]
    fn done(&self) -> PyResult<bool> {
        self.read(|host| host.session().is_done())
    }

    /// The study's settings.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let spec = self.read(|host| host.session().study().spec().clone())?;
        view::plain(py, &foretell_search::settings(&spec))
    }

    /// The study so far: `settings`, `trials`, `rows` and `reports`.
    fn view<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.read(|host| {
            let session = host.session();
            let records = session.store().read_from(0).and_then(Iterator::collect).map_err(store_error)?;
            let records: Vec<Record> = records;
            view::view(py, session.study(), &session.store().times(), records)
        })?
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a study cannot be pickled, since one process owns its log. Call ask, report and tell in that process",
        ))
    }
}

impl Study {
    /// Reads from the host.
    fn read<T>(&self, read: impl FnOnce(&mut AnyHost) -> T) -> PyResult<T> {
        self.check_process()?;
        let mut held = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_mut().map(read).ok_or_else(closed_error)
    }

    /// Refuses a forked child: two processes that continue one study break its log, and its lock may be held forever there.
    fn check_process(&self) -> PyResult<()> {
        if !self.usage.is_of_another_process() {
            return Ok(());
        }
        let (owner, this) = (self.usage.process(), std::process::id());
        Err(PyRuntimeError::new_err(format!(
            "process {owner} opened this study, and process {this} is a fork of it. Call ask, report and tell in the process that opened it"
        )))
    }

    /// Calls the host in the background: a report may fit a model.
    fn call<T: Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut AnyHost) -> T + Send + 'static,
    ) -> PyResult<T> {
        self.check_process()?;
        let host = Arc::clone(&self.host);
        let called = background::run(py, move || {
            host.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(call)
        })?;
        called.ok_or_else(closed_error)
    }
}

fn closed_error() -> PyErr {
    PyRuntimeError::new_err(
        "this study is closed. To continue it, open its folder again: foretell.Study(folder=…)",
    )
}

fn start_tuple<'py>(py: Python<'py>, start: &TrainingStart) -> PyResult<Bound<'py, PyAny>> {
    let configuration = dict(py, &start.configuration)?;
    Ok((start.trial, configuration, start.seed, start.from, known_resource(start.until))
        .into_pyobject(py)?
        .into_any())
}

/// The request that keyword arguments make.
pub(crate) fn parse_request(given: &Bound<'_, PyDict>) -> PyResult<StudyRequest> {
    let mut fields = Map::new();
    for (name, value) in given {
        let name: String = name.extract()?;
        fields.insert(name.clone(), json_of(&name, &value)?);
    }
    StudyRequest::from_fields(&fields).map_err(|refusal| {
        match refusal.reason.strip_prefix("unknown field. ") {
            Some(known) => PyTypeError::new_err(format!("unknown setting {:?}. {known}", refusal.field)),
            None => invalid(refusal),
        }
    })
}

/// The JSON value of the argument `name`.
pub(crate) fn json_of(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = given.py();
    // numbers of NumPy are no JSON, but have an item that is
    let options = PyDict::new(py);
    options.set_item("default", py.import("operator")?.call_method1("methodcaller", ("item",))?)?;
    options.set_item("allow_nan", false)?;
    let text = py.import("json")?.call_method("dumps", (given,), Some(&options)).map_err(|error| {
        let text = format!(
            "{name}: {} is not a finite number, a string, or a list or dict of these",
            repr_text(given)
        );
        let refused =
            if error.is_instance_of::<PyValueError>(py) { invalid(text) } else { PyTypeError::new_err(text) };
        refused.set_cause(py, Some(error));
        refused
    })?;
    serde_json::from_str(&text.extract::<String>()?).map_err(|_| {
        invalid(format!(
            "{name}: {} is not valid text: it contains half of a character (a surrogate)",
            repr_text(given)
        ))
    })
}

fn repr_text(given: &Bound<'_, PyAny>) -> String {
    given.repr().map_or_else(|_| "this value".to_owned(), |text| text.to_string())
}

/// The problem with the request for the study in `folder`.
fn request_error(refusal: &Refusal, folder: Option<&Path>) -> PyErr {
    match folder {
        Some(folder) if refusal.differs => invalid(format!(
            "{}: this folder contains another study ({refusal}). Choose another folder, or pass only this folder to continue that study",
            folder.display()
        )),
        _ if refusal.field == "space" && refusal.reason.contains("needs a search space") => invalid(
            "a new study needs a space, for example Study({'lr': foretell.log(1e-4, 1)}, metric='val_acc', epochs=20)",
        ),
        _ if refusal.field == "direction" => invalid(
            refusal.reason.replace("Set maximize or minimize", "Set direction='maximize' or 'minimize'"),
        ),
        _ => invalid(refusal),
    }
}

fn host_error(error: HostError) -> PyErr {
    match error {
        HostError::Store(error) => PyOSError::new_err(error.to_string()),
        HostError::NoTrial { .. } | HostError::TrialEnded { .. } => PyKeyError::new_err(error.to_string()),
        error => invalid(error),
    }
}

fn store_error(error: impl std::fmt::Display) -> PyErr {
    PyOSError::new_err(error.to_string())
}

//! Studies: the session behind the four verbs, its log in a folder or in memory.

use crate::background::{self, Use};
use crate::convert::{dict, direction_name, invalid};
use crate::runs::Runs;
use foretell_run::{EventStore, HostError, Hosted, Orders, Reading, Stored};
use foretell_search::{
    Decision, Memory, Parts, Refusal, Session, Start, Store, StudyRequest, StudySpec, TrialState,
};
use pyo3::exceptions::{PyKeyError, PyOSError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type AnyHost = Hosted<Box<dyn Store + Send>>;

/// A study that is driven from Python.
#[pyclass(frozen, module = "foretell._foretell")]
pub(crate) struct Study {
    host: Arc<Mutex<AnyHost>>,
    /// Which process opened it.
    usage: Use,
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
        let (store, there): (Box<dyn Store + Send>, Option<Box<StudySpec>>) = match &folder {
            None => (Box::new(Memory::default()), None),
            Some(folder) => {
                let make = std::fs::create_dir_all(folder);
                make.map_err(|error| PyOSError::new_err(format!("{}: {error}", folder.display())))?;
                let (store, survey) = EventStore::open(folder.join("events.jsonl")).map_err(unstored)?;
                (Box::new(store), survey.study)
            }
        };
        let request = request_of(settings)?;
        let spec = request.resolve(there.as_deref()).map_err(|refusal| unfit(&refusal, folder.as_deref()))?;
        let runs = learn_from.map_or(&[][..], |runs| &runs.runs);
        spec.check_burn_in(runs.len()).map_err(|error| invalid(Refusal::from(error)))?;
        let session = py.detach(|| Session::open(spec, Parts::default(), store)).map_err(invalid)?;
        let mut host = Hosted::new(session);
        host.warm_start(runs).map_err(refused)?;
        let host = match folder.as_deref().map(Orders::of) {
            Some(orders) => host.obeying(orders),
            None => host,
        };
        Ok(Self { host: Arc::new(Mutex::new(host)), usage: Use::new() })
    }

    /// The next training to start: (trial, configuration, seed, from, until); `None` while there is none.
    fn ask<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let task = self.call(py, |host| host.ask(None))?.map_err(refused)?;
        task.map(|task| as_tuple(py, &task.start)).transpose()
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
        let reading =
            Reading { step, value: Some(value).filter(|value| value.is_finite()), metrics, late: false };
        let next = self.call(py, move |host| host.report(trial, reading, None))?.map_err(refused)?;
        let decision = next.decision.as_ref().map(|decision| as_dict(py, decision)).transpose()?;
        Ok((next.stop, decision))
    }

    /// How a training ended; `failure` says what went wrong.
    fn tell(&self, py: Python<'_>, trial: u64, failure: Option<String>) -> PyResult<()> {
        self.call(py, move |host| host.tell(trial, failure, None).map(|_| ()))?.map_err(refused)
    }

    /// The best trial so far: (trial, score, configuration).
    #[getter]
    fn best<'py>(&self, py: Python<'py>) -> PyResult<Option<(u64, f64, Bound<'py, PyDict>)>> {
        let best = self.host()?.session().best();
        best.map(|best| Ok((best.trial, best.score, dict(py, &best.configuration)?))).transpose()
    }

    /// Whether there is nothing left to run.
    #[getter]
    fn done(&self) -> PyResult<bool> {
        Ok(self.host()?.session().is_done())
    }

    /// The study's settings.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let host = self.host()?;
        let spec = host.session().study().spec();
        let settings = PyDict::new(py);
        settings.set_item("metric", &spec.metric)?;
        settings.set_item("direction", direction_name(spec.direction))?;
        settings.set_item("epochs", spec.max_resource)?;
        settings.set_item("trials", spec.trials)?;
        settings.set_item("burn_in", spec.burn_in)?;
        settings.set_item("seed", spec.seed)?;
        Ok(settings)
    }

    /// All trials: number, configuration, state, steps, values, decision.
    fn trials<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let host = self.host()?;
        let (study, trials) = (host.session().study(), PyList::empty(py));
        let turned = study.spec().direction;
        for (number, trial) in study.trials().iter().enumerate() {
            let (state, result) = match &trial.state {
                TrialState::Running => ("running", None),
                TrialState::Interrupted => ("interrupted", None),
                TrialState::Paused { value } => ("paused", Some(*value)),
                TrialState::Completed { value } => ("completed", Some(*value)),
                TrialState::Stopped { .. } => ("stopped", trial.result()),
                TrialState::Failed { .. } => ("failed", None),
                _ => ("ended", None),
            };
            let one = PyDict::new(py);
            one.set_item("number", number)?;
            one.set_item("config", dict(py, &trial.configuration)?)?;
            one.set_item("state", state)?;
            one.set_item("score", result)?;
            one.set_item("steps", trial.curve.steps())?;
            let values = trial.curve.scores().iter().map(|&score| turned.value(score));
            one.set_item("values", values.collect::<Vec<f64>>())?;
            one.set_item("decision", trial.decision.as_ref().map(|d| as_dict(py, d)).transpose()?)?;
            trials.append(one)?;
        }
        Ok(trials)
    }

    /// What the study in `folder` reported, read without a lock, also while it runs: its direction, its metric, and of each trial its
    /// number, configuration, steps and values.
    #[staticmethod]
    fn recorded<'py>(py: Python<'py>, folder: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        let stored = py.detach(|| Stored::read(&folder)).map_err(invalid)?;
        let (spec, records) = (stored.study.spec(), PyList::empty(py));
        for (number, trial) in
            stored.study.trials().iter().enumerate().filter(|(_, trial)| !trial.curve.is_empty())
        {
            let values = trial.curve.scores().iter().map(|&score| spec.direction.value(score));
            let configuration = dict(py, &trial.configuration)?;
            records.append((
                number.to_string(),
                configuration,
                trial.curve.steps(),
                values.collect::<Vec<f64>>(),
            ))?;
        }
        Ok((direction_name(spec.direction), &spec.metric, records).into_pyobject(py)?.into_any())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a study cannot be pickled, since one process owns its log; ask, report and tell in that process",
        ))
    }
}

impl Study {
    fn host(&self) -> PyResult<MutexGuard<'_, AnyHost>> {
        self.check_process()?;
        Ok(self.host.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Refuses a forked child: two processes that go on with one study break its log, and its lock may be held for ever there.
    fn check_process(&self) -> PyResult<()> {
        if !self.usage.is_of_another_process() {
            return Ok(());
        }
        let (owner, this) = (self.usage.process(), std::process::id());
        Err(PyRuntimeError::new_err(format!(
            "process {owner} opened this study, and process {this} is a fork of it: ask, report and tell in the process that opened it"
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
        background::run(py, move || call(&mut host.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn as_tuple<'py>(py: Python<'py>, start: &Start) -> PyResult<Bound<'py, PyAny>> {
    let configuration = dict(py, &start.configuration)?;
    Ok((start.trial, configuration, start.seed, start.from, start.until).into_pyobject(py)?.into_any())
}

pub(crate) fn as_dict<'py>(py: Python<'py>, decision: &Decision) -> PyResult<Bound<'py, PyDict>> {
    let text = serde_json::to_string(decision).map_err(invalid)?;
    Ok(py.import("json")?.call_method1("loads", (text,))?.cast_into::<PyDict>()?)
}

/// The request that keyword arguments make.
pub(crate) fn request_of(given: &Bound<'_, PyDict>) -> PyResult<StudyRequest> {
    let py = given.py();
    // numbers of NumPy are no JSON, but have an item that is
    let options = PyDict::new(py);
    options.set_item("default", py.import("operator")?.call_method1("methodcaller", ("item",))?)?;
    let text: String = py.import("json")?.call_method("dumps", (given,), Some(&options))?.extract()?;
    let fields = serde_json::from_str(&text).map_err(invalid)?;
    StudyRequest::from_fields(&fields).map_err(|refusal| match refusal.reason.strip_prefix("unknown; ") {
        Some(known) => PyTypeError::new_err(format!("unknown setting {:?}; {known}", refusal.field)),
        None => invalid(refusal),
    })
}

/// What is wrong with the request for the study in `folder`.
fn unfit(refusal: &Refusal, folder: Option<&Path>) -> PyErr {
    match folder {
        Some(folder) if refusal.differs => invalid(format!(
            "{}: there is another study in this folder; name another folder, or only this one to go on with that study ({refusal})",
            folder.display()
        )),
        _ if refusal.field == "space" && refusal.reason.contains("needs one") => {
            invalid("a new study needs a space: Study(folder, {'lr': 'log:1e-4:1'}, metric='val_acc')")
        }
        _ if refusal.field == "direction" => invalid(
            refusal.reason.replace("say maximize or minimize", "give direction='maximize' or 'minimize'"),
        ),
        _ => invalid(refusal),
    }
}

fn refused(error: HostError) -> PyErr {
    match error {
        HostError::Store(error) => PyOSError::new_err(error.to_string()),
        HostError::NoTrial { .. } | HostError::Ended { .. } => PyKeyError::new_err(error.to_string()),
        error => invalid(error),
    }
}

fn unstored(error: impl std::fmt::Display) -> PyErr {
    PyOSError::new_err(error.to_string())
}

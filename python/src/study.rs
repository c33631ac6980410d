//! Studies: the session behind the four verbs, its log in a folder or in memory.

use crate::background;
use crate::convert::{dict, direction, direction_name, invalid};
use foretell_run::{EventStore, Orders};
use foretell_search::{
    Answer, Decision, Ending, Memory, Parts, Session, Start, Store, StoreError, StudyRequest,
    StudyRequestError, StudySpec, TrialState,
};
use pyo3::exceptions::{PyKeyError, PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type AnySession = Session<Box<dyn Store + Send>>;

/// A study that is driven from Python.
#[pyclass(frozen, module = "foretell._foretell")]
pub(crate) struct Study {
    session: Arc<Mutex<AnySession>>,
    /// What a person orders, in a study that is kept in a folder.
    orders: Option<Orders>,
}

#[pymethods]
impl Study {
    /// The study in `folder` (in memory without one): the one that is there, or one of the `settings`.
    #[staticmethod]
    fn open(py: Python<'_>, folder: Option<PathBuf>, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let (store, there): (Box<dyn Store + Send>, Option<Box<StudySpec>>) = match &folder {
            None => (Box::new(Memory::default()), None),
            Some(folder) => {
                let make = std::fs::create_dir_all(folder);
                make.map_err(|error| PyOSError::new_err(format!("{}: {error}", folder.display())))?;
                let (store, survey) = EventStore::open(folder.join("events.jsonl")).map_err(unstored)?;
                (Box::new(store), survey.study)
            }
        };
        let settings = settings_of(settings)?;
        let spec = match there {
            Some(there) => settings.continued(*there),
            None => settings.new_study(),
        };
        let spec = spec.map_err(|error| unfit(&error, folder.as_deref()))?;
        let session = py.detach(|| Session::open(spec, Parts::default(), store)).map_err(invalid)?;
        let orders = folder.as_deref().map(Orders::of);
        Ok(Self { session: Arc::new(Mutex::new(session)), orders })
    }

    /// The next training to start: (trial, configuration, seed, from, until); `None` while there is none.
    fn ask<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let start = self.call(py, AnySession::ask)?.map_err(stored)?;
        start.map(|start| as_tuple(py, &start)).transpose()
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
        self.check_running(trial)?;
        let orders = self.orders.clone();
        let answer = self.call(py, move |session| {
            obey(session, orders.as_ref())?;
            let mut answer = session.report(trial, step, value, metrics)?;
            if answer.stops() && answer.decision.is_none() {
                answer.decision = stopped_before(session, trial);
            }
            Ok(answer)
        })?;
        let answer: Answer = answer.map_err(stored)?;
        let decision = answer.decision.as_ref().map(|decision| as_dict(py, decision)).transpose()?;
        Ok((answer.stops(), decision))
    }

    /// How a training ended; `failure` says what went wrong.
    fn tell(&self, py: Python<'_>, trial: u64, failure: Option<String>) -> PyResult<()> {
        self.check_running(trial)?;
        let ending = failure.map_or(Ending::Finished, Ending::Failed);
        self.call(py, move |session| session.tell(trial, ending))?.map_err(stored)
    }

    /// The best trial so far: (trial, score, configuration).
    #[getter]
    fn best<'py>(&self, py: Python<'py>) -> PyResult<Option<(u64, f64, Bound<'py, PyDict>)>> {
        let best = self.session().best();
        best.map(|best| Ok((best.trial, best.score, dict(py, &best.configuration)?))).transpose()
    }

    /// Whether there is nothing left to run.
    #[getter]
    fn done(&self) -> bool {
        self.session().is_done()
    }

    /// The study's settings.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let session = self.session();
        let spec = session.study().spec();
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
        let session = self.session();
        let (study, trials) = (session.study(), PyList::empty(py));
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

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a study cannot be pickled, since one process owns its log; ask, report and tell in that process",
        ))
    }
}

impl Study {
    fn session(&self) -> MutexGuard<'_, AnySession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the session in the background: a report may fit a model.
    fn call<T: Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut AnySession) -> T + Send + 'static,
    ) -> PyResult<T> {
        let session = Arc::clone(&self.session);
        background::run(py, move || call(&mut session.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn check_running(&self, trial: u64) -> PyResult<()> {
        let session = self.session();
        if session.running().any(|running| running == trial) {
            return Ok(());
        }
        let text = match session.study().trial(trial) {
            None => format!("trial {trial}: ask() has not given out such a trial"),
            Some(_) => format!("trial {trial} does not run: ask() gives out trials that do"),
        };
        Err(PyKeyError::new_err(text))
    }
}

/// The decision by which `trial` was stopped before it reported again.
fn stopped_before(session: &AnySession, trial: u64) -> Option<Decision> {
    let trial = session.study().trial(trial)?;
    trial.decision.clone().filter(|_| matches!(trial.state, TrialState::Stopped { .. }))
}

/// Carries out what a person has ordered since the last report.
fn obey(session: &mut AnySession, orders: Option<&Orders>) -> Result<(), StoreError> {
    let Some(orders) = orders else { return Ok(()) };
    for (trial, order) in orders.waiting() {
        session.by_hand(trial, order)?;
        orders.withdraw(trial, order);
    }
    Ok(())
}

fn as_tuple<'py>(py: Python<'py>, start: &Start) -> PyResult<Bound<'py, PyAny>> {
    let configuration = dict(py, &start.configuration)?;
    Ok((start.trial, configuration, start.seed, start.from, start.until).into_pyobject(py)?.into_any())
}

fn as_dict<'py>(py: Python<'py>, decision: &Decision) -> PyResult<Bound<'py, PyDict>> {
    let text = serde_json::to_string(decision).map_err(invalid)?;
    Ok(py.import("json")?.call_method1("loads", (text,))?.cast_into::<PyDict>()?)
}

fn settings_of(given: &Bound<'_, PyDict>) -> PyResult<StudyRequest> {
    let way = setting::<String>(given, "direction")?;
    let score = setting::<String>(given, "score")?;
    Ok(StudyRequest {
        space: setting(given, "space")?,
        metric: setting(given, "metric")?,
        direction: way.map(|text| direction(&text)).transpose()?,
        epochs: setting(given, "epochs")?,
        trials: setting(given, "trials")?,
        burn_in: setting(given, "burn_in")?,
        stopping: setting(given, "stopping")?,
        stop_probability: setting(given, "stop_probability")?,
        offset: setting(given, "offset")?,
        nth_best: setting(given, "nth_best")?,
        agreeing_checks: setting(given, "agreeing_checks")?,
        predictor: setting(given, "predictor")?,
        refit: setting(given, "refit")?,
        score: score.map(|text| crate::forecaster::run_score(&text)).transpose()?,
        seed: setting(given, "seed")?,
        shadow: setting(given, "shadow")?,
    })
}

/// What is wrong with the settings of the study in `folder`.
fn unfit(error: &StudyRequestError, folder: Option<&Path>) -> PyErr {
    match error {
        StudyRequestError::NoSpace => {
            invalid("a new study needs a space: Study(folder, {'lr': 'log:1e-4:1'}, metric='val_acc')")
        }
        StudyRequestError::Another => invalid(format!(
            "{}: there is another study in this folder; name another folder, or only this one to go on with that study",
            folder.unwrap_or(Path::new("memory")).display()
        )),
        error => invalid(error),
    }
}

fn setting<'py, T: for<'a> FromPyObject<'a, 'py>>(
    settings: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<Option<T>> {
    let Some(value) = settings.get_item(name)?.filter(|value| !value.is_none()) else { return Ok(None) };
    let wrong = || {
        let shown = value.repr().map_or_else(|_| "its value".to_owned(), |text| text.to_string());
        invalid(format!("{name}={shown} is of the wrong type or out of range"))
    };
    value.extract().map(Some).map_err(|_| wrong())
}

fn stored(error: StoreError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

fn unstored(error: impl std::fmt::Display) -> PyErr {
    PyOSError::new_err(error.to_string())
}

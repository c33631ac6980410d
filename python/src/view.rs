//! What a study stands at, as plain values: its settings, its trials, and its table.

use crate::convert::{dict, invalid};
use foretell_logs::Values;
use foretell_run::{EventStore, Stored};
use foretell_search::{
    Catalogue, Decision, Record, Space, Store, Study, StudySpec, Times, Trial, TrialState,
};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::json;
use std::path::PathBuf;

/// The study that `folder` holds, read without a lock, also while it runs: `settings`, `trials`, `rows` and `reports`.
#[pyfunction]
pub(crate) fn stored(py: Python<'_>, folder: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let read = || -> Result<_, String> {
        let stored = Stored::read(&folder, &Catalogue::default()).map_err(|error| error.to_string())?;
        let mut records = Vec::new();
        stored.each_record(|record| records.push(record)).map_err(|error| error.to_string())?;
        Ok((stored, records))
    };
    let (stored, records) = py.detach(read).map_err(invalid)?;
    view(py, &stored.study, &stored.times, records)
}

/// Writes the records that a server sent, a JSON list, as the log of a study in `folder`.
#[pyfunction]
pub(crate) fn write_log(py: Python<'_>, folder: PathBuf, records: &str) -> PyResult<()> {
    let records: Vec<Record> = serde_json::from_str(records).map_err(invalid)?;
    let write = || -> Result<(), String> {
        let (mut store, _) =
            EventStore::open(folder.join("events.jsonl")).map_err(|error| error.to_string())?;
        records.iter().try_for_each(|record| store.append(record)).map_err(|error| error.to_string())
    };
    py.detach(write).map_err(PyOSError::new_err)
}

/// `study`, whose times and records are `times` and `records`.
pub(crate) fn view<'py>(
    py: Python<'py>,
    study: &Study,
    times: &Times,
    records: Vec<Record>,
) -> PyResult<Bound<'py, PyDict>> {
    let whole = PyDict::new(py);
    whole.set_item("settings", settings(py, study.spec())?)?;
    whole.set_item("trials", trials(py, study)?)?;
    let reports = PyDict::new(py);
    for (name, values) in foretell_cli::report_columns(&records) {
        match values {
            Values::Integers(values) => reports.set_item(name, values)?,
            Values::Numbers(values) => reports.set_item(name, values)?,
            Values::Flags(values) => reports.set_item(name, values)?,
            Values::Texts(values) => reports.set_item(name, values)?,
        }
    }
    whole.set_item("reports", reports)?;
    whole.set_item("rows", plain(py, &foretell_cli::trial_rows(study, times, records))?)?;
    Ok(whole)
}

/// All settings by the names of `StudyRequest`; `None` where one does not apply. The space is the list of its parameters, or a name.
pub(crate) fn settings<'py>(py: Python<'py>, spec: &StudySpec) -> PyResult<Bound<'py, PyAny>> {
    let mut settings = json!(spec.request());
    settings["space"] = match &spec.space {
        Space::Parameters(space) => json!(space.parameters()),
        Space::Metaqnn(_) => json!("metaqnn"),
        Space::Own(part) => json!(part.name()),
    };
    plain(py, &settings)
}

/// All trials: number, configuration, state, steps, values, decision, error.
fn trials<'py>(py: Python<'py>, study: &Study) -> PyResult<Bound<'py, PyList>> {
    let trials = PyList::empty(py);
    for (number, trial) in study.trials().iter().enumerate() {
        trials.append(described(py, study.spec(), number, trial)?)?;
    }
    Ok(trials)
}

fn described<'py>(
    py: Python<'py>,
    spec: &StudySpec,
    number: usize,
    trial: &Trial,
) -> PyResult<Bound<'py, PyDict>> {
    let (score, error) = match &trial.state {
        TrialState::Paused { value } | TrialState::Completed { value } => (Some(*value), None),
        TrialState::Stopped { .. } => (trial.result(), None),
        TrialState::Failed { reason } => (None, Some(reason)),
        _ => (None, None),
    };
    let one = PyDict::new(py);
    one.set_item("number", number)?;
    one.set_item("config", dict(py, &trial.configuration)?)?;
    one.set_item("state", trial.state.name())?;
    one.set_item("score", score)?;
    one.set_item("steps", trial.curve.steps())?;
    let values = trial.curve.scores().iter().map(|&score| spec.direction.value(score));
    one.set_item("values", values.collect::<Vec<f64>>())?;
    one.set_item("decision", trial.decision.as_ref().map(|decision| as_dict(py, decision)).transpose()?)?;
    one.set_item("error", error)?;
    Ok(one)
}

/// A decision as a dict.
pub(crate) fn as_dict<'py>(py: Python<'py>, decision: &Decision) -> PyResult<Bound<'py, PyDict>> {
    Ok(plain(py, decision)?.cast_into::<PyDict>()?)
}

/// What can be written as JSON, as Python's own values.
pub(crate) fn plain<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(invalid)?;
    py.import("json")?.call_method1("loads", (text,))
}

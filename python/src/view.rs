//! A study as Python's own values.

use crate::convert::invalid;
use foretell_run::StoredStudy;
use foretell_search::{Catalogue, Decision, DecisionView, Record, Study, StudyTimes, StudyView};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use std::path::PathBuf;

/// The study that `folder` holds, read without a lock, also while it runs: `settings`, `trials`, `rows` and `reports`.
#[pyfunction]
pub(crate) fn stored(py: Python<'_>, folder: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let read = py.detach(|| -> Result<_, String> {
        let stored = StoredStudy::read(&folder, &Catalogue::default()).map_err(|error| error.to_string())?;
        let mut records = Vec::new();
        stored.for_each_record(|record| records.push(record)).map_err(|error| error.to_string())?;
        Ok((stored, records))
    });
    let (stored, records) = read.map_err(invalid)?;
    view(py, &stored.study, &stored.times, records)
}

/// The values shown of `study`, whose times and records are `times` and `records`.
pub(crate) fn view<'py>(
    py: Python<'py>,
    study: &Study,
    times: &StudyTimes,
    records: Vec<Record>,
) -> PyResult<Bound<'py, PyDict>> {
    Ok(plain(py, &StudyView::new(study, times, records))?.cast_into::<PyDict>()?)
}

/// A decision as a dict.
pub(crate) fn as_dict<'py>(py: Python<'py>, decision: &Decision) -> PyResult<Bound<'py, PyDict>> {
    Ok(plain(py, &DecisionView::from(decision))?.cast_into::<PyDict>()?)
}

/// A value that can be written as JSON, as Python's own values.
pub(crate) fn plain<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(invalid)?;
    py.import("json")?.call_method1("loads", (text,))
}

//! The native module of the Python package `foretell`: converts, calls the core, converts back. The package's Python files are the
//! interface; this module is theirs alone.

mod background;
mod convert;
mod forecast;
mod forecaster;
mod judge;
mod regressor;
mod runs;
mod store;
mod study;
mod view;

use pyo3::prelude::*;

/// The native module.
#[pymodule(gil_used = false)]
mod _foretell {
    use super::background;
    use crate::convert::invalid;
    use pyo3::prelude::*;
    use std::ffi::OsString;

    #[pymodule_export]
    use crate::forecast::{Decision, Forecast};
    #[pymodule_export]
    use crate::forecaster::Forecaster;
    #[pymodule_export]
    use crate::judge::{Judge, LengthWatch};
    #[pymodule_export]
    use crate::regressor::Regressor;
    #[pymodule_export]
    use crate::runs::Runs;
    #[pymodule_export]
    use crate::study::Study;
    #[pymodule_export]
    use crate::view::stored;

    /// Runs the command line `words` and returns its exit code.
    #[pyfunction]
    fn run_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
        py.detach(|| foretell_cli::run(&words))
    }

    /// The JSON document of `foretell evaluate` or `foretell replay`.
    #[pyfunction]
    fn answer(py: Python<'_>, words: Vec<OsString>) -> PyResult<String> {
        background::run(py, move || foretell_cli::answer_as_json(&words))?.map_err(invalid)
    }

    /// The settings of a study as JSON Schema: the fields of a request, by name.
    #[pyfunction]
    fn schema(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        crate::view::plain(py, &foretell_search::StudyRequest::schema(&foretell_search::Catalogue::default()))
    }

    /// The settings that have an effect on a judge.
    #[pyfunction]
    fn judge_settings() -> Vec<String> {
        foretell_search::Judge::effective_settings()
    }

    /// The names of all predictors.
    ///
    /// >>> import foretell
    /// >>> "mean-gain" in foretell.predictors()
    /// True
    #[pyfunction]
    fn predictors() -> Vec<&'static str> {
        foretell::PredictorRegistry::default().predictor_names()
    }

    /// Which way is better by a metric's name, if that says so.
    #[pyfunction]
    fn direction_of(metric: &str) -> Option<&'static str> {
        foretell::direction_of(metric).map(crate::convert::direction_name)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("OtherMetric", module.py().get_type::<crate::runs::OtherMetric>())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

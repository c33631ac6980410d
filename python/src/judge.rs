//! The judge of other tools' trials: what a study would decide.

use crate::background::{self, Use};
use crate::convert::{configuration, curve, direction, invalid, numbers};
use crate::runs::Runs;
use crate::study::request_of;
use crate::view::as_dict;
use foretell::{Direction, Metric, Run};
use foretell_search::{Judge as Core, SamplerName, StudyRequest, StudySpec};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Finished trainings, and whether a running one is to be stopped.
#[pyclass(frozen, module = "foretell._foretell")]
pub(crate) struct Judge {
    spec: StudySpec,
    held: Mutex<Held>,
}

/// The core, who works with it, and what it was told, to make it again. Locked by threads that hold the interpreter alone.
struct Held {
    core: Arc<Mutex<Core>>,
    usage: Use,
    finished: Vec<Run>,
    logarithmic: BTreeSet<String>,
}

#[pymethods]
impl Judge {
    /// A judge that has seen nothing; settings that are absent are those of a study.
    #[new]
    fn new(metric: &str, direction: &str, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let usual = Core::spec(metric, self::direction(direction)?);
        let request = StudyRequest {
            space: Some(usual.space),
            metric: Some(usual.metric),
            direction: Some(usual.direction),
            sampler: Some(SamplerName::Random),
            trials: Some(u64::from(u32::MAX)),
            ..request_of(settings)?
        };
        let spec = request.resolve(None).map_err(invalid)?;
        let core = Arc::new(Mutex::new(Core::new(spec.clone()).map_err(invalid)?));
        let (usage, finished, logarithmic) = (Use::new(), Vec::new(), BTreeSet::new());
        Ok(Self { spec, held: Mutex::new(Held { core, usage, finished, logarithmic }) })
    }

    /// Old runs to learn from; those that were stopped teach nothing.
    fn learn_from(&self, py: Python<'_>, runs: &Runs) -> PyResult<()> {
        // where the logs say how runs ended, those that were stopped are known
        let target = runs.target.unwrap_or(f64::NEG_INFINITY);
        let reaches = |run: &&Run| {
            run.curve.diverged_at().is_some() || run.curve.last().is_none_or(|(step, _)| step >= target)
        };
        let runs = runs.runs.iter().filter(reaches).cloned().collect();
        let finished = self.call(py, move |core| {
            core.learn_from(runs);
            core.runs().to_vec()
        })?;
        self.held().finished = finished;
        Ok(())
    }

    /// A training has ended by itself.
    fn finish(
        &self,
        py: Python<'_>,
        id: String,
        config: &Bound<'_, PyDict>,
        steps: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let run = self.run(id, config, steps, values)?;
        self.held().finished.push(run.clone());
        self.call(py, move |core| core.finish(run))
    }

    /// The decision on a running training, as a dict.
    fn decide<'py>(
        &self,
        py: Python<'py>,
        id: String,
        config: &Bound<'py, PyDict>,
        steps: &Bound<'py, PyAny>,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        // refuses what is no curve
        let Run { configuration, .. } = self.run(id.clone(), config, steps, values)?;
        let points: Vec<(f64, f64)> = numbers(steps)?.into_iter().zip(numbers(values)?).collect();
        let decision = self.call(py, move |core| core.decide(&id, &configuration, &points))?;
        decision.map(|decision| as_dict(py, &decision)).transpose()
    }

    /// A training failed: it teaches nothing.
    fn forget(&self, py: Python<'_>, id: String) -> PyResult<()> {
        self.call(py, move |core| core.forget(&id))
    }

    /// The parameters that are searched on a logarithmic scale.
    fn search_by_logarithm(&self, py: Python<'_>, names: BTreeSet<String>) -> PyResult<()> {
        self.held().logarithmic.clone_from(&names);
        self.call(py, move |core| core.search_by_logarithm(&names))
    }

    /// How many trainings must have finished before any is stopped.
    #[getter]
    fn burn_in(&self) -> u64 {
        self.spec.burn_in
    }

    /// What has been learnt from.
    #[getter]
    fn finished(&self) -> Runs {
        let metric = Metric::new(&self.spec.metric, self.spec.direction);
        Runs::known(self.held().finished.clone(), metric)
    }

    fn __len__(&self) -> usize {
        self.held().finished.len()
    }
}

impl Judge {
    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn direction(&self) -> Direction {
        self.spec.direction
    }

    fn run(
        &self,
        id: String,
        config: &Bound<'_, PyDict>,
        steps: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
    ) -> PyResult<Run> {
        let curve = curve(&numbers(values)?, Some(&numbers(steps)?), self.direction())?;
        Ok(Run { id, configuration: configuration(Some(config))?, curve })
    }

    /// Calls the core in the background: a decision may fit a model. In a forked child whose parent worked with the core at the fork, a
    /// new one.
    fn call<T: Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Core) -> T + Send + 'static,
    ) -> PyResult<T> {
        let (core, working) = {
            let mut held = self.held();
            if held.usage.is_broken() {
                let mut core = Core::new(self.spec.clone()).map_err(invalid)?;
                core.search_by_logarithm(&held.logarithmic);
                held.finished.iter().for_each(|run| core.finish(run.clone()));
                (held.core, held.usage) = (Arc::new(Mutex::new(core)), Use::new());
            }
            (Arc::clone(&held.core), held.usage.begin())
        };
        background::run(py, move || {
            let _working = working;
            call(&mut core.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }
}

//! The judge of other tools' trials: decisions that a study would make.

use crate::background::{self, ProcessUsage};
use crate::convert::{configuration, curve, direction, invalid, numbers};
use crate::runs::Runs;
use crate::study::parse_request;
use crate::view::as_dict;
use foretell::{Direction, Metric, Run};
use foretell_search::{
    Catalogue, Judge as Core, LengthSource, LengthWatch as Watch, ReturnRelation, StudyRequest, StudySpec,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Decides from completed trials whether to stop a running one.
#[pyclass(frozen, module = "foretell._foretell")]
pub(crate) struct Judge {
    spec: StudySpec,
    /// Whether returned values tell which report counts.
    detects: bool,
    held: Mutex<JudgeState>,
}

/// The core, its current users, and all that it was told, to make it again. Locked by threads that hold the interpreter alone.
struct JudgeState {
    core: Arc<Mutex<Core>>,
    usage: ProcessUsage,
    finished: Vec<(Run, Option<f64>)>,
    logarithmic: BTreeSet<String>,
}

/// Compares a setting, the steps of a complete trial, with what trials report; each kind of difference is named once.
#[pyclass(module = "foretell._foretell")]
pub(crate) struct LengthWatch {
    watch: Watch,
    name: String,
    is_optional: bool,
    resource: u64,
}

#[pymethods]
impl LengthWatch {
    /// For the setting `name`, which is `resource`, and may be left out if it `is_optional`.
    #[new]
    fn new(name: String, resource: u64, is_optional: bool) -> Self {
        Self { watch: Watch::default(), name, is_optional, resource }
    }

    /// Trial `trial` reports `step`; its first report was for step `first`.
    fn reported(&mut self, trial: u64, first: f64, step: f64) -> Option<String> {
        let mismatch = self.watch.check_report(self.resource, trial, first as u64, step as u64)?;
        Some(mismatch.describe(LengthSource::Setting(&self.name, self.is_optional)))
    }

    /// A trial is complete after `length` steps.
    fn completed(&mut self, burn_in: u64, length: f64) -> Option<String> {
        let mismatch = self.watch.check_completed(self.resource, burn_in, length as u64)?;
        Some(mismatch.describe(LengthSource::Setting(&self.name, self.is_optional)))
    }
}

#[pymethods]
impl Judge {
    /// A judge that has seen nothing; settings that are absent are those of a study.
    #[new]
    fn new(metric: &str, direction: &str, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let usual = Core::default_spec(metric, self::direction(direction)?);
        check_names(&settings.keys().extract::<Vec<String>>()?)?;
        let asked = parse_request(settings)?;
        Core::check_request(&asked).map_err(invalid)?;
        let detects = asked.score.is_none();
        let request = StudyRequest {
            space: Some(usual.space),
            metric: Some(usual.metric),
            direction: Some(usual.direction),
            sampler: Some("random".into()),
            trials: Some(u64::from(u32::MAX)),
            epochs: Some(usual.max_resource),
            // rungs need the length of a training in advance
            policy: asked.policy.or(Some("srm".into())),
            ..asked
        };
        let spec = request.resolve(None).map_err(invalid)?;
        let core = Arc::new(Mutex::new(Core::new(spec.clone()).map_err(invalid)?));
        let (usage, finished, logarithmic) = (ProcessUsage::new(), Vec::new(), BTreeSet::new());
        Ok(Self { spec, detects, held: Mutex::new(JudgeState { core, usage, finished, logarithmic }) })
    }

    /// Old runs to learn from; those that were stopped teach nothing.
    fn learn_from(&self, py: Python<'_>, runs: &Runs) -> PyResult<()> {
        // where the logs say how runs ended, those that were stopped are known
        let target = runs.target.unwrap_or(f64::NEG_INFINITY);
        let (whole, early): (Vec<&Run>, Vec<&Run>) = runs.runs.iter().partition(|run| {
            run.curve.diverged_at().is_some() || run.curve.last_point().is_none_or(|(step, _)| step >= target)
        });
        let whole = whole.into_iter().cloned().collect();
        let by_itself = early.into_iter().filter(|run| runs.own_ends.contains(&run.id));
        let by_itself: Vec<Run> = by_itself.cloned().collect();
        let finished = self.call(py, move |core| {
            core.learn_from(whole);
            for run in by_itself {
                core.finish(Run { id: format!("history {}", run.id), ..run });
            }
            core.finished_runs().to_vec()
        })?;
        self.held().finished = finished.into_iter().map(|run| (run, None)).collect();
        Ok(())
    }

    /// A training has ended by itself, and returned a value where `returned` is one. Returns how returned values relate to reports,
    /// where that is not the usual: a name, and words.
    #[pyo3(signature = (id, config, steps, values, returned = None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn finish(
        &self,
        py: Python<'_>,
        id: String,
        config: &Bound<'_, PyDict>,
        steps: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
        returned: Option<f64>,
    ) -> PyResult<Option<(&'static str, String)>> {
        let run = self.run(id, config, steps, values)?;
        let returned = returned.filter(|_| self.detects);
        self.held().finished.push((run.clone(), returned));
        let relation = self.call(py, move |core| finish(core, run, returned))?;
        Ok(relation.and_then(|relation| Some((relation.unusual_name()?, relation.to_string()))))
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
        // refuses a list that is no curve
        let Run { configuration, .. } = self.run(id.clone(), config, steps, values)?;
        let points: Vec<(f64, f64)> = numbers(steps)?.into_iter().zip(numbers(values)?).collect();
        let decision = self.call(py, move |core| core.decide(&id, &configuration, &points))?;
        decision.map(|decision| as_dict(py, &decision)).transpose()
    }

    /// The first difference between the steps of a running training and those of the completed ones, in words and once.
    fn mismatch(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let mismatch = self.call(py, |core| core.take_mismatch())?;
        Ok(mismatch.map(|mismatch| mismatch.describe(LengthSource::History)))
    }

    /// A training failed: it teaches nothing.
    fn forget(&self, py: Python<'_>, id: String) -> PyResult<()> {
        self.call(py, move |core| core.forget_training(&id))
    }

    /// The parameters that are searched on a logarithmic scale.
    fn search_by_logarithm(&self, py: Python<'_>, names: BTreeSet<String>) -> PyResult<()> {
        self.held().logarithmic.clone_from(&names);
        self.call(py, move |core| core.search_by_logarithm(&names))
    }

    /// The number of trials that must have completed before any is stopped.
    #[getter]
    fn burn_in(&self) -> u64 {
        self.spec.burn_in
    }

    /// The last step of the runs that it has learned from.
    #[getter]
    fn last_step(&self) -> Option<f64> {
        let held = self.held();
        let ends = held.finished.iter().filter_map(|(run, _)| run.curve.last_point());
        ends.map(|(step, _)| step).max_by(f64::total_cmp)
    }

    /// The runs it has learned from.
    #[getter]
    fn finished(&self) -> Runs {
        let metric = Metric::new(&self.spec.metric, self.spec.direction);
        Runs::from_runs(self.held().finished.iter().map(|(run, _)| run.clone()).collect(), metric)
    }

    fn __len__(&self) -> usize {
        self.held().finished.len()
    }
}

impl Judge {
    fn held(&self) -> std::sync::MutexGuard<'_, JudgeState> {
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
                for (run, returned) in &held.finished {
                    finish(&mut core, run.clone(), *returned);
                }
                (held.core, held.usage) = (Arc::new(Mutex::new(core)), ProcessUsage::new());
            }
            (Arc::clone(&held.core), held.usage.begin())
        };
        background::run(py, move || {
            let _working = working;
            call(&mut core.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }
}

fn finish(core: &mut Core, run: Run, returned: Option<f64>) -> Option<ReturnRelation> {
    let id = run.id.clone();
    core.finish(run);
    returned.map(|value| core.record_returned(&id, value))
}

/// Refuses settings that no study has, and those that have no effect on a judge.
fn check_names(names: &[String]) -> PyResult<()> {
    let of_studies = StudyRequest::schema(&Catalogue::default());
    let known = Core::effective_settings();
    for name in names {
        if of_studies.get(name).is_none() {
            let known = known.join(", ");
            return Err(PyTypeError::new_err(format!("unknown setting {name:?}. Choose one of {known}")));
        }
        if !known.contains(name)
            && let Some(reason) = Core::unused_reason(name, &StudyRequest::default())
        {
            return Err(invalid(format!("{name}: {reason}")));
        }
    }
    Ok(())
}

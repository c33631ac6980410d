//! The forecaster: completed runs, asked about running curves.

use crate::background::{self, ProcessUsage};
use crate::convert::{configuration, curve, direction_name, invalid, numbers};
use crate::forecast::{Decision, Forecast};
use crate::runs::Runs;
use foretell::{
    Action, Configuration, Curve, Forecaster as Core, HistoryOptions, PredictorOptions, Run, RunScore,
    RunStanding, Scale, StopCriterion, make_predictor,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, PoisonError};

/// Non-finite values in a row that count as divergence, as in a study.
const DIVERGED_AFTER: usize = 2;

/// Completed runs and a predictor.
#[pyclass(frozen, module = "foretell._foretell")]
pub(crate) struct Forecaster {
    held: Mutex<HeldCore>,
    source: CoreSource,
    best: Option<f64>,
}

/// The core, and who works with it: a fit holds its locks.
struct HeldCore {
    core: Arc<Core>,
    usage: ProcessUsage,
}

/// The input of the core.
struct CoreSource {
    runs: Arc<Vec<Run>>,
    options: HistoryOptions,
    predictor: String,
    seed: u64,
}

impl CoreSource {
    fn core(&self) -> Result<Core, String> {
        let options = PredictorOptions { seed: self.seed, ..PredictorOptions::default() };
        let predictor = make_predictor(&self.predictor, &options).map_err(|error| error.to_string())?;
        Core::new(&self.runs, &self.options, predictor).map_err(|error| error.to_string())
    }
}

#[pymethods]
impl Forecaster {
    #[new]
    #[pyo3(signature = (runs, predictor_name, seed, target, scale, score))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        runs: &Runs,
        predictor_name: &str,
        seed: u64,
        target: Option<f64>,
        scale: Option<&str>,
        score: &str,
    ) -> PyResult<Self> {
        let options = HistoryOptions {
            metric: Some(runs.metric.clone()),
            scale: scale.map(self::scale).transpose()?,
            target: target.or(runs.target),
            columns: runs.columns.clone(),
            run_score: run_score(score)?,
            literal: false,
        };
        let runs = Arc::clone(&runs.runs);
        let source = CoreSource { runs, options, predictor: predictor_name.to_owned(), seed };
        let core = py.detach(|| source.core()).map_err(invalid)?;
        let finals = (0..core.history().len()).filter_map(|i| core.history().final_score(i));
        let best = StopCriterion::default().incumbent(finals);
        if best.is_none() {
            return Err(invalid(
                "no run reaches the target, so there is nothing to learn from or to beat. Choose an earlier target",
            ));
        }
        let held = Mutex::new(HeldCore { core: Arc::new(core), usage: ProcessUsage::new() });
        Ok(Self { held, source, best })
    }

    /// The number of runs it learns from.
    #[getter]
    fn finished(&self) -> usize {
        self.core().completed_run_count()
    }

    /// The best final value of the completed runs.
    #[getter]
    fn best(&self) -> Option<f64> {
        self.best.map(|best| self.core().history().to_value(best))
    }

    /// The step that is forecast.
    #[getter]
    fn target(&self) -> f64 {
        self.core().history().grid().last().copied().unwrap_or(0.0)
    }

    /// The steps at which curves are compared.
    #[getter]
    fn grid(&self) -> Vec<f64> {
        self.core().history().grid().to_vec()
    }

    /// `maximize` or `minimize`.
    #[getter]
    fn direction(&self) -> &'static str {
        direction_name(self.core().history().direction())
    }

    /// Fits the model for curves of `tau` points now.
    fn fit(&self, py: Python<'_>, tau: usize) -> PyResult<()> {
        let (core, usage) = self.held();
        let points = core.history().grid().len();
        if !(1..points).contains(&tau) {
            return Err(invalid(format!(
                "{tau} points: curves for this model have 1 to {} points",
                points - 1
            )));
        }
        let working = usage.begin();
        background::run(py, move || {
            let _working = working;
            core.fit_model(tau)
        })?
        .map_err(invalid)
    }

    /// Where the run with this curve will end. `origin` are the arguments that make the forecast again.
    #[pyo3(signature = (values, config=None, steps=None, origin=None))]
    fn forecast(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        config: Option<&Bound<'_, PyDict>>,
        steps: Option<&Bound<'_, PyAny>>,
        origin: Option<Py<PyAny>>,
    ) -> PyResult<Forecast> {
        let (curve, _) = self.curve(values, steps)?;
        self.make_forecast(py, configuration(config)?, curve, origin)
    }

    /// Whether the run with this curve is to be stopped.
    #[pyo3(signature = (values, config, steps, stop_probability, offset, nth_best, agreeing_checks))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn decide(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        config: Option<&Bound<'_, PyDict>>,
        steps: Option<&Bound<'_, PyAny>>,
        stop_probability: f64,
        offset: f64,
        nth_best: usize,
        agreeing_checks: usize,
    ) -> PyResult<Decision> {
        let criterion =
            StopCriterion { stop_probability, offset, nth_best, agreeing_checks, ..StopCriterion::default() };
        criterion.validate().map_err(invalid)?;
        let configuration = configuration(config)?;
        let (curve, values) = self.curve(values, steps)?;
        match values.iter().rev().take_while(|value| !value.is_finite()).count() {
            0 => {}
            1..DIVERGED_AFTER => return Ok(Decision::without_forecast("its last value is not finite")),
            _ => return Ok(Decision::for_diverged()),
        }
        let incumbent = self.incumbent(&criterion);
        let mut first = None;
        for agreed in 0..agreeing_checks {
            let Some(&step) = curve.steps().len().checked_sub(agreed + 1).map(|at| &curve.steps()[at]) else {
                return Ok(Decision::for_undecided(first, incumbent));
            };
            let seen = if agreed == 0 { curve.clone() } else { curve.prefix_until(step) };
            let forecast = self.make_forecast(py, configuration.clone(), seen, None)?;
            let (core, forecasted) = (self.core(), forecast.distribution());
            let verdict = incumbent.map(|incumbent| self.verdict(&criterion, incumbent, forecasted));
            let stops = verdict.is_some_and(|verdict| verdict.action == Action::Stop);
            let probability = verdict.map_or(0.0, |verdict| verdict.probability);
            let shown = incumbent.map(|score| core.history().to_value(score));
            let (of, at) = first.get_or_insert((forecast, probability));
            if !stops {
                let text = if agreed == 0 { "may win" } else { "awaits confirmation" };
                return Ok(Decision::go_on(text, of.clone(), *at, shown));
            }
        }
        let (forecast, probability) = first.expect("at least one check was made");
        Ok(Decision::stop(
            forecast,
            probability,
            incumbent.map(|score| self.core().history().to_value(score)),
        ))
    }
}

impl Forecaster {
    /// The core. In a forked child whose parent worked with it at the fork, a new one.
    fn held(&self) -> (Arc<Core>, ProcessUsage) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.usage.is_broken()
            && let Ok(core) = self.source.core()
        {
            *held = HeldCore { core: Arc::new(core), usage: ProcessUsage::new() };
        }
        (Arc::clone(&held.core), held.usage.clone())
    }

    fn core(&self) -> Arc<Core> {
        self.held().0
    }

    fn curve(
        &self,
        values: &Bound<'_, PyAny>,
        steps: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Curve, Vec<f64>)> {
        let values = numbers(values)?;
        let steps = steps.map(numbers).transpose()?;
        Ok((curve(&values, steps.as_deref(), self.core().history().direction())?, values))
    }

    fn make_forecast(
        &self,
        py: Python<'_>,
        configuration: Configuration,
        curve: Curve,
        origin: Option<Py<PyAny>>,
    ) -> PyResult<Forecast> {
        self.check_curve(&curve)?;
        let (core, usage) = self.held();
        let working = usage.begin();
        let forecast = if core.is_fitted_for(&curve) {
            py.detach(|| core.forecast(&configuration, &curve))
        } else {
            let (core, curve) = (Arc::clone(&core), curve.clone());
            background::run(py, move || {
                let _working = working;
                core.forecast(&configuration, &curve)
            })?
        };
        Ok(Forecast::new(core, forecast.map_err(invalid)?, curve, self.best, origin))
    }

    /// Refuses a curve that no forecast is meant for.
    fn check_curve(&self, curve: &Curve) -> PyResult<()> {
        match self.core().history().run_standing(curve) {
            RunStanding::Late { first } => Err(invalid(format!(
                "the curve starts at step {first}, after step {}, which is forecast",
                self.target()
            ))),
            RunStanding::NoLogarithm { step, value } => Err(invalid(format!(
                "{value} at step {step} has no logarithm. Fit the forecaster with scale='linear'"
            ))),
            RunStanding::OutOfBounds { step, value } => {
                let (low, high) = self.core().history().metric_bounds();
                Err(invalid(format!(
                    "{value} at step {step} is not between {low} and {high}, unlike in all completed runs. Check its unit"
                )))
            }
            RunStanding::Diverged { at } if self.core().history().run_score() == RunScore::Last => Err(
                invalid(format!("the run diverged at step {at}: its values are not finite from there on")),
            ),
            RunStanding::Running | RunStanding::Arrived | RunStanding::Diverged { .. } => Ok(()),
        }
    }

    fn incumbent(&self, criterion: &StopCriterion) -> Option<f64> {
        let core = self.core();
        let history = core.history();
        criterion.incumbent((0..history.len()).filter_map(|i| history.final_score(i)))
    }

    /// The criterion's verdict, its offset in the metric's unit: see [`Core::decide`].
    fn verdict(
        &self,
        criterion: &StopCriterion,
        incumbent: f64,
        forecast: &foretell::Forecast,
    ) -> foretell::StopVerdict {
        let core = self.core();
        let (history, direction) = (core.history(), core.history().direction());
        let wanted = direction.to_score(history.to_value(incumbent)) - criterion.offset;
        let at_once = StopCriterion { offset: 0.0, ..*criterion };
        at_once.decide(forecast, history.to_score(direction.to_value(wanted)))
    }
}

/// `last`, `best` or `last:5`.
pub(crate) fn run_score(text: &str) -> PyResult<RunScore> {
    text.parse().map_err(|error: String| invalid(error))
}

fn scale(text: &str) -> PyResult<Scale> {
    match text {
        "linear" => Ok(Scale::Linear),
        "log" => Ok(Scale::Log),
        _ => Err(invalid(format!("scale {text:?} is unknown. Use 'linear' or 'log'"))),
    }
}

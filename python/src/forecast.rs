//! Forecasts and decisions as Python sees them: in the metric's own unit and direction.

use crate::convert::invalid;
use foretell::{Curve, Direction, Forecaster};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::Arc;

/// A forecast of a run's final value: a probability distribution, in the metric's unit.
///
/// >>> import foretell
/// >>> forecaster = foretell.Forecaster.fit([[0.1, 0.2, 0.3], [0.3, 0.6, 0.9], [0.2, 0.5, 0.8]] * 4, direction="maximize")
/// >>> forecaster.forecast([0.2, 0.4]).mean > 0.4
/// True
#[pyclass(frozen, module = "foretell._foretell")]
#[derive(Clone)]
pub(crate) struct Forecast {
    forecaster: Arc<Forecaster>,
    forecast: foretell::Forecast,
    curve: Curve,
    /// The run's current score, on the scale of the history.
    now: f64,
    /// The recorded final value of a run that needs no forecast.
    recorded: Option<f64>,
    best: Option<f64>,
    /// The Python arguments that make it again: forecaster, curve, configuration, steps.
    origin: Option<Arc<Py<PyAny>>>,
}

#[pymethods]
impl Forecast {
    /// The expected final value.
    #[getter]
    fn mean(&self) -> f64 {
        self.recorded.unwrap_or_else(|| self.value(self.forecast.mean))
    }

    /// The standard deviation: half the width of the central 68.3 % interval.
    #[getter]
    fn std(&self) -> f64 {
        if self.recorded.is_some() {
            return 0.0;
        }
        let [low, high] = [0.158_655_254, 0.841_344_746].map(|p| self.value(self.forecast.quantile(p)));
        (high / 2.0 - low / 2.0).abs()
    }

    /// The step whose value is forecast.
    #[getter]
    fn target(&self) -> f64 {
        self.forecaster.history().grid().last().copied().unwrap_or(0.0)
    }

    /// The best final value of the completed runs.
    #[getter]
    fn best(&self) -> Option<f64> {
        self.best.map(|best| self.forecaster.history().to_value(best))
    }

    /// Whether the run has reached the target step, so that its value is recorded, not forecast.
    #[getter]
    fn recorded(&self) -> bool {
        self.recorded.is_some()
    }

    /// The steps reported so far.
    #[getter]
    fn steps(&self) -> Vec<f64> {
        self.curve.steps().to_vec()
    }

    /// The values reported so far.
    #[getter]
    fn values(&self) -> Vec<f64> {
        let direction = self.direction();
        self.curve.scores().iter().map(|&score| direction.to_value(score)).collect()
    }

    /// The `p`-quantile: the final value is below it with probability `p`.
    fn quantile(&self, p: f64) -> PyResult<f64> {
        if !(p > 0.0 && p < 1.0) {
            return Err(invalid(format!("quantile {p} is outside (0, 1)")));
        }
        let p = if self.direction() == Direction::Minimize { 1.0 - p } else { p };
        Ok(self.recorded.unwrap_or_else(|| self.value(self.forecast.quantile(p))))
    }

    /// The central interval that contains the final value with probability `level`, as `(low, high)`.
    #[pyo3(signature = (level=0.9))]
    fn interval(&self, level: f64) -> PyResult<(f64, f64)> {
        if !(level > 0.0 && level < 1.0) {
            return Err(invalid(format!("interval {level} is outside (0, 1)")));
        }
        let tail = (1.0 - level) / 2.0;
        Ok((self.quantile(tail)?, self.quantile(1.0 - tail)?))
    }

    /// The probability of a final value better than `value` (default: the best final value of the completed runs).
    #[pyo3(signature = (value=None))]
    fn prob_beats(&self, value: Option<f64>) -> PyResult<f64> {
        let score = match value {
            Some(value) if !value.is_finite() => {
                return Err(invalid(format!("prob_beats({value}): the value must be finite")));
            }
            Some(value) => self.forecaster.history().to_score(value),
            None => self.best.unwrap_or(f64::NEG_INFINITY),
        };
        Ok(1.0 - self.forecast.probability_at_most(score))
    }

    /// The probability that the run diverges or ends far below the other runs.
    #[getter]
    fn lost_probability(&self) -> f64 {
        self.forecaster.lost_probability(&self.forecast)
    }

    fn __repr__(&self) -> PyResult<String> {
        let (low, high) = self.interval(0.9)?;
        let target = self.target();
        if self.recorded.is_some() {
            return Ok(format!("Forecast({}, recorded at step {target})", format_short(self.mean())));
        }
        let chance = match self.best() {
            Some(best) => {
                format!(", beats {} with {:.1} %", format_short(best), 100.0 * self.prob_beats(None)?)
            }
            None => String::new(),
        };
        Ok(format!(
            "Forecast({} ± {} at step {target}, 90 % in [{}, {}]{chance})",
            format_short(self.mean()),
            format_short(self.std()),
            format_short(low),
            format_short(high)
        ))
    }

    /// The plot that a notebook displays.
    fn _repr_svg_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("foretell._picture")?.call_method1("svg", (slf,))
    }

    fn __eq__(&self, other: &Self) -> bool {
        let [mine, others] =
            [self, other].map(|one| (one.mean(), one.std(), one.target(), one.best(), one.recorded));
        mine == others && self.forecast == other.forecast && self.curve == other.curve
    }

    fn __hash__(&self) -> u64 {
        self.mean().to_bits() ^ self.target().to_bits()
    }

    /// A copy has the same forecaster, which makes the forecast again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let origin = self.origin.as_ref().ok_or_else(|| {
            PyTypeError::new_err("this Forecast cannot be pickled. Ask foretell.Forecaster for it")
        })?;
        Ok((py.import("foretell.forecaster")?.getattr("forecast_again")?, origin.bind(py).clone()))
    }
}

impl Forecast {
    pub(crate) fn new(
        forecaster: Arc<Forecaster>,
        forecast: foretell::Forecast,
        curve: Curve,
        best: Option<f64>,
        origin: Option<Py<PyAny>>,
    ) -> Self {
        let history = forecaster.history();
        let now = history.prefix_of(&curve).last().copied().unwrap_or(f64::NEG_INFINITY);
        let recorded = history.recorded_end(&curve);
        let origin = origin.map(Arc::new);
        Self { now, recorded, forecaster: Arc::clone(&forecaster), forecast, curve, best, origin }
    }

    pub(crate) fn distribution(&self) -> &foretell::Forecast {
        &self.forecast
    }

    fn direction(&self) -> Direction {
        self.forecaster.history().direction()
    }

    fn value(&self, score: f64) -> f64 {
        self.forecaster.history().possible_value(score, self.now).clamp(f64::MIN, f64::MAX)
    }
}

/// Whether to stop a running run, and why.
///
/// >>> import foretell
/// >>> forecaster = foretell.Forecaster.fit([[0.1, 0.2, 0.3], [0.3, 0.6, 0.9], [0.2, 0.5, 0.8]] * 4, direction="maximize")
/// >>> forecaster.decide([0.1, 0.1]).stop
/// True
#[pyclass(frozen, get_all, module = "foretell._foretell")]
pub(crate) struct Decision {
    /// Whether to stop the run.
    stop: bool,
    /// The probability that the run ends no better than `incumbent`, less the offset.
    probability: f64,
    /// The final value to beat.
    incumbent: Option<f64>,
    /// The reason, in one line.
    reason: String,
    /// The forecast; `None` if the decision needed none.
    forecast: Option<Forecast>,
}

#[pymethods]
impl Decision {
    fn __repr__(&self) -> String {
        format!("Decision({}: {})", if self.stop { "stop" } else { "continue" }, self.reason)
    }

    fn __bool__(&self) -> bool {
        self.stop
    }
}

impl Decision {
    pub(crate) fn for_diverged() -> Self {
        let reason = "diverged: its last values are not finite".to_owned();
        Self { stop: true, probability: 1.0, incumbent: None, reason, forecast: None }
    }

    pub(crate) fn without_forecast(reason: &str) -> Self {
        Self { stop: false, probability: 0.0, incumbent: None, reason: reason.to_owned(), forecast: None }
    }

    pub(crate) fn for_undecided(first: Option<(Forecast, f64)>, incumbent: Option<f64>) -> Self {
        match first {
            None => Self::without_forecast("nothing is observed yet"),
            Some((forecast, probability)) => {
                let incumbent = incumbent.map(|score| forecast.forecaster.history().to_value(score));
                Self::go_on("awaits confirmation", forecast, probability, incumbent)
            }
        }
    }

    pub(crate) fn go_on(text: &str, forecast: Forecast, probability: f64, incumbent: Option<f64>) -> Self {
        let text = if incumbent.is_none() { "too few completed runs to compare with" } else { text };
        let reason = reason(text, &forecast, probability, incumbent);
        Self { stop: false, probability, incumbent, reason, forecast: Some(forecast) }
    }

    pub(crate) fn stop(forecast: Forecast, probability: f64, incumbent: Option<f64>) -> Self {
        let reason = reason("will not win", &forecast, probability, incumbent);
        Self { stop: true, probability, incumbent, reason, forecast: Some(forecast) }
    }
}

/// `will not win: forecast 0.71 ± 0.02 at step 20, no better than 0.93 with 99.8 %`.
fn reason(text: &str, forecast: &Forecast, probability: f64, incumbent: Option<f64>) -> String {
    let against = incumbent.map_or(String::new(), |value| {
        format!(", no better than {} with {:.1} %", format_short(value), 100.0 * probability)
    });
    let (mean, std, target) =
        (format_short(forecast.mean()), format_short(forecast.std()), forecast.target());
    format!("{text}: forecast {mean} ± {std} at step {target}{against}")
}

/// Four significant digits.
fn format_short(value: f64) -> String {
    let size = value.abs();
    if size > 0.0 && !(1e-3..1e5).contains(&size) {
        return format!("{value:.2e}");
    }
    let digits = if size >= 1.0 { 3 - (size.log10().floor() as i32).clamp(0, 3) } else { 4 };
    format!("{value:.0$}", digits as usize)
}

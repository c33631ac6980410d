//! A forecaster: completed runs and a predictor, asked about running curves; models are fitted once for each τ.

use crate::curves::configuration::{Configuration, Run};
use crate::curves::curve::Curve;
use crate::curves::encoding::ConfigurationEncoder;
use crate::curves::history::{History, HistoryError, HistoryOptions};
use crate::curves::metric::Metric;
use crate::curves::standing::RunStanding;
use crate::curves::training::RunQuery;
use crate::linalg::matrix::Matrix;
use crate::predict::forecast::Forecast;
use crate::predict::predictor::{FitError, Model, Predictor};
use crate::stop::{Action, StopCriterion, StopVerdict};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use thiserror::Error;

/// The reason why a run cannot be forecast.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum ForecastError {
    /// The run has no point on the history's grid yet.
    #[error("nothing is observed yet: the completed runs start at step {first}")]
    NothingObserved {
        /// The first step of the grid.
        first: f64,
    },
    /// The curve was made with another direction than those of the completed runs.
    #[error(
        "the curve has the opposite direction: {} values of `{}` are better. Create all curves with the same direction",
        metric.direction.better_word(), metric.name
    )]
    Direction {
        /// The metric of the completed runs.
        metric: Metric,
    },
    /// The predictor could not be fitted for this τ.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The history's scores are logarithms and one of the curve's values has none.
    #[error(
        "the value {value} at step {step} has no logarithm, but forecasts use logarithms, since all values of the completed runs are positive. Correct the value, or choose a linear scale"
    )]
    NoLogarithm {
        /// The step of that value.
        step: f64,
        /// The value, in the metric's own unit.
        value: f64,
    },
    /// The forecast is not finite: scores are too large, or too far apart, for the predictor's arithmetic.
    #[error("the forecast is not finite, because scores are too large or too far apart. Rescale the metric")]
    NotFinite,
}

/// The model for one τ, or the reason for its absence.
type ModelResult = Result<Arc<dyn Model>, FitError>;

/// Forecasts and judges running curves, based on completed runs and a predictor.
///
/// ```
/// use foretell::{Configuration, Curve, Direction, Forecaster, HistoryOptions, LastValue, Run};
/// let finished: Vec<Run> = (0..4)
///     .map(|i| {
///         let end = 0.5 + 0.1 * f64::from(i);
///         let curve = Curve::from_epoch_values(&[end - 0.2, end - 0.1, end], Direction::Maximize);
///         Run { id: i.to_string(), configuration: Configuration::new(), curve }
///     })
///     .collect();
/// let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), Box::new(LastValue))?;
/// let running = Curve::from_epoch_values(&[0.4, 0.55], Direction::Maximize);
/// let forecast = forecaster.forecast(&Configuration::new(), &running)?;
/// assert_eq!(forecast.mean, 0.55); // the last value
/// assert!((forecast.scale - 0.1).abs() < 1e-12); // and how far it has been from the end
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Forecaster {
    history: History,
    finished: Vec<usize>,
    /// The encoded configuration and the scores so far of runs that have not finished.
    unfinished: Vec<(Vec<f64>, Vec<f64>)>,
    encoder: ConfigurationEncoder,
    predictor: Arc<dyn Predictor>,
    /// A cell for each τ, filled by the first who asks; the lock is held only to find the cell.
    models: Mutex<BTreeMap<usize, Arc<OnceLock<ModelResult>>>>,
}

impl Forecaster {
    /// Creates a forecaster that learns from the completed ones among `runs`.
    ///
    /// # Errors
    /// [`HistoryError`] if nothing can be learned from `runs`.
    pub fn new(
        runs: &[Run],
        options: &HistoryOptions,
        predictor: Box<dyn Predictor>,
    ) -> Result<Self, HistoryError> {
        Ok(Self::with_history(History::new(runs, options)?, predictor.into()))
    }

    /// A forecaster that learns from the completed runs of `history`.
    pub fn with_history(history: History, predictor: Arc<dyn Predictor>) -> Self {
        let finished: Vec<usize> = (0..history.len()).filter(|&i| history.final_score(i).is_some()).collect();
        let encoder = history.fit_encoder(&finished);
        Self { history, finished, unfinished: Vec::new(), encoder, predictor, models: Mutex::default() }
    }

    /// Returns this forecaster, which then lets predictors learn from running curves too, if they can: see
    /// [`TrainingSet::unfinished_prefixes`](crate::TrainingSet::unfinished_prefixes).
    #[must_use]
    pub fn with_running<'a>(self, running: impl IntoIterator<Item = (&'a Configuration, &'a Curve)>) -> Self {
        let unfinished = running.into_iter().map(|(configuration, curve)| {
            (self.encoder.encode(configuration), self.history.prefix_of(curve))
        });
        Self { unfinished: unfinished.collect(), models: Mutex::default(), ..self }
    }

    /// Fits the model for `tau` grid points now, which the first forecast would do else.
    ///
    /// # Errors
    /// [`FitError`] if the predictor could not be fitted.
    pub fn fit_model(&self, tau: usize) -> Result<(), FitError> {
        self.model(tau).map(|_| ())
    }

    /// The distribution of the final score of a running `curve`, on the scale of [`Forecaster::history`]: for a run that is there
    /// already, its recorded score. The first call for a τ fits the model, later ones reuse it.
    ///
    /// # Errors
    /// [`ForecastError`] if the curve has the other direction or a value without a logarithm where one is needed, nothing was
    /// observed yet, the predictor could not be fitted or its forecast is not finite.
    pub fn forecast(&self, configuration: &Configuration, curve: &Curve) -> Result<Forecast, ForecastError> {
        let prefix = self.history.prefix_of(curve);
        if let Some(answer) = self.forecast_without_model(curve, &prefix) {
            return answer;
        }
        let model = self.model(prefix.len())?;
        let encoded = self.encoder.encode(configuration);
        let forecast = model.forecast(&RunQuery { prefix: &prefix, configuration: &encoded });
        let finite = forecast.mean.is_finite() && forecast.scale.is_finite();
        if finite { Ok(forecast) } else { Err(ForecastError::NotFinite) }
    }

    /// The answer about a `curve` with these scores so far that needs no model; `None` if it needs one.
    fn forecast_without_model(
        &self,
        curve: &Curve,
        prefix: &[f64],
    ) -> Option<Result<Forecast, ForecastError>> {
        let (metric, grid) = (self.history.metric(), self.history.grid());
        if curve.direction().is_some_and(|direction| direction != metric.direction) {
            return Some(Err(ForecastError::Direction { metric: metric.clone() }));
        }
        if let RunStanding::NoLogarithm { step, value } = self.history.run_standing(curve) {
            return Some(Err(ForecastError::NoLogarithm { step, value }));
        }
        let Some(&last) = prefix.last() else {
            return Some(Err(ForecastError::NothingObserved { first: grid[0] }));
        };
        (prefix.len() == grid.len())
            .then(|| Ok(Forecast::gaussian(self.history.end_of(curve).unwrap_or(last), 0.0)))
    }

    /// The forecast of a run that was learned from, by a model fitted without it: that of run number `run` of those given to
    /// [`Forecaster::new`], seen as far as `curve`. `None` if the predictor keeps no such forecasts, or none was needed.
    ///
    /// # Errors
    /// [`ForecastError`] if the predictor could not be fitted.
    pub fn held_out_forecast(&self, run: usize, curve: &Curve) -> Result<Option<Forecast>, ForecastError> {
        let tau = self.history.prefix_of(curve).len();
        if tau == 0 || tau == self.history.grid().len() {
            return Ok(None);
        }
        let mut used = self.finished.iter().filter(|&&i| self.history.run_prefix(i).len() >= tau);
        let Some(place) = used.position(|&i| i == run) else { return Ok(None) };
        Ok(self.model(tau)?.held_out().get(place).cloned())
    }

    /// Judges a running `curve` by its forecast against the completed runs: [`StopCriterion::decide`] with the n-th best of their
    /// final scores as incumbent and δ in the metric's unit, whatever the direction and the scale. While fewer than n
    /// have completed, the run continues, with probability 0.
    ///
    /// # Errors
    /// [`ForecastError`] if there is no forecast, which is no reason to stop.
    ///
    /// ```
    /// use foretell::{
    ///     Action, Configuration, Curve, Direction, Forecaster, HistoryOptions, LastValue, Run, StopCriterion,
    /// };
    /// let loss = |values: &[f64]| Curve::from_epoch_values(values, Direction::Minimize);
    /// let finished: Vec<Run> = (0..8)
    ///     .map(|i| {
    ///         let end = 0.3 + 0.1 * f64::from(i);
    ///         let curve = loss(&[end + 0.2, end + 0.01 * f64::from(i % 3), end]);
    ///         Run { id: i.to_string(), configuration: Configuration::new(), curve }
    ///     })
    ///     .collect();
    /// let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), Box::new(LastValue))?;
    /// let decide = |values: &[f64]| forecaster.decide(&StopCriterion::default(), &Configuration::new(), &loss(values));
    /// assert_eq!(decide(&[0.9, 0.6])?.action, Action::Stop); // 0.3 is the best so far
    /// assert_eq!(decide(&[0.5, 0.25])?.action, Action::Continue);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decide(
        &self,
        criterion: &StopCriterion,
        configuration: &Configuration,
        curve: &Curve,
    ) -> Result<StopVerdict, ForecastError> {
        let forecast = self.forecast(configuration, curve)?;
        let history = &self.history;
        let finals = self.finished.iter().filter_map(|&i| history.final_score(i));
        let Some(incumbent) = criterion.incumbent(finals) else {
            return Ok(StopVerdict { action: Action::Continue, probability: 0.0 });
        };
        let direction = history.direction();
        let incumbent = direction.to_score(history.to_value(incumbent)) - criterion.offset;
        // the offset is in the metric's unit, so it was taken off above, before the scale was applied
        let at_once = StopCriterion { offset: 0.0, ..*criterion };
        Ok(at_once.decide(&forecast, history.to_score(direction.to_value(incumbent))))
    }

    /// The probability that a run with this `forecast` is lost: that it diverges, or ends below the [floor](History::score_floor).
    pub fn lost_probability(&self, forecast: &Forecast) -> f64 {
        forecast.probability_at_most(self.history.score_floor())
    }

    /// The parameters of `configuration` that are far from those of the completed runs: see [`ConfigurationEncoder::describe_far_values`].
    pub fn describe_far_values(&self, configuration: &Configuration) -> Vec<String> {
        self.encoder.describe_far_values(configuration)
    }

    /// The completed runs on their grid.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The number of runs it learns from.
    pub fn completed_run_count(&self) -> usize {
        self.finished.len()
    }

    /// Whether [`forecast`](Self::forecast) answers for `curve` at once, without fitting a model first: always once it has answered.
    pub fn is_fitted_for(&self, curve: &Curve) -> bool {
        let prefix = self.history.prefix_of(curve);
        self.forecast_without_model(curve, &prefix).is_some() || self.model_cell(prefix.len()).get().is_some()
    }

    fn model(&self, tau: usize) -> Result<Arc<dyn Model>, FitError> {
        let cell = self.model_cell(tau);
        let model = cell.get_or_init(|| {
            let mut training = self.history.training_set(&self.finished, tau, &self.encoder);
            let unfinished = self.unfinished.iter().filter(|(_, scores)| scores.len() >= tau);
            let (configurations, prefixes): (Vec<_>, Vec<_>) =
                unfinished.map(|(encoded, scores)| (encoded, &scores[..tau])).unzip();
            training.unfinished_configurations = Matrix::from_rows(&configurations);
            training.unfinished_prefixes = Matrix::from_rows(&prefixes);
            self.predictor.fit(&training).map(Arc::from)
        });
        model.clone()
    }

    fn model_cell(&self, tau: usize) -> Arc<OnceLock<ModelResult>> {
        let mut models = self.models.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        models.entry(tau).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curves::metric::Direction;
    use crate::curves::training::TrainingSet;
    use crate::{LastValue, Scale};

    fn runs(values: &[&[f64]], direction: Direction) -> Vec<Run> {
        let run = |values: &&[f64]| Run {
            id: String::new(),
            configuration: Configuration::new(),
            curve: Curve::from_epoch_values(values, direction),
        };
        values.iter().map(run).collect()
    }

    #[test]
    fn a_run_at_the_only_step_there_is_ends_where_it_stands() {
        let up = Direction::Maximize;
        let finished = runs(&[&[0.3], &[0.5]], up);
        let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), Box::new(LastValue)).unwrap();
        let forecast =
            forecaster.forecast(&Configuration::new(), &Curve::from_epoch_values(&[0.4], up)).unwrap();
        assert_eq!((forecast.mean, forecast.scale), (0.4, 0.0));
    }

    #[test]
    fn a_run_at_the_target_or_beyond_ends_as_it_was_recorded_also_below_the_floor() {
        let up = Direction::Maximize;
        let finished = runs(&[&[0.3, 0.4], &[0.3, 0.5]], up);
        let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), Box::new(LastValue)).unwrap();
        assert!((forecaster.history().score_floor() - 0.1).abs() < 1e-12);
        for values in [&[0.3, -7.0][..], &[0.3, -7.0, 0.4]] {
            let curve = Curve::from_epoch_values(values, up);
            let forecast = forecaster.forecast(&Configuration::new(), &curve).unwrap();
            let end = forecaster.history().possible_value(forecast.mean, forecast.mean);
            assert!((end + 7.0).abs() < 1e-9 && forecast.scale == 0.0, "{values:?}: {end}");
            assert_eq!(forecaster.history().recorded_end(&curve), Some(-7.0), "{values:?}");
            assert!((forecaster.lost_probability(&forecast) - 1.0).abs() < 1e-12, "{values:?}");
        }
    }

    struct Lost;

    impl Predictor for Lost {
        fn name(&self) -> &'static str {
            "lost"
        }

        fn fit(&self, _: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
            Ok(Box::new(Self))
        }
    }

    impl Model for Lost {
        fn forecast(&self, _: &RunQuery<'_>) -> Forecast {
            Forecast::gaussian(f64::NAN, 0.1)
        }

        fn held_out(&self) -> &[Forecast] {
            &[]
        }
    }

    #[test]
    fn a_running_loss_is_refused_where_larger_is_better() {
        let finished = runs(&[&[0.3, 0.4], &[0.5, 0.6]], Direction::Maximize);
        let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), Box::new(LastValue)).unwrap();
        let loss = Curve::from_epoch_values(&[0.4], Direction::Minimize);
        let error = forecaster.forecast(&Configuration::new(), &loss).unwrap_err();
        assert!(
            error.to_string().starts_with("the curve has the opposite direction: larger values"),
            "{error}"
        );
        assert!(forecaster.decide(&StopCriterion::default(), &Configuration::new(), &loss).is_err());
    }

    #[test]
    fn a_loss_without_a_logarithm_is_refused_where_all_others_have_one() {
        let down = Direction::Minimize;
        let finished = runs(&[&[0.3, 0.2], &[0.5, 0.4]], down);
        let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), Box::new(LastValue)).unwrap();
        let forecast =
            |values| forecaster.forecast(&Configuration::new(), &Curve::from_epoch_values(values, down));
        assert!(forecast(&[0.1]).is_ok());
        assert_eq!(forecast(&[-0.1]).unwrap_err(), ForecastError::NoLogarithm { step: 1.0, value: -0.1 });
        // that is an answer, and no model makes another of it
        assert!(forecaster.is_fitted_for(&Curve::from_epoch_values(&[-0.1], down)));
    }

    #[test]
    fn a_forecast_that_is_not_finite_is_an_error() {
        let up = Direction::Maximize;
        let finished = runs(&[&[0.3, 0.4], &[0.5, 0.6]], up);
        let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), Box::new(Lost)).unwrap();
        let error =
            forecaster.forecast(&Configuration::new(), &Curve::from_epoch_values(&[0.4], up)).unwrap_err();
        assert_eq!(error, ForecastError::NotFinite);
    }

    #[test]
    fn offsets_are_in_the_metrics_unit_also_where_forecasts_are_logarithms() {
        let down = Direction::Minimize;
        let ends: Vec<[f64; 2]> =
            (0..20).map(|i| [0.5 + 0.01 * f64::from(i), 0.4 + 0.01 * f64::from(i)]).collect();
        let finished = runs(&ends.iter().map(|end| &end[..]).collect::<Vec<_>>(), down);
        let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), Box::new(LastValue)).unwrap();
        assert_eq!(forecaster.history().scale(), Scale::Log);
        let running = Curve::from_epoch_values(&[0.47], down);
        let probability = |offset: f64| {
            let criterion = StopCriterion { offset, ..StopCriterion::default() };
            forecaster.decide(&criterion, &Configuration::new(), &running).unwrap().probability
        };
        let forecast = forecaster.forecast(&Configuration::new(), &running).unwrap();
        let at_most = |loss: f64| forecast.probability_at_most(-loss.ln());
        assert!((probability(0.0) - at_most(0.4)).abs() < 1e-12);
        assert!((probability(0.05) - at_most(0.45)).abs() < 1e-12);
        assert!(probability(0.05) < probability(0.0));
        let none = StopCriterion { nth_best: 21, ..StopCriterion::default() };
        let verdict = forecaster.decide(&none, &Configuration::new(), &running).unwrap();
        assert_eq!(verdict, StopVerdict { action: Action::Continue, probability: 0.0 });
    }
}

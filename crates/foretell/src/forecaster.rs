//! A forecaster: finished runs and a predictor, asked about running curves; models are fitted once for each τ.

use crate::configuration::{Configuration, Run};
use crate::curve::Curve;
use crate::encoding::Encoder;
use crate::forecast::Forecast;
use crate::history::{History, HistoryError, HistoryOptions};
use crate::predictor::{FitError, Model, Predictor};
use crate::stop::{Action, StopRule, Verdict};
use crate::training::Query;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use thiserror::Error;

/// Why a run cannot be forecast.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum ForecastError {
    /// The run has no point on the history's grid yet.
    #[error("nothing observed yet: the first step of the finished runs is {first}")]
    NothingObserved {
        /// The first step of the grid.
        first: f64,
    },
    /// The predictor could not be fitted for this τ.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The forecast is not finite: scores are too large, or too far apart, for the predictor's arithmetic.
    #[error("the forecast is not finite: scores are too large or too far apart; rescale the metric")]
    NotFinite,
}

/// The model for one τ, or why there is none.
type Fitted = Result<Arc<dyn Model>, FitError>;

/// Finished runs and a predictor, ready to be asked about running curves.
///
/// ```
/// use foretell::{Configuration, Curve, Direction, Forecaster, HistoryOptions, LastValue, Run};
/// let finished: Vec<Run> = (0..4)
///     .map(|i| {
///         let end = 0.5 + 0.1 * f64::from(i);
///         let curve = Curve::of_epochs(&[end - 0.2, end - 0.1, end], Direction::Maximize);
///         Run { id: i.to_string(), configuration: Configuration::new(), curve }
///     })
///     .collect();
/// let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), Box::new(LastValue))?;
/// let running = Curve::of_epochs(&[0.4, 0.55], Direction::Maximize);
/// let forecast = forecaster.forecast(&Configuration::new(), &running)?;
/// assert_eq!(forecast.mean, 0.55); // the last value
/// assert!((forecast.scale - 0.1).abs() < 1e-12); // and how far it has been from the end
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Forecaster {
    history: History,
    finished: Vec<usize>,
    encoder: Encoder,
    predictor: Box<dyn Predictor>,
    models: Mutex<BTreeMap<usize, Fitted>>,
}

impl Forecaster {
    /// A forecaster that learns from the finished ones among `runs`.
    ///
    /// # Errors
    /// [`HistoryError`] if nothing can be learnt from `runs`.
    pub fn new(
        runs: &[Run],
        options: &HistoryOptions,
        predictor: Box<dyn Predictor>,
    ) -> Result<Self, HistoryError> {
        let history = History::new(runs, options)?;
        let finished: Vec<usize> = (0..history.len()).filter(|&i| history.final_score(i).is_some()).collect();
        let encoder = history.encoder(&finished);
        Ok(Self { history, finished, encoder, predictor, models: Mutex::default() })
    }

    /// The distribution of the final score of a running `curve`, on the scale of [`Forecaster::history`]: for a run that is there
    /// already, its recorded score. The first call for a τ fits the model, later ones reuse it.
    ///
    /// # Errors
    /// [`ForecastError`] if nothing was observed yet, the predictor could not be fitted or its forecast is not finite.
    pub fn forecast(&self, configuration: &Configuration, curve: &Curve) -> Result<Forecast, ForecastError> {
        let prefix = self.history.prefix_of(curve);
        let grid = self.history.grid();
        let tau = prefix.len();
        if tau == 0 {
            return Err(ForecastError::NothingObserved { first: grid[0] });
        }
        if tau == grid.len() {
            let end = self.history.end_of(curve).unwrap_or(prefix[tau - 1]);
            return Ok(Forecast::gaussian(end, 0.0));
        }
        let model = self.model(tau)?;
        let encoded = self.encoder.encode(configuration);
        let forecast = model.forecast(&Query { prefix: &prefix, configuration: &encoded });
        let finite = forecast.mean.is_finite() && forecast.scale.is_finite();
        if finite { Ok(forecast) } else { Err(ForecastError::NotFinite) }
    }

    /// Judges a running `curve` by its forecast against the finished runs: [`StopRule::decide`] with the n-th best of their
    /// final scores as incumbent and δ in the metric's unit, whatever the direction and the scale. While fewer than n
    /// have finished it goes on, with probability 0.
    ///
    /// # Errors
    /// [`ForecastError`] if there is no forecast, which is no reason to stop.
    ///
    /// ```
    /// use foretell::{
    ///     Action, Configuration, Curve, Direction, Forecaster, HistoryOptions, LastValue, Run, StopRule,
    /// };
    /// let loss = |values: &[f64]| Curve::of_epochs(values, Direction::Minimize);
    /// let finished: Vec<Run> = (0..8)
    ///     .map(|i| {
    ///         let end = 0.3 + 0.1 * f64::from(i);
    ///         let curve = loss(&[end + 0.2, end + 0.01 * f64::from(i % 3), end]);
    ///         Run { id: i.to_string(), configuration: Configuration::new(), curve }
    ///     })
    ///     .collect();
    /// let options = HistoryOptions { direction: Direction::Minimize, ..HistoryOptions::default() };
    /// let forecaster = Forecaster::new(&finished, &options, Box::new(LastValue))?;
    /// let decide = |values: &[f64]| forecaster.decide(&StopRule::default(), &Configuration::new(), &loss(values));
    /// assert_eq!(decide(&[0.9, 0.6])?.action, Action::Stop); // 0.3 is the best so far
    /// assert_eq!(decide(&[0.5, 0.25])?.action, Action::Continue);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decide(
        &self,
        rule: &StopRule,
        configuration: &Configuration,
        curve: &Curve,
    ) -> Result<Verdict, ForecastError> {
        let forecast = self.forecast(configuration, curve)?;
        let history = &self.history;
        let finals = self.finished.iter().filter_map(|&i| history.final_score(i));
        let Some(incumbent) = rule.incumbent(finals) else {
            return Ok(Verdict { action: Action::Continue, probability: 0.0 });
        };
        let direction = history.direction();
        let incumbent = direction.score(history.value(incumbent)) - rule.offset;
        let at_once = StopRule { offset: 0.0, ..*rule };
        Ok(at_once.decide(&forecast, history.scale().apply(incumbent, direction)))
    }

    /// The finished runs on their grid.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// How many runs it learns from.
    pub fn finished(&self) -> usize {
        self.finished.len()
    }

    fn model(&self, tau: usize) -> Result<Arc<dyn Model>, FitError> {
        let mut models = self.models.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let model = models.entry(tau).or_insert_with(|| {
            let training = self.history.training_set(&self.finished, tau, &self.encoder);
            self.predictor.fit(&training).map(Arc::from)
        });
        model.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Direction;
    use crate::training::TrainingSet;
    use crate::{LastValue, Scale};

    fn runs(values: &[&[f64]], direction: Direction) -> Vec<Run> {
        let run = |values: &&[f64]| Run {
            id: String::new(),
            configuration: Configuration::new(),
            curve: Curve::of_epochs(values, direction),
        };
        values.iter().map(run).collect()
    }

    #[test]
    fn a_run_at_the_only_step_there_is_ends_where_it_stands() {
        let up = Direction::Maximize;
        let finished = runs(&[&[0.3], &[0.5]], up);
        let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), Box::new(LastValue)).unwrap();
        let forecast = forecaster.forecast(&Configuration::new(), &Curve::of_epochs(&[0.4], up)).unwrap();
        assert_eq!((forecast.mean, forecast.scale), (0.4, 0.0));
    }

    #[test]
    fn a_run_at_the_target_or_beyond_ends_as_it_was_recorded_also_below_the_floor() {
        let up = Direction::Maximize;
        let finished = runs(&[&[0.3, 0.4], &[0.3, 0.5]], up);
        let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), Box::new(LastValue)).unwrap();
        assert!((forecaster.history().floor() - 0.1).abs() < 1e-12);
        for values in [&[0.3, -7.0][..], &[0.3, -7.0, 0.4]] {
            let curve = Curve::of_epochs(values, up);
            let forecast = forecaster.forecast(&Configuration::new(), &curve).unwrap();
            assert_eq!((forecast.mean, forecast.scale), (-7.0, 0.0), "{values:?}");
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
        fn forecast(&self, _: &Query<'_>) -> Forecast {
            Forecast::gaussian(f64::NAN, 0.1)
        }

        fn held_out(&self) -> &[Forecast] {
            &[]
        }
    }

    #[test]
    fn a_forecast_that_is_not_finite_is_an_error() {
        let up = Direction::Maximize;
        let finished = runs(&[&[0.3, 0.4], &[0.5, 0.6]], up);
        let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), Box::new(Lost)).unwrap();
        let error = forecaster.forecast(&Configuration::new(), &Curve::of_epochs(&[0.4], up)).unwrap_err();
        assert_eq!(error, ForecastError::NotFinite);
    }

    #[test]
    fn offsets_are_in_the_metrics_unit_also_where_forecasts_are_logarithms() {
        let down = Direction::Minimize;
        let ends: Vec<[f64; 2]> =
            (0..20).map(|i| [0.5 + 0.01 * f64::from(i), 0.4 + 0.01 * f64::from(i)]).collect();
        let finished = runs(&ends.iter().map(|end| &end[..]).collect::<Vec<_>>(), down);
        let options = HistoryOptions { direction: down, ..HistoryOptions::default() };
        let forecaster = Forecaster::new(&finished, &options, Box::new(LastValue)).unwrap();
        assert_eq!(forecaster.history().scale(), Scale::Log);
        let running = Curve::of_epochs(&[0.47], down);
        let probability = |offset: f64| {
            let rule = StopRule { offset, ..StopRule::default() };
            forecaster.decide(&rule, &Configuration::new(), &running).unwrap().probability
        };
        let forecast = forecaster.forecast(&Configuration::new(), &running).unwrap();
        let at_most = |loss: f64| forecast.probability_at_most(-loss.ln());
        assert!((probability(0.0) - at_most(0.4)).abs() < 1e-12);
        assert!((probability(0.05) - at_most(0.45)).abs() < 1e-12);
        assert!(probability(0.05) < probability(0.0));
        let none = StopRule { nth_best: 21, ..StopRule::default() };
        let verdict = forecaster.decide(&none, &Configuration::new(), &running).unwrap();
        assert_eq!(verdict, Verdict { action: Action::Continue, probability: 0.0 });
    }
}

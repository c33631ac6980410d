//! A forecaster: finished runs and a predictor, asked about running curves; models are fitted once for each τ.

use crate::configuration::{Configuration, Run};
use crate::curve::Curve;
use crate::encoding::Encoder;
use crate::forecast::Forecast;
use crate::history::{History, HistoryError, HistoryOptions};
use crate::predictor::{FitError, Model, Predictor};
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

    /// The distribution of the final score of a running `curve`, on the scale of [`Forecaster::history`]. The first call
    /// for a τ fits the model, later ones reuse it.
    ///
    /// # Errors
    /// [`ForecastError`] if nothing was observed yet or the predictor could not be fitted.
    pub fn forecast(&self, configuration: &Configuration, curve: &Curve) -> Result<Forecast, ForecastError> {
        let prefix = self.history.prefix_of(curve);
        let last_point = self.history.grid().len() - 1;
        let tau = prefix.len().min(last_point);
        if tau == 0 {
            return Err(ForecastError::NothingObserved { first: self.history.grid()[0] });
        }
        if prefix.len() > last_point {
            return Ok(Forecast::gaussian(prefix[last_point], 0.0));
        }
        let model = self.model(tau)?;
        let encoded = self.encoder.encode(configuration);
        Ok(model.forecast(&Query { prefix: &prefix[..tau], configuration: &encoded }))
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

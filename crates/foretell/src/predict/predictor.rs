//! Predictors and models: a predictor is fitted on completed runs and becomes a model, which forecasts.

use crate::curves::training::{RunQuery, TrainingSet};
use crate::predict::forecast::Forecast;
use thiserror::Error;

/// The reason why a predictor could not be fitted.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum FitError {
    /// Too few completed runs.
    #[error(
        "{predictor} needs at least {needed} completed runs, but there are {got}. Complete more runs, or use `last-value`"
    )]
    TooFew {
        /// The predictor.
        predictor: &'static str,
        /// The number it needs.
        needed: usize,
        /// The number there were.
        got: usize,
    },
    /// A number of the training set is not finite.
    #[error("a {what} of run {run} is not finite. Leave the run out, or clip the value")]
    NotFinite {
        /// Index of the run in the training set.
        run: usize,
        /// The quantity that is not finite.
        what: &'static str,
    },
    /// The sampler of the predictor's parameters left the finite numbers.
    #[error("the sampler of {predictor} diverged. Try another seed or another predictor")]
    Diverged {
        /// The predictor.
        predictor: &'static str,
    },
}

/// A predictor: fits a model to completed runs.
pub trait Predictor: Send + Sync {
    /// The predictor's name, as users choose it: `svr-rbf`.
    fn name(&self) -> &'static str;

    /// Whether it forecasts each run from its own curve alone, so that nothing is learned from others.
    fn extrapolates(&self) -> bool {
        false
    }

    /// Fits itself on completed runs, all seen up to the same step.
    ///
    /// # Errors
    /// [`FitError`] if there are too few runs or a number is not finite.
    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError>;
}

/// A fitted predictor, without randomness or hidden state.
pub trait Model: Send + Sync {
    /// Where the run of `query` will end.
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast;

    /// The forecast of each training run by a model fitted without it (leave-one-out, or out-of-bag), in order.
    fn held_out(&self) -> &[Forecast];
}

/// Checks the input of a predictor's `fit`: at least `needed` runs, and only finite numbers.
///
/// # Errors
/// [`FitError::TooFew`] and [`FitError::NotFinite`].
///
/// ```
/// use foretell::{FitError, TrainingSet, check_training};
/// let refused = check_training("mine", 2, &TrainingSet::default());
/// assert_eq!(refused, Err(FitError::TooFew { predictor: "mine", needed: 2, got: 0 }));
/// ```
pub fn check_training(
    predictor: &'static str,
    needed: usize,
    training: &TrainingSet,
) -> Result<(), FitError> {
    if training.len() < needed {
        return Err(FitError::TooFew { predictor, needed, got: training.len() });
    }
    for run in 0..training.len() {
        let query = training.query(run);
        for (what, values) in [
            ("score", query.prefix),
            ("configuration value", query.configuration),
            ("final score", &training.targets[run..=run]),
        ] {
            if values.iter().any(|value| !value.is_finite()) {
                return Err(FitError::NotFinite { run, what });
            }
        }
    }
    Ok(())
}

/// The paper's σ(τ): the root mean square of leave-one-out residuals.
pub fn leave_one_out_sigma(held_out: &[f64], targets: &[f64]) -> f64 {
    let squares: f64 = held_out.iter().zip(targets).map(|(f, y)| (y - f).powi(2)).sum();
    (squares / targets.len().max(1) as f64).sqrt()
}

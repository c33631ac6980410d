//! The last seen value: the forecast that any learned one has to beat.

use crate::curves::training::{RunQuery, TrainingSet};
use crate::predict::forecast::Forecast;
use crate::predict::predictor::{FitError, Model, Predictor, check_training, leave_one_out_sigma};

/// ŷ_T = y_τ, with σ(τ) the root mean square of y_T − y_τ over the completed runs.
///
/// Source: Baker et al. 2017, §3.3.1. O(n) to fit, O(1) to forecast.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastValue;

struct LastValueModel {
    sigma: f64,
    held_out: Vec<Forecast>,
}

impl Predictor for LastValue {
    fn name(&self) -> &'static str {
        "last-value"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), 1, training)?;
        let last = training.last_scores();
        let sigma = leave_one_out_sigma(&last, &training.targets);
        let held_out = last.into_iter().map(|mean| Forecast::gaussian(mean, sigma)).collect();
        Ok(Box::new(LastValueModel { sigma, held_out }))
    }
}

impl Model for LastValueModel {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        Forecast::gaussian(query.last_score(), self.sigma)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

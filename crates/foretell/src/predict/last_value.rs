//! The last seen value: the forecast that any learnt one has to beat.

use crate::curves::training::{Query, TrainingSet};
use crate::predict::forecast::Forecast;
use crate::predict::predictor::{FitError, Model, Predictor, check_training, leave_one_out_sigma};

/// ŷ_T = y_τ, not below the training set's floor, with σ(τ) the root mean square of y_T − y_τ over the finished runs.
///
/// Source: Baker et al. 2017, §3.3.1. O(n) to fit, O(1) to forecast.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastValue;

struct LastValueModel {
    sigma: f64,
    floor: Option<f64>,
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
        Ok(Box::new(LastValueModel { sigma, floor: training.floor, held_out }))
    }
}

impl Model for LastValueModel {
    fn forecast(&self, query: &Query<'_>) -> Forecast {
        Forecast::gaussian(query.last_score(self.floor), self.sigma)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::matrix::Matrix;

    #[test]
    fn a_run_below_the_floor_is_forecast_to_end_at_it() {
        let training = TrainingSet {
            steps: vec![1.0],
            target_step: 2.0,
            prefixes: Matrix::from_rows(&[[-7.0], [0.5]]),
            targets: vec![-1.0, 0.5],
            floor: Some(-1.0),
            ..TrainingSet::default()
        };
        let model = LastValue.fit(&training).unwrap();
        let mean = |last: f64| model.forecast(&Query { prefix: &[last], configuration: &[] }).mean;
        assert!((mean(-3.0) + 1.0).abs() < 1e-12 && (mean(0.2) - 0.2).abs() < 1e-12);
        assert!(model.held_out().iter().all(|forecast| forecast.scale < 1e-12), "both forecasts were right");
    }
}

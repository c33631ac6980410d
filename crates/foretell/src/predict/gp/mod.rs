//! The Gaussian-process predictor: a pair of processes with grouped kernels on compact curve features.

pub(crate) mod design;
mod factor;
mod kernel;
pub(crate) mod pair;
mod pairs;
mod posterior;
mod process;
pub(crate) mod reach;
pub(crate) mod warp;

use crate::curves::training::{RunQuery, TrainingSet};
use crate::features::compact::CompactFeatures;
use crate::predict::forecast::Forecast;
use crate::predict::gp::design::KernelDesign;
use crate::predict::gp::pair::{PairFit, ProcessPair};
use crate::predict::predictor::{FitError, Model, Predictor, check_training};

/// Two Gaussian processes with grouped kernels on compact curve features: the mean of one on y_T and of one on y_T − y_τ.
///
/// | group | features |
/// |---|---|
/// | level | y_τ; the mean of the last max(2, τ/8) points; the best so far |
/// | shape | y_τ − y_{τ−ℓ} for the Fibonacci numbers ℓ = 1, 2, 3, 5, 8 … < τ and for ℓ = τ − 1; best − y_τ |
/// | configuration | its encoded columns |
///
/// Columns are standardized; those that repeat an earlier one of their group are left out, the others weighted by how
/// much of the ranks of y_T and of y_T − y_τ a parabola in each explains. Each process has a squared-exponential and a linear kernel for
/// each group, with eight hyperparameters at their maximum a posteriori, and is warped: it is fitted on −ln(β − y), β above all
/// its targets y, or, for gains, on ln(y − β), β below them, whichever is likelier. The weights of the configuration's columns
/// move once along the slope of the marginal likelihood, and the hyperparameters are found again. Where y_τ is further than a
/// tenth of their range below or above those of all runs, by b, the forecast of y_T moves by b. The spread is each run's own
/// predictive standard deviation, √(s² + (0.3·b)²), Gaussian. Needs 3 runs. O(n³) to fit, O(n²) to forecast.
///
/// Source: Rasmussen & Williams 2006 (5.1: automatic relevance determination); Snelson, Rasmussen & Ghahramani 2003 (warps);
/// features, groups and weights are Foretell's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct GaussianProcess;

struct GaussianProcessModel {
    compact: CompactFeatures,
    design: KernelDesign,
    pair: ProcessPair,
    held_out: Vec<Forecast>,
}

impl Predictor for GaussianProcess {
    fn name(&self) -> &'static str {
        "gp"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), 3, training)?;
        let fitted = PairFit::new(training, &training.last_scores());
        let PairFit { compact, design, pair, .. } =
            fitted.ok_or(FitError::NotFinite { run: 0, what: "squared distance from the mean" })?;
        let held_out = pair.left_out.iter().map(|&(mean, sd)| Forecast::gaussian(mean, sd)).collect();
        Ok(Box::new(GaussianProcessModel { compact, design, pair, held_out }))
    }
}

impl Model for GaussianProcessModel {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        let mut row = Vec::new();
        self.compact.row(query, &mut row);
        let (mean, sd) = self.pair.forecast(&self.design.relate(&row), query.last_score());
        Forecast::gaussian(mean, sd)
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
    fn a_run_far_below_all_others_is_forecast_to_stay_there_and_less_surely() {
        let level = |i: usize| 0.5 + 0.01 * i as f64;
        let training = TrainingSet {
            steps: (1..=6).map(f64::from).collect(),
            target_step: 30.0,
            prefixes: Matrix::from_fn(30, 6, |i, t| level(i) - 0.1 / (t + 1) as f64),
            targets: (0..30).map(|i| level(i) + 0.02 * (i as f64 * 1.7).sin()).collect(),
            ..TrainingSet::default()
        };
        let model = GaussianProcess.fit(&training).unwrap();
        let forecast = |level: f64| {
            let prefix: Vec<f64> = (1..=6).map(|t| level - 0.1 / f64::from(t)).collect();
            model.forecast(&RunQuery { prefix: &prefix, configuration: &[] })
        };
        let (edge, far) = (forecast(0.47), forecast(0.1));
        assert!((far.mean - edge.mean + 0.37).abs() < 0.02, "{edge:?} {far:?}");
        assert!(far.scale > edge.scale + 0.05, "{edge:?} {far:?}");
    }
}

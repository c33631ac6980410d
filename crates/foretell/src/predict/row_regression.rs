//! The shared frame of regressions on rows of the paper's features: features in, forecasts with one σ out.

use crate::curves::configuration::FeatureGroup;
use crate::curves::training::{RunQuery, TrainingSet};
use crate::features::paper::{FeatureSet, design_matrix, feature_row};
use crate::linalg::matrix::Matrix;
use crate::predict::forecast::Forecast;
use crate::predict::predictor::{FitError, Model, check_training, leave_one_out_sigma};
use crate::predict::row_order::{put_back, sort_by_content};

/// A regression fitted on rows of features.
pub(crate) trait RowRegression: Send + Sync + 'static {
    /// The score forecast for a row of features, which is standardized in place.
    fn predict(&self, row: &mut [f64]) -> f64;

    /// The leave-one-out forecasts of the rows it was fitted on, in order.
    fn held_out(&self) -> &[f64];
}

/// Fits `solve` on the paper's features of `training`, whose runs it sees in an order of their own content; σ is the root
/// mean square of the leave-one-out residuals.
///
/// # Errors
/// [`FitError`] if there are fewer than 3 runs or a number is not finite.
pub(crate) fn fit_rows<R: RowRegression>(
    name: &'static str,
    training: &TrainingSet,
    features: FeatureSet,
    solve: impl FnOnce(&Matrix, &[f64]) -> R,
) -> Result<Box<dyn Model>, FitError> {
    check_training(name, 3, training)?;
    let (x, targets, order) = sort_by_content(&design_matrix(training, features), training);
    let fit = solve(&x, &targets);
    let sigma = leave_one_out_sigma(fit.held_out(), &targets);
    let held_out: Vec<Forecast> =
        fit.held_out().iter().map(|&mean| Forecast::gaussian(mean, sigma)).collect();
    let groups = training.groups.clone();
    Ok(Box::new(RowModel { held_out: put_back(&held_out, &order), fit, sigma, features, groups }))
}

struct RowModel<R> {
    fit: R,
    sigma: f64,
    features: FeatureSet,
    groups: Vec<FeatureGroup>,
    held_out: Vec<Forecast>,
}

impl<R: RowRegression> Model for RowModel<R> {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        let mut row = Vec::new();
        feature_row(query, &self.groups, self.features, &mut row);
        Forecast::gaussian(self.fit.predict(&mut row), self.sigma)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

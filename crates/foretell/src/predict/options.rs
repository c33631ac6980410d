//! Options of predictors, whatever their names.

use crate::features::paper::FeatureSet;

/// Options of a predictor, in addition to its name.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct PredictorOptions {
    /// The feature groups used.
    pub features: FeatureSet,
    /// The seed of its draws.
    pub seed: u64,
    /// Draws of its random search, or of its posterior; `None`: its own default.
    pub draws: Option<usize>,
    /// The use of the predictor.
    pub purpose: PredictorPurpose,
}

/// The use of a predictor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PredictorPurpose {
    /// Forecasts of running trials.
    #[default]
    Forecasts,
    /// Recorded runs in many splits or orders. Results that depend on a curve alone are computed once.
    Recorded,
    /// A stop rule that extrapolates each curve alone.
    Termination,
}

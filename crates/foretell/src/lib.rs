#![doc = include_str!("../README.md")]
//!
//! # Your own predictor
//!
//! A [`Predictor`] learns from completed runs and becomes a [`Model`]. [`check_predictor`] tests the rules that all predictors keep:
//!
//! ```
#![doc = include_str!("../examples/own_predictor.rs")]
//! ```

mod chain;
mod curves;
pub mod evaluate;
mod features;
mod forecaster;
pub mod linalg;
mod predict;
pub mod statistics;
mod stop;

pub use chain::contest::{TrialContest, TrialProspect};
pub use chain::end::ChainEnd;
pub use chain::forecaster::ChainForecaster;
pub use chain::guard::LessonVerdict;
pub use chain::levels::chain_levels;
pub use curves::architecture::{
    ArchitectureError, FLOPS_KEY, ImageShape, Layer, LayerSequence, NETWORK_KEY, NetworkCounts, WEIGHTS_KEY,
};
pub use curves::columns::{ColumnDeclarations, group_of_name};
pub use curves::configuration::{Configuration, FeatureGroup, Run, Value};
pub use curves::curve::{Curve, CurveError, RunScore};
pub use curves::encoding::{ARCHITECTURE_FEATURES, ConfigurationEncoder};
pub use curves::history::{History, HistoryError, HistoryOptions};
pub use curves::metric::{Direction, Metric, MetricBounds, direction_of, is_error, is_share};
pub use curves::names::words_of_name;
pub use curves::scale::Scale;
pub use curves::standing::RunStanding;
pub use curves::training::{RunQuery, TrainingSet};
pub use features::paper::{FeatureSet, append_time_series_features};
pub use forecaster::{ForecastError, Forecaster};
pub use linalg::matrix::Matrix;
pub use predict::auto::AutoPredictor;
pub use predict::conformance::check_predictor;
pub use predict::forecast::{CurveEnd, Forecast, ForecastShape};
pub use predict::forest::{self, RandomForest};
pub use predict::gp::GaussianProcess;
pub use predict::last_value::LastValue;
pub use predict::linear::{OlsRegression, RidgeRegression};
pub use predict::mean_gain::MeanGain;
pub use predict::named::{
    MISSING_PAPER_CRATE, PredictorRegistry, UnknownPredictor, make_predictor, mask_features,
};
pub use predict::options::{PredictorOptions, PredictorPurpose};
pub use predict::predictor::{FitError, Model, Predictor, check_training, leave_one_out_sigma};
pub use predict::spread::{SpreadSource, WithSpread};
pub use predict::svr;
pub use stop::{Action, ErrorBudget, StopCriterion, StopCriterionError, StopVerdict};

//! Forecasts where a neural-network training will end, and says when to stop it.

mod architecture;
mod configuration;
mod curve;
mod encoding;
pub mod evaluate;
mod features;
mod forecast;
mod forecaster;
mod history;
mod last_value;
mod matrix;
mod metric;
mod named;
mod predictor;
mod simd;
pub mod statistics;
mod stop;
pub mod svr;
mod training;

pub use architecture::{ArchitectureError, Counts, ImageShape, Layer, LayerSequence};
pub use configuration::{Configuration, FeatureGroup, Run, Value};
pub use curve::{Curve, CurveError};
pub use encoding::{ARCHITECTURE_FEATURES, Encoder, group_of_name};
pub use features::{FeatureSet, time_series_features};
pub use forecast::{Forecast, Shape};
pub use forecaster::{ForecastError, Forecaster};
pub use history::{History, HistoryError, HistoryOptions, Scale};
pub use last_value::LastValue;
pub use matrix::Matrix;
pub use metric::Direction;
pub use named::{PREDICTORS, PredictorOptions, UnknownPredictor, predictor};
pub use predictor::{FitError, Model, Predictor};
pub use stop::{Action, StopRule, StopRuleError, Verdict};
pub use training::{Query, TrainingSet};

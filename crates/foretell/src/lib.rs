#![doc = include_str!("../README.md")]
//!
//! The folders, in the order of the data; each uses only those before it:
//!
//! | folder or file | what it has |
//! |---|---|
//! | `linalg/`, `statistics.rs` | matrices, decompositions, quantiles, the normal distribution, and inner loops for each instruction set |
//! | `curves/` | what trainings report: [`Metric`], [`Curve`], [`Configuration`], [`Run`]; runs on a common grid: [`History`]; configurations as numbers: [`Encoder`]; what a predictor is fitted on: [`TrainingSet`] |
//! | `features/` | the features that predictors compute from a training set |
//! | `predict/` | one file or folder a predictor: [`Predictor`] is fitted and becomes a [`Model`], which gives a [`Forecast`]; by name: [`predictor()`]; the promises of all of them: [`check_predictor`] |
//! | `stop.rs` | from a forecast to a decision: [`StopCriterion`], [`Verdict`] |
//! | `forecaster.rs` | all of this for running trainings: [`Forecaster`] |
//! | `evaluate.rs` | all of this measured on recorded runs: [`mod@evaluate`] |

/// The README's own code, as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod curves;
pub mod evaluate;
mod features;
mod forecaster;
mod linalg;
mod predict;
pub mod statistics;
mod stop;

pub use curves::architecture::{ArchitectureError, Counts, ImageShape, Layer, LayerSequence};
pub use curves::columns::{Columns, group_of_name};
pub use curves::configuration::{Configuration, FeatureGroup, Run, Value};
pub use curves::curve::{Curve, CurveError, RunScore};
pub use curves::encoding::{ARCHITECTURE_FEATURES, Encoder};
pub use curves::history::{History, HistoryError, HistoryOptions};
pub use curves::metric::{Bounds, Direction, Metric, direction_of, is_error, is_share};
pub use curves::names::words_of_name;
pub use curves::scale::Scale;
pub use curves::standing::Standing;
pub use curves::training::{Query, TrainingSet};
pub use features::paper::{FeatureSet, time_series_features};
pub use forecaster::{ForecastError, Forecaster};
pub use linalg::matrix::Matrix;
pub use predict::auto::Auto;
pub use predict::bnn::{self, Bnn};
pub use predict::conformance::check_predictor;
pub use predict::forecast::{CurveEnd, Forecast, Shape};
pub use predict::forest::{self, RandomForest};
pub use predict::gp::GaussianProcess;
pub use predict::kernel_ridge::KernelRidge;
pub use predict::last_value::LastValue;
pub use predict::lce::{self, Lce};
pub use predict::linear::{Ols, Ridge};
pub use predict::mean_gain::MeanGain;
pub use predict::named::{PREDICTORS, PredictorOptions, UnknownPredictor, predictor};
pub use predict::predictor::{FitError, Model, Predictor, check_training};
pub use predict::spread::{Spread, WithSpread};
pub use predict::svr;
pub use stop::{Action, ErrorBudget, StopCriterion, StopCriterionError, Verdict};

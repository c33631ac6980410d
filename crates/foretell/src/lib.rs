//! Forecasts where a neural-network training will end, and decides whether to stop it.
//!
//! ```
//! use foretell::{Action, Configuration, Curve, Direction, Forecaster, HistoryOptions, Run, StopCriterion, Value};
//! use foretell::{PredictorOptions, predictor};
//!
//! let configuration = |rate: f64| Configuration::from([("rate".to_owned(), Value::Number(rate))]);
//! let accuracy = |rate: f64, epochs: i32| -> Vec<f64> {
//!     (1..=epochs).map(|epoch| rate * (1.0 - 0.6_f64.powi(epoch)) / 1.5).collect()
//! };
//! // twelve finished trainings: the larger the rate, the higher the accuracy after 8 epochs
//! let finished = (1..=12).map(|i| f64::from(i) / 10.0).map(|rate| Run {
//!     id: format!("rate {rate}"),
//!     configuration: configuration(rate),
//!     curve: Curve::of_epochs(&accuracy(rate, 8), Direction::Maximize),
//! });
//! let finished: Vec<Run> = finished.collect();
//! let chosen = predictor("svr-rbf", &PredictorOptions::default())?;
//! let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), chosen)?;
//!
//! // a running one, after three epochs; the best finished one reached 0.79
//! let curve = Curve::of_epochs(&accuracy(0.45, 3), Direction::Maximize);
//! let forecast = forecaster.forecast(&configuration(0.45), &curve)?;
//! assert!((forecast.mean - 0.295).abs() < 0.02);
//! let verdict = forecaster.decide(&StopCriterion::default(), &configuration(0.45), &curve)?;
//! assert_eq!(verdict.action, Action::Stop);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
pub use predict::forecast::{Forecast, Shape};
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

//! Forecasts where a neural-network training will end, and says when to stop it.
//!
//! ```
//! use foretell::{Action, Configuration, Curve, Direction, Forecaster, HistoryOptions, Run, StopRule, Value};
//! use foretell::{PredictorOptions, predictor};
//!
//! // twelve finished trainings: the larger the rate, the higher they end
//! let finished: Vec<Run> = (1..=12)
//!     .map(|i| {
//!         let rate = f64::from(i) / 10.0;
//!         let accuracy: Vec<f64> = (1..=8).map(|epoch| rate * (1.0 - 0.6_f64.powi(epoch)) / 1.5).collect();
//!         let configuration = Configuration::from([("rate".to_owned(), Value::Number(rate))]);
//!         Run { id: i.to_string(), configuration, curve: Curve::of_epochs(&accuracy, Direction::Maximize) }
//!     })
//!     .collect();
//! let chosen = predictor("svr-rbf", &PredictorOptions::default())?;
//! let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), chosen)?;
//!
//! // a running one, after three epochs
//! let configuration = Configuration::from([("rate".to_owned(), Value::Number(0.45))]);
//! let curve = Curve::of_epochs(&[0.12, 0.192, 0.2352], Direction::Maximize);
//! let forecast = forecaster.forecast(&configuration, &curve)?;
//! assert!((forecast.mean - 0.295).abs() < 0.02);
//! assert_eq!(StopRule::default().decide(&forecast, 0.78).action, Action::Stop);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In the order of the data: [`Curve`], [`Configuration`] and [`Run`] are what trainings report; [`History`] lays runs on a
//! common grid; [`Encoder`] and the feature functions turn them into numbers, a [`TrainingSet`]; a [`Predictor`] is fitted on
//! it and becomes a [`Model`], which gives a [`Forecast`]; a [`StopRule`] makes a [`Verdict`] of it. [`Forecaster`] does all of
//! this for running trainings, [`mod@evaluate`] measures it on recorded ones.

/// The README's own code, as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod architecture;
mod auto;
mod blend;
mod columns;
mod compact;
mod configuration;
mod conformance;
mod curve;
mod dual_ridge;
mod encoding;
pub mod evaluate;
mod features;
mod forecast;
mod forecaster;
pub mod forest;
mod gp;
mod history;
mod inverse;
mod kernel_ridge;
mod last_value;
mod lbfgs;
mod least_squares;
mod linear;
mod masked;
mod matrix;
mod metric;
mod named;
mod neighbours;
mod points;
mod predictor;
mod row_order;
mod row_regression;
mod simd;
mod spread;
pub mod statistics;
mod stop;
pub mod svr;
mod training;
mod tridiagonal;
mod warp;

pub use architecture::{ArchitectureError, Counts, ImageShape, Layer, LayerSequence};
pub use auto::Auto;
pub use columns::{Columns, group_of_name, words_of_name};
pub use configuration::{Configuration, FeatureGroup, Run, Value};
pub use conformance::check_predictor;
pub use curve::{Curve, CurveError, RunScore};
pub use encoding::{ARCHITECTURE_FEATURES, Encoder};
pub use features::{FeatureSet, time_series_features};
pub use forecast::{Forecast, Shape};
pub use forecaster::{ForecastError, Forecaster};
pub use forest::RandomForest;
pub use gp::GaussianProcess;
pub use history::{History, HistoryError, HistoryOptions, Scale};
pub use kernel_ridge::KernelRidge;
pub use last_value::LastValue;
pub use linear::{Ols, Ridge};
pub use matrix::Matrix;
pub use metric::{Direction, is_share};
pub use named::{PREDICTORS, PredictorOptions, UnknownPredictor, predictor};
pub use predictor::{FitError, Model, Predictor};
pub use spread::{Spread, WithSpread};
pub use stop::{Action, StopRule, StopRuleError, Verdict};
pub use training::{Query, TrainingSet};

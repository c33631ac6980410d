//! Predictors: fitted on completed runs, they become models, which forecast where running ones will end.

pub(crate) mod auto;
pub(crate) mod conformance;
pub(crate) mod forecast;
pub mod forest;
pub(crate) mod gp;
pub(crate) mod last_value;
pub(crate) mod linear;
pub(crate) mod masked;
pub(crate) mod mean_gain;
pub(crate) mod named;
pub(crate) mod options;
pub(crate) mod penalty;
pub(crate) mod points;
pub(crate) mod predictor;
pub(crate) mod row_order;
pub(crate) mod row_regression;
pub(crate) mod spread;
pub mod svr;

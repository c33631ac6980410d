//! Predictors by name, as users choose them.

use crate::auto::Blend;
use crate::features::FeatureSet;
use crate::forest::RandomForest;
use crate::gp::GaussianProcess;
use crate::kernel_ridge::KernelRidge;
use crate::last_value::LastValue;
use crate::linear::{Ols, Ridge};
use crate::predictor::Predictor;
use crate::spread::{Spread, WithSpread};
use crate::svr::{Kernel, NuSvr};
use thiserror::Error;

/// The names of all predictors.
pub const PREDICTORS: &[&str] =
    &["last-value", "svr-rbf", "svr-linear", "gp", "auto", "random-forest", "ols", "ridge", "kernel-ridge"];

/// There is no predictor of that name.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("unknown predictor `{name}`; known are {}", PREDICTORS.join(", "))]
pub struct UnknownPredictor {
    /// The name.
    pub name: String,
}

/// What a predictor is made with, besides its name.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct PredictorOptions {
    /// Which feature groups it uses.
    pub features: FeatureSet,
    /// The seed of its draws.
    pub seed: u64,
    /// Draws of its random search; `None`: its own default.
    pub draws: Option<usize>,
}

/// The predictor called `name`.
///
/// # Errors
/// [`UnknownPredictor`] if `name` is not one of [`PREDICTORS`].
pub fn predictor(name: &str, options: &PredictorOptions) -> Result<Box<dyn Predictor>, UnknownPredictor> {
    let svr = |kernel| {
        let NuSvr { draws, .. } = NuSvr::default();
        let draws = options.draws.unwrap_or(draws);
        Box::new(NuSvr { kernel, features: options.features, draws, seed: options.seed })
    };
    Ok(match name {
        "last-value" => Box::new(LastValue),
        "svr-rbf" => svr(Kernel::Rbf),
        "svr-linear" => svr(Kernel::Linear),
        "gp" => Box::new(GaussianProcess),
        "auto" => {
            let predictor = Box::new(Blend { seed: options.seed });
            Box::new(WithSpread { predictor, spread: Spread::Calibrated, name: "auto" })
        }
        "random-forest" => Box::new(RandomForest {
            features: options.features,
            draws: options.draws.unwrap_or(RandomForest::default().draws),
            seed: options.seed,
        }),
        "ols" => Box::new(Ols { features: options.features }),
        "ridge" => Box::new(Ridge { features: options.features }),
        "kernel-ridge" => Box::new(KernelRidge { features: options.features }),
        _ => return Err(UnknownPredictor { name: name.to_owned() }),
    })
}

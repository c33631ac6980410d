//! Predictors by name, as users choose them.

use crate::features::paper::FeatureSet;
use crate::predict::auto::Auto;
use crate::predict::bnn::{Bnn, DynamicsOptions};
use crate::predict::forest::RandomForest;
use crate::predict::gp::GaussianProcess;
use crate::predict::last_value::LastValue;
use crate::predict::lce::{Lce, LceOptions};
use crate::predict::linear::{Ols, Ridge};
use crate::predict::masked::Masked;
use crate::predict::mean_gain::MeanGain;
use crate::predict::predictor::Predictor;
use crate::predict::spread::{Spread, WithSpread};
use crate::predict::svr::{Kernel, NuSvr};
use thiserror::Error;

/// The names of all predictors.
pub const PREDICTORS: &[&str] = &[
    "last-value",
    "mean-gain",
    "svr-rbf",
    "svr-linear",
    "gp",
    "auto",
    "random-forest",
    "ols",
    "ridge",
    "lce",
    "lce-domhan2015",
    "bnn",
    "bnn-plain",
];

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
    /// Draws of its random search, or of its posterior; `None`: its own default.
    pub draws: Option<usize>,
}

/// Spreads by name: a predictor's name followed by one of these is that predictor with that [`Spread`].
const SPREADS: [(&str, Spread); 2] = [("+gaussian", Spread::Gaussian), ("+calibrated", Spread::Calibrated)];

/// The names of predictors with a spread.
macro_rules! names_with_spread {
    ($($name:literal)*) => {
        [$(concat!($name, "+gaussian"), concat!($name, "+calibrated")),*]
    };
}
const NAMES_WITH_SPREAD: [&str; 26] = names_with_spread!(
    "last-value" "mean-gain" "svr-rbf" "svr-linear" "gp" "auto" "random-forest" "ols" "ridge"
    "lce" "lce-domhan2015" "bnn" "bnn-plain"
);

/// The predictor called `name`. Its forecasts have the spread that is its own; `NAME+gaussian` has the paper's σ(τ) and
/// `NAME+calibrated` the one calibrated for each run: see [`WithSpread`].
///
/// # Errors
/// [`UnknownPredictor`] if `name` is not one of [`PREDICTORS`], with or without a spread.
///
/// ```
/// use foretell::{PredictorOptions, predictor};
/// assert_eq!(predictor("svr-rbf+calibrated", &PredictorOptions::default())?.name(), "svr-rbf+calibrated");
/// assert!(predictor("oracle", &PredictorOptions::default()).is_err());
/// # Ok::<(), foretell::UnknownPredictor>(())
/// ```
pub fn predictor(name: &str, options: &PredictorOptions) -> Result<Box<dyn Predictor>, UnknownPredictor> {
    let spread = SPREADS.iter().find_map(|(suffix, spread)| Some((name.strip_suffix(suffix)?, *spread)));
    let Some((base, spread)) = spread else {
        return plain_predictor(name, options);
    };
    let known = NAMES_WITH_SPREAD.iter().find(|known| **known == name);
    let name = known.ok_or_else(|| UnknownPredictor { name: name.to_owned() })?;
    Ok(Box::new(WithSpread { predictor: plain_predictor(base, options)?, spread, name }))
}

/// `predictor`, which has no choice of feature groups of its own, with that choice.
fn masked(predictor: Box<dyn Predictor>, features: FeatureSet) -> Box<dyn Predictor> {
    if features == FeatureSet::default() { predictor } else { Box::new(Masked { predictor, features }) }
}

/// `bnn` with the seed of `options`, and no more posterior draws than it allows: the whole chain is shorter in proportion.
fn network(bnn: Bnn, options: &PredictorOptions) -> Bnn {
    let DynamicsOptions { samples, burn_in, keep_every, .. } = bnn.dynamics;
    let draws = options.draws.map_or(samples, |draws| draws.clamp(1, samples));
    let part = |steps: usize| (steps * draws).div_ceil(samples);
    let dynamics = DynamicsOptions {
        samples: draws,
        burn_in: part(burn_in),
        keep_every: part(keep_every),
        ..bnn.dynamics
    };
    Bnn { dynamics, seed: options.seed, ..bnn }
}

/// The predictor called `name`, with its own spread.
fn plain_predictor(name: &str, options: &PredictorOptions) -> Result<Box<dyn Predictor>, UnknownPredictor> {
    let svr = |kernel| {
        let NuSvr { draws, .. } = NuSvr::default();
        let draws = options.draws.unwrap_or(draws);
        Box::new(NuSvr { kernel, features: options.features, draws, seed: options.seed })
    };
    Ok(match name {
        "last-value" => Box::new(LastValue),
        "mean-gain" => Box::new(MeanGain),
        "svr-rbf" => svr(Kernel::Rbf),
        "svr-linear" => svr(Kernel::Linear),
        "gp" => masked(Box::new(GaussianProcess), options.features),
        "auto" => masked(Box::new(Auto { seed: options.seed, ..Auto::default() }), options.features),
        "random-forest" => Box::new(RandomForest {
            features: options.features,
            draws: options.draws.unwrap_or(RandomForest::default().draws),
            seed: options.seed,
        }),
        "ols" => Box::new(Ols { features: options.features }),
        "ridge" => Box::new(Ridge { features: options.features }),
        "bnn" => masked(Box::new(network(Bnn::default(), options)), options.features),
        "bnn-plain" => masked(Box::new(network(Bnn::plain(), options)), options.features),
        _ => {
            let extrapolation = LceOptions::named(name);
            let lce = extrapolation.map(|lce| Lce::limited(lce, options.draws, options.seed));
            Box::new(lce.ok_or_else(|| UnknownPredictor { name: name.to_owned() })?)
        }
    })
}

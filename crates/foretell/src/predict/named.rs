//! Predictors by name, as users choose them.

use crate::features::paper::FeatureSet;
use crate::predict::auto::AutoPredictor;
use crate::predict::forest::RandomForest;
use crate::predict::gp::GaussianProcess;
use crate::predict::last_value::LastValue;
use crate::predict::linear::{OlsRegression, RidgeRegression};
use crate::predict::masked::MaskedPredictor;
use crate::predict::mean_gain::MeanGain;
use crate::predict::options::PredictorOptions;
use crate::predict::predictor::Predictor;
use crate::predict::spread::{SpreadSource, WithSpread};
use crate::predict::svr::{Kernel, NuSvr};
use std::sync::{Arc, LazyLock};
use thiserror::Error;

/// The error for an unknown predictor.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{}. Choose one of {}", explain_absence(.name), .known.join(", "))]
pub struct UnknownPredictor {
    /// The name.
    pub name: String,
    /// The names that there are.
    pub known: Vec<&'static str>,
}

/// The text that an error adds to the name of a part from the crate `foretell-paper`.
pub const MISSING_PAPER_CRATE: &str = "is part of foretell-paper, and this build was made without it";

/// The predictors of `foretell-paper`.
const PAPER_PREDICTORS: [&str; 4] = ["lce", "lce-domhan2015", "bnn", "bnn-plain"];

/// Why there is no predictor `name`.
fn explain_absence(name: &str) -> String {
    let plain = name.split('+').next().unwrap_or(name);
    if PAPER_PREDICTORS.contains(&plain) {
        format!("the predictor `{plain}` {MISSING_PAPER_CRATE}")
    } else {
        format!("unknown predictor `{name}`")
    }
}

/// The function that makes a predictor with its options.
type MakePredictor = Arc<dyn Fn(&PredictorOptions) -> Box<dyn Predictor> + Send + Sync>;

/// The spreads that a predictor's name may end in.
const SPREAD_SUFFIXES: [(&str, SpreadSource); 2] =
    [("+gaussian", SpreadSource::Gaussian), ("+calibrated", SpreadSource::Calibrated)];

/// A predictor's name, alone and with each of [`SPREAD_SUFFIXES`], and the function that makes it.
#[derive(Clone)]
struct PredictorEntry {
    name: &'static str,
    with_spread: [&'static str; 2],
    make: MakePredictor,
}

impl PredictorEntry {
    fn new(
        name: &'static str,
        make: impl Fn(&PredictorOptions) -> Box<dyn Predictor> + Send + Sync + 'static,
    ) -> Self {
        // a predictor's name lives as long as the program; entries are made once
        let with_spread = SPREAD_SUFFIXES.map(|(suffix, _)| &*format!("{name}{suffix}").leak());
        Self { name, with_spread, make: Arc::new(make) }
    }
}

/// Predictors by name. [`Default`] is those of this crate; [`with_predictor`](Self::with_predictor) adds others.
///
/// ```
/// use foretell::{LastValue, PredictorOptions, PredictorRegistry};
/// let known = PredictorRegistry::default().with_predictor("mine", |_| Box::new(LastValue));
/// assert_eq!(known.make_predictor("mine+gaussian", &PredictorOptions::default())?.name(), "mine+gaussian");
/// # Ok::<(), foretell::UnknownPredictor>(())
/// ```
#[derive(Clone)]
pub struct PredictorRegistry(Arc<Vec<PredictorEntry>>);

impl Default for PredictorRegistry {
    fn default() -> Self {
        static BUILT_IN_PREDICTORS: LazyLock<PredictorRegistry> =
            LazyLock::new(|| PredictorRegistry(Arc::new(built_in_predictors())));
        BUILT_IN_PREDICTORS.clone()
    }
}

impl PredictorRegistry {
    /// Adds the product of `make` as `name`. An existing name keeps its predictor.
    #[must_use]
    pub fn with_predictor(
        mut self,
        name: &'static str,
        make: impl Fn(&PredictorOptions) -> Box<dyn Predictor> + Send + Sync + 'static,
    ) -> Self {
        if !self.predictor_names().contains(&name) {
            Arc::make_mut(&mut self.0).push(PredictorEntry::new(name, make));
        }
        self
    }

    /// All names, in the order in which they are shown.
    pub fn predictor_names(&self) -> Vec<&'static str> {
        self.0.iter().map(|entry| entry.name).collect()
    }

    /// The predictor called `name`. Its forecasts have the spread that is its own; `NAME+gaussian` has the paper's σ(τ) and
    /// `NAME+calibrated` the one calibrated for each run: see [`WithSpread`].
    ///
    /// # Errors
    /// [`UnknownPredictor`] if `name` is none of [`predictor_names`](Self::predictor_names), with or without a spread.
    pub fn make_predictor(
        &self,
        name: &str,
        options: &PredictorOptions,
    ) -> Result<Box<dyn Predictor>, UnknownPredictor> {
        for entry in &*self.0 {
            if entry.name == name {
                return Ok((entry.make)(options));
            }
            if let Some(spread) = entry.with_spread.iter().position(|known| *known == name) {
                let (predictor, name) = ((entry.make)(options), entry.with_spread[spread]);
                return Ok(Box::new(WithSpread { predictor, spread: SPREAD_SUFFIXES[spread].1, name }));
            }
        }
        Err(UnknownPredictor { name: name.to_owned(), known: self.predictor_names() })
    }
}

/// Returns the predictor of this crate with this name (see [`PredictorRegistry::make_predictor`]).
///
/// # Errors
/// [`UnknownPredictor`] if there is none.
///
/// ```
/// use foretell::{PredictorOptions, make_predictor};
/// assert_eq!(make_predictor("svr-rbf+calibrated", &PredictorOptions::default())?.name(), "svr-rbf+calibrated");
/// assert!(make_predictor("oracle", &PredictorOptions::default()).is_err());
/// # Ok::<(), foretell::UnknownPredictor>(())
/// ```
pub fn make_predictor(
    name: &str,
    options: &PredictorOptions,
) -> Result<Box<dyn Predictor>, UnknownPredictor> {
    PredictorRegistry::default().make_predictor(name, options)
}

/// Restricts a `predictor` without its own choice of feature groups to the given ones.
pub fn mask_features(predictor: Box<dyn Predictor>, features: FeatureSet) -> Box<dyn Predictor> {
    if features == FeatureSet::default() {
        predictor
    } else {
        Box::new(MaskedPredictor { predictor, features })
    }
}

fn svr(kernel: Kernel, options: &PredictorOptions) -> Box<dyn Predictor> {
    let draws = options.draws.unwrap_or(NuSvr::default().draws);
    Box::new(NuSvr { kernel, features: options.features, draws, seed: options.seed })
}

/// The predictors of this crate.
fn built_in_predictors() -> Vec<PredictorEntry> {
    vec![
        PredictorEntry::new("last-value", |_| Box::new(LastValue)),
        PredictorEntry::new("mean-gain", |_| Box::new(MeanGain)),
        PredictorEntry::new("svr-rbf", |options| svr(Kernel::Rbf, options)),
        PredictorEntry::new("svr-linear", |options| svr(Kernel::Linear, options)),
        PredictorEntry::new("gp", |options| mask_features(Box::new(GaussianProcess), options.features)),
        PredictorEntry::new("auto", |options| {
            mask_features(
                Box::new(AutoPredictor { seed: options.seed, ..AutoPredictor::default() }),
                options.features,
            )
        }),
        PredictorEntry::new("random-forest", |options| {
            Box::new(RandomForest {
                features: options.features,
                draws: options.draws.unwrap_or(RandomForest::default().draws),
                seed: options.seed,
            })
        }),
        PredictorEntry::new("ols", |options| Box::new(OlsRegression { features: options.features })),
        PredictorEntry::new("ridge", |options| Box::new(RidgeRegression { features: options.features })),
    ]
}

//! Samplers that learn from the values of trials: quasi-random draws first, then those of a model.

use super::grid::parameters;
use super::known::find_untried;
use super::random::{draw_allowed, trial_stream};
use super::surrogate::{
    FrontSearch, GpSearch, KnownCosts, TrialEvidence, UnitCube, first_draw, parzen_draws,
};
use super::worth::Worth;
use super::{IsAllowed, NamedSampler, Sampler, SamplerFamily};
use crate::parameter_space::ParameterSpace;
use crate::space::Space;
use foretell::Configuration;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// How they begin.
const FIRST_IN_WORDS: &str = "the first five trials are spread evenly over the space; later ones are based on the results of earlier trials";

/// Tree-structured Parzen estimators; parameters only.
#[derive(Clone, Copy, Debug, Default)]
pub struct TpeSampling;

/// Expected improvement under a Gaussian process; parameters only.
#[derive(Clone, Copy, Debug, Default)]
pub struct GpSampling;

/// Both in turn: the Gaussian process for every other trial; parameters only.
#[derive(Clone, Copy, Debug, Default)]
pub struct TpeGpSampling;

/// Makes a family of the samplers of one method.
macro_rules! by_method {
    ($family:ident, $name:literal, $about:literal, $method:expr) => {
        impl NamedSampler for $family {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;
        }

        impl SamplerFamily for $family {
            fn learns_from_forecasts(&self) -> bool {
                true
            }

            fn is_by_process(&self, trial: u64) -> bool {
                $method.is_by_process(trial)
            }

            fn check(&self, space: &Space) -> Result<(), String> {
                parameters(space).map(|_| ())
            }

            fn in_words(&self, _: &Json) -> Option<String> {
                Some(FIRST_IN_WORDS.to_owned())
            }

            fn sampler(&self, _: &Json, space: &Space, seed: u64) -> Result<Box<dyn Sampler>, String> {
                Ok(Box::new(Surrogate::new(parameters(space)?, seed, $method)))
            }
        }
    };
}

by_method!(
    TpeSampling,
    "tpe",
    "Tree-structured Parzen estimators: prefer configurations close to good trials (parameters only).",
    Method::Tpe
);
by_method!(
    GpSampling,
    "gp",
    "Expected improvement under a Gaussian process (parameters only).",
    Method::Gp(GpSearch::default())
);
by_method!(
    TpeGpSampling,
    "tpe-gp",
    "tpe and gp in turn (parameters only).",
    Method::InTurn(GpSearch::default())
);

/// A sampler of `space` for the front of the metric that it is told and what trials came to in `others`, larger being better.
pub(crate) fn front_sampler(
    space: &ParameterSpace,
    seed: u64,
    others: BTreeMap<u64, Vec<f64>>,
    known: KnownCosts,
) -> Box<dyn Sampler> {
    Box::new(Surrogate::new(space, seed, Method::Front(FrontSearch::new(others, known))))
}

/// Parzen estimators of `space`.
pub(crate) fn parzen_sampler(space: &ParameterSpace, seed: u64) -> Box<dyn Sampler> {
    Box::new(Surrogate::new(space, seed, Method::Tpe))
}

/// Trials drawn quasi-randomly before anything is learned from.
const FIRST_DRAWS: usize = 5;
/// The method by which a [`Surrogate`] sampler learns.
#[derive(Clone, Debug)]
enum Method {
    Tpe,
    Gp(GpSearch),
    /// Trials of even number by the Gaussian process.
    InTurn(GpSearch),
    /// With several objectives.
    Front(FrontSearch),
}

impl Method {
    /// Whether a Gaussian process proposes the configuration of `trial`.
    fn is_by_process(&self, trial: u64) -> bool {
        match self {
            Self::Tpe => false,
            Self::Gp(_) | Self::Front(_) => true,
            Self::InTurn(_) => trial.is_multiple_of(2),
        }
    }
}

/// Quasi-random draws, and then those of a method that learns from what trials came to.
///
/// A proposal depends on the seed, the trial's number and the records before it: a restart at any record proposes the same.
#[derive(Clone, Debug)]
struct Surrogate {
    space: ParameterSpace,
    evidence: TrialEvidence,
    method: Method,
    seed: u64,
}

impl Surrogate {
    fn new(space: &ParameterSpace, seed: u64, method: Method) -> Self {
        Self {
            space: space.clone(),
            evidence: TrialEvidence::new(UnitCube::new(space.clone())),
            method,
            seed,
        }
    }
}

impl Sampler for Surrogate {
    fn propose(&mut self, trial: u64) -> Option<Configuration> {
        self.propose_allowed(trial, &|_| true)
    }

    fn propose_allowed(&mut self, trial: u64, is_allowed: &IsAllowed<'_>) -> Option<Configuration> {
        let mut rng = trial_stream(self.seed, trial);
        let is_by_process = self.method.is_by_process(trial);
        let draws = match &mut self.method {
            _ if self.evidence.len() < FIRST_DRAWS => Vec::new(),
            Method::Front(search) => search.draws(&self.evidence, &mut rng),
            Method::Gp(search) | Method::InTurn(search) if is_by_process => {
                search.draws(&self.evidence, &mut rng)
            }
            Method::Tpe | Method::Gp(_) | Method::InTurn(_) => parzen_draws(&self.evidence, &mut rng),
        };
        // the quasi-random point comes last: it is proposed if there is no model yet, or if all its draws were tried before
        let first = std::iter::once_with(|| first_draw(self.seed, trial, self.space.parameters().len()));
        let mut drawn = draws.into_iter().chain(first).map(|at| self.evidence.cube.configuration(&at));
        let fitting = drawn.find(|drawn| is_allowed(drawn) && self.evidence.is_new(drawn));
        if fitting.is_some() {
            return fitting;
        }
        let evidence = &self.evidence;
        let drawn = draw_allowed(|| self.space.sample(&mut rng), is_allowed, |drawn| evidence.is_new(drawn));
        if drawn.as_ref().is_some_and(|drawn| evidence.is_new(drawn)) {
            return drawn;
        }
        find_untried(&self.space, |listed| is_allowed(listed) && evidence.is_new(listed), drawn)
    }

    fn observe_start(&mut self, trial: u64, configuration: &Configuration) {
        self.evidence.observe_start(trial, configuration);
    }

    fn learn(&mut self, trial: u64, configuration: &Configuration, worth: Worth) {
        self.evidence.learn(trial, configuration, worth);
        self.refit();
    }

    fn observe_failure(&mut self, trial: u64, configuration: &Configuration) {
        self.evidence.observe_failure(trial, configuration);
        self.refit();
    }
}

impl Surrogate {
    fn refit(&mut self) {
        if let Method::Gp(search) | Method::InTurn(search) = &mut self.method {
            search.learn(&self.evidence);
        }
    }
}

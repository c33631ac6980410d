//! Samplers: which configuration is tried next.

pub(crate) mod grid;
pub(crate) mod random;
pub(crate) mod surrogate;
pub(crate) mod worth;

use crate::parameter_space::ParameterSpace;
use crate::part::{Part, PartError};
use crate::samplers::grid::Grid;
use crate::samplers::random::{RandomSampler, trial_stream};
use crate::samplers::surrogate::{
    Cube, Evidence, FrontSearch, GpSearch, KnownCosts, first_draw, parzen_draws,
};
use crate::samplers::worth::Worth;
use crate::space::Space;
use foretell::Configuration;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};

/// The sampler of a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SamplerSpec {
    /// Every configuration independently.
    #[default]
    Random,
    /// All combinations in order; parameters with a finite number of values only.
    Grid,
    /// Tree-structured Parzen estimators; parameters only.
    Tpe,
    /// Expected improvement under a Gaussian process; parameters only.
    Gp,
    /// Both in turn: the Gaussian process for every other trial; parameters only.
    TpeGp,
    /// One of a [`Catalogue`](crate::Catalogue).
    #[serde(untagged)]
    Own(Part<dyn SamplerFamily>),
}

/// The names of this crate's samplers.
pub(crate) const SAMPLERS: &[(&str, &str)] = &[
    ("random", "Sample each configuration independently."),
    ("grid", "Try all combinations in order (parameters with a step, choices and flags only)."),
    (
        "tpe",
        "Tree-structured Parzen estimators: prefer configurations close to good trials (parameters only).",
    ),
    ("gp", "Expected improvement under a Gaussian process (parameters only)."),
    ("tpe-gp", "tpe and gp in turn (parameters only)."),
];

/// Proposes configurations. Proposals depend only on the seed and on the results received, so a study is restored by replaying its log.
pub trait Sampler: Send + Sync {
    /// The configuration of trial `trial`; `None` if the space is spent. Asked once a trial, in the order of their numbers; not
    /// asked for a trial that a log has already.
    fn propose(&mut self, trial: u64) -> Option<Configuration>;

    /// Trial `trial` was started with this configuration: its proposal, or what a log has, or a user wants.
    fn started(&mut self, trial: u64, configuration: &Configuration);

    /// Tells the worth of trial `trial`, each time that the trial reaches its planned epoch or is stopped.
    fn learn(&mut self, trial: u64, configuration: &Configuration, worth: Worth);

    /// Trial `trial` failed: it has no score.
    fn failed(&mut self, trial: u64, configuration: &Configuration);

    /// Its state as JSON, for people to read; `None` if it has none. A resumed study does not need it.
    fn learned(&self) -> Option<Json> {
        None
    }
}

/// Creates the samplers of one name.
pub trait SamplerFamily: Send + Sync {
    /// The settings of a sampler for a study of so many `trials`. `asked` are the fields of the request; `there` are the settings that an
    /// existing study has.
    fn settings(&self, asked: &Map<String, Json>, trials: u64, there: Option<&Json>) -> Json {
        let _ = (asked, trials, there);
        Json::Null
    }

    /// The fields of a request that correspond to `settings`; empty if the field `sampler` contains them.
    fn fields(&self, settings: &Json) -> Map<String, Json> {
        let _ = settings;
        Map::new()
    }

    /// Whether its samplers learn from a reward for each of their own proposals. Every trial then needs a final value or a forecast of it:
    /// there are no rungs, no repeats and no queued configurations, the number of trials is planned, and a formula can be the reward.
    fn is_rewarded(&self) -> bool {
        false
    }

    /// A description of a sampler with these `settings`, for `search --explain`.
    fn in_words(&self, settings: &Json) -> Option<String> {
        let _ = settings;
        None
    }

    /// The sampler of `space` with the study's `seed`.
    ///
    /// # Errors
    /// Why there is none.
    fn sampler(&self, settings: &Json, space: &Space, seed: u64) -> Result<Box<dyn Sampler>, String>;
}

impl<F> SamplerFamily for F
where
    F: Fn(&Json, &Space, u64) -> Result<Box<dyn Sampler>, String> + Send + Sync,
{
    fn sampler(&self, settings: &Json, space: &Space, seed: u64) -> Result<Box<dyn Sampler>, String> {
        self(settings, space, seed)
    }
}

impl SamplerSpec {
    /// The default sampler for `space`: [`TpeGp`](Self::TpeGp) for parameters, random for networks.
    pub fn usual(space: &Space) -> Self {
        match space {
            Space::Parameters(_) => Self::TpeGp,
            Space::Own(_) => Self::Random,
        }
    }

    /// The sampler of this crate that is called `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Random, Self::Grid, Self::Tpe, Self::Gp, Self::TpeGp]
            .into_iter()
            .find(|known| known.name() == name)
    }

    /// The name by which a request asks for it.
    pub fn name(&self) -> &str {
        match self {
            Self::Random => "random",
            Self::Grid => "grid",
            Self::Tpe => "tpe",
            Self::Gp => "gp",
            Self::TpeGp => "tpe-gp",
            Self::Own(part) => part.name(),
        }
    }

    /// Whether it learns from forecasts of trials that were not trained to their end.
    pub(crate) fn learns_from_forecasts(&self) -> bool {
        matches!(self, Self::Tpe | Self::Gp | Self::TpeGp)
    }

    /// The family of another crate, where a catalogue has made it, and its settings.
    fn family(&self) -> Option<(&dyn SamplerFamily, &Json)> {
        match self {
            Self::Own(part) => Some((&**part.made()?, part.settings())),
            Self::Random | Self::Grid | Self::Tpe | Self::Gp | Self::TpeGp => None,
        }
    }

    /// Whether it learns from rewards: see [`SamplerFamily::is_rewarded`].
    pub(crate) fn is_rewarded(&self) -> bool {
        self.family().is_some_and(|(family, _)| family.is_rewarded())
    }

    /// The fields of a request that correspond to its settings: see [`SamplerFamily::fields`].
    pub(crate) fn fields(&self) -> Map<String, Json> {
        self.family().map_or_else(Map::new, |(family, settings)| family.fields(settings))
    }

    /// Its description for `search --explain`: see [`SamplerFamily::in_words`].
    pub fn in_words(&self) -> Option<String> {
        self.family().and_then(|(family, settings)| family.in_words(settings))
    }

    /// The sampler of `space` with the study's `seed`.
    ///
    /// # Errors
    /// [`PartError`] for settings out of range.
    pub fn sampler(&self, space: &Space, seed: u64) -> Result<Box<dyn Sampler>, PartError> {
        Ok(match (self, space) {
            (Self::Grid, Space::Parameters(space)) => {
                Box::new(GridSearch { grid: Grid::new(space), tried: BTreeSet::new() })
            }
            (Self::Tpe, Space::Parameters(space)) => Box::new(Surrogate::new(space, seed, Method::Tpe)),
            (Self::Gp, Space::Parameters(space)) => {
                Box::new(Surrogate::new(space, seed, Method::Gp(GpSearch::default())))
            }
            (Self::TpeGp, Space::Parameters(space)) => {
                Box::new(Surrogate::new(space, seed, Method::InTurn(GpSearch::default())))
            }
            (Self::Own(part), _) => {
                let refused = |why| PartError::new("sampler", format!("{}: {why}", part.name()));
                let family = part.made().ok_or_else(|| refused("no catalogue has made it".to_owned()))?;
                family.sampler(part.settings(), space, seed).map_err(refused)?
            }
            _ => Box::new(RandomSearch::new(space.clone(), seed)),
        })
    }
}

/// A sampler of `space` for the front of the metric that it is told and what trials came to in `others`, larger being better.
pub(crate) fn front_sampler(
    space: &ParameterSpace,
    seed: u64,
    others: BTreeMap<u64, Vec<f64>>,
    known: KnownCosts,
) -> Box<dyn Sampler> {
    Box::new(Surrogate::new(space, seed, Method::Front(FrontSearch::new(others, known))))
}

/// Random search in any [`Space`].
#[derive(Clone, Debug)]
struct RandomSearch {
    space: Space,
    sampler: RandomSampler,
    /// The configurations proposed, each as a text.
    proposed: BTreeSet<String>,
}

impl RandomSearch {
    fn new(space: Space, seed: u64) -> Self {
        Self { space, sampler: RandomSampler { seed }, proposed: BTreeSet::new() }
    }
}

impl Sampler for RandomSearch {
    fn propose(&mut self, trial: u64) -> Option<Configuration> {
        match &self.space {
            Space::Parameters(space) => {
                let is_new =
                    |drawn: &Configuration| text(drawn).is_none_or(|text| !self.proposed.contains(&text));
                let drawn = self.sampler.configuration(space, trial, is_new);
                if is_new(&drawn) { Some(drawn) } else { untried(space, is_new, drawn) }
            }
            Space::Own(part) => {
                let space = part.made()?;
                let is_new = |drawn: &Configuration| {
                    space.identity(drawn).is_none_or(|text| !self.proposed.contains(&text))
                };
                let mut rng = trial_stream(self.sampler.seed, trial);
                Some(self.sampler.draw(|| space.sample(&mut rng), is_new))
            }
        }
    }

    fn started(&mut self, _trial: u64, configuration: &Configuration) {
        self.proposed.extend(match &self.space {
            Space::Parameters(_) => text(configuration),
            Space::Own(part) => part.made().and_then(|space| space.identity(configuration)),
        });
    }

    fn learn(&mut self, _trial: u64, _configuration: &Configuration, _worth: Worth) {}

    fn failed(&mut self, _trial: u64, _configuration: &Configuration) {}
}

/// All combinations in order, but for those that were tried already.
struct GridSearch {
    grid: Grid,
    /// The configurations tried, as JSON.
    tried: BTreeSet<String>,
}

impl Sampler for GridSearch {
    fn propose(&mut self, _trial: u64) -> Option<Configuration> {
        self.grid.next(|next| text(next).is_none_or(|text| !self.tried.contains(&text)))
    }

    fn started(&mut self, _trial: u64, configuration: &Configuration) {
        self.tried.extend(text(configuration));
    }

    fn learn(&mut self, _trial: u64, _configuration: &Configuration, _worth: Worth) {}

    fn failed(&mut self, _trial: u64, _configuration: &Configuration) {}
}

/// A configuration of a space in which hardly one is left that was not tried; `None` if all were. In a space too large to be looked through it
/// is `repeated`.
fn untried(
    space: &ParameterSpace,
    is_new: impl Fn(&Configuration) -> bool,
    repeated: Configuration,
) -> Option<Configuration> {
    match space.all(LISTED) {
        Some(all) => all.into_iter().find(is_new),
        None => Some(repeated),
    }
}

fn text(configuration: &Configuration) -> Option<String> {
    serde_json::to_string(configuration).ok()
}

/// Trials drawn quasi-randomly before anything is learned from.
const FIRST_DRAWS: usize = 5;
/// The number of times that a repeated proposal is sampled again at random.
const REDRAWS: usize = 100;
/// A space of so many configurations is looked through for one that was not proposed.
const LISTED: u64 = 1 << 16;

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

/// Quasi-random draws, and then those of a method that learns from what trials came to.
///
/// A proposal depends on the seed, the trial's number and the records before it: a restart at any record proposes the same.
#[derive(Clone, Debug)]
struct Surrogate {
    space: ParameterSpace,
    evidence: Evidence,
    method: Method,
    seed: u64,
}

impl Surrogate {
    fn new(space: &ParameterSpace, seed: u64, method: Method) -> Self {
        Self { space: space.clone(), evidence: Evidence::new(Cube::new(space.clone())), method, seed }
    }
}

impl Sampler for Surrogate {
    fn propose(&mut self, trial: u64) -> Option<Configuration> {
        let mut rng = trial_stream(self.seed, trial);
        let draws = match &mut self.method {
            _ if self.evidence.len() < FIRST_DRAWS => Vec::new(),
            Method::Tpe => parzen_draws(&self.evidence, &mut rng),
            Method::InTurn(_) if !trial.is_multiple_of(2) => parzen_draws(&self.evidence, &mut rng),
            Method::Gp(search) | Method::InTurn(search) => search.draws(&self.evidence, &mut rng),
            Method::Front(search) => search.draws(&self.evidence, &mut rng),
        };
        let first = std::iter::once_with(|| first_draw(self.seed, trial, self.space.parameters().len()));
        let mut drawn = draws.into_iter().chain(first).map(|at| self.evidence.cube.configuration(&at));
        let is_new = |configuration: &Configuration| self.evidence.is_new(configuration);
        drawn
            .find(is_new)
            .or_else(|| (0..REDRAWS).map(|_| self.space.sample(&mut rng)).find(is_new))
            .or_else(|| untried(&self.space, is_new, self.space.sample(&mut rng)))
    }

    fn started(&mut self, trial: u64, configuration: &Configuration) {
        self.evidence.started(trial, configuration);
    }

    fn learn(&mut self, trial: u64, configuration: &Configuration, worth: Worth) {
        self.evidence.learn(trial, configuration, worth);
        self.refit();
    }

    fn failed(&mut self, trial: u64, configuration: &Configuration) {
        self.evidence.failed(trial, configuration);
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

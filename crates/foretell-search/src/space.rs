//! What a study searches: layer sequences or named parameters, and the sampler that proposes from it.

use crate::layer_space::{LayerSpace, LayerSpaceError, Trajectory};
use crate::parameter_space::ParameterSpace;
use crate::random::RandomSampler;
use foretell::{Configuration, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a study searches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// Networks as layer sequences: MetaQNN's space.
    Metaqnn(LayerSpace),
    /// Named parameters of a user's command.
    Parameters(ParameterSpace),
}

/// The name of the configuration value that holds a network's number of weights.
pub const WEIGHTS: &str = "weights";
/// The name of the configuration value that holds a network's number of layers.
pub const LAYERS: &str = "layers";

/// The configuration of a network: its layers, and its weights and layers counted.
///
/// # Errors
/// [`LayerSpaceError`] if it cannot be built on the space's images.
pub(crate) fn network_configuration(
    space: &LayerSpace,
    trajectory: &Trajectory,
) -> Result<Configuration, LayerSpaceError> {
    let counts = trajectory.network().counts(space.image())?;
    let mut configuration = trajectory.configuration();
    configuration.insert(WEIGHTS.to_owned(), Value::Number(counts.weights as f64));
    configuration.insert(LAYERS.to_owned(), Value::Number(counts.layers as f64));
    Ok(configuration)
}

/// Proposes configurations. Proposing is pure; what it may depend on is told first, by the study's log or live.
pub trait Sampler: Send {
    /// The configuration of trial `trial`; `None` if none can be proposed until more is told.
    fn propose(&self, trial: u64) -> Option<Configuration>;

    /// Trial `trial` was started with `configuration`.
    fn started(&mut self, trial: u64, configuration: &Configuration);

    /// Trial `trial` came to `score` (larger is better); `forecast` if it was stopped and this is its forecast.
    fn told(&mut self, trial: u64, configuration: &Configuration, score: f64, forecast: bool);
}

/// Random search in any [`Space`].
#[derive(Clone, Debug)]
pub(crate) struct RandomSearch {
    space: Space,
    sampler: RandomSampler,
    proposed: BTreeSet<Trajectory>,
}

impl RandomSearch {
    pub(crate) fn new(space: Space, seed: u64) -> Self {
        Self { space, sampler: RandomSampler { seed, ..RandomSampler::default() }, proposed: BTreeSet::new() }
    }
}

impl Sampler for RandomSearch {
    fn propose(&self, trial: u64) -> Option<Configuration> {
        match &self.space {
            Space::Parameters(space) => Some(self.sampler.configuration(space, trial)),
            Space::Metaqnn(space) => {
                let network = self.sampler.network(space, trial, &self.proposed);
                network_configuration(space, &network.trajectory).ok()
            }
        }
    }

    fn started(&mut self, _trial: u64, configuration: &Configuration) {
        let network = configuration.get(crate::layer_space::NETWORK).and_then(Value::text);
        let trajectory = network.and_then(|text| text.parse().ok()).and_then(|net| Trajectory::of(&net).ok());
        self.proposed.extend(trajectory);
    }

    fn told(&mut self, _trial: u64, _configuration: &Configuration, _score: f64, _forecast: bool) {}
}

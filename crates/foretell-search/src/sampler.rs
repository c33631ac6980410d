//! Samplers: which configuration is tried next.

use crate::layer_space::{NETWORK, Trajectory};
use crate::q_learning::{QLearner, QLearning, QLearningError, Reward};
use crate::random::{RandomSampler, replay_stream, trial_stream};
use crate::space::{Space, network_configuration};
use foretell::{Configuration, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Which sampler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SamplerSpec {
    /// Every configuration independently.
    #[default]
    Random,
    /// MetaQNN's Q-learning; networks only.
    QLearning(QLearning),
}

/// Proposes configurations. What it proposes depends on its seed and on what it was told, nothing else, so that a study's
/// log, told again in order, restores it.
pub trait Sampler: Send + Sync {
    /// The configuration of trial `trial`; `None` if the space is spent. Asked once a trial, in the order of their numbers.
    fn propose(&mut self, trial: u64) -> Option<Configuration>;

    /// Trial `trial` came to `score` (larger is better); `forecast` if it was stopped and this is its forecast.
    fn told(&mut self, trial: u64, configuration: &Configuration, score: f64, forecast: bool);

    /// Trial `trial` failed: it has no score.
    fn failed(&mut self, configuration: &Configuration);

    /// The Q-table and replay list, if it learns by them.
    fn learner(&self) -> Option<&QLearner> {
        None
    }
}

impl SamplerSpec {
    /// The sampler of `space` with the study's `seed`.
    ///
    /// # Errors
    /// [`QLearningError`] for settings out of range.
    pub(crate) fn sampler(&self, space: &Space, seed: u64) -> Result<Box<dyn Sampler>, QLearningError> {
        Ok(match (self, space) {
            (Self::QLearning(settings), Space::Metaqnn(space)) => {
                Box::new(QLearningSampler { learner: QLearner::new(space.clone(), settings.clone())?, seed })
            }
            _ => Box::new(RandomSearch::new(space.clone(), seed)),
        })
    }
}

/// The network that a configuration names.
fn network(configuration: &Configuration) -> Option<Trajectory> {
    let text = configuration.get(NETWORK).and_then(Value::text)?;
    Trajectory::of(&text.parse().ok()?).ok()
}

/// Random search in any [`Space`].
#[derive(Clone, Debug)]
struct RandomSearch {
    space: Space,
    sampler: RandomSampler,
    proposed: BTreeSet<Trajectory>,
    /// The configurations proposed, as JSON.
    configurations: BTreeSet<String>,
}

impl RandomSearch {
    fn new(space: Space, seed: u64) -> Self {
        let sampler = RandomSampler { seed, ..RandomSampler::default() };
        Self { space, sampler, proposed: BTreeSet::new(), configurations: BTreeSet::new() }
    }
}

impl Sampler for RandomSearch {
    fn propose(&mut self, trial: u64) -> Option<Configuration> {
        match &self.space {
            Space::Parameters(space) => {
                let text = |configuration: &Configuration| serde_json::to_string(configuration).ok();
                let is_new = |drawn: &Configuration| {
                    text(drawn).is_none_or(|text| !self.configurations.contains(&text))
                };
                let configuration = self.sampler.configuration(space, trial, is_new);
                self.configurations.extend(text(&configuration));
                Some(configuration)
            }
            Space::Metaqnn(space) => {
                let network = self.sampler.network(space, trial, &self.proposed).trajectory;
                let configuration = network_configuration(space, &network).ok();
                self.proposed.insert(network);
                configuration
            }
        }
    }

    fn told(&mut self, _trial: u64, _configuration: &Configuration, _score: f64, _forecast: bool) {}

    fn failed(&mut self, _configuration: &Configuration) {}
}

/// Q-learning, driven by a study.
struct QLearningSampler {
    learner: QLearner,
    seed: u64,
}

impl Sampler for QLearningSampler {
    fn propose(&mut self, trial: u64) -> Option<Configuration> {
        let network = self.learner.propose(&mut trial_stream(self.seed, trial)).ok()?;
        network_configuration(self.learner.space(), &network).ok()
    }

    fn told(&mut self, trial: u64, configuration: &Configuration, score: f64, forecast: bool) {
        let Some(network) = network(configuration) else { return };
        let reward = if forecast { Reward::forecast(score) } else { Reward::measured(score) };
        // a network from outside the space can only be in a log that was edited: there is nothing to learn from it
        let _ = self.learner.tell(&network, reward, &mut replay_stream(self.seed, trial));
    }

    fn failed(&mut self, configuration: &Configuration) {
        if let Some(network) = network(configuration) {
            // not waiting for a result: then it has one, which stands
            let _ = self.learner.discard(&network);
        }
    }

    fn learner(&self) -> Option<&QLearner> {
        Some(&self.learner)
    }
}

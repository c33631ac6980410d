//! The settings of Q-learning.

use super::epsilon::EpsilonSchedule;
use super::error::QLearningError;
use serde::{Deserialize, Serialize};

/// The settings of a Q-learning sampler.
///
/// | symbol | field           | meaning                                                   | range | default          |
/// |--------|-----------------|-----------------------------------------------------------|-------|------------------|
/// | α      | `learning_rate` | how far a value moves towards its target                  | (0,1] | 0.01             |
/// | γ      | `discount`      | weight of the next state's value                          | 0 to 1 | 1                |
/// | Q₀     | `initial_value` | value of what was never updated, in units of the reward   | finite | 0.5             |
/// |        | `replay_number` | trajectories replayed after each result                   | ≥ 0   | 128              |
/// | ε      | `schedule`      | share of layers drawn uniformly                           | 0 to 1 | MetaQNN's        |
/// |        | `redraws`       | how often a network proposed before is drawn again        | ≥ 0   | 1000             |
///
/// The released code replays 128 trajectories and the paper says 100. Q₀ is meant for rewards between 0 and 1, such
/// as accuracies: with rewards on another scale, give a value in their middle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QLearning {
    /// α, how far a value moves towards its target.
    pub learning_rate: f64,
    /// γ, the weight of the next state's value.
    pub discount: f64,
    /// Q₀, the value of what was never updated.
    pub initial_value: f64,
    /// The number of trajectories replayed after each result.
    pub replay_number: usize,
    /// ε by unique networks.
    pub schedule: EpsilonSchedule,
    /// The number of times that a network proposed before is sampled again.
    pub redraws: usize,
}

impl Default for QLearning {
    fn default() -> Self {
        Self {
            learning_rate: 0.01,
            discount: 1.0,
            initial_value: 0.5,
            replay_number: 128,
            schedule: EpsilonSchedule::default(),
            redraws: 1000,
        }
    }
}

impl QLearning {
    /// Checks the ranges.
    ///
    /// # Errors
    /// [`QLearningError::Setting`] naming the first setting out of its range.
    pub fn validate(&self) -> Result<(), QLearningError> {
        if !(self.learning_rate > 0.0 && self.learning_rate <= 1.0) {
            return Err(setting_error("learning_rate", self.learning_rate, "above 0 and at most 1"));
        }
        if !(0.0..=1.0).contains(&self.discount) {
            return Err(setting_error("discount", self.discount, "between 0 and 1"));
        }
        if !self.initial_value.is_finite() {
            return Err(setting_error("initial_value", self.initial_value, "finite"));
        }
        let epsilons = self.schedule.stages.iter().map(|stage| stage.epsilon);
        match epsilons.into_iter().find(|epsilon| !(0.0..=1.0).contains(epsilon)) {
            Some(epsilon) => Err(setting_error("epsilon", epsilon, "between 0 and 1")),
            None => Ok(()),
        }
    }
}

fn setting_error(field: &'static str, value: f64, expected: &'static str) -> QLearningError {
    QLearningError::Setting { field, value, expected }
}

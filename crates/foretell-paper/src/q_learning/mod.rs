//! MetaQNN's Q-learning: its settings, ε schedule and rewards, and the learner.
//!
//! It needs trials that are trained in full: a network that a rung discards has neither a result nor a forecast of one.

mod epsilon;
mod error;
mod learner;
mod reward;
mod sampler;
mod settings;

pub use epsilon::{EpsilonSchedule, EpsilonStage};
pub use error::QLearningError;
pub use learner::QLearner;
pub use reward::{Replay, Reward, RewardKind};
pub(crate) use sampler::QLearningFamily;
pub use sampler::replay_stream;
pub use settings::QLearning;

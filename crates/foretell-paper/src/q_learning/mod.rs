//! MetaQNN's Q-learning: its settings, ε schedule and rewards, and the learner.
//!
//! Q-learning needs trials that are trained in full: a network that a rung discards has neither a result nor a forecast of one.

mod epsilon;
mod error;
mod learner;
mod reward;
mod sampler;
mod settings;

pub use epsilon::{EpsilonSchedule, EpsilonStage};
pub use error::QLearningError;
pub(crate) use learner::QLearner;
pub(crate) use reward::Reward;
pub(crate) use sampler::QLearningFamily;
pub use settings::QLearning;

//! MetaQNN's Q-learning: its settings, ε schedule and rewards, and the learner.

mod epsilon;
mod error;
mod learner;
mod reward;
mod settings;

pub use epsilon::{EpsilonSchedule, EpsilonStage};
pub use error::QLearningError;
pub use learner::QLearner;
pub use reward::{Replay, Reward, RewardKind};
pub use settings::QLearning;

#![doc = include_str!("../README.md")]

pub mod bnn;
mod catalogue;
mod epochs;
mod layer_space;
pub mod lce;
mod q_learning;
pub mod reproduce;

pub use bnn::Bnn;
pub use catalogue::{catalogue, with_laboratory};
pub use layer_space::{Action, LayerSpace, LayerSpaceError, Pool, State, StateKey, Trajectory};
pub use lce::{Lce, LceRule};
pub use q_learning::{
    EpsilonSchedule, EpsilonStage, QLearner, QLearning, QLearningError, Replay, Reward, RewardKind,
    replay_stream,
};

#![doc = include_str!("../README.md")]

pub mod bnn;
mod catalogue;
mod epochs;
mod layer_space;
pub mod lce;
#[cfg(test)]
#[path = "../../../tests/needed.rs"]
mod needed;
mod q_learning;
pub mod reproduce;

pub use bnn::Bnn;
pub use catalogue::{full_catalogue, with_laboratory};
pub use layer_space::{LayerSpace, LayerSpaceError, PoolingSize};
pub use lce::{Lce, LceRule};
pub use q_learning::{EpsilonSchedule, EpsilonStage, QLearning, QLearningError};

//! MetaQNN's space of networks: its description, the states and actions of its walk, and the networks drawn from it.

mod error;
mod searched;
mod space;
mod state;
#[cfg(test)]
mod tests;
mod trajectory;

pub use error::LayerSpaceError;
pub(crate) use searched::{SPACE_NAME, network_of};
pub use space::{LayerSpace, PoolingSize};
pub(crate) use state::{Action, State, StateKey};
pub(crate) use trajectory::Trajectory;

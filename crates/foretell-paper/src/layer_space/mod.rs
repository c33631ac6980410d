//! MetaQNN's space of networks: its description, the states and actions of its walk, and the networks drawn from it.

mod error;
mod searched;
mod space;
mod state;
#[cfg(test)]
mod tests;
mod trajectory;

pub use error::LayerSpaceError;
pub(crate) use searched::{METAQNN, network};
pub use space::{LayerSpace, Pool};
pub(crate) use state::{Action, State, StateKey};
pub(crate) use trajectory::Trajectory;

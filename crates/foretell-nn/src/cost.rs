//! The cost of a network, counted from its description before it is built.

use foretell::NetworkCounts;
use serde::{Deserialize, Serialize};

/// The cost of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkCost {
    /// The weights of convolutions, fully connected layers, memory cells and word vectors; without biases and normalizations.
    pub weights: u64,
    /// The multiply-adds of one forward pass, for one image or one token: each weight counts once for each place that it is applied at, the
    /// padding included. Biases, normalizations, pooling and the look-up of word vectors are free.
    pub multiply_adds: u64,
}

impl NetworkCost {
    /// Adds a layer whose weights have `shape` and are applied at `places`.
    pub(crate) fn with(self, shape: &[usize], places: usize) -> Self {
        let weights: u64 = shape.iter().map(|&size| size as u64).product();
        Self { weights: self.weights + weights, multiply_adds: self.multiply_adds + weights * places as u64 }
    }
}

impl From<NetworkCounts> for NetworkCost {
    fn from(counts: NetworkCounts) -> Self {
        Self { weights: counts.weights, multiply_adds: counts.multiply_adds }
    }
}

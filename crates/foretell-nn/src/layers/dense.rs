//! A fully connected layer.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::module::linear;

/// x ↦ x·W + b.
#[derive(Module, Debug)]
pub(crate) struct Dense {
    /// Shape (inputs, outputs).
    pub(crate) weight: Param<Tensor<2>>,
    /// Shape (outputs).
    pub(crate) bias: Param<Tensor<1>>,
}

impl Dense {
    /// Vectors of shape (examples, outputs).
    pub(crate) fn forward(&self, vectors: Tensor<2>) -> Tensor<2> {
        linear(vectors, self.weight.val(), Some(self.bias.val()))
    }
}

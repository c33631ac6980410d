//! Gradient descent as cuda-convnet and Caffe do it.

use crate::layers::parameter::Param;
use crate::layers::weights::WeightInitializer;
use crate::optimizer::{Optimizer, UpdateRule};

/// Gradient descent with momentum 0.9. Weights have L2 penalties of their own; biases are made by [`bias`].
///
/// Source: A. Krizhevsky, cuda-convnet, `layers-18pct`; Caffe's `bvlc_alexnet`.
pub(crate) fn descent() -> Optimizer {
    Optimizer::new(UpdateRule::Momentum { momentum: 0.9 })
}

/// A bias of `count` equal values: it learns twice as fast as the weights and is not penalized.
pub(crate) fn bias(count: usize, value: f32, weights: &mut WeightInitializer) -> Param<1> {
    weights.constant(count, value).with_rate(2.0)
}

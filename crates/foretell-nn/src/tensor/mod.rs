//! Tensors, the values that networks compute with, and the gradients of their operations.

pub(crate) mod elementwise;
pub(crate) mod graph;
pub(crate) mod product;

pub(crate) use graph::Tensor;

//! Layers, and the drawing of their starting weights.

pub(crate) mod batch_norm;
pub(crate) mod convolution;
pub(crate) mod dense;
pub(crate) mod dropout;
pub(crate) mod embedding;
pub(crate) mod loss;
pub(crate) mod lstm;
pub(crate) mod parameter;
mod patches;
pub(crate) mod pooling;
mod recurrence;
pub(crate) mod response_norm;
pub(crate) mod weights;

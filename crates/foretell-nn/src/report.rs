//! The report of a training after each epoch.

use crate::cost::NetworkCost;
use serde::{Deserialize, Serialize};

/// The results of an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochReport {
    /// Number of the epoch, from 1.
    pub epoch: usize,
    /// Share of validation images classified right, 0 to 1. If every attempt failed: 1/classes.
    pub validation_accuracy: f64,
    /// Mean cross-entropy on the validation images, in nats; absent if not finite, or if every attempt failed.
    pub validation_loss: Option<f64>,
    /// Mean cross-entropy over the training images during training (dropout on), in nats; absent likewise.
    pub train_loss: Option<f64>,
    /// The learning rate of this epoch; absent if every attempt failed.
    pub learning_rate: Option<f64>,
    /// Epochs spent so far on attempts that failed; they are not part of `epoch`.
    pub failed_epochs: usize,
    /// The cost of the network, reported with the first epoch.
    #[serde(skip)]
    pub cost: Option<NetworkCost>,
    /// Whether the epoch was not trained now but read from a checkpoint.
    #[serde(skip)]
    pub recovered: bool,
}

//! The data that networks are trained on and judged by, of any kind, and one step of an optimizer.

use crate::layers::parameter::Module;
use crate::optimizer::Optimizer;
use crate::stream::{StreamPurpose, stream};
use crate::tensor::Tensor;

/// Data that a network of type `N` learns from and is judged by.
pub(crate) trait LessonData<N> {
    /// Steps of the optimizer in an epoch.
    fn steps(&self, batch_size: usize) -> usize;

    /// The accuracy of guessing.
    fn guessing_accuracy(&self) -> f64;

    /// Trains for one epoch; gives the mean training loss (dropout on, weights as they change).
    ///
    /// The epoch ends at the first step whose loss is not finite: that network has diverged.
    fn epoch(&self, network: &mut N, optimizer: &mut Optimizer, steps: &EpochSteps) -> f64;

    /// Judges the network on the validation part.
    fn evaluate_network(&self, network: &N) -> ValidationScores;
}

/// The quality of a network on the validation part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValidationScores {
    /// Share of right answers.
    pub accuracy: f64,
    /// Mean cross-entropy in nats; not finite after divergence.
    pub loss: f64,
}

/// The seeds of the randomness in an epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EpochSeeds {
    /// Seed of the trial.
    pub seed: u64,
    /// Number of the attempt, from 0.
    pub attempt: usize,
    /// Number of the epoch, from 1.
    pub epoch: usize,
}

impl EpochSeeds {
    /// The random stream of this epoch for `purpose`.
    pub(crate) fn stream(self, purpose: StreamPurpose) -> rand_chacha::ChaCha8Rng {
        // the attempt is in the upper half, so that no two epochs of a trial share a stream
        stream(self.seed, purpose, ((self.attempt as u64) << 32) | self.epoch as u64)
    }
}

/// The steps of an epoch.
pub(crate) struct EpochSteps {
    /// Examples per step.
    pub batch_size: usize,
    /// Learning rate.
    pub rate: f64,
    /// The largest norm of the whole gradient; a larger gradient is shortened to it.
    pub clip: Option<f64>,
    /// Seeds.
    pub chance: EpochSeeds,
}

impl EpochSteps {
    /// One step down the gradient of `loss`.
    pub(crate) fn step<N: Module>(&self, network: &mut N, optimizer: &mut Optimizer, loss: Tensor<1>) {
        optimizer.step(self.rate, network, loss, self.clip);
    }
}

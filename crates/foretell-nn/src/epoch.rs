//! One epoch: a pass of Adam over the training images, and an evaluation on the validation images.

use crate::images::{DataSet, Images, Normalization};
use crate::network::Network;
use crate::stream::{Purpose, stream};
use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer, decay::WeightDecayConfig};
use burn::tensor::loss::cross_entropy_with_logits;
use burn::tensor::{Device, Tensor, TensorData};
use rand::RngExt;
use rand::seq::SliceRandom;

/// Images evaluated at a time.
const JUDGED_AT_ONCE: usize = 128;

/// Adam with β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁸ and 5·10⁻⁴ times the weights added to the gradient (L2).
///
/// Source: MetaQNN's training settings (B. Baker et al. 2017).
pub(crate) fn optimizer() -> ModuleOptimizer {
    AdamConfig::new().with_epsilon(1e-8).with_weight_decay(Some(WeightDecayConfig::new(5e-4))).init()
}

/// The seeds of the randomness in an epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance {
    /// Seed of the trial.
    pub seed: u64,
    /// Number of the attempt, from 0.
    pub attempt: usize,
    /// Number of the epoch, from 1.
    pub epoch: usize,
}

impl Chance {
    fn stream(self, purpose: Purpose) -> rand_chacha::ChaCha8Rng {
        stream(self.seed, purpose, ((self.attempt as u64) << 32) | self.epoch as u64)
    }
}

/// The steps of an epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// Images per step.
    pub batch_size: usize,
    /// Learning rate of each step.
    pub learning_rate: f64,
}

/// Trains `network` for one epoch; returns it with its mean training loss (dropout on, weights as they change).
pub(crate) fn train_epoch(
    mut network: Network,
    optimizer: &mut ModuleOptimizer,
    data: &DataSet,
    steps: Steps,
    chance: Chance,
    device: &Device,
) -> (Network, f64) {
    let mut order: Vec<usize> = (0..data.train.len()).collect();
    order.shuffle(&mut chance.stream(Purpose::Order));
    let mut mirror = chance.stream(Purpose::Mirror);
    let mut dropout = chance.stream(Purpose::Dropout);
    let mut total = 0.0;
    for batch in order.chunks(steps.batch_size) {
        let mirrored: Vec<bool> = batch.iter().map(|_| data.mirror && mirror.random()).collect();
        let images = inputs(&data.train, batch, &mirrored, data.normalization, device);
        let logits = network.forward(images, Some(&mut dropout));
        let loss = cross_entropy_with_logits(logits, targets(&data.train, batch, device));
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        total += f64::from(loss.into_scalar::<f32>()) * batch.len() as f64;
        network = optimizer.step(steps.learning_rate, network, gradients);
    }
    (network, total / data.train.len() as f64)
}

/// (accuracy, mean cross-entropy in nats) of `network` on the validation images.
///
/// An image whose logits are not all finite counts as wrong.
pub(crate) fn judge(network: &Network, data: &DataSet, device: &Device) -> (f64, f64) {
    let network = network.valid();
    let images = &data.validation;
    let indices: Vec<usize> = (0..images.len()).collect();
    let (mut right, mut total) = (0_usize, 0.0);
    for batch in indices.chunks(JUDGED_AT_ONCE) {
        let plain = vec![false; batch.len()];
        let input = inputs(images, batch, &plain, data.normalization, &device.clone().inner());
        let logits = network.forward(input, None).into_data();
        let logits = logits.as_slice::<f32>().expect("logits are 32-bit floats in row-major order");
        for (row, &index) in logits.chunks_exact(images.classes).zip(batch) {
            let label = usize::from(images.labels[index]);
            right += usize::from(most_likely(row) == Some(label));
            total += cross_entropy(row, label);
        }
    }
    (right as f64 / images.len() as f64, total / images.len() as f64)
}

/// The class of the largest logit, the first one if several are equal; none if a logit is not finite.
fn most_likely(logits: &[f32]) -> Option<usize> {
    if logits.iter().any(|logit| !logit.is_finite()) {
        return None;
    }
    (0..logits.len()).rev().max_by(|&a, &b| logits[a].total_cmp(&logits[b]))
}

/// −ln softmax(logits)\[label\] = ln Σ exp(lᵢ − m) + m − l_label with m the largest logit, so nothing overflows.
fn cross_entropy(logits: &[f32], label: usize) -> f64 {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|&logit| f64::from(logit - largest).exp()).sum();
    sum.ln() + f64::from(largest - logits[label])
}

fn inputs(
    images: &Images,
    batch: &[usize],
    mirrored: &[bool],
    normalization: Normalization,
    device: &Device,
) -> Tensor<4> {
    let mut values = Vec::with_capacity(batch.len() * images.values());
    for (&index, &mirrored) in batch.iter().zip(mirrored) {
        images.push_inputs(index, normalization, mirrored, &mut values);
    }
    let shape = [batch.len(), images.shape.channels, images.shape.height, images.shape.width];
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// One-hot rows, shape (images, classes).
fn targets(images: &Images, batch: &[usize], device: &Device) -> Tensor<2> {
    let mut rows = vec![0.0_f32; batch.len() * images.classes];
    for (row, &index) in rows.chunks_exact_mut(images.classes).zip(batch) {
        row[usize::from(images.labels[index])] = 1.0;
    }
    Tensor::from_data(TensorData::new(rows, [batch.len(), images.classes]), device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_likely_class_is_the_first_of_the_largest_and_none_where_logits_are_not_finite() {
        assert_eq!(most_likely(&[0.0, 2.0, 2.0]), Some(1));
        assert_eq!(most_likely(&[0.0, f32::NAN, 2.0]), None);
        assert_eq!(most_likely(&[f32::INFINITY, 0.0]), None);
    }

    #[test]
    fn cross_entropy_of_equal_logits_is_the_log_of_the_classes_however_large_they_are() {
        for size in [0.0, 1e4, -1e4] {
            assert!((cross_entropy(&[size; 4], 2) - 4_f64.ln()).abs() < 1e-12);
        }
        assert!((cross_entropy(&[0.0, 3_f32.ln()], 0) - 4_f64.ln()).abs() < 1e-6);
    }
}

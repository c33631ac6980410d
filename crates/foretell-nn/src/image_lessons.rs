//! Learning from images: an epoch in random order, and the judgment on the validation images.

use crate::images::{DataSet, LabeledImages};
use crate::layers::loss::mean_cross_entropy;
use crate::layers::parameter::Module;
use crate::lessons::{EpochSteps, LessonData, ValidationScores};
use crate::optimizer::Optimizer;
use crate::stream::StreamPurpose;
use crate::tensor::Tensor;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Images evaluated at a time.
const EVALUATION_BATCH_SIZE: usize = 128;

/// A network that classifies images.
pub(crate) trait ImageNetwork: Module {
    /// Logits, shape (images, classes), of `images`, shape (images, channels, height, width).
    ///
    /// The network is training if there are random numbers for its dropout, and is judged without.
    fn logits(&mut self, images: Tensor<4>, training: Option<&mut ChaCha8Rng>) -> Tensor<2>;
}

impl<N: ImageNetwork> LessonData<N> for DataSet {
    fn steps(&self, batch_size: usize) -> usize {
        self.train.len().div_ceil(batch_size)
    }

    fn guessing_accuracy(&self) -> f64 {
        1.0 / self.train.classes as f64
    }

    fn epoch(&self, network: &mut N, optimizer: &mut Optimizer, steps: &EpochSteps) -> f64 {
        let mut order: Vec<usize> = (0..self.train.len()).collect();
        order.shuffle(&mut steps.chance.stream(StreamPurpose::Order));
        let mut mirror = steps.chance.stream(StreamPurpose::Mirror);
        let mut dropout = steps.chance.stream(StreamPurpose::Dropout);
        let mut total = 0.0;
        for batch in order.chunks(steps.batch_size) {
            let mirrored: Vec<bool> = batch.iter().map(|_| self.mirror && mirror.random()).collect();
            let images = network_inputs(self, &self.train, batch, &mirrored);
            let logits = network.logits(images, Some(&mut dropout));
            let labels = batch.iter().map(|&index| usize::from(self.train.labels[index]));
            let loss = mean_cross_entropy(logits, labels.collect());
            let value = loss.value();
            if !value.is_finite() {
                return value;
            }
            total += value * batch.len() as f64;
            steps.step(network, optimizer, loss);
        }
        total / self.train.len() as f64
    }

    /// An image whose logits are not all finite counts as wrong.
    fn evaluate_network(&self, network: &N) -> ValidationScores {
        let mut network = network.frozen_copy();
        let images = &self.validation;
        let indices: Vec<usize> = (0..images.len()).collect();
        let (mut right, mut total) = (0_usize, 0.0);
        for batch in indices.chunks(EVALUATION_BATCH_SIZE) {
            let plain = vec![false; batch.len()];
            let input = network_inputs(self, images, batch, &plain);
            let logits = network.logits(input, None).into_values();
            for (row, &index) in logits.chunks_exact(images.classes).zip(batch) {
                let label = usize::from(images.labels[index]);
                right += usize::from(most_likely(row) == Some(label));
                total += cross_entropy(row, label);
            }
        }
        let count = images.len() as f64;
        ValidationScores { accuracy: right as f64 / count, loss: total / count }
    }
}

/// The class of the largest logit, the first one if several are equal; none if a logit is not finite.
pub(crate) fn most_likely(logits: &[f32]) -> Option<usize> {
    if logits.iter().any(|logit| !logit.is_finite()) {
        return None;
    }
    (0..logits.len()).rev().max_by(|&a, &b| logits[a].total_cmp(&logits[b]))
}

/// −ln softmax(logits)\[label\] = ln Σ exp(lᵢ − m) + m − l_label with m the largest logit, so nothing overflows.
pub(crate) fn cross_entropy(logits: &[f32], label: usize) -> f64 {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|&logit| f64::from(logit - largest).exp()).sum();
    sum.ln() + f64::from(largest - logits[label])
}

fn network_inputs(data: &DataSet, images: &LabeledImages, batch: &[usize], mirrored: &[bool]) -> Tensor<4> {
    let mut values = Vec::with_capacity(batch.len() * images.values_per_image());
    for (&index, &mirrored) in batch.iter().zip(mirrored) {
        images.push_inputs(index, &data.normalization, mirrored, &mut values);
    }
    let shape = [batch.len(), images.shape.channels, images.shape.height, images.shape.width];
    Tensor::constant(values, shape)
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

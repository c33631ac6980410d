//! Batch normalisation whose running statistics are parameters, so that checkpoints hold them.

use crate::layers::weights::Weights;
use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::module::{batch_norm, batch_norm_train};

/// Added to the variance.
const EPSILON: f64 = 1e-5;
/// Weight of a batch in the running statistics.
const MOMENTUM: f64 = 0.1;

/// Batch normalisation of maps: y = γ·(x − mean)/√(variance + 10⁻⁵) + β for each channel.
///
/// In training mean and variance are the batch's; otherwise running ones, r ← 0.9·r + 0.1·(the batch's), the variance unbiased.
///
/// Source: S. Ioffe, C. Szegedy, *Batch normalization* (2015); constants as in PyTorch.
#[derive(Module, Debug)]
pub(crate) struct BatchNorm {
    /// Shape (channels).
    pub(crate) gamma: Param<Tensor<1>>,
    /// Shape (channels).
    pub(crate) beta: Param<Tensor<1>>,
    running_mean: Param<Tensor<1>>,
    running_variance: Param<Tensor<1>>,
}

impl BatchNorm {
    /// Normalisation of this many channels: γ = 1, β = 0.
    pub(crate) fn new(channels: usize, weights: &mut Weights) -> Self {
        Self {
            gamma: weights.constant(channels, 1.0),
            beta: weights.constant(channels, 0.0),
            running_mean: weights.memory(channels, 0.0),
            running_variance: weights.memory(channels, 1.0),
        }
    }

    /// The maps, normalised; updates the running statistics if `training`.
    pub(crate) fn forward(&mut self, maps: Tensor<4>, training: bool) -> Tensor<4> {
        let (gamma, beta) = (self.gamma.val(), self.beta.val());
        if !training {
            let (mean, variance) = (self.running_mean.val(), self.running_variance.val());
            return batch_norm(maps, gamma, beta, mean, variance, EPSILON);
        }
        let [images, _, height, width] = maps.dims();
        let count = (images * height * width) as f64;
        let result = batch_norm_train(maps, gamma, beta, EPSILON);
        let unbiased = result.variance * (count / (count - 1.0).max(1.0));
        move_towards(&mut self.running_mean, result.mean);
        move_towards(&mut self.running_variance, unbiased);
        result.output
    }
}

fn move_towards(running: &mut Param<Tensor<1>>, batch: Tensor<1>) {
    let moved = running.val() * (1.0 - MOMENTUM) + batch * MOMENTUM;
    *running = Param::initialized(running.id, moved.detach());
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{Device, TensorData};

    fn values() -> Vec<f32> {
        (0..36).map(|i| (i as f32 * 0.9).sin() + if i % 18 < 9 { 0.0 } else { 2.0 }).collect()
    }

    fn norm() -> BatchNorm {
        BatchNorm::new(2, &mut Weights::new(0, 0, &Device::flex().autodiff()))
    }

    fn tensor(values: &[f32]) -> Tensor<4> {
        let data = TensorData::new(values.to_vec(), [2, 2, 3, 3]);
        Tensor::<4>::from_data(data, &Device::flex().autodiff()).require_grad()
    }

    /// Σ of the outputs weighted by sin(i).
    fn weighted(values: &[f32], input: Tensor<4>, training: bool) -> Tensor<1> {
        let weights: Vec<f32> = (0..values.len()).map(|i| (i as f32).sin()).collect();
        (norm().forward(input, training) * tensor(&weights).detach()).sum()
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let values = values();
        let input = tensor(&values);
        let gradients = weighted(&values, input.clone(), true).backward();
        let gradient: Vec<f32> = input.grad(&gradients).unwrap().into_data().try_into_vec().unwrap();
        for at in [0, 10, 17, 35] {
            let moved = |by: f32| {
                let mut moved = values.clone();
                moved[at] += by;
                weighted(&values, tensor(&moved), true).into_scalar::<f32>()
            };
            let slope = (moved(0.01) - moved(-0.01)) / 0.02;
            assert!((slope - gradient[at]).abs() < 2e-3, "at {at}: {slope}, not {}", gradient[at]);
        }
    }

    #[test]
    fn running_statistics_move_a_tenth_towards_the_batch_and_are_used_to_judge() {
        let mut norm = norm();
        let values = values();
        drop(norm.forward(tensor(&values), true));
        let first: Vec<f32> = (0..36).filter(|i| i % 18 < 9).map(|i| values[i]).collect();
        let mean = first.iter().sum::<f32>() / 18.0;
        let variance = first.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / 17.0;
        let running = |param: &Param<Tensor<1>>| param.val().into_data().try_into_vec::<f32>().unwrap()[0];
        assert!((running(&norm.running_mean) - 0.1 * mean).abs() < 1e-6);
        assert!((running(&norm.running_variance) - (0.9 + 0.1 * variance)).abs() < 1e-6);
        let judged: Vec<f32> = norm.forward(tensor(&values), false).into_data().try_into_vec().unwrap();
        let expected = (values[0] - 0.1 * mean) / (0.9 + 0.1 * variance + 1e-5).sqrt();
        assert!((judged[0] - expected).abs() < 1e-5);
    }
}

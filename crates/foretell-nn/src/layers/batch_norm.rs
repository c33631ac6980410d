//! Batch normalization whose running statistics are parameters, so that checkpoints hold them.

use crate::layers::parameter::{Param, module};
use crate::layers::weights::WeightInitializer;
use crate::tensor::Tensor;
use crate::tensor::graph::{dot, sum, sum_with};

/// Added to the variance.
const VARIANCE_EPSILON: f64 = 1e-5;
/// Weight of a batch in the running statistics.
const RUNNING_MOMENTUM: f64 = 0.1;

/// Batch normalization of maps: y = γ·(x − mean)/√(variance + 10⁻⁵) + β for each channel.
///
/// In training mean and variance are the batch's; otherwise running ones, r ← 0.9·r + 0.1·(the batch's), the variance unbiased.
///
/// Source: S. Ioffe, C. Szegedy, *Batch normalization* (2015); constants as in PyTorch.
#[derive(Clone)]
pub(crate) struct BatchNorm {
    /// Shape (channels).
    pub(crate) gamma: Param<1>,
    /// Shape (channels).
    pub(crate) beta: Param<1>,
    running_mean: Param<1>,
    running_variance: Param<1>,
}

module!(BatchNorm { gamma, beta, running_mean, running_variance });

impl BatchNorm {
    /// Normalization of this many channels: γ = 1, β = 0.
    pub(crate) fn new(channels: usize, weights: &mut WeightInitializer) -> Self {
        Self {
            gamma: weights.constant(channels, 1.0),
            beta: weights.constant(channels, 0.0),
            running_mean: weights.memory(channels, 0.0),
            running_variance: weights.memory(channels, 1.0),
        }
    }

    /// The maps, normalized; updates the running statistics if `training`.
    pub(crate) fn forward(&mut self, maps: Tensor<4>, training: bool) -> Tensor<4> {
        let (gamma, beta) = (self.gamma.val(), self.beta.val());
        if !training {
            let (mean, variance) = (self.running_mean.val(), self.running_variance.val());
            return normalize_by_running(maps, &[gamma, beta, mean, variance]);
        }
        let [images, _, height, width] = maps.dims();
        let count = (images * height * width) as f64;
        // a single value has no variance, and would otherwise be divided by 0
        let unbiased = count / (count - 1.0).max(1.0);
        let batch = normalize_batch(maps, &gamma, &beta);
        self.running_mean.change(|running| update_running(running, &batch.mean, 1.0));
        self.running_variance.change(|running| update_running(running, &batch.variance, unbiased));
        batch.output
    }
}

/// (1 − 0.1) · `running` + 0.1 · `factor` · `batch`.
fn update_running(running: Tensor<1>, batch: &[f64], factor: f64) -> Tensor<1> {
    let mut values = running.into_values();
    for (running, batch) in values.iter_mut().zip(batch) {
        *running =
            (f64::from(*running) * (1.0 - RUNNING_MOMENTUM) + batch * factor * RUNNING_MOMENTUM) as f32;
    }
    let count = values.len();
    Tensor::constant(values, [count])
}

/// A batch, normalized.
struct NormalizedBatch {
    output: Tensor<4>,
    /// Of each channel.
    mean: Vec<f64>,
    /// Of each channel.
    variance: Vec<f64>,
}

fn normalize_batch(maps: Tensor<4>, gamma: &Tensor<1>, beta: &Tensor<1>) -> NormalizedBatch {
    let (shape, sources) = (maps.dims(), [maps.source(), gamma.source(), beta.source()]);
    let mean = means(shape, |place| sum(map(maps.values(), shape, place)));
    let variance = means(shape, |place| {
        let mean = mean[place % shape[1]] as f32;
        sum_with(map(maps.values(), shape, place), |x| (x - mean) * (x - mean))
    });
    let factors: Vec<f32> =
        variance.iter().map(|variance| (1.0 / (variance + VARIANCE_EPSILON).sqrt()) as f32).collect();
    let mut normal = maps.into_values();
    for_each_map(&mut normal, shape, |_, channel, map| {
        let (mean, factor) = (mean[channel] as f32, factors[channel]);
        map.iter_mut().for_each(|x| *x = (*x - mean) * factor);
    });
    let mut made = normal.clone();
    for_each_map(&mut made, shape, |_, channel, map| {
        let (gamma, beta) = (gamma.values()[channel], beta.values()[channel]);
        map.iter_mut().for_each(|x| *x = *x * gamma + beta);
    });
    let gamma = gamma.share_values();
    let output =
        Tensor::made(made, shape, sources, move |mut above, [to_maps, to_gamma, to_beta], gradients| {
            let for_beta = means(shape, |place| sum(map(&above, shape, place)));
            let for_gamma = means(shape, |place| dot(map(&above, shape, place), map(&normal, shape, place)));
            for_each_map(&mut above, shape, |place, channel, above| {
                let (mean, along) = (for_beta[channel] as f32, for_gamma[channel] as f32);
                let factor = gamma[channel] * factors[channel];
                for (above, normal) in above.iter_mut().zip(map(&normal, shape, place)) {
                    *above = factor * (*above - mean - normal * along);
                }
            });
            gradients.add(&to_maps, above);
            let count = (shape[0] * shape[2] * shape[3]) as f64;
            for (source, means) in [(to_gamma, for_gamma), (to_beta, for_beta)] {
                gradients.add(&source, means.into_iter().map(|mean| (mean * count) as f32).collect());
            }
        });
    NormalizedBatch { output, mean, variance }
}

/// Maps normalized by running statistics, as a constant: networks are judged so, not trained.
fn normalize_by_running(maps: Tensor<4>, [gamma, beta, mean, variance]: &[Tensor<1>; 4]) -> Tensor<4> {
    let shape = maps.dims();
    let mut values = maps.into_values();
    for_each_map(&mut values, shape, |_, channel, map| {
        let factor = gamma.values()[channel] / (variance.values()[channel] + VARIANCE_EPSILON as f32).sqrt();
        let start = beta.values()[channel] - mean.values()[channel] * factor;
        map.iter_mut().for_each(|x| *x = *x * factor + start);
    });
    Tensor::constant(values, shape)
}

/// Map number `place` of all images.
fn map(values: &[f32], [_, _, height, width]: [usize; 4], place: usize) -> &[f32] {
    &values[place * height * width..][..height * width]
}

/// Calls `change` with the number of each map, its channel and its values.
fn for_each_map(values: &mut [f32], shape: [usize; 4], change: impl Fn(usize, usize, &mut [f32])) {
    let [_, channels, height, width] = shape;
    let maps = values.chunks_exact_mut(height * width).enumerate();
    maps.for_each(|(place, map)| change(place, place % channels, map));
}

/// The means over each channel, from the sums over maps.
fn means([images, channels, height, width]: [usize; 4], of_map: impl Fn(usize) -> f32) -> Vec<f64> {
    let count = (images * height * width) as f64;
    (0..channels)
        .map(|channel| {
            (0..images).map(|image| f64::from(of_map(image * channels + channel))).sum::<f64>() / count
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<f32> {
        (0..36).map(|i| (i as f32 * 0.9).sin() + if i % 18 < 9 { 0.0 } else { 2.0 }).collect()
    }

    fn norm() -> BatchNorm {
        let mut norm = BatchNorm::new(2, &mut WeightInitializer::new(0, 0));
        norm.gamma.set_value_list(vec![0.7, 1.4]);
        norm
    }

    fn array(values: &[f32]) -> Tensor<4> {
        Tensor::constant(values.to_vec(), [2, 2, 3, 3])
    }

    fn weights() -> Vec<f32> {
        (0..36).map(|i| (i as f32).sin()).collect()
    }

    /// Σ of the outputs weighted by sin(i).
    fn weighted_output_sum(norm: &BatchNorm, values: &[f32]) -> f32 {
        let made = norm.clone().forward(array(values), true).into_values();
        made.iter().zip(weights()).map(|(value, weight)| value * weight).sum()
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let (values, norm) = (values(), norm());
        let input = array(&values).into_parameter();
        let made = norm.clone().forward(input.clone(), true);
        let mut gradients = made.backward(weights());
        let close = |slope: f32, gradient: f32, what: &str| {
            assert!((slope - gradient).abs() < 2e-3, "{what}: {slope}, not {gradient}");
        };
        let gradient = gradients.take(&input.source()).unwrap();
        for at in [0, 10, 17, 35] {
            let moved = |by: f32| {
                let mut moved = values.clone();
                moved[at] += by;
                weighted_output_sum(&norm, &moved)
            };
            close((moved(0.01) - moved(-0.01)) / 0.02, gradient[at], "input");
        }
        for (name, of) in [("gamma", 0), ("beta", 1)] {
            let part = |norm: &mut BatchNorm| if of == 0 { norm.gamma.clone() } else { norm.beta.clone() };
            let gradient = gradients.take(&part(&mut norm.clone()).values.clone().source()).unwrap();
            let moved = |by: f32| {
                let mut norm = norm.clone();
                let mut list = part(&mut norm).values.clone().into_values();
                list[1] += by;
                if of == 0 {
                    norm.gamma.set_value_list(list)
                } else {
                    norm.beta.set_value_list(list)
                }
                weighted_output_sum(&norm, &values)
            };
            close((moved(0.01) - moved(-0.01)) / 0.02, gradient[1], name);
        }
    }

    #[test]
    fn running_statistics_move_a_tenth_towards_the_batch_and_are_used_to_judge() {
        let mut norm = norm();
        let values = values();
        drop(norm.forward(array(&values), true));
        let first: Vec<f32> = (0..36).filter(|i| i % 18 < 9).map(|i| values[i]).collect();
        let mean = first.iter().sum::<f32>() / 18.0;
        let variance = first.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / 17.0;
        let running = |param: &Param<1>| param.val().into_values()[0];
        assert!((running(&norm.running_mean) - 0.1 * mean).abs() < 1e-6);
        assert!((running(&norm.running_variance) - (0.9 + 0.1 * variance)).abs() < 1e-6);
        let judged = norm.forward(array(&values), false).into_values();
        let expected = 0.7 * (values[0] - 0.1 * mean) / (0.9 + 0.1 * variance + 1e-5).sqrt();
        assert!((judged[0] - expected).abs() < 1e-5);
    }
}

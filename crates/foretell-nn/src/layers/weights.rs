//! Starting weights, drawn from one random stream.

use crate::layers::parameter::Param;
use crate::stream::{StreamPurpose, stream};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Makes the parameters of a network one after the other.
pub(crate) struct WeightInitializer {
    rng: ChaCha8Rng,
}

impl WeightInitializer {
    /// The weights of attempt `attempt` of the trial with this `seed`.
    pub(crate) fn new(seed: u64, attempt: usize) -> Self {
        Self { rng: stream(seed, StreamPurpose::Weights, attempt as u64) }
    }

    /// Values of U(−`bound`, `bound`).
    pub(crate) fn uniform<const D: usize>(&mut self, shape: [usize; D], bound: f64) -> Param<D> {
        let bound = bound as f32;
        let values = (0..shape.iter().product()).map(|_| self.rng.random_range(-bound..bound)).collect();
        self.parameter(values, shape, true)
    }

    /// Values of N(0, `sd`²), by Box and Muller's formula √(−2 ln u) · cos(2πv).
    pub(crate) fn normal<const D: usize>(&mut self, shape: [usize; D], sd: f64) -> Param<D> {
        let mut draw = || {
            // 1 − u instead of u, because u may be 0, which has no logarithm
            let (u, v): (f64, f64) = (1.0 - self.rng.random::<f64>(), self.rng.random());
            (sd * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()) as f32
        };
        let values = (0..shape.iter().product()).map(|_| draw()).collect();
        self.parameter(values, shape, true)
    }

    /// `count` equal values that are trained.
    pub(crate) fn constant(&mut self, count: usize, value: f32) -> Param<1> {
        self.parameter(vec![value; count], [count], true)
    }

    /// `count` equal values that the network keeps for itself; the optimizer leaves them alone.
    pub(crate) fn memory(&mut self, count: usize, value: f32) -> Param<1> {
        self.parameter(vec![value; count], [count], false)
    }

    fn parameter<const D: usize>(&self, values: Vec<f32>, shape: [usize; D], trained: bool) -> Param<D> {
        Param::new(values, shape, trained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_values_have_their_mean_and_deviation() {
        let mut weights = WeightInitializer::new(1, 0);
        let drawn = weights.normal([100, 100], 0.01);
        let values = drawn.val().into_values();
        let mean = values.iter().sum::<f32>() / 1e4;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / 1e4;
        // four standard errors of a mean and of a deviation of 10 000 values
        assert!(mean.abs() < 4.0 * 0.01 / 100.0, "{mean}");
        assert!((variance.sqrt() - 0.01).abs() < 4.0 * 0.01 / 141.0, "{variance}");
        assert!(drawn.is_trained() && !weights.memory(3, 0.5).is_trained());
    }
}

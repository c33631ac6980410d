//! Inverted dropout from a random stream of the trial.

use crate::tensor::Tensor;
use crate::tensor::elementwise::scale_each;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// In training a value is zero with probability `rate`, else divided by 1 − `rate`.
#[derive(Clone)]
pub(crate) struct DropoutLayer {
    rate: f64,
}

impl DropoutLayer {
    /// Dropout with this rate, in \[0, 1).
    pub(crate) fn new(rate: f64) -> Self {
        Self { rate }
    }

    /// `values`, some of them dropped; all of them where no random numbers are given (to judge, not to train).
    pub(crate) fn forward<const D: usize>(
        &self,
        values: Tensor<D>,
        rng: Option<&mut ChaCha8Rng>,
    ) -> Tensor<D> {
        let Some(rng) = rng else { return values };
        let mut bytes = vec![0; 2 * values.dims().iter().product::<usize>()];
        rng.fill_bytes(&mut bytes);
        let dropped = (self.rate * 65_536.0) as u32;
        let kept = (1.0 / (1.0 - self.rate)) as f32;
        let factors = bytes.chunks_exact(2).map(|pair| {
            let drawn = u32::from(u16::from_le_bytes([pair[0], pair[1]]));
            if drawn < dropped { 0.0 } else { kept }
        });
        scale_each(values, factors.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{StreamPurpose, stream};

    #[test]
    fn dropout_drops_its_rate_keeps_the_mean_and_rests_when_judging() {
        let dropout = DropoutLayer::new(0.5);
        let ones = Tensor::constant(vec![1.0; 10_000], [100, 100]);
        let mut rng = stream(1, StreamPurpose::Dropout, 0);
        let values = |rng| dropout.forward(ones.clone(), rng).into_values();
        let dropped = values(Some(&mut rng));
        let zeros = dropped.iter().filter(|v| **v == 0.0).count();
        // four standard deviations of a binomial count of 10 000
        assert!((zeros as f64 - 5000.0).abs() < 200.0, "{zeros}");
        assert!(dropped.iter().all(|v| *v == 0.0 || (*v - 2.0).abs() < 1e-6));
        assert!(values(None).iter().all(|v| (*v - 1.0).abs() < 1e-9));
    }
}

//! Response normalisation within channels, of cuda-convnet.

use crate::layers::pooling::mean_around;
use burn::tensor::Tensor;

/// x ↦ x / (1 + (`scale`/9) · Σ x²)^`power`, the sum over the 3 × 3 window around x in its own channel.
///
/// | symbol  | meaning                            | range |
/// |---------|------------------------------------|-------|
/// | `scale` | weight of the window's squares     | ≥ 0   |
/// | `power` | strength of the normalisation      | ≥ 0   |
///
/// Source: A. Krizhevsky, cuda-convnet, layer `rnorm`; Caffe's `LRN` within channels.
pub(crate) fn response_norm(images: Tensor<4>, scale: f64, power: f64) -> Tensor<4> {
    // a mean over nine values is their sum over nine
    let squares = mean_around(images.clone().square(), 3);
    images * squares.mul_scalar(scale).add_scalar(1.0).powf_scalar(-power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{Device, TensorData};

    const SHAPE: [usize; 4] = [2, 3, 4, 5];

    fn images() -> Vec<f32> {
        (0..120).map(|i| (i as f32 * 0.7).sin() * 2.0).collect()
    }

    fn tensor(values: &[f32]) -> Tensor<4> {
        let device = Device::flex().autodiff();
        Tensor::<4>::from_data(TensorData::new(values.to_vec(), SHAPE), &device).require_grad()
    }

    /// Σ of the outputs weighted by sin(i), computed in 64 bits from the formula.
    fn written_out(values: &[f32], scale: f64, power: f64) -> f64 {
        let mut total = 0.0;
        for (i, &value) in values.iter().enumerate() {
            let (map, row, column) = (i / 20, i / 5 % 4, i % 5);
            let mut squares = 0.0;
            for y in row.saturating_sub(1)..(row + 2).min(4) {
                for x in column.saturating_sub(1)..(column + 2).min(5) {
                    squares += f64::from(values[map * 20 + y * 5 + x]).powi(2);
                }
            }
            total += (i as f64).sin() * f64::from(value) / (1.0 + scale / 9.0 * squares).powf(power);
        }
        total
    }

    #[test]
    fn values_and_gradients_agree_with_the_formula_written_out() {
        for (scale, power) in [(5e-5, 0.75), (0.8, 0.75), (5.0, 3.0), (2.0, 0.01)] {
            let values = images();
            let input = tensor(&values);
            let weights: Vec<f32> = (0..120).map(|i| (i as f32).sin()).collect();
            let sum = (response_norm(input.clone(), scale, power) * tensor(&weights).detach()).sum();
            let gradients = sum.backward();
            let gradient: Vec<f32> = input.grad(&gradients).unwrap().into_data().try_into_vec().unwrap();
            let found = f64::from(sum.into_scalar::<f32>());
            assert!((found - written_out(&values, scale, power)).abs() < 1e-4, "{scale}, {power}: {found}");
            for at in [0, 7, 23, 61, 119] {
                let mut moved = values.clone();
                moved[at] += 1e-3;
                let up = written_out(&moved, scale, power);
                moved[at] -= 2e-3;
                let slope = (up - written_out(&moved, scale, power)) / 2e-3;
                assert!((slope - f64::from(gradient[at])).abs() < 1e-3, "{scale}, {power}, {at}: {slope}");
            }
        }
    }
}

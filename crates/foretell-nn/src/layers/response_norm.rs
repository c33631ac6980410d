//! Response normalization within channels, of cuda-convnet.

use crate::tensor::Tensor;

/// x ↦ x / (1 + (`scale`/9) · Σ x²)^`power`, the sum over the 3 × 3 window around x in its own channel.
///
/// | symbol  | meaning                            | range |
/// |---------|------------------------------------|-------|
/// | `scale` | weight of the window's squares     | ≥ 0   |
/// | `power` | strength of the normalization      | ≥ 0   |
///
/// Source: A. Krizhevsky, cuda-convnet, layer `rnorm`; Caffe's `LRN` within channels.
///
/// With s = 1 + (scale/9)·Σ x²: the gradient of xⱼ is aboveⱼ·sⱼ^−power − 2·power·(scale/9)·xⱼ · Σ aboveᵢ·xᵢ·sᵢ^(−power−1) over its window.
pub(crate) fn response_norm(images: Tensor<4>, scale: f64, power: f64) -> Tensor<4> {
    let (scale, power) = (scale as f32, power as f32);
    let shape = images.dims();
    let [_, _, height, width] = shape;
    let share = scale / 9.0;
    let (values, source) = (images.share_values(), images.source());
    let squares: Vec<f32> = values.iter().map(|x| x * x).collect();
    let mut sums = window_sums(squares, height, width);
    sums.iter_mut().for_each(|sum| *sum = 1.0 + share * *sum);
    let factors: Vec<f32> = sums.iter().map(|sum| sum.powf(-power)).collect();
    let made: Vec<f32> = values.iter().zip(&factors).map(|(x, factor)| x * factor).collect();
    Tensor::made(made, shape, [source], move |mut above, [source], gradients| {
        let mut through = sums;
        for (place, sum) in through.iter_mut().enumerate() {
            *sum = above[place] * values[place] * factors[place] / *sum;
        }
        let through = window_sums(through, height, width);
        for (place, above) in above.iter_mut().enumerate() {
            *above = *above * factors[place] - 2.0 * power * share * values[place] * through[place];
        }
        gradients.add(&source, above);
    })
}

/// The sums over the 3 × 3 windows around each value of each map; what lies over the border counts as 0.
fn window_sums(mut values: Vec<f32>, height: usize, width: usize) -> Vec<f32> {
    let mut beside = vec![0.0_f32; values.len()];
    for (line, sums) in values.chunks_exact(width).zip(beside.chunks_exact_mut(width)) {
        sums.copy_from_slice(line);
        sums[1..].iter_mut().zip(line).for_each(|(sum, left)| *sum += left);
        sums.iter_mut().zip(&line[1..]).for_each(|(sum, right)| *sum += right);
    }
    values.copy_from_slice(&beside);
    for (map, sums) in beside.chunks_exact(height * width).zip(values.chunks_exact_mut(height * width)) {
        sums[width..].iter_mut().zip(map).for_each(|(sum, over)| *sum += over);
        sums.iter_mut().zip(&map[width..]).for_each(|(sum, under)| *sum += under);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    const SHAPE: [usize; 4] = [2, 3, 4, 5];

    fn images() -> Vec<f32> {
        (0..120).map(|i| (i as f32 * 0.7).sin() * 2.0).collect()
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
            let input = Tensor::constant(values.clone(), SHAPE).into_parameter();
            let normed = response_norm(input.clone(), scale, power);
            let weights: Vec<f32> = (0..120).map(|i| (i as f32).sin()).collect();
            let found: f64 = normed.values().iter().zip(&weights).map(|(a, b)| f64::from(a * b)).sum();
            let gradient = normed.backward(weights).take(&input.source()).unwrap();
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

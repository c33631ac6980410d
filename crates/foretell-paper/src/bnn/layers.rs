//! Dense layers over mini-batches, as flat loops: forward, backward, and the hyperbolic tangent.

use foretell::linalg::simd::{add_four_rows, dispatched, dot_body, exp_any_body, four_entries, four_rows};

dispatched! {
    /// out = x·W + b for each row: x of shape (rows, from), W (from, to) and after it b (to), out (rows, to).
    pub(crate) fn dense(x: &[f64], weights: &[f64], from: usize, to: usize, out: &mut [f64]) {
        let bias = &weights[from * to..(from + 1) * to];
        for (r, row) in out.chunks_exact_mut(to).enumerate() {
            let x = &x[r * from..(r + 1) * from];
            row.copy_from_slice(bias);
            let mut i = 0;
            while i + 4 <= from {
                add_four_rows(row, four_entries(x, i), four_rows(weights, to, [i, i + 1, i + 2, i + 3], to));
                i += 4;
            }
            for i in i..from {
                for (sum, weight) in row.iter_mut().zip(&weights[i * to..(i + 1) * to]) {
                    *sum = x[i].mul_add(*weight, *sum);
                }
            }
        }
    }
}

dispatched! {
    /// The gradient of W and b by `slope` (rows, to), the derivatives by [`dense`]'s result: added to `gradient`.
    pub(crate) fn dense_gradient(x: &[f64], slope: &[f64], from: usize, to: usize, gradient: &mut [f64]) {
        for (x, slope) in x.chunks_exact(from.max(1)).zip(slope.chunks_exact(to)) {
            for (row, x) in gradient.chunks_exact_mut(to).zip(x) {
                for (sum, s) in row.iter_mut().zip(slope) {
                    *sum = x.mul_add(*s, *sum);
                }
            }
        }
        for slope in slope.chunks_exact(to) {
            for (sum, s) in gradient[from * to..].iter_mut().zip(slope) {
                *sum += s;
            }
        }
    }
}

dispatched! {
    /// The gradient of x by `slope` (rows, to), times 1 − x²: the derivatives before the tangent that made x. Into `out` (rows, from).
    pub(crate) fn through_tanh(
        x: &[f64], slope: &[f64], weights: &[f64], from: usize, to: usize, out: &mut [f64],
    ) {
        for (r, row) in out.chunks_exact_mut(from).enumerate() {
            let slope = &slope[r * to..(r + 1) * to];
            for (i, value) in row.iter_mut().enumerate() {
                let x = x[r * from + i];
                *value = dot_body(&weights[i * to..(i + 1) * to], slope) * (1.0 - x * x);
            }
        }
    }
}

dispatched! {
    /// x ← tanh(x) = 1 − 2/(1 + e^(2x)).
    pub(crate) fn tanh(x: &mut [f64]) {
        for value in x {
            *value = 1.0 - 2.0 / (1.0 + exp_any_body(2.0 * *value));
        }
    }
}

/// e^x in single precision for |x| ≤ 80, relative error below 3e-7.
#[inline(always)]
fn exp_single(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5·2^23: adding it rounds to an integer kept in the low bits
    let scaled = x.clamp(-80.0, 80.0) * std::f32::consts::LOG2_E;
    let shifted = scaled + ROUND;
    let f = (scaled - (shifted - ROUND)) * std::f32::consts::LN_2;
    let mut p: f32 = 1.0 / 720.0;
    for inverse in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = p.mul_add(f, inverse);
    }
    f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23))
}

dispatched! {
    /// tanh(x·W + b) in single precision for one row, or x·W + b where `linear`: forecasts read many networks from
    /// memory, and half the bytes are half the time.
    pub(crate) fn dense_single(x: &[f32], weights: &[f32], linear: bool, out: &mut [f32]) {
        let to = out.len();
        out.copy_from_slice(&weights[x.len() * to..(x.len() + 1) * to]);
        let (fours, rest) = x.as_chunks::<4>();
        for (x, rows) in fours.iter().zip(weights.chunks_exact(4 * to)) {
            let (a, b, c, d) = (&rows[..to], &rows[to..2 * to], &rows[2 * to..3 * to], &rows[3 * to..]);
            for ((((sum, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *sum = x[0].mul_add(*a, x[1].mul_add(*b, x[2].mul_add(*c, x[3].mul_add(*d, *sum))));
            }
        }
        for (x, row) in rest.iter().zip(weights[4 * fours.len() * to..].chunks_exact(to)) {
            for (sum, weight) in out.iter_mut().zip(row) {
                *sum = x.mul_add(*weight, *sum);
            }
        }
        if !linear {
            for value in out {
                *value = 1.0 - 2.0 / (1.0 + exp_single(2.0 * *value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: f64) -> Vec<f64> {
        (0..n).map(|i| (seed + 1.7 * i as f64).sin()).collect()
    }

    #[test]
    fn layers_are_their_formula_and_their_derivatives_finite_differences() {
        let (rows, from, to) = (3, 6, 5);
        let (x, weights) = (numbers(rows * from, 0.1), numbers((from + 1) * to, 0.2));
        let mut out = vec![0.0; rows * to];
        dense(&x, &weights, from, to, &mut out);
        let by_hand: f64 =
            (0..from).map(|i| x[from + i] * weights[i * to + 2]).sum::<f64>() + weights[from * to + 2];
        assert!((out[to + 2] - by_hand).abs() < 1e-12);
        // the derivatives of Σ s·out
        let slope = numbers(rows * to, 0.3);
        let sum = |x: &[f64], weights: &[f64]| {
            let mut out = vec![0.0; rows * to];
            dense(x, weights, from, to, &mut out);
            foretell::linalg::simd::dot(&out, &slope)
        };
        let mut gradient = vec![0.0; weights.len()];
        dense_gradient(&x, &slope, from, to, &mut gradient);
        for j in 0..weights.len() {
            let mut moved = weights.clone();
            moved[j] += 1e-6;
            let difference = (sum(&x, &moved) - sum(&x, &weights)) / 1e-6;
            assert!((difference - gradient[j]).abs() < 1e-6, "weight {j}");
        }
        let mut back = vec![0.0; rows * from];
        through_tanh(&x, &slope, &weights, from, to, &mut back);
        for j in 0..x.len() {
            let mut moved = x.clone();
            moved[j] += 1e-6;
            let difference = (sum(&moved, &weights) - sum(&x, &weights)) / 1e-6 * (1.0 - x[j] * x[j]);
            assert!((difference - back[j]).abs() < 1e-6, "input {j}");
        }
    }

    #[test]
    fn the_tangent_is_that_of_the_library() {
        let mut x: Vec<f64> = (-400..400).map(|i| f64::from(i) / 10.0).collect();
        let expected: Vec<f64> = x.iter().map(|x| x.tanh()).collect();
        tanh(&mut x);
        assert!(x.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-15));
    }

    #[test]
    fn single_precision_agrees_with_double() {
        for from in [0, 3, 8, 13] {
            let (x, weights) = (numbers(from, 0.5), numbers((from + 1) * 7, 0.6));
            let mut exact = vec![0.0; 7];
            dense(&x, &weights, from, 7, &mut exact);
            tanh(&mut exact);
            let single = |values: &[f64]| values.iter().map(|&v| v as f32).collect::<Vec<f32>>();
            let mut out = vec![0.0; 7];
            dense_single(&single(&x), &single(&weights), false, &mut out);
            for (a, b) in out.iter().zip(&exact) {
                assert!((f64::from(*a) - b).abs() < 2e-6, "{a} for {b}");
            }
        }
    }
}

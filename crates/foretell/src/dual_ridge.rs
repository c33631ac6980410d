//! Ridge regression in its dual form, with closed-form leave-one-out: the linear expert of the blend.

use crate::features::{Scaler, TargetScaler};
use crate::inverse::Symmetric;
use crate::kernel_ridge::reach;
use crate::matrix::Matrix;
use crate::simd::{dot, inner_products};

/// Penalties λ, relative to the mean squared length of a row. Smaller ones win by leave-one-out now and then, and are then far
/// off on other runs.
const PENALTIES: [f64; 6] = [3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0];
/// A column outside the range of the training rows is moved to within this share of the range beyond it.
const MARGIN: f64 = 0.1;

/// f(x) = ȳ + Σ_i α_i (x_i·x/d + 1) on standardised rows of d columns, α = (XXᵀ/d + 1 + λI)⁻¹ y, with λ of least squared
/// leave-one-out error. O(n²d + n³) to fit, O(d) to forecast.
///
/// Source: Saunders, Gammerman & Vovk, *Ridge regression learning algorithm in dual variables*, 1998.
pub(crate) struct DualRidge {
    scaler: Scaler,
    /// What forecasts may ask of each column.
    reach: Vec<(f64, f64)>,
    target: TargetScaler,
    weights: Vec<f64>,
    bias: f64,
    /// The target of each row, forecast without it.
    pub(crate) left_out: Vec<f64>,
}

impl DualRidge {
    /// Fits on the rows of `x`, shape (n, d), not standardised; `None` if the numbers allow no fit.
    pub(crate) fn fit(x: &Matrix, targets: &[f64]) -> Option<Self> {
        let n = targets.len();
        let scaler = Scaler::fit(x, 0..n);
        let rows = scaler.transform(x, &(0..n).collect::<Vec<_>>());
        let target = TargetScaler::fit(targets.iter().copied());
        let y: Vec<f64> = targets.iter().map(|&value| target.apply(value)).collect();
        let gram = gram(&rows);
        let solve = |&penalty: &f64| solve(&gram, &y, penalty);
        let solutions = PENALTIES.iter().filter_map(solve);
        let (_, alpha, residuals) = solutions.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let mut weights = vec![0.0; rows.columns()];
        for (i, a) in alpha.iter().enumerate() {
            for (weight, value) in weights.iter_mut().zip(rows.row(i)) {
                *weight += a * value / rows.columns().max(1) as f64;
            }
        }
        let left_out = y.iter().zip(residuals).map(|(y, r)| target.invert(y - r)).collect();
        Some(Self {
            scaler,
            reach: reach(&rows, MARGIN),
            target,
            weights,
            bias: alpha.iter().sum(),
            left_out,
        })
    }

    /// The target of a new row, not standardised.
    pub(crate) fn forecast(&self, mut row: Vec<f64>) -> f64 {
        self.scaler.apply(&mut row);
        for (value, &(low, high)) in row.iter_mut().zip(&self.reach) {
            *value = value.clamp(low, high);
        }
        self.target.invert(dot(&row, &self.weights) + self.bias)
    }
}

/// XXᵀ/d + 1.
fn gram(rows: &Matrix) -> Symmetric {
    let mut gram = Symmetric::zeros(rows.rows());
    inner_products(rows.as_slice(), rows.as_slice(), rows.columns(), gram.stride, &mut gram.data);
    let d = rows.columns().max(1) as f64;
    gram.data.iter_mut().for_each(|value| *value = *value / d + 1.0);
    gram
}

/// (squared leave-one-out error, α, leave-one-out residuals α_i/(K⁻¹)_ii) at one penalty.
fn solve(gram: &Symmetric, y: &[f64], penalty: f64) -> Option<(f64, Vec<f64>, Vec<f64>)> {
    let mut kernel = gram.clone();
    for i in 0..kernel.n {
        kernel.data[i * kernel.stride + i] += penalty;
    }
    kernel.invert()?;
    let mut alpha = vec![0.0; y.len()];
    kernel.multiply(y, &mut alpha);
    let residuals: Vec<f64> = alpha.iter().enumerate().map(|(i, a)| a / kernel.diagonal(i)).collect();
    let squares = dot(&residuals, &residuals);
    squares.is_finite().then_some((squares, alpha, residuals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_law_is_found_although_columns_repeat() {
        let law = |i: f64| [i.sin(), i.sin(), (2.0 * i).cos(), 7.0];
        let x = Matrix::from_rows(&(0..30).map(|i| law(f64::from(i))).collect::<Vec<_>>());
        let y: Vec<f64> = (0..30).map(|i| 3.0 + 2.0 * x.row(i)[0] - x.row(i)[2]).collect();
        let model = DualRidge::fit(&x, &y).unwrap();
        assert!(model.left_out.iter().zip(&y).all(|(f, y)| (f - y).abs() < 1e-3));
        let new = law(100.5);
        assert!((model.forecast(new.to_vec()) - (3.0 + 2.0 * new[0] - new[2])).abs() < 1e-3);
    }

    #[test]
    fn closed_form_leave_one_out_is_that_of_leaving_out() {
        let x = Matrix::from_fn(9, 2, |i, j| ((i * (j + 2)) as f64).sin());
        let gram = gram(&x);
        let y: Vec<f64> = (0..9).map(|i| (f64::from(i)).cos()).collect();
        let (_, _, residuals) = solve(&gram, &y, 0.1).unwrap();
        let keep: Vec<usize> = (1..9).collect();
        let mut part = Symmetric::zeros(8);
        for (a, &i) in keep.iter().enumerate() {
            for (b, &j) in keep.iter().enumerate() {
                part.data[a * 8 + b] = gram.data[i * gram.stride + j];
            }
        }
        let (_, alpha, _) = solve(&part, &y[1..], 0.1).unwrap();
        let forecast: f64 = keep.iter().zip(&alpha).map(|(&i, a)| a * gram.data[i * gram.stride]).sum();
        assert!((y[0] - residuals[0] - forecast).abs() < 1e-10);
    }
}

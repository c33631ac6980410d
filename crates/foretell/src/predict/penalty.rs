//! Shared parts of ridge regressions: the penalty chosen by leave-one-out in closed form, and limits of the features.

use crate::linalg::matrix::Matrix;
use crate::linalg::simd::dot;
use crate::linalg::tridiagonal::ResolvedPoints;
use crate::statistics::{min_and_max, widen_range};

/// The penalties of a grid, largest first: `count` of them, four a decade, from `largest` down.
pub(crate) fn penalties(largest: f64, count: i32) -> impl Iterator<Item = f64> {
    (0..count).map(move |step| largest * 10_f64.powf(-0.25 * f64::from(step)))
}

/// The sum of squares.
pub(crate) fn squares(values: &[f64]) -> f64 {
    dot(values, values)
}

/// Leave-one-out residuals of a ridge with centered kernel matrix K and free intercept: λα_i/(λB_ii − 1/n), where
/// B = (K + λ)⁻¹ and α = B·y.
pub(crate) fn dual_left_out(lambda: f64, resolved: &ResolvedPoints) -> Vec<f64> {
    let share = 1.0 / resolved.forms.len() as f64;
    let rows = resolved.products.iter().zip(&resolved.forms);
    rows.map(|(alpha, form)| lambda * alpha / (lambda * form - share).max(1e-12)).collect()
}

/// The penalty whose leave-one-out residuals have the least sum of squares, the first of equals, and the residuals.
pub(crate) fn least(
    penalties: impl Iterator<Item = f64>,
    mut left_out: impl FnMut(f64, &mut ResolvedPoints) -> Vec<f64>,
) -> (f64, Vec<f64>) {
    let mut room = ResolvedPoints::default();
    let mut best = (f64::INFINITY, 1.0, Vec::new());
    for lambda in penalties {
        let residuals = left_out(lambda, &mut room);
        let loss = squares(&residuals);
        if best.2.is_empty() || loss < best.0 {
            best = (loss, lambda, residuals);
        }
    }
    (best.1, best.2)
}

/// The range of each column, wider on both sides by `share` of itself: beyond, a smooth kernel with a small penalty grows
/// like a polynomial.
pub(crate) fn reach(rows: &Matrix, share: f64) -> Vec<(f64, f64)> {
    (0..rows.column_count()).map(|j| widen_range(min_and_max(rows.column(j).into_iter()), share)).collect()
}

//! Standardization on all runs, and the change if fewer are standardized on: one weight per column.

use crate::linalg::matrix::Matrix;
use crate::linalg::simd::VECTOR_LANES;
use crate::predict::points::BlockedPoints;

/// A spread below this share of the mean is rounding, and the column constant.
const ROUNDING_FRACTION: f64 = 1e-12;

/// Mean and inverse standard deviation (divisor n; 0 for a constant column) of every column of a design matrix.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ColumnMoments {
    pub(crate) mean: Vec<f64>,
    pub(crate) inverse: Vec<f64>,
}

impl ColumnMoments {
    /// The first `d` columns.
    pub(crate) fn leading(&self, d: usize) -> Self {
        Self { mean: self.mean[..d].to_vec(), inverse: self.inverse[..d].to_vec() }
    }
}

/// Mean and standard deviation of `values`, two passes; a spread of rounding counts as none.
fn mean_and_deviation(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / n;
    let sd = (values.map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt();
    (mean, if sd > ROUNDING_FRACTION * mean.abs().max(1e-300) { sd } else { 0.0 })
}

/// 1/x, and 0 for 0.
fn inverse_or_zero(x: f64) -> f64 {
    if x > 0.0 { 1.0 / x } else { 0.0 }
}

/// The weights of one column for every subset a fit needs: the runs outside each fold, and all runs but one.
///
/// Let s be the column's standard deviation on all n runs and s′ on a subset; its weight is (s/s′)², or 0 where it is
/// constant there. Without run i, s′²/s² = n/(n − 1)·(1 − z²/(n − 1)), z the standardized value of run i; where that
/// cancels it is computed from the subset.
struct ColumnWeights<'a> {
    values: &'a [f64],
    mean: f64,
    sd: f64,
}

impl ColumnWeights<'_> {
    fn subset_weight(&self, keep: impl Fn(usize) -> bool + Clone) -> f64 {
        let kept = self.values.iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, &v)| v);
        (self.sd * inverse_or_zero(mean_and_deviation(kept).1)).powi(2)
    }

    fn without(&self, left_out: usize) -> f64 {
        let n = self.values.len() as f64;
        let z = (self.values[left_out] - self.mean) * inverse_or_zero(self.sd);
        let share = 1.0 - z * z / (n - 1.0);
        if share > 1e-2 && self.sd > 0.0 {
            return (n - 1.0) / (n * share);
        }
        self.subset_weight(|i| i != left_out)
    }
}

/// A design matrix by columns, standardized on all rows and padded to whole vectors, with the weights of subsets.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScaledDesign {
    pub(crate) n: usize,
    pub(crate) stride: usize,
    scale: bool,
    pub(crate) columns: ColumnMoments,
    /// Column after column, each padded with zeros to `stride`.
    pub(crate) z: Vec<f64>,
    /// The columns as pairwise sums read them.
    pub(crate) points: BlockedPoints,
    /// The columns as pairwise sums read them, in single precision.
    pub(crate) rough_points: BlockedPoints<f32>,
    /// Column after column: the weights without each run, less 1.
    pub(crate) loo_changes: Vec<f64>,
}

impl ScaledDesign {
    /// Standardizes `x`, shape (n, features), and weighs its columns without each run; with `scale` false everything
    /// stays as it is, and weighs 1. O(features · n).
    pub(crate) fn new(x: &Matrix, scale: bool) -> Self {
        let (n, d) = (x.row_count(), x.column_count());
        let stride = n.next_multiple_of(VECTOR_LANES);
        let mut scaled = Self { n, stride, scale, z: vec![0.0; d * stride], ..Self::default() };
        for j in 0..d {
            let values = x.column(j);
            let (mean, sd) = if scale { mean_and_deviation(values.iter().copied()) } else { (0.0, 1.0) };
            let column = ColumnWeights { values: &values, mean, sd };
            let inverse = inverse_or_zero(sd);
            for (cell, value) in scaled.z[j * stride..].iter_mut().zip(&values) {
                *cell = (value - mean) * inverse;
            }
            scaled.loo_changes.extend((0..n).map(|i| if scale { column.without(i) - 1.0 } else { 0.0 }));
            scaled.columns.mean.push(mean);
            scaled.columns.inverse.push(inverse);
        }
        scaled.points = BlockedPoints::new(&scaled.z, stride, |z| z);
        scaled.rough_points = BlockedPoints::new(&scaled.z, stride, |z| z as f32);
        scaled
    }

    /// The first `d` columns, standardized.
    pub(crate) fn leading(&self, d: usize) -> &[f64] {
        &self.z[..d * self.stride]
    }

    /// For each of the first `d` columns: the weights of the training side of each of `count` folds, then 1 for all runs. O(d · n · folds).
    pub(crate) fn fold_weights(&self, d: usize, folds: &[usize], count: usize) -> Vec<f64> {
        let mut weights = vec![1.0; d * (count + 1)];
        if self.scale {
            let inside: Vec<Vec<usize>> =
                (0..count).map(|f| (0..self.n).filter(|&i| folds[i] != f).collect()).collect();
            for (row, column) in weights.chunks_mut(count + 1).zip(self.z.chunks(self.stride)) {
                for (weight, inside) in row.iter_mut().zip(&inside) {
                    *weight =
                        inverse_or_zero(mean_and_deviation(inside.iter().map(|&i| column[i])).1).powi(2);
                }
            }
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::paper::FeatureScaler;

    #[test]
    fn weights_turn_the_common_scaling_into_that_of_each_subset() {
        let mut x = Matrix::from_fn(9, 4, |i, j| ((i * 7 + j * 3) as f64 * 0.9).sin() + j as f64);
        for i in 0..9 {
            x.row_mut(i)[2] = if i == 4 { 1.0 } else { 0.0 }; // constant without run 4
            x.row_mut(i)[3] = 5.0;
        }
        let folds = [0, 1, 2, 0, 1, 2, 0, 1, 2];
        let scaled = ScaledDesign::new(&x, true);
        let fold_weights = scaled.fold_weights(4, &folds, 3);
        let distance = |weights: &dyn Fn(usize) -> f64, a: usize, b: usize| {
            (0..4).map(|f| weights(f) * (scaled.z[f * 16 + a] - scaled.z[f * 16 + b]).powi(2)).sum::<f64>()
        };
        let direct = |keep: &[usize], a: usize, b: usize| {
            let rows = FeatureScaler::fit(&x, keep.iter().copied()).transform(&x, &[a, b]);
            rows.row(0).iter().zip(rows.row(1)).map(|(p, q)| (p - q).powi(2)).sum::<f64>()
        };
        for (a, b) in [(0, 1), (2, 7), (8, 3)] {
            for fold in 0..3 {
                let keep: Vec<usize> = (0..9).filter(|&i| folds[i] != fold).collect();
                let weighted = distance(&|f| fold_weights[f * 4 + fold], a, b);
                assert!((weighted - direct(&keep, a, b)).abs() < 1e-10, "fold {fold}, {a} {b}");
            }
            for left_out in 0..9 {
                let keep: Vec<usize> = (0..9).filter(|&i| i != left_out).collect();
                let weighted = distance(&|f| 1.0 + scaled.loo_changes[f * 9 + left_out], a, b);
                assert!((weighted - direct(&keep, a, b)).abs() < 1e-10, "without {left_out}, {a} {b}");
            }
        }
    }
}

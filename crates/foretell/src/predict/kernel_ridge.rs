//! Kernel ridge regression with an RBF kernel: as flexible as the paper's ν-SVR, with leave-one-out in closed form.

use crate::curves::training::TrainingSet;
use crate::features::paper::{FeatureSet, Scaler, TargetScaler};
use crate::linalg::matrix::Matrix;
use crate::linalg::simd::{dot, exp_scaled, squared_distances};
use crate::linalg::tridiagonal::{Resolved, Tridiagonal};
use crate::predict::penalty::{dual_left_out, least, penalties, reach, squares};
use crate::predict::points::Points;
use crate::predict::predictor::{FitError, Model, Predictor};
use crate::predict::row_regression::{RowRegression, fit_rows};

/// Kernel ridge regression: ŷ(x) = b + Σ α_i·e^(−γ‖x − x_i‖²) on standardised features and target, (K + λ)α + b = y.
///
/// | symbol | meaning | range |
/// |---|---|---|
/// | γ | width of the kernel, times the number of features that vary: powers of 4, then the neighbouring powers of 2 | 4⁻⁶ to 4 |
/// | λ | penalty, four values a decade | 10⁻⁶ to 10 |
/// | `features` | which feature groups | default all |
///
/// Features of a forecast are clipped to the training range and a tenth more. The pair with the least sum of squared leave-one-out residuals λα_i/(λB_ii − 1/n), B = (HKH + λ)⁻¹, H the centring
/// matrix (which makes the intercept b free); σ(τ) from the same residuals, scaling of all runs kept. One tridiagonal
/// reduction for each γ, O(n³), then O(n²) for each λ; O(n·d) to forecast. Needs 3 runs. No random draws, so the seed
/// has no effect.
///
/// Source: Saunders, Gammerman & Vovk 1998; leave-one-out as in Cawley & Talbot 2004. Not in the paper: it replaces the
/// 3000 fits of a ν-SVR search where speed matters.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct KernelRidge {
    /// Which feature groups are used.
    pub features: FeatureSet,
}

impl Predictor for KernelRidge {
    fn name(&self) -> &'static str {
        "kernel-ridge"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        fit_rows(self.name(), training, self.features, KernelFit::new)
    }
}

/// A fitted kernel ridge, with its leave-one-out forecasts.
#[derive(Clone, Debug)]
pub(crate) struct KernelFit {
    scaler: Scaler,
    target: TargetScaler,
    points: Points,
    /// What forecasts may ask of each column of `points`.
    reach: Vec<(f64, f64)>,
    gamma: f64,
    alpha: Vec<f64>,
    bias: f64,
    /// The forecast of each training row without it.
    pub(crate) held_out: Vec<f64>,
}

impl KernelFit {
    /// Fits `y`, length n, on `x`, shape (n, d), not standardised.
    pub(crate) fn new(x: &Matrix, y: &[f64]) -> Self {
        let n = y.len();
        let all: Vec<usize> = (0..n).collect();
        let scaler = Scaler::fit(x, 0..n);
        let target = TargetScaler::fit(y.iter().copied());
        let rows = scaler.transform(x, &all);
        let targets: Vec<f64> = y.iter().map(|&y| target.apply(y)).collect();
        let mut distances = Matrix::zeros(n, n);
        squared_distances(rows.as_slice(), rows.as_slice(), x.columns(), n.max(1), distances.as_mut_slice());
        let best = search(&distances, varying(&rows), &targets);
        let held_out = y.iter().zip(&best.residuals).map(|(y, residual)| y - target.scale * residual);
        Self {
            held_out: held_out.collect(),
            gamma: best.gamma,
            bias: best.bias,
            alpha: best.alpha,
            reach: reach(&rows, 0.1),
            scaler,
            target,
            points: Points::of_rows(&rows),
        }
    }

    /// The forecast for the features `row`, which is standardised in place.
    pub(crate) fn predict(&self, row: &mut [f64]) -> f64 {
        self.scaler.apply(row);
        for (value, &(low, high)) in row.iter_mut().zip(&self.reach) {
            *value = value.clamp(low, high);
        }
        let distances = self.points.distances(row, self.alpha.len());
        let mut kernel = vec![0.0; distances.len()];
        exp_scaled(&distances, self.gamma, &mut kernel);
        self.target.invert(self.bias + dot(&kernel, &self.alpha))
    }
}

/// How many columns are not zero throughout; at least 1.
fn varying(rows: &Matrix) -> usize {
    let moved = |j: &usize| (0..rows.rows()).any(|i| rows.row(i)[*j].abs() > 0.0);
    (0..rows.columns()).filter(moved).count().max(1)
}

/// The best penalty for one γ.
struct Candidate {
    gamma: f64,
    loss: f64,
    alpha: Vec<f64>,
    bias: f64,
    residuals: Vec<f64>,
}

/// The widths 4⁻⁶ … 4 over the number of columns, then twice and half the best of them.
fn search(distances: &Matrix, columns: usize, targets: &[f64]) -> Candidate {
    let coarse: Vec<i32> = (-6..=1).map(|k| 2 * k).collect();
    let best = best_of(&coarse, distances, columns, targets);
    let next = best_of(&[best.0 - 1, best.0 + 1], distances, columns, targets);
    better(best, next).1
}

/// Of the widths 2^power over the number of columns the one with the least loss, the first of equals.
fn best_of(powers: &[i32], distances: &Matrix, columns: usize, targets: &[f64]) -> (i32, Candidate) {
    let at = |&power: &i32| (power, Candidate::new(distances, 2_f64.powi(power) / columns as f64, targets));
    powers.iter().map(at).reduce(better).expect("there are widths")
}

/// The candidate with the smaller loss, the first of equals.
fn better(a: (i32, Candidate), b: (i32, Candidate)) -> (i32, Candidate) {
    if b.1.loss < a.1.loss { b } else { a }
}

impl Candidate {
    fn new(distances: &Matrix, gamma: f64, targets: &[f64]) -> Self {
        let n = targets.len();
        let mut kernel = Matrix::zeros(n, n);
        exp_scaled(distances.as_slice(), gamma, kernel.as_mut_slice());
        let means = center(&mut kernel);
        let form = Tridiagonal::new(&kernel);
        let (rotated, points) = (form.rotate(targets), form.unit_points());
        let left_out = |lambda: f64, out: &mut Resolved| {
            form.resolve(lambda, &points, &rotated, out);
            dual_left_out(lambda, out)
        };
        let (lambda, residuals) = least(penalties(10.0, 29), left_out);
        let alpha = form.solve(lambda, &rotated);
        Self { gamma, loss: squares(&residuals), bias: -dot(&alpha, &means), alpha, residuals }
    }
}

/// Takes the mean of every row and column off a symmetric matrix; gives the means of its rows.
fn center(kernel: &mut Matrix) -> Vec<f64> {
    let n = kernel.rows();
    let means: Vec<f64> = (0..n).map(|i| crate::statistics::mean(kernel.row(i))).collect();
    let total = crate::statistics::mean(&means);
    for (i, mean) in means.iter().enumerate() {
        for (cell, other) in kernel.row_mut(i).iter_mut().zip(&means) {
            *cell -= mean + (other - total);
        }
    }
    means
}

impl RowRegression for KernelFit {
    fn predict(&self, row: &mut [f64]) -> f64 {
        KernelFit::predict(self, row)
    }

    fn held_out(&self) -> &[f64] {
        &self.held_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_a_curved_surface_and_knows_its_error() {
        let point = |i: usize| [(i as f64 * 0.73).sin(), (i as f64 * 1.31).cos()];
        let truth = |p: &[f64; 2]| (2.0 * p[0]).sin() + p[0] * p[1];
        let rows: Vec<[f64; 2]> = (0..80).map(point).collect();
        let y: Vec<f64> = rows.iter().map(truth).collect();
        let fit = KernelFit::new(&Matrix::from_rows(&rows), &y);
        for i in 200..230 {
            let query = point(i);
            assert!((fit.predict(&mut query.to_vec()) - truth(&query)).abs() < 0.05, "point {i}");
        }
        assert!(fit.held_out.iter().zip(&y).all(|(forecast, y)| (forecast - y).abs() < 0.2));
    }

    #[test]
    fn left_out_forecasts_are_those_of_refitting_without_the_run() {
        let rows: Vec<[f64; 2]> = (0..20).map(|i| [(i as f64).sin(), (i as f64 * 0.4).cos()]).collect();
        let y: Vec<f64> = (0..20).map(|i| (i as f64 * 1.7).sin()).collect();
        let x = Matrix::from_rows(&rows);
        let distances = |keep: &[usize]| {
            let rest = x.select(keep);
            let mut d = Matrix::zeros(keep.len(), keep.len());
            squared_distances(rest.as_slice(), rest.as_slice(), 2, keep.len(), d.as_mut_slice());
            d
        };
        let all: Vec<usize> = (0..20).collect();
        let (gamma, lambda) = (0.8, 0.05);
        let solve = |keep: &[usize], out: &mut Resolved| {
            let targets: Vec<f64> = keep.iter().map(|&i| y[i]).collect();
            let mean = crate::statistics::mean(&targets);
            let mut kernel = Matrix::zeros(keep.len(), keep.len());
            exp_scaled(distances(keep).as_slice(), gamma, kernel.as_mut_slice());
            let means = super::center(&mut kernel);
            let form = Tridiagonal::new(&kernel);
            let rotated = form.rotate(&targets.iter().map(|y| y - mean).collect::<Vec<_>>());
            form.resolve(lambda, &form.unit_points(), &rotated, out);
            mean - dot(&out.products, &means)
        };
        let mut whole = Resolved::default();
        solve(&all, &mut whole);
        let left_out = dual_left_out(lambda, &whole);
        for i in 0..20 {
            let keep: Vec<usize> = (0..20).filter(|&k| k != i).collect();
            let mut rest = Resolved::default();
            let bias = solve(&keep, &mut rest);
            let kernel = |k: usize| {
                let d: f64 = x.row(k).iter().zip(x.row(i)).map(|(a, b)| (a - b).powi(2)).sum();
                (-gamma * d).exp()
            };
            let forecast: f64 =
                bias + keep.iter().zip(&rest.products).map(|(&k, a)| a * kernel(k)).sum::<f64>();
            assert!((y[i] - forecast - left_out[i]).abs() < 1e-9, "run {i}");
        }
    }
}

//! Kernel ridge regression with an RBF kernel: as flexible as the paper's ν-SVR, with leave-one-out in closed form.

use crate::configuration::FeatureGroup;
use crate::features::{FeatureSet, Scaler, TargetScaler, design_matrix, feature_row};
use crate::forecast::Forecast;
use crate::linear::{dual_left_out, least, penalties, squares};
use crate::matrix::Matrix;
use crate::predictor::{FitError, Model, Predictor, check_training, leave_one_out_sigma};
use crate::row_order::{put_back, sorted};
use crate::simd::{dot, exp_scaled, squared_distances};
use crate::training::{Query, TrainingSet};
use crate::tridiagonal::{Resolved, Tridiagonal};

/// Kernel ridge regression: ŷ(x) = b + Σ α_i·e^(−γ‖x − x_i‖²) on standardised features and target, (K + λ)α + b = y.
///
/// | symbol | meaning | range |
/// |---|---|---|
/// | γ | width of the kernel, times the number of features that vary: powers of 4, then the neighbouring powers of 2 | 4⁻⁶ to 4 |
/// | λ | penalty, four values a decade | 10⁻⁶ to 10 |
/// | `features` | which feature groups | default all |
///
/// The pair with the least sum of squared leave-one-out residuals λα_i/(λB_ii − 1/n), B = (HKH + λ)⁻¹, H the centring
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
        check_training(self.name(), 3, training)?;
        let (x, targets, order) = sorted(&design_matrix(training, self.features), training);
        let fit = KernelFit::new(&x, &targets);
        let sigma = leave_one_out_sigma(&fit.held_out, &targets);
        let held_out: Vec<Forecast> = fit.held_out.iter().map(|&m| Forecast::gaussian(m, sigma)).collect();
        let (features, groups) = (self.features, training.groups.clone());
        Ok(Box::new(KernelModel { held_out: put_back(&held_out, &order), fit, sigma, features, groups }))
    }
}

/// A fitted kernel ridge, with its leave-one-out forecasts.
#[derive(Clone, Debug)]
pub(crate) struct KernelFit {
    scaler: Scaler,
    target: TargetScaler,
    rows: Matrix,
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
            scaler,
            target,
            rows,
        }
    }

    /// The forecast for the features `row`, which is standardised in place.
    pub(crate) fn predict(&self, row: &mut [f64]) -> f64 {
        self.scaler.apply(row);
        let n = self.alpha.len();
        let (mut distances, mut kernel) = (vec![0.0; n], vec![0.0; n]);
        squared_distances(row, self.rows.as_slice(), row.len(), n.max(1), &mut distances);
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
    let at = |power: i32| Candidate::new(distances, 2_f64.powi(power) / columns as f64, targets);
    let better = |a: (i32, Candidate), b: (i32, Candidate)| if b.1.loss < a.1.loss { b } else { a };
    let coarse = (-6..=1).map(|k| (2 * k, at(2 * k))).reduce(better);
    let (power, best) = coarse.expect("there are eight widths");
    [power - 1, power + 1].into_iter().map(|power| (power, at(power))).fold((power, best), better).1
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

struct KernelModel {
    fit: KernelFit,
    sigma: f64,
    features: FeatureSet,
    groups: Vec<FeatureGroup>,
    held_out: Vec<Forecast>,
}

impl Model for KernelModel {
    fn forecast(&self, query: &Query<'_>) -> Forecast {
        let mut row = Vec::new();
        feature_row(query, &self.groups, self.features, &mut row);
        Forecast::gaussian(self.fit.predict(&mut row), self.sigma)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

//! Linear predictors: ordinary least squares, as in the paper, and ridge regression.

use crate::curves::training::TrainingSet;
use crate::features::paper::{FeatureScaler, FeatureSet, TargetScaler};
use crate::linalg::least_squares::LeastSquares;
use crate::linalg::matrix::Matrix;
use crate::linalg::simd::{dot, inner_products};
use crate::linalg::tridiagonal::TridiagonalForm;
use crate::predict::penalty::{dual_left_out, least, penalties, reach};
use crate::predict::predictor::{FitError, Model, Predictor};
use crate::predict::row_regression::{RowRegression, fit_rows};

/// Ordinary least squares: ŷ = ȳ + w·x on standardized features, with the shortest of all w that fit best.
///
/// | field | meaning | default |
/// |---|---|---|
/// | `features` | which feature groups | all |
///
/// The design is rank-deficient by construction, since differences are linear combinations of the curve. The minimum-norm
/// fit forecasts the same with and without them as long as there are more runs than the rank of the other columns.
/// σ(τ) by leave-one-out in closed form, with the scaling of all runs (refitting it moves a residual by O(1/n) of
/// itself). Needs 3 runs. O(n·d·rank) to fit, O(d) to forecast. Source: Baker et al. 2017, §3.3.
///
/// If every final score is 2·y_1 + 0.1, it finds that line:
///
/// ```
/// use foretell::{FeatureSet, Matrix, OlsRegression, Predictor, TrainingSet};
/// let runs = TrainingSet {
///     steps: vec![1.0],
///     target_step: 9.0,
///     prefixes: Matrix::from_rows(&[[0.1], [0.2], [0.4], [0.25]]),
///     configurations: Matrix::zeros(4, 0),
///     groups: vec![],
///     targets: vec![0.3, 0.5, 0.9, 0.6],
///     ..TrainingSet::default()
/// };
/// let model = OlsRegression { features: FeatureSet::default() }.fit(&runs)?;
/// let forecast = model.forecast(&foretell::RunQuery { prefix: &[0.3], configuration: &[] });
/// assert!((forecast.mean - 0.7).abs() < 1e-12 && forecast.scale < 1e-12);
/// # Ok::<(), foretell::FitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct OlsRegression {
    /// The feature groups used.
    pub features: FeatureSet,
}

/// Ridge regression: ordinary least squares plus λ·‖w‖², λ by leave-one-out.
///
/// | symbol | meaning | range |
/// |---|---|---|
/// | λ | penalty, chosen on a grid of four values a decade | n·10⁻⁶ to n·10³ |
/// | h_ii | leverage, 1/n + x_iᵀ(XᵀX + λ)⁻¹x_i | [1/n, 1) |
///
/// The λ with the least Σ (e_i/(1 − h_ii))², the sum of squared leave-one-out residuals; of equals the largest. σ(τ) from
/// the same residuals, scaling of all runs kept. Features of a forecast are clipped to the training range and half of it
/// more on both sides, since losses without an upper end otherwise lead far away. Needs 3 runs. One tridiagonal reduction of the smaller of XᵀX and XXᵀ,
/// O(n·d·min(n, d)), then O(n·min(n, d)) for each λ; O(d) to forecast. The paper has no ridge: it is here because least
/// squares is badly conditioned where there are about as many features as runs.
///
/// Source: Hoerl & Kennard 1970; Allen's PRESS 1974 for the residuals.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct RidgeRegression {
    /// The feature groups used.
    pub features: FeatureSet,
}

impl Predictor for OlsRegression {
    fn name(&self) -> &'static str {
        "ols"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        fit_rows(self.name(), training, self.features, LinearFit::least_squares)
    }
}

impl Predictor for RidgeRegression {
    fn name(&self) -> &'static str {
        "ridge"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        fit_rows(self.name(), training, self.features, LinearFit::ridge)
    }
}

/// A linear function of features, with its leave-one-out forecasts.
#[derive(Clone, Debug)]
pub(crate) struct LinearFit {
    scaler: FeatureScaler,
    target: TargetScaler,
    /// The coefficients of the standardized features, for the standardized target.
    weights: Vec<f64>,
    /// The range of each standardized feature in forecasts; empty for no limit.
    reach: Vec<(f64, f64)>,
    /// The forecast of each training row without it.
    pub(crate) held_out: Vec<f64>,
}

impl LinearFit {
    /// The minimum-norm least-squares fit of `y`, length n, on `x`, shape (n, d), not standardized.
    pub(crate) fn least_squares(x: &Matrix, y: &[f64]) -> Self {
        let standardized = StandardizedDesign::new(x, y);
        let fit = LeastSquares::fit(&standardized.rows, &standardized.targets);
        standardized.finish(y, fit.weights, &fit.left_out, Vec::new())
    }

    /// The ridge fit of `y` on `x`, penalty by leave-one-out.
    pub(crate) fn ridge(x: &Matrix, y: &[f64]) -> Self {
        let standardized = StandardizedDesign::new(x, y);
        let (weights, left_out) = ridge(&standardized.rows, &standardized.targets);
        let reach = reach(&standardized.rows, 0.5);
        standardized.finish(y, weights, &left_out, reach)
    }

    /// The forecast for the features `row`, which is standardized in place.
    pub(crate) fn predict(&self, row: &mut [f64]) -> f64 {
        self.scaler.apply(row);
        for (value, &(low, high)) in row.iter_mut().zip(&self.reach) {
            *value = value.clamp(low, high);
        }
        self.target.invert(dot(row, &self.weights))
    }
}

struct StandardizedDesign {
    scaler: FeatureScaler,
    target: TargetScaler,
    rows: Matrix,
    targets: Vec<f64>,
}

impl StandardizedDesign {
    fn new(x: &Matrix, y: &[f64]) -> Self {
        let all: Vec<usize> = (0..y.len()).collect();
        let scaler = FeatureScaler::fit(x, 0..y.len());
        let target = TargetScaler::fit(y.iter().copied());
        let rows = scaler.transform(x, &all);
        Self { rows, targets: y.iter().map(|&y| target.apply(y)).collect(), scaler, target }
    }

    fn finish(self, y: &[f64], weights: Vec<f64>, left_out: &[f64], reach: Vec<(f64, f64)>) -> LinearFit {
        let held_out = y.iter().zip(left_out).map(|(y, residual)| y - self.target.scale * residual);
        LinearFit { held_out: held_out.collect(), weights, reach, scaler: self.scaler, target: self.target }
    }
}

/// Weights and leave-one-out residuals of the ridge with the penalty that makes the latter least.
fn ridge(x: &Matrix, y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (n, d) = (x.row_count(), x.column_count());
    if d < n { fit_ridge_by_columns(x, y) } else { fit_ridge_by_rows(x, y) }
}

/// By XᵀX, shape (d, d).
fn fit_ridge_by_columns(x: &Matrix, y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (n, d) = (x.row_count(), x.column_count());
    let columns = Matrix::from_fn(d, n, |j, i| x.row(i)[j]);
    let gram = gram(&columns);
    let form = TridiagonalForm::new(&gram);
    let moments: Vec<f64> = (0..d).map(|j| dot(columns.row(j), y)).collect();
    let (moments, points) = (form.rotate(&moments), form.rotate_rows(x));
    let (lambda, residuals) = least(penalties(1e3 * n as f64, 37), |lambda, out| {
        form.resolve(lambda, &points, &moments, out);
        let rows = y.iter().zip(&out.products).zip(&out.forms);
        // a run that alone decides its own forecast has a leverage of 1, and would divide by 0
        rows.map(|((y, fitted), form)| (y - fitted) / (1.0 - 1.0 / n as f64 - form).max(1e-12)).collect()
    });
    (form.solve(lambda, &moments), residuals)
}

/// By XXᵀ, shape (n, n).
fn fit_ridge_by_rows(x: &Matrix, y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let form = TridiagonalForm::new(&gram(x));
    let (targets, points) = (form.rotate(y), form.unit_points());
    let (lambda, residuals) = least(penalties(1e3 * y.len() as f64, 37), |lambda, out| {
        form.resolve(lambda, &points, &targets, out);
        dual_left_out(lambda, out)
    });
    let dual = form.solve(lambda, &targets);
    let mut weights = vec![0.0; x.column_count()];
    for (i, a) in dual.iter().enumerate() {
        crate::linalg::least_squares::add_scaled(&mut weights, *a, x.row(i));
    }
    (weights, residuals)
}

/// The inner products of all rows of `x`.
fn gram(x: &Matrix) -> Matrix {
    let n = x.row_count();
    let mut gram = Matrix::zeros(n, n);
    inner_products(x.as_slice(), x.as_slice(), x.column_count(), n.max(1), gram.as_mut_slice());
    gram
}

impl RowRegression for LinearFit {
    fn predict(&self, row: &mut [f64]) -> f64 {
        LinearFit::predict(self, row)
    }

    fn held_out(&self) -> &[f64] {
        &self.held_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::tridiagonal::ResolvedPoints;

    fn sample(n: usize, tau: usize) -> (Matrix, Matrix, Vec<f64>) {
        let curve = |i: usize| -> Vec<f64> {
            (0..tau)
                .map(|t| {
                    0.8 - ((i % 7 + 1) as f64 / (t + 2) as f64) * 0.1 + ((i * i + t * 3) as f64).sin() * 0.02
                })
                .collect()
        };
        let wide: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                let mut row = Vec::new();
                crate::features::paper::append_time_series_features(&curve(i), &mut row);
                row
            })
            .collect();
        let y = (0..n).map(|i| curve(i)[tau - 1] + 0.1 * (i as f64 * 0.4).cos()).collect();
        (Matrix::from_rows(&(0..n).map(curve).collect::<Vec<_>>()), Matrix::from_rows(&wide), y)
    }

    #[test]
    fn least_squares_forecasts_the_same_with_and_without_differences() {
        let (narrow, wide, y) = sample(40, 12);
        let (a, b) = (LinearFit::least_squares(&narrow, &y), LinearFit::least_squares(&wide, &y));
        for i in 0..40 {
            let (mut p, mut q) = (narrow.row(i).to_vec(), wide.row(i).to_vec());
            assert!((a.predict(&mut p) - b.predict(&mut q)).abs() < 1e-9, "run {i}");
            assert!((a.held_out[i] - b.held_out[i]).abs() < 1e-9, "run {i} left out");
        }
    }

    #[test]
    fn ridge_is_the_same_by_rows_and_by_columns() {
        let (_, wide, y) = sample(40, 9);
        let standardized = StandardizedDesign::new(&wide, &y);
        let (a, left_a) = fit_ridge_by_columns(&standardized.rows, &standardized.targets);
        let (b, left_b) = fit_ridge_by_rows(&standardized.rows, &standardized.targets);
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-7), "weights differ");
        assert!(left_a.iter().zip(&left_b).all(|(a, b)| (a - b).abs() < 1e-7), "left-out residuals differ");
    }

    #[test]
    fn left_out_residuals_of_a_ridge_are_those_of_refitting() {
        let (x, _, y) = sample(15, 4);
        let standardized = StandardizedDesign::new(&x, &y);
        let (x, y) = (&standardized.rows, &standardized.targets);
        let (lambda, n) = (0.3, 15);
        let form = TridiagonalForm::new(&gram(x));
        let mut out = ResolvedPoints::default();
        form.resolve(lambda, &form.unit_points(), &form.rotate(y), &mut out);
        let left_out = dual_left_out(lambda, &out);
        for i in 0..n {
            let keep: Vec<usize> = (0..n).filter(|&k| k != i).collect();
            let means: Vec<f64> =
                (0..4).map(|j| keep.iter().map(|&k| x.row(k)[j]).sum::<f64>() / (n - 1) as f64).collect();
            let rest = Matrix::from_fn(n - 1, 4, |k, j| x.row(keep[k])[j] - means[j]);
            let center = keep.iter().map(|&k| y[k]).sum::<f64>() / (n - 1) as f64;
            let targets: Vec<f64> = keep.iter().map(|&k| y[k] - center).collect();
            let form = TridiagonalForm::new(&gram(&rest));
            let dual = form.solve(lambda, &form.rotate(&targets));
            let row: Vec<f64> = x.row(i).iter().zip(&means).map(|(v, m)| v - m).collect();
            let forecast: f64 = (0..n - 1).map(|k| dual[k] * dot(rest.row(k), &row)).sum::<f64>() + center;
            assert!((y[i] - forecast - left_out[i]).abs() < 1e-10, "run {i}");
        }
    }
}

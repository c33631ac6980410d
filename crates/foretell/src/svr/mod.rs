//! ν-support vector regression: the paper's regressor.

mod search;
mod solver;

use crate::features::{FeatureSet, Scaler, TargetScaler, design_matrix, feature_row};
use crate::forecast::Forecast;
use crate::matrix::Matrix;
use crate::predictor::{FitError, Model, Predictor, check_training, leave_one_out_sigma};
use crate::simd::{dot, exp_scaled, inner_products, squared_distances};
use crate::training::{Query, TrainingSet};
pub use search::{Choice, Folds, Kernel, SvrParameters, draw_folds, draw_parameters, search};
use solver::{Dual, Effort, KernelMatrix, Penalty};

/// ν-SVR as the paper uses it: features TS + AP + HP, everything standardised, (C, ν, γ) by random search with 3-fold
/// cross-validation, refit on all runs, σ(τ) by leave-one-out with the hyperparameters kept and the scaler refitted.
///
/// | field | meaning | default |
/// |---|---|---|
/// | `kernel` | RBF or linear | RBF |
/// | `features` | which feature groups | all |
/// | `draws` | random search draws | 1000 |
/// | `seed` | of draws and folds | 0 |
///
/// Needs 6 runs. O(draws · n²) and up to fit, O(n · features) to forecast. Source: Baker et al. 2017, §3.3 and
/// appendix B; scaling, which the paper does not mention, as the field does it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NuSvr {
    /// The kernel.
    pub kernel: Kernel,
    /// Which feature groups are used.
    pub features: FeatureSet,
    /// How many draws the random search makes; ≥ 1.
    pub draws: usize,
    /// The seed of draws and folds.
    pub seed: u64,
}

impl Default for NuSvr {
    fn default() -> Self {
        Self { kernel: Kernel::Rbf, features: FeatureSet::default(), draws: 1000, seed: 0 }
    }
}

impl Effort {
    /// While searching: libsvm's own tolerance is 1e-3; this is ten times finer, so that close draws rank the same.
    const SEARCH: Self = Self { tolerance: 1e-4, steps: 20_000 };
    /// For the model itself.
    const FINAL: Self = Self { tolerance: 1e-6, steps: 200_000 };
}

/// A fitted ν-SVR, f(x) = Σ β_i k(x_i, x) + b on standardised rows.
struct SvrModel {
    kernel: Kernel,
    parameters: SvrParameters,
    features: FeatureSet,
    groups: Vec<crate::FeatureGroup>,
    scaler: Scaler,
    target: TargetScaler,
    rows: Matrix,
    beta: Vec<f64>,
    bias: f64,
    sigma: f64,
    held_out: Vec<Forecast>,
}

impl Predictor for NuSvr {
    fn name(&self) -> &'static str {
        match self.kernel {
            Kernel::Rbf => "svr-rbf",
            Kernel::Linear => "svr-linear",
        }
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), 6, training)?;
        let x = design_matrix(training, self.features);
        let mut random = search::stream(self.seed, training.steps.len());
        let draws = draw_parameters(self.draws.max(1), &mut random);
        let folds = draw_folds(training.len(), 3, &mut random);
        let choice = search(&x, &training.targets, self.kernel, &draws, &folds, true);
        let mut fitted = fit_svr(&x, &training.targets, self.kernel, choice.parameters);
        let held_out = leave_one_out(&x, &training.targets, self.kernel, choice.parameters, &fitted);
        let sigma = leave_one_out_sigma(&held_out, &training.targets);
        fitted.model.sigma = sigma;
        fitted.model.held_out = held_out.into_iter().map(|mean| Forecast::gaussian(mean, sigma)).collect();
        fitted.model.features = self.features;
        fitted.model.groups = training.groups.clone();
        Ok(Box::new(fitted.model))
    }
}

/// A model and the dual variables it came from, to start neighbouring solves from.
struct Fitted {
    model: SvrModel,
    dual: Dual,
}

fn kernel_matrix(
    rows: &Matrix,
    kernel: Kernel,
    gamma: f64,
    distances: &mut KernelMatrix,
    out: &mut KernelMatrix,
) {
    let (n, d) = (rows.rows(), rows.columns());
    let target = if kernel == Kernel::Rbf { &mut *distances } else { &mut *out };
    target.reset(n);
    let stride = target.stride;
    match kernel {
        Kernel::Linear => inner_products(rows.as_slice(), rows.as_slice(), d, stride, &mut target.data),
        Kernel::Rbf => {
            squared_distances(rows.as_slice(), rows.as_slice(), d, stride, &mut target.data);
            search::fill_rbf(distances, gamma, out);
        }
    }
}

/// Fits one ν-SVR with given hyperparameters on standardised data.
fn fit_svr(x: &Matrix, y: &[f64], kernel: Kernel, parameters: SvrParameters) -> Fitted {
    let all: Vec<usize> = (0..y.len()).collect();
    let scaler = Scaler::fit(x, 0..y.len());
    let target = TargetScaler::fit(y.iter().copied());
    let rows = scaler.transform(x, &all);
    let (mut distances, mut matrix) = (KernelMatrix::default(), KernelMatrix::default());
    kernel_matrix(&rows, kernel, parameters.gamma, &mut distances, &mut matrix);
    let targets: Vec<f64> = y.iter().map(|&y| target.apply(y)).collect();
    let mut dual = Dual::default();
    let penalty = Penalty { c: parameters.c, nu: parameters.nu };
    let solved = dual.solve(&matrix, &targets, penalty, Effort::FINAL);
    let beta = (0..y.len()).map(|i| dual.coefficient(i)).collect();
    let model = SvrModel {
        kernel,
        parameters,
        features: FeatureSet::default(),
        groups: Vec::new(),
        scaler,
        target,
        rows,
        beta,
        bias: solved.bias,
        sigma: 0.0,
        held_out: Vec::new(),
    };
    Fitted { model, dual }
}

/// The forecast of each row by the model fitted on the others, hyperparameters kept, scalers refitted; each solve
/// starts from the solution on all rows.
fn leave_one_out(
    x: &Matrix,
    y: &[f64],
    kernel: Kernel,
    parameters: SvrParameters,
    fitted: &Fitted,
) -> Vec<f64> {
    let n = y.len();
    let (mut distances, mut matrix) = (KernelMatrix::default(), KernelMatrix::default());
    let mut dual = Dual::default();
    let penalty = Penalty { c: parameters.c, nu: parameters.nu };
    let one = |left_out: usize| {
        let keep: Vec<usize> = (0..n).filter(|&i| i != left_out).collect();
        let scaler = Scaler::fit(x, keep.iter().copied());
        let target = TargetScaler::fit(keep.iter().map(|&i| y[i]));
        let rows = scaler.transform(x, &keep);
        kernel_matrix(&rows, kernel, parameters.gamma, &mut distances, &mut matrix);
        let targets: Vec<f64> = keep.iter().map(|&i| target.apply(y[i])).collect();
        let of = |variables: &[f64]| keep.iter().map(|&i| variables[i]).collect::<Vec<_>>();
        let start = (of(&fitted.dual.alpha), of(&fitted.dual.alpha_star));
        let effort = Effort { tolerance: 1e-4, ..Effort::FINAL };
        let solved = dual.solve_from(&matrix, &targets, penalty, effort, (&start.0, &start.1));
        let mut row = x.row(left_out).to_vec();
        scaler.apply(&mut row);
        let beta: Vec<f64> = (0..n - 1).map(|i| dual.coefficient(i)).collect();
        target.invert(expand(kernel, parameters.gamma, &rows, &beta, &row) + solved.bias)
    };
    (0..n).map(one).collect()
}

/// Σ β_i k(x_i, row).
fn expand(kernel: Kernel, gamma: f64, rows: &Matrix, beta: &[f64], row: &[f64]) -> f64 {
    let mut values = vec![0.0; rows.rows()];
    let stride = values.len().max(1);
    match kernel {
        Kernel::Linear => inner_products(row, rows.as_slice(), row.len(), stride, &mut values),
        Kernel::Rbf => {
            squared_distances(row, rows.as_slice(), row.len(), stride, &mut values);
            let distances = values.clone();
            exp_scaled(&distances, gamma, &mut values);
        }
    }
    dot(&values, beta)
}

impl Model for SvrModel {
    fn forecast(&self, query: &Query<'_>) -> Forecast {
        let mut row = Vec::new();
        feature_row(query, &self.groups, self.features, &mut row);
        self.scaler.apply(&mut row);
        let value = expand(self.kernel, self.parameters.gamma, &self.rows, &self.beta, &row) + self.bias;
        Forecast::gaussian(self.target.invert(value), self.sigma)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

//! ν-support vector regression: the paper's regressor.

mod fold;
mod geometry;
mod held_out;
mod model;
mod parameters;
mod pivot;
mod problem;
mod program;
mod scaling;
mod search;
mod solver;
mod tour;

use crate::curves::training::TrainingSet;
use crate::features::paper::{FeatureSet, TargetScaler, design_matrix};
use crate::linalg::matrix::Matrix;
use crate::predict::forecast::Forecast;
use crate::predict::predictor::{FitError, Model, Predictor, check_training, leave_one_out_sigma};
use geometry::PairwiseSums;
use held_out::{BatchedChanges, LeaveOneOutChanges, leave_one_out};
pub use model::SvrModel;
use model::{DualSolution, FittedSvr, KernelExpansion};
use parameters::count_folds;
pub use parameters::{FoldAssignment, Kernel, SearchChoice, SvrParameters, draw_folds, draw_parameters};
pub use problem::{SvrError, SvrSolution, solve_nu_svr};
use program::{KernelMatrix, NuPenalty, QuadraticProgram};
use scaling::ScaledDesign;
pub use search::search_parameters;
use search::search_sums;
use solver::{DualSolver, SolveEffort};

/// ν-SVR as the paper uses it: features TS + AP + HP, everything standardized, (C, ν, γ) by random search with 3-fold
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
    /// The feature groups used.
    pub features: FeatureSet,
    /// The number of draws of the random search; ≥ 1.
    pub draws: usize,
    /// The seed of draws and folds.
    pub seed: u64,
}

impl Default for NuSvr {
    fn default() -> Self {
        Self { kernel: Kernel::Rbf, features: FeatureSet::default(), draws: 1000, seed: 0 }
    }
}

/// Fewest completed runs a fit is made from.
const MIN_RUNS: usize = 6;

impl Predictor for NuSvr {
    fn name(&self) -> &'static str {
        match self.kernel {
            Kernel::Rbf => "svr-rbf",
            Kernel::Linear => "svr-linear",
        }
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), MIN_RUNS, training)?;
        let order = order_by_content(training);
        let (draws, folds) = self.draw(training.len(), training.steps.len());
        let mut model = self.fit_drawn(&training.select_runs(&order), &draws, &folds)?;
        // whoever reads held-out forecasts counts the runs as they were listed
        model.put_back(&order);
        Ok(Box::new(model))
    }
}

impl NuSvr {
    /// The draws and folds of a fit on `runs` runs seen for `tau` steps: the seed's, a stream for each τ.
    fn draw(&self, runs: usize, tau: usize) -> (Vec<SvrParameters>, FoldAssignment) {
        let mut random = parameters::stream(self.seed, tau);
        let draws = draw_parameters(self.draws.max(1), &mut random);
        (draws, draw_folds(runs, 3, &mut random))
    }

    /// Fits with given draws and folds instead of the seed's: for side-by-side comparisons.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than 6 runs or a number is not finite.
    ///
    /// # Panics
    /// If `draws` is empty or `folds` does not name a fold for each run.
    pub fn fit_drawn(
        &self,
        training: &TrainingSet,
        draws: &[SvrParameters],
        folds: &FoldAssignment,
    ) -> Result<SvrModel, FitError> {
        check_training(self.name(), MIN_RUNS, training)?;
        assert_eq!(folds.len(), training.len(), "one fold a run");
        let x = reorder_by_epoch(&design_matrix(training, self.features), self.epochs(training.steps.len()));
        let scaled = ScaledDesign::new(&x, true);
        let mut without = BatchedChanges::new(&scaled, self.kernel);
        let candidates = SearchCandidates { kernel: self.kernel, draws, folds };
        let fitted =
            fit_leading_columns(&scaled, x.column_count(), &mut without, &training.targets, candidates);
        Ok(self.model(&scaled, fitted, training, training.steps.len()))
    }

    /// The number of epochs of the curve that are features.
    fn epochs(&self, tau: usize) -> usize {
        if self.features.time_series { tau } else { 0 }
    }

    /// The model of a fit on the first columns of `scaled`: those of τ = `tau`.
    fn model(
        &self,
        scaled: &ScaledDesign,
        fitted: FittedSvr,
        training: &TrainingSet,
        tau: usize,
    ) -> SvrModel {
        SvrModel {
            choice: fitted.choice,
            features: self.features,
            groups: training.groups.clone(),
            epochs: self.epochs(tau),
            columns: scaled.columns.leading(fitted.columns),
            expansion: KernelExpansion::new(self.kernel, scaled, &fitted),
            target: fitted.target,
            sigma: fitted.sigma,
            beta: fitted.solution.beta,
            bias: fitted.solution.bias,
            held_out: fitted.held_out.iter().map(|&mean| Forecast::gaussian(mean, fitted.sigma)).collect(),
        }
    }
}

/// The training runs in an order that does not depend on the order in which they are listed, so that folds do not either:
/// by configuration, then scores, then target.
fn order_by_content(training: &TrainingSet) -> Vec<usize> {
    let mut order: Vec<usize> = (0..training.len()).collect();
    order.sort_by(|&a, &b| {
        let [a, b] = [a, b].map(|i| {
            let (prefix, target) = (training.prefixes.row(i), training.targets[i]);
            training.configurations.row(i).iter().chain(prefix).copied().chain([target])
        });
        a.zip(b).map(|(x, y)| x.total_cmp(&y)).fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    });
    order
}

/// Reorders the columns y_1..y_τ, first differences, second differences, configuration into configuration, then epoch
/// after epoch its value and differences: the order in which a running trial brings them.
fn reorder_by_epoch(x: &Matrix, tau: usize) -> Matrix {
    let order = epoch_order(x.column_count(), tau);
    Matrix::from_fn(x.row_count(), order.len(), |i, j| x.row(i)[order[j]])
}

/// The paper's columns in the order of [`reorder_by_epoch`].
fn epoch_order(columns: usize, tau: usize) -> Vec<usize> {
    let curve = if tau == 0 { 0 } else { tau + (tau - 1) + tau.saturating_sub(2) };
    let mut order: Vec<usize> = (curve..columns).collect();
    for t in 0..tau {
        order.push(t);
        if t >= 1 {
            order.push(tau + t - 1);
        }
        if t >= 2 {
            order.push(tau + (tau - 1) + t - 2);
        }
    }
    order
}

/// The candidates that a search chooses from, and the folds that they are scored on.
#[derive(Clone, Copy)]
struct SearchCandidates<'a> {
    kernel: Kernel,
    draws: &'a [SvrParameters],
    folds: &'a FoldAssignment,
}

/// Search, refit and leave-one-out on the first `d` columns of `scaled`; `without` gives the changes of their sums without each run.
fn fit_leading_columns(
    scaled: &ScaledDesign,
    d: usize,
    without: &mut impl LeaveOneOutChanges,
    y: &[f64],
    SearchCandidates { kernel, draws, folds }: SearchCandidates<'_>,
) -> FittedSvr {
    let count = count_folds(folds);
    let mut geometry = PairwiseSums::new(scaled.n, kernel, count + 1);
    geometry.add(&scaled.points, 0..d, &scaled.fold_weights(d, folds, count));
    let choice = search_sums(&geometry, y, kernel, draws, folds, true);
    let target = TargetScaler::fit(y.iter().copied());
    let targets: Vec<f64> = y.iter().map(|&y| target.apply(y)).collect();
    let mut matrix = KernelMatrix::default();
    geometry.kernel_matrix(count, choice.parameters.gamma, &mut matrix);
    let solution = solve_all_runs(&matrix, &targets, choice.parameters);
    let standardized = leave_one_out((&geometry, count), without, &targets, choice.parameters, &solution);
    let held_out: Vec<f64> = standardized.into_iter().map(|value| target.invert(value)).collect();
    let sigma = leave_one_out_sigma(&held_out, y);
    FittedSvr { choice, columns: d, solution, target, held_out, sigma }
}

fn solve_all_runs(kernel: &KernelMatrix, targets: &[f64], parameters: SvrParameters) -> DualSolution {
    let penalty = NuPenalty { c: parameters.c, nu: parameters.nu };
    let mut dual = DualSolver::default();
    let solved =
        dual.solve(&QuadraticProgram { kernel, targets, penalty, left_out: None }, SolveEffort::FINAL);
    let (beta, closed) = dual.solution();
    DualSolution { beta, closed, bias: solved.bias }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::paper::append_time_series_features;

    #[test]
    fn columns_arrive_epoch_after_epoch() {
        let mut row = Vec::new();
        append_time_series_features(&[1.0, 3.0, 8.0, 9.0], &mut row);
        row.extend([70.0, 71.0]);
        let ordered = reorder_by_epoch(&Matrix::from_rows(&[row]), 4);
        assert_eq!(ordered.row(0), [70.0, 71.0, 1.0, 3.0, 2.0, 8.0, 5.0, 3.0, 9.0, 1.0, -4.0]);
        assert_eq!(epoch_order(3, 1), [1, 2, 0]);
        assert_eq!(epoch_order(2, 0), [0, 1]);
    }
}

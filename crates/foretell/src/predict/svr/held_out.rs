//! Leave-one-out forecasts of the chosen ν-SVR: hyperparameters kept, scalers refitted, each solve from the full solution.
//!
//! A held-out run must not influence the scale of its own features. The change of the distances is summed in single precision: half the
//! memory, and forecasts move by 1e-9.

use super::geometry::PairwiseSums;
use super::model::DualSolution;
use super::parameters::{Kernel, SvrParameters};
use super::program::{KernelMatrix, NuPenalty, QuadraticProgram};
use super::scaling::ScaledDesign;
use super::solver::{DualSolver, SolveEffort};
use crate::features::paper::TargetScaler;

/// The changes of the pairwise sums by the scalings without each run.
///
/// The weights without a run are those of all runs but for some per cent, and only the differences are summed up in single
/// precision: kernels are then exact to about 1e-9, and to 1e-7 where a run's absence changes a sum altogether.
pub(super) trait LeaveOneOutChanges {
    /// Sums of changes, and which weighting of them is the one without run `left_out`; asked for in the order of the runs.
    fn changes(&mut self, left_out: usize) -> (&PairwiseSums<f32>, usize);
}

/// Kept for all runs: weighting i is that without run i.
impl LeaveOneOutChanges for &PairwiseSums<f32> {
    fn changes(&mut self, left_out: usize) -> (&PairwiseSums<f32>, usize) {
        (self, left_out)
    }
}

/// Formed for a few runs at a time, which then stay in the cache: n times as many would have to go through memory.
pub(super) struct BatchedChanges<'a> {
    scaled: &'a ScaledDesign,
    geometry: PairwiseSums<f32>,
    /// The first run after those that `geometry` has.
    next: usize,
}

/// The number of runs whose sums [`BatchedChanges`] forms together.
const RUNS_PER_BATCH: usize = 8;

impl<'a> BatchedChanges<'a> {
    pub(super) fn new(scaled: &'a ScaledDesign, kernel: Kernel) -> Self {
        Self { scaled, geometry: PairwiseSums::new(scaled.n, kernel, RUNS_PER_BATCH), next: 0 }
    }
}

impl LeaveOneOutChanges for BatchedChanges<'_> {
    fn changes(&mut self, left_out: usize) -> (&PairwiseSums<f32>, usize) {
        if left_out >= self.next {
            self.next = left_out - left_out % RUNS_PER_BATCH;
            self.geometry.clear();
            self.geometry.add_features_from(
                &self.scaled.rough_points,
                0..self.scaled.columns.mean.len(),
                &self.scaled.loo_changes,
                self.next,
            );
            self.next += RUNS_PER_BATCH;
        }
        (&self.geometry, left_out % RUNS_PER_BATCH)
    }
}

/// The forecast of each run by the model of all others, in units of `targets`.
///
/// `all` has the sums of all runs as weighting `whole`, and `without` how they change; `full` is the solution on all runs. A left-out run stays in the kernel
/// matrix and takes no part, so its forecast is read off its residual. n solves, most of them a few rounds.
pub(super) fn leave_one_out(
    (all, whole): (&PairwiseSums, usize),
    without: &mut impl LeaveOneOutChanges,
    targets: &[f64],
    parameters: SvrParameters,
    full: &DualSolution,
) -> Vec<f64> {
    let (mut matrix, mut dual) = (KernelMatrix::default(), DualSolver::default());
    let penalty = NuPenalty { c: parameters.c, nu: parameters.nu };
    let forecasts = (0..targets.len()).map(|left_out| {
        let (changes, which) = without.changes(left_out);
        all.changed_kernel_matrix(whole, changes, which, parameters.gamma, &mut matrix);
        let others = targets.iter().enumerate().filter(|&(i, _)| i != left_out).map(|(_, &y)| y);
        let target = TargetScaler::fit(others);
        let rescaled: Vec<f64> = targets.iter().map(|&y| target.apply(y)).collect();
        let problem =
            QuadraticProgram { kernel: &matrix, targets: &rescaled, penalty, left_out: Some(left_out) };
        let solved = dual.solve_near(&problem, SolveEffort::FINAL, (&full.beta, full.closed));
        target.invert(rescaled[left_out] + dual.gradient[left_out] + solved.bias)
    });
    forecasts.collect()
}

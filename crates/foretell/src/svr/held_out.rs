//! Leave-one-out forecasts of the chosen ν-SVR: hyperparameters kept, scalers refitted, each solve from the full solution.

use super::geometry::Geometry;
use super::model::Solution;
use super::search::SvrParameters;
use super::solver::{Dual, Effort, KernelMatrix, Penalty, Problem};
use crate::features::TargetScaler;

/// The forecast of each run by the model of all others, in units of `targets`.
///
/// Weighting i of `without` has the scalings without run i; `full` is the solution on all runs. A left-out run stays in
/// the kernel matrix and takes no part, so its forecast is read off its residual. n solves, most of them a few rounds.
pub(super) fn leave_one_out(
    without: &Geometry,
    targets: &[f64],
    parameters: SvrParameters,
    full: &Solution,
) -> Vec<f64> {
    let (mut matrix, mut dual) = (KernelMatrix::default(), Dual::default());
    let penalty = Penalty { c: parameters.c, nu: parameters.nu };
    let one = |left_out: usize| {
        without.kernel_matrix(left_out, parameters.gamma, &mut matrix);
        let others = targets.iter().enumerate().filter(|&(i, _)| i != left_out).map(|(_, &y)| y);
        let target = TargetScaler::fit(others);
        let rescaled: Vec<f64> = targets.iter().map(|&y| target.apply(y)).collect();
        let problem = Problem { kernel: &matrix, targets: &rescaled, penalty, left_out: Some(left_out) };
        let solved = dual.solve_near(&problem, Effort::FINAL, (&full.beta, full.closed));
        target.invert(rescaled[left_out] + dual.gradient[left_out] + solved.bias)
    };
    (0..targets.len()).map(one).collect()
}

//! The ν-SVR problem by itself: rows and targets as they are, no scaling, no search.

use super::geometry::PairwiseSums;
use super::parameters::{Kernel, SvrParameters};
use super::program::{KernelMatrix, NuPenalty, QuadraticProgram};
use super::solver::{DualSolver, SolveEffort};
use crate::linalg::matrix::Matrix;
use crate::predict::points::BlockedPoints;
use thiserror::Error;

/// Why a ν-SVR problem cannot be solved.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SvrError {
    /// Rows and targets differ in number, or there is none.
    #[error("there are {rows} rows but {targets} targets. Pass one target per row, and at least one row")]
    Shape {
        /// Rows given.
        rows: usize,
        /// Targets given.
        targets: usize,
    },
    /// A hyperparameter is out of range.
    #[error("{name} is {value}, but must be in {range}")]
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// The parameter's value.
        value: f64,
        /// The parameter's valid range.
        range: &'static str,
    },
    /// A number is not finite.
    #[error("a number of the {0} is not finite. Leave the row out")]
    NotFinite(&'static str),
}

/// The solution of one ν-SVR problem: f(x) = Σ β_i k(x_i, x) + b.
///
/// | field | symbol | meaning |
/// |---|---|---|
/// | `coefficients` | β | α − α*, one per row; \|β\| ≤ C, Σβ = 0, Σ\|β\| ≤ C·ν·n |
/// | `bias` | b | offset |
/// | `tube` | ε | half the width of the tube, ≥ 0 up to the tolerance |
/// | `violation` | – | largest violation of the optimality conditions that is left, in units of the target |
/// | `duality_gap` | – | primal minus dual objective, ≥ 0 up to rounding and 0 at the optimum |
#[derive(Clone, Debug, PartialEq)]
pub struct SvrSolution {
    /// β = α − α*.
    pub coefficients: Vec<f64>,
    /// b.
    pub bias: f64,
    /// ε.
    pub tube: f64,
    /// The remaining violation of optimality.
    pub violation: f64,
    /// Primal minus dual objective.
    pub duality_gap: f64,
    kernel: Kernel,
    gamma: f64,
    rows: Matrix,
}

impl SvrSolution {
    /// f(row). O(rows · columns).
    pub fn value_at(&self, row: &[f64]) -> f64 {
        let support = self.coefficients.iter().enumerate().filter(|(_, beta)| beta.abs() > 0.0);
        let terms = support.map(|(i, beta)| {
            let pairs = self.rows.row(i).iter().zip(row);
            let kernel = match self.kernel {
                Kernel::Linear => pairs.map(|(a, b)| a * b).sum::<f64>(),
                Kernel::Rbf => (-self.gamma * pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>()).exp(),
            };
            beta * kernel
        });
        self.bias + terms.sum::<f64>()
    }
}

/// Solves one ν-SVR problem until optimality is violated by less than `tolerance` (libsvm's `eps`, whose default is
/// 1e-3), as libsvm's ν-SVR and scikit-learn's `NuSVR` state it.
///
/// minimize ½‖w‖² + C·(ν·n·ε + Σᵢ(ξᵢ + ξᵢ*)) with |yᵢ − f(xᵢ)| ≤ ε + ξᵢ. `x` has shape (n, features). O(n²·features), and
/// O(n³) where most points are free.
///
/// # Errors
/// [`SvrError`] unless there is a target for each row, every number is finite, C > 0, 0 < ν ≤ 1 and γ > 0 (RBF).
///
/// ```
/// use foretell::Matrix;
/// use foretell::svr::{Kernel, SvrParameters, solve_nu_svr};
/// let x = Matrix::from_rows(&[[0.0], [1.0], [2.0], [3.0]]);
/// let parameters = SvrParameters { c: 10.0, nu: 0.5, gamma: 0.0 };
/// let line = solve_nu_svr(&x, &[1.0, 3.0, 5.0, 7.0], Kernel::Linear, parameters, 1e-9)?;
/// assert!((line.value_at(&[10.0]) - 21.0).abs() < 1e-6); // y = 2x + 1
/// # Ok::<(), foretell::svr::SvrError>(())
/// ```
pub fn solve_nu_svr(
    x: &Matrix,
    y: &[f64],
    kernel: Kernel,
    parameters: SvrParameters,
    tolerance: f64,
) -> Result<SvrSolution, SvrError> {
    check_problem(x, y, kernel, parameters)?;
    let n = y.len();
    let mut geometry = PairwiseSums::new(n, kernel, 1);
    geometry.add(&BlockedPoints::of_rows(x), 0..x.column_count(), &vec![1.0; x.column_count()]);
    let mut matrix = KernelMatrix::default();
    geometry.kernel_matrix(0, parameters.gamma, &mut matrix);
    let penalty = NuPenalty { c: parameters.c, nu: parameters.nu };
    let problem = QuadraticProgram { kernel: &matrix, targets: y, penalty, left_out: None };
    let mut dual = DualSolver::default();
    let solved = dual.solve(&problem, SolveEffort { tolerance, ..SolveEffort::FINAL });
    Ok(SvrSolution {
        duality_gap: dual.duality_gap(&solved, &problem),
        coefficients: dual.solution().0,
        bias: solved.bias,
        tube: solved.epsilon,
        violation: solved.violation,
        kernel,
        gamma: parameters.gamma,
        rows: x.clone(),
    })
}

fn check_problem(x: &Matrix, y: &[f64], kernel: Kernel, parameters: SvrParameters) -> Result<(), SvrError> {
    let SvrParameters { c, nu, gamma } = parameters;
    if x.row_count() != y.len() || y.is_empty() {
        return Err(SvrError::Shape { rows: x.row_count(), targets: y.len() });
    }
    for (name, values) in [("rows", x.as_slice()), ("targets", y)] {
        if !values.iter().all(|v| v.is_finite()) {
            return Err(SvrError::NotFinite(name));
        }
    }
    let [positive_c, positive_nu, positive_gamma] = [c, nu, gamma].map(|v| v > 0.0 && v.is_finite());
    for (name, value, range, fine) in [
        ("C", c, "(0, ∞)", positive_c),
        ("ν", nu, "(0, 1]", positive_nu && nu <= 1.0),
        ("γ", gamma, "(0, ∞)", kernel == Kernel::Linear || positive_gamma),
    ] {
        if !fine {
            return Err(SvrError::Parameter { name, value, range });
        }
    }
    Ok(())
}

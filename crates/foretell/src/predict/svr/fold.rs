//! One fold of the search: its R² for a draw, and the bounds on it.

use super::geometry::PairwiseSums;
use super::parameters::{FoldAssignment, Kernel, SvrParameters};
use super::program::{KernelMatrix, NuPenalty, QuadraticProgram};
use super::solver::{DualSolver, SolveEffort, add_scaled};
use crate::features::paper::TargetScaler;
use crate::linalg::simd::{VECTOR_LANES, dot, exp_body, exp_scaled};
use crate::statistics::min_and_max;

/// One fold of the search: pairwise sums, targets, and room to work in.
pub(super) struct SearchFold {
    kind: Kernel,
    targets: Vec<f64>,
    /// Training points against training points, a packed triangle.
    train: Vec<f64>,
    /// Held-out points against training points, rows padded.
    held: Vec<f64>,
    held_targets: Vec<f64>,
    /// The least entry of each row of `held`, then the largest of each.
    range: Vec<f64>,
    /// Least and largest entry of them all.
    widest: (f64, f64),
    /// ‖y − ȳ‖ of the held-out targets.
    spread: f64,
    /// (y − ȳ)/‖y − ȳ‖ of the held-out targets.
    direction: Vec<f64>,
    kernel: KernelMatrix,
    held_kernel: Vec<f64>,
    /// The effect of each coefficient on the held-out forecasts along `direction`, from least to most.
    pull: Vec<f64>,
    dual: DualSolver,
}

impl SearchFold {
    pub(super) fn prepare(
        geometry: &PairwiseSums,
        y: &[f64],
        kind: Kernel,
        folds: &FoldAssignment,
        fold: usize,
        scale: bool,
    ) -> Self {
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..y.len()).partition(|&i| folds[i] != fold);
        let unit = TargetScaler { mean: 0.0, scale: 1.0 };
        let target = if scale { TargetScaler::fit(inside.iter().map(|&i| y[i])) } else { unit };
        let stride = inside.len().next_multiple_of(VECTOR_LANES);
        let train = geometry.gather_triangle(fold, &inside);
        let held = geometry.gather(fold, &outside, &inside, stride);
        let held_targets: Vec<f64> = outside.iter().map(|&i| target.apply(y[i])).collect();
        let mean = crate::statistics::mean(&held_targets);
        let spread = held_targets.iter().map(|y| (y - mean).powi(2)).sum::<f64>().sqrt();
        let mut kernel = KernelMatrix::default();
        if kind == Kernel::Linear {
            kernel.fill_from(kind, &train, inside.len(), 0.0);
        }
        let range: Vec<(f64, f64)> =
            held.chunks(stride.max(1)).map(|row| min_and_max(row[..inside.len()].iter().copied())).collect();
        let mut fold = Self {
            kind,
            widest: range.iter().fold((f64::INFINITY, 0.0), |(l, h), &(low, high)| (low.min(l), high.max(h))),
            range: range.iter().map(|r| r.0).chain(range.iter().map(|r| r.1)).collect(),
            targets: inside.iter().map(|&i| target.apply(y[i])).collect(),
            spread,
            // held-out targets that are all alike have no direction, and must not divide by 0
            direction: held_targets.iter().map(|y| (y - mean) / spread.max(1e-300)).collect(),
            held_kernel: held.clone(),
            pull: vec![0.0; stride],
            dual: DualSolver::default(),
            kernel,
            train,
            held,
            held_targets,
        };
        if kind == Kernel::Linear {
            fold.weigh_pull();
        }
        fold
    }

    /// C·ν·n/2, what α and α* each sum to.
    fn half_sum(&self, draw: &SvrParameters) -> f64 {
        draw.c * draw.nu * self.targets.len() as f64 / 2.0
    }

    /// The most that R² on the held-out rows can be, from the kernel's range alone.
    ///
    /// f(x) = h(x) + b with h(x) = Σβk, Σβ⁺ = Σβ⁻ ≤ C·ν·n/2, so up to a constant |h(x)| is at most
    /// H = C·ν·n/2·(k_max − k_min); by the triangle inequality the residuals' norm is at least
    /// ‖y − ȳ‖ − √ΣH², whatever b.
    pub(super) fn reach_bound(&self, draw: &SvrParameters) -> f64 {
        let (low, high) = self.range.split_at(self.range.len() / 2);
        let width = match self.kind {
            Kernel::Rbf => {
                let mut ends = vec![0.0; self.range.len()];
                exp_scaled(&self.range, draw.gamma, &mut ends);
                let (high, low) = ends.split_at(low.len());
                euclidean_distance(high, low)
            }
            Kernel::Linear => euclidean_distance(high, low),
        };
        self.r_squared_bound(self.half_sum(draw) * width)
    }

    /// [`Fold::reach_bound`] with the widest range of all rows in place of each row's.
    pub(super) fn coarse_bound(&self, draw: &SvrParameters) -> f64 {
        let (low, high) = self.widest;
        let width = match self.kind {
            Kernel::Rbf => exp_body(-draw.gamma * low) - exp_body(-draw.gamma * high),
            Kernel::Linear => {
                let (low, high) = self.range.split_at(self.range.len() / 2);
                low.iter().zip(high).fold(0.0, |most: f64, (low, high)| most.max(high - low))
            }
        };
        self.r_squared_bound(self.half_sum(draw) * width * (self.held_targets.len() as f64).sqrt())
    }

    /// The kernel between held-out and training points for `draw`, for [`Fold::aligned_bound`] and [`Fold::score`].
    pub(super) fn enter(&mut self, draw: &SvrParameters) {
        if self.kind == Kernel::Rbf {
            exp_scaled(&self.held, draw.gamma, &mut self.held_kernel);
            self.weigh_pull();
        }
    }

    /// Computes `pull`, K_hᵀu, from the held-out kernel.
    fn weigh_pull(&mut self) {
        let (n, stride) = (self.targets.len(), self.pull.len().max(1));
        self.pull.fill(0.0);
        for (row, u) in self.held_kernel.chunks(stride).zip(&self.direction) {
            add_scaled(&mut self.pull, *u, row);
        }
        self.pull[..n].sort_unstable_by(f64::total_cmp);
    }

    /// The most that R² on the held-out rows can be, from the kernel's values.
    ///
    /// Let u = (y − ȳ)/‖y − ȳ‖. The residuals' norm is at least their component along u, ‖y − ȳ‖ − uᵀK_hβ; and over
    /// 0 ≤ α, α* ≤ C, Σα = Σα* = C·ν·n/2, uᵀK_hβ is at most what α on its largest and α* on its smallest entries give.
    pub(super) fn aligned_bound(&self, draw: &SvrParameters) -> f64 {
        let n = self.targets.len();
        let mut left = self.half_sum(draw) / draw.c;
        let mut moved = 0.0;
        for k in 0..n {
            let share = left.min(1.0);
            moved += share * (self.pull[n - 1 - k] - self.pull[k]);
            left -= share;
            if left <= 0.0 {
                break;
            }
        }
        self.r_squared_bound(draw.c * moved)
    }

    /// The bound on R² of forecasts that come at most `moved` closer to the held-out targets than their mean is.
    fn r_squared_bound(&self, moved: f64) -> f64 {
        if self.spread <= 0.0 {
            return 0.0;
        }
        let left = (1.0 - moved / self.spread).max(0.0);
        // room for what the solver and rounding leave open
        (1.0 - left * left + 1e-6).min(1.0)
    }

    /// R² on the held-out rows of the model with the hyperparameters `draw`.
    pub(super) fn score(&mut self, draw: &SvrParameters) -> f64 {
        let n = self.targets.len();
        if self.kind == Kernel::Rbf {
            self.kernel.fill_from(self.kind, &self.train, n, draw.gamma);
        }
        let linear = self.kind == Kernel::Linear;
        let effort = if linear { SolveEffort::SEARCH_LINEAR } else { SolveEffort::SEARCH };
        let mut dual = std::mem::take(&mut self.dual);
        let solved = dual.solve(&self.problem(draw), effort);
        let (beta, _) = dual.solution();
        self.dual = dual;
        self.r_squared(&beta, solved.bias)
    }

    /// The quadratic program of `draw` on the training rows.
    pub(super) fn problem(&self, draw: &SvrParameters) -> QuadraticProgram<'_> {
        let penalty = NuPenalty { c: draw.c, nu: draw.nu };
        QuadraticProgram { kernel: &self.kernel, targets: &self.targets, penalty, left_out: None }
    }

    /// R² on the held-out rows of the model with the coefficients `beta`, one per training row and perhaps padding.
    pub(super) fn r_squared(&self, beta: &[f64], bias: f64) -> f64 {
        let n = self.targets.len();
        let rows = self.held_kernel.chunks(self.kernel.stride.max(1));
        let forecasts: Vec<f64> = rows.map(|row| dot(&row[..n], &beta[..n]) + bias).collect();
        crate::statistics::r_squared(&forecasts, &self.held_targets)
    }
}

/// ‖a − b‖.
fn euclidean_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

//! The ν-SVR quadratic program, solved by sequential minimal optimization on a dense kernel matrix.
//!
//! Primal (Schölkopf et al. 2000, in libsvm's scaling):
//!
//! ```text
//! minimize  ½‖w‖² + C·(ν·n·ε + Σᵢ (ξᵢ + ξᵢ*))   with   |yᵢ − f(xᵢ)| ≤ ε + ξᵢ (+ ξᵢ*)
//! ```
//!
//! Dual, with β = α − α*:
//!
//! ```text
//! minimize  ½ βᵀKβ − yᵀβ   with   0 ≤ αᵢ, αᵢ* ≤ C,   Σα = Σα* = C·ν·n/2
//! ```
//!
//! One gradient g = Kβ − y serves both blocks: it is ∂/∂α, and −g is ∂/∂α*. Each step moves weight between two α, or
//! between two α*: in the few steps before the active-set method takes over, the pair that violates optimality most (more
//! of these steps fit into the same time); after it, that of the second-order rule of Fan, Chen & Lin (2005).

use super::pivot::{ActiveSet, FinishOutcome, subtract_rows};
use super::program::QuadraticProgram;
use crate::linalg::simd::dispatched;

/// The accuracy of a solve, and the limit of its steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SolveEffort {
    /// Largest violation of the optimality conditions that is left, in units of the target.
    pub(crate) tolerance: f64,
    /// Most steps of sequential minimal optimization.
    pub(crate) steps: usize,
    /// Steps of it per point before the active-set method takes over.
    pub(crate) start: usize,
}

impl SolveEffort {
    /// While searching. libsvm's own tolerance is 1e-3; a finer one ranks close draws as the exact solutions would.
    pub(super) const SEARCH: Self = Self { tolerance: 1e-5, steps: 20_000, start: 3 };
    /// With a linear kernel, whose active set is far from the start's. Finer, as few draws are solved from a cold start
    /// and their scores are compared with those of followed solutions.
    pub(super) const SEARCH_LINEAR: Self = Self { tolerance: 1e-7, start: 5, ..Self::SEARCH };
    /// For the model itself, and without each run.
    pub(super) const FINAL: Self = Self { tolerance: 1e-6, steps: 200_000, start: 2 };
}

/// The state of the solver: dual variables and gradient, padded to whole vectors. Kept between solves to spare
/// allocations and, on purpose, to start from a neighboring solution.
#[derive(Clone, Debug, Default)]
pub(crate) struct DualSolver {
    pub(crate) n: usize,
    /// α, one per point.
    pub(crate) alpha: Vec<f64>,
    /// α*, one per point.
    pub(crate) alpha_star: Vec<f64>,
    /// g = Kβ − y.
    pub(crate) gradient: Vec<f64>,
    /// C for points, 0 for padding, so that padding can never move.
    cap: Vec<f64>,
    diagonal: Vec<f64>,
    order: Vec<usize>,
    /// The coefficients of the points in `order`.
    moved: Vec<f64>,
    pivot: ActiveSet,
}

/// The number of times that the two methods take turns.
const MAX_TURNS: usize = 8;

/// The result of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SolveResult {
    /// The offset b of f(x) = Σ β_i k(x_i, x) + b.
    pub(crate) bias: f64,
    /// Half the width of the tube, ε.
    pub(crate) epsilon: f64,
    /// Steps of sequential minimal optimization taken.
    pub(crate) steps: usize,
    /// Largest violation of the optimality conditions that was left.
    pub(crate) violation: f64,
}

impl DualSolver {
    /// β_i = α_i − α_i*.
    pub(crate) fn coefficient(&self, i: usize) -> f64 {
        self.alpha[i] - self.alpha_star[i]
    }

    /// The coefficients β, and whether the tube is closed: α and α* overlap.
    pub(crate) fn solution(&self) -> (Vec<f64>, bool) {
        let points = self.alpha[..self.n].iter().zip(&self.alpha_star);
        let closed = points.clone().any(|(a, s)| a.min(*s) > 0.0);
        (points.map(|(a, s)| a - s).collect(), closed)
    }

    /// All variables 0.
    fn reset(&mut self, problem: &QuadraticProgram<'_>) {
        let kernel = problem.kernel;
        self.n = kernel.n;
        for vector in
            [&mut self.alpha, &mut self.alpha_star, &mut self.gradient, &mut self.cap, &mut self.diagonal]
        {
            vector.clear();
            vector.resize(kernel.stride, 0.0);
        }
        for i in 0..kernel.n {
            self.cap[i] = if problem.has(i) { problem.penalty.c } else { 0.0 };
            self.diagonal[i] = kernel.data[i * kernel.stride + i];
        }
    }

    /// Starts with all of α on the largest targets and all of α* on the smallest: the solution as C → 0.
    fn start_cold(&mut self, problem: &QuadraticProgram<'_>) {
        let targets = problem.targets;
        self.reset(problem);
        self.order.clear();
        self.order.extend(0..problem.kernel.n);
        self.order.sort_unstable_by(|&a, &b| targets[b].total_cmp(&targets[a]).then(a.cmp(&b)));
        let mut left = problem.half();
        for &i in &self.order {
            self.alpha[i] = left.min(self.cap[i]);
            left -= self.alpha[i];
        }
        let mut left = problem.half();
        for &i in self.order.iter().rev() {
            self.alpha_star[i] = left.min(self.cap[i]);
            left -= self.alpha_star[i];
        }
        self.refresh_gradient(problem);
    }

    /// Starts with α and α* level: β = 0, and every point is free in a closed tube.
    fn start_even(&mut self, problem: &QuadraticProgram<'_>) {
        self.reset(problem);
        for ((alpha, alpha_star), cap) in self.alpha.iter_mut().zip(&mut self.alpha_star).zip(&self.cap) {
            *alpha = 0.5 * problem.penalty.nu * cap;
            *alpha_star = *alpha;
        }
        self.refresh_gradient(problem);
    }

    /// Recomputes g = Kβ − y.
    fn refresh_gradient(&mut self, problem: &QuadraticProgram<'_>) {
        for (g, y) in self.gradient.iter_mut().zip(problem.targets) {
            *g = -y;
        }
        self.order.clear();
        self.moved.clear();
        for i in 0..self.n {
            let beta = self.coefficient(i);
            if beta.abs() > 0.0 {
                self.order.push(i);
                self.moved.push(beta);
            }
        }
        let kernel = problem.kernel;
        subtract_rows(&mut self.gradient, &kernel.data, kernel.stride, &self.order, &self.moved, -1.0);
    }

    /// Solves from a cold start. `targets` has as many entries as the kernel has points.
    pub(crate) fn solve(&mut self, problem: &QuadraticProgram<'_>, effort: SolveEffort) -> SolveResult {
        if problem.is_likely_interpolated() {
            self.start_even(problem);
            return self.take_turns(problem, effort, (0, f64::INFINITY), true);
        }
        self.start_cold(problem);
        let first = self.descend(problem, effort, effort.start * problem.kernel.n, false);
        self.take_turns(problem, effort, first, false)
    }

    /// Solves from the coefficients of a neighboring problem with the same points, whose tube was `closed` or not.
    pub(crate) fn solve_near(
        &mut self,
        problem: &QuadraticProgram<'_>,
        effort: SolveEffort,
        (beta, closed): (&[f64], bool),
    ) -> SolveResult {
        self.reset(problem);
        for (i, &b) in beta.iter().enumerate().filter(|&(i, _)| problem.has(i)) {
            self.alpha[i] = b.clamp(0.0, self.cap[i]);
            self.alpha_star[i] = (-b).clamp(0.0, self.cap[i]);
        }
        self.refresh_gradient(problem);
        self.take_turns(problem, effort, (0, f64::INFINITY), closed)
    }

    /// The active-set method and sequential minimal optimization by turns, after `steps` of the latter that left
    /// `violation`; `closed` says that the tube is taken to be closed at first.
    fn take_turns(
        &mut self,
        problem: &QuadraticProgram<'_>,
        effort: SolveEffort,
        (mut steps, mut violation): (usize, f64),
        mut closed: bool,
    ) -> SolveResult {
        for _ in 0..MAX_TURNS {
            if violation <= effort.tolerance {
                break;
            }
            let mut pivot = std::mem::take(&mut self.pivot);
            pivot.start(problem, (&self.alpha, &self.alpha_star, &self.gradient), closed);
            // the caller's word is for the first turn only: later ones see from α and α* whether the tube is closed
            closed = false;
            let ended = pivot.finish(problem.kernel, 0.5 * effort.tolerance, 4 * problem.kernel.n);
            pivot.split(&mut self.alpha, &mut self.alpha_star);
            for (g, r) in self.gradient.iter_mut().zip(&pivot.residual) {
                *g = -r;
            }
            self.pivot = pivot;
            if ended == FinishOutcome::Unfinished {
                self.restore_sums(problem);
                self.refresh_gradient(problem);
            }
            // after an optimum only rounding is left to clear up; otherwise these steps have to do the work
            let more =
                if ended == FinishOutcome::Optimal { problem.kernel.n } else { effort.steps / MAX_TURNS };
            let (taken, left) = self.descend(problem, effort, more, true);
            steps += taken;
            violation = left;
        }
        let (bias, epsilon) = self.bias_and_tube(problem);
        SolveResult { bias, epsilon, steps, violation }
    }

    /// Changes the variables as little as may be so that both sums are right.
    fn restore_sums(&mut self, problem: &QuadraticProgram<'_>) {
        shift_onto(&mut self.alpha[..self.n], &self.cap, problem.half());
        shift_onto(&mut self.alpha_star[..self.n], &self.cap, problem.half());
    }

    /// At most `steps` steps of sequential minimal optimization by the second-order rule or not; gives the steps taken
    /// and the violation left.
    fn descend(
        &mut self,
        problem: &QuadraticProgram<'_>,
        effort: SolveEffort,
        steps: usize,
        second_order: bool,
    ) -> (usize, f64) {
        let state = DescentState {
            kernel: &problem.kernel.data,
            diagonal: &self.diagonal,
            cap: &self.cap,
            alpha: &mut self.alpha,
            alpha_star: &mut self.alpha_star,
            gradient: &mut self.gradient,
        };
        minimize(state, effort.tolerance, steps, second_order)
    }

    /// Bias and tube from the optimality conditions: −g = b + ε where α is free, −g = b − ε where α* is free; where
    /// none is free, the middle of what the bounds allow (libsvm's rule).
    fn bias_and_tube(&self, problem: &QuadraticProgram<'_>) -> (f64, f64) {
        // b + ε and b − ε
        let [above, below] = [(&self.alpha, 1.0), (&self.alpha_star, -1.0)].map(|(variables, sign)| {
            let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
            let (mut sum, mut free) = (0.0, 0_usize);
            let part =
                variables[..self.n].iter().zip(&self.gradient).enumerate().filter(|&(i, _)| problem.has(i));
            for (_, (&a, &g)) in part {
                let residual = -sign * g;
                if a >= problem.penalty.c {
                    high = high.min(residual);
                } else if a <= 0.0 {
                    low = low.max(residual);
                } else {
                    sum += residual;
                    free += 1;
                }
            }
            let level = match (free, low.is_finite(), high.is_finite()) {
                (0, true, true) => (low + high) / 2.0,
                (0, true, false) => low,
                (0, false, true) => high,
                (0, false, false) => 0.0,
                _ => sum / free as f64,
            };
            sign * level
        });
        ((above + below) / 2.0, (above - below) / 2.0)
    }

    /// Primal minus dual objective, ≥ 0 and 0 at the optimum: the certificate of a solution.
    pub(crate) fn duality_gap(&self, solved: &SolveResult, problem: &QuadraticProgram<'_>) -> f64 {
        let QuadraticProgram { targets, penalty, .. } = *problem;
        let n = self.n as f64;
        let (mut quadratic, mut linear, mut slack) = (0.0, 0.0, 0.0);
        let epsilon = solved.epsilon.max(0.0);
        for (i, (&g, &y)) in self.gradient.iter().zip(targets).enumerate().take(self.n) {
            let beta = self.coefficient(i);
            quadratic += beta * (g + y);
            linear += beta * y;
            slack += ((g + solved.bias).abs() - epsilon).max(0.0);
        }
        let primal = 0.5 * quadratic + penalty.c * (penalty.nu * n * epsilon + slack);
        primal - (linear - 0.5 * quadratic)
    }
}

/// Moves `variables` within [0, cap] until they sum to `total`: what lacks fills the room of all alike, what is too much shrinks all alike.
fn shift_onto(variables: &mut [f64], cap: &[f64], total: f64) {
    let sum: f64 = variables.iter().sum();
    if sum >= total {
        let share = if sum > 0.0 { total / sum } else { 0.0 };
        variables.iter_mut().for_each(|v| *v *= share);
        return;
    }
    let room: f64 = cap.iter().zip(&*variables).map(|(c, v)| c - v).sum();
    let share = if room > 0.0 { ((total - sum) / room).min(1.0) } else { 0.0 };
    for (v, c) in variables.iter_mut().zip(cap) {
        *v += share * (c - *v);
    }
}

dispatched! {
    /// target += factor · row.
    pub(crate) fn add_scaled(target: &mut [f64], factor: f64, row: &[f64]) {
        for (t, r) in target.iter_mut().zip(row) {
            *t = factor.mul_add(*r, *t);
        }
    }
}

/// A number as an integer of the same order whose last bits, those of `mask`, show its place: least and largest of
/// such keys come with their index, and integers have reductions that vectorize. Numbers that differ only in those bits
/// count as equal.
#[inline(always)]
fn key(value: f64, index: usize, mask: i64) -> i64 {
    (in_order(value) & !mask) | index as i64
}

/// The bits of a number as an integer of the same order.
#[inline(always)]
pub(super) fn in_order(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    // a negative number's other bits count downwards
    bits ^ ((bits >> 63) & i64::MAX)
}

/// The index that a key carries; `None` for the start of a reduction, which no key reached.
#[inline(always)]
fn index_of_key(key: i64, mask: i64) -> Option<usize> {
    (key > i64::MIN && key < i64::MAX).then_some((key & mask) as usize)
}

/// The data of sequential minimal optimization: padded vectors, each as long as a row of the kernel matrix.
pub(crate) struct DescentState<'a> {
    kernel: &'a [f64],
    diagonal: &'a [f64],
    cap: &'a [f64],
    alpha: &'a mut [f64],
    alpha_star: &'a mut [f64],
    gradient: &'a mut [f64],
}

/// The ends of the violations of optimality: where g is least and largest among the variables that can grow and shrink.
struct ViolationEnds {
    grow: Option<usize>,
    shrink: Option<usize>,
    grow_star: Option<usize>,
    shrink_star: Option<usize>,
}

/// α grows where g is least and shrinks where g is largest; α* the other way round. One pass.
#[inline(always)]
fn find_violation_ends(
    gradient: &[f64],
    alpha: &[f64],
    alpha_star: &[f64],
    cap: &[f64],
    mask: i64,
) -> ViolationEnds {
    let (mut grow, mut shrink) = (i64::MAX, i64::MIN);
    let (mut grow_star, mut shrink_star) = (i64::MIN, i64::MAX);
    for (index, (((g, a), s), c)) in gradient.iter().zip(alpha).zip(alpha_star).zip(cap).enumerate() {
        let key = key(*g, index, mask);
        grow = grow.min(if a < c { key } else { i64::MAX });
        shrink = shrink.max(if *a > 0.0 { key } else { i64::MIN });
        grow_star = grow_star.max(if s < c { key } else { i64::MIN });
        shrink_star = shrink_star.min(if *s > 0.0 { key } else { i64::MAX });
    }
    let [grow, shrink, grow_star, shrink_star] =
        [grow, shrink, grow_star, shrink_star].map(|key| index_of_key(key, mask));
    ViolationEnds { grow, shrink, grow_star, shrink_star }
}

/// k_ii + k_jj − 2k_ij, not below 10⁻¹².
#[inline(always)]
fn curvature(diagonal_i: f64, diagonal_j: f64, k: f64) -> f64 {
    let curvature = diagonal_i + diagonal_j - 2.0 * k;
    if curvature > 1e-12 { curvature } else { 1e-12 }
}

/// The variable j with the largest second-order gain (g_j − g_i)²/(k_ii + k_jj − 2k_ij), `low` being `sign`·g_i.
#[inline(always)]
fn find_most_gain(
    gradient: &[f64],
    variables: &[f64],
    row_i: &[f64],
    diagonal: &[f64],
    [sign, low, diagonal_i]: [f64; 3],
    mask: i64,
) -> Option<usize> {
    let mut gain = i64::MIN;
    for (index, (((g, a), k), d)) in gradient.iter().zip(variables).zip(row_i).zip(diagonal).enumerate() {
        let difference = sign * g - low;
        let usable = (*a > 0.0) & (difference > 0.0);
        let key = key(difference * difference / curvature(diagonal_i, *d, *k), index, mask);
        gain = gain.max(if usable { key } else { i64::MIN });
    }
    index_of_key(gain, mask)
}

/// Moves variable i up and variable j down by at most `wanted`; gives the step made.
#[inline(always)]
fn shift_pair(variables: &mut [f64], cap: &[f64], i: usize, j: usize, wanted: f64) -> f64 {
    let room = cap[i] - variables[i];
    let mut step = wanted;
    if room < step {
        step = room;
    }
    if variables[j] < step {
        step = variables[j];
    }
    variables[i] = if step >= room { cap[i] } else { variables[i] + step };
    variables[j] = if step >= variables[j] { 0.0 } else { variables[j] - step };
    step
}

/// sign · (g_high − g_low), or −∞ unless there are both.
#[inline(always)]
fn signed_gap(gradient: &[f64], low: Option<usize>, high: Option<usize>, sign: f64) -> f64 {
    match (low, high) {
        (Some(low), Some(high)) => sign * (gradient[high] - gradient[low]),
        _ => f64::NEG_INFINITY,
    }
}

/// gradient += change · (row_i − row_j).
#[inline(always)]
fn add_difference(gradient: &mut [f64], change: f64, row_i: &[f64], row_j: &[f64]) {
    for (g, (ki, kj)) in gradient.iter_mut().zip(row_i.iter().zip(row_j)) {
        *g = change.mul_add(ki - kj, *g);
    }
}

dispatched! {
    /// Sequential minimal optimization in place; gives the steps taken and the violation left.
    ///
    /// Each round finds, in one pass over the gradient, the best point to grow and the worst to shrink in each block;
    /// takes the block that violates optimality more; picks the partner, the worst to shrink or, `second_order`, that of
    /// the largest second-order gain, in another pass; and moves.
    pub(crate) fn minimize(state: DescentState<'_>, tolerance: f64, most_steps: usize, second_order: bool) -> (usize, f64) {
        let DescentState { kernel, diagonal, cap, alpha, alpha_star, gradient } = state;
        let (mut steps, stride) = (0, gradient.len());
        let mask = stride.next_power_of_two() as i64 - 1;
        loop {
            // 1. candidates
            let ViolationEnds { grow, shrink, grow_star, shrink_star } = find_violation_ends(gradient, alpha, alpha_star, cap, mask);
            let violation = signed_gap(gradient, grow, shrink, 1.0);
            let violation_star = signed_gap(gradient, grow_star, shrink_star, -1.0);
            let worst = if violation > violation_star { violation } else { violation_star };
            let left = if worst > 0.0 { worst } else { 0.0 };
            let starred = violation_star > violation;
            let Some(i) = (if starred { grow_star } else { grow }) else { return (steps, left) };
            if worst <= tolerance || worst.is_nan() || steps >= most_steps {
                return (steps, left);
            }
            // 2. the partner
            let sign = if starred { -1.0 } else { 1.0 };
            let low = sign * gradient[i];
            let variables: &mut [f64] = if starred { &mut *alpha_star } else { &mut *alpha };
            let row_i = &kernel[i * stride..(i + 1) * stride];
            let partner = if second_order {
                find_most_gain(gradient, variables, row_i, diagonal, [sign, low, diagonal[i]], mask)
            } else if starred {
                shrink_star
            } else {
                shrink
            };
            let Some(j) = partner else { return (steps, left) };
            // 3. the move
            let row_j = &kernel[j * stride..(j + 1) * stride];
            let wanted = (sign * gradient[j] - low) / curvature(diagonal[i], diagonal[j], row_i[j]);
            let step = shift_pair(variables, cap, i, j, wanted);
            add_difference(gradient, sign * step, row_i, row_j);
            steps += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::simd::{exp_scaled, inner_products, squared_distances, with_each_instruction_set};
    use crate::predict::svr::program::{KernelMatrix, NuPenalty};

    const EXACT: SolveEffort = SolveEffort { tolerance: 1e-9, steps: 1_000_000, start: 2 };

    /// The rows and targets of the fact sheet's §12.1.
    fn sample() -> (Vec<[f64; 3]>, Vec<f64>) {
        let rows = (0..12).map(|i| {
            let t = f64::from(i);
            ([t.sin(), (2.0 * t).cos(), t / 6.0 - 1.0], 0.5 + 0.3 * t.sin() + 0.1 * (t / 6.0 - 1.0).powi(2))
        });
        rows.unzip()
    }

    fn kernel(rows: &[[f64; 3]], gamma: Option<f64>) -> KernelMatrix {
        let flat: Vec<f64> = rows.concat();
        let mut matrix = KernelMatrix::default();
        matrix.reset(rows.len());
        let stride = matrix.stride;
        match gamma {
            None => inner_products(&flat, &flat, 3, stride, &mut matrix.data),
            Some(gamma) => {
                squared_distances(&flat, &flat, 3, stride, &mut matrix.data);
                for i in 0..rows.len() {
                    let row = matrix.row(i)[..rows.len()].to_vec();
                    exp_scaled(&row, gamma, &mut matrix.row_mut(i)[..rows.len()]);
                }
            }
        }
        matrix
    }

    fn problem<'a>(kernel: &'a KernelMatrix, targets: &'a [f64], c: f64, nu: f64) -> QuadraticProgram<'a> {
        QuadraticProgram { kernel, targets, penalty: NuPenalty { c, nu }, left_out: None }
    }

    #[test]
    fn agrees_with_the_test_vectors_of_the_fact_sheet() {
        let (rows, targets) = sample();
        let queries = [[0.0, 0.0, 0.0], [0.5, -0.5, 0.3], [-1.0, 1.0, 1.0]];
        // kernel, C, ν, f(q1), f(q2), f(q3), b, Σ|β|, support vectors
        let cases = [
            (Some(0.5), 1.0, 0.5, [0.48003, 0.67940, 0.45010], 0.58061, 3.736, 12),
            (Some(0.5), 0.1, 0.3, [0.53722, 0.60219, 0.52135], 0.54114, 0.36, 5),
            (None, 1.0, 0.5, [0.53084, 0.68046, 0.21106], 0.53084, 6.0, 8),
            (None, 0.05, 0.2, [0.53912, 0.58179, 0.42036], 0.53912, 0.12, 4),
        ];
        for (gamma, c, nu, forecasts, bias, sum, support) in cases {
            let matrix = kernel(&rows, gamma);
            let problem = problem(&matrix, &targets, c, nu);
            let mut dual = DualSolver::default();
            let solved = dual.solve(&problem, EXACT);
            assert!(solved.violation <= 1e-9, "{gamma:?} {c} {nu}: violation {}", solved.violation);
            let gap = dual.duality_gap(&solved, &problem);
            assert!(gap.abs() < 1e-7, "{gamma:?} {c} {nu}: gap {gap}");
            let beta: Vec<f64> = (0..12).map(|i| dual.coefficient(i)).collect();
            assert!((solved.bias - bias).abs() < 1e-3, "{gamma:?} {c} {nu}: bias {}", solved.bias);
            let total: f64 = beta.iter().map(|b| b.abs()).sum();
            assert!((total - sum).abs() < 2e-3, "{gamma:?} {c} {nu}: Σ|β| {total}");
            assert_eq!(beta.iter().filter(|b| b.abs() > 1e-7).count(), support, "{gamma:?} {c} {nu}");
            for (query, expected) in queries.iter().zip(forecasts) {
                let value = solved.bias
                    + rows
                        .iter()
                        .zip(&beta)
                        .map(|(row, b)| {
                            let product: f64 = row.iter().zip(query).map(|(x, q)| x * q).sum();
                            let distance: f64 = row.iter().zip(query).map(|(x, q)| (x - q).powi(2)).sum();
                            b * gamma.map_or(product, |gamma| (-gamma * distance).exp())
                        })
                        .sum::<f64>();
                assert!((value - expected).abs() < 1e-3, "{gamma:?} {c} {nu} {query:?}: {value}");
            }
        }
    }

    #[test]
    fn a_closed_tube_interpolates() {
        let (rows, targets) = sample();
        let matrix = kernel(&rows, Some(0.5));
        let mut dual = DualSolver::default();
        let solved = dual.solve(&problem(&matrix, &targets, 1.0, 0.5), EXACT);
        assert!(solved.epsilon.abs() < 1e-6);
        for (i, g) in dual.gradient[..12].iter().enumerate() {
            assert!((g + solved.bias).abs() < 1e-6, "residual of point {i}: {}", g + solved.bias);
        }
    }

    #[test]
    fn a_start_near_by_comes_to_the_same_solution() {
        let (rows, targets) = sample();
        let matrix = kernel(&rows, Some(0.5));
        let (mut first, mut fresh, mut moved) =
            (DualSolver::default(), DualSolver::default(), DualSolver::default());
        first.solve(&problem(&matrix, &targets, 0.5, 0.4), EXACT);
        let near_by = first.solution();
        for (c, nu) in [(0.5, 0.42), (0.6, 0.4), (0.01, 0.9), (9.0, 1.0)] {
            let near = problem(&matrix, &targets, c, nu);
            let (cold, warm) =
                (fresh.solve(&near, EXACT), moved.solve_near(&near, EXACT, (&near_by.0, near_by.1)));
            assert!(cold.violation <= 1e-9 && warm.violation <= 1e-9, "{c} {nu}: {cold:?} {warm:?}");
            let furthest = (0..12).map(|i| (fresh.gradient[i] - moved.gradient[i]).abs()).fold(0.0, f64::max);
            assert!(furthest < 1e-7, "{c} {nu}: {furthest}");
        }
    }

    #[test]
    fn both_starts_come_to_the_same_solution() {
        let (rows, targets) = sample();
        let mut guessed = 0;
        for gamma in [0.05, 0.5, 2.0, 10.0] {
            let matrix = kernel(&rows, Some(gamma));
            // where ν·n/2 is whole, all points may be at their bounds, which leaves b and ε open
            for (c, nu) in [(0.1, 0.55), (1.0, 0.3), (1.0, 0.9), (10.0, 0.2), (10.0, 1.0)] {
                let problem = problem(&matrix, &targets, c, nu);
                let (mut even, mut cold) = (DualSolver::default(), DualSolver::default());
                even.start_even(&problem);
                let even = even.take_turns(&problem, EXACT, (0, f64::INFINITY), true);
                cold.start_cold(&problem);
                let first = cold.descend(&problem, EXACT, EXACT.start * 12, false);
                let cold = cold.take_turns(&problem, EXACT, first, false);
                assert!(even.violation <= 1e-9 && cold.violation <= 1e-9, "{gamma} {c} {nu}");
                assert!((even.epsilon - cold.epsilon).abs() < 1e-7, "{gamma} {c} {nu}: {even:?} {cold:?}");
                guessed += usize::from(problem.is_likely_interpolated());
            }
        }
        assert!((3..18).contains(&guessed), "{guessed} of 20");
    }

    #[test]
    fn a_point_left_out_is_as_good_as_absent() {
        let (rows, targets) = sample();
        for left_out in [0, 5, 11] {
            let whole = kernel(&rows, Some(0.5));
            let keep: Vec<usize> = (0..12).filter(|&i| i != left_out).collect();
            let part = kernel(&keep.iter().map(|&i| rows[i]).collect::<Vec<_>>(), Some(0.5));
            let part_targets: Vec<f64> = keep.iter().map(|&i| targets[i]).collect();
            let (mut masked, mut absent) = (DualSolver::default(), DualSolver::default());
            let problem = |kernel, targets, left_out| QuadraticProgram {
                left_out,
                ..problem(kernel, targets, 0.3, 0.6)
            };
            let a = masked.solve(&problem(&whole, &targets, Some(left_out)), EXACT);
            let b = absent.solve(&problem(&part, &part_targets, None), EXACT);
            assert!((a.bias - b.bias).abs() < 1e-7 && (a.epsilon - b.epsilon).abs() < 1e-7);
            for (k, &i) in keep.iter().enumerate() {
                assert!((masked.coefficient(i) - absent.coefficient(k)).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn every_instruction_set_takes_the_same_steps() {
        let (rows, targets) = sample();
        let matrix = kernel(&rows, Some(0.2));
        let all = with_each_instruction_set(|| {
            let mut dual = DualSolver::default();
            let solved = dual.solve(&problem(&matrix, &targets, 2.0, 0.3), EXACT);
            (solved, dual.alpha)
        });
        assert!(all.iter().all(|result| result == &all[0]));
    }
}

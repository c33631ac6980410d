//! The ν-SVR quadratic program, solved by sequential minimal optimisation on a dense kernel matrix.
//!
//! Primal (Schölkopf et al. 2000, in libsvm's scaling):
//!
//! ```text
//! minimise  ½‖w‖² + C·(ν·n·ε + Σᵢ (ξᵢ + ξᵢ*))   with   |yᵢ − f(xᵢ)| ≤ ε + ξᵢ (+ ξᵢ*)
//! ```
//!
//! Dual, with β = α − α*:
//!
//! ```text
//! minimise  ½ βᵀKβ − yᵀβ   with   0 ≤ αᵢ, αᵢ* ≤ C,   Σα = Σα* = C·ν·n/2
//! ```
//!
//! One gradient g = Kβ − y serves both blocks: it is ∂/∂α, and −g is ∂/∂α*. Each step moves weight between two α, or
//! between two α*, chosen by the second-order rule of Fan, Chen & Lin (2005).

use crate::simd::{LANES, dispatched};

/// Box constraint and tube: what the solver needs besides kernel and targets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Penalty {
    /// C > 0, the bound of each dual coefficient.
    pub(crate) c: f64,
    /// ν in (0, 1]: at most this share of the points lies outside the tube, at least this share are support vectors.
    pub(crate) nu: f64,
}

/// How exactly, and how long at most, to solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effort {
    /// Largest violation of the optimality conditions that is left, in units of the target.
    pub(crate) tolerance: f64,
    /// Most steps of sequential minimal optimisation before the interior-point method takes over.
    pub(crate) steps: usize,
}

/// A symmetric kernel matrix whose rows are padded to whole vectors; the padding is zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelMatrix {
    pub(crate) n: usize,
    pub(crate) stride: usize,
    pub(crate) data: Vec<f64>,
}

impl KernelMatrix {
    /// The matrix of zeros of size n × n, reusing the memory of `self`.
    pub(crate) fn reset(&mut self, n: usize) {
        self.n = n;
        self.stride = n.next_multiple_of(LANES);
        self.data.clear();
        self.data.resize(n * self.stride, 0.0);
    }

    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.stride..(i + 1) * self.stride]
    }

    pub(crate) fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[i * self.stride..(i + 1) * self.stride]
    }

    /// Fills `self` with the rows and columns `keep` of `whole`.
    pub(crate) fn gather(&mut self, whole: &KernelMatrix, keep: &[usize]) {
        self.reset(keep.len());
        for (a, &i) in keep.iter().enumerate() {
            let source = whole.row(i);
            for (cell, &j) in self.row_mut(a).iter_mut().zip(keep) {
                *cell = source[j];
            }
        }
    }
}

/// The state of the solver: dual variables and gradient, padded to whole vectors. Kept between solves to spare
/// allocations and, on purpose, to start from a neighbouring solution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dual {
    pub(crate) n: usize,
    /// α, one a point.
    pub(crate) alpha: Vec<f64>,
    /// α*, one a point.
    pub(crate) alpha_star: Vec<f64>,
    /// g = Kβ − y.
    pub(crate) gradient: Vec<f64>,
    /// C for points, 0 for padding, so that padding can never move.
    cap: Vec<f64>,
    diagonal: Vec<f64>,
    order: Vec<usize>,
}

/// What a solve came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Solved {
    /// The offset b of f(x) = Σ β_i k(x_i, x) + b.
    pub(crate) bias: f64,
    /// Half the width of the tube, ε.
    pub(crate) epsilon: f64,
    /// Steps of sequential minimal optimisation taken.
    pub(crate) steps: usize,
    /// Largest violation of the optimality conditions that was left.
    pub(crate) violation: f64,
}

impl Dual {
    /// β_i = α_i − α_i*.
    pub(crate) fn coefficient(&self, i: usize) -> f64 {
        self.alpha[i] - self.alpha_star[i]
    }

    /// Prepares for `n` points and penalty `penalty`, all variables 0.
    fn reset(&mut self, kernel: &KernelMatrix, penalty: Penalty) {
        self.n = kernel.n;
        for vector in
            [&mut self.alpha, &mut self.alpha_star, &mut self.gradient, &mut self.cap, &mut self.diagonal]
        {
            vector.clear();
            vector.resize(kernel.stride, 0.0);
        }
        self.cap[..kernel.n].fill(penalty.c);
        for i in 0..kernel.n {
            self.diagonal[i] = kernel.data[i * kernel.stride + i];
        }
    }

    /// Starts with all of α on the largest targets and all of α* on the smallest: the solution as C → 0.
    fn start_cold(&mut self, kernel: &KernelMatrix, targets: &[f64], penalty: Penalty) {
        self.reset(kernel, penalty);
        self.order.clear();
        self.order.extend(0..kernel.n);
        self.order.sort_unstable_by(|&a, &b| targets[b].total_cmp(&targets[a]).then(a.cmp(&b)));
        let total = penalty.c * penalty.nu * kernel.n as f64 / 2.0;
        let (mut left, mut left_star) = (total, total);
        for k in 0..kernel.n {
            let (high, low) = (self.order[k], self.order[kernel.n - 1 - k]);
            self.alpha[high] = left.min(penalty.c);
            self.alpha_star[low] = left_star.min(penalty.c);
            left -= self.alpha[high];
            left_star -= self.alpha_star[low];
            if left <= 0.0 && left_star <= 0.0 {
                break;
            }
        }
    }

    /// Recomputes g = Kβ − y.
    fn refresh_gradient(&mut self, kernel: &KernelMatrix, targets: &[f64]) {
        for (g, y) in self.gradient.iter_mut().zip(targets) {
            *g = -y;
        }
        for i in 0..self.n {
            let beta = self.coefficient(i);
            if beta.abs() > 0.0 {
                add_scaled(&mut self.gradient, beta, kernel.row(i));
            }
        }
    }

    /// Solves from a cold start. `targets` has `kernel.n` entries.
    pub(crate) fn solve(
        &mut self,
        kernel: &KernelMatrix,
        targets: &[f64],
        penalty: Penalty,
        effort: Effort,
    ) -> Solved {
        self.start_cold(kernel, targets, penalty);
        self.improve(kernel, targets, penalty, effort)
    }

    /// Solves from the solution of a neighbouring problem with the same points: `alpha` and `alpha_star` are clipped to
    /// the box and shifted onto the constraints first.
    pub(crate) fn solve_from(
        &mut self,
        kernel: &KernelMatrix,
        targets: &[f64],
        penalty: Penalty,
        effort: Effort,
        start: (&[f64], &[f64]),
    ) -> Solved {
        self.reset(kernel, penalty);
        let total = penalty.c * penalty.nu * kernel.n as f64 / 2.0;
        self.alpha[..kernel.n].copy_from_slice(start.0);
        self.alpha_star[..kernel.n].copy_from_slice(start.1);
        self.refresh_gradient(kernel, targets);
        self.order.clear();
        self.order.extend(0..kernel.n);
        let gradient = &self.gradient;
        self.order.sort_unstable_by(|&a, &b| gradient[a].total_cmp(&gradient[b]));
        shift_onto(&mut self.alpha, &self.order, total, penalty.c);
        self.order.reverse();
        shift_onto(&mut self.alpha_star, &self.order, total, penalty.c);
        self.improve(kernel, targets, penalty, effort)
    }

    fn improve(
        &mut self,
        kernel: &KernelMatrix,
        targets: &[f64],
        penalty: Penalty,
        effort: Effort,
    ) -> Solved {
        self.refresh_gradient(kernel, targets);
        let mut progress = [0.0; 2];
        minimise(
            &kernel.data,
            kernel.stride,
            &self.diagonal,
            &self.cap,
            &mut self.alpha,
            &mut self.alpha_star,
            &mut self.gradient,
            effort.tolerance,
            effort.steps,
            &mut progress,
        );
        let (bias, epsilon) = self.offset(penalty.c);
        Solved { bias, epsilon, steps: progress[0] as usize, violation: progress[1] }
    }

    /// Bias and tube from the optimality conditions: −g = b + ε where α is free, −g = b − ε where α* is free; where
    /// none is free, the middle of what the bounds allow (libsvm's rule).
    fn offset(&self, c: f64) -> (f64, f64) {
        let level = |variables: &[f64], sign: f64| {
            let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
            let (mut sum, mut free) = (0.0, 0_usize);
            for (&a, &g) in variables[..self.n].iter().zip(&self.gradient) {
                let residual = -sign * g;
                if a >= c {
                    high = high.min(residual);
                } else if a <= 0.0 {
                    low = low.max(residual);
                } else {
                    sum += residual;
                    free += 1;
                }
            }
            match (free, low.is_finite(), high.is_finite()) {
                (0, true, true) => (low + high) / 2.0,
                (0, true, false) => low,
                (0, false, true) => high,
                (0, false, false) => 0.0,
                _ => sum / free as f64,
            }
        };
        let above = level(&self.alpha, 1.0); // b + ε
        let below = -level(&self.alpha_star, -1.0); // b − ε
        ((above + below) / 2.0, (above - below) / 2.0)
    }

    /// Primal minus dual objective, ≥ 0 and 0 at the optimum: the certificate of a solution.
    #[cfg(test)]
    pub(crate) fn duality_gap(&self, solved: &Solved, targets: &[f64], penalty: Penalty) -> f64 {
        let n = self.n as f64;
        let (mut quadratic, mut linear, mut slack) = (0.0, 0.0, 0.0);
        let epsilon = solved.epsilon.max(0.0);
        for i in 0..self.n {
            let beta = self.coefficient(i);
            quadratic += beta * (self.gradient[i] + targets[i]);
            linear += beta * targets[i];
            slack += ((self.gradient[i] + solved.bias).abs() - epsilon).max(0.0);
        }
        let primal = 0.5 * quadratic + penalty.c * (penalty.nu * n * epsilon + slack);
        primal - (linear - 0.5 * quadratic)
    }
}

/// Changes `variables` as little as may be so that they lie in [0, c] and sum to `total`: what is missing goes to the
/// first of `order`, what is too much is taken from the last.
fn shift_onto(variables: &mut [f64], order: &[usize], total: f64, c: f64) {
    let mut sum = 0.0;
    for &i in order {
        variables[i] = variables[i].clamp(0.0, c);
        sum += variables[i];
    }
    let mut missing = total - sum;
    if missing > 0.0 {
        for &i in order {
            let step = missing.min(c - variables[i]);
            variables[i] += step;
            missing -= step;
        }
    } else {
        for &i in order.iter().rev() {
            let step = (-missing).min(variables[i]);
            variables[i] -= step;
            missing += step;
        }
    }
}

dispatched! {
    /// target += factor · row.
    pub(crate) fn add_scaled(target: &mut [f64], factor: f64, row: &[f64]) {
        for (t, r) in target.iter_mut().zip(row) {
            *t += factor * r;
        }
    }
}

/// The least of the lanes and its index; ties go to the smaller index.
#[inline(always)]
fn least(values: [f64; LANES], indices: [f64; LANES]) -> (f64, usize) {
    let (mut value, mut index) = (values[0], indices[0]);
    for l in 1..LANES {
        if values[l] < value || (values[l] <= value && indices[l] < index) {
            value = values[l];
            index = indices[l];
        }
    }
    (value, index as usize)
}

dispatched! {
    /// Sequential minimal optimisation on padded vectors, in place; `progress` receives (steps, violation left).
    ///
    /// Each round finds, in one pass over the gradient, the best point to grow and the worst to shrink in each block;
    /// takes the block that violates optimality more; picks the partner by largest second-order gain; and moves.
    pub(crate) fn minimise(
        kernel: &[f64],
        stride: usize,
        diagonal: &[f64],
        cap: &[f64],
        alpha: &mut [f64],
        alpha_star: &mut [f64],
        gradient: &mut [f64],
        tolerance: f64,
        most_steps: usize,
        progress: &mut [f64; 2],
    ) {
        let mut steps = 0;
        loop {
            // 1. candidates: grow α where g is least, shrink it where g is largest; α* the other way round
            let mut grow = [f64::INFINITY; LANES];
            let mut grow_at = [0.0; LANES];
            let mut shrink = [f64::NEG_INFINITY; LANES];
            let mut grow_star = [f64::INFINITY; LANES];
            let mut grow_star_at = [0.0; LANES];
            let mut shrink_star = [f64::NEG_INFINITY; LANES];
            let blocks = gradient.as_chunks::<LANES>().0.iter().zip(alpha.as_chunks::<LANES>().0);
            let blocks = blocks.zip(alpha_star.as_chunks::<LANES>().0).zip(cap.as_chunks::<LANES>().0);
            for (block, (((g, a), s), c)) in blocks.enumerate() {
                let base = (block * LANES) as f64;
                for l in 0..LANES {
                    let at = base + l as f64;
                    let up = if a[l] < c[l] { g[l] } else { f64::INFINITY };
                    let better = up < grow[l];
                    grow[l] = if better { up } else { grow[l] };
                    grow_at[l] = if better { at } else { grow_at[l] };
                    let down = if a[l] > 0.0 { g[l] } else { f64::NEG_INFINITY };
                    shrink[l] = if down > shrink[l] { down } else { shrink[l] };
                    let up = if s[l] < c[l] { -g[l] } else { f64::INFINITY };
                    let better = up < grow_star[l];
                    grow_star[l] = if better { up } else { grow_star[l] };
                    grow_star_at[l] = if better { at } else { grow_star_at[l] };
                    let down = if s[l] > 0.0 { -g[l] } else { f64::NEG_INFINITY };
                    shrink_star[l] = if down > shrink_star[l] { down } else { shrink_star[l] };
                }
            }
            let most = |lanes: [f64; LANES]| lanes.iter().fold(f64::NEG_INFINITY, |m, &v| if v > m { v } else { m });
            let (low, i) = least(grow, grow_at);
            let (low_star, i_star) = least(grow_star, grow_star_at);
            let violation = most(shrink) - low;
            let violation_star = most(shrink_star) - low_star;
            let worst = if violation > violation_star { violation } else { violation_star };
            progress[0] = steps as f64;
            progress[1] = if worst > 0.0 { worst } else { 0.0 };
            if !(worst > tolerance) || steps >= most_steps {
                return;
            }
            // 2. the partner with the largest second-order gain (g_j − g_i)²/(k_ii + k_jj − 2k_ij)
            let starred = violation_star > violation;
            let (i, low, sign) = if starred { (i_star, low_star, -1.0) } else { (i, low, 1.0) };
            let variables: &mut [f64] = if starred { &mut *alpha_star } else { &mut *alpha };
            let row_i = &kernel[i * stride..(i + 1) * stride];
            let diagonal_i = diagonal[i];
            let mut gain = [f64::INFINITY; LANES];
            let mut gain_at = [0.0; LANES];
            let blocks = gradient.as_chunks::<LANES>().0.iter().zip(variables.as_chunks::<LANES>().0);
            let blocks = blocks.zip(row_i.as_chunks::<LANES>().0).zip(diagonal.as_chunks::<LANES>().0);
            for (block, (((g, a), k), d)) in blocks.enumerate() {
                let base = (block * LANES) as f64;
                for l in 0..LANES {
                    let difference = sign * g[l] - low;
                    let curvature = diagonal_i + d[l] - 2.0 * k[l];
                    let curvature = if curvature > 1e-12 { curvature } else { 1e-12 };
                    let usable = (a[l] > 0.0) & (difference > 0.0);
                    let value = if usable { -(difference * difference) / curvature } else { f64::INFINITY };
                    let better = value < gain[l];
                    gain[l] = if better { value } else { gain[l] };
                    gain_at[l] = if better { base + l as f64 } else { gain_at[l] };
                }
            }
            let (_, j) = least(gain, gain_at);
            // 3. move: variable i up, variable j down
            let row_j = &kernel[j * stride..(j + 1) * stride];
            let curvature = diagonal_i + diagonal[j] - 2.0 * row_i[j];
            let curvature = if curvature > 1e-12 { curvature } else { 1e-12 };
            let wanted = (sign * gradient[j] - low) / curvature;
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
            let change = sign * step;
            for (g, (ki, kj)) in gradient.iter_mut().zip(row_i.iter().zip(row_j)) {
                *g += change * (ki - kj);
            }
            steps += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{exp_scaled, inner_products, squared_distances, with_each_instruction_set};

    const EXACT: Effort = Effort { tolerance: 1e-9, steps: 1_000_000 };

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
            let penalty = Penalty { c, nu };
            let mut dual = Dual::default();
            let solved = dual.solve(&matrix, &targets, penalty, EXACT);
            assert!(solved.violation <= 1e-9, "{gamma:?} {c} {nu}: violation {}", solved.violation);
            let gap = dual.duality_gap(&solved, &targets, penalty);
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
        let mut dual = Dual::default();
        let solved = dual.solve(&matrix, &targets, Penalty { c: 1.0, nu: 0.5 }, EXACT);
        assert!(solved.epsilon.abs() < 1e-6);
        for (i, g) in dual.gradient[..12].iter().enumerate() {
            assert!((g + solved.bias).abs() < 1e-6, "residual of point {i}: {}", g + solved.bias);
        }
    }

    #[test]
    fn a_warm_start_comes_to_the_same_solution_in_fewer_steps() {
        let (rows, targets) = sample();
        let matrix = kernel(&rows, Some(0.5));
        let (mut cold, mut warm) = (Dual::default(), Dual::default());
        let penalty = Penalty { c: 0.5, nu: 0.4 };
        let first = cold.solve(&matrix, &targets, penalty, EXACT);
        let start = (cold.alpha[..12].to_vec(), cold.alpha_star[..12].to_vec());
        let near = Penalty { c: 0.5, nu: 0.42 };
        let fresh = cold.solve(&matrix, &targets, near, EXACT);
        let moved = warm.solve_from(&matrix, &targets, near, EXACT, (&start.0, &start.1));
        assert!(first.violation <= 1e-9 && moved.violation <= 1e-9);
        assert!((fresh.bias - moved.bias).abs() < 1e-6 && moved.steps < fresh.steps);
    }

    #[test]
    fn every_instruction_set_takes_the_same_steps() {
        let (rows, targets) = sample();
        let matrix = kernel(&rows, Some(0.2));
        let all = with_each_instruction_set(|| {
            let mut dual = Dual::default();
            let solved = dual.solve(&matrix, &targets, Penalty { c: 2.0, nu: 0.3 }, EXACT);
            (solved, dual.alpha)
        });
        assert!(all.iter().all(|result| result == &all[0]));
    }
}

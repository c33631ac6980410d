//! The ν-SVR quadratic program, finished by an active-set method with an updated inverse of the free block.
//!
//! With β = α − α* the dual is, in one variable a point,
//!
//! ```text
//! minimize  ½ βᵀKβ − yᵀβ   with   Σβ = 0,   Σ|β| ≤ C·ν·n,   |βᵢ| ≤ C
//! ```
//!
//! Each point is at a bound (0, C, −C) or free. The step δ to the minimum over the free points F solves
//! (K_FF + μI) δ = r_F − ρ, r = y − Kβ, where ρ is b + ε on points with β > 0 and b − ε on points with β < 0, such that
//! both sums stay. It is cut where a point meets a bound, which then leaves F; after a full step the bound point that
//! violates optimality most joins F. While ε > 0 both sums of β⁺ and β⁻ are C·ν·n/2; a negative ε shows that the tube is
//! closed, and then only Σβ = 0 binds (*closed* below) until Σ|β| meets C·ν·n again. A tube that has opened so closes again
//! only when no β is 0: closing frees all zeros at once, Σ|β| may then grow at once, and the two would take turns for ever.
//!
//! (K_FF + μI)⁻¹ is kept and bordered or deflated, O(|F|²) per change. μ, 1e-7 of the kernel's mean diagonal, makes the
//! step proximal: a singular K (equal rows, linear kernel) is then no special case. Each round costs as much as some ten
//! steps of sequential minimal optimization, and where that crawls (linear kernel, large C, small γ) replaces thousands.
//! If this method does not finish, sequential minimal optimization does: it always converges.
//!
//! Source: Nocedal & Wright, *Numerical Optimization*, §16.5 (primal active sets for convex quadratic programs).

use super::program::{KernelMatrix, QuadraticProgram};
use crate::linalg::inverse::SymmetricMatrix;
use crate::linalg::simd::{
    VECTOR_LANES, add_four_rows, dispatched, dot, dot_body, four_entries, four_rows, sum_lanes,
};

/// Where a point stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PointPlace {
    /// β = 0.
    #[default]
    Zero,
    /// 0 < β < C; in a closed tube −C < β < C.
    Plus,
    /// −C < β < 0.
    Minus,
    /// β = C.
    High,
    /// β = −C.
    Low,
    /// Left out of the problem.
    Out,
}

/// The state of the method; kept between solves to spare allocations.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActiveSet {
    n: usize,
    stride: usize,
    c: f64,
    /// C·ν·n / 2, the sum of β⁺ and of β⁻ while the tube is open.
    half: f64,
    ridge: f64,
    closed: bool,
    /// Whether the tube has been closed and has opened again.
    reopened: bool,
    /// β, padded.
    pub(crate) beta: Vec<f64>,
    /// r = y − Kβ, padded.
    pub(crate) residual: Vec<f64>,
    place: Vec<PointPlace>,
    /// The free points, in the order of the rows of `inverse`.
    free: Vec<usize>,
    /// (K_FF + μI)⁻¹, rows `stride` apart; beyond |F| zero to the end of the block of eight columns and of four rows, and anything after.
    inverse: Vec<f64>,
    /// 1 where a free point is [`PointPlace::Plus`], compact.
    plus: Vec<f64>,
    /// 1 where a free point is [`PointPlace::Minus`], compact.
    minus: Vec<f64>,
    compact: Vec<f64>,
    /// Room for K_FF + μI while it is inverted.
    block: SymmetricMatrix,
    solved: [Vec<f64>; 3],
    delta: Vec<f64>,
}

/// The outcome of a call of [`Pivot::finish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinishOutcome {
    /// At the optimum, within the tolerance.
    Optimal,
    /// Out of rounds, or in a corner this method does not handle.
    Unfinished,
}

/// The levels ρ₊ = b + ε and ρ₋ = b − ε that the free points settle on.
#[derive(Clone, Copy, Debug)]
struct FreeLevels {
    plus: f64,
    minus: f64,
}

impl ActiveSet {
    /// Starts from dual variables `alpha`, `alpha_star` and gradient g = Kβ − y of sequential minimal optimization; the tube
    /// is closed if `closed` says so or α and α* overlap.
    pub(crate) fn start(
        &mut self,
        problem: &QuadraticProgram<'_>,
        (alpha, alpha_star, gradient): (&[f64], &[f64], &[f64]),
        closed: bool,
    ) {
        let (kernel, c) = (problem.kernel, problem.penalty.c);
        let (n, stride) = (kernel.n, kernel.stride);
        self.n = n;
        self.stride = stride;
        self.c = c;
        self.half = problem.half();
        self.ridge = 1e-7 * (0..n).map(|i| kernel.data[i * stride + i]).sum::<f64>() / n.max(1) as f64;
        // a linear kernel of rows that are all 0 has a diagonal of 0, and μ must stay positive
        self.ridge = self.ridge.max(1e-300);
        for vector in [&mut self.beta, &mut self.residual, &mut self.plus, &mut self.minus, &mut self.compact]
        {
            vector.clear();
            vector.resize(stride, 0.0);
        }
        for vector in self.solved.iter_mut().chain([&mut self.delta]) {
            vector.clear();
            vector.resize(stride, 0.0);
        }
        self.inverse.resize(stride * stride, 0.0);
        let overlap: f64 = alpha.iter().zip(alpha_star).map(|(a, s)| a.min(*s)).sum();
        // α and α* of one point are both positive only in a closed tube; less than this is what the other solver leaves by rounding
        self.closed = closed || overlap > 1e-9 * self.half;
        for i in 0..n {
            self.beta[i] = alpha[i] - alpha_star[i];
            self.residual[i] = -gradient[i];
        }
        self.place.clear();
        let closed = self.closed;
        self.place.extend(self.beta[..n].iter().map(|&beta| place_of(beta, c, closed)));
        if let Some(left_out) = problem.left_out {
            self.place[left_out] = PointPlace::Out;
        }
        self.invert(kernel);
    }

    /// Computes the inverse of the free points' kernel again, at once: where that is nearly singular, updates wear it out.
    fn invert(&mut self, kernel: &KernelMatrix) {
        self.free.clear();
        self.free
            .extend((0..self.n).filter(|&i| matches!(self.place[i], PointPlace::Plus | PointPlace::Minus)));
        self.block.shape(self.free.len());
        for (a, &i) in self.free.iter().enumerate() {
            let row = kernel.row(i);
            let cells = &mut self.block.data[a * self.block.stride..];
            for (cell, &j) in cells.iter_mut().zip(&self.free[..=a]) {
                *cell = row[j];
            }
            cells[a] += self.ridge;
        }
        if self.block.invert().is_none() {
            return self.invert_by_bordering(kernel);
        }
        self.block.expand(self.stride, &mut self.inverse);
        for a in 0..self.stride {
            let place = self.free.get(a).map(|&i| self.place[i]);
            self.plus[a] = f64::from(place == Some(PointPlace::Plus));
            self.minus[a] = f64::from(place == Some(PointPlace::Minus));
        }
    }

    /// Borders the inverse point after point, each pivot held to at least μ: for a kernel that is not even positive definite with μ.
    fn invert_by_bordering(&mut self, kernel: &KernelMatrix) {
        for i in std::mem::take(&mut self.free) {
            self.admit_point(kernel, i);
        }
    }

    /// Goes on to another penalty on the kernel of the last problem, from its solution: coefficients scale with C, the
    /// free points and their inverse stay. O(n²).
    pub(crate) fn resume(&mut self, problem: &QuadraticProgram<'_>) {
        let (kernel, c) = (problem.kernel, problem.penalty.c);
        let factor = c / self.c;
        self.c = c;
        self.half = problem.half();
        self.residual.fill(0.0);
        self.residual[..self.n].copy_from_slice(&problem.targets[..self.n]);
        for i in 0..self.n {
            self.beta[i] = match self.place[i] {
                PointPlace::Zero | PointPlace::Out => continue,
                PointPlace::High => c,
                PointPlace::Low => -c,
                PointPlace::Plus | PointPlace::Minus => self.beta[i] * factor,
            };
            subtract_rows(&mut self.residual, &kernel.data, self.stride, &[i], &[self.beta[i]], 1.0);
        }
    }

    /// b at the optimum: the middle between the levels of the two sides; `None` where a side has no point strictly within
    /// its bounds to fix its level.
    pub(crate) fn bias(&self) -> Option<f64> {
        if self.closed {
            return self.level_of_side(PointPlace::Plus);
        }
        Some((self.level_of_side(PointPlace::Plus)? + self.level_of_side(PointPlace::Minus)?) / 2.0)
    }

    /// The residual of the first free point of a side that is not at a limit.
    fn level_of_side(&self, side: PointPlace) -> Option<f64> {
        let edge = 1e-9 * self.c;
        let inner = edge..=self.c - edge;
        let first = self.free.iter().find(|&&i| self.place[i] == side && inner.contains(&self.beta[i].abs()));
        first.map(|&i| self.residual[i])
    }

    /// Works until optimality is violated by less than `tolerance`, at most `rounds` rounds.
    pub(crate) fn finish(&mut self, kernel: &KernelMatrix, tolerance: f64, rounds: usize) -> FinishOutcome {
        self.reopened = false;
        for _ in 0..rounds {
            self.hold_sums(kernel);
            let Some(levels) = self.compute_direction() else { return FinishOutcome::Unfinished };
            let (length, met) = self.room();
            self.take_step(kernel, length);
            if let Some(met) = met {
                self.settle_point(kernel, met);
                continue;
            }
            let moved = self.delta[..self.free.len()].iter().fold(0.0_f64, |most, d| most.max(d.abs()));
            let (owed_plus, owed_minus) = self.remaining_sums();
            let drift = owed_plus.abs() + owed_minus.abs();
            // a full step restores both sums; if it did not, updates have worn the inverse out
            if drift > 1e-9 * self.c * self.n as f64 {
                self.invert(kernel);
                continue;
            }
            // so far the free points' residuals still are from their levels; a violation well above that is one already
            let slop = moved * self.ridge;
            let settled = slop <= 0.1 * tolerance;
            if self.should_close(levels) {
                if settled {
                    self.close_tube(kernel);
                }
                continue;
            }
            match self.worst_violator(levels, if settled { tolerance } else { 10.0 * slop }) {
                Some((i, place)) => {
                    self.place[i] = place;
                    self.admit_point(kernel, i);
                }
                None if settled => return FinishOutcome::Optimal,
                None => {}
            }
        }
        FinishOutcome::Unfinished
    }

    /// Whether an open tube whose free points settle on `levels` is to close.
    fn should_close(&self, levels: FreeLevels) -> bool {
        !self.closed
            && levels.plus < levels.minus
            && !(self.reopened && self.place.contains(&PointPlace::Zero))
    }

    /// Sees that each side of an open tube has a free point to take up what its sum lacks: the bound point that would be
    /// the first to move. Where there is none, α and α* must overlap: the tube is closed.
    fn hold_sums(&mut self, kernel: &KernelMatrix) {
        if self.closed {
            return;
        }
        let (owed_plus, owed_minus) = self.remaining_sums();
        for (owed, side, bound, sign) in [
            (owed_plus, PointPlace::Plus, PointPlace::High, 1.0),
            (-owed_minus, PointPlace::Minus, PointPlace::Low, -1.0),
        ] {
            if self.free.iter().any(|&i| self.place[i] == side) {
                continue;
            }
            let (from, sign) = if owed >= 0.0 { (PointPlace::Zero, sign) } else { (bound, -sign) };
            let candidates = (0..self.n).filter(|&i| self.place[i] == from);
            // the first of equals, so that the solution does not depend on how the points are walked
            let first = candidates.max_by(|&a, &b| {
                (sign * self.residual[a]).total_cmp(&(sign * self.residual[b])).then(b.cmp(&a))
            });
            let Some(i) = first else { return self.close_tube(kernel) };
            self.place[i] = side;
            self.admit_point(kernel, i);
        }
    }

    /// Computes δ and the levels; `None` if a sum has no free point to hold it.
    fn compute_direction(&mut self) -> Option<FreeLevels> {
        let f = self.free.len();
        // residuals from about where the levels are: the inverse of a nearly singular kernel is large, and its products
        // with the levels themselves would cancel
        let near = self.rough_levels();
        for ((cell, &i), (plus, minus)) in
            self.compact.iter_mut().zip(&self.free).zip(self.plus.iter().zip(&self.minus))
        {
            *cell = self.residual[i] - (plus * near.plus + minus * near.minus);
        }
        self.compact[f..].fill(0.0);
        let (owed_plus, owed_minus) = self.remaining_sums();
        let [p, q, t] = &mut self.solved;
        multiply_three(&self.inverse, self.stride, f, [&self.compact, &self.plus, &self.minus], [p, q, t]);
        let [plus, minus, p, q, t] = [&self.plus, &self.minus, p, q, t].map(|values| &values[..f]);
        let (a11, a12, a22) = (dot(plus, q), dot(plus, t), dot(minus, t));
        let (r1, r2) = (dot(plus, p) - owed_plus, dot(minus, p) - owed_minus);
        let levels = match (a11 > 0.0, a22 > 0.0) {
            (true, true) => {
                let determinant = a11 * a22 - a12 * a12;
                FreeLevels {
                    plus: (r1 * a22 - r2 * a12) / determinant,
                    minus: (r2 * a11 - r1 * a12) / determinant,
                }
            }
            (true, false) if self.closed => FreeLevels { plus: r1 / a11, minus: r1 / a11 },
            _ => return None,
        };
        if !(levels.plus.is_finite() && levels.minus.is_finite()) {
            return None;
        }
        for (a, d) in self.delta[..f].iter_mut().enumerate() {
            let level = levels.plus * q[a] + if self.closed { 0.0 } else { levels.minus * t[a] };
            *d = p[a] - level;
        }
        Some(FreeLevels {
            plus: levels.plus + near.plus,
            minus: levels.minus + if self.closed { near.plus } else { near.minus },
        })
    }

    /// The mean residual of the free points of each side; 0 where there is none.
    fn rough_levels(&self) -> FreeLevels {
        let [plus, minus] = [&self.plus, &self.minus].map(|side| {
            let (mut sum, mut count) = (0.0, 0.0);
            for (&i, s) in self.free.iter().zip(side) {
                sum += s * self.residual[i];
                count += s;
            }
            if count > 0.0 { sum / count } else { 0.0 }
        });
        FreeLevels { plus, minus }
    }

    /// The remainder of the sums: Σδ over the free points of each side must be this.
    fn remaining_sums(&self) -> (f64, f64) {
        let (above, below) = signed_sums(&self.beta);
        if self.closed { (-(above + below), 0.0) } else { (self.half - above, -self.half - below) }
    }

    /// The length along δ up to which every point stays within its bounds, at most 1, and the free point that stops it; `usize::MAX`
    /// stands for the sum Σ|β| of a closed tube.
    fn room(&self) -> (f64, Option<usize>) {
        let (mut length, mut met) = (1.0, None);
        for (a, (&i, &d)) in self.free.iter().zip(&self.delta).enumerate() {
            let (low, high) = match self.place[i] {
                _ if self.closed => (-self.c, self.c),
                PointPlace::Minus => (-self.c, 0.0),
                _ => (0.0, self.c),
            };
            let space = if d > 0.0 { high - self.beta[i] } else { self.beta[i] - low };
            if d.abs() > 0.0 && space < length * d.abs() {
                // a point that rounding has put beyond its bound would make the step negative
                length = (space / d.abs()).max(0.0);
                met = Some(a);
            }
        }
        // without the margin, a tube that has just opened by rounding would be cut to a step of 0
        if self.closed && self.total_after(length) > 2.0 * self.half * (1.0 + 1e-12) {
            return (self.cut_step(length), Some(usize::MAX));
        }
        (length, met)
    }

    /// Σ|β + t·δ|.
    fn total_after(&self, t: f64) -> f64 {
        let bound = self.place.iter().filter(|p| matches!(p, PointPlace::High | PointPlace::Low)).count()
            as f64
            * self.c;
        let free = self.free.iter().zip(&self.delta).map(|(&i, d)| (self.beta[i] + t * d).abs());
        bound + free.sum::<f64>()
    }

    /// The largest t ≤ `most` with Σ|β + t·δ| within its limit: the sum is convex in t, so bisection finds it.
    fn cut_step(&self, most: f64) -> f64 {
        let (mut low, mut high) = (0.0, most);
        // sixty halvings are below the precision of an f64
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.total_after(middle) > 2.0 * self.half { high = middle } else { low = middle }
        }
        low
    }

    /// β += t·δ and r −= t·Kδ.
    fn take_step(&mut self, kernel: &KernelMatrix, t: f64) {
        for (&i, d) in self.free.iter().zip(&self.delta) {
            self.beta[i] += t * d;
        }
        subtract_rows(&mut self.residual, &kernel.data, self.stride, &self.free, &self.delta, t);
    }

    /// The free point `met` has reached a bound; or the closed tube opens.
    fn settle_point(&mut self, kernel: &KernelMatrix, met: usize) {
        if met == usize::MAX {
            return self.open_tube();
        }
        let i = self.free[met];
        let rising = self.delta[met] > 0.0;
        let (place, beta) = match self.place[i] {
            _ if self.closed && !rising => (PointPlace::Low, -self.c),
            PointPlace::Minus if rising => (PointPlace::Zero, 0.0),
            PointPlace::Minus => (PointPlace::Low, -self.c),
            _ if rising => (PointPlace::High, self.c),
            _ => (PointPlace::Zero, 0.0),
        };
        self.shift_coefficient(kernel, i, beta);
        self.place[i] = place;
        self.dismiss_point(met);
    }

    /// Sets β_i, keeping the residual right.
    fn shift_coefficient(&mut self, kernel: &KernelMatrix, i: usize, beta: f64) {
        let change = beta - self.beta[i];
        if change.abs() > 0.0 {
            subtract_rows(&mut self.residual, &kernel.data, self.stride, &[i], &[change], 1.0);
            self.beta[i] = beta;
        }
    }

    /// From an open tube to a closed one: the zeros become free.
    fn close_tube(&mut self, kernel: &KernelMatrix) {
        self.closed = true;
        let f = self.free.len();
        self.plus[..f].fill(1.0);
        self.minus[..f].fill(0.0);
        for i in 0..self.n {
            match self.place[i] {
                PointPlace::Minus => self.place[i] = PointPlace::Plus,
                PointPlace::Zero => {
                    self.place[i] = PointPlace::Plus;
                    self.admit_point(kernel, i);
                }
                PointPlace::Plus | PointPlace::High | PointPlace::Low | PointPlace::Out => {}
            }
        }
    }

    /// From a closed tube to an open one: free points take the side of their sign.
    fn open_tube(&mut self) {
        self.closed = false;
        self.reopened = true;
        for a in (0..self.free.len()).rev() {
            let i = self.free[a];
            self.place[i] = place_of(self.beta[i], self.c, false);
            self.plus[a] = f64::from(self.place[i] == PointPlace::Plus);
            self.minus[a] = f64::from(self.place[i] == PointPlace::Minus);
            if !matches!(self.place[i], PointPlace::Plus | PointPlace::Minus) {
                self.dismiss_point(a);
            }
        }
    }

    /// The bound point that violates optimality most, and where it should go.
    fn worst_violator(&self, levels: FreeLevels, tolerance: f64) -> Option<(usize, PointPlace)> {
        // the residuals that leave a point where it is, by place: looked up, as branches on places are guessed badly
        let mut within = [(f64::NEG_INFINITY, f64::INFINITY); 6];
        within[PointPlace::Zero as usize] = (levels.minus, levels.plus);
        within[PointPlace::High as usize].0 = levels.plus;
        within[PointPlace::Low as usize].1 = levels.minus;
        let (mut most, mut worst) = (tolerance, None);
        for (i, (&r, &place)) in self.residual.iter().zip(&self.place).enumerate() {
            let (low, high) = within[place as usize];
            let violation = (r - high).max(low - r);
            if violation > most {
                (most, worst) = (violation, Some(i));
            }
        }
        let i = worst?;
        let rises = match self.place[i] {
            PointPlace::Zero => self.residual[i] - levels.plus > levels.minus - self.residual[i],
            place => self.closed || place == PointPlace::High,
        };
        Some((i, if rises { PointPlace::Plus } else { PointPlace::Minus }))
    }

    /// Point `i`, whose place is set, joins the free ones.
    fn admit_point(&mut self, kernel: &KernelMatrix, i: usize) {
        let f = self.free.len();
        let row = kernel.row(i);
        for (cell, &j) in self.compact.iter_mut().zip(&self.free) {
            *cell = row[j];
        }
        self.compact[f..].fill(0.0);
        let column = &mut self.solved[0];
        border_inverse(&mut self.inverse, self.stride, f, &self.compact, [row[i], self.ridge], column);
        self.plus[f] = f64::from(self.place[i] == PointPlace::Plus);
        self.minus[f] = f64::from(self.place[i] == PointPlace::Minus);
        self.free.push(i);
    }

    /// The free point in row `a` of the inverse leaves.
    fn dismiss_point(&mut self, a: usize) {
        let last = self.free.len() - 1;
        let column = &mut self.solved[0];
        deflate(&mut self.inverse, self.stride, last, a, column);
        self.free.swap_remove(a);
        for sides in [&mut self.plus, &mut self.minus] {
            sides[a] = sides[last];
            sides[last] = 0.0;
        }
        self.delta[a] = self.delta[last];
    }

    /// α and α* of β: where the tube is closed, both share what Σ|β| lacks.
    pub(crate) fn split(&self, alpha: &mut [f64], alpha_star: &mut [f64]) {
        let above: f64 = self.beta[..self.n].iter().map(|b| b.max(0.0)).sum();
        let lacking = if self.closed { (self.half - above).max(0.0) } else { 0.0 };
        let room: f64 = (0..self.n).map(|i| self.room_at_point(i)).sum();
        let share = if room > 0.0 { (lacking / room).min(1.0) } else { 0.0 };
        for (i, beta) in self.beta[..self.n].iter().enumerate() {
            let common = share * self.room_at_point(i);
            alpha[i] = beta.max(0.0) + common;
            alpha_star[i] = (-beta).max(0.0) + common;
        }
    }

    /// How much both variables of a point can grow.
    fn room_at_point(&self, i: usize) -> f64 {
        if self.place[i] == PointPlace::Out { 0.0 } else { (self.c - self.beta[i].abs()).max(0.0) }
    }
}

/// The place of a point with coefficient `beta`.
fn place_of(beta: f64, c: f64, closed: bool) -> PointPlace {
    if beta >= c {
        PointPlace::High
    } else if beta <= -c {
        PointPlace::Low
    } else if closed || beta > 0.0 {
        PointPlace::Plus
    } else if beta < 0.0 {
        PointPlace::Minus
    } else {
        PointPlace::Zero
    }
}

dispatched! {
    /// The sums of the positive and of the negative values.
    pub(crate) fn signed_sums(values: &[f64]) -> (f64, f64) {
        let (mut above, mut below) = ([0.0; VECTOR_LANES], [0.0; VECTOR_LANES]);
        for block in values.as_chunks::<VECTOR_LANES>().0 {
            for l in 0..VECTOR_LANES {
                above[l] += if block[l] > 0.0 { block[l] } else { 0.0 };
                below[l] += if block[l] < 0.0 { block[l] } else { 0.0 };
            }
        }
        (sum_lanes(above), sum_lanes(below))
    }
}

dispatched! {
    /// The products x = A·u, y = A·v, z = A·w with the factors u, v, w for the leading f × f block of the symmetric `a`, in one pass over its rows; zeros
    /// pad columns to whole blocks of eight, and rows and factors to whole blocks of four.
    pub(crate) fn multiply_three(a: &[f64], stride: usize, f: usize, factors: [&[f64]; 3], products: [&mut [f64]; 3]) {
        let ([u, v, w], [x, y, z]) = (factors, products);
        let width = f.next_multiple_of(VECTOR_LANES);
        let (x, y, z) = (&mut x[..width], &mut y[..width], &mut z[..width]);
        x.fill(0.0);
        y.fill(0.0);
        z.fill(0.0);
        for i in (0..f).step_by(4) {
            let rows = four_rows(a, stride, [i, i + 1, i + 2, i + 3], width);
            add_four_rows(x, four_entries(u, i), rows);
            add_four_rows(y, four_entries(v, i), rows);
            add_four_rows(z, four_entries(w, i), rows);
        }
    }
}

dispatched! {
    /// residual −= t·Σ_a δ_a·K_{rows[a]}.
    pub(crate) fn subtract_rows(residual: &mut [f64], kernel: &[f64], stride: usize, rows: &[usize], delta: &[f64], t: f64) {
        let whole = rows.len() / 4 * 4;
        for a in (0..whole).step_by(4) {
            let four = four_rows(kernel, stride, [rows[a], rows[a + 1], rows[a + 2], rows[a + 3]], stride);
            let [d0, d1, d2, d3] = four_entries(delta, a);
            add_four_rows(residual, [-t * d0, -t * d1, -t * d2, -t * d3], four);
        }
        for (&i, delta) in rows[whole..].iter().zip(&delta[whole..]) {
            let factor = t * delta;
            for (g, x) in residual.iter_mut().zip(&kernel[i * stride..(i + 1) * stride]) {
                *g = (-factor).mul_add(*x, *g);
            }
        }
    }
}

dispatched! {
    /// Borders the inverse of an f × f matrix, padded as in [`multiply_three`], by a row `k` with the diagonal entry + ridge of `pivot`. The pivot is at least
    /// `ridge` but for rounding, and is held to that. `column` is room for f + 1 numbers.
    pub(crate) fn border_inverse(inverse: &mut [f64], stride: usize, f: usize, k: &[f64], pivot: [f64; 2], column: &mut [f64]) {
        let [diagonal, ridge] = pivot;
        let width = f.next_multiple_of(VECTOR_LANES);
        if f == width {
            // a new block of columns begins
            for i in 0..f {
                inverse[i * stride + f..i * stride + f + VECTOR_LANES].fill(0.0);
            }
        }
        if f.is_multiple_of(4) {
            for i in f..f + 4 {
                inverse[i * stride..i * stride + (f + 1).next_multiple_of(VECTOR_LANES)].fill(0.0);
            }
        }
        column.fill(0.0);
        for i in (0..f).step_by(4) {
            let rows = four_rows(inverse, stride, [i, i + 1, i + 2, i + 3], width);
            add_four_rows(&mut column[..width], four_entries(k, i), rows);
        }
        let pivot = diagonal + ridge - dot_body(&column[..width], &k[..width]);
        let scale = 1.0 / if pivot > ridge { pivot } else { ridge };
        column[f] = -1.0;
        let width = (f + 1).next_multiple_of(VECTOR_LANES);
        for i in 0..=f {
            let factor = column[i] * scale;
            for (cell, c) in inverse[i * stride..i * stride + width].iter_mut().zip(&column[..width]) {
                *cell = factor.mul_add(*c, *cell);
            }
        }
    }
}

dispatched! {
    /// Takes row and column `a` out of the inverse of a matrix of size `last` + 1: they trade places with the last, and
    /// the rest is deflated.
    pub(crate) fn deflate(inverse: &mut [f64], stride: usize, last: usize, a: usize, column: &mut [f64]) {
        let width = (last + 1).next_multiple_of(VECTOR_LANES);
        if a != last {
            for l in 0..width {
                inverse.swap(a * stride + l, last * stride + l);
            }
            for i in 0..=last {
                inverse.swap(i * stride + a, i * stride + last);
            }
        }
        column[..width].copy_from_slice(&inverse[last * stride..last * stride + width]);
        let scale = 1.0 / column[last];
        for i in 0..=last {
            let factor = column[i] * scale;
            for (cell, c) in inverse[i * stride..i * stride + width].iter_mut().zip(&column[..width]) {
                *cell = (-factor).mul_add(*c, *cell);
            }
        }
        for i in 0..=last {
            inverse[i * stride + last] = 0.0;
        }
        inverse[last * stride..last * stride + width].fill(0.0);
    }
}

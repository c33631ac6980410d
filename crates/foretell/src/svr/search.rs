//! The random search of the paper: 1000 draws of (C, ν, γ), scored by 3-fold cross-validation.
//!
//! The winner is the draw with the largest mean R² over the folds (the first of equals). Most fits are never made. Two
//! upper bounds on a fold's R² come before any solve ([`Fold::reach_bound`], first in a coarser form, and
//! [`Fold::aligned_bound`]), and a draw whose
//! bounds, with the R² of the folds already solved in their place, cannot sum to the best sum so far is left. With the
//! linear kernel a third bound follows the solution from draw to draw ([`super::tour`]), and only the best few are solved
//! on their own.
//!
//! **The winner is that of the full search.** Let S(d) be the sum of a draw's R², U(d) ≥ S(d) the sum of its bounds, and
//! B the best sum at the time. A draw is left only if U(d) < B, hence S(d) < B ≤ the final best: it is neither the winner
//! nor its equal. All others are solved to the end by the same code, and ties go to the smaller index whatever the order.

use super::geometry::Geometry;
use super::scaling::Scaled;
use super::solver::{Dual, Effort, KernelMatrix, Penalty, Problem, in_order};
use super::tour::follow;
use crate::features::TargetScaler;
use crate::matrix::Matrix;
use crate::simd::{LANES, dot, exp_body, exp_scaled};
use crate::statistics::range;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// The kernel of a support vector regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    /// k(x, z) = e^(−γ‖x − z‖²).
    Rbf,
    /// k(x, z) = x·z.
    Linear,
}

/// The hyperparameters of a ν-SVR.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SvrParameters {
    /// C, the bound of each dual coefficient; searched log-uniformly in [1e-5, 10].
    pub c: f64,
    /// ν, searched uniformly in (0, 1).
    pub nu: f64,
    /// γ of the RBF kernel, searched log-uniformly in [1e-5, 10]; unused by the linear one.
    pub gamma: f64,
}

/// A split of n rows for cross-validation: fold f is held out when `fold[i] == f`.
pub type Folds = Vec<usize>;

/// The draws of a random search: C and γ log-uniform in [1e-5, 10], ν uniform in (0, 1).
///
/// Source: Baker et al. 2017, appendix B.
pub fn draw_parameters(count: usize, random: &mut impl Rng) -> Vec<SvrParameters> {
    let mut log_uniform = |low: f64, high: f64| {
        let share: f64 = random.random();
        (low.ln() + share * (high.ln() - low.ln())).exp()
    };
    let mut pairs: Vec<(f64, f64)> = Vec::with_capacity(count);
    for _ in 0..count {
        pairs.push((log_uniform(1e-5, 10.0), log_uniform(1e-5, 10.0)));
    }
    let pairs = pairs.into_iter();
    pairs.map(|(c, gamma)| SvrParameters { c, gamma, nu: random.random::<f64>().max(1e-6) }).collect()
}

/// Shuffled folds of (almost) equal size for `n` rows.
pub fn draw_folds(n: usize, folds: usize, random: &mut impl Rng) -> Folds {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, random.random_range(0..=i));
    }
    let mut fold = vec![0; n];
    for (position, &i) in order.iter().enumerate() {
        fold[i] = position * folds / n.max(1);
    }
    fold
}

/// The winner of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Index of the winning draw.
    pub index: usize,
    /// Its hyperparameters.
    pub parameters: SvrParameters,
    /// Its mean R² over the folds.
    pub score: f64,
    /// How many of the fold fits were solved; the others were proven unable to win.
    pub solved: usize,
}

/// Scores `draws` by cross-validation on `x`, shape (n, features), and `y`, and gives the best.
///
/// With `scale`, columns of `x` and the target are standardised on the training rows of each fold; without, they are
/// taken as they are.
pub fn search(
    x: &Matrix,
    y: &[f64],
    kernel: Kernel,
    draws: &[SvrParameters],
    folds: &Folds,
    scale: bool,
) -> Choice {
    let count = count_folds(folds);
    let scaled = Scaled::new(x, scale);
    let mut geometry = Geometry::new(y.len(), kernel, count + 1);
    geometry.add(&scaled.points, 0..x.columns(), &scaled.fold_weights(x.columns(), folds, count));
    search_in(&geometry, y, kernel, draws, folds, scale)
}

/// How many folds there are.
pub(super) fn count_folds(folds: &Folds) -> usize {
    folds.iter().max().map_or(0, |last| last + 1)
}

/// The search on pairwise sums: weighting f of `geometry` is that of fold f.
pub(super) fn search_in(
    geometry: &Geometry,
    y: &[f64],
    kernel: Kernel,
    draws: &[SvrParameters],
    folds: &Folds,
    scale: bool,
) -> Choice {
    let mut folds: Vec<Fold> =
        (0..count_folds(folds)).map(|f| Fold::prepare(geometry, y, kernel, folds, f, scale)).collect();
    let mut best = Choice { index: 0, parameters: draws[0], score: f64::NEG_INFINITY, solved: 0 };
    let mut order = promising_order(draws, kernel);
    let count = folds.len();
    let mut bounds = vec![f64::INFINITY; draws.len() * count];
    if kernel == Kernel::Linear {
        bound_by_following(&mut folds, draws, &mut order, &mut bounds, &mut best.solved);
    }
    let mut hardest: Vec<usize> = (0..count).collect();
    for index in order {
        let draw = &draws[index];
        let needed = best.score * count as f64;
        let known = &bounds[index * count..(index + 1) * count];
        let Some(scores) = race(&mut folds, draw, known, &hardest, needed, &mut best.solved) else {
            continue;
        };
        let sum: f64 = scores.iter().sum();
        let score = sum / folds.len().max(1) as f64;
        if score > best.score || (score >= best.score && index < best.index) {
            best = Choice { index, parameters: *draw, score, ..best };
            hardest.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        }
    }
    best
}

/// Bounds every draw by its followed solution ([`follow`]), as far as it can come up to the first of `order`, and puts
/// those first whose bounds sum to most.
fn bound_by_following(
    folds: &mut [Fold],
    draws: &[SvrParameters],
    order: &mut [usize],
    bounds: &mut [f64],
    solved: &mut usize,
) {
    let count = folds.len();
    for (row, draw) in bounds.chunks_mut(count.max(1)).zip(draws) {
        for (bound, fold) in row.iter_mut().zip(&*folds) {
            *bound = fold.reach_bound(draw).min(fold.aligned_bound(draw));
        }
    }
    let first = &draws[order[0]];
    let floor: f64 = folds.iter_mut().map(|fold| fold.score(first)).sum();
    *solved += count + follow(folds, draws, bounds, floor - 1e-9);
    let sum = |i: usize| bounds[i * count..(i + 1) * count].iter().sum::<f64>();
    order.sort_by(|&a, &b| sum(b).total_cmp(&sum(a)));
}

/// The folds' R², or `None` as soon as their sum cannot reach `needed`; `known` are bounds on each fold's. Folds are solved
/// in `order`: with the hardest first, what they leave to the others falls short soonest.
fn race(
    folds: &mut [Fold],
    draw: &SvrParameters,
    known: &[f64],
    order: &[usize],
    needed: f64,
    solved: &mut usize,
) -> Option<Vec<f64>> {
    // a sum that ties is not to be lost to rounding
    let needed = needed - 1e-9;
    // fold after fold, 1 standing for the others: most draws are left at the first
    let mut coarse = folds.len() as f64;
    for (fold, known) in folds.iter().zip(known) {
        coarse -= 1.0 - fold.coarse_bound(draw).min(*known);
        if coarse < needed {
            return None;
        }
    }
    let mut bounds: Vec<f64> =
        folds.iter().zip(known).map(|(fold, known)| fold.reach_bound(draw).min(*known)).collect();
    for &f in order {
        if bounds.iter().sum::<f64>() < needed {
            return None;
        }
        folds[f].enter(draw);
        bounds[f] = bounds[f].min(folds[f].aligned_bound(draw));
        if bounds.iter().sum::<f64>() < needed {
            return None;
        }
        *solved += 1;
        bounds[f] = folds[f].score(draw);
    }
    Some(bounds)
}

/// Draws in the order in which they are tried, likely winners first: it changes the time, never the result.
fn promising_order(draws: &[SvrParameters], kernel: Kernel) -> Vec<usize> {
    // integers sort faster
    let mut order: Vec<(i64, usize)> =
        draws.iter().enumerate().map(|(i, draw)| (in_order(-promise(draw, kernel)), i)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}

/// A guess at how well a draw will do.
fn promise(draw: &SvrParameters, kernel: Kernel) -> f64 {
    match kernel {
        Kernel::Rbf => {
            draw.c.ln().min(2.0) - 0.7 * (draw.gamma / 0.003).ln().abs() - draw.nu.ln().abs() * 0.2
        }
        Kernel::Linear => -(draw.c.ln() + 3.0).abs(),
    }
}

/// One fold of the search: pairwise sums, targets, and room to work in.
pub(super) struct Fold {
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
    /// How much each coefficient moves the held-out forecasts along `direction`, from least to most.
    pull: Vec<f64>,
    dual: Dual,
}

impl Fold {
    pub(super) fn prepare(
        geometry: &Geometry,
        y: &[f64],
        kind: Kernel,
        folds: &Folds,
        fold: usize,
        scale: bool,
    ) -> Self {
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..y.len()).partition(|&i| folds[i] != fold);
        let unit = TargetScaler { mean: 0.0, scale: 1.0 };
        let target = if scale { TargetScaler::fit(inside.iter().map(|&i| y[i])) } else { unit };
        let stride = inside.len().next_multiple_of(LANES);
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
            held.chunks(stride.max(1)).map(|row| range(row[..inside.len()].iter().copied())).collect();
        let mut fold = Self {
            kind,
            widest: range.iter().fold((f64::INFINITY, 0.0), |(l, h), &(low, high)| (low.min(l), high.max(h))),
            range: range.iter().map(|r| r.0).chain(range.iter().map(|r| r.1)).collect(),
            targets: inside.iter().map(|&i| target.apply(y[i])).collect(),
            spread,
            direction: held_targets.iter().map(|y| (y - mean) / spread.max(1e-300)).collect(),
            held_kernel: held.clone(),
            pull: vec![0.0; stride],
            dual: Dual::default(),
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
    fn half(&self, draw: &SvrParameters) -> f64 {
        draw.c * draw.nu * self.targets.len() as f64 / 2.0
    }

    /// The most that R² on the held-out rows can be, from the kernel's range alone.
    ///
    /// f(x) = h(x) + b with h(x) = Σβk, Σβ⁺ = Σβ⁻ ≤ C·ν·n/2, so up to a constant |h(x)| is at most
    /// H = C·ν·n/2·(k_max − k_min); by the triangle inequality the residuals' norm is at least
    /// ‖y − ȳ‖ − √ΣH², whatever b.
    fn reach_bound(&self, draw: &SvrParameters) -> f64 {
        let (low, high) = self.range.split_at(self.range.len() / 2);
        let width = match self.kind {
            Kernel::Rbf => {
                let mut ends = vec![0.0; self.range.len()];
                exp_scaled(&self.range, draw.gamma, &mut ends);
                let (high, low) = ends.split_at(low.len());
                distance(high, low)
            }
            Kernel::Linear => distance(high, low),
        };
        self.bound(self.half(draw) * width)
    }

    /// [`Fold::reach_bound`] with the widest range of all rows in place of each row's.
    fn coarse_bound(&self, draw: &SvrParameters) -> f64 {
        let (low, high) = self.widest;
        let width = match self.kind {
            Kernel::Rbf => exp_body(-draw.gamma * low) - exp_body(-draw.gamma * high),
            Kernel::Linear => {
                let (low, high) = self.range.split_at(self.range.len() / 2);
                low.iter().zip(high).fold(0.0, |most: f64, (low, high)| most.max(high - low))
            }
        };
        self.bound(self.half(draw) * width * (self.held_targets.len() as f64).sqrt())
    }

    /// The kernel between held-out and training points for `draw`, for [`Fold::aligned_bound`] and [`Fold::score`].
    fn enter(&mut self, draw: &SvrParameters) {
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
            super::solver::add_scaled(&mut self.pull, *u, row);
        }
        self.pull[..n].sort_unstable_by(f64::total_cmp);
    }

    /// The most that R² on the held-out rows can be, from the kernel's values.
    ///
    /// Let u = (y − ȳ)/‖y − ȳ‖. The residuals' norm is at least their component along u, ‖y − ȳ‖ − uᵀK_hβ; and over
    /// 0 ≤ α, α* ≤ C, Σα = Σα* = C·ν·n/2, uᵀK_hβ is at most what α on its largest and α* on its smallest entries give.
    fn aligned_bound(&self, draw: &SvrParameters) -> f64 {
        let n = self.targets.len();
        let mut left = self.half(draw) / draw.c;
        let mut moved = 0.0;
        for k in 0..n {
            let share = left.min(1.0);
            moved += share * (self.pull[n - 1 - k] - self.pull[k]);
            left -= share;
            if left <= 0.0 {
                break;
            }
        }
        self.bound(draw.c * moved)
    }

    /// The bound on R² of forecasts that come at most `moved` closer to the held-out targets than their mean is.
    fn bound(&self, moved: f64) -> f64 {
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
        let effort = if linear { Effort::SEARCH_LINEAR } else { Effort::SEARCH };
        let mut dual = std::mem::take(&mut self.dual);
        let solved = dual.solve(&self.problem(draw), effort);
        let (beta, _) = dual.solution();
        self.dual = dual;
        self.r_squared(&beta, solved.bias)
    }

    /// The quadratic program of `draw` on the training rows.
    pub(super) fn problem(&self, draw: &SvrParameters) -> Problem<'_> {
        let penalty = Penalty { c: draw.c, nu: draw.nu };
        Problem { kernel: &self.kernel, targets: &self.targets, penalty, left_out: None }
    }

    /// R² on the held-out rows of the model with the coefficients `beta`, one a training row and perhaps padding.
    pub(super) fn r_squared(&self, beta: &[f64], bias: f64) -> f64 {
        let n = self.targets.len();
        let rows = self.held_kernel.chunks(self.kernel.stride.max(1));
        let forecasts: Vec<f64> = rows.map(|row| dot(&row[..n], &beta[..n]) + bias).collect();
        crate::statistics::r_squared(&forecasts, &self.held_targets)
    }
}

/// ‖a − b‖.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

/// The random stream of a search: the study's seed, and τ so that every τ draws its own.
pub(super) fn stream(seed: u64, tau: usize) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(tau as u64);
    random
}

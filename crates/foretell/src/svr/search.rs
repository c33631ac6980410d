//! The random search of the paper: 1000 draws of (C, ν, γ), scored by 3-fold cross-validation.
//!
//! The winner is the draw with the largest mean R² over the folds (the first of equals). Most draws are never solved:
//! the model can move its held-out forecasts only so far from a constant, which bounds R² from above before any solve,
//! and a draw that cannot reach the best so far is left out. The bound is strict, so the winner is that of the full
//! search.

use super::solver::{Dual, Effort, KernelMatrix, Penalty};
use crate::features::{Scaler, TargetScaler};
use crate::matrix::Matrix;
use crate::simd::{exp_scaled, inner_products, squared_distances};
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
    let count = folds.iter().max().map_or(0, |last| last + 1);
    let mut prepared: Vec<Fold> = (0..count).map(|f| Fold::prepare(x, y, kernel, folds, f, scale)).collect();
    let mut best = Choice { index: 0, parameters: draws[0], score: f64::NEG_INFINITY, solved: 0 };
    let bounds: Vec<Vec<f64>> =
        draws.iter().map(|draw| prepared.iter().map(|fold| fold.bound(kernel, draw)).collect()).collect();
    let mut order: Vec<usize> = (0..draws.len()).collect();
    let width = x.columns().max(1) as f64;
    order.sort_by(|&a, &b| promise(&draws[b], width, kernel).total_cmp(&promise(&draws[a], width, kernel)));
    for index in order {
        let draw = &draws[index];
        let bounds = &bounds[index];
        let mut possible: f64 = bounds.iter().sum();
        let needed = best.score * count as f64;
        for (fold, bound) in prepared.iter_mut().zip(bounds) {
            if possible < needed {
                break;
            }
            best.solved += 1;
            possible += fold.score(kernel, draw) - bound;
        }
        let score = possible / count as f64;
        if score > best.score || (score >= best.score && index < best.index) {
            best = Choice { index, parameters: *draw, score, ..best };
        }
    }
    best
}

/// A guess at how well a draw will do, to try likely winners first: the order changes the time, never the result.
fn promise(draw: &SvrParameters, width: f64, kernel: Kernel) -> f64 {
    match kernel {
        Kernel::Rbf => {
            draw.c.ln().min(2.0) - 0.7 * (draw.gamma * width / 0.3).ln().abs() - draw.nu.ln().abs() * 0.2
        }
        Kernel::Linear => -((draw.c * width).ln() + 1.0).abs(),
    }
}

/// One fold: scaled rows as distances or inner products, targets, and room to work in.
struct Fold {
    targets: Vec<f64>,
    /// Training rows against training rows: squared distances (RBF) or the kernel itself (linear).
    train: KernelMatrix,
    /// Held-out rows against training rows, laid out likewise.
    held: Vec<f64>,
    held_targets: Vec<f64>,
    /// Least and largest entry of each held-out row.
    range: Vec<(f64, f64)>,
    /// √Σ(y − ȳ)² of the held-out targets.
    spread: f64,
    kernel: KernelMatrix,
    held_kernel: Vec<f64>,
    dual: Dual,
}

impl Fold {
    fn prepare(x: &Matrix, y: &[f64], kernel: Kernel, folds: &Folds, fold: usize, scale: bool) -> Self {
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..y.len()).partition(|&i| folds[i] != fold);
        let (rows, others) = if scale {
            let scaler = Scaler::fit(x, inside.iter().copied());
            (scaler.transform(x, &inside), scaler.transform(x, &outside))
        } else {
            (x.select(&inside), x.select(&outside))
        };
        let unit = TargetScaler { mean: 0.0, scale: 1.0 };
        let target = if scale { TargetScaler::fit(inside.iter().map(|&i| y[i])) } else { unit };
        let mut train = KernelMatrix::default();
        train.reset(inside.len());
        let stride = train.stride;
        let mut held = vec![0.0; outside.len() * stride];
        let (d, a, b) = (x.columns(), rows.as_slice(), others.as_slice());
        match kernel {
            Kernel::Rbf => {
                squared_distances(a, a, d, stride, &mut train.data);
                squared_distances(b, a, d, stride, &mut held);
            }
            Kernel::Linear => {
                inner_products(a, a, d, stride, &mut train.data);
                inner_products(b, a, d, stride, &mut held);
            }
        }
        let held_targets: Vec<f64> = outside.iter().map(|&i| target.apply(y[i])).collect();
        let mean = crate::statistics::mean(&held_targets);
        let range = held.chunks(stride).map(|row| {
            row[..inside.len()]
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)))
        });
        Self {
            targets: inside.iter().map(|&i| target.apply(y[i])).collect(),
            range: range.collect(),
            spread: held_targets.iter().map(|y| (y - mean).powi(2)).sum::<f64>().sqrt(),
            held_kernel: if kernel == Kernel::Rbf { vec![0.0; held.len()] } else { Vec::new() },
            kernel: KernelMatrix::default(),
            dual: Dual::default(),
            train,
            held,
            held_targets,
        }
    }

    /// The most that R² on the held-out rows can be.
    ///
    /// f(x) = h(x) + b with h(x) = Σβk, Σβ = 0 and Σ|β| ≤ Cνn, so |h(x)| up to a constant is at most
    /// H = C·ν·n/2·(k_max − k_min); by the triangle inequality the residuals' norm is at least
    /// ‖y − ȳ‖ − √ΣH², whatever b.
    fn bound(&self, kernel: Kernel, draw: &SvrParameters) -> f64 {
        if self.spread <= 0.0 {
            return 0.0;
        }
        let reach = draw.c * draw.nu * self.targets.len() as f64 / 2.0;
        let width = |&(low, high): &(f64, f64)| match kernel {
            Kernel::Rbf => (-draw.gamma * low).exp() - (-draw.gamma * high).exp(),
            Kernel::Linear => high - low,
        };
        let moved = reach * self.range.iter().map(|range| width(range).powi(2)).sum::<f64>().sqrt();
        let left = (1.0 - moved / self.spread).max(0.0);
        // room for what the solver leaves open
        (1.0 - left * left + 1e-6).min(1.0)
    }

    /// R² on the held-out rows of the model with the hyperparameters `draw`.
    fn score(&mut self, kernel: Kernel, draw: &SvrParameters) -> f64 {
        let n = self.targets.len();
        let penalty = Penalty { c: draw.c, nu: draw.nu };
        let (matrix, held): (&KernelMatrix, &[f64]) = match kernel {
            Kernel::Linear => (&self.train, &self.held),
            Kernel::Rbf => {
                fill_rbf(&self.train, draw.gamma, &mut self.kernel);
                exp_scaled(&self.held, draw.gamma, &mut self.held_kernel);
                (&self.kernel, &self.held_kernel)
            }
        };
        let solved = self.dual.solve(matrix, &self.targets, penalty, Effort::SEARCH);
        let beta: Vec<f64> = (0..n).map(|i| self.dual.coefficient(i)).collect();
        let forecasts =
            held.chunks(matrix.stride).map(|row| crate::simd::dot(&row[..n], &beta) + solved.bias);
        crate::statistics::r_squared(&forecasts.collect::<Vec<_>>(), &self.held_targets)
    }
}

/// The RBF kernel matrix of squared distances, padding kept at 0.
pub(super) fn fill_rbf(distances: &KernelMatrix, gamma: f64, kernel: &mut KernelMatrix) {
    kernel.reset(distances.n);
    for i in 0..distances.n {
        exp_scaled(&distances.row(i)[..distances.n], gamma, &mut kernel.row_mut(i)[..distances.n]);
    }
}

/// The random stream of a search: the study's seed, and τ so that every τ draws its own.
pub(super) fn stream(seed: u64, tau: usize) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(tau as u64);
    random
}

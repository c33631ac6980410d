//! The parameters that a search draws and chooses: kernels, hyperparameters, folds.

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
pub type FoldAssignment = Vec<usize>;

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
pub fn draw_folds(n: usize, folds: usize, random: &mut impl Rng) -> FoldAssignment {
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
pub struct SearchChoice {
    /// Index of the winning draw.
    pub index: usize,
    /// The hyperparameters of that draw.
    pub parameters: SvrParameters,
    /// The mean R² over the folds.
    pub score: f64,
    /// The number of fold fits solved; the others were proven unable to win.
    pub solved: usize,
}

pub(super) fn count_folds(folds: &FoldAssignment) -> usize {
    folds.iter().max().map_or(0, |last| last + 1)
}

/// The random stream of a search: the study's seed, and τ so that every τ draws its own.
pub(super) fn stream(seed: u64, tau: usize) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(tau as u64);
    random
}

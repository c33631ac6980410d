//! The regression of one level on those below it.

use super::levels::LevelPrior;
use crate::linalg::inverse::SymmetricMatrix;
use statrs::function::gamma::ln_gamma;
use std::f64::consts::PI;

/// κ: the prior weight of the constant; at the first level nearly none.
const CONSTANT_WEIGHT: f64 = 0.5;
const FIRST_CONSTANT_WEIGHT: f64 = 1e-3;
/// d⁰: the number of runs that the prior variance counts as.
pub(super) const PRIOR_RUNS: f64 = 3.0;

/// Σ ψψᵀ over the runs that reached a level, ψ = (1, z_1 − M_1, …, z_k − M_k), row by row.
#[derive(Clone, Debug, Default)]
pub(super) struct RegressionSums {
    /// The order k + 1.
    pub(super) order: usize,
    pub(super) entries: Vec<f64>,
}

impl RegressionSums {
    pub(super) fn zeros(order: usize) -> Self {
        Self { order, entries: vec![0.0; order * order] }
    }

    /// One more run, its ψ cut to the order.
    pub(super) fn add(&mut self, psi: &[f64]) {
        for (row, a) in self.entries.chunks_exact_mut(self.order).zip(psi) {
            row.iter_mut().zip(psi).for_each(|(cell, b)| *cell += a * b);
        }
    }

    /// The leading entries of `other`, of a larger order, added.
    pub(super) fn add_leading(&mut self, other: &Self) {
        let rows = self.entries.chunks_exact_mut(self.order);
        for (row, theirs) in rows.zip(other.entries.chunks_exact(other.order)) {
            row.iter_mut().zip(theirs).for_each(|(cell, value)| *cell += value);
        }
    }

    /// The number of runs.
    pub(super) fn runs(&self) -> usize {
        self.entries[0] as usize
    }

    fn entry(&self, i: usize, j: usize) -> f64 {
        self.entries[i * self.order + j]
    }
}

/// The posterior of one level's regression on φ = (1, z_1 − M_1, …, z_{k−1} − M_{k−1}).
#[derive(Clone, Debug)]
pub(super) struct LevelRegression {
    /// b, the posterior mean of the coefficients.
    pub(super) coefficients: Vec<f64>,
    /// Q = Λ⁻¹, row by row.
    pub(super) inverse: Vec<f64>,
    /// s².
    pub(super) variance: f64,
    /// d, degrees of freedom.
    pub(super) freedom: f64,
    /// ln of the marginal likelihood of the runs that reached the level.
    pub(super) evidence: f64,
}

impl LevelRegression {
    /// The regression of the runs in `sums`, with prior slopes that count as `slopes_weight` runs (ν); `center` is M of its level and
    /// `center_below` that of the level below. `None` if the numbers are too far apart to solve for.
    pub(super) fn new(
        prior: &LevelPrior,
        slopes_weight: f64,
        sums: &RegressionSums,
        (center, center_below): (f64, f64),
    ) -> Option<Self> {
        let size = sums.order - 1;
        let is_first = size == 1;
        let constant = if is_first { FIRST_CONSTANT_WEIGHT } else { CONSTANT_WEIGHT };
        let mean: Vec<f64> = std::iter::once(if is_first { 0.0 } else { center_below })
            .chain(prior.slopes.iter().copied())
            .collect();
        let weight = |i: usize, j: usize| match (i, j) {
            (0, 0) => constant,
            (0, _) | (_, 0) => 0.0,
            _ => slopes_weight * prior.below[(i - 1) * (size - 1) + j - 1],
        };
        let weighted: Vec<f64> = (0..size).map(|i| (0..size).map(|j| weight(i, j) * mean[j]).sum()).collect();
        let mut after = SymmetricMatrix::zeros(size);
        for i in 0..size {
            for j in 0..=i {
                after.data[i * after.stride + j] = weight(i, j) + sums.entry(i, j);
            }
        }
        let log_before = constant.ln() + (size - 1) as f64 * slopes_weight.ln() + prior.log_determinant;
        let log_after = after.invert()?;
        let runs = sums.entry(0, 0);
        let right: Vec<f64> =
            (0..size).map(|i| weighted[i] + sums.entry(i, size) + center * sums.entry(i, 0)).collect();
        let mut coefficients = vec![0.0; size];
        after.multiply_vector(&right, &mut coefficients);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let squares = sums.entry(size, size) + 2.0 * center * sums.entry(0, size) + runs * center * center;
        // where the runs lie on the regression, rounding can make this negative
        let residual = (squares + dot(&mean, &weighted) - dot(&coefficients, &right)).max(0.0);
        let freedom = PRIOR_RUNS + runs;
        let (scale_before, scale) = (PRIOR_RUNS * prior.variance, PRIOR_RUNS * prior.variance + residual);
        let mut inverse = vec![0.0; after.stride * after.stride];
        after.expand(after.stride, &mut inverse);
        let inverse = (0..size).flat_map(|i| inverse[i * after.stride..][..size].iter().copied()).collect();
        let evidence = ln_gamma(freedom / 2.0) - ln_gamma(PRIOR_RUNS / 2.0)
            + PRIOR_RUNS / 2.0 * (scale_before / 2.0).ln()
            - freedom / 2.0 * (scale / 2.0).ln()
            + (log_before - log_after) / 2.0;
        Some(Self { coefficients, inverse, variance: scale / freedom, freedom, evidence })
    }

    /// b·φ.
    pub(super) fn mean(&self, features: &[f64]) -> f64 {
        self.coefficients.iter().zip(features).map(|(b, feature)| b * feature).sum()
    }

    /// s²·(1 + φᵀQφ), the scale of a new score at the level, squared.
    pub(super) fn scale(&self, features: &[f64]) -> f64 {
        let size = self.coefficients.len();
        let row =
            |i: usize| self.inverse[i * size..][..size].iter().zip(features).map(|(q, f)| q * f).sum::<f64>();
        self.variance * (1.0 + (0..size).map(|i| features[i] * row(i)).sum::<f64>())
    }

    /// ln of the density of a new score `z` at the level: Student's t.
    pub(super) fn log_density(&self, features: &[f64], z: f64) -> f64 {
        let (scale, d) = (self.scale(features), self.freedom);
        let square = (z - self.mean(features)).powi(2) / scale;
        ln_gamma((d + 1.0) / 2.0)
            - ln_gamma(d / 2.0)
            - 0.5 * (d * PI * scale).ln()
            - (d + 1.0) / 2.0 * (square / d).ln_1p()
    }
}

//! The epochs at which the chain looks at curves, and what it expects of them before it has seen any.

use crate::linalg::inverse::SymmetricMatrix;

/// The distance of two levels, as a factor. Finer grids gained nothing and cost more regressions.
const LEVEL_RATIO: f64 = 1.33;
/// Below this fraction of a training nothing is looked at.
const EARLIEST_FRACTION: f64 = 1.0 / 45.0;

/// Standard deviation of a score at the end, in standard deviations of all points.
const END_SD: f64 = 1.1;
/// The rate at which that grows with the logarithm of the epoch.
const SD_GROWTH_RATE: f64 = 1.3;
/// Standard deviation of the part that wanders away from the end, backwards in time.
const WANDER_SD: f64 = 0.5;
/// Standard deviation of the noise of a single report.
const NOISE_SD: f64 = 0.05;
/// A variance that rounding leaves below this is taken for this.
const MIN_VARIANCE: f64 = 1e-8;

/// The levels t_1 < … < t_K = T of a training of `epochs`: from T down, each the last one divided by 1.33, rounded, but at least one epoch earlier;
/// none below T/45. At most 18.
///
/// ```
/// assert_eq!(foretell::chain_levels(6), [1, 2, 3, 5, 6]);
/// assert_eq!(foretell::chain_levels(40).len(), 12);
/// ```
pub fn chain_levels(epochs: u64) -> Vec<u64> {
    let last = epochs.max(1);
    let mut levels = vec![last];
    let mut exact = last as f64;
    loop {
        exact /= LEVEL_RATIO;
        let lower = (exact.round() as u64).min(levels[levels.len() - 1] - 1);
        if lower < 1 || (lower as f64) < EARLIEST_FRACTION * last as f64 {
            levels.reverse();
            return levels;
        }
        levels.push(lower);
        // below, rounding up would leave gaps narrower than the ratio
        exact = exact.min(lower as f64 + 0.49);
    }
}

/// The prior of one level given those below it: the coefficients of the regression, its residual variance, and the covariance of the levels below.
#[derive(Clone, Debug)]
pub(super) struct LevelPrior {
    /// β⁰, one per lower level.
    pub(super) slopes: Vec<f64>,
    /// v⁰.
    pub(super) variance: f64,
    /// S of the levels below, row by row.
    pub(super) below: Vec<f64>,
    /// ln det S of the levels below.
    pub(super) log_determinant: f64,
}

/// The covariance S of the scores at `levels`, with u = ln(t/T)/ln 45:
/// S_ij = 1.1²·exp(1.3(u_i + u_j)) + 0.5²·min(|u_i|, |u_j|) + 0.05²·[i = j], row by row.
pub(super) fn covariance(levels: &[u64]) -> Vec<f64> {
    let last = levels.last().map_or(1.0, |&level| level as f64);
    let time: Vec<f64> = levels.iter().map(|&level| (level as f64 / last).ln() / 45.0_f64.ln()).collect();
    let mut entries = Vec::with_capacity(time.len() * time.len());
    for (i, a) in time.iter().enumerate() {
        for (j, b) in time.iter().enumerate() {
            let noise = if i == j { NOISE_SD * NOISE_SD } else { 0.0 };
            let grown = END_SD * END_SD * (SD_GROWTH_RATE * (a + b)).exp();
            entries.push(grown + WANDER_SD * WANDER_SD * (-a).min(-b) + noise);
        }
    }
    entries
}

/// The prior of each of `levels` given those below it.
pub(super) fn priors(levels: &[u64]) -> Vec<LevelPrior> {
    let (all, count) = (covariance(levels), levels.len());
    let entry = |i: usize, j: usize| all[i * count + j];
    let prior = |level: usize| {
        let below: Vec<f64> =
            (0..level).flat_map(|i| (0..level).map(move |j| (i, j))).map(|(i, j)| entry(i, j)).collect();
        let mut inverse = SymmetricMatrix::zeros(level);
        for i in 0..level {
            for j in 0..=i {
                inverse.data[i * inverse.stride + j] = entry(i, j);
            }
        }
        let with: Vec<f64> = (0..level).map(|j| entry(level, j)).collect();
        let mut slopes = vec![0.0; level];
        let mut log_determinant = 0.0;
        if level > 0
            && let Some(found) = inverse.invert()
        {
            log_determinant = found;
            inverse.multiply_vector(&with, &mut slopes);
        }
        let known: f64 = slopes.iter().zip(&with).map(|(slope, with)| slope * with).sum();
        let variance = (entry(level, level) - known).max(MIN_VARIANCE);
        LevelPrior { slopes, variance, below, log_determinant }
    };
    (0..count).map(prior).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_covariance_is_that_of_the_reference() {
        let all = covariance(&chain_levels(6));
        let expected = [0.476_048, 0.523_073, 0.563_412, 0.628_570, 0.656_208];
        for (value, expected) in all.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-6, "{value} {expected}");
        }
        assert!((all[24] - 1.2125).abs() < 1e-12);
    }

    #[test]
    fn levels_end_with_the_training_and_are_never_many() {
        for epochs in 1..2000 {
            let levels = chain_levels(epochs);
            assert!(levels.len() <= 18 && levels.last() == Some(&epochs), "{epochs}: {levels:?}");
            assert!(
                levels.is_sorted_by(|a, b| a < b) && levels[0] as f64 >= epochs as f64 / 45.0,
                "{levels:?}"
            );
        }
    }
}

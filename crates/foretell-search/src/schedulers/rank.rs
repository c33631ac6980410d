//! The score by which trials are compared at a rung: their value there, or the forecast of their final value.

use foretell::statistics::{mean, normal_quantile};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Finished trials from which it is judged whether a rung's ranks say anything, at least.
const MIN_FINISHED_TRIALS: usize = 6;
/// A rank correlation before anything is seen, and the number of trials that it counts as.
const CORRELATION_PRIOR: (f64, f64) = (0.6, 4.0);
/// A rank correlation below this says nothing.
const SILENT_CORRELATION: f64 = 0.25;

/// The values by which trials are compared at a rung.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rank {
    /// By score at the rung.
    #[default]
    Value,
    /// By forecast.
    Mean,
    /// By forecast plus one standard deviation, which favors trials that can still become the best.
    Upper,
}

impl Rank {
    /// The score that a forecast with this mean and standard deviation is compared by.
    pub(crate) fn score(self, mean: f64, sd: f64) -> f64 {
        if self == Self::Upper { mean + sd } else { mean }
    }
}

/// The values by which a scheduler currently compares trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialRanks {
    /// The scores of trials by the level they were trained to; a trial that is not here keeps its own.
    pub scores: BTreeMap<u64, BTreeMap<u64, f64>>,
    /// The levels whose ranks tell nothing about final values: every trial that reaches one continues.
    pub silent: BTreeSet<u64>,
}

impl TrialRanks {
    /// The score of `trial` at `level`.
    pub fn score(&self, trial: u64, level: u64) -> Option<f64> {
        self.scores.get(&level)?.get(&trial).copied()
    }
}

/// Whether a rung's ranks say nothing of the end, from the `scores` of all that reached it and, of those trained to their end, the
/// places in `scores` with the `ends`.
///
/// With x the normal score of the rank at the rung and y that of the rank at the end, r = corr(x, y) over the n finished trials. They are
/// those that ranked high at the rung, which makes r small. It is corrected by u, the standard deviation of x over all trials by that over
/// the finished ones: ρ = r·u/√(1 − r² + r²·u²). A rung is silent where (n·ρ + 4·0.6)/(n + 4) < 0.25, and n ≥ 6.
///
/// Source of the correction: Thorndike 1949, case 2. The shrinkage and the bound are ours.
pub(crate) fn is_silent(scores: &[f64], finished: &[(usize, f64)]) -> bool {
    if finished.len() < MIN_FINISHED_TRIALS {
        return false;
    }
    let all = normal_scores(scores);
    let x: Vec<f64> = finished.iter().map(|&(place, _)| all[place]).collect();
    let y = normal_scores(&finished.iter().map(|&(_, end)| end).collect::<Vec<_>>());
    let (n, u) = (x.len() as f64, (standard_deviation(&all) / standard_deviation(&x)).max(1.0));
    let r = correlation(&x, &y);
    let corrected = r * u / (1.0 - r * r + r * r * u * u).sqrt();
    let rho = if corrected.is_finite() { corrected } else { CORRELATION_PRIOR.0 };
    (n * rho + CORRELATION_PRIOR.1 * CORRELATION_PRIOR.0) / (n + CORRELATION_PRIOR.1) < SILENT_CORRELATION
}

/// Φ⁻¹((rank − ½)/n) of each score; equal scores share the mean of their ranks.
fn normal_scores(scores: &[f64]) -> Vec<f64> {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    let normal_scores = scores.iter().map(|score| {
        let below = sorted.partition_point(|other| other.total_cmp(score).is_lt());
        let up_to = sorted.partition_point(|other| other.total_cmp(score).is_le());
        normal_quantile((below + up_to) as f64 / 2.0 / scores.len() as f64)
    });
    normal_scores.collect()
}

fn standard_deviation(x: &[f64]) -> f64 {
    let center = mean(x);
    x.iter().map(|x| (x - center).powi(2)).sum::<f64>().sqrt() / (x.len() as f64).sqrt()
}

fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let (a, b) = (mean(x), mean(y));
    let along = x.iter().zip(y).map(|(x, y)| (x - a) * (y - b)).sum::<f64>() / x.len() as f64;
    along / (standard_deviation(x) * standard_deviation(y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::random::trial_stream;
    use rand::RngExt;

    /// The share of 200 studies in which the rung is silent, where the best third of 30 trials is trained to the end and the scores at
    /// the rung and the end have the correlation `rho`.
    fn silent(rho: f64) -> f64 {
        let study = |seed: u64| {
            let mut random = trial_stream(seed, 0);
            let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
            let trials: Vec<(f64, f64)> = (0..30)
                .map(|_| {
                    let (early, noise) = (normal(), normal());
                    (early, rho * early + (1.0 - rho * rho).sqrt() * noise)
                })
                .collect();
            let scores: Vec<f64> = trials.iter().map(|trial| trial.0).collect();
            let mut order: Vec<usize> = (0..30).collect();
            order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            is_silent(&scores, &order[..10].iter().map(|&i| (i, trials[i].1)).collect::<Vec<_>>())
        };
        (0..200).filter(|&seed| study(seed)).count() as f64 / 200.0
    }

    #[test]
    fn a_rung_that_says_nothing_is_told_from_one_that_does() {
        let shares = [-0.5, 0.0, 0.6, 0.9].map(silent);
        assert!(shares[0] > 0.8 && shares[1] > 0.5, "{shares:?}");
        assert!(shares[2] < 0.3 && shares[3] < 0.03, "{shares:?}");
    }

    #[test]
    fn few_trials_and_equal_scores_silence_nothing() {
        assert!(!is_silent(&[1.0, 2.0, 3.0], &[(2, 0.1), (1, 0.2), (0, 0.3)]));
        let equal: Vec<(usize, f64)> = (0..8).map(|i| (i, 0.5)).collect();
        assert!(!is_silent(&[0.5; 20], &equal));
    }
}

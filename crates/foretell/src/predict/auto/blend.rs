//! Four experts on the same runs and their blend, weighted by held-out error.

use crate::curves::training::{RunQuery, TrainingSet};
use crate::features::compact::CompactFeatures;
use crate::predict::auto::neighbors::KernelNeighbors;
use crate::predict::forest::{FittedForest, MixedTrees};
use crate::predict::gp::design::KernelDesign;
use crate::predict::gp::pair::{PairFit, ProcessPair};
use crate::predict::mean_gain::plausible_deviation;
use crate::statistics::mean;

/// The weight of the pair of processes relative to each other expert before any error is seen.
const PAIR_PRIOR: f64 = 1.5;
/// The power of the ratio of mean squared errors that endless runs give.
const MAX_ERROR_POWER: f64 = 3.0;
/// The number of runs that gives half of that power: few errors show little about which expert is the best.
const RUNS_FOR_HALF_POWER: f64 = 50.0;
/// The fewest runs whose mean may be the better forecast.
const MIN_RUNS_FOR_MEAN: usize = 10;
/// Mean squared errors that differ by less than this share of the least one are the same.
const MIN_ERROR_RATIO: f64 = 1e-12;

/// ŷ = Σ_e a_e ŷ_e over experts e, a_e their [`weights`], drawn to the mean of the runs where that is nearer ([`draw_toward_mean`]); every ŷ_e is clipped to the runs' [`Reach`](crate::predict::gp::pair::Reach).
/// The scale of a forecast is √(s² + u² + Σ_e a_e (ŷ_e − ŷ)²), s the deviation of the pair of Gaussian processes and u the
/// [`plausible_deviation`] deviation over the number of runs: few runs that end alike do not make a forecast sure.
pub(crate) struct ExpertBlend {
    compact: CompactFeatures,
    design: KernelDesign,
    pair: ProcessPair,
    /// One on y_T, one on y_T − y_τ.
    trees: [FittedForest; 2],
    neighbors: KernelNeighbors,
    mean_gain: f64,
    /// u.
    unsure: f64,
    /// Of the pair, the trees, the neighbors and the mean gain.
    weights: Vec<f64>,
    /// The mean final score of the runs, and the share k of how far a forecast is from it that is kept.
    level: (f64, f64),
    /// For each run: (its forecast without it, its scale).
    pub(crate) left_out: Vec<(f64, f64)>,
}

impl ExpertBlend {
    /// Fits all experts. `None` if the numbers allow no fit.
    pub(crate) fn fit(training: &TrainingSet, seed: u64) -> Option<Self> {
        let last = training.last_scores();
        let PairFit { compact, rows, design, pair } = PairFit::new(training, &last)?;
        let gains: Vec<f64> = training.targets.iter().zip(&last).map(|(y, last)| y - last).collect();
        let trees = [(seed, &training.targets), (seed.wrapping_add(1), &gains)]
            .map(|(seed, targets)| MixedTrees { seed, ..MixedTrees::default() }.fit(&rows, targets));
        let neighbors = KernelNeighbors::fit(&design, &gains);
        let (mean_gain, without) = mean_gain(&gains);
        let out_of_bag = trees[0].out_of_bag().iter().zip(trees[1].out_of_bag()).zip(&last);
        let out_of_bag: Vec<f64> =
            out_of_bag.map(|((score, gain), last)| (score - last + gain) / 2.0).collect();
        let [of_trees, of_neighbors, of_mean] = [&out_of_bag, &neighbors.left_out, &without].map(|gains| {
            gains.iter().zip(&last).map(|(gain, &last)| pair.reach().clip(last + gain, last)).collect()
        });
        let own = pair.left_out.iter().map(|left_out| left_out.0).collect();
        let held_out = [own, of_trees, of_neighbors, of_mean];
        let weights = weights(&held_out, &training.targets);
        let unsure = plausible_deviation(training, &last) / training.len() as f64;
        let mut left_out: Vec<(f64, f64)> = (0..training.len())
            .map(|i| {
                let forecasts = held_out.each_ref().map(|forecasts| forecasts[i]);
                mix_forecasts(&weights, &forecasts, pair.left_out[i].1.hypot(unsure))
            })
            .collect();
        let level = draw_toward_mean(&mut left_out, &training.targets);
        Some(Self { compact, design, pair, trees, neighbors, mean_gain, unsure, weights, level, left_out })
    }

    /// The mean and scale of the final score of a new run.
    pub(crate) fn forecast(&self, query: &RunQuery<'_>) -> (f64, f64) {
        let mut row = Vec::new();
        self.compact.row(query, &mut row);
        let relation = self.design.relate(&row);
        let last = query.last_score();
        let (own, scale) = self.pair.forecast(&relation, last);
        let [scores, gains] = self.trees.each_ref().map(|forest| forest.predict(&row));
        let trees = (scores + self.pair.beyond(last) - last + gains) / 2.0;
        let neighbors = self.neighbors.forecast(&relation);
        let [trees, neighbors, mean_gain] =
            [trees, neighbors, self.mean_gain].map(|gain| self.pair.reach().clip(last + gain, last));
        let forecasts = [own, trees, neighbors, mean_gain];
        let (blended, scale) = mix_forecasts(&self.weights, &forecasts, scale.hypot(self.unsure));
        let (mean, kept) = self.level;
        (mean + kept * (blended - mean), scale)
    }
}

/// Draws held-out forecasts to the mean ȳ of the other runs, where errors do not say that they are nearer to the `targets` than it is:
/// ŷ → ȳ + k (ŷ − ȳ), k = 2 (b − s) within [0, 1], b the slope of y − ȳ on ŷ − ȳ through the origin and s its standard error. From b = ½ on
/// forecasts err less than the mean, so k is 1 where they do so by more than chance. It gives the mean of all runs and k, which hold for a
/// new run. Where curves say little of their ends, as in fine-tunings that begin near theirs, forecasts come near the mean of the
/// completed runs. Fewer than [`MIN_RUNS_FOR_MEAN`] runs say nothing of this: k is 1. O(n). Foretell's own.
fn draw_toward_mean(left_out: &mut [(f64, f64)], targets: &[f64]) -> (f64, f64) {
    let (total, n) = (targets.iter().sum::<f64>(), targets.len() as f64);
    if targets.len() < MIN_RUNS_FOR_MEAN {
        return (total / n, 1.0);
    }
    let mean_of_others: Vec<f64> = targets.iter().map(|y| (total - y) / (n - 1.0)).collect();
    let runs = left_out.iter().zip(targets).zip(&mean_of_others);
    let pairs: Vec<(f64, f64)> =
        runs.map(|(((forecast, _), y), others)| (forecast - others, y - others)).collect();
    let square: f64 = pairs.iter().map(|(forecast, _)| forecast * forecast).sum();
    // all forecasts are at the mean already, so there is no slope
    if square <= 0.0 {
        return (total / n, 1.0);
    }
    let slope = pairs.iter().map(|(forecast, end)| forecast * end).sum::<f64>() / square;
    let residual: f64 = pairs.iter().map(|(forecast, end)| (end - slope * forecast).powi(2)).sum();
    let error = (residual / (n - 1.0) / square).sqrt();
    let kept = (2.0 * (slope - error)).clamp(0.0, 1.0);
    for ((forecast, _), others) in left_out.iter_mut().zip(&mean_of_others) {
        *forecast = others + kept * (*forecast - others);
    }
    (total / n, kept)
}

/// The mean gain, shrunk as if one more run had gained nothing, and the same without each run.
fn mean_gain(gains: &[f64]) -> (f64, Vec<f64>) {
    let (total, n) = (gains.iter().sum::<f64>(), gains.len() as f64);
    (total / (n + 1.0), gains.iter().map(|gain| (total - gain) / n).collect())
}

/// The mean ŷ of weighted `forecasts`, and √(scale² + Σ a_e (ŷ_e − ŷ)²): experts that disagree make a forecast less sure.
fn mix_forecasts(weights: &[f64], forecasts: &[f64; 4], scale: f64) -> (f64, f64) {
    let mean: f64 = weights.iter().zip(forecasts).map(|(weight, forecast)| weight * forecast).sum();
    let apart = weights.iter().zip(forecasts).map(|(weight, forecast)| weight * (forecast - mean).powi(2));
    (mean, (scale * scale + apart.sum::<f64>()).sqrt())
}

/// Weights ∝ q_e·mse_e^(−p) that sum to 1, p = 3·n/(n + 50), mse_e the mean squared error of expert e's held-out forecasts of the
/// `targets`, q = 1.5 for the first expert and 1 for the others. O(n·experts). The weights are Foretell's own.
fn weights(held_out: &[Vec<f64>], targets: &[f64]) -> Vec<f64> {
    let n = targets.len() as f64;
    let power = MAX_ERROR_POWER * n / (n + RUNS_FOR_HALF_POWER);
    let errors = held_out.iter().map(|forecasts| {
        mean(&forecasts.iter().zip(targets).map(|(f, y)| (y - f).powi(2)).collect::<Vec<_>>())
    });
    let errors: Vec<f64> = errors.collect();
    let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = errors.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    // an expert without any error would otherwise divide 0 by 0
    let least = least.max(MIN_ERROR_RATIO * largest);
    let mut raw: Vec<f64> = errors.iter().map(|error| (least / error.max(least)).powf(power)).collect();
    raw[0] *= PAIR_PRIOR;
    let total: f64 = raw.iter().sum();
    raw.iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forecasts_that_err_more_than_the_mean_are_drawn_to_it() {
        let targets: Vec<f64> = (0..12).map(|i| f64::from(i % 4)).collect();
        // of no use: they say the same of runs that end far apart
        let mut noise: Vec<(f64, f64)> = (0..12).map(|i| (f64::from(i / 4) * 3.0, 1.0)).collect();
        let (mean, kept) = draw_toward_mean(&mut noise, &targets);
        assert!((mean - 1.5).abs() < 1e-12 && kept <= 0.0, "{mean} {kept}");
        assert!(noise.iter().zip(&targets).all(|(run, y)| (run.0 - (18.0 - y) / 11.0).abs() < 1e-12));
        // near the truth: they stay as they are
        let good =
            || targets.iter().enumerate().map(|(i, y)| (y + 0.3 * (i % 2) as f64, 1.0)).collect::<Vec<_>>();
        let mut same = good();
        assert!((draw_toward_mean(&mut same, &targets).1 - 1.0).abs() < 1e-12);
        assert!(same.iter().zip(good()).all(|(a, b)| (a.0 - b.0).abs() < 1e-12));
        // too few to tell
        assert!((draw_toward_mean(&mut noise[..9], &targets[..9]).1 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn experts_that_disagree_make_a_forecast_less_sure() {
        // 0.8·1 + 0.2·2 = 1.2; 0.09 + 0.8·0.04 + 0.2·0.64
        let (mean, scale) = mix_forecasts(&[0.8, 0.2, 0.0, 0.0], &[1.0, 2.0, 7.0, 7.0], 0.3);
        assert!((mean - 1.2).abs() < 1e-12 && (scale - 0.25_f64.sqrt()).abs() < 1e-12);
        let (mean, scale) = mix_forecasts(&[0.25; 4], &[1.0; 4], 0.3);
        assert!((mean - 1.0).abs() < 1e-12 && (scale - 0.3).abs() < 1e-12);
    }

    #[test]
    fn weights_follow_the_ratio_of_errors_the_more_the_more_runs_there_are() {
        let ratio_of = |n: usize| {
            let found = weights(&[vec![1.0; n], vec![2.0; n], vec![1.0; n]], &vec![0.0; n]);
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!((found[0] / found[2] - 1.5).abs() < 1e-12, "the prior: {found:?}");
            found[1] / found[2]
        };
        // mean squared errors 1 and 4
        assert!((ratio_of(50) - 4.0_f64.powf(-1.5)).abs() < 1e-12);
        assert!((ratio_of(5) - 4.0_f64.powf(-15.0 / 55.0)).abs() < 1e-12);
    }

    #[test]
    fn experts_that_err_nowhere_share_the_weight() {
        let found = weights(&[vec![0.3; 5], vec![0.3; 5], vec![0.4; 5]], &[0.3; 5]);
        assert!((found[0] - 0.6).abs() < 0.01 && found[2] < 0.01, "{found:?}");
        let all = weights(&[vec![0.3; 5], vec![0.3; 5]], &[0.3; 5]);
        assert!((all[0] - 0.6).abs() < 1e-12, "{all:?}");
    }
}

//! The random search over forests: the number of trees, and the fraction of the features a split looks at.
//!
//! Tree number k of a forest depends on the seed, on k and on the number of features a split looks at, not on the number of
//! trees. So a forest of 800 trees holds those of fewer, and all draws that round to the same number of features are
//! scored while one forest grows: the scores are those of fitting every draw on its own.

use super::columns::RankedColumns;
use super::count_features;
use super::tree::{RegressionTrees, ThresholdRule, TreeGrower, TreeRecipe};
use crate::linalg::matrix::Matrix;
use crate::predict::svr::FoldAssignment;
use crate::statistics::{mean, r_squared};
use rand::{Rng, RngExt};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The hyperparameters of a random forest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForestParameters {
    /// The number of trees, searched uniformly in 10..=800.
    pub trees: usize,
    /// The share of the features a split looks at, rounded down, at least one feature; searched uniformly in [0.1, 0.5).
    pub share: f64,
}

/// The winner of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForestChoice {
    /// Index of the winning draw.
    pub index: usize,
    /// The hyperparameters of that draw.
    pub parameters: ForestParameters,
    /// The mean R² over the folds.
    pub score: f64,
}

/// The draws of a random search. Source: Baker et al. 2017, appendix B.
pub fn draw_forests(count: usize, random: &mut impl Rng) -> Vec<ForestParameters> {
    let draws = (0..count).map(|_| ForestParameters {
        trees: random.random_range(10..=800),
        share: 0.1 + 0.4 * random.random::<f64>(),
    });
    draws.collect()
}

/// Scores `draws` by cross-validation on `x`, shape (n, features), and `y`, and gives the one with the largest mean R²
/// over the folds, the first of equals; tree number k of every forest has the stream (`seed`, k).
///
/// O(largest number of trees · distinct numbers of features · folds) trees are grown, in parallel; the result does not
/// depend on the number of threads. `None` if there is no draw.
pub fn search_forests(
    x: &Matrix,
    y: &[f64],
    draws: &[ForestParameters],
    folds: &FoldAssignment,
    seed: u64,
) -> Option<ForestChoice> {
    let scores = score_forests(x, y, draws, folds, seed);
    let ranked = draws.iter().zip(scores).enumerate();
    ranked.fold(None, |best: Option<ForestChoice>, (index, (&parameters, score))| match best {
        Some(best) if score <= best.score => Some(best),
        _ => Some(ForestChoice { index, parameters, score }),
    })
}

/// The mean R² over the folds of each draw.
fn score_forests(
    x: &Matrix,
    y: &[f64],
    draws: &[ForestParameters],
    folds: &FoldAssignment,
    seed: u64,
) -> Vec<f64> {
    let columns = RankedColumns::new(x);
    let mut sizes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for draw in draws {
        sizes.entry(count_features(draw.share, columns.width())).or_default().push(draw.trees.max(1));
    }
    for sizes in sizes.values_mut() {
        sizes.sort_unstable();
        sizes.dedup();
    }
    let count = folds.iter().max().map_or(0, |last| last + 1);
    let splits: Vec<FoldSplit> = (0..count).map(|fold| FoldSplit::new(y, folds, fold)).collect();
    let jobs: Vec<(usize, &FoldSplit)> =
        sizes.keys().flat_map(|&features| splits.iter().map(move |split| (features, split))).collect();
    let scored: Vec<(usize, Vec<f64>)> = jobs
        .par_iter()
        .map(|&(features, split)| {
            let recipe = TreeRecipe {
                columns: &columns,
                targets: y,
                rows: &split.inside,
                features,
                thresholds: [ThresholdRule::Best; 2],
                bootstrap: true,
                seed,
            };
            (features, split.scores(&recipe, x, &sizes[&features]))
        })
        .collect();
    let mean_scores = draws.iter().map(|draw| {
        let features = count_features(draw.share, columns.width());
        let place = sizes[&features].partition_point(|&size| size < draw.trees.max(1));
        let folds = scored.iter().filter(|(key, _)| *key == features).map(|(_, scores)| scores[place]);
        mean(&folds.collect::<Vec<f64>>())
    });
    mean_scores.collect()
}

/// One fold: the rows learned from, the rows held out and their targets.
struct FoldSplit {
    inside: Vec<usize>,
    outside: Vec<usize>,
    targets: Vec<f64>,
}

impl FoldSplit {
    fn new(y: &[f64], folds: &FoldAssignment, fold: usize) -> Self {
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..y.len()).partition(|&i| folds[i] != fold);
        Self { targets: outside.iter().map(|&i| y[i]).collect(), inside, outside }
    }

    /// R² on the held-out rows of the forests of the first `sizes` trees; `sizes` increase.
    fn scores(&self, recipe: &TreeRecipe<'_>, x: &Matrix, sizes: &[usize]) -> Vec<f64> {
        let mut grower = TreeGrower::new(recipe.columns);
        let mut tree = RegressionTrees::default();
        let mut sums = vec![0.0; self.outside.len()];
        let mut grown = 0;
        let scores = sizes.iter().map(|&size| {
            while grown < size {
                // only the sums of forecasts are needed, so one tree at a time is kept instead of the forest
                tree.clear();
                grower.grow(recipe, grown, &mut tree);
                for (sum, &row) in sums.iter_mut().zip(&self.outside) {
                    *sum += tree.forecast(0, x.row(row));
                }
                grown += 1;
            }
            let forecasts: Vec<f64> = sums.iter().map(|sum| sum / size as f64).collect();
            r_squared(&forecasts, &self.targets)
        });
        scores.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::forest::FittedForest;
    use crate::predict::svr::draw_folds;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn sample() -> (Matrix, Vec<f64>) {
        let x = Matrix::from_fn(40, 12, |i, j| ((i * i + 7 * j) as f64 * 0.61).sin());
        let y = (0..40).map(|i| x.row(i)[0] + 0.5 * x.row(i)[3] * x.row(i)[5]).collect();
        (x, y)
    }

    #[test]
    fn shared_forests_score_every_draw_as_if_fitted_alone() {
        let (x, y) = sample();
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let draws: Vec<ForestParameters> = draw_forests(12, &mut random)
            .into_iter()
            .map(|draw| ForestParameters { trees: draw.trees / 20 + 1, ..draw })
            .collect();
        let folds = draw_folds(40, 3, &mut random);
        let scores = score_forests(&x, &y, &draws, &folds, 9);
        let columns = RankedColumns::new(&x);
        for (draw, score) in draws.iter().zip(scores) {
            let alone = (0..3).map(|fold| {
                let split = FoldSplit::new(&y, &folds, fold);
                let recipe = TreeRecipe {
                    columns: &columns,
                    targets: &y,
                    rows: &split.inside,
                    features: count_features(draw.share, 12),
                    thresholds: [ThresholdRule::Best; 2],
                    bootstrap: true,
                    seed: 9,
                };
                let forest = FittedForest::grow(&recipe, draw.trees, &x);
                let forecasts: Vec<f64> = split.outside.iter().map(|&i| forest.predict(x.row(i))).collect();
                r_squared(&forecasts, &split.targets)
            });
            let alone = mean(&alone.collect::<Vec<f64>>());
            assert!((alone - score).abs() < 1e-12, "{draw:?}: {score} shared, {alone} alone");
        }
    }

    #[test]
    fn draws_stay_in_the_ranges_of_the_paper() {
        let draws = draw_forests(2000, &mut ChaCha8Rng::seed_from_u64(1));
        assert!(draws.iter().all(|d| (10..=800).contains(&d.trees) && (0.1..0.5).contains(&d.share)));
        assert!(draws.iter().any(|d| d.trees < 30) && draws.iter().any(|d| d.trees > 780));
    }
}

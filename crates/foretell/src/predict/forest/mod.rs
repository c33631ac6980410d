//! Forests of regression trees: random forests, and those with every other tree extremely randomized.

mod columns;
mod random;
mod search;
mod tree;

use crate::curves::configuration::FeatureGroup;
use crate::curves::training::{RunQuery, TrainingSet};
use crate::features::paper::{FeatureSet, design_matrix, feature_row};
use crate::linalg::matrix::Matrix;
use crate::predict::forecast::Forecast;
use crate::predict::predictor::{FitError, Model, Predictor, check_training, leave_one_out_sigma};
use crate::predict::row_order::{put_back, sort_by_content};
use crate::predict::svr::draw_folds;
use columns::RankedColumns;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
pub use search::{ForestChoice, ForestParameters, draw_forests, search_forests};
use tree::{RegressionTrees, ThresholdRule, TreeGrower, TreeRecipe};

/// Trees that are grown together: a job of a thread.
const TREES_PER_JOB: usize = 16;

/// A random forest as the paper uses it: regression trees on bootstrap samples, each split the best of a random share of
/// the features; number of trees and share by random search with 3-fold cross-validation, σ(τ) from out-of-bag forecasts.
///
/// | field | meaning | default |
/// |---|---|---|
/// | `features` | which feature groups | all |
/// | `draws` | random search draws; the paper does not say how many, and more than 6 changed nothing on its curves | 10 |
/// | `seed` | of draws, folds and trees | 0 |
///
/// Splits minimize the squared error; depth is unlimited, a leaf may hold one run. Needs 6 runs. The runs are sorted by
/// content before anything is drawn, so the order they are listed in does not matter. O(trees · distinct shares · share ·
/// d · n · log n) to fit, O(trees · log n) to forecast. Out-of-bag forecasts come from about 37 % of the trees: they stand
/// in for leave-one-out, and their residuals are a little wide.
///
/// Source: Breiman, *Random forests*, Machine Learning 45, 2001; ranges from Baker et al. 2017, appendix B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomForest {
    /// The feature groups used.
    pub features: FeatureSet,
    /// The number of draws of the random search; ≥ 1.
    pub draws: usize,
    /// The seed of draws, folds and trees.
    pub seed: u64,
}

impl Default for RandomForest {
    fn default() -> Self {
        Self { features: FeatureSet::default(), draws: 10, seed: 0 }
    }
}

impl Predictor for RandomForest {
    fn name(&self) -> &'static str {
        "random-forest"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), 6, training)?;
        let (x, targets, order) = sort_by_content(&design_matrix(training, self.features), training);
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(training.steps.len() as u64);
        let draws = draw_forests(self.draws.max(1), &mut random);
        let folds = draw_folds(training.len(), 3, &mut random);
        let choice = search_forests(&x, &targets, &draws, &folds, self.seed);
        let parameters = choice.map_or(draws[0], |choice| choice.parameters);
        let forest = FittedForest::random(parameters, self.seed, &x, &targets);
        let sigma = leave_one_out_sigma(forest.out_of_bag(), &targets);
        let held_out: Vec<Forecast> =
            forest.out_of_bag().iter().map(|&mean| Forecast::gaussian(mean, sigma)).collect();
        let (features, groups) = (self.features, training.groups.clone());
        Ok(Box::new(ForestModel { held_out: put_back(&held_out, &order), forest, sigma, features, groups }))
    }
}

struct ForestModel {
    forest: FittedForest,
    sigma: f64,
    features: FeatureSet,
    groups: Vec<FeatureGroup>,
    held_out: Vec<Forecast>,
}

impl Model for ForestModel {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        let mut row = Vec::new();
        feature_row(query, &self.groups, self.features, &mut row);
        Forecast::gaussian(self.forest.predict(&row), self.sigma)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

/// Regression trees of two kinds in turn: each split looks at a random share of the features and, in extremely randomized trees,
/// at one random threshold of each, in the others at all of them as a random forest does, and takes the best it sees. The first
/// follow what is smooth, the others find steps.
///
/// | field | meaning | default |
/// |---|---|---|
/// | `trees` | how many trees | 64 |
/// | `share` | share of the features a split looks at, in (0, 1]; at least one feature | 0.4 |
/// | `bootstrap` | grow each tree from n rows drawn with replacement; needed for out-of-bag forecasts | true |
/// | `seed` | of all draws | 0 |
///
/// Unlimited depth, leaves of one row. O(trees · share · d · n · log n) to fit. Source: Geurts, Ernst & Wehenkel,
/// *Extremely randomized trees*, Machine Learning 63, 2006 (which has no bootstrap), and Breiman 2001; the mixture is Foretell's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MixedTrees {
    pub(crate) trees: usize,
    pub(crate) share: f64,
    pub(crate) bootstrap: bool,
    pub(crate) seed: u64,
}

impl Default for MixedTrees {
    fn default() -> Self {
        Self { trees: 64, share: 0.4, bootstrap: true, seed: 0 }
    }
}

impl MixedTrees {
    /// Fits the trees on `x`, shape (n, d), and `y`, length n. Its result does not depend on the number of threads, but it
    /// does depend on the order of the rows: sort them where that matters.
    pub(crate) fn fit(&self, x: &Matrix, y: &[f64]) -> FittedForest {
        let columns = RankedColumns::new(x);
        let rows: Vec<usize> = (0..y.len()).collect();
        let recipe = TreeRecipe {
            columns: &columns,
            targets: y,
            rows: &rows,
            features: count_features(self.share, columns.width()),
            thresholds: [ThresholdRule::Random, ThresholdRule::Best],
            bootstrap: self.bootstrap,
            seed: self.seed,
        };
        FittedForest::grow(&recipe, self.trees, x)
    }
}

/// The number of features in a fraction `share` of `width`: rounded down, at least 1.
fn count_features(share: f64, width: usize) -> usize {
    ((share * width as f64 + 1e-9) as usize).clamp(1, width.max(1))
}

/// A fitted forest.
#[derive(Clone, Debug)]
pub(crate) struct FittedForest {
    trees: RegressionTrees,
    out_of_bag: Vec<f64>,
}

impl FittedForest {
    /// The random forest with `parameters` on `x`, shape (n, d), and `y`, length n.
    fn random(parameters: ForestParameters, seed: u64, x: &Matrix, y: &[f64]) -> Self {
        let columns = RankedColumns::new(x);
        let rows: Vec<usize> = (0..y.len()).collect();
        let recipe = TreeRecipe {
            columns: &columns,
            targets: y,
            rows: &rows,
            features: count_features(parameters.share, columns.width()),
            thresholds: [ThresholdRule::Best; 2],
            bootstrap: true,
            seed,
        };
        Self::grow(&recipe, parameters.trees, x)
    }

    /// Grows `count` trees on all rows of `x`, which are those of the recipe.
    fn grow(recipe: &TreeRecipe<'_>, count: usize, x: &Matrix) -> Self {
        let batches: Vec<TreeBatch> = (0..count.div_ceil(TREES_PER_JOB))
            .into_par_iter()
            .map(|batch| {
                TreeBatch::grow(recipe, batch * TREES_PER_JOB..count.min((batch + 1) * TREES_PER_JOB), x)
            })
            .collect();
        let mut trees = RegressionTrees::default();
        let mut sums = vec![(0.0, 0_u32); recipe.targets.len()];
        // in the order of the batches: sums would otherwise be rounded differently on each number of threads
        for batch in batches {
            trees.append(&batch.trees);
            for (total, part) in sums.iter_mut().zip(&batch.out_of_bag) {
                *total = (total.0 + part.0, total.1 + part.1);
            }
        }
        Self { trees, out_of_bag: out_of_bag_means(&sums, recipe.targets) }
    }

    /// The mean forecast of the trees for `row`, length d.
    pub(crate) fn predict(&self, row: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.trees.forecasts(row, |forecast| sum += forecast);
        sum / self.trees.len().max(1) as f64
    }

    /// For each training row the mean forecast of the trees grown without it; of a row in every tree (few trees, or no
    /// bootstrap) the mean target of the others.
    pub(crate) fn out_of_bag(&self) -> &[f64] {
        &self.out_of_bag
    }
}

/// Some trees of a forest, and (sum, count) of their forecasts for the rows they were not grown from.
struct TreeBatch {
    trees: RegressionTrees,
    out_of_bag: Vec<(f64, u32)>,
}

impl TreeBatch {
    fn grow(recipe: &TreeRecipe<'_>, numbers: std::ops::Range<usize>, x: &Matrix) -> Self {
        let mut grower = TreeGrower::new(recipe.columns);
        let mut batch =
            Self { trees: RegressionTrees::default(), out_of_bag: vec![(0.0, 0); recipe.targets.len()] };
        for number in numbers {
            grower.grow(recipe, number, &mut batch.trees);
            let tree = batch.trees.len() - 1;
            for (&row, _) in recipe.rows.iter().zip(grower.drawn()).filter(|(_, count)| **count == 0) {
                batch.out_of_bag[row].0 += batch.trees.forecast(tree, x.row(row));
                batch.out_of_bag[row].1 += 1;
            }
        }
        batch
    }
}

fn out_of_bag_means(sums: &[(f64, u32)], targets: &[f64]) -> Vec<f64> {
    let total: f64 = targets.iter().sum();
    let others = (targets.len().max(2) - 1) as f64;
    let runs = sums.iter().zip(targets);
    runs.map(|(&(sum, count), y)| if count > 0 { sum / f64::from(count) } else { (total - y) / others })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(n: usize) -> (Matrix, Vec<f64>) {
        let x = Matrix::from_fn(n, 5, |i, j| ((i * i + 3 * j) as f64 * 0.41).sin());
        let y = (0..n).map(|i| x.row(i)[0] + x.row(i)[1].powi(2)).collect();
        (x, y)
    }

    #[test]
    fn the_forecast_is_the_mean_over_the_trees() {
        let (x, y) = sample(60);
        let forest = MixedTrees { trees: 21, ..MixedTrees::default() }.fit(&x, &y);
        let mut each = Vec::new();
        forest.trees.forecasts(x.row(4), |forecast| each.push(forecast));
        assert_eq!(each.len(), 21);
        assert!((crate::statistics::mean(&each) - forest.predict(x.row(4))).abs() < 1e-12);
        let one_by_one: Vec<f64> = (0..21).map(|tree| forest.trees.forecast(tree, x.row(4))).collect();
        assert_eq!(each, one_by_one);
    }

    #[test]
    fn out_of_bag_forecasts_are_worse_than_fitted_ones_but_learn() {
        let (x, y) = sample(120);
        let parameters = ForestParameters { trees: 100, share: 0.5 };
        for forest in [MixedTrees::default().fit(&x, &y), FittedForest::random(parameters, 1, &x, &y)] {
            let fitted: Vec<f64> = (0..120).map(|i| forest.predict(x.row(i))).collect();
            let (inside, outside) =
                [&fitted[..], forest.out_of_bag()].map(|f| crate::statistics::r_squared(f, &y)).into();
            assert!(inside > outside && outside > 0.5, "R² {inside} fitted, {outside} out of bag");
        }
    }

    #[test]
    fn every_other_tree_of_a_mixed_forest_is_that_of_a_random_forest() {
        let (x, y) = sample(40);
        let forecasts = |forest: &FittedForest| {
            let mut each = Vec::new();
            forest.trees.forecasts(&[0.1, 0.2, -0.3, 0.4, 0.0], |forecast| each.push(forecast));
            each
        };
        let mixed = MixedTrees { trees: 40, share: 0.4, bootstrap: true, seed: 3 }.fit(&x, &y);
        let best = FittedForest::random(ForestParameters { trees: 40, share: 0.4 }, 3, &x, &y);
        let pairs = forecasts(&mixed).into_iter().zip(forecasts(&best));
        let same: Vec<bool> = pairs.map(|(a, b)| a.total_cmp(&b).is_eq()).collect();
        assert!(same.iter().skip(1).step_by(2).all(|same| *same), "{same:?}");
        assert!(same.iter().step_by(2).filter(|same| **same).count() < 15, "{same:?}");
    }

    #[test]
    fn rows_in_every_tree_fall_back_to_the_mean_of_the_others() {
        let (x, y) = sample(10);
        let forest = MixedTrees { bootstrap: false, ..MixedTrees::default() }.fit(&x, &y);
        let others = y[1..].iter().sum::<f64>() / 9.0;
        assert!((forest.out_of_bag()[0] - others).abs() < 1e-12);
    }

    #[test]
    fn a_share_is_rounded_down_to_at_least_one_feature() {
        for (share, width, expected) in [(0.1, 5, 1), (0.3, 10, 3), (0.4999, 10, 4), (0.5, 0, 1), (2.0, 4, 4)]
        {
            assert_eq!(count_features(share, width), expected, "{share} of {width}");
        }
    }
}

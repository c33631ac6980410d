//! Compact features: a few numbers for the level and the shape of a curve, in addition to the configuration.

use crate::curves::training::{RunQuery, TrainingSet};
use crate::features::paper::{FeatureScaler, TargetScaler};
use crate::linalg::matrix::Matrix;
use crate::linalg::simd::dot;
use crate::statistics::{mean, min_and_max, ranks, widen_range};
use std::ops::Range;

/// A feature outside the range of the training runs is moved to within this share of the range beyond it.
pub(crate) const RANGE_MARGIN: f64 = 0.1;
/// Level features come first.
const LEVEL_FEATURE_COUNT: usize = 3;
/// Columns whose correlation is this near 1 or −1 say the same.
const DUPLICATE_CORRELATION: f64 = 1.0 - 1e-9;
/// The relevance that every column is taken to have besides what the runs show of it.
const MIN_RELEVANCE: f64 = 0.05;
/// Where the variance of x² that 1 and x leave over is at most this, x has two values.
const TWO_VALUES_TOLERANCE: f64 = 1e-6;

/// Turns what is known of a run into standardized features in three groups.
///
/// * level: y_τ; the mean of the last max(2, τ/8) points; the best so far.
/// * shape: y_τ − y_{τ−ℓ} for the Fibonacci numbers ℓ = 1, 2, 3, 5, 8 … < τ and for ℓ = τ − 1; best − y_τ.
/// * configuration: its encoded columns.
///
/// Each is standardized by the training runs, kept within their range ± 10 %, and left out if it never varies or says the same
/// as an earlier one of its group. Then it is weighed: column j times c_j, c_j² ∝ 0.05 + r_j with mean 1 in each group, r_j
/// its [`column_relevance`] for the ranks of y_T and of y_T − y_τ, in the mean: of their values, a few runs that end far off would decide it.
#[derive(Clone, Debug)]
pub(crate) struct CompactFeatures {
    curve: CurveFeatures,
    scaler: FeatureScaler,
    kept: Vec<FeatureColumn>,
    /// Where each group stands among the kept columns: level, shape, configuration.
    groups: [Range<usize>; 3],
    /// Raw columns.
    width: usize,
}

impl CompactFeatures {
    /// Fits the features on a training set; gives them and the training runs' rows, shape (n, kept columns).
    pub(crate) fn fit(training: &TrainingSet) -> (Self, Matrix) {
        let curve = CurveFeatures::new(training.steps.len());
        let rows: Vec<Vec<f64>> = (0..training.len())
            .map(|i| {
                let mut row = Vec::new();
                curve.append(training.query(i).prefix, &mut row);
                row.extend_from_slice(training.query(i).configuration);
                row
            })
            .collect();
        let raw = Matrix::from_rows(&rows);
        let scaler = FeatureScaler::fit(&raw, 0..raw.row_count());
        let all: Vec<usize> = (0..raw.row_count()).collect();
        let scaled = scaler.transform(&raw, &all);
        let columns: Vec<Vec<f64>> = (0..raw.column_count()).map(|j| scaled.column(j)).collect();
        let mut kept = Vec::new();
        let ends = [0, LEVEL_FEATURE_COUNT, curve.width(), raw.column_count()];
        let groups = [0, 1, 2].map(|g| {
            let start = kept.len();
            for column in ends[g]..ends[g + 1] {
                let range = widen_range(min_and_max(columns[column].iter().copied()), RANGE_MARGIN);
                let repeated = kept[start..].iter().any(|other: &FeatureColumn| {
                    mean_product(&columns[other.column], &columns[column]).abs() > DUPLICATE_CORRELATION
                });
                if range.1 > range.0 && !repeated {
                    kept.push(FeatureColumn { column, range, weight: 1.0 });
                }
            }
            start..kept.len()
        });
        let gains = training.targets.iter().zip(training.last_scores()).map(|(y, last)| y - last);
        let ranked = [training.targets.clone(), gains.collect()].map(|y: Vec<f64>| {
            let ranks = ranks(&y);
            let scaler = TargetScaler::fit(ranks.iter().copied());
            ranks.into_iter().map(|rank| scaler.apply(rank)).collect()
        });
        for group in &groups {
            weigh_features(&mut kept[group.clone()], &columns, &ranked);
        }
        let rows =
            Matrix::from_fn(raw.row_count(), kept.len(), |i, j| kept[j].weight * columns[kept[j].column][i]);
        (Self { width: raw.column_count(), curve, scaler, kept, groups }, rows)
    }

    /// Multiplies the weights of the features by `factors`, one for each.
    pub(crate) fn multiply_weights(&mut self, factors: &[f64]) {
        self.kept.iter_mut().zip(factors).for_each(|(kept, factor)| kept.weight *= factor);
    }

    /// The features of `query`, into `row`.
    pub(crate) fn row(&self, query: &RunQuery<'_>, row: &mut Vec<f64>) {
        let mut raw = Vec::with_capacity(self.width);
        self.curve.append(query.prefix, &mut raw);
        raw.extend_from_slice(query.configuration);
        self.scaler.apply(&mut raw);
        row.clear();
        row.extend(
            self.kept.iter().map(|kept| kept.weight * raw[kept.column].clamp(kept.range.0, kept.range.1)),
        );
    }

    /// Where level, shape and configuration stand in a row.
    pub(crate) fn groups(&self) -> &[Range<usize>; 3] {
        &self.groups
    }
}

/// Weighs the features of one group by the relevance of their standardized `columns` for both standardized `targets`.
fn weigh_features(group: &mut [FeatureColumn], columns: &[Vec<f64>], targets: &[Vec<f64>; 2]) {
    for feature in &mut *group {
        let relevances = targets.each_ref().map(|target| column_relevance(&columns[feature.column], target));
        feature.weight = MIN_RELEVANCE + mean(&relevances);
    }
    let center = mean(&group.iter().map(|feature| feature.weight).collect::<Vec<_>>());
    group.iter_mut().for_each(|feature| feature.weight = (feature.weight / center).sqrt());
}

/// The information of a standardized column `x` about a standardized `target`: R² of the least-squares parabola of `target` in x (a line
/// where x has two values), less 2/n (1/n), its mean where they are unrelated; at least 0.
fn column_relevance(x: &[f64], target: &[f64]) -> f64 {
    let n = x.len() as f64;
    let skewness = mean(&x.iter().map(|x| x.powi(3)).collect::<Vec<_>>());
    // x² without what 1 and x say of it
    let square: Vec<f64> = x.iter().map(|x| x * x - 1.0 - skewness * x).collect();
    let (line, variance) = (mean_product(x, target).powi(2), mean_product(&square, &square));
    let (explained, terms) = if variance > TWO_VALUES_TOLERANCE {
        (line + mean_product(&square, target).powi(2) / variance, 2.0)
    } else {
        (line, 1.0)
    };
    (explained - terms / n).max(0.0)
}

/// The mean of a_i·b_i: the correlation of standardized columns.
fn mean_product(a: &[f64], b: &[f64]) -> f64 {
    dot(a, b) / a.len() as f64
}

/// A column that is a feature.
#[derive(Clone, Copy, Debug)]
struct FeatureColumn {
    /// The place among the raw columns.
    column: usize,
    /// The allowed range after standardization.
    range: (f64, f64),
    weight: f64,
}

/// The level and shape features of a curve seen for τ steps.
#[derive(Clone, Debug)]
struct CurveFeatures {
    tau: usize,
    /// The number of last points the mean is over.
    recent: usize,
    /// Lags of the differences.
    lags: Vec<usize>,
}

impl CurveFeatures {
    fn new(tau: usize) -> Self {
        let fibonacci = std::iter::successors(Some((1, 2)), |&(lag, next)| Some((next, lag + next)));
        let mut lags: Vec<usize> = fibonacci.map(|(lag, _)| lag).take_while(|&lag| lag < tau).collect();
        if tau > 1 && lags.last() != Some(&(tau - 1)) {
            lags.push(tau - 1);
        }
        Self { tau, recent: (tau / 8).max(2).min(tau), lags }
    }

    fn width(&self) -> usize {
        LEVEL_FEATURE_COUNT + self.lags.len() + 1
    }

    fn append(&self, y: &[f64], row: &mut Vec<f64>) {
        let y = &y[..self.tau.min(y.len())];
        let Some(&last) = y.last() else {
            row.extend(std::iter::repeat_n(0.0, self.width()));
            return;
        };
        let best = y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.extend([last, mean(&y[y.len().saturating_sub(self.recent)..]), best]);
        row.extend(self.lags.iter().map(|lag| last - y[y.len().saturating_sub(lag + 1)]));
        row.push(best - last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curves::configuration::FeatureGroup;

    fn training(curves: &[Vec<f64>], tau: usize) -> TrainingSet {
        TrainingSet {
            steps: (1..=tau).map(|t| t as f64).collect(),
            target_step: curves[0].len() as f64,
            prefixes: Matrix::from_rows(&curves.iter().map(|c| &c[..tau]).collect::<Vec<_>>()),
            configurations: Matrix::from_fn(curves.len(), 1, |i, _| i as f64),
            groups: vec![FeatureGroup::Hyperparameter],
            targets: curves.iter().map(|c| c[c.len() - 1]).collect(),
            ..TrainingSet::default()
        }
    }

    fn power_law(m: f64, b: f64, c: f64) -> Vec<f64> {
        (1..=40).map(|t| m - b * f64::from(t).powf(-c)).collect()
    }

    #[test]
    fn level_and_shape_are_what_their_definitions_say() {
        let features = CurveFeatures::new(5);
        let mut row = Vec::new();
        features.append(&[0.1, 0.5, 0.4, 0.6, 0.55], &mut row);
        let expected = [0.55, 0.575, 0.6, -0.05, 0.15, 0.05, 0.45, 0.05];
        for (k, (got, want)) in row.iter().zip(expected).enumerate() {
            assert!((got - want).abs() < 1e-12, "feature {k}: {got} for {want}");
        }
        assert_eq!(row.len(), features.width());
        assert_eq!(CurveFeatures::new(12).lags, [1, 2, 3, 5, 8, 11]);
    }

    #[test]
    fn one_point_and_constant_curves_leave_only_what_varies() {
        let curves: Vec<Vec<f64>> = (0..4).map(|i| vec![f64::from(i); 40]).collect();
        let (one, rows) = CompactFeatures::fit(&training(&curves, 1));
        assert_eq!((one.groups().clone(), rows.column_count()), ([0..1, 1..1, 1..2], 2));
        let (many, _) = CompactFeatures::fit(&training(&vec![vec![0.5; 40]; 4], 10));
        assert_eq!(many.groups().clone(), [0..0, 0..0, 0..1]);
    }

    #[test]
    fn relevance_is_that_of_a_parabola_less_chance() {
        let x: Vec<f64> = [-1.5, -0.5, 0.5, 1.5].map(|v: f64| v / 1.25_f64.sqrt()).to_vec();
        let standard = |y: &[f64]| -> Vec<f64> {
            let scaler = TargetScaler::fit(y.iter().copied());
            y.iter().map(|&y| scaler.apply(y)).collect()
        };
        let parabola = standard(&x.iter().map(|x| x * x + x).collect::<Vec<_>>());
        assert!((column_relevance(&x, &parabola) - 0.5).abs() < 1e-12, "all of it, less 2/4");
        let cubic = standard(&[-1.0, 3.0, -3.0, 1.0]);
        assert!(column_relevance(&x, &cubic).abs() < 1e-12);
        let sides = [1.0, 1.0, -1.0, -1.0];
        assert!((column_relevance(&sides, &sides) - 0.75).abs() < 1e-12, "two values: a line, less 1/4");
        assert!(column_relevance(&x, &[0.0; 4]).abs() < 1e-12, "a constant target");
    }

    #[test]
    fn a_repeated_column_counts_once_and_one_that_says_nothing_weighs_little() {
        let n = 40;
        // columns that have nothing to do with each other
        let part = |i: usize, k: usize| (i as f64 * [0.618, 0.414, 0.732][k]).fract();
        let set = TrainingSet {
            steps: vec![1.0],
            target_step: 2.0,
            prefixes: Matrix::from_fn(n, 1, |i, _| part(i, 0)),
            configurations: Matrix::from_fn(n, 4, |i, j| {
                [part(i, 1), 3.0 - 2.0 * part(i, 1), part(i, 2), 5.0][j]
            }),
            groups: vec![FeatureGroup::Hyperparameter; 4],
            targets: (0..n).map(|i| 0.2 * part(i, 0) + 4.0 * (part(i, 1) - 0.5).powi(2)).collect(),
            ..TrainingSet::default()
        };
        let (compact, rows) = CompactFeatures::fit(&set);
        assert_eq!(compact.groups().clone(), [0..1, 1..1, 1..3], "y_τ, its mean and its best are the same");
        let variance = |j: usize| mean(&rows.column(j).iter().map(|v| v * v).collect::<Vec<_>>());
        assert!((variance(1) + variance(2) - 2.0).abs() < 1e-12 && variance(1) > 5.0 * variance(2));
        assert!((variance(0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_run_that_ends_far_off_does_not_decide_what_is_relevant() {
        let n = 40;
        let part = |i: usize, k: usize| (i as f64 * [0.618, 0.414][k]).fract();
        // the last run ends far below, where the second column, on which nothing else depends, is largest
        let set = |far: f64| TrainingSet {
            steps: vec![1.0],
            target_step: 2.0,
            prefixes: Matrix::from_fn(n, 1, |_, _| 0.5),
            configurations: Matrix::from_fn(n, 2, |i, j| if (i, j) == (n - 1, 1) { 3.0 } else { part(i, j) }),
            groups: vec![FeatureGroup::Hyperparameter; 2],
            targets: (0..n).map(|i| if i == n - 1 { far } else { part(i, 0) }).collect(),
            ..TrainingSet::default()
        };
        let weights = |far: f64| -> Vec<f64> {
            CompactFeatures::fit(&set(far)).0.kept.iter().map(|kept| kept.weight).collect()
        };
        let near = weights(-0.1);
        assert!(near[0] > 3.0 * near[1], "{near:?}");
        assert_eq!(near, weights(-1e6));
    }

    #[test]
    fn training_rows_come_back_as_they_are_and_strangers_stay_near() {
        let curves: Vec<Vec<f64>> = (1..9).map(|i| power_law(0.1 * f64::from(i), 0.1, 0.5)).collect();
        let set = training(&curves, 9);
        let (compact, rows) = CompactFeatures::fit(&set);
        let mut row = Vec::new();
        compact.row(&set.query(3), &mut row);
        assert!(row.iter().zip(rows.row(3)).all(|(a, b)| (a - b).abs() < 1e-12));
        compact.row(&RunQuery { prefix: &[1e9; 9], configuration: &[-1e9] }, &mut row);
        assert!(row.iter().all(|v| v.abs() < 5.0), "{row:?}");
    }
}

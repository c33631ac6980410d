//! Compact features: a few numbers that say where a curve stands (level) and how it moves (shape), beside the configuration.

use crate::features::Scaler;
use crate::matrix::Matrix;
use crate::statistics::{mean, range, widened};
use crate::training::{Query, TrainingSet};
use std::ops::Range;

/// A feature outside the range of the training runs is moved to within this share of the range beyond it.
pub(crate) const MARGIN: f64 = 0.1;
/// Level features come first.
const LEVELS: usize = 3;

/// Turns what is known of a run into standardised features in three groups.
///
/// * level: y_τ; the mean of the last max(2, τ/8) points; the best so far.
/// * shape: y_τ − y_{τ−ℓ} for the Fibonacci numbers ℓ = 1, 2, 3, 5, 8 … < τ and for ℓ = τ − 1; best − y_τ.
/// * configuration: its encoded columns.
///
/// Each is standardised by the training runs, kept within their range ± 10 %, and left out if it never varies.
#[derive(Clone, Debug)]
pub(crate) struct Compact {
    curve: CurveFeatures,
    scaler: Scaler,
    /// Per kept column: its place among the raw ones, and its allowed range after standardisation.
    kept: Vec<(usize, f64, f64)>,
    /// Where each group stands among the kept columns: level, shape, configuration.
    groups: [Range<usize>; 3],
    /// Raw columns.
    width: usize,
}

impl Compact {
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
        let scaler = Scaler::fit(&raw, 0..raw.rows());
        let all: Vec<usize> = (0..raw.rows()).collect();
        let scaled = scaler.transform(&raw, &all);
        let kept: Vec<(usize, f64, f64)> = (0..raw.columns())
            .map(|j| {
                let (low, high) = widened(range(scaled.column(j).into_iter()), MARGIN);
                (j, low, high)
            })
            .filter(|&(_, low, high)| high > low)
            .collect();
        let before = |limit: usize| kept.iter().filter(|column| column.0 < limit).count();
        let (level, shape) = (before(LEVELS), before(curve.width()));
        let groups = [0..level, level..shape, shape..kept.len()];
        let rows = Matrix::from_fn(raw.rows(), kept.len(), |i, j| scaled.row(i)[kept[j].0]);
        (Self { width: raw.columns(), curve, scaler, kept, groups }, rows)
    }

    /// The features of `query`, into `row`.
    pub(crate) fn row(&self, query: &Query<'_>, row: &mut Vec<f64>) {
        let mut raw = Vec::with_capacity(self.width);
        self.curve.append(query.prefix, &mut raw);
        raw.extend_from_slice(query.configuration);
        self.scaler.apply(&mut raw);
        row.clear();
        row.extend(self.kept.iter().map(|&(j, low, high)| raw[j].clamp(low, high)));
    }

    /// Where level, shape and configuration stand in a row.
    pub(crate) fn groups(&self) -> &[Range<usize>; 3] {
        &self.groups
    }
}

/// The level and shape features of a curve seen for τ steps.
#[derive(Clone, Debug)]
struct CurveFeatures {
    tau: usize,
    /// How many last points the mean is over.
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
        LEVELS + self.lags.len() + 1
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
    use crate::configuration::FeatureGroup;

    fn training(curves: &[Vec<f64>], tau: usize) -> TrainingSet {
        TrainingSet {
            steps: (1..=tau).map(|t| t as f64).collect(),
            target_step: curves[0].len() as f64,
            prefixes: Matrix::from_rows(&curves.iter().map(|c| &c[..tau]).collect::<Vec<_>>()),
            configurations: Matrix::from_fn(curves.len(), 1, |i, _| i as f64),
            groups: vec![FeatureGroup::Hyperparameter],
            targets: curves.iter().map(|c| c[c.len() - 1]).collect(),
            floor: None,
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
        let (one, rows) = Compact::fit(&training(&curves, 1));
        assert_eq!((one.groups().clone(), rows.columns()), ([0..3, 3..3, 3..4], 4));
        let (many, _) = Compact::fit(&training(&vec![vec![0.5; 40]; 4], 10));
        assert_eq!(many.groups().clone(), [0..0, 0..0, 0..1]);
    }

    #[test]
    fn training_rows_come_back_as_they_are_and_strangers_stay_near() {
        let curves: Vec<Vec<f64>> = (1..9).map(|i| power_law(0.1 * f64::from(i), 0.1, 0.5)).collect();
        let set = training(&curves, 9);
        let (compact, rows) = Compact::fit(&set);
        let mut row = Vec::new();
        compact.row(&set.query(3), &mut row);
        assert!(row.iter().zip(rows.row(3)).all(|(a, b)| (a - b).abs() < 1e-12));
        compact.row(&Query { prefix: &[1e9; 9], configuration: &[-1e9] }, &mut row);
        assert!(row.iter().all(|v| v.abs() < 5.0), "{row:?}");
    }
}

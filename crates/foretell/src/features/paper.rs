//! The paper's features: the curve so far with its differences, the architecture, the hyperparameters.
//!
//! Every column and the target are standardized on the training rows of each fold: the RBF kernel depends on the scale of its columns, and
//! C bounds every dual coefficient. With raw columns, the kernel sees only the number of weights.

use crate::curves::configuration::FeatureGroup;
use crate::curves::training::{RunQuery, TrainingSet};
use crate::linalg::matrix::Matrix;
use serde::{Deserialize, Serialize};

/// The feature groups of the paper that a predictor uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureSet {
    /// TS: the curve so far.
    pub time_series: bool,
    /// AP: architecture parameters.
    pub architecture: bool,
    /// HP: hyperparameters.
    pub hyperparameters: bool,
}

impl Default for FeatureSet {
    /// All three groups.
    fn default() -> Self {
        Self { time_series: true, architecture: true, hyperparameters: true }
    }
}

impl FeatureSet {
    /// Whether `group` is used.
    pub fn contains(self, group: FeatureGroup) -> bool {
        match group {
            FeatureGroup::TimeSeries => self.time_series,
            FeatureGroup::Architecture => self.architecture,
            FeatureGroup::Hyperparameter => self.hyperparameters,
        }
    }
}

impl std::fmt::Display for FeatureSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = [(self.time_series, "ts"), (self.architecture, "ap"), (self.hyperparameters, "hp")];
        let names: Vec<&str> = names.into_iter().filter_map(|(used, name)| used.then_some(name)).collect();
        f.write_str(&names.join(","))
    }
}

impl std::str::FromStr for FeatureSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut set = Self { time_series: false, architecture: false, hyperparameters: false };
        for name in text.split(',') {
            match name.trim() {
                "ts" => set.time_series = true,
                "ap" => set.architecture = true,
                "hp" => set.hyperparameters = true,
                other => return Err(format!("unknown feature group `{other}`. Choose ts, ap or hp")),
            }
        }
        Ok(set)
    }
}

/// Appends the time-series features of `prefix` to `row`: y_1..y_τ, then the first differences y_t − y_{t−1}
/// (t = 2..τ), then the second differences (t = 3..τ): 3τ − 3 numbers, 1 for τ = 1.
///
/// Source: Baker et al. 2017, §3.1.
///
/// ```
/// let mut row = Vec::new();
/// foretell::append_time_series_features(&[0.1, 0.4, 0.5], &mut row);
/// let expected = [0.1, 0.4, 0.5, 0.3, 0.1, -0.2];
/// assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12) && row.len() == 6);
/// ```
pub fn append_time_series_features(prefix: &[f64], row: &mut Vec<f64>) {
    row.extend_from_slice(prefix);
    row.extend(prefix.windows(2).map(|w| w[1] - w[0]));
    row.extend(prefix.windows(3).map(|w| (w[2] - w[1]) - (w[1] - w[0])));
}

/// The paper's feature vector of `query`: TS, then the configuration columns whose group is in `features`.
pub(crate) fn feature_row(
    query: &RunQuery<'_>,
    groups: &[FeatureGroup],
    features: FeatureSet,
    row: &mut Vec<f64>,
) {
    row.clear();
    if features.time_series {
        append_time_series_features(query.prefix, row);
    }
    let used = query.configuration.iter().zip(groups).filter(|(_, group)| features.contains(**group));
    row.extend(used.map(|(&value, _)| value));
}

/// The design matrix of a training set, shape (n, features), not standardized.
pub(crate) fn design_matrix(training: &TrainingSet, features: FeatureSet) -> Matrix {
    let rows: Vec<Vec<f64>> = (0..training.len())
        .map(|i| {
            let mut row = Vec::new();
            feature_row(&training.query(i), &training.groups, features, &mut row);
            row
        })
        .collect();
    Matrix::from_rows(&rows)
}

/// Column-wise standardization to mean 0 and standard deviation 1 (divisor n); constant columns become 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FeatureScaler {
    mean: Vec<f64>,
    /// 1 / standard deviation; 0 for constant columns.
    inverse: Vec<f64>,
}

impl FeatureScaler {
    /// The scaler of the rows `indices` of `x`.
    pub(crate) fn fit(x: &Matrix, indices: impl Iterator<Item = usize> + Clone) -> Self {
        let n = indices.clone().count() as f64;
        let mut mean = vec![0.0; x.column_count()];
        for i in indices.clone() {
            for (m, v) in mean.iter_mut().zip(x.row(i)) {
                *m += v / n;
            }
        }
        let mut variance = vec![0.0; x.column_count()];
        for i in indices {
            for ((s, v), m) in variance.iter_mut().zip(x.row(i)).zip(&mean) {
                *s += (v - m) * (v - m) / n;
            }
        }
        let inverse = variance.iter().zip(&mean);
        // a spread at the level of rounding is none
        let inverse =
            inverse.map(|(&v, &m)| if v.sqrt() > 1e-12 * m.abs().max(1e-300) { 1.0 / v.sqrt() } else { 0.0 });
        Self { inverse: inverse.collect(), mean }
    }

    /// Standardizes `row` in place.
    pub(crate) fn apply(&self, row: &mut [f64]) {
        for ((value, mean), inverse) in row.iter_mut().zip(&self.mean).zip(&self.inverse) {
            *value = (*value - mean) * inverse;
        }
    }

    /// The rows `indices` of `x`, standardized.
    pub(crate) fn transform(&self, x: &Matrix, indices: &[usize]) -> Matrix {
        let mut scaled = x.select_rows(indices);
        for i in 0..scaled.row_count() {
            self.apply(scaled.row_mut(i));
        }
        scaled
    }
}

/// Standardization of a target: mean 0, standard deviation 1; a constant target keeps its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TargetScaler {
    pub(crate) mean: f64,
    pub(crate) scale: f64,
}

impl TargetScaler {
    pub(crate) fn fit(targets: impl Iterator<Item = f64> + Clone) -> Self {
        let n = targets.clone().count().max(1) as f64;
        let mean = targets.clone().sum::<f64>() / n;
        let sd = (targets.map(|y| (y - mean) * (y - mean)).sum::<f64>() / n).sqrt();
        Self { mean, scale: if sd > 1e-12 * mean.abs().max(1e-300) { sd } else { 1.0 } }
    }

    pub(crate) fn apply(self, target: f64) -> f64 {
        (target - self.mean) / self.scale
    }

    pub(crate) fn invert(self, standardized: f64) -> f64 {
        self.mean + self.scale * standardized
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_that_do_not_exist_are_absent() {
        for (tau, expected) in [(1, 1), (2, 3), (3, 6), (5, 12), (15, 42)] {
            let mut row = Vec::new();
            append_time_series_features(&vec![0.5; tau], &mut row);
            assert_eq!(row.len(), expected, "τ = {tau}");
        }
    }

    #[test]
    fn constant_columns_become_zero_and_others_standardized() {
        let x = Matrix::from_rows(&[[1.0, 5.0], [3.0, 5.0], [100.0, 7.0]]);
        let scaled = FeatureScaler::fit(&x, 0..2).transform(&x, &[0, 1, 2]);
        assert_eq!(scaled.as_slice(), [-1.0, 0.0, 1.0, 0.0, 98.0, 0.0]);
    }

    #[test]
    fn feature_sets_are_read_and_printed() {
        assert_eq!("ts,hp".parse::<FeatureSet>().unwrap().to_string(), "ts,hp");
        assert!("ts,xx".parse::<FeatureSet>().unwrap_err().contains("`xx`"));
    }
}

//! The arrays that `peers.py` writes: plain comma-separated numbers.

use foretell::forest::ForestParameters;
use foretell::svr::SvrParameters;
use foretell::{FeatureGroup, Matrix, RunQuery, TrainingSet};
use std::path::Path;

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

pub struct Arrays {
    /// Curves of the training runs, shape (n, T); the last column is the target.
    pub curves: Matrix,
    pub configurations: Matrix,
    pub test_curves: Matrix,
    pub test_configurations: Matrix,
    pub draws: Vec<SvrParameters>,
    pub folds: Vec<usize>,
    pub forest_draws: Vec<ForestParameters>,
    /// τ of the single-τ comparisons.
    pub tau: usize,
    /// Which draws single fits are timed on.
    pub sample: Vec<usize>,
}

fn read(directory: &Path, name: &str) -> Outcome<Vec<Vec<f64>>> {
    let path = directory.join(format!("{name}.csv"));
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let row =
        |line: &str| line.split(',').map(|cell| cell.trim().parse::<f64>()).collect::<Result<Vec<_>, _>>();
    Ok(text.lines().map(row).collect::<Result<Vec<_>, _>>()?)
}

impl Arrays {
    pub fn read(directory: &Path) -> Outcome<Self> {
        let matrix = |name: &str| -> Outcome<Matrix> { Ok(Matrix::from_rows(&read(directory, name)?)) };
        let integers = |name: &str| -> Outcome<Vec<usize>> {
            Ok(read(directory, name)?.iter().map(|row| row[0] as usize).collect())
        };
        let draws = read(directory, "draws")?;
        let forests = read(directory, "forest_draws")?;
        Ok(Self {
            curves: matrix("curves")?,
            configurations: matrix("configurations")?,
            test_curves: matrix("test_curves")?,
            test_configurations: matrix("test_configurations")?,
            draws: draws.iter().map(|d| SvrParameters { c: d[0], nu: d[1], gamma: d[2] }).collect(),
            folds: integers("folds")?,
            forest_draws: forests
                .iter()
                .map(|d| ForestParameters { trees: d[0] as usize, share: d[1] })
                .collect(),
            tau: integers("tau")?[0],
            sample: integers("sample")?,
        })
    }

    /// The training runs seen for `tau` epochs.
    pub fn training(&self, tau: usize) -> TrainingSet {
        let last = self.curves.column_count() - 1;
        TrainingSet {
            steps: (1..=tau).map(|t| t as f64).collect(),
            target_step: self.curves.column_count() as f64,
            prefixes: Matrix::from_fn(self.curves.row_count(), tau, |i, t| self.curves.row(i)[t]),
            configurations: self.configurations.clone(),
            groups: vec![FeatureGroup::Hyperparameter; self.configurations.column_count()],
            targets: self.curves.column(last),
            ..TrainingSet::default()
        }
    }

    /// Test run `i` seen for `tau` epochs.
    pub fn query(&self, i: usize, tau: usize) -> RunQuery<'_> {
        RunQuery { prefix: &self.test_curves.row(i)[..tau], configuration: self.test_configurations.row(i) }
    }

    /// The features of the training runs after `tau` epochs and the targets, both standardised on the rows `keep`.
    pub fn standardised(&self, tau: usize, keep: &[usize]) -> (Matrix, Vec<f64>) {
        let rows: Vec<Vec<f64>> = (keep.iter())
            .map(|&i| {
                let mut row = Vec::new();
                foretell::append_time_series_features(&self.curves.row(i)[..tau], &mut row);
                row.extend(self.configurations.row(i));
                row
            })
            .collect();
        let mut x = Matrix::from_rows(&rows);
        for j in 0..x.column_count() {
            let column = standardise(&x.column(j));
            for (i, value) in column.into_iter().enumerate() {
                x.row_mut(i)[j] = value;
            }
        }
        let last = self.curves.column_count() - 1;
        (x, standardise(&keep.iter().map(|&i| self.curves.row(i)[last]).collect::<Vec<_>>()))
    }
}

fn standardise(values: &[f64]) -> Vec<f64> {
    let mean = foretell::statistics::mean(values);
    let sd = foretell::statistics::standard_deviation(values);
    values.iter().map(|v| (v - mean) / sd).collect()
}

//! The predictors as regressors of a table of features.

use crate::background;
use crate::convert::invalid;
use foretell::{FeatureGroup, Matrix, Model, PredictorOptions, RunQuery, TrainingSet, make_predictor};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, ToPyArray};
use pyo3::prelude::*;
use std::sync::Arc;

/// A fitted predictor. The first `points` columns of its tables are a curve so far, the others describe the configuration.
#[pyclass(frozen, module = "foretell._foretell")]
pub(crate) struct Regressor {
    model: Arc<dyn Model>,
    points: usize,
}

/// Predictions and their standard deviations.
type MeansAndDeviations<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl Regressor {
    /// Fits the predictor `name` on the rows of `x` and their `targets`.
    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn fit(
        py: Python<'_>,
        name: &str,
        x: PyReadonlyArray2<'_, f64>,
        targets: PyReadonlyArray1<'_, f64>,
        points: usize,
        seed: u64,
        draws: Option<usize>,
    ) -> PyResult<Self> {
        let options = PredictorOptions { seed, draws, ..PredictorOptions::default() };
        let predictor = make_predictor(name, &options).map_err(invalid)?;
        let rows = rows(&x);
        let columns = x.as_array().ncols();
        let (prefixes, configurations) = split_columns(&rows, points, columns);
        let training = TrainingSet {
            steps: (1..=points).map(|step| step as f64).collect(),
            target_step: (points + 1) as f64,
            prefixes,
            configurations,
            groups: vec![FeatureGroup::Hyperparameter; columns - points],
            targets: targets.as_array().to_vec(),
            unfinished_prefixes: Matrix::zeros(0, points),
            unfinished_configurations: Matrix::zeros(0, columns - points),
            ..TrainingSet::default()
        };
        let model = background::run(py, move || predictor.fit(&training))?.map_err(invalid)?;
        Ok(Self { model: model.into(), points })
    }

    /// Means and standard deviations for the rows of `x`.
    fn predict<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f64>) -> MeansAndDeviations<'py> {
        let rows = rows(&x);
        let forecasts = rows.iter().map(|row| {
            let (prefix, configuration) = row.split_at(self.points);
            let forecast = self.model.forecast(&RunQuery { prefix, configuration });
            (forecast.mean, forecast.standard_deviation())
        });
        let (means, deviations): (Vec<f64>, Vec<f64>) = py.detach(|| forecasts.unzip());
        (means.to_pyarray(py), deviations.to_pyarray(py))
    }
}

fn rows(x: &PyReadonlyArray2<'_, f64>) -> Vec<Vec<f64>> {
    x.as_array().rows().into_iter().map(|row| row.to_vec()).collect()
}

fn split_columns(rows: &[Vec<f64>], points: usize, columns: usize) -> (Matrix, Matrix) {
    let prefixes = Matrix::from_fn(rows.len(), points, |i, j| rows[i][j]);
    let configurations = Matrix::from_fn(rows.len(), columns - points, |i, j| rows[i][points + j]);
    (prefixes, configurations)
}

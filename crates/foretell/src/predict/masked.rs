//! A predictor that sees only some of the feature groups.

use crate::curves::training::{RunQuery, TrainingSet};
use crate::features::paper::FeatureSet;
use crate::linalg::matrix::Matrix;
use crate::predict::forecast::Forecast;
use crate::predict::predictor::{FitError, Model, Predictor};

/// Hides feature groups from a predictor that has no choice of its own: columns of groups that are not used are left out,
/// and a curve that is not used becomes a single 0.
pub(crate) struct MaskedPredictor {
    pub(crate) predictor: Box<dyn Predictor>,
    pub(crate) features: FeatureSet,
}

struct MaskedModel {
    model: Box<dyn Model>,
    time_series: bool,
    /// The configuration columns that are used.
    columns: Vec<usize>,
}

impl Predictor for MaskedPredictor {
    fn name(&self) -> &'static str {
        self.predictor.name()
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        let columns: Vec<usize> =
            (0..training.groups.len()).filter(|&j| self.features.contains(training.groups[j])).collect();
        let n = training.len();
        let mut seen = training.clone();
        seen.configurations =
            Matrix::from_fn(n, columns.len(), |i, j| training.configurations.row(i)[columns[j]]);
        let unfinished = &training.unfinished_configurations;
        seen.unfinished_configurations =
            Matrix::from_fn(unfinished.row_count(), columns.len(), |i, j| unfinished.row(i)[columns[j]]);
        seen.groups = columns.iter().map(|&j| training.groups[j]).collect();
        if !self.features.time_series {
            seen.steps.truncate(1);
            seen.prefixes = Matrix::zeros(n, seen.steps.len());
            seen.unfinished_prefixes = Matrix::zeros(unfinished.row_count(), seen.steps.len());
            (seen.later_steps, seen.later_scores) = (Vec::new(), Matrix::default());
        }
        let model = self.predictor.fit(&seen)?;
        Ok(Box::new(MaskedModel { model, time_series: self.features.time_series, columns }))
    }
}

impl Model for MaskedModel {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        let configuration: Vec<f64> = self.columns.iter().map(|&j| query.configuration[j]).collect();
        let prefix = if self.time_series { query.prefix } else { &[0.0] };
        self.model.forecast(&RunQuery { prefix, configuration: &configuration })
    }

    fn held_out(&self) -> &[Forecast] {
        self.model.held_out()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AutoPredictor, FeatureGroup};

    #[test]
    fn hidden_groups_do_not_change_a_forecast() {
        let training = TrainingSet {
            steps: vec![1.0, 2.0],
            target_step: 9.0,
            prefixes: Matrix::from_fn(12, 2, |i, t| (i + t) as f64),
            configurations: Matrix::from_fn(12, 2, |i, j| ((i * (j + 1)) as f64).sin()),
            groups: vec![FeatureGroup::Architecture, FeatureGroup::Hyperparameter],
            targets: (0..12).map(|i| (i as f64).sin() + 2.0).collect(),
            ..TrainingSet::default()
        };
        let features = FeatureSet { time_series: false, architecture: true, hyperparameters: false };
        let model = MaskedPredictor { predictor: Box::new(AutoPredictor::default()), features }
            .fit(&training)
            .unwrap();
        let asked =
            |prefix: &[f64], configuration: &[f64]| model.forecast(&RunQuery { prefix, configuration });
        assert_eq!(asked(&[1.0, 2.0], &[0.3, 0.1]), asked(&[8.0, 3.0], &[0.3, 0.9]));
        assert!((asked(&[1.0, 2.0], &[0.3, 0.1]).mean - asked(&[1.0, 2.0], &[-0.9, 0.1]).mean).abs() > 1e-3);
    }
}

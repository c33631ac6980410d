//! The data that a predictor is fitted on and asked about: runs seen up to the same step, with their final scores.

use crate::curves::configuration::FeatureGroup;
use crate::curves::curve::RunScore;
use crate::linalg::matrix::Matrix;

/// n completed runs, observed up to the same τ steps, with their final scores.
#[derive(Clone, Debug, Default)]
pub struct TrainingSet {
    /// The τ steps at which scores are known, increasing, in units of the resource.
    pub steps: Vec<f64>,
    /// The step whose score is to be forecast; larger than every one of `steps`.
    pub target_step: f64,
    /// Scores at `steps`, shape (n, τ), larger is better.
    pub prefixes: Matrix,
    /// Encoded configurations, shape (n, p): logs and indicators, not standardized.
    pub configurations: Matrix,
    /// The feature group of each of the p columns: architecture or hyperparameter.
    pub groups: Vec<FeatureGroup>,
    /// Scores at `target_step`, length n.
    pub targets: Vec<f64>,
    /// The best score that there can be, such as that of an accuracy of 1, in units of `targets`. `None` if not known.
    pub ceiling: Option<f64>,
    /// Steps between the last of `steps` and `target_step`, at which completed runs' scores are known too; may be empty.
    pub later_steps: Vec<f64>,
    /// The runs' scores at `later_steps`, shape (n, later steps); no rows if not known. For predictors that learn from whole
    /// curves: others look at `prefixes` and `targets` alone.
    pub later_scores: Matrix,
    /// Scores at `steps` of unfinished runs, shape (m, τ); can have no rows. A predictor can learn from the runs that it will forecast.
    pub unfinished_prefixes: Matrix,
    /// Their encoded configurations, shape (m, p).
    pub unfinished_configurations: Matrix,
    /// The rule that scores `prefixes` and `targets`. With [`RunScore::Best`], a final score is never below the current score.
    pub run_score: RunScore,
}

/// A run whose final score is to be forecast.
#[derive(Clone, Copy, Debug)]
pub struct RunQuery<'a> {
    /// Scores at the training set's steps, length τ.
    pub prefix: &'a [f64],
    /// Encoded configuration, length p.
    pub configuration: &'a [f64],
}

impl TrainingSet {
    /// The number of runs.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether the set contains no runs.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Run `i` as a query.
    pub fn query(&self, i: usize) -> RunQuery<'_> {
        RunQuery { prefix: self.prefixes.row(i), configuration: self.configurations.row(i) }
    }

    /// The last score of each run: [`RunQuery::last_score`].
    pub fn last_scores(&self) -> Vec<f64> {
        (0..self.len()).map(|i| self.query(i).last_score()).collect()
    }

    /// The runs `indices`, in that order.
    #[must_use]
    pub fn select_runs(&self, indices: &[usize]) -> Self {
        Self {
            steps: self.steps.clone(),
            target_step: self.target_step,
            prefixes: self.prefixes.select_rows(indices),
            configurations: self.configurations.select_rows(indices),
            groups: self.groups.clone(),
            targets: indices.iter().map(|&i| self.targets[i]).collect(),
            ceiling: self.ceiling,
            later_steps: self.later_steps.clone(),
            later_scores: if self.later_scores.row_count() == self.len() {
                self.later_scores.select_rows(indices)
            } else {
                Matrix::default()
            },
            unfinished_prefixes: self.unfinished_prefixes.clone(),
            unfinished_configurations: self.unfinished_configurations.clone(),
            run_score: self.run_score,
        }
    }

    /// The worst and the best score that are expected: (0, 1) or (0, 100) of a share; else what completed runs span, up
    /// to the ceiling where that is known.
    pub fn metric_range(&self) -> (f64, f64) {
        if let Some(ceiling) = self.ceiling
            && [1.0, 100.0].iter().any(|whole| ceiling.total_cmp(whole).is_eq())
        {
            return (0.0, ceiling);
        }
        let all = self.prefixes.as_slice().iter().chain(&self.targets).copied();
        let (least, largest) = crate::statistics::min_and_max(all);
        (least, self.ceiling.map_or(largest, |c| c.max(largest)))
    }
}

impl RunQuery<'_> {
    /// y_τ: the final score if the run went no further. 0 before the first point.
    pub fn last_score(&self) -> f64 {
        self.prefix.last().copied().unwrap_or(0.0)
    }
}

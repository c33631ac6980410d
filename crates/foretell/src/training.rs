//! What a predictor is fitted on and asked about: runs seen up to the same step, with their final scores.

use crate::configuration::FeatureGroup;
use crate::curve::RunScore;
use crate::matrix::Matrix;

/// n finished runs, seen up to the same τ steps, and what they came to.
#[derive(Clone, Debug, Default)]
pub struct TrainingSet {
    /// The τ steps at which scores are known, increasing, in units of the resource.
    pub steps: Vec<f64>,
    /// The step whose score is to be forecast; larger than every one of `steps`.
    pub target_step: f64,
    /// Scores at `steps`, shape (n, τ), larger is better.
    pub prefixes: Matrix,
    /// Encoded configurations, shape (n, p): logs and indicators, not standardised.
    pub configurations: Matrix,
    /// The feature group of each of the p columns: architecture or hyperparameter.
    pub groups: Vec<FeatureGroup>,
    /// Scores at `target_step`, length n.
    pub targets: Vec<f64>,
    /// What a failed run is said to end at, in units of `targets`: none of these is lower, though points of a curve may
    /// be. `None` if not known.
    pub floor: Option<f64>,
    /// The best score that there can be, such as that of an accuracy of 1, in units of `targets`. `None` if not known.
    pub ceiling: Option<f64>,
    /// What `prefixes` and `targets` are. With [`RunScore::Best`] a run cannot come to less than it is worth already.
    pub run_score: RunScore,
}

/// One run whose final score is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Scores at the training set's steps, length τ.
    pub prefix: &'a [f64],
    /// Encoded configuration, length p.
    pub configuration: &'a [f64],
}

impl TrainingSet {
    /// How many runs.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there is no run.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Run `i` as a query.
    pub fn query(&self, i: usize) -> Query<'_> {
        Query { prefix: self.prefixes.row(i), configuration: self.configurations.row(i) }
    }

    /// Where each run stands: [`Query::last_score`].
    pub(crate) fn last_scores(&self) -> Vec<f64> {
        (0..self.len()).map(|i| self.query(i).last_score(self.floor)).collect()
    }

    /// The runs `indices`, in that order.
    #[must_use]
    pub fn select(&self, indices: &[usize]) -> Self {
        Self {
            steps: self.steps.clone(),
            target_step: self.target_step,
            prefixes: self.prefixes.select(indices),
            configurations: self.configurations.select(indices),
            groups: self.groups.clone(),
            targets: indices.iter().map(|&i| self.targets[i]).collect(),
            floor: self.floor,
            ceiling: self.ceiling,
            run_score: self.run_score,
        }
    }
}

impl Query<'_> {
    /// y_τ, or `floor` where that is higher: what the run would end at if it went no further. 0 before the first point.
    pub(crate) fn last_score(&self, floor: Option<f64>) -> f64 {
        let last = self.prefix.last().copied().unwrap_or(0.0);
        floor.map_or(last, |floor| last.max(floor))
    }
}

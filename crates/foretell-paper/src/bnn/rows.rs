//! The rows a network learns from: one for each run and each of its known points, sorted and scaled.

use crate::epochs::epochs_of;
use foretell::Matrix;
use foretell::{RunQuery, TrainingSet};
use std::cmp::Ordering;

/// Scaled scores are rounded to this, so that the unit of a metric does not change a training.
const SCORE_ROUNDING: f64 = 1.0 / 1_099_511_627_776.0; // 2^−40
/// Standardized inputs are cut off here: a stranger is far away, but not infinitely.
const MAX_STANDARDIZED_INPUT: f64 = 100.0;

/// Turns configurations, steps and scores into a network's units.
#[derive(Clone, Debug)]
pub(super) struct DataScaling {
    /// (mean, 1/standard deviation) of each configuration column; 0 for one that does not vary.
    columns: Vec<(f64, f64)>,
    /// The scores that are 0 and 1.
    pub(super) range: (f64, f64),
    /// t of each observed step.
    pub(super) times: Vec<f64>,
}

/// One run's known points.
struct KnownRun<'a> {
    configuration: &'a [f64],
    /// (t, score), scaled.
    points: Vec<(f64, f64)>,
}

/// All rows of all runs.
pub(super) struct TrainingRows {
    /// Scaled configurations, shape (runs, p).
    pub(super) configurations: Matrix,
    /// (run, t, score) of each row.
    pub(super) points: Vec<(usize, f64, f64)>,
}

impl DataScaling {
    pub(super) fn new(training: &TrainingSet) -> Self {
        let (least, largest) = training.metric_range();
        let range = if largest > least { (least, largest) } else { (least - 0.5, least + 0.5) };
        let (steps, horizon) = epochs_of(&training.steps, training.target_step);
        let times = steps.iter().map(|step| step / horizon).collect();
        let all: Vec<&[f64]> = sorted_configurations(training);
        let columns = (0..training.groups.len()).map(|j| {
            let values: Vec<f64> = all.iter().map(|row| row[j]).collect();
            let (mean, spread) =
                (foretell::statistics::mean(&values), foretell::statistics::standard_deviation(&values));
            // a column that does not vary would otherwise be divided by its rounding errors
            (mean, if spread > 1e-12 * mean.abs() { 1.0 / spread } else { 0.0 })
        });
        Self { columns: columns.collect(), range, times }
    }

    /// A configuration in standard units.
    pub(super) fn scale_configuration(&self, configuration: &[f64]) -> Vec<f64> {
        let scaled = configuration.iter().zip(&self.columns).map(|(value, (mean, inverse))| {
            ((value - mean) * inverse).clamp(-MAX_STANDARDIZED_INPUT, MAX_STANDARDIZED_INPUT)
        });
        scaled.collect()
    }

    /// A score in units of the range.
    pub(super) fn scale_score(&self, score: f64) -> f64 {
        let (least, largest) = self.range;
        ((score - least) / (largest - least) / SCORE_ROUNDING).round() * SCORE_ROUNDING
    }

    /// The rows of the runs of `training`, in an order that depends on what they hold alone.
    pub(super) fn training_rows(&self, training: &TrainingSet) -> TrainingRows {
        let (later, horizon) = epochs_after(training);
        let mut runs: Vec<KnownRun<'_>> = (0..training.len())
            .map(|i| {
                let RunQuery { prefix, configuration } = training.query(i);
                let mut points = self.scale_prefix(prefix);
                if training.later_scores.row_count() == training.len() {
                    let scores = training.later_scores.row(i);
                    points.extend(later.iter().zip(scores).map(|(x, y)| (x / horizon, self.scale_score(*y))));
                }
                points.push((1.0, self.scale_score(training.targets[i])));
                KnownRun { configuration, points }
            })
            .collect();
        for i in 0..training.unfinished_prefixes.row_count() {
            let points = self.scale_prefix(training.unfinished_prefixes.row(i));
            runs.push(KnownRun { configuration: training.unfinished_configurations.row(i), points });
        }
        // by content, so that a training does not depend on the order in which the runs are given
        runs.sort_by(KnownRun::compare_content);
        let configurations: Vec<Vec<f64>> =
            runs.iter().map(|run| self.scale_configuration(run.configuration)).collect();
        let points = runs
            .iter()
            .enumerate()
            .flat_map(|(i, run)| run.points.iter().map(move |&(t, score)| (i, t, score)))
            .collect();
        TrainingRows { configurations: Matrix::from_rows(&configurations), points }
    }

    fn scale_prefix(&self, prefix: &[f64]) -> Vec<(f64, f64)> {
        self.times.iter().zip(prefix).map(|(&t, &y)| (t, self.scale_score(y))).collect()
    }
}

impl KnownRun<'_> {
    fn compare_content(&self, other: &Self) -> Ordering {
        compare_values(self.configuration, other.configuration).then_with(|| {
            let [own, others] = [&self.points, &other.points]
                .map(|points| points.iter().flat_map(|p| [p.0, p.1]).collect::<Vec<f64>>());
            compare_values(&own, &others)
        })
    }
}

/// Number by number, then by length.
pub(super) fn compare_values(a: &[f64], b: &[f64]) -> Ordering {
    let first = a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|order| order.is_ne());
    first.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// All configurations, in an order that depends on what they hold alone.
fn sorted_configurations(training: &TrainingSet) -> Vec<&[f64]> {
    let unfinished = (0..training.unfinished_configurations.row_count())
        .map(|i| training.unfinished_configurations.row(i));
    let finished = (0..training.len()).map(|i| training.configurations.row(i));
    let mut all: Vec<&[f64]> = finished.chain(unfinished).collect();
    all.sort_by(|a, b| compare_values(a, b));
    all
}

/// The later steps as epochs, and the horizon, on the scale of the observed ones.
fn epochs_after(training: &TrainingSet) -> (Vec<f64>, f64) {
    let steps: Vec<f64> = training.steps.iter().chain(&training.later_steps).copied().collect();
    let (observed, horizon) = epochs_of(&training.steps, training.target_step);
    let (first, last) = (training.steps[0], observed[0]);
    let unit = (horizon - last) / (training.target_step - first);
    let later = steps[training.steps.len()..].iter().map(|step| last + (step - first) * unit).collect();
    (later, horizon)
}

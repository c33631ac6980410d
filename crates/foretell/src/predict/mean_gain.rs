//! The mean gain: the average gain of completed runs from here on, added to the last seen value.

use crate::curves::training::{RunQuery, TrainingSet};
use crate::predict::forecast::Forecast;
use crate::predict::predictor::{FitError, Model, Predictor, check_training};
use crate::statistics::min_and_max;

/// The distance, as a fraction of the range of scores, that an end may plausibly lie from its forecast before any is seen.
const PLAUSIBLE_RANGE_FRACTION: f64 = 0.3;

/// ŷ_T = y_τ + ḡ with a Gaussian spread, ḡ the mean of the gains of n completed runs from τ on, y_T − y_τ, shrunk as if one more
/// run had gained nothing:
///
/// ḡ = Σ g_i / (n + 1),  σ² = (Σ (g_i − ḡ)² + u²) / (n + 1),  u = 0.3·(1 − t/T)·range
///
/// | symbol | meaning |
/// |---|---|
/// | g_i | y_T − y_τ of completed run i |
/// | u | the residual of one more run, which nobody has seen: how far an end may plausibly lie from its forecast |
/// | t, T | the last step seen, and the target step |
/// | range | of the first, last and final scores of the completed runs |
///
/// So three runs that happen to gain alike do not make a forecast sure, and after thirty runs u hardly counts. Runs whose early
/// scores tell nothing about their ends gain very differently, which makes σ large: little is stopped then.
///
/// Of all rules tried on studies of 20 to 100 trials it saves the most at equal safety: see `docs/research/stopping.md`. Needs 1 run.
/// O(n) to fit, O(1) to forecast. The rule is Foretell's own.
///
/// ```
/// use foretell::{Matrix, MeanGain, Predictor, RunQuery, TrainingSet};
/// // two runs, seen at the first of two epochs, gained 0.1 and 0.2
/// let training = TrainingSet {
///     steps: vec![1.0],
///     target_step: 2.0,
///     prefixes: Matrix::from_rows(&[[0.2], [0.4]]),
///     targets: vec![0.3, 0.6],
///     ..TrainingSet::default()
/// };
/// let forecast = MeanGain.fit(&training)?.forecast(&RunQuery { prefix: &[0.5], configuration: &[] });
/// assert!((forecast.mean - 0.6).abs() < 1e-12); // 0.5 + (0.1 + 0.2)/3
/// // u = 0.3 · ½ · 0.4 = 0.06, σ² = (0 + 0.1² + 0.06²)/3
/// assert!((forecast.scale - (0.0136_f64 / 3.0).sqrt()).abs() < 1e-12);
/// # Ok::<(), foretell::FitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct MeanGain;

struct MeanGainModel {
    gain: f64,
    sigma: f64,
    ceiling: Option<f64>,
    held_out: Vec<Forecast>,
}

impl Predictor for MeanGain {
    fn name(&self) -> &'static str {
        "mean-gain"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), 1, training)?;
        let last = training.last_scores();
        let gains: Vec<f64> = training.targets.iter().zip(&last).map(|(y, last)| y - last).collect();
        let (total, n) = (gains.iter().sum::<f64>(), gains.len() as f64);
        let squares = gains.iter().map(|gain| gain * gain).sum::<f64>();
        let unseen = plausible_deviation(training, &last).powi(2);
        let (gain, sigma) = gain_and_sigma(n, total, squares, unseen);
        let ceiling = training.ceiling;
        let mut model = MeanGainModel { gain, sigma, ceiling, held_out: Vec::new() };
        let held_out = gains.iter().zip(&last).map(|(own, &last)| {
            let (gain, sigma) = gain_and_sigma(n - 1.0, total - own, squares - own * own, unseen);
            Forecast::gaussian(model.end(last, gain), sigma)
        });
        model.held_out = held_out.collect();
        Ok(Box::new(model))
    }
}

/// The gain and σ of n runs with these sums: Σ (g − ḡ)² = Σ g² − 2ḡ Σ g + nḡ².
fn gain_and_sigma(n: f64, total: f64, squares: f64, unseen: f64) -> (f64, f64) {
    let gain = total / (n + 1.0);
    let residuals = (squares - 2.0 * gain * total + n * gain * gain).max(0.0);
    (gain, ((residuals + unseen) / (n + 1.0)).sqrt())
}

impl MeanGainModel {
    /// Where a run ends that gains `gain` from `last`: no higher than there can be.
    fn end(&self, last: f64, gain: f64) -> f64 {
        let end = last + gain;
        // a run that is above the ceiling already disproves it
        self.ceiling.map_or(end, |ceiling| end.min(ceiling.max(last)))
    }
}

impl Model for MeanGainModel {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        Forecast::gaussian(self.end(query.last_score(), self.gain), self.sigma)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

/// u = 0.3·(1 − t/T)·range, t the last of the steps seen and T the target step: the range of first, last and final scores; at least an
/// n-th of how far the worst of these is from the best that there can be, and their size, or 1, where all are the same.
pub(crate) fn plausible_deviation(training: &TrainingSet, last: &[f64]) -> f64 {
    let first = (0..training.len()).filter_map(|i| training.prefixes.row(i).first());
    let (low, high) = min_and_max(training.targets.iter().chain(last).chain(first).copied());
    let open = training.ceiling.map_or(0.0, |ceiling| (ceiling - low) / training.len() as f64);
    let size = (high - low).max(open);
    let size = if size > 0.0 { size } else { high.abs() };
    let seen = training.steps.last().map_or(0.0, |step| (step / training.target_step).clamp(0.0, 1.0));
    PLAUSIBLE_RANGE_FRACTION * (1.0 - seen) * if size > 0.0 { size } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::matrix::Matrix;
    use crate::predict::conformance::check_predictor;

    fn training_set(last: &[f64], targets: &[f64], step: f64) -> TrainingSet {
        TrainingSet {
            steps: vec![step],
            target_step: 10.0,
            prefixes: Matrix::from_fn(last.len(), 1, |i, _| last[i]),
            targets: targets.to_vec(),
            ..TrainingSet::default()
        }
    }

    #[test]
    fn it_is_a_predictor() {
        check_predictor(&MeanGain).unwrap();
    }

    #[test]
    fn runs_that_gain_alike_are_sure_only_when_there_are_many() {
        let sd = |n: usize| {
            let last: Vec<f64> = (0..n).map(|i| 0.1 * (i % 3) as f64).collect();
            let targets: Vec<f64> = last.iter().map(|last| last + 0.5).collect();
            MeanGain.fit(&training_set(&last, &targets, 1.0)).unwrap().held_out()[0].scale
        };
        let (few, many) = (sd(3), sd(100));
        assert!(few > 0.1 && many < 0.06, "{few} {many}");
    }

    #[test]
    fn the_later_it_is_the_surer() {
        let sd = |step| MeanGain.fit(&training_set(&[0.2, 0.4, 0.6], &[0.3, 0.5, 0.7], step)).unwrap();
        let query = RunQuery { prefix: &[0.5], configuration: &[] };
        assert!(sd(9.0).forecast(&query).scale < sd(1.0).forecast(&query).scale);
    }

    #[test]
    fn early_ranks_that_say_nothing_make_nothing_sure() {
        // the lower a run starts the higher it ends; not even --caution fast stops at this
        let model = MeanGain.fit(&training_set(&[0.1, 0.3, 0.5], &[0.9, 0.6, 0.3], 5.0)).unwrap();
        let forecast = model.forecast(&RunQuery { prefix: &[0.1], configuration: &[] });
        assert!(forecast.probability_at_most(0.9) < 0.95, "{forecast:?}");
    }

    #[test]
    fn no_end_lies_above_the_ceiling() {
        let training = TrainingSet { ceiling: Some(1.0), ..training_set(&[0.1, 0.2], &[0.8, 0.9], 2.0) };
        let model = MeanGain.fit(&training).unwrap();
        assert!((model.forecast(&RunQuery { prefix: &[0.9], configuration: &[] }).mean - 1.0).abs() < 1e-12);
    }
}

//! The predictor `auto`: a blend of Gaussian processes, trees, neighbors and the mean gain.
//!
//! A blend, weighted by held-out error, because no single regressor leads on all sets of curves. `docs/research/auto.md` lists the parts
//! that were tried and left out: the ridge, stacking on the simplex, mixture weights.

pub(crate) mod blend;
pub(crate) mod neighbors;

use crate::curves::training::{RunQuery, TrainingSet};
use crate::predict::auto::blend::ExpertBlend;
use crate::predict::forecast::Forecast;
use crate::predict::predictor::{FitError, Model, Predictor, check_training};
use crate::predict::spread::{SpreadSource, with_spread};
use rayon::prelude::*;
use std::cmp::Ordering;

/// The most runs that are learned from: a fit is O(n³), and more would teach little.
const MAX_RUNS: usize = 1000;

/// ŷ = Σ_e a_e ŷ_e over four experts, a_e ∝ q_e·mse_e^(−p), p = 3·n/(n + 50), mse_e from held-out errors: the more runs
/// there are, the more those errors show which expert is the best. q is 1.5 for the pair and 1 for the others.
///
/// | expert | what it is | held out by |
/// |---|---|---|
/// | pair | [`GaussianProcess`](crate::GaussianProcess) | leave-one-out, closed form |
/// | trees | mean of 64 regression trees on y_T and y_τ + 64 on y_T − y_τ, on the same features, half of them extremely randomized | out-of-bag |
/// | neighbors | kernel-weighted mean of what like runs gained from here | leave-one-out |
/// | mean gain | y_τ + mean of y_T − y_τ, shrunk as if one more run had gained nothing | leave-one-out |
///
/// From 10 runs on ŷ is drawn to their mean as far as held-out errors do not show that it is nearer to the ends than the mean is.
///
/// Each ŷ_e is clipped to what completed runs have done from here, and to the best score that there can be. The scale is
/// √(s² + u² + Σ_e a_e (ŷ_e − ŷ)²), s the pair's own and u = 0.3·(1 − t/T)·range/n, calibrated as [`SpreadSource::Calibrated`] says: few
/// runs that end alike do not make a forecast sure.
///
/// Needs 3 runs; the order of runs does not matter. Of more than 1000 runs it learns from 1000, evenly by their final score;
/// forecasts of the others are held out by that. O(n³) to fit, O(n²) to forecast, n ≤ 1000. Sources: the experts'; the weights
/// are Foretell's own.
///
/// ```
/// use foretell::{AutoPredictor, Matrix, Predictor, RunQuery, TrainingSet};
/// // twenty runs that gain 0.1 from 0.02·i: after two steps the third is plain to see
/// let score = |i: usize, step: f64| 0.02 * i as f64 + 0.05 * step;
/// let training = TrainingSet {
///     steps: vec![0.0, 1.0],
///     target_step: 2.0,
///     prefixes: Matrix::from_fn(20, 2, |i, t| score(i, t as f64)),
///     targets: (0..20).map(|i| score(i, 2.0)).collect(),
///     ..TrainingSet::default()
/// };
/// let model = AutoPredictor::default().fit(&training)?;
/// let forecast = model.forecast(&RunQuery { prefix: &[0.11, 0.16], configuration: &[] });
/// assert!((forecast.mean - 0.21).abs() < 0.01);
/// # Ok::<(), foretell::FitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AutoPredictor {
    /// The seed of the trees.
    pub seed: u64,
    /// The source of the standard deviation of its forecasts.
    pub spread: SpreadSource,
}

impl Predictor for AutoPredictor {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), 3, training)?;
        self.fit_on_at_most(training, MAX_RUNS)
    }
}

impl AutoPredictor {
    /// Fits on `most` runs if there are more.
    fn fit_on_at_most(&self, training: &TrainingSet, most: usize) -> Result<Box<dyn Model>, FitError> {
        let learned = select_evenly_by_score(canonical_order(training), &training.targets, most);
        let used = training.select_runs(&learned);
        let model = with_spread(Box::new(AutoModel::fit(&used, self.seed)?), &used.targets, self.spread);
        let mut held_out: Vec<Option<Forecast>> = vec![None; training.len()];
        for (&i, forecast) in learned.iter().zip(model.held_out()) {
            held_out[i] = Some(forecast.clone());
        }
        let held_out = held_out.into_par_iter().enumerate();
        let held_out = held_out.map(|(i, known)| known.unwrap_or_else(|| model.forecast(&training.query(i))));
        Ok(Box::new(ReorderedModel { held_out: held_out.collect(), model }))
    }
}

/// A model fitted on the runs in another order, or on some of them.
struct ReorderedModel {
    model: Box<dyn Model>,
    held_out: Vec<Forecast>,
}

impl Model for ReorderedModel {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        self.model.forecast(query)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

/// At most `most` of the runs `order`, in that order: evenly by final score, with the worst and the best.
fn select_evenly_by_score(order: Vec<usize>, targets: &[f64], most: usize) -> Vec<usize> {
    if order.len() <= most {
        return order;
    }
    let mut places: Vec<usize> = (0..order.len()).collect();
    places.sort_by(|&a, &b| targets[order[a]].total_cmp(&targets[order[b]]));
    let mut kept: Vec<usize> = (0..most).map(|k| places[k * (order.len() - 1) / (most - 1)]).collect();
    kept.sort_unstable();
    kept.into_iter().map(|place| order[place]).collect()
}

/// The order of runs by what is known of them, so that the order they came in does not matter.
fn canonical_order(training: &TrainingSet) -> Vec<usize> {
    let mut order: Vec<usize> = (0..training.len()).collect();
    order.sort_by(|&a, &b| {
        let [a, b] = [a, b].map(|i| {
            let query = training.query(i);
            query.prefix.iter().chain(query.configuration).copied().chain([training.targets[i]])
        });
        a.zip(b).map(|(x, y)| x.total_cmp(&y)).find(|&o| o != Ordering::Equal).unwrap_or(Ordering::Equal)
    });
    order
}

struct AutoModel {
    blend: ExpertBlend,
    held_out: Vec<Forecast>,
}

impl AutoModel {
    fn fit(training: &TrainingSet, seed: u64) -> Result<Self, FitError> {
        let blend = ExpertBlend::fit(training, seed);
        let blend = blend.ok_or(FitError::NotFinite { run: 0, what: "squared distance from the mean" })?;
        let held_out = blend.left_out.iter().map(|&(mean, scale)| Forecast::gaussian(mean, scale)).collect();
        Ok(Self { blend, held_out })
    }
}

impl Model for AutoModel {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        let (mean, scale) = self.blend.forecast(query);
        Forecast::gaussian(mean, scale)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::matrix::Matrix;

    #[test]
    #[allow(clippy::float_cmp, reason = "the same forecasts")]
    fn of_many_runs_it_learns_from_some_and_forecasts_the_others() {
        let score = |i: usize| (i * 37 % 101) as f64 / 100.0;
        let set = |runs: &[usize]| TrainingSet {
            steps: vec![1.0, 2.0],
            target_step: 3.0,
            prefixes: Matrix::from_fn(runs.len(), 2, |i, t| score(runs[i]) - 0.2 / (t + 1) as f64),
            targets: runs.iter().map(|&i| score(i)).collect(),
            ..TrainingSet::default()
        };
        let runs: Vec<usize> = (0..101).collect();
        let turned: Vec<usize> = runs.iter().rev().copied().collect();
        let (all, reversed) = (set(&runs), set(&turned));
        let kept = |set: &TrainingSet| -> Vec<f64> {
            let kept = select_evenly_by_score(canonical_order(set), &set.targets, 21);
            kept.into_iter().map(|i| set.targets[i]).collect()
        };
        let every_fifth: Vec<f64> = (0..=20).map(|k| f64::from(5 * k) / 100.0).collect();
        assert_eq!((kept(&all), kept(&reversed)), (every_fifth.clone(), every_fifth));
        let fit = |set| AutoPredictor::default().fit_on_at_most(set, 21).unwrap();
        let (model, other) = (fit(&all), fit(&reversed));
        assert_eq!(model.held_out().len(), 101);
        for (i, held_out) in model.held_out().iter().enumerate() {
            assert!((held_out.mean - score(i)).abs() < 0.02, "run {i}: {held_out:?}");
            assert_eq!(held_out.mean, other.held_out()[100 - i].mean);
        }
    }
}

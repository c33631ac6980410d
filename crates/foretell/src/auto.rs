//! The default predictor: a blend of Gaussian processes, trees, neighbours and ridge regressions.

use crate::blend::Blend;
use crate::forecast::Forecast;
use crate::predictor::{FitError, Model, Predictor, check_training};
use crate::spread::{Spread, with_spread};
use crate::training::{Query, TrainingSet};
use rayon::prelude::*;
use std::cmp::Ordering;

/// A curve needs this many points, all the same, before it is said to have never started.
const NEVER_STARTED: usize = 5;
/// So many runs that did start are needed to treat the others apart.
const STARTED: usize = 10;
/// It learns from at most so many runs: a fit is O(n³), and more would teach little.
const MOST_RUNS: usize = 1000;

/// The default: ŷ = Σ_e a_e ŷ_e over seven experts, a_e ∝ q_e·(mse_min / mse_e)^p·exp(−(0.3 + 0.6·p)·t_e − (1 − p)·g_e) from
/// held-out errors, p = min(1, n/150), t_e how surely expert e is worse than the best of them: the mean of how much larger its
/// squared errors are, over the standard error of that mean. A run's squared error counts 1/√s times, s being the pair's deviation
/// there: where the pair is unsure, errors say little of which expert knows more.
///
/// From few runs, errors say little of which of seven experts is the best, but they do say whether there is structure that only
/// the pair has: the others give way to it by g_e = c_e·clip(V − 1.5, −2, 0.5) + 2·s·clip(min(t − 0.9, 3·D − 2.4, V − 1), 0, 1),
/// g = 0 for the pair itself. V = ln(variance of y_T / mse_pair), D = ln(mse_gain / mse_pair) from squared errors as they are, t how
/// surely the mean gain is worse than the pair, s = clip((τ − 2)/8, 0, 1): when all runs have just begun, it takes little to be
/// ahead of the mean gain.
///
/// | expert | what it is | held out by | prior weight q, r = n/(n + 10) | c |
/// |---|---|---|---|---|
/// | pair | [`GaussianProcess`](crate::GaussianProcess) | leave-one-out, closed form | 1 | |
/// | trees | 64 regression trees on the same features, half of them extremely randomised, on y_T | out-of-bag | r·n/(n + 30) | 0 |
/// | gain trees | 64 more on y_T − y_τ | out-of-bag | r | 0.5 |
/// | neighbours | kernel-weighted mean of what like runs gained from here | leave-one-out | r | 1 |
/// | ridge | linear in all points and the configuration, on y_T − y_τ | leave-one-out, closed form | 0.2·r | 0.5 |
/// | kernel ridge | Gaussian kernel on the paper's features, on y_T − y_τ | leave-one-out, closed form | 0.2·r | 0.5 |
/// | mean gain | y_τ + mean of y_T − y_τ, shrunk as if one more run had gained nothing | leave-one-out | r | 1 |
///
/// Held-out squared errors of trees count 0.8 times, as out-of-bag errors come from 37 % of the trees.
/// Where y_τ is further than a tenth of their range below or above those of all runs, by b, forecasts of y_T move by b as those
/// of the gain do. Every ŷ_e is clipped to what finished runs have done from here, and to the best score that there can be. The scale is
/// √(s² + (ŷ_pair − ŷ)² + Σ_e a_e (ŷ_e − ŷ)²), s the pair's own, calibrated as [`Spread::Calibrated`] says. From ten points on, a
/// last step that rises by more than the largest step L = max |y_t − y_{t−1}| of any finished run so far is taken for one of L, and
/// the square of the rest added to that of the scale: the next point tells. A curve whose points
/// (five or more) are all the same has never started: it teaches the experts nothing, and its forecast is y_τ plus the mean gain
/// of such runs, shrunk as if one more had gained nothing.
///
/// Needs 3 runs; the order of runs does not matter. Of more than 1000 runs it learns from 1000, evenly by their final score; forecasts of
/// the others are held out by that. O(n³) to fit, O(n²) to forecast, n ≤ 1000. Sources: the experts'; the weights
/// are Foretell's own.
///
/// ```
/// use foretell::{Auto, Matrix, Predictor, Query, TrainingSet};
/// // twenty runs that gain 0.1 from 0.02·i: after two steps the third is plain to see
/// let at = |i: usize, step: f64| 0.02 * i as f64 + 0.05 * step;
/// let training = TrainingSet {
///     steps: vec![0.0, 1.0],
///     target_step: 2.0,
///     prefixes: Matrix::from_fn(20, 2, |i, t| at(i, t as f64)),
///     targets: (0..20).map(|i| at(i, 2.0)).collect(),
///     ..TrainingSet::default()
/// };
/// let model = Auto::default().fit(&training)?;
/// let forecast = model.forecast(&Query { prefix: &[0.11, 0.16], configuration: &[] });
/// assert!((forecast.mean - 0.21).abs() < 0.01);
/// # Ok::<(), foretell::FitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Auto {
    /// The seed of the trees.
    pub seed: u64,
    /// How sure its forecasts are said to be.
    pub spread: Spread,
}

impl Predictor for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), 3, training)?;
        self.fit_on_most(training, MOST_RUNS)
    }
}

impl Auto {
    /// Fits on `most` runs if there are more.
    fn fit_on_most(&self, training: &TrainingSet, most: usize) -> Result<Box<dyn Model>, FitError> {
        let learnt = evenly_by_score(canonical_order(training), &training.targets, most);
        let used = training.select(&learnt);
        let model = with_spread(Box::new(AutoModel::fit(&used, self.seed)?), &used.targets, self.spread);
        let mut held_out: Vec<Option<Forecast>> = vec![None; training.len()];
        for (&i, forecast) in learnt.iter().zip(model.held_out()) {
            held_out[i] = Some(forecast.clone());
        }
        let held_out = held_out.into_par_iter().enumerate();
        let held_out = held_out.map(|(i, known)| known.unwrap_or_else(|| model.forecast(&training.query(i))));
        Ok(Box::new(InOrder { held_out: held_out.collect(), model }))
    }
}

/// A model fitted on the runs in another order, or on some of them.
struct InOrder {
    model: Box<dyn Model>,
    held_out: Vec<Forecast>,
}

impl Model for InOrder {
    fn forecast(&self, query: &Query<'_>) -> Forecast {
        self.model.forecast(query)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

/// At most `most` of the runs `order`, in that order: evenly by final score, with the worst and the best.
fn evenly_by_score(order: Vec<usize>, targets: &[f64], most: usize) -> Vec<usize> {
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
    let key = |i: usize| {
        let query = training.query(i);
        query.prefix.iter().chain(query.configuration).copied().chain([training.targets[i]])
    };
    let mut order: Vec<usize> = (0..training.len()).collect();
    order.sort_by(|&a, &b| {
        key(a)
            .zip(key(b))
            .map(|(x, y)| x.total_cmp(&y))
            .find(|&o| o != Ordering::Equal)
            .unwrap_or(Ordering::Equal)
    });
    order
}

/// Whether all points (five or more) of a curve are the same.
fn never_started(prefix: &[f64]) -> bool {
    prefix.len() >= NEVER_STARTED && prefix.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq())
}

/// What became of the runs that never started.
#[derive(Clone, Copy, Debug)]
struct Idle {
    gain: f64,
    scale: f64,
}

impl Idle {
    /// From their gains, and the typical variance of a forecast for the others: both count as one more run.
    fn new(gains: &[f64], variance: f64) -> Self {
        let n = gains.len() as f64 + 1.0;
        let gain = gains.iter().sum::<f64>() / n;
        let squares: f64 = gains.iter().map(|g| (g - gain) * (g - gain)).sum();
        Self { gain, scale: ((squares + variance) / n).sqrt() }
    }

    fn forecast(self, last: f64) -> Forecast {
        Forecast::gaussian(last + self.gain, self.scale)
    }
}

struct AutoModel {
    blend: Blend,
    /// `None` where too few runs started to treat the others apart.
    idle: Option<Idle>,
    floor: Option<f64>,
    held_out: Vec<Forecast>,
}

impl AutoModel {
    fn fit(training: &TrainingSet, seed: u64) -> Result<Self, FitError> {
        let all: Vec<usize> = (0..training.len()).collect();
        let (idle, started): (Vec<usize>, Vec<usize>) =
            all.iter().partition(|&&i| never_started(training.query(i).prefix));
        let apart = started.len() >= STARTED;
        let (idle, used) = if apart { (idle, started) } else { (Vec::new(), all) };
        let blend = Blend::fit(&training.select(&used), seed);
        let blend = blend.ok_or(FitError::NotFinite { run: 0, what: "squared distance from the mean" })?;
        let variance = blend.left_out.iter().map(|(_, scale)| scale * scale).sum::<f64>() / used.len() as f64;
        let last = training.last_scores();
        let gains: Vec<f64> = idle.iter().map(|&i| training.targets[i] - last[i]).collect();
        let mut held_out = vec![Forecast::gaussian(0.0, 0.0); training.len()];
        for (&i, &(mean, scale)) in used.iter().zip(&blend.left_out) {
            held_out[i] = Forecast::gaussian(mean, scale);
        }
        for (k, &i) in idle.iter().enumerate() {
            let others: Vec<f64> = gains[..k].iter().chain(&gains[k + 1..]).copied().collect();
            held_out[i] = Idle::new(&others, variance).forecast(last[i]);
        }
        Ok(Self { blend, idle: apart.then(|| Idle::new(&gains, variance)), floor: training.floor, held_out })
    }
}

impl Model for AutoModel {
    fn forecast(&self, query: &Query<'_>) -> Forecast {
        match self.idle {
            Some(idle) if never_started(query.prefix) => idle.forecast(query.last_score(self.floor)),
            _ => {
                let (mean, scale) = self.blend.forecast(query);
                Forecast::gaussian(mean, scale)
            }
        }
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;

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
            let kept = evenly_by_score(canonical_order(set), &set.targets, 21);
            kept.into_iter().map(|i| set.targets[i]).collect()
        };
        let every_fifth: Vec<f64> = (0..=20).map(|k| f64::from(5 * k) / 100.0).collect();
        assert_eq!((kept(&all), kept(&reversed)), (every_fifth.clone(), every_fifth));
        let fit = |set| Auto::default().fit_on_most(set, 21).unwrap();
        let (model, other) = (fit(&all), fit(&reversed));
        assert_eq!(model.held_out().len(), 101);
        for (i, held_out) in model.held_out().iter().enumerate() {
            assert!((held_out.mean - score(i)).abs() < 0.02, "run {i}: {held_out:?}");
            assert_eq!(held_out.mean, other.held_out()[100 - i].mean);
        }
    }

    #[test]
    fn a_curve_that_never_started_is_forecast_to_stay_and_spoils_no_other() {
        let level = |i: usize| if i == 7 { 0.0 } else { 0.5 + 0.01 * i as f64 };
        let curve = |i: usize, t: usize| if i == 7 { 0.0 } else { level(i) * (1.0 - 0.5 / (t + 1) as f64) };
        let training = |n: usize| TrainingSet {
            steps: (1..=6).map(f64::from).collect(),
            target_step: 30.0,
            prefixes: Matrix::from_fn(n, 6, curve),
            targets: (0..n).map(level).collect(),
            ..TrainingSet::default()
        };
        let model = Auto::default().fit(&training(30)).unwrap();
        let dead = Query { prefix: &[0.0; 6], configuration: &[] };
        assert!(model.forecast(&dead).mean.abs() < 1e-12);
        assert!(model.held_out()[7].mean.abs() < 1e-12);
        let worst = (0..30).map(|i| (model.held_out()[i].mean - level(i)).abs()).fold(0.0, f64::max);
        assert!(worst < 0.02, "worst held-out error {worst}");
    }
}

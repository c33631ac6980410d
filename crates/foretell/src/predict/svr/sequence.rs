//! Sequential regression models: one ν-SVR for each τ, and trials that run past them epoch by epoch.

use super::geometry::Geometry;
use super::model::{EpochFeatures, Expansion, SvrModel};
use super::parameters::{Folds, SvrParameters};
use super::scaling::{Columns, Scaled};
use super::{Candidates, FEWEST, NuSvr, by_content, by_epoch, fit_in};
use crate::curves::training::TrainingSet;
use crate::features::paper::design_matrix;
use crate::linalg::simd::{LANES, dispatched, dot, exp2_rough_body, sum_filled};
use crate::predict::forecast::Forecast;
use crate::predict::predictor::{FitError, Predictor, check_training};
use rayon::prelude::*;

/// The paper's sequential regression models: a ν-SVR for every τ = 1 … T − 1, fitted together.
///
/// A longer curve only adds columns, so the leave-one-out distances of one τ grow from those of the last, and a running
/// trial ([`SequentialSvr::watch`]) keeps its distances to all training runs and adds three features an epoch. The models
/// are bit for bit those of [`NuSvr`] fitted for each τ alone (unless runs tie in configuration and first score), whatever
/// the number of threads.
///
/// ```
/// use foretell::svr::{NuSvr, SequentialSvr};
/// use foretell::{FeatureGroup, Matrix, TrainingSet};
/// let curve = |i: usize, t: usize| 0.5 + 0.02 * i as f64 - 0.4 / (t + 1) as f64;
/// let training = TrainingSet {
///     steps: vec![1.0, 2.0, 3.0],
///     target_step: 4.0,
///     prefixes: Matrix::from_fn(12, 3, curve),
///     configurations: Matrix::from_fn(12, 1, |i, _| i as f64),
///     groups: vec![FeatureGroup::Hyperparameter],
///     targets: (0..12).map(|i| curve(i, 3)).collect(),
///     ..TrainingSet::default()
/// };
/// let models = SequentialSvr::fit(&NuSvr { draws: 200, ..NuSvr::default() }, &training)?;
/// let mut trial = models.watch(&[5.5]);
/// for t in 0..3 {
///     let forecast = trial.report(0.5 + 0.02 * 5.5 - 0.4 / (t + 1) as f64).expect("three epochs are covered");
///     assert!((forecast.mean - 0.51).abs() < 0.03, "{forecast:?}");
/// }
/// # Ok::<(), foretell::FitError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SequentialSvr {
    models: Vec<SvrModel>,
    /// Which configuration columns are features.
    used: Vec<usize>,
    columns: Columns,
    /// Training runs, column after column, padded.
    z: Vec<f64>,
    stride: usize,
    /// β of each τ, padded to `stride`.
    betas: Vec<f64>,
    epochs: bool,
}

impl SequentialSvr {
    /// Fits `svr` for every τ up to that of `training`, parallel over τ.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than 6 runs or a number is not finite.
    pub fn fit(svr: &NuSvr, training: &TrainingSet) -> Result<Self, FitError> {
        check_training(svr.name(), FEWEST, training)?;
        let order = by_content(training);
        let mut models = Self::fit_drawn(svr, &training.select(&order), |tau| svr.draw(training.len(), tau))?;
        models.models.iter_mut().for_each(|model| model.put_back(&order));
        Ok(models)
    }

    /// Fits with the draws and folds that `draw` gives for each τ instead of the seed's.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than 6 runs or a number is not finite.
    ///
    /// # Panics
    /// If `draw` gives no draws, or not one fold a run.
    pub fn fit_drawn(
        svr: &NuSvr,
        training: &TrainingSet,
        draw: impl Fn(usize) -> (Vec<SvrParameters>, Folds) + Sync,
    ) -> Result<Self, FitError> {
        check_training(svr.name(), FEWEST, training)?;
        let last = training.steps.len();
        let x = by_epoch(&design_matrix(training, svr.features), svr.epochs(last));
        let scaled = Scaled::new(&x, true);
        let plan = Plan { svr, training, scaled: &scaled, width: x.columns() };
        let share = last.div_ceil(2 * rayon::current_num_threads()).max(1);
        let starts: Vec<usize> = (1..=last).step_by(share).collect();
        let chunks =
            starts.into_par_iter().map(|start| plan.fit(start..(start + share).min(last + 1), &draw));
        let models: Vec<SvrModel> = chunks.collect::<Vec<_>>().into_iter().flatten().collect();
        let padded = |model: &SvrModel| {
            let beta = model.coefficients().iter().copied();
            beta.chain(std::iter::repeat_n(0.0, scaled.stride - scaled.n)).collect::<Vec<f64>>()
        };
        Ok(Self {
            betas: models.iter().flat_map(padded).collect(),
            models,
            used: (0..training.groups.len()).filter(|&j| svr.features.contains(training.groups[j])).collect(),
            columns: scaled.columns,
            z: scaled.z,
            stride: scaled.stride,
            epochs: svr.features.time_series,
        })
    }

    /// The model of τ, 1 ≤ τ ≤ the training set's.
    pub fn model(&self, tau: usize) -> Option<&SvrModel> {
        self.models.get(tau.checked_sub(1)?)
    }

    /// How many τ there are.
    pub fn len(&self) -> usize {
        self.models.len()
    }

    /// Whether there is no τ.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    /// A trial that starts now; `configuration` is encoded as in the training set.
    ///
    /// # Panics
    /// If `configuration` is shorter than in the training set.
    pub fn watch(&self, configuration: &[f64]) -> RunningTrial<'_> {
        let linear = self.models.first().is_some_and(|m| matches!(m.expansion, Expansion::Linear { .. }));
        let seen = if linear {
            Seen::Row(Vec::with_capacity(self.columns.mean.len()))
        } else {
            Seen::Distances(vec![0.0; self.stride])
        };
        let mut trial =
            RunningTrial { models: self, curve: EpochFeatures::default(), tau: 0, shown: 0, seen };
        let Some(first) = self.models.first() else { return trial };
        let unweighted = vec![0.0; self.stride];
        for together in self.used.chunks(TOGETHER) {
            let mut features = [0.0; TOGETHER];
            for (feature, &j) in features.iter_mut().zip(together) {
                *feature = configuration[j];
            }
            trial.take(&features[..together.len()], &unweighted, &first.expansion);
        }
        trial
    }
}

/// What every τ is fitted from.
struct Plan<'a> {
    svr: &'a NuSvr,
    training: &'a TrainingSet,
    scaled: &'a Scaled,
    width: usize,
}

impl Plan<'_> {
    /// How many columns there are after `tau` epochs.
    fn columns(&self, tau: usize) -> usize {
        let curve = |tau: usize| if tau < 2 { tau } else { 3 * tau - 3 };
        let last = self.svr.epochs(self.training.steps.len());
        self.width - curve(last) + curve(self.svr.epochs(tau))
    }

    /// Fits neighbouring τ one after the other on growing sums.
    fn fit(
        &self,
        taus: std::ops::Range<usize>,
        draw: &(impl Fn(usize) -> (Vec<SvrParameters>, Folds) + Sync),
    ) -> Vec<SvrModel> {
        let (n, kernel) = (self.scaled.n, self.svr.kernel);
        let mut without = Geometry::<f32>::new(n, kernel, n);
        let mut done = 0;
        let mut models = Vec::with_capacity(taus.len());
        for tau in taus {
            let d = self.columns(tau);
            without.add(&self.scaled.rough_points, done..d, &self.scaled.loo_changes[done * n..d * n]);
            done = d;
            let (draws, folds) = draw(tau);
            let candidates = Candidates { kernel, draws: &draws, folds: &folds };
            let fitted = fit_in(self.scaled, d, &mut &without, &self.training.targets, candidates);
            models.push(self.svr.model(self.scaled, fitted, self.training, tau));
        }
        models
    }
}

/// A trial that reports epoch by epoch and is forecast after each: the distances to all training runs are kept.
///
/// O(training runs) a forecast, whatever τ, without allocation.
#[derive(Clone, Debug)]
pub struct RunningTrial<'a> {
    models: &'a SequentialSvr,
    curve: EpochFeatures,
    tau: usize,
    /// How many features it has shown.
    shown: usize,
    seen: Seen,
}

/// What a running trial keeps of its features, standardised.
#[derive(Clone, Debug)]
enum Seen {
    /// For the RBF kernel: squared distances to the training runs, padded.
    Distances(Vec<f64>),
    /// For the linear kernel: the features themselves.
    Row(Vec<f64>),
}

/// Most features that arrive together: what one epoch brings.
const TOGETHER: usize = 3;

impl RunningTrial<'_> {
    /// Takes the score of the next epoch and forecasts; `None`, and nothing taken, after the last τ or for a score that
    /// is not finite.
    #[inline]
    pub fn report(&mut self, score: f64) -> Option<Forecast> {
        let all = self.models;
        let model = all.models.get(self.tau).filter(|_| score.is_finite())?;
        let (features, count) = self.curve.next(score);
        let beta = &all.betas[self.tau * all.stride..(self.tau + 1) * all.stride];
        let value = self.take(if all.epochs { &features[..count] } else { &[] }, beta, &model.expansion);
        self.tau += 1;
        Some(Forecast::gaussian(model.target.invert(value + model.bias), model.sigma))
    }

    /// How many epochs it has reported.
    pub fn epochs(&self) -> usize {
        self.tau
    }

    /// Takes at most three features and gives the value of `expansion`, whose β on all training runs are `beta`.
    #[inline]
    fn take(&mut self, features: &[f64], beta: &[f64], expansion: &Expansion) -> f64 {
        let (from, Columns { mean, inverse }) = (self.shown, &self.models.columns);
        self.shown += features.len();
        let mut standardised = [0.0; TOGETHER];
        let scales = mean[from..self.shown].iter().zip(&inverse[from..self.shown]);
        for ((cell, feature), (mean, inverse)) in standardised.iter_mut().zip(features).zip(scales) {
            *cell = (feature - mean) * inverse;
        }
        let new = &standardised[..features.len()];
        match (&mut self.seen, expansion) {
            (Seen::Distances(distances), Expansion::Rbf { gamma, .. }) => {
                let stride = distances.len();
                let columns = &self.models.z[from * stride..self.shown * stride];
                let rate = gamma * std::f64::consts::LOG2_E;
                approach_and_expand(distances, columns, new, beta, rate)
            }
            (Seen::Row(row), Expansion::Linear { weights }) => {
                row.extend(new);
                dot(weights, row)
            }
            _ => unreachable!("all models of a sequence have one kernel"),
        }
    }
}

/// [`approach_and_expand`] for a known number of columns, eight points at a time.
#[inline(always)]
fn approach<const COLUMNS: usize>(
    distances: &mut [f64],
    columns: &[f64],
    row: &[f64],
    beta: &[f64],
    rate: f64,
) -> f64 {
    let n = distances.len();
    let columns: [&[[f64; LANES]]; COLUMNS] =
        std::array::from_fn(|c| columns[c * n..(c + 1) * n].as_chunks().0);
    let row: [f64; COLUMNS] = std::array::from_fn(|c| row[c]);
    let mut sum = [0.0; LANES];
    for (i, (cells, betas)) in
        distances.as_chunks_mut().0.iter_mut().zip(beta.as_chunks::<LANES>().0).enumerate()
    {
        let mut near: [f64; LANES] = *cells;
        for c in 0..COLUMNS {
            let column = &columns[c][i];
            for l in 0..LANES {
                let difference = column[l] - row[c];
                near[l] = difference.mul_add(difference, near[l]);
            }
        }
        *cells = near;
        let mut kernel = [0.0; LANES];
        for (k, d) in kernel.iter_mut().zip(&near) {
            *k = exp2_rough_body(-rate * d);
        }
        for l in 0..LANES {
            sum[l] = betas[l].mul_add(kernel[l], sum[l]);
        }
    }
    sum_filled(sum)
}

dispatched! {
    /// Adds the squared differences between at most three new columns and a row's values to `distances`, and gives
    /// Σ_i β_i·2^(−rate·distance_i): γ of the RBF kernel is rate·ln 2. All are whole blocks of eight.
    pub(crate) fn approach_and_expand(distances: &mut [f64], columns: &[f64], row: &[f64], beta: &[f64], rate: f64) -> f64 {
        match row.len() {
            0 => approach::<0>(distances, columns, row, beta, rate),
            1 => approach::<1>(distances, columns, row, beta, rate),
            2 => approach::<2>(distances, columns, row, beta, rate),
            _ => approach::<3>(distances, columns, row, beta, rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curves::configuration::FeatureGroup;
    use crate::curves::training::Query;
    use crate::linalg::matrix::Matrix;
    use crate::predict::predictor::Model;
    use crate::predict::svr::Kernel;

    fn curve(i: usize, t: usize) -> f64 {
        let (i, t) = (i as f64, t as f64 + 1.0);
        0.7 + 0.1 * (i * 1.3).sin() - 0.4 * t.powf(-0.6 - 0.3 * (i * 0.7).cos()) + 0.01 * (i * t * 3.1).sin()
    }

    fn training(n: usize, tau: usize) -> TrainingSet {
        TrainingSet {
            steps: (1..=tau).map(|t| t as f64).collect(),
            target_step: 12.0,
            prefixes: Matrix::from_fn(n, tau, curve),
            configurations: Matrix::from_fn(
                n,
                3,
                |i, j| if j == 2 { 4.0 } else { ((i + j) as f64 * 0.7).cos() },
            ),
            groups: vec![
                FeatureGroup::Hyperparameter,
                FeatureGroup::Architecture,
                FeatureGroup::Hyperparameter,
            ],
            targets: (0..n).map(|i| curve(i, 11)).collect(),
            ..TrainingSet::default()
        }
    }

    #[test]
    fn a_running_trial_is_forecast_as_its_prefix_is() {
        let all = training(29, 9);
        for kernel in [Kernel::Rbf, Kernel::Linear] {
            for features in ["ts,ap,hp", "ts", "hp", "ts,ap"] {
                let svr =
                    NuSvr { kernel, draws: 60, features: features.parse().unwrap(), ..NuSvr::default() };
                let models = SequentialSvr::fit(&svr, &all).unwrap();
                assert_eq!(models.len(), 9);
                let configuration = [0.3, -0.4, 4.0];
                let mut trial = models.watch(&configuration);
                let reported: Vec<f64> = (0..9).map(|t| curve(77, t)).collect();
                for tau in 1..=9 {
                    let streamed = trial.report(reported[tau - 1]).unwrap();
                    let query = Query { prefix: &reported[..tau], configuration: &configuration };
                    let direct = models.model(tau).unwrap().forecast(&query);
                    assert!((streamed.mean - direct.mean).abs() < 1e-12, "{kernel:?} {features} {tau}");
                    assert!(streamed.scale.total_cmp(&direct.scale).is_eq());
                }
                assert!(trial.report(0.5).is_none() && trial.epochs() == 9);
            }
        }
    }

    #[test]
    fn models_are_those_of_each_tau_alone() {
        let svr = NuSvr { draws: 80, ..NuSvr::default() };
        let models = SequentialSvr::fit(&svr, &training(23, 7)).unwrap();
        for tau in 1..=7 {
            let alone = svr.fit(&training(23, tau)).unwrap();
            let together = models.model(tau).unwrap();
            assert_eq!(alone.held_out(), together.held_out(), "τ = {tau}");
            let query = Query { prefix: &[0.4; 7][..tau], configuration: &[0.1, 0.2, 4.0] };
            assert_eq!(alone.forecast(&query), together.forecast(&query), "τ = {tau}");
        }
    }

    #[test]
    fn a_score_that_is_not_finite_is_not_taken() {
        let models = SequentialSvr::fit(&NuSvr { draws: 20, ..NuSvr::default() }, &training(10, 3)).unwrap();
        let mut trial = models.watch(&[0.0, 0.0, 4.0]);
        assert!(trial.report(f64::NAN).is_none() && trial.report(f64::INFINITY).is_none());
        assert_eq!(trial.epochs(), 0);
        assert!(trial.report(0.5).is_some());
    }
}

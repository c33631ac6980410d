//! Learning-curve prediction with Bayesian neural networks (LC-Net, Klein et al. 2017), sampled by SGHMC or SGLD.

mod basis;
mod layers;
mod network;
mod rows;
mod sampler;

pub use network::Head;
pub use sampler::{Dynamics, DynamicsOptions};

use crate::curves::training::{Query, TrainingSet};
use crate::linalg::cholesky::{cholesky, solve};
use crate::predict::forecast::Forecast;
use crate::predict::predictor::{FitError, Model, Predictor, check_training};
use basis::Time;
use network::{Curve, Shape};
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rows::{Rows, Scaling, by_value};
use std::cell::RefCell;
use std::sync::OnceLock;

/// A Bayesian neural network over configurations and time.
///
/// A network of three layers of tanh maps a configuration to a curve μ(x, t) = μ_∞(x) + Σ_k w_k(x)·φ_k(t; θ(x)) with t = 1 at
/// the end, and to a noise of its own. Its parameters are sampled from their posterior, given one row for each known point of
/// each run: all points of finished runs ([`TrainingSet::later_scores`]) and the observed ones of unfinished runs
/// ([`TrainingSet::unfinished_prefixes`]).
///
/// | symbol | meaning | default |
/// |---|---|---|
/// | hidden | units a layer | 64 (plain: 50) |
/// | m | rows of a mini-batch, drawn at random | 20 |
/// | ε, burn-in, samples | of [`DynamicsOptions`] | 10⁻², 3000, 100 each 100 steps |
///
/// The network does not see the curve of the run that it is asked about. Where that run was among the unfinished ones, the
/// posterior knows it; else the samples' forecasts are conditioned on its points, as if samples were Gaussian:
/// ŷ = m̄ + C_mF·(C_FF + R)⁻¹·(y − F̄), with F and m the samples' curves at the observed points and the end, C their covariances
/// and R the noise (an ensemble Kalman update).
///
/// The forecast is Gaussian, its variance that of the samples' means and the mean noise. Held-out forecasts are those of five
/// networks, each trained without a fifth of the runs; they are made when first asked for.
/// O((burn-in + samples·every)·m·hidden²) to fit, O(samples·hidden²) to forecast.
///
/// Source: Klein, Falkner, Springenberg & Hutter 2017; with a softmax over the basis functions, as their code has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bnn {
    /// Curves over time, or a plain network with t as another input.
    pub head: Head,
    /// Units a hidden layer.
    pub hidden: usize,
    /// Rows of a mini-batch.
    pub batch: usize,
    /// The sampler.
    pub dynamics: DynamicsOptions,
    /// The seed of first parameters, mini-batches and noise.
    pub seed: u64,
}

impl Default for Bnn {
    fn default() -> Self {
        Self { head: Head::Curves, hidden: 64, batch: 20, dynamics: DynamicsOptions::default(), seed: 0 }
    }
}

impl Bnn {
    /// The network without basis functions: t is an input, scores are standardised, one noise serves all.
    #[must_use]
    pub fn plain() -> Self {
        Self { head: Head::Plain, hidden: 50, ..Self::default() }
    }
}

/// Folds of the held-out forecasts.
const FOLDS: usize = 5;
/// The fewest runs.
const FEWEST: usize = 2;

/// Samples of a network's parameters, and the scaling of what goes in and comes out.
struct Samples {
    shape: Shape,
    scaling: Scaling,
    /// Mean and standard deviation of scaled scores for a plain network; (0, 1) else.
    standard: (f64, f64),
    /// Parameters in single precision, shape (samples, parameters), without the last of a plain network.
    parameters: Vec<f32>,
    each: usize,
    /// σ² of a plain network, by sample.
    variances: Vec<f64>,
    /// The unfinished runs it was trained on, sorted: configuration, then prefix.
    known: Vec<Vec<f64>>,
}

struct BnnModel {
    bnn: Bnn,
    samples: Samples,
    training: TrainingSet,
    held_out: OnceLock<Vec<Forecast>>,
}

impl Predictor for Bnn {
    fn name(&self) -> &'static str {
        match self.head {
            Head::Curves => "bnn",
            Head::Plain => "bnn-plain",
        }
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), FEWEST, training)?;
        let samples = self.sample(training)?;
        Ok(Box::new(BnnModel { bnn: *self, samples, training: training.clone(), held_out: OnceLock::new() }))
    }
}

impl Bnn {
    fn sample(&self, training: &TrainingSet) -> Result<Samples, FitError> {
        let scaling = Scaling::new(training);
        let rows = scaling.rows(training);
        let standard = match self.head {
            Head::Curves => (0.0, 1.0),
            Head::Plain => {
                let scores: Vec<f64> = rows.points.iter().map(|row| row.2).collect();
                let spread = crate::statistics::standard_deviation(&scores);
                (crate::statistics::mean(&scores), if spread > 0.0 { spread } else { 1.0 })
            }
        };
        let inputs = training.groups.len() + usize::from(self.head == Head::Plain);
        let shape = Shape { inputs, hidden: self.hidden, head: self.head };
        let first = shape.first(&mut ChaCha8Rng::seed_from_u64(self.seed));
        let mut batch = shape.batch(self.batch);
        let count = rows.points.len();
        let drawn =
            sampler::sample(first, count, self.dynamics, self.seed ^ 0x5eed, |theta, random, slope| {
                for place in 0..self.batch {
                    fill(&rows, random.random_range(0..count), standard, place, &shape, &mut batch);
                }
                shape.gradient(theta, count, &mut batch, slope);
            });
        let finite: Vec<Vec<f64>> =
            drawn.into_iter().filter(|theta| theta.iter().all(|p| p.is_finite())).collect();
        if finite.is_empty() {
            return Err(FitError::Diverged { predictor: self.name() });
        }
        let each = shape.parameters() - usize::from(self.head == Head::Plain);
        let parameters = finite.iter().flat_map(|theta| theta[..each].iter().map(|&p| p as f32)).collect();
        let variances = match self.head {
            Head::Curves => Vec::new(),
            Head::Plain => finite.iter().map(|theta| theta[each].exp()).collect(),
        };
        Ok(Samples { shape, scaling, standard, parameters, each, variances, known: known(training) })
    }
}

/// Row `row` into place `place` of the batch.
fn fill(
    rows: &Rows,
    row: usize,
    (mean, spread): (f64, f64),
    place: usize,
    shape: &Shape,
    batch: &mut network::Batch,
) {
    let (run, t, score) = rows.points[row];
    let configuration = rows.configurations.row(run);
    let inputs = &mut batch.inputs[place * shape.inputs..(place + 1) * shape.inputs];
    inputs[..configuration.len()].copy_from_slice(configuration);
    if shape.head == Head::Plain {
        inputs[configuration.len()] = standard_time(t);
    }
    batch.times[place] = Time::new(t);
    batch.targets[place] = (score - mean) / spread;
}

/// t in (0, 1], with mean 0 and standard deviation 1 where it is spread evenly.
fn standard_time(t: f64) -> f64 {
    (t - 0.5) * 12_f64.sqrt()
}

/// The unfinished runs of `training`, sorted.
fn known(training: &TrainingSet) -> Vec<Vec<f64>> {
    let run =
        |i: usize| [training.unfinished_configurations.row(i), training.unfinished_prefixes.row(i)].concat();
    let mut known: Vec<Vec<f64>> = (0..training.unfinished_prefixes.rows()).map(run).collect();
    known.sort_by(|a, b| by_value(a, b));
    known
}

/// What each sample says of one run.
struct Ensemble {
    /// The end, by sample.
    ends: Vec<f64>,
    /// The noise σ², by sample.
    variances: Vec<f64>,
    /// The curve at the observed points, shape (points, samples).
    curves: Vec<Vec<f64>>,
}

thread_local! {
    /// Space between layers.
    static SPACE: RefCell<[Vec<f32>; 3]> = RefCell::default();
}

impl Samples {
    /// The forecast of a run with `prefix`, on whose points it is conditioned unless the samples know them.
    fn forecast(&self, query: &Query<'_>) -> Forecast {
        let run = [query.configuration, query.prefix].concat();
        let is_known = self.known.binary_search_by(|known| by_value(known, &run)).is_ok();
        let points = if is_known { 0 } else { query.prefix.len() };
        let x = self.scaling.configuration(query.configuration);
        let ensemble = match self.shape.head {
            Head::Curves => self.curves(&x, points),
            Head::Plain => self.plain(&x, points),
        };
        let (mean, spread) = self.standard;
        let observed: Vec<f64> =
            query.prefix[..points].iter().map(|&y| (self.scaling.score(y) - mean) / spread).collect();
        let (end, variance) = ensemble.conditioned(&observed);
        let (least, largest) = self.scaling.range;
        let unit = (largest - least) * spread;
        Forecast::gaussian(least + (largest - least) * mean + unit * end, unit * variance.sqrt())
    }

    fn curves(&self, x: &[f64], points: usize) -> Ensemble {
        let x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        let times: Vec<Time> = self.scaling.times[..points].iter().map(|&t| Time::new(t)).collect();
        SPACE.with_borrow_mut(|space| {
            let mut ensemble =
                Ensemble { ends: Vec::new(), variances: Vec::new(), curves: vec![Vec::new(); points] };
            for parameters in self.parameters.chunks_exact(self.each) {
                let curve = Curve::new(&self.shape.outputs_single(parameters, &x, space));
                ensemble.ends.push(curve.asymptote);
                ensemble.variances.push(curve.log_variance().exp());
                for (at, &time) in ensemble.curves.iter_mut().zip(&times) {
                    at.push(curve.mean(time));
                }
            }
            ensemble
        })
    }

    fn plain(&self, x: &[f64], points: usize) -> Ensemble {
        let mut input: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        input.push(0.0);
        SPACE.with_borrow_mut(|space| {
            let mut at = |t: f64| -> Vec<f64> {
                if let Some(last) = input.last_mut() {
                    *last = standard_time(t) as f32;
                }
                let samples = self.parameters.chunks_exact(self.each);
                samples.map(|parameters| self.shape.outputs_single(parameters, &input, space)[0]).collect()
            };
            let ends = at(1.0);
            let curves = self.scaling.times[..points].iter().map(|&t| at(t)).collect();
            Ensemble { ends, variances: self.variances.clone(), curves }
        })
    }
}

impl Ensemble {
    /// Mean and variance of the observed end given `observed` at the first points: the ensemble Kalman update.
    fn conditioned(&self, observed: &[f64]) -> (f64, f64) {
        let count = self.ends.len() as f64;
        let centred = |values: &[f64]| -> (f64, Vec<f64>) {
            let mean = crate::statistics::mean(values);
            (mean, values.iter().map(|value| value - mean).collect())
        };
        let covariance = |a: &[f64], b: &[f64]| crate::linalg::simd::dot(a, b) / count;
        let (mean, ends) = centred(&self.ends);
        let noise = crate::statistics::mean(&self.variances);
        let (means, curves): (Vec<f64>, Vec<Vec<f64>>) =
            self.curves.iter().map(|curve| centred(curve)).unzip();
        let n = observed.len();
        let mut factor: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                let mut row: Vec<f64> = (0..=i).map(|j| covariance(&curves[i], &curves[j])).collect();
                row[i] += noise + 1e-9;
                row
            })
            .collect();
        if cholesky(&mut factor).is_none() {
            return (mean, covariance(&ends, &ends) + noise);
        }
        // with L·Lᵀ = C_FF + R: u = L⁻¹·C_Fm, v = L⁻¹·(y − F̄); the gain is u·v and the variance falls by u·u
        let solved = |mut right: Vec<f64>| {
            solve(&factor, &mut right);
            right
        };
        let u = solved(curves.iter().map(|curve| covariance(curve, &ends)).collect());
        let v = solved(observed.iter().zip(&means).map(|(y, mean)| y - mean).collect());
        let gained: f64 = u.iter().map(|u| u * u).sum();
        let shift: f64 = u.iter().zip(&v).map(|(u, v)| u * v).sum();
        (mean + shift, (covariance(&ends, &ends) - gained).max(0.0) + noise)
    }
}

impl Model for BnnModel {
    fn forecast(&self, query: &Query<'_>) -> Forecast {
        self.samples.forecast(query)
    }

    fn held_out(&self) -> &[Forecast] {
        self.held_out.get_or_init(|| self.bnn.held_out(&self.training))
    }
}

impl Bnn {
    /// The forecast of each training run by a network trained without its fold. Where none can be trained, by the mean and
    /// spread of the other runs' ends.
    fn held_out(&self, training: &TrainingSet) -> Vec<Forecast> {
        let mut order: Vec<usize> = (0..training.len()).collect();
        let content = |i: usize| {
            let query = training.query(i);
            [query.configuration, query.prefix].concat()
        };
        order.sort_by(|&a, &b| by_value(&content(a), &content(b)));
        let fold = |fold: usize| -> Vec<(usize, Forecast)> {
            let in_fold = |place: &usize| place % FOLDS == fold;
            let places = 0..order.len();
            let out: Vec<usize> = places.clone().filter(in_fold).map(|place| order[place]).collect();
            let rest: Vec<usize> = places.filter(|place| !in_fold(place)).map(|place| order[place]).collect();
            let others = training.select(&rest);
            let samples = if rest.len() < FEWEST { None } else { self.sample(&others).ok() };
            let without = Forecast::gaussian(
                crate::statistics::mean(&others.targets),
                crate::statistics::standard_deviation(&others.targets),
            );
            let forecast = |run: usize| {
                samples.as_ref().map_or_else(|| without.clone(), |s| s.forecast(&training.query(run)))
            };
            out.into_iter().map(|run| (run, forecast(run))).collect()
        };
        let mut forecasts: Vec<(usize, Forecast)> = (0..FOLDS).into_par_iter().flat_map_iter(fold).collect();
        forecasts.sort_by_key(|(run, _)| *run);
        forecasts.into_iter().map(|(_, forecast)| forecast).collect()
    }
}

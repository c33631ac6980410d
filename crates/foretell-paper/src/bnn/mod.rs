//! Learning-curve prediction with Bayesian neural networks (LC-Net, Klein et al. 2017), sampled by SGHMC or SGLD.

mod basis;
mod layers;
mod network;
mod rows;
mod sampler;

pub use network::OutputHead;
pub use sampler::{DynamicsOptions, SamplerDynamics};

use basis::TimeTerms;
use foretell::Forecast;
use foretell::PredictorOptions;
use foretell::linalg::cholesky::{cholesky, solve_lower};
use foretell::{FitError, Model, Predictor, check_training};
use foretell::{RunQuery, TrainingSet};
use network::{BasisCurve, NetworkShape};
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rows::{DataScaling, TrainingRows, compare_values};
use std::cell::RefCell;
use std::sync::OnceLock;

/// A Bayesian neural network over configurations and time.
///
/// A network of three layers of tanh maps a configuration to a curve μ(x, t) = μ_∞(x) + Σ_k w_k(x)·φ_k(t; θ(x)) with t = 1 at
/// the end. One noise serves all configurations. The parameters are sampled from their posterior, given one row for each known point of
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
/// Two chains share the samples: O((2·burn-in + samples·every)·m·hidden²) to fit, O(samples·hidden²) to forecast.
///
/// Source: Klein, Falkner, Springenberg & Hutter 2017; with a softmax over the basis functions and one noise for all, as their code has it.
/// A noise for each configuration, as in the paper, explains away the curves that are hard to learn: forecasts get worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bnn {
    /// Curves over time, or a plain network with t as another input.
    pub head: OutputHead,
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
        Self {
            head: OutputHead::Curves,
            hidden: 64,
            batch: 20,
            dynamics: DynamicsOptions::default(),
            seed: 0,
        }
    }
}

impl Bnn {
    /// The network without basis functions: t is an input, scores are standardized.
    #[must_use]
    pub fn without_basis() -> Self {
        Self { head: OutputHead::Plain, hidden: 50, ..Self::default() }
    }

    /// Takes the seed of `options`, and no more posterior draws than it allows: the whole chain is shorter in proportion.
    #[must_use]
    pub fn with_predictor_options(self, options: &PredictorOptions) -> Self {
        let DynamicsOptions { samples, burn_in, keep_every, .. } = self.dynamics;
        let draws = options.draws.map_or(samples, |draws| draws.clamp(1, samples));
        let [burn_in, keep_every] = [burn_in, keep_every].map(|steps| (steps * draws).div_ceil(samples));
        let dynamics = DynamicsOptions { samples: draws, burn_in, keep_every, ..self.dynamics };
        Self { dynamics, seed: options.seed, ..self }
    }
}

/// Folds of the held-out forecasts.
const HELD_OUT_FOLDS: usize = 5;
/// Chains that a fit samples, each from first parameters of its own. They find different explanations of curves that say little, so that spreads are
/// less narrow, and run in parallel.
const CHAINS_PER_FIT: usize = 2;
/// The fewest runs.
const MIN_RUNS: usize = 2;

/// Samples of a network's parameters, and the scaling of what goes in and comes out.
struct PosteriorSamples {
    shape: NetworkShape,
    scaling: DataScaling,
    /// Mean and standard deviation of scaled scores for a plain network; (0, 1) else.
    standard: (f64, f64),
    /// Parameters of the layers in single precision, shape (samples, parameters).
    parameters: Vec<f32>,
    each: usize,
    /// The noise σ² of each sample.
    noise: Vec<f64>,
    /// The unfinished runs it was trained on, sorted: configuration, then prefix.
    known: Vec<Vec<f64>>,
}

struct BnnModel {
    bnn: Bnn,
    samples: PosteriorSamples,
    training: TrainingSet,
    held_out: OnceLock<Vec<Forecast>>,
}

impl Predictor for Bnn {
    fn name(&self) -> &'static str {
        match self.head {
            OutputHead::Curves => "bnn",
            OutputHead::Plain => "bnn-plain",
        }
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), MIN_RUNS, training)?;
        let samples = self.sample_posterior(training)?;
        Ok(Box::new(BnnModel { bnn: *self, samples, training: training.clone(), held_out: OnceLock::new() }))
    }
}

impl Bnn {
    /// The standard deviation of the noise in each posterior sample, in the unit of the scores, shape (samples).
    /// Runs the sampler as [`fit`](Predictor::fit) does.
    ///
    /// # Errors
    /// [`FitError`] as for `fit`.
    pub fn sample_noise(&self, training: &TrainingSet) -> Result<Vec<f64>, FitError> {
        check_training(self.name(), MIN_RUNS, training)?;
        let samples = self.sample_posterior(training)?;
        let (least, largest) = samples.scaling.range;
        let unit = (largest - least) * samples.standard.1;
        Ok(samples.noise.iter().map(|variance| unit * variance.sqrt()).collect())
    }

    fn sample_posterior(&self, training: &TrainingSet) -> Result<PosteriorSamples, FitError> {
        let scaling = DataScaling::new(training);
        let rows = scaling.training_rows(training);
        let standard = match self.head {
            OutputHead::Curves => (0.0, 1.0),
            OutputHead::Plain => {
                let scores: Vec<f64> = rows.points.iter().map(|row| row.2).collect();
                let spread = foretell::statistics::standard_deviation(&scores);
                // equal scores have no spread, and they would otherwise be divided by 0
                (foretell::statistics::mean(&scores), if spread > 0.0 { spread } else { 1.0 })
            }
        };
        let inputs = training.groups.len() + usize::from(self.head == OutputHead::Plain);
        let shape = NetworkShape { inputs, hidden: self.hidden, head: self.head };
        let chains = (0..CHAINS_PER_FIT.min(self.dynamics.samples)).into_par_iter();
        let finite: Vec<Vec<f64>> =
            chains.flat_map_iter(|chain| self.sample_chain(chain, &rows, standard, shape)).collect();
        if finite.is_empty() {
            return Err(FitError::Diverged { predictor: self.name() });
        }
        let each = shape.layer_parameter_count();
        let parameters = finite.iter().flat_map(|theta| theta[..each].iter().map(|&p| p as f32)).collect();
        let noise = finite.iter().map(|theta| theta[each].exp()).collect();
        Ok(PosteriorSamples {
            shape,
            scaling,
            standard,
            parameters,
            each,
            noise,
            known: sorted_unfinished_runs(training),
        })
    }

    /// The finite samples of one chain; the chains share the samples between them.
    fn sample_chain(
        &self,
        chain: usize,
        rows: &TrainingRows,
        standard: (f64, f64),
        shape: NetworkShape,
    ) -> Vec<Vec<f64>> {
        // the chain's number is in the upper half, so that fits with neighboring seeds share no chain
        let seed = self.seed ^ ((chain as u64) << 32);
        let samples = (self.dynamics.samples + chain) / CHAINS_PER_FIT.min(self.dynamics.samples);
        let dynamics = DynamicsOptions { samples, ..self.dynamics };
        let first = shape.sample_initial_parameters(&mut ChaCha8Rng::seed_from_u64(seed));
        let mut batch = shape.new_batch(self.batch);
        let count = rows.points.len();
        let drawn =
            sampler::sample_parameters(first, count, dynamics, seed ^ 0x5eed, |theta, random, slope| {
                for place in 0..self.batch {
                    fill_batch_row(rows, random.random_range(0..count), standard, place, &shape, &mut batch);
                }
                shape.add_gradient(theta, count, &mut batch, slope);
            });
        drawn.into_iter().filter(|theta| theta.iter().all(|p| p.is_finite())).collect()
    }
}

/// Row `row` into place `place` of the batch.
fn fill_batch_row(
    rows: &TrainingRows,
    row: usize,
    (mean, spread): (f64, f64),
    place: usize,
    shape: &NetworkShape,
    batch: &mut network::MiniBatch,
) {
    let (run, t, score) = rows.points[row];
    let configuration = rows.configurations.row(run);
    let inputs = &mut batch.inputs[place * shape.inputs..(place + 1) * shape.inputs];
    inputs[..configuration.len()].copy_from_slice(configuration);
    if shape.head == OutputHead::Plain {
        inputs[configuration.len()] = standard_time(t);
    }
    batch.times[place] = TimeTerms::new(t);
    batch.targets[place] = (score - mean) / spread;
}

/// t in (0, 1], with mean 0 and standard deviation 1 where it is spread evenly.
fn standard_time(t: f64) -> f64 {
    (t - 0.5) * 12_f64.sqrt()
}

/// The unfinished runs of `training`, sorted.
fn sorted_unfinished_runs(training: &TrainingSet) -> Vec<Vec<f64>> {
    let known = (0..training.unfinished_prefixes.row_count())
        .map(|i| [training.unfinished_configurations.row(i), training.unfinished_prefixes.row(i)].concat());
    let mut known: Vec<Vec<f64>> = known.collect();
    known.sort_by(|a, b| compare_values(a, b));
    known
}

/// The forecasts of one run by each sample.
struct SampleForecasts {
    /// The end, by sample.
    ends: Vec<f64>,
    /// The noise σ², the mean of the samples'.
    noise: f64,
    /// The curve at the observed points, shape (points, samples).
    curves: Vec<Vec<f64>>,
}

thread_local! {
    /// Space between layers.
    static SPACE: RefCell<[Vec<f32>; 3]> = RefCell::default();
}

impl PosteriorSamples {
    /// The forecast of a run with `prefix`, on whose points it is conditioned unless the samples know them.
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        let run = [query.configuration, query.prefix].concat();
        let is_known = self.known.binary_search_by(|known| compare_values(known, &run)).is_ok();
        let points = if is_known { 0 } else { query.prefix.len() };
        let x = self.scaling.scale_configuration(query.configuration);
        let ensemble = match self.shape.head {
            OutputHead::Curves => self.forecast_curves(&x, points),
            OutputHead::Plain => self.forecast_plain(&x, points),
        };
        let (mean, spread) = self.standard;
        let observed: Vec<f64> =
            query.prefix[..points].iter().map(|&y| (self.scaling.scale_score(y) - mean) / spread).collect();
        let (end, variance) = ensemble.condition_on(&observed);
        let (least, largest) = self.scaling.range;
        let unit = (largest - least) * spread;
        Forecast::gaussian(least + (largest - least) * mean + unit * end, unit * variance.sqrt())
    }

    fn forecast_curves(&self, x: &[f64], points: usize) -> SampleForecasts {
        let x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        let times: Vec<TimeTerms> = self.scaling.times[..points].iter().map(|&t| TimeTerms::new(t)).collect();
        SPACE.with_borrow_mut(|space| {
            let mut ensemble = SampleForecasts {
                ends: Vec::new(),
                noise: foretell::statistics::mean(&self.noise),
                curves: vec![Vec::new(); points],
            };
            for parameters in self.parameters.chunks_exact(self.each) {
                let curve = BasisCurve::new(&self.shape.outputs_single(parameters, &x, space));
                ensemble.ends.push(curve.asymptote);
                for (at, &time) in ensemble.curves.iter_mut().zip(&times) {
                    at.push(curve.mean(time));
                }
            }
            ensemble
        })
    }

    fn forecast_plain(&self, x: &[f64], points: usize) -> SampleForecasts {
        let mut input: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        input.push(0.0);
        SPACE.with_borrow_mut(|space| {
            let mut outputs = |t: f64| -> Vec<f64> {
                if let Some(last) = input.last_mut() {
                    *last = standard_time(t) as f32;
                }
                let samples = self.parameters.chunks_exact(self.each);
                samples.map(|parameters| self.shape.outputs_single(parameters, &input, space)[0]).collect()
            };
            let ends = outputs(1.0);
            let curves = self.scaling.times[..points].iter().map(|&t| outputs(t)).collect();
            SampleForecasts { ends, noise: foretell::statistics::mean(&self.noise), curves }
        })
    }
}

impl SampleForecasts {
    /// Mean and variance of the observed end given `observed` at the first points: the ensemble Kalman update.
    fn condition_on(&self, observed: &[f64]) -> (f64, f64) {
        let (mean, ends) = center_values(&self.ends);
        let (means, curves): (Vec<f64>, Vec<Vec<f64>>) =
            self.curves.iter().map(|curve| center_values(curve)).unzip();
        let (n, noise) = (observed.len(), self.noise);
        let mut factor: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                let mut row: Vec<f64> = (0..=i).map(|j| mean_product(&curves[i], &curves[j])).collect();
                // a little more than the noise, because the covariance of few draws may not be positive definite
                row[i] += noise + 1e-9;
                row
            })
            .collect();
        // without a factor the observed points go unused, so that there is a forecast still
        if cholesky(&mut factor).is_none() {
            return (mean, mean_product(&ends, &ends) + noise);
        }
        // with L·Lᵀ = C_FF + R: u = L⁻¹·C_Fm, v = L⁻¹·(y − F̄); the gain is u·v and the variance falls by u·u
        let mut u: Vec<f64> = curves.iter().map(|curve| mean_product(curve, &ends)).collect();
        let mut v: Vec<f64> = observed.iter().zip(&means).map(|(y, mean)| y - mean).collect();
        solve_lower(&factor, &mut u);
        solve_lower(&factor, &mut v);
        let gained: f64 = u.iter().map(|u| u * u).sum();
        let shift: f64 = u.iter().zip(&v).map(|(u, v)| u * v).sum();
        // at least 0, because by rounding more may be gained than there is of variance
        (mean + shift, (mean_product(&ends, &ends) - gained).max(0.0) + noise)
    }
}

/// The mean of `values`, and their distances from it.
fn center_values(values: &[f64]) -> (f64, Vec<f64>) {
    let mean = foretell::statistics::mean(values);
    (mean, values.iter().map(|value| value - mean).collect())
}

/// The covariance, if both are centered.
fn mean_product(a: &[f64], b: &[f64]) -> f64 {
    foretell::linalg::simd::dot(a, b) / a.len() as f64
}

impl Model for BnnModel {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
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
        // by content, so that the folds do not depend on the order in which the runs are given
        order.sort_by(|&a, &b| {
            let [a, b] = [a, b].map(|i| training.query(i));
            let [a, b] = [a, b].map(|query| [query.configuration, query.prefix].concat());
            compare_values(&a, &b)
        });
        let folds = (0..HELD_OUT_FOLDS).into_par_iter();
        let mut forecasts: Vec<(usize, Forecast)> =
            folds.flat_map_iter(|fold| self.forecast_fold(training, &order, fold)).collect();
        forecasts.sort_by_key(|(run, _)| *run);
        forecasts.into_iter().map(|(_, forecast)| forecast).collect()
    }

    /// The runs of one fold, every so many of `order`, and their forecasts.
    fn forecast_fold(&self, training: &TrainingSet, order: &[usize], fold: usize) -> Vec<(usize, Forecast)> {
        let out = order.iter().skip(fold).step_by(HELD_OUT_FOLDS);
        let rest = order.iter().enumerate().filter(|(place, _)| place % HELD_OUT_FOLDS != fold);
        let rest: Vec<usize> = rest.map(|(_, run)| *run).collect();
        let others = training.select_runs(&rest);
        let samples = if rest.len() < MIN_RUNS { None } else { self.sample_posterior(&others).ok() };
        let without = Forecast::gaussian(
            foretell::statistics::mean(&others.targets),
            foretell::statistics::standard_deviation(&others.targets),
        );
        let forecasts = out.map(|&run| match &samples {
            Some(samples) => (run, samples.forecast(&training.query(run))),
            None => (run, without.clone()),
        });
        forecasts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell::FeatureGroup;
    use foretell::Matrix;
    use network::BasisCurve;
    use sampler::NormalDraws;

    const RUNS: usize = 120;
    const FINISHED: usize = 60;
    const EPOCHS: usize = 40;
    const SEEN: usize = 10;

    /// Curves of the model itself: the head's 19 outputs are smooth functions of two hyperparameters; noise of 1 %.
    fn made_up(seed: u64) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
        let mut normals = NormalDraws::new(RUNS * (EPOCHS + 2));
        normals.draw_values(&mut ChaCha8Rng::seed_from_u64(seed));
        let mut drawn = normals.values.iter();
        let mut normal = || drawn.next().copied().unwrap_or(0.0);
        let runs = (0..RUNS).map(|_| {
            let (a, b) = (normal(), normal());
            let mut outputs: Vec<f64> = (0..19).map(|j| 1.5 * (f64::from(j) + a + 0.5 * b).sin()).collect();
            outputs[18] = 0.8 + 0.7 * a - 0.4 * b;
            let curve = BasisCurve::new(&outputs);
            let times = (1..=EPOCHS).map(|epoch| TimeTerms::new(epoch as f64 / EPOCHS as f64));
            (vec![a, b], times.map(|time| curve.mean(time) + 0.01 * normal()).collect())
        });
        runs.unzip()
    }

    fn training(configurations: &[Vec<f64>], curves: &[Vec<f64>]) -> TrainingSet {
        TrainingSet {
            steps: (1..=SEEN).map(|t| t as f64).collect(),
            target_step: EPOCHS as f64,
            prefixes: Matrix::from_fn(FINISHED, SEEN, |i, t| curves[i][t]),
            configurations: Matrix::from_rows(&configurations[..FINISHED]),
            groups: vec![FeatureGroup::Hyperparameter; 2],
            targets: curves[..FINISHED].iter().map(|curve| curve[EPOCHS - 1]).collect(),
            ceiling: Some(1.0),
            later_steps: (SEEN + 1..EPOCHS).map(|t| t as f64).collect(),
            later_scores: Matrix::from_fn(FINISHED, EPOCHS - 1 - SEEN, |i, t| curves[i][SEEN + t]),
            unfinished_prefixes: Matrix::from_fn(RUNS - FINISHED, SEEN, |i, t| curves[FINISHED + i][t]),
            unfinished_configurations: Matrix::from_rows(&configurations[FINISHED..]),
            ..TrainingSet::default()
        }
    }

    #[test]
    fn forecasts_of_curves_of_its_own_kind_are_close_and_calibrated() {
        for seed in 0..2 {
            let (configurations, curves) = made_up(seed);
            let model = Bnn { seed, ..Bnn::default() }.fit(&training(&configurations, &curves)).unwrap();
            let ends: Vec<f64> = curves[FINISHED..].iter().map(|curve| curve[EPOCHS - 1]).collect();
            let forecasts: Vec<Forecast> = (FINISHED..RUNS)
                .map(|i| {
                    model
                        .forecast(&RunQuery { prefix: &curves[i][..SEEN], configuration: &configurations[i] })
                })
                .collect();
            let errors: Vec<f64> = ends.iter().zip(&forecasts).map(|(y, f)| y - f.mean).collect();
            let squares: f64 = errors.iter().map(|error| error * error).sum();
            let r2 =
                1.0 - squares / foretell::statistics::standard_deviation(&ends).powi(2) / ends.len() as f64;
            assert!(r2 > 0.95, "seed {seed}: R² {r2}");
            let within =
                errors.iter().zip(&forecasts).filter(|(e, f)| e.abs() < 1.6449 * f.standard_deviation());
            let share = within.count() as f64 / ends.len() as f64;
            assert!(share > 0.75, "seed {seed}: {share} of the ends in the 90 % intervals");
        }
    }
}

//! The spread of forecasts: the paper's Gaussian σ(τ), or one calibrated for each run from held-out residuals.

use crate::forecast::{Forecast, Shape};
use crate::predictor::{FitError, Model, Predictor, leave_one_out_sigma};
use crate::statistics::normal_cdf;
use crate::training::{Query, TrainingSet};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::sync::Arc;

/// How sure a forecast is said to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// The paper's: Gaussian, with σ(τ) the root mean square of held-out residuals, the same for every run.
    Gaussian,
    /// Calibrated for each run: see [`WithSpread`].
    #[default]
    Calibrated,
}

/// A predictor whose forecasts keep their means and get another spread, learnt from its held-out forecasts.
///
/// [`Spread::Gaussian`] is the paper's σ(τ). [`Spread::Calibrated`] says of a run with mean ŷ and own scale u (a Gaussian
/// process has one for each run, most predictors one for all) that the p-quantile of y_T is
///
/// ŷ + s · (1 + 4/n) · [(1 − w)·k·t_ν(p) + w·c_p],  s = u · local(ŷ)
///
/// | symbol | meaning |
/// |---|---|
/// | local(ŷ) | √(π/2) × kernel mean of abs(residual)/u over finished runs of like forecast: Gaussian in forecast rank, width max(10, n/5)/2, and a mass of 8 on the mean of all |
/// | r_i | residual_i / s_i, each with a local factor that leaves itself out |
/// | k, ν | scale and degrees of freedom of the t distribution most likely to give the r_i |
/// | c_p | conformal quantile of the r_i: the ⌈p(n + 1)⌉-th; beyond the sample its extreme and 15 % of that's distance from the median |
/// | w | n/(n + 50) |
///
/// O(n²) beside the fit of the predictor, O(log n) beside its forecasts. Sources: Baker et al. 2017, §4 (Gaussian);
/// Vovk, Gammerman & Shafer, *Algorithmic Learning in a Random World*, 2005 (conformal quantiles).
pub struct WithSpread {
    /// The predictor that gives means and scales.
    pub predictor: Box<dyn Predictor>,
    /// The spread.
    pub spread: Spread,
    /// The name it goes by.
    pub name: &'static str,
}

impl Predictor for WithSpread {
    fn name(&self) -> &'static str {
        self.name
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        let model = self.predictor.fit(training)?;
        let held_out = model.held_out();
        let calibration = match self.spread {
            Spread::Gaussian => Calibration::gaussian(held_out, &training.targets),
            Spread::Calibrated => Calibration::calibrated(held_out, &training.targets),
        };
        let held_out = calibration.held_out.clone();
        Ok(Box::new(SpreadModel { model, calibration, held_out }))
    }
}

struct SpreadModel {
    model: Box<dyn Model>,
    calibration: Calibration,
    held_out: Vec<Forecast>,
}

impl Model for SpreadModel {
    fn forecast(&self, query: &Query<'_>) -> Forecast {
        self.calibration.apply(&self.model.forecast(query))
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

/// What held-out residuals say about spread.
struct Calibration {
    /// Held-out forecast means, increasing, and the local factor at each; empty for one σ for all.
    ranks: Vec<(f64, f64)>,
    /// σ(τ), where `ranks` is empty.
    sigma: f64,
    shape: Shape,
    held_out: Vec<Forecast>,
}

/// √(π/2): the standard deviation of a normal distribution over its mean absolute value.
const SD_OF_MEAN_ABSOLUTE: f64 = 1.253_314_137_315_5;
/// Mass of the overall mean in the local one.
const PRIOR_MASS: f64 = 8.0;
/// n at which conformal quantiles weigh as much as the t distribution.
const HALF_CONFORMAL: f64 = 50.0;
/// Degrees of freedom that are tried.
const FREEDOMS: [f64; 9] = [1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0, 60.0];

impl Calibration {
    fn gaussian(held_out: &[Forecast], targets: &[f64]) -> Self {
        let means: Vec<f64> = held_out.iter().map(|f| f.mean).collect();
        let sigma = leave_one_out_sigma(&means, targets);
        let held_out = means.iter().map(|&mean| Forecast::gaussian(mean, sigma)).collect();
        Self { ranks: Vec::new(), sigma, shape: Shape::Gaussian, held_out }
    }

    fn calibrated(held_out: &[Forecast], targets: &[f64]) -> Self {
        let n = targets.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| {
            held_out[a].mean.total_cmp(&held_out[b].mean).then(targets[a].total_cmp(&targets[b]))
        });
        let floor = smallest_scale(targets);
        let scale = |f: &Forecast| f.standard_deviation().max(floor);
        let ratios: Vec<f64> =
            order.iter().map(|&i| (targets[i] - held_out[i].mean) / scale(&held_out[i])).collect();
        let factors = local_factors(&ratios);
        let residuals: Vec<f64> = ratios.iter().zip(&factors).map(|(r, (_, without))| r / without).collect();
        let shape = Shape::Quantiles(knots(&residuals));
        let mut calibrated = held_out.to_vec();
        for (&i, (_, without)) in order.iter().zip(&factors) {
            calibrated[i].scale = scale(&held_out[i]) * without;
            calibrated[i].shape = shape.clone();
        }
        let ranks = order.iter().zip(&factors).map(|(&i, &(all, _))| (held_out[i].mean, all)).collect();
        Self { ranks, sigma: floor, shape, held_out: calibrated }
    }

    fn apply(&self, forecast: &Forecast) -> Forecast {
        let scale = match self.ranks.is_empty() {
            true => self.sigma,
            false => forecast.standard_deviation().max(self.sigma) * self.local(forecast.mean),
        };
        Forecast { mean: forecast.mean, scale, shape: self.shape.clone() }
    }

    /// The local factor at a forecast mean, straight lines between held-out ones.
    fn local(&self, mean: f64) -> f64 {
        let right = self.ranks.partition_point(|rank| rank.0 < mean);
        if right == 0 || right == self.ranks.len() {
            return self.ranks[right.min(self.ranks.len() - 1)].1;
        }
        let ((x0, y0), (x1, y1)) = (self.ranks[right - 1], self.ranks[right]);
        y0 + (y1 - y0) * ((mean - x0) / (x1 - x0)).clamp(0.0, 1.0)
    }
}

/// Less than this is rounding: scales are kept above it so that residuals over scales stay finite.
fn smallest_scale(targets: &[f64]) -> f64 {
    let largest = targets.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
    1e-9 * largest.max(1e-290)
}

/// For each of the ratios residual/scale, in order of forecast: (local factor, local factor that leaves the ratio out).
fn local_factors(ratios: &[f64]) -> Vec<(f64, f64)> {
    let n = ratios.len() as f64;
    let width = (n / 5.0).max(10.0) / 2.0;
    let weights: Vec<f64> = (0..ratios.len()).map(|k| (-0.5 * (k as f64 / width).powi(2)).exp()).collect();
    let total: f64 = ratios.iter().map(|r| r.abs()).sum();
    let factor = |i: usize| {
        let (mut sum, mut mass) = (0.0, 0.0);
        for (j, ratio) in ratios.iter().enumerate() {
            let weight = weights[i.abs_diff(j)];
            sum += weight * ratio.abs();
            mass += weight;
        }
        let own = ratios[i].abs();
        let all = (sum + PRIOR_MASS * total / n) / (mass + PRIOR_MASS);
        let without =
            (sum - own + PRIOR_MASS * (total - own) / (n - 1.0).max(1.0)) / (mass - 1.0 + PRIOR_MASS);
        let positive = |factor: f64| (SD_OF_MEAN_ABSOLUTE * factor).max(1e-9);
        (positive(all), positive(without))
    };
    (0..ratios.len()).map(factor).collect()
}

/// The quantiles of standardised residuals as knots (Φ⁻¹(p), quantile), see [`WithSpread`].
fn knots(residuals: &[f64]) -> Arc<[(f64, f64)]> {
    let mut sorted = residuals.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let (scale, freedom) = likeliest_t(&sorted);
    let student = StudentsT::new(0.0, 1.0, freedom).ok();
    let weight = n / (n + HALF_CONFORMAL);
    let mut knots: Vec<(f64, f64)> = (-18..=18)
        .map(|k| f64::from(k) * 0.25)
        .map(|z| {
            let tail = student.as_ref().map_or(z, |t| -t.inverse_cdf(normal_cdf(-z.abs()))).copysign(z);
            let parametric = scale * if z.abs() > 0.0 { tail } else { 0.0 };
            (z, (1.0 + 4.0 / n) * ((1.0 - weight) * parametric + weight * conformal(&sorted, z)))
        })
        .collect();
    for k in 1..knots.len() {
        knots[k].1 = knots[k].1.max(knots[k - 1].1 + 1e-9);
    }
    knots.into()
}

/// The conformal quantile of `sorted` residuals at p = Φ(z): the ⌈p(n + 1)⌉-th from below, for p < ½ the same from above.
fn conformal(sorted: &[f64], z: f64) -> f64 {
    let n = sorted.len();
    let median = crate::statistics::quantile_of_sorted(sorted, 0.5);
    let beyond = |extreme: f64| extreme + 0.15 * (extreme - median);
    let rank = (normal_cdf(z.abs()) * (n as f64 + 1.0)).ceil() as usize;
    match (z >= 0.0, rank > n) {
        (true, true) => beyond(sorted[n - 1]),
        (true, false) => sorted[rank - 1],
        (false, true) => beyond(sorted[0]),
        (false, false) => sorted[n - rank],
    }
}

/// The scale and degrees of freedom (among [`FREEDOMS`]) of the centred t distribution most likely to give `residuals`.
fn likeliest_t(residuals: &[f64]) -> (f64, f64) {
    let n = residuals.len() as f64;
    let start = (residuals.iter().map(|r| r * r).sum::<f64>() / n).sqrt().max(1e-9);
    let mut best = (f64::NEG_INFINITY, start, 60.0);
    for freedom in FREEDOMS {
        let mut square = start * start;
        for _ in 0..40 {
            let pull = |r: &f64| (freedom + 1.0) * r * r / (freedom + r * r / square);
            square = (residuals.iter().map(pull).sum::<f64>() / n).max(1e-18);
        }
        let penalty = |r: &f64| (freedom + 1.0) / 2.0 * (r * r / (square * freedom)).ln_1p();
        let constant = statrs::function::gamma::ln_gamma((freedom + 1.0) / 2.0)
            - statrs::function::gamma::ln_gamma(freedom / 2.0)
            - 0.5 * (freedom * square).ln();
        let likelihood = n * constant - residuals.iter().map(penalty).sum::<f64>();
        if likelihood > best.0 {
            best = (likelihood, square.sqrt(), freedom);
        }
    }
    (best.1, best.2)
}

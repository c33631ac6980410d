//! The spread of forecasts: the paper's Gaussian σ(τ), or one calibrated for each run from held-out residuals.
//!
//! One σ(τ) for all runs has central intervals that are too wide, and an upper tail that is too thin among the truly best tenth. Held-out
//! residuals come from a fit that was chosen by them, 23 % too small from 10 runs: every quantile grows by 2.5/n.

use crate::curves::training::{RunQuery, TrainingSet};
use crate::predict::forecast::{Forecast, ForecastShape};
use crate::predict::predictor::{FitError, Model, Predictor, leave_one_out_sigma};
use crate::statistics::normal_cdf;
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::sync::Arc;

/// The source of the standard deviation of forecasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpreadSource {
    /// The paper's: Gaussian, with σ(τ) the root mean square of held-out residuals, the same for every run.
    Gaussian,
    /// Calibrated for each run: see [`WithSpread`].
    #[default]
    Calibrated,
}

/// A predictor whose forecasts keep their means, but get a standard deviation from its held-out forecasts.
///
/// [`SpreadSource::Gaussian`] is the paper's σ(τ). [`SpreadSource::Calibrated`] says of a run with mean ŷ and own scale u (a Gaussian
/// process has one for each run, most predictors one for all) that the p-quantile of y_T, z = Φ⁻¹(p), is
///
/// ŷ + s · (1 + 2.5/n) · [(1 − w)·k·t_ν(p') + w·c_p'],  s = u · local(ŷ),  w = m/(m + 10)
///
/// | symbol | meaning |
/// |---|---|
/// | local(ŷ) | √(π/2) × kernel mean of abs(residual)/u over completed runs of like forecast: Gaussian in forecast rank, width max(10, n/5)/2, and a mass of 16 on the mean of all |
/// | r_i | residual_i / s_i, each with a local factor that leaves itself out |
/// | k, ν | scale and degrees of freedom of the t distribution most likely to give the r_i |
/// | c_p | conformal quantile of the r_i: the p(n + 1)-th, straight lines between |
/// | m | how many residuals are expected beyond: n·min(p', 1 − p'); far out, where there is none, the t distribution decides |
/// | p' | p from 0.1 to 0.9; from 0.95 on 1 − p' = 0.2·e·(1 − p), e = n/30 between ⅓ and 1; up to 0.05 p' = 1.5·p; between, the factors are straight lines in z |
///
/// p' is what the best runs need: a run is among the best partly because it ends above its forecast, so a bound that holds
/// for 95 % of all runs holds for only 80–90 % of the truly best tenth, and those are the ones that a stop rule must not
/// lose. With p' it holds for more than 90 % of them (and for 97–98 % of all). Below, p' gives some of that width back, so
/// that central intervals stay near their nominal probability.
///
/// Held-out residuals are of forecasts whose hyperparameters and weights were chosen on those very runs: new ones are larger,
/// by a quarter at 10 runs, a tenth at 30 and a twentieth at 100 (medians over nine sets of real curves). That is what 2.5/n
/// makes up for, as far as t_ν and c_p do not; e, because from few runs the best are forecast worse than others.
///
/// O(n²) in addition to the fit of the predictor, O(log n) in addition to its forecasts. Sources: Baker et al. 2017, §4 (Gaussian);
/// Vovk, Gammerman & Shafer, *Algorithmic Learning in a Random World*, 2005 (conformal quantiles).
///
/// ```
/// use foretell::{LastValue, Matrix, Predictor, RunQuery, SpreadSource, TrainingSet, WithSpread};
/// // the last value never errs by more than 0.1, always downwards
/// let training = TrainingSet {
///     steps: vec![1.0],
///     target_step: 2.0,
///     prefixes: Matrix::from_fn(50, 1, |i, _| i as f64),
///     targets: (0..50).map(|i| f64::from(i) + 0.1 * f64::from(i % 11) / 10.0).collect(),
///     ..TrainingSet::default()
/// };
/// let fit = |spread| {
///     let predictor = WithSpread { predictor: Box::new(LastValue), spread, name: "mine" };
///     predictor.fit(&training).map(|model| model.forecast(&RunQuery { prefix: &[7.0], configuration: &[] }))
/// };
/// // a Gaussian is symmetric; held-out residuals are not
/// assert!(fit(SpreadSource::Gaussian)?.quantile(0.1) < 6.95);
/// assert!(fit(SpreadSource::Calibrated)?.quantile(0.1) > 6.95);
/// # Ok::<(), foretell::FitError>(())
/// ```
pub struct WithSpread {
    /// The predictor that gives means and scales.
    pub predictor: Box<dyn Predictor>,
    /// The spread.
    pub spread: SpreadSource,
    /// The name it goes by.
    pub name: &'static str,
}

impl Predictor for WithSpread {
    fn name(&self) -> &'static str {
        self.name
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        Ok(with_spread(self.predictor.fit(training)?, &training.targets, self.spread))
    }
}

/// `model`, fitted on runs with final scores `targets`, with another spread.
pub(crate) fn with_spread(model: Box<dyn Model>, targets: &[f64], spread: SpreadSource) -> Box<dyn Model> {
    let (calibration, held_out) = match spread {
        SpreadSource::Gaussian => SpreadCalibration::gaussian(model.held_out(), targets),
        SpreadSource::Calibrated => SpreadCalibration::fit_calibrated(model.held_out(), targets),
    };
    Box::new(SpreadModel { model, calibration, held_out })
}

struct SpreadModel {
    model: Box<dyn Model>,
    calibration: SpreadCalibration,
    held_out: Vec<Forecast>,
}

impl Model for SpreadModel {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        self.calibration.apply(&self.model.forecast(query))
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

/// The spread that held-out residuals show.
struct SpreadCalibration {
    /// Held-out forecast means, increasing, and the local factor at each; empty for one σ for all.
    ranks: Vec<(f64, f64)>,
    /// σ(τ), where `ranks` is empty.
    sigma: f64,
    shape: ForecastShape,
}

/// √(π/2): the standard deviation of a normal distribution over its mean absolute value.
const SD_OF_MEAN_ABSOLUTE: f64 = 1.253_314_137_315_5;
/// Mass of the overall mean in the local one.
const PRIOR_MASS: f64 = 16.0;
/// With so many residuals expected beyond it, a conformal quantile weighs as much as that of the t distribution.
const EQUAL_WEIGHT_RESIDUALS: f64 = 10.0;
/// The share of the probability beyond the upper 95 % quantile that is left beyond the one that is given, from `FULL_TAIL_RUNS` runs on.
const UPPER_TAIL_FRACTION: f64 = 0.2;
/// From fewer runs the share is less, in proportion, down to a third.
const FULL_TAIL_RUNS: f64 = 30.0;
/// The factor of the probability below the lower 5 % quantile: central intervals, which the upper tail widens, lose some of that below.
const LOWER_TAIL_FACTOR: f64 = 1.5;
/// The number of runs' worth of residuals that the choice of hyperparameters and weights hides: quantiles grow by this over n.
const HIDDEN_RUNS: f64 = 2.5;
/// Degrees of freedom that are tried: from 3 on there is a standard deviation.
const FREEDOM_GRID: [f64; 7] = [3.0, 4.0, 6.0, 8.0, 12.0, 20.0, 60.0];

impl SpreadCalibration {
    /// One σ for all, and the held-out forecasts with it.
    fn gaussian(held_out: &[Forecast], targets: &[f64]) -> (Self, Vec<Forecast>) {
        let means: Vec<f64> = held_out.iter().map(|f| f.mean).collect();
        let sigma = leave_one_out_sigma(&means, targets);
        let held_out = means.iter().map(|&mean| Forecast::gaussian(mean, sigma)).collect();
        (Self { ranks: Vec::new(), sigma, shape: ForecastShape::Gaussian }, held_out)
    }

    /// A scale for each run, and the held-out forecasts with theirs.
    fn fit_calibrated(held_out: &[Forecast], targets: &[f64]) -> (Self, Vec<Forecast>) {
        let n = targets.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| {
            // equal forecasts are sorted by their targets, because the order in which runs are listed must not matter
            held_out[a].mean.total_cmp(&held_out[b].mean).then(targets[a].total_cmp(&targets[b]))
        });
        let floor = smallest_scale(targets);
        let ratios: Vec<f64> = order
            .iter()
            .map(|&i| (targets[i] - held_out[i].mean) / held_out[i].standard_deviation().max(floor))
            .collect();
        let factors = local_factors(&ratios);
        let residuals: Vec<f64> = ratios.iter().zip(&factors).map(|(r, (_, without))| r / without).collect();
        let shape = ForecastShape::Quantiles(knots(&residuals));
        let mut calibrated = held_out.to_vec();
        for (&i, (_, without)) in order.iter().zip(&factors) {
            calibrated[i].scale = held_out[i].standard_deviation().max(floor) * without;
            calibrated[i].shape = shape.clone();
        }
        let ranks = order.iter().zip(&factors).map(|(&i, &(all, _))| (held_out[i].mean, all)).collect();
        (Self { ranks, sigma: floor, shape }, calibrated)
    }

    fn apply(&self, forecast: &Forecast) -> Forecast {
        let scale = match self.ranks.is_empty() {
            true => self.sigma,
            false => forecast.standard_deviation().max(self.sigma) * self.local_factor(forecast.mean),
        };
        Forecast { scale, shape: self.shape.clone(), ..forecast.clone() }
    }

    /// The local factor at a forecast mean, straight lines between held-out ones.
    fn local_factor(&self, mean: f64) -> f64 {
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
    let factors = (0..ratios.len()).map(|i| {
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
        [all, without].map(|factor| (SD_OF_MEAN_ABSOLUTE * factor).max(1e-9)).into()
    });
    factors.collect()
}

/// The quantiles of standardized residuals as knots (Φ⁻¹(p), quantile), see [`WithSpread`].
fn knots(residuals: &[f64]) -> Arc<[(f64, f64)]> {
    let mut sorted = residuals.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let (scale, freedom) = likeliest_t(&sorted);
    let student = StudentsT::new(0.0, 1.0, freedom).ok();
    let knots = (-36..=36).map(|k| f64::from(k) / 8.0).map(|z| {
        let tail = tail_beyond(z, n);
        let weight = n * tail / (n * tail + EQUAL_WEIGHT_RESIDUALS);
        let parametric = student.as_ref().map_or(z, |t| (-t.inverse_cdf(tail)).copysign(z));
        let mixed =
            (1.0 - weight) * scale * parametric + weight * conformal_quantile(&sorted, tail, z >= 0.0);
        (z, (1.0 + HIDDEN_RUNS / n) * mixed)
    });
    let mut knots: Vec<(f64, f64)> = knots.collect();
    // knots must increase, because probabilities are read off them the other way round
    for k in 1..knots.len() {
        knots[k].1 = knots[k].1.max(knots[k - 1].1 + 1e-9);
    }
    knots.into()
}

/// The probability that is left beyond z (below it for z < 0), 1 − p' in the upper tail, after n runs: see [`WithSpread`].
fn tail_beyond(z: f64, n: f64) -> f64 {
    let (p90, p95) = (1.281_551_565_545, 1.644_853_626_951); // Φ⁻¹
    let far = ((z.abs() - p90) / (p95 - p90)).clamp(0.0, 1.0);
    let stretch = if z > 0.0 {
        UPPER_TAIL_FRACTION * (n / FULL_TAIL_RUNS).clamp(1.0 / 3.0, 1.0)
    } else {
        LOWER_TAIL_FACTOR
    };
    normal_cdf(-z.abs()) * (1.0 + (stretch - 1.0) * far)
}

/// The conformal quantile of `sorted` residuals with probability `tail` beyond it: above it where `upper`, else below.
fn conformal_quantile(sorted: &[f64], tail: f64, upper: bool) -> f64 {
    let n = sorted.len();
    let place = ((1.0 - tail) * (n as f64 + 1.0) - 1.0).max(0.0);
    let rank = (place as usize).min(n - 1);
    let [below, above] =
        [rank, (rank + 1).min(n - 1)].map(|k| if upper { sorted[k] } else { sorted[n - 1 - k] });
    below + (above - below) * (place - rank as f64).min(1.0)
}

/// The scale and degrees of freedom (among [`FREEDOM_GRID`]) of the centered t distribution most likely to give `residuals`.
fn likeliest_t(residuals: &[f64]) -> (f64, f64) {
    let n = residuals.len() as f64;
    let start = (residuals.iter().map(|r| r * r).sum::<f64>() / n).sqrt().max(1e-9);
    let mut best = (f64::NEG_INFINITY, start, 60.0);
    for freedom in FREEDOM_GRID {
        let mut square = start * start;
        for _ in 0..40 {
            let pulls = residuals.iter().map(|r| (freedom + 1.0) * r * r / (freedom + r * r / square));
            square = (pulls.sum::<f64>() / n).max(1e-18);
        }
        let penalties =
            residuals.iter().map(|r| (freedom + 1.0) / 2.0 * (r * r / (square * freedom)).ln_1p());
        let constant = statrs::function::gamma::ln_gamma((freedom + 1.0) / 2.0)
            - statrs::function::gamma::ln_gamma(freedom / 2.0)
            - 0.5 * (freedom * square).ln();
        let likelihood = n * constant - penalties.sum::<f64>();
        if likelihood > best.0 {
            best = (likelihood, square.sqrt(), freedom);
        }
    }
    (best.1, best.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::normal_quantile;

    /// n held-out forecasts whose residuals are quantiles of a Gaussian with standard deviation `sd(forecast)`.
    fn made_up_forecasts(n: usize, sd: impl Fn(f64) -> f64) -> (Vec<Forecast>, Vec<f64>) {
        let mean = |i: usize| ((i * 37) % n) as f64 / n as f64;
        let held_out = (0..n).map(|i| Forecast::gaussian(mean(i), 0.1)).collect();
        let noise = |i: usize| normal_quantile((i as f64 + 0.5) / n as f64);
        (held_out, (0..n).map(|i| mean(i) + sd(mean(i)) * noise(i)).collect())
    }

    #[test]
    fn gaussian_residuals_get_their_own_quantiles_and_a_wider_upper_tail() {
        let (held_out, targets) = made_up_forecasts(200, |_| 0.3);
        let (calibration, _) = SpreadCalibration::fit_calibrated(&held_out, &targets);
        let forecast = calibration.apply(&Forecast::gaussian(0.5, 0.1));
        let cases = [(0.05, -1.645), (0.25, -0.674), (0.5, 0.0), (0.75, 0.674), (0.95, 2.241), (0.99, 2.748)];
        for (p, z) in cases {
            let got = (forecast.quantile(p) - 0.5) / 0.3;
            assert!((got - z).abs() < 0.12 + 0.06 * z * z, "p = {p}: {got} for {z}");
        }
    }

    #[test]
    fn the_scale_follows_where_residuals_are_large() {
        let (held_out, targets) = made_up_forecasts(200, |mean| if mean < 0.5 { 0.4 } else { 0.1 });
        let (calibration, _) = SpreadCalibration::fit_calibrated(&held_out, &targets);
        let width = |mean: f64| {
            let forecast = calibration.apply(&Forecast::gaussian(mean, 0.1));
            forecast.quantile(0.9) - forecast.quantile(0.1)
        };
        assert!(width(0.1) > 2.5 * width(0.9), "{} {}", width(0.1), width(0.9));
    }

    #[test]
    fn the_same_residuals_from_fewer_runs_make_wider_intervals() {
        let width = |copies: usize| {
            let one = (0..10).map(|i| normal_quantile((f64::from(i) + 0.5) / 10.0));
            let residuals: Vec<f64> = one.cycle().take(10 * copies).collect();
            let forecast = Forecast {
                shape: ForecastShape::Quantiles(knots(&residuals)),
                ..Forecast::gaussian(0.0, 1.0)
            };
            forecast.quantile(0.95) - forecast.quantile(0.05)
        };
        assert!(width(1) > 1.2 * width(20), "{} {}", width(1), width(20));
    }

    #[test]
    fn from_few_runs_the_upper_bound_is_stretched_farther_and_never_falls() {
        // Φ⁻¹ of 0.95 and 0.99: 0.2·⅓·0.05 and 0.2·⅓·0.01 are left beyond from 10 runs, three times that from 30 on
        for (n, at_95, at_99) in
            [(3.0, 0.01 / 3.0, 0.002 / 3.0), (10.0, 0.01 / 3.0, 0.002 / 3.0), (30.0, 0.01, 0.002)]
        {
            assert!((tail_beyond(1.644_853_626_951, n) - at_95).abs() < 1e-9, "{n} runs at 95 %");
            assert!((tail_beyond(2.326_347_874_041, n) - at_99).abs() < 1e-9, "{n} runs at 99 %");
            let tails: Vec<f64> = (0..400).map(|k| tail_beyond(f64::from(k) / 100.0, n)).collect();
            assert!(tails.is_sorted_by(|a, b| a >= b), "{n} runs: {tails:?}");
        }
    }

    #[test]
    fn residuals_of_zero_and_single_runs_give_finite_quantiles() {
        for n in [1, 2, 3, 30] {
            let held_out = vec![Forecast::gaussian(0.5, 0.0); n];
            for spread in [SpreadCalibration::fit_calibrated, SpreadCalibration::gaussian] {
                let (calibration, held_out) = spread(&held_out, &vec![0.5; n]);
                let forecast = calibration.apply(&held_out[0]);
                assert!(
                    forecast.quantile(0.99).is_finite() && forecast.quantile(0.01).is_finite(),
                    "n = {n}"
                );
                assert!((forecast.quantile(0.99) - 0.5).abs() < 1e-6, "n = {n}");
            }
        }
    }
}

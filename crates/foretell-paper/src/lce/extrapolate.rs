//! Learning-curve extrapolation: one curve in, the distribution of its end out.

use super::families::{CurveFamily, EpochColumns};
use super::least_squares::{FittedFamily, ObservedCurve, recency_weights};
use super::options::LceOptions;
use super::posterior::{CombinationPosterior, CombinationPrior, ProperPrior};
use super::sampler::{ChainDiagnostics, sample_ensemble, standard_normal};
use super::start::{self, ExtrapolationProblem};
use crate::epochs::epochs_of;
use foretell::statistics::{mean, normal_cdf, quantile_of_sorted, standard_deviation};
use foretell::{CurveEnd, Forecast, ForecastShape};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

/// Why a curve has no extrapolation.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum NoExtrapolation {
    /// Too few points.
    #[error("extrapolation needs at least {needed} points of a curve, got {got}; wait for more")]
    TooShort {
        /// The number it needs.
        needed: usize,
        /// The number there were.
        got: usize,
    },
    /// A score is not finite.
    #[error("point {point} of the curve is {score}, which is not finite; cut the curve before it")]
    NotFinite {
        /// Place in the curve, from 0.
        point: usize,
        /// The score.
        score: f64,
    },
    /// Steps that do not increase towards the target.
    #[error("steps must increase and end before the target {target}; point {point} is at step {step}")]
    Steps {
        /// The place of the first that does not.
        point: usize,
        /// Step of that point.
        step: f64,
        /// The step asked for.
        target: f64,
    },
    /// The range of scores is empty.
    #[error("the range of scores from {least} to {largest} is empty; name the metric's range")]
    NoRange {
        /// Lower end.
        least: f64,
        /// Upper end.
        largest: f64,
    },
    /// No family fits and has a place in the prior: the curve falls, jumps about or leaves the metric's range.
    #[error(
        "none of {tried} curve families fits: {failed} did not converge, {unbelieved} fall, explain nothing or end outside the metric's range"
    )]
    NoFamily {
        /// Families tried.
        tried: usize,
        /// Those whose fit did not converge.
        failed: usize,
        /// Those whose fit the prior does not admit.
        unbelieved: usize,
    },
}

/// One curve: scores at steps, larger is better.
#[derive(Clone, Copy, Debug)]
pub struct PartialCurve<'a> {
    /// The steps observed, increasing.
    pub steps: &'a [f64],
    /// The scores at them.
    pub scores: &'a [f64],
    /// The step whose score is asked for, after all of them.
    pub target: f64,
    /// The range that is scaled to [0, 1]: the metric's, such as (0, 1) of an accuracy. Scores may leave it.
    pub range: (f64, f64),
}

/// The posterior of a curve's score at the target, in units of the scores.
#[derive(Clone, Debug)]
pub struct Extrapolation {
    /// The mean of f(T).
    pub mean: f64,
    /// The median of f(T): not moved by a few wild samples.
    pub median: f64,
    /// The standard deviation of f(T): what is not known of the curve, without its noise.
    pub standard_deviation: f64,
    /// The mean of σ, the curve's noise.
    pub noise: f64,
    /// The families that were combined.
    pub families: Vec<CurveFamily>,
    /// The diagnostics of the chain.
    pub diagnostics: ChainDiagnostics,
    /// Whether the mean is outside the range: what comparisons have removed as an outlier.
    pub outlier: bool,
    /// The range of scores.
    range: (f64, f64),
    /// (f(T), σ) of each sample kept.
    samples: Vec<[f64; 2]>,
}

/// The samples kept of a chain, evenly spaced.
const MAX_KEPT_SAMPLES: usize = 20_000;
/// Φ⁻¹(p) of the quantiles that a forecast is made of, at most this far out: further are few samples.
const MAX_QUANTILE_DEVIATION: f64 = 3.0;
/// Quantiles a unit of Φ⁻¹(p).
const QUANTILES_PER_DEVIATION: i32 = 4;
/// Scores, scaled, are rounded to this: so that the unit of a metric does not change a chain.
const SCORE_ROUNDING: f64 = 1.0 / 1_099_511_627_776.0; // 2^−40

/// The posterior of the score of `curve` at its target, by [`LceOptions`].
///
/// Each family is fitted by least squares; those that converge and that the prior believes are combined with weights, and
/// parameters, weights and noise are sampled together ([`EnsembleOptions`](super::EnsembleOptions)).
/// Steps are counted in their median spacing, from 1 at the least: epochs 1, 2, 3, … stay what they are.
/// O(steps · walkers · families · points).
///
/// # Errors
/// [`NoExtrapolation`]. Never panics, and takes at most `options.ensemble.steps` steps.
///
/// ```
/// use foretell_paper::lce::{LceOptions, PartialCurve, extrapolate};
/// let steps: Vec<f64> = (1..=15).map(f64::from).collect();
/// let scores: Vec<f64> = steps.iter().map(|x| 0.85 - 0.6 * (-x / 12.0).exp()).collect();
/// let curve = PartialCurve { steps: &steps, scores: &scores, target: 60.0, range: (0.0, 1.0) };
/// let end = extrapolate(&curve, &LceOptions::default(), 0)?;
/// assert!((end.mean - 0.846).abs() < 0.1 && end.standard_deviation < 0.2);
/// # Ok::<(), foretell_paper::lce::NoExtrapolation>(())
/// ```
pub fn extrapolate(
    curve: &PartialCurve<'_>,
    options: &LceOptions,
    seed: u64,
) -> Result<Extrapolation, NoExtrapolation> {
    let left = options.beginning.map(|beginning| {
        let cut = beginning.count_leading_points(curve.scores, curve.range.1 - curve.range.0);
        let (steps, target) = beginning.shift_steps(curve.steps, cut, curve.target);
        (steps, &curve.scores[cut..], target)
    });
    let curve = match &left {
        Some((steps, scores, target)) => &PartialCurve { steps, scores, target: *target, range: curve.range },
        None => curve,
    };
    check_curve(curve, options)?;
    let (least, width) = (curve.range.0, curve.range.1 - curve.range.0);
    let (epochs, horizon) = epochs_of(curve.steps, curve.target);
    let scores = curve
        .scores
        .iter()
        .map(|y| ((y - least) / width / SCORE_ROUNDING).round() * SCORE_ROUNDING)
        .collect();
    let weights = if options.recency { recency_weights(epochs.len()) } else { vec![1.0; epochs.len()] };
    let observed = ObservedCurve { epochs: EpochColumns::new(&epochs), scores, weights };
    let (fits, prior) = fit_families(&observed, &epochs, horizon, options, seed)?;
    let families: Vec<CurveFamily> = fits.iter().map(|fit| fit.family).collect();
    let posterior = CombinationPosterior::new(&observed, &epochs, horizon, &families, &prior);
    let problem = ExtrapolationProblem { observed: &observed, epochs: &epochs, horizon };
    let first = start::first_walkers(&problem, &fits, &prior, options, seed);
    let chain = sample_ensemble(&posterior, &first, options.ensemble, seed);
    let every = chain.kept.len().div_ceil(MAX_KEPT_SAMPLES).max(1);
    let samples: Vec<[f64; 2]> =
        chain.kept.iter().step_by(every).map(|[end, noise]| [least + width * end, width * noise]).collect();
    Ok(Extrapolation::new(samples, families, chain.diagnostics, curve.range))
}

fn check_curve(curve: &PartialCurve<'_>, options: &LceOptions) -> Result<(), NoExtrapolation> {
    let got = curve.scores.len().min(curve.steps.len());
    let needed = options.least_points.max(1);
    if got < needed {
        return Err(NoExtrapolation::TooShort { needed, got });
    }
    if let Some(point) = curve.scores.iter().position(|score| !score.is_finite()) {
        return Err(NoExtrapolation::NotFinite { point, score: curve.scores[point] });
    }
    let target = curve.target;
    let mut steps = curve.steps.iter().zip(curve.steps.iter().skip(1).chain([&target]));
    if let Some(point) = steps.position(|(step, next)| !(step < next && (next - step).is_finite())) {
        return Err(NoExtrapolation::Steps { point, step: curve.steps[point], target });
    }
    let (least, largest) = curve.range;
    let width = largest - least;
    if width > 0.0 && width.is_finite() { Ok(()) } else { Err(NoExtrapolation::NoRange { least, largest }) }
}

/// The fits of the families that are kept, and the prior of their combination.
fn fit_families(
    observed: &ObservedCurve,
    epochs: &[f64],
    horizon: f64,
    options: &LceOptions,
    seed: u64,
) -> Result<(Vec<FittedFamily>, CombinationPrior), NoExtrapolation> {
    let fits = options.families.iter().filter_map(|&family| {
        start::fit_from_starts(observed, family, &family.parameter_bounds(horizon), options, seed)
    });
    let mut kept: Vec<FittedFamily> = fits.collect();
    let failed = options.families.len() - kept.len();
    let converged = kept.len();
    if options.screening {
        kept.retain(|fit| {
            let one = [fit.family];
            let prior = combination_prior(&one, horizon, options);
            let posterior = CombinationPosterior::new(observed, epochs, horizon, &one, &prior);
            posterior.is_admitted(0, &fit.parameters)
                && !(options.proper_prior && explains_nothing(observed, fit))
        });
    }
    if kept.is_empty() {
        let tried = options.families.len();
        return Err(NoExtrapolation::NoFamily { tried, failed, unbelieved: converged });
    }
    let families: Vec<CurveFamily> = kept.iter().map(|fit| fit.family).collect();
    let prior = combination_prior(&families, horizon, options);
    Ok((kept, prior))
}

fn combination_prior(families: &[CurveFamily], horizon: f64, options: &LceOptions) -> CombinationPrior {
    let proper = options.proper_prior.then(|| ProperPrior {
        boxes: families.iter().map(|family| family.parameter_bounds(horizon)).collect(),
        log_noise: (1e-3_f64.ln(), 0.5_f64.ln()),
    });
    CombinationPrior { end: options.end, monotonicity: options.monotonicity, proper }
}

/// Scores that vary by less than this share of the range are flat.
const FLAT_CURVE_FRACTION: f64 = 0.02;
/// A fit that leaves more than this share of the variance explains nothing.
const MAX_UNEXPLAINED_FRACTION: f64 = 0.9;

/// Whether a curve that is not flat is no better fitted than by its mean: it falls, or jumps about.
fn explains_nothing(observed: &ObservedCurve, fit: &FittedFamily) -> bool {
    let spread = standard_deviation(&observed.scores);
    let squares = spread * spread * observed.scores.len() as f64;
    spread > FLAT_CURVE_FRACTION && fit.squares > MAX_UNEXPLAINED_FRACTION * squares
}

impl Extrapolation {
    fn new(
        samples: Vec<[f64; 2]>,
        families: Vec<CurveFamily>,
        diagnostics: ChainDiagnostics,
        range: (f64, f64),
    ) -> Self {
        let mut ends: Vec<f64> = samples.iter().map(|sample| sample[0]).collect();
        let (mean, standard_deviation) = (mean(&ends), standard_deviation(&ends));
        ends.sort_by(f64::total_cmp);
        let noise = samples.iter().map(|sample| sample[1]).sum::<f64>() / samples.len() as f64;
        let outlier = CurveEnd { standard_deviation, range }.is_outside(mean);
        let median = quantile_of_sorted(&ends, 0.5);
        Self { mean, median, standard_deviation, noise, families, diagnostics, outlier, range, samples }
    }

    /// P(y_T > `score`), with the curve's noise: the mean of 1 − Φ((score − f(T))/σ) over the samples.
    pub fn probability_above(&self, score: f64) -> f64 {
        let above = self.samples.iter().map(|[end, noise]| normal_cdf((end - score) / noise));
        above.sum::<f64>() / self.samples.len() as f64
    }

    /// The share of samples with f(T) below `score`: where `score` is the truth, its rank.
    pub fn rank_of(&self, score: f64) -> f64 {
        let below = self.samples.iter().filter(|[end, _]| *end < score).count();
        below as f64 / self.samples.len() as f64
    }

    /// The predictive distribution of y_T, noise included: its mean, and its quantiles out to Φ⁻¹(p) = ±3.
    pub fn forecast(&self) -> Forecast {
        // always the same draws, so that the forecast is the same however often it is asked for
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let every = self.samples.len().div_ceil(MAX_KEPT_SAMPLES / 4).max(1);
        let kept = self.samples.iter().step_by(every);
        let mut scores: Vec<f64> =
            kept.map(|[end, noise]| end + noise * standard_normal(&mut random)).collect();
        scores.sort_by(f64::total_cmp);
        let scale = standard_deviation(&scores);
        let curve_end = Some(CurveEnd { standard_deviation: self.standard_deviation, range: self.range });
        if scale <= 0.0 {
            return Forecast { curve_end, ..Forecast::gaussian(self.mean, 0.0) };
        }
        let knots = (-12..=12).map(|k| {
            let z = MAX_QUANTILE_DEVIATION * f64::from(k) / (3.0 * f64::from(QUANTILES_PER_DEVIATION));
            (z, (quantile_of_sorted(&scores, normal_cdf(z)) - self.mean) / scale)
        });
        let mut knots: Vec<(f64, f64)> = knots.collect();
        // equal samples would otherwise make equal quantiles, and these must ascend
        for k in 1..knots.len() {
            knots[k].1 = knots[k].1.max(knots[k - 1].1 + 1e-9);
        }
        Forecast { mean: self.mean, scale, shape: ForecastShape::Quantiles(knots.into()), curve_end }
    }
}

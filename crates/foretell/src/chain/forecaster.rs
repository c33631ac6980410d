//! The chain itself: curves, the regressions from level to level, and forecasts.

use super::levels::{LevelPrior, chain_levels, priors};
use super::regression::{Regression, Sums};
use super::transformation::{Extent, Transformation};
use crate::statistics::{normal_cdf, normal_quantile};
use std::sync::LazyLock;

/// The rooms ρ that are tried, as fractions of the range.
const ROOMS: [f64; 7] = [0.05, 0.1, 0.2, 0.4, 0.8, 2.0, 6.0];
/// The prior of ln ρ: normal around ln 0.3 with standard deviation 1.
const USUAL_ROOM: f64 = 0.3;
/// Everything is fitted again when the number of points has grown by this factor.
const REFIT: f64 = 1.12;
/// The tail: with probability 1/(20 + completed runs) an end is four times as far from the forecast. Without it the best run was lost in a fifth of
/// the studies however careful the rule was.
const TAIL_RUNS: f64 = 20.0;
const TAIL_WIDTH: f64 = 4.0;
/// Half the width of central intervals, in standard deviations, with the tail of two or three completed runs.
const WIDTH_68: f64 = 1.05;
const WIDTH_80: f64 = 1.36;
const WIDTH_90: f64 = 1.78;
const WIDTH_95: f64 = 2.33;
/// The nodes of the integral over an end.
const NODES: usize = 48;

/// Φ⁻¹((q + ½)/48).
static QUANTILES: LazyLock<[f64; NODES]> =
    LazyLock::new(|| std::array::from_fn(|q| normal_quantile((q as f64 + 0.5) / NODES as f64)));

/// Forecasts where curves end, from every curve there is as far as it goes: completed, running and stopped ones.
///
/// Bayesian linear regressions, one per [level](chain_levels) on all levels below it, of scores that are transformed so that the neighborhood of the best
/// score is spread out. A run that has reached a levels is forecast through the regressions of the levels a + 1 … K, one after another, with the
/// uncertainty of their coefficients.
///
/// Level k, with φ = (1, z_1 − M_1, …, z_{k−1} − M_{k−1}) of each run that reached it:
///
/// Λ = Λ⁰ + Σ φφᵀ,  b = Λ⁻¹(Λ⁰b⁰ + Σ φ z_k),  s² = (d⁰v⁰ + Σ z_k² + b⁰ᵀΛ⁰b⁰ − bᵀΛb)/d,  d = d⁰ + n_k
///
/// Forecast, from φ and C = 0: m_k = bᵀφ,  c = C b,  v_k = bᵀc + s²(1 + φᵀQφ + tr(QC)),  Q = Λ⁻¹; then φ ← (φ, m_k − M_k), C ← [[C, c], [cᵀ, v_k]].
///
/// | symbol | meaning | value |
/// |---|---|---|
/// | y | score, larger is better; a finite number | |
/// | t_1 … t_K | the levels; t_K = T is the end | K ≤ 18 |
/// | z | y on the common scale: see below | |
/// | M_k | mean of z at level k | |
/// | n_k | runs that reached level k | |
/// | b⁰, v⁰ | slopes and residual variance of the prior covariance S | |
/// | Λ⁰ | diag(κ, ν S): prior precision | κ = 0.5 (first level 1e-3), ν = 40 |
/// | d⁰ | runs that the prior variance counts as | 3 |
///
/// S_ij = 1.1²·exp(1.3(u_i + u_j)) + 0.5²·min(|u_i|, |u_j|) + 0.05²·\[i = j\] with u = ln(t/T)/ln 45.
///
/// Scale: z = (w − mean)/sd, w(y) = −ln(max(1e-3, 1 + (top − max(y, floor))/(ρR))), with the mean and standard deviation of all points; top is the best
/// score, R = max(top − f, (top − q)/2) with f the median of the first level and q the lower quartile of all points, floor = min(f, top − R) − 0.3R. ρ is the
/// one of seven values with the largest marginal likelihood in units of the score. The scale is fitted again when the number of points has grown by
/// 12 %; between fits a new point changes one regression.
///
/// A forecast is the distribution (1 − ε)·N(m, s²) + ε·N(m, (4s)²), ε = 1/(20 + completed runs). Which runs were stopped depends only on levels that
/// are in the regressions, so their missing levels need no correction.
///
/// Fit: O(points · K), seven times. A point: O(K³) of one regression. A forecast: O(K³). No random numbers.
///
/// Source: Foretell's own; `docs/research/chain.md` has the measurements. The covariance is a sum of an exponential and a Wiener kernel, and the
/// posterior is the textbook's (Bishop 2006, §3.3).
///
/// ```
/// use foretell::Chain;
/// let mut chain = Chain::new(6); // levels 1, 2, 3, 5 and 6
/// for curve in [[0.30, 0.42, 0.50, 0.58, 0.60], [0.25, 0.33, 0.41, 0.50, 0.52], [0.40, 0.55, 0.63, 0.69, 0.71]] {
///     chain.push(&curve);
/// }
/// let run = chain.push(&[0.35, 0.50, 0.59]);
/// let end = chain.forecast(run).expect("it has points");
/// let (low, high) = chain.interval_80(end);
/// assert!(low < 0.66 && 0.66 < high);
/// ```
#[derive(Clone, Debug)]
pub struct Chain {
    levels: Vec<u64>,
    priors: Vec<LevelPrior>,
    /// The scores of each curve at the levels that it reached; none of a curve that left.
    curves: Vec<Vec<f64>>,
    completed: usize,
    /// Points of the curves that decide when to fit again, and how many there were at the last fit.
    points: usize,
    fitted_at: usize,
    /// The first curve whose points are counted so.
    counted_from: usize,
    fit: Option<Fit>,
}

/// A final value on the chain's own scale: the mean and the standard deviation of its central part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChainEnd {
    /// m.
    pub mean: f64,
    /// s; 0 for a completed run.
    pub sd: f64,
}

/// The scale and regressions of one fit.
#[derive(Clone, Debug)]
struct Fit {
    map: Transformation,
    /// M.
    centers: Vec<f64>,
    /// z of each curve.
    curves: Vec<Vec<f64>>,
    sums: Vec<Sums>,
    regressions: Vec<Regression>,
    /// The marginal likelihood by which the room is chosen.
    evidence: f64,
    /// The forecast of each curve, at its last point or the fit.
    ends: Vec<Option<ChainEnd>>,
}

impl Chain {
    /// A chain of trainings of so many `epochs`, without curves.
    pub fn new(epochs: u64) -> Self {
        let levels = chain_levels(epochs);
        Self {
            priors: priors(&levels),
            levels,
            curves: Vec::new(),
            completed: 0,
            points: 0,
            fitted_at: 0,
            counted_from: 0,
            fit: None,
        }
    }

    /// Only the points of curves that are added from here on decide when the scale is fitted again.
    pub(super) fn count_from_here(&mut self) {
        (self.counted_from, self.points, self.fitted_at) = (self.curves.len(), 0, 0);
    }

    /// The epochs of the levels.
    pub fn levels(&self) -> &[u64] {
        &self.levels
    }

    /// The number of curves.
    pub fn len(&self) -> usize {
        self.curves.len()
    }

    /// Whether there is no curve.
    pub fn is_empty(&self) -> bool {
        self.curves.is_empty()
    }

    /// The number of levels that `curve` has reached.
    pub fn reached(&self, curve: usize) -> usize {
        self.curves[curve].len()
    }

    /// Whether `curve` has reached its end.
    pub fn is_completed(&self, curve: usize) -> bool {
        self.curves[curve].len() == self.levels.len()
    }

    /// Adds a curve with its finite scores at the first levels, and returns its number. The scale is fitted again.
    pub fn push(&mut self, scores: &[f64]) -> usize {
        let scores = &scores[..scores.len().min(self.levels.len())];
        self.curves.push(scores.to_vec());
        self.completed += usize::from(scores.len() == self.levels.len());
        self.points += scores.len();
        match &mut self.fit {
            Some(fit) if scores.is_empty() => {
                fit.curves.push(Vec::new());
                fit.ends.push(None);
            }
            fit => *fit = None,
        }
        self.curves.len() - 1
    }

    /// `curve` has the finite `score` at its next level; beyond the end nothing happens. O(K³), or a fit.
    pub fn extend(&mut self, curve: usize, score: f64) {
        if self.is_completed(curve) {
            return;
        }
        self.curves[curve].push(score);
        self.completed += usize::from(self.is_completed(curve));
        self.points += usize::from(curve >= self.counted_from);
        let is_due = self.points as f64 >= REFIT * self.fitted_at as f64;
        let is_taken = self.fit.as_mut().is_some_and(|fit| !is_due && fit.extend(&self.priors, curve, score));
        if !is_taken {
            self.fit_again();
        }
    }

    /// `curve` leaves the data, because it diverged.
    pub fn remove(&mut self, curve: usize) {
        self.completed -= usize::from(self.is_completed(curve));
        if curve >= self.counted_from {
            self.points -= self.curves[curve].len();
        }
        self.curves[curve].clear();
        self.fit_again();
    }

    /// Where `curve` ends, as it was forecast at its last point or the last fit; `None` if it has no points, or the numbers are too far apart. O(1), or
    /// a fit after curves were added.
    pub fn forecast(&mut self, curve: usize) -> Option<ChainEnd> {
        self.fit_if_due()?.ends[curve]
    }

    /// ln of the density of `score` at the next level of `curve`, per unit of the score; `None` if there is nothing to compare with.
    pub fn log_density(&mut self, curve: usize, score: f64) -> Option<f64> {
        let fit = self.fit_if_due()?;
        let level = fit.curves[curve].len();
        let density = fit.regressions.get(level)?.log_density(&fit.features(curve), fit.map.apply(score));
        Some(density + fit.map.log_slope(score)).filter(|density| density.is_finite())
    }

    /// The score of `z`, a number on the chain's own scale.
    pub fn score(&self, z: f64) -> f64 {
        self.fit.as_ref().map_or(f64::NAN, |fit| fit.map.invert(z))
    }

    /// The central 68 % interval of an end, as scores.
    pub fn interval_68(&self, end: ChainEnd) -> (f64, f64) {
        self.interval(end, WIDTH_68)
    }

    /// The central 80 % interval of an end, as scores.
    pub fn interval_80(&self, end: ChainEnd) -> (f64, f64) {
        self.interval(end, WIDTH_80)
    }

    /// The central 90 % interval of an end, as scores.
    pub fn interval_90(&self, end: ChainEnd) -> (f64, f64) {
        self.interval(end, WIDTH_90)
    }

    /// The central 95 % interval of an end, as scores.
    pub fn interval_95(&self, end: ChainEnd) -> (f64, f64) {
        self.interval(end, WIDTH_95)
    }

    fn interval(&self, end: ChainEnd, width: f64) -> (f64, f64) {
        (self.score(end.mean - width * end.sd), self.score(end.mean + width * end.sd))
    }

    /// The chance that `curve` ends above the best completed one of `rivals` and above all others of them, each as it is forecast:
    /// Σ over nodes x of its own end of weight · \[x > x*\] · Π F_j(x) · F₀(x)^to_come, with F₀ the mean distribution of the ends of `others`, (Σ F_j(x) + ½)/(M + 1).
    /// `None` if it has no points. O(96 · rivals), and O(96 · others) where there are curves to come.
    pub fn chance(&mut self, curve: usize, rivals: &[usize], others: &[usize], to_come: u64) -> Option<f64> {
        let own = self.forecast(curve)?;
        let mut known = f64::NEG_INFINITY;
        let mut running = Vec::new();
        for &rival in rivals.iter().filter(|&&rival| rival != curve) {
            let Some(end) = self.forecast(rival) else { continue };
            if self.is_completed(rival) { known = known.max(end.mean) } else { running.push(end) }
        }
        // the strongest first: a product that is nothing needs no more factors
        running.sort_by(|a, b| b.mean.total_cmp(&a.mean));
        let others: Vec<ChainEnd> =
            others.iter().filter(|_| to_come > 0).filter_map(|&other| self.forecast(other)).collect();
        let tail = 1.0 / (TAIL_RUNS + self.completed as f64);
        let mut chance = 0.0;
        for (weight, width) in [(1.0 - tail, 1.0), (tail, TAIL_WIDTH)] {
            for node in QUANTILES.iter() {
                let x = own.mean + width * own.sd * node;
                if x <= known {
                    continue;
                }
                let mut all = if others.is_empty() { 1.0 } else { unbeaten(x, &others, tail, to_come) };
                for end in &running {
                    if all < 1e-12 {
                        break;
                    }
                    all *= end.below(x, tail);
                }
                chance += weight * all / NODES as f64;
            }
        }
        Some(chance)
    }

    fn fit_if_due(&mut self) -> Option<&Fit> {
        if self.fit.is_none() {
            self.fit_again();
        }
        self.fit.as_ref()
    }

    fn fit_again(&mut self) {
        self.fit = self.fitted();
        self.fitted_at = self.points;
        // all forecasts at once: a study that is restored from its log asks for them at other times, and must get the same
        if let Some(fit) = &mut self.fit {
            fit.ends = (0..fit.curves.len()).map(|curve| fit.forecast(curve)).collect();
        }
    }

    /// The fit with the room of the largest marginal likelihood.
    fn fitted(&self) -> Option<Fit> {
        let extent = Extent::new(&self.curves)?;
        let fits = ROOMS.iter().filter_map(|&room| Fit::new(&self.curves, &self.priors, extent, room));
        fits.reduce(|best, fit| if fit.evidence > best.evidence { fit } else { best })
    }
}

/// F₀(x)^to_come.
fn unbeaten(x: f64, others: &[ChainEnd], tail: f64, to_come: u64) -> f64 {
    let below: f64 = others.iter().map(|end| end.below(x, tail)).sum();
    ((below + 0.5) / (others.len() as f64 + 1.0)).powf(to_come as f64)
}

impl ChainEnd {
    /// The probability that the end is at most `x`.
    fn below(self, x: f64, tail: f64) -> f64 {
        if self.sd <= 0.0 {
            return if self.mean <= x { 1.0 } else { 0.0 };
        }
        let u = (x - self.mean) / self.sd;
        (1.0 - tail) * normal_cdf(u) + tail * normal_cdf(u / TAIL_WIDTH)
    }
}

impl Fit {
    /// The fit of `curves` with room ρ = `room`.
    fn new(scores: &[Vec<f64>], priors: &[LevelPrior], extent: Extent, room: f64) -> Option<Self> {
        let raw = Transformation { extent, room: room * extent.range, mean: 0.0, sd: 1.0 };
        let mut curves: Vec<Vec<f64>> =
            scores.iter().map(|curve| curve.iter().map(|&score| raw.warped(score)).collect()).collect();
        let count = curves.iter().map(Vec::len).sum::<usize>() as f64;
        let mean = curves.iter().flatten().sum::<f64>() / count;
        let squares: f64 = curves.iter().flatten().map(|w| (w - mean) * (w - mean)).sum();
        let sd = (squares / count).sqrt().max(1e-6);
        curves.iter_mut().flatten().for_each(|w| *w = (*w - mean) / sd);
        let map = Transformation { mean, sd, ..raw };
        let centers = centers(&curves, priors.len());
        let mut sums: Vec<Sums> = (0..priors.len()).map(|level| Sums::zeros(level + 2)).collect();
        // a run counts once at its highest level; lower ones take the leading entries
        for curve in curves.iter().filter(|curve| !curve.is_empty()) {
            sums[curve.len() - 1].add(&psi(curve, &centers));
        }
        for level in (1..priors.len()).rev() {
            let (lower, higher) = sums.split_at_mut(level);
            lower[level - 1].add_leading(&higher[0]);
        }
        let regressions: Vec<Regression> = (0..priors.len())
            .map(|level| regression(priors, &sums, &centers, level))
            .collect::<Option<_>>()?;
        let seen: Vec<f64> = scores.iter().flatten().copied().filter(|&score| score > extent.floor).collect();
        let slopes: f64 = seen.iter().map(|&score| map.log_slope(score)).sum();
        let evidence = regressions.iter().map(|regression| regression.evidence).sum::<f64>()
            + slopes * count / (seen.len() as f64).max(1.0)
            - 0.5 * (room / USUAL_ROOM).ln().powi(2);
        let ends = vec![None; curves.len()];
        evidence.is_finite().then_some(Self { map, centers, curves, sums, regressions, evidence, ends })
    }

    /// `curve` has reached its next level. Whether that could be taken in.
    fn extend(&mut self, priors: &[LevelPrior], curve: usize, score: f64) -> bool {
        self.curves[curve].push(self.map.apply(score));
        let level = self.curves[curve].len() - 1;
        self.sums[level].add(&psi(&self.curves[curve], &self.centers));
        match regression(priors, &self.sums, &self.centers, level) {
            Some(changed) => self.regressions[level] = changed,
            None => return false,
        }
        self.ends[curve] = self.forecast(curve);
        true
    }

    /// φ of the next level of `curve`.
    fn features(&self, curve: usize) -> Vec<f64> {
        psi(&self.curves[curve], &self.centers)
    }

    fn forecast(&self, curve: usize) -> Option<ChainEnd> {
        let (reached, levels) = (self.curves[curve].len(), self.regressions.len());
        if reached == levels {
            return Some(ChainEnd { mean: self.curves[curve][levels - 1], sd: 0.0 });
        }
        if reached == 0 {
            return None;
        }
        let mut features = self.features(curve);
        // the covariance of the levels beyond those reached; the others are known
        let size = levels + 1;
        let mut covariance = vec![0.0; size * size];
        let mut end = ChainEnd { mean: 0.0, sd: 0.0 };
        for level in reached..levels {
            let regression = &self.regressions[level];
            let order = level + 1;
            let (b, q) = (&regression.coefficients, &regression.inverse);
            let unknown = reached + 1..order;
            let cross: Vec<f64> = unknown
                .clone()
                .map(|i| unknown.clone().map(|j| covariance[i * size + j] * b[j]).sum())
                .collect();
            let own: f64 = unknown.clone().zip(&cross).map(|(i, c)| b[i] * c).sum();
            let trace: f64 = unknown
                .clone()
                .map(|i| unknown.clone().map(|j| q[i * order + j] * covariance[i * size + j]).sum::<f64>())
                .sum();
            let mean = regression.mean(&features);
            let variance = own + regression.scale(&features) + regression.variance * trace;
            for (i, &value) in unknown.zip(&cross) {
                (covariance[order * size + i], covariance[i * size + order]) = (value, value);
            }
            if order < size {
                covariance[order * size + order] = variance;
            }
            features.push(mean - self.centers[level]);
            end = ChainEnd { mean, sd: variance.sqrt() };
        }
        (end.mean.is_finite() && end.sd.is_finite()).then_some(end)
    }
}

/// M: the mean at each level, or that of the level below where no curve has reached it.
fn centers(curves: &[Vec<f64>], levels: usize) -> Vec<f64> {
    let mut last = 0.0;
    let mean = |level: usize| {
        let there = || curves.iter().filter_map(|curve| curve.get(level));
        let count = there().count();
        if count > 0 {
            last = there().sum::<f64>() / count as f64;
        }
        last
    };
    (0..levels).map(mean).collect()
}

/// ψ = (1, z_1 − M_1, …) of a curve.
fn psi(curve: &[f64], centers: &[f64]) -> Vec<f64> {
    std::iter::once(1.0).chain(curve.iter().zip(centers).map(|(z, center)| z - center)).collect()
}

fn regression(priors: &[LevelPrior], sums: &[Sums], centers: &[f64], level: usize) -> Option<Regression> {
    let below = level.checked_sub(1).map_or(0.0, |below| centers[below]);
    Regression::new(&priors[level], &sums[level], centers[level], below)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example: three completed runs and two running ones of six epochs.
    fn example() -> Chain {
        let mut chain = Chain::new(6);
        for curve in [
            &[0.30, 0.42, 0.50, 0.58, 0.60][..],
            &[0.25, 0.33, 0.41, 0.50, 0.52],
            &[0.40, 0.55, 0.63, 0.69, 0.71],
            &[0.10, 0.11, 0.12],
            &[0.35, 0.50, 0.59],
        ] {
            chain.push(curve);
        }
        chain
    }

    fn same(values: &[f64], expected: &[f64]) {
        assert_eq!(values.len(), expected.len());
        for (value, expected) in values.iter().zip(expected) {
            assert!((value - expected).abs() < 1.5e-6, "{values:?}, not {expected}");
        }
    }

    #[test]
    fn the_scale_is_that_of_the_reference() {
        let mut chain = example();
        assert!(chain.fit_if_due().is_some());
        let fit = chain.fit.as_ref().expect("a fit");
        let Extent { top, range, floor } = fit.map.extent;
        same(&[top, range, floor], &[0.71, 0.41, 0.177]);
        same(&[fit.map.room / range, fit.map.mean, fit.map.sd], &[0.4, -0.880_573, 0.411_472]);
        same(&fit.centers, &[-0.902_159, -0.372_630, 0.070_541, 0.906_134, 1.100_946]);
        let evidence = ROOMS.map(|room| {
            Fit::new(&chain.curves, &chain.priors, fit.map.extent, room).expect("a fit").evidence
        });
        same(
            &evidence,
            &[41.283_730, 44.945_208, 47.381_005, 47.983_851, 47.229_777, 45.198_502, 41.906_389],
        );
        same(&fit.curves[4], &[-0.683_041, 0.136_543, 0.805_559]);
        same(&[chain.score(0.5), chain.score(fit.map.apply(0.63))], &[fit.map.invert(0.5), 0.63]);
    }

    #[test]
    fn the_regressions_are_those_of_the_reference() {
        let mut chain = example();
        assert!(chain.fit_if_due().is_some());
        let expected: [(&[f64], f64, f64); 5] = [
            (&[-0.901_979], 0.244_783, 8.0),
            (&[-0.420_769, 1.123_585], 0.098_608, 8.0),
            (&[0.030_253, -0.162_936, 1.235_904], 0.042_524, 8.0),
            (&[0.547_743, -0.149_537, 0.053_833, 1.191_289], 0.048_131, 6.0),
            (&[1.062_647, -0.054_506, -0.006_408, 0.075_454, 1.023_701], 0.011_804, 6.0),
        ];
        let fit = chain.fit.as_ref().expect("a fit");
        for (regression, (coefficients, variance, freedom)) in fit.regressions.iter().zip(expected) {
            same(&regression.coefficients, coefficients);
            same(&[regression.variance, regression.freedom], &[variance, freedom]);
        }
    }

    #[test]
    fn forecasts_and_chances_are_those_of_the_reference() {
        let mut chain = example();
        let all = [0, 1, 2, 3, 4];
        let expected = [
            (3, [-1.128_419, 0.304_510], 0.0, [0.244_609, 0.127_678, 0.343_220]),
            (4, [1.626_904, 0.286_253], 0.054_342, [0.671_445, 0.636_254, 0.701_426]),
        ];
        for (run, end, chance, scores) in expected {
            let forecast = chain.forecast(run).expect("a forecast");
            same(&[forecast.mean, forecast.sd], &end);
            let (low, high) = chain.interval_80(forecast);
            same(&[chain.score(forecast.mean), low, high], &scores);
            same(&[chain.chance(run, &all, &[], 0).expect("a chance")], &[chance]);
        }
        let best = chain.forecast(2).expect("a completed run");
        same(&[best.mean, best.sd], &[2.140_054, 0.0]);
    }

    #[test]
    fn earlier_runs_stand_for_those_to_come_as_in_the_reference() {
        let mut chain = example();
        let mut chance = |run| chain.chance(run, &[3, 4], &[0, 1, 2], 2).expect("a chance");
        same(&[chance(4), chance(3)], &[0.407_142, 0.000_237]);
    }

    #[test]
    fn a_point_that_arrives_changes_one_regression_as_a_fit_does() {
        let mut grown = example();
        (grown.points, grown.counted_from) = (1_000, 0);
        assert!(grown.fit_if_due().is_some());
        let map = grown.fit.as_ref().expect("a fit").map;
        grown.extend(4, 0.66);
        let grown = grown.fit.expect("no fit is due");
        let mut at_once = example();
        at_once.curves[4].push(0.66);
        let refitted = Fit::new(&at_once.curves, &at_once.priors, map.extent, 0.4).expect("a fit");
        // the scale stays, so that only the number of points differs
        assert_eq!(grown.map, map);
        same(&[grown.regressions[3].freedom], &[refitted.regressions[3].freedom]);
        let psi = psi(&grown.curves[4], &grown.centers);
        let before = example().fitted().expect("a fit");
        for (i, a) in psi.iter().enumerate() {
            for (j, b) in psi.iter().enumerate() {
                let order = grown.sums[3].order;
                let sum = |fit: &Fit| fit.sums[3].entries[i * order + j];
                same(&[sum(&grown)], &[sum(&before) + a * b]);
            }
        }
        same(&grown.regressions[2].coefficients, &before.regressions[2].coefficients);
    }

    #[test]
    fn a_curve_that_left_teaches_nothing() {
        let mut chain = example();
        let lost = chain.push(&[1e9, -1e300]);
        chain.remove(lost);
        assert_eq!(chain.forecast(lost), None);
        assert_eq!(chain.forecast(4), example().forecast(4));
        assert_eq!(Chain::new(6).fitted().map(|fit| fit.evidence), None);
    }

    #[test]
    fn constant_and_huge_scores_are_forecast_or_refused_but_never_wrong() {
        for scale in [0.0, 1e-300, 1.0, 1e12, 1e300] {
            let mut chain = Chain::new(9);
            for run in 0..6 {
                let curve: Vec<f64> = (1..7).map(|epoch| scale * f64::from(run * epoch)).collect();
                chain.push(&curve);
            }
            for run in 0..6 {
                if let Some(end) = chain.forecast(run) {
                    assert!(end.mean.is_finite() && end.sd.is_finite() && end.sd >= 0.0, "{scale}: {end:?}");
                    let chance = chain.chance(run, &[0, 1, 2, 3, 4, 5], &[], 0).expect("a chance");
                    assert!((0.0..=1.0 + 1e-9).contains(&chance), "{scale}: {chance}");
                }
            }
        }
    }
}

//! The chain itself: curves, the regressions from level to level, and forecasts.

use super::end::{ChainEnd, EndSpread, PendingForecast, TAIL_WIDTH};
use super::fit::ChainFit;
use super::levels::{LevelPrior, chain_levels, priors};
use crate::statistics::normal_quantile;
use std::sync::LazyLock;

/// Everything is fitted again when the number of points has grown by this factor.
const REFIT_GROWTH: f64 = 1.12;
/// The nodes of the integral over an end.
const INTEGRATION_NODES: usize = 48;

/// Φ⁻¹((q + ½)/48).
static NODE_QUANTILES: LazyLock<[f64; INTEGRATION_NODES]> =
    LazyLock::new(|| std::array::from_fn(|q| normal_quantile((q as f64 + 0.5) / INTEGRATION_NODES as f64)));

/// Forecasts where curves end, from every curve there is as far as it goes: completed, running and stopped ones.
///
/// Bayesian linear regressions, one per [level](chain_levels) on all levels below it, of scores that are transformed so that the neighborhood of the best
/// score is spread out. A run that has reached a levels is forecast through the regressions of the levels a + 1 … K, one after another, with the
/// uncertainty of their coefficients.
///
/// How firmly curves keep to the prior slopes is averaged: four models side by side, with ν = 0.5, 2, 8 and 40, each with the share ω_ν ∝ e^(evidence + a), a = 1 for
/// the first two and else 0. Where curves cross, the loose ones count. Shares below .01 are left out, and all are renewed with the scale.
///
/// Level k of one of them, with φ = (1, z_1 − M_1, …, z_{k−1} − M_{k−1}) of each run that reached it:
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
/// | Λ⁰ | diag(κ, ν S): prior precision | κ = 0.5 (first level 1e-3) |
/// | d⁰ | runs that the prior variance counts as | 3 |
///
/// S_ij = 1.1²·exp(1.3(u_i + u_j)) + 0.5²·min(|u_i|, |u_j|) + 0.05²·\[i = j\] with u = ln(t/T)/ln 45.
///
/// Scale: z = (w − mean)/sd, w(y) = −ln(max(1e-3, 1 + (top − max(y, floor))/(ρR))), with the mean and standard deviation of all points; top is the best
/// score, R = max(top − f, (top − q)/2) with f the median of the first level and q the lower quartile of all points, floor = min(f, top − R) − 0.3R. ρ is the
/// one of seven values with the largest marginal likelihood in units of the score at ν = 8. The scale is fitted again when the number of points has grown by
/// 12 %; between fits a new point changes one regression of each model.
///
/// A forecast has the first two moments of the average, m = Σ ω m_ν and s² = Σ ω (s_ν² + m_ν²) − m². The residual variances are estimated from few curves, so the
/// quantiles are those of Student's t: an interval of 80 % is m ± 1.36 s·t₀.₉/1.2816, one of 95 % m ± 2.33 s·t₀.₉₇₅/1.96, with max(d_K − 2, 1.5) degrees of
/// freedom. For chances, the distribution is (1 − ε)·N(m, s̃²) + ε·N(m, (4s̃)²), with s̃ = s·t₀.₉/1.2816 and ε = 1/(20 + completed runs). Which runs were stopped
/// depends only on levels that are in the regressions, so their missing levels need no correction.
///
/// Fit: O(points · K), seven times. A point: O(K³) of up to four regressions. A forecast: O(K³), up to four times. No random numbers.
///
/// Source: Foretell's own; `docs/research/chain.md` has the measurements. The covariance is a sum of an exponential and a Wiener kernel, and the
/// posterior is the textbook's (Bishop 2006, §3.3).
///
/// ```
/// use foretell::ChainForecaster;
/// let mut chain = ChainForecaster::new(6); // levels 1, 2, 3, 5 and 6
/// for curve in [[0.30, 0.42, 0.50, 0.58, 0.60], [0.25, 0.33, 0.41, 0.50, 0.52], [0.40, 0.55, 0.63, 0.69, 0.71]] {
///     chain.push(&curve);
/// }
/// let run = chain.push(&[0.35, 0.50, 0.59]);
/// let end = chain.forecast(run).expect("it has points");
/// let (low, high) = chain.interval_80(end);
/// assert!(low < 0.66 && 0.66 < high);
/// ```
#[derive(Clone, Debug)]
pub struct ChainForecaster {
    levels: Vec<u64>,
    priors: Vec<LevelPrior>,
    /// The scores of each curve at the levels that it reached; none of a curve that left.
    curves: Vec<Vec<f64>>,
    /// Points of the curves that decide when to fit again, and how many there were at the last fit.
    points: usize,
    fitted_at: usize,
    /// The first curve whose points are counted so.
    counted_from: usize,
    fit: Option<ChainFit>,
}

impl ChainForecaster {
    /// A chain of trainings of so many `epochs`, without curves.
    pub fn new(epochs: u64) -> Self {
        let levels = chain_levels(epochs);
        Self {
            priors: priors(&levels),
            levels,
            curves: Vec::new(),
            points: 0,
            fitted_at: 0,
            counted_from: 0,
            fit: None,
        }
    }

    /// Only the points of curves that are added from here on decide when the scale is fitted again.
    pub(super) fn restart_point_count(&mut self) {
        (self.counted_from, self.points, self.fitted_at) = (self.curves.len(), 0, 0);
    }

    /// The epochs of the levels.
    pub fn level_epochs(&self) -> &[u64] {
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
    pub fn reached_level_count(&self, curve: usize) -> usize {
        self.curves[curve].len()
    }

    /// The scores of `curve` at the levels that it has reached.
    pub(super) fn scores(&self, curve: usize) -> &[f64] {
        &self.curves[curve]
    }

    /// Whether `curve` has reached its end.
    pub fn is_completed(&self, curve: usize) -> bool {
        self.curves[curve].len() == self.levels.len()
    }

    /// Adds a curve with its finite scores at the first levels, and returns its number. The scale is fitted again.
    pub fn push(&mut self, scores: &[f64]) -> usize {
        let scores = &scores[..scores.len().min(self.levels.len())];
        self.curves.push(scores.to_vec());
        self.points += scores.len();
        match &mut self.fit {
            // a curve without points changes no regression, so the fit stays
            Some(fit) if scores.is_empty() => {
                fit.curves.push(Vec::new());
                fit.ends.push(None);
            }
            fit => *fit = None,
        }
        self.curves.len() - 1
    }

    /// `curve` has the finite `score` at its next level; beyond the end nothing happens. O(K³), or a fit.
    pub fn append_score(&mut self, curve: usize, score: f64) {
        if self.is_completed(curve) {
            return;
        }
        self.curves[curve].push(score);
        self.points += usize::from(curve >= self.counted_from);
        let is_due = self.points as f64 >= REFIT_GROWTH * self.fitted_at as f64;
        let is_taken = self.fit.as_mut().is_some_and(|fit| !is_due && fit.extend(&self.priors, curve, score));
        if !is_taken {
            self.fit_again();
        }
    }

    /// `curve` leaves the data, because it diverged.
    pub fn remove_curve(&mut self, curve: usize) {
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
        self.fit_if_due()?.log_density(curve, score)
    }

    /// The forecast of `curve` as it stands, to be held against its end.
    pub(super) fn foreseen(&mut self, curve: usize) -> Option<PendingForecast> {
        self.fit_if_due()?.foreseen(curve)
    }

    /// The score of `z`, a number on the chain's own scale.
    pub fn to_score(&self, z: f64) -> f64 {
        self.fit.as_ref().map_or(f64::NAN, |fit| fit.map.invert(z))
    }

    /// The central 68 % interval of an end, as scores.
    pub fn interval_68(&self, end: ChainEnd) -> (f64, f64) {
        self.central_interval(end, 0.68)
    }

    /// The central 80 % interval of an end, as scores.
    pub fn interval_80(&self, end: ChainEnd) -> (f64, f64) {
        self.central_interval(end, 0.8)
    }

    /// The central 90 % interval of an end, as scores.
    pub fn interval_90(&self, end: ChainEnd) -> (f64, f64) {
        self.central_interval(end, 0.9)
    }

    /// The central 95 % interval of an end, as scores.
    pub fn interval_95(&self, end: ChainEnd) -> (f64, f64) {
        self.central_interval(end, 0.95)
    }

    fn central_interval(&self, end: ChainEnd, share: f64) -> (f64, f64) {
        let half = self.fit.as_ref().map_or(f64::NAN, |fit| fit.spread.width(share)) * end.sd;
        (self.to_score(end.mean - half), self.to_score(end.mean + half))
    }

    /// The chance that `curve` ends above the best completed one of `rivals` and above all others of them, each as it is forecast:
    /// Σ over nodes x of its own end of weight · \[x > x*\] · Π F_j(x) · F₀(x)^to_come, with F₀ the mean distribution of the ends of `others`, (Σ F_j(x) + ½)/(M + 1).
    /// `None` if it has no points. O(96 · rivals), and O(96 · others) where there are curves to come.
    pub fn win_probability(
        &mut self,
        curve: usize,
        rivals: &[usize],
        others: &[usize],
        to_come: u64,
    ) -> Option<f64> {
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
        let spread = self.fit_if_due()?.spread;
        let tail = spread.tail;
        let mut chance = 0.0;
        for (weight, width) in [(1.0 - tail, 1.0), (tail, TAIL_WIDTH)] {
            for node in NODE_QUANTILES.iter() {
                let x = own.mean + width * spread.factor * own.sd * node;
                if x <= known {
                    continue;
                }
                let mut all =
                    if others.is_empty() { 1.0 } else { probability_unbeaten(x, &others, &spread, to_come) };
                for end in &running {
                    if all < 1e-12 {
                        break;
                    }
                    all *= spread.below(*end, x);
                }
                chance += weight * all / INTEGRATION_NODES as f64;
            }
        }
        Some(chance)
    }

    fn fit_if_due(&mut self) -> Option<&ChainFit> {
        if self.fit.is_none() {
            self.fit_again();
        }
        self.fit.as_ref()
    }

    fn fit_again(&mut self) {
        self.fit = ChainFit::new(&self.curves, &self.priors);
        self.fitted_at = self.points;
        // all forecasts at once: a study that is restored from its log asks for them at other times, and must get the same
        if let Some(fit) = &mut self.fit {
            fit.ends = (0..fit.curves.len()).map(|curve| fit.forecast(curve)).collect();
        }
    }
}

/// F₀(x)^to_come.
fn probability_unbeaten(x: f64, others: &[ChainEnd], spread: &EndSpread, to_come: u64) -> f64 {
    let below: f64 = others.iter().map(|&end| spread.below(end, x)).sum();
    ((below + 0.5) / (others.len() as f64 + 1.0)).powf(to_come as f64)
}

#[cfg(test)]
mod tests {
    use super::super::fit::{ROOM_GRID, psi};
    use super::super::transformation::ScoreExtent;
    use super::*;

    fn chain(curves: &[&[f64]]) -> ChainForecaster {
        let mut chain = ChainForecaster::new(6);
        for curve in curves {
            chain.push(curve);
        }
        chain
    }

    /// The worked example: three completed runs and two running ones of six epochs.
    fn example() -> ChainForecaster {
        chain(&[
            &[0.30, 0.42, 0.50, 0.58, 0.60],
            &[0.25, 0.33, 0.41, 0.50, 0.52],
            &[0.40, 0.55, 0.63, 0.69, 0.71],
            &[0.10, 0.11, 0.12],
            &[0.35, 0.50, 0.59],
        ])
    }

    /// Curves that cross: the low ones at first are the high ones at the end. Five are completed.
    fn crossing() -> ChainForecaster {
        chain(&[
            &[0.60, 0.56, 0.50, 0.40, 0.36],
            &[0.52, 0.50, 0.47, 0.43, 0.41],
            &[0.30, 0.36, 0.44, 0.58, 0.63],
            &[0.22, 0.31, 0.43, 0.61, 0.66],
            &[0.41, 0.42, 0.44, 0.49, 0.50],
            &[0.26, 0.33, 0.45],
            &[0.58, 0.55, 0.50],
        ])
    }

    fn same(values: &[f64], expected: &[f64]) {
        assert_eq!(values.len(), expected.len());
        for (value, expected) in values.iter().zip(expected) {
            assert!((value - expected).abs() < 1.5e-6, "{values:?}, not {expected}");
        }
    }

    fn fit(mut chain: ChainForecaster) -> ChainFit {
        chain.fit_again();
        chain.fit.expect("a fit")
    }

    #[test]
    fn the_scale_is_that_of_the_reference() {
        let mut chain = example();
        assert!(chain.fit_if_due().is_some());
        let fit = chain.fit.as_ref().expect("a fit");
        let ScoreExtent { top, range, floor } = fit.map.extent;
        same(&[top, range, floor], &[0.71, 0.41, 0.177]);
        same(&[fit.map.room / range, fit.map.mean, fit.map.sd], &[0.4, -0.880_573, 0.411_472]);
        same(&fit.centers, &[-0.902_159, -0.372_630, 0.070_541, 0.906_134, 1.100_946]);
        let evidence = ROOM_GRID.map(|room| {
            ChainFit::with_room(&chain.curves, &chain.priors, fit.map.extent, room).expect("a fit").evidence
        });
        same(
            &evidence,
            &[42.265_546, 45.633_209, 47.814_359, 48.280_411, 47.443_919, 45.334_090, 41.990_714],
        );
        same(&fit.curves[4], &[-0.683_041, 0.136_543, 0.805_559]);
        same(&[chain.to_score(0.5), chain.to_score(fit.map.apply(0.63))], &[fit.map.invert(0.5), 0.63]);
    }

    #[test]
    fn the_regressions_with_firm_slopes_are_those_of_the_reference() {
        let expected: [(&[f64], f64, f64); 5] = [
            (&[-0.901_979], 0.244_783, 8.0),
            (&[-0.420_769, 1.123_585], 0.098_608, 8.0),
            (&[0.030_253, -0.162_936, 1.235_904], 0.042_524, 8.0),
            (&[0.547_743, -0.149_537, 0.053_833, 1.191_289], 0.048_131, 6.0),
            (&[1.062_647, -0.054_506, -0.006_408, 0.075_454, 1.023_701], 0.011_804, 6.0),
        ];
        let fit = fit(example());
        let firm = fit.models.iter().max_by(|a, b| a.slopes.total_cmp(&b.slopes)).expect("models");
        for (regression, (coefficients, variance, freedom)) in firm.regressions.iter().zip(expected) {
            same(&regression.coefficients, coefficients);
            same(&[regression.variance, regression.freedom], &[variance, freedom]);
        }
    }

    /// Curves that keep their order speak for no weight of the slopes; crossing ones for loose slopes.
    #[test]
    fn the_weights_of_the_slopes_are_those_of_the_reference() {
        let shares =
            |chain: ChainForecaster| fit(chain).models.iter().map(|model| model.share).collect::<Vec<_>>();
        same(&shares(example()), &[0.244_862, 0.474_789, 0.160_809, 0.119_540]);
        // the other two are below .01
        let sum = 0.786_802 + 0.212_765;
        same(&shares(crossing()), &[0.786_802 / sum, 0.212_765 / sum]);
        assert!((fit(crossing()).map.room / fit(crossing()).map.extent.range - 0.8).abs() < 1e-12);
    }

    /// Per run: mean and standard deviation, chance, median and 80 % interval of the score.
    type Expected = (usize, [f64; 2], f64, [f64; 3], [f64; 2]);

    fn assert_forecasts(mut chain: ChainForecaster, expected: &[Expected]) {
        let all: Vec<usize> = (0..chain.len()).collect();
        for &(run, end, chance, scores, interval_95) in expected {
            let forecast = chain.forecast(run).expect("a forecast");
            same(&[forecast.mean, forecast.sd], &end);
            let ((low, high), (lowest, highest)) = (chain.interval_80(forecast), chain.interval_95(forecast));
            same(&[chain.to_score(forecast.mean), low, high], &scores);
            same(&[lowest, highest], &interval_95);
            same(&[chain.win_probability(run, &all, &[], 0).expect("a chance")], &[chance]);
        }
    }

    #[test]
    fn forecasts_and_chances_are_those_of_the_reference() {
        assert_forecasts(
            example(),
            &[
                (
                    3,
                    [-1.131_372, 0.412_883],
                    0.001_795,
                    [0.243_844, 0.043_200, 0.396_031],
                    [-0.230_018, 0.514_317],
                ),
                (
                    4,
                    [1.653_188, 0.279_812],
                    0.094_944,
                    [0.673_623, 0.632_341, 0.707_854],
                    [0.580_987, 0.736_973],
                ),
            ],
        );
        let best = example().forecast(2).expect("a completed run");
        same(&[best.mean, best.sd], &[2.140_054, 0.0]);
    }

    /// With slopes as firm as 40 runs, the leader's chance would be .215.
    #[test]
    fn curves_that_cross_are_forecast_to_cross() {
        assert_forecasts(
            crossing(),
            &[
                (
                    5,
                    [2.891_669, 0.574_735],
                    0.741_720,
                    [0.681_907, 0.635_725, 0.718_580],
                    [0.583_759, 0.745_183],
                ),
                (
                    6,
                    [-1.009_444, 0.470_290],
                    0.001_205,
                    [0.363_984, 0.260_991, 0.449_268],
                    [0.149_616, 0.513_663],
                ),
            ],
        );
    }

    #[test]
    fn earlier_runs_stand_for_those_to_come_as_in_the_reference() {
        let mut chain = example();
        let mut chance = |run| chain.win_probability(run, &[3, 4], &[0, 1, 2], 2).expect("a chance");
        same(&[chance(4), chance(3)], &[0.415_926, 0.002_091]);
    }

    #[test]
    fn a_point_that_arrives_changes_one_regression_as_a_fit_does() {
        let mut grown = example();
        (grown.points, grown.counted_from) = (1_000, 0);
        assert!(grown.fit_if_due().is_some());
        let map = grown.fit.as_ref().expect("a fit").map;
        grown.append_score(4, 0.66);
        let grown = grown.fit.expect("no fit is due");
        let mut at_once = example();
        at_once.curves[4].push(0.66);
        let refitted = ChainFit::with_room(&at_once.curves, &at_once.priors, map.extent, 0.4).expect("a fit");
        // the scale stays, so that only the number of points differs
        assert_eq!(grown.map, map);
        let freedom = |fit: &ChainFit| fit.models[0].regressions[3].freedom;
        same(&[freedom(&grown)], &[freedom(&refitted)]);
        let psi = psi(&grown.curves[4], &grown.centers);
        let before = fit(example());
        for (i, a) in psi.iter().enumerate() {
            for (j, b) in psi.iter().enumerate() {
                let order = grown.sums[3].order;
                let sum = |fit: &ChainFit| fit.sums[3].entries[i * order + j];
                same(&[sum(&grown)], &[sum(&before) + a * b]);
            }
        }
        let coefficients = |fit: &ChainFit| fit.models[0].regressions[2].coefficients.clone();
        same(&coefficients(&grown), &coefficients(&before));
    }

    #[test]
    fn a_curve_that_left_teaches_nothing() {
        let mut chain = example();
        let lost = chain.push(&[1e9, -1e300]);
        chain.remove_curve(lost);
        assert_eq!(chain.forecast(lost), None);
        assert_eq!(chain.forecast(4), example().forecast(4));
        assert_eq!(ChainForecaster::new(6).fit_if_due().map(|fit| fit.evidence), None);
    }

    #[test]
    fn constant_and_huge_scores_are_forecast_or_refused_but_never_wrong() {
        for scale in [0.0, 1e-300, 1.0, 1e12, 1e300] {
            let mut chain = ChainForecaster::new(9);
            for run in 0..6 {
                let curve: Vec<f64> = (1..7).map(|epoch| scale * f64::from(run * epoch)).collect();
                chain.push(&curve);
            }
            for run in 0..6 {
                if let Some(end) = chain.forecast(run) {
                    assert!(end.mean.is_finite() && end.sd.is_finite() && end.sd >= 0.0, "{scale}: {end:?}");
                    let chance = chain.win_probability(run, &[0, 1, 2, 3, 4, 5], &[], 0).expect("a chance");
                    assert!((0.0..=1.0 + 1e-9).contains(&chance), "{scale}: {chance}");
                }
            }
        }
    }
}

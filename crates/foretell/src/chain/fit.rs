//! One fit of the chain: the scale of its scores, and the regressions from level to level for each weight of the prior slopes.

use super::end::{ChainEnd, EndSpread, PendingForecast};
use super::levels::LevelPrior;
use super::regression::{LevelRegression, RegressionSums};
use super::transformation::{ScoreExtent, ScoreTransformation};

/// The rooms ρ that are tried, as fractions of the range.
pub(super) const ROOM_GRID: [f64; 7] = [0.05, 0.1, 0.2, 0.4, 0.8, 2.0, 6.0];
/// The prior of ln ρ: normal around ln 0.3 with standard deviation 1.
const PRIOR_MEDIAN_ROOM: f64 = 0.3;
/// ν, the number of runs that the prior slopes count as, each with a, the logarithm of its weight before any curve: curves may cross.
const SLOPE_PRIORS: [(f64, f64); 4] = [(0.5, 1.0), (2.0, 1.0), (8.0, 0.0), (40.0, 0.0)];
/// The ν with which the room is chosen.
const DEFAULT_SLOPE_RUNS: f64 = 8.0;
/// A ν with a smaller share is left out until the next fit: it would cost time and change nothing.
const MIN_MODEL_SHARE: f64 = 0.01;

/// The regressions of all levels with one weight of the prior slopes.
#[derive(Clone, Debug)]
pub(super) struct ChainModel {
    /// ν.
    pub(super) slopes: f64,
    /// ω, its share of the forecast.
    pub(super) share: f64,
    pub(super) regressions: Vec<LevelRegression>,
}

/// The scale and regressions of one fit.
#[derive(Clone, Debug)]
pub(super) struct ChainFit {
    pub(super) map: ScoreTransformation,
    /// M.
    pub(super) centers: Vec<f64>,
    /// z of each curve.
    pub(super) curves: Vec<Vec<f64>>,
    pub(super) sums: Vec<RegressionSums>,
    /// One per ν that counts.
    pub(super) models: Vec<ChainModel>,
    /// The marginal likelihood by which the room is chosen.
    pub(super) evidence: f64,
    pub(super) spread: EndSpread,
    /// The forecast of each curve, at its last point or the fit.
    pub(super) ends: Vec<Option<ChainEnd>>,
}

impl ChainFit {
    /// The fit of `curves` with the room of the largest marginal likelihood, averaged over the weights of the slopes; without forecasts.
    pub(super) fn new(curves: &[Vec<f64>], priors: &[LevelPrior]) -> Option<Self> {
        let extent = ScoreExtent::new(curves)?;
        let fits = ROOM_GRID.iter().filter_map(|&room| Self::with_room(curves, priors, extent, room));
        let best = fits.reduce(|best, fit| if fit.evidence > best.evidence { fit } else { best })?;
        Some(best.with_averaged_models(priors))
    }

    /// The fit of `curves` with room ρ = `room` and the usual ν alone.
    pub(super) fn with_room(
        scores: &[Vec<f64>],
        priors: &[LevelPrior],
        extent: ScoreExtent,
        room: f64,
    ) -> Option<Self> {
        let raw = ScoreTransformation { extent, room: room * extent.range, mean: 0.0, sd: 1.0 };
        let mut curves: Vec<Vec<f64>> =
            scores.iter().map(|curve| curve.iter().map(|&score| raw.warp_score(score)).collect()).collect();
        let count = curves.iter().map(Vec::len).sum::<usize>() as f64;
        let mean = curves.iter().flatten().sum::<f64>() / count;
        let squares: f64 = curves.iter().flatten().map(|w| (w - mean) * (w - mean)).sum();
        // scores that are all alike have no deviation to divide by
        let sd = (squares / count).sqrt().max(1e-6);
        curves.iter_mut().flatten().for_each(|w| *w = (*w - mean) / sd);
        let map = ScoreTransformation { mean, sd, ..raw };
        let centers = centers(&curves, priors.len());
        let mut sums: Vec<RegressionSums> =
            (0..priors.len()).map(|level| RegressionSums::zeros(level + 2)).collect();
        // a run counts once at its highest level; lower ones take the leading entries
        for curve in curves.iter().filter(|curve| !curve.is_empty()) {
            sums[curve.len() - 1].add(&psi(curve, &centers));
        }
        for level in (1..priors.len()).rev() {
            let (lower, higher) = sums.split_at_mut(level);
            lower[level - 1].add_leading(&higher[0]);
        }
        let completed = curves.iter().filter(|curve| curve.len() == priors.len()).count();
        let ends = vec![None; curves.len()];
        let seen: Vec<f64> = scores.iter().flatten().copied().filter(|&score| score > extent.floor).collect();
        let slopes: f64 = seen.iter().map(|&score| map.log_slope(score)).sum();
        let spread = EndSpread::new(completed);
        let mut fit = Self { map, centers, curves, sums, models: Vec::new(), evidence: 0.0, spread, ends };
        let usual = fit.model(priors, DEFAULT_SLOPE_RUNS)?;
        fit.evidence = usual.evidence() + slopes * count / (seen.len() as f64).max(1.0)
            - 0.5 * (room / PRIOR_MEDIAN_ROOM).ln().powi(2);
        fit.models = vec![usual];
        fit.evidence.is_finite().then_some(fit)
    }

    /// Gives the fit a model for each ν that counts: ω ∝ exp(evidence + a).
    fn with_averaged_models(mut self, priors: &[LevelPrior]) -> Self {
        let all = SLOPE_PRIORS.iter().filter_map(|&(slopes, before)| {
            let model = match slopes == DEFAULT_SLOPE_RUNS {
                true => self.models.first().cloned(),
                false => self.model(priors, slopes),
            }?;
            let weight = model.evidence() + before;
            weight.is_finite().then_some((model, weight))
        });
        let all: Vec<(ChainModel, f64)> = all.collect();
        // relative to the largest, because e to the power of an evidence itself can be 0 or infinite
        let most = all.iter().map(|(_, weight)| *weight).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = all.iter().map(|(_, weight)| (weight - most).exp()).sum();
        let shared =
            all.into_iter().map(|(model, weight)| ChainModel { share: (weight - most).exp() / sum, ..model });
        let mut kept: Vec<ChainModel> = shared.filter(|model| model.share >= MIN_MODEL_SHARE).collect();
        let sum: f64 = kept.iter().map(|model| model.share).sum();
        kept.iter_mut().for_each(|model| model.share /= sum);
        self.models = kept;
        self
    }

    fn model(&self, priors: &[LevelPrior], slopes: f64) -> Option<ChainModel> {
        let regression = |level: usize| self.regression(priors, slopes, level);
        let regressions: Vec<LevelRegression> = (0..priors.len()).map(regression).collect::<Option<_>>()?;
        Some(ChainModel { slopes, share: 1.0, regressions })
    }

    fn regression(&self, priors: &[LevelPrior], slopes: f64, level: usize) -> Option<LevelRegression> {
        let below = level.checked_sub(1).map_or(0.0, |below| self.centers[below]);
        LevelRegression::new(&priors[level], slopes, &self.sums[level], (self.centers[level], below))
    }

    /// `curve` has reached its next level. Whether that could be taken in.
    pub(super) fn extend(&mut self, priors: &[LevelPrior], curve: usize, score: f64) -> bool {
        self.curves[curve].push(self.map.apply(score));
        let level = self.curves[curve].len() - 1;
        self.sums[level].add(&psi(&self.curves[curve], &self.centers));
        for place in 0..self.models.len() {
            match self.regression(priors, self.models[place].slopes, level) {
                Some(changed) => self.models[place].regressions[level] = changed,
                None => return false,
            }
        }
        if level + 1 == priors.len() {
            self.spread = EndSpread::new(self.sums[level].runs());
        }
        self.ends[curve] = self.forecast(curve);
        true
    }

    /// ln of the density of `score` at the next level of `curve`, per unit of the score.
    pub(super) fn log_density(&self, curve: usize, score: f64) -> Option<f64> {
        let (level, features) = (self.curves[curve].len(), psi(&self.curves[curve], &self.centers));
        let z = self.map.apply(score);
        let density = |model: &ChainModel| {
            Some(model.share.ln() + model.regressions.get(level)?.log_density(&features, z))
        };
        let densities: Vec<f64> = self.models.iter().map(density).collect::<Option<_>>()?;
        let most = densities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mixed = most + densities.iter().map(|density| (density - most).exp()).sum::<f64>().ln();
        Some(mixed + self.map.log_slope(score)).filter(|density| density.is_finite())
    }

    /// The forecast of `curve` as it stands, to be held against its end; `None` for a completed one.
    pub(super) fn foreseen(&self, curve: usize) -> Option<PendingForecast> {
        let end = self.ends[curve].filter(|end| end.sd > 0.0)?;
        Some(PendingForecast { end, spread: self.spread, map: self.map })
    }

    /// The first two moments of the average of all models' forecasts.
    pub(super) fn forecast(&self, curve: usize) -> Option<ChainEnd> {
        let (reached, levels) = (self.curves[curve].len(), self.centers.len());
        if reached == levels {
            return Some(ChainEnd { mean: self.curves[curve][levels - 1], sd: 0.0 });
        }
        if reached == 0 {
            return None;
        }
        let known = psi(&self.curves[curve], &self.centers);
        let ends: Vec<(f64, ChainEnd)> =
            self.models.iter().map(|model| (model.share, model.forecast(&known, &self.centers))).collect();
        let mean: f64 = ends.iter().map(|(share, end)| share * end.mean).sum();
        let apart = |end: &ChainEnd| end.sd * end.sd + (end.mean - mean) * (end.mean - mean);
        let sd = ends.iter().map(|(share, end)| share * apart(end)).sum::<f64>().sqrt();
        (mean.is_finite() && sd.is_finite()).then_some(ChainEnd { mean, sd })
    }
}

impl ChainModel {
    fn evidence(&self) -> f64 {
        self.regressions.iter().map(|regression| regression.evidence).sum()
    }

    /// The forecast of a curve from φ of its next level.
    fn forecast(&self, known: &[f64], centers: &[f64]) -> ChainEnd {
        let (reached, levels) = (known.len() - 1, self.regressions.len());
        let mut features = known.to_vec();
        // the covariance of the levels beyond those reached; the others are known
        let size = levels - reached;
        let mut covariance = vec![0.0; size * size];
        let mut cross = vec![0.0; size];
        let mut end = ChainEnd { mean: 0.0, sd: 0.0 };
        for (level, regression) in self.regressions.iter().enumerate().skip(reached) {
            let (order, unknown) = (level + 1, level - reached);
            let b = &regression.coefficients[reached + 1..];
            let (mut own, mut trace) = (0.0, 0.0);
            for i in 0..unknown {
                let row = &covariance[i * size..][..unknown];
                let q = &regression.inverse[(reached + 1 + i) * order + reached + 1..][..unknown];
                cross[i] = row.iter().zip(b).map(|(c, b)| c * b).sum();
                trace += row.iter().zip(q).map(|(c, q)| c * q).sum::<f64>();
                own += b[i] * cross[i];
            }
            let mean = regression.mean(&features);
            let variance = own + regression.scale(&features) + regression.variance * trace;
            for (i, &value) in cross[..unknown].iter().enumerate() {
                (covariance[unknown * size + i], covariance[i * size + unknown]) = (value, value);
            }
            covariance[unknown * size + unknown] = variance;
            features.push(mean - centers[level]);
            end = ChainEnd { mean, sd: variance.sqrt() };
        }
        end
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
pub(super) fn psi(curve: &[f64], centers: &[f64]) -> Vec<f64> {
    std::iter::once(1.0).chain(curve.iter().zip(centers).map(|(z, center)| z - center)).collect()
}

//! A final value as the chain forecasts it, and how far from the forecast it may be.

use super::regression::PRIOR_RUNS;
use super::transformation::ScoreTransformation;
use crate::statistics::{normal_cdf, normal_quantile};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::f64::consts::PI;

/// The tail: with probability 1/(20 + completed runs) an end is four times as far from the forecast. Without it the best run was lost in a fifth of
/// the studies however careful the rule was.
const TAIL_PRIOR_RUNS: f64 = 20.0;
pub(super) const TAIL_WIDTH: f64 = 4.0;
/// The shares of central intervals, and half their widths in standard deviations, with the tail of two or three completed runs and normal ends.
const INTERVAL_HALF_WIDTHS: [(f64, f64); 4] = [(0.68, 1.05), (0.8, 1.36), (0.9, 1.78), (0.95, 2.33)];
/// The variance of the last level is estimated: it has so many fewer degrees of freedom than its regression, but at least some.
const FREEDOM_LOST: f64 = 2.0;
const MIN_FREEDOM: f64 = 1.5;

/// A final value on the chain's own scale: the mean and the standard deviation of its central part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChainEnd {
    /// m.
    pub mean: f64,
    /// s; 0 for a completed run.
    pub sd: f64,
}

/// How far ends are from their forecasts, in units of s: Student's t where few runs have completed, and a wide tail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EndSpread {
    /// ε, the weight of the tail.
    pub(super) tail: f64,
    /// The factor of s in a chance: that of the central 80 %.
    pub(super) factor: f64,
    /// Half the widths of the central intervals of [`INTERVAL_HALF_WIDTHS`].
    widths: [f64; 4],
}

impl EndSpread {
    /// The spread after so many `completed` runs.
    pub(super) fn new(completed: usize) -> Self {
        let freedom = (PRIOR_RUNS + completed as f64 - FREEDOM_LOST).max(MIN_FREEDOM);
        let student = StudentsT::new(0.0, 1.0, freedom).ok();
        let factor = |share: f64| {
            let p = f64::midpoint(1.0, share);
            student.as_ref().map_or(1.0, |student| student.inverse_cdf(p) / normal_quantile(p))
        };
        let widths = INTERVAL_HALF_WIDTHS.map(|(share, width)| width * factor(share));
        Self {
            tail: 1.0 / (TAIL_PRIOR_RUNS + completed as f64),
            factor: widths[1] / INTERVAL_HALF_WIDTHS[1].1,
            widths,
        }
    }

    /// Half the width of the central interval that holds `share` of the ends, in units of s: one of .68, .8, .9 and .95.
    pub(super) fn width(&self, share: f64) -> f64 {
        let place = INTERVAL_HALF_WIDTHS.iter().position(|(known, _)| *known >= share);
        self.widths[place.unwrap_or(INTERVAL_HALF_WIDTHS.len() - 1)]
    }

    /// The probability that `end` is at most `x`.
    pub(super) fn below(&self, end: ChainEnd, x: f64) -> f64 {
        if end.sd <= 0.0 {
            return if end.mean <= x { 1.0 } else { 0.0 };
        }
        let u = (x - end.mean) / (self.factor * end.sd);
        (1.0 - self.tail) * normal_cdf(u) + self.tail * normal_cdf(u / TAIL_WIDTH)
    }
}

/// A forecast as it was made, to be held against the end that comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PendingForecast {
    pub(super) end: ChainEnd,
    pub(super) spread: EndSpread,
    pub(super) map: ScoreTransformation,
}

impl PendingForecast {
    /// ln of the density of a final `score`, per unit of the score.
    pub(super) fn log_density(&self, score: f64) -> f64 {
        let sd = self.spread.factor * self.end.sd;
        let u = (self.map.apply(score) - self.end.mean) / sd;
        let bell = |u: f64| (-u * u / 2.0).exp() / (2.0 * PI).sqrt();
        let density =
            (1.0 - self.spread.tail) * bell(u) + self.spread.tail * bell(u / TAIL_WIDTH) / TAIL_WIDTH;
        // far out the tail decides, also where its density is no number any more
        let far = (self.spread.tail / TAIL_WIDTH / (2.0 * PI).sqrt()).ln() - (u / TAIL_WIDTH).powi(2) / 2.0;
        density.ln().max(far) - sd.ln() + self.map.log_slope(score)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_completed_runs_widen_all_intervals_by_students_t() {
        // quantiles of Student's t with 1.5, 2 and 30 degrees of freedom
        for (completed, t_80, t_95) in
            [(0, 2.196_398, 6.016_663), (1, 1.885_618, 4.302_653), (29, 1.310_415, 2.042_272)]
        {
            let spread = EndSpread::new(completed);
            let expected = (1.36 * t_80 / 1.281_552, 2.33 * t_95 / 1.959_964);
            assert!((spread.width(0.8) - expected.0).abs() < 1e-5, "{spread:?} {expected:?}");
            assert!((spread.width(0.95) - expected.1).abs() < 1e-5, "{spread:?} {expected:?}");
            assert!((spread.factor - t_80 / 1.281_552).abs() < 1e-5, "{spread:?}");
        }
    }

    #[test]
    fn the_density_of_an_end_is_the_slope_of_its_distribution() {
        let curves = [vec![0.3, 0.4, 0.5], vec![0.2, 0.5, 0.7]];
        let extent = crate::chain::transformation::ScoreExtent::new(&curves).expect("points");
        let map = ScoreTransformation { extent, room: 0.2, mean: -0.5, sd: 0.6 };
        let seen = PendingForecast { end: ChainEnd { mean: 0.1, sd: 0.4 }, spread: EndSpread::new(2), map };
        for score in [0.35, 0.5, 0.6, 0.69] {
            let below = |score: f64| seen.spread.below(seen.end, map.apply(score));
            let slope = (below(score + 1e-6) - below(score - 1e-6)) / 2e-6;
            assert!((seen.log_density(score) - slope.ln()).abs() < 1e-5, "{score}");
        }
        assert!(seen.log_density(-1e9).is_finite());
    }
}

//! The transformation of scores: one for all curves and levels, so that what lies near the best is spread out.

use crate::statistics::quantile_of_sorted;

/// The distance below the lowest typical score at which values are cut, as a fraction of the range.
const CUT_FRACTION: f64 = 0.3;
/// The least range, as a fraction of 1 + |top|: a metric that never changes has none.
const MIN_RANGE_FRACTION: f64 = 1e-9;
/// How far below the floor a forecast may be, in ranges.
const MAX_RANGES_BELOW: f64 = 10.0;
/// The least argument of the logarithm: a score above the best of the fit is finite, too.
const MIN_LOG_ARGUMENT: f64 = 1e-3;

/// The scores of a fit in a few numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScoreExtent {
    /// The best score.
    pub(super) top: f64,
    /// R, the range that counts.
    pub(super) range: f64,
    /// Scores below this count as this.
    pub(super) floor: f64,
}

impl ScoreExtent {
    /// The extent of `curves`, each the scores at the levels that it reached; `None` if there are no points.
    pub(super) fn new(curves: &[Vec<f64>]) -> Option<Self> {
        let sorted = |values: Vec<f64>| {
            let mut values = values;
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let all = sorted(curves.iter().flatten().copied().collect());
        let first = sorted(curves.iter().filter_map(|curve| curve.first().copied()).collect());
        let &top = all.last()?;
        let (first, quarter) = (quantile_of_sorted(&first, 0.5), quantile_of_sorted(&all, 0.25));
        let range = (top - first).max((top - quarter) / 2.0).max(MIN_RANGE_FRACTION * (1.0 + top.abs()));
        Some(Self { top, range, floor: first.min(top - range) - CUT_FRACTION * range })
    }
}

/// z = (w(y) − mean)/sd with w(y) = −ln(max(1e-3, 1 + (top − max(y, floor))/(ρR))).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScoreTransformation {
    pub(super) extent: ScoreExtent,
    /// ρR, the room above the best score in which the scale bends.
    pub(super) room: f64,
    pub(super) mean: f64,
    pub(super) sd: f64,
}

impl ScoreTransformation {
    /// w(y), not standardized.
    pub(super) fn warp_score(&self, score: f64) -> f64 {
        let ScoreExtent { top, floor, .. } = self.extent;
        -(1.0 + (top - score.max(floor)) / self.room).max(MIN_LOG_ARGUMENT).ln()
    }

    /// z of a score.
    pub(super) fn apply(&self, score: f64) -> f64 {
        (self.warp_score(score) - self.mean) / self.sd
    }

    /// The score of z, at most ten ranges below the floor: with few completed runs the lower end of an interval is so far out that a
    /// loss, which is the exponential of a score, would be infinite, and a log cannot hold that.
    pub(super) fn invert(&self, z: f64) -> f64 {
        let ScoreExtent { top, range, floor } = self.extent;
        let lowest = floor - MAX_RANGES_BELOW * range;
        (top - self.room * (-(z * self.sd + self.mean)).exp_m1()).max(lowest)
    }

    /// ln |dz/dy| at a score.
    pub(super) fn log_slope(&self, score: f64) -> f64 {
        let ScoreExtent { top, floor, .. } = self.extent;
        -(self.room + top - score.max(floor)).max(MIN_LOG_ARGUMENT * self.room).ln() - self.sd.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_of_any_forecast_is_finite() {
        let extent = ScoreExtent::new(&[vec![0.3, 0.4, 0.5], vec![0.2, 0.5, 0.7]]).expect("points");
        let map = ScoreTransformation { extent, room: 0.2, mean: -0.5, sd: 0.6 };
        assert!((map.invert(map.apply(0.4)) - 0.4).abs() < 1e-12);
        for z in [-1e9, -1e3, 1e3, 1e9] {
            assert!(map.invert(z).is_finite(), "{z}");
        }
    }
}

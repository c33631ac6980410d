//! Warps: increasing transforms of targets, so that the residuals of a process are nearer to normal.

use crate::statistics::{mean, min_and_max, widen_range};

/// Where the bound of a [`TargetWarp`] stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoundSide {
    /// Above all targets: z = −ln(b − y). Equal steps of z shrink what is left to the bound by equal shares.
    Upper,
    /// Below all targets: z = ln(y − b).
    Lower,
}

/// The prior of a warp before targets are seen: the room between the extreme target and the bound, in ranges of the
/// targets, is log-normal around `room` with ln sd 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarpPrior {
    room: f64,
    /// Whether the bound may be below.
    lower: bool,
}

impl WarpPrior {
    /// Of final scores: good ones crowd below what the task allows.
    pub(crate) const SCORES: Self = Self { room: 0.1, lower: false };
    /// Of gains y_T − y_τ: most are small, and either tail may be the longer one.
    pub(crate) const GAINS: Self = Self { room: 0.5, lower: true };
}

/// The rooms that are tried, in ranges of the targets.
const ROOM_GRID: [f64; 10] = [0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0];
/// The amount, as a log, by which a bound below is less likely than one above.
const LOWER_BOUND_PENALTY: f64 = 0.5;
/// Targets whose range is a smaller share of their size are all the same but for rounding.
const MIN_RANGE_FRACTION: f64 = 1e-9;

/// z = −ln(b − y) with b above all targets y, or z = ln(y − b) with b below.
///
/// Source: Box & Cox, *An analysis of transformations*, 1964 (logarithm with a shift, chosen by likelihood); Snelson,
/// Rasmussen & Ghahramani, *Warped Gaussian processes*, 2003.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TargetWarp {
    side: BoundSide,
    bound: f64,
    /// The mean target.
    middle: f64,
    /// The range that z is held to where it is turned back: that of the targets' z, wider by itself on both sides.
    reach: (f64, f64),
}

impl TargetWarp {
    /// The warp that `prior` thinks likeliest; `None` for targets that are all the same, or too far apart to subtract.
    pub(crate) fn first(prior: WarpPrior, targets: &[f64]) -> Option<Self> {
        Self::new(BoundSide::Upper, prior.room, targets)
    }

    /// Of all sides and rooms the likeliest: the largest Σ ln z′(y) − n/2·ln q(z − z̄) + ln prior, `quadratic` giving q(v) = vᵀK⁻¹v
    /// (the marginal likelihood of a process with kernel K, at its best scale). `None` as [`TargetWarp::first`]. O(n²) per room.
    pub(crate) fn likeliest(
        prior: WarpPrior,
        targets: &[f64],
        mut quadratic: impl FnMut(&[f64]) -> f64,
    ) -> Option<Self> {
        let n = targets.len() as f64;
        let sides: &[BoundSide] =
            if prior.lower { &[BoundSide::Upper, BoundSide::Lower] } else { &[BoundSide::Upper] };
        let mut best = (f64::NEG_INFINITY, Self::first(prior, targets)?);
        for room in ROOM_GRID {
            for &side in sides {
                let Some(warp) = Self::new(side, room, targets) else { continue };
                let mut z: Vec<f64> = targets.iter().map(|&y| warp.apply(y)).collect();
                let center = mean(&z);
                z.iter_mut().for_each(|z| *z -= center);
                // ln z′ is z itself with the bound above, and −z with it below, so the mean of z gives the sum
                let (steepness, less_likely) = match side {
                    BoundSide::Upper => (center, 0.0),
                    BoundSide::Lower => (-center, LOWER_BOUND_PENALTY),
                };
                let unlikely = (room / prior.room).ln().powi(2) / 2.0 + less_likely;
                let likelihood = n * steepness - n / 2.0 * quadratic(&z).ln() - unlikely;
                if likelihood > best.0 {
                    best = (likelihood, warp);
                }
            }
        }
        Some(best.1)
    }

    /// The warp whose bound is `room` ranges of the targets beyond them; `None` as [`TargetWarp::first`].
    fn new(side: BoundSide, room: f64, targets: &[f64]) -> Option<Self> {
        let (low, high) = min_and_max(targets.iter().copied());
        let length = high - low;
        if !length.is_finite() || length <= MIN_RANGE_FRACTION * low.abs().max(high.abs()) {
            return None;
        }
        let bound = match side {
            BoundSide::Upper => high + room * length,
            BoundSide::Lower => low - room * length,
        };
        let mut warp = Self { side, bound, middle: mean(targets), reach: (0.0, 0.0) };
        warp.reach = widen_range((warp.apply(low), warp.apply(high)), 1.0);
        Some(warp)
    }

    /// z of a target `y`.
    pub(crate) fn apply(&self, y: f64) -> f64 {
        match self.side {
            BoundSide::Upper => -(self.bound - y).ln(),
            BoundSide::Lower => (y - self.bound).ln(),
        }
    }

    /// The mean and standard deviation of y, in its own unit, where z is normal with mean `z` and standard deviation `sd`.
    ///
    /// The mean is that of a log-normal distance from the bound, b ∓ e^(∓z + sd²/2), and so is the deviation where the bound is
    /// below; both take an sd above 1 for 1. Where the bound is above, the deviation is sd times the slope of y at the mean
    /// target: the bound is known no better than from the best run so far, and a deviation that shrinks towards it would be too
    /// sure of runs that are better.
    pub(crate) fn invert(&self, (z, sd): (f64, f64)) -> (f64, f64) {
        let z = z.clamp(self.reach.0, self.reach.1);
        let variance = (sd * sd).min(1.0);
        match self.side {
            BoundSide::Upper => {
                let left = (variance / 2.0 - z).exp();
                (self.bound - left, (self.bound - self.middle) * sd)
            }
            BoundSide::Lower => {
                let above = (variance / 2.0 + z).exp();
                (self.bound + above, above * variance.exp_m1().sqrt())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// vᵀv: a kernel that knows nothing.
    fn identity(v: &[f64]) -> f64 {
        v.iter().map(|v| v * v).sum()
    }

    /// 0.9 minus a log-normal distance, as quantiles.
    fn below_a_ceiling(n: usize) -> Vec<f64> {
        let z = |i: usize| crate::statistics::normal_quantile((i as f64 + 0.5) / n as f64);
        (0..n).map(|i| 0.9 - 0.1 * (0.8 * z(i)).exp()).collect()
    }

    #[test]
    fn targets_are_turned_and_turned_back() {
        let targets = [0.1, 0.5, 0.7, 0.75];
        for side in [BoundSide::Upper, BoundSide::Lower] {
            let warp = TargetWarp::new(side, 0.1, &targets).unwrap();
            for y in [0.08, 0.1, 0.3, 0.75, 0.78] {
                assert!((warp.invert((warp.apply(y), 0.0)).0 - y).abs() < 1e-12, "{side:?} {y}");
            }
            assert!(targets.windows(2).all(|pair| warp.apply(pair[0]) < warp.apply(pair[1])));
        }
    }

    #[test]
    fn the_mean_turned_back_is_that_of_a_sample() {
        let targets = [0.1, 0.5, 0.7, 0.75];
        for side in [BoundSide::Upper, BoundSide::Lower] {
            let warp = TargetWarp::new(side, 0.3, &targets).unwrap();
            let (z, sd) = (warp.apply(0.6), 0.4);
            let sample: Vec<f64> = (0..20_000)
                .map(|i| z + sd * crate::statistics::normal_quantile((f64::from(i) + 0.5) / 20_000.0))
                .map(|z| match side {
                    BoundSide::Upper => warp.bound - (-z).exp(),
                    BoundSide::Lower => warp.bound + z.exp(),
                })
                .collect();
            let (found, deviation) = warp.invert((z, sd));
            assert!((found - mean(&sample)).abs() < 1e-4, "{side:?} {found} {}", mean(&sample));
            if side == BoundSide::Lower {
                let expected = crate::statistics::standard_deviation(&sample);
                assert!((deviation / expected - 1.0).abs() < 1e-2, "{deviation} {expected}");
            }
        }
    }

    #[test]
    fn the_likeliest_bound_is_near_the_ceiling_that_targets_crowd_below() {
        let targets = below_a_ceiling(200);
        let warp = TargetWarp::likeliest(WarpPrior::SCORES, &targets, identity).unwrap();
        assert!((warp.bound - 0.9).abs() < 0.02, "{warp:?}");
        let turned: Vec<f64> = targets.iter().map(|y| -y).collect();
        let warp = TargetWarp::likeliest(WarpPrior::GAINS, &turned, identity).unwrap();
        assert!(warp.side == BoundSide::Lower && (warp.bound + 0.9).abs() < 0.02, "{warp:?}");
        // a normal distribution has no ceiling: the bound moves away
        let z = |i: i32| crate::statistics::normal_quantile((f64::from(i) + 0.5) / 200.0);
        let normal: Vec<f64> = (0..200).map(z).collect();
        let warp = TargetWarp::likeliest(WarpPrior::SCORES, &normal, identity).unwrap();
        assert!(warp.bound > 2.0 * normal[199], "{warp:?}");
    }

    #[test]
    fn an_affine_change_moves_the_bound_along() {
        let targets = below_a_ceiling(40);
        let scaled: Vec<f64> = targets.iter().map(|y| 1e6 * y - 3e5).collect();
        let [a, b] =
            [targets, scaled].map(|y| TargetWarp::likeliest(WarpPrior::GAINS, &y, identity).unwrap());
        assert!(a.side == b.side && (1e6 * a.bound - 3e5 - b.bound).abs() < 1e-3, "{a:?} {b:?}");
    }

    #[test]
    fn targets_that_are_all_the_same_or_infinitely_far_apart_have_no_warp() {
        for targets in [vec![0.3; 5], vec![1e6, 1e6 + 1e-7], vec![-1e308, 1e308], vec![f64::NAN, 1.0]] {
            assert!(TargetWarp::likeliest(WarpPrior::SCORES, &targets, identity).is_none(), "{targets:?}");
        }
    }

    #[test]
    fn no_z_is_turned_into_more_than_targets_could_be() {
        let warp = TargetWarp::new(BoundSide::Upper, 0.1, &[0.0, 1.0]).unwrap();
        for z in [-1e9, 1e9] {
            let (y, sd) = warp.invert((z, 1e3));
            assert!(y.is_finite() && sd.is_finite() && y.abs() < 50.0, "{y} {sd}");
        }
    }
}

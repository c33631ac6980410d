//! Forecasts: where a run will end, as a distribution.

use crate::statistics::{normal_cdf, normal_quantile};
use std::sync::Arc;

/// The shape of a forecast's distribution, in units of its scale around its mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ForecastShape {
    /// Normal: the paper's choice.
    #[default]
    Gaussian,
    /// Given by its quantiles: knots (Φ⁻¹(p), standardized quantile), both increasing, straight lines between them and
    /// beyond them. Shared by all forecasts of a model.
    Quantiles(Arc<[(f64, f64)]>),
}

/// The final value that an extrapolation of the curve alone forecasts, without noise: the basis of the criterion of Domhan et al.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurveEnd {
    /// The standard deviation of f(T), the curve's end without its noise.
    pub standard_deviation: f64,
    /// The metric's range.
    pub range: (f64, f64),
}

impl CurveEnd {
    /// The standard deviation, in units of the range, below which an end is known.
    pub const KNOWN_END_SD: f64 = 0.005;

    /// Whether the end is known.
    pub fn is_known(&self) -> bool {
        self.standard_deviation < Self::KNOWN_END_SD * (self.range.1 - self.range.0)
    }

    /// Whether an end at `mean` leaves the metric's range.
    pub fn is_outside(&self, mean: f64) -> bool {
        mean < self.range.0 || mean > self.range.1
    }
}

/// The predictive distribution of a run's final score (larger is better).
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The expected final score ŷ.
    pub mean: f64,
    /// The spread: the standard deviation σ for a Gaussian, the unit of the quantiles otherwise; ≥ 0.
    pub scale: f64,
    /// The shape of the distribution.
    pub shape: ForecastShape,
    /// The extrapolated final value, if the forecast is an extrapolation of the curve alone.
    pub curve_end: Option<CurveEnd>,
}

impl Forecast {
    /// A normal forecast with mean `mean` and standard deviation `sd`.
    pub fn gaussian(mean: f64, sd: f64) -> Self {
        Self { mean, scale: sd, shape: ForecastShape::Gaussian, curve_end: None }
    }

    /// The p-quantile: the final score is below it with probability p.
    pub fn quantile(&self, p: f64) -> f64 {
        let z = normal_quantile(p);
        match &self.shape {
            // 0 times the infinite quantile of p = 0 or 1 would be no number
            _ if self.scale <= 0.0 => self.mean,
            ForecastShape::Gaussian => self.mean + self.scale * z,
            ForecastShape::Quantiles(knots) => {
                self.mean + self.scale * interpolate_knots(knots, z, |&(x, y)| (x, y))
            }
        }
    }

    /// The probability that the final score is at most `score`: Φ((score − ŷ)/σ) for a Gaussian. With no spread, 0 or 1 (1 at equality).
    pub fn probability_at_most(&self, score: f64) -> f64 {
        if self.scale <= 0.0 {
            return if score >= self.mean { 1.0 } else { 0.0 };
        }
        let z = (score - self.mean) / self.scale;
        match &self.shape {
            ForecastShape::Gaussian => normal_cdf(z),
            ForecastShape::Quantiles(knots) => normal_cdf(interpolate_knots(knots, z, |&(x, y)| (y, x))),
        }
    }

    /// The standard deviation: half the width of the central interval with the probability of ±σ of a Gaussian (68.3 %).
    pub fn standard_deviation(&self) -> f64 {
        match self.shape {
            ForecastShape::Gaussian => self.scale,
            ForecastShape::Quantiles(_) => {
                (self.quantile(0.841_344_746) - self.quantile(0.158_655_254)) / 2.0
            }
        }
    }
}

/// The piecewise linear function through `knots` (seen through `view`), at `x`; its end pieces continue.
fn interpolate_knots(knots: &[(f64, f64)], x: f64, view: impl Fn(&(f64, f64)) -> (f64, f64)) -> f64 {
    let Some(last) = knots.len().checked_sub(1).filter(|&last| last > 0) else {
        return x;
    };
    let right = knots.partition_point(|knot| view(knot).0 < x).clamp(1, last);
    let ((x0, y0), (x1, y1)) = (view(&knots[right - 1]), view(&knots[right]));
    // infinity times a slope of 0 would be no number
    if x.is_infinite() { x } else { y0 + (x - x0) * (y1 - y0) / (x1 - x0).max(1e-12) }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "counts over counts and sure forecasts are exact")]
mod tests {
    use super::*;

    #[test]
    fn probability_and_quantile_are_inverse_for_both_shapes() {
        let knots: Arc<[(f64, f64)]> = vec![(-2.0, -4.0), (0.0, 0.1), (1.0, 0.8), (2.5, 6.0)].into();
        let shaped =
            Forecast { mean: 0.8, scale: 0.02, shape: ForecastShape::Quantiles(knots), curve_end: None };
        for forecast in [Forecast::gaussian(0.8, 0.02), shaped] {
            for p in [0.001, 0.05, 0.4, 0.5, 0.9, 0.99, 0.9999] {
                let back = forecast.probability_at_most(forecast.quantile(p));
                assert!((back - p).abs() < 1e-6, "{p} came back as {back}");
            }
        }
    }

    #[test]
    fn no_spread_compares_directly() {
        let sure = Forecast::gaussian(0.8, 0.0);
        assert_eq!([0.79, 0.8, 0.81].map(|y| sure.probability_at_most(y)), [0.0, 1.0, 1.0]);
    }
}

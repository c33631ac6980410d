//! The scale on which scores are forecast: the metric as it is, or its logarithm.
//!
//! Positive metrics that are minimized are forecast as logarithms: differences of losses are ratios.

use crate::curves::curve::Curve;
use crate::curves::metric::Direction;
use serde::{Deserialize, Serialize};

/// The scale on which scores are forecast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// The metric itself.
    #[default]
    Linear,
    /// The logarithm of the metric: for losses and perplexities, whose differences are ratios. Positive metrics only.
    Log,
}

/// The least positive number: the logarithm of a loss of 5e-324 is finite, too.
const MIN_POSITIVE: f64 = f64::from_bits(1);

impl Scale {
    /// Log for a metric that is minimized and always positive, linear otherwise.
    pub fn detect<'a>(direction: Direction, curves: impl IntoIterator<Item = &'a Curve>) -> Self {
        let mut scores = curves.into_iter().flat_map(|curve| curve.scores()).peekable();
        let positive = scores.peek().is_some() && scores.all(|&score| direction.to_value(score) > 0.0);
        if direction == Direction::Minimize && positive { Self::Log } else { Self::Linear }
    }

    /// The score on this scale of a `score` (larger is better) of a metric with `direction`; still larger is better.
    pub fn apply(self, score: f64, direction: Direction) -> f64 {
        match self {
            Self::Linear => score,
            Self::Log => direction.to_score(direction.to_value(score).max(MIN_POSITIVE).ln()),
        }
    }

    /// Undoes [`Scale::apply`].
    pub fn invert(self, scaled: f64, direction: Direction) -> f64 {
        match self {
            Self::Linear => scaled,
            Self::Log => direction.to_score(direction.to_value(scaled).exp()),
        }
    }
}

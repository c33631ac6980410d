//! The direction of a metric: the one place where "lower is better" is turned round.

use serde::{Deserialize, Serialize};

/// Whether larger or smaller values of a metric are better.
///
/// Values are turned once, where they enter ([`Direction::score`]), so that everywhere inside Foretell a larger
/// *score* is better; they are turned back ([`Direction::value`]) only to be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Larger is better: accuracy, reward.
    #[default]
    Maximize,
    /// Smaller is better: loss, perplexity, error.
    Minimize,
}

impl Direction {
    /// The score (larger is better) of a metric value.
    pub fn score(self, value: f64) -> f64 {
        match self {
            Self::Maximize => value,
            Self::Minimize => -value,
        }
    }

    /// The metric value, in the user's own direction, of a score.
    pub fn value(self, score: f64) -> f64 {
        self.score(score)
    }
}

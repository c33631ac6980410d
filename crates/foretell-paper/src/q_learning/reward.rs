//! The reward of a network, measured or forecast.

use crate::layer_space::Trajectory;
use serde::Serialize;

/// Where a reward comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RewardKind {
    /// The training ran to its end and this is its score.
    Measured,
    /// The training was stopped early and this is the score that was forecast for its end.
    Forecast,
}

/// The reward of a network: a score, larger is better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Reward {
    /// The score.
    pub(crate) value: f64,
    /// Whether it was measured or forecast.
    pub(crate) kind: RewardKind,
}

impl Reward {
    /// A score that was measured.
    pub(crate) fn from_measured(value: f64) -> Self {
        Self { value, kind: RewardKind::Measured }
    }

    /// A score that was forecast when the training was stopped.
    pub(crate) fn from_forecast(value: f64) -> Self {
        Self { value, kind: RewardKind::Forecast }
    }
}

/// An entry of the replay list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ReplayEntry {
    /// The network.
    pub(crate) trajectory: Trajectory,
    /// Reward of the network.
    pub(crate) reward: Reward,
}

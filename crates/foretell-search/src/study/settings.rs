//! What may change while a study is under way.

use crate::stopping::policy::Policy;
use foretell::StopCriterion;
use serde::{Deserialize, Serialize};

/// The settings of a study that may change between two runs of it: how trials are stopped, how many there are, and what
/// they may spend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How many trials in all.
    pub trials: u64,
    /// What the whole study may consume, in epochs.
    pub budget_epochs: Option<u64>,
    /// How many trials must be trained to a level before any is stopped there.
    pub burn_in: u64,
    /// By what rule trials are stopped.
    pub policy: Policy,
    /// Whether decisions are only recorded.
    pub shadow: bool,
    /// The predictor's name.
    pub predictor: String,
    /// When a forecast stops a trial.
    pub criterion: StopCriterion,
    /// Refit when the number of finished trials has grown by this factor.
    pub refit: Option<f64>,
    /// The share of trials that is never stopped.
    pub exempt: f64,
}

//! Why Q-learning refuses a setting, a result or a stored state, or has nothing to propose.

use crate::layer_space::LayerSpaceError;
use thiserror::Error;

/// Why a setting, a result or a stored state cannot be used, or nothing be proposed.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum QLearningError {
    /// A setting is out of its range.
    #[error("q-learning: {field} = {value} is not {expected}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// Value that was given.
        value: f64,
        /// Valid values.
        expected: &'static str,
    },
    /// A network or a stored state does not fit the space.
    #[error(transparent)]
    Space(#[from] LayerSpaceError),
    /// A reward is NaN or infinite.
    #[error("the reward of {network} is {value}; report the trial as failed, or use the reward of a guess")]
    Reward {
        /// The network.
        network: String,
        /// Reward that was given.
        value: f64,
    },
    /// A network to discard is not one that was proposed and is without a result.
    #[error("{network} is not waiting for a result, so it cannot be discarded")]
    NotOpen {
        /// The network.
        network: String,
    },
    /// Every network drawn had been proposed before.
    #[error(
        "{draws} networks drawn, all of them proposed before; the space is nearly spent: end the study or enlarge the space"
    )]
    Exhausted {
        /// The number of draws.
        draws: usize,
    },
}

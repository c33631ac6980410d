//! The best trial of a study, and how many trials ended how.

use foretell::Configuration;
use serde::Serialize;

/// The best trial of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Best {
    /// Its number.
    pub trial: u64,
    /// Its worth: its final value, or the best that it reached.
    pub score: f64,
    /// Its configuration.
    pub configuration: Configuration,
}

/// The numbers of trials by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tally {
    /// Trials of the study.
    pub total: u64,
    /// Running, or interrupted and to continue.
    pub running: u64,
    /// Trained to their end.
    pub completed: u64,
    /// Trained to a rung, and not promoted.
    pub paused: u64,
    /// Stopped by a decision.
    pub stopped: u64,
    /// Ended without a usable result.
    pub failed: u64,
    /// Those of the failed ones that did not fit into memory.
    pub out_of_memory: u64,
}

impl Tally {
    /// The failed trials in words: `3 failed (2 of them out of memory)`.
    pub fn describe_failed(&self) -> String {
        match self.out_of_memory {
            0 => format!("{} failed", self.failed),
            lost => format!("{} failed ({lost} of them out of memory)", self.failed),
        }
    }

    /// Trials that run no more.
    pub fn ended_count(&self) -> u64 {
        self.total - self.running
    }
}

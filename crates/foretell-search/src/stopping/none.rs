//! No stopping.

use super::{NamedRule, RuleNeeds, Ruling, StopRule, WatchedTrial};
use serde::{Deserialize, Serialize};

/// Stops nothing, and makes no decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoStopping;

impl NamedRule for NoStopping {
    const NAME: &'static str = "none";
    const ABOUT: &'static str = "Stop nothing.";
}

impl StopRule for NoStopping {
    fn needs(&self, _max_resource: u64) -> RuleNeeds {
        RuleNeeds { nothing: true, ..RuleNeeds::default() }
    }

    fn rule(&self, _trial: &mut dyn WatchedTrial) -> Ruling {
        Ruling::default()
    }
}

//! Perfect foresight: the most that any forecast could save.

use super::{NamedRule, RuleNeeds, Ruling, StopRule, WatchedTrial};
use crate::stopping::decision::Reason;
use serde::{Deserialize, Serialize};

/// Stops a trial that ends at or below what it has to beat, as the recording shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OracleRule;

impl NamedRule for OracleRule {
    const NAME: &'static str = "oracle";
    const ABOUT: &'static str =
        "Stop trials that will not win, with perfect foresight: the upper bound for forecasts.";
}

impl StopRule for OracleRule {
    fn needs(&self, _max_resource: u64) -> RuleNeeds {
        RuleNeeds { burn_in: true, incumbent: true, truth: true, ..RuleNeeds::default() }
    }

    fn rule(&self, trial: &mut dyn WatchedTrial) -> Ruling {
        let Some((incumbent, truth)) = trial.incumbent().zip(trial.truth()) else {
            return Ruling::go_on(Reason::NoIncumbent);
        };
        let ruling = if truth <= incumbent - trial.criterion().offset {
            Ruling::stop(Reason::WillNotWin, truth)
        } else {
            Ruling::default()
        };
        Ruling { incumbent: Some(incumbent), ..ruling }
    }
}

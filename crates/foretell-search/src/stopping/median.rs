//! The median rule.

use super::{NamedRule, RuleNeeds, Ruling, StopRule, WatchedTrial};
use crate::stopping::caution::Caution;
use crate::stopping::decision::Reason;
use serde::{Deserialize, Serialize};

/// Stops a trial whose best score so far is below the median of the running means of those that were trained as far as it is to be.
///
/// Source: Golovin et al., "Google Vizier", KDD 2017, §3.2.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MedianRule;

impl NamedRule for MedianRule {
    const NAME: &'static str = "median";
    const ABOUT: &'static str = "Stop trials below the median of the other trials' running means.";
}

impl StopRule for MedianRule {
    fn needs(&self, _max_resource: u64) -> RuleNeeds {
        RuleNeeds { burn_in: true, means: true, metric_alone: true, ..RuleNeeds::default() }
    }

    fn rule(&self, trial: &mut dyn WatchedTrial) -> Ruling {
        let scores = trial.scores();
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match (trial.median_of_means(), scores.last()) {
            (Some(median), Some(&last)) if best < median => Ruling::stop(Reason::BelowMedian, last),
            _ => Ruling::default(),
        }
    }

    fn in_words(&self, _caution: Caution) -> Option<String> {
        Some("once its best is below the median of the others' running means".to_owned())
    }
}

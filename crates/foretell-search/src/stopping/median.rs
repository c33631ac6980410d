//! The median rule.

use super::{Needs, Ruling, StopRule, Watched};
use crate::stopping::decision::Reason;

/// Stops a trial whose best score so far is below the median of the running means of those that were trained as far as it is to be.
///
/// Source: Golovin et al., "Google Vizier", KDD 2017, §3.2.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MedianRule;

impl StopRule for MedianRule {
    fn needs(&self, _max_resource: u64) -> Needs {
        Needs { burn_in: true, means: true, ..Needs::default() }
    }

    fn rule(&self, trial: &mut dyn Watched) -> Ruling {
        let scores = trial.scores();
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match (trial.median_of_means(), scores.last()) {
            (Some(median), Some(&last)) if best < median => Ruling::stop(Reason::BelowMedian, last),
            _ => Ruling::default(),
        }
    }
}

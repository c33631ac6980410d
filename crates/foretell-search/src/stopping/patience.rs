//! The rule of patience.

use super::{NamedRule, RuleNeeds, Ruling, StopRule, WatchedTrial};
use crate::defaults::DEFAULT_PATIENCE;
use crate::limits::MAX_COUNT;
use crate::part::PartError;
use crate::range::{at_least_one, at_most};
use crate::stopping::caution::Caution;
use crate::stopping::decision::Reason;
use serde::{Deserialize, Serialize};

/// Stops a trial without a new best score for this many reports. It also saves training of winners that have converged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PatienceRule {
    /// The number of reports.
    pub patience: usize,
}

impl Default for PatienceRule {
    fn default() -> Self {
        Self { patience: DEFAULT_PATIENCE }
    }
}

impl NamedRule for PatienceRule {
    const NAME: &'static str = "patience";
    const ABOUT: &'static str = "Stop after a number of reports without improvement.";
    const SETTING_DOCS: &'static [(&'static str, &'static str)] =
        &[("patience", "Number of reports without improvement before stopping.")];
}

impl StopRule for PatienceRule {
    fn needs(&self, _max_resource: u64) -> RuleNeeds {
        RuleNeeds { burn_in: true, ..RuleNeeds::default() }
    }

    fn rule(&self, trial: &mut dyn WatchedTrial) -> Ruling {
        let scores = trial.scores();
        match scores.last() {
            Some(&last) if age_of_best(&scores) >= self.patience => Ruling::stop(Reason::NoImprovement, last),
            _ => Ruling::default(),
        }
    }

    fn check(&self, _max_resource: u64) -> Result<(), PartError> {
        let patience = [("patience", self.patience as u64)];
        let checked = at_least_one(&patience).and_then(|()| at_most(MAX_COUNT, &patience));
        checked.map_err(|error| PartError::new("patience", error))
    }

    fn in_words(&self, _caution: Caution) -> Option<String> {
        Some(format!("after {} reports without a new best", self.patience))
    }
}

/// The number of points since the best score was first reached.
fn age_of_best(scores: &[f64]) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (i, &score) in scores.iter().enumerate() {
        // an equal score is no improvement, so a training that has converged is stopped as well
        if score > best.1 {
            best = (i, score);
        }
    }
    scores.len().saturating_sub(best.0 + 1)
}

#[cfg(test)]
mod tests {
    use super::age_of_best;

    #[test]
    fn the_age_of_the_best_counts_from_when_it_was_first_reached() {
        assert_eq!([&[][..], &[0.4], &[0.4, 0.6, 0.5, 0.6]].map(age_of_best), [0, 0, 2]);
    }
}

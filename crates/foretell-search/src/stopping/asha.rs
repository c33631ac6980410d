//! ASHA that stops instead of pausing.

use super::{NamedRule, RuleNeeds, Ruling, StopRule, WatchedTrial};
use crate::defaults::DEFAULT_ETA;
use crate::part::PartError;
use crate::schedulers::brackets::{last_levels, levels};
use crate::stopping::caution::Caution;
use crate::stopping::decision::Reason;
use serde::{Deserialize, Serialize};

/// Rungs below the end.
const RUNG_COUNT: u32 = 2;

/// At its rungs, R/η² and R/η, a trial continues if it is among the best ⌊n/η⌋ (at least the best) of the n that have reached the rung,
/// itself counted. No trial is paused, so no checkpoint is needed, and there is no burn-in.
///
/// Rungs below R/η² are left out: their ranks tell little about final values (see `docs/research/budget.md`).
///
/// Source: Li et al. 2020; the stopping variant is that of Ray Tune and of Optuna's `SuccessiveHalvingPruner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AshaRule {
    /// η.
    pub eta: u64,
}

impl Default for AshaRule {
    fn default() -> Self {
        Self { eta: DEFAULT_ETA }
    }
}

impl NamedRule for AshaRule {
    const NAME: &'static str = "asha";
    const ABOUT: &'static str = "ASHA without pauses: keep the best 1/η at the rungs R/η² and R/η.";
    const SETTING_DOCS: &'static [(&'static str, &'static str)] =
        &[("eta", "η: one in so many trials continues at each rung.")];
}

impl StopRule for AshaRule {
    fn needs(&self, max_resource: u64) -> RuleNeeds {
        let mut rungs = last_levels(max_resource, self.eta, Some(RUNG_COUNT)).unwrap_or_default();
        rungs.pop();
        RuleNeeds { rungs, ranks: true, ..RuleNeeds::default() }
    }

    fn rule(&self, trial: &mut dyn WatchedTrial) -> Ruling {
        match trial.place_at_rung() {
            // of fewer than η trials none would be among the best ⌊n/η⌋, so the best always continues
            Some(place) if place.better >= (place.all / self.eta as usize).max(1) => {
                Ruling::stop(Reason::BelowRung, place.score)
            }
            _ => Ruling::default(),
        }
    }

    fn check(&self, max_resource: u64) -> Result<(), PartError> {
        levels(max_resource, self.eta).map(|_| ()).map_err(|error| PartError::new("eta", error))
    }

    fn in_words(&self, _caution: Caution) -> Option<String> {
        let eta = self.eta;
        Some(format!("at the rungs R/{} and R/{eta} unless it is among the best 1/{eta} there", eta * eta))
    }
}

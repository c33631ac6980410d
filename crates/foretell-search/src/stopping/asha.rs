//! ASHA that stops instead of pausing.

use super::{Needs, Ruling, StopRule, Watched};
use crate::schedulers::brackets::last_levels;
use crate::stopping::decision::Reason;

/// Rungs below the end.
const RUNGS: u32 = 2;

/// At its rungs, R/η² and R/η, a trial continues if it is among the best ⌊n/η⌋ (at least the best) of the n that have reached the rung,
/// itself counted. No trial is paused, so no checkpoint is needed, and there is no burn-in.
///
/// Rungs below R/η² are left out: their ranks tell little about final values (see `docs/research/budget.md`).
///
/// Source: Li et al. 2020; the stopping variant is that of Ray Tune and of Optuna's `SuccessiveHalvingPruner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AshaRule {
    /// η.
    pub eta: u64,
}

impl StopRule for AshaRule {
    fn needs(&self, max_resource: u64) -> Needs {
        let mut rungs = last_levels(max_resource, self.eta, Some(RUNGS)).unwrap_or_default();
        rungs.pop();
        Needs { rungs, ..Needs::default() }
    }

    fn rule(&self, trial: &mut dyn Watched) -> Ruling {
        match trial.place_at_rung() {
            Some(place) if place.better >= (place.all / self.eta as usize).max(1) => {
                Ruling::stop(Reason::BelowRung, place.score)
            }
            _ => Ruling::default(),
        }
    }
}

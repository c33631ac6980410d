//! Rungs first, then forecasts: for studies of which many trials run before any has finished.

use super::caution::Caution;
use super::{ForecastRule, Needs, Ruling, StopRule, Watched};
use crate::schedulers::brackets::last_levels;
use crate::stopping::decision::Reason;
use foretell::StopCriterion;

/// η: one in three goes on.
const ETA: u64 = 3;
/// Rungs below the end: R/9 and R/3.
const RUNGS: u32 = 2;
/// The fewest trials that must have reached a rung before one is stopped there: the best third of fewer says little.
pub(super) const FEWEST: usize = 9;

/// Forecasts are learned from trials that have finished, and with many workers many trials run before any has. So while there are
/// fewer than the burn-in, trials are compared at equal epochs: of those that have reached a rung, R/9 or R/3, at least nine, all
/// but the best third stop, also those that were among it when they came there and were overtaken since. From the burn-in on
/// forecasts decide alone. With one worker, fewer than nine trials have begun by then, and rungs stop none. Where forecasts are learned from
/// earlier runs, rungs are in force until there is a finished trial to compare forecasts with.
///
/// A trial that is outside of the best third goes on where it may still overtake the leader: where it is behind the leader's score
/// at the rung by no more than a margin times the spread of all scores there. `caution` gives the margin: 2 is safe, 1 balanced,
/// and fast has none.
///
/// Source of the rungs: Li et al. 2020, ASHA. That the lowest rungs are left out, the second look and the margin are Foretell's own.
/// O(log trials + points) a check.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RungsFirstRule {
    /// When a forecast says that the trial will not win.
    pub criterion: StopCriterion,
    /// How careful the rungs are.
    pub caution: Caution,
}

/// R/9 and R/3, ascending; fewer where R is small.
pub(super) fn first_rungs(max_resource: u64) -> Vec<u64> {
    let mut rungs = last_levels(max_resource, ETA, Some(RUNGS)).unwrap_or_default();
    rungs.pop();
    rungs
}

/// The number of spreads behind the leader a trial may be and go on; `None` where the best third alone goes on.
pub(super) fn margin(caution: Caution) -> Option<f64> {
    match caution {
        Caution::Safe => Some(2.0),
        Caution::Balanced => Some(1.0),
        Caution::Fast => None,
    }
}

impl StopRule for RungsFirstRule {
    fn needs(&self, max_resource: u64) -> Needs {
        Needs { forecasts: true, rungs: first_rungs(max_resource), ..Needs::default() }
    }

    fn rule(&self, trial: &mut dyn Watched) -> Ruling {
        let by_forecast = if trial.has_teachers() {
            ForecastRule { criterion: self.criterion }.rule(trial)
        } else {
            Ruling::go_on(Reason::BurnIn)
        };
        if by_forecast.stop || (trial.has_teachers() && trial.incumbent().is_some()) {
            return by_forecast;
        }
        let Some(standing) = trial.standing() else { return by_forecast };
        let (all, better) = (standing.place.all, standing.place.better);
        if all < FEWEST || better < all / ETA as usize {
            return by_forecast;
        }
        if margin(self.caution).is_some_and(|margin| standing.behind <= margin * standing.spread) {
            return Ruling::go_on(Reason::MayWin);
        }
        let score = trial.scores().last().copied().unwrap_or(standing.place.score);
        Ruling::stop(Reason::BelowRung, score)
    }
}

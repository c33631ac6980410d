//! Rungs first, then forecasts: for studies in which many trials run before any has completed.

use super::caution::Caution;
use super::{ForecastRule, NamedRule, Needs, Ruling, StopRule, Watched};
use crate::schedulers::brackets::last_levels;
use crate::stopping::decision::Reason;
use serde::{Deserialize, Serialize};

/// η: one in three continues.
const ETA: u64 = 3;
/// Rungs below the end: R/9 and R/3.
const RUNGS: u32 = 2;
/// The fewest trials that must have reached a rung before one is stopped there: the best third of fewer means little.
const FEWEST: usize = 9;

/// Forecasts are learned from completed trials, and with many workers many trials run before any has completed. So while there are
/// fewer than the burn-in, trials are compared at equal epochs. Once at least nine have reached a rung, R/9 or R/3, all but the best
/// third of them stop, including those that were in it when they reached the rung and were overtaken since. From the burn-in on
/// forecasts decide alone. With one worker, fewer than nine trials have started by then, and rungs stop none. Where forecasts are
/// learned from earlier runs, rungs are in force until there is a completed trial to compare forecasts with.
///
/// A trial outside of the best third continues where it may still overtake the leader: where it is behind the leader's score at the
/// rung by no more than a margin times the standard deviation of all scores there. `caution` gives the margin: 2 is safe, 1 balanced,
/// and fast has none.
///
/// Source of the rungs: Li et al. 2020, ASHA. Leaving out the lowest rungs, the second look and the margin are Foretell's own.
/// O(log trials + points) per check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RungsFirstRule {
    /// The caution of the rungs.
    pub caution: Caution,
}

impl NamedRule for RungsFirstRule {
    const NAME: &'static str = "rungs-first";
    const ABOUT: &'static str =
        "Until enough trials are completed, keep the best third at the rungs R/9 and R/3; then as srm.";
    const SETTINGS: &'static [(&'static str, &'static str)] =
        &[("caution", "How far a trial may be behind the best one at a rung and continue.")];
}

/// R/9 and R/3, ascending; fewer where R is small.
fn first_rungs(max_resource: u64) -> Vec<u64> {
    let mut rungs = last_levels(max_resource, ETA, Some(RUNGS)).unwrap_or_default();
    rungs.pop();
    rungs
}

/// The number of standard deviations that a trial may be behind the leader and continue; `None` where only the best third continues.
fn margin(caution: Caution) -> Option<f64> {
    match caution {
        Caution::Safe => Some(2.0),
        Caution::Balanced => Some(1.0),
        Caution::Fast => None,
    }
}

impl StopRule for RungsFirstRule {
    fn needs(&self, max_resource: u64) -> Needs {
        Needs {
            forecasts: true,
            incumbent: true,
            rungs: first_rungs(max_resource),
            metric_alone: true,
            ..Needs::default()
        }
    }

    fn rule(&self, trial: &mut dyn Watched) -> Ruling {
        let by_forecast =
            if trial.has_teachers() { ForecastRule.rule(trial) } else { Ruling::go_on(Reason::BurnIn) };
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

    fn before_forecasts(&self, max_resource: u64) -> Option<String> {
        let rungs: Vec<String> = first_rungs(max_resource).iter().map(u64::to_string).collect();
        let unless = margin(self.caution).map_or(String::new(), |margin| {
            format!(
                ", and trails the best of them by more than {margin} × the standard deviation of their scores"
            )
        });
        (!rungs.is_empty()).then(|| {
            format!(
                "if it is not among the best third (at least {FEWEST}) of the trials at epoch {}{unless}",
                rungs.join(" or ")
            )
        })
    }
}

//! The rule of forecasts: stop a trial that will not win, with probability Δ.

use super::{EndForecast, NamedRule, RuleNeeds, Ruling, StopRule, WatchedTrial};
use crate::stopping::decision::Reason;
use foretell::{Action, StopCriterion};
use serde::{Deserialize, Serialize};

/// Stops a trial by its forecast: the rule of the paper, with the number of agreeing checks that the criterion sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForecastRule;

impl NamedRule for ForecastRule {
    const NAME: &'static str = "srm";
    const ABOUT: &'static str = "Stop trials whose forecasts show that they will not win.";
}

impl StopRule for ForecastRule {
    fn needs(&self, _max_resource: u64) -> RuleNeeds {
        RuleNeeds { burn_in: true, forecasts: true, incumbent: true, ..RuleNeeds::default() }
    }

    fn rule(&self, trial: &mut dyn WatchedTrial) -> Ruling {
        match trial.foresee() {
            Ok(foreseen) => self.judge(trial, &foreseen),
            Err(why) => Ruling::go_on(Reason::NoForecast(why)),
        }
    }
}

impl ForecastRule {
    /// The ruling on a trial that is foreseen.
    pub fn judge(&self, trial: &dyn WatchedTrial, foreseen: &EndForecast) -> Ruling {
        let forecast = Some(foreseen.recorded);
        if !foreseen.incumbents.is_empty() {
            return self.rule_jointly(trial, foreseen);
        }
        let Some(incumbent) = trial.incumbent() else {
            return Ruling { forecast, ..Ruling::go_on(Reason::NoIncumbent) };
        };
        // the offset is in the metric's unit, the forecast on the history's scale
        let threshold = (foreseen.on_scale)(incumbent - trial.criterion().offset);
        let (number, checks) = trial.check();
        let at_check = StopCriterion { offset: 0.0, ..trial.criterion().for_check(number, checks) };
        let verdict = at_check.decide(&foreseen.forecast, threshold);
        let ruled = self.ruling_for(trial, verdict.action);
        let probability = Some(verdict.probability).filter(|probability| probability.is_finite());
        Ruling { forecast, incumbent: Some(incumbent), probability, ..ruled }
    }

    /// The ruling that `action` is, once enough checks agree.
    fn ruling_for(&self, trial: &dyn WatchedTrial, action: Action) -> Ruling {
        let agreed = trial.votes() + 1 >= trial.criterion().agreeing_checks as u64;
        match action {
            Action::Continue => Ruling::go_on(Reason::MayWin),
            Action::Stop if agreed => Ruling { stop: true, ..Ruling::go_on(Reason::WillNotWin) },
            Action::Stop => Ruling::go_on(Reason::AwaitingConfirmation),
        }
    }

    /// The ruling where other objectives are forecast, too: P(dominated) = mean over what may have to be beaten, b, of P(end ≤ b − δ).
    fn rule_jointly(&self, trial: &dyn WatchedTrial, foreseen: &EndForecast) -> Ruling {
        let (number, checks) = trial.check();
        let criterion = trial.criterion();
        let at_check = criterion.for_check(number, checks);
        let below = |&incumbent: &f64| match incumbent.is_finite() {
            true => {
                let threshold = (foreseen.on_scale)(incumbent - criterion.offset);
                foreseen.forecast.probability_at_most(threshold)
            }
            false => 0.0,
        };
        let incumbents = &foreseen.incumbents;
        let probability = incumbents.iter().map(below).sum::<f64>() / incumbents.len() as f64;
        let stops = probability >= at_check.stop_probability;
        let ruled = self.ruling_for(trial, if stops { Action::Stop } else { Action::Continue });
        let finite = incumbents.iter().copied().filter(|incumbent| incumbent.is_finite());
        Ruling {
            forecast: Some(foreseen.recorded),
            incumbent: finite.min_by(f64::total_cmp),
            probability: Some(probability).filter(|probability| probability.is_finite()),
            ..ruled
        }
    }
}

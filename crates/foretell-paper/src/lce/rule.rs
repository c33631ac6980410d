//! The termination criterion of Domhan et al.: stop a trial whose extrapolated curve will hardly beat the best, or whose end is known.

use super::TerminationMode;
use foretell_search::{ForecastRule, Reason, RuleNeeds, Ruling, StopRule, StoppingDefaults, WatchedTrial};

/// Stops a trial by the extrapolation of its own curve, by the criterion of [`TerminationCriterion`](super::TerminationCriterion) with the study's Δ,
/// δ and agreeing checks: the published one stops where P(y_T > y_best) < 0.05, so Δ = 0.95.
///
/// * Conservative: a trial that is already better than the best continues, and so does one whose extrapolation leaves the metric's range.
/// * Optimistic: a trial also stops where its final value is known, whatever its rank.
/// * A trial whose curve cannot be extrapolated continues.
///
/// The predictor must be `lce` or `lce-domhan2015`. The rule does not learn from other trials, so it starts once there is one to beat.
///
/// Source: Domhan, Springenberg & Hutter 2015, §3.3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LceRule {
    /// The choice of the two published criteria.
    pub mode: TerminationMode,
}

impl StopRule for LceRule {
    fn needs(&self, _max_resource: u64) -> RuleNeeds {
        RuleNeeds {
            burn_in: true,
            forecasts: true,
            curve_alone: true,
            incumbent: true,
            ..RuleNeeds::default()
        }
    }

    fn rule(&self, trial: &mut dyn WatchedTrial) -> Ruling {
        let careful = self.mode == TerminationMode::Conservative;
        let incumbent = trial.incumbent();
        if careful && incumbent.is_some_and(|best| trial.scores().iter().any(|score| *score > best)) {
            return Ruling { incumbent, ..Ruling::default() };
        }
        let foreseen = match trial.foresee() {
            Ok(foreseen) => foreseen,
            Err(why) => return Ruling::go_on(Reason::NoForecast(why)),
        };
        let Some(end) = foreseen.forecast.curve_end else {
            return Ruling::go_on(Reason::NoForecast("its curve cannot be extrapolated".to_owned()));
        };
        if !careful && end.is_known() {
            let forecast = Some(foreseen.recorded);
            return Ruling { stop: true, forecast, incumbent, ..Ruling::go_on(Reason::EndKnown) };
        }
        let ruling = ForecastRule.judge(trial, &foreseen);
        if careful && ruling.stop && end.is_outside(foreseen.forecast.mean) {
            let why = "its extrapolation leaves the metric's range".to_owned();
            return Ruling { stop: false, reason: Reason::NoForecast(why), ..ruling };
        }
        ruling
    }

    /// From the first finished trial on, at P(y_T > y_best) < 0.05, so Δ = 0.95. Finished trials only say how a metric without a known range
    /// ranges.
    fn usual(&self) -> Option<StoppingDefaults> {
        Some(StoppingDefaults {
            burn_in: 1,
            predictor: "lce".to_owned(),
            refit: Some(1.05),
            ..StoppingDefaults::paper()
        })
    }
}

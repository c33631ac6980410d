//! The rule of forecasts: stop a trial that will not win, with probability Δ.

use super::{Needs, Ruling, StopRule, Watched};
use crate::stopping::decision::Reason;
use foretell::{Action, StopCriterion};

/// A forecast with less than this share of the metric's range as its standard deviation knows the end.
const KNOWN: f64 = 0.005;

/// Stops a trial by its forecast: the paper's rule, with as many agreeing checks as the criterion asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ForecastRule {
    /// When a forecast says that the trial will not win.
    pub criterion: StopCriterion,
    /// Whether a trial also stops where its end is known, whatever its rank: where the forecast's standard deviation is below 0.005 of the
    /// metric's range. The optimistic mode of Domhan et al. 2015; their spread leaves the curve's noise out, a forecast's has it in.
    pub optimistic: bool,
}

impl StopRule for ForecastRule {
    fn needs(&self, _max_resource: u64) -> Needs {
        Needs { burn_in: true, forecasts: true, ..Needs::default() }
    }

    fn rule(&self, trial: &mut dyn Watched) -> Ruling {
        let foreseen = match trial.foresee() {
            Ok(foreseen) => foreseen,
            Err(why) => return Ruling::go_on(Reason::NoForecast(why)),
        };
        let forecast = Some(foreseen.recorded);
        if self.optimistic && foreseen.forecast.standard_deviation() < KNOWN * foreseen.range {
            return Ruling { stop: true, forecast, ..Ruling::go_on(Reason::EndKnown) };
        }
        let Some(incumbent) = trial.incumbent() else {
            return Ruling { forecast, ..Ruling::go_on(Reason::NoIncumbent) };
        };
        // the offset is in the metric's unit, the forecast on the history's scale
        let threshold = (foreseen.on_scale)(incumbent - self.criterion.offset);
        let (number, checks) = trial.check();
        let at_check = StopCriterion { offset: 0.0, ..self.criterion.at_check(number, checks) };
        let verdict = at_check.decide(&foreseen.forecast, threshold);
        let agreed = trial.votes() + 1 >= self.criterion.agreeing_checks as u64;
        let (stop, reason) = match verdict.action {
            Action::Continue => (false, Reason::MayWin),
            Action::Stop if agreed => (true, Reason::WillNotWin),
            Action::Stop => (false, Reason::AwaitingConfirmation),
        };
        let probability = Some(verdict.probability).filter(|probability| probability.is_finite());
        Ruling { stop, reason, forecast, incumbent: Some(incumbent), probability, counts_with: None }
    }
}

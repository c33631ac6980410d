//! The judge: from what a study has seen of a running trial to a decision, in live studies and in replays alike.

use super::{Study, Trial};
use crate::policy::Policy;
use crate::random::is_exempt;
use crate::record::{Decision, Reason};
use foretell::{Action, History, RunScore, StopCriterion};

/// Non-finite values in a row that count as divergence.
const DIVERGED_AFTER: u64 = 2;

/// A forecast with less than this share of the metric's range as its standard deviation knows the end.
const KNOWN: f64 = 0.005;

/// The metric's range: from the floor, or 0 of a share, to the ceiling or the best final score.
fn width(history: &History) -> f64 {
    match history.ceiling() {
        Some(ceiling) if ceiling > 0.0 => ceiling,
        ceiling => {
            let finals = (0..history.len()).filter_map(|i| history.final_score(i));
            ceiling.unwrap_or_else(|| finals.fold(f64::NEG_INFINITY, f64::max)) - history.floor()
        }
    }
}

/// What a trial's state alone says about its next check.
pub(super) enum Check {
    /// There is none yet.
    NotDue,
    /// The decision needs no look at the trial's future; this is its reason.
    Settled(Reason),
    /// The policy decides.
    Open,
}

impl Study {
    /// The decision on `trial` at `step`; `None` if there is nothing to decide.
    ///
    /// It depends on the trial's curve, what was trained to its level before, what it has to beat, the number of the check
    /// and the checks before it that said "stop"; on nothing else.
    pub(super) fn judge(&mut self, trial: u64, step: u64) -> Option<Decision> {
        let judged = &self.trials[trial as usize];
        let (until, trained) = (judged.until, judged.trained());
        if self.spec.policy == Policy::None || trained >= until {
            return None;
        }
        let open = self.open_decision(trial, step);
        match self.check(judged) {
            Check::NotDue => return None,
            Check::Settled(reason) => return Some(self.settled(reason, open)),
            Check::Open => {}
        }
        let decision = match self.spec.policy {
            Policy::None => open,
            Policy::Forecast | Policy::Optimistic => self.by_forecast(open),
            Policy::Median => self.by_median(open),
            Policy::Patience(reports) => self.by_patience(reports, open),
            Policy::Asha(eta) => self.by_rung(eta, open),
            Policy::Oracle => self.by_truth(open),
        };
        Some(self.spare(decision))
    }

    /// What the state of `judged` alone says about its next check.
    pub(super) fn check(&self, judged: &Trial) -> Check {
        if judged.shadow.is_some() {
            Check::Settled(Reason::AlreadyStopped)
        } else if judged.diverged >= DIVERGED_AFTER {
            Check::Settled(Reason::Diverged)
        } else if !self.knowledge.checks.is_due(judged.trained()) {
            Check::NotDue
        } else if self.needs_burn_in() && self.knowledge.learnt(judged.until).is_none() {
            Check::Settled(Reason::BurnIn)
        } else if judged.diverged > 0 {
            Check::Settled(Reason::NoForecast("its last value is not finite".to_owned()))
        } else {
            Check::Open
        }
    }

    /// The decision for a `reason` that the trial's state alone gives.
    fn settled(&self, reason: Reason, mut open: Decision) -> Decision {
        match reason {
            Reason::AlreadyStopped => open.action = Action::Stop,
            Reason::Diverged => {
                open.action = Action::Stop;
                let judged = &self.trials[open.trial as usize];
                let best = self.spec.run_score.of(&judged.curve);
                let kept = best.filter(|_| self.spec.run_score == RunScore::Best);
                open.value = kept.map(|score| self.spec.direction.value(score));
            }
            _ => {}
        }
        Decision { reason, ..open }
    }

    /// A decision that lets the trial go on, to be completed.
    fn open_decision(&self, trial: u64, step: u64) -> Decision {
        Decision {
            trial,
            step,
            action: Action::Continue,
            reason: Reason::MayWin,
            forecast: None,
            value: None,
            incumbent: None,
            probability: None,
            shadow: self.spec.shadow,
        }
    }

    /// Lets a trial go on that a person keeps, or that is exempt from stopping.
    fn spare(&self, mut decision: Decision) -> Decision {
        if decision.action == Action::Stop && self.trials[decision.trial as usize].kept {
            (decision.action, decision.reason) = (Action::Continue, Reason::Kept);
        } else if decision.action == Action::Stop
            && is_exempt(self.spec.seed, decision.trial, self.spec.exempt)
        {
            (decision.action, decision.reason) = (Action::Continue, Reason::Exempt);
        }
        decision
    }

    /// The score that a running `trial` has to beat, the offset not taken off.
    pub(crate) fn reference(&self, trial: u64) -> Option<f64> {
        self.scheduler.reference(trial).filter(|score| score.is_finite())
    }

    /// Compares the trial's forecast with what it has to beat.
    fn by_forecast(&mut self, mut decision: Decision) -> Decision {
        let level = self.trials[decision.trial as usize].until;
        let (known, outlook) = match self.outlook(decision.trial as usize, level) {
            Ok(found) => found,
            Err(why) => {
                if let Some(recording) = &self.knowledge.recording {
                    recording.without_forecast(&why);
                }
                return Decision { reason: Reason::NoForecast(why.to_string()), ..decision };
            }
        };
        decision.forecast = Some(outlook.recorded);
        if self.spec.policy == Policy::Optimistic {
            let (history, spread) = (known.forecaster().history(), outlook.forecast.standard_deviation());
            if spread < KNOWN * width(history) {
                return Decision { action: Action::Stop, reason: Reason::EndKnown, ..decision };
            }
        }
        let Some(incumbent) = self.reference(decision.trial) else {
            return Decision { reason: Reason::NoIncumbent, ..decision };
        };
        let (direction, criterion) = (self.spec.direction, &self.spec.criterion);
        decision.incumbent = Some(direction.value(incumbent));
        // the offset is in the metric's unit, the forecast on the history's scale
        let history = known.forecaster().history();
        let threshold = history.score(direction.value(incumbent - criterion.offset));
        let trial = &self.trials[decision.trial as usize];
        let checks = self.knowledge.checks;
        let at_check = criterion.at_check(checks.number(trial.trained()), checks.number(level - 1));
        let verdict = StopCriterion { offset: 0.0, ..at_check }.decide(&outlook.forecast, threshold);
        decision.probability = Some(verdict.probability).filter(|probability| probability.is_finite());
        let agreed = trial.votes + 1 >= criterion.agreeing_checks as u64;
        (decision.action, decision.reason) = match verdict.action {
            Action::Continue => (Action::Continue, Reason::MayWin),
            Action::Stop if agreed => (Action::Stop, Reason::WillNotWin),
            Action::Stop => (Action::Continue, Reason::AwaitingConfirmation),
        };
        decision
    }

    /// The median rule.
    fn by_median(&mut self, decision: Decision) -> Decision {
        let scores = self.scores(decision.trial);
        let level = self.trials[decision.trial as usize].until;
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let median = self.knowledge.median_of_peers(level, decision.step);
        let stop = median.is_some_and(|median| best < median);
        self.by_curve(stop.then_some(Reason::BelowMedian), &scores, decision)
    }

    /// Stops a trial that has not improved for `reports` reports.
    fn by_patience(&self, reports: usize, decision: Decision) -> Decision {
        let scores = self.scores(decision.trial);
        let stop = age_of_best(&scores) >= reports;
        self.by_curve(stop.then_some(Reason::NoImprovement), &scores, decision)
    }

    /// The trial's finite scores so far.
    fn scores(&self, trial: u64) -> Vec<f64> {
        self.spec.run_score.curve(&self.trials[trial as usize].curve).scores().to_vec()
    }

    /// Stops, for a `reason`, a trial that counts with its last score.
    pub(super) fn by_curve(
        &self,
        reason: Option<Reason>,
        scores: &[f64],
        mut decision: Decision,
    ) -> Decision {
        if let Some((reason, score)) = reason.zip(scores.last()) {
            (decision.action, decision.reason) = (Action::Stop, reason);
            decision.value = Some(self.spec.direction.value(*score));
        }
        decision
    }

    /// Perfect foresight.
    fn by_truth(&self, mut decision: Decision) -> Decision {
        let level = self.trials[decision.trial as usize].until;
        let index = self.warm_start.len() + decision.trial as usize;
        let Some(truth) = self.knowledge.recording.as_ref().map(|recording| recording.truth(index, level))
        else {
            return Decision { reason: Reason::NoForecast("nothing is recorded".to_owned()), ..decision };
        };
        let Some(incumbent) = self.reference(decision.trial) else {
            return Decision { reason: Reason::NoIncumbent, ..decision };
        };
        let direction = self.spec.direction;
        decision.incumbent = Some(direction.value(incumbent));
        if truth <= incumbent - self.spec.criterion.offset {
            (decision.action, decision.reason) = (Action::Stop, Reason::WillNotWin);
            decision.value = truth.is_finite().then(|| direction.value(truth));
        }
        decision
    }
}

/// How many points ago the best score was first reached.
fn age_of_best(scores: &[f64]) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (i, &score) in scores.iter().enumerate() {
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

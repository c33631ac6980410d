//! The judge: from the observations of a running trial to a decision, in live studies and in replays alike.

use crate::record::{Decision, Reason};
use crate::samplers::random::is_exempt;
use crate::stopping::caution::Caution;
use crate::stopping::{EndForecast, Ruling, RungPlace, WatchedTrial};
use crate::study::{Study, Trial};
use foretell::{Action, RunScore, StopCriterion};
use std::any::Any;
use std::sync::Arc;

/// Non-finite values in a row that count as divergence.
pub(crate) const DIVERGED_AFTER: u64 = 2;

/// The next check of a trial, as far as its state alone determines it.
pub(super) enum NextCheck {
    /// There is none yet.
    NotDue,
    /// The decision needs no look at the trial's future; this is its reason.
    Settled(Reason),
    /// The stop rule decides.
    Open,
}

/// A trial as the stop rule sees it.
struct StudyTrialView<'a> {
    study: &'a mut Study,
    index: usize,
}

impl StudyTrialView<'_> {
    fn subject(&self) -> &Trial {
        &self.study.trials[self.index]
    }
}

impl WatchedTrial for StudyTrialView<'_> {
    fn trial(&self) -> u64 {
        self.index as u64
    }

    fn step(&self) -> u64 {
        self.subject().step
    }

    fn target_step(&self) -> u64 {
        self.study.level_of(self.subject().until)
    }

    fn scores(&self) -> Vec<f64> {
        self.study.spec.run_score.score_curve(&self.subject().curve).scores().to_vec()
    }

    fn incumbent(&self) -> Option<f64> {
        self.study.reference(self.index as u64)
    }

    fn criterion(&self) -> StopCriterion {
        self.study.spec.criterion
    }

    fn caution(&self) -> Caution {
        self.study.spec.caution
    }

    fn planned_trials(&self) -> u64 {
        self.study.spec.trials
    }

    fn learner(&mut self) -> Option<&mut dyn Any> {
        self.study.learner.as_mut().map(|learner| learner.as_mut() as &mut dyn Any)
    }

    fn foresee(&mut self) -> Result<EndForecast, String> {
        let level = self.target_step();
        let (known, outlook) = self.study.outlook(self.index, level).map_err(|why| {
            if let Some(recording) = &self.study.knowledge.recording {
                recording.without_forecast(&why);
            }
            why.to_string()
        })?;
        let direction = self.study.spec.direction;
        let (recorded, forecast) = (outlook.recorded, outlook.forecast.clone());
        let incumbents = self.study.possible_incumbents(self.index).map_err(|why| why.to_string())?;
        let on_scale =
            Box::new(move |score| known.forecaster().history().to_score(direction.to_value(score)));
        Ok(EndForecast { recorded, forecast, on_scale, incumbents })
    }

    fn check(&self) -> (usize, usize) {
        let checks = self.study.knowledge.checks;
        (checks.number(self.subject().trained_epochs()), checks.number(self.target_step() - 1))
    }

    fn votes(&self) -> u64 {
        self.subject().votes
    }

    fn median_of_means(&mut self) -> Option<f64> {
        let (level, step) = (self.target_step(), self.step());
        self.study.knowledge.median_of_peers(level, step)
    }

    fn place_at_rung(&self) -> Option<RungPlace> {
        self.study.place_at_rung(self.index)
    }

    fn truth(&self) -> Option<f64> {
        let recording = self.study.knowledge.recording.as_ref()?;
        Some(recording.true_score(self.study.warm_start.len() + self.index, self.target_step()))
    }
}

impl Study {
    /// The decision on `trial` at `step`; `None` if there is nothing to decide.
    ///
    /// The decision depends on the trial's curve, what was trained to its level before, what it has to beat, the number of the check
    /// and the checks before it that said "stop"; on nothing else.
    pub(in crate::study) fn judge(&mut self, trial: u64, step: u64) -> Option<Decision> {
        let rule = Arc::clone(self.rule.as_ref()?);
        let judged = &self.trials[trial as usize];
        if judged.trained_epochs() >= judged.until || judged.is_unlimited() {
            return None;
        }
        let open = self.open_decision(trial, step);
        match self.check(judged) {
            NextCheck::NotDue => return None,
            NextCheck::Settled(reason) => return Some(self.decision_for_reason(reason, open)),
            NextCheck::Open => {}
        }
        if self.is_past_first_fold(trial as usize) {
            return Some(self.spare_trial(self.judge_later_fold(trial as usize, open)));
        }
        // a mean over those that were not stopped would be too good
        if self.spec.repeats() > 1
            && self.progress.repeats().is_repeat(trial as usize, &self.trials[trial as usize].configuration)
        {
            return Some(open);
        }
        let ruling = rule.rule(&mut StudyTrialView { study: self, index: trial as usize });
        let decision = self.decision_from_ruling(ruling, open);
        Some(self.spare_trial(self.await_folds(decision)))
    }

    /// Whether the last report of `trial` awaits a decision.
    pub fn is_undecided(&self, trial: u64) -> bool {
        let Some(trial) = self.trial(trial).filter(|_| self.rule.is_some()) else { return false };
        let unjudged = trial.judged.is_none_or(|judged| judged < trial.step);
        let has_grounds = trial.trained_epochs() > 0 || trial.breaks_limit;
        let may_end = trial.trained_epochs() < trial.until && !trial.is_unlimited();
        trial.is_open() && has_grounds && may_end && unjudged
    }

    /// The next check of `judged`, as far as its state alone determines it.
    pub(super) fn check(&self, judged: &Trial) -> NextCheck {
        // first of all, because the shadow's decisions are those of a study that has stopped the trial
        if judged.shadow.is_some() {
            NextCheck::Settled(Reason::AlreadyStopped)
        } else if let Some((limit, value)) = self.broken_limit(judged).filter(|_| !judged.kept) {
            NextCheck::Settled(Reason::BreaksLimit(format!("{limit}, and it has {value}")))
        } else if judged.diverged >= DIVERGED_AFTER {
            NextCheck::Settled(Reason::Diverged)
        } else if !self.knowledge.checks.is_due(judged.trained_epochs()) {
            NextCheck::NotDue
        } else if self.needs.burn_in && self.knowledge.training_set(self.level_of(judged.until)).is_none() {
            NextCheck::Settled(Reason::BurnIn)
        } else if judged.diverged > 0 {
            // one such value may be a passing one, but no forecast can be made from it
            NextCheck::Settled(Reason::NoForecast("its last value is not finite".to_owned()))
        } else if let Some(objective) = self.unknown_objective(judged).filter(|_| self.needs.forecasts) {
            let what = &objective.of;
            NextCheck::Settled(Reason::NoForecast(format!("its final value of {what} is not known yet")))
        } else if self.constant().is_some() {
            NextCheck::Settled(Reason::NoForecast(
                "every report of every trial has the same value".to_owned(),
            ))
        } else {
            NextCheck::Open
        }
    }

    /// The value that every report of every trial has, once three trials have three reports each: it may be a setting instead of the metric, and
    /// says nothing of who wins.
    pub fn constant(&self) -> Option<f64> {
        const MIN_REPORTS: usize = 3;
        let scores = self.trials.iter().map(|trial| trial.curve.scores());
        let first = *scores.clone().flatten().next()?;
        let is_same = scores.clone().flatten().all(|score| score.to_bits() == first.to_bits());
        let is_known = is_same && scores.filter(|scores| scores.len() >= MIN_REPORTS).count() >= MIN_REPORTS;
        is_known.then(|| self.spec.direction.to_value(first))
    }

    /// The decision for a `reason` that the trial's state alone gives.
    fn decision_for_reason(&self, reason: Reason, mut open: Decision) -> Decision {
        match reason {
            Reason::AlreadyStopped | Reason::BreaksLimit(_) => open.action = Action::Stop,
            Reason::Diverged => {
                open.action = Action::Stop;
                let judged = &self.trials[open.trial as usize];
                let best = self.spec.run_score.value_of(&judged.curve);
                let kept = best.filter(|_| self.spec.run_score == RunScore::Best);
                open.value = kept.map(|score| self.spec.direction.to_value(score));
            }
            _ => {}
        }
        Decision { reason, ..open }
    }

    /// A decision that lets the trial continue, to be completed.
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
            chance: None,
            shadow: self.spec.shadow || self.returns_forbid_stopping(),
        }
    }

    /// The decision that a ruling is, in the metric's own direction.
    fn decision_from_ruling(&self, ruling: Ruling, open: Decision) -> Decision {
        let Ruling { stop, reason, forecast, incumbent, probability, chance, counts_with } = ruling;
        let [value, incumbent] = [counts_with.filter(|score| score.is_finite()), incumbent]
            .map(|score| score.map(|score| self.spec.direction.to_value(score)));
        Decision {
            action: if stop { Action::Stop } else { Action::Continue },
            reason,
            forecast,
            value,
            incumbent,
            probability,
            chance,
            ..open
        }
    }

    /// Lets a trial continue that a person keeps, or that is exempt from stopping.
    fn spare_trial(&self, mut decision: Decision) -> Decision {
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
        let score = match self.spec.compares_by_metric_alone() {
            true if self.spec.repeats() > 1 || self.spec.folds() > 1 => self
                .progress
                .leaders()
                .nth(self.spec.criterion.nth_best.saturating_sub(1))
                .map(|leader| leader.1),
            true => self.scheduler.reference(trial),
            false => self.to_beat(trial as usize),
        };
        score.filter(|score| score.is_finite())
    }
}

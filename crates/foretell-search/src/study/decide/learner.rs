//! What the stop rule learns: the study tells it every report and every end, in the order of the log.

use crate::stopping::{EarlierStudy, RuleLearner, StudyPlan, TrialOutcome};
use crate::study::{Study, StudySpec, Trial, TrialState};

impl StudySpec {
    /// The facts that a stop rule's learner starts from.
    pub(in crate::study) fn plan(&self) -> StudyPlan {
        StudyPlan {
            max_resource: self.max_resource,
            trials: self.trials,
            direction: self.direction,
            run_score: self.run_score,
        }
    }
}

impl Study {
    /// A learner of the stop rule, told everything again: one trial after another.
    pub(in crate::study) fn begin_learner(&mut self) {
        self.learner = self.rule.as_ref().and_then(|rule| rule.learner(&self.spec.plan()));
        let Some(learner) = &mut self.learner else { return };
        self.warm_start.iter().for_each(|run| learner.earlier(run));
        for (number, trial) in (0..).zip(&self.trials) {
            tell_all(learner.as_mut(), &self.spec, number, trial);
        }
    }

    /// The earlier studies that its stop rule learns from, with whether each counts by now: see [`RuleLearner::lessons`].
    pub fn lessons(&self) -> Vec<EarlierStudy> {
        self.learner.as_ref().map(|learner| learner.lessons()).unwrap_or_default()
    }

    /// The learner hears of a run of an earlier search.
    pub(in crate::study) fn hear_earlier(&mut self) {
        if let (Some(learner), Some(run)) = (&mut self.learner, self.warm_start.last()) {
            learner.earlier(run);
        }
    }

    /// The learner hears of the last report of trial `index`, which had this `value`.
    pub(in crate::study) fn hear_report(&mut self, index: usize, value: Option<f64>) {
        let (Some(learner), trial) = (&mut self.learner, &self.trials[index]) else { return };
        // a trial that is only watched would report no more
        let is_within = trial.trained_epochs() <= self.spec.max_resource;
        if trial.shadow.is_none() && !trial.is_unknown() && is_within {
            let score = value.and_then(|_| self.spec.run_score.value_of(&trial.curve));
            learner.learn_report(
                index as u64,
                trial.trained_epochs(),
                score.filter(|score| score.is_finite()),
            );
        }
    }

    /// The learner hears that trial `index` has ended, or would have been stopped.
    pub(in crate::study) fn hear_end(&mut self, index: usize) {
        let trial = &self.trials[index];
        if let (Some(learner), Some(fate)) = (&mut self.learner, fate(trial)) {
            learner.learn_end(index as u64, fate);
        }
    }
}

/// How `trial` ended, in the study as its stop rule wants it; `None` while it runs.
fn fate(trial: &Trial) -> Option<TrialOutcome> {
    match trial.state {
        _ if trial.is_unknown() => Some(TrialOutcome::Failed),
        // a trial that only the shadow has stopped trains on, but a study that stops trials would not know how it ends
        _ if trial.shadow.is_some() => Some(TrialOutcome::Stopped),
        TrialState::Running | TrialState::Interrupted => None,
        TrialState::Completed { .. } => Some(TrialOutcome::Completed),
        TrialState::Paused { .. } => Some(TrialOutcome::Paused),
        TrialState::Stopped { .. } => Some(TrialOutcome::Stopped),
        TrialState::Failed { .. } => Some(TrialOutcome::Failed),
    }
}

/// Tells `learner` all of `trial`. O(points²).
fn tell_all(learner: &mut dyn RuleLearner, spec: &StudySpec, number: u64, trial: &Trial) {
    let curve = &trial.curve;
    let finite = curve.steps().iter().map(|&step| (step, true));
    let lost = curve.gap_starts().iter().copied().chain(curve.diverged_at()).map(|step| (step, false));
    let mut steps: Vec<(f64, bool)> = finite.chain(lost).collect();
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    let last = trial.shadow.as_ref().map_or(u64::MAX, |decision| decision.step);
    for (step, is_finite) in steps.into_iter().filter(|(step, _)| *step as u64 <= last) {
        let score =
            spec.run_score.value_of(&curve.prefix_until(step)).filter(|score| is_finite && score.is_finite());
        let epochs = trial.trained_at(step as u64);
        if !trial.is_unknown() && epochs <= spec.max_resource {
            learner.learn_report(number, epochs, score);
        }
    }
    if let Some(fate) = fate(trial) {
        learner.learn_end(number, fate);
    }
}

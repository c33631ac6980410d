//! A study's further objectives and its limits in its description: which values they need, and whether the rest of the study goes with them.

use super::spec::StudySpec;
use crate::objective::{Formula, Objective, ObjectiveError, reported};
use crate::schedulers::rank::Rank;
use crate::schedulers::schedule::Schedule;
use crate::stopping::policy::Policy;
use std::collections::BTreeSet;

impl StudySpec {
    /// Whether trials are compared by more than the metric.
    pub fn has_front(&self) -> bool {
        !self.objectives.is_empty()
    }

    /// Whether the scheduler knows what a trial has to beat: there are neither further objectives nor limits.
    pub(in crate::study) fn compares_by_metric_alone(&self) -> bool {
        self.objectives.is_empty() && self.limits.is_empty()
    }

    pub(in crate::study) fn formulas(&self) -> impl Iterator<Item = &Formula> {
        let objectives = self.objectives.iter().map(|objective| &objective.of);
        objectives.chain(self.limits.iter().map(|limit| &limit.of))
    }

    /// The values that trials report in addition to the metric, for the objectives and limits.
    pub fn reported_names(&self) -> BTreeSet<String> {
        let mut names = reported(self.formulas(), &self.space.known_names());
        names.remove(&self.metric);
        names
    }

    /// Checks that the objectives can be measured, and that no part of the study loses the front.
    pub(super) fn validate_objectives(&self) -> Result<(), ObjectiveError> {
        if let Some(reward) = &self.reward {
            let mut known = self.space.known_names();
            known.push(&self.metric);
            reward.check(&known)?;
            if !self.sampler.is_rewarded() {
                return Err(ObjectiveError::Reward);
            }
        }
        if self.compares_by_metric_alone() {
            return Ok(());
        }
        let known = self.space.known_names();
        for formula in self.formulas().filter(|formula| formula.name().is_none()) {
            formula.check(&known)?;
        }
        let formula = |objective: &Objective| objective.of.to_string();
        let texts = self.objectives.iter().map(formula).chain([self.metric.clone()]);
        let mut seen = BTreeSet::new();
        if let Some(of) = texts.into_iter().find(|text| !seen.insert(text.clone())) {
            return Err(ObjectiveError::Twice { of });
        }
        check_comparisons(&self.metric, self.schedule, self.rank, &self.policy)
    }
}

/// Checks that no part of a study with several objectives compares trials by `metric` alone.
pub(crate) fn check_comparisons(
    metric: &str,
    schedule: Schedule,
    rank: Rank,
    policy: &Policy,
) -> Result<(), ObjectiveError> {
    let needs = policy.needs(1);
    let (part, instead) = if needs.metric_alone && !needs.gives_way() {
        (format!("the policy {}", policy.name()), "Choose the policy srm or asha")
    } else if rank != Rank::Value {
        ("ranking by forecasts".to_owned(), "Choose the rank value")
    } else if needs.nothing || schedule.is_full() {
        return Ok(());
    } else {
        ("a policy at rungs".to_owned(), "Choose the policy none, or the scheduler full")
    };
    Err(ObjectiveError::Alone { part, metric: metric.to_owned(), instead })
}

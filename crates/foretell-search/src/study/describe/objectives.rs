//! A study's further objectives and its limits in its description: which values they need, and whether the rest of the study goes with them.

use super::spec::StudySpec;
use crate::objective::{Formula, Limit, Objective, ObjectiveError, reported_names};
use crate::samplers::random::trial_stream;
use crate::schedulers::rank::Rank;
use crate::schedulers::schedule::Schedule;
use crate::stopping::policy::StopPolicy;
use foretell::Configuration;
use std::collections::BTreeSet;

/// Limits have to allow one in so many configurations.
const ALLOWED_SHARE: u64 = 1_000;
/// Configurations that are drawn to find out.
const REGION_DRAWS: u64 = 10_000;
/// The stream that they are drawn from, which no trial has.
const REGION_STREAM: u64 = 1 << 59;

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

    /// The first limit that `configuration`, which may name only some parameters, breaks whatever its trial reports, and its value there.
    pub(in crate::study) fn broken_limit_of(&self, configuration: &Configuration) -> Option<(&Limit, f64)> {
        self.limits.iter().find_map(|limit| {
            let value = limit.of.evaluate(|name| self.space.known_value(configuration, name))?;
            limit.is_broken_by(value).then_some((limit, value))
        })
    }

    /// Whether `configuration` keeps all limits, as far as is known before it is trained.
    pub(in crate::study) fn allows(&self, configuration: &Configuration) -> bool {
        self.broken_limit_of(configuration).is_none()
    }

    /// Checks that the limits allow at least one in [`ALLOWED_SHARE`] of the configurations, so that samplers find some.
    fn check_allowed_region(&self) -> Result<(), ObjectiveError> {
        let known = self.space.known_names();
        let is_known = |limit: &&Limit| limit.of.names().iter().all(|name| known.contains(name));
        let limits: Vec<String> = self.limits.iter().filter(is_known).map(Limit::to_string).collect();
        // one that tries all configurations finds even a single one
        if limits.is_empty() || self.sampler.lists(&self.space) {
            return Ok(());
        }
        let mut rng = trial_stream(self.seed, REGION_STREAM);
        let mut allowed = 0;
        for _ in 0..REGION_DRAWS {
            let Some(drawn) = self.space.sample(&mut rng) else { return Ok(()) };
            allowed += u64::from(self.allows(&drawn));
            if allowed * ALLOWED_SHARE >= REGION_DRAWS {
                return Ok(());
            }
        }
        let limits = limits.join(" and ");
        Err(ObjectiveError::Region { limits, allowed, draws: REGION_DRAWS, share: ALLOWED_SHARE })
    }

    /// The values that trials report in addition to the metric, for the objectives and limits.
    pub fn reported_names(&self) -> BTreeSet<String> {
        let mut names = reported_names(self.formulas(), &self.space.known_names());
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
        self.check_allowed_region()?;
        let known = self.space.known_names();
        for formula in self.formulas().filter(|formula| formula.sole_name().is_none()) {
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
    policy: &StopPolicy,
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

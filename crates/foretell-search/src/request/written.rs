//! From a study back to a request: every setting under the name by which it is asked for.

use super::names::Refit;
use super::resolve::name_of;
use super::{Queued, StudyRequest};
use crate::objective::{Limit, Objective};
use crate::schedulers::schedule::Schedule;
use crate::stopping::caution::Caution;
use crate::study::StudySpec;
use foretell::Direction;
use serde_json::{Map, Value};

impl StudySpec {
    /// Returns a request with every setting of this study, including the defaults. Settings that another choice excludes are
    /// left open, and so is `paper`, which stands for others.
    pub fn request(&self) -> StudyRequest {
        StudyRequest {
            space: Some(self.space.clone()),
            metric: Some(self.metric.clone()),
            direction: Some(self.direction),
            objective: self.written_objectives(),
            limit: map_non_empty(&self.limits, Limit::to_string),
            trials: Some(self.trials),
            budget_epochs: self.budget_epochs,
            checkpoints: None,
            enqueue: map_non_empty(&self.queue, |configuration| Queued::Values(configuration.clone())),
            until_no_improvement: self.until_no_improvement,
            target: self.target,
            repeats: Some(self.repeats()),
            folds: Some(self.folds()),
            epochs: self.resource().filter(|_| !self.is_open_ended),
            score: Some(self.run_score),
            seed: Some(self.seed),
            sampler: Some(match self.sampler.named_settings() {
                named if self.sampler.fields().is_empty() => named.clone(),
                named => named.name.as_str().into(),
            }),
            scheduler: Some(name_of(self)),
            rank: Some(self.rank),
            reward: self.reward.as_ref().map(ToString::to_string),
            policy: Some(match self.policy.named_settings() {
                named if self.policy_fields().is_empty() => named.clone(),
                named => named.name.as_str().into(),
            }),
            caution: Some(self.caution).filter(|it| *it == Caution::default() || self.policy.uses("caution")),
            paper: None,
            burn_in: Some(self.burn_in),
            learn_from: None,
            stop_probability: Some(self.criterion.stop_probability),
            offset: Some(self.criterion.offset),
            nth_best: Some(self.criterion.nth_best),
            agreeing_checks: Some(self.criterion.agreeing_checks),
            error_budget: Some(self.criterion.error_budget),
            refit: Some(self.refit.map_or(Refit::Once, Refit::Growth)),
            exempt: Some(self.exempt),
            predictor: Some(self.predictor.clone()),
            stopping: Some(self.policy.stops()),
            shadow: Some(self.shadow),
            ends_by_time: false,
            workload: self.workload.clone(),
            ..self.numbers()
        }
    }

    /// The numbers of its rungs and of its sampler.
    fn numbers(&self) -> StudyRequest {
        let (brackets, rungs) = match self.schedule {
            Schedule::Hyperband { runs, kappa, reference, .. } => (Some((runs, kappa, reference)), None),
            Schedule::Asha { rungs, .. } => (None, rungs),
            Schedule::Full | Schedule::IEpoch { .. } | Schedule::SuccessiveHalving { .. } => (None, None),
        };
        let mut own = self.sampler.fields();
        own.extend(self.policy_fields());
        // families and policies return only fields of a request, so reading them cannot fail
        let own = StudyRequest::from_fields(&own).unwrap_or_default();
        StudyRequest {
            eta: self.schedule.eta().or(own.eta),
            rungs,
            runs: brackets.map(|(runs, ..)| runs),
            kappa: brackets.map(|(_, kappa, _)| kappa.kappa),
            kappa_of: brackets.map(|(_, kappa, _)| kappa.of),
            reference: brackets.map(|(.., reference)| reference),
            ..own
        }
    }

    /// The fields of a request that are the settings of its policy; empty where one of them is none.
    fn policy_fields(&self) -> Map<String, Value> {
        let settings = self.policy.named_settings().settings.as_object().cloned().unwrap_or_default();
        let are_fields = StudyRequest::from_fields(&settings).is_ok();
        settings.into_iter().filter(|_| are_fields).collect()
    }

    /// All objectives, the metric first; `None` where there is no other.
    fn written_objectives(&self) -> Option<Vec<String>> {
        let way = match self.direction {
            Direction::Maximize => "max",
            Direction::Minimize => "min",
        };
        let others = map_non_empty(&self.objectives, Objective::to_string)?;
        Some(std::iter::once(format!("{}:{way}", self.metric)).chain(others).collect())
    }
}

/// The written form of each element of `all`; `None` if `all` is empty.
fn map_non_empty<T, W>(all: &[T], write: impl Fn(&T) -> W) -> Option<Vec<W>> {
    (!all.is_empty()).then(|| all.iter().map(write).collect())
}

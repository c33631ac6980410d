//! Reading a study's description: as it is written today, or as earlier versions wrote it.

use super::spec::StudySpec;
use crate::objective::{Formula, Limit, Objective};
use crate::samplers::SamplerSpec;
use crate::schedulers::rank::Rank;
use crate::schedulers::schedule::Schedule;
use crate::space::Space;
use crate::stopping::policy::Policy;
use foretell::{Configuration, Direction, ErrorBudget, RunScore, StopCriterion};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Whether trials were stopped, as earlier versions wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stopping {
    Live,
    Shadow,
    Off,
}

impl Serialize for StudySpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for StudySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut written = Map::deserialize(deserializer)?;
        renew(&mut written).map_err(D::Error::custom)?;
        Self::deserialize(Value::Object(written)).map_err(D::Error::custom)
    }
}

/// Puts what earlier versions wrote in today's terms: `stopping`, `rule`, `agreeing_checks` and `budget` stood in the place of
/// `policy: none`, `shadow` and `criterion`.
fn renew(written: &mut Map<String, Value>) -> serde_json::Result<()> {
    let mut take = |name: &str| written.remove(name).filter(|value| !value.is_null());
    let (stopping, rule) = (take("stopping"), take("rule"));
    let checks = take("agreeing_checks").or(take("agreeing_looks"));
    let within = [("agreeing_checks", checks), ("error_budget", take("budget"))];
    match stopping.map(serde_json::from_value).transpose()? {
        Some(Stopping::Off) => {
            drop(written.insert("policy".to_owned(), serde_json::to_value(Policy::none())?))
        }
        Some(Stopping::Shadow) => drop(written.insert("shadow".to_owned(), Value::Bool(true))),
        Some(Stopping::Live) | None => {}
    }
    let criterion = written.entry("criterion").or_insert_with(|| rule.unwrap_or_else(|| Map::new().into()));
    if let Some(criterion) = criterion.as_object_mut() {
        criterion.extend(within.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    Ok(())
}

/// The fields that tell a study from others, in the form and order of the first version.
#[derive(Serialize)]
struct Identity<'a> {
    space: &'a Space,
    sampler: &'a SamplerSpec,
    schedule: Schedule,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<Rank>,
    metric: &'a str,
    direction: Direction,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_score: Option<RunScore>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objectives: Option<&'a [Objective]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<&'a [Limit]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reward: Option<&'a Formula>,
    max_resource: u64,
    trials: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a [Configuration]>,
    burn_in: u64,
    stopping: Stopping,
    policy: Policy,
    predictor: &'a str,
    rule: Rule,
    agreeing_checks: usize,
    budget: &'a str,
    refit: Option<f64>,
    exempt: f64,
    seed: u64,
    workload: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Rule {
    stop_probability: f64,
    offset: f64,
    nth_best: usize,
}

impl StudySpec {
    /// Everything that determines the study, as a text that later versions write alike: folders are named after it, and a study
    /// that an earlier version began is found again.
    pub fn identity(&self) -> String {
        let StopCriterion { stop_probability, offset, nth_best, agreeing_checks, error_budget } =
            self.criterion;
        let identity = Identity {
            space: &self.space,
            sampler: &self.sampler,
            schedule: self.schedule,
            rank: Some(self.rank).filter(|rank| *rank != Rank::default()),
            metric: &self.metric,
            direction: self.direction,
            run_score: Some(self.run_score).filter(|score| *score != RunScore::default()),
            objectives: Some(&self.objectives[..]).filter(|objectives| !objectives.is_empty()),
            limits: Some(&self.limits[..]).filter(|limits| !limits.is_empty()),
            reward: self.reward.as_ref(),
            max_resource: self.max_resource,
            trials: self.trials,
            repeats: self.repeats,
            queue: Some(&self.queue[..]).filter(|queue| !queue.is_empty()),
            burn_in: self.burn_in,
            stopping: match (self.policy.stops(), self.shadow) {
                (false, _) => Stopping::Off,
                (_, true) => Stopping::Shadow,
                _ => Stopping::Live,
            },
            policy: match self.policy.stops()
                && self.policy.rungs_before_forecasts(self.max_resource).is_empty()
                && !self.policy.learns_from_curves()
            {
                true => self.policy.clone(),
                false => Policy::default(),
            },
            predictor: &self.predictor,
            rule: Rule { stop_probability, offset, nth_best },
            agreeing_checks,
            budget: match error_budget {
                ErrorBudget::PerCheck => "per-look",
                ErrorBudget::PerRun => "per-run",
                ErrorBudget::PerRunEvenly => "per-run-evenly",
            },
            refit: self.refit,
            exempt: self.exempt,
            seed: self.seed,
            workload: &self.workload,
        };
        serde_json::to_string(&identity).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter_space::ParameterSpace;
    use crate::stopping::MedianRule;

    const OLD: &str = r#"{"space":SPACE,"sampler":"random","schedule":"full",
        "metric":"val_acc","direction":"maximize","max_resource":9,"trials":30,"burn_in":10,"stopping":STOPPING,
        "policy":"median","predictor":"auto","rule":{"stop_probability":0.95,"offset":0.01,"nth_best":2},
        "agreeing_checks":3,"budget":BUDGET,"refit":null,"exempt":0.0,"seed":4,"workload":{}}"#;

    fn read(stopping: &str, budget: &str) -> StudySpec {
        let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"]).unwrap());
        let space = serde_json::to_string(&space).unwrap();
        let text = OLD.replace("STOPPING", stopping).replace("BUDGET", budget).replace("SPACE", &space);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_identity_is_what_the_first_version_wrote() {
        let spec = read("\"shadow\"", "\"per-look\"");
        let space = serde_json::to_string(&spec.space).unwrap();
        let old = OLD.replace("STOPPING", "\"shadow\"").replace("BUDGET", "\"per-look\"");
        let old: String = old.replace("SPACE", &space).split("\n        ").collect();
        assert_eq!(spec.identity(), old);
        assert!(
            StudySpec { policy: Policy::none(), ..spec }.identity().contains("\"off\",\"policy\":\"srm\"")
        );
    }

    #[test]
    fn what_earlier_versions_wrote_is_read_and_written_anew() {
        let criterion = StopCriterion {
            stop_probability: 0.95,
            offset: 0.01,
            nth_best: 2,
            agreeing_checks: 3,
            error_budget: ErrorBudget::PerCheck,
        };
        for (stopping, policy, shadow) in [
            ("\"live\"", Policy::from(MedianRule), false),
            ("\"shadow\"", Policy::from(MedianRule), true),
            ("\"off\"", Policy::none(), false),
        ] {
            let spec = read(stopping, "\"per-look\"");
            assert_eq!(
                (&spec.policy, spec.shadow, spec.criterion),
                (&policy, shadow, criterion),
                "{stopping}"
            );
            let written = serde_json::to_string(&spec).unwrap();
            assert!(written.contains("per-check") && !written.contains("look"), "{written}");
            assert_eq!(serde_json::from_str::<StudySpec>(&written).unwrap(), spec);
        }
        let spec = read("\"live\"", "\"per-run\"");
        assert_eq!(spec.criterion.error_budget, ErrorBudget::PerRun);
    }
}

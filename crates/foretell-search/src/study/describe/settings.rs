//! The settings that may change while a study is under way.

use crate::resource;
use crate::samplers::SamplerSpec;
use crate::space::Space;
use crate::stopping::caution::Caution;
use crate::stopping::policy::StopPolicy;
use foretell::{RunScore, StopCriterion};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The settings of a study that may change between two runs of it: what is searched and by what sampler, how trials are stopped, how
/// many there are, and what they may spend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudySettings {
    /// The number of trials in all.
    pub trials: u64,
    /// The limit of the whole study, in epochs.
    pub budget_epochs: Option<u64>,
    /// The number of trials that must be trained to a level before any is stopped there.
    pub burn_in: u64,
    /// The stop rule.
    pub policy: StopPolicy,
    /// The risk that is taken to save training.
    #[serde(default)]
    pub caution: Caution,
    /// Whether decisions are only recorded.
    pub shadow: bool,
    /// The predictor's name.
    pub predictor: String,
    /// When a forecast stops a trial.
    pub criterion: StopCriterion,
    /// Refit when the number of finished trials has grown by this factor.
    pub refit: Option<f64>,
    /// The share of trials that is never stopped.
    pub exempt: f64,
    /// The space searched. Parameters may have other ranges and choices, and there may be others.
    pub space: Space,
    /// The sampler that chooses the next configuration.
    pub sampler: SamplerSpec,
    /// R, the resource that a whole training takes; it only grows, and only where every trial is trained to its end.
    #[serde(with = "resource")]
    pub max_resource: u64,
    /// Whether trials show R, because nobody gave it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_open_ended: bool,
    /// The value that a trial counts with; it changes only where every trial is trained to its end.
    pub run_score: RunScore,
    /// Whether somebody chose that value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub score_chosen: bool,
    /// No further trial is started after this many in a row without a new best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_no_improvement: Option<u64>,
    /// No further trial is started once a completed one is at least this good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
    /// The program that runs a trial; the command's number of epochs may change with the study's.
    pub workload: BTreeMap<String, String>,
}

//! What determines a study, and why something is none.

use crate::q_learning::QLearningError;
use crate::range::{RangeError, at_least_one, growth, share};
use crate::sampler::SamplerSpec;
use crate::schedule::{Schedule, ScheduleError};
use crate::space::Space;
use crate::stopper::ErrorBudget;
use foretell::{Direction, PredictorOptions, RunScore, StopRule, StopRuleError, UnknownPredictor, predictor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Whether trials are stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stopping {
    /// They are.
    #[default]
    Live,
    /// Decisions are made and recorded, but no trial is stopped.
    Shadow,
    /// No forecasts, no decisions.
    Off,
}

/// By what rule trials are stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// By their forecasts: the paper's rule, with any predictor.
    #[default]
    Forecast,
    /// The median rule.
    Median,
    /// After so many reports without a new best.
    Patience(usize),
}

/// Everything that determines a study, up to the timing of its workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudySpec {
    /// What is searched.
    pub space: Space,
    /// Which configuration is tried next.
    #[serde(default)]
    pub sampler: SamplerSpec,
    /// Who is trained, and how far.
    #[serde(default)]
    pub schedule: Schedule,
    /// The metric's name, for display.
    pub metric: String,
    /// Which way is better.
    pub direction: Direction,
    /// What a trial is worth after some steps: its last value, or the best that it has reached.
    // left out as long as it is the default, so that a study begun before there was this choice is found again
    #[serde(default, skip_serializing_if = "is_default")]
    pub run_score: RunScore,
    /// R, the resource that a whole training takes: epochs.
    pub max_resource: u64,
    /// How many trials in all; may be raised later.
    pub trials: u64,
    /// How many trials must be trained to a level (with full training: to their end) before any is stopped there.
    pub burn_in: u64,
    /// Whether trials are stopped.
    pub stopping: Stopping,
    /// By what rule.
    #[serde(default)]
    pub policy: Policy,
    /// The predictor's name.
    pub predictor: String,
    /// When to stop.
    pub rule: StopRule,
    /// How many checks in a row must agree before a trial is stopped; ≥ 1.
    pub agreeing_checks: u64,
    /// For what the stop probability holds.
    #[serde(default)]
    pub budget: ErrorBudget,
    /// Learn again when this many times as many trials are finished; `None`: once.
    #[serde(default)]
    pub refit: Option<f64>,
    /// The share of trials that is never stopped, in [0, 1): an unbiased audit.
    #[serde(default)]
    pub exempt: f64,
    /// The seed of proposals, trainings and predictors.
    pub seed: u64,
    /// What runs a trial, for display and to tell studies apart: data set, sizes, or the user's command.
    pub workload: BTreeMap<String, String>,
}

/// Why there is no such study.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum StudyError {
    /// More burn-in than trials.
    #[error(
        "burn-in of {burn_in} is larger than the study's {trials} trials{}: no trial could ever be stopped; lower --burn-in or raise --trials",
        if *.handed_in > 0 { format!(" and the {handed_in} runs of --learn-from") } else { String::new() }
    )]
    BurnIn {
        /// The burn-in.
        burn_in: u64,
        /// The trials.
        trials: u64,
        /// The runs handed in.
        handed_in: usize,
    },
    /// A number is out of range.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// Q-learning builds networks layer by layer.
    #[error(
        "q-learning searches networks layer by layer: it needs the space metaqnn, not parameters of a command"
    )]
    NoLayers,
    /// Q-learning needs a reward for each network.
    #[error(
        "q-learning needs one result for each network, trained to its end or forecast: it goes with full training only, not with rungs"
    )]
    NoRewards,
    /// The sampler's settings.
    #[error(transparent)]
    Sampler(#[from] QLearningError),
    /// The schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The stop rule is none.
    #[error(transparent)]
    Rule(#[from] StopRuleError),
    /// There is no such predictor.
    #[error(transparent)]
    Predictor(#[from] UnknownPredictor),
    /// The record does not follow from those before it.
    #[error(
        "record {record} of the log speaks of trial {trial}, which was never started: the log is not of this study"
    )]
    Record {
        /// Its number, from 1.
        record: usize,
        /// The trial.
        trial: u64,
    },
    /// The record starts another job than the study's plan has there.
    #[error(
        "record {record} of the log starts trial {trial}, which the study's plan does not do there: the log is of another version or was changed"
    )]
    Plan {
        /// Its number, from 1.
        record: usize,
        /// The trial.
        trial: u64,
    },
    /// The log does not begin with the study's description.
    #[error("the log does not begin with a study's description")]
    NoHeader,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl StudySpec {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The [`StudyError`] of the first field that is wrong.
    pub fn validate(&self) -> Result<(), StudyError> {
        self.schedule.validate(self.trials, self.max_resource)?;
        at_least_one(&[
            ("trials", self.trials),
            ("epochs", self.max_resource),
            ("burn-in", self.burn_in),
            ("agreeing checks", self.agreeing_checks),
        ])?;
        if let Policy::Patience(reports) = self.policy {
            at_least_one(&[("patience", reports as u64)])?;
        }
        share("exempt share", self.exempt)?;
        growth("refit factor", self.refit)?;
        self.rule.validate()?;
        predictor(&self.predictor, &PredictorOptions::default())?;
        self.validate_sampler()
    }

    /// Checks that the burn-in can end: by the study's own trials, and `handed_in` runs to learn from.
    ///
    /// # Errors
    /// [`StudyError::BurnIn`] where it is longer than both together.
    pub fn check_burn_in(&self, handed_in: usize) -> Result<(), StudyError> {
        let (burn_in, trials) = (self.burn_in, self.trials);
        let endless = self.stopping != Stopping::Off && burn_in > trials + handed_in as u64;
        if endless { Err(StudyError::BurnIn { burn_in, trials, handed_in }) } else { Ok(()) }
    }

    fn validate_sampler(&self) -> Result<(), StudyError> {
        match (&self.sampler, &self.space) {
            (SamplerSpec::Random, _) => Ok(()),
            (SamplerSpec::QLearning(_), Space::Parameters(_)) => Err(StudyError::NoLayers),
            (SamplerSpec::QLearning(_), _) if !self.schedule.is_full() => Err(StudyError::NoRewards),
            (SamplerSpec::QLearning(settings), _) => Ok(settings.validate()?),
        }
    }

    /// Whether `other` is the same study, possibly with another total of trials.
    pub fn continues(&self, other: &Self) -> bool {
        self.regardless_of_length() == other.regardless_of_length()
    }

    /// The same study without what may be raised later: its total of trials, unless its plan is made for so many.
    #[must_use]
    pub fn regardless_of_length(&self) -> Self {
        let trials = if self.schedule.is_planned_for_trials() { self.trials } else { 0 };
        Self { trials, schedule: self.schedule.without_runs(), ..self.clone() }
    }
}

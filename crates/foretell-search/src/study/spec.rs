//! What determines a study, and why something is none.

use super::Parts;
use crate::brackets::levels;
use crate::caution::{Caution, Stopping};
use crate::parameter_space::ParameterSpaceError;
use crate::policy::Policy;
use crate::q_learning::QLearningError;
use crate::range::{RangeError, at_least_one, growth, share};
use crate::rank::Rank;
use crate::sampler::SamplerSpec;
use crate::schedule::{Schedule, ScheduleError};
use crate::space::Space;
use foretell::{
    Configuration, Direction, PredictorOptions, RunScore, StopCriterion, StopCriterionError,
    UnknownPredictor, predictor,
};
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// Everything that determines a study, up to the timing of its workers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudySpec {
    /// What is searched.
    pub space: Space,
    /// Which configuration is tried next.
    pub sampler: SamplerSpec,
    /// Who is trained, and how far.
    pub schedule: Schedule,
    /// By what trials are compared at a rung.
    #[serde(skip_serializing_if = "is_default")]
    pub rank: Rank,
    /// The metric's name, for display.
    pub metric: String,
    /// Which way is better.
    pub direction: Direction,
    /// What a trial is worth after some steps: its last value, or the best that it has reached.
    // left out as long as it is the default, so that a study begun before there was this choice is found again
    #[serde(skip_serializing_if = "is_default")]
    pub run_score: RunScore,
    /// R, the resource that a whole training takes: epochs.
    pub max_resource: u64,
    /// How many trials in all; may be raised later.
    pub trials: u64,
    /// What the whole study may consume, in epochs; no limit, if absent. May be raised later.
    #[serde(skip_serializing_if = "is_default")]
    pub budget_epochs: Option<u64>,
    /// Configurations of the user's own: the first trials have them, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<Configuration>,
    /// How many trials must be trained to a level (with full training: to their end) before any is stopped there.
    pub burn_in: u64,
    /// By what rule trials are stopped.
    pub policy: Policy,
    /// Whether decisions are only recorded, and no trial is stopped.
    pub shadow: bool,
    /// The predictor's name.
    pub predictor: String,
    /// When a forecast stops a trial.
    pub criterion: StopCriterion,
    /// Learn again when this many times as many trials are finished; `None`: once.
    pub refit: Option<f64>,
    /// The share of trials that is never stopped, in [0, 1): an unbiased audit.
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
        if *.warm_start > 0 { format!(" and the {warm_start} runs of --learn-from") } else { String::new() }
    )]
    BurnIn {
        /// The burn-in.
        burn_in: u64,
        /// The trials.
        trials: u64,
        /// The runs of the warm start.
        warm_start: usize,
    },
    /// A number is out of range.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// Q-learning builds networks layer by layer.
    #[error(
        "q-learning searches networks layer by layer: it needs the space metaqnn, not parameters of a command"
    )]
    NoLayers,
    /// The other samplers that learn know parameters only.
    #[error(
        "the samplers tpe, gp and tpe-gp search parameters, not layers: with the space metaqnn choose random or q-learning"
    )]
    NoParameters,
    /// A queued configuration is not in the space.
    #[error("a queued trial: {0}")]
    Queue(#[from] ParameterSpaceError),
    /// Networks cannot be queued.
    #[error("queued trials are values of parameters: the space metaqnn takes none")]
    NoQueue,
    /// Q-learning needs a reward for each network.
    #[error(
        "q-learning needs one result for each network, trained to its end or forecast: it goes with full training only, not with rungs"
    )]
    NoRewards,
    /// Forecasts of the end at rungs where other forecasts stop trials, or without rungs.
    #[error(
        "ranking by forecasts of the end goes with rungs and no other forecast at them: choose the scheduler asha, successive-halving or hyperband with the policy none, or full training with the policy asha"
    )]
    Rank,
    /// The sampler's settings.
    #[error(transparent)]
    Sampler(#[from] QLearningError),
    /// The schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The stop criterion is out of range.
    #[error(transparent)]
    Criterion(#[from] StopCriterionError),
    /// Perfect foresight, outside a replay.
    #[error(
        "the policy oracle knows how runs end, which only a replay of recorded runs does; choose another"
    )]
    Oracle,
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
    /// The record starts a trial beyond those that the study plans for.
    #[error(
        "record {record} of the log starts trial {trial}, beyond the trials of this study; raise --trials"
    )]
    MoreTrials {
        /// Its number, from 1.
        record: usize,
        /// The trial.
        trial: u64,
    },
    /// The record ends a trial with a result, but the trial has no value.
    #[error(
        "record {record} of the log ends trial {trial} with a result, but the trial has reported no finite value: the log was changed; restore it from a copy"
    )]
    NoValue {
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
    /// A study of `space` with the usual settings: 24 trials at random, each trained for 20 epochs, the first three to their end;
    /// then trials stop once two checks in a row are sure that they will not win, by forecasts that are learnt again as trials
    /// finish. Change the fields as you need.
    pub fn new(space: Space, metric: impl Into<String>, direction: Direction) -> Self {
        let Stopping { burn_in, predictor, refit, criterion } = Caution::default().stopping();
        Self {
            space,
            sampler: SamplerSpec::default(),
            schedule: Schedule::default(),
            rank: Rank::default(),
            metric: metric.into(),
            direction,
            run_score: RunScore::default(),
            max_resource: 20,
            trials: 24,
            budget_epochs: None,
            queue: Vec::new(),
            burn_in,
            policy: Policy::default(),
            shadow: false,
            predictor: predictor.to_owned(),
            criterion,
            refit,
            exempt: 0.0,
            seed: 0,
            workload: BTreeMap::new(),
        }
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// The [`StudyError`] of the first field that is wrong.
    pub fn validate(&self) -> Result<(), StudyError> {
        self.validate_with(&Parts::default())
    }

    /// Checks the ranges of all that `parts` do not replace.
    pub(super) fn validate_with(&self, parts: &Parts) -> Result<(), StudyError> {
        if parts.scheduler.is_none() {
            self.schedule.validate(self.trials, self.max_resource)?;
        }
        at_least_one(&[("trials", self.trials), ("epochs", self.max_resource), ("burn-in", self.burn_in)])?;
        if let Policy::Patience(reports) = self.policy {
            at_least_one(&[("patience", reports as u64)])?;
        }
        if let Policy::Asha(eta) = self.policy {
            levels(self.max_resource, eta).map_err(ScheduleError::from)?;
        }
        self.validate_queue()?;
        share("exempt share", self.exempt)?;
        growth("refit factor", self.refit)?;
        self.criterion.validate()?;
        if parts.scheduler.is_none() && !self.schedule.compares_by(self.rank, self.policy) {
            return Err(StudyError::Rank);
        }
        if self.policy == Policy::Oracle {
            return Err(StudyError::Oracle);
        }
        if parts.predictor.is_none() {
            predictor(&self.predictor, &PredictorOptions::default())?;
        }
        if parts.sampler.is_none() { self.validate_sampler() } else { Ok(()) }
    }

    /// Checks that the burn-in can end: by the study's own trials, and `warm_start` runs to learn from.
    ///
    /// # Errors
    /// [`StudyError::BurnIn`] where it is longer than both together.
    pub fn check_burn_in(&self, warm_start: usize) -> Result<(), StudyError> {
        let (burn_in, trials) = (self.burn_in, self.trials);
        let endless = self.policy != Policy::None && burn_in > trials + warm_start as u64;
        if endless { Err(StudyError::BurnIn { burn_in, trials, warm_start }) } else { Ok(()) }
    }

    fn validate_queue(&self) -> Result<(), StudyError> {
        match &self.space {
            Space::Parameters(space) => {
                self.queue.iter().try_for_each(|configuration| space.check(configuration))?
            }
            Space::Metaqnn(_) if !self.queue.is_empty() => return Err(StudyError::NoQueue),
            Space::Metaqnn(_) => {}
        }
        Ok(())
    }

    fn validate_sampler(&self) -> Result<(), StudyError> {
        match (&self.sampler, &self.space) {
            (SamplerSpec::Random, _) => Ok(()),
            (SamplerSpec::Tpe | SamplerSpec::Gp | SamplerSpec::TpeGp, Space::Parameters(_)) => Ok(()),
            (SamplerSpec::Tpe | SamplerSpec::Gp | SamplerSpec::TpeGp, Space::Metaqnn(_)) => {
                Err(StudyError::NoParameters)
            }
            (SamplerSpec::QLearning(_), Space::Parameters(_)) => Err(StudyError::NoLayers),
            (SamplerSpec::QLearning(_), _) if !self.schedule.is_full() => Err(StudyError::NoRewards),
            (SamplerSpec::QLearning(settings), _) => Ok(settings.validate()?),
        }
    }

    /// The same study, planned for at least `trials` trials: what a log with more trials than asked for needs.
    #[must_use]
    pub fn covering(mut self, trials: u64) -> Self {
        self.trials = self.trials.max(trials);
        self.schedule = self.schedule.covering(trials, self.max_resource);
        self
    }

    /// Whether `other` is the same study, possibly with another total of trials.
    pub fn continues(&self, other: &Self) -> bool {
        self.regardless_of_length() == other.regardless_of_length()
    }

    /// The same study without what may be raised later: its total of trials, unless its plan is made for so many.
    #[must_use]
    pub fn regardless_of_length(&self) -> Self {
        let trials = if self.schedule.is_planned_for_trials() { self.trials } else { 0 };
        Self { trials, budget_epochs: None, schedule: self.schedule.without_runs(), ..self.clone() }
    }
}

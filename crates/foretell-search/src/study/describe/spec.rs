//! The description that determines a study, and the reasons why one is refused.

use crate::catalogue::Catalogue;
use crate::defaults::{DEFAULT_EPOCHS, DEFAULT_TRIALS};
use crate::difference::{FieldDifference, differences};
use crate::limits;
use crate::objective::{Formula, Limit, Objective, ObjectiveError};
use crate::parameter_space::{ParameterSpace, ParameterSpaceError};
use crate::part::PartError;
use crate::range::{RangeError, at_least_one, at_most, growth, share};
use crate::resource::{self, UNKNOWN_RESOURCE};
use crate::samplers::SamplerSpec;
use crate::samplers::random::trial_seed;
use crate::schedulers::rank::Rank;
use crate::schedulers::schedule::{Schedule, ScheduleError};
use crate::space::Space;
use crate::stopping::caution::{Caution, StoppingDefaults};
use crate::stopping::policy::StopPolicy;
use crate::stopping::{ChainRule, ForecastRule};
use crate::study::{StudyParts, StudySettings};
use foretell::{
    ColumnDeclarations, Configuration, Direction, HistoryOptions, Metric, PredictorOptions, Run, RunScore,
    StopCriterion, StopCriterionError, UnknownPredictor,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Everything that determines a study, up to the timing of its workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudySpec {
    /// The space searched.
    pub space: Space,
    /// The sampler that chooses the next configuration.
    #[serde(default)]
    pub sampler: SamplerSpec,
    /// The choice of trials to train, and of their lengths.
    #[serde(default)]
    pub schedule: Schedule,
    /// The score by which trials are compared at a rung.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rank: Rank,
    /// The metric's name, for display.
    pub metric: String,
    /// The better direction.
    pub direction: Direction,
    /// The worth of a trial after some steps: its last value, or the best that it has reached.
    #[serde(default, skip_serializing_if = "is_default")]
    pub run_score: RunScore,
    /// Whether somebody chose that value. Otherwise the values that trials return choose it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub score_chosen: bool,
    /// Whether trials return scores that are none of their reports, as their [`ReturnRelation`](crate::ReturnRelation) has shown.
    #[serde(skip)]
    pub returns_own_scores: bool,
    /// The objectives in addition to the metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<Objective>,
    /// The bounds that a trial must keep to count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// The reward of Q-learning in place of the metric's score: a formula over the metric and the known quantities of a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<Formula>,
    /// R, the resource that a whole training takes: epochs. [`UNKNOWN_RESOURCE`] until a trial has shown it, where nobody gave it.
    #[serde(with = "resource", default = "resource::unknown_resource")]
    pub max_resource: u64,
    /// Whether trials show R, because nobody gave it: a longer trial is not cut, and raises it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_open_ended: bool,
    /// The number of trials in all; may be raised later.
    pub trials: u64,
    /// The limit of the whole study, in epochs; no limit, if absent. May be raised later.
    #[serde(default, skip_serializing_if = "is_default")]
    pub budget_epochs: Option<u64>,
    /// No further trial is started after this many in a row without a new best.
    #[serde(default, skip_serializing_if = "is_default")]
    pub until_no_improvement: Option<u64>,
    /// No further trial is started once a completed one is at least this good, in the metric's own direction.
    #[serde(default, skip_serializing_if = "is_default")]
    pub target: Option<f64>,
    /// With how many seeds each configuration is trained, each as a trial; once, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
    /// Into how many folds each trial divides its data, to train once per fold; a trial trains once, if absent. R is the length of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folds: Option<u64>,
    /// Configurations of the user's own: the first trials have them, in this order. Each may name only some parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<Configuration>,
    /// The number of trials that must be trained to a level (with full training: to their end) before any is stopped there.
    pub burn_in: u64,
    /// The stop rule.
    #[serde(default)]
    pub policy: StopPolicy,
    /// The risk that is taken to save training, where trials are stopped by chances or forecasts.
    #[serde(default)]
    pub caution: Caution,
    /// Whether decisions are only recorded, and no trial is stopped.
    #[serde(default)]
    pub shadow: bool,
    /// The predictor's name.
    pub predictor: String,
    /// When a forecast stops a trial.
    #[serde(default)]
    pub criterion: StopCriterion,
    /// Refit when the number of finished trials has grown by this factor; `None`: once.
    #[serde(default)]
    pub refit: Option<f64>,
    /// The share of trials that is never stopped, in [0, 1): an unbiased audit.
    #[serde(default)]
    pub exempt: f64,
    /// The seed of proposals, trainings and predictors.
    pub seed: u64,
    /// The program that runs a trial, for display and to tell studies apart: data set, sizes, or the user's command.
    pub workload: BTreeMap<String, String>,
}

/// The reason why a study is invalid.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum StudyError {
    /// More burn-in than trials.
    #[error(
        "the burn-in of {burn_in} is larger than the study's {trials} trials{}, so no trial could ever be stopped. Lower `burn_in` or raise `trials`",
        if *.warm_start > 0 { format!(" and the {warm_start} earlier runs to learn from") } else { String::new() }
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
    /// A queued configuration is not in the space.
    #[error("a queued trial: {0}")]
    Queue(#[from] ParameterSpaceError),
    /// A queued configuration breaks a limit.
    #[error("a queued trial breaks the limit {limit}, because it has {value}. Change the trial or the limit")]
    QueueLimit {
        /// The limit.
        limit: String,
        /// The configuration's value.
        value: f64,
    },
    /// A sampler that learns from rewards draws every configuration itself.
    #[error("{sampler} chooses every configuration itself. Queue none, or choose the sampler random")]
    NoQueue {
        /// The sampler.
        sampler: String,
    },
    /// The plan has no place for a further trial.
    #[error(
        "all {trials} trials of the plan are started or queued, and its rungs depend on their number. Raise `runs` with Hyperband, or start another study with --learn-from"
    )]
    NoRoom {
        /// The trials.
        trials: u64,
    },
    /// A sampler that learns from rewards needs one for each trial.
    #[error(
        "{sampler} needs one result per trial, completed or forecast, so it cannot use rungs. Choose the scheduler full"
    )]
    NoRewards {
        /// The sampler.
        sampler: String,
    },
    /// Forecasts of the end at rungs where other forecasts stop trials, or without rungs.
    #[error(
        "ranking by forecasts needs rungs without other forecasts. Choose the scheduler asha, successive-halving or hyperband with the policy none, or the scheduler full with the policy asha"
    )]
    Rank,
    /// The schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The stop criterion is out of range.
    #[error(transparent)]
    Criterion(#[from] StopCriterionError),
    /// A policy that needs to know how trials end, outside a replay.
    #[error(
        "the policy {policy} needs to know how runs end, which only a replay of recorded runs does. Choose another policy"
    )]
    Truth {
        /// The policy's name.
        policy: String,
    },
    /// An objective or a limit.
    #[error(transparent)]
    Objective(#[from] ObjectiveError),
    /// There is no such predictor.
    #[error(transparent)]
    Predictor(#[from] UnknownPredictor),
    /// A policy that extrapolates curves, with a predictor that does not.
    #[error(
        "the policy {policy} extrapolates each curve, but {predictor} does not extrapolate. Leave it out or choose {}, or use the policy srm, which works with any predictor",
        .known.join(" or ")
    )]
    NoExtrapolation {
        /// The policy's name.
        policy: String,
        /// The predictor's name.
        predictor: String,
        /// Those that do.
        known: Vec<&'static str>,
    },
    /// Repeats where trials are compared otherwise.
    #[error(
        "repeats need the scheduler full, one objective, and a sampler that does not learn from rewards, as q-learning does. Change these settings, or leave the repeats out"
    )]
    Repeats,
    /// Folds where trials are compared otherwise.
    #[error(
        "folds need `epochs`, the length of each, the scheduler full, one objective, no repeats, and a sampler that does not learn from rewards, as q-learning does. Change these settings, or leave the folds out"
    )]
    Folds,
    /// A part that no catalogue has.
    #[error(transparent)]
    Part(#[from] PartError),
    /// The record does not follow from those before it.
    #[error(
        "record {record} of the log is about trial {trial}, which was never started. The log belongs to another study"
    )]
    Record {
        /// The record's number, from 1.
        record: usize,
        /// The trial.
        trial: u64,
    },
    /// The record starts another job than the study's plan has there.
    #[error(
        "record {record} of the log starts trial {trial}, which the study's plan does not start there. The log was changed, or written by another version"
    )]
    Plan {
        /// The record's number, from 1.
        record: usize,
        /// The trial.
        trial: u64,
    },
    /// The record starts a trial beyond those that the study plans for.
    #[error(
        "record {record} of the log starts trial {trial}, beyond the trials of this study. Raise `trials`"
    )]
    MoreTrials {
        /// The record's number, from 1.
        record: usize,
        /// The trial.
        trial: u64,
    },
    /// The record ends a trial with a result, but the trial has no value.
    #[error(
        "record {record} of the log ends trial {trial} with a result, but the trial reported no finite value. The log was changed; restore it from a copy"
    )]
    NoValue {
        /// The record's number, from 1.
        record: usize,
        /// The trial.
        trial: u64,
    },
    /// Rungs without R.
    #[error(
        "the rungs of this scheduler are fractions of the epochs of a complete trial, so it needs their number. Set `epochs`, or choose the scheduler full"
    )]
    NoResource,
    /// The log does not begin with the study's description.
    #[error("the log does not start with a study's description")]
    NoHeader,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl StudySpec {
    /// The seed that the training of trial number `trial` is given when it starts.
    pub fn trial_seed(&self, trial: u64) -> u32 {
        trial_seed(self.seed, trial)
    }

    /// A study of `space` with the usual settings: 40 trials, their parameters proposed by TPE and a Gaussian process in turn (networks at random), each trained for 20 epochs, the first three to their end;
    /// then trials stop once two checks in a row are sure that they will not win, by forecasts that are learned again as trials
    /// finish. Change the fields as you need.
    pub fn new(space: Space, metric: impl Into<String>, direction: Direction) -> Self {
        let StoppingDefaults { burn_in, predictor, refit, criterion } = Caution::default().stopping();
        Self {
            sampler: SamplerSpec::usual(&space),
            space,
            schedule: Schedule::default(),
            rank: Rank::default(),
            metric: metric.into(),
            direction,
            run_score: RunScore::default(),
            score_chosen: false,
            returns_own_scores: false,
            objectives: Vec::new(),
            limits: Vec::new(),
            reward: None,
            max_resource: DEFAULT_EPOCHS,
            is_open_ended: false,
            trials: DEFAULT_TRIALS,
            budget_epochs: None,
            until_no_improvement: None,
            target: None,
            repeats: None,
            folds: None,
            queue: Vec::new(),
            burn_in,
            policy: ChainRule.into(),
            caution: Caution::default(),
            shadow: false,
            predictor,
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
        self.validate_with(&StudyParts::default())
    }

    /// Returns the study with its parts made by `catalogue`.
    ///
    /// # Errors
    /// [`StudyError::Part`] of the first that is unknown there.
    pub fn made(mut self, catalogue: &Catalogue) -> Result<Self, StudyError> {
        catalogue.make(&mut self.space, &mut self.sampler, &mut self.policy)?;
        Ok(self)
    }

    /// Checks the ranges of all that `parts` do not replace.
    pub(crate) fn validate_with(&self, parts: &StudyParts) -> Result<(), StudyError> {
        self.validate_plan(parts.scheduler.is_some())?;
        self.validate_queue()?;
        self.validate_objectives()?;
        if self.policy.needs(self.max_resource).truth {
            return Err(StudyError::Truth { policy: self.policy.name().to_owned() });
        }
        if parts.predictor.is_none() {
            let catalogue = &parts.catalogue;
            let known =
                catalogue.make_predictor(&self.policy, &self.predictor, &PredictorOptions::default())?;
            if self.policy.is_by_curve_alone() && !known.extrapolates() {
                let (policy, predictor) = (self.policy.name().to_owned(), self.predictor.clone());
                return Err(StudyError::NoExtrapolation {
                    policy,
                    predictor,
                    known: catalogue.extrapolating_predictors(),
                });
            }
        }
        if parts.sampler.is_none() { self.validate_sampler() } else { Ok(()) }
    }

    /// Checks the numbers of its plan and of its stop rule; of its schedule unless the caller `brings_scheduler`.
    pub(crate) fn validate_plan(&self, brings_scheduler: bool) -> Result<(), StudyError> {
        let epochs = if self.is_open_ended { self.resource().unwrap_or(1) } else { self.max_resource };
        let counts = [("trials", self.trials), ("epochs", epochs), ("burn-in", self.burn_in)];
        if let Some(trials) = self.until_no_improvement {
            at_least_one(&[("until_no_improvement", trials)])?;
        }
        self.validate_repeats()?;
        self.validate_folds()?;
        let others = [
            ("repeats", self.repeats()),
            ("folds", self.folds()),
            // those of a single training are checked by their own name, unless nobody knows them yet
            ("epochs of all folds", if self.folds() > 1 { epochs.saturating_mul(self.folds()) } else { 1 }),
            ("until_no_improvement", self.until_no_improvement.unwrap_or(1)),
            ("budget_epochs", self.budget_epochs.unwrap_or(1)),
            ("nth_best", self.criterion.nth_best as u64),
            ("agreeing_checks", self.criterion.agreeing_checks as u64),
        ];
        at_most(limits::MAX_COUNT, &others)?;
        if !brings_scheduler {
            self.check_has_resource()?;
            self.schedule.validate(self.trials, self.max_resource)?;
        }
        at_most(limits::MAX_COUNT, &counts)?;
        at_least_one(&counts)?;
        if let (Some(rule), Some(max_resource)) = (self.policy.rule(), self.resource()) {
            rule.check(max_resource)?;
        }
        share("exempt fraction", self.exempt)?;
        growth("refit factor", self.refit)?;
        self.criterion.validate()?;
        match brings_scheduler || self.schedule.compares_by(self.rank, &self.policy) {
            true => Ok(()),
            false => Err(StudyError::Rank),
        }
    }

    /// R, once it is known.
    pub fn resource(&self) -> Option<u64> {
        resource::known_resource(self.max_resource)
    }

    /// R as somebody gave it: unknown where trials show it.
    pub fn given_resource(&self) -> u64 {
        if self.is_open_ended { UNKNOWN_RESOURCE } else { self.max_resource }
    }

    /// Checks that R is given where trials are trained to rungs: trials that are trained until R is known would be in none.
    pub(crate) fn check_has_resource(&self) -> Result<(), StudyError> {
        match self.schedule.is_full() || self.resource().is_some() {
            true => Ok(()),
            false => Err(StudyError::NoResource),
        }
    }

    /// The options by which its runs are laid on a grid, except for the target.
    pub(crate) fn history_options(&self) -> HistoryOptions {
        HistoryOptions {
            metric: Some(Metric::new(&self.metric, self.direction)),
            columns: ColumnDeclarations { scales: self.space.scales(), ..ColumnDeclarations::default() },
            run_score: self.run_score,
            ..HistoryOptions::default()
        }
    }

    /// The policy that stops trials: the chance to be the best is one of the metric alone, so that with other objectives or limits on measured values forecasts decide.
    pub(crate) fn policy_in_force(&self) -> StopPolicy {
        let known = self.space.known_names();
        let is_measured = |limit: &Limit| limit.of.names().iter().any(|name| !known.contains(name));
        let has_others = !self.objectives.is_empty() || self.limits.iter().any(is_measured);
        match has_others && self.policy.needs(self.max_resource).gives_way() {
            true => ForecastRule.into(),
            false => self.policy.clone(),
        }
    }

    /// Whether the setting `field` of a stop rule matters to it: to its policy, its rungs, or the ranks there.
    pub(crate) fn uses(&self, field: &str) -> bool {
        let ranks = ["predictor", "burn_in", "refit"].contains(&field) && self.rank != Rank::Value;
        self.policy.uses(field) || ranks || field == "eta" && !self.schedule.is_full()
    }

    /// Checks that the burn-in can end: by the study's own trials, and `warm_start` runs to learn from.
    ///
    /// # Errors
    /// [`StudyError::BurnIn`] where it is longer than both together.
    pub fn check_burn_in(&self, warm_start: usize) -> Result<(), StudyError> {
        let (burn_in, trials) = (self.burn_in, self.trials);
        let endless = self.uses("burn_in") && burn_in > trials + warm_start as u64;
        if endless { Err(StudyError::BurnIn { burn_in, trials, warm_start }) } else { Ok(()) }
    }

    /// Everything that determines the study, as a text that folders are named after: all but the limits that may be raised later.
    pub fn identity(&self) -> String {
        let study = Self { budget_epochs: None, until_no_improvement: None, target: None, ..self.clone() };
        serde_json::to_string(&study).unwrap_or_default()
    }

    /// With how many seeds each configuration is trained.
    pub fn repeats(&self) -> u64 {
        self.repeats.unwrap_or(1)
    }

    fn validate_repeats(&self) -> Result<(), StudyError> {
        at_least_one(&[("repeats", self.repeats())])?;
        let alone = self.schedule.is_full() && !self.has_front() && !self.sampler.is_rewarded();
        if alone || self.repeats() == 1 { Ok(()) } else { Err(StudyError::Repeats) }
    }

    /// The number of folds of each trial; 1 without cross-validation.
    pub fn folds(&self) -> u64 {
        self.folds.unwrap_or(1)
    }

    /// The epochs of a whole trial: R for each fold.
    pub fn whole_resource(&self) -> u64 {
        self.max_resource.saturating_mul(self.folds())
    }

    /// The step of a report among those of all folds, and its other values without the fold: fold 3 of 10 epochs starts after step 20. A
    /// report names its fold, counted from 1, by the value `fold`; one that names none is of the first fold, or counts on by itself.
    ///
    /// # Errors
    /// The fold, if it is none of this study's.
    pub fn step_across_folds(&self, step: u64, metrics: &mut BTreeMap<String, f64>) -> Result<u64, f64> {
        let Some(fold) = (self.folds() > 1).then(|| metrics.remove("fold")).flatten() else {
            return Ok(step);
        };
        let is_known = fold.fract() == 0.0 && fold >= 1.0 && fold <= self.folds() as f64;
        if is_known { Ok((fold as u64 - 1) * self.max_resource + step) } else { Err(fold) }
    }

    fn validate_folds(&self) -> Result<(), StudyError> {
        at_least_one(&[("folds", self.folds())])?;
        let alone = self.schedule.is_full()
            && !self.has_front()
            && !self.sampler.is_rewarded()
            && self.repeats() == 1
            && !self.is_open_ended
            && self.resource().is_some();
        if alone || self.folds() == 1 { Ok(()) } else { Err(StudyError::Folds) }
    }

    fn validate_queue(&self) -> Result<(), StudyError> {
        self.queue.iter().try_for_each(|configuration| self.check_queued(configuration))
    }

    /// Checks that `configuration` can be enqueued.
    pub(in crate::study) fn check_queued(&self, configuration: &Configuration) -> Result<(), StudyError> {
        if self.sampler.is_rewarded() {
            return Err(StudyError::NoQueue { sampler: self.sampler.name().to_owned() });
        }
        if let Some((limit, value)) = self.broken_limit_of(configuration) {
            let (limit, value) = (limit.to_string(), value);
            return Err(StudyError::QueueLimit { limit, value });
        }
        match &self.space {
            Space::Parameters(space) => Ok(space.check_part(configuration)?),
            Space::Own(part) => match part.implementation() {
                Some(space) => {
                    space.check(configuration).map_err(|why| PartError::new("enqueue", why).into())
                }
                None => Ok(()),
            },
        }
    }

    fn validate_sampler(&self) -> Result<(), StudyError> {
        self.sampler.sampler(&self.space, self.seed)?;
        match self.sampler.is_rewarded() && !self.schedule.is_full() {
            true => Err(StudyError::NoRewards { sampler: self.sampler.name().to_owned() }),
            false => Ok(()),
        }
    }

    /// The study, planned for at least `trials` trials: what a log with more trials than asked for needs.
    #[must_use]
    pub fn covering(mut self, trials: u64) -> Self {
        self.trials = self.trials.max(trials);
        self.schedule = self.schedule.covering(trials, self.max_resource);
        self
    }

    /// Whether `run` was trained for `max_resource` epochs or more, so that a forecast of the end can be learned from it.
    pub fn has_trained_whole(&self, run: &Run) -> bool {
        self.resource().is_some()
            && run.curve.last_point().is_some_and(|(step, _)| step >= self.max_resource as f64)
    }

    /// Whether `other` is the same study, possibly with other [`StudySettings`](crate::StudySettings).
    pub fn continues(&self, other: &Self) -> bool {
        // without rungs, a study that learns which value its trials return may change the score by itself
        let run_score = if self.schedule.is_full() { self.run_score } else { other.run_score };
        self.conflicts(&Self { run_score, ..other.clone() }).is_empty()
    }

    /// The fields that make `other` a different study: whatever is not a setting, `max_resource` if trainings would become shorter, and
    /// `space` if no parameter of before is left. Nobody asks for another `run_score` by accident: it differs, although a
    /// study that learns which value its trials return [changes](crate::Session::change) it.
    pub fn conflicts(&self, other: &Self) -> Vec<FieldDifference> {
        let mut conflicts = differences(&self.regardless_of_settings(), &other.regardless_of_settings());
        let length = |study: &Self| study.resource().map_or("unknown".to_owned(), |known| known.to_string());
        // of the two, a study with rungs may also not become longer
        let has_other_length = conflicts.iter().any(|it| it.field == "max_resource");
        conflicts.retain(|it| it.field != "max_resource");
        if self.resource().is_some_and(|known| other.max_resource < known)
            || has_other_length && other.max_resource != self.max_resource
        {
            conflicts.push(FieldDifference {
                field: "max_resource".to_owned(),
                there: length(self),
                here: length(other),
            });
        }
        if let (Space::Parameters(there), Space::Parameters(here)) = (&self.space, &other.space)
            && !there.has_a_parameter_of(here)
        {
            let names = |space: &Space| space.names().join(", ");
            conflicts.push(FieldDifference {
                field: "space".to_owned(),
                there: names(&self.space),
                here: names(&other.space),
            });
        }
        conflicts
    }

    /// The study without what may change between two runs of it.
    #[must_use]
    pub fn regardless_of_settings(&self) -> Self {
        let fixed = self.regardless_of_length();
        let mut workload = self.workload.clone();
        if let Some(command) = workload.get_mut("command").filter(|_| self.schedule.is_full()) {
            *command = without_epochs(command, self.max_resource);
        }
        let usual = Self::new(self.space.clone(), "", self.direction).settings();
        let settings = StudySettings {
            trials: fixed.trials,
            space: match &self.space {
                Space::Parameters(_) => Space::Parameters(ParameterSpace::any()),
                network => network.clone(),
            },
            sampler: match self.sampler.is_ours() {
                true => SamplerSpec::default(),
                false => self.sampler.clone(),
            },
            max_resource: if self.schedule.is_full() { 1 } else { self.max_resource },
            is_open_ended: false,
            run_score: self.run_score,
            workload,
            ..usual
        };
        Self { queue: Vec::new(), returns_own_scores: false, ..fixed }.with_settings(&settings)
    }

    /// The study without what may be raised later: its total of trials, unless its plan is made for so many.
    #[must_use]
    pub fn regardless_of_length(&self) -> Self {
        let trials = if self.schedule.is_planned_for_trials() { self.trials } else { 0 };
        Self { trials, budget_epochs: None, schedule: self.schedule.without_runs(), ..self.clone() }
    }

    /// The settings that may change.
    pub fn settings(&self) -> StudySettings {
        StudySettings {
            trials: self.trials,
            budget_epochs: self.budget_epochs,
            burn_in: self.burn_in,
            policy: self.policy.clone(),
            caution: self.caution,
            shadow: self.shadow,
            predictor: self.predictor.clone(),
            criterion: self.criterion,
            refit: self.refit,
            exempt: self.exempt,
            space: self.space.clone(),
            sampler: self.sampler.clone(),
            max_resource: self.max_resource,
            is_open_ended: self.is_open_ended,
            run_score: self.run_score,
            score_chosen: self.score_chosen,
            until_no_improvement: self.until_no_improvement,
            target: self.target,
            workload: self.workload.clone(),
        }
    }

    /// The study with other `settings`.
    #[must_use]
    pub fn with_settings(self, settings: &StudySettings) -> Self {
        let StudySettings { trials, budget_epochs, .. } = *settings;
        Self { trials, budget_epochs, ..self }.going_by(settings)
    }

    /// The study by `settings`, but for its totals.
    pub(in crate::study) fn going_by(self, settings: &StudySettings) -> Self {
        let settings = settings.clone();
        Self {
            burn_in: settings.burn_in,
            policy: settings.policy,
            caution: settings.caution,
            shadow: settings.shadow,
            predictor: settings.predictor,
            criterion: settings.criterion,
            refit: settings.refit,
            exempt: settings.exempt,
            space: settings.space,
            sampler: settings.sampler,
            max_resource: settings.max_resource,
            is_open_ended: settings.is_open_ended,
            run_score: settings.run_score,
            score_chosen: settings.score_chosen,
            until_no_improvement: settings.until_no_improvement,
            target: settings.target,
            workload: settings.workload,
            ..self
        }
    }
}

/// `command` without its number of epochs: `train.py --epochs 20` trains longer as `train.py --epochs 40` in the same study.
fn without_epochs(command: &str, epochs: u64) -> String {
    let epochs = epochs.to_string();
    let word = |word: &str| match word.strip_suffix(&epochs) {
        Some(before) if before.is_empty() || before.ends_with('=') => format!("{before}{{epochs}}"),
        _ => word.to_owned(),
    };
    command.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

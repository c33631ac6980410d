//! A study: a pure step function from what happened to what to do, and a fold over its own records.

use crate::random::trial_seed;
use crate::record::{Decision, Input, Reason, Record, RecordedForecast};
use crate::space::{RandomSearch, Sampler, Space};
use foretell::{
    Action, Configuration, Curve, Direction, Forecast, Forecaster, HistoryOptions, PredictorOptions, Run,
    StopRule, StopRuleError, UnknownPredictor, predictor,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Whether forecasts stop trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stopping {
    /// They do.
    #[default]
    Live,
    /// Decisions are made and recorded, but every trial is trained to its end.
    Shadow,
    /// No forecasts, no decisions.
    Off,
}

/// Everything that determines a study, up to the timing of its workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudySpec {
    /// What is searched.
    pub space: Space,
    /// The metric's name, for display.
    pub metric: String,
    /// Which way is better.
    pub direction: Direction,
    /// The resource that a whole training takes: epochs.
    pub max_resource: u64,
    /// How many trials in all; may be raised later.
    pub trials: u64,
    /// How many trials must finish before forecasts begin.
    pub burn_in: u64,
    /// Whether forecasts stop trials.
    pub stopping: Stopping,
    /// The predictor's name.
    pub predictor: String,
    /// When to stop.
    pub rule: StopRule,
    /// How many checks in a row must agree before a trial is stopped; ≥ 1.
    pub agreeing_checks: u64,
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
        "burn-in of {burn_in} is larger than the study's {trials} trials: no trial could ever be stopped; lower --burn-in or raise --trials"
    )]
    BurnIn {
        /// The burn-in.
        burn_in: u64,
        /// The trials.
        trials: u64,
    },
    /// A number that must be at least 1.
    #[error("{field} is 0; it must be at least 1")]
    Zero {
        /// The field.
        field: &'static str,
    },
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
    /// The log does not begin with the study's description.
    #[error("the log does not begin with a study's description")]
    NoHeader,
}

impl StudySpec {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The [`StudyError`] of the first field that is wrong.
    pub fn validate(&self) -> Result<(), StudyError> {
        for (field, value) in [
            ("trials", self.trials),
            ("epochs", self.max_resource),
            ("burn-in", self.burn_in),
            ("agreeing checks", self.agreeing_checks),
        ] {
            if value == 0 {
                return Err(StudyError::Zero { field });
            }
        }
        if self.stopping != Stopping::Off && self.burn_in > self.trials {
            return Err(StudyError::BurnIn { burn_in: self.burn_in, trials: self.trials });
        }
        self.rule.validate()?;
        predictor(&self.predictor, &PredictorOptions::default())?;
        Ok(())
    }

    /// Whether `other` is the same study, possibly with another total of trials.
    pub fn continues(&self, other: &Self) -> bool {
        Self { trials: other.trials, ..self.clone() } == *other
    }
}

/// Where a trial stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TrialState {
    /// It runs.
    Running,
    /// It ran when the study was interrupted, and is to go on.
    Interrupted,
    /// It was trained to its end.
    Completed {
        /// Its last value.
        value: f64,
    },
    /// It was stopped.
    Stopped {
        /// The step it was stopped at.
        step: u64,
        /// Why.
        reason: Reason,
        /// Where it was forecast to end: its result.
        forecast: Option<RecordedForecast>,
    },
    /// It ended without a usable result.
    Failed {
        /// What went wrong.
        reason: String,
    },
}

/// A trial of a study.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its configuration.
    pub configuration: Configuration,
    /// Its curve so far.
    pub curve: Curve,
    /// Where it stands.
    pub state: TrialState,
    /// The last step it reported.
    pub step: u64,
    /// What it was charged besides its curve: epochs of failed attempts that it reported as `failed_epochs`.
    pub extra: u64,
    /// The last decision about it.
    pub decision: Option<Decision>,
    /// The decision that would have stopped it, in a study that only watches.
    pub shadow: Option<Decision>,
    /// The last step that was decided on.
    judged: u64,
    /// Checks in a row that said it will not win.
    votes: u64,
    /// Non-finite values in a row.
    diverged: u64,
}

impl Trial {
    /// The result it counts with: the last value of a completed trial, the forecast of a stopped one.
    pub fn result(&self) -> Option<f64> {
        match &self.state {
            TrialState::Completed { value } => Some(*value),
            TrialState::Stopped { forecast, .. } => forecast.map(|f| f.mean),
            _ => None,
        }
    }
}

/// A study.
///
/// [`Study::step`] is told what happened outside and returns what to do; it does nothing else: no files, no processes,
/// no clock. [`Study::resume`] folds the same records back into the same study after a crash.
pub struct Study {
    spec: StudySpec,
    sampler: Box<dyn Sampler>,
    trials: Vec<Trial>,
    forecaster: Option<Forecaster>,
    /// Trials that the forecaster learns from, once there are enough.
    learnt_from: Option<Vec<usize>>,
}

/// Non-finite values in a row that count as divergence.
const DIVERGED_AFTER: u64 = 2;

impl Study {
    /// A new study.
    ///
    /// # Errors
    /// [`StudyError`] if `spec` is not valid.
    pub fn new(spec: StudySpec) -> Result<Self, StudyError> {
        spec.validate()?;
        let sampler = Box::new(RandomSearch::new(spec.space.clone(), spec.seed));
        Ok(Self { spec, sampler, trials: Vec::new(), forecaster: None, learnt_from: None })
    }

    /// The study whose log holds `records`, its running trials marked as interrupted. `spec` may have another total of
    /// trials than the log's.
    ///
    /// # Errors
    /// [`StudyError`] if the records are not those of a study.
    pub fn resume(spec: StudySpec, records: &[Record]) -> Result<Self, StudyError> {
        let Some((Record::Created { .. }, rest)) = records.split_first() else {
            return Err(StudyError::NoHeader);
        };
        let mut study = Self::new(spec)?;
        for (index, record) in rest.iter().enumerate() {
            study.apply(record).map_err(|trial| StudyError::Record { record: index + 2, trial })?;
        }
        for trial in &mut study.trials {
            if trial.state == TrialState::Running {
                trial.state = TrialState::Interrupted;
            }
        }
        Ok(study)
    }

    /// The study's description.
    pub fn spec(&self) -> &StudySpec {
        &self.spec
    }

    /// Its trials, by number.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// How many finished trials forecasts are learnt from; `None` while the burn-in lasts.
    pub fn learning_from(&self) -> Option<usize> {
        self.learnt_from.as_ref().map(Vec::len)
    }

    /// Whether trial `index` is one of those that forecasts are learnt from.
    pub fn is_burn_in(&self, index: usize) -> bool {
        self.learnt_from.as_ref().is_some_and(|trials| trials.contains(&index))
    }

    /// Whether every trial has ended.
    pub fn is_done(&self) -> bool {
        self.trials.len() as u64 >= self.spec.trials
            && !self.trials.iter().any(|t| matches!(t.state, TrialState::Running | TrialState::Interrupted))
    }

    /// Takes in what happened, and gives the records that follow, in order. They are applied already; the caller
    /// writes them to the log and then carries them out.
    pub fn step(&mut self, input: &Input) -> Vec<Record> {
        let mut records = Vec::new();
        match input {
            Input::WorkerIdle => records.extend(self.next()),
            Input::Reported { trial, step, value, metrics } => {
                if self.accepts(*trial, *step) {
                    let (trial, step) = (*trial, *step);
                    let record = Record::Reported { trial, step, value: *value, metrics: metrics.clone() };
                    self.must_apply(&record);
                    records.push(record);
                    records.extend(self.judge(trial, step).map(Record::Decided));
                }
            }
            Input::Ended { trial, failure } => records.extend(self.close(*trial, failure.as_deref())),
        }
        for record in &records {
            if !matches!(record, Record::Reported { .. }) {
                self.must_apply(record);
            }
        }
        records
    }

    fn must_apply(&mut self, record: &Record) {
        self.apply(record).expect("a study's own records are about its own trials");
    }

    /// A report counts if its trial runs and it is a new step: after a restart a trial repeats steps that were
    /// recorded before.
    fn accepts(&self, trial: u64, step: u64) -> bool {
        let running = self.trials.get(trial as usize).filter(|t| t.state == TrialState::Running);
        running.is_some_and(|t| step > t.step && step <= self.spec.max_resource)
    }

    /// What an idle worker brings about: first whatever a crash left undone, then a new trial.
    fn next(&mut self) -> Option<Record> {
        match self.trials.iter().position(|t| t.state == TrialState::Interrupted) {
            Some(index) => self.take_up(index),
            None => self.start_new(),
        }
    }

    /// Takes up an interrupted trial: makes up for an end or a decision that was not recorded any more, or goes on.
    fn take_up(&mut self, index: usize) -> Option<Record> {
        let (trial, step, judged) = (index as u64, self.trials[index].step, self.trials[index].judged);
        if step >= self.spec.max_resource {
            return self.close(trial, None);
        }
        if step > judged
            && let Some(decision) = self.judge(trial, step)
        {
            return Some(Record::Decided(decision));
        }
        Some(self.start(trial, self.trials[index].configuration.clone(), step))
    }

    fn start_new(&self) -> Option<Record> {
        let trial = self.trials.len() as u64;
        let configuration = if trial < self.spec.trials { self.sampler.propose(trial) } else { None };
        configuration.map(|configuration| self.start(trial, configuration, 0))
    }

    fn start(&self, trial: u64, configuration: Configuration, from: u64) -> Record {
        let seed = trial_seed(self.spec.seed, trial);
        Record::Started { trial, configuration, seed, from, until: self.spec.max_resource }
    }

    fn close(&self, trial: u64, failure: Option<&str>) -> Option<Record> {
        let open = |t: &&Trial| matches!(t.state, TrialState::Running | TrialState::Interrupted);
        let ended = self.trials.get(trial as usize).filter(open)?;
        let whole = ended.step >= self.spec.max_resource;
        let finite = ended.curve.diverged_at().is_none() && !ended.curve.is_empty();
        Some(match failure {
            _ if !finite && ended.step > 0 => {
                Record::Failed { trial, reason: "diverged: its last values are not finite".to_owned() }
            }
            _ if !finite => {
                let why = failure.unwrap_or("it ended without reporting the metric");
                Record::Failed { trial, reason: why.to_owned() }
            }
            Some(reason) if !whole => Record::Failed { trial, reason: reason.to_owned() },
            _ => Record::Completed { trial },
        })
    }

    /// Applies one record; `Err` is a trial that the study does not have.
    fn apply(&mut self, record: &Record) -> Result<(), u64> {
        let known = |trials: &mut Vec<Trial>, trial: u64| {
            (trial < trials.len() as u64).then_some(trial as usize).ok_or(trial)
        };
        match record {
            Record::Created { .. } => {}
            Record::Started { trial, configuration, .. } => {
                if *trial == self.trials.len() as u64 {
                    self.sampler.started(*trial, configuration);
                    self.trials.push(new_trial(configuration.clone()));
                } else {
                    let index = known(&mut self.trials, *trial)?;
                    self.trials[index].state = TrialState::Running;
                }
            }
            Record::Reported { trial, step, value, metrics } => {
                let index = known(&mut self.trials, *trial)?;
                self.take_in(index, *step, *value, metrics);
            }
            Record::Decided(decision) => {
                let index = known(&mut self.trials, decision.trial)?;
                self.note(index, decision);
            }
            Record::Completed { trial } => {
                let index = known(&mut self.trials, *trial)?;
                let last = self.trials[index].curve.last().map_or(0.0, |(_, score)| score);
                self.trials[index].state = TrialState::Completed { value: self.spec.direction.value(last) };
                self.tell_sampler(index);
                self.learn_if_ready();
            }
            Record::Failed { trial, reason } => {
                let index = known(&mut self.trials, *trial)?;
                self.trials[index].state = TrialState::Failed { reason: reason.clone() };
            }
        }
        Ok(())
    }

    fn take_in(&mut self, index: usize, step: u64, value: Option<f64>, metrics: &BTreeMap<String, f64>) {
        let direction = self.spec.direction;
        let trial = &mut self.trials[index];
        trial.step = step;
        if let Some(&failed) = metrics.get("failed_epochs") {
            trial.extra = failed.max(0.0) as u64;
        }
        trial.diverged = if value.is_some() { 0 } else { trial.diverged + 1 };
        // steps are checked to increase before they get here; a log that breaks this has lost nothing but the point
        let _ = trial.curve.push(step as f64, value.unwrap_or(f64::NAN), direction);
    }

    fn note(&mut self, index: usize, decision: &Decision) {
        let trial = &mut self.trials[index];
        trial.judged = decision.step;
        let stopping = decision.action == Action::Stop;
        let against = stopping || decision.reason == Reason::AwaitingConfirmation;
        trial.votes = if against { trial.votes + 1 } else { 0 };
        if stopping && decision.shadow {
            trial.shadow.get_or_insert_with(|| decision.clone());
        } else if stopping {
            let (step, reason) = (decision.step, decision.reason.clone());
            trial.state = TrialState::Stopped { step, reason, forecast: decision.forecast };
        }
        trial.decision = Some(decision.clone());
        if stopping && !decision.shadow {
            self.tell_sampler(index);
        }
    }

    fn tell_sampler(&mut self, index: usize) {
        let trial = &self.trials[index];
        if let Some(result) = trial.result() {
            let forecast = matches!(trial.state, TrialState::Stopped { .. });
            let score = self.spec.direction.score(result);
            self.sampler.told(index as u64, &trial.configuration, score, forecast);
        }
    }

    /// The trials that count as finished: trained to the end, and not stopped in the shadow.
    fn finished(&self) -> impl Iterator<Item = (usize, &Trial)> {
        let finished = |t: &&Trial| matches!(t.state, TrialState::Completed { .. }) && t.shadow.is_none();
        self.trials.iter().enumerate().filter(move |(_, t)| finished(t))
    }

    /// Fixes the trials to learn from, as soon as the burn-in is over.
    fn learn_if_ready(&mut self) {
        if self.learnt_from.is_none() && self.spec.stopping != Stopping::Off {
            let finished: Vec<usize> = self.finished().map(|(index, _)| index).collect();
            if finished.len() as u64 >= self.spec.burn_in {
                self.learnt_from = Some(finished);
            }
        }
    }

    fn judge(&mut self, trial: u64, step: u64) -> Option<Decision> {
        if self.spec.stopping == Stopping::Off || step >= self.spec.max_resource {
            return None;
        }
        let shadow = self.spec.stopping == Stopping::Shadow;
        let decision = |action, reason| Decision {
            trial,
            step,
            action,
            reason,
            forecast: None,
            incumbent: None,
            probability: None,
            shadow,
        };
        let judged = &self.trials[trial as usize];
        if judged.shadow.is_some() {
            return Some(decision(Action::Stop, Reason::AlreadyStopped));
        }
        if judged.diverged >= DIVERGED_AFTER {
            return Some(decision(Action::Stop, Reason::Diverged));
        }
        if self.learnt_from.is_none() {
            return Some(decision(Action::Continue, Reason::BurnIn));
        }
        Some(match self.forecast(trial as usize) {
            Err(why) => decision(Action::Continue, Reason::NoForecast(why)),
            Ok(forecast) => self.weigh(trial, forecast, decision(Action::Continue, Reason::NoIncumbent)),
        })
    }

    /// Completes a decision by comparing the forecast with the incumbent.
    fn weigh(&self, trial: u64, forecast: Forecast, mut decision: Decision) -> Decision {
        let forecaster = self.forecaster.as_ref().expect("a forecast was made");
        let history = forecaster.history();
        let direction = self.spec.direction;
        let value = |score: f64| history.value(score);
        let (low, high) = (value(forecast.quantile(0.05)), value(forecast.quantile(0.95)));
        let (lower, upper) =
            (value(forecast.quantile(0.158_655_254)), value(forecast.quantile(0.841_344_746)));
        decision.forecast = Some(RecordedForecast {
            mean: value(forecast.mean),
            sd: (upper - lower).abs() / 2.0,
            interval: (low.min(high), low.max(high)),
        });
        let scores = self.finished().filter_map(|(_, t)| t.result()).map(|result| direction.score(result));
        let Some(incumbent) = self.spec.rule.incumbent(scores) else {
            return decision;
        };
        decision.incumbent = Some(direction.value(incumbent));
        // the offset is in the metric's unit, the forecast on the history's scale
        let threshold = history.scale().apply(incumbent - self.spec.rule.offset, direction);
        let verdict = StopRule { offset: 0.0, ..self.spec.rule }.decide(&forecast, threshold);
        decision.probability = Some(verdict.probability);
        let agreed = self.trials[trial as usize].votes + 1 >= self.spec.agreeing_checks;
        (decision.action, decision.reason) = match verdict.action {
            Action::Continue => (Action::Continue, Reason::MayWin),
            Action::Stop if agreed => (Action::Stop, Reason::WillNotWin),
            Action::Stop => (Action::Continue, Reason::AwaitingConfirmation),
        };
        decision
    }

    fn forecast(&mut self, trial: usize) -> Result<Forecast, String> {
        if self.forecaster.is_none() {
            self.forecaster = Some(self.make_forecaster()?);
        }
        let forecaster = self.forecaster.as_ref().expect("just made");
        let trial = &self.trials[trial];
        forecaster.forecast(&trial.configuration, &trial.curve).map_err(|error| error.to_string())
    }

    fn make_forecaster(&self) -> Result<Forecaster, String> {
        let run = |&index: &usize| Run {
            id: index.to_string(),
            configuration: self.trials[index].configuration.clone(),
            curve: self.trials[index].curve.clone(),
        };
        let runs: Vec<Run> = self.learnt_from.iter().flatten().map(run).collect();
        let options = HistoryOptions {
            direction: self.spec.direction,
            target: Some(self.spec.max_resource as f64),
            ..HistoryOptions::default()
        };
        let chosen = PredictorOptions { seed: self.spec.seed, ..PredictorOptions::default() };
        let chosen = predictor(&self.spec.predictor, &chosen).map_err(|error| error.to_string())?;
        Forecaster::new(&runs, &options, chosen).map_err(|error| error.to_string())
    }
}

fn new_trial(configuration: Configuration) -> Trial {
    Trial {
        configuration,
        curve: Curve::default(),
        state: TrialState::Running,
        step: 0,
        extra: 0,
        decision: None,
        shadow: None,
        judged: 0,
        votes: 0,
        diverged: 0,
    }
}

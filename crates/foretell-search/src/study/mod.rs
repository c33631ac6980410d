//! A study: a pure step function from what happened to what to do, and a fold over its own records.

mod judge;
mod spec;
mod trial;

pub use spec::{Policy, Stopping, StudyError, StudySpec};
pub use trial::{Trial, TrialState};

use crate::f_hyperband::LevelData;
use crate::q_learning::QLearner;
use crate::random::trial_seed;
use crate::record::{Decision, Input, Reason, Record};
use crate::sampler::Sampler;
use crate::scheduler::{End, Job, Next, Scheduler};
use foretell::{Action, Configuration, Curve, Forecaster, Run, RunScore};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A study.
///
/// [`Study::step`] is told what happened outside and returns what to do; it does nothing else: no files, no processes,
/// no clock. [`Study::resume`] folds the same records back into the same study after a crash, sampler, scheduler and
/// Q-table included: each `Started` asks them again what they asked for then.
pub struct Study {
    spec: StudySpec,
    sampler: Box<dyn Sampler>,
    scheduler: Box<dyn Scheduler>,
    trials: Vec<Trial>,
    /// Runs of earlier searches.
    handed_in: Vec<Run>,
    /// Who was trained to each level; runs handed in are numbered before the trials.
    data: LevelData,
    /// By level: how many runs it learnt from, and the forecaster.
    forecasters: BTreeMap<u64, (usize, Forecaster)>,
    /// The job asked for next, and its configuration (`None` if the space is spent), until it is started.
    pending: Option<(Job, Option<Configuration>)>,
}

/// Why a record does not follow.
enum Misfit {
    Unknown(u64),
    Unplanned(u64),
}

impl Study {
    /// A new study.
    ///
    /// # Errors
    /// [`StudyError`] if `spec` is not valid.
    pub fn new(spec: StudySpec) -> Result<Self, StudyError> {
        spec.validate()?;
        Ok(Self {
            sampler: spec.sampler.sampler(&spec.space, spec.seed)?,
            scheduler: spec.schedule.scheduler(
                spec.trials,
                spec.max_resource,
                spec.rule.nth_best,
                spec.burn_in as usize,
            )?,
            trials: Vec::new(),
            handed_in: Vec::new(),
            data: LevelData::new(spec.burn_in as usize, spec.refit),
            forecasters: BTreeMap::new(),
            pending: None,
            spec,
        })
    }

    /// The study whose log holds `records`, its running trials marked as interrupted. `spec` may have another total of
    /// trials than the log's; trials that the log has beyond it stay.
    ///
    /// # Errors
    /// [`StudyError`] if the records are not those of a study.
    pub fn resume(mut spec: StudySpec, records: &[Record]) -> Result<Self, StudyError> {
        let Some((Record::Created { .. }, rest)) = records.split_first() else {
            return Err(StudyError::NoHeader);
        };
        let known = Self::trials_started(rest);
        spec.trials = spec.trials.max(known);
        spec.schedule = spec.schedule.covering(known, spec.max_resource);
        let mut study = Self::new(spec)?;
        for (index, record) in rest.iter().enumerate() {
            let record_number = index + 2;
            study.apply(record).map_err(|misfit| match misfit {
                Misfit::Unknown(trial) => StudyError::Record { record: record_number, trial },
                Misfit::Unplanned(trial) => StudyError::Plan { record: record_number, trial },
            })?;
        }
        for trial in &mut study.trials {
            if trial.state == TrialState::Running {
                trial.state = TrialState::Interrupted;
            }
        }
        Ok(study)
    }

    /// How many trials `records` start: one more than the largest number of one. O(records).
    pub fn trials_started(records: &[Record]) -> u64 {
        let started = |record: &Record| match record {
            Record::Started { trial, .. } => trial + 1,
            _ => 0,
        };
        records.iter().map(started).max().unwrap_or(0)
    }

    /// Hands in runs of an earlier search to learn from (a warm start), and gives the records of it. Runs count at
    /// every level that they reached. Only before the first trial: later there is nothing to do, and no record.
    pub fn hand_in(&mut self, runs: &[Run]) -> Vec<Record> {
        if !self.trials.is_empty() {
            return Vec::new();
        }
        let direction = self.spec.direction;
        let points = |curve: &Curve| {
            let values = curve.scores().iter().map(|&score| direction.value(score));
            curve.steps().iter().copied().zip(values).collect()
        };
        let records: Vec<Record> = runs
            .iter()
            .map(|run| Record::HandedIn {
                id: run.id.clone(),
                configuration: run.configuration.clone(),
                points: points(&run.curve),
            })
            .collect();
        records.iter().for_each(|record| self.must_apply(record));
        records
    }

    /// The study's description.
    pub fn spec(&self) -> &StudySpec {
        &self.spec
    }

    /// Its trials, by number.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The runs of earlier searches that were handed in.
    pub fn handed_in(&self) -> &[Run] {
        &self.handed_in
    }

    /// The Q-table and replay list, if the sampler learns by them.
    pub fn learner(&self) -> Option<&QLearner> {
        self.sampler.learner()
    }

    /// How many runs forecasts are learnt from, by the level they are made for; empty while the burn-in lasts.
    pub fn learning_from(&self) -> BTreeMap<u64, usize> {
        let levels: BTreeSet<u64> = self.trials.iter().map(|trial| trial.until).collect();
        let learnt = |level: u64| self.data.learnt(level).map(|runs| (level, runs.len()));
        levels.into_iter().filter_map(learnt).collect()
    }

    /// Whether forecasts of the end are learnt from trial `index`.
    pub fn is_burn_in(&self, index: usize) -> bool {
        let index = self.handed_in.len() + index;
        self.data.learnt(self.spec.max_resource).is_some_and(|learnt| learnt.contains(&index))
    }

    /// Whether nothing runs and there is nothing left to run.
    pub fn is_done(&self) -> bool {
        let nothing_left = match &self.pending {
            Some((_, configuration)) => configuration.is_none(),
            None => self.scheduler.is_done(),
        };
        nothing_left && !self.trials.iter().any(Trial::is_open)
    }

    /// Whether the sampler found no configuration that it has not proposed before.
    pub fn is_space_spent(&self) -> bool {
        matches!(self.pending, Some((_, None)))
    }

    /// Takes in what happened, and gives the records that follow, in order. They are applied already; the caller
    /// writes them to the log and then carries them out: it launches started trials that still run after all records,
    /// and ends those that were stopped, or have reached the step they were to be trained to.
    pub fn step(&mut self, input: &Input) -> Vec<Record> {
        let mut records = Vec::new();
        match input {
            Input::WorkerIdle => self.next(&mut records),
            Input::Reported { trial, step, value, metrics } => {
                if self.accepts(*trial, *step) {
                    let (trial, step) = (*trial, *step);
                    let (metrics, value) = (metrics.clone(), value.filter(|value| value.is_finite()));
                    self.emit(Record::Reported { trial, step, value, metrics }, &mut records);
                    self.judge_into(trial, step, &mut records);
                }
            }
            Input::Ended { trial, failure } => self.close_into(*trial, failure.as_deref(), &mut records),
        }
        records
    }

    fn emit(&mut self, record: Record, records: &mut Vec<Record>) {
        self.must_apply(&record);
        records.push(record);
    }

    fn must_apply(&mut self, record: &Record) {
        assert!(self.apply(record).is_ok(), "a study's own records are about its own trials");
    }

    /// Judges `trial` at `step`; whether there was anything to decide.
    fn judge_into(&mut self, trial: u64, step: u64, records: &mut Vec<Record>) -> bool {
        let decision = self.judge(trial, step);
        let decided = decision.is_some();
        if let Some(decision) = decision {
            self.emit(Record::Decided(decision), records);
        }
        decided
    }

    /// A report counts if its trial runs, it is a new step, and the trial is not already where it was to be trained to:
    /// after a restart a trial repeats steps that were recorded before, and one that is not asked may train too far.
    fn accepts(&self, trial: u64, step: u64) -> bool {
        let running = self.trials.get(trial as usize).filter(|t| t.state == TrialState::Running);
        let is_new = |t: &&Trial| if t.has_reported() { step > t.step } else { true };
        running.filter(is_new).is_some_and(|t| t.step < t.until && step <= self.spec.max_resource)
    }

    /// What an idle worker brings about: first whatever a crash left undone, then the scheduler's next job.
    fn next(&mut self, records: &mut Vec<Record>) {
        if let Some(index) = self.trials.iter().position(|t| t.state == TrialState::Interrupted) {
            return self.take_up(index, records);
        }
        let Some((job, Some(configuration))) = self.ask().cloned() else { return };
        let (from, step) = self.trials.get(job.trial as usize).map_or((0, 0), |t| (t.trained(), t.step));
        self.emit(self.start(job, configuration, from), records);
        if from >= job.until {
            // its reports come in larger steps than the rungs
            self.close_into(job.trial, None, records);
        } else if from > 0 {
            // a promoted trial is judged where it stands: it may not be worth going on
            self.judge_into(job.trial, step, records);
        }
    }

    /// The scheduler's next job with its configuration; asked for once and kept until it is started.
    fn ask(&mut self) -> Option<&(Job, Option<Configuration>)> {
        if self.pending.is_none() {
            let Next::Run(job) = self.scheduler.next() else { return None };
            let known = self.trials.get(job.trial as usize).map(|trial| trial.configuration.clone());
            let configuration = known.or_else(|| self.sampler.propose(job.trial));
            self.pending = Some((job, configuration));
        }
        self.pending.as_ref()
    }

    /// Takes up an interrupted trial: makes up for an end or a decision that was not recorded any more, or goes on.
    fn take_up(&mut self, index: usize, records: &mut Vec<Record>) {
        let Trial { step, judged, until, .. } = self.trials[index];
        let (trial, from) = (index as u64, self.trials[index].trained());
        let is_judged = from == 0 || judged.is_some_and(|judged| step <= judged);
        if from >= until {
            self.close_into(trial, None, records);
        } else if is_judged || !self.judge_into(trial, step, records) {
            let configuration = self.trials[index].configuration.clone();
            self.emit(self.start(Job { trial, until }, configuration, from), records);
        }
    }

    fn start(&self, Job { trial, until }: Job, configuration: Configuration, from: u64) -> Record {
        Record::Started { trial, configuration, seed: trial_seed(self.spec.seed, trial), from, until }
    }

    fn close_into(&mut self, trial: u64, failure: Option<&str>, records: &mut Vec<Record>) {
        if let Some(record) = self.close(trial, failure) {
            self.emit(record, records);
        }
    }

    fn close(&self, trial: u64, failure: Option<&str>) -> Option<Record> {
        let ended = self.trials.get(trial as usize).filter(|trial| trial.is_open())?;
        let whole = ended.trained() >= ended.until;
        let counts = self.spec.run_score == RunScore::Best || ended.curve.diverged_at().is_none();
        let finite = counts && !ended.curve.is_empty();
        Some(match failure {
            _ if !finite && ended.has_reported() => {
                Record::Failed { trial, reason: "diverged: its last values are not finite".to_owned() }
            }
            _ if !finite => {
                let why = failure.unwrap_or("it ended without reporting the metric");
                Record::Failed { trial, reason: why.to_owned() }
            }
            Some(reason) if !whole => Record::Failed { trial, reason: reason.to_owned() },
            _ if ended.until < self.spec.max_resource && (whole || ended.next_report() > ended.until) => {
                Record::Paused { trial }
            }
            _ => Record::Completed { trial },
        })
    }

    /// Applies one record.
    fn apply(&mut self, record: &Record) -> Result<(), Misfit> {
        match record {
            Record::Created { .. } => {}
            Record::HandedIn { id, configuration, points } => {
                self.take_run(id, configuration, points).ok_or(Misfit::Unplanned(0))?;
            }
            Record::Started { trial, configuration, until, .. } => {
                self.begin(Job { trial: *trial, until: *until }, configuration)?;
            }
            Record::Reported { trial, step, value, metrics } => {
                let direction = self.spec.direction;
                let index = self.known(*trial)?;
                self.trials[index].take_in(*step, *value, metrics, direction);
            }
            Record::Decided(decision) => {
                let index = self.known(decision.trial)?;
                self.note(index, decision);
            }
            Record::Paused { trial } | Record::Completed { trial } => {
                let index = self.known(*trial)?;
                let score = self.spec.run_score.of(&self.trials[index].curve).unwrap_or(0.0);
                let value = self.spec.direction.value(score);
                let whole = matches!(record, Record::Completed { .. });
                self.trials[index].state =
                    if whole { TrialState::Completed { value } } else { TrialState::Paused { value } };
                self.trained(index, score);
            }
            Record::Failed { trial, reason } => {
                let index = self.known(*trial)?;
                self.trials[index].state = TrialState::Failed { reason: reason.clone() };
                self.without_result(index);
            }
        }
        Ok(())
    }

    fn known(&self, trial: u64) -> Result<usize, Misfit> {
        let known = trial < self.trials.len() as u64;
        known.then_some(trial as usize).ok_or(Misfit::Unknown(trial))
    }

    /// A run of an earlier search, for every level that it reached; `None` once there are trials.
    fn take_run(&mut self, id: &str, configuration: &Configuration, points: &[(f64, f64)]) -> Option<()> {
        if !self.trials.is_empty() {
            return None;
        }
        let (direction, mut curve) = (self.spec.direction, Curve::default());
        for &(step, value) in points {
            // points come from a curve: in order
            let _ = curve.push(step, value, direction);
        }
        let end = curve.last().map_or(0.0, |(step, _)| step);
        let levels = self.spec.schedule.levels(self.spec.max_resource).unwrap_or_default();
        let index = self.handed_in.len();
        for level in levels.into_iter().filter(|&level| level as f64 <= end) {
            self.data.hand_in(level, [index]);
        }
        self.handed_in.push(Run { id: id.to_owned(), configuration: configuration.clone(), curve });
        Some(())
    }

    /// A job starts, or starts again after an interruption.
    fn begin(&mut self, job: Job, configuration: &Configuration) -> Result<(), Misfit> {
        let index = job.trial as usize;
        if let Some(trial) = self.trials.get_mut(index).filter(|trial| trial.is_open()) {
            trial.state = TrialState::Running;
            return Ok(());
        }
        if self.ask().is_none_or(|(asked, _)| *asked != job) {
            return Err(Misfit::Unplanned(job.trial));
        }
        self.pending = None;
        match index.cmp(&self.trials.len()) {
            Ordering::Less => self.trials[index].promote(job.until),
            Ordering::Equal => self.trials.push(Trial::new(configuration.clone(), job.until)),
            Ordering::Greater => return Err(Misfit::Unplanned(job.trial)),
        }
        Ok(())
    }

    /// Trial `index` was trained as far as it was to be.
    fn trained(&mut self, index: usize, score: f64) {
        let Trial { until, step, ref shadow, ref state, .. } = self.trials[index];
        let stopped = shadow.is_some();
        let whole = matches!(state, TrialState::Completed { .. });
        self.trials[index].ends.insert(until, step);
        if !stopped {
            self.data.push(until, self.handed_in.len() + index);
        }
        self.scheduler.ended(index as u64, End { score, stopped });
        if whole {
            self.sampler.told(index as u64, &self.trials[index].configuration, score, false);
        }
    }

    /// Trial `index` failed or diverged.
    fn without_result(&mut self, index: usize) {
        self.scheduler.ended(index as u64, End { score: f64::NEG_INFINITY, stopped: true });
        self.sampler.failed(&self.trials[index].configuration);
    }

    fn note(&mut self, index: usize, decision: &Decision) {
        let trial = &mut self.trials[index];
        trial.judged = Some(decision.step);
        let stopping = decision.action == Action::Stop;
        let against = stopping || matches!(decision.reason, Reason::AwaitingConfirmation | Reason::Exempt);
        trial.votes = if against { trial.votes + 1 } else { 0 };
        trial.decision = Some(decision.clone());
        if decision.reason == Reason::Exempt {
            trial.spared.get_or_insert_with(|| decision.clone());
        }
        if stopping && decision.shadow {
            trial.shadow.get_or_insert_with(|| decision.clone());
        } else if stopping {
            let (step, reason) = (decision.step, decision.reason.clone());
            trial.state = TrialState::Stopped { step, reason, forecast: decision.forecast };
            self.stopped(index);
        }
    }

    /// Trial `index` was stopped: it counts with its forecast.
    fn stopped(&mut self, index: usize) {
        let Some(result) = self.trials[index].result() else { return self.without_result(index) };
        let score = self.spec.direction.score(result);
        self.scheduler.ended(index as u64, End { score, stopped: true });
        self.sampler.told(index as u64, &self.trials[index].configuration, score, true);
    }
}

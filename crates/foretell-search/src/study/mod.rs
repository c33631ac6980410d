//! A study: a pure step function from events to actions, and a fold over its own records.

mod decide;
mod describe;
mod fold;

pub(crate) use decide::decision::DIVERGED_AFTER;
pub use decide::fit::{FittedModel, ModelFit};
pub(crate) use decide::knowledge::{
    CheckSchedule, ForecasterBasis, LevelForecaster, NoForecast, RunRecording,
};
pub use describe::best::{Best, Tally};
pub(crate) use describe::objectives::check_comparisons;
pub use describe::parts::StudyParts;
pub use describe::progress::StudyProgress;
pub use describe::settings::StudySettings;
pub use describe::spec::{StudyError, StudySpec};
pub use describe::trial::{Trial, TrialState};
pub use fold::by_hand::ManualOrder;
pub use fold::mend::{LogLosses, MendedRecord};
pub use fold::queue::ConfigurationQueue;
pub use fold::restore::RestoreError;
pub(crate) use fold::step::WorkerTurn;

use crate::catalogue::Catalogue;
use crate::returned::{ReturnRelation, ReturnedTrial};
use crate::samplers::Sampler;
use crate::schedulers::f_hyperband::LevelData;
use crate::schedulers::rank::TrialRanks;
use crate::schedulers::{Scheduler, TrainingJob};
use crate::stopping::{RuleLearner, RuleNeeds, StopRule};
use decide::knowledge::StudyKnowledge;
use decide::measures::ObjectiveMeasures;
use foretell::{Configuration, Predictor, Run};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A study: a fold over its records.
///
/// [`Study::step`] is given what happened outside and returns what to do; it does nothing else: no files, no processes,
/// no clock. [`Study::resume`] folds the same records back into the same study after a crash, sampler, scheduler and
/// Q-table included: each `Started` asks them again what they asked for then.
///
/// No step costs time that grows with the number of trials, except where a model is fitted, trials at a rung are compared by several objectives, or the median rule, by which one
/// more trial was trained to its end, puts its running means in order.
///
/// The state kept per trial: its configuration, its curve (16 bytes per point), its state and its last decision.
pub struct Study {
    spec: StudySpec,
    /// The meaning of the names in it.
    catalogue: Catalogue,
    /// The settings that may change, as recorded.
    settings: StudySettings,
    sampler: Box<dyn Sampler>,
    scheduler: Box<dyn Scheduler>,
    /// The predictor that the caller brought, in place of the one that the description names.
    predictor: Option<Arc<dyn Predictor>>,
    /// The stop rule that the caller brought, in place of the policy.
    own_rule: Option<Arc<dyn StopRule>>,
    /// The stop rule, and its needs; `None` if no trial is stopped.
    rule: Option<Arc<dyn StopRule>>,
    needs: RuleNeeds,
    /// What the rule learns from all trials.
    learner: Option<Box<dyn RuleLearner>>,
    trials: Vec<Trial>,
    /// Runs of earlier searches.
    warm_start: Vec<Run>,
    knowledge: StudyKnowledge,
    /// The values that completed trials returned, and their relation to the reports.
    returned: Vec<ReturnedTrial>,
    relation: ReturnRelation,
    /// The knowledge of the objectives besides the metric.
    measures: ObjectiveMeasures,
    /// The job asked for next, until it is started.
    pending: Option<(TrainingJob, JobProposal)>,
    /// The trials to continue with after an interruption.
    interrupted: BTreeSet<usize>,
    /// The trials that run, or are to continue after an interruption.
    running: BTreeSet<usize>,
    /// The levels that trials were started to.
    levels: BTreeSet<u64>,
    progress: StudyProgress,
    /// The scores, ascending, with which trials reached each rung of the stop rule.
    rungs: BTreeMap<u64, Vec<f64>>,
    /// With several objectives: which trials reached each rung, and their scores there, larger being better.
    rung_points: BTreeMap<u64, RungPoints>,
    /// The scores by which trials are compared at rungs, where these are forecasts.
    ranks: TrialRanks,
    /// The number of trials that those were learned from.
    ranked_from: usize,
    /// Whether a paused trial continues from a checkpoint, as far as is known.
    keeps_checkpoints: bool,
    /// The trials, not started yet, whose configuration is lost.
    unknown: BTreeSet<u64>,
    /// The number of trials that had ended when the sampler was last told how those that were not trained to their end may end.
    told_at: u64,
    /// The configurations that people want tried next.
    queue: ConfigurationQueue,
    /// The series of the trials' output that is the metric, once it is known.
    series: Option<String>,
    /// Whether the sampler is the caller's own: it stays whatever changes.
    brings_sampler: bool,
}

/// The trials that reached a rung, and all their scores there.
type RungPoints = (Vec<usize>, Vec<Vec<f64>>);

/// The configuration of the job asked for next.
#[derive(Clone, Debug, PartialEq)]
enum JobProposal {
    /// Nobody was asked yet.
    Open,
    /// The space is spent.
    Spent,
    /// This.
    Of(Configuration),
}

impl Study {
    /// A new study.
    ///
    /// # Errors
    /// [`StudyError`] if `spec` is not valid.
    pub fn new(spec: StudySpec) -> Result<Self, StudyError> {
        Self::with(spec, StudyParts::default())
    }

    /// A new study with the caller's own sampler, scheduler, predictor or stop rule in place of those that `spec` names.
    ///
    /// # Errors
    /// [`StudyError`] if `spec` is not valid. Entries of `spec` about a part that the caller brings are not checked.
    pub fn with(spec: StudySpec, parts: StudyParts) -> Result<Self, StudyError> {
        let spec = spec.made(&parts.catalogue)?;
        spec.validate_with(&parts)?;
        Self::assemble(spec, parts, None)
    }

    /// The study of an existing log, which records the enqueued configurations.
    ///
    /// # Errors
    /// Those of [`with`](Self::with).
    pub fn of_log(spec: StudySpec, parts: StudyParts) -> Result<Self, StudyError> {
        Self::with(StudySpec { queue: Vec::new(), ..spec }, parts)
    }

    /// A study of `parts`; with a `recording`, the replay of one. The numbers of `spec` are valid.
    pub(crate) fn assemble(
        spec: StudySpec,
        parts: StudyParts,
        recording: Option<Arc<dyn RunRecording>>,
    ) -> Result<Self, StudyError> {
        let StudyParts { catalogue, sampler, scheduler, predictor, stop_rule } = parts;
        let brings_sampler = sampler.is_some();
        let sampler = match sampler {
            Some(sampler) => sampler,
            None => spec.sampler.sampler(&spec.space, spec.seed)?,
        };
        let (nth_best, burn_in) = (spec.criterion.nth_best, spec.burn_in as usize);
        let scheduler = match scheduler {
            Some(scheduler) => scheduler,
            None => spec.schedule.scheduler(spec.trials, spec.whole_resource(), nth_best, burn_in)?,
        };
        let rule = stop_rule.clone().or_else(|| spec.policy_in_force().rule().cloned());
        // without R nobody knows how a trial would end
        let rule = rule.filter(|_| spec.resource().is_some());
        let needs = rule.as_ref().map_or_else(RuleNeeds::default, |rule| rule.needs(spec.max_resource));
        Ok(Self {
            own_rule: stop_rule,
            learner: rule.as_ref().and_then(|rule| rule.learner(&spec.plan())),
            rule: rule.filter(|_| !needs.nothing),
            sampler,
            scheduler,
            predictor,
            trials: Vec::new(),
            warm_start: Vec::new(),
            knowledge: StudyKnowledge::new(LevelData::new(burn_in, spec.refit), needs.means, recording),
            returned: Vec::new(),
            relation: ReturnRelation::default(),
            measures: ObjectiveMeasures::new(&spec),
            pending: None,
            interrupted: BTreeSet::new(),
            running: BTreeSet::new(),
            levels: BTreeSet::new(),
            progress: StudyProgress::default(),
            rungs: needs.rungs.iter().map(|&rung| (rung, Vec::new())).collect(),
            rung_points: BTreeMap::new(),
            needs,
            ranks: TrialRanks::default(),
            ranked_from: 0,
            keeps_checkpoints: true,
            unknown: BTreeSet::new(),
            told_at: 0,
            queue: ConfigurationQueue::new(spec.queue.clone()),
            series: None,
            brings_sampler,
            settings: spec.settings(),
            spec,
            catalogue,
        })
    }

    /// The study's description.
    pub fn spec(&self) -> &StudySpec {
        &self.spec
    }

    /// The series of the trials' output that is the metric, as [`Record::Chosen`](crate::Record::Chosen) has it.
    pub fn series(&self) -> Option<&str> {
        self.series.as_deref()
    }

    /// The relation between the values that completed trials returned and their reports.
    pub fn relation(&self) -> ReturnRelation {
        self.relation
    }

    /// The trials, by number.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Trial number `trial`.
    pub fn trial(&self, trial: u64) -> Option<&Trial> {
        self.trials.get(usize::try_from(trial).ok()?)
    }

    /// The runs of earlier searches that it learns from.
    pub fn warm_start_runs(&self) -> &[Run] {
        &self.warm_start
    }

    /// The state of its sampler: see [`Sampler::learned_state`](crate::Sampler::learned_state).
    pub fn learned_state(&self) -> Option<serde_json::Value> {
        self.sampler.learned_state()
    }

    /// Where the study stands: trials by state, epochs spent, the leader. O(1).
    pub fn progress(&self) -> &StudyProgress {
        &self.progress
    }

    /// The best trial so far: see [`Summary::best`](crate::StudySummary). O(log trials).
    pub fn best(&self) -> Option<Best> {
        let (trial, score) = self.progress.leader()?;
        let value = self.spec.direction.to_value(score);
        let configuration = self.trials[trial].configuration.clone();
        Some(Best { trial: trial as u64, score: value, configuration })
    }

    /// The trials that count with their values, the best first. A configuration with repeats counts once, with its mean; those with all
    /// repeats come first.
    pub fn leaders(&self) -> impl Iterator<Item = (u64, f64)> {
        self.progress.leaders().map(|(trial, score)| (trial as u64, self.spec.direction.to_value(score)))
    }

    /// The values of all trials of the configuration of `trial` that were trained to their end; empty where there are no repeats.
    pub fn repeat_values(&self, trial: u64) -> Vec<f64> {
        let scores = self.trial(trial).map(|trial| self.progress.repeats().scores(&trial.configuration));
        scores.unwrap_or_default().into_iter().map(|score| self.spec.direction.to_value(score)).collect()
    }

    /// The values of the folds of `trial` in the metric's unit; empty where trials are not cross-validated.
    pub fn fold_values(&self, trial: u64) -> Vec<f64> {
        let trial = self.trial(trial).filter(|_| self.spec.folds() > 1);
        let scores = trial.map(|trial| trial.fold_scores(self.spec.run_score)).unwrap_or_default();
        scores.into_iter().map(|score| self.spec.direction.to_value(score)).collect()
    }

    /// The level to which a training to `until` teaches forecasts: with folds, the end of the first one.
    fn level_of(&self, until: u64) -> u64 {
        if self.spec.folds() > 1 { until.min(self.spec.max_resource) } else { until }
    }

    /// The number of runs that forecasts are learned from, by the level they are made for; empty while the burn-in lasts. O(levels).
    pub fn learning_from(&self) -> BTreeMap<u64, usize> {
        let learned = |&level: &u64| self.knowledge.training_set(level).map(|runs| (level, runs.len()));
        self.levels.iter().filter_map(learned).collect()
    }

    /// Whether forecasts of the end are learned from trial `index`.
    pub fn is_burn_in(&self, index: usize) -> bool {
        let index = self.warm_start.len() + index;
        self.knowledge.training_set(self.spec.max_resource).is_some_and(|learned| learned.contains(&index))
    }

    /// Whether nothing runs and there is nothing left to run.
    pub fn is_done(&self) -> bool {
        let nothing_left = match &self.pending {
            Some((job, proposal)) => *proposal == JobProposal::Spent || !self.may_start(*job),
            None => self.scheduler.is_done() || self.is_without_improvement() || self.is_at_target(),
        };
        nothing_left && self.progress.trials.running == 0
    }

    /// Asks for the next job of a study whose log was read, so that [`is_done`](Self::is_done) knows whether the budget pays for it. While
    /// trials run, their ends decide on that job.
    pub fn look_ahead(&mut self) {
        if self.progress.trials.running == 0 {
            self.next_job();
        }
    }

    /// Whether the search ended because the rest of its budget does not pay for the next training.
    pub fn is_budget_spent(&self) -> bool {
        self.is_done() && self.pending.as_ref().is_some_and(|(job, _)| !self.can_pay(*job))
    }

    /// Whether the sampler found no configuration that it has not proposed before.
    pub fn is_space_spent(&self) -> bool {
        matches!(self.pending, Some((_, JobProposal::Spent)))
    }

    /// Whether a paused trial continues from a checkpoint; assumed until one has started from the beginning.
    pub fn keeps_checkpoints(&self) -> bool {
        self.keeps_checkpoints
    }

    /// Whether `trial` runs.
    pub fn is_running(&self, trial: u64) -> bool {
        self.trial(trial).is_some_and(|trial| trial.state == TrialState::Running)
    }

    /// Changes trial `index` and keeps the totals in step. O(log trials).
    fn change(&mut self, index: usize, change: impl FnOnce(&mut Trial)) {
        let trial = &mut self.trials[index];
        // the totals count a trial by its state, so it leaves them as it was and joins them as it is
        self.progress.remove(index, trial, &self.spec);
        change(trial);
        self.progress.add(index, trial, &self.spec);
        if trial.is_open() {
            self.running.insert(index);
        } else {
            self.running.remove(&index);
        }
        if trial.state == TrialState::Interrupted {
            self.interrupted.insert(index);
        } else {
            self.interrupted.remove(&index);
        }
    }
}

//! One trial of a study.

use super::spec::StudySpec;
use crate::record::{Decision, EarlierTrial, Reason, RecordedForecast, SourcePosition};
use crate::resource::UNKNOWN_RESOURCE;
use foretell::statistics::mean;
use foretell::{Configuration, Curve, Direction, RunScore};
use serde::Serialize;
use std::collections::BTreeMap;

/// The state of a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum TrialState {
    /// The trial runs.
    Running,
    /// The trial ran when the study was interrupted, and is to continue.
    Interrupted,
    /// Trained to its rung: it continues only if it is promoted.
    Paused {
        /// The trial's worth: its last value, or its best so far.
        value: f64,
    },
    /// Trained to its end.
    Completed {
        /// The trial's worth: its last value, or its best.
        value: f64,
    },
    /// Stopped before its end.
    Stopped {
        /// The step it was stopped at.
        step: u64,
        /// The reason.
        reason: Reason,
        /// Where it was forecast to end: its result.
        forecast: Option<RecordedForecast>,
    },
    /// Ended without a usable result.
    Failed {
        /// The reason for the failure.
        reason: String,
    },
}

impl TrialState {
    /// The state in a word: `running`, `interrupted`, `paused`, `completed`, `stopped` or `failed`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Paused { .. } => "paused",
            Self::Completed { .. } => "completed",
            Self::Stopped { .. } => "stopped",
            Self::Failed { .. } => "failed",
        }
    }
}

/// A trial of a study.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The configuration that is trained.
    pub configuration: Configuration,
    /// The curve so far: of a cross-validated training, that of the first fold.
    pub curve: Curve,
    /// The trial of an earlier study whose configuration it tries again.
    pub earlier: Option<EarlierTrial>,
    /// The curves of the further folds of a cross-validated training; their steps count from the start of each.
    pub folds: Vec<Curve>,
    /// The steps before the present fold.
    fold_start: u64,
    /// The epochs that folds ended before their last one.
    skipped: u64,
    /// Where it stands.
    pub state: TrialState,
    /// The last step it reported.
    pub step: u64,
    /// The step it is, or was last, to be trained to.
    pub until: u64,
    /// The epochs charged besides its curve: those of failed attempts that it reported as `failed_epochs`.
    pub extra: u64,
    /// The number of epochs of its curve that were really trained, where it reports that as `trained_epochs`: one that gave up and
    /// repeats its value trains no more.
    pub trained_epochs: Option<u64>,
    /// The value that its training returned: its score once it has completed. It may also report it as `returned`.
    pub returned: Option<f64>,
    /// The steps at which its earlier jobs ended, added up: what training each rung from the beginning would add.
    pub earlier_jobs: u64,
    /// The epochs it had trained when it reported last after it was stopped, or past the step it was to train to: they were
    /// trained, too, and are no part of its curve.
    pub(super) ran_to: u64,
    /// These reports: they join its curve if it is promoted, because its checkpoint includes their epochs.
    pub(in crate::study) beyond: Vec<(u64, Option<f64>, BTreeMap<String, f64>)>,
    /// The epochs that it trained once more, because it had no checkpoint to continue from.
    pub(crate) again: u64,
    /// While it repeats epochs that are recorded: how many it has reached so far.
    pub(in crate::study) repeating: Option<u64>,
    /// Whether it has reported nothing since it went on.
    pub(super) is_silent: bool,
    /// The number of reports that came after its worker had lost it.
    pub late: u64,
    /// The place up to which the file that it appends its metrics to was read.
    pub read: Option<SourcePosition>,
    /// Whether its configuration is lost.
    pub(super) unknown: bool,
    /// The last decision about it.
    pub decision: Option<Decision>,
    /// The decision that would have stopped it, in a study that only watches.
    pub shadow: Option<Decision>,
    /// The first decision that would have stopped it had it not been exempt.
    pub spared: Option<Decision>,
    /// Whether a person keeps it from being stopped.
    pub kept: bool,
    /// The last reported values of the objectives and limits, by name.
    pub measured: BTreeMap<String, f64>,
    /// The curves of the objectives that it reports, by name.
    pub(in crate::study) side: BTreeMap<String, Curve>,
    /// Whether it surely breaks a limit: then it counts for nothing.
    pub breaks_limit: bool,
    /// The last step that was decided on.
    pub(in crate::study) judged: Option<u64>,
    /// Checks in a row that said it will not win.
    pub(in crate::study) votes: u64,
    /// Non-finite values in a row.
    pub(in crate::study) diverged: u64,
    /// The first step it reported.
    pub(super) first: Option<u64>,
    /// The step at which it had been trained to each level.
    pub(in crate::study) ends: BTreeMap<u64, u64>,
}

impl Trial {
    pub(in crate::study) fn new(configuration: Configuration, until: u64, unknown: bool) -> Self {
        Self {
            configuration,
            curve: Curve::default(),
            earlier: None,
            folds: Vec::new(),
            fold_start: 0,
            skipped: 0,
            state: TrialState::Running,
            step: 0,
            until,
            extra: 0,
            trained_epochs: None,
            returned: None,
            earlier_jobs: 0,
            ran_to: 0,
            beyond: Vec::new(),
            again: 0,
            repeating: None,
            is_silent: false,
            late: 0,
            read: None,
            unknown,
            decision: None,
            shadow: None,
            spared: None,
            kept: false,
            measured: BTreeMap::new(),
            side: BTreeMap::new(),
            breaks_limit: false,
            judged: None,
            votes: 0,
            diverged: 0,
            first: None,
            ends: BTreeMap::new(),
        }
    }

    /// Lets the trial continue to `until`.
    pub(in crate::study) fn promote(&mut self, until: u64) {
        self.earlier_jobs += self.cost() - self.extra - self.again;
        (self.state, self.until, self.judged, self.votes) = (TrialState::Running, until, None, 0);
        (self.repeating, self.is_silent) = (None, true);
    }

    /// Lets the trial run again, after `from` epochs: those that it had trained beyond them count once more when they are reported again.
    pub(in crate::study) fn go_on(&mut self, from: u64) {
        self.state = TrialState::Running;
        self.repeating = (from < self.trained_epochs()).then_some(from);
        self.is_silent = self.has_reported();
    }

    /// So many `epochs` were trained once more; its present training has reached a recorded step by them, unless another worker
    /// trained them.
    pub(in crate::study) fn repeat(&mut self, reached: Option<u64>, epochs: u64) {
        self.again += epochs;
        let now = reached.map_or(0, |step| self.trained_at(step));
        if self.repeating.is_some_and(|reached| now > reached) {
            self.repeating = (now < self.trained_epochs()).then_some(now);
            self.is_silent = false;
        }
    }

    /// The number of recorded epochs that were trained once more, by a report of `step`.
    pub(in crate::study) fn repeated_epochs(&self, step: u64) -> u64 {
        let is_open = self.is_open() || matches!(self.state, TrialState::Stopped { .. });
        let reached = self.repeating.filter(|_| is_open && step <= self.step);
        reached.map_or(0, |reached| self.trained_at(step).saturating_sub(reached))
    }

    /// Whether its end is in doubt: it went on, and ended before its last epoch without another report.
    pub fn is_in_doubt(&self) -> bool {
        matches!(self.state, TrialState::Completed { .. })
            && self.is_silent
            && self.trained_epochs() < self.until
    }

    /// The epochs that its training has reached: fewer than are recorded while it repeats some.
    pub(in crate::study) fn reached_now(&self) -> u64 {
        self.repeating.unwrap_or_else(|| self.trained_epochs())
    }

    /// The epochs at its last recorded step before `step`.
    pub fn trained_before(&self, step: u64) -> u64 {
        let before = self.curve.steps().iter().rev().find(|&&there| there < step as f64);
        before.map_or(0, |&there| self.trained_at(there as u64))
    }

    /// Whether it has reported nothing since it was paused.
    pub(in crate::study) fn is_as_paused(&self) -> bool {
        self.ends.last_key_value().is_some_and(|(_, end)| *end == self.step)
    }

    pub(in crate::study) fn take_in(
        &mut self,
        step: u64,
        value: Option<f64>,
        metrics: &BTreeMap<String, f64>,
        direction: Direction,
    ) {
        // a new step shows that all before it were trained again, although a program may repeat them without a report
        if let Some(reached) = self.repeating.take() {
            self.again += self.trained_epochs().saturating_sub(reached);
        }
        self.is_silent = false;
        self.step = step;
        self.first.get_or_insert(step);
        let epochs = |name: &str| metrics.get(name).map(|&epochs| epochs.max(0.0) as u64);
        self.extra = epochs("failed_epochs").unwrap_or(self.extra);
        self.trained_epochs = epochs("trained_epochs").or(self.trained_epochs);
        self.returned = metrics.get("returned").copied().or(self.returned);
        self.diverged = if value.is_some() { 0 } else { self.diverged + 1 };
        // steps are checked to increase before they get here; a log that breaks this has lost nothing but the point
        let curve = self.folds.last_mut().unwrap_or(&mut self.curve);
        let _ = curve.push((step - self.fold_start) as f64, value, direction);
    }

    /// The report of `step`, which comes next, is of fold number `fold`, from 0; each fold has so many epochs.
    pub(in crate::study) fn enter_fold(&mut self, fold: usize, epochs: u64) {
        if fold > self.folds.len() {
            let start = fold as u64 * epochs;
            // the training of the fold before may have stopped early by itself
            self.skipped += start.saturating_sub(self.trained_epochs());
            self.folds.resize_with(fold, Curve::default);
            self.fold_start = start;
        }
    }

    /// Where its next report of `step` belongs: the number of the fold, from 0, of so many `epochs` each.
    pub fn fold_at(&self, step: u64, epochs: u64) -> usize {
        let counts_from_zero = self.first.unwrap_or(step) == 0;
        let trained_before = if counts_from_zero { step } else { step.saturating_sub(1) };
        usize::try_from(trained_before / epochs.max(1)).unwrap_or(usize::MAX)
    }

    /// The score of each fold that has reported, the first one included (larger is better).
    pub fn fold_scores(&self, run_score: RunScore) -> Vec<f64> {
        std::iter::once(&self.curve)
            .chain(&self.folds)
            .filter_map(|curve| run_score.value_of(curve))
            .collect()
    }

    /// The score of its reports: the mean over its folds, larger being better.
    pub fn reported_score(&self, run_score: RunScore) -> Option<f64> {
        let scores = self.fold_scores(run_score);
        (!scores.is_empty()).then(|| mean(&scores))
    }

    /// Whether a fold ended in values that are not finite.
    pub(in crate::study) fn is_diverged(&self) -> bool {
        std::iter::once(&self.curve).chain(&self.folds).any(|curve| curve.diverged_at().is_some())
    }

    /// The score that it reported at `step`, if that is recorded.
    pub fn score_at(&self, step: u64, epochs: u64) -> Option<f64> {
        let fold = if self.folds.is_empty() { 0 } else { self.fold_at(step, epochs) };
        let curve = if fold == 0 { &self.curve } else { self.folds.get(fold - 1)? };
        let local = (step - fold as u64 * epochs) as f64;
        let place = curve.steps().iter().position(|at| at.total_cmp(&local).is_eq())?;
        Some(curve.scores()[place])
    }

    /// Whether a report of `step` says that it has trained on beyond its end, in a training of `whole` steps.
    pub(in crate::study) fn is_beyond(&self, step: u64, whole: u64) -> bool {
        let ended = matches!(self.state, TrialState::Stopped { .. })
            || (self.is_open() && self.has_reported() && self.step >= self.until);
        ended && step <= whole && !self.gave_up() && self.ran_at(step, whole) > self.reached_epochs()
    }

    /// Notes that the trial has trained on to `step`, beyond its end.
    pub(in crate::study) fn run_on(
        &mut self,
        step: u64,
        value: Option<f64>,
        metrics: &BTreeMap<String, f64>,
        whole: u64,
    ) {
        self.ran_to = self.ran_at(step, whole);
        self.beyond.push((step, value, metrics.clone()));
    }

    fn ran_at(&self, step: u64, whole: u64) -> u64 {
        (step + u64::from(self.first == Some(0))).min(whole)
    }

    /// The epochs it has trained since its beginning, beyond its end included.
    pub(in crate::study) fn reached_epochs(&self) -> u64 {
        self.trained_epochs().max(self.ran_to)
    }

    /// Whether it trains no more, and only repeats its value.
    fn gave_up(&self) -> bool {
        self.trained_epochs.is_some_and(|epochs| epochs < self.trained_epochs())
    }

    /// Whether its configuration is lost, see [`Record::Unknown`](crate::Record::Unknown): it counts for nothing, and nothing is
    /// learned from it.
    pub fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// Whether it may count as a result: it breaks no limit, and its configuration is known.
    pub(crate) fn counts(&self) -> bool {
        !self.breaks_limit && !self.is_unknown()
    }

    /// The step of its first report.
    pub fn first_step(&self) -> Option<u64> {
        self.first
    }

    /// Whether it has reported anything.
    pub fn has_reported(&self) -> bool {
        self.first.is_some()
    }

    /// The epochs it has trained: its last step, or one more if its steps count from 0.
    pub fn trained_epochs(&self) -> u64 {
        self.trained_at(self.step)
    }

    /// The epochs it had trained when it reported `step`: people are shown these, never the step.
    pub fn trained_at(&self, step: u64) -> u64 {
        step + u64::from(self.first == Some(0) && step < self.until)
    }

    /// The epochs it will have trained once it reports `step`, wherever it was to end.
    pub(in crate::study) fn would_have_trained(&self, step: u64) -> u64 {
        step.saturating_add(u64::from(self.first == Some(0)))
    }

    /// R as it shows it, once it has completed: its last step, or one more if its steps count each epoch from 0. Steps that count from 0 but leave some
    /// out begin with a value before the training, so the last one is the number of epochs.
    pub(in crate::study) fn length(&self) -> u64 {
        let counts_each = self.curve.len() as u64 > self.step;
        (self.step + u64::from(self.first == Some(0) && counts_each)).max(1)
    }

    /// Whether it trains for as long as it likes: while R is unknown, and beyond it where nobody cuts it.
    pub fn is_unlimited(&self) -> bool {
        self.until == UNKNOWN_RESOURCE
    }

    /// Sets the step that the trial was, or is, to be trained to.
    pub(in crate::study) fn retarget(&mut self, until: u64) {
        if let Some(end) = self.ends.remove(&self.until) {
            self.ends.insert(until, end);
        }
        self.until = until;
    }

    /// The epoch after which its next report is due, were it as far from the last as that from the one before.
    pub(in crate::study) fn next_report(&self) -> u64 {
        let steps = self.curve.steps();
        let before = steps.len().checked_sub(2).map_or(0.0, |second| steps[second]);
        self.trained_epochs() + (self.step as f64 - before).max(1.0) as u64
    }

    /// The epochs it has cost: those it trained, those beyond its end included, and those of failed attempts.
    pub fn cost(&self) -> u64 {
        self.cost_at(self.step).max((self.ran_to + self.extra + self.again).saturating_sub(self.skipped))
    }

    /// The epochs it had cost when it reported `step`.
    pub(crate) fn cost_at(&self, step: u64) -> u64 {
        let trained = self.trained_at(step);
        let trained = self.trained_epochs.map_or(trained, |epochs| epochs.min(trained));
        trained.saturating_sub(self.skipped) + self.extra + self.again
    }

    /// The epochs it would have cost, had each of its jobs started from the beginning.
    pub(crate) fn cost_from_scratch(&self) -> u64 {
        self.cost() + self.earlier_jobs.saturating_sub(self.again)
    }

    /// The cost in epochs of the trial if it were trained up to `until`. A trial that ended without a stop rule, and one that is paused at
    /// `until` or later, costs only the epochs that it has trained.
    pub fn cost_to(&self, until: u64) -> u64 {
        match self.state {
            // a training that only repeats its value would not have trained further, so stopping it saves nothing
            _ if self.gave_up() => self.cost(),
            // no rule saves the rest of a training that diverged, which is worthless, or of a trial that a person ended
            TrialState::Stopped { reason: Reason::Diverged | Reason::ByHand, .. } => self.cost(),
            TrialState::Paused { .. } if until <= self.until => self.cost(),
            TrialState::Stopped { .. } | TrialState::Paused { .. } => {
                self.cost() + until.saturating_sub(self.reached_epochs())
            }
            TrialState::Running
            | TrialState::Interrupted
            | TrialState::Completed { .. }
            | TrialState::Failed { .. } => self.cost(),
        }
    }

    /// The curve when the trial had been trained to `level`. One that ended before, by its own early stopping or because its steps count
    /// from 0, stays where it ended.
    pub fn curve_to(&self, level: u64, direction: Direction) -> Curve {
        let Some(&end) = self.ends.get(&level) else { return self.curve.clone() };
        let mut curve = self.curve.prefix_until(end as f64);
        if let Some((_, score)) = curve.last_point().filter(|(step, _)| *step < level as f64) {
            // refused only where the curve has diverged at that step
            let _ = curve.push(level as f64, direction.to_value(score), direction);
        }
        curve
    }

    /// Whether the trial failed.
    pub fn is_failed(&self) -> bool {
        matches!(self.state, TrialState::Failed { .. })
    }

    /// Whether it runs, or is to continue after an interruption.
    pub fn is_open(&self) -> bool {
        matches!(self.state, TrialState::Running | TrialState::Interrupted)
    }

    /// The trial's result in the metric's unit. If the last value counts, only a trial that was trained to its end has one; if the best value
    /// counts, so has every trial that has ended without failing. `None` for a trial that breaks a limit, or whose configuration is lost.
    ///
    /// Where trials return scores of their own, only a completed trial has one.
    pub fn achieved_result(&self, spec: &StudySpec) -> Option<f64> {
        match (&self.state, spec.run_score) {
            _ if !self.counts() => None,
            (TrialState::Completed { value }, _) => Some(*value),
            (TrialState::Stopped { .. } | TrialState::Paused { .. }, RunScore::Best)
                if !spec.returns_own_scores && spec.folds() == 1 =>
            {
                spec.run_score.value_of(&self.curve).map(|score| spec.direction.to_value(score))
            }
            _ => None,
        }
    }

    /// The forecast that it was stopped with.
    pub(in crate::study) fn forecast(&self) -> Option<RecordedForecast> {
        match &self.state {
            TrialState::Stopped { forecast, .. } => *forecast,
            _ => None,
        }
    }

    /// The result it counts with, in the metric's unit: the last value, or the best, of a trial that was trained as far as
    /// wanted; the forecast of a stopped one, or what it was worth if its stopper makes none.
    pub fn result(&self) -> Option<f64> {
        match &self.state {
            TrialState::Completed { value } | TrialState::Paused { value } => Some(*value),
            TrialState::Stopped { forecast, .. } => {
                let last = || self.decision.as_ref().and_then(|decision| decision.value);
                forecast.map(|f| f.mean).or_else(last)
            }
            TrialState::Running | TrialState::Interrupted | TrialState::Failed { .. } => None,
        }
    }
}

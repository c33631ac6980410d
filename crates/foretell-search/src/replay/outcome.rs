//! The outcome of a replay: the resource spent and saved, and whether the best was kept.

use super::drive::{ReplayTrace, TrialTrace};
use super::error::ReplayError;
use super::front::FrontKept;
use super::setting::ReplaySetting;
use super::table::RunTable;
use crate::saving::Saving;
use crate::schedulers::brackets::plan;
use crate::schedulers::schedule::{Schedule, ScheduleError};
use crate::study::StudySpec;
use foretell::statistics::{mean, quantile_of_sorted, standard_error};

/// The outcome of one ordering.
#[derive(Clone, Debug)]
pub struct OrderingOutcome {
    /// Points spent.
    pub spent: u64,
    /// Points that training every trial fully takes, one that diverged up to where that is seen; for Hyperband, those of the same plan
    /// without stopping.
    pub full: u64,
    /// The recorded run with the best final score among the trials.
    pub best: usize,
    /// Whether a run with that score was trained to the end.
    pub best_kept: bool,
    /// The place of the best run that was trained to the end among all trials, from 1; one more than there are trials if none was.
    pub rank: usize,
    /// The amount by which the best found is worse, on the history's scale; ≥ 0.
    pub regret: f64,
    /// The regret in the metric's unit.
    pub regret_natural: f64,
    /// Points until a trial within 1 % of (best − median) of the best one has completed; a search that loses all of these pays for
    /// training its trials once more without stopping.
    pub to_target: u64,
    /// Points until then where nothing is stopped.
    pub to_target_full: u64,
    /// Trials that would have been stopped although they end better than all that were trained to the end.
    pub stopped_wrongly: Vec<usize>,
    /// The fraction of the front that was kept, with several objectives.
    pub front: Option<FrontKept>,
    /// Everything that happened.
    pub trace: ReplayTrace,
}

impl OrderingOutcome {
    pub(super) fn new(
        setting: &ReplaySetting,
        table: &RunTable,
        trials: &[usize],
        mut trace: ReplayTrace,
    ) -> Result<Self, ReplayError> {
        let resource = setting.study.max_resource;
        let (spent, full) = count_points(setting, table, trials, &trace)?;
        let (to_target, to_target_full) = points_to_target(table, trials, &trace, (spent, resource));
        let scored = trials.iter().map(|&run| (run, table.score(run, resource)));
        let best = scored.clone().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(run, _)| run);
        let best_score = table.score(best, resource);
        let finished = trace.trials.iter().filter(|trial| trial.finished);
        let found = finished.map(|trial| table.score(trial.run, resource)).fold(f64::NEG_INFINITY, f64::max);
        let stopped = trace.trials.iter_mut().filter(|t| !t.finished && t.stopped_at.is_some());
        let lost = stopped.filter(|t| table.score(t.run, resource) > found);
        let mut stopped_wrongly: Vec<usize> = lost
            .map(|t| {
                t.stopped_wrongly = true;
                t.run
            })
            .collect();
        stopped_wrongly.sort_unstable();
        // with Hyperband, a run may be drawn more than once
        stopped_wrongly.dedup();
        let worst = if found.is_finite() { found } else { table.history().lowest_score() };
        let [best_value, worst_value] = [best_score, worst].map(|score| table.history().to_value(score));
        Ok(Self {
            spent,
            full,
            best,
            best_kept: found >= best_score,
            rank: scored.filter(|(_, score)| *score > found).count() + 1,
            regret: best_score - worst,
            regret_natural: (best_value - worst_value).abs(),
            to_target,
            to_target_full,
            stopped_wrongly,
            front: FrontKept::new(setting, table, trials, &trace),
            trace,
        })
    }

    /// The saving by stopping.
    pub fn saving(&self) -> Saving {
        Saving { spent: self.spent, without_stopping: self.full }
    }

    /// `full` over `spent`.
    pub fn speedup(&self) -> f64 {
        self.saving().times()
    }
}

/// Points spent, and points without stopping. A run that diverged ends where that is seen, whatever the rule, so that no rule gains by it.
fn count_points(
    setting: &ReplaySetting,
    table: &RunTable,
    trials: &[usize],
    trace: &ReplayTrace,
) -> Result<(u64, u64), ReplayError> {
    let resource = setting.study.max_resource;
    let spent = trace.spent_points(setting.retrain);
    if let Schedule::Hyperband { eta, runs, .. } = setting.study.schedule {
        let totals = plan(resource, eta).map_err(ScheduleError::from)?.totals();
        return Ok((spent, runs * if setting.retrain { totals.scratch } else { totals.resume }));
    }
    let after_divergence = trace.trials.iter().map(|t| t.trained - table.trained_to(t.run, t.trained));
    Ok((
        spent - after_divergence.sum::<u64>(),
        trials.iter().map(|&run| table.trained_to(run, resource)).sum(),
    ))
}

/// Of (best − median): a value that is nearer to the best is as good.
const TARGET_TOLERANCE: f64 = 0.01;

/// [`OrderingOutcome::to_target`] and [`OrderingOutcome::to_target_full`] of trials that take `resource` and `spent` points in all.
fn points_to_target(
    table: &RunTable,
    trials: &[usize],
    trace: &ReplayTrace,
    (spent, resource): (u64, u64),
) -> (u64, u64) {
    let mut scores: Vec<f64> = trials.iter().map(|&run| table.score(run, resource)).collect();
    scores.sort_by(f64::total_cmp);
    let Some(&best) = scores.last() else { return (0, 0) };
    let target = best - TARGET_TOLERANCE * (best - quantile_of_sorted(&scores, 0.5));
    let mut full = 0;
    for &run in trials {
        full += table.trained_to(run, resource);
        if table.score(run, resource) >= target {
            break;
        }
    }
    let reached = trace.best_so_far.iter().find(|(_, score)| *score >= target);
    (reached.map_or(spent + full, |(points, _)| *points), full)
}

/// The outcomes of one setting over all orderings.
#[derive(Clone, Debug)]
pub struct ReplayOutcome {
    /// The study.
    pub study: StudySpec,
    /// In order.
    pub orderings: Vec<OrderingOutcome>,
    spread: f64,
}

impl ReplayOutcome {
    pub(super) fn new(study: StudySpec, table: &RunTable) -> Self {
        Self { study, orderings: Vec::new(), spread: table.spread() }
    }

    fn per_ordering(&self, value: impl Fn(&OrderingOutcome) -> f64) -> Vec<f64> {
        self.orderings.iter().map(value).collect()
    }

    /// Points to the target without stopping over points to it, both of all orderings.
    pub fn speedup_to_target(&self) -> f64 {
        let full: u64 = self.orderings.iter().map(|ordering| ordering.to_target_full).sum();
        let spent: u64 = self.orderings.iter().map(|ordering| ordering.to_target).sum();
        full as f64 / spent as f64
    }

    /// Mean over orderings of `value`.
    pub fn mean(&self, value: impl Fn(&OrderingOutcome) -> f64) -> f64 {
        mean(&self.per_ordering(value))
    }

    /// The saving factor over all orderings, total over total, and its standard error.
    pub fn saving_factor(&self) -> (f64, f64) {
        Saving::total(&self.orderings.iter().map(OrderingOutcome::saving).collect::<Vec<_>>())
    }

    /// (mean, standard error) of each ordering's speed-up.
    pub fn mean_speedup(&self) -> (f64, f64) {
        let speedups = self.per_ordering(OrderingOutcome::speedup);
        (mean(&speedups), standard_error(&speedups))
    }

    /// The share of orderings in which the best run was kept.
    pub fn best_kept(&self) -> f64 {
        self.kept_among(1).0
    }

    /// The share of orderings in which one of the best `places` was kept, and its standard error.
    pub fn kept_among(&self, places: usize) -> (f64, f64) {
        let kept = self.per_ordering(|o| f64::from(u8::from(o.rank <= places)));
        (mean(&kept), standard_error(&kept))
    }

    /// (mean, standard error), over the orderings that lost the best run, of `regret`; `None` if none did.
    pub fn where_lost(&self, regret: impl Fn(&OrderingOutcome) -> f64) -> Option<(f64, f64)> {
        let lost: Vec<f64> = self.orderings.iter().filter(|o| !o.best_kept).map(regret).collect();
        (!lost.is_empty()).then(|| (mean(&lost), standard_error(&lost)))
    }

    /// The fraction of the front that was kept, on average over orderings; `None` with one objective.
    pub fn mean_front_kept(&self) -> Option<FrontKept> {
        let fronts: Vec<FrontKept> = self.orderings.iter().filter_map(|ordering| ordering.front).collect();
        FrontKept::mean(&fronts)
    }

    /// The best final value of each Hyperband run that trained any trial to its end, in the metric's unit.
    pub fn best_of_runs(&self, table: &RunTable) -> Vec<f64> {
        let runs = self.orderings.iter().flat_map(|ordering| &ordering.trace.by_run);
        runs.filter_map(|run| run.1).map(|score| table.history().to_value(score)).collect()
    }

    /// The regret of an ordering, in standard deviations of the final scores.
    pub fn in_sd(&self, ordering: &OrderingOutcome) -> f64 {
        if self.spread > 0.0 { ordering.regret / self.spread } else { 0.0 }
    }

    /// Mean regret, in standard deviations of the final scores.
    pub fn regret_sd(&self) -> f64 {
        self.mean(|o| self.in_sd(o))
    }

    /// Mean number of trials that were not trained to the largest resource they were meant for: stopped, at one rung or at several, or,
    /// under i-epoch, dropped.
    pub fn mean_stopped_trials(&self) -> f64 {
        match self.study.schedule {
            Schedule::IEpoch { .. } => self.mean_trials(|trial| !trial.finished),
            Schedule::Full
            | Schedule::SuccessiveHalving { .. }
            | Schedule::Hyperband { .. }
            | Schedule::Asha { .. } => self.mean_trials(|trial| trial.stopped_at.is_some()),
        }
    }

    /// Mean number of trials that were stopped although they would have ended above what they were compared with.
    pub fn mean_wrong_stops(&self) -> f64 {
        self.mean_trials(|trial| trial.stopped_wrongly)
    }

    /// Mean number of trials with which it `is` so.
    fn mean_trials(&self, is: impl Fn(&TrialTrace) -> bool) -> f64 {
        self.mean(|o| o.trace.trials.iter().filter(|trial| is(trial)).count() as f64)
    }

    /// Of the trials exempt from stopping that would have been stopped: how many, and how many of them came to be the
    /// best of all trained to the end. The unbiased audit of the stopper.
    pub fn audit(&self, table: &RunTable) -> (usize, usize) {
        let resource = self.study.max_resource;
        let (mut spared, mut wrong) = (0, 0);
        for ordering in &self.orderings {
            let finished = ordering.trace.trials.iter().filter(|t| t.finished);
            let best = finished.map(|t| table.score(t.run, resource)).fold(f64::NEG_INFINITY, f64::max);
            for trial in ordering.trace.trials.iter().filter(|t| t.spared) {
                spared += 1;
                wrong += usize::from(table.score(trial.run, resource) >= best);
            }
        }
        (spared, wrong)
    }
}

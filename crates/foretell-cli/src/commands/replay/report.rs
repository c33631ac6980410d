//! The rows of a replay, as scripts and people read them.

use super::flags::ReplayArguments;
use super::settings::ReplayVariant;
use foretell::statistics::{mean, standard_error};
use foretell::{ErrorBudget, RunScore, StopCriterion};
use foretell_search::{
    BestSoFarPoint, Caution, FrontKept, KappaOf, Rank, Reference, ReplayOutcome, RunTable, StopPolicy,
    StudySpec, best_so_far_moments,
};
use serde::Serialize;

/// The best final value so far over orderings, once all have one.
#[derive(Clone, Copy, Serialize)]
pub(super) struct BestValue {
    pub(super) epochs: f64,
    pub(super) median: f64,
    /// The 10 % and the 90 % quantile, lower one first.
    pub(super) low: f64,
    pub(super) high: f64,
}

/// One setting on one set of curves; means are over orderings.
#[derive(Serialize)]
pub(super) struct SettingRow {
    /// The setting.
    #[serde(skip)]
    pub(super) variant: ReplayVariant,
    pub(super) curves: String,
    pub(super) policy: String,
    pub(super) predictor: Option<String>,
    pub(super) stop_probability: Option<f64>,
    pub(super) offset: f64,
    pub(super) nth_best: usize,
    pub(super) burn_in: u64,
    pub(super) orderings: usize,
    /// Epochs spent; with Hyperband over all its runs.
    pub(super) epochs_spent: f64,
    /// Epochs without stopping.
    pub(super) epochs_full: f64,
    pub(super) speedup_mean: f64,
    pub(super) speedup_stderr: f64,
    /// The fraction of orderings in which a run with the best final score completed.
    pub(super) best_kept: f64,
    /// How much worse the best found is than the best there was, in the metric's unit.
    pub(super) regret_mean: f64,
    /// How many runs were stopped.
    pub(super) stopped_mean: f64,
    pub(super) runs: usize,
    /// The number of stopped runs that would have ended above the value that they were compared with.
    pub(super) wrong_stops_mean: f64,
    pub(super) agreeing_checks: Option<usize>,
    /// The promise of Δ: `per-check`, `per-run` or `per-run-evenly`.
    pub(super) error_budget: Option<ErrorBudget>,
    /// `regret_mean` on the scale of the forecasts, in standard deviations of the final scores.
    pub(super) regret_sd_mean: f64,
    pub(super) regret_max: f64,
    /// The epochs saved as a fraction of those that `oracle` saves with the same flags.
    pub(super) saving_of_oracle: Option<f64>,
    /// The score of runs: `last` or `best`.
    pub(super) score: RunScore,
    /// Virtual time until everything had ended, in epochs.
    pub(super) elapsed_mean: f64,
    /// Epochs if every rung trains from the beginning, and if it resumes from the previous one.
    pub(super) epochs_scratch: f64,
    pub(super) epochs_resume: f64,
    /// In which order runs were taken: `random`, or by the proposals of `tpe` or `gp`.
    pub(super) sampler: String,
    /// The value that runs were compared by at rungs, if not their metric's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rank: Option<Rank>,
    /// With `--figure best-so-far`: the best final value so far, by epochs spent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) best_so_far: Vec<BestValue>,
    pub(super) reference: Option<Reference>,
    pub(super) kappa: Option<f64>,
    pub(super) kappa_of: Option<KappaOf>,
    /// The best final score of a Hyperband run, in the metric's unit: mean and standard error over runs and orderings.
    pub(super) best_of_run_mean: Option<f64>,
    pub(super) best_of_run_stderr: Option<f64>,
    /// The fraction of Hyperband runs in which no configuration completed.
    pub(super) runs_without_result: Option<f64>,
    /// Whether these are the default settings of `foretell search`.
    pub(super) default: bool,
    /// With the settings of `foretell search --caution`: which.
    pub(super) caution: Option<&'static str>,
    /// The command that searches with this setting; none if no search stops trials like this.
    pub(super) command: Option<String>,
    /// When it learned again; none: once.
    pub(super) refit: Option<f64>,
    /// The number of runs each order drew; none: all.
    pub(super) study_size: Option<usize>,
    /// With several objectives: the kept part of the front.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) front: Option<FrontRow>,
    /// Exempt runs that would have been stopped, and how many of them turned out to be the best.
    pub(super) audit: Option<(usize, usize)>,
    #[serde(flatten)]
    pub(super) totals: SettingTotals,
}

/// Real savings and losses over all orderings.
#[derive(Serialize)]
pub(super) struct SettingTotals {
    /// The real saving: epochs without stopping over epochs spent, both of all orderings; its standard error.
    pub(super) speedup_total: f64,
    pub(super) speedup_total_stderr: f64,
    pub(super) best_kept_stderr: f64,
    /// Epochs until a run within 1 % of (best − median) of the best one has completed: without stopping over with it.
    pub(super) speedup_to_target: f64,
    /// The fraction of orderings in which one of the best three completed.
    pub(super) best_three_kept: f64,
    pub(super) best_three_kept_stderr: f64,
    pub(super) regret_sd_stderr: f64,
    /// The mean regret of the orderings that lost the best, in the metric's unit; none if none did.
    pub(super) regret_where_lost: Option<f64>,
    /// `regret_sd_mean` of the orderings that lost the best, and its standard error.
    pub(super) regret_sd_where_lost: Option<f64>,
    pub(super) regret_sd_where_lost_stderr: Option<f64>,
}

impl SettingTotals {
    fn new(outcome: &ReplayOutcome) -> Self {
        let (speedup_total, speedup_total_stderr) = outcome.saving_factor();
        let (best_three_kept, best_three_kept_stderr) = outcome.kept_among(3);
        let where_lost = outcome.where_lost(|ordering| outcome.in_sd(ordering));
        let regrets: Vec<f64> = outcome.orderings.iter().map(|ordering| outcome.in_sd(ordering)).collect();
        Self {
            speedup_total,
            speedup_total_stderr,
            speedup_to_target: outcome.speedup_to_target(),
            best_kept_stderr: outcome.kept_among(1).1,
            best_three_kept,
            best_three_kept_stderr,
            regret_sd_stderr: standard_error(&regrets),
            regret_where_lost: outcome.where_lost(|o| o.regret_natural).map(|(mean, _)| mean),
            regret_sd_where_lost: where_lost.map(|(mean, _)| mean),
            regret_sd_where_lost_stderr: where_lost.map(|(_, error)| error),
        }
    }
}

/// The kept part of a front; means are over orderings.
#[derive(Clone, Copy, Serialize)]
pub(super) struct FrontRow {
    /// The number of runs it has.
    pub(super) size_mean: f64,
    /// The fraction of them that completed.
    pub(super) kept: f64,
    /// The fraction of its hypervolume that was kept.
    pub(super) hypervolume_kept: f64,
    /// Both fractions for runs chosen at random at the same cost.
    pub(super) kept_at_random: f64,
    pub(super) hypervolume_kept_at_random: f64,
}

impl FrontRow {
    fn new(front: FrontKept) -> Self {
        Self {
            size_mean: front.size,
            kept: front.kept,
            hypervolume_kept: front.hypervolume,
            kept_at_random: front.kept_at_random,
            hypervolume_kept_at_random: front.hypervolume_at_random,
        }
    }
}

/// One row a variant.
pub(super) fn rows(
    curves: &str,
    table: &RunTable,
    variants: Vec<ReplayVariant>,
    outcomes: &[ReplayOutcome],
    arguments: &ReplayArguments,
) -> Vec<SettingRow> {
    let row = |(variant, outcome)| row(curves, table, variant, outcome, arguments);
    let mut rows: Vec<SettingRow> = variants.into_iter().zip(outcomes).map(row).collect();
    // after all rows are made, because the saving of a row is measured by the rows of no stopping and of perfect foresight
    for i in 0..rows.len() {
        rows[i].saving_of_oracle = saving_of_oracle(&rows, i);
    }
    rows
}

/// Puts the best so far into the rows of a file.
pub(super) fn add_best_so_far(
    rows: &mut [SettingRow],
    table: &RunTable,
    outcomes: &[ReplayOutcome],
    finer: u32,
) {
    let moments = best_so_far_moments(outcomes);
    for (row, outcome) in rows.iter_mut().zip(outcomes) {
        let points = outcome.best_so_far(table, &moments, f64::from(finer));
        let value =
            |p: BestSoFarPoint| BestValue { epochs: p.resource, median: p.middle, low: p.low, high: p.high };
        row.best_so_far = points.into_iter().map(value).collect();
    }
}

/// The saving of row `i` in the cost of training without a stopper (by the same scheduler, if `none` was replayed), over the saving of
/// `oracle`.
fn saving_of_oracle(rows: &[SettingRow], i: usize) -> Option<f64> {
    let variant = &rows[i].variant;
    if !variant.stops() || variant.is_bound() {
        return None;
    }
    let like = |variant: &ReplayVariant| StudySpec {
        policy: StopPolicy::none(),
        caution: Caution::default(),
        criterion: StopCriterion::default(),
        predictor: String::new(),
        ..variant.study().clone()
    };
    let is_bound = |row: &&SettingRow| row.variant.is_bound() && like(&row.variant) == like(variant);
    let oracle = rows.iter().find(is_bound)?;
    let none = rows.iter().find(|row| !row.variant.stops());
    let whole = none.map_or(rows[i].epochs_full, |row| row.epochs_spent);
    let share = (whole - rows[i].epochs_spent) / (whole - oracle.epochs_spent);
    Some(share).filter(|share| share.is_finite())
}

fn row(
    curves: &str,
    table: &RunTable,
    variant: ReplayVariant,
    outcome: &ReplayOutcome,
    arguments: &ReplayArguments,
) -> SettingRow {
    // a finer replay counts several points for each recorded one, so its sums are divided to be epochs of the records
    let finer = f64::from(arguments.finer);
    let (speedup_mean, speedup_stderr) = outcome.mean_speedup();
    let StudySpec { burn_in, rank, refit, exempt, ref sampler, .. } = *variant.study();
    let reference = variant.reference();
    let best_of_runs = outcome.best_of_runs(table);
    let all_runs: usize = outcome.orderings.iter().map(|o| o.trace.by_run.len()).sum();
    let of_runs = |value: f64| (!best_of_runs.is_empty()).then_some(value);
    SettingRow {
        curves: curves.to_owned(),
        policy: variant.way.clone(),
        predictor: match variant.teaching_caution() {
            Some(_) => Some("chosen".to_owned()),
            None => variant.predictor().map(str::to_owned),
        },
        stop_probability: variant
            .criterion()
            .filter(|_| variant.teaching_caution().is_none())
            .map(|criterion| criterion.stop_probability),
        offset: variant.study().criterion.offset,
        nth_best: variant.study().criterion.nth_best,
        burn_in,
        orderings: outcome.orderings.len(),
        epochs_spent: outcome.mean(|o| o.spent as f64) / finer,
        epochs_full: outcome.mean(|o| o.full as f64) / finer,
        speedup_mean,
        speedup_stderr,
        best_kept: outcome.best_kept(),
        regret_mean: outcome.mean(|o| o.regret_natural),
        stopped_mean: outcome.mean_stopped_trials(),
        runs: outcome.orderings.first().map_or(0, |o| o.trace.trials.len()),
        wrong_stops_mean: outcome.mean_wrong_stops(),
        agreeing_checks: variant.criterion().map(|criterion| criterion.agreeing_checks),
        error_budget: variant.criterion().map(|criterion| criterion.error_budget),
        regret_sd_mean: outcome.regret_sd(),
        regret_max: outcome.orderings.iter().map(|o| o.regret_natural).fold(0.0, f64::max),
        saving_of_oracle: None,
        score: table.history().run_score(),
        elapsed_mean: outcome.mean(|o| o.trace.elapsed as f64) / finer,
        epochs_scratch: outcome.mean(|o| o.trace.scratch as f64) / finer,
        epochs_resume: outcome.mean(|o| o.trace.resume as f64) / finer,
        sampler: sampler.name().to_owned(),
        rank: Some(rank).filter(|rank| *rank != Rank::Value),
        best_so_far: Vec::new(),
        reference: reference.map(|(reference, _)| reference),
        kappa: reference.map(|(_, kappa)| kappa.kappa),
        kappa_of: reference.map(|(_, kappa)| kappa.of),
        best_of_run_mean: of_runs(mean(&best_of_runs)),
        best_of_run_stderr: of_runs(standard_error(&best_of_runs)),
        runs_without_result: of_runs(1.0 - best_of_runs.len() as f64 / all_runs.max(1) as f64),
        default: variant.is_default(),
        caution: variant.caution.map(Caution::name),
        command: variant.command(),
        refit,
        study_size: arguments.study_size(table),
        front: outcome.mean_front_kept().map(FrontRow::new),
        audit: (exempt > 0.0).then(|| outcome.audit(table)),
        totals: SettingTotals::new(outcome),
        variant,
    }
}

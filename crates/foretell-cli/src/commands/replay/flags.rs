//! The flags of `foretell replay`.

use super::policy_name::PolicyName;
use crate::curves::{CurveFlags, DEFAULT_PREDICTOR};
use crate::failure::Failure;
use crate::output::Format;
use crate::scheduling::{
    BudgetName, KappaOfName, RankName, RecordedSamplerName, ReferenceName, SchedulerName,
};
use clap::ValueEnum;
use foretell::{ErrorBudget, StopCriterion};
use foretell_search::{Caution, Kappa, KappaOf, Reference};
use std::path::PathBuf;

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FigureKind {
    /// Speed-up against Δ, a line a variant.
    Speedup,
    /// Best result so far against resource spent, a line a policy.
    BestSoFar,
    /// Your runs: kept, stopped, stopped wrongly.
    Fates,
    /// Speed-up against the iteration of Hyperband.
    Iterations,
}

/// The arguments of `foretell replay`. Without flags: what would early stopping have saved, and would it have kept the
/// best run?
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Recorded curves: wide or long CSV, JSON lines, plain or gzip, or a folder with such a file.
    #[arg(required = true, value_name = "CURVES")]
    pub(super) curves: Vec<PathBuf>,

    /// Who is stopped: none, srm (forecasts by --predictor), last-value, lce and lce-optimistic (learning-curve
    /// extrapolation, milliseconds a check), median, patience, oracle, i-epoch (default: all but lce and patience; with
    /// Hyperband none, srm, oracle).
    #[arg(long, value_delimiter = ',', value_enum, help_heading = "Stopping")]
    policy: Vec<PolicyName>,
    /// The predictors of policy srm.
    #[arg(long, value_delimiter = ',', default_value = DEFAULT_PREDICTOR, help_heading = "Stopping")]
    pub(super) predictor: Vec<String>,
    /// Δ: stop once it is this probable that the run will not win; in [0.5, 1) (default: 0.9,0.95,0.99; with Hyperband
    /// 0.9, the paper has 0.95).
    #[arg(long, value_delimiter = ',', help_heading = "Stopping")]
    pub(super) stop_probability: Vec<f64>,
    /// δ: let runs finish that are forecast to come this close to the best; in units of the metric.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0",
        allow_negative_numbers = true,
        help_heading = "Stopping"
    )]
    pub(super) offset: Vec<f64>,
    /// Compare with the n-th best finished run.
    #[arg(long, value_delimiter = ',', default_value = "1", help_heading = "Stopping")]
    pub(super) nth_best: Vec<usize>,
    /// How many checks in a row must agree (default: 1,2; with Hyperband 1).
    #[arg(long, value_delimiter = ',', help_heading = "Stopping")]
    pub(super) agreeing_checks: Vec<usize>,
    /// What Δ promises: each check, or all checks of a run together (default: per-check,per-run; with Hyperband
    /// per-check).
    #[arg(long, value_delimiter = ',', value_enum, help_heading = "Stopping")]
    error_budget: Vec<BudgetName>,
    /// Runs trained to their end before anything is stopped; with Hyperband, at each level (default: a third of the
    /// runs, 100 at most; with Hyperband 100).
    #[arg(long, value_delimiter = ',', help_heading = "Stopping")]
    pub(super) burn_in: Vec<usize>,
    /// Learn again when this many times as many runs are finished, such as 1.25 (default: learn once).
    #[arg(long, value_name = "FACTOR", help_heading = "Stopping")]
    pub(super) refit: Option<f64>,
    /// The share of runs that is never stopped: an unbiased audit.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", help_heading = "Stopping")]
    pub(super) exempt: f64,
    /// Points before the first check.
    #[arg(long, default_value_t = 1, help_heading = "Stopping")]
    pub(super) first_check: u64,
    /// Points between checks.
    #[arg(long, default_value_t = 1, help_heading = "Stopping")]
    pub(super) check_every: u64,
    /// Policy patience: points without a new best before a run is stopped.
    #[arg(long, default_value_t = 5, help_heading = "Stopping")]
    pub(super) patience: usize,
    /// Policy i-epoch: points that every run gets (default: 5 % of them).
    #[arg(long, value_name = "POINTS", help_heading = "Stopping")]
    i_epochs: Option<u64>,
    /// Policy i-epoch: how many runs go on to the end (default: 10, or all).
    #[arg(long, value_name = "RUNS", help_heading = "Stopping")]
    keep: Option<u64>,

    /// In which order runs are taken; tpe and gp learn from the configurations and what became of them, and take the nearest recorded
    /// one to each proposal.
    #[arg(long, value_delimiter = ',', value_enum, default_value = "random", help_heading = "Scheduling")]
    pub(super) sampler: Vec<RecordedSamplerName>,
    /// Who is trained next, and how far.
    #[arg(long, value_enum, default_value_t, help_heading = "Scheduling")]
    pub(super) scheduler: SchedulerName,
    /// η: of how many runs one goes on.
    #[arg(long, default_value_t = 3, help_heading = "Scheduling")]
    pub(super) eta: u64,
    /// The most rungs of asha below the end, the last ones (default: as many as η allows).
    #[arg(long, value_name = "N", help_heading = "Scheduling", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) rungs: Option<u32>,
    /// By what runs are compared at a rung, with the policy none: forecasts of their end are made by the first --predictor once five
    /// runs are trained to it.
    #[arg(long, value_enum, default_value_t, help_heading = "Scheduling")]
    pub(super) rank: RankName,
    /// R: the most resource a run gets, in points of the curves (default: whole runs).
    #[arg(long, help_heading = "Scheduling")]
    pub(super) max_resource: Option<u64>,
    /// κ of f-Hyperband, in (0, 1]: less is bolder.
    #[arg(long, value_delimiter = ',', default_value = "1", help_heading = "Scheduling")]
    pub(super) kappa: Vec<f64>,
    /// Of which runs κ is a share: those that go on, or all in the rung.
    #[arg(long, value_enum, default_value_t, value_name = "WHICH", help_heading = "Scheduling")]
    kappa_of: KappaOfName,
    /// Whom f-Hyperband compares a run with: its rung so far, or all results seen at its level.
    #[arg(long, value_delimiter = ',', value_enum, default_value = "rung", help_heading = "Scheduling")]
    reference: Vec<ReferenceName>,
    /// Hyperband runs in a row.
    #[arg(long, default_value_t = 40, help_heading = "Scheduling")]
    pub(super) runs: u64,
    /// Train promoted runs anew at each rung instead of going on from where they were.
    #[arg(long, help_heading = "Scheduling")]
    pub(super) retrain: bool,
    /// Hold this many recorded runs back and hand them in as an earlier search's: a warm start.
    #[arg(long, default_value_t = 0, value_name = "RUNS", help_heading = "Scheduling")]
    pub(super) warm_start: usize,
    /// Draw so many of the runs for each order: what a study of that size would have saved (default: all).
    #[arg(long, value_name = "RUNS", value_parser = study_size, help_heading = "Scheduling")]
    pub(super) study_size: Option<usize>,
    /// Virtual workers.
    #[arg(long, default_value_t = 1, help_heading = "Scheduling")]
    pub(super) workers: usize,

    /// Random orders of the runs to average over.
    #[arg(long, default_value_t = 10)]
    pub(super) orderings: usize,
    /// Points put between each two recorded ones, straight-line: 5 gives five checks an epoch.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) finer: u32,
    /// The seed of orders, draws and predictors.
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// Draws of the predictors' random searches (default: 1000 for ν-SVR).
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) draws: Option<u32>,
    /// The form of the result.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    /// Write each order with its curves into this file, a JSON line each: {"curves","ordering","points","scores"}, scores with
    /// larger ones better; for other tools to stop the same runs in the same orders.
    #[arg(long, value_name = "FILE")]
    pub(super) write_orders: Option<PathBuf>,
    /// Draw the result into this file (.svg or .png).
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
    /// What to draw (default: speedup; with Hyperband iterations). With --format json, best-so-far also goes into the rows, and needs no
    /// --plot.
    #[arg(long, value_enum)]
    figure: Option<FigureKind>,
    #[command(flatten)]
    pub(super) reading: CurveFlags,
}

/// A study's size: two runs at least.
fn study_size(text: &str) -> Result<usize, String> {
    let size = text.parse().map_err(|_| "no whole number".to_owned())?;
    if size < 2 { Err("a study of fewer than 2 runs stops nothing".to_owned()) } else { Ok(size) }
}

/// The burn-in of a pass over all runs at most: the paper's.
const PAPER_BURN_IN: usize = 100;

impl Arguments {
    /// Checks what can be checked before a file is read, so that the message names the flag.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let flag = |name: &str, error: &dyn std::fmt::Display| Failure::input(format!("{name}: {error}"));
        if self.figure == Some(FigureKind::Iterations) && !self.scheduler.is_hyperband() {
            let scheduler = self.scheduler.name();
            let text = format!(
                "`iterations` are those of Hyperband, and the scheduler is {scheduler}; give --scheduler hyperband or f-hyperband, or another figure"
            );
            return Err(flag("--figure", &text));
        }
        if self.figure.is_some() && self.plot.is_none() && !self.writes_best_so_far() {
            return Err(flag(
                "--figure",
                &"there is no file to draw into; give --plot FILE, or best-so-far with --format json",
            ));
        }
        for stop_probability in self.stop_probabilities() {
            let criterion = StopCriterion { stop_probability, ..StopCriterion::default() };
            criterion.validate().map_err(|error| flag("--stop-probability", &error))?;
        }
        for &kappa in &self.kappa {
            let kappa = Kappa { kappa, of: KappaOf::Next };
            kappa.validate().map_err(|error| flag("--kappa", &error))?;
        }
        for &offset in &self.offset {
            let criterion = StopCriterion { offset, ..StopCriterion::default() };
            criterion.validate().map_err(|error| flag("--offset", &error))?;
        }
        let at_least_1 = [
            ("--first-check", self.first_check == 0),
            ("--check-every", self.check_every == 0),
            ("--orderings", self.orderings == 0),
            ("--workers", self.workers == 0),
            ("--patience", self.patience == 0),
        ];
        if let Some((name, _)) = at_least_1.iter().find(|(_, zero)| *zero) {
            return Err(flag(name, &"it is 0, and must be at least 1"));
        }
        if self.agreeing_checks.contains(&0) {
            return Err(flag("--agreeing-checks", &"0 checks cannot agree; it must be at least 1"));
        }
        Ok(())
    }

    /// Whether the best so far goes into the JSON rows.
    pub(super) fn writes_best_so_far(&self) -> bool {
        self.figure == Some(FigureKind::BestSoFar) && matches!(self.format, Format::Json)
    }

    /// The policies to compare.
    pub(super) fn policies(&self) -> Vec<PolicyName> {
        let chosen = match self.scheduler {
            _ if !self.policy.is_empty() => self.policy.as_slice(),
            SchedulerName::Full => {
                use PolicyName::{IEpoch, LastValue, Median, None, Oracle, Srm};
                &[None, Srm, LastValue, Median, IEpoch, Oracle]
            }
            SchedulerName::Hyperband => &[PolicyName::None],
            _ if self.rank != RankName::Value => &[PolicyName::None],
            _ => &[PolicyName::None, PolicyName::Srm, PolicyName::Oracle],
        };
        chosen.to_vec()
    }

    /// The settings of `foretell search --caution` to compare with: all where forecasts stop runs that train to their end.
    pub(super) fn cautions(&self) -> impl Iterator<Item = Caution> + use<> {
        let stops = self.scheduler == SchedulerName::Full && self.policies().contains(&PolicyName::Srm);
        Caution::ALL.into_iter().filter(move |_| stops)
    }

    /// The values of Δ.
    pub(super) fn stop_probabilities(&self) -> Vec<f64> {
        match self.scheduler {
            _ if !self.stop_probability.is_empty() => self.stop_probability.clone(),
            SchedulerName::Full => vec![0.9, 0.95, 0.99],
            _ => vec![0.9],
        }
    }

    /// The numbers of checks that must agree. `baseline`: for a policy that only stands beside.
    pub(super) fn agreeing(&self, baseline: bool) -> Vec<usize> {
        match self.scheduler {
            _ if !self.agreeing_checks.is_empty() => self.agreeing_checks.clone(),
            SchedulerName::Full if !baseline => vec![1, 2],
            _ => vec![1],
        }
    }

    /// The burn-ins for a set of `runs` runs.
    pub(super) fn burn_ins(&self, runs: usize) -> Vec<usize> {
        if !self.burn_in.is_empty() {
            self.burn_in.clone()
        } else if self.scheduler.is_hyperband() {
            vec![PAPER_BURN_IN]
        } else {
            vec![runs.div_ceil(3).min(PAPER_BURN_IN)]
        }
    }

    /// For what Δ is promised. `baseline`: for a policy that only stands beside.
    pub(super) fn budgets(&self, baseline: bool) -> Vec<ErrorBudget> {
        match self.scheduler {
            _ if !self.error_budget.is_empty() => self.error_budget.iter().map(|&name| name.into()).collect(),
            SchedulerName::Full if !baseline => vec![ErrorBudget::PerCheck, ErrorBudget::PerRun],
            _ => vec![ErrorBudget::PerCheck],
        }
    }

    /// Policy i-epoch: how many of `runs` runs go on.
    pub(super) fn kept(&self, runs: usize) -> u64 {
        self.keep.unwrap_or(10.min(runs as u64))
    }

    /// Policy i-epoch: points that every run gets, of `points`.
    pub(super) fn first_points(&self, points: usize) -> u64 {
        self.i_epochs.unwrap_or(points.div_ceil(20) as u64)
    }

    /// Each reference with each κ.
    pub(super) fn references(&self) -> Vec<(Reference, Kappa)> {
        let of = self.kappa_of.into();
        let references = self.reference.iter().map(|&name| name.into());
        let pairs = references.flat_map(|reference| self.kappa.iter().map(move |&kappa| (reference, kappa)));
        pairs.map(|(reference, kappa)| (reference, Kappa { kappa, of })).collect()
    }

    /// What to draw.
    pub(super) fn figure(&self) -> FigureKind {
        self.figure.unwrap_or(if self.scheduler.is_hyperband() {
            FigureKind::Iterations
        } else {
            FigureKind::Speedup
        })
    }
}

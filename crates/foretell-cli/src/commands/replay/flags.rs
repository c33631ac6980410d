//! The flags of `foretell replay`.

use super::policy_name::PolicyName;
use crate::curves::{CurveFlags, DEFAULT_PREDICTOR};
use crate::failure::Failure;
use crate::output::Format;
use crate::request_flags::ComparedFlags;
use crate::scheduling::RecordedSamplerName;
use clap::ValueEnum;
use foretell::{ErrorBudget, StopCriterion};
use foretell_search::{
    Caution, DEFAULT_ETA, DEFAULT_KAPPA, DEFAULT_PATIENCE, Kappa, KappaOf, Rank, Reference, Refit,
    SchedulerName,
};
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
    /// Recorded curves: wide or long CSV, Parquet, JSON lines, plain or gzip; or the logs of a tool (TensorBoard, W&B, MLflow, Optuna,
    /// Ray Tune, Lightning, Keras, transformers): a file, or a folder of them.
    #[arg(required = true, value_name = "CURVES")]
    pub(super) curves: Vec<PathBuf>,

    /// Policies to compare: none, srm (forecasts by --predictor), last-value, lce and lce-optimistic (Domhan et al.'s
    /// criterion, from the second run on, milliseconds a check), median, patience, oracle, i-epoch (default: all but lce and patience; with
    /// Hyperband none, srm, oracle).
    #[arg(long, value_delimiter = ',', value_enum, help_heading = "Stopping")]
    policy: Vec<PolicyName>,
    #[command(flatten)]
    pub(super) asked: ComparedFlags,
    /// Points before the first check.
    #[arg(long, default_value_t = 1, help_heading = "Stopping")]
    pub(super) first_check: u64,
    /// Points between checks.
    #[arg(long, default_value_t = 1, help_heading = "Stopping")]
    pub(super) check_every: u64,
    /// Policy i-epoch: number of points that every run is trained for (default: 5 % of them).
    #[arg(long, value_name = "POINTS", help_heading = "Stopping")]
    i_epochs: Option<u64>,
    /// Policy i-epoch: number of runs that continue to the end (default: 10, or all).
    #[arg(long, value_name = "RUNS", help_heading = "Stopping")]
    keep: Option<u64>,

    /// Order in which runs are taken; samplers that learn take the recorded configuration nearest to each proposal.
    #[arg(long, value_delimiter = ',', value_enum, default_value = "random", help_heading = "Scheduling")]
    pub(super) sampler: Vec<RecordedSamplerName>,
    /// R: the most that a run is trained, in points of the curves (default: whole runs).
    #[arg(long, help_heading = "Scheduling")]
    pub(super) max_resource: Option<u64>,
    /// Number of times to run Hyperband in a row.
    #[arg(long, default_value_t = 40, help_heading = "Scheduling")]
    pub(super) runs: u64,
    /// Charge promoted runs as if each rung trained them from the beginning.
    #[arg(long, help_heading = "Scheduling")]
    pub(super) retrain: bool,
    /// Number of recorded runs to hold back and learn from, as from an earlier search.
    #[arg(long, default_value_t = 0, value_name = "RUNS", help_heading = "Scheduling")]
    pub(super) warm_start: usize,
    /// Number of runs to draw for each order, to show what a study of that size would have saved (default: all).
    #[arg(long, value_name = "RUNS", value_parser = study_size, help_heading = "Scheduling")]
    pub(super) study_size: Option<usize>,
    /// Number of virtual workers.
    #[arg(long, default_value_t = 1, help_heading = "Scheduling")]
    pub(super) workers: usize,

    /// Objective, such as `weights:min` or `width^2*depth:min`: a value of the runs' configurations or a formula over these; besides the
    /// metric; may be repeated. The replay then shows how much of the front is kept.
    #[arg(long, value_name = "NAME[:min|:max]")]
    pub(super) objective: Vec<String>,

    /// Number of random orders of the runs to average over.
    #[arg(long, default_value_t = 10)]
    pub(super) orderings: usize,
    /// Number of checks per recorded point: 5 interpolates four points between each two recorded ones.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) finer: u32,
    /// Seed of orders, draws and predictors.
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
    /// Write a report into this file: one page (.html) with the answer, the pictures and the table. A folder of logs alone gets one,
    /// savings.html, and savings.svg.
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
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
/// Runs that a forecast learns from at least.
pub(super) const LEAST_LEARNT: usize = 3;

impl Arguments {
    /// Whether a folder of logs is replayed and nothing is said of files: it gets a picture and a report.
    pub(super) fn draws_folder(&self) -> bool {
        let folder = matches!(&self.curves[..], [path] if path.is_dir());
        let unsaid = self.plot.is_none() && self.report.is_none() && self.write_orders.is_none();
        folder && unsaid && self.format == Format::Table && self.scheduler() == SchedulerName::Full
    }

    /// Checks what can be checked before a file is read, so that the message names the flag.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let flag = |name: &str, error: &dyn std::fmt::Display| Failure::input(format!("{name}: {error}"));
        if self.figure == Some(FigureKind::Iterations) && !self.scheduler().is_hyperband() {
            let scheduler = self.scheduler().name();
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
        for kappa in self.kappas() {
            let kappa = Kappa { kappa, of: KappaOf::Next };
            kappa.validate().map_err(|error| flag("--kappa", &error))?;
        }
        for offset in self.offsets() {
            let criterion = StopCriterion { offset, ..StopCriterion::default() };
            criterion.validate().map_err(|error| flag("--offset", &error))?;
        }
        let at_least_1 = [
            ("--first-check", self.first_check == 0),
            ("--check-every", self.check_every == 0),
            ("--orderings", self.orderings == 0),
            ("--workers", self.workers == 0),
            ("--patience", self.patience() == 0),
        ];
        if let Some((name, _)) = at_least_1.iter().find(|(_, zero)| *zero) {
            return Err(flag(name, &"it is 0, and must be at least 1"));
        }
        if self.agreeing(false).contains(&0) {
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
        let chosen = match self.scheduler() {
            _ if !self.policy.is_empty() => self.policy.as_slice(),
            SchedulerName::Full if !self.objective.is_empty() => {
                &[PolicyName::None, PolicyName::Srm, PolicyName::Asha, PolicyName::Oracle]
            }
            SchedulerName::Full => {
                use PolicyName::{IEpoch, LastValue, Median, None, Oracle, Srm};
                &[None, Srm, LastValue, Median, IEpoch, Oracle]
            }
            SchedulerName::Hyperband => &[PolicyName::None],
            _ if !self.objective.is_empty() => &[PolicyName::None],
            _ if self.rank() != Rank::Value => &[PolicyName::None],
            _ => &[PolicyName::None, PolicyName::Srm, PolicyName::Oracle],
        };
        chosen.to_vec()
    }

    /// The settings of `foretell search --caution` to compare with: those that are named, or all, where forecasts stop runs that
    /// train to their end.
    pub(super) fn cautions(&self) -> Vec<Caution> {
        let stops = self.scheduler() == SchedulerName::Full && self.policies().contains(&PolicyName::Srm);
        let named = self.asked.all("caution").unwrap_or_else(|| Caution::ALL.to_vec());
        if stops { named } else { Vec::new() }
    }

    /// The predictors of policy srm.
    pub(super) fn predictors(&self) -> Vec<String> {
        self.asked.all("predictor").unwrap_or_else(|| vec![DEFAULT_PREDICTOR.to_owned()])
    }

    /// The values of δ.
    pub(super) fn offsets(&self) -> Vec<f64> {
        self.asked.all("offset").unwrap_or_else(|| vec![0.0])
    }

    /// The incumbents: the n-th best.
    pub(super) fn nth_bests(&self) -> Vec<usize> {
        self.asked.all("nth_best").unwrap_or_else(|| vec![1])
    }

    /// When models are learnt again; `None` if no flag says so.
    pub(super) fn refit(&self) -> Option<Refit> {
        self.asked.one("refit")
    }

    /// The share of runs that is never stopped.
    pub(super) fn exempt(&self) -> f64 {
        self.asked.one("exempt").unwrap_or(0.0)
    }

    /// Policy patience: points without a new best.
    pub(super) fn patience(&self) -> usize {
        self.asked.one("patience").unwrap_or(DEFAULT_PATIENCE)
    }

    /// Who is trained next, and how far.
    pub(super) fn scheduler(&self) -> SchedulerName {
        self.asked.one("scheduler").unwrap_or_default()
    }

    /// η.
    pub(super) fn eta(&self) -> u64 {
        self.asked.one("eta").unwrap_or(DEFAULT_ETA)
    }

    /// The most rungs of asha below the end.
    pub(super) fn rungs(&self) -> Option<u32> {
        self.asked.one("rungs")
    }

    /// By what runs are compared at a rung.
    pub(super) fn rank(&self) -> Rank {
        self.asked.one("rank").unwrap_or_default()
    }

    /// The values of κ.
    fn kappas(&self) -> Vec<f64> {
        self.asked.all("kappa").unwrap_or_else(|| vec![DEFAULT_KAPPA])
    }

    /// The values of Δ.
    pub(super) fn stop_probabilities(&self) -> Vec<f64> {
        self.asked.all("stop_probability").unwrap_or_else(|| match self.scheduler() {
            SchedulerName::Full => vec![0.9, 0.95, 0.99],
            _ => vec![0.9],
        })
    }

    /// The numbers of checks that must agree. `baseline`: for a policy that only stands beside.
    pub(super) fn agreeing(&self, baseline: bool) -> Vec<usize> {
        self.asked.all("agreeing_checks").unwrap_or_else(|| match self.scheduler() {
            SchedulerName::Full if !baseline => vec![1, 2],
            _ => vec![1],
        })
    }

    /// The burn-ins for a set of `runs` runs.
    pub(super) fn burn_ins(&self, runs: usize) -> Vec<usize> {
        if let Some(burn_ins) = self.asked.all("burn_in") {
            burn_ins
        } else if self.scheduler().is_hyperband() {
            vec![PAPER_BURN_IN]
        } else {
            // forecasts learn from three runs at least, as in `foretell search`
            vec![runs.div_ceil(3).max(LEAST_LEARNT.min(runs.saturating_sub(1))).min(PAPER_BURN_IN)]
        }
    }

    /// For what Δ is promised. `baseline`: for a policy that only stands beside.
    pub(super) fn budgets(&self, baseline: bool) -> Vec<ErrorBudget> {
        self.asked.all("error_budget").unwrap_or_else(|| match self.scheduler() {
            SchedulerName::Full if !baseline => vec![ErrorBudget::PerCheck, ErrorBudget::PerRun],
            _ => vec![ErrorBudget::PerCheck],
        })
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
        let of = self.asked.one("kappa_of").unwrap_or_default();
        let references = self.asked.all("reference").unwrap_or_else(|| vec![Reference::Level]);
        let kappas = self.kappas();
        let pairs =
            references.into_iter().flat_map(|reference| kappas.iter().map(move |&kappa| (reference, kappa)));
        pairs.map(|(reference, kappa)| (reference, Kappa { kappa, of })).collect()
    }

    /// What to draw.
    pub(super) fn figure(&self) -> FigureKind {
        self.figure.unwrap_or(if self.scheduler().is_hyperband() {
            FigureKind::Iterations
        } else {
            FigureKind::Speedup
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};

    /// What `words` make, and the help of these flags.
    fn parsed(words: &[&str]) -> (Arguments, Command) {
        let command = Arguments::augment_args(Command::new("replay"));
        let words = ["replay", "curves.csv"].iter().chain(words);
        let matches = command.clone().get_matches_from(words);
        (Arguments::from_arg_matches(&matches).expect("valid flags"), command)
    }

    /// Values as one text, as flags take them.
    fn joined<T: serde::Serialize>(values: &[T]) -> String {
        let text = |value| match serde_json::to_value(value) {
            Ok(serde_json::Value::String(text)) => text,
            other => other.expect("JSON").to_string(),
        };
        values.iter().map(text).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn the_help_says_the_defaults_that_a_replay_has() {
        let ((full, command), (rungs, _)) = (parsed(&[]), parsed(&["--scheduler", "asha"]));
        let documented = [
            ("stop_probability", joined(&full.stop_probabilities()), joined(&rungs.stop_probabilities())),
            ("agreeing_checks", joined(&full.agreeing(false)), joined(&rungs.agreeing(false))),
            ("error_budget", joined(&full.budgets(false)), joined(&rungs.budgets(false))),
            ("predictor", joined(&full.predictors()), joined(&rungs.predictors())),
            ("offset", full.offsets()[0].to_string(), rungs.offsets()[0].to_string()),
            ("nth_best", joined(&full.nth_bests()), joined(&rungs.nth_bests())),
            ("exempt", full.exempt().to_string(), rungs.exempt().to_string()),
            ("patience", full.patience().to_string(), rungs.patience().to_string()),
            ("eta", full.eta().to_string(), rungs.eta().to_string()),
            ("rank", joined(&[full.rank()]), joined(&[rungs.rank()])),
            ("kappa", joined(&full.kappas()), joined(&rungs.kappas())),
            ("kappa_of", joined(&[full.references()[0].1.of]), joined(&[rungs.references()[0].1.of])),
            ("reference", joined(&[full.references()[0].0]), joined(&[rungs.references()[0].0])),
            ("scheduler", full.scheduler().name().to_owned(), full.scheduler().name().to_owned()),
        ];
        for (name, usual, with_rungs) in documented {
            let arg = command.get_arguments().find(|arg| arg.get_id() == name).expect("a flag");
            let help = arg.get_help().expect("help").to_string();
            let default =
                if usual == with_rungs { usual } else { format!("{usual}; with rungs {with_rungs}") };
            assert!(help.ends_with(&format!("(default: {default})")), "{name}: {default} in {help:?}");
        }
    }
}

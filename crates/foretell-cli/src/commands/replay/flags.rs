//! The flags of `foretell replay`.

use super::way::StoppingWay;
use crate::catalogue::catalogue;
use crate::curves::CurveFlags;
use crate::failure::Failure;
use crate::output::OutputFormat;
use crate::plot::FigureSize;
use crate::request_flags::ComparedFlags;
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser};
use foretell::StopCriterion;
use foretell_search::limits;
use foretell_search::{
    AshaRule, Caution, ForecastRule, MedianRule, NamedRule, NamedSampler, NoStopping, OracleRule,
    RandomSampling, Rank, ReplaySetting, RunTable, SchedulerName,
};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// The figures of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FigureKind {
    /// Speed-up by Δ, one line per variant.
    Speedup,
    /// Best so far by epochs spent, per stop rule; with --format json, its values are added to the rows, and --plot is optional.
    BestSoFar,
    /// Your runs: completed, stopped, stopped wrongly.
    Fates,
    /// Speed-up by iteration of Hyperband.
    Iterations,
}

/// The arguments of `foretell replay`. Without flags: what would early stopping have saved, and would it have kept the
/// best run?
#[derive(clap::Args)]
pub(crate) struct ReplayArguments {
    /// Recorded curves or logs: a file or a folder. CSV, Parquet and JSON lines can be wide or long, plain or gzip; the logs can be those
    /// of TensorBoard, W&B, MLflow, Optuna, Ray Tune, Lightning, Keras and transformers. A study file before them is replayed with its
    /// stopping.
    #[arg(required = true, value_name = "CURVES")]
    curves: Vec<PathBuf>,

    /// Compare every value of the flags that matter to each stop rule, instead of the settings of a search and the usual peers.
    #[arg(long, hide_short_help = true, help_heading = "Stopping")]
    all: bool,
    /// Stop rules to compare, each with every value of the flags that matter to it.
    #[arg(long, value_delimiter = ',', value_parser = StoppingWay::parser(), help_heading = "Stopping")]
    policy: Vec<String>,
    #[command(flatten)]
    pub(super) asked: ComparedFlags,
    /// Check no run before this many points.
    #[arg(long, hide_short_help = true, default_value_t = 1, help_heading = "Stopping")]
    pub(super) first_check: u64,
    /// Check each run every this many points.
    #[arg(long, hide_short_help = true, default_value_t = 1, help_heading = "Stopping")]
    pub(super) check_every: u64,
    /// Points of each run before all but the best are stopped (policy i-epoch; default: 5 % of them).
    #[arg(long, hide_short_help = true, value_name = "POINTS", help_heading = "Stopping")]
    i_epochs: Option<u64>,
    /// Number of runs that then continue (policy i-epoch; default: 10, or all).
    #[arg(long, hide_short_help = true, value_name = "RUNS", help_heading = "Stopping")]
    keep: Option<u64>,

    /// How to order the runs. Samplers that learn take the recorded configuration nearest to each proposal (default: the sampler of a search
    /// if at least 60 runs record different configurations, otherwise random).
    #[arg(long, value_delimiter = ',', value_parser = samplers(), help_heading = "Scheduling")]
    sampler: Vec<String>,
    /// Cut runs at this many points of their curves: R in formulas (default: whole runs).
    #[arg(long, hide_short_help = true, help_heading = "Scheduling")]
    pub(super) max_resource: Option<u64>,
    /// Repeat all brackets of Hyperband this many times.
    #[arg(long, hide_short_help = true, default_value_t = 40, help_heading = "Scheduling")]
    pub(super) runs: u64,
    /// Count promoted runs as if each rung started from scratch.
    #[arg(long, hide_short_help = true, help_heading = "Scheduling")]
    pub(super) retrain: bool,
    /// Learn from this many runs first, as from an earlier search.
    #[arg(
        long,
        hide_short_help = true,
        default_value_t = 0,
        value_name = "RUNS",
        help_heading = "Scheduling"
    )]
    pub(super) warm_start: usize,
    /// Learn from this many earlier searches of that size. They are replayed first, one after another, with the same stop rule, and their
    /// curves count as far as they were trained.
    #[arg(
        long,
        hide_short_help = true,
        default_value_t = 0,
        value_name = "SEARCHES",
        conflicts_with = "warm_start",
        help_heading = "Scheduling"
    )]
    pub(super) earlier_searches: usize,
    /// Curves from which the earlier searches take their runs (default: the same).
    #[arg(
        long,
        hide_short_help = true,
        value_name = "CURVES",
        requires = "earlier_searches",
        help_heading = "Scheduling"
    )]
    pub(super) earlier_from: Option<PathBuf>,
    /// Metric of these curves, if they have several or name it otherwise (default: as --metric).
    #[arg(
        long,
        hide_short_help = true,
        value_name = "NAME",
        requires = "earlier_from",
        help_heading = "Scheduling"
    )]
    pub(super) earlier_metric: Option<String>,
    /// Use this many runs per order, as in a study of that size (default: all; 40 with a sampler that learns).
    #[arg(long, value_name = "RUNS", value_parser = study_size, help_heading = "Scheduling")]
    study_size: Option<usize>,
    /// Simulate this many trials running in parallel.
    #[arg(long, default_value_t = 1, help_heading = "Scheduling")]
    pub(super) workers: usize,

    /// Add an objective, such as `weights:min` or `width^2*depth:min`: a value of the runs' configurations, or a formula of these. The
    /// report then shows how much of the front is kept. Can be repeated.
    #[arg(long, hide_short_help = true, value_name = "NAME[:min|:max]")]
    pub(super) objective: Vec<String>,

    /// Average over this many random orders of the runs.
    #[arg(long, default_value_t = 10)]
    pub(super) orderings: usize,
    /// Check this often per recorded point; 5, for example, interpolates four points between two recorded ones.
    #[arg(long, hide_short_help = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) finer: u32,
    /// Seed for orders, samples and predictors.
    #[arg(long, hide_short_help = true, default_value_t = 0)]
    pub(super) seed: u64,
    /// Samples per random search of a predictor (default: 1000 for ν-SVR).
    #[arg(long, hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..=limits::MAX_SAMPLES as i64))]
    pub(super) draws: Option<u32>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: OutputFormat,
    /// Write the orders to this file, for other tools. Each line is a JSON object {"curves","ordering","points","scores"}, where larger
    /// scores are better.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(super) write_orders: Option<PathBuf>,
    /// Plot the result to this file (.svg or .png).
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
    /// Size of the plot in a paper, such as 3.3x2.5in (also cm, mm or px). Text is then 8 points high, and the title is left out.
    #[arg(long, hide_short_help = true, value_name = "SIZE")]
    pub(super) plot_size: Option<FigureSize>,
    /// Write a page with the answer, the plots and the table to this file (.html). A folder of logs gets savings.html and savings.svg by
    /// default.
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// Which figure to plot (default: speedup; with Hyperband iterations).
    #[arg(long, hide_short_help = true, value_enum)]
    figure: Option<FigureKind>,
    #[command(flatten)]
    pub(super) reading: CurveFlags,
}

/// The parser of a sampler's name.
fn samplers() -> PossibleValuesParser {
    let value = |(name, about): (&'static str, &'static str)| {
        PossibleValue::new(name).help(about.trim_end_matches('.'))
    };
    PossibleValuesParser::new(catalogue().list_samplers().map(value))
}

/// A study's size: two runs at least.
fn study_size(text: &str) -> Result<usize, String> {
    let size = text.parse().map_err(|_| "not a whole number".to_owned())?;
    if size < 2 { Err("a study must contain at least 2 runs".to_owned()) } else { Ok(size) }
}

/// The trials of a study whose sampler learns: as many as a search has by default. All runs of a large set would take minutes.
const SAMPLED_STUDY_SIZE: usize = 40;
/// The burn-in of a pass over all runs at most: the paper's.
const PAPER_BURN_IN: u64 = 100;
/// Runs that a forecast learns from at least.
pub(super) const MIN_LEARNED_RUNS: usize = 3;

impl ReplayArguments {
    /// Whether a folder of logs is replayed and nothing is said of files: it gets a picture and a report.
    pub(super) fn draws_by_default(&self) -> bool {
        let folder = matches!(self.files(), [path] if path.is_dir());
        let unsaid = self.plot.is_none() && self.report.is_none() && self.write_orders.is_none();
        folder && unsaid && self.format == OutputFormat::Table && self.scheduler() == SchedulerName::Full
    }

    /// The study file, if the first word is one.
    pub(super) fn study_file(&self) -> Option<&Path> {
        let is_study = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "toml");
        self.curves.first().filter(is_study).map(PathBuf::as_path)
    }

    /// The files and folders of curves.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.curves[usize::from(self.study_file().is_some())..]
    }

    /// Whether a few settings are compared: those of a search, the usual peers and the bound.
    pub(super) fn is_short(&self) -> bool {
        !self.all && self.policy.is_empty() && self.asked.has_only(&["caution"]) && self.sampler.len() <= 1
    }

    /// Checks the flags before a file is read, so that the message names the flag.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let flag = |name: &str, error: &dyn std::fmt::Display| Failure::input(format!("{name}: {error}"));
        if let Some(study) = self.study_file() {
            let problem = if self.files().is_empty() {
                "there are no curves. Pass recorded curves after the study file"
            } else if !self.is_short() {
                "the study file sets the stopping. Leave out the flags that do, or the study file"
            } else {
                ""
            };
            if !problem.is_empty() {
                return Err(flag(&study.display().to_string(), &problem));
            }
        }
        // made only so that a rule that the catalogue lacks is refused before a file is read
        self.ways()?;
        if self.figure == Some(FigureKind::Iterations) && !self.scheduler().is_hyperband() {
            let scheduler = self.scheduler().name();
            let text = format!(
                "`iterations` needs Hyperband, but the scheduler is {scheduler}. Choose --scheduler hyperband or f-hyperband, or another figure"
            );
            return Err(flag("--figure", &text));
        }
        if self.figure.is_some() && self.plot.is_none() && !self.writes_best_so_far() {
            return Err(flag(
                "--figure",
                &"there is no file for the figure. Add --plot FILE, or choose best-so-far with --format json",
            ));
        }
        for stop_probability in self.values_to_compare("stop_probability") {
            let criterion = StopCriterion { stop_probability, ..StopCriterion::default() };
            criterion.validate().map_err(|error| flag("--stop-probability", &error))?;
        }
        let at_least_1 = [
            ("--first-check", self.first_check == 0),
            ("--check-every", self.check_every == 0),
            ("--orderings", self.orderings == 0),
            ("--workers", self.workers == 0),
            ("--patience", self.chosen::<usize>("patience") == 0),
        ];
        if let Some((name, _)) = at_least_1.iter().find(|(_, zero)| *zero) {
            return Err(flag(name, &"it is 0, but must be at least 1"));
        }
        let at_most = [
            ("--orderings", self.orderings as u64, limits::MAX_ORDERINGS),
            ("--earlier-searches", self.earlier_searches as u64, limits::MAX_ORDERINGS),
            ("--warm-start", self.warm_start as u64, limits::MAX_COUNT),
            ("--workers", self.workers as u64, limits::MAX_WORKERS),
        ];
        if let Some((name, value, most)) = at_most.iter().find(|(_, value, most)| value > most) {
            return Err(flag(name, &format!("{value} is too large. The maximum is {most}")));
        }
        Ok(())
    }

    /// Whether the best so far goes into the JSON rows.
    pub(super) fn writes_best_so_far(&self) -> bool {
        self.figure == Some(FigureKind::BestSoFar) && matches!(self.format, OutputFormat::Json)
    }

    /// The ways of stopping to compare.
    ///
    /// # Errors
    /// The refusal of one that the catalogue lacks.
    pub(super) fn ways(&self) -> Result<Vec<StoppingWay>, Failure> {
        const NO_STOPPING: &str = NoStopping::NAME;
        let names: Vec<&str> = match self.scheduler() {
            _ if !self.policy.is_empty() => self.policy.iter().map(String::as_str).collect(),
            SchedulerName::Full if !self.objective.is_empty() => {
                vec![NO_STOPPING, ForecastRule::NAME, AshaRule::NAME, OracleRule::NAME]
            }
            SchedulerName::Full => {
                vec![
                    NO_STOPPING,
                    ForecastRule::NAME,
                    "last-value",
                    MedianRule::NAME,
                    "i-epoch",
                    OracleRule::NAME,
                ]
            }
            SchedulerName::Hyperband => vec![NO_STOPPING],
            _ if !self.objective.is_empty() || self.chosen::<Rank>("rank") != Rank::Value => {
                vec![NO_STOPPING]
            }
            _ => vec![NO_STOPPING, ForecastRule::NAME, OracleRule::NAME],
        };
        let fields = self.asked.fields();
        let named = |name| {
            StoppingWay::from_name(name, &fields)
                .map_err(|error| Failure::input(format!("--policy: {}", error.reason)))
        };
        names.into_iter().map(named).collect()
    }

    /// The settings of `foretell search --caution` to compare with: those that are named, or all, where forecasts stop runs that
    /// train to their end.
    pub(super) fn cautions(&self) -> Vec<Caution> {
        let is_compared = self.ways().is_ok_and(|ways| ways.iter().any(StoppingWay::is_compared));
        let stops = self.scheduler() == SchedulerName::Full && is_compared;
        let named = self.asked.all("caution").unwrap_or_else(|| Caution::ALL.to_vec());
        if stops { named } else { Vec::new() }
    }

    /// The cautions that were named together with the policy of `way`; `None` unless both were named.
    ///
    /// # Errors
    /// The refusal of a policy that has no caution.
    pub(super) fn cautions_of_policy(&self, way: &StoppingWay) -> Result<Option<Vec<Caution>>, Failure> {
        match self.asked.all("caution").filter(|_| !self.policy.is_empty()) {
            Some(_) if !way.has_caution() => Err(Failure::input(format!(
                "--caution: the policy {} takes no caution. Leave one of them out, or replay them one after the other",
                way.name
            ))),
            named => Ok(named),
        }
    }

    /// The samplers whose orders are replayed: those that are named, or the one of a search of these runs.
    pub(super) fn samplers(&self, table: &RunTable) -> Vec<String> {
        if !self.sampler.is_empty() {
            return self.sampler.clone();
        }
        // warm starts, earlier searches and objectives are compared on the same runs in each order
        let is_plain = self.scheduler() == SchedulerName::Full
            && self.objective.is_empty()
            && self.warm_start == 0
            && self.earlier_searches == 0;
        let usual = if is_plain { table.default_sampler_name() } else { None };
        vec![usual.unwrap_or_else(|| RandomSampling::NAME.to_owned())]
    }

    /// The runs of each order; `None` if all.
    pub(super) fn study_size(&self, table: &RunTable) -> Option<usize> {
        let learns = || self.samplers(table).iter().any(|name| name != RandomSampling::NAME);
        self.study_size.or_else(|| learns().then(|| SAMPLED_STUDY_SIZE.min(table.len())))
    }

    /// The scheduler, which chooses the next run and how far to train it.
    pub(super) fn scheduler(&self) -> SchedulerName {
        self.asked.values("scheduler", false).pop().unwrap_or_default()
    }

    /// The values to compare of the field `name`.
    pub(super) fn values_to_compare<T: DeserializeOwned>(&self, name: &str) -> Vec<T> {
        self.asked.values(name, self.scheduler() != SchedulerName::Full)
    }

    /// The value of a field that is not compared: the last one given.
    pub(super) fn chosen<T: DeserializeOwned>(&self, name: &str) -> T {
        self.values_to_compare(name).pop().expect("a field of a replay has a default")
    }

    /// The values to compare of the field `name` of a rule that stops by forecasts; where its settings are not `compared`, because others
    /// are compared with it, one.
    pub(super) fn rule_values<T: DeserializeOwned>(&self, name: &str, compared: bool) -> Vec<T> {
        self.asked.values(name, !compared || self.scheduler() != SchedulerName::Full)
    }

    /// The replay of the runs of `table` by the flags that are no fields of a study.
    pub(super) fn own(&self, table: &RunTable) -> ReplaySetting {
        let mut study = table.study();
        study.seed = self.seed;
        study.max_resource = self.max_resource.unwrap_or(study.max_resource);
        study.trials = self.study_size(table).map_or(study.trials, |size| size as u64);
        ReplaySetting {
            first_check: self.first_check,
            check_every: self.check_every,
            retrain: self.retrain,
            warm_start: self.warm_start,
            earlier_searches: self.earlier_searches,
            workers: self.workers,
            orderings: self.orderings,
            ..ReplaySetting::new(study, None)
        }
    }

    /// The burn-ins for a set of `runs` runs.
    pub(super) fn burn_ins(&self, runs: u64) -> Vec<u64> {
        if let Some(burn_ins) = self.asked.all("burn_in") {
            burn_ins
        } else if self.scheduler().is_hyperband() {
            vec![PAPER_BURN_IN]
        } else {
            // forecasts learn from three runs at least, as in `foretell search`
            vec![
                runs.div_ceil(3)
                    .max((MIN_LEARNED_RUNS as u64).min(runs.saturating_sub(1)))
                    .min(PAPER_BURN_IN),
            ]
        }
    }

    /// Policy i-epoch: how many of `runs` runs continue.
    pub(super) fn continued_runs(&self, runs: u64) -> u64 {
        self.keep.unwrap_or(10.min(runs))
    }

    /// Policy i-epoch: points that every run gets, of `points`.
    pub(super) fn first_points(&self, points: u64) -> u64 {
        self.i_epochs.unwrap_or(points.div_ceil(20))
    }

    /// The figure to draw.
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
    use crate::curves::DEFAULT_PREDICTOR;
    use clap::{Args, Command, FromArgMatches};
    use foretell::ErrorBudget;
    use foretell_search::{DEFAULT_ETA, DEFAULT_PATIENCE, Reference};

    #[test]
    fn every_default_is_a_value_of_its_field() {
        for scheduler in ["full", "asha"] {
            let words = ["replay", "curves.csv", "--scheduler", scheduler];
            let matches = ReplayArguments::augment_args(Command::new("replay")).get_matches_from(words);
            let arguments = ReplayArguments::from_arg_matches(&matches).expect("valid flags");
            let rungs = scheduler == "asha";
            let expected = if rungs { vec![0.9] } else { vec![0.9, 0.95, 0.99] };
            assert_eq!(arguments.values_to_compare::<f64>("stop_probability"), expected);
            let checks = |compared| arguments.rule_values::<u64>("agreeing_checks", compared);
            assert_eq!(checks(true), if rungs { vec![1] } else { vec![1, 2] });
            assert_eq!(checks(false), [1]);
            let budgets = arguments.rule_values::<ErrorBudget>("error_budget", true);
            assert_eq!(budgets.len(), if rungs { 1 } else { 2 });
            assert_eq!(arguments.values_to_compare::<String>("predictor"), [DEFAULT_PREDICTOR]);
            assert_eq!(arguments.values_to_compare::<f64>("offset"), [0.0]);
            assert_eq!((arguments.chosen::<usize>("nth_best"), arguments.chosen::<f64>("exempt")), (1, 0.0));
            assert_eq!(
                (arguments.chosen("patience"), arguments.chosen("eta")),
                (DEFAULT_PATIENCE, DEFAULT_ETA)
            );
            assert_eq!(arguments.chosen::<Rank>("rank"), Rank::default());
            let pairs = (
                arguments.values_to_compare::<f64>("kappa"),
                arguments.values_to_compare::<Reference>("reference"),
            );
            assert_eq!((pairs.0.len(), pairs.1.len()), (1, 1));
        }
    }
}

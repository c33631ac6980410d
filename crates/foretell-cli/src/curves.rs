//! The flags that say how recorded curves are read, shared by the commands that read them.

use crate::failure::Failure;
use crate::output::note;
use crate::scheduling::ScoreName;
use crate::stored;
use clap::Args;
use foretell::{Columns, Direction, Encoder, FeatureGroup, History, HistoryOptions, Scale, is_share};
use foretell_logs::{ReadOptions, Recorded, Topic};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The predictor that commands use unless told otherwise.
pub(crate) const DEFAULT_PREDICTOR: &str = "auto";

/// How recorded curves are read.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CurveFlags {
    /// The metric: a column of a long file, the prefix of a wide one.
    #[arg(long)]
    pub(crate) metric: Option<String>,
    /// Smaller values of the metric are better (default: by the metric's name).
    #[arg(long, conflicts_with = "maximize")]
    pub(crate) minimize: bool,
    /// Larger values of the metric are better (default: by the metric's name).
    #[arg(long)]
    pub(crate) maximize: bool,
    /// Forecast the logarithm of the metric (default for positive metrics that are minimised).
    #[arg(long, conflicts_with = "linear_scale")]
    pub(crate) log_scale: bool,
    /// Forecast the metric as it is.
    #[arg(long)]
    pub(crate) linear_scale: bool,
    /// What a run counts with, and what is forecast.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) score: ScoreName,
    /// The step to forecast (default: the last one that at least half of the runs reach).
    #[arg(long, value_name = "STEP")]
    pub(crate) target: Option<f64>,
    /// The column that holds the step, in a long file.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) resource: Option<String>,
    /// Columns that are never features.
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) exclude: Vec<String>,
    /// Columns that are features although their names say otherwise.
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) include: Vec<String>,
    /// Columns that describe the architecture (default: by their names).
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) architecture: Vec<String>,
    /// Columns that are hyperparameters (default: by their names).
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) hyperparameters: Vec<String>,
    /// Columns of numbers to take in log10 (default: positive ones that span more than a factor of 20).
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) log_columns: Vec<String>,
    /// Columns of numbers to take as they are.
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) linear_columns: Vec<String>,
    /// The file with one row of configuration a run, for a long file.
    #[arg(long, value_name = "FILE")]
    pub(crate) configurations: Option<PathBuf>,
    /// Empty cells at the end of a run mean that it diverged there: for tables whose writer left `nan` out, as pandas does
    /// (default: they were not measured).
    #[arg(long)]
    pub(crate) empty_is_divergence: bool,
    /// Keep runs that repeat another's curve or configuration (default: only the first of them).
    #[arg(long)]
    pub(crate) keep_repeats: bool,
}

impl CurveFlags {
    fn direction(&self) -> Option<Direction> {
        match (self.minimize, self.maximize) {
            (true, _) => Some(Direction::Minimize),
            (_, true) => Some(Direction::Maximize),
            _ => None,
        }
    }

    /// Reads the curves at `path` and says on standard error what was done with them.
    pub(crate) fn read(&self, path: &Path) -> Result<Recorded, Failure> {
        let options = ReadOptions { deduplicate: !self.keep_repeats, ..self.read_options()? };
        let recorded = read(path, &options)?;
        for said in &recorded.notes {
            // finished runs are whole: if these ends are divergence, forecasts must learn so
            let remedy = if said.topic == Topic::EmptyEnds {
                "; write `nan` where runs diverged, or give --empty-is-divergence if all of these did"
            } else {
                ""
            };
            note(&format!("{}: {said}{remedy}", recorded.name));
        }
        let configurations = recorded.runs.iter().map(|run| &run.configuration);
        let encoder = Encoder::fit(configurations, &recorded.columns);
        if let logarithmic @ [_, ..] = &encoder.logarithmic()[..] {
            note(&format!("{}: taken in log10: {}", recorded.name, logarithmic.join(", ")));
        }
        Ok(recorded)
    }

    /// Reads unfinished runs at `path`, in the metric and direction of the finished ones; every configuration column is
    /// kept, since what never varies among the running may vary among the finished.
    pub(crate) fn read_running(&self, path: &Path, finished: &Recorded) -> Result<Recorded, Failure> {
        let options = ReadOptions {
            metric: Some(self.metric.clone().unwrap_or_else(|| finished.metric.clone())),
            direction: Some(finished.direction),
            keep_all_columns: true,
            deduplicate: false,
            ..self.read_options()?
        };
        read(path, &options)
    }

    fn read_options(&self) -> Result<ReadOptions, Failure> {
        Ok(ReadOptions {
            metric: self.metric.clone(),
            direction: self.direction(),
            step_column: self.resource.clone(),
            configurations: self.configurations.clone(),
            empty_is_divergence: self.empty_is_divergence,
            exclude: self.exclude.clone(),
            include: self.include.clone(),
            columns: Columns {
                groups: declared(
                    ("--architecture", &self.architecture, FeatureGroup::Architecture),
                    ("--hyperparameters", &self.hyperparameters, FeatureGroup::Hyperparameter),
                )?,
                scales: declared(
                    ("--log-columns", &self.log_columns, Scale::Log),
                    ("--linear-columns", &self.linear_columns, Scale::Linear),
                )?,
            },
            ..ReadOptions::default()
        })
    }

    /// How `recorded` is laid on a grid.
    pub(crate) fn history_options(&self, recorded: &Recorded) -> HistoryOptions {
        HistoryOptions {
            direction: recorded.direction,
            scale: match (self.log_scale, self.linear_scale) {
                (true, _) => Some(Scale::Log),
                (_, true) => Some(Scale::Linear),
                _ => None,
            },
            target: self.target,
            columns: recorded.columns.clone(),
            share: is_share(&recorded.metric),
            run_score: self.score.into(),
        }
    }

    /// Lays recorded runs on a grid.
    pub(crate) fn history(&self, recorded: &Recorded) -> Result<History, Failure> {
        let history = History::new(&recorded.runs, &self.history_options(recorded));
        let history = history.map_err(|error| Failure::input(format!("{}: {error}", recorded.name)))?;
        self.say_target(recorded, &history);
        Ok(history)
    }

    /// Says which step is forecast where the longest runs go on after it.
    pub(crate) fn say_target(&self, recorded: &Recorded, history: &History) {
        let ends = || recorded.runs.iter().filter_map(|run| run.curve.last()).map(|(step, _)| step);
        let (target, longest) = (history.grid().last().copied(), ends().fold(f64::NEG_INFINITY, f64::max));
        if let Some(target) = target.filter(|&target| self.target.is_none() && target < longest) {
            note(&format!(
                "{}: forecast at step {target}, the last that half of the runs reach; {} of {} reach {longest}, the end of the longest; --target chooses another",
                recorded.name,
                ends().filter(|&end| end >= longest).count(),
                recorded.runs.len()
            ));
        }
    }
}

/// Reads curves; a study's folder or log is none, but has some.
fn read(path: &Path, options: &ReadOptions) -> Result<Recorded, Failure> {
    let folder = if path.ends_with("events.jsonl") { path.parent().unwrap_or(path) } else { path };
    if stored::log(folder).is_file() {
        return Err(Failure::input(format!(
            "{}: this is a study; write its curves into a file by `foretell study export {} --out curves.jsonl`, and give that",
            path.display(),
            folder.display()
        )));
    }
    foretell_logs::read(path, options).map_err(Failure::input)
}

/// A flag, the columns that it names, and what it says of them.
type Naming<'a, T> = (&'static str, &'a [String], T);

/// What either of two flags says of the columns it names; none can be named by both.
fn declared<T: Copy>(first: Naming<'_, T>, second: Naming<'_, T>) -> Result<BTreeMap<String, T>, Failure> {
    if let Some(column) = first.1.iter().find(|column| second.1.contains(column)) {
        let (one, other) = (first.0, second.0);
        return Err(Failure::input(format!(
            "{one} and {other} both name `{column}`: leave it out of one of them"
        )));
    }
    let says = |naming: Naming<'_, T>| {
        naming.1.iter().map(move |column| (column.clone(), naming.2)).collect::<Vec<_>>()
    };
    Ok(says(first).into_iter().chain(says(second)).collect())
}

//! The flags that say how recorded curves are read, shared by the commands that read them.

use crate::catalogue::catalogue;
use crate::failure::Failure;
use crate::output::{metric_value, note};
use crate::printed_logs::{self, AskedMetric};
use crate::progress::ProgressSteps;
use crate::scheduling::ScoreName;
use clap::{Args, ValueEnum};
use foretell::statistics::quantile_of_sorted;
use foretell::{
    ColumnDeclarations, ConfigurationEncoder, Direction, FeatureGroup, History, HistoryError, HistoryOptions,
    Predictor, PredictorOptions, PredictorPurpose, Run, Scale, UnknownPredictor, direction_of,
};
use foretell_logs::{
    EmptyEnds, FileLimits, ImportManifest, LogFormat, NoteTopic, ReadOptions, ReadProgress, RecordedSet,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The heading of these flags in the help.
const CURVES_HELP_HEADING: &str = "Recorded curves";

/// The default predictor of commands.
pub(crate) const DEFAULT_PREDICTOR: &str = "auto";

/// The predictor `name` for recorded runs, which are looked at in many splits or orders: the extrapolation of a curve is the same
/// in all of them, and computed once.
pub(crate) fn predictor_of_recorded(
    name: &str,
    options: &PredictorOptions,
) -> Result<Arc<dyn Predictor>, UnknownPredictor> {
    let options = PredictorOptions { purpose: PredictorPurpose::Recorded, ..*options };
    catalogue().predictors().make_predictor(name, &options).map(Arc::from)
}

/// The meaning of empty cells at the end of a completed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EmptyEndsName {
    /// The run diverged.
    Diverged,
    /// The values were not measured.
    Unmeasured,
}

impl From<EmptyEndsName> for EmptyEnds {
    fn from(name: EmptyEndsName) -> Self {
        match name {
            EmptyEndsName::Diverged => Self::Diverged,
            EmptyEndsName::Unmeasured => Self::Unmeasured,
        }
    }
}

/// How recorded curves are read.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CurveFlags {
    /// Tool that wrote the logs (default: detected from their content).
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_name = "TOOL", value_parser = tool)]
    pub(crate) log_format: Option<LogFormat>,
    /// Read this metric: a column of a long file, the prefix of columns of a wide file, or a metric in a tool's logs.
    #[arg(long, help_heading = CURVES_HELP_HEADING)]
    pub(crate) metric: Option<String>,
    /// Minimize the metric (default: inferred from its name).
    #[arg(long, help_heading = CURVES_HELP_HEADING, conflicts_with = "maximize")]
    pub(crate) minimize: bool,
    /// Maximize the metric (default: inferred from its name).
    #[arg(long, help_heading = CURVES_HELP_HEADING)]
    pub(crate) maximize: bool,
    /// Forecast the logarithm of the metric, as positive metrics that are minimized are by default.
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, conflicts_with = "linear_scale")]
    pub(crate) log_scale: bool,
    /// Forecast the metric itself instead of its logarithm.
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING)]
    pub(crate) linear_scale: bool,
    /// Score each run by its last or its best value.
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_enum, default_value_t)]
    pub(crate) score: ScoreName,
    /// Forecast the value at this step (default: the last step that at least half of the runs reach).
    #[arg(long, help_heading = CURVES_HELP_HEADING, value_name = "STEP", value_parser = step)]
    pub(crate) target: Option<f64>,
    /// Column with the name of the run (default: detected by its heading).
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// Column with the step in a long file, or `epoch`, `step` or `time` in a tool's logs.
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_name = "COLUMN")]
    pub(crate) resource: Option<String>,
    /// Columns that are not features.
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) exclude: Vec<String>,
    /// Columns that are features, whatever their names.
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) include: Vec<String>,
    /// Columns that describe the architecture (default: detected by their names).
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) architecture: Vec<String>,
    /// Columns with hyperparameters (default: detected by their names).
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) hyperparameters: Vec<String>,
    /// Columns to convert to log10 (default: positive numbers that span more than a factor of 20).
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) log_columns: Vec<String>,
    /// Columns to use as they are, without log10.
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) linear_columns: Vec<String>,
    /// File with the configurations of the runs, for a long file.
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_name = "FILE")]
    pub(crate) configurations: Option<PathBuf>,
    /// Meaning of empty cells at the end of a run (default: diverged for two or more in a long file, or for one in a file of running runs;
    /// otherwise unmeasured).
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_enum, value_name = "MEANING")]
    pub(crate) empty_ends: Option<EmptyEndsName>,
    /// Refuse lines longer than this, in MB (default: 8).
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(crate) largest_line: Option<u64>,
    /// Refuse compressed files that expand to more than this, in MB (default: 64, or 200 times its size).
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(crate) largest_file: Option<u64>,
    /// Keep all runs with equal curves or configurations (default: only the first one of each).
    #[arg(long, hide_short_help = true, help_heading = CURVES_HELP_HEADING)]
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

    /// The metric and direction that the user set.
    pub(crate) fn asked_metric(&self) -> AskedMetric<'_> {
        AskedMetric { metric: self.metric.as_deref(), direction: self.direction() }
    }

    /// Reads the curves at `path` and prints notes on the reading to standard error.
    pub(crate) fn read(&self, path: &Path) -> Result<RecordedSet, Failure> {
        let options = ReadOptions { deduplicate: !self.keep_repeats, ..self.read_options()? };
        let recorded = read(path, &options)
            .map_err(|error| failure_to_read(error, ""))
            .or_else(|failure| read_printed(path, failure, &self.asked_metric(), &options))?;
        self.print_notes(&recorded);
        Ok(recorded)
    }

    /// Reads the logs of tools at `paths` as one set, with every column; of logs read `before`, only those that changed since.
    pub(crate) fn read_logs(
        &self,
        paths: &[PathBuf],
        before: Option<(ImportManifest, &Path)>,
    ) -> Result<(RecordedSet, ImportManifest), Failure> {
        let options = ReadOptions { keep_all_columns: true, ..self.read_options()? };
        let read = with_bar(|watch| foretell_logs::update_logs(paths, &options, before, watch));
        let (recorded, manifest) = read.map_err(|error| failure_to_read(error, ""))?;
        self.say_direction(&recorded);
        // the note on the logs found is the first line of the answer
        recorded
            .notes
            .iter()
            .filter(|said| said.topic != NoteTopic::Found)
            .for_each(|said| note(&format!("{}: {said}", recorded.name)));
        Ok((recorded, manifest))
    }

    /// Whether all `paths` are logs of tools.
    pub(crate) fn are_logs(&self, paths: &[PathBuf]) -> Result<bool, Failure> {
        let options = self.read_options()?;
        for path in paths {
            if !foretell_logs::is_tool_log(path, &options).map_err(|error| failure_to_read(error, ""))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The content of the logs of tools at `paths`.
    pub(crate) fn survey(&self, paths: &[PathBuf]) -> Result<foretell_logs::LogSurvey, Failure> {
        let options = self.read_options()?;
        with_bar(|watch| foretell_logs::survey_logs(paths, &options, watch))
            .map_err(|error| failure_to_read(error, ""))
    }

    /// Prints the notes on the reading.
    fn print_notes(&self, recorded: &RecordedSet) {
        self.say_direction(recorded);
        say_notes(recorded);
        let configurations = recorded.runs.iter().map(|run| &run.configuration);
        let encoder = ConfigurationEncoder::fit(configurations, &recorded.columns);
        if let logarithmic @ [_, ..] = &encoder.log_columns()[..] {
            note(&format!("{}: transformed to log10: {}", recorded.name, logarithmic.join(", ")));
        }
        for (column, values) in encoder.left_out_columns() {
            note(&format!(
                "{}: column `{column}` is left out, because it contains {values} different strings, and the limit is 12",
                recorded.name
            ));
        }
    }

    /// Notes a direction that differs from that of the metric's name.
    fn say_direction(&self, recorded: &RecordedSet) {
        let named = direction_of(&recorded.metric.name);
        if let (Some(asked), Some(named)) = (self.direction().filter(|_| self.direction() != named), named) {
            note(&format!(
                "{}: metric `{}`: {} is better, as requested, although its name suggests that {} is",
                recorded.name,
                recorded.metric.name,
                asked.better_word(),
                named.better_word()
            ));
        }
    }

    /// Reads unfinished runs at `path`, in the metric and direction of the finished ones; every configuration column is
    /// kept, since a column that never varies among the running runs may vary among the finished ones.
    pub(crate) fn read_running(&self, path: &Path, finished: &RecordedSet) -> Result<RecordedSet, Failure> {
        let options = ReadOptions {
            metric: Some(self.metric.clone().unwrap_or_else(|| finished.metric.name.clone())),
            direction: Some(finished.metric.direction),
            keep_all_columns: true,
            // two running runs with equal values so far are still two runs, and each needs a forecast
            deduplicate: false,
            running: true,
            empty_between: finished.empty_between,
            ..self.read_options()?
        };
        let asked = AskedMetric { metric: options.metric.as_deref(), direction: options.direction };
        let other_facts = match self.metric {
            None => format!(". The metric of the completed runs is `{}`", finished.metric.name),
            Some(_) => String::new(),
        };
        let recorded = read(path, &options)
            .map_err(|error| failure_to_read(error, &other_facts))
            .or_else(|failure| read_printed(path, failure, &asked, &options))?;
        say_notes(&recorded);
        Ok(recorded)
    }

    fn read_options(&self) -> Result<ReadOptions, Failure> {
        Ok(ReadOptions {
            format: self.log_format,
            limits: FileLimits {
                line: self.largest_line.map_or(FileLimits::default().line, |megabytes| megabytes << 20),
                file: self.largest_file.map(|megabytes| megabytes << 20),
            },
            metric: self.metric.clone(),
            direction: self.direction(),
            id_column: self.id.clone(),
            step_column: self.resource.clone(),
            configurations: self.configurations.clone(),
            empty_ends: self.empty_ends.map_or(EmptyEnds::default(), EmptyEnds::from),
            exclude: self.exclude.clone(),
            include: self.include.clone(),
            columns: ColumnDeclarations {
                groups: merge_column_values(
                    ("--architecture", &self.architecture, FeatureGroup::Architecture),
                    ("--hyperparameters", &self.hyperparameters, FeatureGroup::Hyperparameter),
                )?,
                scales: merge_column_values(
                    ("--log-columns", &self.log_columns, Scale::Log),
                    ("--linear-columns", &self.linear_columns, Scale::Linear),
                )?,
            },
            ..ReadOptions::default()
        })
    }

    /// How `recorded` is laid on a grid.
    pub(crate) fn history_options(&self, recorded: &RecordedSet) -> HistoryOptions {
        HistoryOptions {
            metric: Some(recorded.metric.clone()),
            scale: match (self.log_scale, self.linear_scale) {
                (true, _) => Some(Scale::Log),
                (_, true) => Some(Scale::Linear),
                _ => None,
            },
            target: self.target.or(recorded.target),
            columns: recorded.columns.clone(),
            run_score: self.score.into(),
            literal: false,
        }
    }

    /// Lays recorded runs, read from `path`, on a grid.
    pub(crate) fn history(&self, recorded: &RecordedSet, path: &Path) -> Result<History, Failure> {
        self.check_scale(recorded, path)?;
        let history = History::new(&recorded.runs, &self.history_options(recorded));
        let history = history.map_err(|error| not_laid(path, error))?;
        self.say_target(recorded, &history);
        Ok(history)
    }

    /// Refuses `--log-scale` for values, read from `path`, that have no logarithm.
    pub(crate) fn check_scale(&self, recorded: &RecordedSet, path: &Path) -> Result<(), Failure> {
        let points = recorded.runs.iter().flat_map(|run| {
            let values = run.curve.scores().iter().map(|&score| recorded.metric.direction.to_value(score));
            run.curve.steps().iter().zip(values).map(|(step, value)| (&run.id, step, value))
        });
        let lost: Vec<_> = points.filter(|(.., value)| self.log_scale && *value <= 0.0).collect();
        lost.first().map_or(Ok(()), |(id, step, value)| {
            Err(Failure::input(format!(
                "{}: --log-scale: run `{id}` reports {value} at step {step}, which has no logarithm ({} such values in total). Remove the flag",
                path.display(),
                lost.len()
            )))
        })
    }

    /// Notes which step is forecast if the longest runs continue after it, and which runs have no value of their own there.
    pub(crate) fn say_target(&self, recorded: &RecordedSet, history: &History) {
        let ends = recorded.runs.iter().filter_map(|run| run.curve.last_point()).map(|(step, _)| step);
        let (target, longest) = (last_step(history), ends.clone().fold(f64::NEG_INFINITY, f64::max));
        if self.target.is_none() && target < longest {
            note(&format!(
                "{}: forecasting step {target}, which {} of {} runs reach; {} reach {longest}, the last step. Choose another step with --target",
                recorded.name,
                ends.clone().filter(|&end| end >= target).count(),
                recorded.runs.len(),
                ends.filter(|&end| end >= longest).count(),
            ));
        }
        if let Some(text) = without_value(&recorded.runs, history) {
            note(&format!("{}: {text}", recorded.name));
        }
        let first = recorded.runs.iter().flat_map(|run| run.curve.steps()).copied().fold(target, f64::min);
        // a grid of recorded steps contains the first one, so without it all values are interpolated
        if history.grid().iter().all(|point| point.total_cmp(&first).is_ne()) {
            let why = match history.thinned_step_count() {
                Some(steps) => format!("there are {steps} different steps, more than 2000"),
                None => "the runs do not share their steps".to_owned(),
            };
            note(&format!(
                "{}: {why}, so values are interpolated onto {} evenly spaced steps up to {target}",
                recorded.name,
                history.grid().len()
            ));
        }
        if let Some(text) = unusual_ends(&recorded.runs, history) {
            note(&format!("{}: {text}", recorded.name));
        }
    }
}

/// The step that is forecast.
pub(crate) fn last_step(history: &History) -> f64 {
    history.grid().last().copied().unwrap_or(0.0)
}

/// The reason why runs read from `path` cannot be laid on a grid, and the flag that fixes it.
pub(crate) fn not_laid(path: &Path, error: HistoryError) -> Failure {
    let file = path.display();
    Failure::input(match error {
        HistoryError::Early { target, first } => format!(
            "{file}: --target {target}: no run reports a value up to step {target}. Use a --target of at least {first}, the earliest step"
        ),
        HistoryError::Target { target, longest } => format!(
            "{file}: --target {target}: no run reaches step {target}. Use a --target of at most {longest}, the last step"
        ),
        HistoryError::Empty => {
            format!("{file}: no run contains a finite value. Choose another column with --metric")
        }
        other => format!("{file}: {other}"),
    })
}

/// How many runs are not learned from because they end too early, or count with a value that was not recorded at the target.
fn without_value(runs: &[Run], history: &History) -> Option<String> {
    let target = last_step(history);
    let (mut short, mut between, mut late) = (0, 0, 0);
    for (at, curve) in runs.iter().map(|run| &run.curve).enumerate().filter(|(_, curve)| !curve.is_empty()) {
        let finished = history.final_score(at).is_some();
        short += usize::from(!finished);
        between += usize::from(
            finished && curve.value_at(target).is_none() && curve.interpolate_at(target).is_some(),
        );
        late += usize::from(curve.steps()[0] > target);
    }
    let parts = [
        (short, format!("end before step {target}, so forecasts do not learn from them")),
        (between, format!("have no value at step {target}, so it is interpolated between two steps")),
        (late, format!("start after step {target}, so their first value is used")),
    ];
    let said = parts.into_iter().filter(|part| part.0 > 0);
    let said: Vec<String> =
        said.map(|(count, what)| format!("{count} of {} runs {what}", runs.len())).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Unusual final scores, if there are any: all alike, beyond the floor, or far from the others.
fn unusual_ends(runs: &[Run], history: &History) -> Option<String> {
    let direction = history.direction();
    let ends = runs.iter().filter_map(|run| history.end_of(&run.curve));
    let scores = ends.map(|end| direction.to_score(history.to_value(end)));
    let mut ends: Vec<f64> = scores.map(|score| history.scale().apply(score, direction)).collect();
    ends.sort_by(f64::total_cmp);
    let (&worst, &best) = ends.first().zip(ends.last())?;

    if best <= worst && ends.len() > 1 {
        return Some(format!(
            "all {} completed runs end at {}, so nothing distinguishes them",
            ends.len(),
            format_score(best, history)
        ));
    }
    let [lower, middle, upper] = [0.25, 0.5, 0.75].map(|p| quantile_of_sorted(&ends, p));
    let reach = 50.0 * (upper - lower);
    let farthest = if best - middle > middle - worst { best } else { worst };
    let beyond = ends.iter().filter(|&&end| end < history.score_floor()).count();
    let mut parts = Vec::new();
    if beyond > 0 {
        let floor = format_score(history.score_floor(), history);
        parts.push(format!(
            "{beyond} of {} completed runs end beyond {floor}, and are treated as lost",
            ends.len()
        ));
    }
    if reach > 0.0 && (farthest - middle).abs() > reach {
        parts.push(format!(
            "a run ends at {}, far from the others (their median is {}). Check this value",
            format_score(farthest, history),
            format_score(middle, history)
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The metric's value of a `score` on the scale of `history`.
fn format_score(score: f64, history: &History) -> String {
    let direction = history.direction();
    metric_value(direction.to_value(history.scale().invert(score, direction)))
}

/// Prints the notes of the reader.
fn say_notes(recorded: &RecordedSet) {
    for said in &recorded.notes {
        let remedy = if said.topic == NoteTopic::EmptyEnds { "; change this with --empty-ends" } else { "" };
        note(&format!("{}: {said}{remedy}", recorded.name));
    }
}

/// The reason why a file gives no curves, and the flag that names a metric; `more` holds other facts about the metric.
fn failure_to_read(error: foretell_logs::Error, more: &str) -> Failure {
    match error {
        error @ foretell_logs::Error::Metric { .. } => Failure::input(format!("{error} with --metric{more}")),
        other => Failure::input(other),
    }
}

/// A tool that writes logs.
pub(crate) fn tool(text: &str) -> Result<LogFormat, String> {
    LogFormat::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = LogFormat::ALL.iter().map(|format| format.name()).collect();
        format!("unknown tool. Use one of {}", names.join(", "))
    })
}

/// A step to forecast.
fn step(text: &str) -> Result<f64, &'static str> {
    let step = text.trim().parse::<f64>().ok().filter(|step| step.is_finite());
    step.ok_or("not a number. Use a step of the curves, such as 20")
}

/// Reads curves, or the logs of a tool; a study is named by its folder or its log.
fn read(path: &Path, options: &ReadOptions) -> Result<RecordedSet, foretell_logs::Error> {
    with_bar(|watch| foretell_logs::read_with_progress(path, options, watch))
}

/// The printed logs at `path`, which could not be read as a file of curves: one run per file. Of a file that is a table by its name, the
/// `failure` stays.
fn read_printed(
    path: &Path,
    failure: Failure,
    asked: &AskedMetric<'_>,
    options: &ReadOptions,
) -> Result<RecordedSet, Failure> {
    const TABLE_EXTENSIONS: [&str; 6] = ["csv", "tsv", "jsonl", "json", "parquet", "gz"];
    // the error of a broken table would otherwise be hidden by an attempt to read its rows as printed output
    let is_table =
        path.extension().is_some_and(|ending| TABLE_EXTENSIONS.iter().any(|table| ending == *table));
    let files = if is_table { Vec::new() } else { printed_logs::below(&[path.to_owned()]) };
    if files.is_empty() || !path.exists() {
        return Err(failure);
    }
    let (runs, metric) = printed_logs::runs(&files, asked)
        .map_err(|as_logs| printed_logs::neither(&failure, "It contains no printed log either", as_logs))?;
    foretell_logs::recorded_from_runs(&runs, &metric, path, options).map_err(Failure::input)
}

/// Draws how far `read` has come.
fn with_bar<T>(read: impl FnOnce(&mut dyn FnMut(ReadProgress)) -> T) -> T {
    let steps = ProgressSteps::new("reading {bar:30} {pos} of {len} logs, {msg} runs", 0);
    read(&mut |progress: ReadProgress| {
        steps.set(progress.read as u64, progress.of as u64, progress.runs.to_string());
    })
}

/// A flag, the columns that it names, and the value that it gives them.
type ColumnNaming<'a, T> = (&'static str, &'a [String], T);

/// The values that two flags give the columns that they name; no column can be named by both.
fn merge_column_values<T: Copy>(
    first: ColumnNaming<'_, T>,
    second: ColumnNaming<'_, T>,
) -> Result<BTreeMap<String, T>, Failure> {
    if let Some(column) = first.1.iter().find(|column| second.1.contains(column)) {
        let (one, other) = (first.0, second.0);
        return Err(Failure::input(format!(
            "{one} and {other} both contain `{column}`. Remove it from one of them"
        )));
    }
    let namings = [first, second].into_iter();
    Ok(namings
        .flat_map(|(_, columns, value)| columns.iter().map(move |column| (column.clone(), value)))
        .collect())
}

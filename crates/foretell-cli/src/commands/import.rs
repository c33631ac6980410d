//! `foretell import`: old tables and logs as one file of curves, which `forecast`, `replay`, `evaluate` and
//! `search --learn-from` read.

use crate::curves::{CurveFlags, tool};
use crate::failure::{CommandResult, Failure};
use crate::output::ask;
use crate::output::{metric_value, note, print, print_json, table};
use crate::printed_logs::{self, AskedMetric};
use foretell::{Direction, Metric, Run};
use foretell_logs::{ImportManifest, LogFormat, LogSurvey, NoteTopic, RecordedSet};
use foretell_run::DraftFile;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// The arguments of `foretell import`.
#[derive(clap::Args)]
pub(crate) struct ImportArguments {
    /// Folders and files to read: logs of TensorBoard, W&B, MLflow, Optuna, Ray Tune, Lightning, Keras, transformers and Foretell; tables
    /// of one run or many runs (wide or long CSV, Parquet, JSON lines, also as `.gz`); and printed output, one file per run. Folders are
    /// searched with their subfolders.
    #[arg(required = true, value_name = "PATH")]
    files: Vec<PathBuf>,
    /// List the tools, runs, metrics, settings and ignored files, without importing them.
    #[arg(long)]
    list: bool,
    /// Tool that wrote the logs, as `--log-format` (default: detected from their content).
    #[arg(long, value_name = "TOOL", value_parser = tool, conflicts_with = "log_format")]
    format: Option<LogFormat>,
    /// Print the list as JSON (with `--list`).
    #[arg(long, requires = "list")]
    json: bool,
    /// Write the curves to this file (JSON lines).
    #[arg(long, value_name = "FILE", default_value = "curves.jsonl")]
    out: PathBuf,
    /// Overwrite an existing file.
    #[arg(long)]
    force: bool,
    /// Read only the logs that changed since the last import, which FILE.sources lists.
    #[arg(long)]
    update: bool,
    #[command(flatten)]
    curves: CurveFlags,
}

impl ImportArguments {
    /// How the files are read.
    fn reading(&self) -> CurveFlags {
        let flags = self.curves.clone();
        CurveFlags { log_format: self.format.or(flags.log_format), ..flags }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &ImportArguments) -> CommandResult {
    if arguments.list {
        return list(arguments);
    }
    let out = &arguments.out;
    if out.exists() && !arguments.force && !arguments.update {
        return Err(Failure::input(format!(
            "{}: the file exists. Choose another one with --out, overwrite it with --force, or read only changed logs with --update",
            out.display()
        )));
    }
    let read = read_files(arguments)?;
    if read.runs().is_empty() {
        return Err(Failure::input("the files contain no runs"));
    }
    write_runs(&read, out).map_err(|error| Failure::midway_at(out, error))?;
    print(&import_summary(&read, out))
}

fn write_runs(read: &ImportedRuns, out: &Path) -> io::Result<()> {
    let mut writer = DraftFile::for_output(out)?;
    match read {
        ImportedRuns::Recorded(recorded, _) => foretell_logs::write_recorded(&mut writer, recorded)?,
        ImportedRuns::Printed(runs, metric) => foretell_logs::write_json_lines(&mut writer, runs, metric)?,
    }
    writer.finish()?;
    // after the curves: if writing them fails, the list of sources must not claim that they were read
    if let ImportedRuns::Recorded(_, Some(manifest)) = read {
        foretell_run::write_output(&sources(out), serde_json::to_string(manifest)?)?;
    }
    Ok(())
}

/// The file that records the logs that the curves in `out` come from.
fn sources(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".sources");
    name.into()
}

/// The record of the same import before, if it is to be updated and there is such a file.
fn before(arguments: &ImportArguments) -> Result<Option<(ImportManifest, &Path)>, Failure> {
    let (out, sources) = (&arguments.out, sources(&arguments.out));
    if !arguments.update || !out.exists() || !sources.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&sources);
    let manifest = text.and_then(|text| Ok(serde_json::from_str(&text)?)).map_err(|error| {
        Failure::input(format!("{}: {error}. Read everything again with --force", sources.display()))
    })?;
    Ok(Some((manifest, out)))
}

/// The result of reading.
enum ImportedRuns {
    /// Curve files or the logs of tools.
    Recorded(Box<RecordedSet>, Option<ImportManifest>),
    /// The output of trainings, or several tables.
    Printed(Vec<Run>, Metric),
}

impl ImportedRuns {
    fn runs(&self) -> &[Run] {
        match self {
            Self::Recorded(recorded, _) => &recorded.runs,
            Self::Printed(runs, _) => runs,
        }
    }

    fn metric(&self) -> &Metric {
        match self {
            Self::Recorded(recorded, _) => &recorded.metric,
            Self::Printed(_, metric) => metric,
        }
    }

    /// The first line: the content of the logs of tools, and the parts left out.
    fn found_line(&self) -> Option<String> {
        let Self::Recorded(recorded, _) = self else { return None };
        let found =
            recorded.notes.iter().find(|note| note.topic == NoteTopic::Found).map(|note| note.text.clone());
        let others = recorded.other_metrics;
        found.or_else(|| {
            (others > 0)
                .then(|| format!("`{}` is 1 of {} metrics in the file", recorded.metric.name, others + 1))
        })
    }
}

fn read_files(arguments: &ImportArguments) -> Result<ImportedRuns, Failure> {
    let mut flags = arguments.reading();
    if flags.are_logs(&arguments.files)? {
        let before = before(arguments)?;
        let asks = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        // an update keeps the metric of the import before, so it must not ask again
        if flags.metric.is_none() && before.is_none() && asks {
            flags.metric = choose_metric(&flags.survey(&arguments.files)?)?;
        }
        let (recorded, manifest) = flags.read_logs(&arguments.files, before)?;
        return Ok(ImportedRuns::Recorded(Box::new(recorded), Some(manifest)));
    }
    let asked = arguments.curves.asked_metric();
    match &arguments.files[..] {
        [file] => match flags.read(file) {
            Ok(recorded) => Ok(ImportedRuns::Recorded(Box::new(recorded), None)),
            Err(failure) => match printed_logs::below(&arguments.files) {
                files if files.is_empty() => Err(failure),
                files => read_printed(&files, &asked).map_err(|of_log| neither(file, &failure, of_log)),
            },
        },
        files if are_all_tables(files)? => read_tables(&flags, files),
        files => read_printed(&printed_logs::below(files), &asked),
    }
}

fn read_printed(files: &[PathBuf], asked: &AskedMetric<'_>) -> Result<ImportedRuns, Failure> {
    printed_logs::runs(files, asked).map(|(runs, metric)| ImportedRuns::Printed(runs, metric))
}

fn are_all_tables(files: &[PathBuf]) -> Result<bool, Failure> {
    for file in files {
        if !foretell_logs::is_table_file(file).map_err(Failure::input)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The runs of several tables of many runs. They must have the same metric.
fn read_tables(flags: &CurveFlags, files: &[PathBuf]) -> Result<ImportedRuns, Failure> {
    let (mut runs, mut first): (Vec<Run>, Option<(Metric, &PathBuf)>) = (Vec::new(), None);
    let mut taken = BTreeSet::new();
    for file in files {
        let recorded = flags.read(file)?;
        let (metric, before) = first.get_or_insert_with(|| (recorded.metric.clone(), file));
        if *metric != recorded.metric {
            return Err(Failure::input(format!(
                "{}: its metric is `{}`, but the metric of {} is `{}`. Choose a common one with --metric",
                file.display(),
                recorded.metric.name,
                before.display(),
                metric.name
            )));
        }
        for mut run in recorded.runs {
            if !taken.insert(run.id.clone()) {
                run.id = format!("{}/{}", recorded.name, run.id);
                // tables of equal names may have runs of equal names
                while !taken.insert(run.id.clone()) {
                    run.id.push('+');
                }
            }
            runs.push(run);
        }
    }
    let metric = first.map_or_else(|| Metric::from(Direction::default()), |(metric, _)| metric);
    Ok(ImportedRuns::Printed(runs, metric))
}

/// Lists the content of the files.
fn list(arguments: &ImportArguments) -> CommandResult {
    let flags = arguments.reading();
    if !flags.are_logs(&arguments.files)? {
        let [file] = &arguments.files[..] else {
            return Err(Failure::input(
                "--list: not all of these are logs of tools. List curve files one at a time",
            ));
        };
        let recorded = ImportedRuns::Recorded(Box::new(flags.read(file)?), None);
        if arguments.json {
            return Err(Failure::input(format!(
                "{}: this is a curve file, but --json lists the logs of tools. Leave --json out",
                file.display()
            )));
        }
        return print(&what(&recorded));
    }
    let survey = flags.survey(&arguments.files)?;
    if arguments.json { print_json(&survey) } else { print(&survey_text(&survey)) }
}

/// The metric that somebody at a terminal chooses from the list; `None` if there is no choice.
fn choose_metric(survey: &LogSurvey) -> Result<Option<String>, Failure> {
    if survey.metrics.len() < 2 {
        return Ok(None);
    }
    note(&survey_text(survey));
    let default = survey.preferred_metric().map_or(String::new(), |metric| metric.name.clone());
    loop {
        let answer = ask("which metric to use", &default)?;
        if survey.metrics.iter().any(|metric| metric.name == answer) {
            return Ok(Some(answer));
        }
        if answer.is_empty() {
            return Err(Failure::input("no metric was chosen. Set one with --metric"));
        }
        note(&format!("there is no metric `{answer}` in the list"));
    }
}

/// At most this many of the runs and files that are left out for one reason are named.
const MAX_NAMED_PER_REASON: usize = 2;

/// The files and runs left out, the first few for each reason.
fn left_out(survey: &LogSurvey) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for left in &survey.left_out {
        by_reason.entry(&left.why).or_default().push(&left.what);
    }
    let said = by_reason.into_iter().map(|(why, what)| {
        let more = what.len().saturating_sub(MAX_NAMED_PER_REASON);
        let named = what.into_iter().take(MAX_NAMED_PER_REASON).collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("left out ({why}): {named}{more}")
    });
    said.collect()
}

/// The content of the logs of tools, as text.
fn survey_text(survey: &LogSurvey) -> String {
    let metrics: Vec<Vec<String>> = survey
        .metrics
        .iter()
        .map(|metric| {
            let range = metric.range.map_or("–".to_owned(), |(low, high)| {
                format!("{} … {}", metric_value(low), metric_value(high))
            });
            let better = metric.direction.map_or("not known", Direction::better_word);
            let lost = if metric.not_finite > 0 { metric.not_finite.to_string() } else { String::new() };
            let cells = [metric.runs.to_string(), metric.values.to_string(), range, better.to_owned(), lost];
            std::iter::once(metric.name.clone()).chain(cells).collect()
        })
        .collect();
    let mut lines = vec![survey.to_string()];
    let settings = if survey.settings.is_empty() { "none".to_owned() } else { survey.settings.join(", ") };
    lines.push(format!("settings: {settings}"));
    lines.push(format!("resource: {}", survey.resource));
    lines.push(String::new());
    lines.push(table(&["metric", "runs", "values", "range", "better", "not finite"], &metrics));
    if let Some(metric) = survey.preferred_metric() {
        lines.push(format!("without --metric: {}", metric.name));
    }
    lines.extend(left_out(survey));
    lines.extend(survey.damaged_files().into_iter().map(|text| format!("damaged: {text}")));
    lines.join("\n")
}

fn neither(file: &Path, as_table: &Failure, as_log: Failure) -> Failure {
    if !file.exists() {
        return Failure::input(as_table.message());
    }
    let either = match file.is_dir() {
        true => "It contains no log of a known tool either",
        false => "It is not the log of one run either",
    };
    printed_logs::neither(as_table, either, as_log)
}

/// The runs read, with the parts left out first.
fn what(read: &ImportedRuns) -> String {
    let (runs, metric) = (read.runs(), read.metric());
    let points: usize = runs.iter().map(|run| run.curve.len()).sum();
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.configuration.keys()).collect();
    let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    let found = read.found_line().map_or(String::new(), |found| format!("{found}\n"));
    format!(
        "{found}{} runs with {points} values of {} ({} is better){}",
        runs.len(),
        metric.name,
        metric.direction.better_word(),
        if names.is_empty() { String::new() } else { format!(" and settings {}", names.join(", ")) },
    )
}

fn import_summary(read: &ImportedRuns, out: &Path) -> String {
    let (what, out) = (what(read), out.display());
    format!(
        "{what} are in {out}\nmeasure the savings of stopping: foretell replay {out}\nlearn from them:                 foretell search --learn-from {out} …\nforecast running ones:           foretell forecast --history {out} RUNNING"
    )
}

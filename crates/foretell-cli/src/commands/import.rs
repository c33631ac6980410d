//! `foretell import`: old tables and logs as one file of curves, which `forecast`, `replay`, `evaluate` and
//! `search --learn-from` read.

use super::init::ask;
use super::search::name_in;
use crate::curves::{CurveFlags, tool};
use crate::failure::{Failure, Outcome};
use crate::output::{metric_value, note, print, print_json, table};
use foretell::{Curve, Direction, Metric, Run, direction_of};
use foretell_logs::printed::{self, MetricSource, ReportProblem, ReportReader, Whole};
use foretell_logs::{Format, Manifest, Recorded, Survey, Topic};
use foretell_run::Draft;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

/// A larger log is not read whole.
const MOST_BYTES: u64 = 1 << 30;
/// The arguments of `foretell import`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folders and files to read. Supported are: logs of TensorBoard, W&B, MLflow, Optuna, Ray Tune, Lightning, Keras, transformers and
    /// Foretell; tables of one run or many runs (wide or long CSV, Parquet, JSON lines, also as `.gz`); and printed output, one file per
    /// run. Folders are searched recursively.
    #[arg(required = true, value_name = "PATH")]
    files: Vec<PathBuf>,
    /// Only list the tools, runs, metrics, settings and ignored files.
    #[arg(long)]
    list: bool,
    /// Tool that wrote the logs, as `--log-format` (default: detected from their content).
    #[arg(long, value_name = "TOOL", value_parser = tool, conflicts_with = "log_format")]
    format: Option<Format>,
    /// Print the list as JSON (with `--list`).
    #[arg(long, requires = "list")]
    json: bool,
    /// Output file of curves (JSON lines).
    #[arg(long, value_name = "FILE", default_value = "curves.jsonl")]
    out: PathBuf,
    /// Overwrite an existing file.
    #[arg(long)]
    force: bool,
    /// Read only the logs that changed since the last import. The list of imported logs is stored in FILE.sources.
    #[arg(long)]
    update: bool,
    #[command(flatten)]
    curves: CurveFlags,
}

impl Arguments {
    /// How the files are read.
    fn reading(&self) -> CurveFlags {
        let flags = self.curves.clone();
        CurveFlags { log_format: self.format.or(flags.log_format), ..flags }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
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
    let read = read_all(arguments)?;
    if read.runs().is_empty() {
        return Err(Failure::input("the files contain no runs"));
    }
    let failed = |error| Failure::midway(format!("{}: {error}", out.display()));
    let mut writer = Draft::of_output(out).map_err(failed)?;
    match &read {
        Imported::Recorded(recorded, _) => foretell_logs::write_recorded(&mut writer, recorded),
        Imported::Printed(runs, metric) => foretell_logs::write_json_lines(&mut writer, runs, metric),
    }
    .map_err(failed)?;
    writer.finish().map_err(failed)?;
    if let Imported::Recorded(_, Some(manifest)) = &read {
        let text = serde_json::to_string(manifest).map_err(Failure::midway)?;
        foretell_run::write_output(&sources(out), text).map_err(failed)?;
    }
    print(&summary(&read, out))
}

/// The file that records the logs that the curves in `out` come from.
fn sources(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".sources");
    name.into()
}

/// The record of the same import before, if it is to be updated and there is such a file.
fn before(arguments: &Arguments) -> Result<Option<(Manifest, &Path)>, Failure> {
    let (out, sources) = (&arguments.out, sources(&arguments.out));
    if !arguments.update || !out.exists() || !sources.exists() {
        return Ok(None);
    }
    let failed = |error: &dyn std::fmt::Display| {
        Failure::input(format!("{}: {error}. Read everything again with --force", sources.display()))
    };
    let text = std::fs::read_to_string(&sources).map_err(|error| failed(&error))?;
    let manifest = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    Ok(Some((manifest, out)))
}

/// The result of reading.
enum Imported {
    /// Curve files or the logs of tools.
    Recorded(Box<Recorded>, Option<Manifest>),
    /// The output of trainings, or several tables.
    Printed(Vec<Run>, Metric),
}

impl Imported {
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
    fn found(&self) -> Option<String> {
        let Self::Recorded(recorded, _) = self else { return None };
        let found =
            recorded.notes.iter().find(|note| note.topic == Topic::Found).map(|note| note.text.clone());
        let others = recorded.other_metrics;
        found.or_else(|| {
            (others > 0)
                .then(|| format!("`{}` is 1 of {} metrics in the file", recorded.metric.name, others + 1))
        })
    }
}

fn read_all(arguments: &Arguments) -> Result<Imported, Failure> {
    let mut flags = arguments.reading();
    if flags.are_logs(&arguments.files)? {
        let before = before(arguments)?;
        let asks = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if flags.metric.is_none() && before.is_none() && asks {
            flags.metric = chosen(&flags.survey(&arguments.files)?)?;
        }
        let (recorded, manifest) = flags.read_logs(&arguments.files, before)?;
        return Ok(Imported::Recorded(Box::new(recorded), Some(manifest)));
    }
    let logs =
        |files: &[PathBuf]| logs(arguments, files).map(|(runs, metric)| Imported::Printed(runs, metric));
    match &arguments.files[..] {
        [file] => match flags.read(file) {
            Ok(recorded) => Ok(Imported::Recorded(Box::new(recorded), None)),
            Err(failure) => match printed(&arguments.files) {
                files if files.is_empty() => Err(failure),
                files => logs(&files).map_err(|of_log| neither(file, &failure, &of_log)),
            },
        },
        files if all_tables(files)? => tables(&flags, files),
        files => logs(&printed(files)),
    }
}

/// The files that may hold the output of trainings: those that are named, and those below folders.
fn printed(paths: &[PathBuf]) -> Vec<PathBuf> {
    let files = paths.iter().flat_map(|path| match path.is_dir() {
        true => foretell_logs::printed_logs_below(path),
        false => vec![path.clone()],
    });
    files.collect()
}

fn all_tables(files: &[PathBuf]) -> Result<bool, Failure> {
    for file in files {
        if !foretell_logs::is_table(file).map_err(Failure::input)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The runs of several tables of many runs. They must have the same metric.
fn tables(flags: &CurveFlags, files: &[PathBuf]) -> Result<Imported, Failure> {
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
                while !taken.insert(run.id.clone()) {
                    run.id.push('+');
                }
            }
            runs.push(run);
        }
    }
    let metric = first.map_or_else(|| Metric::from(Direction::default()), |(metric, _)| metric);
    Ok(Imported::Printed(runs, metric))
}

/// Lists the content of the files.
fn list(arguments: &Arguments) -> Outcome {
    let flags = arguments.reading();
    if !flags.are_logs(&arguments.files)? {
        let [file] = &arguments.files[..] else {
            return Err(Failure::input(
                "--list: not all of these are logs of tools. List curve files one at a time",
            ));
        };
        let recorded = Imported::Recorded(Box::new(flags.read(file)?), None);
        if arguments.json {
            return Err(Failure::input(format!(
                "{}: this is a curve file, but --json lists the logs of tools. Leave --json out",
                file.display()
            )));
        }
        return print(&what(&recorded));
    }
    let survey = flags.survey(&arguments.files)?;
    if arguments.json { print_json(&survey) } else { print(&listed(&survey)) }
}

/// The metric that somebody at a terminal chooses from the list; `None` if there is no choice.
fn chosen(survey: &Survey) -> Result<Option<String>, Failure> {
    if survey.metrics.len() < 2 {
        return Ok(None);
    }
    note(&listed(survey));
    let default = survey.preferred().map_or(String::new(), |metric| metric.name.clone());
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
const NAMED: usize = 2;

/// The files and runs left out, the first few for each reason.
fn left_out(survey: &Survey) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for left in &survey.left_out {
        by_reason.entry(&left.why).or_default().push(&left.what);
    }
    let said = by_reason.into_iter().map(|(why, what)| {
        let more = what.len().saturating_sub(NAMED);
        let named = what.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("left out ({why}): {named}{more}")
    });
    said.collect()
}

/// The content of the logs of tools, as text.
fn listed(survey: &Survey) -> String {
    let metrics: Vec<Vec<String>> = survey
        .metrics
        .iter()
        .map(|metric| {
            let range = metric.range.map_or("–".to_owned(), |(low, high)| {
                format!("{} … {}", metric_value(low), metric_value(high))
            });
            let better = metric.direction.map_or("not known", Direction::better);
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
    if let Some(metric) = survey.preferred() {
        lines.push(format!("without --metric: {}", metric.name));
    }
    lines.extend(left_out(survey));
    lines.extend(survey.damaged().into_iter().map(|text| format!("damaged: {text}")));
    lines.join("\n")
}

fn neither(file: &Path, as_table: &Failure, as_log: &Failure) -> Failure {
    let message = if !file.exists() {
        as_table.message().to_owned()
    } else if file.is_dir() {
        format!("{}. It contains no log of a known tool either", as_table.message())
    } else {
        format!("{}\nIt is not the log of one run either: {}", as_table.message(), as_log.message())
    };
    Failure::input(message)
}

/// Each file as the log of one run.
fn logs(arguments: &Arguments, files: &[PathBuf]) -> Result<(Vec<Run>, Metric), Failure> {
    let flags = &arguments.curves;
    let texts: Vec<(PathBuf, String)> =
        files.iter().map(|file| Ok((file.clone(), read(file)?))).collect::<Result<_, Failure>>()?;
    let (source, name) = match &flags.metric {
        Some(metric) => (metric.clone(), name_in(metric)),
        None => guessed(&texts)?,
    };
    let parsed = MetricSource::parse(&source).map_err(Failure::input)?;
    let direction = direction(flags, &name)?;
    let (mut runs, mut silent) = (Vec::new(), Vec::new());
    let mut taken = BTreeSet::new();
    for (file, text) in &texts {
        let whole = ReportReader::new(parsed.clone(), 0).read_all(text);
        say_of(file, &whole)?;
        match curve(&whole, direction) {
            curve if !curve.is_empty() => runs.push(Run {
                id: unique(file, &mut taken),
                configuration: foretell_logs::configuration_nearby(file),
                curve,
            }),
            _ => silent.push((file, whole.seen.text())),
        }
    }
    if let Some((file, seen)) = silent.first() {
        let printed = if seen.is_empty() { String::new() } else { format!("; it contains {seen}") };
        let said = format!(
            "{}: no line matches --metric '{source}'{printed}. Set another name, or the metric's line, such as '{name}: {{value}}'",
            file.display()
        );
        if runs.is_empty() {
            return Err(Failure::input(said));
        }
        note(&format!("left out {} of {} files; {said}", silent.len(), texts.len()));
    }
    if runs.iter().all(|run| run.configuration.is_empty()) {
        note(
            "found no configurations, so curves are forecast without them. Configurations are read from params.json, config.json, hparams.json or args.json next to a log, and from names such as lr=0.1_depth=4",
        );
    }
    Ok((runs, Metric::new(&name, direction)))
}

/// The direction, from the flags or else the metric's name.
fn direction(flags: &CurveFlags, name: &str) -> Result<Direction, Failure> {
    let said = match (flags.minimize, flags.maximize) {
        (true, _) => Some(Direction::Minimize),
        (_, true) => Some(Direction::Maximize),
        _ => None,
    };
    let named = direction_of(name);
    if let (Some(said), Some(named)) = (said, named)
        && said != named
    {
        note(&format!(
            "{} is better, as you set, although the name `{name}` suggests that {} is better",
            said.better(),
            named.better()
        ));
    }
    said.or(named).ok_or_else(|| {
        Failure::input(format!(
            "the name `{name}` does not show its direction. Add --maximize if larger is better, or --minimize"
        ))
    })
}

/// Notes how a log was read; refuses one that can be read in two ways.
fn say_of(file: &Path, whole: &Whole) -> Outcome {
    let refused = whole
        .problems
        .iter()
        .find(|problem| matches!(problem, ReportProblem::Epoch { .. } | ReportProblem::Notation { .. }));
    if let Some(problem) = refused {
        return Err(Failure::input(format!("{}: {problem}", file.display())));
    }
    whole.notes.iter().for_each(|said| note(&format!("{}: {said}", file.display())));
    Ok(())
}

/// The metric that the first log with a metric seems to report: its source for `--metric`, and its name.
fn guessed(texts: &[(PathBuf, String)]) -> Result<(String, String), Failure> {
    let found = texts.iter().find_map(|(_, text)| printed::guess(text));
    let found = found.ok_or_else(|| {
        Failure::input("found no metric in the logs. Set it with --metric, for example --metric val_acc")
    })?;
    note(&format!("using the metric `{}`. Choose another one with --metric", found.source));
    Ok((found.source, found.name))
}

fn read(file: &Path) -> Result<String, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", file.display()));
    let mut bytes = Vec::new();
    let open = File::open(file).map_err(|error| failed(&error))?;
    let read = open.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if read as u64 > MOST_BYTES {
        return Err(failed(&"the file is larger than a gigabyte. Keep only the lines with the metric"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The curve in a log.
fn curve(whole: &Whole, direction: Direction) -> Curve {
    let mut curve = Curve::default();
    for report in &whole.reports {
        // steps ascend
        let _ = curve.push(report.step as f64, report.value.unwrap_or(f64::NAN), direction);
    }
    curve
}

/// The file's name, with its folder's if the name is taken or tells nothing.
fn unique(file: &Path, taken: &mut BTreeSet<String>) -> String {
    let name =
        |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let own = name(file);
    let folder = file.parent().map(name).filter(|folder| !folder.is_empty());
    let is_plain = ["output", "log", "train", "stdout", "history", "metrics"].contains(&own.as_str());
    let mut id = match folder {
        Some(folder) if is_plain => folder,
        Some(folder) if taken.contains(&own) => format!("{folder}/{own}"),
        _ => own,
    };
    while !taken.insert(id.clone()) {
        id.push('+');
    }
    id
}

/// The runs read, with the parts left out first.
fn what(read: &Imported) -> String {
    let (runs, metric) = (read.runs(), read.metric());
    let points: usize = runs.iter().map(|run| run.curve.len()).sum();
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.configuration.keys()).collect();
    let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    let found = read.found().map_or(String::new(), |found| format!("{found}\n"));
    format!(
        "{found}{} runs with {points} values of {} ({} is better){}",
        runs.len(),
        metric.name,
        metric.direction.better(),
        if names.is_empty() { String::new() } else { format!(" and settings {}", names.join(", ")) },
    )
}

fn summary(read: &Imported, out: &Path) -> String {
    let (what, out) = (what(read), out.display());
    format!(
        "{what} are in {out}\nmeasure the savings of stopping: foretell replay {out}\nlearn from them:                 foretell search --learn-from {out} …\nforecast running ones:           foretell forecast --history {out} RUNNING"
    )
}

#[cfg(test)]
mod tests {
    use super::unique;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn each_run_has_a_name_of_its_own() {
        let mut taken = BTreeSet::new();
        let names = ["a/output.log", "b/output.log", "c/x.log", "d/x.log", "d/x.txt"];
        let ids: Vec<String> = names.iter().map(|name| unique(Path::new(name), &mut taken)).collect();
        assert_eq!(ids, ["a", "b", "x", "d/x", "d/x+"]);
    }
}

//! Files with the output of trainings, read as runs, one per file.

use crate::failure::{CommandResult, Failure};
use crate::output::{ask, note};
use foretell::{Curve, Direction, Metric, Run, direction_of};
use foretell_logs::printed::{
    self, DataRole, FirstTrial, MetricSource, OutputReports, PrintedSeries, ReportProblem, ReportReader,
    StepUnit, metric_name_in, settle_first_trial,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

/// A larger log is not read whole.
const MAX_LOG_BYTES: u64 = 1 << 30;

/// The metric that the user set, if any, and its direction.
pub(crate) struct AskedMetric<'a> {
    pub(crate) metric: Option<&'a str>,
    pub(crate) direction: Option<Direction>,
}

/// The files that may hold the output of trainings: those that are named, and those below folders.
pub(crate) fn below(paths: &[PathBuf]) -> Vec<PathBuf> {
    let files = paths.iter().flat_map(|path| match path.is_dir() {
        true => foretell_logs::printed_logs_below(path),
        false => vec![path.clone()],
    });
    files.collect()
}

/// Each file as the log of one run.
pub(crate) fn runs(files: &[PathBuf], asked: &AskedMetric<'_>) -> Result<(Vec<Run>, Metric), Failure> {
    let texts: Vec<(PathBuf, String)> =
        files.iter().map(|file| Ok((file.clone(), read(file)?))).collect::<Result<_, Failure>>()?;
    let (source, name) = match asked.metric {
        Some(metric) => (metric.to_owned(), metric_name_in(metric)),
        None => guess_metric(&texts)?,
    };
    let parsed = MetricSource::parse(&source).map_err(Failure::input)?;
    let direction = direction(asked, &name)?;
    let (mut runs, mut silent) = (Vec::new(), Vec::new());
    let mut taken = BTreeSet::new();
    let read: Vec<(&Path, OutputReports)> = texts
        .iter()
        .map(|(file, text)| (file.as_path(), ReportReader::new(parsed.clone(), 0).read_all(text)))
        .collect();
    note_mixture(&read);
    for (file, whole) in join_run_files(read) {
        note_reading(file, &whole)?;
        match curve(&whole, direction) {
            curve if !curve.is_empty() => runs.push(Run {
                id: unique(file, &mut taken),
                configuration: foretell_logs::configuration_nearby(file),
                curve,
            }),
            _ => silent.push((file, whole.seen.format_for_message())),
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

/// What the refusal of a metric in doubt begins with.
const IN_DOUBT: &str = "the metric is in doubt";

/// The failure to read a file as a table or as a log. A log whose metric is in doubt is one.
pub(crate) fn neither(as_table: &Failure, either: &str, as_log: Failure) -> Failure {
    if as_log.message().contains(IN_DOUBT) {
        return as_log;
    }
    Failure::input(format!("{}\n{either}: {}", as_table.message(), as_log.message()))
}

/// The direction, from the flags or else the metric's name.
fn direction(asked: &AskedMetric<'_>, name: &str) -> Result<Direction, Failure> {
    let said = asked.direction;
    let named = direction_of(name);
    if let (Some(said), Some(named)) = (said, named)
        && said != named
    {
        note(&format!(
            "{} is better, as you set, although the name `{name}` suggests that {} is better",
            said.better_word(),
            named.better_word()
        ));
    }
    said.or(named).ok_or_else(|| {
        Failure::input(format!(
            "the name `{name}` does not show its direction. Add --maximize if larger is better, or --minimize"
        ))
    })
}

/// Notes how a log was read; refuses one that can be read in two ways.
fn note_reading(file: &Path, whole: &OutputReports) -> CommandResult {
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

/// Notes it if the logs have the metric of different data.
fn note_mixture(read: &[(&Path, OutputReports)]) {
    let mut first: BTreeMap<&str, &Path> = BTreeMap::new();
    for (file, whole) in read {
        if let Some(chosen) = &whole.chosen {
            first.entry(chosen.data_name()).or_insert(file);
        }
    }
    if first.len() > 1 {
        let data = first.iter().map(|(data, file)| {
            format!("of {} data in {}", if data.is_empty() { "unnamed" } else { data }, file.display())
        });
        note(&format!(
            "the metric is not of the same data in all logs: {}. Set a name with its data, for example --metric 'val loss'",
            data.collect::<Vec<_>>().join(", ")
        ));
    }
}

/// The logs, with those that are one run in several files joined: the files of its epochs, each with one value, named alike but for a number.
fn join_run_files(read: Vec<(&Path, OutputReports)>) -> Vec<(&Path, OutputReports)> {
    let mut alike: BTreeMap<(Option<&Path>, String), Vec<usize>> = BTreeMap::new();
    for (at, (file, whole)) in read.iter().enumerate() {
        if let (Some((name, _)), [_]) = (split_number(file), &whole.reports[..]) {
            alike.entry((file.parent(), name)).or_default().push(at);
        }
    }
    let mut read: Vec<Option<(&Path, OutputReports)>> = read.into_iter().map(Some).collect();
    for ((_, name), places) in alike {
        let counts_files = printed::ends_with_counter(&name);
        // the files of several runs may be numbered, too: they end at the same step, or name none
        let steps = places.iter().filter_map(|&at| {
            let (file, whole) = read[at].as_ref()?;
            let own =
                whole.reports.first().filter(|_| whole.unit != StepUnit::Report).map(|report| report.step);
            let step = own.or_else(|| split_number(file).map(|(_, number)| number).filter(|_| counts_files));
            Some((step?, at))
        });
        let mut steps: Vec<(u64, usize)> = steps.collect();
        steps.sort_unstable();
        let are_distinct = steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if steps.len() < 2 || steps.len() < places.len() || !are_distinct {
            continue;
        }
        let taken: Vec<(u64, &Path, OutputReports)> = steps
            .into_iter()
            .filter_map(|(step, at)| read[at].take().map(|(file, whole)| (step, file, whole)))
            .collect();
        let Some((_, first, _)) = taken.first() else { continue };
        let (first, count) = (*first, taken.len());
        let mut all = OutputReports::default();
        for (step, _, whole) in taken {
            all.reports.extend(whole.reports.into_iter().map(|report| printed::Report { step, ..report }));
        }
        all.notes.push(format!("the {count} files named like this one are the epochs of one run"));
        read.push(Some((first, all)));
    }
    read.into_iter().flatten().collect()
}

/// The name of a file without its only number, and that number: `metrics_epoch_` and 3 of `metrics_epoch_3.json`.
fn split_number(file: &Path) -> Option<(String, u64)> {
    let name = file.file_stem()?.to_string_lossy().into_owned();
    let start = name.find(|c: char| c.is_ascii_digit())?;
    let end = name.rfind(|c: char| c.is_ascii_digit())? + 1;
    let number = name[start..end].parse().ok()?;
    Some((format!("{}{}", &name[..start], &name[end..]), number))
}

/// The metric that most of the logs seem to report: its source for `--metric`, and its name. The command asks about a doubt, or refuses.
fn guess_metric(texts: &[(PathBuf, String)]) -> Result<(String, String), Failure> {
    let settled: Vec<(&Path, FirstTrial)> =
        texts.iter().map(|(file, text)| (file.as_path(), settle_first_trial(text, None, None))).collect();
    let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
    settled
        .iter()
        .filter_map(|(_, first)| source_and_name(first))
        .for_each(|metric| *found.entry(metric).or_default() += 1);
    let best = found.iter().max_by_key(|((_, name), best)| {
        let files =
            settled.iter().filter(|(_, first)| first.series.iter().any(|series| series.name == *name));
        (files.count(), **best)
    });
    let best = best.map(|(metric, _)| metric.clone()).ok_or_else(|| {
        Failure::input("found no metric in the logs. Set it with --metric, for example --metric val_acc")
    })?;
    let first = settled.iter().find(|(_, first)| source_and_name(first).as_ref() == Some(&best));
    let Some((file, first)) = first else { return Ok(best) };
    if first.doubts.is_empty() {
        note(&format!(
            "using the metric `{}`{}. Choose another one with --metric",
            best.0,
            describe_choice(first)
        ));
        return Ok(best);
    }
    let list = list_series(&first.series);
    let doubts: Vec<&str> = first.doubts.iter().map(|doubt| doubt.what.as_str()).collect();
    let doubts = doubts.join("; ");
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        note(&format!("{}: {doubts}\n{list}", file.display()));
        let answer = ask("which metric to use", &best.0)?;
        return Ok((answer.clone(), metric_name_in(&answer)));
    }
    Err(Failure::input(format!(
        "{}: {IN_DOUBT}: {doubts}. Set it with --metric, for example --metric '{}'. Printed are:\n{list}",
        file.display(),
        best.0
    )))
}

/// The source for `--metric` and the name of the metric of a log, if it reports one.
fn source_and_name(first: &FirstTrial) -> Option<(String, String)> {
    match &first.metric {
        printed::MetricChoice::None => None,
        printed::MetricChoice::One { source, name, .. }
        | printed::MetricChoice::InDoubt { source, name, .. } => Some((source.clone(), name.clone())),
    }
}

/// The values of the metric, and the names of the others, as a part of a sentence.
fn describe_choice(first: &FirstTrial) -> String {
    let values: Vec<String> = first
        .whole
        .reports
        .iter()
        .take(MAX_SHOWN_VALUES)
        .map(|report| report.value.map_or("nan".to_owned(), |value| value.to_string()))
        .collect();
    let printed::MetricChoice::One { name, why, .. } = &first.metric else { return String::new() };
    let mut others: Vec<&str> = first
        .series
        .iter()
        .filter(|series| series.is_metric && !series.is_past && series.name != *name)
        .map(|series| series.name.as_str())
        .collect();
    others.dedup();
    let others = if others.is_empty() { String::new() } else { format!(", not {}", others.join(", ")) };
    format!(" ({} …), because {why}{others}", values.join(", "))
}

/// How many values of a series are shown.
const MAX_SHOWN_VALUES: usize = 3;

/// The printed series, a line each.
fn list_series(series: &[PrintedSeries]) -> String {
    let current = series.iter().filter(|series| series.is_metric && !series.is_past);
    let lines = current.map(|series| {
        let role = match series.role {
            DataRole::Training => " of training data",
            DataRole::Test => " of test data",
            DataRole::Validation => " of validation data",
            DataRole::Unknown => "",
        };
        let values: Vec<String> = series.first.iter().map(f64::to_string).collect();
        format!("  {}: {} values{role}, {} …", series.name, series.values, values.join(", "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn read(file: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|open| open.take(MAX_LOG_BYTES + 1).read_to_end(&mut bytes));
    let read = read.map_err(|error| Failure::input(format!("{}: {error}", file.display())))?;
    if read as u64 > MAX_LOG_BYTES {
        return Err(Failure::input(format!(
            "{}: the file is larger than a gigabyte. Keep only the lines with the metric",
            file.display()
        )));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The curve in a log.
fn curve(whole: &OutputReports, direction: Direction) -> Curve {
    let mut curve = Curve::default();
    for report in &whole.reports {
        // steps ascend
        let _ = curve.push(report.step as f64, report.value.unwrap_or(f64::NAN), direction);
    }
    curve
}

/// The file's name, with its folder's if the name is taken or tells nothing.
fn unique(file: &Path, taken: &mut BTreeSet<String>) -> String {
    let own = file_stem_text(file);
    let folder = file.parent().map(file_stem_text).filter(|folder| !folder.is_empty());
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

fn file_stem_text(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
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

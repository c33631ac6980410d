//! Files with the output of trainings, read as runs, one per file.

use crate::failure::{Failure, Outcome};
use crate::output::note;
use foretell::{Curve, Direction, Metric, Run, direction_of};
use foretell_logs::printed::{self, MetricSource, ReportProblem, ReportReader, Whole, name_in};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A larger log is not read whole.
const MOST_BYTES: u64 = 1 << 30;

/// The metric that the user set, if any, and its direction.
pub(crate) struct Asked<'a> {
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
pub(crate) fn runs(files: &[PathBuf], asked: &Asked<'_>) -> Result<(Vec<Run>, Metric), Failure> {
    let texts: Vec<(PathBuf, String)> =
        files.iter().map(|file| Ok((file.clone(), read(file)?))).collect::<Result<_, Failure>>()?;
    let (source, name) = match asked.metric {
        Some(metric) => (metric.to_owned(), name_in(metric)),
        None => guessed(&texts)?,
    };
    let parsed = MetricSource::parse(&source).map_err(Failure::input)?;
    let direction = direction(asked, &name)?;
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
fn direction(asked: &Asked<'_>, name: &str) -> Result<Direction, Failure> {
    let said = asked.direction;
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

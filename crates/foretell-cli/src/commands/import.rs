//! `foretell import`: old tables and logs as one file of curves, which `forecast`, `replay`, `evaluate` and
//! `search --learn-from` read.

use super::init::guess_metric;
use super::search::name_in;
use crate::curves::CurveFlags;
use crate::failure::{Failure, Outcome};
use crate::output::{note, print};
use foretell::{Configuration, Curve, Direction, Metric, Run, Value, direction_of};
use foretell_run::{MetricSource, ReportReader};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// A larger log is not read whole.
const MOST_BYTES: u64 = 1 << 30;
/// Files beside a log, or in its folder, that hold its configuration.
const CONFIGURATIONS: [&str; 4] = ["params.json", "config.json", "hparams.json", "args.json"];

/// Endings of logs that are no part of a setting in their names.
const ENDINGS: [&str; 8] = [".log", ".txt", ".out", ".csv", ".tsv", ".jsonl", ".json", ".err"];

/// The arguments of `foretell import`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A table of many runs (wide or long CSV, JSON lines, `.gz` of these), or the logs of runs, one a file: what a
    /// training printed, or a table of its epochs.
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,
    /// The file of curves to write (JSON lines).
    #[arg(long, value_name = "FILE", default_value = "curves.jsonl")]
    out: PathBuf,
    /// Write over a file that is there.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    curves: CurveFlags,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let out = &arguments.out;
    if out.exists() && !arguments.force {
        return Err(Failure::input(format!(
            "{}: is there already; name another file by --out, or write over it by --force",
            out.display()
        )));
    }
    let (runs, metric) = match &arguments.files[..] {
        [file] => match arguments.curves.read(file) {
            Ok(recorded) => (recorded.runs, recorded.metric),
            Err(failure) => logs(arguments).map_err(|of_log| neither(file, &failure, &of_log))?,
        },
        _ => logs(arguments)?,
    };
    if runs.is_empty() {
        return Err(Failure::input("the files hold no run"));
    }
    let failed = |error| Failure::midway(format!("{}: {error}", out.display()));
    let mut writer = BufWriter::new(File::create(out).map_err(failed)?);
    foretell_logs::write_json_lines(&mut writer, &runs, &metric).map_err(failed)?;
    writer.flush().map_err(failed)?;
    print(&summary(&runs, &metric, out))
}

fn neither(file: &Path, as_table: &Failure, as_log: &Failure) -> Failure {
    let is_missing = !file.exists();
    let message = if is_missing {
        as_table.message().to_owned()
    } else {
        format!("{}\nnor is it the log of one run: {}", as_table.message(), as_log.message())
    };
    Failure::input(message)
}

/// Each file as the log of one run.
fn logs(arguments: &Arguments) -> Result<(Vec<Run>, Metric), Failure> {
    let flags = &arguments.curves;
    let texts: Vec<(PathBuf, String)> =
        arguments.files.iter().map(|file| Ok((file.clone(), read(file)?))).collect::<Result<_, Failure>>()?;
    let source = match &flags.metric {
        Some(metric) => metric.clone(),
        None => guess(&texts)?,
    };
    let parsed = MetricSource::parse(&source).map_err(Failure::input)?;
    let name = name_in(&source);
    let direction = match (flags.minimize, flags.maximize) {
        (true, _) => Direction::Minimize,
        (_, true) => Direction::Maximize,
        _ => direction_of(&name).unwrap_or_default(),
    };
    let (mut runs, mut silent) = (Vec::new(), Vec::new());
    let mut taken = BTreeSet::new();
    for (file, text) in &texts {
        let curve = curve(text, &parsed, direction)
            .map_err(|why| Failure::input(format!("{}: {why}", file.display())))?;
        match curve {
            Ok(curve) => {
                runs.push(Run { id: unique(file, &mut taken), configuration: configuration(file), curve })
            }
            Err(seen) => silent.push((file, seen)),
        }
    }
    if let Some((file, seen)) = silent.first() {
        let printed = if seen.is_empty() { String::new() } else { format!("; it has {seen}") };
        let said = format!(
            "{}: no line gives a value by --metric '{source}'{printed}; name it by --metric, or a pattern such as '{name}: ([\\d.]+)'",
            file.display()
        );
        if runs.is_empty() {
            return Err(Failure::input(said));
        }
        note(&format!("left out {} of {} files; {said}", silent.len(), texts.len()));
    }
    if runs.iter().all(|run| run.configuration.is_empty()) {
        note(
            "no configurations were found: they are read from params.json, config.json, hparams.json or args.json beside a log, and from names such as lr=0.1_depth=4; curves are forecast without them",
        );
    }
    Ok((runs, Metric::new(&name, direction)))
}

/// The metric that the first log that has any seems to report.
fn guess(texts: &[(PathBuf, String)]) -> Result<String, Failure> {
    let found = texts.iter().find_map(|(_, text)| guess_metric(text));
    let found = found.ok_or_else(|| {
        Failure::input("no metric was found in the logs: name it by --metric, such as --metric val_acc")
    })?;
    note(&format!("the metric is taken to be `{found}`; name another by --metric"));
    Ok(found)
}

fn read(file: &Path) -> Result<String, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", file.display()));
    let mut bytes = Vec::new();
    let open = File::open(file).map_err(|error| failed(&error))?;
    let read = open.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if read as u64 > MOST_BYTES {
        return Err(failed(&"is larger than a gigabyte: keep the lines with the metric only"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The curve in a log; where there is none, what it has instead.
fn curve(
    text: &str,
    source: &MetricSource,
    direction: Direction,
) -> Result<Result<Curve, String>, foretell_run::ReportProblem> {
    let mut reader = ReportReader::new(source.clone(), 0);
    let mut points = BTreeMap::new();
    for line in text.split('\n') {
        let (drawn, last) = line.trim_end_matches('\r').rsplit_once('\r').unwrap_or(("", line));
        let mut reports = Vec::new();
        for part in drawn.split('\r').filter(|part| !part.is_empty()) {
            reports.extend(reader.read_transient(part.as_bytes()));
        }
        reports.extend(reader.read(last.as_bytes()));
        for report in reports {
            match report {
                Ok(report) => drop(points.entry(report.step).or_insert(report.value)),
                Err(problem @ foretell_run::ReportProblem::Epoch { .. }) => return Err(problem),
                Err(_) => {} // other lines of a log may look like a report
            }
        }
    }
    points.extend(reader.flush().map(|report| (report.step, report.value)));
    let mut curve = Curve::default();
    for (step, value) in points {
        // steps ascend
        let _ = curve.push(step as f64, value.unwrap_or(f64::NAN), direction);
    }
    let seen = reader.seen().map(|seen| seen.text()).unwrap_or_default();
    Ok(if curve.is_empty() { Err(seen) } else { Ok(curve) })
}

/// The file's name, with its folder's where it is taken or says nothing.
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

/// What is known of a run's configuration: numbers and texts of a file beside the log, and `name=value` in its own and its
/// folder's name.
fn configuration(file: &Path) -> Configuration {
    let mut configuration = Configuration::new();
    let folder = file.parent().unwrap_or(Path::new("."));
    let own = file.with_extension("json");
    let is_log = own.as_path() == file;
    let beside = CONFIGURATIONS.iter().map(|name| folder.join(name)).chain((!is_log).then_some(own));
    for path in beside.filter(|path| path != file) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(&text) {
            configuration.extend(fields.into_iter().filter_map(|(name, value)| Some((name, plain(&value)?))));
        }
    }
    let names = [folder.file_name(), file.file_name()];
    for name in names.into_iter().flatten().map(|name| name.to_string_lossy().into_owned()) {
        let ending = ENDINGS.into_iter().find_map(|ending| name.strip_suffix(ending));
        let mut rest = ending.unwrap_or(&name);
        while let Some((before, after)) = rest.split_once('=') {
            let start = before.rfind([',', ' ', ';', '-', '=']).map_or(0, |at| at + 1);
            let end = after.find('=').map_or(after.len(), |next| {
                // the value ends where the next name begins
                after[..next].find(['_', ',', ' ', ';']).unwrap_or(next)
            });
            let mut key = before[start..].trim_start_matches('_');
            // `run3_lr=0.1`: what counts the runs is no part of the setting's name
            while let Some((first, rest)) = key.split_once('_')
                && first.ends_with(|c: char| c.is_ascii_digit())
            {
                key = rest;
            }
            if !key.is_empty() {
                configuration
                    .insert(key.to_owned(), of_text(after[..end].trim_end_matches(['_', ',', ' ', ';'])));
            }
            rest = &after[end..];
        }
    }
    configuration
}

fn plain(value: &serde_json::Value) -> Option<Value> {
    match value {
        serde_json::Value::Number(number) => number.as_f64().map(Value::Number),
        serde_json::Value::String(text) => Some(of_text(text)),
        serde_json::Value::Bool(flag) => Some(of_text(&flag.to_string())),
        _ => None,
    }
}

fn of_text(text: &str) -> Value {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Value::Number(number),
        _ => Value::Text(text.to_owned()),
    }
}

fn summary(runs: &[Run], metric: &Metric, out: &Path) -> String {
    let points: usize = runs.iter().map(|run| run.curve.len()).sum();
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.configuration.keys()).collect();
    let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    let out = out.display();
    format!(
        "{} runs with {points} values of {} ({} is better){} are in {out}\nwhat stopping would have saved:  foretell replay {out}\nlearn from them:                 foretell search --learn-from {out} …\nforecast running ones:           foretell forecast --history {out} RUNNING",
        runs.len(),
        metric.name,
        metric.direction.better(),
        if names.is_empty() { String::new() } else { format!(" and settings {}", names.join(", ")) },
    )
}

#[cfg(test)]
mod tests {
    use super::{configuration, curve, unique};
    use foretell::{Direction, Value};
    use foretell_run::MetricSource;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn settings_are_read_from_names() {
        let found = configuration(Path::new("/nowhere/opt=sgd/run7_lr=0.1_num_layers=4_drop=0.5.log"));
        let expected = [("drop", Value::Number(0.5)), ("lr", Value::Number(0.1))];
        for (name, value) in expected {
            assert_eq!(found.get(name), Some(&value), "{name} of {found:?}");
        }
        assert_eq!(found["opt"], Value::Text("sgd".to_owned()));
        assert_eq!(found["num_layers"], Value::Number(4.0));
    }

    #[test]
    fn the_last_drawing_of_a_bar_and_columns_count() {
        let metric = MetricSource::parse("acc").expect("a name");
        let read = |text: &str| {
            let curve = curve(text, &metric, Direction::Maximize).expect("no epoch number").expect("a curve");
            curve.scores().to_vec()
        };
        assert_eq!(read("epoch 1 acc 0.5\nepoch 2 acc 0.6\r\n"), [0.5, 0.6]);
        assert_eq!(read("epoch,acc\n1,0.5\n2,0.7\n"), [0.5, 0.7]);
    }

    #[test]
    fn each_run_has_a_name_of_its_own() {
        let mut taken = BTreeSet::new();
        let names = ["a/output.log", "b/output.log", "c/x.log", "d/x.log", "d/x.txt"];
        let ids: Vec<String> = names.iter().map(|name| unique(Path::new(name), &mut taken)).collect();
        assert_eq!(ids, ["a", "b", "x", "d/x", "d/x+"]);
    }
}

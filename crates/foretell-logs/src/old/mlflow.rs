//! MLflow's file store: a folder a run, a file a metric with a line `time value step` for each value.

use super::point::LoggedPoint;
use super::series::{RunEnd, RunLog, SeriesFilter};
use super::{LogFormat, json, nearby, yaml};
use crate::error::Error;
use foretell::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Whether the text is that of a run's `meta.yaml`.
pub(crate) fn is_run_metadata(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("run_id:") || line.starts_with("run_uuid:"))
        && text.lines().any(|line| line.starts_with("lifecycle_stage:"))
}

/// The run in `folder`; `None` if it was deleted.
pub(crate) fn read(folder: &Path, wanted: &SeriesFilter) -> Result<Option<RunLog>, Error> {
    let meta = yaml::settings(&nearby::text(&folder.join("meta.yaml")));
    let [stage, name, id, uuid, ended] = ["lifecycle_stage", "run_name", "run_id", "run_uuid", "status"]
        .map(|field| meta.get(field).map(Value::to_string));
    if stage.as_deref() == Some("deleted") {
        return Ok(None);
    }
    let name = name.filter(|name| !name.is_empty()).or(id).or(uuid).unwrap_or_default();
    let mut run = RunLog::new(name, LogFormat::Mlflow);
    run.ended = status(ended.unwrap_or_default().as_str());
    let mut files = Vec::new();
    files_below(&folder.join("params"), "", &mut files)?;
    for (name, path) in files.drain(..) {
        run.configure(&name, json::setting(nearby::text(&path).trim_end()));
    }
    files_below(&folder.join("metrics"), "", &mut files)?;
    for (name, path) in files {
        read_metric(&path, &name, &mut run, wanted)?;
    }
    Ok(Some(run))
}

/// A status, as a number of the file store or as a word of the database.
pub(crate) fn status(status: &str) -> RunEnd {
    match status {
        "3" | "FINISHED" => RunEnd::Finished,
        "4" | "FAILED" | "5" | "KILLED" => RunEnd::Failed,
        "1" | "RUNNING" | "2" | "SCHEDULED" => RunEnd::Running,
        _ => RunEnd::Unknown,
    }
}

/// The files below `folder`, named by their paths: `val/acc` is a file in a folder.
fn files_below(
    folder: &Path,
    prefix: &str,
    files: &mut Vec<(String, std::path::PathBuf)>,
) -> Result<(), Error> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&entry.path(), &format!("{name}/"), files)?,
            Ok(kind) if kind.is_file() => files.push((name, entry.path())),
            _ => {}
        }
    }
    Ok(())
}

fn read_metric(file: &Path, name: &str, run: &mut RunLog, wanted: &SeriesFilter) -> Result<(), Error> {
    let mut reader = BufReader::new(std::fs::File::open(file).map_err(Error::io_at(file))?);
    let (mut text, mut line) = (Vec::new(), 0);
    loop {
        text.clear();
        if reader.read_until(b'\n', &mut text).map_err(Error::io_at(file))? == 0 {
            return Ok(());
        }
        line += 1;
        // a line that was cut off while it was written may hold a part of a number
        let whole = text.ends_with(b"\n").then(|| String::from_utf8_lossy(&text));
        let cells: Vec<f64> = whole
            .iter()
            .flat_map(|text| text.split_whitespace())
            .map_while(|cell| cell.parse().ok())
            .collect();
        let point = match cells[..] {
            [time, value] => Some((time, value, 0.0)),
            [time, value, step, ..] if step.is_finite() => Some((time, value, step)),
            _ => None,
        };
        match point {
            Some((time, value, step)) => {
                let point = LoggedPoint { step, epoch: None, time: Some(time / 1000.0), value };
                run.push(name, point, wanted);
            }
            None if text.trim_ascii().is_empty() => {}
            None => {
                run.damage.get_or_insert(format!(
                    "{}:{line}: ignored, because the line is not `time value step`",
                    file.display()
                ));
            }
        }
    }
}

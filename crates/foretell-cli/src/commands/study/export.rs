//! `foretell study export`: the curves of a study, or its trials, for other programs.

use super::table::{self, NamedColumns, TableFormat};
use crate::failure::{CommandResult, Failure};
use crate::output::note;
use foretell_logs::ColumnValues;
use foretell_run::{DraftFile, StoredStudy};
use foretell_search::{LastMetrics, ReportColumns, TRIAL_COLUMNS, see_metrics, trial_rows};
use serde_json::{Map, Value};
use std::io::Write;
use std::path::Path;

/// Writes the trials of a study, or its curves, to the file `out`, or to standard output.
pub(super) fn run(
    stored: &StoredStudy,
    trials: bool,
    format: Option<TableFormat>,
    out: Option<&Path>,
) -> CommandResult {
    let format = format.unwrap_or_else(|| TableFormat::by_name(out));
    let what = match (trials, format) {
        (true, TableFormat::Jsonl) => trials_as_lines(stored, out)?,
        (true, _) => {
            let rows = rows(stored)?;
            write_table(&table::of_rows(&rows, &TRIAL_COLUMNS), format, out)?;
            format!("{} trials", rows.len())
        }
        (false, TableFormat::Jsonl) => curves_as_lines(stored, out)?,
        (false, _) => {
            let mut reports = ReportColumns::default();
            stored.for_each_record(|record| reports.see(&record))?;
            write_table(&reports_table(&reports), format, out)?;
            format!("{} reports", reports.trials.len())
        }
    };
    if let Some(path) = out {
        note(&format!("{what} written to {}", path.display()));
    }
    Ok(())
}

/// The last values of all metrics, by name, of the trials of a study in a folder.
pub(super) fn last_metrics(stored: &StoredStudy) -> Result<LastMetrics, Failure> {
    let mut metrics = LastMetrics::new();
    stored.for_each_record(|record| see_metrics(&mut metrics, record))?;
    Ok(metrics)
}

fn rows(stored: &StoredStudy) -> Result<Vec<Map<String, Value>>, Failure> {
    Ok(trial_rows(&stored.study, &stored.times, &last_metrics(stored)?))
}

/// The columns `trial`, `step`, `value`, and `metric.NAME` for each metric that was reported by name.
fn reports_table(reports: &ReportColumns) -> NamedColumns {
    let whole =
        |numbers: &[u64]| ColumnValues::Integers(numbers.iter().map(|&n| i64::try_from(n).ok()).collect());
    let first = [
        ("trial", whole(&reports.trials)),
        ("step", whole(&reports.steps)),
        ("value", ColumnValues::Numbers(reports.values.clone())),
    ];
    let metrics =
        reports.metrics().map(|(name, values)| (format!("metric.{name}"), ColumnValues::Numbers(values)));
    first.map(|(name, values)| (name.to_owned(), values)).into_iter().chain(metrics).collect()
}

fn write_table(table: &NamedColumns, format: TableFormat, out: Option<&Path>) -> CommandResult {
    write_to_file(out, &|writer| table::write(writer, table, format))
}

fn trials_as_lines(stored: &StoredStudy, out: Option<&Path>) -> Result<String, Failure> {
    let rows = rows(stored)?;
    write_to_file(out, &|writer| {
        for row in &rows {
            writeln!(writer, "{}", serde_json::to_string(row)?)?;
        }
        writer.flush()
    })?;
    Ok(format!("{} trials", rows.len()))
}

/// One run per line, as the other commands read them.
fn curves_as_lines(stored: &StoredStudy, out: Option<&Path>) -> Result<String, Failure> {
    let spec = stored.study.spec();
    let runs = stored.to_runs(|trial| trial.curve.clone());
    write_to_file(out, &|writer| {
        let metric = foretell::Metric::new(&spec.metric, spec.direction);
        foretell_logs::write_json_lines(&mut *writer, &runs, &metric)?;
        writer.flush()
    })?;
    Ok(format!("{} curves", runs.len()))
}

/// Lets `write` write to the file `out`, or to standard output.
fn write_to_file(out: Option<&Path>, write: &dyn Fn(&mut dyn Write) -> std::io::Result<()>) -> CommandResult {
    let Some(path) = out else {
        return write(&mut std::io::stdout().lock()).or_else(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(Failure::midway(format!("cannot write to standard output: {error}"))),
        });
    };
    let draft = DraftFile::for_output(path);
    let written = draft.and_then(|mut draft| {
        write(&mut draft)?;
        draft.finish()
    });
    written.map_err(|error| Failure::midway_at(path, error))
}

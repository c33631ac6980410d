//! `foretell study export`: the curves of a study, or its trials, for other programs.

use super::curves_table::CurvesTable;
use super::table::{self, Table, TableFormat};
use super::trials_table;
use crate::failure::{Failure, Outcome};
use crate::output::note;
use foretell_run::{Draft, Stored};
use std::io::Write;
use std::path::Path;

/// Writes the trials of a study, or its curves, to the file `out`, or to standard output.
pub(super) fn run(stored: &Stored, trials: bool, format: Option<TableFormat>, out: Option<&Path>) -> Outcome {
    let format = format.unwrap_or_else(|| TableFormat::by_name(out));
    let what = match (trials, format) {
        (true, TableFormat::Jsonl) => trials_as_lines(stored, out)?,
        (true, _) => {
            let rows = trials_table::rows(stored)?;
            write_table(&table::of_rows(&rows, &trials_table::COLUMNS), format, out)?;
            format!("{} trials", rows.len())
        }
        (false, TableFormat::Jsonl) => curves_as_lines(stored, out)?,
        (false, _) => {
            let mut curves = CurvesTable::default();
            stored.each_record(|record| curves.see(&record))?;
            let reports = curves.len();
            write_table(&curves.table(), format, out)?;
            format!("{reports} reports")
        }
    };
    if let Some(path) = out {
        note(&format!("{what} written to {}", path.display()));
    }
    Ok(())
}

fn write_table(table: &Table, format: TableFormat, out: Option<&Path>) -> Outcome {
    written(out, &|writer| table::write(writer, table, format))
}

fn trials_as_lines(stored: &Stored, out: Option<&Path>) -> Result<String, Failure> {
    let rows = trials_table::rows(stored)?;
    written(out, &|writer| {
        for row in &rows {
            writeln!(writer, "{}", serde_json::to_string(row)?)?;
        }
        writer.flush()
    })?;
    Ok(format!("{} trials", rows.len()))
}

/// One run a line, as the other commands read them.
fn curves_as_lines(stored: &Stored, out: Option<&Path>) -> Result<String, Failure> {
    let spec = stored.study.spec();
    let runs = stored.runs(|trial| trial.curve.clone());
    written(out, &|writer| {
        let metric = foretell::Metric::new(&spec.metric, spec.direction);
        foretell_logs::write_json_lines(&mut *writer, &runs, &metric)?;
        writer.flush()
    })?;
    Ok(format!("{} curves", runs.len()))
}

/// Lets `write` write to the file `out`, or to standard output.
fn written(out: Option<&Path>, write: &dyn Fn(&mut dyn Write) -> std::io::Result<()>) -> Outcome {
    let Some(path) = out else {
        return write(&mut std::io::stdout().lock()).or_else(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(Failure::midway(format!("cannot write to standard output: {error}"))),
        });
    };
    let failed = |error| Failure::midway(format!("{}: {error}", path.display()));
    let mut draft = Draft::of_output(path).map_err(failed)?;
    write(&mut draft).and_then(|()| draft.finish()).map_err(failed)
}

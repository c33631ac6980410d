//! Reads a path in any of the formats.

use crate::collect::collect;
use crate::error::Error;
use crate::locate::{locate, set_name};
use crate::names::{id_rank, is_curve_prefix, is_one_run, step_rank};
use crate::note::{Note, NoteTopic};
use crate::old::{self, ImportManifest, ReadProgress};
use crate::options::ReadOptions;
use crate::raw::{RawRun, RawRuns};
use crate::recorded::RecordedSet;
use crate::source::{CurveFormat, TextSource};
use crate::table::{CsvTable, list};
use crate::{json_lines, long, wide};
use foretell::{Metric, Run};
use std::path::{Path, PathBuf};

/// Reads the recorded runs at `path`: a wide or long CSV or JSON lines, plain or `.gz`, or a folder holding them.
///
/// - *wide*: one row per run, one column per epoch with a common prefix and a number (`acc_0`, `acc_1`, …).
/// - *long*: one row per run and epoch, in any order; the configuration in the same file, or in `configs.csv` in the same folder.
/// - *JSON lines*: `{"id", "configuration": {…}, "values": […], "steps": […]?, "metric"?, "direction"?}` per line.
///
/// If there are several metrics, the first in this order is taken: accuracies of held-out data (validation, then test),
/// losses of held-out data, accuracies and losses that name no data, then those of training data. Its direction comes
/// from the options, else the file, else the name, else the data. Empty, `nan` and `inf` values inside a curve are
/// gaps. At its end, `nan`, `inf` and the `null` of JSON mean divergence; for *empty* cells of a table there see
/// [`EmptyEnds`](crate::EmptyEnds).
///
/// Configuration columns that never vary, outcomes and labels are dropped; [`RecordedSet::notes`] lists them. The file is
/// read row by row, so memory is that of the numbers kept. Complexity: O(cells).
///
/// # Errors
/// [`Error`], with file, line, column, the problem, and a remedy.
///
/// ```
/// use foretell_logs::{ReadOptions, read_runs};
/// let file = std::env::temp_dir().join("foretell_logs_read_example.csv");
/// std::fs::write(&file, "lr,acc_1,acc_2\n0.1,0.5,0.6\n0.01,0.4,\n")?;
/// let recorded = read_runs(&file, &ReadOptions::default())?;
/// assert_eq!(recorded.runs[0].curve.scores(), [0.5, 0.6]);
/// assert_eq!(recorded.runs[1].curve.steps(), [1.0]);
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_runs(path: &Path, options: &ReadOptions) -> Result<RecordedSet, Error> {
    read_with_progress(path, options, &mut |_| {})
}

/// Like [`read_runs()`]; `watch` receives the progress of reading a tool's logs.
///
/// # Errors
/// As [`read_runs()`].
pub fn read_with_progress(
    path: &Path,
    options: &ReadOptions,
    watch: &mut dyn FnMut(ReadProgress),
) -> Result<RecordedSet, Error> {
    if old::is_old(path, options)? {
        return Ok(update_logs(&[path.to_owned()], options, None, watch)?.0);
    }
    let (curves, others) = locate(path)?;
    let mut source = TextSource::open(&curves, options.limits)?;
    let (raw, joined) = match source.kind()? {
        CurveFormat::JsonLines => (json_lines::read(source, options)?, false),
        CurveFormat::Csv => read_table(CsvTable::open(source)?, options)?,
    };
    let mut recorded = collect(raw, set_name(&curves), &curves, options)?;
    if let Some(file) = options.configurations.as_ref().filter(|_| !joined) {
        let text = format!(
            "`{}` is not joined, because only long files take configurations from another file",
            file.display()
        );
        recorded.notes.push(Note::new(NoteTopic::Identity, text));
    }
    let ignored: Vec<_> = others
        .iter()
        .filter(|file| options.configurations.as_ref() != Some(file))
        .filter_map(|file| Some(file.file_name()?.to_string_lossy()))
        .collect();
    if !ignored.is_empty() {
        let read = curves.file_name().unwrap_or_default().to_string_lossy();
        let text =
            format!("`{read}` is read; other files are not: {}", list(ignored.iter().map(AsRef::as_ref)));
        recorded.notes.push(Note::new(NoteTopic::Identity, text));
    }
    Ok(recorded)
}

/// Whether `path` contains logs of a tool, even of a single run.
///
/// # Errors
/// [`Error`] if it cannot be read.
pub fn is_tool_log(path: &Path, options: &ReadOptions) -> Result<bool, Error> {
    old::holds_logs(path, options)
}

/// Whether the file at `path` is a table or a file of curves, judged by its beginning.
///
/// # Errors
/// [`Error`] if it cannot be read.
pub fn is_table_file(path: &Path) -> Result<bool, Error> {
    Ok(!path.is_dir() && old::is_table(path)?)
}

/// `runs` of a `metric` that were read from `path` in another way, judged like those of a file: repeats and columns that never vary go.
///
/// # Errors
/// [`Error`] if there are no runs.
pub fn recorded_from_runs(
    runs: &[Run],
    metric: &Metric,
    path: &Path,
    options: &ReadOptions,
) -> Result<RecordedSet, Error> {
    let raw_runs = runs.iter().map(|run| RawRun {
        id: Some(run.id.clone()),
        configuration: run.configuration.clone(),
        steps: run.curve.steps().to_vec(),
        values: run.curve.scores().iter().map(|&score| metric.direction.to_value(score)).collect(),
        ..RawRun::default()
    });
    let raw = RawRuns {
        runs: raw_runs.collect(),
        metric: metric.name.clone(),
        direction: Some(metric.direction),
        ..RawRuns::default()
    };
    collect(raw, set_name(path), path, options)
}

/// Reads the logs of tools below `paths` as one set of runs; `watch` receives the progress. With `before`, only sources are read that
/// changed since its manifest was read from these paths and written into its file of curves. The manifest returned names the files
/// that the runs come from now.
///
/// # Errors
/// [`Error`] if a path, or the file of curves, cannot be read, if a path holds no log of a tool, and if there is no metric to take.
pub fn update_logs(
    paths: &[PathBuf],
    options: &ReadOptions,
    before: Option<(ImportManifest, &Path)>,
    watch: &mut dyn FnMut(ReadProgress),
) -> Result<(RecordedSet, ImportManifest), Error> {
    let mut earlier = None;
    if let Some((manifest, kept)) = before {
        let raw = json_lines::read(TextSource::open(kept, options.limits)?, &ReadOptions::default())?;
        earlier = Some(old::EarlierImport { manifest, runs: raw.runs });
    }
    let (raw, manifest) = old::read(paths, options, earlier, watch)?;
    let first = paths.first().map_or(Path::new("."), PathBuf::as_path);
    Ok((collect(raw, set_name(first), first, options)?, manifest))
}

/// Distinguishes wide from long tables by the header; returns whether it was long.
///
/// A table is long if a step column is named. If there is one by its name, the table is long unless it has numbered columns and its rows do
/// not count steps. A table of metrics alone is one run, with a row per epoch.
fn read_table(table: CsvTable, options: &ReadOptions) -> Result<(RawRuns, bool), Error> {
    let headers = table.headers();
    let families = wide::families(headers);
    let family = wide::curve_family(&families, options.metric.as_deref());
    let sure = family
        .is_some_and(|f| f.columns.len() >= 3 && (is_curve_prefix(&f.prefix) || options.metric.is_some()));
    let stepped = headers.iter().any(|name| step_rank(name).is_some());
    let id = headers.iter().any(|name| id_rank(name).is_some()) || options.id_column.is_some();
    let long = options.step_column.is_some()
        || stepped && (family.is_none() || id && !sure || long::counts_steps(table.again()?, options)?)
        || family.is_none() && !id && !wide::has_curve(&families) && is_one_run(headers);
    match family {
        _ if long => Ok((long::read(table, options)?, true)),
        Some(family) => Ok((wide::read(table, family, &families, options)?, false)),
        None => Err(no_curves_error(&table, &families, options)),
    }
}

fn no_curves_error(table: &CsvTable, families: &[wide::ColumnFamily], options: &ReadOptions) -> Error {
    let file = table.file().to_owned();
    match &options.metric {
        Some(metric) if !families.is_empty() => Error::Metric {
            file,
            problem: format!("no epoch columns start with `{metric}`"),
            candidates: list(families.iter().map(|family| family.prefix.as_str())),
        },
        _ => Error::NoCurves { file, columns: list(table.headers().iter().map(String::as_str)) },
    }
}

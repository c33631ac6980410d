//! Tables of one run: the CSV files of Lightning's and Keras's loggers and the like, TensorBoard's download of one metric, and W&B's export, which
//! has a column for each run.

use super::point::LoggedPoint;
use super::series::{RunLog, SeriesFilter};
use super::{LogFormat, nearby, yaml};
use crate::error::Error;
use crate::names::{id_rank, is_curve_prefix, is_index, is_metric, is_one_run, step_rank};
use crate::source::{FileLimits, TextSource};
use crate::table::CsvTable;
use crate::wide::{curve_family, families, has_curve};
use std::collections::BTreeMap;
use std::path::Path;

/// The separator that W&B puts between the name of a run and that of its metric.
const RUN_METRIC_SEPARATOR: &str = " - ";
const TIME_COLUMNS: [&str; 5] = ["time", "wall_time", "timestamp", "elapsed", "_runtime"];
/// The columns of the table that TensorBoard's page downloads; `Wall time`, `Step`, `Value`.
const DOWNLOAD_COLUMNS: [&str; 3] = ["Wall time", "Step", "Value"];
/// The separator of run and tag in the name of that file: `run-a-tag-val_acc.csv`.
const TAG_SEPARATOR: &str = "-tag-";

/// The format of a table with these column names, if it is one of a tool, or of one run.
pub(crate) fn format_of(headers: &[&str]) -> Option<LogFormat> {
    if headers.len() > 1 && headers[1..].iter().all(|name| name.contains(RUN_METRIC_SEPARATOR)) {
        return Some(LogFormat::WandbTable);
    }
    if headers == DOWNLOAD_COLUMNS {
        return Some(LogFormat::TensorBoardTable);
    }
    if headers.contains(&"training_iteration") && headers.contains(&"trial_id") {
        return Some(LogFormat::Ray);
    }
    if headers.iter().any(|name| id_rank(name).is_some()) || !headers.iter().any(|name| is_metric(name)) {
        return None;
    }
    match headers.first() {
        _ if headers.contains(&"epoch") && headers.contains(&"step") => Some(LogFormat::Lightning),
        Some(&"epoch") => Some(LogFormat::Keras),
        _ => is_single_run(headers).then_some(LogFormat::Table),
    }
}

/// Whether a table with these columns names no runs and has one row per epoch or step of one run.
fn is_single_run(headers: &[&str]) -> bool {
    let headers: Vec<String> = headers.iter().map(|&name| name.to_owned()).collect();
    let families = families(&headers);
    let has_step = headers.iter().any(|name| step_rank(name).is_some());
    let is_curve =
        |family: &crate::wide::ColumnFamily| family.columns.len() >= 3 && is_curve_prefix(&family.prefix);
    let is_wide = curve_family(&families, None).is_some_and(is_curve);
    !is_wide && (has_step || !has_curve(&families) && is_one_run(&headers))
}

/// The one metric of a table that TensorBoard's page downloaded.
pub(crate) fn read_download(file: &Path, id: &str, wanted: &SeriesFilter) -> Result<RunLog, Error> {
    let mut table = CsvTable::open(TextSource::open(file, FileLimits::default())?)?;
    let (run, tag) = id
        .rsplit_once(TAG_SEPARATOR)
        // `a/val_acc.csv` is the metric of run `a`
        .or_else(|| id.rsplit_once('/').filter(|(_, own)| is_metric(own)))
        .unwrap_or((id, if is_metric(id) { id } else { "value" }));
    let (folder, own) = run.rsplit_once('/').map_or(("", run), |(folder, own)| (folder, own));
    let own = own.strip_prefix("run-").unwrap_or(own);
    let id = if folder.is_empty() { own.to_owned() } else { format!("{folder}/{own}") };
    let mut run = RunLog::new(id, LogFormat::TensorBoardTable);
    run.configuration = nearby::find_configuration(file);
    while table.advance()? {
        let (time, step) = (number_in_cell(&table, 0), table.step(1)?);
        if let Some(value) = table.measurement(2)? {
            run.push(tag, LoggedPoint { step, epoch: None, time, value }, wanted);
        }
    }
    Ok(run)
}

/// The one run of a table with a row an epoch, or several.
pub(crate) fn read_run(
    file: &Path,
    id: &str,
    format: LogFormat,
    wanted: &SeriesFilter,
) -> Result<RunLog, Error> {
    let mut table = CsvTable::open(TextSource::open(file, FileLimits::default())?)?;
    let mut run = RunLog::new(id, format);
    if format == LogFormat::Lightning {
        let path = file.with_file_name("hparams.yaml");
        run.configuration = yaml::settings(&nearby::text(&path));
    }
    if run.configuration.is_empty() {
        run.configuration = nearby::find_configuration(file);
    }
    let names: Vec<String> = table.headers().to_vec();
    let [epoch, step, time] =
        [&["epoch", "epochs"][..], &["step", "training_iteration", "global_step"], &TIME_COLUMNS].map(
            |wanted| {
                wanted.iter().find_map(|name| names.iter().position(|own| own.eq_ignore_ascii_case(name)))
            },
        );
    let ranked = names.iter().enumerate().filter_map(|(at, name)| Some((step_rank(name)?, at))).min();
    let index = names.first().filter(|name| is_index(name)).map(|_| 0);
    let step = step.or(epoch).or(ranked.map(|(_, at)| at)).or(index);
    let mut row = 0.0;
    loop {
        match table.advance() {
            Ok(true) => {}
            Ok(false) => break,
            Err(Error::UnclosedQuote { .. }) => break, // cut off while it was written
            Err(error) => return Err(error),
        }
        if table.check_fields(true).is_err() {
            run.damage.get_or_insert(format!(
                "{}:{}: the line contains more fields than the header",
                file.display(),
                table.line()
            ));
            continue;
        }
        let [epoch_now, step_now, time_now] =
            [epoch, step, time].map(|column| column.and_then(|at| number_in_cell(&table, at)));
        row += 1.0;
        let (now, of) = (step_now.or(epoch_now).unwrap_or(row), [epoch, step, time]);
        for (column, name) in names.iter().enumerate().filter(|(column, _)| !of.contains(&Some(*column))) {
            if step_rank(name).is_some() {
                continue;
            }
            if let Some(value) = number_in_cell(&table, column) {
                let point = LoggedPoint { step: now, epoch: epoch_now, time: time_now, value };
                run.push(name, point, wanted);
            }
        }
    }
    Ok(run)
}

/// A number, also one that is not finite; `None` for an empty cell and for a text.
fn number_in_cell(table: &CsvTable, column: usize) -> Option<f64> {
    table.measurement(column).ok().flatten()
}

/// The runs of W&B's export: `NAME - METRIC` for each, and `…__MIN` and `…__MAX`, which say nothing more.
pub(crate) fn read_export(file: &Path, wanted: &SeriesFilter) -> Result<Vec<RunLog>, Error> {
    let mut table = CsvTable::open(TextSource::open(file, FileLimits::default())?)?;
    let names: Vec<String> = table.headers().to_vec();
    let is_epoch = names.first().is_some_and(|name| super::series::is_epoch(name));
    let columns: Vec<(usize, &str, &str)> = names
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, name)| !name.ends_with("__MIN") && !name.ends_with("__MAX"))
        .filter_map(|(at, name)| {
            name.rsplit_once(RUN_METRIC_SEPARATOR).map(|(run, metric)| (at, run, metric))
        })
        .filter(|(_, _, metric)| !metric.starts_with('_'))
        .collect();
    let mut runs: BTreeMap<&str, RunLog> = BTreeMap::new();
    for (_, name, _) in &columns {
        runs.entry(name).or_insert_with(|| RunLog::new(*name, LogFormat::WandbTable));
    }
    while table.advance()? {
        table.check_fields(true)?;
        let step = table.step(0)?;
        for (at, name, metric) in &columns {
            if let (Some(value), Some(run)) = (table.measurement(*at)?, runs.get_mut(name)) {
                let epoch = is_epoch.then_some(step);
                run.push(metric, LoggedPoint { step, epoch, time: None, value }, wanted);
            }
        }
    }
    // reversed, so that of several columns of a run the first one gives its place
    let order: BTreeMap<&str, usize> = columns.iter().rev().map(|(at, name, _)| (*name, *at)).collect();
    let mut runs: Vec<(&str, RunLog)> = runs.into_iter().collect();
    runs.sort_by_key(|(name, _)| order.get(name).copied());
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

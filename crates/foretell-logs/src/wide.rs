//! Wide tables: one row per run, one column per epoch.

use crate::error::Error;
use crate::names::{id_rank, is_curve_prefix, is_metric, metric_rank};
use crate::note::{Note, NoteTopic};
use crate::options::ReadOptions;
use crate::raw::{EmptyEndCounts, RawRun, RawRuns};
use crate::table::{CsvTable, count, list};
use foretell::Configuration;
use std::collections::{HashMap, HashSet};

/// Columns with a common prefix and a number each: `acc_0`, `acc_1`, ….
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnFamily {
    /// The text before the number.
    pub(crate) prefix: String,
    /// (step, index of the column), by increasing step.
    pub(crate) columns: Vec<(f64, usize)>,
}

impl ColumnFamily {
    /// The prefix without the sign before the number.
    pub(crate) fn name(&self) -> &str {
        let name = self.prefix.trim_end_matches(|c: char| !c.is_alphanumeric());
        if name.is_empty() { "value" } else { name }
    }

    fn steps(&self) -> Vec<f64> {
        self.columns.iter().map(|&(step, _)| step).collect()
    }
}

/// The families of a header, in the order in which they appear. At most 15 digits count as a step.
pub(crate) fn families(headers: &[String]) -> Vec<ColumnFamily> {
    let mut families: Vec<ColumnFamily> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, header) in headers.iter().enumerate() {
        let prefix = header.trim_end_matches(|c: char| c.is_ascii_digit());
        let Ok(step) = header[prefix.len()..].parse::<f64>() else { continue };
        // a longer number would not be exact as a step
        if header.len() - prefix.len() > 15 {
            continue;
        }
        let place = *places.entry(prefix).or_insert_with(|| {
            families.push(ColumnFamily { prefix: prefix.to_owned(), columns: Vec::new() });
            families.len() - 1
        });
        families[place].columns.push((step, at));
    }
    for family in &mut families {
        family.columns.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    families
}

/// Whether two numbered columns or more are epochs of one metric, where no column of steps makes them classes.
pub(crate) fn has_curve(families: &[ColumnFamily]) -> bool {
    families.iter().any(|family| family.columns.len() >= 2 && crate::names::is_curve_prefix(&family.prefix))
}

/// The family that holds the curves, by `metric` or by name and length.
///
/// Families named like a metric or an epoch and at least half as long as the longest of these; of them held-out
/// accuracy first (see [`metric_rank`]), then the longest. Without such names the longest family of 3 columns or more.
pub(crate) fn curve_family<'a>(
    families: &'a [ColumnFamily],
    metric: Option<&str>,
) -> Option<&'a ColumnFamily> {
    if let Some(metric) = metric {
        return families.iter().find(|family| family.prefix == metric || family.name() == metric);
    }
    let named = families.iter().filter(|family| is_curve_prefix(&family.prefix));
    let longest = named.clone().map(|family| family.columns.len()).max().unwrap_or(0);
    let best = named.filter(|family| 2 * family.columns.len() >= longest).min_by_key(|family| {
        (metric_rank(&family.prefix).unwrap_or(usize::MAX), usize::MAX - family.columns.len())
    });
    best.or_else(|| {
        // reversed, because the last of equal lengths wins: the first one of the table is meant
        let unnamed = families.iter().rev().filter(|family| family.columns.len() >= 3);
        unnamed.max_by_key(|family| family.columns.len())
    })
}

/// Reads a table whose curves are in `family`. Trailing empty cells end a run, unless [`ReadOptions::empty_ends`] says
/// otherwise; `nan` and `inf` there mean divergence.
pub(crate) fn read(
    mut table: CsvTable,
    family: &ColumnFamily,
    all: &[ColumnFamily],
    options: &ReadOptions,
) -> Result<RawRuns, Error> {
    if let Some(pair) = family.columns.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        return Err(table.duplicate_column(pair[0].1, pair[1].1, format!("step {}", pair[1].0)));
    }
    let others = other_series(family, all);
    let series: HashSet<usize> =
        others.iter().copied().chain([family]).flat_map(|f| f.columns.iter().map(|&(_, at)| at)).collect();
    let known: Vec<usize> = (0..table.headers().len()).filter(|at| !series.contains(at)).collect();
    let explicit = options.id_column.as_deref().map(|name| table.column(name, "id column")).transpose()?;
    if let Some(at) = explicit.filter(|at| series.contains(at)) {
        let mut other_series = others.iter().copied();
        let series = other_series.find(|family| family.columns.iter().any(|&(_, column)| column == at));
        let series = series.unwrap_or(family);
        let (file, column) = (table.file().to_owned(), table.headers()[at].clone());
        return Err(Error::IdInSeries { file, column, series: series.name().to_owned() });
    }
    let mut raw = RawRuns { metric: family.name().to_owned(), ..RawRuns::default() };
    let (mut short, mut ends) = (0, EmptyEndCounts::default());
    while table.advance()? {
        short += usize::from(table.fields() < table.headers().len());
        let cells = cells(&table, family, &known)?;
        let end = ends.take(&cells, false, options);
        let (line, configuration) = (table.line(), configuration(&table, &known)?);
        let run = RawRun { line, configuration, ..RawRun::default() };
        raw.runs.push(run.with_curve(family.columns.iter().map(|&(step, _)| step), &cells[..end]));
    }
    note_series(&mut raw, family, &others, short);
    raw.note_empty_ends(ends, options);
    name_runs(&mut raw, &table, &known, explicit)?;
    Ok(raw)
}

/// Families that are other series, not configuration: named like a metric, or with the very steps of the curves.
fn other_series<'a>(family: &ColumnFamily, all: &'a [ColumnFamily]) -> Vec<&'a ColumnFamily> {
    all.iter()
        .filter(|other| other.prefix != family.prefix)
        .filter(|other| {
            is_metric(&other.prefix) || family.columns.len() >= 5 && other.steps() == family.steps()
        })
        .collect()
}

/// The cells of a row's curve; the row may end before its last epochs, which are then absent, not empty.
fn cells(table: &CsvTable, family: &ColumnFamily, known: &[usize]) -> Result<Vec<Option<f64>>, Error> {
    let fields = table.fields();
    let lacks_only_epochs =
        known.iter().all(|&at| at < fields) && family.columns.iter().any(|&(_, at)| at < fields);
    table.check_fields(lacks_only_epochs)?;
    let there = family.columns.iter().rposition(|&(_, at)| at < fields).map_or(0, |last| last + 1);
    family.columns[..there].iter().map(|&(_, at)| table.measurement(at)).collect()
}

/// The cells of the columns `known`, by name.
pub(crate) fn configuration(table: &CsvTable, known: &[usize]) -> Result<Configuration, Error> {
    known.iter().map(|&at| Ok((table.headers()[at].clone(), table.value(at)?))).collect()
}

fn note_series(raw: &mut RawRuns, family: &ColumnFamily, others: &[&ColumnFamily], short: usize) {
    let (first, last) = (family.columns.first(), family.columns.last());
    if let (Some(first), Some(last)) = (first, last) {
        let (columns, prefix) = (count(family.columns.len(), "column"), &family.prefix);
        let text = format!("curves from {columns} `{prefix}{}` to `{prefix}{}`", first.0, last.0);
        raw.notes.push(Note::new(NoteTopic::Metric, text));
    }
    raw.others = others.len();
    if !others.is_empty() {
        let names = list(others.iter().map(|family| family.prefix.as_str()));
        raw.notes.push(Note::new(NoteTopic::Excluded, format!("other series left out: {names}")));
    }
    if short > 0 {
        raw.notes.push(Note::new(
            NoteTopic::Lengths,
            format!("{} without the last epoch columns", count(short, "row")),
        ));
    }
}

/// Names the runs by the `explicit` column, else by the first usual id column that is unique for each run. If none is
/// unique, a note says why the most usual one is not used.
fn name_runs(
    raw: &mut RawRuns,
    table: &CsvTable,
    known: &[usize],
    explicit: Option<usize>,
) -> Result<(), Error> {
    let mut candidates: Vec<usize> =
        known.iter().copied().filter(|&at| id_rank(&table.headers()[at]).is_some()).collect();
    candidates.sort_by_key(|&at| id_rank(&table.headers()[at]));
    let mut unfit = None;
    for at in explicit.map_or(candidates, |at| vec![at]) {
        let column = &table.headers()[at];
        let ids: Vec<String> = raw.runs.iter().map(|run| run.configuration[column].to_string()).collect();
        let mut lines: HashMap<&str, u64> = HashMap::new();
        let clash = raw.runs.iter().zip(&ids).find_map(|(run, id)| {
            let first_line = lines.insert(id, run.line);
            (id.is_empty() || first_line.is_some()).then_some((run.line, id, first_line))
        });
        match clash {
            None => {
                raw.id_column = Some(column.clone());
                raw.runs.iter_mut().zip(ids).for_each(|(run, id)| run.id = Some(id));
                return Ok(());
            }
            Some((line, id, first_line)) if explicit.is_none() => {
                let why = match first_line {
                    Some(first) if !id.is_empty() => format!("`{id}` is in lines {first} and {line}"),
                    _ => format!("it is empty in line {line}"),
                };
                unfit.get_or_insert(format!(
                    "column `{column}` cannot name the runs, which are numbered instead: {why}"
                ));
            }
            Some((line, id, first_line)) => {
                let (file, column, id) = (table.file().to_owned(), column.clone(), id.clone());
                return Err(match first_line {
                    Some(first_line) => Error::DuplicateId { file, line, id, first_line },
                    None => Error::NoId { file, line, column },
                });
            }
        }
    }
    raw.notes.extend(unfit.map(|text| Note::new(NoteTopic::Identity, text)));
    Ok(())
}

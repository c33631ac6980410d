//! Long tables: one row a (run, epoch), with the configuration in the same file or joined from a second one.

use crate::error::Error;
use crate::locate::configurations_nearby;
use crate::names::{id_rank, is_index, is_label, is_metric, is_one_run, is_outcome, metric_rank, step_rank};
use crate::note::{Note, NoteTopic};
use crate::options::ReadOptions;
use crate::raw::{EmptyEndCounts, RawRun, RawRuns};
use crate::source::TextSource;
use crate::table::{CsvTable, cell_value, count, list, truncate_text};
use crate::wide::configuration;
use foretell::{Configuration, Value};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// Reads a long table, and joins the configurations that belong to it.
pub(crate) fn read(mut table: CsvTable, options: &ReadOptions) -> Result<RawRuns, Error> {
    let columns = ColumnRoles::find(&table, options)?;
    let mut rows = RowCollector::new(columns);
    while table.advance()? {
        table.check_fields(false)?;
        rows.add(&table)?;
    }
    let mut raw = rows.finish(&table, options)?;
    let file = options.configurations.clone();
    let file = file.or_else(|| raw.id_column.as_ref().and_then(|_| configurations_nearby(table.file())));
    if let Some(file) = file {
        join_configurations(&mut raw, table.file(), &file, options)?;
    }
    Ok(raw)
}

/// Whether the rows of a table with a column of steps and numbered columns are steps of runs: the steps increase from row to row, or, where a
/// column names the runs, runs have several rows. Otherwise each row is a run, and the column of steps is a setting of it.
pub(crate) fn counts_steps(mut table: CsvTable, options: &ReadOptions) -> Result<bool, Error> {
    let id = match &options.id_column {
        Some(name) => Some(table.column(name, "id column")?),
        None => best_ranked_column(&table, id_rank),
    };
    let Some(step) = best_ranked_column(&table, step_rank) else { return Ok(false) };
    let (mut ids, mut last, mut rows) = (HashSet::new(), f64::NEG_INFINITY, 0);
    while table.advance()? {
        rows += 1;
        match id {
            Some(id) if !ids.insert(table.bytes(id).to_vec()) => return Ok(true),
            Some(_) => {}
            None => match table.step(step) {
                Ok(now) if now > last => last = now,
                _ => return Ok(false),
            },
        }
    }
    Ok(id.is_none() && rows > 1)
}

/// The roles of the columns.
struct ColumnRoles {
    id: Option<usize>,
    /// `None` if rows are counted.
    step: Option<usize>,
    metric: usize,
    /// Configuration, unless they vary within a run.
    others: Vec<usize>,
    /// The column that names the metric of a row, and the name of the metric that is read.
    tag: Option<(usize, String)>,
}

impl ColumnRoles {
    fn find(table: &CsvTable, options: &ReadOptions) -> Result<Self, Error> {
        let id = match &options.id_column {
            Some(name) => Some(table.column(name, "id column")?),
            None => best_ranked_column(table, id_rank),
        };
        let step = match &options.step_column {
            Some(name) => Some(table.column(name, "step column")?),
            None => best_ranked_column(table, step_rank).or_else(|| index_column(table)),
        };
        if step.is_none() && !is_one_run(table.headers()) {
            let columns = list(table.headers().iter().map(String::as_str));
            return Err(Error::NoCurves { file: table.file().to_owned(), columns });
        }
        let id = id.filter(|&at| options.id_column.is_some() || !is_name_of_metrics(table, at));
        let rest: Vec<usize> =
            (0..table.headers().len()).filter(|&at| Some(at) != step && Some(at) != id).collect();
        if let Some((tag, value)) = tag_columns(table, &rest) {
            let tag = Some((tag, choose_tagged_metric(table.again()?, tag, options.metric.as_deref())?));
            return Ok(Self { id, step, metric: value, others: Vec::new(), tag });
        }
        let metric = metric_column(table, &rest, options.metric.as_deref())?;
        let others = rest.into_iter().filter(|&at| at != metric).collect();
        Ok(Self { id, step, metric, others, tag: None })
    }
}

/// The columns with the names and the values of metrics, in a table with a row per metric and step: `tag,step,value`.
fn tag_columns(table: &CsvTable, rest: &[usize]) -> Option<(usize, usize)> {
    const TAG_COLUMN_NAMES: [&str; 6] = ["tag", "metric", "metric_name", "name", "key", "variable"];
    let headers = table.headers();
    let tag = rest.iter().find(|&&at| TAG_COLUMN_NAMES.contains(&headers[at].to_lowercase().as_str()))?;
    let value = rest.iter().find(|&&at| headers[at].to_lowercase() == "value")?;
    (!rest.iter().any(|&at| is_metric(&headers[at]))).then_some((*tag, *value))
}

/// Whether a column `name` contains the names of metrics, not of runs.
fn is_name_of_metrics(table: &CsvTable, column: usize) -> bool {
    table.headers()[column].eq_ignore_ascii_case("name")
        && table.headers().iter().any(|name| name.eq_ignore_ascii_case("value"))
        && table
            .again()
            .and_then(|table| choose_tagged_metric(table, column, None))
            .is_ok_and(|name| is_metric(&name))
}

/// The metric that was asked for, or else the best by its name, among the cells of the column `tag`.
fn choose_tagged_metric(mut table: CsvTable, tag: usize, asked: Option<&str>) -> Result<String, Error> {
    let mut names = BTreeSet::new();
    while table.advance()? {
        names.insert(table.text(tag)?.to_owned());
    }
    let found = match asked {
        Some(asked) => names.get(asked),
        None if names.len() == 1 => names.first(),
        None => names.iter().filter_map(|name| Some((metric_rank(name)?, name))).min().map(|(_, name)| name),
    };
    found.cloned().ok_or_else(|| Error::Metric {
        file: table.file().to_owned(),
        problem: match asked {
            Some(asked) => format!("there is no metric `{asked}`"),
            None => "no name in the column of metrics is that of a known one".to_owned(),
        },
        candidates: list(names.iter().map(String::as_str)),
    })
}

/// The first column, if it has no name and the others are metrics: pandas' index, which counts epochs.
fn index_column(table: &CsvTable) -> Option<usize> {
    let headers = table.headers();
    (headers.first().is_some_and(|name| is_index(name)) && is_one_run(headers)).then_some(0)
}

fn best_ranked_column(table: &CsvTable, rank: fn(&str) -> Option<usize>) -> Option<usize> {
    let ranked = table.headers().iter().enumerate().filter_map(|(at, name)| Some((rank(name)?, at)));
    ranked.min().map(|(_, at)| at)
}

/// The metric that was asked for, else the best by name, else the only column that is left.
fn metric_column(table: &CsvTable, rest: &[usize], asked: Option<&str>) -> Result<usize, Error> {
    let names = table.headers();
    let metrics: Vec<usize> = rest.iter().copied().filter(|&at| is_metric(&names[at])).collect();
    let found = match (asked, rest) {
        (Some(asked), _) => rest.iter().copied().find(|&at| names[at] == asked),
        (None, &[only]) => Some(only),
        (None, _) => metrics.iter().copied().min_by_key(|&at| (metric_rank(&names[at]), at)).or_else(|| {
            rest.iter().copied().find(|&at| ["value", "metric", "y"].contains(&names[at].as_str()))
        }),
    };
    found.ok_or_else(|| Error::Metric {
        file: table.file().to_owned(),
        problem: match asked {
            Some(asked) => format!("there is no metric `{asked}`"),
            None => "no column name is that of a known metric".to_owned(),
        },
        candidates: list(
            if metrics.is_empty() { rest } else { &metrics }.iter().map(|&at| names[at].as_str()),
        ),
    })
}

/// One row of a run.
struct RunRow {
    step: f64,
    /// `None` if the cell is empty.
    value: Option<f64>,
    line: u64,
}

/// A run while its rows come in.
struct OpenRun {
    id: Option<String>,
    line: u64,
    first: Vec<Vec<u8>>,
    configuration: Configuration,
    points: Vec<RunRow>,
    /// For each of `columns.others`, the first row whose cell is not that of the run's first row: its line and its cell.
    departures: Vec<Option<(u64, Vec<u8>)>>,
}

/// The rows read so far.
struct RowCollector {
    columns: ColumnRoles,
    places: HashMap<String, usize>,
    runs: Vec<OpenRun>,
    count: u64,
}

impl RowCollector {
    fn new(columns: ColumnRoles) -> Self {
        Self { columns, places: HashMap::new(), runs: Vec::new(), count: 0 }
    }

    fn add(&mut self, table: &CsvTable) -> Result<(), Error> {
        if let Some((tag, name)) = &self.columns.tag
            && table.text(*tag)? != name
        {
            return Ok(());
        }
        self.count += 1;
        let point = RunRow {
            step: self.columns.step.map_or(Ok(self.count as f64), |column| table.step(column))?,
            value: table.measurement(self.columns.metric)?,
            line: table.line(),
        };
        let place = self.place(table)?;
        let run = &mut self.runs[place];
        let cells = self.columns.others.iter().map(|&column| table.bytes(column));
        for ((cell, first), departure) in cells.zip(&run.first).zip(&mut run.departures) {
            if departure.is_none() && !is_same_cell(cell, first) {
                *departure = Some((table.line(), cell.to_vec()));
            }
        }
        run.points.push(point);
        Ok(())
    }

    /// The run of this row; a new one if its id was not seen before.
    fn place(&mut self, table: &CsvTable) -> Result<usize, Error> {
        let id = match self.columns.id {
            Some(column) => read_id(table, column)?,
            None => String::new(),
        };
        if let Some(&place) = self.places.get(&id) {
            return Ok(place);
        }
        let place = self.runs.len();
        self.runs.push(OpenRun {
            id: self.columns.id.map(|_| id.clone()),
            line: table.line(),
            first: self.columns.others.iter().map(|&at| table.bytes(at).to_vec()).collect(),
            configuration: configuration(table, &self.columns.others)?,
            points: Vec::new(),
            departures: vec![None; self.columns.others.len()],
        });
        self.places.insert(id, place);
        Ok(place)
    }

    fn finish(mut self, table: &CsvTable, options: &ReadOptions) -> Result<RawRuns, Error> {
        let tagged = self.columns.tag.as_ref().map(|(_, name)| name);
        let metric = tagged.unwrap_or(&table.headers()[self.columns.metric]).clone();
        let id_column = self.columns.id.map(|id| table.headers()[id].clone());
        let mut raw = RawRuns { metric, id_column, ..RawRuns::default() };
        self.note_columns(&mut raw, table, options)?;
        let (mut repeated, mut ends) = (0, EmptyEndCounts::default());
        for run in self.runs {
            let id = run.id.clone().unwrap_or_else(|| crate::locate::set_name(table.file()));
            let (points, same) = sort_and_merge(run.points, &id, table.file())?;
            repeated += same;
            let cells: Vec<Option<f64>> = points.iter().map(|point| point.value).collect();
            let end = ends.take(&cells, true, options);
            let (line, configuration) = (run.line, run.configuration);
            let run = RawRun { id: Some(id), line, configuration, ..RawRun::default() };
            raw.runs.push(run.with_curve(points.iter().map(|point| point.step), &cells[..end]));
        }
        raw.note_empty_ends(ends, options);
        if repeated > 0 {
            let text = format!("{} left out as repeats of the same run and step", count(repeated, "row"));
            raw.notes.push(Note::new(NoteTopic::Removed, text));
        }
        Ok(raw)
    }

    /// Takes the columns that are series out of the configurations, with a note.
    fn note_columns(
        &mut self,
        raw: &mut RawRuns,
        table: &CsvTable,
        options: &ReadOptions,
    ) -> Result<(), Error> {
        let mut left_out = Vec::new();
        for (column, &at) in self.columns.others.iter().enumerate() {
            let name = &table.headers()[at];
            let text = self
                .runs
                .iter()
                .any(|run| run.configuration.get(name).is_some_and(|v| v.as_text().is_some()));
            let series = is_metric(name) && !text;
            let varying = self.runs.iter().filter(|run| run.departures[column].is_some()).count();
            if !series && self.is_setting_of_most(column, name, varying) {
                if options.exclude.contains(name) {
                    continue;
                }
                let included = options.include.contains(name);
                if included || !(is_label(name) || is_outcome(name, !text)) {
                    let departure = self.departure(column, varying, table)?;
                    raw.notes.push(Note::new(NoteTopic::Excluded, departure));
                }
            }
            raw.others += usize::from(series);
            if series || varying > 0 {
                left_out.push(name.as_str());
            }
        }
        for run in &mut self.runs {
            run.configuration.retain(|name, _| !left_out.contains(&name.as_str()));
        }
        let mut text = match self.columns.step {
            Some(step) if is_index(&table.headers()[step]) => {
                format!("metric `{}` by the table's index", raw.metric)
            }
            Some(step) => format!("metric `{}` by step `{}`", raw.metric, table.headers()[step]),
            None => {
                format!(
                    "metric `{}`; no step column, so rows are used as epochs, starting from 1",
                    raw.metric
                )
            }
        };
        if !left_out.is_empty() {
            text = format!("{text}; other series left out: {}", list(left_out));
        }
        raw.notes.push(Note::new(NoteTopic::Metric, text));
        if self.columns.id.is_none() {
            raw.notes.push(Note::new(NoteTopic::Identity, "no id column, so all rows form one run"));
        }
        Ok(())
    }

    /// Whether the column varies within fewer than half of the runs, while the others differ in it from one another: the
    /// setting of a run then, not a series.
    fn is_setting_of_most(&self, column: usize, name: &str, varying: usize) -> bool {
        let constant = self.runs.iter().filter(|run| run.departures[column].is_none());
        let values: Vec<&Value> = constant.filter_map(|run| run.configuration.get(name)).collect();
        (1..self.runs.len().div_ceil(2)).contains(&varying)
            && values.windows(2).any(|pair| pair[0] != pair[1])
    }

    /// The note on a setting that varies within some runs; an error if they are a tenth at most: that is a slip of the pen.
    fn departure(&self, column: usize, varying: usize, table: &CsvTable) -> Result<String, Error> {
        let departed = self.runs.iter().find_map(|run| Some((run, run.departures[column].as_ref()?)));
        let (run, (line, cell)) = departed.expect("only asked for columns that vary within a run");
        let (first, second, first_line) = (display_cell(&run.first[column]), display_cell(cell), run.line);
        let column = table.headers()[self.columns.others[column]].clone();
        let id = run.id.clone().unwrap_or_default();
        let (constant, runs) = (self.runs.len() - varying, self.runs.len());
        if 10 * varying > runs {
            return Ok(format!(
                "column `{column}` is left out because it varies within {varying} of {runs} runs: in run `{id}`, it is {second} in line {line}, but {first} in line {first_line}"
            ));
        }
        let (file, line) = (table.file().to_owned(), *line);
        let values = format!("{second}, but {first} in line {first_line}");
        Err(Error::Varies { file, line, column, id, values, constant, runs })
    }
}

/// Whether two cells say the same: `0.10` is `0.1`.
fn is_same_cell(a: &[u8], b: &[u8]) -> bool {
    a == b
        || match (std::str::from_utf8(a), std::str::from_utf8(b)) {
            (Ok(a), Ok(b)) => cell_value(a) == cell_value(b),
            _ => false,
        }
}

/// A cell as messages have it.
fn display_cell(cell: &[u8]) -> String {
    let text = String::from_utf8_lossy(cell.trim_ascii());
    if text.is_empty() { "empty".to_owned() } else { truncate_text(&text) }
}

/// The id in `column`, which must not be empty; `1.0` is `1`.
fn read_id(table: &CsvTable, column: usize) -> Result<String, Error> {
    let id = table.text(column)?;
    if id.is_empty() {
        let (file, column) = (table.file().to_owned(), table.headers()[column].clone());
        return Err(Error::NoId { file, line: table.line(), column });
    }
    // pandas writes whole numbers as `1.0` if one of their column is missing, and ids of two files must agree
    Ok(id.strip_suffix(".0").filter(|whole| whole.parse::<u64>().is_ok()).unwrap_or(id).to_owned())
}

/// Sorts the points of a run by step and merges rows of the same step; returns how many repeated a value.
///
/// An empty cell gives way to a value. Two different values are an error.
fn sort_and_merge(mut points: Vec<RunRow>, id: &str, file: &Path) -> Result<(Vec<RunRow>, usize), Error> {
    points.sort_by(|a, b| a.step.total_cmp(&b.step));
    let mut repeated = 0;
    let mut merged: Vec<RunRow> = Vec::with_capacity(points.len());
    for point in points {
        let Some(before) = merged.last_mut().filter(|before| before.step >= point.step) else {
            merged.push(point);
            continue;
        };
        match (before.value, point.value) {
            (Some(first), Some(second)) if !same(first, second) => {
                let (file, id, step) = (file.to_owned(), id.to_owned(), point.step);
                let (first_line, line) = (before.line, point.line);
                return Err(Error::Conflict { file, line, id, step, first, first_line, second });
            }
            (None, Some(_)) => *before = point,
            _ => repeated += 1,
        }
    }
    Ok((merged, repeated))
}

fn same(a: f64, b: f64) -> bool {
    a.total_cmp(&b).is_eq() || (a.is_nan() && b.is_nan())
}

/// Adds the configurations of a second table, one row per run, to the runs of `curves` with the same id.
fn join_configurations(
    raw: &mut RawRuns,
    curves: &Path,
    file: &Path,
    options: &ReadOptions,
) -> Result<(), Error> {
    let mut table = CsvTable::open(TextSource::open(file, options.limits)?)?;
    let name = raw.id_column.clone().unwrap_or_default();
    let id = table.column(&name, "id column")?;
    let known: Vec<usize> = (0..table.headers().len()).filter(|&at| at != id).collect();
    let mut found: HashMap<String, (u64, Configuration)> = HashMap::new();
    while table.advance()? {
        table.check_fields(false)?;
        let key = read_id(&table, id)?;
        let entry = (table.line(), configuration(&table, &known)?);
        match found.get(&key) {
            Some((first_line, before)) if *before != entry.1 => {
                let (file, line, first_line) = (file.to_owned(), table.line(), *first_line);
                return Err(Error::DuplicateId { file, line, id: key, first_line });
            }
            _ => found.insert(key, entry),
        };
    }
    for &at in &known {
        check_agreement(raw, curves, &table.headers()[at], &found, options).map_err(
            |(line, column, id, values)| Error::Disagree { file: file.to_owned(), line, column, id, values },
        )?;
    }
    assign_configurations(raw, &table, &known, &found);
    Ok(())
}

/// Checks that a `column` of both files says the same of each run in both, unless it is none that is looked at. Else the line
/// of the second file, the column, the run and the two values.
fn check_agreement(
    raw: &RawRuns,
    curves: &Path,
    column: &str,
    found: &HashMap<String, (u64, Configuration)>,
    options: &ReadOptions,
) -> Result<(), (u64, String, String, String)> {
    let (excluded, included) = (
        options.exclude.iter().any(|name| name == column),
        options.include.iter().any(|name| name == column),
    );
    if excluded || ((is_label(column) || is_outcome(column, true)) && !included) {
        return Ok(());
    }
    for run in &raw.runs {
        let Some((id, (line, row))) = run.id.as_ref().and_then(|id| Some((id, found.get(id)?))) else {
            continue;
        };
        if let (Some(own), Some(other)) = (run.configuration.get(column), row.get(column))
            && *own != Value::Missing
            && *other != Value::Missing
            && own != other
        {
            let name = curves.file_name().unwrap_or_default().to_string_lossy();
            let values = format!("{other}, but {own} in line {} of {name}", run.line);
            return Err((*line, column.to_owned(), id.clone(), values));
        }
    }
    Ok(())
}

fn assign_configurations(
    raw: &mut RawRuns,
    table: &CsvTable,
    known: &[usize],
    found: &HashMap<String, (u64, Configuration)>,
) {
    let own: HashSet<&str> =
        raw.runs.iter().flat_map(|run| run.configuration.keys().map(String::as_str)).collect();
    let columns = known.iter().map(|&at| &table.headers()[at]);
    let joined = columns.filter(|name| !own.contains(name.as_str())).cloned().collect();
    raw.joined = joined;
    let mut without = 0;
    for run in &mut raw.runs {
        let row = run.id.as_ref().and_then(|id| found.get(id));
        without += usize::from(row.is_none());
        for &at in known {
            let column = &table.headers()[at];
            let value = row.and_then(|(_, row)| row.get(column).cloned()).unwrap_or(Value::Missing);
            let own = run.configuration.entry(column.clone()).or_insert(Value::Missing);
            if *own == Value::Missing {
                *own = value;
            }
        }
    }
    let joined = raw.runs.len() - without;
    let unused = found.len().saturating_sub(joined);
    let file = table.file().file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let mut text = format!("configurations of {} joined from `{file}`", count(joined, "run"));
    if without > 0 {
        text = format!("{text}; {} without", count(without, "run"));
    }
    if unused > 0 {
        text = format!("{text}; {} without a curve", count(unused, "row"));
    }
    raw.notes.push(Note::new(NoteTopic::Identity, text));
}

//! Reads and writes JSON lines, one object per run.

use crate::error::Error;
use crate::note::{Note, NoteTopic};
use crate::old::{self, RunEnd};
use crate::options::ReadOptions;
use crate::raw::{RawRun, RawRuns};
use crate::recorded::RecordedSet;
use crate::source::TextSource;
use foretell::{Configuration, Direction, Metric, Run, Value};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufRead, Write};
use std::path::Path;

const KNOWN_FIELDS: [&str; 8] =
    ["id", "metric", "direction", "configuration", "values", "steps", "ended", "seconds"];

/// One run, as a line.
#[derive(Serialize)]
struct RunLine<'a> {
    id: &'a str,
    metric: &'a str,
    direction: Direction,
    configuration: &'a Configuration,
    values: Vec<Option<f64>>,
    steps: Vec<f64>,
    #[serde(skip_serializing_if = "is_unknown")]
    ended: RunEnd,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

fn is_unknown(ended: &RunEnd) -> bool {
    *ended == RunEnd::Unknown
}

/// Writes one JSON object per run, each on one line: `{"id", "metric", "direction", "configuration", "values",
/// "steps"}`.
///
/// Values are in the metric's own direction; the first step of a divergence, and of each gap of values that are not finite,
/// is written with the value `null`.
/// Read back with [`ReadOptions::keep_all_columns`](crate::ReadOptions::keep_all_columns), the runs are the same, bit
/// for bit.
///
/// # Errors
/// The errors of `writer`, and [`io::ErrorKind::InvalidInput`] if a curve has another direction than the metric.
///
/// ```
/// use foretell::{Configuration, Curve, Direction, Metric, Run};
/// let curve = Curve::from_epoch_values(&[2.5, 2.0], Direction::Minimize);
/// let run = Run { id: "a".into(), configuration: Configuration::new(), curve };
/// let mut text = Vec::new();
/// foretell_logs::write_json_lines(&mut text, &[run], &Metric::new("loss", Direction::Minimize))?;
/// let expected = r#"{"id":"a","metric":"loss","direction":"minimize","configuration":{},"values":[2.5,2.0],"steps":[1.0,2.0]}"#;
/// assert_eq!(String::from_utf8_lossy(&text).trim_end(), expected);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_json_lines<'a>(
    writer: impl Write,
    runs: impl IntoIterator<Item = &'a Run>,
    metric: &Metric,
) -> io::Result<()> {
    write_lines(writer, runs.into_iter().map(|run| (run, RunEnd::Unknown, None)), metric)
}

/// Like [`write_json_lines`], with the end of each run and the duration of a unit of its resource: `"ended"` and `"seconds"`.
///
/// # Errors
/// As [`write_json_lines`].
pub fn write_recorded(writer: impl Write, recorded: &RecordedSet) -> io::Result<()> {
    let runs = recorded.runs.iter().zip(&recorded.ended).zip(&recorded.seconds);
    write_lines(writer, runs.map(|((run, &ended), &seconds)| (run, ended, seconds)), &recorded.metric)
}

fn write_lines<'a>(
    mut writer: impl Write,
    runs: impl Iterator<Item = (&'a Run, RunEnd, Option<f64>)>,
    metric: &Metric,
) -> io::Result<()> {
    let Metric { name: metric, direction, .. } = metric;
    let direction = *direction;
    for (run, ended, seconds) in runs {
        let curve = &run.curve;
        if curve.direction().is_some_and(|own| own != direction) {
            let reason = format!(
                "the direction of run `{}` is the opposite of that of `{metric}`. Create its curve with the direction of the metric",
                run.id
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let finite = curve.steps().iter().zip(curve.scores());
        let finite = finite.map(|(&step, &score)| (step, Some(direction.to_value(score))));
        let lost = curve.gap_starts().iter().copied().chain(curve.diverged_at()).map(|step| (step, None));
        let mut points: Vec<(f64, Option<f64>)> = finite.chain(lost).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (steps, values) = points.into_iter().unzip();
        let configuration = &run.configuration;
        let line = RunLine { id: &run.id, metric, direction, configuration, values, steps, ended, seconds };
        serde_json::to_writer(&mut writer, &line)?;
        writer.write_all(b"\n")?;
    }
    Ok(())
}

/// Reads one object per line and skips empty lines. If the file does not name its metric, the metric is the one asked for. Where a
/// metric or a direction is asked for, and some lines have it, lines that name another one are set aside.
pub(crate) fn read(source: TextSource, asked: &ReadOptions) -> Result<RawRuns, Error> {
    let (file, gzip) = (source.file().to_owned(), source.is_gzip());
    let mut reader = source.into_reader();
    let mut lines = RunLines {
        file: &file,
        asked,
        metric: asked.metric.clone(),
        aside: BTreeMap::new(),
        line: 0,
        first: HashMap::new(),
        unknown: BTreeSet::new(),
        raw: RawRuns::default(),
    };
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = reader.read_until(b'\n', &mut bytes);
        if read.map_err(|source| crate::source::read_error(&file, gzip, lines.line, source))? == 0 {
            break;
        }
        lines.line += 1;
        if !bytes.trim_ascii().is_empty() {
            lines.add(bytes.trim_ascii_end())?;
        }
    }
    lines.finish()
}

/// The lines read so far.
struct RunLines<'a> {
    file: &'a Path,
    asked: &'a ReadOptions,
    metric: Option<String>,
    /// The number of runs of other metrics and directions than those asked for, by the name of both.
    aside: BTreeMap<String, usize>,
    line: u64,
    first: HashMap<String, u64>,
    unknown: BTreeSet<String>,
    raw: RawRuns,
}

impl RunLines<'_> {
    fn line_error(&self, message: impl Into<String>) -> Error {
        Error::Json { file: self.file.to_owned(), line: self.line, message: message.into() }
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let text = std::str::from_utf8(bytes).map_err(|_| Error::NotUtf8 {
            file: self.file.to_owned(),
            line: self.line,
            field: "the line".to_owned(),
        })?;
        let object = self.parse(text)?;
        self.unknown.extend(object.keys().filter(|key| !KNOWN_FIELDS.contains(&key.as_str())).cloned());
        if !self.read_metric(&object)? {
            return Ok(());
        }
        let run = RawRun {
            id: Some(self.id(&object)?),
            line: self.line,
            configuration: self.configuration(&object)?,
            values: self
                .read_numbers(&object, "values")?
                .ok_or_else(|| self.line_error("the field `values` is missing"))?,
            ended: self.read_end(&object)?,
            seconds: object.get("seconds").and_then(Json::as_f64),
            ..RawRun::default()
        };
        let steps = self.read_numbers(&object, "steps")?;
        let steps = steps.unwrap_or_else(|| (1..=run.values.len()).map(|epoch| epoch as f64).collect());
        self.raw.runs.push(RawRun { steps, ..run });
        Ok(())
    }

    fn parse(&self, text: &str) -> Result<Map<String, Json>, Error> {
        let parsed = serde_json::from_str(text).or_else(|error| match crate::json::finite_only(text) {
            Some(text) => serde_json::from_str(&text),
            None => Err(error),
        });
        match parsed {
            Ok(Json::Object(object)) => Ok(object),
            Ok(other) => Err(self.line_error(format!("found {} instead of an object", json_kind(&other)))),
            Err(error) if error.is_eof() && text.starts_with('[') => {
                Err(self.line_error("the file contains a JSON list"))
            }
            Err(error) => {
                let full = error.to_string();
                let message = full.rsplit_once(" at line").map_or(full.as_str(), |(message, _)| message);
                Err(self.line_error(format!("column {}: {message}", error.column())))
            }
        }
    }

    /// Reads the metric and the direction. Returns whether the run counts: one of another metric or direction than those asked for is
    /// set aside. A metric or direction that the caller left open must be the same in all lines.
    fn read_metric(&mut self, object: &Map<String, Json>) -> Result<bool, Error> {
        let metric = match object.get("metric") {
            None | Some(Json::Null) => None,
            Some(Json::String(metric)) => Some(metric.as_str()),
            Some(other) => {
                return Err(self.line_error(format!("`metric` is {}, not a string", json_kind(other))));
            }
        };
        let direction: Option<Direction> = match object.get("direction") {
            None | Some(Json::Null) => None,
            Some(word) => Some(serde_json::from_value(word.clone()).map_err(|_| {
                self.line_error(format!("`direction` is {word}, not \"maximize\" or \"minimize\""))
            })?),
        };
        let asked = self.asked;
        if metric.is_some_and(|own| asked.metric.as_deref().is_some_and(|asked| own != asked))
            || direction.is_some_and(|own| asked.direction.is_some_and(|asked| own != asked))
        {
            *self.aside.entry(describe_metric(metric, direction)).or_default() += 1;
            return Ok(false);
        }
        if let Some(metric) = metric {
            let known = self.metric.get_or_insert_with(|| metric.to_owned());
            if known != metric {
                let problem = format!(
                    "the metric of the run in line {} is `{metric}`, not `{known}` as before. Choose one of them as the metric, or split the file",
                    self.line
                );
                return Err(self.line_error(problem));
            }
        }
        if direction.is_some_and(|direction| *self.raw.direction.get_or_insert(direction) != direction) {
            return Err(self.line_error(
                "`direction` differs from that of the lines before. Split the file by direction",
            ));
        }
        Ok(true)
    }

    /// The id, which must be new; the line number if there is no id.
    fn id(&mut self, object: &Map<String, Json>) -> Result<String, Error> {
        let id = match object.get("id") {
            None | Some(Json::Null) => self.line.to_string(),
            Some(Json::String(id)) => id.clone(),
            Some(Json::Number(id)) => id.to_string(),
            Some(other) => {
                return Err(
                    self.line_error(format!("`id` is {}, not a string or a number", json_kind(other)))
                );
            }
        };
        match self.first.insert(id.clone(), self.line) {
            Some(first_line) => {
                Err(Error::DuplicateId { file: self.file.to_owned(), line: self.line, id, first_line })
            }
            None => Ok(id),
        }
    }

    fn read_end(&self, object: &Map<String, Json>) -> Result<RunEnd, Error> {
        match object.get("ended") {
            None | Some(Json::Null) => Ok(RunEnd::Unknown),
            Some(word) => serde_json::from_value(word.clone()).map_err(|_| {
                let known = "finished, failed, pruned, stopped, interrupted, partial or running";
                self.line_error(format!("`ended` is {word}, not {known}"))
            }),
        }
    }

    fn configuration(&self, object: &Map<String, Json>) -> Result<Configuration, Error> {
        let mut configuration = Configuration::new();
        match object.get("configuration") {
            None | Some(Json::Null) => {}
            Some(Json::Object(values)) => flatten("", values, &mut configuration),
            Some(other) => {
                return Err(
                    self.line_error(format!("`configuration` is {}, not an object", json_kind(other)))
                );
            }
        }
        Ok(configuration)
    }

    /// A list of numbers; `null`, `"nan"` and the like are NaN.
    fn read_numbers(&self, object: &Map<String, Json>, field: &str) -> Result<Option<Vec<f64>>, Error> {
        let list = match object.get(field) {
            None | Some(Json::Null) => return Ok(None),
            Some(Json::Array(list)) => list,
            Some(other) => {
                return Err(self.line_error(format!("`{field}` is {}, not a list", json_kind(other))));
            }
        };
        let numbers = list.iter().enumerate().map(|(at, item)| {
            let number = match item {
                Json::Null => Some(f64::NAN),
                Json::Number(number) => number.as_f64(),
                Json::String(text) if crate::table::is_empty_cell(text.trim()) => Some(f64::NAN),
                Json::String(text) => text.trim().parse().ok(),
                _ => None,
            };
            number.ok_or_else(|| self.line_error(format!("`{field}[{at}]` is {item}, not a number or null")))
        });
        numbers.collect::<Result<_, _>>().map(Some)
    }

    fn finish(mut self) -> Result<RawRuns, Error> {
        let metric = self.metric.unwrap_or_else(|| "value".to_owned());
        if !self.aside.is_empty() {
            let others = self.aside.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            if self.raw.runs.is_empty() {
                let asked = describe_metric(self.asked.metric.as_deref(), self.asked.direction);
                let problem = format!("none of its runs is of {asked}, but of {others}");
                return Err(Error::OtherMetric { file: self.file.to_owned(), problem });
            }
            let count = crate::table::count(self.aside.values().sum(), "run");
            let text = format!("{count} of another metric or direction set aside: {others}");
            self.raw.notes.push(Note::new(NoteTopic::SetAside, text));
            self.raw.others += self.aside.len();
        }
        // without its beginning, a curve cannot be compared with others
        let all = self.raw.runs.len();
        self.raw.runs.retain(|run| run.ended != RunEnd::Partial);
        let partial = all - self.raw.runs.len();
        if partial > 0 {
            let text = format!("runs left out because their beginning is not recorded: {partial}");
            self.raw.notes.push(Note::new(NoteTopic::Removed, text));
        }
        if self.raw.runs.iter().any(|run| run.ended != RunEnd::Unknown) {
            self.raw.target = old::common_end(&self.raw.runs);
        }
        self.raw.metric = metric;
        if !self.unknown.is_empty() {
            let names = crate::table::list(self.unknown.iter().map(String::as_str));
            self.raw.notes.push(Note::new(NoteTopic::Excluded, format!("fields left out: {names}")));
        }
        Ok(self.raw)
    }
}

/// A metric and its direction in words.
fn describe_metric(metric: Option<&str>, direction: Option<Direction>) -> String {
    let metric = metric.map_or_else(|| "a metric".to_owned(), |metric| format!("`{metric}`"));
    match direction {
        None => metric,
        Some(Direction::Maximize) => metric + " to maximize",
        Some(Direction::Minimize) => metric + " to minimize",
    }
}

/// Adds the values by name. Values of nested objects are named `outer.inner`; lists are added as JSON text.
pub(crate) fn flatten(prefix: &str, values: &Map<String, Json>, configuration: &mut Configuration) {
    for (name, value) in values {
        let name = format!("{prefix}{name}");
        let value = match value {
            Json::Object(inner) => {
                flatten(&format!("{name}."), inner, configuration);
                continue;
            }
            Json::Null => Value::Missing,
            Json::Number(number) => number.as_f64().map_or(Value::Missing, Value::Number),
            Json::String(text) => Value::Text(text.clone()),
            other => Value::Text(other.to_string()),
        };
        configuration.insert(name, value);
    }
}

fn json_kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

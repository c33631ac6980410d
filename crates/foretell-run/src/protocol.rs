//! What a line of a trial's output says: a report, nothing, or a report that cannot be used.

use serde_json::{Map, Value};

use crate::pattern::{MetricPattern, PatternError};
use crate::report::{Report, ReportProblem, whole_step};

/// The key that marks a JSON line as a report.
const MARK: &str = "foretell";
/// The field of a report that holds the step.
const STEP: &str = "step";

/// Where a trial's metric is found.
#[derive(Clone, Debug)]
pub enum MetricSource {
    /// In report lines `{"foretell":{"step":3,"val_acc":0.71}}` on standard output.
    Json {
        /// The metric's field; without a name, the one field there is besides `step`.
        field: Option<String>,
    },
    /// Wherever the pattern matches, on standard output and standard error.
    Pattern(MetricPattern),
}

impl Default for MetricSource {
    fn default() -> Self {
        Self::Json { field: None }
    }
}

impl MetricSource {
    /// What `--metric TEXT` means: a field's name if it looks like one (letters, digits, `_ - . / : @`), else a pattern.
    ///
    /// ```
    /// use foretell_run::MetricSource;
    /// assert!(matches!(MetricSource::parse("val_acc"), Ok(MetricSource::Json { .. })));
    /// assert!(matches!(MetricSource::parse(r"val_acc=([\d.]+)"), Ok(MetricSource::Pattern(_))));
    /// assert!(MetricSource::parse(r"val_acc=[\d.]+").is_err()); // which part is the value?
    /// ```
    ///
    /// # Errors
    /// [`PatternError`] when it is neither.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let is_name = |character: char| character.is_alphanumeric() || "_-./:@".contains(character);
        if !text.is_empty() && text.chars().all(is_name) {
            return Ok(Self::Json { field: Some(text.to_owned()) });
        }
        MetricPattern::new(text).map(Self::Pattern)
    }
}

/// Reads one trial's output, line by line; counts the steps that the trial does not name.
#[derive(Clone, Debug)]
pub struct ReportReader {
    source: MetricSource,
    step: u64,
}

impl ReportReader {
    /// A reader for a trial that goes on after step `resumed_at` (0 for one that starts afresh).
    pub fn new(source: MetricSource, resumed_at: u64) -> Self {
        Self { source, step: resumed_at }
    }

    /// Whether this line could be a report at all when it stands on standard error.
    pub(crate) fn reads_stderr(&self) -> bool {
        matches!(self.source, MetricSource::Pattern(_))
    }

    /// The reports in `line`, without its newline: none in most lines, one in a report line, one for each match of a pattern.
    pub fn read(&mut self, line: &[u8]) -> Vec<Result<Report, ReportProblem>> {
        match &self.source {
            MetricSource::Json { field } => {
                let read = read_json(line, field.as_deref(), self.step);
                read.into_iter().map(|report| self.count(report)).collect()
            }
            MetricSource::Pattern(pattern) => {
                let found = pattern.find(line);
                found
                    .into_iter()
                    .map(|found| found.map(|found| self.number(found.step, found.value)))
                    .collect()
            }
        }
    }

    fn number(&mut self, step: Option<u64>, value: f64) -> Report {
        self.step = step.unwrap_or(self.step.saturating_add(1));
        Report { step: self.step, value: finite(value), metrics: Map::new() }
    }

    fn count(&mut self, report: Result<Report, ReportProblem>) -> Result<Report, ReportProblem> {
        if let Ok(report) = &report {
            self.step = report.step;
        }
        report
    }
}

/// The report in a JSON line; `None` when the line is no report.
fn read_json(line: &[u8], field: Option<&str>, last_step: u64) -> Option<Result<Report, ReportProblem>> {
    let text = String::from_utf8_lossy(line);
    let marked = marked_part(&text)?;
    match parse(marked) {
        Ok(Value::Object(mut object)) => match object.remove(MARK)? {
            Value::Object(fields) => Some(read_fields(fields, field, last_step)),
            other => Some(Err(ReportProblem::Json { problem: format!("`{other}` is no object of metrics") })),
        },
        Ok(_) => None,
        Err(error) => Some(Err(ReportProblem::Json { problem: error.to_string() })),
    }
}

/// The part of a line from the report's first brace: loggers put a time or a level before it.
fn marked_part(line: &str) -> Option<&str> {
    let quoted = format!("\"{MARK}\"");
    let mark = line.find(&quoted)?;
    let brace = line[..mark].trim_end();
    let direct = brace.ends_with('{').then(|| brace.len() - 1);
    let start = direct.or_else(|| line.trim_start().starts_with('{').then_some(0))?;
    let rest = line[mark + quoted.len()..].trim_start();
    rest.starts_with(':').then_some(&line[start..])
}

/// The first JSON value in `text`; Python's bare `NaN` and `Infinity` are read as null.
fn parse(text: &str) -> Result<Value, serde_json::Error> {
    first_value(text).or_else(|error| first_value(&nulled(text)).map_err(|_| error))
}

fn first_value(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::Deserializer::from_str(text).into_iter().next().unwrap_or(Ok(Value::Null))
}

/// `text` with `NaN`, `Infinity` and `-Infinity` outside of quotes replaced by `null`.
fn nulled(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let (mut rest, mut quoted, mut escaped) = (text, false, false);
    while let Some(character) = rest.chars().next() {
        let word =
            ["NaN", "-Infinity", "Infinity"].into_iter().find(|word| !quoted && rest.starts_with(word));
        result.push_str(if word.is_some() { "null" } else { &rest[..character.len_utf8()] });
        rest = &rest[word.map_or(character.len_utf8(), str::len)..];
        quoted ^= character == '"' && !escaped;
        escaped = quoted && character == '\\' && !escaped;
    }
    result
}

fn read_fields(
    mut fields: Map<String, Value>,
    field: Option<&str>,
    last_step: u64,
) -> Result<Report, ReportProblem> {
    let step = match fields.shift_remove(STEP) {
        None | Some(Value::Null) => last_step.saturating_add(1),
        Some(step) => read_step(&step)?,
    };
    let value = read_value(chosen(&fields, field)?)?;
    Ok(Report { step, value, metrics: fields })
}

fn chosen<'a>(fields: &'a Map<String, Value>, field: Option<&str>) -> Result<&'a Value, ReportProblem> {
    let names = || fields.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    match field {
        Some(name) => fields.get(name).ok_or_else(|| missing(name, names())),
        None if fields.len() > 1 => Err(ReportProblem::Ambiguous { found: names() }),
        None => fields.values().next().ok_or_else(|| missing("(any)", String::new())),
    }
}

fn missing(field: &str, found: String) -> ReportProblem {
    let found = if found.is_empty() { "none besides the step".to_owned() } else { found };
    ReportProblem::Missing { field: field.to_owned(), found }
}

/// A whole number from 0; Python's `3.0` is one.
fn read_step(value: &Value) -> Result<u64, ReportProblem> {
    let step = value.as_u64().or(value.as_f64().and_then(whole_step));
    step.ok_or_else(|| ReportProblem::Step { found: value.to_string() })
}

/// The number, or `None` where it is not finite: null, `"NaN"`, `"Infinity"`.
fn read_value(value: &Value) -> Result<Option<f64>, ReportProblem> {
    let number = match value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.map(finite).ok_or_else(|| ReportProblem::Number { found: value.to_string() })
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::{MetricSource, ReportReader};
    use crate::report::ReportProblem;

    fn read(metric: Option<&str>, lines: &[&str]) -> Vec<Result<(u64, Option<f64>), ReportProblem>> {
        let source =
            metric.map_or_else(MetricSource::default, |text| MetricSource::parse(text).expect("a metric"));
        let mut reader = ReportReader::new(source, 0);
        let reports = lines.iter().flat_map(|line| reader.read(line.as_bytes()));
        reports.map(|report| report.map(|report| (report.step, report.value))).collect()
    }

    #[test]
    fn reads_the_reports_and_nothing_else() {
        let cases = [
            (r#"{"foretell":{"step":3,"val_acc":0.71}}"#, Some((3, Some(0.71)))),
            (r#"{ "foretell" : {"val_acc": 0.71, "step": 3.0}}"#, Some((3, Some(0.71)))),
            (r#"12:30 INFO {"foretell":{"step":3,"val_acc":0.71}} done"#, Some((3, Some(0.71)))),
            (r#"{"time":5,"foretell":{"step":3,"val_acc":0.71}}"#, Some((3, Some(0.71)))),
            (r#"{"foretell":{"val_acc":0.71}}"#, Some((1, Some(0.71)))),
            (r#"{"foretell":{"step":3,"val_acc":null}}"#, Some((3, None))),
            (r#"{"foretell":{"step":3,"val_acc":"NaN"}}"#, Some((3, None))),
            (r#"{"foretell":{"step":3,"val_acc":"-Infinity"}}"#, Some((3, None))),
            (r#"{"foretell":{"step":3,"val_acc":NaN}}"#, Some((3, None))), // as Python's json prints it
            (r#"{"foretell":{"step":3,"val_acc":-Infinity}}"#, Some((3, None))),
            (r#"{"foretell":{"step":3,"val_acc":0.5,"note":"a \" NaN","loss":NaN}}"#, Some((3, Some(0.5)))),
            ("", None),
            ("val_acc=0.71", None),
            (r#"the word "foretell": no report"#, None),
            (r#"{"foretells":{"val_acc":1}}"#, None),
            (r#"{"inner":{"a":"foretell"}}"#, None),
        ];
        for (line, expected) in cases {
            let expected: Vec<_> = expected.into_iter().map(Ok).collect();
            assert_eq!(read(Some("val_acc"), &[line]), expected, "{line}");
        }
    }

    #[test]
    fn keeps_the_other_metrics() {
        let mut reader = ReportReader::new(MetricSource::parse("acc").expect("a name"), 0);
        let line = br#"{"foretell":{"step":1,"acc":0.5,"loss":1.25,"note":"a NaN in quotes","lr":NaN}}"#;
        let report = reader.read(line).remove(0).expect("a report");
        let expected = serde_json::json!({"acc":0.5,"loss":1.25,"note":"a NaN in quotes","lr":null});
        assert_eq!(serde_json::Value::Object(report.metrics), expected);
    }

    #[test]
    fn a_line_that_should_be_a_report_is_never_passed_over_in_silence() {
        let cases = [
            (Some("acc"), r#"{"foretell":{"step":3,"acc":0.7"#, "not JSON"),
            (Some("acc"), r#"{"foretell":0.7}"#, "no object"),
            (Some("acc"), r#"{"foretell":{"step":3,"loss":0.7,"lr":1}}"#, "no field `acc`, it has loss, lr"),
            (Some("acc"), r#"{"foretell":{"step":3}}"#, "none besides the step"),
            (Some("acc"), r#"{"foretell":{"step":-1,"acc":0.7}}"#, "step `-1`"),
            (Some("acc"), r#"{"foretell":{"step":1.5,"acc":0.7}}"#, "step `1.5`"),
            (Some("acc"), r#"{"foretell":{"step":1,"acc":true}}"#, "`true` is no number"),
            (Some("acc"), r#"{"foretell":{"step":1,"acc":"high"}}"#, "no number"),
            (None, r#"{"foretell":{"step":1,"acc":0.5,"loss":1}}"#, "any of acc, loss"),
        ];
        for (metric, line, expected) in cases {
            let reports = read(metric, &[line]);
            let [Err(problem)] = &reports[..] else { panic!("{line} gave {reports:?}") };
            assert!(problem.to_string().contains(expected), "{line} gave {problem}");
        }
    }

    #[test]
    fn steps_that_are_not_named_count_up_from_the_last() {
        let lines =
            [r#"{"foretell":{"acc":1}}"#, r#"{"foretell":{"acc":2,"step":7}}"#, r#"{"foretell":{"acc":3}}"#];
        let steps: Vec<_> =
            read(None, &lines).into_iter().map(|report| report.expect("a report").0).collect();
        assert_eq!(steps, [1, 7, 8]);
        let reports = read(Some(r"acc=(\d+)"), &["acc=1", "nothing", "acc=2 acc=3"]);
        let steps: Vec<_> = reports.into_iter().map(|report| report.expect("a report").0).collect();
        assert_eq!(steps, [1, 2, 3]);
        let mut resumed = ReportReader::new(MetricSource::default(), 10);
        assert_eq!(resumed.read(lines[0].as_bytes()).remove(0).expect("a report").step, 11);
    }

    #[test]
    fn a_name_is_told_from_a_pattern() {
        for name in ["val_acc", "val/acc", "top-1", "metrics.acc", "acc@1"] {
            assert!(matches!(MetricSource::parse(name), Ok(MetricSource::Json { .. })), "{name}");
        }
        assert!(matches!(MetricSource::parse("acc (.*)"), Ok(MetricSource::Pattern(_))));
        assert!(MetricSource::parse("acc=.*").is_err() && MetricSource::parse("").is_err());
    }
}

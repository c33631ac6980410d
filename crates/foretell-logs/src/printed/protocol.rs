//! The content of a line of a trial's output: a report, nothing, or a report that cannot be used.

use foretell::direction_of;
use serde_json::{Map, Value};

use super::pattern::{MetricPattern, PatternError};
use super::report::{Report, ReportProblem, whole_step};
use super::words::stage;

/// The key that marks a JSON line as a report.
const REPORT_KEY: &str = "foretell";
/// The field of a report that holds the step.
const STEP_FIELD: &str = "step";
/// The field with the number of the fold, from 1, in a training that cross-validates.
pub const FOLD_FIELD: &str = "fold";

/// Where a trial's metric is found.
#[derive(Clone, Debug)]
pub enum MetricSource {
    /// In report lines `{"foretell":{"step":3,"val_acc":0.71}}` on standard output. If the field is named, also next to its name
    /// in any line of either output, unless the trial writes report lines: `val_acc=0.71`, `{"epoch": 3, "val_acc": 0.71}`, and in
    /// the column of that name of comma-separated values.
    Json {
        /// The metric's field; without a name, the only field other than `step`.
        field: Option<String>,
    },
    /// Wherever the pattern matches, on standard output and standard error.
    Pattern(Box<MetricPattern>),
}

impl Default for MetricSource {
    fn default() -> Self {
        Self::Json { field: None }
    }
}

impl MetricSource {
    /// The meaning of `--metric TEXT`: a template if it contains `{value}`, a name if it looks like one (words of letters, digits,
    /// `_ - . / : @ % #`, and words in brackets), else a pattern.
    ///
    /// ```
    /// use foretell_logs::printed::MetricSource;
    /// assert!(matches!(MetricSource::parse("val_acc"), Ok(MetricSource::Json { .. })));
    /// assert!(matches!(MetricSource::parse("Test: * Acc@1 {value}"), Ok(MetricSource::Pattern(_))));
    /// assert!(matches!(MetricSource::parse(r"val_acc=([\d.]+)"), Ok(MetricSource::Pattern(_))));
    /// assert!(MetricSource::parse(r"val_acc=[\d.]+").is_err()); // which part is the value?
    /// ```
    ///
    /// # Errors
    /// [`PatternError`] when it is neither.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if ["value", "step"].iter().any(|name| lacks_closing_brace(text, name)) {
            return Err(PatternError::Brace { pattern: text.to_owned() });
        }
        if text.contains("{value}") {
            return MetricPattern::from_template(text).map(|pattern| Self::Pattern(Box::new(pattern)));
        }
        let has_letter = text.chars().any(char::is_alphanumeric);
        if has_letter
            && without_remarks(text).chars().all(|c| c.is_alphanumeric() || "_-./:@%# '".contains(c))
        {
            return Ok(Self::Json { field: Some(text.to_owned()) });
        }
        MetricPattern::new(text).map(|pattern| Self::Pattern(Box::new(pattern)))
    }
}

impl MetricSource {
    /// A value for `--metric` that means the same; empty if any field of report lines does.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Json { field } => field.clone().unwrap_or_default(),
            Self::Pattern(pattern) => pattern.as_str().to_owned(),
        }
    }

    /// The meaning of `--metric TEXT` with `--step STEP_FIELD`, the line that contains the epoch.
    ///
    /// # Errors
    /// [`PatternError`]; [`PatternError::Step`] if the metric is a name.
    pub fn parse_with(text: &str, step: Option<&str>) -> Result<Self, PatternError> {
        match (Self::parse(text)?, step) {
            (source, None) => Ok(source),
            (Self::Pattern(pattern), Some(step)) => Ok(Self::Pattern(Box::new(pattern.with_step(step)?))),
            (Self::Json { .. }, Some(_)) => Err(PatternError::Step { metric: text.to_owned() }),
        }
    }
}

/// The metric's name in the value of `--metric`: a name is one itself. In a pattern it is the last word before the group of the value that is
/// known for a metric's, or else the last one (`val_acc` in `(?P<step>\d+) +val_acc=([\d.]+)`), and in a template with the stage before it, so
/// that `Train Loss` and `Val Loss` stay two metrics.
pub fn metric_name_in(metric: &str) -> String {
    if matches!(MetricSource::parse(metric), Ok(MetricSource::Json { field: Some(_) })) {
        return metric.trim().to_owned();
    }
    let template = metric.find("{value}");
    let mut brackets = metric.match_indices('(').map(|(at, _)| at);
    let group = brackets.find(|&at| !metric[at..].starts_with("(?") && !metric[..at].ends_with('\\'));
    let end = template.or(group).unwrap_or(metric.len());
    // an escape stands for other characters and is no part of a name
    let escaped = metric[..end].split('\\').enumerate();
    let parts = escaped.map(|(i, part)| part.chars().skip(usize::from(i > 0)).collect::<String>());
    let plain = without_conditions(&parts.collect::<Vec<_>>().join(" "));
    let words = plain.split(|c: char| !c.is_alphanumeric() && !"_-./@".contains(c));
    let words = words.map(|word| word.trim_matches(|c: char| "_-./".contains(c)));
    let words: Vec<&str> = words.filter(|word| word.contains(char::is_alphabetic)).collect();
    let last = words.len().checked_sub(1);
    let Some(at) = words.iter().rposition(|word| direction_of(word).is_some()).or(last) else {
        return "metric".to_owned();
    };
    let before = at.checked_sub(1).map(|before| words[before]);
    let before =
        before.filter(|word| template.is_some() && stage(word).is_some() && stage(words[at]).is_none());
    let stage = before.map_or(String::new(), |stage| format!("{stage} "));
    format!("{stage}{}{}", words[at], range_behind(&plain, words[at]))
}

/// `text` without the conditions of a metric: `(AP) @[ IoU=0.50:0.95 | area= all ]` is a precision, no IoU.
fn without_conditions(text: &str) -> String {
    match text.split_once("@[").map(|(before, rest)| (before, rest.split_once(']'))) {
        Some((before, Some((_, after)))) => format!("{before}{after}"),
        _ => text.to_owned(),
    }
}

/// The rest of a range behind a name with an `@`: `:0.95` of `mAP@0.5:0.95`.
fn range_behind<'a>(text: &'a str, word: &str) -> &'a str {
    let rest = text.find(word).map_or("", |at| &text[at + word.len()..]);
    let end = rest.find(|c: char| !c.is_ascii_digit() && !":.".contains(c)).unwrap_or(rest.len());
    let range = rest[..end].trim_end_matches([':', '.']);
    if word.contains('@') && range.starts_with(':') && range.len() > 1 { range } else { "" }
}

/// Whether a place in a template lacks its closing brace: `acc: {value`.
fn lacks_closing_brace(text: &str, name: &str) -> bool {
    let place = format!("{{{name}");
    text.match_indices(&place).any(|(at, _)| {
        let rest = &text[at + place.len()..];
        !rest.starts_with('}') && !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// A name without a word in brackets, which no pattern for a number is: `F1 (macro)`, `acc(val)`, `mIoU [%]`.
fn without_remarks(text: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some(open) = rest.find(['(', '[']) {
        let close = if rest[open..].starts_with('(') { ')' } else { ']' };
        let inside = rest[open + 1..].split(close).next().unwrap_or_default();
        let end = open + 1 + inside.len();
        let is_remark = !inside.is_empty() && inside.chars().all(|c| c.is_alphabetic() || "% /".contains(c));
        if !is_remark || !rest[end..].starts_with(close) {
            break;
        }
        kept.push_str(&rest[..open]);
        rest = &rest[end + 1..];
    }
    kept + rest
}

/// The report in a JSON line; `None` when the line is no report.
pub(crate) fn read_json(
    line: &[u8],
    field: Option<&str>,
    last_step: u64,
) -> Option<Result<Report, ReportProblem>> {
    let text = String::from_utf8_lossy(line);
    let marked = find_report_json(&text)?;
    match parse(marked) {
        Ok(Value::Object(mut object)) => match object.remove(REPORT_KEY)? {
            Value::Object(fields) => Some(read_fields(fields, field, last_step)),
            other => {
                Some(Err(ReportProblem::Json { problem: format!("`{other}` is not an object of metrics") }))
            }
        },
        Ok(_) => None,
        Err(error) => Some(Err(ReportProblem::Json { problem: error.to_string() })),
    }
}

/// The part of a line from the report's first brace: loggers put a time or a level before it.
fn find_report_json(line: &str) -> Option<&str> {
    let quoted = format!("\"{REPORT_KEY}\"");
    let mark = line.find(&quoted)?;
    let brace = line[..mark].trim_end();
    let direct = brace.ends_with('{').then(|| brace.len() - 1);
    let start = direct.or_else(|| line.trim_start().starts_with('{').then_some(0))?;
    let rest = line[mark + quoted.len()..].trim_start();
    rest.starts_with(':').then_some(&line[start..])
}

/// The first JSON value in `text`; Python's bare `NaN` and `Infinity` are read as null.
fn parse(text: &str) -> Result<Value, serde_json::Error> {
    parse_first_value(text).or_else(|error| parse_first_value(&null_special_numbers(text)).map_err(|_| error))
}

fn parse_first_value(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::Deserializer::from_str(text).into_iter().next().unwrap_or(Ok(Value::Null))
}

/// `text` with `NaN`, `Infinity` and `-Infinity` outside of quotes replaced by `null`.
fn null_special_numbers(text: &str) -> String {
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
    let step = match fields.shift_remove(STEP_FIELD) {
        None | Some(Value::Null) => last_step.saturating_add(1),
        Some(step) => read_step(&step)?,
    };
    let value = read_value(select_metric(&fields, field)?)?;
    let metrics = fields.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect();
    Ok(Report { step, value, training: 0, metrics })
}

fn select_metric<'a>(
    fields: &'a Map<String, Value>,
    field: Option<&str>,
) -> Result<&'a Value, ReportProblem> {
    let metrics: Vec<(&String, &Value)> = fields.iter().filter(|(name, _)| *name != FOLD_FIELD).collect();
    match (field, &metrics[..]) {
        (Some(name), _) => fields.get(name).ok_or_else(|| missing_field(name, join_names(&metrics))),
        (None, []) => Err(missing_field("(any)", String::new())),
        (None, [(_, value)]) => Ok(value),
        (None, _) => Err(ReportProblem::Ambiguous { found: join_names(&metrics) }),
    }
}

fn join_names(metrics: &[(&String, &Value)]) -> String {
    metrics.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

fn missing_field(field: &str, found: String) -> ReportProblem {
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

pub(crate) fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::{MetricSource, metric_name_in};

    #[test]
    fn a_name_is_told_from_a_pattern() {
        for name in [
            "val_acc",
            "val/acc",
            "top-1",
            "metrics.acc",
            "acc@1",
            "Validation accuracy",
            "F1 (macro)",
            "acc(val)",
            "mIoU [%]",
        ] {
            assert!(matches!(MetricSource::parse(name), Ok(MetricSource::Json { .. })), "{name}");
        }
        assert!(matches!(MetricSource::parse("acc (.*)"), Ok(MetricSource::Pattern(_))));
        let open = MetricSource::parse("acc: {value").expect_err("a brace is missing").to_string();
        assert!(open.contains("the closing brace"), "{open}");
        assert!(MetricSource::parse("acc=.*").is_err() && MetricSource::parse("").is_err());
    }

    #[test]
    fn a_metric_is_called_by_the_word_before_its_value() {
        let cases = [
            ("val_acc", "val_acc"),
            (r"val_acc=([\d.]+)", "val_acc"),
            (r"step (?P<step>\d+) acc ([\d.]+)", "acc"),
            (r"'eval_loss': ([\d.e+-]+)", "eval_loss"),
            (r"val_loss\s*[:=]\s*([\d.]+)", "val_loss"),
            (r"(?:val|test)_acc ([\d.]+)", "acc"),
            (r"loss \(val\): ([\d.]+)", "loss"),
            (r"quality now: ([\d.]+)", "now"),
            (r"top-1 ([\d.]+)", "top-1"),
            ("Test: * Acc@1 {value}", "Test Acc@1"),
            ("step {}: train Loss {value}", "train Loss"),
            ("Validation accuracy", "Validation accuracy"),
            ("val mAP@0.5:0.95", "val mAP@0.5:0.95"),
            ("mAP@0.5: {value}", "mAP@0.5"),
            (r"Average Precision \(AP\) @[ IoU=0.50:0.95 | area= all ] = {value}", "AP"),
            (r"([\d.]+)", "metric"),
            ("", "metric"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(metric_name_in(pattern), expected, "{pattern}");
        }
    }
}

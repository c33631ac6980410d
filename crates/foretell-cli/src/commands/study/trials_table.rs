//! `foretell study export --trials`: one row a trial, for notebooks and spreadsheets.

use crate::commands::search::report::because;
use crate::failure::Failure;
use clap::ValueEnum;
use foretell_run::Stored;
use foretell_search::{Record, Study, StudySpec, Trial, TrialState};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// The form of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// One JSON object a row.
    #[default]
    Jsonl,
    /// Comma-separated values with a line of headings.
    Csv,
}

/// The columns that every row has, in this order; those of the parameters and metrics follow.
const COLUMNS: [&str; 10] = [
    "trial",
    "state",
    "score",
    "epochs",
    "last",
    "forecast",
    "forecast_sd",
    "probability",
    "reason",
    "error",
];

/// One row a trial: [`COLUMNS`], `param.NAME` for each parameter, `metric.NAME` for the last value of each metric that it
/// reported by name.
pub(super) fn rows(stored: &Stored) -> Result<Vec<Map<String, Value>>, Failure> {
    let mut metrics = LastMetrics::new();
    stored.each_record(|record| see(&mut metrics, record))?;
    Ok(rows_with(&stored.study, &metrics))
}

/// The same rows of a study that is not read from a folder, with its records.
pub(crate) fn rows_of(study: &Study, records: impl IntoIterator<Item = Record>) -> Vec<Map<String, Value>> {
    let mut metrics = LastMetrics::new();
    records.into_iter().for_each(|record| see(&mut metrics, record));
    rows_with(study, &metrics)
}

/// The last value of each metric that a trial reported by name.
type LastMetrics = BTreeMap<u64, BTreeMap<String, f64>>;

fn see(metrics: &mut LastMetrics, record: Record) {
    if let Record::Reported { trial, metrics: reported, .. } = record {
        metrics.entry(trial).or_default().extend(reported);
    }
}

fn rows_with(study: &Study, metrics: &LastMetrics) -> Vec<Map<String, Value>> {
    let row = |(number, trial): (usize, &Trial)| {
        let mut row = own_columns(study.spec(), number, trial);
        let value = |value| serde_json::to_value(value).unwrap_or_default();
        row.extend(trial.configuration.iter().map(|(name, it)| (format!("param.{name}"), value(it))));
        let printed = metrics.get(&(number as u64)).into_iter().flatten();
        row.extend(printed.map(|(name, &it)| (format!("metric.{name}"), Value::from(it))));
        row
    };
    study.trials().iter().enumerate().map(row).collect()
}

fn own_columns(spec: &StudySpec, number: usize, trial: &Trial) -> Map<String, Value> {
    let decision = trial.decision.as_ref();
    let forecast = decision.and_then(|decision| decision.forecast);
    let last = trial.curve.last().map(|(_, score)| spec.direction.value(score));
    let (reason, error) = match &trial.state {
        TrialState::Stopped { reason, .. } => (Some(because(reason)), None),
        TrialState::Failed { reason } => (None, Some(reason.clone())),
        _ => (None, None),
    };
    let values: [Value; COLUMNS.len()] = [
        number.into(),
        trial.state.name().into(),
        trial.achieved(spec.run_score, spec.direction).into(),
        trial.trained().into(),
        last.into(),
        forecast.map(|it| it.mean).into(),
        forecast.map(|it| it.sd).into(),
        decision.and_then(|decision| decision.probability).into(),
        reason.into(),
        error.into(),
    ];
    COLUMNS.map(str::to_owned).into_iter().zip(values).collect()
}

/// Writes `rows` to `writer`.
pub(super) fn write(
    writer: &mut dyn Write,
    rows: &[Map<String, Value>],
    format: TableFormat,
) -> io::Result<()> {
    match format {
        TableFormat::Jsonl => {
            for row in rows {
                writeln!(writer, "{}", serde_json::to_string(row)?)?;
            }
        }
        TableFormat::Csv => write_csv(writer, rows)?,
    }
    writer.flush()
}

fn write_csv(writer: &mut dyn Write, rows: &[Map<String, Value>]) -> io::Result<()> {
    let others: BTreeSet<&str> = rows.iter().flat_map(Map::keys).map(String::as_str).collect();
    let others = others.into_iter().filter(|name| !COLUMNS.contains(name));
    // parameters before metrics
    let (parameters, metrics): (Vec<&str>, Vec<&str>) = others.partition(|name| name.starts_with("param."));
    let columns: Vec<&str> = COLUMNS.into_iter().chain(parameters).chain(metrics).collect();
    let headings: Vec<String> = columns.iter().map(|name| cell(&Value::from(*name))).collect();
    writeln!(writer, "{}", headings.join(","))?;
    for row in rows {
        let cells = columns.iter().map(|name| row.get(*name).map_or(String::new(), cell));
        writeln!(writer, "{}", cells.collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

/// A value as a cell: texts in quotes where they need them, nothing where there is none.
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::cell;
    use serde_json::json;

    #[test]
    fn cells_are_quoted_where_they_need_it() {
        let cases = [
            (json!("plain"), "plain"),
            (json!("a,b"), "\"a,b\""),
            (json!("say \"so\""), "\"say \"\"so\"\"\""),
            (json!(null), ""),
            (json!(0.1), "0.1"),
        ];
        for (value, expected) in cases {
            assert_eq!(cell(&value), expected);
        }
    }
}

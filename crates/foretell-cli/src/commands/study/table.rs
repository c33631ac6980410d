//! Tables that `foretell study export` writes: named columns, as CSV or Parquet.

use clap::ValueEnum;
use foretell_logs::{ColumnValues, write_parquet};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

/// The form of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// JSON lines, one object per trial.
    #[default]
    Jsonl,
    /// Comma-separated values with a header.
    Csv,
    /// Parquet, for data frames.
    Parquet,
}

impl TableFormat {
    /// The form that the name of a file asks for.
    pub(super) fn by_name(path: Option<&Path>) -> Self {
        match path.and_then(Path::extension).and_then(|extension| extension.to_str()) {
            Some("csv") => Self::Csv,
            Some("parquet") => Self::Parquet,
            _ => Self::default(),
        }
    }
}

/// Columns by their names, of equal length.
pub(crate) type NamedColumns = Vec<(String, ColumnValues)>;

/// Columns whose values are texts, also where no trial has one.
const TEXT_COLUMNS: [&str; 4] = ["state", "began", "reason", "error"];

/// The table of `rows`: `first` are the columns that it has in any case, before its parameters and metrics.
pub(super) fn of_rows(rows: &[Map<String, Value>], first: &[&str]) -> NamedColumns {
    let others: BTreeSet<&str> = rows.iter().flat_map(Map::keys).map(String::as_str).collect();
    let others = others.into_iter().filter(|name| !first.contains(name));
    // parameters before metrics
    let (parameters, metrics): (Vec<&str>, Vec<&str>) = others.partition(|name| name.starts_with("param."));
    let names = first.iter().copied().chain(parameters).chain(metrics);
    names.map(|name| (name.to_owned(), values(name, rows))).collect()
}

/// A column of the one type that all its values have; of texts where they have several.
fn values(name: &str, rows: &[Map<String, Value>]) -> ColumnValues {
    let cells = rows.iter().map(|row| row.get(name).filter(|value| !value.is_null()));
    let mut present = cells.clone().flatten();
    let is_text = TEXT_COLUMNS.contains(&name);
    if !is_text && present.clone().next().is_some() && present.clone().all(Value::is_i64) {
        ColumnValues::Integers(cells.map(|cell| cell.and_then(Value::as_i64)).collect())
    } else if !is_text && present.clone().all(Value::is_number) {
        ColumnValues::Numbers(cells.map(|cell| cell.and_then(Value::as_f64)).collect())
    } else if !is_text && present.all(Value::is_boolean) {
        ColumnValues::Flags(cells.map(|cell| cell.and_then(Value::as_bool)).collect())
    } else {
        ColumnValues::Texts(cells.map(|cell| cell.map(plain)).collect())
    }
}

/// A text without quotes, anything else as JSON has it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Writes `table` as CSV or as Parquet.
pub(super) fn write(writer: &mut dyn Write, table: &NamedColumns, format: TableFormat) -> io::Result<()> {
    match format {
        TableFormat::Parquet => {
            let mut bytes = Vec::new();
            write_parquet(&mut bytes, table)?;
            writer.write_all(&bytes)?;
        }
        TableFormat::Csv | TableFormat::Jsonl => write_csv(writer, table)?,
    }
    writer.flush()
}

fn write_csv(writer: &mut dyn Write, table: &NamedColumns) -> io::Result<()> {
    let mut lines = csv::Writer::from_writer(writer);
    lines.write_record(table.iter().map(|(name, _)| harmless(name)))?;
    let rows = table.first().map_or(0, |(_, values)| values.len());
    for row in 0..rows {
        lines.write_record(table.iter().map(|(_, values)| cell(values, row)))?;
    }
    lines.flush()
}

/// The text of a cell; empty if the value is missing.
fn cell(values: &ColumnValues, row: usize) -> String {
    let cell = match values {
        ColumnValues::Integers(values) => values[row].map(|value| value.to_string()),
        ColumnValues::Numbers(values) => values[row].map(|value| Value::from(value).to_string()),
        ColumnValues::Flags(values) => values[row].map(|value| value.to_string()),
        ColumnValues::Texts(values) => values[row].as_deref().map(harmless),
    };
    cell.unwrap_or_default()
}

/// `text` for a cell that a spreadsheet does not take for a formula: one that would begin like a formula gets an apostrophe before it. A
/// number stays a number.
fn harmless(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{TableFormat, of_rows, write};
    use foretell_logs::ColumnValues;
    use serde_json::{Map, Value, json};

    fn rows() -> Vec<Map<String, Value>> {
        let rows = [
            json!({"trial": 0, "error": null, "metric.loss": 1.5, "param.opt": "sgd", "param.n": 1, "param.nest": true}),
            json!({"trial": 1, "error": "say \"so\", or\nnot", "param.opt": 3, "param.n": 0.5}),
        ];
        rows.map(|row| row.as_object().expect("an object").clone()).to_vec()
    }

    #[test]
    fn columns_have_the_type_of_their_values_and_parameters_come_before_metrics() {
        let table = of_rows(&rows(), &["trial", "score", "error"]);
        let names: Vec<&str> = table.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["trial", "score", "error", "param.n", "param.nest", "param.opt", "metric.loss"]);
        assert_eq!(table[0].1, ColumnValues::Integers(vec![Some(0), Some(1)]));
        assert_eq!(table[1].1, ColumnValues::Numbers(vec![None, None]));
        assert_eq!(table[3].1, ColumnValues::Numbers(vec![Some(1.0), Some(0.5)]));
        assert_eq!(table[4].1, ColumnValues::Flags(vec![Some(true), None]));
        assert_eq!(table[5].1, ColumnValues::Texts(vec![Some("sgd".to_owned()), Some("3".to_owned())]));
    }

    #[test]
    fn a_text_is_no_formula_and_a_number_stays_one() {
        let rows: Vec<Map<String, Value>> = ["=1+2", "+cmd", "-x", "@SUM(A1)", "-3", "+1e-3", "\t=1", "a=b"]
            .map(|text| json!({"param.x": text, "param.n": -1.5}).as_object().expect("an object").clone())
            .to_vec();
        let mut text = Vec::new();
        write(&mut text, &of_rows(&rows, &[]), TableFormat::Csv).expect("written");
        let text = String::from_utf8(text).expect("text");
        let cells: Vec<&str> =
            text.lines().skip(1).filter_map(|line| line.split_once(',')).map(|(_, x)| x).collect();
        assert_eq!(cells, ["'=1+2", "'+cmd", "'-x", "'@SUM(A1)", "-3", "+1e-3", "'\t=1", "a=b"]);
        assert!(text.lines().skip(1).all(|line| line.starts_with("-1.5,")), "{text}");
    }

    #[test]
    fn cells_are_quoted_where_they_need_it() {
        let mut text = Vec::new();
        write(&mut text, &of_rows(&rows(), &["trial", "error"]), TableFormat::Csv).expect("written");
        let expected = "trial,error,param.n,param.nest,param.opt,metric.loss\n0,,1.0,true,sgd,1.5\n1,\"say \"\"so\"\", or\nnot\",0.5,,3,\n";
        assert_eq!(String::from_utf8(text).expect("text"), expected);
    }
}

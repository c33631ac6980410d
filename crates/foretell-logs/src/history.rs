//! Histories in JSON: a list of values for each metric, as `json.dump(history.history, file)` writes, or a list of rows.

use crate::json;
use crate::names::{is_metric, step_rank};
use serde_json::{Map, Value as Json};

/// Whether a file that starts so may be a history: an object whose first value is a list or an object, or a list of objects.
pub(crate) fn begins_one(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&start[..start.len().min(1 << 10)]);
    let text = json::requote_python_dict(text.trim_start());
    if let Some(rest) = text.strip_prefix('[') {
        return rest.trim_start().starts_with('{');
    }
    let Some(rest) = text.strip_prefix('{').and_then(|rest| rest.trim_start().strip_prefix('"')) else {
        return false;
    };
    let value =
        rest.split_once('"').and_then(|(_, rest)| rest.trim_start().strip_prefix(':')).unwrap_or_default();
    value.trim_start().starts_with(['[', '{'])
}

/// The history in `text` as a table with a row per epoch; `None` if it is no history.
///
/// # Errors
/// A sentence if the lists have different lengths, so that their epochs are not known.
pub(crate) fn table(text: &str) -> Result<Option<String>, String> {
    let columns = match json::parse(text) {
        Some(Json::Object(object)) => step_value_columns(&object).unwrap_or_else(|| columns_of(&object)),
        Some(Json::Array(rows)) => columns_of_rows(&rows),
        _ => Vec::new(),
    };
    let columns = history_in(columns);
    if columns.is_empty() {
        return Ok(None);
    }
    let length = columns[0].1.len();
    if let Some((name, values)) = columns.iter().find(|(_, values)| values.len() != length) {
        return Err(format!(
            "the lists of this history differ in length: `{}` contains {length} values, but `{name}` {}. Write one entry per epoch, and null where a value is missing",
            columns[0].0,
            values.len()
        ));
    }
    let counted = columns.iter().any(|(name, _)| step_rank(name).is_some());
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = columns.iter().map(|(name, _)| name.as_str());
    let mut rows = vec![
        (!counted)
            .then_some("epoch".to_owned())
            .into_iter()
            .chain(names.map(str::to_owned))
            .collect::<Vec<_>>(),
    ];
    for row in 0..length {
        let cells =
            columns.iter().map(|(_, values)| values[row].map_or(String::new(), |value| value.to_string()));
        rows.push((!counted).then(|| (row + 1).to_string()).into_iter().chain(cells).collect());
    }
    for row in rows {
        writer.write_record(&row).map_err(|error| error.to_string())?;
    }
    let bytes = writer.into_inner().map_err(|error| error.to_string())?;
    Ok(String::from_utf8(bytes).ok())
}

/// A metric's name and its values.
type HistoryColumn = (String, Vec<Option<f64>>);

/// Metrics that are objects with lists of steps and values, as in Sacred's `metrics.json`, by the union of their steps.
fn step_value_columns(object: &Map<String, Json>) -> Option<Vec<HistoryColumn>> {
    let series = object.iter().map(|(name, metric)| {
        let [steps, values] = [&["steps", "step", "epochs", "epoch", "x"][..], &["values", "value", "y"]]
            .map(|keys| keys.iter().find_map(|key| metric.get(key)?.as_array()));
        let points = steps?.iter().map(json::number).zip(values?.iter().map(json::number));
        let points: Option<Vec<_>> = points.map(|(step, value)| Some((step?, value))).collect();
        Some((name, points?))
    });
    let series: Vec<_> = series.collect::<Option<_>>()?;
    let mut steps: Vec<f64> =
        series.iter().flat_map(|(_, points)| points.iter().map(|point| point.0)).collect();
    steps.sort_by(f64::total_cmp);
    steps.dedup();
    let columns = series.iter().map(|(name, points)| {
        let values = steps.iter().map(|step| points.iter().rfind(|point| point.0.total_cmp(step).is_eq())?.1);
        ((*name).clone(), values.collect())
    });
    let columns: Vec<HistoryColumn> = columns.collect();
    (!columns.is_empty()).then(|| {
        std::iter::once(("step".to_owned(), steps.iter().copied().map(Some).collect()))
            .chain(columns)
            .collect()
    })
}

/// The columns of the history among lists of several lengths, which may also be shapes or rows of a matrix: those with the name of a metric.
/// A name that all of them have in front goes, if it is that of the history.
fn history_in(columns: Vec<HistoryColumn>) -> Vec<HistoryColumn> {
    let differ = columns.windows(2).any(|pair| pair[0].1.len() != pair[1].1.len());
    let mut kept = columns;
    if differ && kept.iter().any(|(name, _)| is_metric_or_step(name)) {
        kept.retain(|(name, _)| is_metric_or_step(name));
    }
    let folders = kept.iter().map(|(name, _)| name.rsplit_once('/').map(|(folder, _)| folder));
    let first = folders.clone().next().flatten();
    if first.is_some_and(|folder| folder.to_lowercase().ends_with("history"))
        && folders.clone().all(|folder| folder == first)
    {
        kept.iter_mut().for_each(|(name, _)| *name = last_part(name).to_owned());
    }
    kept
}

fn is_metric_or_step(name: &str) -> bool {
    is_metric(last_part(name)) || step_rank(last_part(name)).is_some()
}

fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

/// The lists of numbers in an object, or in the one object that it holds under `history`; curves of recorded runs (`values`) are none.
fn columns_of(object: &Map<String, Json>) -> Vec<HistoryColumn> {
    if object.contains_key("values") || object.contains_key("log_history") {
        return Vec::new();
    }
    if let Some(Json::Object(inner)) = object.get("history") {
        return columns_of(inner);
    }
    object.iter().flat_map(|(name, value)| columns_in(name, value)).collect()
}

/// The columns of one entry: its list, or those of the lists in it, as in `{"train": {"loss": […]}}`.
fn columns_in(name: &str, value: &Json) -> Vec<HistoryColumn> {
    if let Json::Object(inner) = value
        && inner.keys().enumerate().any(|(at, key)| *key != at.to_string())
    {
        let columns = inner.iter().flat_map(|(own, value)| columns_in(&format!("{name}/{own}"), value));
        return columns.collect();
    }
    let values: Vec<&Json> = match value {
        Json::Array(values) => values.iter().collect(),
        // as pandas writes a table: {"val_acc": {"0": 0.5, "1": 0.6}}
        Json::Object(values) => values.values().collect(),
        _ => return Vec::new(),
    };
    let are_numbers = values.iter().all(|value| value.is_null() || json::number(value).is_some());
    let any = values.iter().any(|value| json::number(value).is_some());
    match are_numbers && any {
        true => vec![(name.to_owned(), values.into_iter().map(json::number).collect())],
        false => Vec::new(),
    }
}

/// The numbers of rows that are objects; a row may lack some.
fn columns_of_rows(rows: &[Json]) -> Vec<HistoryColumn> {
    let Some(rows) = rows.iter().map(Json::as_object).collect::<Option<Vec<_>>>() else { return Vec::new() };
    if rows.iter().any(|row| row.contains_key("values")) {
        return Vec::new();
    }
    let mut names: Vec<&String> = Vec::new();
    for (name, value) in rows.iter().flat_map(|row| row.iter()) {
        if json::number(value).is_some() && !names.contains(&name) {
            names.push(name);
        }
    }
    let columns = names.into_iter().map(|name| {
        let values = rows.iter().map(|row| row.get(name).and_then(json::number));
        (name.clone(), values.collect())
    });
    columns.collect()
}

#[cfg(test)]
mod tests {
    use super::{begins_one, table};

    #[test]
    fn lists_and_rows_of_numbers_become_a_table() {
        let expected = "epoch,loss,val_acc\n1,0.9,0.5\n2,0.8,0.6\n";
        for text in [
            r#"{"loss": [0.9, 0.8], "val_acc": [0.5, 0.6], "names": ["a", "b"]}"#,
            r#"{"history": {"loss": [0.9, 0.8], "val_acc": [0.5, 0.6]}, "params": {"epochs": 2}}"#,
            r#"{"loss": {"0": 0.9, "1": 0.8}, "val_acc": {"0": 0.5, "1": 0.6}}"#,
            r#"[{"loss": 0.9, "val_acc": 0.5}, {"loss": 0.8, "val_acc": 0.6}]"#,
            r#"[{"epoch": 1, "loss": 0.9, "val_acc": 0.5}, {"epoch": 2, "loss": 0.8, "val_acc": 0.6}]"#,
        ] {
            assert!(begins_one(text.as_bytes()), "{text}");
            assert_eq!(table(text).unwrap().as_deref(), Some(expected), "{text}");
        }
        let nested = r#"{"train": {"loss": [0.9, 0.8]}, "val": {"loss": [1, 2]}, "config": {"lr": 0.1}}"#;
        assert_eq!(table(nested).unwrap().as_deref(), Some("epoch,train/loss,val/loss\n1,0.9,1\n2,0.8,2\n"));
        let gap = r#"{"loss": [0.9, NaN, null]}"#;
        assert_eq!(table(gap).unwrap().as_deref(), Some("epoch,loss\n1,0.9\n2,NaN\n3,\n"));
    }

    #[test]
    fn a_history_is_found_among_other_lists_and_by_the_steps_of_each_metric() {
        let report = r#"{"info": {"shape": [64, 64, 3]}, "training_history": {"loss": [0.9, 0.8], "val_acc": [0.5, 0.6]}}"#;
        assert_eq!(table(report).unwrap().as_deref(), Some("epoch,loss,val_acc\n1,0.9,0.5\n2,0.8,0.6\n"));
        let sacred = r#"{"loss": {"steps": [10, 20], "values": [0.9, 0.8]}, "val.acc": {"steps": [20], "values": [0.5], "timestamps": ["a"]}}"#;
        assert_eq!(table(sacred).unwrap().as_deref(), Some("step,loss,val.acc\n10,0.9,\n20,0.8,0.5\n"));
    }

    #[test]
    fn lists_of_different_lengths_are_refused_and_curves_are_left_alone() {
        let error = table(r#"{"loss": [1, 2, 3, 4], "val_acc": [0.5, 0.6]}"#).unwrap_err();
        assert!(error.contains("`loss` contains 4 values, but `val_acc` 2"), "{error}");
        let curve = r#"{"configuration": {"lr": 0.1}, "values": [0.1, 0.2]}"#;
        assert_eq!(table(curve), Ok(None));
        assert!(!begins_one(br#"{"id": "a", "values": [1]}"#));
    }
}

//! `foretell study export --format csv|parquet`: one row a report, with every metric that came with it.

use super::table::Table;
use foretell_logs::Values;
use foretell_search::Record;
use std::collections::BTreeMap;

/// The reports of a study, taken in one by one.
#[derive(Default)]
pub(crate) struct CurvesTable {
    trials: Vec<Option<i64>>,
    steps: Vec<Option<i64>>,
    values: Vec<Option<f64>>,
    /// The values of each metric that was reported by name; rows at the end may still be missing.
    metrics: BTreeMap<String, Vec<Option<f64>>>,
}

impl CurvesTable {
    /// Takes in the next record.
    pub(crate) fn see(&mut self, record: &Record) {
        let Record::Reported { trial, step, value, metrics } = record else { return };
        let row = self.trials.len();
        self.trials.push(i64::try_from(*trial).ok());
        self.steps.push(i64::try_from(*step).ok());
        self.values.push(*value);
        for (name, value) in metrics {
            let column = self.metrics.entry(name.clone()).or_default();
            column.resize(row, None);
            column.push(Some(*value));
        }
    }

    /// How many reports there are.
    pub(super) fn len(&self) -> usize {
        self.trials.len()
    }

    /// The values of each metric that was reported by name, other than `own`, one a report.
    pub(super) fn metrics_besides(self, own: &str) -> BTreeMap<String, Vec<Option<f64>>> {
        let rows = self.trials.len();
        let others = self.metrics.into_iter().filter(|(name, _)| name != own);
        others.map(|(name, values)| (name, padded(values, rows))).collect()
    }

    /// The columns `trial`, `step`, `value`, and `metric.NAME` for each metric that was reported by name.
    pub(crate) fn table(self) -> Table {
        let rows = self.trials.len();
        let first = [
            ("trial", Values::Integers(self.trials)),
            ("step", Values::Integers(self.steps)),
            ("value", Values::Numbers(self.values)),
        ];
        let named = self
            .metrics
            .into_iter()
            .map(|(name, values)| (format!("metric.{name}"), Values::Numbers(padded(values, rows))));
        first.map(|(name, values)| (name.to_owned(), values)).into_iter().chain(named).collect()
    }
}

/// The values, with those that are missing at the end.
fn padded(mut values: Vec<Option<f64>>, rows: usize) -> Vec<Option<f64>> {
    values.resize(rows, None);
    values
}

#[cfg(test)]
mod tests {
    use super::CurvesTable;
    use foretell_logs::Values;
    use foretell_search::Record;

    #[test]
    fn metrics_that_come_and_go_keep_their_rows() {
        let mut curves = CurvesTable::default();
        for (step, names) in [(1, &["loss"][..]), (2, &[]), (3, &["f1", "loss"])] {
            let metrics = names.iter().map(|name| ((*name).to_owned(), step as f64)).collect();
            curves.see(&Record::Reported { trial: 7, step, value: Some(0.5), metrics });
        }
        curves.see(&Record::Completed { trial: 7 });
        let table = curves.table();
        let names: Vec<&str> = table.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["trial", "step", "value", "metric.f1", "metric.loss"]);
        assert_eq!(table[3].1, Values::Numbers(vec![None, None, Some(3.0)]));
        assert_eq!(table[4].1, Values::Numbers(vec![Some(1.0), None, Some(3.0)]));
    }
}

//! One row a report, with every metric that came with it.

use crate::record::Record;
use std::collections::BTreeMap;

/// The reports of a study, added one by one: columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportColumns {
    /// The trial of each.
    pub trials: Vec<u64>,
    /// The steps of the reports.
    pub steps: Vec<u64>,
    /// The values of the study's metric.
    pub values: Vec<Option<f64>>,
    /// The values of each metric that was reported by name; rows at the end may still be missing.
    metrics: BTreeMap<String, Vec<Option<f64>>>,
}

impl ReportColumns {
    /// Takes in the next record.
    pub fn see(&mut self, record: &Record) {
        let Record::Reported { trial, step, value, metrics } = record else { return };
        let row = self.trials.len();
        self.trials.push(*trial);
        self.steps.push(*step);
        self.values.push(*value);
        for (name, value) in metrics {
            let column = self.metrics.entry(name.clone()).or_default();
            // a metric may leave reports out, so its column is first filled up to this one
            column.resize(row, None);
            column.push(Some(*value));
        }
    }

    /// The values of each metric that was reported by name, one per report.
    pub fn metrics(&self) -> impl Iterator<Item = (&str, Vec<Option<f64>>)> {
        let rows = self.trials.len();
        self.metrics.iter().map(move |(name, values)| {
            let mut values = values.clone();
            values.resize(rows, None);
            (name.as_str(), values)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_that_come_and_go_keep_their_rows() {
        let mut reports = ReportColumns::default();
        for (step, names) in [(1, &["loss"][..]), (2, &[]), (3, &["f1", "loss"])] {
            let metrics = names.iter().map(|name| ((*name).to_owned(), step as f64)).collect();
            reports.see(&Record::Reported { trial: 7, step, value: Some(0.5), metrics });
        }
        reports.see(&Record::Completed { trial: 7 });
        assert_eq!((&reports.trials[..], &reports.steps[..]), (&[7, 7, 7][..], &[1, 2, 3][..]));
        let metrics: Vec<_> = reports.metrics().collect();
        let expected = [("f1", vec![None, None, Some(3.0)]), ("loss", vec![Some(1.0), None, Some(3.0)])];
        assert_eq!(metrics, expected);
    }
}

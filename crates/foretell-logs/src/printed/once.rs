//! Values that a trial prints once, in a line without its metric: a latency that is measured before the first epoch, or after the last.

use std::collections::{BTreeMap, BTreeSet};

use super::line::LabeledNumber;
use super::number::DecimalNotation;
use super::report::Report;

/// Takes such values from lines without a report, and puts them into the next report.
///
/// The report of the last epoch waits for those that are missing, until the trial has ended: it is the last that can carry them.
#[derive(Clone, Debug, Default)]
pub(crate) struct OneTimeValues {
    /// The names that are waited for.
    missing: BTreeSet<String>,
    /// Values that no report has carried yet.
    found: BTreeMap<String, f64>,
    /// The report of the last epoch.
    held: Option<Report>,
    /// Whether the trial counts its epochs from 0.
    from_zero: bool,
}

impl OneTimeValues {
    /// Values of these `names`.
    pub(crate) fn new(names: &[String]) -> Self {
        Self { missing: names.iter().cloned().collect(), ..Self::default() }
    }

    /// Whether a value is still missing.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.missing.is_empty()
    }

    /// Whether a report waits for them.
    pub(crate) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Reads a line without a report. Returns the report that waited, if the line has the last missing value.
    pub(crate) fn see(&mut self, fields: &[LabeledNumber]) -> Option<Report> {
        for field in fields.iter().filter(|field| !field.is_past) {
            let value = field.reading.value(DecimalNotation::Point);
            if value.is_finite() && self.missing.remove(field.name()) {
                self.found.insert(field.name().to_owned(), value);
            }
        }
        if self.is_waiting() { None } else { self.release() }
    }

    /// Returns the reports that wait no longer: the one that waited, then `report` with the values found. `report` itself waits if it
    /// is that of the last epoch of `whole` and a value is missing.
    pub(crate) fn pass(&mut self, mut report: Report, whole: Option<u64>) -> Vec<Report> {
        for name in report.metrics.keys() {
            self.missing.remove(name);
            self.found.remove(name);
        }
        let before = self.release();
        report.metrics.append(&mut self.found);
        self.from_zero |= report.step == 0;
        if self.is_waiting() && whole.is_some_and(|whole| report.step + u64::from(self.from_zero) >= whole) {
            self.held = Some(report);
            return before.into_iter().collect();
        }
        before.into_iter().chain([report]).collect()
    }

    /// The report that waited, with the values found meanwhile.
    pub(crate) fn release(&mut self) -> Option<Report> {
        let mut report = self.held.take()?;
        report.metrics.append(&mut self.found);
        Some(report)
    }
}

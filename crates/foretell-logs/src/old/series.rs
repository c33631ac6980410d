//! A run as its tool wrote it: named series of points, and how it ended.

use super::LogFormat;
use super::packed::PackedSeries;
use super::point::LoggedPoint;
use crate::names::metric_rank;
use foretell::{Configuration, Direction, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The end of a run, as far as its log records it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunEnd {
    /// The log does not record it.
    #[default]
    Unknown,
    /// The run was trained to its end.
    Finished,
    /// The run failed, was killed, or its log breaks off.
    Failed,
    /// A search stopped it.
    Pruned,
    /// The run stopped itself before its last planned step: patience, a callback.
    Stopped,
    /// Ctrl-C or another signal ended it.
    Interrupted,
    /// The run's beginning is not recorded: it continued another run.
    Partial,
    /// The run is marked as running: it still is, or it was killed.
    Running,
}

impl RunEnd {
    /// Whether the run ended before its planned end.
    pub fn is_early(self) -> bool {
        !matches!(self, Self::Unknown | Self::Finished)
    }
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "no end recorded",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Pruned => "pruned",
            Self::Stopped => "stopped early",
            Self::Interrupted => "interrupted",
            Self::Partial => "without a beginning",
            Self::Running => "marked as running",
        })
    }
}

/// The values of one name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LogSeries {
    pub(crate) count: usize,
    /// Of the finite values.
    pub(crate) range: Option<(f64, f64)>,
    pub(crate) not_finite: usize,
    pub(crate) first: (f64, f64),
    pub(crate) last: (f64, f64),
    /// In the order of the log; empty for a series that is not wanted, and once they are packed.
    pub(crate) points: Vec<LoggedPoint>,
    /// The points that count, once the run is read to its end.
    pub(crate) packed: Option<PackedSeries>,
    /// Whether the points are kept.
    is_kept: bool,
}

impl LogSeries {
    fn starting_with(point: LoggedPoint) -> Self {
        let at = (point.step, point.value);
        Self {
            count: 0,
            range: None,
            not_finite: 0,
            first: at,
            last: at,
            points: Vec::new(),
            packed: None,
            is_kept: true,
        }
    }

    fn add(&mut self, point: LoggedPoint) {
        self.count += 1;
        self.last = (point.step, point.value);
        if point.value.is_finite() {
            let (low, high) = self.range.unwrap_or((point.value, point.value));
            self.range = Some((low.min(point.value), high.max(point.value)));
        } else {
            self.not_finite += 1;
        }
        if self.is_kept {
            self.points.push(point);
        }
    }

    /// Whether its points were kept.
    pub(crate) fn has_points(&self) -> bool {
        !self.points.is_empty() || self.packed.is_some()
    }

    /// Continues with the series of a later file.
    pub(crate) fn append(&mut self, later: Self) {
        if let Some(packed) = self.packed.take() {
            self.points = packed.points().collect();
        }
        self.count += later.count;
        self.not_finite += later.not_finite;
        self.last = later.last;
        self.range = match (self.range, later.range) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        self.points.extend(later.points);
    }
}

/// The series of a run that are kept with all their points.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeriesFilter {
    /// The metric that was asked for; `None`: whichever is the best by its name.
    pub(crate) metric: Option<String>,
    /// Whether every series is kept, whatever its name, with every point.
    pub(crate) all: bool,
    /// Whether the times are kept, and not only how long a step took.
    pub(crate) times: bool,
}

/// A name that gives the epoch of the other values of its step.
pub(crate) fn is_epoch(name: &str) -> bool {
    name.rsplit(['/', '.']).next().is_some_and(|last| last.eq_ignore_ascii_case("epoch"))
}

/// The rank of a metric by its name; names of no metric are last.
fn name_rank(name: &str) -> usize {
    metric_rank(name).unwrap_or(usize::MAX)
}

/// A run as its tool wrote it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunLog {
    pub(crate) id: String,
    pub(crate) format: LogFormat,
    pub(crate) configuration: Configuration,
    pub(crate) ended: RunEnd,
    pub(crate) direction: Option<Direction>,
    pub(crate) series: BTreeMap<String, LogSeries>,
    /// The damage in its files: values before it count.
    pub(crate) damage: Option<String>,
    /// The last step that was planned, if the log records it.
    pub(crate) planned: Option<f64>,
}

impl RunLog {
    pub(crate) fn new(id: impl Into<String>, format: LogFormat) -> Self {
        Self {
            id: id.into(),
            format,
            configuration: Configuration::new(),
            ended: RunEnd::Unknown,
            direction: None,
            series: BTreeMap::new(),
            damage: None,
            planned: None,
        }
    }

    /// Adds a value; only the points of wanted series are kept, so that memory is that of these.
    pub(crate) fn push(&mut self, name: &str, point: LoggedPoint, wanted: &SeriesFilter) {
        if let Some(series) = self.series.get_mut(name) {
            series.add(point);
            return;
        }
        let mut series = LogSeries::starting_with(point);
        series.is_kept =
            wanted.all || is_epoch(name) || wanted.metric.as_ref().is_none_or(|metric| metric == name);
        self.series.insert(name.to_owned(), series);
        if wanted.metric.is_none() && !wanted.all {
            self.forget_lesser();
        }
        if let Some(series) = self.series.get_mut(name) {
            series.add(point);
        }
    }

    /// Drops the points of all series that have a name worse than the best.
    fn forget_lesser(&mut self) {
        let names = self.series.keys().filter(|name| !is_epoch(name));
        let best = names.map(|name| name_rank(name)).min().unwrap_or(usize::MAX);
        for (name, series) in &mut self.series {
            if !is_epoch(name) && name_rank(name) > best {
                series.points = Vec::new();
                series.is_kept = false;
            }
        }
    }

    /// Sets a value of the configuration; one that is there stays.
    pub(crate) fn configure(&mut self, name: &str, value: Value) {
        self.configuration.entry(name.to_owned()).or_insert(value);
    }
}

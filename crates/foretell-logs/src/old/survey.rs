//! The content of old logs, before anything is done with it.

use super::packed::PackedSeries;
use super::series::{RunEnd, RunLog};
use super::{LogFormat, series};
use foretell::{Direction, direction_of};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// An ignored file or run, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The run or file.
    pub what: String,
    /// The reason.
    pub why: String,
}

/// A metric in the logs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricFound {
    /// The name.
    pub name: String,
    /// How many runs have it.
    pub runs: usize,
    /// The number of values it has in all.
    pub values: usize,
    /// The smallest and the largest finite value.
    pub range: Option<(f64, f64)>,
    /// How many values are not finite.
    pub not_finite: usize,
    /// The direction, if its name or its log shows it.
    pub direction: Option<Direction>,
}

/// A run in the logs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunFound {
    /// The name.
    pub id: String,
    /// The tool that logged it.
    pub format: LogFormat,
    /// How it ended.
    pub ended: RunEnd,
    /// The number of metrics it has.
    pub metrics: usize,
    /// The last step.
    pub last_step: Option<f64>,
}

/// The content of old logs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LogSurvey {
    /// The number of runs each tool logged.
    pub formats: BTreeMap<LogFormat, usize>,
    /// The runs.
    pub runs: Vec<RunFound>,
    /// The metrics, the most promising first: held-out before training data, then by the number of runs.
    pub metrics: Vec<MetricFound>,
    /// The names of the settings.
    pub settings: Vec<String>,
    /// `epoch` if the log has epochs, else `step`.
    pub resource: String,
    /// How many runs ended in which way.
    pub ends: BTreeMap<RunEnd, usize>,
    /// The ignored files and runs, with reasons.
    pub left_out: Vec<LeftOut>,
    /// Files that stop in the middle, and the like.
    pub damage: Vec<String>,
}

impl LogSurvey {
    pub(crate) fn from_runs(runs: &[RunLog], left_out: &[LeftOut]) -> Self {
        let mut survey = Self { left_out: left_out.to_vec(), ..Self::default() };
        let mut metrics: BTreeMap<&str, MetricFound> = BTreeMap::new();
        let mut settings = BTreeSet::new();
        let mut with_epochs = 0;
        for run in runs {
            *survey.formats.entry(run.format).or_default() += 1;
            *survey.ends.entry(run.ended).or_default() += 1;
            survey.damage.extend(run.damage.clone());
            settings.extend(run.configuration.keys().cloned());
            let measured = run.series.iter().filter(|(name, _)| !series::is_epoch(name));
            with_epochs += usize::from(has_epochs(run));
            let last = measured.clone().map(|(_, series)| series.last.0).filter(|step| step.is_finite());
            survey.runs.push(RunFound {
                id: run.id.clone(),
                format: run.format,
                ended: run.ended,
                metrics: measured.clone().count(),
                last_step: last.max_by(f64::total_cmp),
            });
            for (name, series) in measured {
                let found = metrics.entry(name).or_insert_with(|| MetricFound {
                    name: name.clone(),
                    runs: 0,
                    values: 0,
                    range: None,
                    not_finite: 0,
                    direction: run.direction.or_else(|| direction_of(name)),
                });
                found.runs += 1;
                found.values += series.count;
                found.not_finite += series.not_finite;
                found.range = match (found.range, series.range) {
                    (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
                    (a, b) => a.or(b),
                };
            }
        }
        survey.resource =
            if with_epochs > 0 && with_epochs == runs.len() { "epoch" } else { "step" }.to_owned();
        survey.settings = settings.into_iter().collect();
        survey.metrics = metrics.into_values().collect();
        let most = survey.metrics.iter().map(|metric| metric.runs).max().unwrap_or(0);
        survey.metrics.sort_by_key(|metric| {
            // runs are not compared by a metric that few of them have
            let rare = 2 * metric.runs < most;
            let rank = crate::names::metric_rank(&metric.name).unwrap_or(usize::MAX);
            (rare, rank, usize::MAX - metric.runs, metric.values <= metric.runs, metric.name.clone())
        });
        survey
    }

    /// The metric that is taken if none is asked for: the first that is named like one, or the only one.
    pub fn preferred_metric(&self) -> Option<&MetricFound> {
        let first = self.metrics.first()?;
        let named = crate::names::metric_rank(&first.name).is_some() || first.direction.is_some();
        (named || self.metrics.len() == 1).then_some(first)
    }

    /// The damaged files, the first few by name.
    pub fn damaged_files(&self) -> Vec<String> {
        const MAX_NAMED_FILES: usize = 3;
        let more = self.damage.len().saturating_sub(MAX_NAMED_FILES);
        let more =
            (more > 0).then(|| format!("{more} more files are damaged, or end in the middle of a record"));
        self.damage.iter().take(MAX_NAMED_FILES).cloned().chain(more).collect()
    }

    /// `12 runs of TensorBoard and 3 of W&B`.
    pub fn describe_tools(&self) -> String {
        let counts: Vec<String> =
            self.formats.iter().map(|(format, count)| format!("{count} of {format}")).collect();
        counts.join(", ")
    }

    /// The number of runs that ended early, in words; empty if there are none.
    pub fn describe_early_ends(&self) -> String {
        let early = self.ends.iter().filter(|(ended, _)| ended.is_early());
        early.map(|(ended, count)| format!("{count} {ended}")).collect::<Vec<_>>().join(", ")
    }
}

fn has_epochs(run: &RunLog) -> bool {
    run.series.iter().any(|(name, series)| {
        series::is_epoch(name)
            || series.packed.as_ref().is_some_and(PackedSeries::has_epochs)
            || series.points.iter().any(|point| point.epoch.is_some())
    })
}

impl fmt::Display for LogSurvey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} runs", self.runs.len())?;
        if !self.formats.is_empty() {
            write!(f, " ({})", self.describe_tools())?;
        }
        let early = self.describe_early_ends();
        if !early.is_empty() {
            write!(f, "; {early}")?;
        }
        let mut why: BTreeMap<&str, usize> = BTreeMap::new();
        self.left_out.iter().for_each(|left| *why.entry(&left.why).or_default() += 1);
        for (why, count) in why {
            write!(f, "; {count} left out: {why}")?;
        }
        Ok(())
    }
}

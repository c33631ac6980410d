//! From logged values to curves on one resource: epochs if the log has them, else the metric's own steps.

use super::packed::{CurveResource, PackedSeries};
use super::point::LoggedPoint;
use super::series::{RunEnd, RunLog, is_epoch};
use crate::note::{Note, NoteTopic};
use crate::raw::RawRun;

/// A curve on its resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AlignedCurve {
    pub(crate) steps: Vec<f64>,
    pub(crate) values: Vec<f64>,
    /// Seconds for one unit of the resource.
    pub(crate) seconds: Option<f64>,
    /// Values that later ones replace: of the same step, or from before a restart.
    pub(crate) replaced: usize,
}

/// Packs the points of all series of a run that is read to its end: a run of many points takes a quarter of the memory.
pub(crate) fn pack(run: &mut RunLog, keep_times: bool) {
    let unpacked = run.series.iter().filter(|(name, series)| !is_epoch(name) && !series.points.is_empty());
    let names: Vec<String> = unpacked.map(|(name, _)| name.clone()).collect();
    for name in names {
        let (points, replaced) = points(run, &name);
        let paces = [CurveResource::Step, CurveResource::Epoch]
            .map(|unit| lay_on_resource(&points, unit, false).pace());
        let packed = PackedSeries::new(&points, replaced, paces, keep_times);
        if let Some(series) = run.series.get_mut(&name) {
            series.points = Vec::new();
            series.packed = Some(packed);
        }
    }
    // only now, because the epochs of all other series were taken from these
    run.series
        .iter_mut()
        .filter(|(name, _)| is_epoch(name))
        .for_each(|(_, series)| series.points = Vec::new());
}

/// The points of `metric` with their epochs, those that a restart replaced left out; and how many these were.
fn points(run: &RunLog, metric: &str) -> (Vec<LoggedPoint>, usize) {
    let Some(series) = run.series.get(metric) else { return (Vec::new(), 0) };
    if let Some(packed) = &series.packed {
        return (packed.points().collect(), packed.replaced_count());
    }
    let mut kept: Vec<LoggedPoint> = Vec::with_capacity(series.points.len());
    let first = series.points.first().map(|point| point.step);
    let uncounted = series.points.len() > 1 && series.points.iter().all(|point| Some(point.step) == first);
    for (at, &point) in series.points.iter().enumerate() {
        // a log that never counts its steps has them in its order
        let step = if uncounted { (at + 1) as f64 } else { point.step };
        if step.is_finite() {
            // a step that goes back is that of a run that was resumed: epochs that it had logged from there on are trained again
            while kept.last().is_some_and(|last| last.step >= step) {
                kept.pop();
            }
            kept.push(LoggedPoint { step, ..point });
        }
    }
    let replaced = series.points.len() - kept.len();
    if !uncounted {
        fill_epochs(run, &mut kept);
    }
    (kept, replaced)
}

/// The epoch of each point that has none, by the run's own series of epochs: the last one up to its step.
fn fill_epochs(run: &RunLog, points: &mut [LoggedPoint]) {
    let Some((_, epochs)) = run.series.iter().find(|(name, _)| is_epoch(name)) else { return };
    let mut known: Vec<(f64, f64)> = epochs.points.iter().map(|point| (point.step, point.value)).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    for point in points.iter_mut().filter(|point| point.epoch.is_none()) {
        let until = known.partition_point(|(step, _)| *step <= point.step);
        point.epoch = until.checked_sub(1).map(|at| known[at].1).filter(|epoch| epoch.is_finite());
    }
}

/// The epochs of the runs, gathered run by run.
#[derive(Default)]
struct EpochSurvey {
    /// The number of different epochs each run has.
    counts: Vec<usize>,
    /// Whether a value has none.
    missing: bool,
    /// Whether all are whole numbers, and one is 0.
    broken: bool,
    zero: bool,
    /// Whether a run has several values.
    several: bool,
}

impl EpochSurvey {
    fn add(&mut self, points: &[LoggedPoint]) {
        if points.is_empty() {
            return;
        }
        self.several |= points.len() > 1;
        let mut last = None;
        let mut count = 0;
        for point in points {
            self.missing |= point.epoch.is_none();
            let Some(epoch) = point.epoch else { continue };
            self.broken |= epoch.fract() != 0.0;
            self.zero |= epoch == 0.0;
            if last != Some(epoch) {
                count += 1;
            }
            last = Some(epoch);
        }
        self.counts.push(count);
    }

    /// Whether curves can be laid on epochs: all values have one, and most runs have several.
    fn are_known(&mut self) -> bool {
        self.counts.sort_unstable();
        let median = self.counts.get(self.counts.len() / 2).copied().unwrap_or(0);
        // where all values lie within one epoch, only the steps tell them apart, unless each run has a single value
        !self.missing && (median > 1 || !self.several)
    }
}

/// The resource that all curves of `metric` are laid on, and a note on it.
pub(crate) fn resource(
    runs: &[RunLog],
    metric: &str,
    asked: Option<CurveResource>,
) -> (CurveResource, bool, Note) {
    let mut epochs = EpochSurvey::default();
    for run in runs {
        epochs.add(&points(run, metric).0);
    }
    let known = epochs.are_known();
    let chosen = asked.unwrap_or(if known { CurveResource::Epoch } else { CurveResource::Step });
    let counted_from_0 = chosen == CurveResource::Epoch
        && !epochs.broken
        && epochs.zero
        && !runs.iter().any(|run| is_evaluated_first(run, metric));
    let text = match (chosen, counted_from_0) {
        (CurveResource::Epoch, true) => {
            format!("`{metric}` by epoch (the log counts epochs from 0, Foretell counts from 1)")
        }
        (CurveResource::Epoch, false) => format!("`{metric}` by epoch"),
        (CurveResource::Step, _) if !epochs.missing => {
            format!("`{metric}` by step, because its values lie within one epoch")
        }
        (CurveResource::Step, _) => {
            format!("`{metric}` by its own steps, because the log lacks epochs for some of them")
        }
        (CurveResource::Time, _) => format!("`{metric}` by seconds since the run's first value"),
    };
    (chosen, counted_from_0, Note::new(NoteTopic::Metric, text))
}

/// Whether the value of epoch 0 is that of the network before it was trained: the last epoch is the number that was planned, or the
/// training itself logs from epoch 1 to the same last epoch.
fn is_evaluated_first(run: &RunLog, metric: &str) -> bool {
    let Some((first, last)) = epoch_range(run, metric).filter(|(first, last)| first < last) else {
        return false;
    };
    let others = run.series.keys().filter(|name| !is_epoch(name));
    first == 0.0
        && (run.planned.is_some_and(|planned| last >= planned)
            || others
                .filter_map(|name| epoch_range(run, name))
                .any(|(start, end)| start > 0.0 && start <= 1.0 && end >= last))
}

/// The first and the last epoch of a series.
fn epoch_range(run: &RunLog, name: &str) -> Option<(f64, f64)> {
    let points = points(run, name).0;
    Some((points.first()?.epoch?, points.last()?.epoch?))
}

/// The curve of `metric` in `run`.
pub(crate) fn align(
    run: &RunLog,
    metric: &str,
    resource: CurveResource,
    counted_from_0: bool,
) -> AlignedCurve {
    let (points, replaced) = points(run, metric);
    let laid = lay_on_resource(&points, resource, counted_from_0);
    let packed = run.series.get(metric).and_then(|series| series.packed.as_ref());
    let seconds = packed.and_then(|packed| packed.pace(resource)).or_else(|| laid.pace());
    AlignedCurve { steps: laid.steps, values: laid.values, seconds, replaced }
}

/// Points on a resource.
#[derive(Default)]
struct ResourceCurve {
    steps: Vec<f64>,
    values: Vec<f64>,
    times: Vec<Option<f64>>,
}

impl ResourceCurve {
    fn pace(&self) -> Option<f64> {
        seconds(&self.steps, &self.times)
    }
}

fn lay_on_resource(points: &[LoggedPoint], resource: CurveResource, counted_from_0: bool) -> ResourceCurve {
    let start = points.iter().find_map(|point| point.time);
    let mut laid = ResourceCurve::default();
    for point in points {
        let at = match resource {
            CurveResource::Epoch => point.epoch.map(|epoch| epoch + f64::from(u8::from(counted_from_0))),
            CurveResource::Step => Some(point.step),
            CurveResource::Time => point.time.zip(start).map(|(time, start)| time - start),
        };
        let Some(at) = at else { continue };
        // several values in an epoch: the last one is its end
        while laid.steps.last().is_some_and(|last| *last >= at) {
            laid.steps.pop();
            laid.values.pop();
            laid.times.pop();
        }
        laid.steps.push(at);
        laid.values.push(point.value);
        laid.times.push(point.time);
    }
    laid
}

/// The median time that one unit of the resource takes: pauses and restarts do not count.
fn seconds(steps: &[f64], times: &[Option<f64>]) -> Option<f64> {
    let mut paces: Vec<f64> = steps
        .windows(2)
        .zip(times.windows(2))
        .filter_map(|(steps, times)| Some((times[1]? - times[0]?) / (steps[1] - steps[0])))
        .filter(|pace| pace.is_finite() && *pace >= 0.0)
        .collect();
    paces.sort_by(f64::total_cmp);
    paces.get(paces.len() / 2).copied()
}

/// Runs that a replay or a forecast needs: three to learn from, and one more.
const MIN_REPLAY_RUNS: usize = 4;

/// The step at which runs are compared: the last step that at least half of the completed runs reach. If the log does not record how
/// runs ended, the completed runs are those that reach the longest end shared by a twentieth of all runs, and by at least two.
///
/// If fewer than [`MIN_REPLAY_RUNS`] runs come so far, it is the last step that as many reach, failed ones not counted: up to there a run
/// that stopped itself later is as good as a finished one.
///
/// `runs` are (last step, how it ended); a run that diverged has no last step that tells. Ends that differ by a hundredth are alike.
fn target(runs: &[(Option<f64>, RunEnd)]) -> Option<f64> {
    let [finished, unknown] = [RunEnd::Finished, RunEnd::Unknown].map(|wanted| {
        let mut ends: Vec<f64> =
            runs.iter().filter(|(_, ended)| *ended == wanted).filter_map(|(last, _)| *last).collect();
        ends.sort_by(|a, b| b.total_cmp(a));
        ends
    });
    let (ends, needed) = match (finished.len(), unknown.len()) {
        (0, 0) => return None,
        (0, count) => (unknown, count.div_ceil(20).max(2).min(count)),
        (count, _) => (finished, count.div_ceil(2)),
    };
    let common = ends[needed - 1];
    let common =
        ends.into_iter().filter(|end| *end >= common - 0.01 * common.abs()).min_by(f64::total_cmp)?;
    if runs.iter().filter(|(end, _)| end.is_none_or(|end| end >= common)).count() >= MIN_REPLAY_RUNS {
        return Some(common);
    }
    // a run that diverged has its result at every later step
    let usable = runs.iter().filter(|(_, ended)| *ended != RunEnd::Failed);
    let mut usable: Vec<f64> = usable.map(|(end, _)| end.unwrap_or(f64::INFINITY)).collect();
    usable.sort_by(|a, b| b.total_cmp(a));
    Some(usable.get(MIN_REPLAY_RUNS - 1).map_or(common, |reached| common.min(*reached)))
}

/// The step at which `runs` are compared: see [`target`].
pub(crate) fn common_end(runs: &[RawRun]) -> Option<f64> {
    target(&runs.iter().map(|run| (run.end(), run.ended)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::{RunEnd, target};

    #[test]
    fn runs_that_were_pruned_do_not_say_where_runs_end() {
        let pruned = [(Some(3.0), RunEnd::Pruned); 9];
        let with_end = |ended| {
            [
                (Some(10.0), ended),
                (Some(10.0), ended),
                (Some(10.0), ended),
                (Some(9.95), ended),
                (None, ended),
                (Some(4.0), RunEnd::Failed),
            ]
        };
        assert_eq!(target(&[&pruned[..], &with_end(RunEnd::Finished)].concat()), Some(9.95));
        // the log does not record how runs ended: most stopped early, and four reach the end
        let unknown = [(Some(3.0), RunEnd::Unknown); 9];
        assert_eq!(target(&[&unknown[..], &with_end(RunEnd::Unknown)].concat()), Some(9.95));
        assert_eq!(target(&pruned), None);
    }

    #[test]
    fn where_patience_ended_most_runs_the_step_is_one_that_four_reach() {
        let ends = [(20.0, RunEnd::Finished), (12.0, RunEnd::Stopped), (9.0, RunEnd::Stopped)];
        let more = [(8.0, RunEnd::Stopped), (8.0, RunEnd::Failed), (5.0, RunEnd::Stopped)];
        let runs: Vec<_> = ends.iter().chain(&more).map(|&(end, ended)| (Some(end), ended)).collect();
        assert_eq!(target(&runs), Some(8.0));
        // three runs are too few in any case
        assert_eq!(target(&runs[..3]), Some(20.0));
    }
}

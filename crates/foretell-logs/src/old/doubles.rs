//! Trainings that two tools logged, such as a script with two loggers: the values of their metrics are the same, and one run stays.

use super::series::{RunEnd, RunLog, is_epoch};
use super::survey::LeftOut;
use foretell::direction_of;
use std::collections::{BTreeSet, HashMap};

/// Why a run is left out.
pub(crate) const DUPLICATE_REASON: &str = "duplicate: another tool logged the same run";

/// Fewer values may be the same by chance.
const MIN_MARK_VALUES: usize = 3;

/// A series by its number of values, its first, its last, its smallest and its largest, in the precision that all tools have.
type SeriesMark = (usize, [u32; 4]);

/// The marks of the metrics of a run that vary.
fn marks(run: &RunLog) -> BTreeSet<SeriesMark> {
    let metrics = run.series.iter().filter(|(name, _)| direction_of(name).is_some() && !is_epoch(name));
    let marks = metrics.filter_map(|(_, series)| {
        let (low, high) = series.range?;
        let numbers = [series.first.1, series.last.1, low, high].map(|number| (number as f32).to_bits());
        (series.count >= MIN_MARK_VALUES && numbers[2] != numbers[3]).then_some((series.count, numbers))
    });
    marks.collect()
}

/// How much the log of a run records in addition to its values: its end, and its duration.
fn recorded_details(run: &RunLog) -> (bool, bool) {
    let timed =
        run.series.values().filter_map(|series| series.packed.as_ref()).any(|packed| packed.has_pace());
    (run.ended != RunEnd::Unknown, timed)
}

/// The runs without those that another tool logged, too. Two runs are one training if every metric of the one with fewer is one of
/// the other. Settings that only the run left out records are kept.
pub(crate) fn without_doubles(runs: Vec<RunLog>, left_out: &mut Vec<LeftOut>) -> Vec<RunLog> {
    if runs.iter().all(|run| runs.first().is_some_and(|first| first.format == run.format)) {
        return runs;
    }
    let mut kept: Vec<(RunLog, BTreeSet<SeriesMark>)> = Vec::new();
    let mut places: HashMap<SeriesMark, Vec<usize>> = HashMap::new();
    for run in runs {
        let marks = marks(&run);
        let mut candidates = marks.iter().filter_map(|mark| places.get(mark)).flatten().copied();
        let same = candidates.find(|&at| {
            let (other, theirs) = &kept[at];
            let (few, many) = if theirs.len() < marks.len() { (theirs, &marks) } else { (&marks, theirs) };
            other.format != run.format && few.is_subset(many)
        });
        if let Some(at) = same {
            merge_logs(&mut kept[at].0, run, left_out);
            continue;
        }
        marks.iter().for_each(|&mark| places.entry(mark).or_default().push(kept.len()));
        kept.push((run, marks));
    }
    kept.into_iter().map(|(run, _)| run).collect()
}

/// Keeps the log that records more.
fn merge_logs(first: &mut RunLog, mut second: RunLog, left_out: &mut Vec<LeftOut>) {
    if recorded_details(&second) > recorded_details(first) {
        std::mem::swap(first, &mut second);
    }
    if second.id.len() < first.id.len() {
        std::mem::swap(&mut first.id, &mut second.id);
    }
    for (name, value) in second.configuration {
        first.configure(&name, value);
    }
    left_out.push(LeftOut {
        what: format!("{} of {}", second.id, second.format),
        why: DUPLICATE_REASON.to_owned(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::old::LogFormat;
    use crate::old::point::LoggedPoint;
    use crate::old::series::SeriesFilter;

    fn run(id: &str, format: LogFormat, name: &str, of: fn(f64) -> f64, time: Option<f64>) -> RunLog {
        let mut run = RunLog::new(id, format);
        for step in [1.0, 2.0, 3.0] {
            let point =
                LoggedPoint { step, epoch: None, time: time.map(|time| time * step), value: of(step) };
            run.push(name, point, &SeriesFilter::default());
        }
        super::super::align::pack(&mut run, false);
        run
    }

    #[test]
    fn a_training_with_two_loggers_is_one_run_by_the_log_that_has_times() {
        let value = |step: f64| f64::from((0.1 / step) as f32);
        let table = run("version_0", LogFormat::Lightning, "val_loss", |step| 0.1 / step, None);
        let events = run("version_0 (2)", LogFormat::TensorBoard, "val/loss", value, Some(5.0));
        let other = run("b", LogFormat::TensorBoard, "val/loss", |step| 0.2 / step, Some(5.0));
        let mut left_out = Vec::new();
        let kept = without_doubles(vec![table.clone(), events, other], &mut left_out);
        let ids: Vec<_> = kept.iter().map(|run| (run.id.as_str(), run.format)).collect();
        assert_eq!(ids, [("version_0", LogFormat::TensorBoard), ("b", LogFormat::TensorBoard)]);
        assert_eq!((left_out.len(), left_out[0].why.as_str()), (1, DUPLICATE_REASON));
        // the same values twice in one tool are two runs with one seed
        assert_eq!(without_doubles(vec![table.clone(), table], &mut left_out).len(), 2);
    }
}

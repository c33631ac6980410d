//! Makes runs of the content of a file: direction, curves, the columns that are features, repeats, and the notes.

use crate::columns::{RecordedConfigurations, column_names, configurations, feature_columns};
use crate::error::Error;
use crate::names::is_repetition_group;
use crate::note::{Note, NoteTopic};
use crate::options::ReadOptions;
use crate::raw::{RawRun, RawRuns};
use crate::recorded::RecordedSet;
use crate::repeats::{repeats, varies};
use crate::table::{count, list};
use foretell::{Curve, Direction, FeatureGroup, Metric, Run, Value, direction_of};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Judges the columns of `raw` and turns its curves.
pub(crate) fn collect(
    mut raw: RawRuns,
    name: String,
    file: &Path,
    options: &ReadOptions,
) -> Result<RecordedSet, Error> {
    if raw.runs.is_empty() {
        return Err(Error::NoRuns { file: file.to_owned() });
    }
    let mut notes = raw.notes.clone();
    let direction = direction(&raw, options, &mut notes);
    let declared = declared_groups(&raw, file, options, &mut notes)?;
    let columns = feature_columns(&raw, options, &mut notes);
    // before `runs`, because that takes the values out of `raw`
    let gappy = raw.runs.iter().filter(|run| run.empty_inside > 0 || count_gaps(&run.values) > 0).count();
    let runs = runs(&mut raw, direction, &columns.groups, file)?;
    let empty_between = crate::raw::empty_between(&raw.runs);
    note_curves(gappy, &runs, &mut notes);
    let repeats = repeats(&runs, &configurations(&raw, &columns, options), &declared);
    note_repeats(&repeats, &mut notes);
    let metric = Metric::new(raw.metric.clone(), direction);
    let (ended, seconds) = raw.runs.iter().map(|run| (run.ended, run.seconds)).unzip();
    let (target, other_metrics, declared_direction) = (raw.target, raw.others, raw.direction);
    raw.notes.clear();
    let configurations = RecordedConfigurations { raw, options: options.clone() };
    let recorded = RecordedSet {
        name,
        runs,
        metric,
        declared: declared_direction,
        columns,
        repeats,
        empty_between,
        ended,
        seconds,
        target,
        other_metrics,
        notes,
        configurations,
    };
    Ok(if options.deduplicate { recorded.without_identical_curves().without_repeats() } else { recorded })
}

/// The option, else the file's own word, else the metric's name, else the data: most runs improve, so if more than
/// half of the curves end below their start, lower is better.
fn direction(raw: &RawRuns, options: &ReadOptions, notes: &mut Vec<Note>) -> Direction {
    if let Some(direction) = options.direction {
        return direction;
    }
    let (direction, ground) = match (raw.direction, direction_of(&raw.metric)) {
        (Some(declared), _) => (declared, "as recorded in the file".to_owned()),
        (None, Some(named)) => (named, "by its name".to_owned()),
        (None, None) => direction_of_data(&raw.runs),
    };
    let text = format!("metric `{}`: {} is better ({ground})", raw.metric, direction.better_word());
    notes.push(Note::new(NoteTopic::Direction, text));
    direction
}

fn direction_of_data(runs: &[RawRun]) -> (Direction, String) {
    let mut moved = 0;
    let mut fell = 0;
    for run in runs {
        let mut finite = run.values.iter().filter(|value| value.is_finite());
        if let (Some(first), Some(last)) = (finite.next(), finite.next_back()) {
            moved += 1;
            fell += usize::from(last < first);
        }
    }
    let direction = if 2 * fell > moved { Direction::Minimize } else { Direction::Maximize };
    (direction, format!("a guess, since {fell} of {moved} curves fall; set the direction if it is wrong"))
}

/// The value of the grouping column for each run.
fn declared_groups(
    raw: &RawRuns,
    file: &Path,
    options: &ReadOptions,
    notes: &mut Vec<Note>,
) -> Result<Vec<Option<String>>, Error> {
    let columns = column_names(raw);
    let column = match &options.group_by {
        Some(name) if !columns.contains(name.as_str()) => {
            return Err(Error::UnknownColumn {
                file: file.to_owned(),
                column: name.clone(),
                option: "group by",
                columns: list(columns),
            });
        }
        Some(name) => Some(name.as_str()),
        None => columns.into_iter().find(|name| is_repetition_group(name)),
    };
    let Some(column) = column else { return Ok(vec![None; raw.runs.len()]) };
    let cell =
        |run: &RawRun| run.configuration.get(column).map(Value::to_string).filter(|text| !text.is_empty());
    let cells: Vec<Option<String>> = raw.runs.iter().map(cell).collect();
    let groups = cells.iter().flatten().collect::<HashSet<_>>().len();
    notes.push(Note::new(
        NoteTopic::Repeats,
        format!("runs grouped by `{column}`: {}", count(groups, "group")),
    ));
    Ok(cells)
}

/// The runs; their curves are taken out of `raw`, so that they are not in memory twice.
fn runs(
    raw: &mut RawRuns,
    direction: Direction,
    groups: &BTreeMap<String, FeatureGroup>,
    file: &Path,
) -> Result<Vec<Run>, Error> {
    let runs = raw.runs.iter_mut().enumerate().map(|(at, run)| {
        let (steps, values) = (std::mem::take(&mut run.steps), std::mem::take(&mut run.values));
        let curve = Curve::new(&steps, &values, direction).map_err(|source| Error::Curve {
            file: file.to_owned(),
            line: run.line,
            source,
        })?;
        let id = run.id.clone().unwrap_or_else(|| (at + 1).to_string());
        let features = run.configuration.iter().filter(|(name, _)| groups.contains_key(*name));
        Ok(Run { id, configuration: features.map(|(n, v)| (n.clone(), v.clone())).collect(), curve })
    });
    runs.collect()
}

fn note_curves(gappy: usize, runs: &[Run], notes: &mut Vec<Note>) {
    let empty = runs.iter().filter(|run| run.curve.is_empty()).count();
    let flat = runs.iter().filter(|run| run.curve.len() > 1 && !varies(run)).count();
    let mut note = |topic, count: usize, text: &str| {
        if count > 0 {
            notes.push(Note::new(topic, format!("{count} of {} runs {text}", runs.len())));
        }
    };
    note(NoteTopic::Unmeasured, empty, "contain no finite value");
    let diverged: Vec<f64> = runs.iter().filter_map(|run| run.curve.diverged_at()).collect();
    let first = diverged.iter().copied().fold(f64::INFINITY, f64::min);
    let last = diverged.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let steps = if first < last { format!("steps {first} to {last}") } else { format!("step {first}") };
    note(
        NoteTopic::Diverged,
        diverged.len(),
        &format!("diverged at {steps}: their last values are not finite"),
    );
    note(NoteTopic::Flat, flat, "are constant, and are kept");
    note(NoteTopic::Gaps, gappy, "contain gaps: values that are missing or not finite");
    note_lengths(runs, notes);
}

/// The number of values before the last finite one that are not finite.
fn count_gaps(values: &[f64]) -> usize {
    let end = values.iter().rposition(|value| value.is_finite()).unwrap_or(0);
    values[..end].iter().filter(|value| !value.is_finite()).count()
}

fn note_lengths(runs: &[Run], notes: &mut Vec<Note>) {
    let mut lengths: Vec<usize> = runs.iter().map(|run| run.curve.len()).collect();
    lengths.sort_unstable();
    let (Some(shortest), Some(longest)) = (lengths.first(), lengths.last()) else { return };
    if shortest < longest {
        let median = lengths[lengths.len() / 2];
        let text = format!("lengths differ: {shortest} to {longest} finite points, median {median}");
        notes.push(Note::new(NoteTopic::Lengths, text));
    }
}

fn note_repeats(repeats: &[usize], notes: &mut Vec<Note>) {
    let repeated = repeats.iter().enumerate().filter(|&(at, &first)| at != first).count();
    if repeated > 0 {
        let text = format!("{repeated} of {} runs repeat an earlier one", repeats.len());
        notes.push(Note::new(NoteTopic::Repeats, text));
    }
}

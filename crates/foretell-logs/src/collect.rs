//! From what stands in a file to runs: direction, curves, the columns that are features, repeats, and the notes.

use crate::error::Error;
use crate::names::{direction_of, is_label, is_outcome, is_repetition_group};
use crate::options::ReadOptions;
use crate::raw::{Raw, RawRun};
use crate::recorded::{Note, Recorded, Topic};
use crate::repeats::{repeats, varies};
use crate::table::{count, list, shortened};
use foretell::{Columns, Configuration, Curve, Direction, FeatureGroup, LayerSequence, Run, Value};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

/// Judges the columns of `raw` and turns its curves.
pub(crate) fn collect(raw: Raw, name: String, file: &Path, options: &ReadOptions) -> Result<Recorded, Error> {
    if raw.runs.is_empty() {
        return Err(Error::NoRuns { file: file.to_owned() });
    }
    let mut notes = raw.notes.clone();
    let direction = direction(&raw, options, &mut notes);
    let declared = declared_groups(&raw, file, options, &mut notes)?;
    let columns = feature_columns(&raw, options, &mut notes);
    let runs = runs(&raw, direction, &columns.groups, file)?;
    note_curves(&raw, &runs, &mut notes);
    let repeats = repeats(&runs, &configurations(&raw, &columns, options), &declared);
    note_repeats(&repeats, &mut notes);
    let recorded = Recorded { name, runs, metric: raw.metric, direction, columns, repeats, notes };
    Ok(if options.deduplicate { recorded.without_identical_curves().without_repeats() } else { recorded })
}

/// The option, else the file's own word, else the metric's name, else the data: most runs improve, so if more than
/// half of the curves end below their start, lower is better.
fn direction(raw: &Raw, options: &ReadOptions, notes: &mut Vec<Note>) -> Direction {
    if let Some(direction) = options.direction {
        return direction;
    }
    let (direction, ground) = match (raw.direction, direction_of(&raw.metric)) {
        (Some(declared), _) => (declared, "the file says so".to_owned()),
        (None, Some(named)) => (named, "by its name".to_owned()),
        (None, None) => direction_of_data(&raw.runs),
    };
    let better = if direction == Direction::Maximize { "larger" } else { "smaller" };
    notes
        .push(Note::new(Topic::Direction, format!("metric `{}`: {better} is better ({ground})", raw.metric)));
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
    (
        direction,
        format!("the name does not tell; {fell} of {moved} curves fall; give the direction if this is wrong"),
    )
}

/// The value of the grouping column for each run.
fn declared_groups(
    raw: &Raw,
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
    notes.push(Note::new(Topic::Repeats, format!("runs grouped by `{column}`: {}", count(groups, "group"))));
    Ok(cells)
}

fn column_names(raw: &Raw) -> BTreeSet<&str> {
    raw.runs.iter().flat_map(|run| run.configuration.keys().map(String::as_str)).collect()
}

/// What becomes of a configuration column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Feature,
    Constant,
    Outcome,
    Label,
    Asked,
    Unrepeated,
}

/// The columns that are features, with their groups; notes say what became of the others.
fn feature_columns(raw: &Raw, options: &ReadOptions, notes: &mut Vec<Note>) -> Columns {
    let mut groups = BTreeMap::new();
    let mut fates: BTreeMap<Fate, Vec<&str>> = BTreeMap::new();
    for name in column_names(raw) {
        let cells = Cells::of(raw, name);
        let fate = fate(name, &cells, raw, options);
        if fate == Fate::Feature {
            let sequences = note_sequences(name, &cells, notes);
            // kept as an exact copy, a label is still no feature
            if !is_label(name) || options.include.iter().any(|entry| entry == name) {
                note_categories(name, &cells, raw, notes);
            }
            groups.insert(name.to_owned(), options.columns.group(name, sequences));
        }
        fates.entry(fate).or_default().push(name);
    }
    note_fates(&fates, notes);
    note_unknown(&options.exclude, "exclude", raw, notes);
    note_unknown(&options.include, "include", raw, notes);
    note_unknown(options.columns.groups.keys(), "put into a feature group", raw, notes);
    note_unknown(options.columns.scales.keys(), "put on a scale", raw, notes);
    Columns { groups, scales: options.columns.scales.clone() }
}

fn fate(name: &str, cells: &Cells<'_>, raw: &Raw, options: &ReadOptions) -> Fate {
    if options.exclude.iter().any(|entry| entry == name) {
        Fate::Asked
    } else {
        fate_unless_excluded(name, cells, raw, options)
    }
}

fn fate_unless_excluded(name: &str, cells: &Cells<'_>, raw: &Raw, options: &ReadOptions) -> Fate {
    let named = |list: &[String]| list.iter().any(|entry| entry == name);
    if options.keep_all_columns || named(&options.include) {
        Fate::Feature
    } else if raw.runs.len() > 1 && cells.constant() {
        Fate::Constant
    } else if is_outcome(name, cells.numeric()) {
        Fate::Outcome
    } else if is_label(name)
        || raw.id_column.as_deref() == Some(name)
        || options.group_by.as_deref() == Some(name)
    {
        Fate::Label
    } else if cells.unrepeated_text() {
        Fate::Unrepeated
    } else {
        Fate::Feature
    }
}

/// What tells the configurations of the runs apart: the features, also those that the user excludes, and the id where it is
/// one of them.
///
/// Leaving a column out of the features says nothing about which runs are the same.
fn configurations(raw: &Raw, columns: &Columns, options: &ReadOptions) -> Vec<Configuration> {
    let mut names: BTreeSet<&str> = columns.groups.keys().map(String::as_str).collect();
    names.extend(column_names(raw).into_iter().filter(|name| {
        options.exclude.iter().any(|entry| entry == name)
            && fate_unless_excluded(name, &Cells::of(raw, name), raw, options) == Fate::Feature
    }));
    let id = options.id_column.as_deref().filter(|name| !is_label(name) && ids_are_settings(raw));
    let one = |run: &RawRun| {
        let known =
            names.iter().filter_map(|&name| Some((name.to_owned(), run.configuration.get(name)?.clone())));
        let id = id.zip(run.id.as_deref()).map(|(name, id)| (name.to_owned(), Value::of_cell(id)));
        known.chain(id).collect()
    };
    raw.runs.iter().map(one).collect()
}

/// Whether the ids are numbers, not all of them whole: names are words or counted.
fn ids_are_settings(raw: &Raw) -> bool {
    let id = |run: &RawRun| run.id.as_deref().and_then(|id| Value::of_cell(id).number());
    let numbers: Option<Vec<f64>> = raw.runs.iter().map(id).collect();
    numbers.is_some_and(|numbers| numbers.iter().any(|number| number.fract().abs() > 0.0))
}

fn note_fates(fates: &BTreeMap<Fate, Vec<&str>>, notes: &mut Vec<Note>) {
    for (fate, names) in fates {
        let (topic, why) = match fate {
            Fate::Feature => continue,
            Fate::Constant => (Topic::Constant, "dropped for never varying"),
            Fate::Outcome => (Topic::Excluded, "excluded because outcomes are no configuration"),
            Fate::Label => (Topic::Excluded, "excluded because labels of a run are no configuration"),
            Fate::Asked => (Topic::Excluded, "excluded as asked"),
            Fate::Unrepeated => (Topic::Excluded, "of text excluded because no two runs share a value"),
        };
        notes.push(Note::new(
            topic,
            format!("{} {why}: {}", count(names.len(), "column"), list(names.iter().copied())),
        ));
    }
}

/// Says which of the columns that an option names are not there: a slip of the pen, or of another file's.
fn note_unknown<'a>(
    named: impl IntoIterator<Item = &'a String>,
    option: &str,
    raw: &Raw,
    notes: &mut Vec<Note>,
) {
    let columns = column_names(raw);
    for name in named.into_iter().filter(|name| !columns.contains(name.as_str())) {
        let there = list(columns.iter().copied());
        let text = format!("there is no column `{name}` to {option}; the columns are {there}");
        notes.push(Note::new(Topic::Excluded, text));
    }
}

/// Whether the column is in layer notation; says how many of its texts can be read.
fn note_sequences(name: &str, cells: &Cells<'_>, notes: &mut Vec<Note>) -> bool {
    let texts = cells.0.iter().filter_map(|value| value.text());
    let (mut read, mut all) = (0, 0);
    for text in texts {
        all += 1;
        read += usize::from(is_sequence(text));
    }
    if read > 0 {
        let text = format!("column `{name}` is in layer notation: {read} of {all} texts are networks");
        notes.push(Note::new(Topic::Architecture, text));
    }
    read > 0
}

/// Says which texts make categories of a column of numbers: two or more, and at least half of what is there.
fn note_categories(name: &str, cells: &Cells<'_>, raw: &Raw, notes: &mut Vec<Note>) {
    let numbers = cells.0.iter().filter(|value| value.number().is_some()).count();
    let texts: Vec<(&RawRun, &str)> =
        raw.runs.iter().zip(&cells.0).filter_map(|(run, value)| Some((run, value.text()?))).collect();
    let Some((run, text)) = texts.first().filter(|_| numbers >= texts.len().max(2)) else { return };
    let place = match &run.id {
        Some(id) if raw.joined.contains(name) => format!("run `{id}`"),
        _ => format!("line {}", run.line),
    };
    let text = shortened(text);
    let said = match texts.len() {
        1 => format!("the text `{text}` ({place})"),
        more => format!("{more} texts, the first `{text}` ({place})"),
    };
    let text =
        format!("column `{name}` has {numbers} numbers and {said}: its values are taken as categories");
    notes.push(Note::new(Topic::Categories, text));
}

fn is_sequence(text: &str) -> bool {
    text.starts_with('[') && text.parse::<LayerSequence>().is_ok()
}

/// One column, down all the runs.
struct Cells<'a>(Vec<&'a Value>);

impl<'a> Cells<'a> {
    fn of(raw: &'a Raw, name: &str) -> Self {
        Self(raw.runs.iter().map(|run| run.configuration.get(name).unwrap_or(&Value::Missing)).collect())
    }

    fn constant(&self) -> bool {
        self.0.windows(2).all(|pair| pair[0] == pair[1])
    }

    fn numeric(&self) -> bool {
        self.0.iter().all(|value| value.text().is_none())
    }

    /// Ten texts or more, no two of them alike and none in layer notation: a name, not a category.
    fn unrepeated_text(&self) -> bool {
        let mut seen = HashSet::new();
        let mut texts = self.0.iter().filter_map(|value| value.text());
        texts.all(|text| seen.insert(text) && !is_sequence(text)) && seen.len() >= 10
    }
}

fn runs(
    raw: &Raw,
    direction: Direction,
    groups: &BTreeMap<String, FeatureGroup>,
    file: &Path,
) -> Result<Vec<Run>, Error> {
    let features = |run: &RawRun| {
        run.configuration
            .iter()
            .filter(|(name, _)| groups.contains_key(*name))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect()
    };
    let one = |(at, run): (usize, &RawRun)| {
        let curve = Curve::new(&run.steps, &run.values, direction).map_err(|source| Error::Curve {
            file: file.to_owned(),
            line: run.line,
            source,
        })?;
        let id = run.id.clone().unwrap_or_else(|| (at + 1).to_string());
        Ok(Run { id, configuration: features(run), curve })
    };
    raw.runs.iter().enumerate().map(one).collect()
}

fn note_curves(raw: &Raw, runs: &[Run], notes: &mut Vec<Note>) {
    let how_many = |holds: &dyn Fn(&Run) -> bool| runs.iter().filter(|run| holds(run)).count();
    let mut note = |topic, count: usize, text: &str| {
        if count > 0 {
            notes.push(Note::new(topic, format!("{count} of {} runs {text}", runs.len())));
        }
    };
    note(Topic::Unmeasured, how_many(&|run| run.curve.is_empty()), "have no finite value");
    let diverged: Vec<f64> = runs.iter().filter_map(|run| run.curve.diverged_at()).collect();
    let first = diverged.iter().copied().fold(f64::INFINITY, f64::min);
    let last = diverged.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let steps = if first < last { format!("steps {first} to {last}") } else { format!("step {first}") };
    note(
        Topic::Diverged,
        diverged.len(),
        &format!("end in values that are not finite: diverged, at {steps}"),
    );
    note(Topic::Flat, how_many(&|run| run.curve.len() > 1 && !varies(run)), "never leave one value: kept");
    let gappy = raw.runs.iter().filter(|run| gaps(&run.values) > 0).count();
    note(Topic::Gaps, gappy, "have gaps, values inside that are absent or not finite");
    note_lengths(runs, notes);
}

/// How many values that are not finite stand before the last finite one.
fn gaps(values: &[f64]) -> usize {
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
        notes.push(Note::new(Topic::Lengths, text));
    }
}

fn note_repeats(repeats: &[usize], notes: &mut Vec<Note>) {
    let repeated = repeats.iter().enumerate().filter(|&(at, &first)| at != first).count();
    if repeated > 0 {
        let text = format!("{repeated} of {} runs repeat an earlier one", repeats.len());
        notes.push(Note::new(Topic::Repeats, text));
    }
}

//! The configuration columns of a file: which are features, which never vary, and which only label the run.

use crate::names::{is_label, is_outcome};
use crate::note::{Note, NoteTopic};
use crate::options::ReadOptions;
use crate::raw::{RawRun, RawRuns};
use crate::table::{count, list, truncate_text};
use foretell::{ColumnDeclarations, Configuration, LayerSequence, Value};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The configurations of the runs of a file as they stand there, and how their columns are judged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedConfigurations {
    /// Without curves and notes.
    pub(crate) raw: RawRuns,
    pub(crate) options: ReadOptions,
}

impl RecordedConfigurations {
    /// The columns that are features, by the runs `indices` alone.
    pub(crate) fn features_by_runs(&self, indices: &[usize]) -> ColumnDeclarations {
        let runs = indices.iter().map(|&at| self.raw.runs[at].clone()).collect();
        let (id_column, joined) = (self.raw.id_column.clone(), self.raw.joined.clone());
        feature_columns(
            &RawRuns { runs, id_column, joined, ..RawRuns::default() },
            &self.options,
            &mut Vec::new(),
        )
    }

    /// The configuration of run `at` in the columns that `holds` is true for.
    pub(crate) fn configuration(&self, at: usize, holds: impl Fn(&str) -> bool) -> Configuration {
        let all = self.raw.runs[at].configuration.iter();
        all.filter(|(name, _)| holds(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The columns that never vary, and are neither labels nor outcomes nor excluded.
    pub(crate) fn constants(&self) -> Configuration {
        let Some(first) = self.raw.runs.first() else { return Configuration::new() };
        self.configuration(0, |name| {
            let cells = ColumnCells::in_column(&self.raw, name);
            first.configuration.contains_key(name)
                && fate(name, &cells, &self.raw, &self.options) == ColumnFate::Constant
                && !is_outcome(name, cells.numeric())
                && !is_label(name)
        })
    }

    /// Keeps the runs marked in `keep`.
    pub(crate) fn keep(&mut self, keep: &[bool]) {
        let mut kept = keep.iter();
        self.raw.runs.retain(|_| *kept.next().unwrap_or(&true));
    }
}

pub(crate) fn column_names(raw: &RawRuns) -> BTreeSet<&str> {
    raw.runs.iter().flat_map(|run| run.configuration.keys().map(String::as_str)).collect()
}

/// The fate of a configuration column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ColumnFate {
    Feature,
    Constant,
    Outcome,
    Label,
    Asked,
    Unrepeated,
}

/// The columns that are features, with their groups; notes record the fate of the others.
pub(crate) fn feature_columns(
    raw: &RawRuns,
    options: &ReadOptions,
    notes: &mut Vec<Note>,
) -> ColumnDeclarations {
    let mut groups = BTreeMap::new();
    let mut fates: BTreeMap<ColumnFate, Vec<&str>> = BTreeMap::new();
    for name in column_names(raw) {
        let cells = ColumnCells::in_column(raw, name);
        let fate = fate(name, &cells, raw, options);
        if fate == ColumnFate::Feature {
            let sequences = note_sequences(name, &cells, notes);
            // kept as an exact copy, a label is still no feature
            if !is_label(name) || options.include.iter().any(|entry| entry == name) {
                note_categories(name, &cells, raw, notes);
            }
            groups.insert(name.to_owned(), options.columns.feature_group(name, sequences));
        }
        fates.entry(fate).or_default().push(name);
    }
    note_fates(&fates, notes);
    note_unknown(&options.exclude, "exclude", raw, notes);
    note_unknown(&options.include, "include", raw, notes);
    note_unknown(options.columns.groups.keys(), "put into a feature group", raw, notes);
    note_unknown(options.columns.scales.keys(), "put on a scale", raw, notes);
    ColumnDeclarations { groups, scales: options.columns.scales.clone() }
}

fn fate(name: &str, cells: &ColumnCells<'_>, raw: &RawRuns, options: &ReadOptions) -> ColumnFate {
    if options.exclude.iter().any(|entry| entry == name) {
        ColumnFate::Asked
    } else {
        fate_unless_excluded(name, cells, raw, options)
    }
}

fn fate_unless_excluded(
    name: &str,
    cells: &ColumnCells<'_>,
    raw: &RawRuns,
    options: &ReadOptions,
) -> ColumnFate {
    if options.keep_all_columns || options.include.iter().any(|entry| entry == name) {
        ColumnFate::Feature
    } else if raw.runs.len() > 1 && cells.constant() {
        ColumnFate::Constant
    } else if is_outcome(name, cells.numeric()) {
        ColumnFate::Outcome
    } else if is_label(name)
        || raw.id_column.as_deref() == Some(name)
        || options.group_by.as_deref() == Some(name)
    {
        ColumnFate::Label
    } else if cells.is_unique_text() {
        ColumnFate::Unrepeated
    } else {
        ColumnFate::Feature
    }
}

/// The values that distinguish the configurations of the runs: the features, also those that the user excludes, and the id if it is
/// one of them.
///
/// Leaving a column out of the features does not make runs the same.
pub(crate) fn configurations(
    raw: &RawRuns,
    columns: &ColumnDeclarations,
    options: &ReadOptions,
) -> Vec<Configuration> {
    let mut names: BTreeSet<&str> = columns.groups.keys().map(String::as_str).collect();
    names.extend(column_names(raw).into_iter().filter(|name| {
        options.exclude.iter().any(|entry| entry == name)
            && fate_unless_excluded(name, &ColumnCells::in_column(raw, name), raw, options)
                == ColumnFate::Feature
    }));
    let id = options.id_column.as_deref().filter(|name| !is_label(name) && ids_are_settings(raw));
    let configurations = raw.runs.iter().map(|run| {
        let known =
            names.iter().filter_map(|&name| Some((name.to_owned(), run.configuration.get(name)?.clone())));
        let id = id.zip(run.id.as_deref()).map(|(name, id)| (name.to_owned(), Value::from_cell(id)));
        known.chain(id).collect()
    });
    configurations.collect()
}

/// Whether the ids are numbers, not all of them whole: names are words or counted.
fn ids_are_settings(raw: &RawRuns) -> bool {
    let numbers = raw.runs.iter().map(|run| Value::from_cell(run.id.as_deref()?).as_number());
    let numbers: Option<Vec<f64>> = numbers.collect();
    numbers.is_some_and(|numbers| numbers.iter().any(|number| number.fract().abs() > 0.0))
}

fn note_fates(fates: &BTreeMap<ColumnFate, Vec<&str>>, notes: &mut Vec<Note>) {
    for (fate, names) in fates {
        let (topic, why) = match fate {
            ColumnFate::Feature => continue,
            ColumnFate::Constant => (NoteTopic::Constant, "dropped as constant"),
            ColumnFate::Outcome => (NoteTopic::Excluded, "excluded because outcomes are not settings"),
            ColumnFate::Label => (NoteTopic::Excluded, "excluded because labels of a run are not settings"),
            ColumnFate::Asked => (NoteTopic::Excluded, "excluded as requested"),
            ColumnFate::Unrepeated => {
                (NoteTopic::Excluded, "of text excluded because no two runs share a value")
            }
        };
        notes.push(Note::new(
            topic,
            format!("{} {why}: {}", count(names.len(), "column"), list(names.iter().copied())),
        ));
    }
}

/// Notes the columns that an option names and the file lacks: a slip of the pen, or columns of another file.
fn note_unknown<'a>(
    named: impl IntoIterator<Item = &'a String>,
    option: &str,
    raw: &RawRuns,
    notes: &mut Vec<Note>,
) {
    let columns = column_names(raw);
    for name in named.into_iter().filter(|name| !columns.contains(name.as_str())) {
        let there = list(columns.iter().copied());
        let text = format!("there is no column `{name}` to {option}. The columns are {there}");
        notes.push(Note::new(NoteTopic::Excluded, text));
    }
}

/// Whether the column is in layer notation; notes how many of its texts can be read.
fn note_sequences(name: &str, cells: &ColumnCells<'_>, notes: &mut Vec<Note>) -> bool {
    let texts = cells.0.iter().filter_map(|value| value.as_text());
    let (mut read, mut all) = (0, 0);
    for text in texts {
        all += 1;
        read += usize::from(is_sequence(text));
    }
    if read > 0 {
        let text = format!("column `{name}` contains networks in layer notation ({read} of {all} strings)");
        notes.push(Note::new(NoteTopic::Architecture, text));
    }
    read > 0
}

/// Notes the texts that make categories of a column whose values are numbers in at least two cases and at least half of all.
fn note_categories(name: &str, cells: &ColumnCells<'_>, raw: &RawRuns, notes: &mut Vec<Note>) {
    let numbers = cells.0.iter().filter(|value| value.as_number().is_some()).count();
    let texts: Vec<(&RawRun, &str)> =
        raw.runs.iter().zip(&cells.0).filter_map(|(run, value)| Some((run, value.as_text()?))).collect();
    let Some((run, text)) = texts.first().filter(|_| numbers >= texts.len().max(2)) else { return };
    let place = match &run.id {
        Some(id) if raw.joined.contains(name) => format!("run `{id}`"),
        _ => format!("line {}", run.line),
    };
    let text = truncate_text(text);
    let said = match texts.len() {
        1 => format!("the string `{text}` ({place})"),
        more => format!("{more} strings, the first `{text}` ({place})"),
    };
    let text = format!(
        "column `{name}` contains {numbers} numbers and {said}, so its values are read as categories"
    );
    notes.push(Note::new(NoteTopic::Categories, text));
}

fn is_sequence(text: &str) -> bool {
    text.starts_with('[') && text.parse::<LayerSequence>().is_ok()
}

/// One column, down all the runs.
struct ColumnCells<'a>(Vec<&'a Value>);

impl<'a> ColumnCells<'a> {
    fn in_column(raw: &'a RawRuns, name: &str) -> Self {
        Self(raw.runs.iter().map(|run| run.configuration.get(name).unwrap_or(&Value::Missing)).collect())
    }

    fn constant(&self) -> bool {
        self.0.windows(2).all(|pair| pair[0] == pair[1])
    }

    fn numeric(&self) -> bool {
        self.0.iter().all(|value| value.as_text().is_none())
    }

    /// Ten texts or more, no two of them alike and none in layer notation: a name, not a category.
    fn is_unique_text(&self) -> bool {
        let mut seen = HashSet::new();
        let mut texts = self.0.iter().filter_map(|value| value.as_text());
        texts.all(|text| seen.insert(text) && !is_sequence(text)) && seen.len() >= 10
    }
}

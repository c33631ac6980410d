//! Recorded runs as they were read, and what was done to them on the way.

use foretell::{Columns, Direction, Run};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// What a [`Note`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Topic {
    /// Which metric was taken, and which were there besides.
    Metric,
    /// Why larger or smaller is better.
    Direction,
    /// What names the runs, and how files were joined.
    Identity,
    /// Configuration columns dropped because they never vary.
    Constant,
    /// Columns that are no features: outcomes, labels, other series.
    Excluded,
    /// Columns mostly of numbers that are taken as categories for the texts among them.
    Categories,
    /// Columns in layer notation.
    Architecture,
    /// Runs that end in non-finite values.
    Diverged,
    /// Runs whose last cells are empty, and what that was taken for.
    EmptyEnds,
    /// Runs without one finite value.
    Unmeasured,
    /// Runs with non-finite or absent values inside.
    Gaps,
    /// Runs of different lengths.
    Lengths,
    /// Runs whose values are all the same.
    Flat,
    /// Runs that repeat others.
    Repeats,
    /// Rows and runs that were left out.
    Removed,
}

/// One thing that was done, or found, while reading: a short sentence with counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// What it is about.
    pub topic: Topic,
    /// The sentence, in lower case without a full stop.
    pub text: String,
}

impl Note {
    /// A note.
    pub(crate) fn new(topic: Topic, text: impl Into<String>) -> Self {
        Self { topic, text: text.into() }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The runs of one file, with what is needed to use them without leaks.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The name of the set: the file's stem, or its folder's name for `curves.csv`.
    pub name: String,
    /// The runs, in the order of the file. A run may have no finite value at all: its curve is then empty.
    pub runs: Vec<Run>,
    /// The metric's name.
    pub metric: String,
    /// The metric's own direction. The curves are already turned: larger is better.
    pub direction: Direction,
    /// The group of each configuration column that was kept, and the scales that were declared.
    pub columns: Columns,
    /// For each run, the index of the first run it repeats (its own if none): same configuration, same value of
    /// the grouping column, or the same curve. A split must keep equal numbers on one side.
    pub repeats: Vec<usize>,
    /// What was done on the way.
    pub notes: Vec<Note>,
}

impl Recorded {
    /// The runs that repeat none before them: the first of each number in [`Recorded::repeats`].
    ///
    /// The result has no repeats left, and says in its notes how many were removed.
    #[must_use]
    pub fn without_repeats(self) -> Self {
        let keep: Vec<bool> = self.repeats.iter().enumerate().map(|(at, &first)| at == first).collect();
        self.keeping(&keep, "the first of each group of repeats")
    }

    /// The runs whose curve is not bit by bit that of a run before them.
    ///
    /// Runs that repeat a configuration with another curve stay, and stay marked in [`Recorded::repeats`].
    #[must_use]
    pub fn without_identical_curves(self) -> Self {
        let mut seen = HashSet::new();
        let keep: Vec<bool> =
            self.runs.iter().map(|run| seen.insert(crate::repeats::curve_key(run))).collect();
        self.keeping(&keep, "the first of identical curves")
    }

    /// The runs marked in `keep`; `repeats` are renumbered to the runs that are left.
    fn keeping(mut self, keep: &[bool], what: &str) -> Self {
        let removed = keep.iter().filter(|&&kept| !kept).count();
        if removed == 0 {
            return self;
        }
        let mut first_left: BTreeMap<usize, usize> = BTreeMap::new();
        let mut repeats = Vec::new();
        for (at, _) in keep.iter().enumerate().filter(|(_, kept)| **kept) {
            let place = repeats.len();
            repeats.push(*first_left.entry(self.repeats[at]).or_insert(place));
        }
        let mut kept = keep.iter();
        self.runs.retain(|_| *kept.next().unwrap_or(&true));
        self.repeats = repeats;
        self.notes.push(Note::new(
            Topic::Removed,
            format!("{} removed, {what} kept", crate::table::count(removed, "run")),
        ));
        self
    }
}

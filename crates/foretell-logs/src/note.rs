//! Notes on reading: changes made, and facts found.

use serde::Serialize;
use std::fmt;

/// The topic of a [`Note`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteTopic {
    /// The content of a tool's logs, and the parts left out.
    Found,
    /// The metric taken, and the others found.
    Metric,
    /// Runs of another metric or direction than those asked for, which are set aside.
    SetAside,
    /// The reason why larger or smaller is better.
    Direction,
    /// The source of the runs' names, and the way files were joined.
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
    /// Runs whose last cells are empty, and the meaning given to them.
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

/// A note about reading: a short sentence with counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The topic.
    pub topic: NoteTopic,
    /// The sentence, in lower case without a full stop.
    pub text: String,
}

impl Note {
    /// A note.
    pub(crate) fn new(topic: NoteTopic, text: impl Into<String>) -> Self {
        Self { topic, text: text.into() }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

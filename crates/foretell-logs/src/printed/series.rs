//! Series: the numbers of a log that belong together, and which of them a metric's name means.

use super::line::{LabeledNumber, LinePosition};
use super::number::{DecimalNotation, PrintedNumber};
use super::words::{Stage, is_past, split_stage, trim_fillers, words};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The properties that distinguish series.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SeriesKey {
    pub(crate) label: String,
    pub(crate) stage: Stage,
    pub(crate) is_past: bool,
    /// Whether its lines count batches.
    pub(crate) is_batched: bool,
    /// The one meant among many: `fold2`, `class0`, the row of a table.
    pub(crate) group: String,
    /// How many numbers before it in the line have the same label.
    pub(crate) nth: u8,
    /// The form of its lines.
    pub(crate) shape: u64,
}

impl SeriesKey {
    pub(crate) fn new(field: &LabeledNumber, is_batched: bool, shape: u64) -> Self {
        let LabeledNumber { label, stage, is_past, group, nth, .. } = field.clone();
        Self { label, stage, is_past, is_batched, group, nth, shape }
    }

    /// The series that a pattern finds.
    pub(crate) fn for_pattern() -> Self {
        let (label, group) = ("*".to_owned(), String::new());
        Self { label, stage: Stage::Unsaid, is_past: false, is_batched: false, group, nth: 0, shape: 0 }
    }

    /// Whether the two differ in the form of their lines alone.
    fn is_like(&self, other: &Self) -> bool {
        Self { shape: other.shape, ..self.clone() } == *other
    }
}

/// One number of a series.
#[derive(Clone, Debug)]
pub(crate) struct SeriesRecord {
    pub(crate) series: usize,
    pub(crate) place: LinePosition,
    /// Whether its own line, block or row names the epoch.
    pub(crate) is_own: bool,
    /// Whether it names any place.
    pub(crate) is_placed: bool,
    pub(crate) reading: PrintedNumber,
    pub(crate) line: u64,
    /// How many trainings a heading such as `Fold 2/5` had announced.
    pub(crate) training: u64,
    /// Whether the line is drawn over.
    pub(crate) is_transient: bool,
    /// The other numbers of its line, by name.
    pub(crate) others: Arc<[(String, PrintedNumber)]>,
}

/// A series, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct CollectedSeries {
    pub(crate) key: SeriesKey,
    /// How well its label matches the wanted name; 0 not at all.
    pub(crate) fit: u8,
    pub(crate) count: u64,
    /// How often it was repeated within an epoch.
    pub(crate) repeats: u64,
    /// The last place where it was printed.
    last: Option<f64>,
    /// How many epochs, or steps, have it.
    pub(crate) places: u64,
    /// The first value, and whether another one followed.
    first: Option<u64>,
    pub(crate) varies: bool,
    /// A line that has it.
    pub(crate) example: String,
    /// The first values.
    pub(crate) head: Vec<f64>,
}

/// How many values of a series are shown.
const MAX_FIRST_VALUES: usize = 3;

/// How much of a line is kept as an example.
const MAX_EXAMPLE_LENGTH: usize = 300;

impl CollectedSeries {
    pub(crate) fn new(key: SeriesKey, fit: u8, example: &str) -> Self {
        let example = example.chars().take(MAX_EXAMPLE_LENGTH).collect();
        Self {
            key,
            fit,
            count: 0,
            repeats: 0,
            last: None,
            places: 0,
            first: None,
            varies: false,
            example,
            head: Vec::new(),
        }
    }

    pub(crate) fn take(&mut self, place: &LinePosition, reading: PrintedNumber, is_transient: bool) {
        let at = place.epoch.map(f64::ceil).or(place.step);
        self.repeats += u64::from(at.is_some() && at == self.last && !is_transient);
        self.places += u64::from(at.is_some() && at != self.last);
        self.last = at;
        self.count += u64::from(!is_transient);
        if self.head.len() < MAX_FIRST_VALUES && !is_transient {
            self.head.push(reading.value(DecimalNotation::Point));
        }
        let bits = reading.point.or(reading.comma).map_or(0, f64::to_bits);
        self.varies |= self.first.is_some_and(|first| first != bits);
        self.first.get_or_insert(bits);
    }

    /// Whether it comes more than once in most epochs.
    pub(crate) fn is_many(&self) -> bool {
        self.repeats * 2 > self.places
    }

    /// The name in a message.
    pub(crate) fn title(&self) -> String {
        let SeriesKey { label, stage, group, is_batched, is_past, .. } = &self.key;
        let said = split_stage(label).1.is_some();
        let stage = match stage.word() {
            "" => String::new(),
            _ if said => String::new(),
            word => format!(" ({word})"),
        };
        let group = if group.is_empty() { String::new() } else { format!(" of {group}") };
        let batched = if *is_batched { ", of batches" } else { "" };
        let past = if *is_past { ", not the current value" } else { "" };
        format!("`{label}`{stage}{group}{batched}{past}")
    }
}

/// The name of a metric, as it is looked for in labels.
#[derive(Clone, Debug)]
pub(crate) struct MetricName {
    pub(crate) text: String,
    /// The text without words that stand between a label and its number: `lm loss` of `lm loss value`.
    short: String,
    words: Vec<String>,
    core: Vec<String>,
    stage: Option<Stage>,
    is_past: bool,
}

impl MetricName {
    pub(crate) fn new(text: &str) -> Self {
        let short = Some(trim_fillers(text)).filter(|short| !short.is_empty()).unwrap_or(text);
        let (core, stage) = split_stage(short);
        Self {
            text: text.to_owned(),
            short: short.to_owned(),
            words: words(short),
            core,
            stage,
            is_past: is_past(text),
        }
    }

    /// A word that each line with the metric has.
    pub(crate) fn hint(&self) -> Option<String> {
        self.core.last().filter(|word| word.is_ascii()).cloned()
    }

    /// How well `key` matches the name: 5 the same words, 4 except for capitals and signs, 3 the stage stands elsewhere in the line, 2 its
    /// last words, 1 its first words, before those of a sentence, 0 not at all.
    pub(crate) fn fit(&self, key: &SeriesKey) -> u8 {
        if key.label == self.text || key.label == self.short {
            return 5;
        }
        // Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all ]
        let label = key.label.split("@[").next().unwrap_or_default();
        let (core, stage) = split_stage(label);
        // Epoch 3 CV info cv_loss
        if self.stage.is_some() && label.rsplit(' ').next() == Some(&self.text) {
            return 4;
        }
        // a label of two stages, such as `train_val_acc`, is another metric
        let stages = words(label).len() - core.len();
        if words(label) == self.words || (core == self.core && stage == self.stage && stages < 2) {
            return 4;
        }
        if core == self.core && stages == 0 && self.stage == Some(key.stage) {
            return 3;
        }
        let is_end = !self.core.is_empty() && core.ends_with(&self.core);
        let stage_fits = self.stage.is_none_or(|stage| stage == key.stage);
        if is_end && stage_fits && self.is_separate_prefix(label) {
            return 2;
        }
        // accuracy of the network
        let is_begin = !self.core.is_empty() && core.starts_with(&self.core) && stage_fits;
        u8::from(
            is_begin
                && core
                    .get(self.core.len())
                    .is_some_and(|word| ["of", "on", "over", "per"].contains(&word.as_str())),
        )
    }

    /// Whether the part before the name in `label` is a word of its own, a path or a stage: `mean reward`, `val/acc`, but not `box_loss`.
    fn is_separate_prefix(&self, label: &str) -> bool {
        let Some(last) = label.split([' ', '/', '\'', '(', '[', ')']).rfind(|part| !part.is_empty()) else {
            return false;
        };
        let (core, stage) = split_stage(last);
        let is_whole = self.core.ends_with(&core) || core == self.core;
        let stages = words(last).len() - core.len();
        !core.is_empty()
            && is_whole
            && stages < 2
            && (stage.is_none() || self.stage.is_none() || stage == self.stage)
    }

    /// The series of this name to be read, by the rules of [`crate::printed`].
    pub(crate) fn choose(&self, series: &[CollectedSeries]) -> Option<SeriesChoice> {
        let fitting: Vec<_> = series.iter().enumerate().filter(|(_, series)| series.fit > 0).collect();
        let most = fitting.iter().map(|(_, series)| series.places.max(series.count)).max()?;
        let (_, best) = fitting.iter().min_by_key(|(index, series)| {
            let CollectedSeries { key, fit, count, .. } = series;
            let is_past = key.is_past && !self.is_past;
            let alike = fitting.iter().filter(|(_, other)| other.key.is_like(key));
            let is_rare = alike.map(|(_, other)| other.places.max(other.count)).sum::<u64>() < 2 && most >= 3;
            let stage = if self.stage.is_some() { 0 } else { key.stage.place() };
            (
                is_past,
                is_rare,
                !key.group.is_empty() && !is_whole(&key.group),
                key.is_batched && series.is_many(),
                u8::MAX - (*fit).min(4),
                stage,
                series.is_many(),
                (key.is_batched, *count == 0),
                (key.nth, *index),
            )
        })?;
        // of lines of several forms, the form of most: a heading may only look like that of a table
        let alike = fitting.iter().copied().filter(|(_, other)| other.key.is_like(&best.key)).rev();
        let (primary, best) = alike.max_by_key(|(_, other)| (other.places, other.count))?;
        let rest = fitting.into_iter().filter(|(index, _)| *index != primary);
        let (like, mut unlike): (Vec<_>, Vec<_>) = rest.partition(|(_, other)| other.key.is_like(&best.key));
        unlike.retain(|(_, other)| {
            other.key.is_past == best.key.is_past && other.fit.min(4) == best.fit.min(4)
        });
        let [secondary, others] =
            [like, unlike].map(|series| series.into_iter().map(|(index, _)| index).collect());
        Some(SeriesChoice { primary, secondary, others })
    }
}

impl MetricName {
    /// Whether a series that came once so far is held-out while the one to be `read` is not: it may come rarely.
    pub(crate) fn has_rival(&self, series: &[CollectedSeries], read: &CollectedSeries) -> bool {
        self.stage.is_none()
            && series.iter().any(|other| {
                other.fit > 0
                    && !other.key.is_past
                    && other.key.group.is_empty()
                    && other.key.stage.place() < read.key.stage.place()
            })
    }
}

/// Whether a row of a table is that of all rows.
fn is_whole(group: &str) -> bool {
    ["all", "mean", "overall", "total", "avg", "average", "macro"].contains(&group)
}

/// The series that is read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeriesChoice {
    pub(crate) primary: usize,
    /// Series that differ only in the form of the line: they fill epochs that the first one lacks.
    pub(crate) secondary: Vec<usize>,
    /// Others that the name may mean.
    pub(crate) others: Vec<usize>,
}

/// A chosen series, for the trials that follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChosenSeries {
    label: String,
    stage: Stage,
    batched: bool,
    group: String,
    nth: u8,
    shape: u64,
    pub(crate) unit: SeriesUnit,
    /// How often each value is printed.
    pub(crate) copies: usize,
    pub(crate) single: bool,
    pub(crate) comma: bool,
    /// Whether its step stands below its values.
    #[serde(default)]
    pub(crate) below: bool,
    /// Whether its epoch does, in a line that closes it.
    #[serde(default)]
    pub(crate) footed: bool,
    /// Whether a bar shows each value in the next epoch.
    #[serde(default)]
    pub(crate) late: bool,
}

/// The unit of a series' steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SeriesUnit {
    /// The epochs that are printed.
    Epoch,
    /// The steps that are printed.
    Step,
    /// The ticks of a progress bar.
    Bar,
    /// The ticks of a progress bar that is drawn again with the value of each tick.
    Tick,
    /// The values are counted.
    Count,
}

impl SeriesUnit {
    /// Whether the steps are ticks of a progress bar.
    pub(crate) fn is_bar_tick(self) -> bool {
        match self {
            Self::Bar | Self::Tick => true,
            Self::Epoch | Self::Step | Self::Count => false,
        }
    }
}

impl ChosenSeries {
    pub(crate) fn new(key: &SeriesKey, unit: SeriesUnit) -> Self {
        let SeriesKey { label, stage, is_batched, group, nth, shape, .. } = key.clone();
        Self {
            label,
            stage,
            batched: is_batched,
            group,
            nth,
            shape,
            unit,
            copies: 1,
            single: false,
            comma: false,
            below: false,
            footed: false,
            late: false,
        }
    }

    /// The data that its values are measured on: `validation`, `training` or `test`; empty if its lines do not say.
    pub fn data_name(&self) -> &'static str {
        self.stage.word()
    }

    /// Whether a series is this one: 2, or this one in another form of line: 1.
    pub(crate) fn fit(&self, key: &SeriesKey) -> u8 {
        let Self { label, stage, batched, group, nth, .. } = self;
        let like = (label, stage, batched, group, nth)
            == (&key.label, &key.stage, &key.is_batched, &key.group, &key.nth);
        u8::from(like) + u8::from(like && self.shape == key.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::{MetricName, SeriesKey};
    use crate::printed::line::parse;

    #[test]
    fn a_name_means_its_own_words_then_those_of_a_stage_then_the_last_words_of_a_label() {
        let cases = [
            ("val_acc", "val_acc 0.5", 5),
            ("loss", "Loss: 0.5", 4),
            ("val_acc", "val acc 0.5", 4),
            ("val_loss", "Validation loss: 0.5", 4),
            ("val_loss", "val: loss 0.5", 3),
            ("loss", "train Loss: 0.5", 2),
            ("reward", "mean reward: 0.5", 2),
            ("accuracy", "validation/main/accuracy: 0.5", 2),
            ("Acc@1", " * Acc@1 50.5", 5),
            ("val_acc", "train_val_acc=0.5", 0),
            ("acc", "val_acc_top5=0.5", 0),
            ("loss", "box_loss 0.5", 0),
            ("val_loss", "train loss 0.5", 0),
            ("mAP50", "mAP50-95 0.5", 0),
            ("accuracy", "accuracy of the network on the 800 test images: 51.06 %", 1),
            ("lm loss value", "lm loss value: 0.5", 5),
            ("Average return", "Average return per episode: 0.5", 1),
        ];
        for (name, line, expected) in cases {
            let key = SeriesKey::new(&parse(line).fields[0], false, 0);
            let fit = MetricName::new(name).fit(&key);
            assert_eq!(fit, expected, "{name} in {line}");
        }
    }
}

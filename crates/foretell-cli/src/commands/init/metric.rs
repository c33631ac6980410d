//! The metric of a script, chosen from the numbers that it prints, and the values read of it.

use super::probe::Sample;
use foretell::Direction;
use foretell_logs::direction_of;
use foretell_logs::printed::{MetricSource, Report, ReportReader, Whole, guess};
use std::path::PathBuf;

/// How many values are shown.
const SHOWN: usize = 4;

/// The metric, as far as it can be recognized.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The value of `--metric`.
    pub(super) source: String,
    /// Its name.
    pub(super) name: String,
    pub(super) minimize: bool,
    /// The other names that were printed.
    pub(super) others: Vec<String>,
    /// The table that contains it.
    pub(super) table: Option<PathBuf>,
    /// Whether it is printed only once, at the end.
    pub(super) once: bool,
    /// The values that will be read of the output.
    pub(super) whole: Whole,
}

impl Found {
    /// The metric that the user named.
    pub(super) fn named(source: &str, guessed: Option<&Self>, sample: &Sample) -> Self {
        let is_table = guessed.is_some_and(|found| found.table.is_some());
        let text = if is_table { &sample.written.0 } else { &sample.text };
        let parsed = MetricSource::parse(source).ok();
        let whole = parsed.map(|parsed| ReportReader::new(parsed, 0).read_all(text)).unwrap_or_default();
        let name = crate::commands::search::name_in(source);
        let (others, table) =
            guessed.map(|found| (found.others.clone(), found.table.clone())).unwrap_or_default();
        let minimize = direction_of(&name) == Some(Direction::Minimize);
        Self { source: source.to_owned(), name, minimize, others, table, once: false, whole }
    }

    /// The values that will be read, in a sentence: `val_acc 0.203, 0.665, 0.767 … as epochs 1, 2, 3 …`.
    pub(super) fn read(&self) -> String {
        let reports = &self.whole.reports;
        let more = if reports.len() > SHOWN { " …" } else { "" };
        let list =
            |show: fn(&Report) -> String| reports.iter().take(SHOWN).map(show).collect::<Vec<_>>().join(", ");
        let values = list(|report| report.value.map_or("not a number".to_owned(), |value| value.to_string()));
        let steps = list(|report| report.step.to_string());
        if reports.is_empty() {
            return format!("no line printed so far contains {}", self.name);
        }
        format!("I will read {} {values}{more} as epochs {steps}{more}", self.name)
    }
}

/// The most likely metric of a sample.
pub(super) fn find(sample: &Sample) -> Option<Found> {
    let printed = guess(&sample.text).map(|guess| (guess, None));
    let (guess, table) = printed.or_else(|| Some((guess(&sample.written.0)?, sample.table.clone())))?;
    Some(Found {
        minimize: direction_of(&guess.name) == Some(Direction::Minimize),
        source: guess.source,
        name: guess.name,
        others: guess.others,
        table,
        once: sample.ended && guess.whole.reports.len() == 1,
        whole: guess.whole,
    })
}

/// How many epochs a training that was watched to its end has reported.
pub(super) fn reported(sample: &Sample, found: &Found) -> Option<u64> {
    let is_of_this_run = found.table.is_none() || sample.written.1;
    let is_watched = sample.ended && !sample.failed && is_of_this_run;
    let first = found.whole.reports.first().filter(|_| is_watched)?;
    let last = found.whole.reports.last()?;
    Some(last.step + u64::from(first.step == 0))
}

#[cfg(test)]
mod tests {
    use super::{Found, find, reported};
    use crate::commands::init::probe::Sample;

    fn sample(lines: &[&str]) -> Sample {
        let text = lines.join("\n");
        Sample {
            lines: Vec::new(),
            failed: false,
            ended: true,
            table: None,
            text,
            written: Default::default(),
        }
    }

    #[test]
    fn a_training_that_was_watched_to_its_end_shows_how_many_epochs_it_has() {
        let epochs = |lines: &[&str]| {
            let sample = sample(lines);
            reported(&sample, &Found::named("acc", None, &sample))
        };
        assert_eq!(epochs(&["Namespace(epochs=40)", "acc=0.1", "acc=0.2", "acc=0.3"]), Some(3));
        assert_eq!(epochs(&["epoch 0 acc=0.1", "epoch 1 acc=0.2"]), Some(2));
        assert_eq!(epochs(&["epoch 5 acc=0.1", "epoch 10 acc=0.2"]), Some(10));
        assert_eq!(epochs(&["loss=0.1"]), None);
        let cut = Sample { ended: false, ..sample(&["acc=0.1"]) };
        assert_eq!(reported(&cut, &Found::named("acc", None, &cut)), None);
    }

    #[test]
    fn what_will_be_read_is_said_with_its_epochs() {
        let found = find(&sample(&["epoch 1 val_acc 0.203", "epoch 2 val_acc 0.665"])).expect("a metric");
        assert_eq!(found.read(), "I will read val_acc 0.203, 0.665 as epochs 1, 2");
    }
}

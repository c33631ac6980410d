//! Whether R fits what trainings report: the one place that compares the two, and words the difference.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of trainings of one length that show how long a training is.
const MIN_EQUAL_LENGTHS: u64 = 2;
/// The number of trainings of different lengths that show how long the longest may be.
const MIN_VARIED_LENGTHS: u64 = 3;

/// A sentence about R for whoever watches a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LengthNotice {
    /// The sentence.
    pub text: String,
    /// Whether something should be changed.
    pub is_warning: bool,
}

impl From<LengthMismatch> for LengthNotice {
    fn from(mismatch: LengthMismatch) -> Self {
        Self { text: mismatch.to_string(), is_warning: true }
    }
}

/// A difference between R, the epochs of a complete trial that somebody gave, and what trainings report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthMismatch {
    /// The first report is beyond R: the two are in different units.
    Unit {
        /// The trial's number.
        trial: u64,
        /// The step of its first report.
        step: u64,
        /// R.
        resource: u64,
    },
    /// A report is beyond R.
    Longer {
        /// The trial's number.
        trial: u64,
        /// The step of the report.
        step: u64,
        /// R.
        resource: u64,
    },
    /// No training reaches R.
    Shorter {
        /// The number of trainings that completed.
        count: u64,
        /// The last step of the longest of them.
        longest: u64,
        /// R.
        resource: u64,
    },
}

impl LengthMismatch {
    /// Compares `resource` with a report: `first` is the step of the training's first report, `step` that of this one.
    pub fn from_report(resource: u64, trial: u64, first: u64, step: u64) -> Option<Self> {
        if first > resource {
            return Some(Self::Unit { trial, step: first, resource });
        }
        (step > resource).then_some(Self::Longer { trial, step, resource })
    }

    fn kind(self) -> usize {
        match self {
            Self::Unit { .. } => 0,
            Self::Longer { .. } => 1,
            Self::Shorter { .. } => 2,
        }
    }
}

impl fmt::Display for LengthMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(LengthSource::EPOCHS_SETTING))
    }
}

/// Where R comes from, for the words of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthSource<'a> {
    /// A setting of this name; whether it may be left out.
    Setting(&'a str, bool),
    /// The completed runs that were learned from.
    History,
}

impl LengthSource<'_> {
    /// The setting of a study.
    const EPOCHS_SETTING: LengthSource<'static> = LengthSource::Setting("epochs", true);

    fn name(self, resource: u64) -> String {
        match self {
            Self::Setting(name, _) => format!("`{name}` is {resource}"),
            Self::History => format!("the completed runs end at step {resource}"),
        }
    }

    fn fix(self, step: Option<u64>) -> String {
        let step = step.map_or("the last step of a complete trial".to_owned(), |step| step.to_string());
        match self {
            Self::Setting(name, true) => {
                format!("Set `{name}` to {step}, or leave it out, so that trials show it")
            }
            Self::Setting(name, false) => format!("Set `{name}` to {step}"),
            Self::History => "Report the same steps as those runs, or learn from others".to_owned(),
        }
    }
}

impl LengthMismatch {
    /// The difference in words: both numbers, and what to do. R comes from `source`.
    pub fn describe(&self, source: LengthSource<'_>) -> String {
        match *self {
            Self::Unit { trial, step, resource } => format!(
                "the first report of trial {trial} is for step {step}, but {}, so the two are in different units. All its values are kept, but no trial can be stopped. {}",
                source.name(resource),
                source.fix(None)
            ),
            Self::Longer { trial, step, resource } => format!(
                "trial {trial} reports step {step}, but {}, so only its reports up to step {resource} count. {}",
                source.name(resource),
                source.fix(None)
            ),
            Self::Shorter { count, longest, resource } => {
                let what = match count {
                    1 => format!("the first trial ended by itself after step {longest}"),
                    _ => format!(
                        "none of the first {count} trials reached step {resource}: the longest ended by itself after step {longest}"
                    ),
                };
                format!(
                    "{what}, but {}, so forecasts are for a step that no trial reaches, and few are stopped or none. {}",
                    source.name(resource),
                    source.fix(Some(longest))
                )
            }
        }
    }
}

/// Watches the reports and the ends of trainings, and names each kind of difference once.
#[derive(Clone, Debug, Default)]
pub struct LengthWatch {
    said: [bool; 3],
    /// Of the trainings that completed: how many, and their shortest and longest length.
    count: u64,
    shortest: u64,
    longest: u64,
}

impl LengthWatch {
    /// A training reports `step`; its first report was for step `first`.
    pub fn check_report(
        &mut self,
        resource: u64,
        trial: u64,
        first: u64,
        step: u64,
    ) -> Option<LengthMismatch> {
        self.first_of_kind(LengthMismatch::from_report(resource, trial, first, step)?)
    }

    /// A training has completed after `length` steps. One that is far too short is named at once; of others, several must agree, as many as the
    /// burn-in where their lengths differ: a training may end early for its own reasons.
    pub fn check_completed(&mut self, resource: u64, burn_in: u64, length: u64) -> Option<LengthMismatch> {
        self.shortest = if self.count == 0 { length } else { self.shortest.min(length) };
        self.longest = self.longest.max(length);
        self.count += 1;
        let (count, longest) = (self.count, self.longest);
        // trainings of one length show how long all are; where lengths differ, each may have ended for its own reasons
        let enough =
            if self.shortest == longest { MIN_EQUAL_LENGTHS } else { burn_in.max(MIN_VARIED_LENGTHS) };
        let is_short = longest.saturating_mul(2) <= resource || longest < resource && count >= enough;
        // of a unit that differs nothing more can be said
        let is_news = is_short && !self.said[0];
        is_news
            .then_some(LengthMismatch::Shorter { count, longest, resource })
            .and_then(|it| self.first_of_kind(it))
    }

    fn first_of_kind(&mut self, mismatch: LengthMismatch) -> Option<LengthMismatch> {
        (!std::mem::replace(&mut self.said[mismatch.kind()], true)).then_some(mismatch)
    }
}

#[cfg(test)]
mod tests {
    use super::{LengthMismatch, LengthWatch};

    #[test]
    fn each_difference_is_named_once_with_both_numbers_and_the_fix() {
        let mut watch = LengthWatch::default();
        let said = [(1, 1), (1, 8), (1, 9), (1, 10), (300, 300)]
            .map(|(first, step)| watch.check_report(8, 0, first, step).map(|it| it.to_string()));
        assert_eq!([&said[0], &said[1], &said[3]], [&None; 3], "within, at the end, and for the second time");
        for (text, step) in [(&said[2], "step 9"), (&said[4], "step 300")] {
            let text = text.as_deref().unwrap_or_default();
            assert!(
                text.contains(step) && text.contains("`epochs` is 8") && text.contains("leave it out"),
                "{text}"
            );
        }
    }

    #[test]
    fn trainings_that_are_far_too_short_are_named_at_once_and_others_once_they_agree() {
        // R, the lengths, and after how many of them it is said
        let cases: [(u64, &[u64], Option<u64>); 6] = [
            (1000, &[20], Some(1)),
            (40, &[20], Some(1)),
            (20, &[15], None),
            (20, &[15, 15], Some(2)),
            (20, &[12, 17, 15], Some(3)),
            (20, &[20, 12, 15, 15], None),
        ];
        for (resource, lengths, expected) in cases {
            let mut watch = LengthWatch::default();
            let said = lengths.iter().find_map(|&length| watch.check_completed(resource, 3, length));
            let count = said.map(|it| match it {
                LengthMismatch::Shorter { count, .. } => count,
                LengthMismatch::Unit { .. } | LengthMismatch::Longer { .. } => 0,
            });
            assert_eq!(count, expected, "{resource}: {lengths:?}");
        }
    }
}

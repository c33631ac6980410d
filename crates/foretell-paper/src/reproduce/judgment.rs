//! The rule by which a claim of the paper is judged.

use serde::Serialize;
use std::fmt;

/// Further apart than this many standard errors of the difference, two values differ.
pub(super) const DIFFERENCE_STANDARD_ERRORS: f64 = 2.0;

/// The rule, in words.
pub(super) const JUDGMENT_RULE: &str = "A claim that one value is larger holds if it is larger by more than two standard errors of the difference, is contradicted if it is smaller by more, and is undecided between. A claim that a value is the published one holds within two standard errors, and one that it reaches a value holds unless it is more than two below. A single measurement leaves a comparison undecided. A sentence holds if all of its comparisons hold, and is contradicted if any is.";

/// A measured or published value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ReportedValue {
    /// The measured thing, short.
    pub(super) name: String,
    pub(super) mean: f64,
    /// Standard error; `None` where a single measurement has none.
    pub(super) stderr: Option<f64>,
    /// The size of the measurement; `None` of a published value.
    pub(super) sample: Option<SampleSize>,
}

/// The size of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct SampleSize {
    /// Runs that are tested in a split, or that an order has.
    pub(super) runs: usize,
    /// Splits, orders or repetitions of all seeds together.
    pub(super) repeats: usize,
    pub(super) seeds: usize,
}

/// The relation of ours to the other value, as it is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ClaimedRelation {
    /// Ours is larger.
    Larger,
    /// Both are the same.
    Equal,
    /// Ours reaches the other.
    Reaches,
}

/// The verdict on a comparison, and on a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ClaimVerdict {
    /// The data contradict it.
    Contradicted,
    /// The data do not decide it.
    Undecided,
    /// The data bear it out.
    Holds,
    /// There are no data.
    NotShown,
}

/// A comparison that a sentence claims.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ClaimComparison {
    /// The curves, and the part of them.
    pub(super) case: String,
    /// Whether the curves are our own recording.
    pub(super) own: bool,
    pub(super) ours: ReportedValue,
    pub(super) relation: ClaimedRelation,
    pub(super) other: ReportedValue,
}

impl ReportedValue {
    /// A published value.
    pub(super) fn from_published(mean: f64, stderr: f64) -> Self {
        Self { name: "published".to_owned(), mean, stderr: Some(stderr), sample: None }
    }
}

impl ClaimComparison {
    /// (ours − the other) / √(s² + s'²), s and s' the two standard errors; `None` where one has no standard error.
    pub(super) fn difference_in_standard_errors(&self) -> Option<f64> {
        let error = self.ours.stderr?.hypot(self.other.stderr?);
        let difference = self.ours.mean - self.other.mean;
        // equal values differ by 0 errors even if neither has an error, so that 0 is not divided by 0
        Some(if difference.abs() < 1e-12 { 0.0 } else { difference / error.max(f64::MIN_POSITIVE) })
    }

    /// The rule: a value is larger by more than two standard errors of the difference. Values are the same within these, and one reaches
    /// another unless it is smaller by more.
    pub(super) fn to_verdict(&self) -> ClaimVerdict {
        let Some(difference) = self.difference_in_standard_errors() else { return ClaimVerdict::Undecided };
        match self.relation {
            ClaimedRelation::Larger if difference > DIFFERENCE_STANDARD_ERRORS => ClaimVerdict::Holds,
            ClaimedRelation::Larger if difference >= -DIFFERENCE_STANDARD_ERRORS => ClaimVerdict::Undecided,
            ClaimedRelation::Equal if difference.abs() <= DIFFERENCE_STANDARD_ERRORS => ClaimVerdict::Holds,
            ClaimedRelation::Reaches if difference >= -DIFFERENCE_STANDARD_ERRORS => ClaimVerdict::Holds,
            _ => ClaimVerdict::Contradicted,
        }
    }

    /// How far it is from being contradicted, to find the least favorable.
    pub(super) fn contradiction_margin(&self) -> f64 {
        let difference = self.difference_in_standard_errors().unwrap_or(0.0);
        if self.relation == ClaimedRelation::Equal { -difference.abs() } else { difference }
    }
}

/// A judgment on several comparisons: all of them have to hold.
pub(super) fn verdict_if_all_hold(judgments: impl Iterator<Item = ClaimVerdict>) -> ClaimVerdict {
    judgments.min().unwrap_or(ClaimVerdict::NotShown)
}

/// A judgment on several comparisons of which most have to hold.
pub(super) fn verdict_if_most_hold(judgments: impl Iterator<Item = ClaimVerdict>) -> ClaimVerdict {
    let all: Vec<ClaimVerdict> = judgments.collect();
    let [hold, contradicted] = [ClaimVerdict::Holds, ClaimVerdict::Contradicted]
        .map(|wanted| all.iter().filter(|&&judgment| judgment == wanted).count());
    match all.len() {
        0 => ClaimVerdict::NotShown,
        most if 2 * hold > most => ClaimVerdict::Holds,
        most if 2 * contradicted >= most => ClaimVerdict::Contradicted,
        _ => ClaimVerdict::Undecided,
    }
}

impl fmt::Display for ClaimVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Contradicted => "contradicted",
            Self::Undecided => "undecided",
            Self::Holds => "holds",
            Self::NotShown => "not shown",
        })
    }
}

impl fmt::Display for ReportedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = if self.name.is_empty() { "" } else { " " };
        write!(f, "{}{space}{}", self.name, format_number(self.mean))?;
        match self.stderr {
            Some(0.0) if self.sample.is_none() => Ok(()),
            Some(stderr) => write!(f, " ± {}", format_number(stderr)),
            None => f.write_str(" (a single measurement)"),
        }
    }
}

fn format_number(x: f64) -> String {
    // seconds of a forecast need an exponent, percents and factors two decimals
    let text = if x != 0.0 && x.abs() < 0.01 { format!("{x:.1e}") } else { format!("{x:.2}") };
    text.replace('-', "−")
}

impl fmt::Display for ClaimComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, {}", self.case, self.ours, self.other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict_against_other(relation: ClaimedRelation, ours: f64, stderr: Option<f64>) -> ClaimVerdict {
        let ours = ReportedValue { stderr, ..ReportedValue::from_published(ours, 0.0) };
        let other = ReportedValue::from_published(1.0, 0.4);
        ClaimComparison { case: String::new(), own: false, ours, relation, other }.to_verdict()
    }

    #[test]
    fn a_difference_counts_only_beyond_two_standard_errors() {
        // √(0.3² + 0.4²) = 0.5: the bound is a difference of 1
        let cases = [
            (ClaimedRelation::Larger, 2.01, ClaimVerdict::Holds),
            (ClaimedRelation::Larger, 1.99, ClaimVerdict::Undecided),
            (ClaimedRelation::Larger, 0.01, ClaimVerdict::Undecided),
            (ClaimedRelation::Larger, -0.01, ClaimVerdict::Contradicted),
            (ClaimedRelation::Equal, 1.99, ClaimVerdict::Holds),
            (ClaimedRelation::Equal, 2.01, ClaimVerdict::Contradicted),
            (ClaimedRelation::Equal, -0.01, ClaimVerdict::Contradicted),
            (ClaimedRelation::Reaches, 9.0, ClaimVerdict::Holds),
            (ClaimedRelation::Reaches, 0.01, ClaimVerdict::Holds),
            (ClaimedRelation::Reaches, -0.01, ClaimVerdict::Contradicted),
        ];
        for (relation, ours, expected) in cases {
            assert_eq!(verdict_against_other(relation, ours, Some(0.3)), expected, "{relation:?} {ours}");
        }
        assert_eq!(
            verdict_against_other(ClaimedRelation::Larger, 9.0, None),
            ClaimVerdict::Undecided,
            "one seed has no standard error"
        );
    }

    #[test]
    fn all_have_to_hold_or_most() {
        use ClaimVerdict::{Contradicted, Holds, NotShown, Undecided};
        let all = |judgments: &[ClaimVerdict]| {
            (verdict_if_all_hold(judgments.iter().copied()), verdict_if_most_hold(judgments.iter().copied()))
        };
        assert_eq!(all(&[Holds, Holds, Contradicted]), (Contradicted, Holds));
        assert_eq!(all(&[Holds, Undecided]), (Undecided, Undecided));
        assert_eq!(all(&[Contradicted, Undecided]), (Contradicted, Contradicted));
        assert_eq!(all(&[]), (NotShown, NotShown));
    }
}

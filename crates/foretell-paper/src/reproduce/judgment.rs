//! The rule by which a claim of the paper is judged.

use serde::Serialize;
use std::fmt;

/// Further apart than this many standard errors of the difference, two values differ.
pub(super) const APART: f64 = 2.0;

/// The rule, in words.
pub(super) const RULE: &str = "A claim that one value is larger holds if it is larger by more than two standard errors of the difference, is contradicted if it is smaller by more, and is undecided between. A claim that a value is the published one holds within two standard errors, and one that it reaches a value holds unless it is more than two below. A single measurement leaves a comparison undecided. A sentence holds if all of its comparisons hold, and is contradicted if any is.";

/// A measured or published value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Value {
    /// The measured thing, short.
    pub(super) name: String,
    pub(super) mean: f64,
    /// Its standard error; `None` where a single measurement has none.
    pub(super) stderr: Option<f64>,
    /// The size of the measurement; `None` of a published value.
    pub(super) sample: Option<Sample>,
}

/// The size of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Sample {
    /// Runs that are tested in a split, or that an order has.
    pub(super) runs: usize,
    /// Splits, orders or repetitions of all seeds together.
    pub(super) repeats: usize,
    pub(super) seeds: usize,
}

/// The relation of ours to the other value, as it is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Relation {
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
pub(super) enum Judgment {
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
pub(super) struct Comparison {
    /// The curves, and the part of them.
    pub(super) case: String,
    /// Whether the curves are our own recording.
    pub(super) own: bool,
    pub(super) ours: Value,
    pub(super) relation: Relation,
    pub(super) other: Value,
}

impl Value {
    /// A published value.
    pub(super) fn published(mean: f64, stderr: f64) -> Self {
        Self { name: "published".to_owned(), mean, stderr: Some(stderr), sample: None }
    }
}

impl Comparison {
    /// (ours − the other) / √(s² + s'²), s and s' the two standard errors; `None` where one has no standard error.
    pub(super) fn difference(&self) -> Option<f64> {
        let error = self.ours.stderr?.hypot(self.other.stderr?);
        let difference = self.ours.mean - self.other.mean;
        Some(if difference.abs() < 1e-12 { 0.0 } else { difference / error.max(f64::MIN_POSITIVE) })
    }

    /// The rule: a value is larger by more than two standard errors of the difference. Values are the same within these, and one reaches
    /// another unless it is smaller by more.
    pub(super) fn judgment(&self) -> Judgment {
        let Some(difference) = self.difference() else { return Judgment::Undecided };
        match self.relation {
            Relation::Larger if difference > APART => Judgment::Holds,
            Relation::Larger if difference >= -APART => Judgment::Undecided,
            Relation::Equal if difference.abs() <= APART => Judgment::Holds,
            Relation::Reaches if difference >= -APART => Judgment::Holds,
            _ => Judgment::Contradicted,
        }
    }

    /// How far it is from being contradicted, to find the least favorable.
    pub(super) fn margin(&self) -> f64 {
        let difference = self.difference().unwrap_or(0.0);
        if self.relation == Relation::Equal { -difference.abs() } else { difference }
    }
}

/// A judgment on several comparisons: all of them have to hold.
pub(super) fn of_all(judgments: impl Iterator<Item = Judgment>) -> Judgment {
    judgments.min().unwrap_or(Judgment::NotShown)
}

/// A judgment on several comparisons of which most have to hold.
pub(super) fn of_most(judgments: impl Iterator<Item = Judgment>) -> Judgment {
    let all: Vec<Judgment> = judgments.collect();
    let count = |wanted| all.iter().filter(|&&judgment| judgment == wanted).count();
    match all.len() {
        0 => Judgment::NotShown,
        most if 2 * count(Judgment::Holds) > most => Judgment::Holds,
        most if 2 * count(Judgment::Contradicted) >= most => Judgment::Contradicted,
        _ => Judgment::Undecided,
    }
}

impl fmt::Display for Judgment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Contradicted => "contradicted",
            Self::Undecided => "undecided",
            Self::Holds => "holds",
            Self::NotShown => "not shown",
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |x: f64| {
            // seconds of a forecast need an exponent, percents and factors two decimals
            let text = if x != 0.0 && x.abs() < 0.01 { format!("{x:.1e}") } else { format!("{x:.2}") };
            text.replace('-', "−")
        };
        let space = if self.name.is_empty() { "" } else { " " };
        write!(f, "{}{space}{}", self.name, number(self.mean))?;
        match self.stderr {
            Some(0.0) if self.sample.is_none() => Ok(()),
            Some(stderr) => write!(f, " ± {}", number(stderr)),
            None => f.write_str(" (a single measurement)"),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, {}", self.case, self.ours, self.other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(relation: Relation, ours: f64, stderr: Option<f64>) -> Judgment {
        let ours = Value { stderr, ..Value::published(ours, 0.0) };
        let other = Value::published(1.0, 0.4);
        Comparison { case: String::new(), own: false, ours, relation, other }.judgment()
    }

    #[test]
    fn a_difference_counts_only_beyond_two_standard_errors() {
        // √(0.3² + 0.4²) = 0.5: the bound is a difference of 1
        let cases = [
            (Relation::Larger, 2.01, Judgment::Holds),
            (Relation::Larger, 1.99, Judgment::Undecided),
            (Relation::Larger, 0.01, Judgment::Undecided),
            (Relation::Larger, -0.01, Judgment::Contradicted),
            (Relation::Equal, 1.99, Judgment::Holds),
            (Relation::Equal, 2.01, Judgment::Contradicted),
            (Relation::Equal, -0.01, Judgment::Contradicted),
            (Relation::Reaches, 9.0, Judgment::Holds),
            (Relation::Reaches, 0.01, Judgment::Holds),
            (Relation::Reaches, -0.01, Judgment::Contradicted),
        ];
        for (relation, ours, expected) in cases {
            assert_eq!(judged(relation, ours, Some(0.3)), expected, "{relation:?} {ours}");
        }
        assert_eq!(
            judged(Relation::Larger, 9.0, None),
            Judgment::Undecided,
            "one seed has no standard error"
        );
    }

    #[test]
    fn all_have_to_hold_or_most() {
        use Judgment::{Contradicted, Holds, NotShown, Undecided};
        let all =
            |judgments: &[Judgment]| (of_all(judgments.iter().copied()), of_most(judgments.iter().copied()));
        assert_eq!(all(&[Holds, Holds, Contradicted]), (Contradicted, Holds));
        assert_eq!(all(&[Holds, Undecided]), (Undecided, Undecided));
        assert_eq!(all(&[Contradicted, Undecided]), (Contradicted, Contradicted));
        assert_eq!(all(&[]), (NotShown, NotShown));
    }
}

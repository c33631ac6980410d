//! Limits: bounds that a trial must keep to count.

use super::{Formula, ObjectiveError};
use crate::comparison::Comparison;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The side of the number on which a limit is respected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSide {
    /// `<=`.
    AtMost,
    /// `>=`.
    AtLeast,
}

impl LimitSide {
    /// The bound that `comparison` sets, if it includes the number itself.
    fn from_comparison(comparison: Comparison) -> Option<Self> {
        match comparison {
            Comparison::AtMost => Some(Self::AtMost),
            Comparison::AtLeast => Some(Self::AtLeast),
            Comparison::Equal | Comparison::Unequal | Comparison::Below | Comparison::Above => None,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::AtMost => Comparison::AtMost.sign(),
            Self::AtLeast => Comparison::AtLeast.sign(),
        }
    }
}

/// A bound on a parameter, a formula of parameters, or a reported value: `latency<=20`.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The bounded quantity.
    pub of: Formula,
    /// On which side.
    pub bound: LimitSide,
    /// The bound.
    pub value: f64,
}

impl Limit {
    /// The limit that is `written`, in a study whose configurations have the values `known`.
    ///
    /// # Errors
    /// [`ObjectiveError`] where it cannot be read, or has a name that is not known.
    pub fn parse_with_names(written: &str, known: &[&str]) -> Result<Self, ObjectiveError> {
        Self::split(written, |text| Formula::parse_with_names(text, known))
    }

    fn split(
        written: &str,
        formula: impl Fn(&str) -> Result<Formula, super::FormulaError>,
    ) -> Result<Self, ObjectiveError> {
        let read = Comparison::split(written).and_then(|(of, comparison, value)| {
            let bound = LimitSide::from_comparison(comparison)?;
            Some((of, bound, value.parse().ok().filter(|value: &f64| value.is_finite())?))
        });
        let (of, bound, value) = read.ok_or_else(|| ObjectiveError::Limit { text: written.to_owned() })?;
        Ok(Self { of: formula(of)?, bound, value })
    }

    /// Whether `value` breaks it.
    pub fn is_broken_by(&self, value: f64) -> bool {
        match self.bound {
            LimitSide::AtMost => value > self.value,
            LimitSide::AtLeast => value < self.value,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.of, self.bound.sign(), self.value)
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = serde_json::to_value(&self.of).map_err(serde::ser::Error::custom)?;
        let (of, sign) = (of.as_str().unwrap_or_default(), self.bound.sign());
        serializer.collect_str(&format_args!("{of}{sign}{}", self.value))
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = String::deserialize(deserializer)?;
        Self::split(&written, Formula::parse).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_as_it_is_written() {
        let limit = Limit::parse_with_names("val/time ≤ 2e1", &["lr"]).unwrap();
        assert_eq!(
            (limit.to_string(), limit.is_broken_by(20.0), limit.is_broken_by(20.1)),
            ("val/time<=20".to_owned(), false, true)
        );
        let written = serde_json::to_string(&limit).unwrap();
        assert_eq!(serde_json::from_str::<Limit>(&written).unwrap(), limit, "{written}");
        for text in ["latency", "latency<20", "latency<=", "<=20", "latency<=nan", "lr*x<=2"] {
            assert!(Limit::parse_with_names(text, &["lr"]).is_err(), "{text}");
        }
    }
}

//! Several objectives: the quantities measured in addition to the metric that is forecast, the limits of a trial, and the front.

mod formula;
mod hypervolume;
mod limit;
mod ranking;
mod standings;

pub use formula::{Formula, FormulaError};
pub use limit::{Limit, LimitSide};

pub(crate) use hypervolume::{dominates, front_of, hypervolume, ranges, scale_to_shares};
pub(crate) use ranking::places;
pub(crate) use standings::{FrontStandings, is_no_worse};

use foretell::{Direction, direction_of};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use thiserror::Error;

/// A further objective of a study.
///
/// An objective is a parameter, a formula over parameters, or a value that a trial reports in addition to the metric: once, or after each epoch. A
/// trial's value is the last that it reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// The measured quantity.
    pub of: Formula,
    /// The better direction.
    pub direction: Direction,
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match self.direction {
            Direction::Maximize => "max",
            Direction::Minimize => "min",
        };
        write!(f, "{}:{way}", self.of)
    }
}

/// The reason why an objective or a limit is invalid.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum ObjectiveError {
    /// The formula is invalid.
    #[error(transparent)]
    Formula(#[from] FormulaError),
    /// The direction is unknown.
    #[error("the name {of} does not show which way is better. Write {of}:min or {of}:max")]
    Direction {
        /// The objective.
        of: String,
    },
    /// An objective is there twice.
    #[error("the objective {of} is given twice. Remove one of them")]
    Twice {
        /// The objective.
        of: String,
    },
    /// A limit without a bound.
    #[error(
        "{text} is not a limit. Write a name or a formula, then <= or >=, then a number, for example latency<=20"
    )]
    Limit {
        /// The given value.
        text: String,
    },
    /// Limits that allow hardly any configuration.
    #[error(
        "{limits}: fewer than 1 in {share} configurations of the space keep this ({allowed} of {draws} sampled ones). Change the limit, or narrow the ranges of the parameters"
    )]
    Region {
        /// The limits.
        limits: String,
        /// How many of the sampled ones keep them.
        allowed: u64,
        /// How many were sampled.
        draws: u64,
        /// One in so many has to.
        share: u64,
    },
    /// A reward without a sampler that learns from it.
    #[error("only q-learning learns from a reward. Choose the sampler q-learning, or leave the reward out")]
    Reward,
    /// A policy or a rank that compares trials by the metric alone.
    #[error("{part} compares trials by {metric} alone, which loses the front. {instead}")]
    Alone {
        /// The part that compares trials.
        part: String,
        /// The metric.
        metric: String,
        /// The remedy.
        instead: &'static str,
    },
}

/// The parts of `written`: a name or a formula, and the better direction, if it ends in `:min` or `:max`.
pub(crate) fn parts(written: &str) -> (&str, Option<Direction>) {
    let written = written.trim();
    match written.rsplit_once(':').map(|(of, way)| (of.trim(), way.trim())) {
        Some((of, "min" | "minimize")) => (of, Some(Direction::Minimize)),
        Some((of, "max" | "maximize")) => (of, Some(Direction::Maximize)),
        _ => (written, None),
    }
}

impl Objective {
    /// The objective that is `written`, in a study whose configurations have the values `known`: `weights:min`, `width^2 * depth:min`.
    ///
    /// # Errors
    /// [`ObjectiveError`] for a formula that cannot be read or has a name that is not known, or where nothing says which way is better.
    pub fn parse_with_names(written: &str, known: &[&str]) -> Result<Self, ObjectiveError> {
        let (text, direction) = parts(written);
        let of = Formula::parse_with_names(text, known)?;
        let direction = direction.or_else(|| direction_of(of.sole_name()?));
        let direction = direction.ok_or_else(|| ObjectiveError::Direction { of: of.to_string() })?;
        Ok(Self { of, direction })
    }
}

/// The names that are reported: those that `formulas` have and that configurations with the values `known` do not.
pub(crate) fn reported_names<'a>(
    formulas: impl Iterator<Item = &'a Formula>,
    known: &[&str],
) -> BTreeSet<String> {
    let names: BTreeSet<&str> = formulas.flat_map(Formula::names).collect();
    names.into_iter().filter(|name| !known.contains(name)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_says_which_way_is_better_or_its_name_does() {
        let known = ["width", "depth"];
        let read =
            |text: &str| Objective::parse_with_names(text, &known).map(|objective| objective.to_string());
        assert_eq!(read("val_loss").unwrap(), "val_loss:min");
        assert_eq!(read(" width^2 * depth :min").unwrap(), "width^2 * depth:min");
        assert_eq!(read("val/acc").unwrap(), "val/acc:max");
        assert_eq!(
            read("depth").unwrap_err().to_string(),
            "the name depth does not show which way is better. Write depth:min or depth:max"
        );
        let unknown = read("width * wide:min").unwrap_err().to_string();
        assert_eq!(unknown, "width * wide: unknown name wide. A formula can use width, depth");
    }
}

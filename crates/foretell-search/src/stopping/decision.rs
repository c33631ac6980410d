//! A decision on a running trial, and the facts it rests on.

use foretell::Action;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The reason for a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Not enough trials have finished to forecast from.
    BurnIn,
    /// Fewer trials have finished than the n-th best needs.
    NoIncumbent,
    /// It may still win.
    MayWin,
    /// It will not win.
    WillNotWin,
    /// Its end is known, whatever its rank.
    EndKnown,
    /// The forecast shows that it will not win, but too few consecutive checks agree.
    AwaitingConfirmation,
    /// Its first fold will not win, but good remaining folds may still make it the best.
    FoldsLeft,
    /// Its best value so far is below the median of the running means of the others.
    BelowMedian,
    /// It is not among the best 1/η of those that reached its level.
    BelowRung,
    /// It has not improved for the allowed number of reports.
    NoImprovement,
    /// It would be stopped, but is one of the share that is never stopped.
    Exempt,
    /// It certainly breaks this limit.
    BreaksLimit(String),
    /// Its metric is not finite: the training diverged.
    Diverged,
    /// It would have been stopped before; the study only watches.
    AlreadyStopped,
    /// A person stopped it.
    ByHand,
    /// A person keeps it from being stopped.
    Kept,
    /// No forecast is possible, for the given reason.
    NoForecast(String),
    /// The reason of a stop rule that the caller brought, in its words.
    Own(String),
}

/// The reason in a few words; of a stop rule that the caller brought, its own.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BurnIn => "burn-in",
            Self::NoIncumbent => "nothing to compare with",
            Self::MayWin => "may win",
            Self::WillNotWin => "will not win",
            Self::EndKnown => "its final value is known",
            Self::AwaitingConfirmation => "will not win, if the next check agrees",
            Self::FoldsLeft => "its first fold will not win, but its other folds may",
            Self::BelowMedian => "below the median",
            Self::NoImprovement => "no improvement",
            Self::BelowRung => "not among the best of its rung",
            Self::Exempt => "exempt from stopping",
            Self::Diverged => "diverged",
            Self::AlreadyStopped => "would already have been stopped",
            Self::ByHand => "manually",
            Self::Kept => "kept manually",
            Self::BreaksLimit(limit) => return write!(f, "breaks {limit}"),
            Self::NoForecast(why) => return write!(f, "no forecast: {why}"),
            Self::Own(words) => words,
        })
    }
}

/// A recorded forecast, on the study's scale and in the user's metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedForecast {
    /// The expected final value, in the metric's unit and direction.
    pub mean: f64,
    /// The spread: half the distance between the 84.1 % and the 15.9 % quantile, in the metric's unit.
    pub sd: f64,
    /// The central 90 % interval, in the metric's unit, lower end first.
    pub interval: (f64, f64),
}

/// A judgment of a running trial, with the facts that it is based on. Decisions to continue are recorded, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// The trial's number.
    pub trial: u64,
    /// The step it had reported.
    pub step: u64,
    /// Stop or continue.
    pub action: Action,
    /// The reason.
    pub reason: Reason,
    /// Where the trial was forecast to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<RecordedForecast>,
    /// The value it counts with where no forecast was made: its last one, in the metric's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The value that it was compared with, in the unit of the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incumbent: Option<f64>,
    /// The probability that it ends (or reaches its rung) no better than the incumbent less the offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// The chance that it ends as the best trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
    /// Whether the study only watches: the decision was recorded, not carried out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn a_stop_rule_of_ones_own_gives_its_reason_in_its_own_words() {
        assert_eq!(Reason::Own("below the bar".to_owned()).to_string(), "below the bar");
        assert_eq!(Reason::NoForecast("too short".to_owned()).to_string(), "no forecast: too short");
        assert_eq!(Reason::WillNotWin.to_string(), "will not win");
    }
}

//! What happens outside a study (inputs), and what the study answers (records for the log).

mod versions;

use foretell::{Action, Configuration, Direction};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Something that happened outside and that a study must hear of.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A worker has nothing to do.
    WorkerIdle,
    /// A trial reported the metric.
    Reported {
        /// The trial's number.
        trial: u64,
        /// The resource it has spent since its beginning.
        step: u64,
        /// The metric in the user's unit and direction; `None` if it is not finite.
        value: Option<f64>,
        /// What else it reported.
        metrics: BTreeMap<String, f64>,
    },
    /// A trial's process ended by itself.
    Ended {
        /// The trial's number.
        trial: u64,
        /// `None` if it ended well, else what went wrong.
        failure: Option<String>,
    },
}

/// One line of a study's log. A study is a fold over these; those that [`Study::step`](crate::Study::step) returns are
/// also its commands: a `Started` is to be launched, a decision that stops is to be carried out.
///
/// As JSON a record begins with its version and its type: `{"v":1,"event":"paused","trial":3}`.
///
/// - A record without `v` is of version 1: logs written before November 2026 have no versions.
/// - A field that this program does not know is ignored. Nothing rewrites a log, so the field stays in its line. The
///   study's description in `created` is the exception: an unknown setting there is an error, because the study would
///   decide otherwise without it.
/// - An unknown type, or a version newer than this program's, is an error that names both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", remote = "Self")]
pub enum Record {
    /// The first line: what the study is.
    Created {
        /// The study's description.
        study: Box<crate::StudySpec>,
    },
    /// From here on other settings hold: somebody went on with the study by another policy, burn-in, total or budget.
    Changed {
        /// All the settings that may change, as they are from here on.
        settings: Box<crate::Settings>,
    },
    /// A run of an earlier search to learn from (a warm start); before the first trial.
    #[serde(alias = "handed_in")]
    WarmStart {
        /// Where it is from.
        id: String,
        /// Its configuration.
        configuration: Configuration,
        /// Its curve, in the metric's unit: steps and values.
        points: Vec<(f64, f64)>,
    },
    /// A trial is to be run: from its beginning, from where it was paused or stopped, or from where it was interrupted.
    Started {
        /// The trial's number, from 0.
        trial: u64,
        /// Its configuration.
        configuration: Configuration,
        /// The seed its process is given.
        seed: u32,
        /// The last step that was recorded before; 0 for a new trial.
        from: u64,
        /// The step it is to train to.
        until: u64,
    },
    /// A trial reported the metric.
    Reported {
        /// The trial's number.
        trial: u64,
        /// The resource it has spent since its beginning.
        step: u64,
        /// The metric in the user's unit and direction; `null` if it is not finite.
        value: Option<f64>,
        /// What else it reported.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        metrics: BTreeMap<String, f64>,
    },
    /// A running trial was judged.
    Decided(Decision),
    /// A trial was trained as far as the scheduler wanted it to be for now; it may go on from there.
    Paused {
        /// The trial's number.
        trial: u64,
    },
    /// A trial trained to its end; its result is its last value.
    Completed {
        /// The trial's number.
        trial: u64,
    },
    /// A trial ended without a usable result.
    Failed {
        /// The trial's number.
        trial: u64,
        /// What went wrong.
        reason: String,
    },
}

impl Record {
    /// How many trials there are at least once this record is applied: one more than the number of the one it starts.
    pub fn trials_started(&self) -> u64 {
        match self {
            Self::Started { trial, .. } => trial + 1,
            _ => 0,
        }
    }
}

impl Record {
    /// The trial whose training it ends, for good or until it is promoted.
    pub fn ends(&self) -> Option<u64> {
        match self {
            Self::Paused { trial } | Self::Completed { trial } | Self::Failed { trial, .. } => Some(*trial),
            Self::Decided(decision) if decision.action == Action::Stop && !decision.shadow => {
                Some(decision.trial)
            }
            _ => None,
        }
    }
}

/// Why a decision is what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
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
    /// The forecast says it will not win, but not yet in enough checks in a row.
    AwaitingConfirmation,
    /// Its best value so far is below the median of the running means of the others.
    BelowMedian,
    /// It is not among the best 1/η of those that reached its level.
    BelowRung,
    /// It has not improved for as long as it was allowed to.
    NoImprovement,
    /// It would be stopped, but is one of the share that is never stopped.
    Exempt,
    /// Its metric is not finite: the training diverged.
    Diverged,
    /// It would have been stopped before; the study only watches.
    AlreadyStopped,
    /// A person stopped it.
    ByHand,
    /// A person keeps it from being stopped.
    Kept,
    /// No forecast can be made: the text says why.
    NoForecast(String),
}

/// A forecast as it is recorded: on the scale the study forecasts on, and in the user's metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedForecast {
    /// The expected final value, in the metric's unit and direction.
    pub mean: f64,
    /// The spread: half the distance between the 84.1 % and the 15.9 % quantile, in the metric's unit.
    pub sd: f64,
    /// The central 90 % interval, in the metric's unit, lower end first.
    pub interval: (f64, f64),
}

/// A judgement of a running trial and the facts it rests on; recorded for "continue" too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The trial's number.
    pub trial: u64,
    /// The step it had reported.
    pub step: u64,
    /// Stop or continue.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// Where the trial was forecast to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<RecordedForecast>,
    /// The value it counts with where no forecast was made: its last one, in the metric's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// What it was compared with, in the metric's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incumbent: Option<f64>,
    /// The probability that it ends (or reaches its rung) no better than the incumbent less the offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Whether the study only watches: the decision was recorded, not carried out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
}

/// The better of two metric values.
pub(crate) fn better(direction: Direction, a: f64, b: f64) -> bool {
    direction.score(a) > direction.score(b)
}

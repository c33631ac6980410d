//! The events outside a study (inputs), and the study's answers (records for the log).

mod versions;

pub use crate::stopping::decision::{Decision, Reason, RecordedForecast};

use crate::stopping::split_lesson;
use foretell::{Action, Configuration, Direction};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A trial of an earlier study whose configuration is tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlierTrial {
    /// The folder of its study, and its number: `foretell-out/first trial 3`.
    pub id: String,
    /// The value that it reached, in the metric's unit.
    pub value: f64,
    /// Whether no trial of its study reached a better one.
    pub is_best: bool,
}

impl fmt::Display for EarlierTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (folder, number) = split_lesson(&self.id);
        let study =
            folder.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or("earlier runs");
        match self.is_best {
            true => write!(f, "the best trial of {study} ({:.4})", self.value),
            false => write!(f, "trial {number} of {study} ({:.4})", self.value),
        }
    }
}

/// An external event that the study processes.
#[derive(Clone, Debug, PartialEq)]
pub enum StudyInput {
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
        /// The other values it reported.
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

/// The place up to which the source of a trial was read: a file that its training appends to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePosition {
    /// The number of bytes of the file before it.
    pub at: u64,
    /// The last step before it: reports without a number are counted on from there.
    pub after: u64,
    /// The CRC-32 of the bytes just before it, at most 4,096, by which the file is recognized.
    pub crc: u32,
}

/// One line of a study's log. A study is a fold over these; those that [`Study::step`](crate::Study::step) returns are
/// also its commands: a `Started` is to be launched, a decision that stops is to be carried out.
///
/// As JSON a record begins with its version and its type: `{"v":1,"event":"paused","trial":3}`.
///
/// - A field that this program does not know is ignored. Nothing rewrites a log, so the field stays in its line. The
///   study's description in `created` is the exception: an unknown setting there is an error, because the study would
///   decide otherwise without it.
/// - An unknown type, or another version than this program's, is an error that names both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", remote = "Self")]
pub enum Record {
    /// The first line: what the study is.
    Created {
        /// The study's description.
        study: Box<crate::StudySpec>,
    },
    /// From here on other settings hold: somebody went on with the study by another policy, space, sampler, total, ….
    Changed {
        /// All the settings that may change, as they are from here on.
        settings: Box<crate::StudySettings>,
    },
    /// A run of an earlier search to learn from (a warm start); before the first trial.
    WarmStart {
        /// Where it is from.
        id: String,
        /// The run's configuration.
        configuration: Configuration,
        /// The run's curve, in the metric's unit: steps and values.
        points: Vec<(f64, f64)>,
    },
    /// A configuration was enqueued: the next new trial has it. Where it names only some parameters, the sampler chooses the rest.
    Enqueued {
        /// The configuration.
        configuration: Configuration,
        /// The order by which it came: the same order twice is carried out once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<String>,
        /// The trial of an earlier study that has this configuration, if the study itself enqueued it to try it again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        earlier: Option<EarlierTrial>,
    },
    /// The configuration of this trial, which starts next, is lost: the log was repaired. The trial counts for nothing.
    Unknown {
        /// The trial's number.
        trial: u64,
    },
    /// The choice of the metric among the numbers that trials print, as the first trial's output has shown: its series, as the reader of
    /// printed output writes it. The trials after it are read alike.
    Chosen {
        /// The series, as JSON.
        series: String,
    },
    /// The epochs of a complete trial, R, are known from here on, or are more than were known: nobody gave them, and this trial has shown them.
    Resource {
        /// The trial's number.
        trial: u64,
        /// R.
        max_resource: u64,
    },
    /// A trial is to be run: from its beginning, from where it was paused or stopped, or from where it was interrupted.
    Started {
        /// The trial's number, from 0.
        trial: u64,
        /// The trial's configuration; empty where it is lost.
        configuration: Configuration,
        /// The seed its process is given.
        seed: u32,
        /// The last step that was recorded before; 0 for a new trial.
        from: u64,
        /// The step it is to train to; `null` while R is unknown.
        #[serde(with = "crate::resource", default = "crate::resource::unknown_resource")]
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
        /// The other values it reported.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        metrics: BTreeMap<String, f64>,
    },
    /// Epochs of a trial were trained once more, and count once more: it began again, or two workers trained it.
    Repeated {
        /// The trial's number.
        trial: u64,
        /// The step that was reported again.
        step: u64,
        /// The number of epochs that this adds.
        epochs: u64,
        /// Whether a worker trained them that had lost the trial: the present training has not reached this step by that.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        elsewhere: bool,
    },
    /// The report of this step came after its worker had lost the trial, and before anybody else had reported it.
    Late {
        /// The trial's number.
        trial: u64,
        /// The step.
        step: u64,
    },
    /// The file that this trial appends its metrics to was read up to here: all reports until there are recorded, and a training that
    /// continues reads on from there.
    Read {
        /// The trial's number.
        trial: u64,
        /// The place in the file.
        position: SourcePosition,
    },
    /// The training of this trial has ended, and returned this value: its score, unless it was stopped.
    Returned {
        /// The trial's number.
        trial: u64,
        /// The value, in the metric's unit.
        value: f64,
    },
    /// A running trial was judged.
    Decided(Decision),
    /// A trial was trained as far as the scheduler wanted it to be for now; it may continue from there.
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
        /// The reason for the failure.
        reason: String,
    },
}

impl Record {
    /// The least number of trials once this record is applied: one more than the number of the one it starts.
    pub fn trials_started(&self) -> u64 {
        match self {
            Self::Started { trial, .. } => trial + 1,
            _ => 0,
        }
    }
}

impl Record {
    /// The trial that it is about.
    pub fn trial(&self) -> Option<u64> {
        match self {
            Self::Created { .. }
            | Self::Changed { .. }
            | Self::WarmStart { .. }
            | Self::Enqueued { .. }
            | Self::Chosen { .. } => None,
            Self::Decided(decision) => Some(decision.trial),
            Self::Started { trial, .. }
            | Self::Reported { trial, .. }
            | Self::Unknown { trial }
            | Self::Repeated { trial, .. }
            | Self::Late { trial, .. }
            | Self::Read { trial, .. }
            | Self::Returned { trial, .. }
            | Self::Resource { trial, .. }
            | Self::Paused { trial }
            | Self::Completed { trial }
            | Self::Failed { trial, .. } => Some(*trial),
        }
    }

    /// The trial whose training it ends, for good or until it is promoted.
    pub fn ended_trial(&self) -> Option<u64> {
        match self {
            Self::Paused { trial } | Self::Completed { trial } | Self::Failed { trial, .. } => Some(*trial),
            Self::Decided(decision) if decision.action == Action::Stop && !decision.shadow => {
                Some(decision.trial)
            }
            _ => None,
        }
    }
}

/// The better of two metric values.
pub(crate) fn better(direction: Direction, a: f64, b: f64) -> bool {
    direction.to_score(a) > direction.to_score(b)
}

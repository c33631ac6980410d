//! The wire: the bodies and answers of the four verbs over HTTP, for whoever serves a study and whoever works on it.

use std::collections::BTreeMap;

use foretell::Configuration;
use foretell_search::{DecisionView, LengthNotice, Queued, SourcePosition};
use serde::{Deserialize, Deserializer, Serialize};

use crate::host::hosted::{MetricReading, TrainingTask};
use crate::host::leases::WorkerView;
use crate::host::work::Work;

/// A request for the next training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Ask {
    /// The name that you choose for the worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// The number of this request of the worker. A repeated request keeps its number, and the next one has a larger number, so
    /// that a late copy of an old request returns nothing. Such a worker must renew its lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
}

/// A report of a training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The number of epochs trained since the start.
    pub step: u64,
    /// The metric; null if it is not finite.
    #[serde(deserialize_with = "required_number")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "number_or_null"))]
    pub value: Option<f64>,
    /// All other measured values.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, Option<f64>>,
    /// Whether the training had already ended. The report is then recorded, but no decision is made.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// The lease that `ask` returned with the trial. A worker whose trial now belongs to another one gets 409.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// The lease of another worker that made the report but could not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_under: Option<String>,
}

/// Continues a trial after fewer epochs than it has reported, or starts it again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// The epochs of its checkpoint; 0 without a checkpoint.
    pub after: u64,
    /// The number of the worker's attempt at this trial. The same number again changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// The lease that `ask` returned with the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
}

/// A sign that a worker is alive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Renew {
    /// The lease that `ask` returned with the trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// The place up to which the file that the training appends its metrics to was read. All reports before it must have been sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<ReadTo>,
}

/// The end of a training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Tell {
    /// The reason for the failure, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The value that the training returned, in the metric's unit. It is the score of the trial, unless the trial was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned: Option<f64>,
    /// Whether every trial of the command would fail in this way. A study without any report then ends.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "std::ops::Not::not")]
    pub of_the_command: bool,
    /// Whether the worker ends before the training. The trial has then not failed, and the next worker that asks gets it.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "std::ops::Not::not")]
    pub handed_back: bool,
    /// The lease that `ask` returned with the trial. A worker whose trial now belongs to another one gets 409.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
}

/// A configuration to try next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Enqueue {
    /// A string such as `lr=0.1,opt=sgd`, or an object with values for some or all parameters.
    pub configuration: Queued,
    /// A name for this request. The same request with the same name changes nothing. Without a name, the configuration itself
    /// is the name. To enqueue it twice, name the requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Note a text about a study, in place of what is noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// The text; nothing removes the notes. Words that begin with `#` are tags.
    pub text: String,
}

/// An order about a trial, which needs no fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// The answer to [`Ask`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "foretell.ask/1")]
pub struct Asked {
    /// Whether the study is done.
    pub done: bool,
    /// The training; null if there is none at the moment.
    pub start: Option<Given>,
}

/// A training for a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Given {
    /// The trial's number.
    pub trial: u64,
    /// Its configuration: a value for each parameter, null if the parameter does not apply.
    pub configuration: Configuration,
    /// The seed of its training.
    pub seed: u32,
    /// The step that it has already reached. Continue from its checkpoint.
    pub from: u64,
    /// The step to train to; null while nobody knows how long a complete trial trains.
    #[serde(with = "foretell_search::resource")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub until: u64,
    /// The lease, to send with each report. A worker whose trial now belongs to another one gets 409.
    pub lease: String,
    /// The allowed silence of a worker that renews its lease. For a worker that only reports, it is ten times the mean interval
    /// between reports of the study, at least this time and at most an hour.
    pub lease_seconds: f64,
    /// The last step that is recorded; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<u64>,
    /// The place up to which the file that the training appends its metrics to was read, if it has one and was started before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<ReadTo>,
}

/// A place in the file that a training appends its metrics to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReadTo {
    /// The number of bytes of the file before it.
    pub at: u64,
    /// The last step before it.
    pub after: u64,
    /// The CRC-32 of the bytes just before it, at most 4,096.
    pub crc: u32,
}

impl From<SourcePosition> for ReadTo {
    fn from(SourcePosition { at, after, crc }: SourcePosition) -> Self {
        Self { at, after, crc }
    }
}

impl From<ReadTo> for SourcePosition {
    fn from(ReadTo { at, after, crc }: ReadTo) -> Self {
        Self { at, after, crc }
    }
}

/// The next action of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "foretell.answer/1")]
pub struct Answer {
    /// The trial's number.
    pub trial: u64,
    /// Whether the training must stop now; absent if another process decides that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<bool>,
    /// Whether this request was recorded now. It is false if it was already recorded, if the trial has ended, or if another
    /// process will record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<bool>,
    /// The decision about the trial: the new one, or the one that stopped it.
    pub decision: Option<DecisionView>,
    /// Sentences about the number of epochs of a complete trial: where it does not fit the reports, and once trials have shown it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<LengthNotice>,
}

/// The answer to [`Tell`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "foretell.told/1")]
pub struct Told {
    /// The trial's number.
    pub trial: u64,
    /// Its state: `running`, `interrupted`, `paused`, `completed`, `stopped`, `failed` or `handed_back`.
    pub state: String,
    /// Whether the study is done.
    pub done: bool,
    /// The relation between the values that trials returned and those that they reported, if it is unusual: its name and a
    /// sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relation: Option<(String, String)>,
    /// Sentences about the number of epochs of a complete trial, as in the answer to a report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<LengthNotice>,
}

/// The answer to [`Enqueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "foretell.enqueued/1")]
pub struct Enqueued {
    /// Whether it is recorded. If not, the process that runs the study records it within a second.
    pub recorded: bool,
}

/// The settings for running a study's trials, for workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "foretell.work/1")]
pub struct StudyWork {
    /// The study's name.
    pub study: String,
    /// Command, metric, folders and limits.
    pub work: Work,
}

/// The workers of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "foretell.workers/1")]
pub struct Workers {
    /// The study's name.
    pub study: String,
    /// Each worker, with its trial and the time since its last request.
    pub workers: Vec<WorkerView>,
}

/// The served studies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "foretell.studies/1")]
pub struct Studies {
    /// Their names.
    pub studies: Vec<String>,
    /// The most recently written study.
    pub latest: Option<String>,
}

/// A refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "foretell.error/1")]
pub struct Refused {
    /// The problem, and what to do.
    pub error: String,
    /// The invalid field, or the invalid part of the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// A value that must be there, be it null.
fn required_number<'de, D: Deserializer<'de>>(field: D) -> Result<Option<f64>, D::Error> {
    Option::deserialize(field)
}

/// A field that may be left out, be it by null.
fn or_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(field: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(field)?.unwrap_or_default())
}

#[cfg(feature = "schema")]
fn number_or_null(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": ["number", "null"]})
}

impl From<Report> for MetricReading {
    fn from(Report { step, value, metrics, late, made_under, .. }: Report) -> Self {
        let metrics = metrics.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        Self { step, value, metrics, late, made_under }
    }
}

impl Report {
    /// The report of `reading` by the worker that holds `lease`.
    pub fn new(reading: &MetricReading, lease: Option<&str>) -> Self {
        let MetricReading { step, value, metrics, late, made_under } = reading.clone();
        let metrics = metrics.into_iter().map(|(name, value)| (name, Some(value))).collect();
        Self { step, value, metrics, late, lease: lease.map(str::to_owned), made_under }
    }
}

impl From<TrainingTask> for Given {
    fn from(TrainingTask { start, lease }: TrainingTask) -> Self {
        let (lease, time) = lease.unwrap_or_default();
        let foretell_search::TrainingStart { trial, configuration, seed, from, until, reported, read } =
            start;
        let lease_seconds = time.as_secs_f64();
        Self {
            trial,
            configuration,
            seed,
            from,
            until,
            lease,
            lease_seconds,
            reported,
            read: read.map(ReadTo::from),
        }
    }
}

impl Answer {
    /// The same `answer`; with whether something was recorded if something was to be.
    pub fn new(answer: foretell_search::TrainingAnswer, is_record: bool) -> Self {
        let foretell_search::TrainingAnswer { trial, stop, recorded, decision } = answer;
        let decision = decision.as_ref().map(DecisionView::from);
        let recorded = is_record.then_some(recorded);
        Self { trial, stop: Some(stop), recorded, decision, notices: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Ask, Report};
    use crate::host::hosted::MetricReading;

    #[test]
    fn a_report_needs_its_value_be_it_null_and_names_its_fields() {
        let read = |text: &str| serde_json::from_str::<Report>(text).map_err(|error| error.to_string());
        let report = read(r#"{"step": 3, "value": null, "metrics": {"a": null, "b": 2}}"#).expect("a report");
        let reading = MetricReading::from(report);
        assert_eq!((reading.step, reading.value, reading.metrics["b"]), (3, None, 2.0));
        assert_eq!(reading.metrics.len(), 1, "null is no measurement");
        assert!(read(r#"{"step": 3}"#).is_err_and(|error| error.contains("missing field `value`")));
        assert!(read(r#"{"step": 3, "value": 1, "val": 2}"#).is_err_and(|error| error.contains("`val`")));
    }

    #[test]
    fn documents_begin_with_their_schema_and_bodies_leave_out_the_rest() {
        let answer =
            Answer { trial: 2, stop: Some(true), recorded: None, decision: None, notices: Vec::new() };
        let text = serde_json::to_string(&answer).expect("JSON");
        assert_eq!(text, r#"{"schema":"foretell.answer/1","trial":2,"stop":true,"decision":null}"#);
        assert_eq!(serde_json::from_str::<Answer>(&text).expect("it is read"), answer);
        assert_eq!(serde_json::to_string(&Ask::default()).expect("JSON"), "{}");
    }
}

//! The view of a study: its contents as shown by the terminal, the page, Python and exported files, in the same names and words.

mod reports;
mod rows;

pub use reports::ReportColumns;
pub use rows::{LastMetrics, TRIAL_COLUMNS, date, see_metrics, trial_rows};

use crate::front::ParetoFront;
use crate::record::{Decision, Record};
use crate::space::Space;
use crate::study::{Study, StudySpec, Trial, TrialState};
use crate::times::StudyTimes;
use foretell::{Configuration, Value};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

/// A decision, with its reason in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionView {
    /// The decision, as the log has it.
    #[serde(flatten)]
    pub decision: Decision,
    /// Its reason in words.
    #[serde(default)]
    pub why: String,
}

impl From<&Decision> for DecisionView {
    fn from(decision: &Decision) -> Self {
        Self { decision: decision.clone(), why: decision.reason.to_string() }
    }
}

impl TrialState {
    /// Why the trial was stopped or failed, in words; `None` where it was not.
    pub fn why(&self) -> Option<String> {
        match self {
            Self::Stopped { reason, .. } => Some(reason.to_string()),
            Self::Failed { reason } => Some(reason.clone()),
            Self::Running | Self::Interrupted | Self::Paused { .. } | Self::Completed { .. } => None,
        }
    }
}

/// The presentation of a trial.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TrialView {
    number: usize,
    config: Map<String, Json>,
    state: &'static str,
    score: Option<f64>,
    steps: Vec<f64>,
    values: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    folds: Vec<f64>,
    decision: Option<DecisionView>,
    error: Option<String>,
}

impl TrialView {
    fn new(spec: &StudySpec, number: usize, trial: &Trial) -> Self {
        Self {
            number,
            config: plain_values(&trial.configuration),
            state: trial.state.name(),
            score: trial.result(),
            steps: trial.curve.steps().to_vec(),
            values: trial.curve.scores().iter().map(|&score| spec.direction.to_value(score)).collect(),
            folds: match spec.folds() {
                1 => Vec::new(),
                _ => trial
                    .fold_scores(spec.run_score)
                    .iter()
                    .map(|&score| spec.direction.to_value(score))
                    .collect(),
            },
            decision: trial.decision.as_ref().map(DecisionView::from),
            error: trial.state.why().filter(|_| trial.is_failed()),
        }
    }
}

/// The presentation of a study: its settings by request name, one row per trial, its reports, and its front if it has one.
#[derive(Clone, Debug, Serialize)]
pub struct StudyView {
    settings: Map<String, Json>,
    trials: Vec<TrialView>,
    rows: Vec<Map<String, Json>>,
    front: Option<ParetoFront>,
    reports: Map<String, Json>,
}

impl StudyView {
    /// The view of `study`, whose times and records are `times` and `records`.
    pub fn new(study: &Study, times: &StudyTimes, records: impl IntoIterator<Item = Record>) -> Self {
        let (mut metrics, mut reports) = (LastMetrics::new(), ReportColumns::default());
        for record in records {
            reports.see(&record);
            see_metrics(&mut metrics, record);
        }
        let trials = study.trials().iter().enumerate();
        Self {
            settings: settings(study.spec()),
            trials: trials.map(|(number, trial)| TrialView::new(study.spec(), number, trial)).collect(),
            rows: trial_rows(study, times, &metrics),
            front: ParetoFront::new(study),
            reports: report_columns(&reports),
        }
    }
}

/// All settings of `spec` by request name, `null` if one does not apply. The space is the list of its parameters, or a name.
pub fn settings(spec: &StudySpec) -> Map<String, Json> {
    let Json::Object(mut settings) = json!(spec.request()) else { return Map::new() };
    let space = match &spec.space {
        Space::Parameters(space) => json!(space.parameters()),
        named => json!(named.name()),
    };
    settings.insert("space".to_owned(), space);
    settings.insert("epochs".to_owned(), json!(spec.resource()));
    settings
}

fn report_columns(reports: &ReportColumns) -> Map<String, Json> {
    let first = [
        ("trial".to_owned(), json!(reports.trials)),
        ("step".to_owned(), json!(reports.steps)),
        ("value".to_owned(), json!(reports.values)),
    ];
    let metrics = reports.metrics().map(|(name, values)| (format!("metric.{name}"), json!(values)));
    first.into_iter().chain(metrics).collect()
}

/// `configuration` with whole numbers as such.
fn plain_values(configuration: &Configuration) -> Map<String, Json> {
    let value = |value: &Value| match value {
        // from 2^53 on, an f64 does not hold each integer any more
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => json!(*number as i64),
        Value::Number(number) => json!(number),
        Value::Text(text) => json!(text),
        Value::Missing => Json::Null,
    };
    configuration.iter().map(|(name, given)| (name.clone(), value(given))).collect()
}

//! `foretell study export --trials`: one row a trial, for notebooks and spreadsheets.

use crate::commands::search::report::LastMetrics;
use crate::failure::Failure;
use crate::output::date;
use foretell_run::Stored;
use foretell_search::{Record, Study, StudySpec, Times, Trial, TrialState};
use serde_json::{Map, Value};

/// The columns that every row has, in this order; those of the parameters and metrics follow.
pub(super) const COLUMNS: [&str; 12] = [
    "trial",
    "state",
    "score",
    "epochs",
    "last",
    "began",
    "seconds",
    "forecast",
    "forecast_sd",
    "probability",
    "reason",
    "error",
];

/// One row a trial: [`COLUMNS`], `param.NAME` for each parameter, `metric.NAME` for the last value of each metric that it
/// reported by name.
pub(super) fn rows(stored: &Stored) -> Result<Vec<Map<String, Value>>, Failure> {
    Ok(rows_with(&stored.study, &stored.times, &last_metrics(stored)?))
}

/// The same rows of a study that is not read from a folder, with its times and its records.
pub(crate) fn rows_of(
    study: &Study,
    times: &Times,
    records: impl IntoIterator<Item = Record>,
) -> Vec<Map<String, Value>> {
    let mut metrics = LastMetrics::new();
    records.into_iter().for_each(|record| see(&mut metrics, record));
    rows_with(study, times, &metrics)
}

/// What the trials of a study in a folder reported last by name.
pub(crate) fn last_metrics(stored: &Stored) -> Result<LastMetrics, Failure> {
    let mut metrics = LastMetrics::new();
    stored.each_record(|record| see(&mut metrics, record))?;
    Ok(metrics)
}

fn see(metrics: &mut LastMetrics, record: Record) {
    if let Record::Reported { trial, metrics: reported, .. } = record {
        metrics.entry(trial).or_default().extend(reported);
    }
}

fn rows_with(study: &Study, times: &Times, metrics: &LastMetrics) -> Vec<Map<String, Value>> {
    let row = |(number, trial): (usize, &Trial)| {
        let mut row = own_columns(study.spec(), number, trial, times.of_trial(number as u64));
        let value = |value| serde_json::to_value(value).unwrap_or_default();
        row.extend(trial.configuration.iter().map(|(name, it)| (format!("param.{name}"), value(it))));
        let printed = metrics.get(&(number as u64)).into_iter().flatten();
        row.extend(printed.map(|(name, &it)| (format!("metric.{name}"), Value::from(it))));
        row
    };
    study.trials().iter().enumerate().map(row).collect()
}

fn own_columns(
    spec: &StudySpec,
    number: usize,
    trial: &Trial,
    time: Option<(u64, f64)>,
) -> Map<String, Value> {
    let decision = trial.decision.as_ref();
    let forecast = decision.and_then(|decision| decision.forecast);
    let last = trial.curve.last().map(|(_, score)| spec.direction.value(score));
    let (reason, error) = match &trial.state {
        TrialState::Stopped { reason, .. } => (Some(reason.to_string()), None),
        TrialState::Failed { reason } => (None, Some(reason.clone())),
        _ => (None, None),
    };
    let values: [Value; COLUMNS.len()] = [
        number.into(),
        trial.state.name().into(),
        trial.achieved(spec.run_score, spec.direction).into(),
        trial.trained().into(),
        last.into(),
        time.map(|(began, _)| format!("{}:{:02}", date(began), began / 1000 % 60)).into(),
        time.map(|(_, seconds)| seconds).into(),
        forecast.map(|it| it.mean).into(),
        forecast.map(|it| it.sd).into(),
        decision.and_then(|decision| decision.probability).into(),
        reason.into(),
        error.into(),
    ];
    COLUMNS.map(str::to_owned).into_iter().zip(values).collect()
}

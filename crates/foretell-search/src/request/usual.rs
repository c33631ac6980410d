//! Defaults that depend on other choices, in words: the answers of [`StudyRequest::resolve`] to some requests.

use super::{SchedulerName, StudyRequest};
use crate::defaults::DEFAULT_EPOCHS;
use crate::schedulers::rank::Rank;
use crate::space::Space;
use crate::stopping::caution::Caution;
use crate::study::StudySpec;

/// Enough trials for every burn-in.
const EXAMPLE_TRIALS: u64 = 1_000;

/// The name of a request, and the request.
type RequestCase = (&'static str, fn() -> StudyRequest);

/// Requests that change defaults. In order: a later case is worded only where it adds something.
const DEFAULT_CASES: [RequestCase; 6] = [
    ("with caution safe", || StudyRequest { caution: Some(Caution::Safe), ..StudyRequest::default() }),
    ("with caution fast", || StudyRequest { caution: Some(Caution::Fast), ..StudyRequest::default() }),
    ("with rungs", || StudyRequest { scheduler: Some(SchedulerName::Asha), ..StudyRequest::default() }),
    ("with rungs ranked by forecasts", || StudyRequest {
        scheduler: Some(SchedulerName::Asha),
        rank: Some(Rank::Mean),
        ..StudyRequest::default()
    }),
    ("with several objectives or a limit on a measured value", || StudyRequest {
        limit: Some(vec!["latency<=20".to_owned()]),
        ..StudyRequest::default()
    }),
    ("with `paper`", || StudyRequest { paper: Some(true), ..StudyRequest::default() }),
];

/// The fields whose defaults depend on others.
const DEPENDENT_FIELDS: [&str; 9] = [
    "sampler",
    "scheduler",
    "rungs",
    "policy",
    "burn_in",
    "stop_probability",
    "agreeing_checks",
    "refit",
    "predictor",
];

impl StudyRequest {
    /// The fields without a fixed default: each field's name, and its cases and values, the usual case ("") first.
    ///
    /// # Panics
    /// Never: the cases are valid requests.
    pub fn usual() -> Vec<(&'static str, Vec<(&'static str, String)>)> {
        let usual: RequestCase = ("", StudyRequest::default);
        let cases = std::iter::once(usual).chain(DEFAULT_CASES);
        let cases: Vec<(&str, StudySpec)> =
            cases.map(|(case, request)| (case, resolve_example(request()))).collect();
        let values = |name| cases.iter().map(|(case, spec)| (*case, value(name, spec))).collect();
        DEPENDENT_FIELDS.into_iter().map(|name| (name, values(name))).collect()
    }
}

/// The study of parameters that is asked for.
fn resolve_example(request: StudyRequest) -> StudySpec {
    let space = crate::ParameterSpace::parse(&["lr=log:1e-4:1"]).expect("a space");
    let asked = StudyRequest {
        space: Some(Space::Parameters(space)),
        metric: Some("val_acc".to_owned()),
        trials: Some(EXAMPLE_TRIALS),
        epochs: Some(DEFAULT_EPOCHS),
        ..request
    };
    asked.resolve(None).expect("a valid request")
}

/// The default of the field `name` in words: "0.99; with caution safe 0.999".
pub(super) fn in_words(name: &str, values: &[(&str, String)]) -> String {
    let usual = values.first().map_or("", |(_, value)| value);
    // the cases with rungs choose the scheduler themselves
    let values: Vec<_> =
        values.iter().filter(|(case, _)| name != "scheduler" || !case.contains("rungs")).collect();
    let mut words = usual.to_owned();
    let mut rungs = usual;
    for (case, value) in values.into_iter().skip(1) {
        // what has rungs is as others with rungs, unless told otherwise
        let expected = if case.contains("ranked") { rungs } else { usual };
        if *case == "with rungs" {
            rungs = value;
        }
        if value != expected {
            words += &format!("; {case} {value}");
        }
    }
    words
}

/// The value in `spec` of the field `name`, as it is written in a request.
fn value(name: &str, spec: &StudySpec) -> String {
    match spec.request().fields().get(name) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        // of the fields that depend on others only the number of rungs may be left open
        None => "all".to_owned(),
    }
}

//! The four verbs over HTTP, and a person's orders.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use foretell::Direction;
use foretell_run::wire::{
    Answer, Ask, Asked, Begin, Enqueue, Enqueued, Given, Note, Nothing, Renew, Report, StudyWork, Tell, Told,
    Workers,
};
use foretell_run::{HostError, Work, read_notes, replace_notes};
use foretell_search::{Best, ManualOrder, StudyRequest, StudySpec, Tally, read_fields, redact_words};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::guard::word;
use crate::owner::OrderOutcome;
use crate::problem::RequestProblem;
use crate::served::{ServerState, blocking};
use crate::views::Noted;

type SharedState = State<Arc<ServerState>>;
type ApiReply = Result<Response, RequestProblem>;
/// The study and the trial in an address.
type TrialPath = Path<(String, String)>;

/// A study that was made, or is there.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "foretell.study/1")]
pub(crate) struct Made {
    study: String,
    metric: String,
    direction: Direction,
    /// Null until a trial has shown it, where nobody gave it.
    epochs: Option<u64>,
    trials: u64,
    burn_in: u64,
    seed: u64,
}

/// The best trial of a study so far.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "foretell.best/1")]
pub(crate) struct Found {
    study: String,
    best: Option<Best>,
    trials: Tally,
    done: bool,
}

/// Create a study, or continue it.
pub(crate) async fn create(State(served): SharedState, Path(study): Path<String>, body: Bytes) -> ApiReply {
    let mut fields = parse_object(&body)?;
    let update = match fields.remove("update") {
        None => false,
        Some(Value::Bool(update)) => update,
        Some(other) => {
            return Err(RequestProblem::field("update", format!("expected true or false, found {other}")));
        }
    };
    let asked = StudyRequest::from_fields(&fields).map_err(RequestProblem::from)?;
    let name = study.clone();
    let (is_new, spec) = blocking(move || served.owner.create(&name, &asked, update)).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let epochs = spec.resource();
    let StudySpec { metric, direction, trials, burn_in, seed, .. } = spec;
    Ok((status, Json(Made { study, metric, direction, epochs, trials, burn_in, seed })).into_response())
}

/// The next training to do.
pub(crate) async fn ask(State(served): SharedState, Path(study): Path<String>, body: Bytes) -> ApiReply {
    let Ask { worker, turn } = read(&body)?;
    if turn.is_some() && worker.is_none() {
        return Err(RequestProblem::field("worker", "missing. A turn belongs to a worker"));
    }
    let asked = blocking(move || {
        served.owner.call(&study, move |host| match (&worker, turn) {
            (Some(worker), Some(turn)) => host.ask_in_turn(worker, turn),
            _ => host.ask(worker.as_deref()),
        })
    });
    let (task, done) = asked.await?;
    Ok(Json(Asked { done, start: task.map(Given::from) }).into_response())
}

/// A training reports.
pub(crate) async fn report(State(served): SharedState, place: TrialPath, body: Bytes) -> ApiReply {
    let (study, trial) = parse_trial_path(place)?;
    let mut report: Report = read(&body)?;
    let (lease, reading) = (report.lease.take(), report.into());
    let reported = blocking(move || {
        served.owner.call(&study, move |host| {
            let next = host.report(trial, reading, lease.as_deref())?;
            Ok((next, host.take_notices()))
        })
    });
    let ((next, notices), _) = reported.await?;
    Ok(Json(Answer { notices, ..Answer::new(next, true) }).into_response())
}

/// A worker shows that it is alive.
pub(crate) async fn renew(State(served): SharedState, place: TrialPath, body: Bytes) -> ApiReply {
    let (study, trial) = parse_trial_path(place)?;
    let Renew { lease, read: position } = read(&body)?;
    let renewed = blocking(move || {
        served.owner.call(&study, move |host| {
            if let Some(read) = position {
                host.record_source_position(trial, read.into(), lease.as_deref())?;
            }
            host.renew_lease(trial, lease.as_deref())
        })
    });
    Ok(answer(renewed.await?.0, false))
}

/// A training has ended.
pub(crate) async fn tell(State(served): SharedState, place: TrialPath, body: Bytes) -> ApiReply {
    let (study, trial) = parse_trial_path(place)?;
    let Tell { failure, returned, of_the_command, handed_back, lease } = read(&body)?;
    if handed_back && failure.is_some() {
        return Err(RequestProblem::field(
            "failure",
            "a trial that is handed back has not failed. Leave out one of the two",
        ));
    }
    let told = blocking(move || {
        served.owner.call(&study, move |host| {
            if let Some(value) = returned {
                host.record_returned_value(trial, value, lease.as_deref())?;
            }
            let state = match failure {
                _ if handed_back => host.hand_back(trial, lease.as_deref()),
                Some(why) if of_the_command => host.tell_command_failure(trial, why, lease.as_deref()),
                failure => host.tell(trial, failure, lease.as_deref()),
            }?;
            Ok((state, host.session().study().told_relation(), host.take_notices()))
        })
    });
    let ((state, relation, notices), done) = told.await?;
    let relation = relation.map(|(name, words)| (name.to_owned(), words));
    Ok(Json(Told { trial, state: state.to_owned(), done, relation, notices }).into_response())
}

/// Continue a trial after fewer epochs than it has reported, or start it again.
pub(crate) async fn begin(State(served): SharedState, place: TrialPath, body: Bytes) -> ApiReply {
    let (study, trial) = parse_trial_path(place)?;
    let Begin { after, attempt, lease } = read(&body)?;
    let next = blocking(move || {
        served.owner.call(&study, move |host| host.begin_attempt(trial, after, attempt, lease.as_deref()))
    });
    Ok(answer(next.await?.0, false))
}

/// The instructions to run the study's trials, for workers of this version.
pub(crate) async fn work(
    State(served): SharedState,
    Path(study): Path<String>,
    RawQuery(query): RawQuery,
) -> ApiReply {
    let log = served.log(&study)?;
    let folder = log.parent().unwrap_or(&log);
    let read = Work::read(folder).map_err(|error| RequestProblem::midway(&error))?;
    let work = read.ok_or_else(|| {
        let text = format!(
            "{study} has no command, because its trials report over HTTP. Workers need a study that `foretell search -- COMMAND` started"
        );
        RequestProblem::conflict(text).with_field("study")
    })?;
    // without a token, anybody who reaches this address would be told the secret
    if served.options.token.is_none() && redact_words(&work.command) != work.command {
        let text = format!(
            "{study}: its command contains a secret, which only workers get that know a token. Set FORETELL_TOKEN for the search and its workers"
        );
        return Err(RequestProblem::conflict(text).with_field("study"));
    }
    match word(query.as_deref(), "version") {
        Some(version) if version != work.version => {
            let text = format!(
                "version: this study runs with Foretell {}, but the worker is Foretell {version}. Install the same version on both machines",
                work.version
            );
            Err(RequestProblem::conflict(text).with_field("version"))
        }
        _ => Ok(Json(StudyWork { study, work }).into_response()),
    }
}

/// The workers that name themselves.
pub(crate) async fn workers(State(served): SharedState, Path(study): Path<String>) -> ApiReply {
    served.log(&study)?;
    let name = study.clone();
    let workers = blocking(move || served.owner.workers(&name)).await?;
    Ok(Json(Workers { study, workers }).into_response())
}

/// Whether a training is to stop, by the study's log: whoever drives the study is not disturbed, and the study not taken over.
pub(crate) async fn should_stop(State(served): SharedState, place: TrialPath) -> ApiReply {
    let (study, trial) = parse_trial_path(place)?;
    let log = served.log(&study)?;
    let next = blocking(move || {
        served.folds.read(&study, &log, |_, study| {
            let known = study.trial(trial).ok_or(HostError::NoTrial { trial })?;
            Ok::<_, HostError>(foretell_search::TrainingAnswer {
                trial,
                stop: !known.is_open(),
                recorded: false,
                decision: known.decision.clone(),
            })
        })
    });
    Ok(answer(next.await??, false))
}

/// The best trial so far.
pub(crate) async fn best(State(served): SharedState, Path(study): Path<String>) -> ApiReply {
    let log = served.log(&study)?;
    let found = blocking(move || {
        served.folds.read(&study, &log, |_, there| Found {
            study: study.clone(),
            best: there.best(),
            trials: there.progress().trials,
            done: there.is_done(),
        })
    });
    Ok(Json(found.await?).into_response())
}

/// A person enqueues a configuration, be it that another process drives the study.
pub(crate) async fn enqueue(State(served): SharedState, Path(study): Path<String>, body: Bytes) -> ApiReply {
    let Enqueue { configuration: queued, id } = read(&body)?;
    let recorded = blocking(move || served.owner.enqueue(&served.folds, &study, &queued, id)).await?;
    let status = if recorded { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(Enqueued { recorded })).into_response())
}

/// A person notes something about a study.
pub(crate) async fn note(State(served): SharedState, Path(study): Path<String>, body: Bytes) -> ApiReply {
    let Note { text } = read(&body)?;
    let log = served.log(&study)?;
    let written = blocking(move || {
        let folder = log.parent().unwrap_or(&log);
        replace_notes(folder, &text).map_err(|error| RequestProblem::field("text", error.to_string()))?;
        Ok(read_notes(folder).unwrap_or_default())
    });
    let text = written.await?;
    Ok(Json(Noted { study, text }).into_response())
}

/// A person stops a trial.
pub(crate) async fn stop(served: SharedState, place: TrialPath, body: Bytes) -> ApiReply {
    by_hand(served, place, &body, ManualOrder::Stop).await
}

/// A person keeps a trial from being stopped.
pub(crate) async fn keep(served: SharedState, place: TrialPath, body: Bytes) -> ApiReply {
    by_hand(served, place, &body, ManualOrder::Keep).await
}

async fn by_hand(State(served): SharedState, place: TrialPath, body: &[u8], order: ManualOrder) -> ApiReply {
    let (study, trial) = parse_trial_path(place)?;
    let Nothing {} = read(body)?;
    match blocking(move || served.owner.by_hand(&served.folds, &study, trial, order)).await? {
        OrderOutcome::Recorded(next) => Ok(answer(next, true)),
        OrderOutcome::HandedOn => {
            let answer =
                Answer { trial, stop: None, recorded: Some(false), decision: None, notices: Vec::new() };
            Ok((StatusCode::ACCEPTED, Json(answer)).into_response())
        }
    }
}

/// The answer `next`; with whether something was recorded if something was to be.
fn answer(next: foretell_search::TrainingAnswer, is_record: bool) -> Response {
    Json(Answer::new(next, is_record)).into_response()
}

/// The study and the trial that an address names.
fn parse_trial_path(Path((study, trial)): TrialPath) -> Result<(String, u64), RequestProblem> {
    let trial = number(&trial)?;
    Ok((study, trial))
}

/// The number that names a trial.
pub(crate) fn number(trial: &str) -> Result<u64, RequestProblem> {
    trial
        .parse()
        .map_err(|_| RequestProblem::field("trial", format!("expected a trial's number, found {trial:?}")))
}

/// The object that `body` is; no body is an empty one.
fn parse_object(body: &[u8]) -> Result<Map<String, Value>, RequestProblem> {
    let body = if body.trim_ascii().is_empty() { b"{}" } else { body };
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        RequestProblem::field("body", format!("not JSON: {error}. Write null for a value that is not finite"))
    })?;
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Err(RequestProblem::field(
            "body",
            "expected a JSON object, such as {\"step\": 1, \"value\": 0.5}",
        )),
    }
}

/// The request in `body`.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, RequestProblem> {
    Ok(read_fields(&parse_object(body)?)?)
}

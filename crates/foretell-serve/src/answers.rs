//! The answers to readers.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use foretell_run::wire::Studies;
use foretell_run::{EventLogError, HostError, LogPosition, LogReader, Printed, read_notes};
use foretell_search::{Record, StudyView};
use serde::Serialize;

use crate::fold::StudyFold;
use crate::guard::word;
use crate::problem::RequestProblem;
use crate::records::Records;
use crate::served::{ServerState, blocking};
use crate::verbs::number;
use crate::views::{Noted, Output, Viewed};
use crate::{events, views};

type ApiReply = Result<Response, RequestProblem>;

pub(crate) async fn studies(State(served): State<Arc<ServerState>>) -> ApiReply {
    let names: Vec<String> = served.studies()?.into_iter().map(|(name, _)| name).collect();
    let latest = served.latest().map(|(name, _)| name);
    Ok(Json(Studies { studies: names, latest }).into_response())
}

pub(crate) async fn records(State(served): State<Arc<ServerState>>, Path(study): Path<String>) -> ApiReply {
    let log = served.log(&study)?;
    // the list is sent as it is read: the document is one without records up to there
    let empty = serde_json::to_string(&Records { study, records: Vec::new() });
    let head = empty.map_err(|error| RequestProblem::midway(&error))?;
    let head = head.strip_suffix("]}").unwrap_or(&head).to_owned();
    let records = blocking(move || {
        crate::records::all(&log, head).map_err(|error| RequestProblem::conflict(error.to_string()))
    });
    let records = Body::from_stream(records.await?);
    Ok(([("content-type", "application/json")], records).into_response())
}

pub(crate) async fn follow(
    State(served): State<Arc<ServerState>>,
    Path(study): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> ApiReply {
    let log = served.log(&study)?;
    Ok(events::records(log, last_seen_record(query.as_deref(), &headers)?))
}

pub(crate) async fn state(
    State(served): State<Arc<ServerState>>,
    Path(study): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> ApiReply {
    let log = served.log(&study)?;
    let is_brief = match word(query.as_deref(), "decisions").as_deref() {
        None | Some("all") => false,
        Some("none") => true,
        Some(other) => {
            return Err(RequestProblem::field("decisions", format!("expected all or none, found {other:?}")));
        }
    };
    let seen = last_seen_record(query.as_deref(), &headers)?;
    Ok(events::state(served.folds.fold_for_log(&log), seen, is_brief))
}

/// The number of the last record that a reader has seen.
fn last_seen_record(query: Option<&str>, headers: &HeaderMap) -> Result<u64, RequestProblem> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    match last.or_else(|| word(query, "after")) {
        None => Ok(0),
        Some(text) => text.parse().map_err(|_| {
            RequestProblem::field("after", format!("expected the number of a record, found {text:?}"))
        }),
    }
}

pub(crate) async fn progress(State(served): State<Arc<ServerState>>, Path(study): Path<String>) -> ApiReply {
    let log = served.log(&study)?;
    let progress =
        blocking(move || served.folds.read(&study, &log, |fold, found| views::progress(&study, fold, found)));
    Ok(Json(progress.await?).into_response())
}

pub(crate) async fn view(State(served): State<Arc<ServerState>>, Path(study): Path<String>) -> ApiReply {
    let log = served.log(&study)?;
    let document = blocking(move || {
        served.folds.read(&study, &log, |fold, found| {
            fold.snapshots().document("view", (fold.life(), fold.records()), || {
                let records = folded_records(fold, &log)
                    .map_err(|error| RequestProblem::conflict(format!("{study}: {error}")))?;
                let view = StudyView::new(found, fold.times(), records);
                text(&Viewed { study: study.clone(), view })
            })
        })?
    });
    Ok(json_response(document.await?))
}

/// No more records of `log` than `fold` has read, so that a view shows the study at one moment.
fn folded_records(fold: &StudyFold, log: &std::path::Path) -> Result<Vec<Record>, EventLogError> {
    let reader = LogReader::<Record>::open(log, LogPosition::START)?;
    reader.take(usize::try_from(fold.records()).unwrap_or(usize::MAX)).collect()
}

/// The text of a JSON document.
fn text(document: &impl Serialize) -> Result<Vec<u8>, RequestProblem> {
    serde_json::to_vec(document).map_err(|error| RequestProblem::midway(&error))
}

/// The answer of a JSON document that is written already.
fn json_response(text: Bytes) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

pub(crate) async fn importance(
    State(served): State<Arc<ServerState>>,
    Path(study): Path<String>,
) -> ApiReply {
    let log = served.log(&study)?;
    let importance = blocking(move || {
        served.folds.read(&study, &log, |fold, found| views::importance(&study, fold, found))
    });
    Ok(Json(importance.await?).into_response())
}

pub(crate) async fn surface(
    State(served): State<Arc<ServerState>>,
    Path(study): Path<String>,
    RawQuery(query): RawQuery,
) -> ApiReply {
    let log = served.log(&study)?;
    let asked = match (word(query.as_deref(), "x"), word(query.as_deref(), "y")) {
        (None, None) => Vec::new(),
        (Some(x), Some(y)) => vec![(x, y)],
        (None, _) => {
            return Err(RequestProblem::field("x", "missing. A contour needs two parameters, x and y"));
        }
        (_, None) => {
            return Err(RequestProblem::field("y", "missing. A contour needs two parameters, x and y"));
        }
    };
    let surface = blocking(move || {
        served.folds.read(&study, &log, |fold, found| {
            let names = found.spec().space.names();
            let mut named = asked.iter().flat_map(|(x, y)| [("x", x), ("y", y)]);
            let Some((field, name)) = named.find(|(_, name)| !names.contains(&name.as_str())) else {
                return Ok(views::surface(&study, fold, found, &asked));
            };
            let names = names.join(", ");
            let text = format!("the study contains no parameter {name:?}. Its parameters are {names}");
            Err(RequestProblem::field(field, text))
        })?
    });
    Ok(Json(surface.await?).into_response())
}

/// The notes on a study.
pub(crate) async fn note(State(served): State<Arc<ServerState>>, Path(study): Path<String>) -> ApiReply {
    let log = served.log(&study)?;
    let text = blocking(move || Ok(read_notes(log.parent().unwrap_or(&log)).unwrap_or_default())).await?;
    Ok(Json(Noted { study, text }).into_response())
}

pub(crate) async fn trial(
    State(served): State<Arc<ServerState>>,
    Path((study, trial)): Path<(String, String)>,
) -> ApiReply {
    let (number, log) = (number(&trial)?, served.log(&study)?);
    let details = blocking(move || {
        let folder = log.parent().unwrap_or(&log);
        let details = served
            .folds
            .read(&study, &log, |fold, found| views::details(&study, folder, number, fold, found))?;
        let mut details = details.ok_or(HostError::NoTrial { trial: number })?;
        let workers = served.owner.workers(&study)?;
        details.worker = workers.into_iter().find(|worker| worker.trial == Some(number));
        Ok(details)
    });
    Ok(Json(details.await?).into_response())
}

pub(crate) async fn output(
    State(served): State<Arc<ServerState>>,
    Path((study, trial)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> ApiReply {
    let (number, log) = (number(&trial)?, served.log(&study)?);
    let from = word(query.as_deref(), "from");
    let from = from.map(|text| {
        text.parse::<u64>().map_err(|_| {
            RequestProblem::field("from", format!("expected the number of a byte, found {text:?}"))
        })
    });
    let from = from.transpose()?;
    let printed = blocking(move || {
        let folder = log.parent().unwrap_or(&log);
        Printed::read(folder, number, from).map_err(|error| RequestProblem::midway(&error))
    });
    let printed = printed.await?;
    Ok(Json(Output { study, trial: number, is_here: printed.is_some(), printed }).into_response())
}

pub(crate) async fn metric(
    State(served): State<Arc<ServerState>>,
    Path((study, metric)): Path<(String, String)>,
) -> ApiReply {
    let log = served.log(&study)?;
    let document = blocking(move || {
        served.folds.read(&study, &log, |fold, _| {
            let (name, moment) = (format!("metric {metric}"), (fold.life(), fold.records()));
            fold.snapshots().document(&name, moment, || text(&views::metric(&study, &metric, fold)))
        })?
    });
    Ok(json_response(document.await?))
}

//! The addresses and their answers.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use serde_json::{Value, json};

use crate::options::Options;
use crate::{events, file, folder, guard};

/// The interface's description.
const OPEN_API: &str = include_str!("page/openapi.json");

pub(crate) fn router(options: Arc<Options>) -> Router {
    Router::new()
        .route("/", get(|| async { Html(file::empty()) }))
        .route("/openapi.json", get(|| async { ([("content-type", "application/json")], OPEN_API) }))
        .route("/api/studies", get(studies))
        .route("/api/studies/{study}/records", get(records))
        .route("/api/studies/{study}/events", get(follow))
        .layer(middleware::from_fn_with_state(Arc::clone(&options), guard::check))
        .with_state(options)
}

async fn studies(State(options): State<Arc<Options>>) -> Json<Value> {
    let names: Vec<String> = folder::studies(&options.folder).into_iter().map(|(name, _)| name).collect();
    Json(json!({"schema": "foretell.studies/1", "studies": names}))
}

async fn records(
    State(options): State<Arc<Options>>,
    Path(study): Path<String>,
) -> Result<Response, Refused> {
    let log = find(&options, &study)?;
    let (records, _) = match foretell_run::read_log::<Value>(&log) {
        Ok(read) => read,
        Err(error) => return Ok((StatusCode::CONFLICT, error.to_string()).into_response()),
    };
    Ok(Json(json!({"schema": "foretell.records/1", "study": study, "records": records})).into_response())
}

async fn follow(
    State(options): State<Arc<Options>>,
    Path(study): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let log = find(&options, &study)?;
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    Ok(events::stream(log, seen.unwrap_or(0)).into_response())
}

type Refused = (StatusCode, &'static str);

fn find(options: &Options, study: &str) -> Result<PathBuf, Refused> {
    folder::log(&options.folder, study).ok_or((StatusCode::NOT_FOUND, "no study of that name"))
}

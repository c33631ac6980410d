//! The addresses and their answers.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::handler::Handler;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use axum::{Json, Router, middleware};
use serde_json::{Value, json};

use crate::problem::Problem;
use crate::served::{Served, blocking};
use crate::{events, file, folder, guard, verbs, views};

/// The interface's description.
const OPEN_API: &str = include_str!("page/openapi.json");

type Reply = Result<Response, Problem>;

/// One address and method, and who answers.
struct Route {
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the interface's description"))]
    method: &'static str,
    path: &'static str,
    answers: MethodRouter<Arc<Served>>,
}

fn route<T: 'static>(
    method: &'static str,
    path: &'static str,
    handler: impl Handler<T, Arc<Served>>,
) -> Route {
    let filter = match method {
        "get" => MethodFilter::GET,
        "put" => MethodFilter::PUT,
        _ => MethodFilter::POST,
    };
    Route { method, path, answers: on(filter, handler) }
}

/// All that is answered.
fn routes() -> Vec<Route> {
    vec![
        route("get", "/", || async { Html(file::empty()) }),
        route("get", "/openapi.json", || async { ([("content-type", "application/json")], OPEN_API) }),
        route("get", "/api/studies", studies),
        route("put", "/api/studies/{study}", verbs::create),
        route("get", "/api/studies/{study}/records", records),
        route("get", "/api/studies/{study}/events", follow),
        route("get", "/api/studies/{study}/progress", progress),
        route("get", "/api/studies/{study}/importance", importance),
        route("get", "/api/studies/{study}/best", verbs::best),
        route("post", "/api/studies/{study}/ask", verbs::ask),
        route("post", "/api/studies/{study}/trials/{trial}/report", verbs::report),
        route("post", "/api/studies/{study}/trials/{trial}/tell", verbs::tell),
        route("get", "/api/studies/{study}/trials/{trial}/should_stop", verbs::should_stop),
        route("post", "/api/studies/{study}/trials/{trial}/stop", verbs::stop),
        route("post", "/api/studies/{study}/trials/{trial}/keep", verbs::keep),
    ]
}

pub(crate) fn router(served: Arc<Served>) -> Router {
    let add = |router: Router<Arc<Served>>, route: Route| router.route(route.path, route.answers);
    routes()
        .into_iter()
        .fold(Router::new(), add)
        .fallback(|| async {
            Problem::new(StatusCode::NOT_FOUND, "no such address; /openapi.json names them all")
        })
        .method_not_allowed_fallback(|| async {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "not by this method; /openapi.json names them all")
        })
        .layer(middleware::from_fn_with_state(Arc::clone(&served), guard::check))
        .with_state(served)
}

async fn studies(State(served): State<Arc<Served>>) -> Json<Value> {
    let names: Vec<String> =
        folder::studies(&served.options.folder).into_iter().map(|(name, _)| name).collect();
    Json(json!({"schema": "foretell.studies/1", "studies": names}))
}

async fn records(State(served): State<Arc<Served>>, Path(study): Path<String>) -> Reply {
    let log = served.log(&study)?;
    let read = move || crate::records::all(&log).map_err(|error| Problem::conflict(error.to_string()));
    let records = blocking(read).await?;
    let head = json!({"schema": "foretell.records/1", "study": study}).to_string();
    let text = format!("{},\"records\":{records}}}", head.trim_end_matches('}'));
    Ok(([("content-type", "application/json")], text).into_response())
}

async fn follow(
    State(served): State<Arc<Served>>,
    Path(study): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Reply {
    let log = served.log(&study)?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let after = query.as_deref().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("after="));
    let seen = match last.or(after) {
        None => 0,
        Some(text) => text.parse().map_err(|_| {
            Problem::field("after", format!("expected the number of a record, found {text:?}"))
        })?,
    };
    Ok(events::stream(log, seen).into_response())
}

async fn progress(State(served): State<Arc<Served>>, Path(study): Path<String>) -> Reply {
    let log = served.log(&study)?;
    let found = blocking(move || served.views.of("progress", &study, &log, views::progress)).await?;
    Ok(Json(found).into_response())
}

async fn importance(State(served): State<Arc<Served>>, Path(study): Path<String>) -> Reply {
    let log = served.log(&study)?;
    let found = blocking(move || served.views.of("importance", &study, &log, views::importance)).await?;
    Ok(Json(found).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_description_names_every_route_and_no_other() {
        let described: Value = serde_json::from_str(OPEN_API).expect("it is JSON");
        let paths = described["paths"].as_object().expect("paths");
        let mut named = BTreeSet::new();
        for (path, operations) in paths {
            let methods = operations.as_object().expect("operations").keys();
            named.extend(methods.map(|method| (method.clone(), path.clone())));
        }
        let answered = routes().into_iter().map(|route| (route.method.to_owned(), route.path.to_owned()));
        assert_eq!(named, answered.collect());
    }
}

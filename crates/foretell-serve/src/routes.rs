//! The addresses and their answers.

use std::sync::{Arc, LazyLock};

use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::handler::Handler;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use axum::{Json, Router, middleware};
use foretell_run::{HostError, Printed};
use foretell_search::{Study, StudyRequest};
use serde_json::{Value, json};

use crate::fold::Fold;
use crate::problem::Problem;
use crate::served::{Served, blocking};
use crate::{events, file, guard, verbs, views};

/// The interface's description.
/// The description of the interface; what a study can be made of is the schema of [`StudyRequest`].
static OPEN_API: LazyLock<String> = LazyLock::new(|| {
    let mut described: Value = serde_json::from_str(include_str!("page/openapi.json")).unwrap_or_default();
    let body = "/paths/~1api~1studies~1{study}/put/requestBody/content/application~1json/schema/properties";
    if let Some(fields) = described.pointer_mut(body) {
        let mut schema = StudyRequest::schema();
        for field in schema.values_mut().filter_map(Value::as_object_mut) {
            field.retain(|key, _| !key.starts_with("x-"));
        }
        *fields = Value::Object(schema);
    }
    described.to_string()
});

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
        route("get", "/openapi.json", || async {
            ([("content-type", "application/json")], OPEN_API.as_str())
        }),
        route("get", "/api/studies", studies),
        route("put", "/api/studies/{study}", verbs::create),
        route("get", "/api/studies/{study}/records", records),
        route("get", "/api/studies/{study}/events", follow),
        route("get", "/api/studies/{study}/state", state),
        route("get", "/api/studies/{study}/progress", progress),
        route("get", "/api/studies/{study}/importance", importance),
        route("get", "/api/studies/{study}/surface", surface),
        route("get", "/api/studies/{study}/metrics/{metric}", metric),
        route("get", "/api/studies/{study}/best", verbs::best),
        route("post", "/api/studies/{study}/ask", verbs::ask),
        route("post", "/api/studies/{study}/enqueue", verbs::enqueue),
        route("post", "/api/studies/{study}/trials/{trial}/report", verbs::report),
        route("post", "/api/studies/{study}/trials/{trial}/tell", verbs::tell),
        route("post", "/api/studies/{study}/trials/{trial}/renew", verbs::renew),
        route("post", "/api/studies/{study}/trials/{trial}/begin", verbs::begin),
        route("get", "/api/studies/{study}/work", verbs::work),
        route("get", "/api/studies/{study}/workers", verbs::workers),
        route("get", "/api/studies/{study}/trials/{trial}", trial),
        route("get", "/api/studies/{study}/trials/{trial}/output", output),
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
        // the guard has read the body, and refuses one that is too long
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(Arc::clone(&served), guard::check))
        .with_state(served)
}

async fn studies(State(served): State<Arc<Served>>) -> Reply {
    let names: Vec<String> = served.studies()?.into_iter().map(|(name, _)| name).collect();
    let latest = served.latest().map(|(name, _)| name);
    Ok(Json(json!({"schema": "foretell.studies/1", "studies": names, "latest": latest})).into_response())
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
    Ok(events::records(log, seen(query.as_deref(), &headers)?).into_response())
}

async fn state(
    State(served): State<Arc<Served>>,
    Path(study): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Reply {
    let log = served.log(&study)?;
    let is_brief = match guard::word(query.as_deref(), "decisions").as_deref() {
        None | Some("all") => false,
        Some("none") => true,
        Some(other) => {
            return Err(Problem::field("decisions", format!("expected all or none, found {other:?}")));
        }
    };
    let seen = seen(query.as_deref(), &headers)?;
    Ok(events::state(served.folds.of(&log), seen, is_brief).into_response())
}

/// The number of the last record that a reader has seen.
fn seen(query: Option<&str>, headers: &HeaderMap) -> Result<u64, Problem> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    match last.or_else(|| guard::word(query, "after")) {
        None => Ok(0),
        Some(text) => text
            .parse()
            .map_err(|_| Problem::field("after", format!("expected the number of a record, found {text:?}"))),
    }
}

async fn progress(State(served): State<Arc<Served>>, Path(study): Path<String>) -> Reply {
    let log = served.log(&study)?;
    let found = move || {
        let progress = |fold: &Fold, found: &Study| views::progress(&study, fold, found);
        served.folds.read(&study, &log, progress)
    };
    Ok(Json(blocking(found).await?).into_response())
}

async fn importance(State(served): State<Arc<Served>>, Path(study): Path<String>) -> Reply {
    let log = served.log(&study)?;
    let found = move || {
        let importance = |fold: &Fold, found: &Study| views::importance(&study, fold, found);
        served.folds.read(&study, &log, importance)
    };
    Ok(Json(blocking(found).await?).into_response())
}

async fn surface(
    State(served): State<Arc<Served>>,
    Path(study): Path<String>,
    RawQuery(query): RawQuery,
) -> Reply {
    let log = served.log(&study)?;
    let word = |name: &str| guard::word(query.as_deref(), name);
    let asked = match (word("x"), word("y")) {
        (None, None) => Vec::new(),
        (Some(x), Some(y)) => vec![(x, y)],
        (None, _) => return Err(Problem::field("x", "missing; a contour is over two parameters, x and y")),
        (_, None) => return Err(Problem::field("y", "missing; a contour is over two parameters, x and y")),
    };
    let found = move || {
        served.folds.read(&study, &log, |fold: &Fold, found: &Study| {
            let names = found.spec().space.names();
            let unknown = |(field, name): &(&str, &String)| {
                (!names.contains(&name.as_str())).then(|| {
                    Problem::field(
                        field,
                        format!("the study has no parameter {name:?}; it has {}", names.join(", ")),
                    )
                })
            };
            let wrong =
                asked.iter().flat_map(|(x, y)| [("x", x), ("y", y)]).find_map(|named| unknown(&named));
            wrong.map_or_else(|| Ok(views::surface(&study, fold, found, &asked)), Err)
        })?
    };
    Ok(Json(blocking(found).await?).into_response())
}

async fn trial(State(served): State<Arc<Served>>, Path((study, trial)): Path<(String, String)>) -> Reply {
    let (number, log) = (verbs::number(&trial)?, served.log(&study)?);
    let found = move || {
        let folder = log.parent().unwrap_or(&log);
        let details = |fold: &Fold, found: &Study| views::details(&study, folder, number, fold, found);
        let mut details =
            served.folds.read(&study, &log, details)?.ok_or(HostError::NoTrial { trial: number })?;
        let workers = served.owner.workers(&study)?;
        details["worker"] = json!(workers.into_iter().find(|worker| worker.trial == Some(number)));
        Ok(details)
    };
    Ok(Json(blocking(found).await?).into_response())
}

async fn output(
    State(served): State<Arc<Served>>,
    Path((study, trial)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Reply {
    let (number, log) = (verbs::number(&trial)?, served.log(&study)?);
    let from = guard::word(query.as_deref(), "from");
    let from = from.map(|text| {
        text.parse::<u64>()
            .map_err(|_| Problem::field("from", format!("expected the number of a byte, found {text:?}")))
    });
    let from = from.transpose()?;
    let read = move || {
        let folder = log.parent().unwrap_or(&log);
        Printed::read(folder, number, from).map_err(|error| Problem::midway(&error))
    };
    let (head, read) =
        (json!({"schema": "foretell.output/1", "study": study, "trial": number}), blocking(read).await?);
    let mut answer = head;
    answer["is_here"] = read.is_some().into();
    if let Some(Printed { from, to, text }) = read {
        (answer["from"], answer["to"], answer["text"]) = (from.into(), to.into(), text.into());
    }
    Ok(Json(answer).into_response())
}

async fn metric(State(served): State<Arc<Served>>, Path((study, metric)): Path<(String, String)>) -> Reply {
    let log = served.log(&study)?;
    let found = move || {
        let values = |fold: &Fold, _: &Study| views::metric(&study, &metric, fold);
        served.folds.read(&study, &log, values)
    };
    Ok(Json(blocking(found).await?).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::BTreeSet;

    #[test]
    fn the_description_names_every_route_and_no_other() {
        let described: Value = serde_json::from_str(&OPEN_API).expect("it is JSON");
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

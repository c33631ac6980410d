//! The addresses: who answers at each, and their description.

use std::sync::{Arc, LazyLock};

use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse};
use axum::{Router, middleware};
use foretell_run::wire;
use foretell_search::{Catalogue, StudyRequest};
use serde_json::{Map, Value, json};

use crate::openapi::{self, ApiRoute};
use crate::problem::RequestProblem;
use crate::records::Records;
use crate::served::ServerState;
use crate::verbs::{Found, Made};
use crate::views::{Details, Importance, Measured, Noted, Output, Progressed, Surfaced, Viewed};
use crate::{answers, file, guard, verbs};

/// The description of the interface.
static OPEN_API: LazyLock<String> = LazyLock::new(|| openapi::document(&routes()).to_string());

const LOG_DAMAGED: &str = "The log is damaged";
const LOG_UNWRITABLE: &str = "Another process writes the study's log, or the log is damaged";
const TRIAL_ELSEWHERE: &str =
    "The trial has ended in another way or runs elsewhere, or another process writes the study's log";
const FOLLOW_EVENTS: &str =
    "To continue after a record, send its number in `Last-Event-ID`, or as `after` in the query.";
const TROUBLE_EVENT: &str = "If the log cannot be read, the event `trouble` contains the error. `mended` follows once the log can be read.";
const NEXT_ACTION: &str = "The next action";
const REQUEST_RECORDED: &str = "The request is recorded";
const REQUEST_HANDED_ON: &str = "The process that runs the study records the request within a second";

fn get_route<T: 'static>(
    path: &'static str,
    id: &'static str,
    handler: impl Handler<T, Arc<ServerState>>,
    summary: &'static str,
) -> ApiRoute {
    ApiRoute::new("get", path, id, handler, summary)
}

fn post_route<T: 'static>(
    path: &'static str,
    id: &'static str,
    handler: impl Handler<T, Arc<ServerState>>,
    summary: &'static str,
) -> ApiRoute {
    ApiRoute::new("post", path, id, handler, summary)
}

/// All that is answered.
fn routes() -> Vec<ApiRoute> {
    let mut routes = vec![
        get_route("/", "page", || async { Html(file::empty()) }, "The page")
            .with_content("text/html", "The page"),
        get_route("/openapi.json", "openapi", describe_api, "This description")
            .answers::<Map<String, Value>>(200, "This description"),
        get_route("/api/studies", "studies", answers::studies, "The names of the studies")
            .answers::<wire::Studies>(200, "The names"),
    ];
    routes.extend(records());
    routes.extend(result_routes());
    routes.extend(work());
    routes.extend(worker_trial_routes());
    routes.extend(trial_routes());
    routes
}

async fn describe_api() -> impl IntoResponse {
    ([("content-type", "application/json")], OPEN_API.as_str())
}

/// A study and its records.
fn records() -> [ApiRoute; 4] {
    let mut properties = json!(StudyRequest::schema(&Catalogue::default()));
    properties["update"] = json!({"type": "boolean", "default": false, "description": "Change the settings of an existing study"});
    let request = json!({"type": "object", "properties": properties, "additionalProperties": false});
    let example =
        json!({"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "epochs": 5, "trials": 4, "burn_in": 3});
    [
        ApiRoute::new("put", "/api/studies/{study}", "create", verbs::create, "Create a study, or continue it")
            .about(&["Repeating the request does not change the study. Settings that differ from those of the study are refused. With `update`, they change it for all its workers."])
            .with_body_schema(request, example)
            .answers::<Made>(200, "The study already existed")
            .answers::<Made>(201, "The study is new")
            .conflicts("A different study with this name exists, or another process writes its log"),
        get_route("/api/studies/{study}/records", "records", answers::records, "All records of a study, as in its log")
            .answers::<Records>(200, "The records")
            .conflicts(LOG_DAMAGED),
        event_route("/api/studies/{study}/events", "events", answers::follow, "Existing and new records as server-sent events")
            .about(&["Each event is a list of records. Its id is the number of the last record, starting from 1.", FOLLOW_EVENTS, "The event `anew` means that the study was started again from scratch.", TROUBLE_EVENT]),
        event_route("/api/studies/{study}/state", "state", answers::state, "The state of the study as server-sent events: totals, and the changes of each trial")
            .about(&["Each event is a `foretell.state/1` with `study` and `totals`. For each trial that changed, it contains the state, the points from number `from`, and the decisions from number `decided`. If several events are sent at a time, the first one contains `settings`. The id of an event is the number of the last record.", FOLLOW_EVENTS, "If an event contains `anew`, discard all earlier events.", TROUBLE_EVENT])
            .with("query", "decisions", "`none` leaves out the decisions, which are most of the data; `trials/{trial}` contains them", json!({"enum": ["all", "none"]})),
    ]
}

/// A stream of events after a record.
fn event_route<T: 'static>(
    path: &'static str,
    id: &'static str,
    handler: impl Handler<T, Arc<ServerState>>,
    summary: &'static str,
) -> ApiRoute {
    let number = json!({"type": "integer", "minimum": 0});
    get_route(path, id, handler, summary)
        .with("header", "Last-Event-ID", "The last record that the reader has", number.clone())
        .with("query", "after", "The same", number)
        .with_content("text/event-stream", "The stream")
}

/// The results of a study.
fn result_routes() -> [ApiRoute; 8] {
    [
        get_route("/api/studies/{study}/view", "view", answers::view, "The whole study, as used by Python and tables: settings, trials, one row per trial, the front, and all reports")
            .answers::<Viewed>(200, "The view")
            .conflicts(LOG_DAMAGED),
        get_route("/api/studies/{study}/note", "note", answers::note, "The notes about a study")
            .answers::<Noted>(200, "The notes"),
        ApiRoute::new("put", "/api/studies/{study}/note", "write_note", verbs::note, "Write the notes about a study")
            .about(&["They replace the existing notes. An empty text removes them."])
            .takes::<wire::Note>(json!({"text": "first try #baseline"}))
            .answers::<Noted>(200, "The notes are written"),
        get_route("/api/studies/{study}/progress", "progress", answers::progress, "Totals, and the best score so far against the epochs spent")
            .answers::<Progressed>(200, "The progress")
            .conflicts(LOG_DAMAGED),
        get_route("/api/studies/{study}/importance", "importance", answers::importance, "Importance of each parameter for the score")
            .about(&["Estimated by a Gaussian process over configurations. Empty if there are fewer than `needed` trials."])
            .answers::<Importance>(200, "The parameters, the most important first")
            .conflicts(LOG_DAMAGED),
        get_route("/api/studies/{study}/surface", "surface", answers::surface, "Expected scores: a slice along each parameter, and a contour of two")
            .about(&["Estimated by the same Gaussian process as the importance. The other parameters have the values of the trial `through`. Empty if fewer than ten trials have a result."])
            .with("query", "x", "A parameter of the contour", json!({"type": "string"}))
            .with("query", "y", "The other parameter of the contour", json!({"type": "string"}))
            .answers::<Surfaced>(200, "Means and standard deviations in the metric's unit")
            .conflicts(LOG_DAMAGED),
        get_route("/api/studies/{study}/metrics/{metric}", "metric", answers::metric, "The values of another metric that trials report")
            .about(&["The state of a study lists these metrics, and their last values in its trials."])
            .answers::<Measured>(200, "The values of each trial that reported the metric"),
        get_route("/api/studies/{study}/best", "best", verbs::best, "The best trial so far")
            .answers::<Found>(200, "The best")
            .conflicts(LOG_DAMAGED),
    ]
}

/// The work of a study.
fn work() -> [ApiRoute; 4] {
    [
        post_route("/api/studies/{study}/ask", "ask", verbs::ask, "Get the next trial to run")
            .about(&["If a worker is silent for longer than `--lease`, another worker gets its trial. A `worker` that asks again gets the same trial."])
            .takes::<wire::Ask>(json!({"worker": "gpu-0"}))
            .answers::<wire::Asked>(200, "`start` is null if no trial can start now. Ask again after a trial ends, unless `done` is true")
            .conflicts(LOG_UNWRITABLE),
        post_route("/api/studies/{study}/enqueue", "enqueue", verbs::enqueue, "Queue a configuration to try next")
            .about(&["The next new trial uses the configuration. The sampler chooses the missing values. If all trials have started, one more is added."])
            .takes::<wire::Enqueue>(json!({"configuration": {"lr": 0.1}}))
            .answers::<wire::Enqueued>(200, REQUEST_RECORDED)
            .answers::<wire::Enqueued>(202, REQUEST_HANDED_ON)
            .conflicts("The study's log cannot be written"),
        get_route("/api/studies/{study}/work", "work", verbs::work, "How to run the study's trials, for `foretell worker`")
            .about(&["Only for studies of `foretell search`. With `?version=0.1.0`, a worker with another version is refused."])
            .answers::<wire::StudyWork>(200, "Command, metric, folders and limits")
            .conflicts("The study does not contain a command, or the worker has another version"),
        get_route("/api/studies/{study}/workers", "workers", verbs::workers, "The workers that number their requests (`turn`) and sent one in the last ten minutes")
            .answers::<wire::Workers>(200, "Each worker with its trial and the time since its last request"),
    ]
}

/// The verbs by which a worker runs a trial.
fn worker_trial_routes() -> [ApiRoute; 4] {
    [
        post_route("/api/studies/{study}/trials/{trial}/report", "report", verbs::report, "Report the metric of a trial, and return whether to stop")
            .about(&["Steps must increase. Repeating a report does not change the study, and returns 200 with `recorded` false. Another value at the same step is refused."])
            .takes::<wire::Report>(json!({"step": 1, "value": 0.5, "metrics": {"loss": 0.9}}))
            .answers::<wire::Answer>(200, NEXT_ACTION)
            .conflicts("The step has another value or is earlier than the last one, the trial has ended or runs elsewhere, or another process writes the log"),
        post_route("/api/studies/{study}/trials/{trial}/begin", "begin", verbs::begin, "Resume a trial after fewer epochs than it has reported, or start it again")
            .about(&["Send this request before the first report if the trial's checkpoint is older than `from` or missing. Repeated epochs are added to the trained ones, and their first values are kept."])
            .takes::<wire::Begin>(json!({"after": 0}))
            .answers::<wire::Answer>(200, NEXT_ACTION)
            .conflicts(TRIAL_ELSEWHERE),
        post_route("/api/studies/{study}/trials/{trial}/tell", "tell", verbs::tell, "End a trial that ended by itself or was stopped")
            .about(&["Repeating the request does not change the study."])
            .takes::<wire::Tell>(json!({}))
            .answers::<wire::Told>(200, "The state of the trial")
            .conflicts(TRIAL_ELSEWHERE),
        post_route("/api/studies/{study}/trials/{trial}/renew", "renew", verbs::renew, "Renew the lease of a trial, and return whether to stop")
            .about(&["Renew the lease after each third of `lease_seconds`. This is its length from the first renewal on."])
            .takes::<wire::Renew>(json!({}))
            .answers::<wire::Answer>(200, NEXT_ACTION)
            .conflicts(TRIAL_ELSEWHERE),
    ]
}

/// A trial, for people.
fn trial_routes() -> [ApiRoute; 5] {
    [
        get_route(
            "/api/studies/{study}/trials/{trial}",
            "trial",
            answers::trial,
            "All metrics of a trial, its command and its worker",
        )
        .about(&["The events of `state` contain its state, curve and decisions."])
        .answers::<Details>(200, "The trial")
        .conflicts(LOG_DAMAGED),
        get_route(
            "/api/studies/{study}/trials/{trial}/output",
            "output",
            answers::output,
            "The output of a trial: the last 64 KiB, or everything from a byte on",
        )
        .about(&["The output is not available if it is stored on another worker's machine."])
        .with(
            "query",
            "from",
            "The first byte to read: `to` of the previous answer",
            json!({"type": "integer", "minimum": 0}),
        )
        .answers::<Output>(200, "The text")
        .conflicts(LOG_DAMAGED),
        get_route(
            "/api/studies/{study}/trials/{trial}/should_stop",
            "should_stop",
            verbs::should_stop,
            "Whether to stop a trial, and the last decision on it",
        )
        .about(&[
            "Answered from the study's log. The request does not take over the study or renew the lease.",
        ])
        .answers::<wire::Answer>(200, NEXT_ACTION)
        .conflicts(LOG_DAMAGED),
        post_route("/api/studies/{study}/trials/{trial}/stop", "stop", verbs::stop, "Stop a trial manually")
            .about(&["Recorded as a decision with the reason `by_hand`. The trial is not promoted later."])
            .takes::<wire::Nothing>(json!({}))
            .answers::<wire::Answer>(200, REQUEST_RECORDED)
            .answers::<wire::Answer>(202, REQUEST_HANDED_ON)
            .conflicts("The trial is not running"),
        post_route(
            "/api/studies/{study}/trials/{trial}/keep",
            "keep",
            verbs::keep,
            "Protect a trial from being stopped",
        )
        .about(&["Recorded as a decision with the reason `kept`. A trial that diverges still ends."])
        .takes::<wire::Nothing>(json!({}))
        .answers::<wire::Answer>(200, REQUEST_RECORDED)
        .answers::<wire::Answer>(202, REQUEST_HANDED_ON)
        .conflicts("The trial is not running"),
    ]
}

pub(crate) fn router(served: Arc<ServerState>) -> Router {
    routes()
        .into_iter()
        .fold(Router::new(), |router, route| router.route(route.path, route.handler))
        .fallback(|| async {
            RequestProblem::new(StatusCode::NOT_FOUND, "no such address. /openapi.json lists all addresses")
        })
        .method_not_allowed_fallback(|| async {
            RequestProblem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "this address does not take this method. /openapi.json lists all methods",
            )
        })
        // the guard has read the body, and refuses one that is too long
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(Arc::clone(&served), guard::check))
        .with_state(served)
}

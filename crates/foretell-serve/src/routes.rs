//! The addresses: who answers at each, and their description.

use std::sync::{Arc, LazyLock};

use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::response::Html;
use axum::{Router, middleware};
use foretell_run::wire;
use foretell_search::{Catalogue, StudyRequest};
use serde_json::{Map, Value, json};

use crate::openapi::{self, Route};
use crate::problem::Problem;
use crate::records::Records;
use crate::served::Served;
use crate::verbs::{Found, Made};
use crate::views::{Details, Importance, Measured, Noted, Output, Progressed, Surfaced, Viewed};
use crate::{answers, file, guard, verbs};

/// The description of the interface.
static OPEN_API: LazyLock<String> = LazyLock::new(|| openapi::document(&routes()).to_string());

const DAMAGED: &str = "The log is damaged";
const WRITTEN: &str = "Another process writes the study's log, or the log is damaged";
const ELSEWHERE: &str =
    "The trial has ended otherwise, or runs elsewhere; or another process writes the study's log";
const FOLLOWED: &str = "`Last-Event-ID`, or `after` in the query, continues after that record.";
const TROUBLE: &str = "The event `trouble` contains a refusal while the log cannot be read. `mended` follows once it can be read.";
const NEXT: &str = "The next action";
const RECORDED: &str = "It is recorded";
const HANDED_ON: &str = "The process that runs the study records it within a second";

fn get<T: 'static>(
    path: &'static str,
    id: &'static str,
    handler: impl Handler<T, Arc<Served>>,
    summary: &'static str,
) -> Route {
    Route::new("get", path, id, handler, summary)
}

fn post<T: 'static>(
    path: &'static str,
    id: &'static str,
    handler: impl Handler<T, Arc<Served>>,
    summary: &'static str,
) -> Route {
    Route::new("post", path, id, handler, summary)
}

/// All that is answered.
fn routes() -> Vec<Route> {
    let described = || async { ([("content-type", "application/json")], OPEN_API.as_str()) };
    let mut routes = vec![
        get("/", "page", || async { Html(file::empty()) }, "The page").sends("text/html", "The page"),
        get("/openapi.json", "openapi", described, "This description")
            .answers::<Map<String, Value>>(200, "This description"),
        get("/api/studies", "studies", answers::studies, "The names of the studies")
            .answers::<wire::Studies>(200, "The names"),
    ];
    routes.extend(records());
    routes.extend(results());
    routes.extend(work());
    routes.extend(verbs_of_trials());
    routes.extend(trials());
    routes
}

/// A study and its records.
fn records() -> [Route; 4] {
    let request = json!({"type": "object", "properties": StudyRequest::schema(&Catalogue::default()), "additionalProperties": false});
    let example =
        json!({"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "epochs": 5, "trials": 4, "burn_in": 3});
    [
        Route::new("put", "/api/studies/{study}", "create", verbs::create, "Create a study, or continue it")
            .about(&["The same request again changes nothing; more `trials` extend the study. Settings that are given with a `space` must be those of the study."])
            .takes_such(request, example)
            .answers::<Made>(200, "The study existed")
            .answers::<Made>(201, "The study is new")
            .conflicts("Another study of that name exists, or another process writes its log"),
        get("/api/studies/{study}/records", "records", answers::records, "All records of a study, as in its log")
            .answers::<Records>(200, "The records")
            .conflicts(DAMAGED),
        followed("/api/studies/{study}/events", "events", answers::follow, "The same records as server-sent events, and those that follow")
            .about(&["Each event is a list of records; its id is the number of the last of them, from 1.", FOLLOWED, "The event `anew` follows when the study was started again from scratch.", TROUBLE]),
        followed("/api/studies/{study}/state", "state", answers::state, "The state of the study as server-sent events: totals, and the news of each trial")
            .about(&["Each event is a `foretell.state/1` with `study`, `totals`, and each trial that changed: its state, its points from number `from`, and its decisions from number `decided`. If several events come at once, the first contains `settings`. The id is the number of the last record.", FOLLOWED, "`anew` in it tells the reader to discard the events before.", TROUBLE])
            .with("query", "decisions", "`none` leaves out the decisions, which are most of the data; `trials/{trial}` contains them", json!({"enum": ["all", "none"]})),
    ]
}

/// A stream of events after a record.
fn followed<T: 'static>(
    path: &'static str,
    id: &'static str,
    handler: impl Handler<T, Arc<Served>>,
    summary: &'static str,
) -> Route {
    let number = json!({"type": "integer", "minimum": 0});
    get(path, id, handler, summary)
        .with("header", "Last-Event-ID", "The last record that the reader has", number.clone())
        .with("query", "after", "The same", number)
        .sends("text/event-stream", "The stream")
}

/// The results of a study.
fn results() -> [Route; 8] {
    [
        get("/api/studies/{study}/view", "view", answers::view, "The whole study as Python and tables show it: settings, trials, a row per trial, the front, and all reports")
            .answers::<Viewed>(200, "The view")
            .conflicts(DAMAGED),
        get("/api/studies/{study}/note", "note", answers::note, "The notes about a study")
            .answers::<Noted>(200, "The notes"),
        Route::new("put", "/api/studies/{study}/note", "write_note", verbs::note, "Write the notes about a study")
            .about(&["They replace the existing notes. An empty text removes them."])
            .takes::<wire::Note>(json!({"text": "first try #baseline"}))
            .answers::<Noted>(200, "The notes are written"),
        get("/api/studies/{study}/progress", "progress", answers::progress, "Totals, and the best score so far against the epochs spent")
            .answers::<Progressed>(200, "The progress")
            .conflicts(DAMAGED),
        get("/api/studies/{study}/importance", "importance", answers::importance, "Importance of each parameter for the score")
            .about(&["From a Gaussian process over configurations. Empty below `needed` trials."])
            .answers::<Importance>(200, "The parameters, the most important first")
            .conflicts(DAMAGED),
        get("/api/studies/{study}/surface", "surface", answers::surface, "Expected scores: a slice along each parameter, and a contour of two")
            .about(&["From the same process as the importance. The other parameters are those of the trial `through`. Empty with fewer than ten trials with a result."])
            .with("query", "x", "A parameter of the contour", json!({"type": "string"}))
            .with("query", "y", "The other one", json!({"type": "string"}))
            .answers::<Surfaced>(200, "Means and standard deviations in the metric's unit")
            .conflicts(DAMAGED),
        get("/api/studies/{study}/metrics/{metric}", "metric", answers::metric, "The values of another metric that trials report")
            .about(&["The state of a study lists these metrics, and their last values in its trials."])
            .answers::<Measured>(200, "The values, of each trial that reported any"),
        get("/api/studies/{study}/best", "best", verbs::best, "The best trial so far")
            .answers::<Found>(200, "The best")
            .conflicts(DAMAGED),
    ]
}

/// The work of a study.
fn work() -> [Route; 4] {
    [
        post("/api/studies/{study}/ask", "ask", verbs::ask, "Get the next trial to run")
            .about(&["A trial whose worker was silent for longer than `--lease` is handed out again. A `worker` that asks again gets the same trial."])
            .takes::<wire::Ask>(json!({"worker": "gpu-0"}))
            .answers::<wire::Asked>(200, "`start` is null while there is nothing to do: until a trial ends, or for good if `done`")
            .conflicts(WRITTEN),
        post("/api/studies/{study}/enqueue", "enqueue", verbs::enqueue, "Queue a configuration to try next")
            .about(&["The next new trial uses it, and the sampler chooses the missing values. If all trials are started, the study gets one more."])
            .takes::<wire::Enqueue>(json!({"configuration": {"lr": 0.1}}))
            .answers::<wire::Enqueued>(200, RECORDED)
            .answers::<wire::Enqueued>(202, HANDED_ON)
            .conflicts("The study's log cannot be written"),
        get("/api/studies/{study}/work", "work", verbs::work, "How the study's trials are run, for `foretell worker`")
            .about(&["Only for studies of `foretell search`. With `?version=0.1.0`, a worker of another version is refused."])
            .answers::<wire::StudyWork>(200, "Command, metric, folders and limits")
            .conflicts("The study has no command, or the worker is of another version"),
        get("/api/studies/{study}/workers", "workers", verbs::workers, "The workers that ask in turns and were heard in the last ten minutes")
            .answers::<wire::Workers>(200, "Each with its trial and the time since its last request"),
    ]
}

/// The verbs by which a worker runs a trial.
fn verbs_of_trials() -> [Route; 4] {
    [
        post("/api/studies/{study}/trials/{trial}/report", "report", verbs::report, "Report the metric of a trial; the answer tells whether to stop")
            .about(&["Steps increase. The same report again changes nothing, and answers 200 with `recorded` false; another value at the same step is refused."])
            .takes::<wire::Report>(json!({"step": 1, "value": 0.5, "metrics": {"loss": 0.9}}))
            .answers::<wire::Answer>(200, NEXT)
            .conflicts("The step has another value, or is earlier than the last; the trial has ended, or runs elsewhere; or another process writes the log"),
        post("/api/studies/{study}/trials/{trial}/begin", "begin", verbs::begin, "Continue a trial after fewer epochs than it has reported, or start it again")
            .about(&["Send it before the first report of a training whose checkpoint is older than `from`, or that has none. The epochs that it repeats count as trained; their first values are kept."])
            .takes::<wire::Begin>(json!({"after": 0}))
            .answers::<wire::Answer>(200, NEXT)
            .conflicts(ELSEWHERE),
        post("/api/studies/{study}/trials/{trial}/tell", "tell", verbs::tell, "End a trial, after it ended by itself or was stopped")
            .about(&["The same request again changes nothing."])
            .takes::<wire::Tell>(json!({}))
            .answers::<wire::Told>(200, "Where the trial stands")
            .conflicts(ELSEWHERE),
        post("/api/studies/{study}/trials/{trial}/renew", "renew", verbs::renew, "Renew the lease of a trial; the answer tells whether to stop")
            .about(&["Renew every third of `lease_seconds`, which is the lease from the first renewal on."])
            .takes::<wire::Renew>(json!({}))
            .answers::<wire::Answer>(200, NEXT)
            .conflicts(ELSEWHERE),
    ]
}

/// A trial, for people.
fn trials() -> [Route; 5] {
    [
        get(
            "/api/studies/{study}/trials/{trial}",
            "trial",
            answers::trial,
            "All metrics of a trial, its command and its worker",
        )
        .about(&["Its state, curve and decisions are in the events of `state`."])
        .answers::<Details>(200, "The trial")
        .conflicts(DAMAGED),
        get(
            "/api/studies/{study}/trials/{trial}/output",
            "output",
            answers::output,
            "The output of a trial: the last 64 KiB, or from a byte on",
        )
        .about(&["Not available if a worker on another machine keeps it."])
        .with(
            "query",
            "from",
            "The byte to read from: `to` of the answer before",
            json!({"type": "integer", "minimum": 0}),
        )
        .answers::<Output>(200, "The text")
        .conflicts(DAMAGED),
        get(
            "/api/studies/{study}/trials/{trial}/should_stop",
            "should_stop",
            verbs::should_stop,
            "Whether a trial must stop, and its last decision",
        )
        .about(&["The answer comes from the study's log. The request neither takes over the study nor counts as activity."])
        .answers::<wire::Answer>(200, NEXT)
        .conflicts(DAMAGED),
        post("/api/studies/{study}/trials/{trial}/stop", "stop", verbs::stop, "Stop a trial manually")
            .about(&[
                "Recorded as a decision with the reason `by_hand`; nothing promotes the trial any more.",
            ])
            .takes::<wire::Nothing>(json!({}))
            .answers::<wire::Answer>(200, RECORDED)
            .answers::<wire::Answer>(202, HANDED_ON)
            .conflicts("The trial does not run"),
        post(
            "/api/studies/{study}/trials/{trial}/keep",
            "keep",
            verbs::keep,
            "Protect a trial from being stopped",
        )
        .about(&["Recorded as a decision with the reason `kept`. A trial that diverges still ends."])
        .takes::<wire::Nothing>(json!({}))
        .answers::<wire::Answer>(200, RECORDED)
        .answers::<wire::Answer>(202, HANDED_ON)
        .conflicts("The trial does not run"),
    ]
}

pub(crate) fn router(served: Arc<Served>) -> Router {
    let add = |router: Router<Arc<Served>>, route: Route| router.route(route.path, route.handler);
    routes()
        .into_iter()
        .fold(Router::new(), add)
        .fallback(|| async {
            Problem::new(StatusCode::NOT_FOUND, "no such address. /openapi.json lists all addresses")
        })
        .method_not_allowed_fallback(|| async {
            Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "this address does not take this method. /openapi.json lists all methods",
            )
        })
        // the guard has read the body, and refuses one that is too long
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(Arc::clone(&served), guard::check))
        .with_state(served)
}

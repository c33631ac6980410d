//! The four verbs over HTTP, and what a person orders.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use foretell_run::{EventStore, HostError, Hosted, Next, Reading, Task, Work};
use foretell_search::{Order, Queued, Start, StudyRequest, TrialState};
use serde_json::{Value, json};

use crate::fields::{self, Fields};
use crate::guard::word;
use crate::owner::Ordered;
use crate::problem::Problem;
use crate::served::{Served, blocking};

type Shared = State<Arc<Served>>;
type Reply = Result<Response, Problem>;

const WHOLE: &str = "a whole number from 0";

/// Makes a study, or goes on with it.
pub(crate) async fn create(State(served): Shared, Path(study): Path<String>, body: Bytes) -> Reply {
    let asked = StudyRequest::from_fields(&fields::object(&body)?).map_err(Problem::from)?;
    let name = study.clone();
    let (is_new, spec) = blocking(move || served.owner.create(&name, &asked)).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let text = json!({
        "schema": "foretell.study/1", "study": study, "metric": spec.metric, "direction": spec.direction,
        "epochs": spec.max_resource, "trials": spec.trials, "burn_in": spec.burn_in, "seed": spec.seed,
    });
    Ok((status, Json(text)).into_response())
}

/// The next training to do.
pub(crate) async fn ask(State(served): Shared, Path(study): Path<String>, body: Bytes) -> Reply {
    let mut fields = Fields::read(&body, &["worker", "turn"])?;
    let worker: Option<String> = fields.take("worker", "a text")?;
    let turn: Option<u64> = fields.take("turn", WHOLE)?;
    if turn.is_some() && worker.is_none() {
        return Err(Problem::field("worker", "missing; a turn is that of a worker"));
    }
    let asked = move |host: &mut Hosted<EventStore>| match (&worker, turn) {
        (Some(worker), Some(turn)) => host.ask_in_turn(worker, turn),
        _ => host.ask(worker.as_deref()),
    };
    let (task, done) = blocking(move || served.owner.call(&study, asked)).await?;
    Ok(Json(json!({"schema": "foretell.ask/1", "done": done, "start": task.map(described)})).into_response())
}

fn described(task: Task) -> Value {
    let Start { trial, configuration, seed, from, until } = task.start;
    let (lease, time) = task.lease.unwrap_or_default();
    json!({
        "trial": trial, "configuration": configuration, "seed": seed, "from": from, "until": until, "lease": lease,
        "lease_seconds": time.as_secs_f64(),
    })
}

/// A training reports.
pub(crate) async fn report(
    State(served): Shared,
    Path((study, trial)): Path<(String, String)>,
    body: Bytes,
) -> Reply {
    let trial = number(&trial)?;
    let mut fields = Fields::read(&body, &["step", "value", "metrics", "late", "lease"])?;
    let step = fields.need("step", WHOLE)?;
    if !fields.has("value") {
        return Err(Problem::field("value", "missing; expected a number, or null if it is not finite"));
    }
    let value: Option<f64> = fields.take("value", "a number, or null if it is not finite")?;
    let metrics: Option<BTreeMap<String, Option<f64>>> = fields.take("metrics", "an object of numbers")?;
    let metrics = metrics.unwrap_or_default();
    let metrics = metrics.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let lease: Option<String> = fields.take("lease", "a text")?;
    let late: Option<bool> = fields.take("late", "true or false")?;
    let reading = Reading { step, value, metrics, late: late.unwrap_or_default() };
    let next = move || served.owner.call(&study, move |host| host.report(trial, reading, lease.as_deref()));
    let (next, _) = blocking(next).await?;
    let recorded = next.recorded;
    Ok(answer(next, Some(recorded)))
}

/// A worker shows that it is alive.
pub(crate) async fn renew(
    State(served): Shared,
    Path((study, trial)): Path<(String, String)>,
    body: Bytes,
) -> Reply {
    let trial = number(&trial)?;
    let lease: Option<String> = Fields::read(&body, &["lease"])?.take("lease", "a text")?;
    let next = move || served.owner.call(&study, move |host| host.renew(trial, lease.as_deref()));
    Ok(answer(blocking(next).await?.0, None))
}

/// A training has ended.
pub(crate) async fn tell(
    State(served): Shared,
    Path((study, trial)): Path<(String, String)>,
    body: Bytes,
) -> Reply {
    let trial = number(&trial)?;
    let mut fields = Fields::read(&body, &["failure", "handed_back", "lease"])?;
    let handed_back = fields.take("handed_back", "true or false")?.unwrap_or(false);
    let failure: Option<String> = fields.take("failure", "a text that says what went wrong")?;
    let lease: Option<String> = fields.take("lease", "a text")?;
    if handed_back && failure.is_some() {
        return Err(Problem::field(
            "failure",
            "a training that is handed back has not failed; leave one out",
        ));
    }
    let told = move |host: &mut Hosted<EventStore>| match handed_back {
        true => host.hand_back(trial, lease.as_deref()),
        false => host.tell(trial, failure, lease.as_deref()).map(TrialState::name),
    };
    let (state, done) = blocking(move || served.owner.call(&study, told)).await?;
    Ok(Json(json!({"schema": "foretell.told/1", "trial": trial, "state": state, "done": done}))
        .into_response())
}

/// A training goes on after fewer epochs than it has reported, or begins again.
pub(crate) async fn begin(
    State(served): Shared,
    Path((study, trial)): Path<(String, String)>,
    body: Bytes,
) -> Reply {
    let trial = number(&trial)?;
    let mut fields = Fields::read(&body, &["after", "lease"])?;
    let after = fields.need("after", WHOLE)?;
    let lease: Option<String> = fields.take("lease", "a text")?;
    let next = move || served.owner.call(&study, move |host| host.begin(trial, after, lease.as_deref()));
    Ok(answer(blocking(next).await?.0, None))
}

/// How the study's trials are run, for workers of this version.
pub(crate) async fn work(
    State(served): Shared,
    Path(study): Path<String>,
    RawQuery(query): RawQuery,
) -> Reply {
    let log = served.log(&study)?;
    let folder = log.parent().unwrap_or(&log);
    let read = Work::read(folder).map_err(|error| Problem::midway(&error))?;
    let work = read.ok_or_else(|| {
        let text = format!(
            "{study} has no command: its trials report over HTTP; workers are for studies that `foretell search -- COMMAND` began"
        );
        Problem::conflict(text).at("study")
    })?;
    match word(query.as_deref(), "version") {
        Some(version) if version != work.version => {
            let text = format!(
                "version: this study runs by Foretell {}, and the worker is Foretell {version}; install the same version on both machines",
                work.version
            );
            Err(Problem::conflict(text).at("version"))
        }
        _ => Ok(Json(json!({"schema": "foretell.work/1", "study": study, "work": work})).into_response()),
    }
}

/// The workers that name themselves.
pub(crate) async fn workers(State(served): Shared, Path(study): Path<String>) -> Reply {
    served.log(&study)?;
    let name = study.clone();
    let seen = blocking(move || served.owner.workers(&name)).await?;
    Ok(Json(json!({"schema": "foretell.workers/1", "study": study, "workers": seen})).into_response())
}

/// Whether a training is to stop, by the study's log: whoever drives the study is not disturbed, and the study not taken over.
pub(crate) async fn should_stop(
    State(served): Shared,
    Path((study, trial)): Path<(String, String)>,
) -> Reply {
    let trial = number(&trial)?;
    let log = served.log(&study)?;
    let next = move || {
        served.folds.read(&study, &log, |_, study| {
            let known = study.trial(trial).ok_or(HostError::NoTrial { trial })?;
            Ok::<_, HostError>(Next {
                trial,
                stop: !known.is_open(),
                recorded: false,
                decision: known.decision.clone(),
            })
        })
    };
    Ok(answer(blocking(next).await??, None))
}

/// The best trial so far.
pub(crate) async fn best(State(served): Shared, Path(study): Path<String>) -> Reply {
    let log = served.log(&study)?;
    let found = blocking(move || {
        served.folds.read(&study, &log, |_, found| {
            let trials = found.progress().trials;
            json!({"schema": "foretell.best/1", "study": study, "best": found.best(), "trials": trials, "done": found.is_done()})
        })
    });
    Ok(Json(found.await?).into_response())
}

/// A person enqueues a configuration, be it that another process drives the study.
pub(crate) async fn enqueue(State(served): Shared, Path(study): Path<String>, body: Bytes) -> Reply {
    let mut fields = Fields::read(&body, &["configuration"])?;
    let expected = "a text such as \"lr=0.1,opt=sgd\", or an object of values";
    let queued: Queued = fields.need("configuration", expected)?;
    let recorded = blocking(move || served.owner.enqueue(&served.folds, &study, &queued)).await?;
    let status = if recorded { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(json!({"schema": "foretell.enqueued/1", "recorded": recorded}))).into_response())
}

/// A person stops a trial.
pub(crate) async fn stop(served: Shared, place: Path<(String, String)>, body: Bytes) -> Reply {
    by_hand(served, place, &body, Order::Stop).await
}

/// A person keeps a trial from being stopped.
pub(crate) async fn keep(served: Shared, place: Path<(String, String)>, body: Bytes) -> Reply {
    by_hand(served, place, &body, Order::Keep).await
}

async fn by_hand(
    State(served): Shared,
    Path((study, trial)): Path<(String, String)>,
    body: &[u8],
    order: Order,
) -> Reply {
    let trial = number(&trial)?;
    Fields::read(body, &[])?;
    match blocking(move || served.owner.by_hand(&served.folds, &study, trial, order)).await? {
        Ordered::Recorded(next) => {
            let recorded = next.recorded;
            Ok(answer(next, Some(recorded)))
        }
        Ordered::HandedOn => {
            let text = json!({"schema": "foretell.answer/1", "trial": trial, "recorded": false});
            Ok((StatusCode::ACCEPTED, Json(text)).into_response())
        }
    }
}

/// What a training does next; `recorded` where something was to be.
fn answer(next: Next, recorded: Option<bool>) -> Response {
    let Next { trial, stop, decision, .. } = next;
    let mut text = json!({"schema": "foretell.answer/1", "trial": trial, "stop": stop});
    if let Some(recorded) = recorded {
        text["recorded"] = recorded.into();
    }
    text["decision"] = json!(decision);
    Json(text).into_response()
}

/// The number that names a trial.
pub(crate) fn number(trial: &str) -> Result<u64, Problem> {
    trial.parse().map_err(|_| Problem::field("trial", format!("expected a trial's number, found {trial:?}")))
}

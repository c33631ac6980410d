//! The four verbs over HTTP, and what a person orders.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use foretell_run::{HostError, Next, Reading, Task};
use foretell_search::{Order, Queued, Start, StudyRequest, TrialState};
use serde_json::{Value, json};

use crate::fields::{self, Fields};
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
    let worker: Option<String> = Fields::read(&body, &["worker"])?.take("worker", "a text")?;
    let asked = blocking(move || served.owner.call(&study, |host| host.ask(worker.as_deref())));
    let (task, done) = asked.await?;
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
    let mut fields = Fields::read(&body, &["step", "value", "metrics", "lease"])?;
    let step = fields.need("step", WHOLE)?;
    if !fields.has("value") {
        return Err(Problem::field("value", "missing; expected a number, or null if it is not finite"));
    }
    let value: Option<f64> = fields.take("value", "a number, or null if it is not finite")?;
    let metrics: Option<BTreeMap<String, Option<f64>>> = fields.take("metrics", "an object of numbers")?;
    let metrics = metrics.unwrap_or_default();
    let metrics = metrics.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let lease: Option<String> = fields.take("lease", "a text")?;
    let reading = Reading { step, value, metrics };
    let next = move || served.owner.call(&study, |host| host.report(trial, reading, lease.as_deref()));
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
    let next = move || served.owner.call(&study, |host| host.renew(trial, lease.as_deref()));
    Ok(answer(blocking(next).await?.0, None))
}

/// A training has ended.
pub(crate) async fn tell(
    State(served): Shared,
    Path((study, trial)): Path<(String, String)>,
    body: Bytes,
) -> Reply {
    let trial = number(&trial)?;
    let mut fields = Fields::read(&body, &["failure", "lease"])?;
    let failure: Option<String> = fields.take("failure", "a text that says what went wrong")?;
    let lease: Option<String> = fields.take("lease", "a text")?;
    let told = blocking(move || {
        served.owner.call(&study, |host| host.tell(trial, failure, lease.as_deref()).map(TrialState::name))
    });
    let (state, done) = told.await?;
    Ok(Json(json!({"schema": "foretell.told/1", "trial": trial, "state": state, "done": done}))
        .into_response())
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

fn number(trial: &str) -> Result<u64, Problem> {
    trial.parse().map_err(|_| Problem::field("trial", format!("expected a trial's number, found {trial:?}")))
}

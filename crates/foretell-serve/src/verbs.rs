//! The four verbs over HTTP, and what a person orders.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use foretell::{Direction, RunScore};
use foretell_search::{Order, StudyRequest};
use serde_json::{Value, json};

use crate::fields::Fields;
use crate::owned::{Next, Report};
use crate::owner::Ordered;
use crate::problem::Problem;
use crate::served::{Served, blocking};

type Shared = State<Arc<Served>>;
type Reply = Result<Response, Problem>;

/// What a study can be made of.
const SETTINGS: [&str; 16] = [
    "space",
    "metric",
    "direction",
    "epochs",
    "trials",
    "burn_in",
    "stopping",
    "stop_probability",
    "offset",
    "nth_best",
    "agreeing_checks",
    "predictor",
    "refit",
    "score",
    "seed",
    "shadow",
];
const WHOLE: &str = "a whole number from 0";

fn settings(body: &[u8]) -> Result<StudyRequest, Problem> {
    let mut fields = Fields::read(body, &SETTINGS)?;
    let space = "an object such as {\"lr\": \"log:1e-4:1\"}";
    let space: Option<serde_json::Map<String, Value>> = fields.take("space", space)?;
    let parameter = |(name, kind): (&String, &Value)| match kind.as_str() {
        Some(kind) => Ok(format!("{name}={kind}")),
        None => Err(Problem::field(
            "space",
            format!("{name}: expected a text such as \"log:1e-4:1\", found {kind}"),
        )),
    };
    let space = space.map(|space| space.iter().map(parameter).collect::<Result<_, _>>()).transpose()?;
    Ok(StudyRequest {
        space,
        metric: fields.take("metric", "a text")?,
        direction: fields.take::<Direction>("direction", "\"maximize\" or \"minimize\"")?,
        epochs: fields.take("epochs", WHOLE)?,
        trials: fields.take("trials", WHOLE)?,
        burn_in: fields.take("burn_in", WHOLE)?,
        stopping: fields.take("stopping", "true or false")?,
        stop_probability: fields.take("stop_probability", "a number")?,
        offset: fields.take("offset", "a number")?,
        nth_best: fields.take("nth_best", WHOLE)?,
        agreeing_checks: fields.take("agreeing_checks", WHOLE)?,
        predictor: fields.take("predictor", "a text")?,
        refit: fields.take("refit", "a number")?,
        score: fields.take::<RunScore>("score", "\"last\" or \"best\"")?,
        seed: fields.take("seed", WHOLE)?,
        shadow: fields.take("shadow", "true or false")?,
    })
}

/// Makes a study, or goes on with it.
pub(crate) async fn create(State(served): Shared, Path(study): Path<String>, body: Bytes) -> Reply {
    let settings = settings(&body)?;
    let name = study.clone();
    let (is_new, spec) = blocking(move || served.owner.create(&name, &settings)).await?;
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
    let asked = blocking(move || {
        served.owner.call(&study, |owned| Ok((owned.ask(worker)?, owned.session().is_done())))
    });
    let (task, done) = asked.await?;
    Ok(Json(json!({"schema": "foretell.ask/1", "done": done, "start": task})).into_response())
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
    let report = Report { step, value, metrics };
    let next =
        blocking(move || served.owner.call(&study, |owned| owned.report(trial, report, lease.as_deref())));
    Ok(answer(&next.await?))
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
        served.owner.call(&study, |owned| {
            let state = owned.tell(trial, failure, lease.as_deref())?;
            Ok((state, owned.session().is_done()))
        })
    });
    let (state, done) = told.await?;
    Ok(Json(json!({"schema": "foretell.told/1", "trial": trial, "state": state, "done": done}))
        .into_response())
}

/// Whether a training is to stop.
pub(crate) async fn should_stop(
    State(served): Shared,
    Path((study, trial)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Reply {
    let trial = number(&trial)?;
    let lease = query.as_deref().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("lease="));
    let lease = lease.map(str::to_owned);
    let next =
        blocking(move || served.owner.call(&study, |owned| owned.should_stop(trial, lease.as_deref())));
    Ok(answer(&next.await?))
}

/// The best trial so far.
pub(crate) async fn best(State(served): Shared, Path(study): Path<String>) -> Reply {
    let log = served.log(&study)?;
    let found = blocking(move || served.views.of("progress", &study, &log, crate::views::progress)).await?;
    let part = |name: &str| found[name].clone();
    let text = json!({
        "schema": "foretell.best/1", "study": part("study"), "best": part("best"), "trials": part("trials"), "done": part("done"),
    });
    Ok(Json(text).into_response())
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
    match blocking(move || served.owner.by_hand(&study, trial, order)).await? {
        Ordered::Recorded(next) => Ok(answer(&next)),
        Ordered::HandedOn => {
            let text = json!({"schema": "foretell.answer/1", "trial": trial, "recorded": false});
            Ok((StatusCode::ACCEPTED, Json(text)).into_response())
        }
    }
}

fn answer(next: &Next) -> Response {
    let mut text = json!(next);
    if let Value::Object(fields) = &mut text {
        fields.shift_insert(0, "schema".to_owned(), "foretell.answer/1".into());
    }
    Json(text).into_response()
}

fn number(trial: &str) -> Result<u64, Problem> {
    trial.parse().map_err(|_| Problem::field("trial", format!("expected a trial's number, found {trial:?}")))
}

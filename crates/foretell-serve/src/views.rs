//! A study as shown to readers: its trials and totals, its progress, the parameters that matter.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use foretell::Direction;
use foretell_run::{Printed, Usage, WorkerView, quote_for_shell, retrain_command};
use foretell_search::{
    Best, Contour, Decision, DecisionView, ParetoFront, Relevances, Slice, Spent, Study, StudySummary,
    StudyView, Tally, TrialState, known_resource, relevances_of,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::fold::{Series, StudyFold};
use crate::snapshot::ReceivedPart;

/// A whole study.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "foretell.view/1")]
pub(crate) struct Viewed {
    pub(crate) study: String,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub(crate) view: StudyView,
}

/// Points of the line of the best score so far, at most.
const MAX_PROGRESS_POINTS: usize = 1_000;
/// The most parameters that are paired for contours in a file.
const MAX_PAIRED_PARAMETERS: usize = 3;
/// How many trials are sent at a time.
const TRIALS_PER_EVENT: usize = 500;

impl ReceivedPart {
    /// A reader that comes back, and has seen the first so many records.
    pub(crate) fn until(records: u64, fold: &StudyFold) -> Self {
        Self { records, life: fold.life(), ..Self::default() }
    }

    /// Whether there is nothing new for the reader.
    pub(crate) fn is_current(&self, fold: &StudyFold) -> bool {
        self.life == fold.life() && self.records == fold.records()
    }

    /// Sends decisions if the reader `has` asked for them.
    pub(crate) fn with_decisions(self, has: bool) -> Self {
        Self { is_brief: !has, ..self }
    }
}

/// How many numbers are sent to a reader of its own at most; more are in the snapshot that all readers share.
const MAX_UNSHARED_NUMBERS: usize = 20_000;
/// A decision, in numbers.
const NUMBERS_PER_DECISION: usize = 10;

/// Whether the news for a reader are so few that they need not be shared.
pub(crate) fn is_little(fold: &StudyFold, shown: &ReceivedPart) -> bool {
    let Some(study) = fold.study().filter(|_| shown.life == fold.life()) else { return false };
    let changed = fold.trials().iter().enumerate().filter(|(_, seen)| seen.changed > shown.records);
    let numbers = changed.map(|(trial, seen)| {
        let (points, decisions) = shown.trials.get(&trial).copied().unwrap_or_default();
        let decisions = if shown.is_brief { 0 } else { seen.decisions.len().saturating_sub(decisions) };
        study.trials()[trial].curve.len().saturating_sub(points) + NUMBERS_PER_DECISION * (decisions + 1)
    });
    numbers.sum::<usize>() <= MAX_UNSHARED_NUMBERS
}

/// Hands the news of a study for a reader to `send`, some trials at a time; nothing if it has all. The last part has the id to come
/// back with.
pub(crate) fn news(fold: &StudyFold, shown: &mut ReceivedPart, send: &mut dyn FnMut(Value, Option<u64>)) {
    let Some(study) = fold.study() else { return };
    // a reader that knows of more records than there are has seen another log, so nothing of it can be continued
    let anew = shown.life != fold.life() || shown.records > fold.records();
    if anew {
        *shown = ReceivedPart::until(0, fold).with_decisions(!shown.is_brief);
    } else if shown.records == fold.records() {
        return;
    }
    let changed = fold.trials().iter().enumerate().filter(|(_, seen)| seen.changed > shown.records);
    let changed: Vec<usize> = changed.map(|(trial, _)| trial).collect();
    let front = (anew || fold.last_end_record() > shown.records).then(|| front(study)).flatten();
    let before = std::mem::replace(&mut shown.records, fold.records());
    let head = study_header(fold, study);
    let mut parts: Vec<&[usize]> = changed.chunks(TRIALS_PER_EVENT).collect();
    if parts.is_empty() {
        parts.push(&[]);
    }
    let last = parts.len() - 1;
    for (place, trials) in parts.into_iter().enumerate() {
        let mut event = head.clone();
        event["anew"] = (anew && place == 0).into();
        if place < last {
            // a reader that is cut off here comes back for the rest
            event["records"] = before.into();
        }
        if place == 0 {
            event["settings"] = json!(study.spec().clone().with_settings(study.settings()));
            if let Some(front) = &front {
                event["front"] = front.clone();
            }
        }
        event["trials"] = trials.iter().map(|&number| trial(fold, study, number, shown)).collect();
        send(event, (place == last).then_some(fold.records()));
    }
}

/// The study and its totals.
fn study_header(fold: &StudyFold, study: &Study) -> Value {
    let (spec, summary) = (study.spec(), StudySummary::new(study));
    let timing = fold.times().timing(study);
    let metrics: BTreeSet<&String> = fold.trials().iter().flat_map(|seen| seen.metrics.keys()).collect();
    json!({
        "schema": "foretell.state/1", "records": fold.records(), "metrics": metrics,
        "study": {
            "metric": spec.metric, "direction": spec.direction, "epochs": spec.resource(), "folds": spec.folds(),
            "score": spec.run_score,
        },
        "totals": {
            "planned": study.settings().trials, "trials": summary.trials, "epochs": summary.epochs, "done": study.is_done(),
            "budget_spent": study.is_budget_spent(), "lessons": summary.lessons.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "best": summary.best.map(|best| json!({"trial": best.trial, "score": best.score})),
            "training_seconds": timing.map(|timing| timing.training_seconds),
            "saved_seconds": timing.map(|timing| timing.saved_seconds),
            "left_seconds": timing.and_then(|timing| timing.left_seconds),
        },
    })
}

/// The front, of a study that has one: its trials by their numbers, for their configurations are known.
fn front(study: &Study) -> Option<Value> {
    let mut front = json!(ParetoFront::new(study)?);
    for list in ["trials", "dominated"] {
        for trial in front[list].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            trial.remove("configuration");
        }
    }
    Some(front)
}

/// The news of trial `number`: its state, and the points and decisions that the reader lacks.
fn trial(fold: &StudyFold, study: &Study, number: usize, shown: &mut ReceivedPart) -> Value {
    let (known, seen, spec) = (&study.trials()[number], &fold.trials()[number], study.spec());
    let (steps, scores) = (known.curve.steps(), known.curve.scores());
    let has = shown.trials.insert(number, (steps.len(), seen.decisions.len()));
    let (points, decisions) = has.unwrap_or_default();
    let mut view = json!({
        "trial": number, "state": known.state.name(), "epochs": known.trained_epochs(), "until": known_resource(known.until), "kept": known.kept,
        "score": known.reported_score(spec.run_score).map(|score| spec.direction.to_value(score)),
        "from": points, "steps": &steps[points..], "values": to_values(&scores[points..], spec.direction),
        "gaps": known.curve.gap_starts().iter().copied().chain(known.curve.diverged_at()).collect::<Vec<_>>(),
        "ended": seen.ended,
        "forecast": seen.decisions.iter().rev().find_map(|decision| decision.forecast.as_ref()),
        "probability": seen.decisions.last().and_then(|decision| decision.probability),
        "chance": seen.decisions.last().and_then(|decision| decision.chance),
    });
    if !known.folds.is_empty() {
        // whole, because only the last one is still growing
        let folds = known.folds.iter().map(|curve| {
            let values = to_values(curve.scores(), spec.direction);
            json!({"steps": curve.steps(), "values": values})
        });
        view["folds"] = folds.collect();
    }
    if let Some((began, seconds)) = fold.times().of_trial(number as u64) {
        (view["began"], view["seconds"]) = (began.into(), seconds.into());
    }
    if !shown.is_brief {
        (view["decided"], view["decisions"]) =
            (decisions.into(), json!(decision_views(&seen.decisions[decisions..])));
    }
    // sent once, because the configuration of a trial cannot change
    if has.is_none() {
        view["configuration"] = json!(known.configuration);
    }
    if !seen.metrics.is_empty() {
        let last = seen.metrics.iter().map(|(name, series)| (name, series.values.last()));
        view["metrics"] = json!(last.collect::<BTreeMap<_, _>>());
    }
    if let Some(earlier) = &known.earlier {
        view["repeats"] = earlier.to_string().into();
    }
    if let Some(why) = known.state.why() {
        view["why"] = why.into();
    }
    if let TrialState::Stopped { reason, .. } = &known.state {
        view["reason"] = json!(reason);
    }
    view
}

fn to_values(scores: &[f64], direction: Direction) -> Vec<f64> {
    scores.iter().map(|&score| direction.to_value(score)).collect()
}

fn decision_views(decisions: &[Decision]) -> Vec<DecisionView> {
    decisions.iter().map(DecisionView::from).collect()
}

/// The metrics of a trial, its command, its decisions and its worker.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "foretell.trial/1")]
pub(crate) struct Details {
    study: String,
    trial: u64,
    metrics: BTreeMap<String, Series>,
    /// The command line for a shell; null if another program starts the trainings.
    command: Option<String>,
    decisions: Vec<DecisionView>,
    /// The memory and the GPUs that it used; null if it ran elsewhere.
    usage: Option<Usage>,
    /// The worker that runs it, as in `workers`.
    pub(crate) worker: Option<WorkerView>,
}

/// Reads them.
pub(crate) fn details(
    name: &str,
    folder: &Path,
    number: u64,
    fold: &StudyFold,
    study: &Study,
) -> Option<Details> {
    let known = study.trial(number)?;
    let seen = fold.trials().get(usize::try_from(number).ok()?)?;
    let command = retrain_command(folder, study.spec(), number, &known.configuration);
    Some(Details {
        study: name.to_owned(),
        trial: number,
        metrics: seen.metrics.clone(),
        command: command.as_deref().map(quote_for_shell),
        decisions: decision_views(&seen.decisions),
        usage: Usage::read(folder, number),
        worker: None,
    })
}

/// What is noted about a study.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "foretell.note/1")]
pub(crate) struct Noted {
    pub(crate) study: String,
    /// Empty if nothing is noted.
    pub(crate) text: String,
}

/// A part of the output of a trial.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "foretell.output/1")]
pub(crate) struct Output {
    pub(crate) study: String,
    pub(crate) trial: u64,
    /// Whether the output is on this machine.
    pub(crate) is_here: bool,
    #[serde(flatten)]
    pub(crate) printed: Option<Printed>,
}

/// The values of another metric, for each trial that reported it.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "foretell.metric/1")]
pub(crate) struct Measured {
    study: String,
    metric: String,
    trials: Vec<MeasuredTrial>,
}

/// The values of one trial.
#[derive(Serialize, JsonSchema)]
struct MeasuredTrial {
    trial: usize,
    #[serde(flatten)]
    series: Series,
}

/// Reads them.
pub(crate) fn metric(name: &str, metric: &str, fold: &StudyFold) -> Measured {
    let trials = fold.trials().iter().enumerate();
    let trials = trials
        .filter_map(|(trial, seen)| Some(MeasuredTrial { trial, series: seen.metrics.get(metric)?.clone() }));
    Measured { study: name.to_owned(), metric: metric.to_owned(), trials: trials.collect() }
}

/// The totals of a study, and the best score so far against the epochs spent.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "foretell.progress/1")]
pub(crate) struct Progressed {
    study: String,
    metric: String,
    direction: Direction,
    /// Absent until a trial has shown it, where nobody gave it.
    epochs_per_trial: Option<u64>,
    /// The planned number of trials.
    planned: u64,
    done: bool,
    best: Option<Best>,
    trials: Tally,
    epochs: Spent,
    speedup: f64,
    /// [epochs spent, best score] wherever the best changes; at most 1,000.
    best_so_far: Vec<(u64, f64)>,
}

/// Reads them.
pub(crate) fn progress(name: &str, fold: &StudyFold, study: &Study) -> Progressed {
    let (spec, summary) = (study.spec(), StudySummary::new(study));
    Progressed {
        study: name.to_owned(),
        metric: spec.metric.clone(),
        direction: spec.direction,
        epochs_per_trial: spec.resource(),
        planned: study.settings().trials,
        done: study.is_done(),
        best: summary.best,
        trials: summary.trials,
        epochs: summary.epochs,
        speedup: summary.speedup,
        best_so_far: thin_points(fold.best_so_far()),
    }
}

/// At most so many points, first and last kept.
fn thin_points(line: &[(u64, f64)]) -> Vec<(u64, f64)> {
    if line.len() <= MAX_PROGRESS_POINTS {
        return line.to_vec();
    }
    (0..MAX_PROGRESS_POINTS).map(|i| line[i * (line.len() - 1) / (MAX_PROGRESS_POINTS - 1)]).collect()
}

/// The importance of the parameters.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "foretell.importance/1")]
pub(crate) struct Importance {
    study: String,
    #[serde(flatten)]
    found: Relevances,
}

/// Finds them.
pub(crate) fn importance(name: &str, fold: &StudyFold, study: &Study) -> Importance {
    Importance { study: name.to_owned(), found: relevances_of(&fold.surface(study)) }
}

/// The expected scores: a slice along each parameter, and contours of two.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "foretell.surface/1")]
pub(crate) struct Surfaced {
    study: String,
    /// The best trial.
    through: Option<u64>,
    slices: Vec<Slice>,
    contours: Vec<Contour>,
}

/// Finds them, the contours over the pairs that are `asked` for.
pub(crate) fn surface(name: &str, fold: &StudyFold, study: &Study, asked: &[(String, String)]) -> Surfaced {
    let surface = fold.surface(study);
    let contours = asked.iter().filter_map(|(x, y)| surface.contour(x, y)).collect();
    Surfaced { study: name.to_owned(), through: surface.through(), slices: surface.slices(), contours }
}

/// All pairs of the parameters that matter most.
pub(crate) fn leading_pairs(fold: &StudyFold, study: &Study) -> Vec<(String, String)> {
    let found = relevances_of(&fold.surface(study));
    let names: Vec<String> =
        found.parameters.into_iter().take(MAX_PAIRED_PARAMETERS).map(|parameter| parameter.name).collect();
    let pairs =
        names.iter().enumerate().flat_map(|(i, x)| names[i + 1..].iter().map(|y| (x.clone(), y.clone())));
    pairs.collect()
}

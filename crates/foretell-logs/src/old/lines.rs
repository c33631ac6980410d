//! Logs of JSON: Ray Tune's results, Optuna's journal, transformers' `trainer_state.json`.

use super::point::LoggedPoint;
use super::series::{RunEnd, RunLog, SeriesFilter, is_epoch};
use super::{LogFormat, json, nearby};
use crate::error::Error;
use foretell::{Configuration, Direction, Value};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::path::Path;

/// Fields that Ray adds to each result that a trial reports.
const RAY_OWN_FIELDS: &str = "training_iteration time_this_iter_s time_total_s time_since_restore timestamp pid done trial_id date \
    hostname node_ip experiment_id experiment_tag iterations_since_restore timesteps_total timesteps_since_restore \
    timesteps_this_iter episodes_total episodes_this_iter warmup_time should_checkpoint checkpoint_dir_name";

fn number_field(row: &Map<String, Json>, name: &str) -> Option<f64> {
    row.get(name).and_then(json::number)
}

fn index_field(row: &Map<String, Json>, name: &str) -> Option<usize> {
    row.get(name).and_then(Json::as_u64).and_then(|at| usize::try_from(at).ok())
}

/// The numbers of a row, those of nested objects named `outer/inner`.
fn collect_numbers(prefix: &str, row: &Map<String, Json>, found: &mut Vec<(String, f64)>) {
    for (name, value) in row {
        let name = format!("{prefix}{name}");
        match value {
            Json::Object(inner) => collect_numbers(&format!("{name}/"), inner, found),
            other => found.extend(json::number(other).map(|value| (name, value))),
        }
    }
}

/// A trial of Ray Tune: `result.json` in its folder.
pub(crate) fn ray(file: &Path, id: &str, wanted: &SeriesFilter) -> Result<RunLog, Error> {
    let mut run = RunLog::new(id, LogFormat::Ray);
    for_each_line(file, |line, text| {
        let Some(Json::Object(mut row)) = json::parse(text) else {
            run.damage.get_or_insert(format!(
                "{}:{line}: ignored, because the line is not a JSON object",
                file.display()
            ));
            return;
        };
        if let Some(Json::Object(config)) = row.remove("config") {
            run.configuration = json::settings(&config);
        }
        if let Some(Json::String(trial)) = row.get("trial_id") {
            run.id.clone_from(trial);
        }
        let (time, epoch) = (number_field(&row, "time_total_s"), number_field(&row, "epoch"));
        let Some(step) = number_field(&row, "training_iteration") else { return };
        row.retain(|name, _| !RAY_OWN_FIELDS.split(' ').any(|own| own == name) && !is_epoch(name));
        let mut found = Vec::new();
        collect_numbers("", &row, &mut found);
        for (name, value) in found {
            run.push(&name, LoggedPoint { step, epoch, time, value }, wanted);
        }
    })?;
    let folder = file.parent().unwrap_or(Path::new("."));
    if run.configuration.is_empty() {
        run.configuration = nearby::find_configuration(file);
    }
    if folder.join("error.txt").exists() || folder.join("error.pkl").exists() {
        // `done` shows nothing: a trial that its scheduler stopped is done, too
        run.ended = RunEnd::Failed;
    }
    Ok(run)
}

/// `trainer_state.json` of transformers' Trainer. What was logged while it trained is named `train_…` where evaluations are there, too.
pub(crate) fn read_transformers(file: &Path, id: &str, wanted: &SeriesFilter) -> Result<RunLog, Error> {
    let mut run = RunLog::new(id, LogFormat::Transformers);
    let text = std::fs::read_to_string(file).map_err(Error::io_at(file))?;
    let Some(Json::Object(state)) = json::parse(&text) else {
        let problem = "the file is not a complete JSON object. Copy it again".to_owned();
        return Err(Error::Old { file: file.to_owned(), problem });
    };
    let Some(Json::Array(history)) = state.get("log_history") else {
        let problem = "the list `log_history` is missing".to_owned();
        return Err(Error::Old { file: file.to_owned(), problem });
    };
    for row in history.iter().filter_map(Json::as_object) {
        let (epoch, step) = (number_field(row, "epoch"), number_field(row, "step"));
        let Some(step) = step.or(epoch) else { continue };
        // the last row sums the training up
        if row.contains_key("train_runtime") {
            continue;
        }
        for (name, value) in row.iter().filter_map(|(name, value)| Some((name, json::number(value)?))) {
            if !["epoch", "step", "total_flos"].contains(&name.as_str()) {
                run.push(name, LoggedPoint { step, epoch, time: None, value }, wanted);
            }
        }
    }
    let (reached, planned) = (number_field(&state, "global_step"), number_field(&state, "max_steps"));
    run.planned = number_field(&state, "num_train_epochs").or(planned).filter(|planned| *planned > 0.0);
    run.ended = match (reached, planned.filter(|planned| *planned > 0.0)) {
        (Some(reached), Some(planned)) if reached < planned => RunEnd::Stopped,
        (Some(_), Some(_)) => RunEnd::Finished,
        _ => RunEnd::Unknown,
    };
    if let Some(Json::Object(trial)) = state.get("trial_params") {
        run.configuration.extend(json::settings(trial));
    }
    for name in ["train_batch_size", "num_train_epochs", "max_steps"] {
        if let Some(value) = number_field(&state, name) {
            run.configure(name, Value::Number(value));
        }
    }
    run.configuration.extend(nearby::find_configuration(file));
    Ok(run)
}

fn for_each_line(file: &Path, mut one: impl FnMut(u64, &str)) -> Result<(), Error> {
    use std::io::BufRead;
    let mut reader =
        std::io::BufReader::with_capacity(1 << 16, std::fs::File::open(file).map_err(Error::io_at(file))?);
    let (mut bytes, mut line) = (Vec::new(), 0);
    loop {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes).map_err(Error::io_at(file))? == 0 {
            return Ok(());
        }
        line += 1;
        let text = String::from_utf8_lossy(bytes.trim_ascii());
        if !text.is_empty() {
            one(line, &text);
        }
    }
}

/// A study in Optuna's journal.
#[derive(Default)]
struct JournalStudy {
    name: String,
    direction: Option<Direction>,
    several: bool,
    deleted: bool,
    trials: usize,
}

/// Optuna's journal: one operation a line.
pub(crate) fn read_optuna_journal(file: &Path, wanted: &SeriesFilter) -> Result<Vec<RunLog>, Error> {
    let mut studies: Vec<JournalStudy> = Vec::new();
    let mut trials: Vec<(usize, RunLog)> = Vec::new();
    let mut damage: Option<String> = None;
    for_each_line(file, |line, text| {
        let row = match json::parse(text) {
            Some(Json::Object(row)) => row,
            _ => {
                let said =
                    format!("{}:{line}: ignored, because the line is not a JSON object", file.display());
                damage.get_or_insert(said);
                return;
            }
        };
        apply_operation(&row, &mut studies, &mut trials, wanted);
    })?;
    let several = studies.iter().filter(|study| !study.deleted).count() > 1;
    let mut runs = Vec::new();
    for (study, mut run) in trials {
        let study = &studies[study];
        if study.deleted || study.several {
            continue;
        }
        run.direction = study.direction;
        if several {
            run.id = format!("{}/{}", study.name, run.id);
        }
        // one run carries the note on the journal, so that it is said once
        run.damage = run.damage.or(damage.take());
        runs.push(run);
    }
    Ok(runs)
}

fn apply_operation(
    row: &Map<String, Json>,
    studies: &mut Vec<JournalStudy>,
    trials: &mut Vec<(usize, RunLog)>,
    wanted: &SeriesFilter,
) {
    let (trial, study) = (index_field(row, "trial_id"), index_field(row, "study_id"));
    match index_field(row, "op_code") {
        Some(0) => {
            let directions = row.get("directions").and_then(Json::as_array);
            studies.push(JournalStudy {
                name: row.get("study_name").and_then(Json::as_str).unwrap_or("study").to_owned(),
                direction: directions.and_then(|all| direction(all.first()?.as_u64()?)),
                several: directions.is_some_and(|all| all.len() > 1),
                ..JournalStudy::default()
            });
        }
        Some(1) => {
            if let Some(study) = study.and_then(|at| studies.get_mut(at)) {
                study.deleted = true;
            }
        }
        Some(4) => {
            let Some((place, study)) = study.and_then(|at| Some((at, studies.get_mut(at)?))) else { return };
            let run = create_trial(row, study.trials);
            study.trials += 1;
            trials.push((place, run));
        }
        Some(5) => {
            let Some((_, run)) = trial.and_then(|at| trials.get_mut(at)) else { return };
            let (name, value) =
                (row.get("param_name").and_then(Json::as_str), number_field(row, "param_value_internal"));
            let kind = row.get("distribution").and_then(Json::as_str).unwrap_or("");
            if let (Some(name), Some(value)) = (name, value) {
                run.configure(name, parameter(value, kind));
            }
        }
        Some(6) => {
            let Some((_, run)) = trial.and_then(|at| trials.get_mut(at)) else { return };
            run.ended = row.get("state").and_then(Json::as_u64).map_or(run.ended, state);
        }
        Some(7) => {
            let Some((_, run)) = trial.and_then(|at| trials.get_mut(at)) else { return };
            let value = row.get("intermediate_value").and_then(json::number);
            if let (Some(step), Some(value)) = (number_field(row, "step"), value) {
                run.push("value", LoggedPoint { step, epoch: None, time: None, value }, wanted);
            }
        }
        _ => {}
    }
}

/// A trial as it is created, with its parameters where they were known by then.
fn create_trial(row: &Map<String, Json>, number: usize) -> RunLog {
    let mut run = RunLog::new(number.to_string(), LogFormat::Optuna);
    run.ended = row.get("state").and_then(Json::as_u64).map_or(RunEnd::Running, state);
    let kinds = row.get("distributions").and_then(Json::as_object);
    let values = row.get("params").and_then(Json::as_object);
    for (name, value) in values.into_iter().flatten() {
        let kind = kinds.and_then(|kinds| kinds.get(name)).and_then(Json::as_str);
        run.configure(name, parameter(json::number(value).unwrap_or(f64::NAN), kind.unwrap_or("")));
    }
    run
}

/// Optuna's number of a direction.
pub(crate) fn direction(number: u64) -> Option<Direction> {
    match number {
        1 => Some(Direction::Minimize),
        2 => Some(Direction::Maximize),
        _ => None,
    }
}

/// Optuna's number of a trial's state.
fn state(number: u64) -> RunEnd {
    match number {
        1 => RunEnd::Finished,
        2 => RunEnd::Pruned,
        3 => RunEnd::Failed,
        _ => RunEnd::Running,
    }
}

/// A parameter of Optuna: of a categorical one the choice with this index.
pub(crate) fn parameter(value: f64, distribution: &str) -> Value {
    let parsed = json::parse(distribution);
    let kind = parsed.as_ref().and_then(Json::as_object);
    let choices = kind.and_then(|kind| kind.get("attributes")?.as_object()?.get("choices")?.as_array());
    let Some(choices) = choices else {
        return if value.is_finite() { Value::Number(value) } else { Value::Missing };
    };
    let choice = (value >= 0.0 && value.fract() == 0.0).then(|| choices.get(value as usize)).flatten();
    let one: BTreeMap<&str, &Json> = choice.map(|choice| ("", choice)).into_iter().collect();
    let found: Configuration =
        json::settings(&one.into_iter().map(|(k, v)| (k.to_owned(), v.clone())).collect());
    found.into_values().next().unwrap_or(Value::Missing)
}

//! Runs of earlier searches to learn from: recorded curves, or the log of another study.

use crate::catalogue::catalogue;
use crate::curves::CurveFlags;
use crate::failure::Failure;
use crate::output::note;
use foretell::{Direction, Run};
use foretell_run::{StoredStudy, list_studies, log_path, program_of, read_stored_spec};
use foretell_search::{ParameterKind, Space, StudyRequest, StudySpec};
use std::fmt;
use std::path::{Path, PathBuf};

/// The runs of all `paths`, for the study of `spec`.
pub(super) fn runs(paths: &[PathBuf], spec: &StudySpec) -> Result<Vec<Run>, Failure> {
    let mut runs = Vec::new();
    for path in paths {
        let is_study = log_path(path).is_file();
        let found = if is_study { read_study_runs(path, spec)? } else { read_curve_runs(path, spec)? };
        check_runs(path, &found, spec, is_study)?;
        note(&format!("learning from {} runs of {}", found.len(), path.display()));
        runs.extend(found);
    }
    Ok(runs)
}

/// Returns `spec` with the predictor that learns best from the earlier `runs` and how sure it has to be, unless somebody chose one. A notice names
/// both if the study is new.
pub(super) fn apply_lessons(spec: StudySpec, asked: &StudyRequest, runs: &[Run], is_new: bool) -> StudySpec {
    let Some(lessons) = asked.lessons(&spec, runs) else { return spec };
    if is_new {
        note(&lessons.to_string());
    }
    lessons.apply_to(spec)
}

/// Runs that a study learns from without being told: all trials of earlier studies of the same program, as far as they were trained.
pub(super) struct EarlierLessons {
    pub(super) runs: Vec<Run>,
    completed: usize,
    studies: usize,
}

impl fmt::Display for EarlierLessons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, completed, studies } = self;
        let noun = if *studies == 1 { "study" } else { "studies" };
        write!(
            f,
            "learning from {} trials ({completed} completed) of {studies} earlier {noun}; --no-lessons to ignore them",
            runs.len()
        )
    }
}

/// The lessons for the new study of `spec` in `directory`: of the studies next to it with the same program, metric and direction, except those in
/// `named`. `None` if there are none, or if the stop rule learns only from completed trials. Ranges and fixed options may differ: whether the
/// lessons fit is seen from the first trials. Unreadable folders are skipped.
pub(super) fn lessons(directory: &Path, spec: &StudySpec, named: &[PathBuf]) -> Option<EarlierLessons> {
    if directory.exists() || !spec.policy.learns_from_curves() {
        return None;
    }
    let is_same = |there: &StudySpec| {
        program_words(there) == program_words(spec)
            && (&there.metric, there.direction, there.run_score)
                == (&spec.metric, spec.direction, spec.run_score)
    };
    // one folder may be written in several ways, with `..` for example, and must not count twice
    let named: Vec<_> = named.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let mut lessons = EarlierLessons { runs: Vec::new(), completed: 0, studies: 0 };
    for stored in list_studies_beside(directory, is_same) {
        let is_named = stored.directory.canonicalize().is_ok_and(|folder| named.contains(&folder));
        let runs = if is_named { Vec::new() } else { stored.runs_for(spec).unwrap_or_default() };
        if runs.is_empty() {
            continue;
        }
        lessons.studies += 1;
        lessons.completed += stored.study.progress().trials.completed as usize;
        lessons.runs.extend(runs);
    }
    (lessons.studies > 0).then_some(lessons)
}

/// The program that a study trains, or the settings of built-in networks.
fn program_words(spec: &StudySpec) -> Vec<String> {
    match spec.workload.get("command") {
        Some(command) => program_of(command.split(' ')),
        None => spec.workload.iter().map(|(name, value)| format!("{name} {value}")).collect(),
    }
}

/// The studies next to the new one in `directory`, by their age, the oldest first, whose description `is_wanted`. Of the others only the first
/// line is read, because their logs may be long.
fn list_studies_beside(directory: &Path, is_wanted: impl Fn(&StudySpec) -> bool) -> Vec<StoredStudy> {
    let around = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut folders = list_studies(around.unwrap_or(Path::new("."))).unwrap_or_default();
    folders.retain(|folder| read_stored_spec(folder).is_some_and(|spec| is_wanted(&spec)));
    folders.sort_by_key(|folder| std::fs::metadata(log_path(folder)).and_then(|log| log.modified()).ok());
    folders.iter().filter_map(|folder| StoredStudy::read(folder, catalogue()).ok()).collect()
}

/// An earlier study of the same command.
struct OfferedStudy {
    path: PathBuf,
    completed: u64,
    /// Whether the new study's settings continue it.
    continues: bool,
}

/// An offer to continue, or to learn from, an earlier study of the same command with the same metric and parameters, stored next to the
/// new study's `directory`. If there are several, the one with the most completed trials is offered. Unreadable folders are skipped.
pub(super) fn offer_earlier_study(directory: &Path, spec: &StudySpec) -> Option<String> {
    let command = spec.workload.get("command").filter(|_| !directory.exists())?;
    let is_same = |there: &StudySpec| {
        there.workload.get("command") == Some(command)
            && (&there.metric, there.direction) == (&spec.metric, spec.direction)
            && there.space.names() == spec.space.names()
    };
    let earlier = |stored: StoredStudy| {
        let completed = stored.study.progress().trials.completed;
        let continues = stored.study.spec().continues(spec);
        (completed > 0).then_some(OfferedStudy { path: stored.directory, completed, continues })
    };
    let all: Vec<OfferedStudy> =
        list_studies_beside(directory, is_same).into_iter().filter_map(earlier).collect();
    let OfferedStudy { path, completed, continues } = all.iter().max_by_key(|earlier| earlier.completed)?;
    let path = path.display();
    let found = match all.len() {
        1 => format!("found an earlier study of this command: {path} ({completed} completed trials)"),
        count => format!(
            "found {count} earlier studies of this command, the largest {path} ({completed} completed trials)"
        ),
    };
    let advice =
        if *continues { format!("Continue it with --out {path}, or learn") } else { "Learn".to_owned() };
    Some(format!("{found}. {advice} from it with --learn-from {path}{}", describe_saving(*completed, spec)))
}

/// The saving of the study of `spec` by learning from `trials` completed trials, in words; empty if they are fewer than its burn-in.
fn describe_saving(trials: u64, spec: &StudySpec) -> String {
    let burn_in = spec.burn_in.min(spec.trials);
    if spec.resource().is_none()
        || trials < burn_in
        || burn_in < 2
        || !spec.policy.is_by_forecasts()
        || !spec.schedule.is_full()
    {
        return String::new();
    }
    format!(
        " (with its {trials} completed trials, forecasts start after one trial instead of {burn_in}, which saves up to {} of {} epochs)",
        burn_in.saturating_sub(1) * spec.max_resource,
        spec.trials * spec.max_resource
    )
}

/// The curves at `path` of the study's metric, or else of the one that the reader prefers.
fn read_curve_runs(path: &Path, spec: &StudySpec) -> Result<Vec<Run>, Failure> {
    let minimize = spec.direction == Direction::Minimize;
    let named = CurveFlags {
        metric: Some(spec.metric.clone()),
        minimize,
        maximize: !minimize,
        ..CurveFlags::default()
    };
    // the file may call the metric otherwise, such as `eval_loss` for `loss`: whether it is the same is checked below
    let recorded = named.read(path).or_else(|_| CurveFlags::default().read(path))?;
    if recorded.metric.direction != spec.direction {
        return Err(refuse_other_direction(path, &recorded.metric.name));
    }
    if !foretell_logs::is_same_metric(&recorded.metric.name, &spec.metric) {
        return Err(Failure::input(format!(
            "--learn-from {}: its metric is `{}`, but this study's is `{}`. Import the same one with foretell import --metric, or remove it",
            path.display(),
            recorded.metric.name,
            spec.metric
        )));
    }
    let mut runs = recorded.runs;
    for curve in runs.iter_mut().map(|run| &mut run.curve) {
        let end = curve.last_point().filter(|(step, _)| *step as u64 + 1 == spec.max_resource);
        if let Some((step, score)) = end.filter(|_| curve.steps()[0] == 0.0) {
            // steps that count from 0 end one before a trial's; a divergence stays a divergence
            let _ = curve.push(step + 1.0, spec.direction.to_value(score), spec.direction);
        }
    }
    Ok(runs)
}

/// The trials of another study that reported anything.
fn read_study_runs(directory: &Path, spec: &StudySpec) -> Result<Vec<Run>, Failure> {
    let lessons = StoredStudy::read(directory, catalogue()).and_then(|stored| stored.runs_for(spec));
    lessons.map_err(|error| Failure::input(format!("--learn-from {error}")))
}

fn refuse_other_direction(path: &Path, metric: &str) -> Failure {
    Failure::input(format!(
        "--learn-from {}: its metric {metric} has the opposite direction. Remove it",
        path.display()
    ))
}

/// Runs of other configurations, or all too short, teach nothing. A study may lack parameters, which were added since.
fn check_runs(path: &Path, runs: &[Run], spec: &StudySpec, is_study: bool) -> Result<(), Failure> {
    let refusal = |text: String| Err(Failure::input(format!("--learn-from {}: {text}", path.display())));
    // while R is unknown, so is which runs reach it
    let levels =
        spec.resource().map(|whole| spec.schedule.levels(whole)).transpose().map_err(Failure::input)?;
    let lowest = levels.and_then(|levels| levels.first().copied()).unwrap_or(1);
    let reaches = |run: &Run| run.curve.last_point().is_some_and(|(step, _)| step >= lowest as f64);
    if !runs.iter().any(reaches) {
        return refusal(format!(
            "none of its {} runs reaches epoch {lowest}, so forecasts cannot learn from it. Remove it",
            runs.len()
        ));
    }
    let names = spec.space.searched_names();
    let known = |name: &&&str| runs.iter().any(|run| run.configuration.contains_key(**name));
    let missing = names.iter().find(|name| !known(name));
    if let Some(missing) = missing.filter(|_| !is_study || !names.iter().any(|name| known(&name))) {
        return refusal(format!(
            "its runs do not contain `{missing}`, which this study searches. Remove it, or rename its column"
        ));
    }
    let Space::Parameters(space) = &spec.space else { return Ok(()) };
    let numbers = space.parameters().iter().filter(|p| !matches!(p.kind, ParameterKind::Choice { .. }));
    for name in numbers.map(|parameter| parameter.name.as_str()) {
        let text = |run: &&Run| run.configuration.get(name).is_some_and(|value| value.as_text().is_some());
        if let Some(run) = runs.iter().find(text) {
            return refusal(format!(
                "`{name}` of run {} is `{}`, but this study searches numbers. Correct it, or leave the cell empty",
                run.id, run.configuration[name]
            ));
        }
    }
    Ok(())
}

//! Runs of earlier searches to learn from: recorded curves, or the log of another study.

use crate::curves::CurveFlags;
use crate::failure::Failure;
use crate::output::note;
use foretell::{Direction, Run};
use foretell_search::{NETWORK, Record, Space, Study, StudySpec};
use std::path::{Path, PathBuf};

/// The runs of all `paths`, for the study of `spec`.
pub(super) fn runs(paths: &[PathBuf], spec: &StudySpec) -> Result<Vec<Run>, Failure> {
    let mut runs = Vec::new();
    for path in paths {
        let log = path.join("events.jsonl");
        let found = if log.is_file() { of_study(&log, spec)? } else { of_curves(path, spec)? };
        check(path, &found, spec)?;
        note(&format!("learning from {} runs of {}", found.len(), path.display()));
        runs.extend(found);
    }
    Ok(runs)
}

fn of_curves(path: &Path, spec: &StudySpec) -> Result<Vec<Run>, Failure> {
    let minimize = spec.direction == Direction::Minimize;
    let flags = CurveFlags { minimize, maximize: !minimize, ..CurveFlags::default() };
    Ok(flags.read(path)?.runs)
}

/// The trials of another study that reported anything.
fn of_study(log: &Path, spec: &StudySpec) -> Result<Vec<Run>, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", log.display()));
    let (records, _torn_line) = foretell_run::read_log::<Record>(log).map_err(Failure::input)?;
    let Some(Record::Created { study }) = records.first() else {
        return Err(wrong(&"does not begin with a study's description"));
    };
    if study.direction != spec.direction {
        return Err(wrong(&"its metric is better in the other direction than this study's; leave it out"));
    }
    let name = log.parent().map_or_else(String::new, |folder| folder.display().to_string());
    let study = Study::resume(study.as_ref().clone(), &records).map_err(|error| wrong(&error))?;
    let trials = study.trials().iter().enumerate().filter(|(_, trial)| !trial.curve.is_empty());
    let run = |(index, trial): (usize, &foretell_search::Trial)| Run {
        id: format!("{name} trial {index}"),
        configuration: trial.configuration.clone(),
        curve: trial.curve.clone(),
    };
    Ok(trials.map(run).collect())
}

/// Runs of other configurations, or all too short, teach nothing.
fn check(path: &Path, runs: &[Run], spec: &StudySpec) -> Result<(), Failure> {
    let wrong = |text: String| Err(Failure::input(format!("--learn-from {}: {text}", path.display())));
    let levels = spec.schedule.levels(spec.max_resource).map_err(Failure::input)?;
    let lowest = levels.first().copied().unwrap_or(1);
    let reaches = |run: &Run| run.curve.last().is_some_and(|(step, _)| step >= lowest as f64);
    if !runs.iter().any(reaches) {
        return wrong(format!(
            "none of its {} runs reaches epoch {lowest}, so that nothing can be learnt from it; leave it out",
            runs.len()
        ));
    }
    let names: Vec<&str> = match &spec.space {
        Space::Metaqnn(_) => vec![NETWORK],
        Space::Parameters(space) => space.parameters().iter().map(|p| p.name.as_str()).collect(),
    };
    let known = |name: &&&str| runs.iter().any(|run| run.configuration.contains_key(**name));
    match names.iter().find(|name| !known(name)) {
        Some(missing) => wrong(format!(
            "its runs have no `{missing}`, which this study searches; leave it out, or rename its column"
        )),
        None => Ok(()),
    }
}

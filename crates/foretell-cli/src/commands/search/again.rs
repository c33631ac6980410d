//! `foretell study run`: trains one trial's configuration again, with several seeds, and shows whether it won by luck.

use super::display::StudyDisplay;
use super::study_file;
use super::study_run::{DescribedStudy, INTERRUPT_TIMEOUT, StudyRun};
use super::workload::Workload;
use crate::asked::{self, RecordedCommand};
use crate::failure::{CommandResult, Failure};
use crate::interrupt::Interrupt;
use crate::output::{OutputFormat, metric_difference, metric_value, note, print, print_json, with_deviation};
use foretell::{Configuration, Direction, Metric, Value};
use foretell_run::{StoredStudy, trial_directory};
use foretell_search::{
    Parameter, ParameterKind, ParameterSpace, SamplerSpec, Schedule, Space, StopPolicy, Study, StudySpec,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The folder of such trainings, in that of the study.
const RETRAINING_FOLDER: &str = "again";

/// The trial to train again.
#[derive(Clone, Debug)]
pub(crate) struct RetrainRequest {
    /// The trial.
    pub(crate) trial: u64,
    /// For how many epochs; as long as the search trained without it.
    pub(crate) epochs: Option<u64>,
    /// With how many seeds.
    pub(crate) seeds: u64,
}

/// The result.
#[derive(Serialize)]
struct AgainDocument<'a> {
    schema: &'static str,
    study: String,
    trial: u64,
    configuration: &'a Configuration,
    #[serde(with = "foretell_search::resource")]
    epochs: u64,
    metric: String,
    /// The trial's score in the search; absent if it was stopped there.
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<f64>,
    /// The score with each seed, without the trainings that failed.
    scores: Vec<f64>,
    mean: f64,
    /// The standard deviation, of two or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    sd: Option<f64>,
    /// The trainings' folders.
    folders: Vec<PathBuf>,
}

/// Trains a trial of `stored` again.
pub(crate) fn run(stored: &StoredStudy, again: &RetrainRequest, format: OutputFormat) -> CommandResult {
    let directory = &stored.directory;
    let Some(asked) = RecordedCommand::read(directory) else {
        return Err(Failure::input(format!(
            "{}: the command of this study is unknown (no {}). Run its search again with this version, which records the command",
            directory.display(),
            asked::FILE
        )));
    };
    let asked = asked.with_secrets(directory)?;
    let mut arguments = study_file::again(&asked)?;
    arguments.without_limits();
    let workload = Workload::from_arguments(&arguments)?;
    if std::env::current_dir().is_ok_and(|here| here != asked.folder) {
        note(&format!("the search was started in {}; these trials start here", asked.folder.display()));
    }
    let spec = spec(stored, again)?;
    let folder = directory.join(RETRAINING_FOLDER).join(format!(
        "trial-{}-epochs-{}-seeds-{}",
        again.trial,
        length_for_folder(&spec),
        again.seeds
    ));
    let interrupt = Interrupt::default();
    let described = DescribedStudy { spec, request: None, new_study: None };
    let mut search = StudyRun::open(&folder, described, &arguments, &workload, &[], &interrupt)?;
    note(&format!(
        "training trial {} again {}; kept in {}",
        again.trial,
        seeds_and_length(search.study()),
        folder.display()
    ));
    interrupt.install(INTERRUPT_TIMEOUT)?;
    let mut display = StudyDisplay::new(search.study(), search.times(), arguments.control.heartbeat);
    let ran = search.run(&interrupt, &mut display);
    display.finish();
    ran?;
    tell(stored, again, search.study(), &folder, format)
}

/// The epochs of a trial in the name of a folder.
fn length_for_folder(spec: &StudySpec) -> String {
    spec.resource().map_or("all".to_owned(), |epochs| epochs.to_string())
}

fn seeds_and_length(study: &Study) -> String {
    let trials = &study.spec().trials;
    let seeds = if *trials == 1 { "a new seed".to_owned() } else { format!("{trials} new seeds") };
    let epochs = study.spec().resource();
    let length = epochs.map_or("until it ends".to_owned(), |epochs| format!("for {epochs} epochs"));
    format!("{length}, with {seeds}")
}

/// The study of one configuration, as often as there are seeds: none of them is that of a search's trial.
fn spec(stored: &StoredStudy, again: &RetrainRequest) -> Result<StudySpec, Failure> {
    let first = stored.study.spec();
    let Some(trial) = stored.study.trial(again.trial) else {
        return Err(no_trial(stored, again.trial));
    };
    let space = match first.space.contains(&trial.configuration) {
        true => first.space.clone(),
        // the space was changed since
        false => single_configuration_space(&trial.configuration)?,
    };
    Ok(StudySpec {
        space,
        sampler: SamplerSpec::default(),
        schedule: Schedule::Full,
        // all are trained to their end, because a stopped one would have no score to compare
        policy: StopPolicy::none(),
        shadow: false,
        max_resource: again.epochs.unwrap_or(first.max_resource),
        is_open_ended: again.epochs.is_none() && first.is_open_ended,
        trials: again.seeds,
        budget_epochs: None,
        // queued once per seed, so that the sampler proposes no other configuration
        queue: vec![trial.configuration.clone(); usize::try_from(again.seeds).unwrap_or(usize::MAX)],
        seed: first.seed.wrapping_add(1),
        ..first.clone()
    })
}

/// The space of `configuration` alone.
fn single_configuration_space(configuration: &Configuration) -> Result<Space, Failure> {
    let given = configuration.iter().filter(|(_, value)| **value != Value::Missing);
    let parameter = |(name, value): (&String, &Value)| Parameter {
        name: name.clone(),
        kind: ParameterKind::Choice { options: vec![value.clone()] },
        active_if: None,
    };
    ParameterSpace::new(given.map(parameter).collect()).map(Space::Parameters).map_err(Failure::midway)
}

/// There is no trial `number`.
pub(crate) fn no_trial(stored: &StoredStudy, number: u64) -> Failure {
    Failure::input(format!(
        "{} contains no trial {number}. Its {} trials are numbered from 0",
        stored.directory.display(),
        stored.study.trials().len()
    ))
}

fn tell(
    stored: &StoredStudy,
    again: &RetrainRequest,
    study: &Study,
    folder: &Path,
    format: OutputFormat,
) -> CommandResult {
    let spec = study.spec();
    let achieved = |trial: &foretell_search::Trial| trial.achieved_result(spec);
    let scores: Vec<f64> = study.trials().iter().filter_map(achieved).collect();
    if scores.is_empty() {
        return Err(Failure::midway(format!(
            "all trials failed. `foretell study show {}` shows the reasons",
            foretell_run::quote_for_shell(&[folder.display().to_string()])
        )));
    }
    let Some(first) = stored.study.trial(again.trial) else { return Err(no_trial(stored, again.trial)) };
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    let sd = (scores.len() > 1).then(|| (squares / (scores.len() - 1) as f64).sqrt());
    let document = AgainDocument {
        schema: "foretell.again/1",
        study: folder.display().to_string(),
        trial: again.trial,
        configuration: &first.configuration,
        epochs: spec.max_resource,
        metric: spec.metric.clone(),
        was: achieved(first),
        mean,
        sd,
        folders: (0..study.trials().len() as u64).map(|trial| trial_directory(folder, trial)).collect(),
        scores,
    };
    match format {
        OutputFormat::Json => print_json(&document),
        OutputFormat::Table => print(&text(&document, study, stored.study.spec().max_resource)),
    }
}

fn text(document: &AgainDocument<'_>, study: &Study, searched: u64) -> String {
    let AgainDocument { trial, metric, scores, mean, .. } = document;
    let each: Vec<String> = scores.iter().map(|&score| metric_value(score)).collect();
    let mut lines = vec![format!("trial {trial} {}: {metric} {}", seeds_and_length(study), each.join(", "))];
    match document.sd {
        None => lines.push(
            "a single seed does not show the effect of luck. --seeds 3 gives a mean and a standard deviation"
                .to_owned(),
        ),
        Some(0.0) if are_best_possible(study, scores) => {
            lines.push(format!("all reached {}, the best possible {metric}", metric_value(*mean)));
        }
        Some(0.0) => lines.push(format!(
            "all are equal, {}: the command does not read its seed from {{seed}} or FORETELL_SEED",
            metric_value(*mean)
        )),
        Some(sd) => lines.push(format!("mean {} (standard deviation)", with_deviation(*mean, sd))),
    }
    lines.extend(compare_with_search(document, study, searched));
    let failed = study.trials().len() - scores.len();
    if failed > 0 {
        lines.push(format!("{failed} of {} trials failed", study.trials().len()));
    }
    lines.push(format!("kept in {}", document.study));
    lines.join("\n")
}

/// Whether all scores are the best value that the metric can have: then seeds cannot make a difference.
fn are_best_possible(study: &Study, scores: &[f64]) -> bool {
    let metric = Metric::new(study.spec().metric.clone(), study.spec().direction);
    let (low, high) = metric.bounds.range_if_containing(scores.iter().copied());
    let best = if study.spec().direction == Direction::Maximize { high } else { low };
    scores.iter().all(|score| score.total_cmp(&best).is_eq())
}

/// The mean compared with the score in the search: a winner by luck falls back. Trainings of other lengths do not compare.
fn compare_with_search(document: &AgainDocument<'_>, study: &Study, searched: u64) -> Option<String> {
    let (was, sd) = (document.was?, document.sd?);
    if document.epochs != searched {
        return Some(format!("in the search, after {searched} epochs: {}", metric_value(was)));
    }
    let worse = study.spec().direction.to_score(was) - study.spec().direction.to_score(document.mean);
    let amount = metric_difference(worse.abs(), was, 4);
    let was = metric_value(was);
    Some(if worse > sd {
        format!(
            "in the search it reached {was}, {amount} better than the mean. This is more than one standard deviation, so part of it was luck"
        )
    } else if worse < -sd {
        format!("in the search it reached {was}, {amount} worse than the mean; it was unlucky there")
    } else {
        format!("in the search it reached {was}, within one standard deviation of the mean")
    })
}

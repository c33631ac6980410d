//! `foretell study best`: the command to run now.

use crate::asked;
use crate::commands::search::again::no_trial;
use crate::failure::{CommandResult, Failure};
use crate::output::{metric_value, print, print_json, with_deviation};
use crate::view::report;
use clap::ValueEnum;
use foretell::Configuration;
use foretell_run::{StoredStudy, checkpoint_directory, secrets_hint, trial_directory};
use foretell_search::RecordedForecast;
use serde::Serialize;
use std::path::PathBuf;

/// The form of a configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BestFormat {
    /// Table for people.
    #[default]
    Table,
    /// JSON for scripts, with all details.
    Json,
    /// Only the parameters, for a configuration file.
    Toml,
    /// Only the parameters, for a configuration file.
    Yaml,
    /// Only the command line.
    Args,
}

#[derive(Serialize)]
struct BestDocument<'a> {
    schema: &'static str,
    trial: u64,
    /// The place among the best, from 1.
    rank: usize,
    metric: &'a str,
    score: f64,
    /// The values of all seeds, where each configuration is trained with several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    seeds: Vec<f64>,
    /// The last forecast of its end, made while it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    forecast: Option<RecordedForecast>,
    configuration: &'a Configuration,
    /// The words of the command that trains it; absent if another program started the trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Vec<String>>,
    /// The folder of its checkpoints, if it wrote any.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoints: Option<PathBuf>,
}

/// Shows the `rank`-th best trial.
pub(super) fn run(stored: &StoredStudy, rank: usize, format: BestFormat) -> CommandResult {
    let leaders = report::rank_trials(&stored.study, rank);
    let Some(leader) = leaders.get(rank - 1) else {
        return Err(Failure::midway(match leaders.len() {
            0 => report::best_incomplete(&stored.study, &stored.directory)
                .unwrap_or_else(|| "no trial was completed, so there is no best one yet".to_owned()),
            there => format!("only {there} trials were completed, so there is no {rank}th best"),
        }));
    };
    let Some(trial) = stored.study.trial(leader.trial) else { return Err(no_trial(stored, leader.trial)) };
    let checkpoints = checkpoint_directory(&trial_directory(&stored.directory, leader.trial));
    let is_there = std::fs::read_dir(&checkpoints).is_ok_and(|mut files| files.next().is_some());
    let spec = stored.study.spec();
    let document = BestDocument {
        schema: "foretell.best/1",
        trial: leader.trial,
        rank,
        metric: &spec.metric,
        score: leader.score,
        seeds: stored.study.repeat_values(leader.trial),
        forecast: trial.decision.as_ref().and_then(|decision| decision.forecast),
        configuration: &trial.configuration,
        command: asked::retrain_command(&stored.directory, spec, leader.trial, &trial.configuration),
        checkpoints: is_there.then_some(checkpoints),
    };
    match format {
        BestFormat::Table => print(&text(&document, stored)),
        BestFormat::Json => print_json(&document),
        BestFormat::Toml => print(toml(&document)?.trim_end()),
        BestFormat::Yaml => print(&yaml(&document)),
        BestFormat::Args => match &document.command {
            Some(command) => print(&asked::quote_for_shell(command)),
            None => Err(Failure::input(
                "the command is unknown, because another program started the trials. To print the parameters, add --format json",
            )),
        },
    }
}

fn text(document: &BestDocument<'_>, stored: &StoredStudy) -> String {
    let BestDocument { trial, rank, metric, score, .. } = document;
    let place = if *rank == 1 { "the best".to_owned() } else { format!("number {rank}") };
    let mut lines = vec![format!(
        "trial {trial}, {place}: {metric} {}{}",
        metric_value(*score),
        report::seeds(&stored.study, *trial)
    )];
    lines.extend(
        document.forecast.map(|it| format!("  forecast while it ran: {}", with_deviation(it.mean, it.sd))),
    );
    lines.extend(
        report::applying_parameters(document.configuration).map(|(name, value)| format!("  {name} {value}")),
    );
    if let Some(path) = &document.checkpoints {
        lines.push(format!("checkpoints: {}", path.display()));
    }
    if let Some(command) = &document.command {
        lines.push(format!("run it:\n  {}", asked::quote_for_shell(command)));
        lines.extend(secrets_hint(&stored.directory, command).map(|hint| format!("  ({hint})")));
        let which = if *rank == 1 { String::new() } else { format!(" --trial {trial}") };
        lines.push(format!(
            "with three new seeds:\n  foretell study run {}{which} --seeds 3",
            asked::quote_for_shell(&[stored.directory.display().to_string()])
        ));
    }
    lines.join("\n")
}

/// The parameters that apply, in order.
fn parameters_as_json<'a>(
    document: &'a BestDocument<'_>,
) -> impl Iterator<Item = (&'a String, serde_json::Value)> {
    report::applying_parameters(document.configuration)
        .map(|(name, value)| (name, serde_json::to_value(value).unwrap_or_default()))
}

fn toml(document: &BestDocument<'_>) -> Result<String, Failure> {
    let values: serde_json::Map<_, _> =
        parameters_as_json(document).map(|(name, it)| (name.clone(), it)).collect();
    toml::to_string(&values).map_err(Failure::midway)
}

/// Keys and values as JSON writes them, which is YAML, too.
fn yaml(document: &BestDocument<'_>) -> String {
    let lines = parameters_as_json(document).map(|(name, value)| match is_plain_key(name) {
        true => format!("{name}: {value}"),
        false => format!("{}: {value}", serde_json::json!(name)),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_plain_key(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        && !["y", "n", "yes", "no", "on", "off", "true", "false", "null"]
            .contains(&name.to_lowercase().as_str())
}

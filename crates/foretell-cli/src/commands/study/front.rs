//! `foretell study front`: the trials that no other dominates.

use super::trials_table::cell;
use crate::commands::search::{front_report, study_picture};
use crate::failure::{Failure, Outcome};
use crate::output::{print, print_json};
use crate::plot;
use clap::ValueEnum;
use foretell_run::Stored;
use foretell_search::{Front, FrontTrial};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// The form of a front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FrontFormat {
    /// For people.
    #[default]
    Table,
    /// All that is known of it, for scripts.
    Json,
    /// Comma-separated values, a line a trial: its number, what it came to, its parameters.
    Csv,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    front: &'a Front,
}

/// Shows the front of the study, and draws it into `picture`.
pub(super) fn run(stored: &Stored, format: FrontFormat, picture: Option<&Path>) -> Outcome {
    if let Some(path) = picture {
        plot::check_place(path, None).map_err(Failure::input)?;
    }
    let front = Front::of(&stored.study).ok_or_else(|| {
        Failure::input(format!(
            "{}: the study has one objective, and so a best trial (`foretell study best`) but no front; further ones are given by `foretell search --objective`",
            stored.directory.display()
        ))
    })?;
    match format {
        FrontFormat::Json => print_json(&Document { schema: "foretell.front/1", front: &front })?,
        FrontFormat::Csv => print(&csv(&front))?,
        FrontFormat::Table => print(&front_report::text(&front, usize::MAX))?,
    }
    match picture {
        Some(path) => {
            let name = study_picture::name(&stored.directory);
            plot::save(path, &study_picture::front(&front, &name).draw()).map_err(Failure::midway)
        }
        None => Ok(()),
    }
}

/// A line a trial of the front: its number, what it came to, its parameters.
fn csv(front: &Front) -> String {
    let parameters: BTreeSet<&String> =
        front.trials.iter().flat_map(|trial| trial.configuration.keys()).collect();
    let objectives = front.objectives.iter().map(|objective| objective.name.clone());
    let headings = std::iter::once("trial".to_owned())
        .chain(objectives)
        .chain(parameters.iter().map(|name| format!("param.{name}")));
    let row = |trial: &FrontTrial| {
        let value = |name: &&String| serde_json::to_value(trial.configuration.get(*name)).unwrap_or_default();
        let numbers =
            std::iter::once(Value::from(trial.trial)).chain(trial.values.iter().map(|&it| it.into()));
        line(numbers.chain(parameters.iter().map(value)))
    };
    let lines = std::iter::once(line(headings.map(Value::from))).chain(front.trials.iter().map(row));
    lines.collect::<Vec<_>>().join("\n")
}

fn line(values: impl Iterator<Item = Value>) -> String {
    values.map(|value| cell(&value)).collect::<Vec<_>>().join(",")
}

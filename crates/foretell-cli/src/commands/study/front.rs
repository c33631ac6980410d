//! `foretell study front`: the trials that no other dominates.

use super::table::{self, TableFormat};
use crate::failure::{CommandResult, Failure};
use crate::output::{print, print_json};
use crate::plot;
use crate::view::{front, picture};
use clap::ValueEnum;
use foretell_run::StoredStudy;
use foretell_search::ParetoFront;
use serde::Serialize;
use serde_json::Map;
use std::io;
use std::path::Path;

/// The form of a front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FrontFormat {
    /// Table for people.
    #[default]
    Table,
    /// JSON for scripts, with all details.
    Json,
    /// Comma-separated values, one line per trial: its number, objectives and parameters.
    Csv,
}

#[derive(Serialize)]
struct FrontDocument<'a> {
    schema: &'static str,
    #[serde(flatten)]
    front: &'a ParetoFront,
}

/// Shows the front of the study, and draws it into `picture`.
pub(super) fn run(stored: &StoredStudy, format: FrontFormat, picture: Option<&Path>) -> CommandResult {
    if let Some(path) = picture {
        plot::check_place(path, None).map_err(Failure::input)?;
    }
    let front = ParetoFront::new(&stored.study).ok_or_else(|| {
        Failure::input(format!(
            "{}: there is no front with one objective. Show the best trial with `foretell study best`, or add objectives with `foretell search --objective`",
            stored.directory.display()
        ))
    })?;
    match format {
        FrontFormat::Json => print_json(&FrontDocument { schema: "foretell.front/1", front: &front })?,
        FrontFormat::Csv => print(csv(&front).map_err(Failure::midway)?.trim_end())?,
        FrontFormat::Table => print(&front::text(&front, usize::MAX))?,
    }
    match picture {
        Some(path) => {
            let name = picture::name(&stored.directory);
            plot::save(path, &picture::front(&front, &name).draw()).map_err(Failure::midway)
        }
        None => Ok(()),
    }
}

/// One line per trial of the front: its number, its values, its parameters.
fn csv(front: &ParetoFront) -> io::Result<String> {
    let rows = front.trials.iter().map(|trial| {
        let mut row = Map::new();
        row.insert("trial".to_owned(), trial.trial.into());
        let values = front.objectives.iter().zip(&trial.values);
        row.extend(values.map(|(objective, &value)| (objective.name.clone(), value.into())));
        for (name, value) in &trial.configuration {
            row.insert(format!("param.{name}"), serde_json::to_value(value)?);
        }
        Ok(row)
    });
    let rows = rows.collect::<io::Result<Vec<_>>>()?;
    let objectives = front.objectives.iter().map(|objective| objective.name.as_str());
    let first: Vec<&str> = std::iter::once("trial").chain(objectives).collect();
    let mut text = Vec::new();
    table::write(&mut text, &table::of_rows(&rows, &first), TableFormat::Csv)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

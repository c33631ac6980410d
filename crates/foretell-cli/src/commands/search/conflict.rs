//! In what a study that is there differs from the one that is asked for.

use crate::failure::Failure;
use foretell_run::log_in;
use foretell_run::{LogReader, Position};
use foretell_search::{Difference, Record, Space, StudySpec, differences};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// So many trials are named.
const NAMED: usize = 8;

/// Names the settings in which the study in `directory` differs from the one that was asked for, of those that may not
/// change; for parameters also the trials that would lie outside.
pub(super) fn another_study(directory: &Path, there: &StudySpec, asked: &StudySpec) -> Failure {
    let mut parts = said(&there.regardless_of_settings(), &asked.regardless_of_settings());
    parts.extend(outside(directory, &asked.space));
    Failure::input(format!(
        "{}: holds another study: {}; choose another --out, or give that study's own flags (ranges, choices, sampler, how trials are \
         stopped, their number and budgets may change, and trainings may become longer)",
        directory.display(),
        parts.join(", ")
    ))
}

/// `name is … there and … here` for each field that differs, with its flag.
pub(super) fn said<T: Serialize>(there: &T, here: &T) -> Vec<String> {
    let named = |Difference { field, there, here }: Difference| {
        format!("{field}{} is {there} there and {here} here", flag_of(&field))
    };
    differences(there, here).into_iter().map(named).collect()
}

/// A value as JSON without the quotes of a text.
pub(super) fn quoted(value: &str) -> &str {
    value.trim_matches('"')
}

/// The trials of the study in `directory` whose configurations are not in `space`.
fn outside(directory: &Path, space: &Space) -> Option<String> {
    let Space::Parameters(space) = space else { return None };
    let reader = LogReader::<Record>::open(log_in(directory), Position::START).ok()?;
    let started = reader.map_while(Result::ok).filter_map(|record| match record {
        Record::Started { trial, configuration, .. } => Some((trial, configuration)),
        _ => None,
    });
    let started: BTreeMap<_, _> = started.collect();
    let misfits = started.iter().filter_map(|(trial, it)| Some((trial, space.check(it).err()?)));
    let misfits: Vec<_> = misfits.collect();
    let (first, why) = misfits.first()?;
    let names: Vec<String> = misfits.iter().take(NAMED).map(|(trial, _)| trial.to_string()).collect();
    let more =
        misfits.len().checked_sub(NAMED + 1).map_or(String::new(), |more| format!(" and {} more", more + 1));
    Some(format!("trials {}{more} would not be in the space (trial {first}: {why})", names.join(", ")))
}

/// The flag that sets a field of a study's description, in brackets, where it is named otherwise.
fn flag_of(field: &str) -> &'static str {
    match field {
        "max_resource" => " (--epochs)",
        "run_score" => " (--score)",
        "criterion" => " (--stop-probability, --offset, --nth-best, --agreeing-checks, --error-budget)",
        "schedule" => " (--scheduler and its settings)",
        "space" => " (--param, or --space, --width, --max-layers)",
        "workload" => " (the command, or --data and its sizes)",
        "queue" => " (--enqueue)",
        _ => "",
    }
}

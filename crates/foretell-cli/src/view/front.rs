//! The front of a study in words: the trials that no other dominates, and the fraction of them that is thought found.

use super::rows::setting;
use crate::output::{metric_value, short_number, table};
use foretell_search::{FrontTrial, ParetoFront};

/// The most trials of a front that the report at the end of a search shows, so that it fits on a screen.
pub(super) const MAX_REPORTED_TRIALS: usize = 12;

/// The front with the parameters that vary on it, `most` of its trials, and how safe it is.
pub(crate) fn text(front: &ParetoFront, most: usize) -> String {
    let mut parts: Vec<String> = front.problems.clone();
    if front.trials.is_empty() {
        parts.push("no valid trial was completed, so there is no front yet".to_owned());
        return parts.join("\n");
    }
    let all = front.trials.len();
    let title = match all {
        1 => "the front: 1 trial".to_owned(),
        all if all > most => format!(
            "the front: {all} trials, the {most} best by {} shown (all: `foretell study front STUDY`)",
            front.objectives[0].name
        ),
        all => format!("the front: {all} trials"),
    };
    parts.push(format!("{title}\n{}", rows(front, &front.trials[..all.min(most)])));
    parts.extend(coverage_line(front));
    parts.join("\n")
}

fn rows(front: &ParetoFront, trials: &[FrontTrial]) -> String {
    let first = &trials[0].configuration;
    let shown = first.iter().filter(|(name, value)| {
        let differs = trials.iter().any(|trial| trial.configuration.get(*name) != Some(*value));
        let is_objective = front.objectives.iter().any(|objective| objective.name == **name);
        let is_short = value.as_text().is_none_or(|text| text.len() <= 20);
        differs && !is_objective && is_short
    });
    let names: Vec<&String> = shown.map(|(name, _)| name).collect();
    let rows = trials.iter().map(|trial| {
        let mut cells = vec![trial.trial.to_string(), metric_value(trial.values[0])];
        cells.extend(trial.values[1..].iter().map(|&value| short_number(value)));
        cells.extend(names.iter().map(|name| setting(trial.configuration.get(*name))));
        cells
    });
    let objectives = front.objectives.iter().map(|objective| objective.name.as_str());
    let headings: Vec<&str> =
        std::iter::once("trial").chain(objectives).chain(names.iter().map(|name| name.as_str())).collect();
    table(&headings, &rows.collect::<Vec<_>>())
}

/// The fraction of the front that is thought found, if trials were stopped.
fn coverage_line(front: &ParetoFront) -> Option<String> {
    let safe = front.safe.filter(|_| !front.stopped.is_empty())?;
    let lost: f64 = front.stopped.iter().map(|trial| trial.probability).sum();
    Some(format!(
        "expected coverage: {:.1} % of the front. Among {} stopped trials, {lost:.2} are expected to belong to it, by their forecasts",
        100.0 * safe,
        front.stopped.len()
    ))
}

//! Changes of settings when a search continues a study.

use super::conflict::quoted;
use foretell_search::{Difference, Parameter, Space, Study, StudySpec, differences};
use serde_json::{Map, Value};

/// The settings that have words of their own here.
const OWN: [&str; 2] = ["space", "workload"];

/// Says which settings hold from here on in `study`, and did not where it was `there`; nothing where all are as before, or nothing was
/// tried yet.
pub(super) fn said(there: &StudySpec, study: &Study) -> Option<String> {
    let trials = study.trials().len();
    if trials == 0 {
        return None;
    }
    let spec = study.spec();
    let others = differences(&there.settings(), study.settings()).into_iter();
    let mut parts: Vec<String> =
        others.filter(|difference| !OWN.contains(&difference.field.as_str())).flat_map(in_words).collect();
    parts.extend(parameters(&there.space, &spec.space));
    if there.workload.get("command") != spec.workload.get("command") {
        parts.push("the command sets other epochs".to_owned());
    }
    if parts.is_empty() {
        return None;
    }
    let mut lines = vec![format!("from trial {trials} on: {} (recorded in the log)", parts.join(", "))];
    if (&there.space, &there.sampler) != (&spec.space, &spec.sampler) {
        let fit = study.trials().iter().filter(|trial| spec.space.contains(&trial.configuration)).count();
        lines.push(format!(
            "the sampler learns from {fit} of {trials} trials, those inside the new space; forecasts learn from all"
        ));
    }
    if there.max_resource < spec.max_resource {
        lines.push(format!(
            "forecasts start after {} trials of {} epochs. To train the best earlier trial longer: `foretell study run STUDY --epochs {}`",
            spec.burn_in, spec.max_resource, spec.max_resource
        ));
    }
    Some(lines.join("\n"))
}

/// A changed setting in words; of an object, such as the criterion, the entries that changed.
fn in_words(Difference { field, there, here }: Difference) -> Vec<String> {
    let object = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
    match object(&there).zip(object(&here)) {
        Some((there, here)) if there.keys().eq(here.keys()) => {
            differences(&there, &here).into_iter().flat_map(in_words).collect()
        }
        _ => vec![format!("{} {} (was {})", name(&field), quoted(&here), quoted(&there))],
    }
}

/// The name of a setting on the command line.
fn name(field: &str) -> String {
    match field {
        "max_resource" => "epochs".to_owned(),
        other => other.replace('_', "-"),
    }
}

/// The parameters that are other ones now.
fn parameters(there: &Space, here: &Space) -> Vec<String> {
    let (Space::Parameters(there), Space::Parameters(here)) = (there, here) else { return Vec::new() };
    let named = |all: &[Parameter], name: &str| all.iter().find(|parameter| parameter.name == name).cloned();
    let changed =
        here.parameters().iter().filter_map(|parameter| match named(there.parameters(), &parameter.name) {
            None => Some(format!("new parameter {parameter}")),
            Some(before) if before == *parameter => None,
            Some(before) => Some(format!("{parameter} (was {})", before.kind)),
        });
    let gone =
        there.parameters().iter().filter(|parameter| named(here.parameters(), &parameter.name).is_none());
    let gone = gone.map(|parameter| format!("removed parameter {}", parameter.name));
    changed.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::in_words;
    use foretell_search::Difference;

    #[test]
    fn only_the_entries_of_the_criterion_that_changed_are_named() {
        let changed = Difference {
            field: "criterion".to_owned(),
            there: r#"{"stop_probability":0.99,"offset":0.0}"#.to_owned(),
            here: r#"{"stop_probability":0.999,"offset":0.0}"#.to_owned(),
        };
        assert_eq!(in_words(changed), ["stop-probability 0.999 (was 0.99)"]);
    }
}

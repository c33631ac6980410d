//! Changes of settings when a search continues a study.

use foretell_search::{Parameter, Space, Study, StudySpec, differences};

/// The settings that have words of their own here.
const SEPARATE_SETTINGS: [&str; 2] = ["space", "workload"];

/// Says which settings hold from here on in `study`, and did not where it was `there`; nothing where all are as before, or nothing was
/// tried yet.
pub(super) fn describe_changed_settings(there: &StudySpec, study: &Study) -> Option<String> {
    let trials = study.trials().len();
    if trials == 0 {
        return None;
    }
    let spec = study.spec();
    let others = differences(&there.settings(), study.settings()).into_iter();
    let mut parts: Vec<String> = others
        .filter(|it| !SEPARATE_SETTINGS.contains(&it.field.as_str()))
        .flat_map(|it| it.in_words())
        .collect();
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
    if there.resource().is_some_and(|known| known < spec.max_resource) {
        lines.push(format!(
            "forecasts start after {} trials of {} epochs. To train the best earlier trial longer: `foretell study run STUDY --epochs {}`",
            spec.burn_in, spec.max_resource, spec.max_resource
        ));
    }
    Some(lines.join("\n"))
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

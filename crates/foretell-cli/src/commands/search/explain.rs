//! `--explain`: the plan of a search, before anything runs.

use super::opening::{counting_line, folds_line, objectives_line, rank_line, unknown_length_line};
use super::workload::Workload;
use foretell::Value;
use foretell_search::limits::MAX_PLANNED_TRIALS;
use foretell_search::{
    BracketTotals, HyperbandPlan, Parameter, ParameterKind, ParameterSpace, Schedule, ScheduleError, Space,
    StudySpec, plan, successive_halving,
};
use serde::Serialize;
use std::path::Path;

/// The plan as JSON.
#[derive(Serialize)]
pub(crate) struct PlanDocument {
    schema: &'static str,
    study: String,
    plan: SearchPlan,
}

/// The most that a search would do, without stopping.
#[derive(Serialize)]
pub(super) struct SearchPlan {
    trials: u64,
    /// Unknown until a trial has shown it; then no sum of epochs is known either.
    #[serde(with = "foretell_search::resource")]
    max_resource: u64,
    workers: usize,
    /// Epochs at which trials pause, ascending, and the end.
    levels: Vec<u64>,
    /// The brackets of one run of Hyperband or of successive halving.
    #[serde(skip_serializing_if = "Option::is_none")]
    brackets: Option<HyperbandPlan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u64>,
    /// Epochs at most, going on from checkpoints.
    #[serde(with = "foretell_search::resource")]
    epochs: u64,
    /// Epochs at most, if each rung trained from the beginning.
    #[serde(with = "foretell_search::resource")]
    epochs_from_scratch: u64,
    /// Epochs of training every trial to its end.
    #[serde(with = "foretell_search::resource")]
    epochs_full_training: u64,
}

/// The plan of `spec`.
pub(super) fn plan_search(spec: &StudySpec, workers: usize) -> Result<SearchPlan, ScheduleError> {
    let (trials, max_resource) = (spec.trials, spec.max_resource);
    let full = trials.saturating_mul(spec.whole_resource());
    let (brackets, runs) = match spec.schedule {
        Schedule::Hyperband { eta, runs, .. } => (Some(plan(max_resource, eta)?), Some(runs)),
        Schedule::SuccessiveHalving { eta } => {
            let bracket = successive_halving(trials, max_resource, eta)?;
            (Some(HyperbandPlan { max_resource, eta, brackets: vec![bracket] }), None)
        }
        Schedule::Full | Schedule::IEpoch { .. } | Schedule::Asha { .. } => (None, None),
    };
    let levels = if spec.resource().is_some() { spec.schedule.levels(max_resource)? } else { Vec::new() };
    // without a bracket that limits how many continue, all do
    let whole = BracketTotals {
        configurations: trials,
        full: trials,
        scratch: trials.saturating_mul(levels.iter().sum::<u64>()).saturating_mul(spec.folds()),
        resume: full,
    };
    let totals = brackets.as_ref().map_or(whole, HyperbandPlan::totals);
    let times = runs.unwrap_or(1);
    Ok(SearchPlan {
        trials,
        max_resource,
        workers,
        // without R the sums are as unknown
        levels,
        brackets,
        runs,
        epochs: totals.resume.saturating_mul(times).min(spec.budget_epochs.unwrap_or(u64::MAX)),
        epochs_from_scratch: totals.scratch.saturating_mul(times),
        epochs_full_training: full,
    })
}

impl PlanDocument {
    /// The plan of the study in `directory`.
    pub(super) fn new(directory: &Path, plan: SearchPlan) -> Self {
        Self { schema: "foretell.search/1", study: directory.display().to_string(), plan }
    }
}

/// The plan for people.
pub(super) fn text(
    spec: &StudySpec,
    workload: &Workload,
    plan: &SearchPlan,
    directory: &Path,
    budget: Option<String>,
) -> String {
    let mut lines =
        vec![format!("would search: {}", workload.describe_for_study(spec)), schedule(spec, plan)];
    if workload.is_built_in() && matches!(workload.space, Space::Own(_)) {
        let attempts = "first epochs without learning are added: up to five per network, each at a smaller learning rate";
        lines.push(attempts.to_owned());
    }
    if let Space::Parameters(space) = &workload.space {
        lines.push(format!("parameters:\n{}", parameters(space)));
    }
    lines.extend(spec.sampler.in_words());
    lines.push(stop_rule_line(spec));
    lines.extend(objectives_line(spec));
    lines.extend(rank_line(spec));
    lines.extend(budget);
    lines.extend(counting_line(spec));
    lines.extend(folds_line(spec));
    lines.push(format!(
        "{} trials at a time, seed {}; kept in {}",
        plan.workers,
        spec.seed,
        directory.display()
    ));
    lines.push("nothing was run. To start the search, remove --explain".to_owned());
    lines.join("\n")
}

/// The most options of a choice that are all printed.
const MAX_PRINTED_OPTIONS: usize = 8;

/// A line for all parameters with the same range, in the order of the first of each.
fn parameters(space: &ParameterSpace) -> String {
    let mut ranges: Vec<(String, Vec<&str>)> = Vec::new();
    for Parameter { name, kind, active_if } in space.parameters() {
        let condition = active_if.as_ref().map_or(String::new(), |condition| format!(" if {condition}"));
        let range = short_range(kind) + &condition;
        match ranges.iter_mut().find(|(known, _)| *known == range) {
            Some((_, names)) => names.push(name),
            None => ranges.push((range, vec![name])),
        }
    }
    let lines = ranges.iter().map(|(range, names)| format!("  {}={range}", names.join(", ")));
    lines.collect::<Vec<_>>().join("\n")
}

/// A range as `--param` takes it; of many options the first ones and the last.
fn short_range(kind: &ParameterKind) -> String {
    match kind {
        ParameterKind::Choice { options } if options.len() > MAX_PRINTED_OPTIONS => {
            let (first, last) = (&options[..3], &options[options.len() - 1]);
            let first: Vec<String> = first.iter().map(Value::to_string).collect();
            format!("choice:{},…,{last} ({} options)", first.join(","), options.len())
        }
        kind => kind.to_string(),
    }
}

/// The largest number of trials, or the budget that ends them.
fn trial_count_words(spec: &StudySpec) -> String {
    match spec.budget_epochs {
        Some(budget) => format!("trials until {budget} epochs are spent"),
        None if spec.trials == MAX_PLANNED_TRIALS => "trials until the time is spent".to_owned(),
        None => format!("{} trials", spec.trials),
    }
}

fn schedule(spec: &StudySpec, plan: &SearchPlan) -> String {
    let ends_otherwise = spec.budget_epochs.is_some() || spec.trials == MAX_PLANNED_TRIALS;
    let SearchPlan { trials, max_resource, epochs, epochs_full_training, .. } = plan;
    let share = 100.0 * *epochs as f64 / (*epochs_full_training).max(1) as f64;
    let rungs = format!("rungs at {} epochs", join(&plan.levels));
    match (&spec.schedule, &plan.brackets) {
        (Schedule::Asha { eta, .. }, _) => format!(
            "{}, {rungs}; a trial continues once it is among the best 1/{eta} of its rung{}",
            trial_count_words(spec),
            if ends_otherwise {
                String::new()
            } else {
                format!(": at most {epochs} epochs, if each new trial beat all before it")
            }
        ),
        (_, Some(brackets)) => format!(
            "{brackets}\n{}{epochs} epochs continuing from checkpoints, {} if each rung trained from scratch; training all {trials} to epoch {max_resource} would take {epochs_full_training}: {share:.0} % of that",
            plan.runs.map_or(String::new(), |runs| format!("{runs} run(s): ")),
            plan.epochs_from_scratch
        ),
        _ if spec.resource().is_none() => {
            format!("{}\n{}", trial_count_words(spec), unknown_length_line(spec).unwrap_or_default())
        }
        _ if ends_otherwise => format!("{}, {max_resource} epochs each at most", trial_count_words(spec)),
        _ => format!("{trials} trials of {max_resource} epochs: at most {epochs} epochs"),
    }
}

fn stop_rule_line(spec: &StudySpec) -> String {
    let needs = spec.policy.needs(spec.max_resource);
    let rule = match spec.policy.in_words(spec.caution) {
        _ if needs.nothing => return "no trial is stopped early".to_owned(),
        Some(words) if !needs.burn_in => return format!("stopping: a trial is stopped {words}"),
        Some(words) => words,
        None => format!(
            "once {} is {} % sure (consecutive checks: {}) that they will not win{}",
            spec.predictor,
            spec.criterion.stop_probability * 100.0,
            spec.criterion.agreeing_checks,
            if spec.policy.name() == "lce-optimistic" { ", or of their final value" } else { "" }
        ),
    };
    let from = if spec.schedule.is_full() {
        match spec.burn_in {
            1 if spec.policy.is_by_curve_alone() => "after one completed trial".to_owned(),
            trials => format!("after a burn-in of {trials} completed trials (paper: 100)"),
        }
    } else {
        format!("at each level, after {} trials reached it", spec.burn_in)
    };
    if spec.shadow {
        format!("watching without stopping: {from}, trials {rule} are marked")
    } else {
        format!("stopping: {from}, trials {rule}")
    }
}

fn join(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_the_same_range_share_a_line_and_long_choices_are_shortened() {
        let texts = [
            "a=log:0.1:1",
            "o=choice:x,y",
            "b=log:0.1:1",
            "c=log:0.1:1 if o=x",
            "n=choice:1,2,3,4,5,6,7,8,9",
        ];
        let expected =
            "  a, b=log:0.1:1\n  o=choice:x,y\n  c=log:0.1:1 if o=x\n  n=choice:1,2,3,…,9 (9 options)";
        assert_eq!(parameters(&ParameterSpace::parse(&texts).unwrap()), expected);
    }
}

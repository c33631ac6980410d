//! The lines that a search prints before its first trial.

use super::flags::SearchArguments;
use super::lengths::searched_length_line;
use super::study_run::StudyRun;
use crate::output::short_number;
use crate::scheduling::measure_name;
use foretell::RunScore;
use foretell_search::{Rank, Schedule, Study, StudySpec, StudySummary};

/// The search that is about to run, with the sizes that differ from the paper's.
pub(super) fn opening(search: &StudyRun, arguments: &SearchArguments) -> String {
    let spec = search.study().spec();
    let mut lines = vec![format!("searching: {}", search.workload().describe_for_study(spec))];
    lines.push(format!(
        "{} trials{}, {} at a time, seed {}; kept in {}",
        spec.trials,
        length_of_trials(spec),
        search.workers(),
        spec.seed,
        search.directory().display()
    ));
    lines.push(match (spec.policy.stops(), spec.schedule.is_full()) {
        (false, true) => "no stopping: every trial is completed".to_owned(),
        (false, false) => "no stopping inside the rungs".to_owned(),
        (true, _) => stopping_line(search.study(), spec.shadow),
    });
    lines.extend(unknown_length_line(spec));
    lines.extend(too_few_line(spec));
    lines.extend(objectives_line(spec));
    lines.extend(rank_line(spec));
    lines.extend(arguments.budget_line());
    lines.extend(counting_line(spec));
    lines.extend(folds_line(spec));
    lines.extend(searched_length_line(spec));
    if search.trials_found() > 0 {
        let summary = StudySummary::new(search.study());
        let ended = summary.trials.ended_count();
        lines.push(format!(
            "continuing the study found there: {ended} of {} trials have ended, {} epochs are recorded{}",
            spec.trials,
            summary.epochs.spent,
            if arguments.out.is_none() && search.study().is_done() {
                "; another --seed or --out starts a new one"
            } else {
                ""
            }
        ));
    }
    lines.join("\n")
}

/// The epochs of a trial, in words.
fn length_of_trials(spec: &StudySpec) -> String {
    let most = if spec.schedule.is_full() { "" } else { "up to " };
    spec.resource().map_or(String::new(), |epochs| format!(" of {most}{epochs} epochs"))
}

/// What holds while nobody knows how long a complete trial trains.
pub(super) fn unknown_length_line(spec: &StudySpec) -> Option<String> {
    spec.resource().is_none().then(|| {
        "the epochs of a complete trial are not known yet (no `epochs`): the first trial shows them, and no trial is stopped until then".to_owned()
    })
}

/// A warning that no trial will be completed, because too few reach the rungs.
fn too_few_line(spec: &StudySpec) -> Option<String> {
    let fewest = spec.schedule.fewest_trials(spec.max_resource)?;
    (spec.trials < fewest).then(|| {
        format!(
            "{} trials are too few to complete one: with these rungs, at least {fewest} trials are needed until one reaches epoch {}",
            spec.trials, spec.max_resource
        )
    })
}

/// The score of trials, if it is not their last value.
pub(super) fn counting_line(spec: &StudySpec) -> Option<String> {
    let measure = measure_name(spec.run_score, &spec.metric);
    match spec.run_score {
        RunScore::Best => Some(format!("the score of a trial is the {measure} it reaches")),
        RunScore::Mean(_) => Some(format!("the score of a trial is the {measure}")),
        // with a budget, the best value may well be the one wanted
        RunScore::Last => spec.budget_epochs.map(|_| {
            format!("the score of a trial is its last {}; --score best uses the best one", spec.metric)
        }),
    }
}

/// The folds of trials, if they cross-validate.
pub(super) fn folds_line(spec: &StudySpec) -> Option<String> {
    let (folds, epochs) = (spec.folds(), spec.max_resource);
    let whole = spec.whole_resource();
    (folds > 1).then(|| {
        format!(
            "each trial trains {folds} folds of {epochs} epochs, {whole} in all, and counts with their mean"
        )
    })
}

/// The objectives of trials, if the metric is not the only one.
pub(super) fn objectives_line(spec: &StudySpec) -> Option<String> {
    let mut parts = Vec::new();
    if spec.has_front() {
        let others: Vec<String> = spec.objectives.iter().map(ToString::to_string).collect();
        parts.push(format!("objectives: {} (forecast), {}", spec.metric, others.join(", ")));
    }
    if !spec.limits.is_empty() {
        let limits: Vec<String> = spec.limits.iter().map(ToString::to_string).collect();
        parts.push(format!("limits: {}", limits.join(", ")));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The value that trials are compared by at rungs, if it is not their metric's.
pub(super) fn rank_line(spec: &StudySpec) -> Option<String> {
    let by = match spec.rank {
        Rank::Value => return None,
        Rank::Mean => "the forecast of their final value",
        Rank::Upper => "the forecast of their final value plus its standard deviation",
    };
    let waits = matches!(spec.schedule, Schedule::Asha { .. }) || spec.policy.needs(spec.max_resource).ranks;
    Some(format!(
        "rungs: after {} completed trials, {} compares trials by {by}{}",
        spec.burn_in,
        spec.predictor,
        if waits { "; at a rung that does not predict the final ranks, every trial continues" } else { "" }
    ))
}

/// The rule that will stop trials, in one short line; --explain prints more.
fn stopping_line(study: &Study, watching: bool) -> String {
    let spec = study.spec();
    let (mode, fate, act) = match watching {
        true => ("watching without stopping", "marked", "mark"),
        false => ("stopping", "stopped", "stop"),
    };
    if let Some(words) = spec.policy.in_words(spec.caution) {
        return format!("{mode}: a trial is {fate} {words}");
    }
    // rounded, because 1 − 0.99 is not exactly 0.01 in binary
    let chance = short_number(((1.0 - spec.criterion.stop_probability) * 1e8).round() / 1e6);
    let judged = match spec.criterion.agreeing_checks {
        1 => "a check gives".to_owned(),
        2 => "two checks in a row give".to_owned(),
        checks => format!("{checks} checks in a row give"),
    };
    let (teachers, aim) = match spec.schedule.is_full() {
        true if spec.has_front() => (teachers(study), "joining the front"),
        true => (teachers(study), "winning"),
        false if study.warm_start_runs().is_empty() => {
            (format!("{} trials at a level", spec.burn_in), "continuing")
        }
        false => {
            (format!("{} trials at a level, including those of --learn-from", spec.burn_in), "continuing")
        }
    };
    format!("{mode}: after {teachers}, {act} a trial when {judged} it < {chance} % chance of {aim}")
}

/// The trials that forecasts of final values are learned from.
fn teachers(study: &Study) -> String {
    let burn_in = study.spec().burn_in;
    let full = |count: u64| format!("{count} completed trial{}", if count == 1 { "" } else { "s" });
    match whole_earlier_runs(study) {
        0 => full(burn_in),
        warm_start if warm_start >= burn_in => format!("the {warm_start} runs of --learn-from"),
        warm_start => format!("the {warm_start} runs of --learn-from and {}", full(burn_in - warm_start)),
    }
}

/// How many runs of an earlier search were trained to the end.
fn whole_earlier_runs(study: &Study) -> u64 {
    study.warm_start_runs().iter().filter(|run| study.spec().has_trained_whole(run)).count() as u64
}

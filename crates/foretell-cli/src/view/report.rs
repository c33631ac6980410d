//! The report of a study, as text and as JSON.

use super::front;
use super::rows::{in_one_line, setting};
use crate::asked;
use crate::output::{human_duration, metric_difference, metric_value, percent, table, with_deviation};
use crate::scheduling::measure_name;
use crate::terminal::{fit_to_terminal, visible};
use foretell::statistics::spearman;
use foretell::{Configuration, LayerSequence, RunScore, Value};
use foretell_run::{SECRETS_FILE, secrets_hint};
use foretell_search::{
    Best, LastMetrics, NamedSettings, Parameter, ParetoFront, RecordedForecast, SchedulerName, Space,
    StoppedTrial, Study, StudySummary, StudyTimes, StudyTiming, Trial, TrialState,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The result as JSON: the summary, and which study it is of.
#[derive(Serialize)]
pub(crate) struct StudyDocument {
    schema: &'static str,
    /// The folder that keeps it.
    study: String,
    metric: String,
    sampler: Option<NamedSettings>,
    scheduler: Option<SchedulerName>,
    seed: u64,
    /// The score of trials: `last` or `best`.
    score: RunScore,
    burn_in: u64,
    predictor: String,
    stop_probability: f64,
    /// How long it took; absent in logs of earlier versions, which hold no times.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<StudyTiming>,
    /// The best trials, where so many were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    top: Option<Vec<LeadingTrial>>,
    #[serde(flatten)]
    summary: StudySummary,
    /// The front, where there are several objectives.
    #[serde(skip_serializing_if = "Option::is_none")]
    front: Option<ParetoFront>,
}

impl StudyDocument {
    /// The result of `study`, kept in `directory`, as it stands.
    pub(crate) fn new(schema: &'static str, study: &Study, times: &StudyTimes, directory: &Path) -> Self {
        let (spec, asked) = (study.spec(), study.spec().request());
        Self {
            schema,
            study: directory.display().to_string(),
            metric: spec.metric.clone(),
            sampler: asked.sampler,
            scheduler: asked.scheduler,
            seed: spec.seed,
            score: spec.run_score,
            burn_in: spec.burn_in,
            predictor: spec.predictor.clone(),
            stop_probability: spec.criterion.stop_probability,
            time: times.timing(study),
            top: None,
            summary: StudySummary::new(study),
            front: ParetoFront::new(study),
        }
    }
}

impl StudyDocument {
    /// Adds the `most` best trials.
    pub(crate) fn with_top(self, study: &Study, metrics: &LastMetrics, most: usize) -> Self {
        Self { top: Some(rank_with_metrics(study, metrics, most)), ..self }
    }
}

/// The report for people, the best last: with the newest of the stopped and the failed trials, as many as fit on the screen, or `all` of
/// them, and with the other metrics that the best trials reported.
pub(crate) fn text(study: &Study, document: &StudyDocument, metrics: &LastMetrics, all: bool) -> String {
    // a command keeps to one line, so that it can be copied
    let commands = commands(study, document);
    let with = |most| {
        fit_to_terminal(&report_with_newest(study, document, metrics, most), &console::Term::stdout())
            .into_owned()
            + &commands
    };
    match console::Term::stdout().size_checked() {
        _ if all => with(usize::MAX),
        None => with(MAX_NEWEST_TRIALS),
        // a line is left for the prompt
        Some((rows, _)) => fitting(usize::from(rows).saturating_sub(1), with),
    }
}

/// The longest text of at most `rows` lines that `with` makes of a number of trials to list; that of none, if none fits.
fn fitting(rows: usize, with: impl Fn(usize) -> String) -> String {
    let all = (1..=MAX_NEWEST_TRIALS).rev().map(&with);
    all.into_iter().find(|text| text.lines().count() <= rows).unwrap_or_else(|| with(0))
}

/// The report with the last `most` of the stopped and of the failed trials.
fn report_with_newest(study: &Study, document: &StudyDocument, metrics: &LastMetrics, most: usize) -> String {
    let summary = &document.summary;
    let mut parts = Vec::new();
    parts.extend(stopped_table(study, &summary.stopped, most));
    parts.extend(failed_table(study, &document.study, most));
    parts.extend(doubted_trials_line(study));
    parts.push(spent(study, document));
    parts.extend(shadow(summary));
    parts.extend(lessons(summary));
    parts.extend(early_ranks_line(study));
    match &document.front {
        Some(front) => {
            parts.push(front::text(front, if most == usize::MAX { most } else { front::MAX_REPORTED_TRIALS }))
        }
        None => parts.extend(leaders(study, metrics, MAX_BEST_TRIALS)),
    }
    parts.push(format!("the study is kept in {}", document.study));
    parts.push([best(study, document), gain_and_range_ends(study, document)].concat());
    parts.join("\n\n")
}

/// The number of best trials that the report lists.
const MAX_BEST_TRIALS: usize = 5;
/// The most stopped trials that the report lists, and the most failed ones.
const MAX_NEWEST_TRIALS: usize = 5;
/// The most other metrics that a table shows; JSON and exports have all of them.
pub(crate) const MAX_OTHER_METRICS: usize = 4;
/// The width, in columns, to which a trial's last words are cut.
const MAX_REASON_WIDTH: usize = 100;

/// A table of the last `most` rows, with their total number in the title.
fn newest(title: &str, headings: &[&str], rows: &[Vec<String>], most: usize) -> Option<String> {
    let shown = &rows[rows.len().saturating_sub(most)..];
    let title = match rows.len() {
        0 => return None,
        all if shown.is_empty() => {
            return Some(format!("{all} {title} (`foretell study show STUDY --all` lists them)"));
        }
        all if shown.len() < all => {
            format!("{all} {title}, the last {} shown (all: `foretell study show STUDY --all`)", shown.len())
        }
        _ => title.to_owned(),
    };
    Some(format!("{title}\n{}", table(headings, shown)))
}

/// The trials that failed, each with its last output, and the way to try them again.
fn failed_table(study: &Study, directory: &str, most: usize) -> Option<String> {
    let rows = study.trials().iter().enumerate().filter_map(|(number, trial)| {
        let TrialState::Failed { reason } = &trial.state else { return None };
        let why = in_one_line(reason);
        let why = console::truncate_str(&why, MAX_REASON_WIDTH, "…").into_owned();
        Some(vec![number.to_string(), trial.trained_epochs().to_string(), why])
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let table = newest("failed trials", &["trial", "after", "why"], &rows, most)?;
    let memory = memory_line(study).map_or(String::new(), |line| format!("\n{line}"));
    Some(format!("{table}{memory}\nto retry them after fixing the cause: foretell study retry {directory}"))
}

/// The consequence of trials that ran out of memory.
fn memory_line(study: &Study) -> Option<String> {
    let lost = study.progress().trials.out_of_memory;
    let batches = study.batch_parameters();
    let neighbors = match batches.is_empty() {
        true => String::new(),
        false => format!(", and neither are similar ones with a larger {}", batches.join(" or ")),
    };
    (lost > 0)
        .then(|| format!("out of memory: {lost}; their configurations are not proposed again{neighbors}"))
}

/// The trials whose end is in doubt, or that count for nothing because their configuration is lost.
fn doubted_trials_line(study: &Study) -> Option<String> {
    let in_doubt = list_trials(study, Trial::is_in_doubt).map(|trials| {
        format!("final value uncertain: trials {trials} continued after an interruption, and ended before their last epoch without another report")
    });
    let unknown = list_trials(study, Trial::is_unknown)
        .map(|trials| format!("configuration lost: trials {trials} are ignored"));
    let late = list_trials(study, |trial| trial.late > 0).map(|trials| {
        format!("reported late: trials {trials}, whose workers were disconnected for longer than the lease")
    });
    let lines: Vec<String> = in_doubt.into_iter().chain(unknown).chain(late).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The numbers of the trials that are `chosen`, as text; `None` if none is.
fn list_trials(study: &Study, chosen: impl Fn(&Trial) -> bool) -> Option<String> {
    let trials = study.trials().iter().enumerate().filter(|(_, trial)| chosen(trial));
    let numbers: Vec<String> = trials.map(|(number, _)| number.to_string()).collect();
    (!numbers.is_empty()).then(|| numbers.join(", "))
}

/// A line for each earlier study: whether it counts, and why.
fn lessons(summary: &StudySummary) -> Option<String> {
    let lines: Vec<String> = summary.lessons.iter().map(ToString::to_string).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// A trial that has achieved something.
#[derive(Serialize)]
pub(crate) struct LeadingTrial {
    pub(crate) trial: u64,
    pub(crate) score: f64,
    configuration: Configuration,
    /// The last values of its other metrics, without the study's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metrics: BTreeMap<String, f64>,
}

/// The `most` best trials, the best first.
pub(crate) fn rank_trials(study: &Study, most: usize) -> Vec<LeadingTrial> {
    let leaders = study.leaders().filter_map(|(trial, score)| {
        let configuration = study.trial(trial)?.configuration.clone();
        Some(LeadingTrial { trial, score, configuration, metrics: BTreeMap::new() })
    });
    leaders.take(most).collect()
}

/// The `most` best trials with the last values of their other metrics.
fn rank_with_metrics(study: &Study, metrics: &LastMetrics, most: usize) -> Vec<LeadingTrial> {
    let own = study.spec().metric.as_str();
    let mut leaders = rank_trials(study, most);
    for leader in &mut leaders {
        let others = metrics.get(&leader.trial).into_iter().flatten().filter(|(name, _)| *name != own);
        leader.metrics = others.map(|(name, value)| (name.clone(), *value)).collect();
    }
    leaders
}

/// The best trials with the parameters that vary among them, and with their other metrics; nothing if there are fewer than two.
pub(crate) fn leaders(study: &Study, metrics: &LastMetrics, most: usize) -> Option<String> {
    let leaders = rank_with_metrics(study, metrics, most);
    let first = &leaders.first()?.configuration;
    let differing = first.iter().filter(|(name, value)| {
        !is_network(value) && leaders.iter().any(|leader| leader.configuration.get(*name) != Some(*value))
    });
    let names: Vec<&String> = differing.map(|(name, _)| name).collect();
    if leaders.len() < 2 {
        return None;
    }
    let others: BTreeSet<&String> = leaders.iter().flat_map(|leader| leader.metrics.keys()).collect();
    let others: Vec<&String> = others.into_iter().take(MAX_OTHER_METRICS).collect();
    let rows = leaders.iter().map(|leader| {
        let mut cells = vec![leader.trial.to_string(), metric_value(leader.score)];
        cells.extend(others.iter().map(|name| number(leader.metrics.get(*name).copied())));
        cells.extend(names.iter().map(|name| setting(leader.configuration.get(*name))));
        cells
    });
    let mut headings = vec!["trial", study.spec().metric.as_str()];
    headings.extend(others.iter().chain(&names).map(|name| name.as_str()));
    Some(format!("the {} best\n{}", leaders.len(), table(&headings, &rows.collect::<Vec<_>>())))
}

/// The gain of the best over the configuration that was given first, and a note if the best is at an end of a range.
fn gain_and_range_ends(study: &Study, document: &StudyDocument) -> String {
    let Some(best) = &document.summary.best else { return String::new() };
    let mut lines = Vec::new();
    let first = study.trial(0).filter(|_| !study.spec().queue.is_empty());
    if best.trial == 0 && first.is_some() {
        lines.push("no configuration was better than yours, which was tried first (trial 0)".to_owned());
    } else if let Some(yours) = first {
        lines.extend(gain(study, yours, best));
    }
    lines.extend(edges(study, &best.configuration));
    lines.iter().map(|line| format!("\n  {line}")).collect()
}

/// The commands to run now.
fn commands(study: &Study, document: &StudyDocument) -> String {
    let directory = Path::new(&document.study);
    let secrets = directory.join(SECRETS_FILE);
    let kept = match secrets.exists() {
        true => format!("\n  secrets of the command: {} (only its owner can read it)", secrets.display()),
        false => String::new(),
    };
    let Some(best) = &document.summary.best else { return kept };
    let mut lines = Vec::new();
    if let Some(command) = asked::retrain_command(directory, study.spec(), best.trial, &best.configuration) {
        lines.push(format!("run it: {}", asked::quote_for_shell(&command)));
        lines.extend(secrets_hint(directory, &command).map(|hint| format!("({hint})")));
    }
    if asked::RecordedCommand::read(directory).is_some() {
        let words = ["foretell", "study", "run", &document.study, "--seeds", "3"].map(str::to_owned);
        lines.push(format!("train it with three new seeds: {}", asked::quote_for_shell(&words)));
    }
    lines.iter().map(|line| format!("\n  {line}")).collect::<String>() + &kept
}

/// The gain of the best over the configuration that was tried first: at the end, or after as many epochs as that configuration trained.
fn gain(study: &Study, yours: &Trial, best: &Best) -> Option<String> {
    let spec = study.spec();
    if let TrialState::Completed { value } = yours.state {
        // with repeats or folds a trial counts with their mean, so its own value would not be the one compared
        let value = study.leaders().find(|leader| leader.0 == 0).map_or(value, |leader| leader.1);
        let gain = spec.direction.to_score(best.score) - spec.direction.to_score(value);
        return Some(format!(
            "yours (trial 0) reached {}: the best is {} better",
            metric_value(value),
            metric_difference(gain, best.score, 4)
        ));
    }
    // yours ended early, so that only the values after equally many epochs can be compared
    let (step, score) = yours.curve.last_point()?;
    let there = study.trial(best.trial)?.curve.value_at(step)?;
    Some(format!(
        "yours (trial 0) ended after {step} epochs at {}: the best was then at {}",
        metric_value(spec.direction.to_value(score)),
        metric_value(spec.direction.to_value(there))
    ))
}

/// The parameters of the best that lie at an end of their range.
fn edges(study: &Study, configuration: &Configuration) -> Option<String> {
    let Space::Parameters(space) = &study.spec().space else { return None };
    let edges = space.parameters().iter().filter_map(|Parameter { name, kind, .. }| {
        let end = kind.end_near(configuration.get(name)?)?;
        Some(format!("{name} is at the {end} end of {kind}"))
    });
    let edges: Vec<String> = edges.collect();
    (!edges.is_empty()).then(|| format!("{}: a wider range may contain better values", edges.join(", ")))
}

/// The seeds that the configuration of `trial` was trained with, where there are repeats, or its folds: their values and how much they
/// differ.
pub(crate) fn seeds(study: &Study, trial: u64) -> String {
    let spec = study.spec();
    let (values, all, what) = match spec.folds() {
        1 => (study.repeat_values(trial), spec.repeats(), "seeds"),
        folds => (study.fold_values(trial), folds, "folds"),
    };
    let count = match values.len() as u64 {
        whole if whole == all => whole.to_string(),
        part => format!("{part} of {all}"),
    };
    match &values[..] {
        [] => String::new(),
        [_] => format!(" ({count} {what})"),
        many => {
            // of the seeds that could have been, not only of these
            let freedom = (many.len() as f64 / (many.len() - 1) as f64).sqrt();
            let deviation = freedom * foretell::statistics::standard_deviation(many);
            let each = many.iter().map(|value| metric_value(*value)).collect::<Vec<_>>().join(", ");
            format!(", mean of {count} {what}, from {each} (± {})", metric_difference(deviation, many[0], 4))
        }
    }
}

/// The best trial of a study that completed none: of those that were stopped or left at a rung, the one with the best result, and the command
/// that completes it.
pub(crate) fn best_incomplete(study: &Study, directory: &Path) -> Option<String> {
    let spec = study.spec();
    let results = (0..).zip(study.trials()).filter_map(|(number, trial)| {
        let ended = matches!(trial.state, TrialState::Stopped { .. } | TrialState::Paused { .. });
        // a trial that breaks a limit is no result, and one whose configuration is lost cannot be completed
        let counts = ended && !trial.is_unknown() && !trial.breaks_limit;
        Some((number, spec.direction.to_score(trial.result().filter(|_| counts)?)))
    });
    let (number, score) = results.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let trial = study.trial(number)?;
    let state = if matches!(trial.state, TrialState::Paused { .. }) { "left at a rung" } else { "stopped" };
    let words =
        ["foretell", "study", "run", &directory.display().to_string(), "--trial", &number.to_string()];
    // without the recorded command of a search, `study run` cannot train it, so the trial's own command is shown instead
    let how = match asked::RecordedCommand::read(directory) {
        Some(_) => Some(words.map(str::to_owned).to_vec()),
        None => asked::retrain_command(directory, spec, number, &trial.configuration),
    };
    let how =
        how.map_or(String::new(), |words| format!("\n  complete it: {}", asked::quote_for_shell(&words)));
    Some(format!(
        "no trial was completed. The best of the others is trial {number}, {state} after {} epochs: {} {}{how}",
        trial.trained_epochs(),
        spec.metric,
        metric_value(spec.direction.to_value(score))
    ))
}

fn best(study: &Study, document: &StudyDocument) -> String {
    let Some(best) = &document.summary.best else {
        if let Some(text) = best_incomplete(study, Path::new(&document.study)) {
            return text;
        }
        let kept = if study.spec().limits.is_empty() { "" } else { " that keeps the limits" };
        return format!("no trial{kept} was completed, so there is no best one");
    };
    let settings = applying_parameters(&best.configuration).filter(|(_, value)| !is_network(value));
    let settings: Vec<String> =
        settings.map(|(name, value)| visible(&format!("{name} {value}")).into_owned()).collect();
    let networks = best.configuration.values().filter(|value| is_network(value));
    let network: String = networks.map(|network| format!("\n  {network}")).collect();
    format!(
        "best: trial {}, {} {}{}{network}\n  {}",
        best.trial,
        measure_name(study.spec().run_score, &study.spec().metric),
        metric_value(best.score),
        seeds(study, best.trial),
        settings.join(", ")
    )
}

/// Whether it is a network in layer notation, which has a line of its own.
fn is_network(value: &Value) -> bool {
    value.as_text().is_some_and(|text| text.parse::<LayerSequence>().is_ok())
}

/// The parameters that apply, with their values.
pub(crate) fn applying_parameters(configuration: &Configuration) -> impl Iterator<Item = (&String, &Value)> {
    configuration.iter().filter(|(_, value)| **value != Value::Missing)
}

fn spent(study: &Study, document: &StudyDocument) -> String {
    let summary = &document.summary;
    let (tally, epochs) = (summary.trials, summary.epochs);
    let saved = 100.0 * epochs.saving().share();
    let rungs = !study.spec().schedule.is_full();
    let paused = if rungs { format!("{} left at a rung, ", tally.paused) } else { String::new() };
    let mut text = format!(
        "{} trials: {} completed, {paused}{} stopped, {}\nepochs: {} spent, {} without stopping",
        tally.total,
        tally.completed,
        tally.stopped,
        tally.describe_failed(),
        epochs.spent,
        epochs.without_stopping
    );
    // the saving by stopping is known once a trial has completed
    if !study.spec().shadow && study.spec().policy.stops() && epochs.spent > 0 && tally.completed > 0 {
        text += &format!(": {saved:.0} % saved, {:.2} times faster", summary.speedup);
    }
    if study.spec().is_open_ended {
        text += &match study.spec().resource() {
            Some(epochs) => format!("\nepochs of a complete trial: {epochs}, as trials have shown"),
            None => "\nepochs of a complete trial: not known yet, because none was completed".to_owned(),
        };
    }
    if epochs.ended_early > 0 && tally.stopped > 0 {
        text += &format!(
            "\n{} of {} completed trials ended by themselves before epoch {}. The saving of a stopped trial is based on the mean length of those that trained longer",
            epochs.ended_early,
            tally.completed,
            study.spec().max_resource
        );
    }
    if rungs {
        text += &format!(
            "\n{} epochs if each rung trained from scratch; {} to complete every trial",
            epochs.from_scratch, epochs.full_training
        );
    }
    text.extend(document.time.map(|time| time_line(study, &time)));
    text += &why_ended(study);
    if let Some(audit) = summary.audit {
        text += &format!(
            "\naudit: {} exempt trials would have been stopped, {} of them wrongly",
            audit.spared, audit.wrongly
        );
    }
    text
}

/// Why the search ended before its number of trials, if it did.
fn why_ended(study: &Study) -> String {
    let mut text = String::new();
    if study.is_space_spent() {
        text += &match &study.spec().space {
            Space::Parameters(_) => {
                let all = study.trials().len();
                let kept = match (study.spec().limits.is_empty(), study.progress().trials.out_of_memory) {
                    (true, 0) => "",
                    (false, 0) => " that keep the limits",
                    (true, _) => " that fit into memory",
                    (false, _) => " that keep the limits and fit into memory",
                };
                format!(
                    "\nthe search ended: all {all} configurations of the space{kept} were tried. More values or wider ranges continue it"
                )
            }
            Space::Own(part) => {
                format!("\nthe search ended: the sampler finds no further configuration of {}", part.name())
            }
        };
    }
    if let Some(budget) = study.spec().budget_epochs.filter(|_| study.is_budget_spent()) {
        text += &format!(
            "\nthe search ended: the rest of the budget of {budget} epochs is too small for the next training"
        );
    }
    if let Some(most) = study.spec().until_no_improvement.filter(|_| study.is_without_improvement()) {
        text += &format!(
            "\nthe search ended: {most} trials in a row without improvement (--until-no-improvement {most})"
        );
    }
    if let Some((best, target)) = study.best().zip(study.spec().target).filter(|_| study.is_at_target()) {
        text += &format!(
            "\nthe search ended: trial {} reached the target {target} (--target {target})",
            best.trial
        );
    }
    text
}

/// The time that it took, the time that this saved, and the time left.
fn time_line(study: &Study, time: &StudyTiming) -> String {
    let mut text = format!(
        "\ntime: {} of searching, {} of training",
        human_duration(time.elapsed_seconds),
        human_duration(time.training_seconds)
    );
    if !study.spec().shadow && time.saved_seconds > 0.0 {
        text += &format!("; stopping saved {} of training", human_duration(time.saved_seconds));
    }
    remaining_time(study, time.left_seconds).map_or(text.clone(), |left| format!("{text}; {left}"))
}

/// The time that `study` will still take: "about 3 min left". `None` once it is done, or where the estimate has run out.
pub(crate) fn remaining_time(study: &Study, seconds: Option<f64>) -> Option<String> {
    let seconds = seconds.filter(|&seconds| seconds >= 1.0 && !study.is_done())?;
    Some(format!("about {} left", human_duration(seconds)))
}

/// With fewer trials, a rank correlation shows nothing.
const MIN_RANKED_TRIALS: usize = 5;
/// A rank correlation below this is called weak.
const WEAK_CORRELATION: f64 = 0.3;

/// A note if the ranks of trials half-way predict those at their end poorly: then forecasts are less sure, and stop less.
fn early_ranks_line(study: &Study) -> Option<String> {
    let spec = study.spec();
    let learns = spec.policy.is_by_forecasts() && !spec.policy.is_by_curve_alone();
    if !learns || !spec.schedule.is_full() || spec.resource().is_none() {
        return None;
    }
    let half = spec.max_resource.div_ceil(2);
    let whole = study.trials().iter().filter(|trial| matches!(trial.state, TrialState::Completed { .. }));
    let (early, ends): (Vec<f64>, Vec<f64>) = whole
        .filter_map(|trial| {
            // interpolated, because a trial may have reported before and after the half, but not there
            trial.curve.interpolate_at(half as f64).zip(spec.run_score.value_of(&trial.curve))
        })
        .unzip();
    let correlation = spearman(&early, &ends);
    (early.len() >= MIN_RANKED_TRIALS && correlation < WEAK_CORRELATION).then(|| {
        format!(
            "early scores hardly predict final ones here: their rank correlation at epoch {half} is {correlation:.2}, over {} completed trials. Forecasts are less certain, and stop fewer trials",
            early.len()
        )
    })
}

fn stopped_table(study: &Study, stopped: &[StoppedTrial], most: usize) -> Option<String> {
    let watching = study.spec().shadow;
    let title = if watching { "trials that would have been stopped" } else { "stopped trials" };
    let rows = stopped.iter().map(|s| {
        let after = study.trial(s.trial).map_or(s.step, |trial| trial.trained_at(s.step));
        let mut cells = vec![s.trial.to_string(), after.to_string(), s.reason.to_string()];
        cells.extend(decision_grounds(s.forecast, s.incumbent, s.chance.or(s.probability)));
        if watching {
            cells.push(number(s.truth));
        }
        cells
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let by_chance = stopped.iter().any(|stopped| stopped.chance.is_some());
    let mut headings = vec!["trial", "after", "why", "forecast", "against", odds_heading(by_chance)];
    if watching {
        headings.push("really");
    }
    newest(title, &headings, &rows, most)
}

/// The heading of the last of the [`decision_grounds`].
pub(crate) fn odds_heading(by_chance: bool) -> &'static str {
    if by_chance { "chance to be the best" } else { "sure" }
}

/// The grounds of a decision: the forecast, the value to beat, and the probability of losing, or the chance to be the best.
pub(crate) fn decision_grounds(
    forecast: Option<RecordedForecast>,
    incumbent: Option<f64>,
    probability: Option<f64>,
) -> [String; 3] {
    let forecast = forecast.map_or("–".to_owned(), |forecast| with_deviation(forecast.mean, forecast.sd));
    let sure = probability.map_or("–".to_owned(), |probability| percent(probability, 2));
    [forecast, number(incumbent), sure]
}

fn number(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), metric_value)
}

fn shadow(summary: &StudySummary) -> Option<String> {
    let shadow = summary.shadow.as_ref()?;
    let survived = if shadow.best_survived { "would have been kept" } else { "would have been stopped" };
    let wrong = shadow.stopped_wrongly.len();
    let regret = metric_difference(shadow.regret, summary.best.as_ref().map_or(1.0, |best| best.score), 4);
    Some(format!(
        "with stopping: {} epochs spent instead of {}, {:.2} times faster\nthe best trial {survived} (regret {regret}); trials that would have been stopped wrongly: {wrong}",
        shadow.spent_if_stopped, summary.epochs.without_stopping, shadow.speedup_if_stopped
    ))
}

#[cfg(test)]
mod tests {
    use super::{fitting, newest};

    #[test]
    fn a_report_lists_as_many_trials_as_fit_on_the_screen() {
        let rows: Vec<Vec<String>> = (0..9).map(|at| vec![at.to_string()]).collect();
        let with = |most| newest("stopped trials", &["trial"], &rows, most).expect("there are some");
        for (screen, lines, first) in
            [(50, 7, "the last 5 shown"), (5, 5, "the last 3 shown"), (1, 1, "--all` lists")]
        {
            let text = fitting(screen, with);
            assert_eq!(text.lines().count(), lines, "{text}");
            assert!(text.contains(first), "{text}");
        }
    }
}

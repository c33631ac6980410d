//! `foretell study`: shows stored studies, also while they run, and repairs or removes them.

mod best;
mod compare;
mod doctor;
mod enqueue;
mod export;
mod front;
mod list;
pub(crate) mod note_file;
mod remove;
mod reread;
mod retry;
mod table;

use super::search::again::{self, RetrainRequest, no_trial};
use crate::catalogue::{catalogue, epsilon_stages};
use crate::examples;
use crate::failure::{CommandResult, Failure};
use crate::output::{OutputFormat, metric_value, print, print_json, table};
use crate::plot::{self, FigureSize};
use crate::view::picture::{self, FigureKind};
use crate::view::report;
use crate::view::rows::until_text;
use foretell::Direction;
use foretell_run::{StoredStudy, Usage};
use foretell_search::{Decision, EarlierTrial, Record, ReportColumns, Trial, TrialState};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use table::TableFormat;

const STUDY_SCHEMA: &str = "foretell.study/1";

/// The arguments of `foretell study`.
#[derive(clap::Args)]
pub(crate) struct StudyArguments {
    #[command(subcommand)]
    action: StudyAction,
}

/// Output format.
#[derive(clap::Args)]
struct FormatFlags {
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
    /// Print JSON, like --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl FormatFlags {
    /// The format that was asked for.
    fn format(&self) -> OutputFormat {
        if self.json { OutputFormat::Json } else { self.format }
    }
}

#[derive(clap::Subcommand)]
enum StudyAction {
    /// List the studies in a folder.
    #[command(after_help = examples::LS_EXAMPLES)]
    Ls {
        /// Folder that contains the studies.
        #[arg(default_value = crate::commands::search::DEFAULT_STUDIES_FOLDER)]
        folder: PathBuf,
        /// Sort order.
        #[arg(long, value_enum, default_value_t)]
        sort: list::SortOrder,
        #[command(flatten)]
        form: FormatFlags,
    },
    /// Compare two studies, and test whether B is better.
    #[command(after_help = examples::COMPARE_EXAMPLES)]
    Compare {
        /// Folder of study A.
        #[arg(value_name = "A")]
        first: PathBuf,
        /// Folder of study B.
        #[arg(value_name = "B")]
        second: PathBuf,
        #[command(flatten)]
        form: FormatFlags,
    },
    /// Try these configurations next, also while the study runs.
    #[command(after_help = examples::ENQUEUE_EXAMPLES)]
    Enqueue {
        /// Folder of the study.
        study: PathBuf,
        /// Configurations, such as lr=0.1,opt=sgd. The sampler chooses the values that you leave out.
        #[arg(value_name = "NAME=VALUE,…")]
        configurations: Vec<String>,
        /// File with one configuration per line. Write NAME=VALUE,… or a JSON object.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Add a note to a study, or show its notes.
    #[command(after_help = examples::NOTE_EXAMPLES)]
    Note {
        /// Folder of the study.
        study: PathBuf,
        /// Text to add.
        text: Vec<String>,
    },
    /// Show the best trial: its command line, parameters, checkpoints and forecast.
    #[command(after_help = examples::BEST_EXAMPLES)]
    Best {
        /// Folder of the study.
        study: PathBuf,
        /// Which trial to show by rank, for example 2 for the second best.
        #[arg(default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
        nth: u64,
        /// Output format.
        #[arg(long, value_enum, default_value_t)]
        format: best::BestFormat,
        /// Print JSON, like --format json.
        #[arg(long, conflicts_with = "format")]
        json: bool,
    },
    /// Show the Pareto front of a study with several objectives.
    #[command(after_help = examples::FRONT_EXAMPLES)]
    Front {
        /// Folder of the study.
        study: PathBuf,
        /// Output format.
        #[arg(long, value_enum, default_value_t)]
        format: front::FrontFormat,
        /// Plot the front to this file (.svg or .png), with stopped trials at their forecasts.
        #[arg(long, value_name = "FILE")]
        plot: Option<PathBuf>,
        /// Size of the plot in a paper, such as 3.3x2.5in (also cm, mm or px). Text is then 8 points high, and the title is left out.
        #[arg(long, value_name = "SIZE")]
        plot_size: Option<FigureSize>,
    },
    /// Train the best trial again, longer or with other seeds.
    #[command(after_help = examples::RUN_EXAMPLES)]
    Run {
        /// Folder of the study.
        study: PathBuf,
        /// Number of the trial to train (default: the best one).
        #[arg(long)]
        trial: Option<u64>,
        /// Train for this many epochs or steps (default: as in the search).
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
        epochs: Option<u64>,
        /// Train with this many seeds, and show their mean.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
        seeds: u64,
        #[command(flatten)]
        form: FormatFlags,
    },
    /// Show a study's results, or one trial's curve and decisions.
    #[command(after_help = examples::SHOW_EXAMPLES)]
    Show {
        /// Folder of the study.
        study: PathBuf,
        /// Number of the trial.
        trial: Option<u64>,
        /// Show this many of the best trials with their parameters.
        #[arg(long, value_name = "N", conflicts_with = "trial")]
        top: Option<usize>,
        /// List all stopped and failed trials, not only the newest.
        #[arg(long, conflicts_with_all = ["trial", "top"])]
        all: bool,
        #[command(flatten)]
        form: FormatFlags,
    },
    /// Export a study's curves, or a table of its trials.
    #[command(after_help = examples::EXPORT_EXAMPLES)]
    Export {
        /// Folder of the study.
        study: PathBuf,
        /// Write one row per trial instead of its curve, with state, score, epochs, times, forecast, reason, parameters and the last value
        /// of every metric. Curves are one line per trial in JSON, and one row per report in a table.
        #[arg(long)]
        trials: bool,
        /// Output format (default: by the extension of the file, .csv or .parquet; otherwise jsonl).
        #[arg(long, value_enum)]
        format: Option<TableFormat>,
        /// Output file (default: standard output).
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Plot a study's curves, with forecasts of stopped trials.
    #[command(after_help = examples::PLOT_EXAMPLES)]
    Plot {
        /// Folder of the study.
        study: PathBuf,
        /// Output file (.svg or .png; default: curves.svg in the study's folder).
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Size of the plot in a paper, such as 3.3x2.5in (also cm, mm or px). Text is then 8 points high, and the title is left out.
        #[arg(long, value_name = "SIZE")]
        plot_size: Option<FigureSize>,
        /// Also plot this metric below, for example loss. Can be repeated.
        #[arg(long, value_name = "METRIC")]
        watch: Vec<String>,
    },
    /// Delete a study with its log, output and checkpoints.
    #[command(after_help = examples::RM_EXAMPLES)]
    Rm {
        /// Folder of the study.
        study: PathBuf,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
    /// Retry failed trials, after you fixed the cause.
    #[command(after_help = examples::RETRY_EXAMPLES)]
    Retry {
        /// Folder of the study.
        study: PathBuf,
        /// Numbers of the trials (default: all failed trials).
        #[arg(value_name = "TRIAL")]
        trials: Vec<u64>,
    },
    /// Read the output of all trials again with another metric, as a new study, without training anything.
    #[command(after_help = examples::REREAD_EXAMPLES)]
    Reread {
        /// Folder of the study.
        study: PathBuf,
        /// Name of the metric, or its line with {value} for the number, as in a search.
        #[arg(long)]
        metric: String,
        /// Line that contains the epoch, as in a search.
        #[arg(long)]
        step: Option<String>,
        /// Minimize the metric (default: inferred from its name).
        #[arg(long)]
        minimize: bool,
        /// Maximize the metric (default: inferred from its name).
        #[arg(long, conflicts_with = "minimize")]
        maximize: bool,
        /// Folder of the new study (default: the study's folder with `-reread` at the end).
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Check the log of a study, and repair it.
    #[command(after_help = examples::DOCTOR_EXAMPLES)]
    Doctor {
        /// Folder of the study.
        study: PathBuf,
        /// Repair a damaged log by keeping its intact part. The damaged one is kept next to it.
        #[arg(long)]
        repair: bool,
        #[command(flatten)]
        form: FormatFlags,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &StudyArguments) -> CommandResult {
    match &arguments.action {
        StudyAction::Ls { folder, sort, form } => list::run(folder, *sort, form.format()),
        StudyAction::Compare { first, second, form } => compare::run(
            &StoredStudy::read(first, catalogue())?,
            &StoredStudy::read(second, catalogue())?,
            form.format(),
        ),
        StudyAction::Enqueue { study, configurations, file } => {
            enqueue::run(&StoredStudy::read(study, catalogue())?, configurations, file.as_deref())
        }
        StudyAction::Note { study, text } => {
            note_file::run(&StoredStudy::read(study, catalogue())?.directory, text)
        }
        StudyAction::Best { study, nth, format, json } => best::run(
            &StoredStudy::read(study, catalogue())?,
            usize::try_from(*nth).unwrap_or(usize::MAX),
            if *json { best::BestFormat::Json } else { *format },
        ),
        StudyAction::Front { study, format, plot, plot_size } => {
            FigureSize::apply(*plot_size);
            front::run(&StoredStudy::read(study, catalogue())?, *format, plot.as_deref())
        }
        StudyAction::Run { study, trial, epochs, seeds, form } => {
            let stored = StoredStudy::read(study, catalogue())?;
            let trial = trial.or_else(|| stored.study.best().map(|best| best.trial)).ok_or_else(|| {
                Failure::midway(
                    "no trial was completed, so there is no best one yet. Choose a trial with --trial",
                )
            })?;
            again::run(&stored, &RetrainRequest { trial, epochs: *epochs, seeds: *seeds }, form.format())
        }
        StudyAction::Show { study, trial: None, top, all, form } => {
            show(&StoredStudy::read(study, catalogue())?, *top, *all, form.format())
        }
        StudyAction::Show { study, trial: Some(trial), form, .. } => {
            show_trial(&StoredStudy::read(study, catalogue())?, *trial, form.format())
        }
        StudyAction::Plot { study, out, plot_size, watch } => {
            FigureSize::apply(*plot_size);
            draw(&StoredStudy::read(study, catalogue())?, out.as_deref(), watch)
        }
        StudyAction::Retry { study, trials } => retry::run(&StoredStudy::read(study, catalogue())?, trials),
        StudyAction::Reread { study, metric, step, minimize, maximize, out } => {
            let direction = match (minimize, maximize) {
                (true, _) => Some(Direction::Minimize),
                (_, true) => Some(Direction::Maximize),
                _ => None,
            };
            let (step, out) = (step.as_deref(), out.as_deref());
            reread::run(
                &StoredStudy::read(study, catalogue())?,
                &reread::RereadRequest { metric, step, direction, out },
            )
        }
        StudyAction::Rm { study, yes } => remove::run(study, *yes),
        StudyAction::Export { study, trials, format, out } => {
            export::run(&StoredStudy::read(study, catalogue())?, *trials, *format, out.as_deref())
        }
        StudyAction::Doctor { study, repair, form } => doctor::run(study, *repair, form.format()),
    }
}

/// Draws the study.
fn draw(stored: &StoredStudy, out: Option<&Path>, watch: &[String]) -> CommandResult {
    let path = out.map_or_else(|| stored.directory.join("curves.svg"), Path::to_owned);
    if out.is_none() && path.is_symlink() {
        return Err(Failure::input(format!(
            "{}: it is a symbolic link, and Foretell does not write through links. Choose another file with --out",
            path.display()
        )));
    }
    plot::check_place(&path, None).map_err(Failure::input)?;
    let name = picture::name(&stored.directory);
    let kind = match epsilon_stages(&stored.study.spec().sampler).is_empty() {
        true => FigureKind::Curves,
        false => FigureKind::QLearning,
    };
    let watched = picture::read_watched_curves(&stored.directory, watch)?;
    plot::save(&path, &picture::draw(&stored.study, &name, kind, watched)).map_err(Failure::midway)?;
    print(&format!("wrote the plot {}", path.display()))
}

fn show(stored: &StoredStudy, top: Option<usize>, all: bool, format: OutputFormat) -> CommandResult {
    let document = report::StudyDocument::new(STUDY_SCHEMA, &stored.study, &stored.times, &stored.directory);
    let metrics = export::last_metrics(stored)?;
    let (document, table) = match top {
        None => (document, None),
        Some(most) => {
            let table = report::leaders(&stored.study, &metrics, most);
            (document.with_top(&stored.study, &metrics, most), table)
        }
    };
    match (format, table) {
        (OutputFormat::Json, _) => print_json(&document),
        (OutputFormat::Table, Some(table)) => print(&table),
        (OutputFormat::Table, None) => print(&report::text(&stored.study, &document, &metrics, all)),
    }
}

/// One trial with every decision on it.
#[derive(Serialize)]
struct TrialDocument<'a> {
    schema: &'static str,
    trial: u64,
    configuration: &'a foretell::Configuration,
    /// The trial of an earlier study that has the same configuration, if it was tried again because of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<&'a EarlierTrial>,
    #[serde(flatten)]
    state: &'a TrialState,
    steps: Vec<u64>,
    /// Null where a value is not finite.
    values: Vec<Option<f64>>,
    /// The other metrics, value by value; null where one was not reported.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metrics: BTreeMap<String, Vec<Option<f64>>>,
    /// The memory and the GPUs that it used, if it ran on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    decisions: Vec<Decision>,
}

fn show_trial(stored: &StoredStudy, number: u64, format: OutputFormat) -> CommandResult {
    let trials = stored.study.trials();
    let Some(trial) = trials.get(number as usize) else {
        return Err(no_trial(stored, number));
    };
    let (mut decisions, mut steps, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut reports = ReportColumns::default();
    stored.for_each_record(|record| match record {
        Record::Decided(decision) if decision.trial == number => decisions.push(decision),
        Record::Reported { trial, step, value, .. } if trial == number => {
            steps.push(step);
            values.push(value);
            reports.see(&record);
        }
        _ => {}
    })?;
    let own = &stored.study.spec().metric;
    let metrics = reports.metrics().filter(|(name, _)| *name != own);
    let metrics = metrics.map(|(name, values)| (name.to_owned(), values)).collect();
    let shown = TrialDocument {
        schema: STUDY_SCHEMA,
        trial: number,
        configuration: &trial.configuration,
        earlier: trial.earlier.as_ref(),
        state: &trial.state,
        steps,
        values,
        metrics,
        usage: Usage::read(&stored.directory, number),
        decisions,
    };
    match format {
        OutputFormat::Json => print_json(&shown),
        OutputFormat::Table => print(&trial_text(stored, trial, &shown)),
    }
}

fn trial_text(stored: &StoredStudy, trial: &Trial, shown: &TrialDocument<'_>) -> String {
    let state = match &trial.state {
        TrialState::Paused { .. } if stored.study.is_budget_spent() => "paused, budget spent".to_owned(),
        TrialState::Paused { .. } => "paused at its rung".to_owned(),
        TrialState::Completed { .. } => "completed".to_owned(),
        TrialState::Stopped { reason, .. } => format!("stopped: {}", reason),
        TrialState::Failed { .. } => "failed".to_owned(),
        TrialState::Running | TrialState::Interrupted => "unfinished".to_owned(),
    };
    let why = match &trial.state {
        TrialState::Failed { reason } => format!("{reason}\n"),
        _ => String::new(),
    };
    let settings =
        report::applying_parameters(shown.configuration).map(|(name, value)| format!("  {name} {value}"));
    let mut text = format!(
        "trial {}: {state}, after {} of {} epochs\n{why}{}",
        shown.trial,
        trial.trained_epochs(),
        until_text(trial),
        settings.collect::<Vec<_>>().join("\n")
    );
    if let Some(earlier) = shown.earlier {
        text += &format!("\n  repeats {earlier}");
    }
    if let Some(usage) = &shown.usage {
        text += &format!("\nused: {}", usage_text(usage));
    }
    let decisions = decisions_by_step(&shown.decisions);
    let others: Vec<(&String, &Vec<Option<f64>>)> =
        shown.metrics.iter().take(report::MAX_OTHER_METRICS).collect();

    let rows: Vec<Vec<String>> = shown
        .steps
        .iter()
        .zip(&shown.values)
        .enumerate()
        .map(|(row, (&step, value))| {
            let mut cells = vec![step.to_string(), optional_value(*value)];
            cells.extend(others.iter().map(|(_, values)| optional_value(values[row])));
            cells.extend(
                decisions
                    .get(&step)
                    .map_or_else(|| vec![String::new(); 6], |decided| decision_cells(decided)),
            );
            cells
        })
        .collect();
    let metric = stored.study.spec().metric.as_str();
    let mut headings = vec!["epoch", metric];
    headings.extend(others.iter().map(|(name, _)| name.as_str()));
    let by_chance = shown.decisions.iter().any(|decision| decision.chance.is_some());
    headings.extend(["forecast", "5 to 95 %", "against", report::odds_heading(by_chance), "then", "why"]);
    text += &format!("\n\n{}", table(&headings, &rows));
    text
}

fn optional_value(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), metric_value)
}

/// The memory and the GPUs that a trial used, in words.
fn usage_text(usage: &Usage) -> String {
    let gpu = usage.peak_gpu_memory.filter(|bytes| *bytes > 0);
    let gpu = gpu.map(|bytes| format!(", GPU memory up to {}", memory_size(bytes)));
    let busy = usage.gpu_busy().map(|busy| format!(", GPU busy for {busy:.0} % of the time"));
    let memory = memory_size(usage.peak_memory);
    format!("memory up to {memory}{}{}", gpu.unwrap_or_default(), busy.unwrap_or_default())
}

fn memory_size(bytes: u64) -> String {
    match bytes {
        0..0x4000_0000 => format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20)),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}

/// One decision per step: the last one, as a promoted trial is checked again at the step where it paused; but a stop is not hidden
/// by decisions after its promotion.
fn decisions_by_step(decisions: &[Decision]) -> BTreeMap<u64, &Decision> {
    let mut by_step: BTreeMap<u64, &Decision> = BTreeMap::new();
    for decided in decisions {
        let there = by_step.entry(decided.step).or_insert(decided);
        if there.action != foretell::Action::Stop {
            *there = decided;
        }
    }
    by_step
}

/// A decision in the columns forecast, 5 to 95 % (the quantiles), against, sure, then, why.
fn decision_cells(decision: &Decision) -> Vec<String> {
    let [forecast, against, sure] = report::decision_grounds(
        decision.forecast,
        decision.incumbent,
        decision.chance.or(decision.probability),
    );
    let then = match decision.action {
        foretell::Action::Stop => "stop",
        foretell::Action::Continue => "continue",
    };
    let quantiles = decision.forecast.map_or("–".to_owned(), |forecast| {
        let (low, high) = forecast.interval;
        format!("{} to {}", metric_value(low), metric_value(high))
    });
    vec![forecast, quantiles, against, sure, then.to_owned(), decision.reason.to_string()]
}

#[cfg(test)]
mod tests {
    use super::decisions_by_step;
    use foretell::Action;
    use foretell_search::{Decision, Reason};

    #[test]
    fn a_stop_is_shown_though_its_trial_was_promoted() {
        let decided = |action, reason| Decision {
            trial: 0,
            step: 3,
            action,
            reason,
            forecast: None,
            value: None,
            incumbent: None,
            probability: None,
            chance: None,
            shadow: false,
        };
        let stop = decided(Action::Stop, Reason::WillNotWin);
        let on = decided(Action::Continue, Reason::BurnIn);
        assert_eq!(decisions_by_step(&[stop.clone(), on.clone()])[&3].reason, Reason::WillNotWin);
        assert_eq!(decisions_by_step(&[on, stop])[&3].reason, Reason::WillNotWin);
    }
}

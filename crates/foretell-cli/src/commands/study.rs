//! `foretell study`: shows stored studies, also while they run, and mends or removes them.

mod best;
mod compare;
mod doctor;
mod enqueue;
mod front;
mod list;
pub(crate) mod note_file;
mod remove;
mod trials_table;

use super::search::again::{self, Again, no_trial};
use super::search::{FigureKind, report, study_picture};
use crate::failure::{Failure, Outcome};
use crate::output::{Format, metric_value, note, print, print_json, table};
use crate::plot;
use foretell_run::Stored;
use foretell_search::{Decision, Record, SamplerSpec, Trial, TrialState};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use trials_table::TableFormat;
pub(crate) use trials_table::rows_of as trial_rows;

const SCHEMA: &str = "foretell.study/1";

/// The arguments of `foretell study`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// The form of the result.
#[derive(clap::Args)]
struct Form {
    /// The form of the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List the studies in a folder.
    Ls {
        /// The folder that holds the studies' folders.
        #[arg(default_value = "foretell-out")]
        folder: PathBuf,
        /// What to sort by.
        #[arg(long, value_enum, default_value_t)]
        sort: list::Order,
        #[command(flatten)]
        form: Form,
    },
    /// Say whether study B found something better than study A, and how sure that is.
    Compare {
        /// The folder of study A.
        #[arg(value_name = "A")]
        first: PathBuf,
        /// The folder of study B.
        #[arg(value_name = "B")]
        second: PathBuf,
        #[command(flatten)]
        form: Form,
    },
    /// Have configurations tried next, also while the study runs; the sampler chooses what they leave open.
    Enqueue {
        /// The study's folder.
        study: PathBuf,
        /// Configurations, such as lr=0.1,opt=sgd or only lr=0.1.
        #[arg(value_name = "NAME=VALUE,…")]
        configurations: Vec<String>,
        /// File with a configuration a line, as NAME=VALUE,… or as a JSON object.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Add a line to the notes about a study, or show them.
    Note {
        /// The study's folder.
        study: PathBuf,
        /// The text to add.
        text: Vec<String>,
    },
    /// Print what to run now: the command line of the best trial, its parameters, checkpoints, forecast and truth.
    Best {
        /// The study's folder.
        study: PathBuf,
        /// Which of the best: 2 for the second best.
        #[arg(default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
        nth: u64,
        /// The form of the result.
        #[arg(long, value_enum, default_value_t)]
        format: best::BestFormat,
    },
    /// Show the front of a study with several objectives: the trials that no other is better than in everything.
    Front {
        /// The study's folder.
        study: PathBuf,
        /// The form of the result.
        #[arg(long, value_enum, default_value_t)]
        format: front::FrontFormat,
        /// Draw the front into this file (.svg or .png), stopped trials at their forecasts.
        #[arg(long, value_name = "FILE")]
        plot: Option<PathBuf>,
    },
    /// Train the best trial anew, longer or with other seeds, and show mean and spread.
    Run {
        /// The study's folder.
        study: PathBuf,
        /// The trial's number (default: the best).
        #[arg(long)]
        trial: Option<u64>,
        /// Epochs (or steps) to train for (default: as long as in the search).
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
        epochs: Option<u64>,
        /// Number of trainings, each with a new seed.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
        seeds: u64,
        #[command(flatten)]
        form: Form,
    },
    /// Show the results of a study so far, or the curve of one trial and every decision on it.
    Show {
        /// The study's folder.
        study: PathBuf,
        /// The trial's number.
        trial: Option<u64>,
        /// Number of best trials to show, with their parameters.
        #[arg(long, value_name = "N", conflicts_with = "trial")]
        top: Option<usize>,
        /// List all trials that were stopped or failed, not only the newest.
        #[arg(long, conflicts_with_all = ["trial", "top"])]
        all: bool,
        #[command(flatten)]
        form: Form,
    },
    /// Write the study's curves as JSON lines, which the other commands read, or a table of its trials.
    Export {
        /// The study's folder.
        study: PathBuf,
        /// Write one row a trial: state, score, epochs, forecast, reason, parameters and the last value of every metric.
        #[arg(long)]
        trials: bool,
        /// The form of the table (default: csv for a file that ends in .csv, else jsonl).
        #[arg(long, value_enum, requires = "trials")]
        format: Option<trials_table::TableFormat>,
        /// The file to write (default: standard output).
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Draw the study's curves, stopped ones with their forecasts.
    Plot {
        /// The study's folder.
        study: PathBuf,
        /// The picture (.svg or .png; default: curves.svg in the study's folder).
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Remove a study: its log, and its trials' output and checkpoints.
    Rm {
        /// The study's folder.
        study: PathBuf,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
    /// Check the study's log, and list the trials that its next start would continue.
    Doctor {
        /// The study's folder.
        study: PathBuf,
        /// Keep the sound part of a damaged log; the damaged log is kept next to it.
        #[arg(long)]
        repair: bool,
        #[command(flatten)]
        form: Form,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.action {
        Action::Ls { folder, sort, form } => list::run(folder, *sort, form.format),
        Action::Compare { first, second, form } => {
            compare::run(&Stored::read(first)?, &Stored::read(second)?, form.format)
        }
        Action::Enqueue { study, configurations, file } => {
            enqueue::run(&Stored::read(study)?, configurations, file.as_deref())
        }
        Action::Note { study, text } => note_file::run(&Stored::read(study)?.directory, text),
        Action::Best { study, nth, format } => {
            best::run(&Stored::read(study)?, usize::try_from(*nth).unwrap_or(usize::MAX), *format)
        }
        Action::Front { study, format, plot } => front::run(&Stored::read(study)?, *format, plot.as_deref()),
        Action::Run { study, trial, epochs, seeds, form } => {
            let stored = Stored::read(study)?;
            let trial = trial.or_else(|| stored.study.best().map(|best| best.trial)).ok_or_else(|| {
                Failure::midway("no trial was trained to its end: there is no best yet; name one by --trial")
            })?;
            again::run(&stored, &Again { trial, epochs: *epochs, seeds: *seeds }, form.format)
        }
        Action::Show { study, trial: None, top, all, form } => {
            show(&Stored::read(study)?, *top, *all, form.format)
        }
        Action::Show { study, trial: Some(trial), form, .. } => {
            show_trial(&Stored::read(study)?, *trial, form.format)
        }
        Action::Plot { study, out } => draw(&Stored::read(study)?, out.as_deref()),
        Action::Rm { study, yes } => remove::run(study, *yes),
        Action::Export { study, trials: false, out, .. } => export(&Stored::read(study)?, out.as_deref()),
        Action::Export { study, trials: true, format, out } => {
            export_trials(&Stored::read(study)?, *format, out.as_deref())
        }
        Action::Doctor { study, repair, form } => doctor::run(study, *repair, form.format),
    }
}

/// Draws the study.
fn draw(stored: &Stored, out: Option<&Path>) -> Outcome {
    let path = out.map_or_else(|| stored.directory.join("curves.svg"), Path::to_owned);
    if out.is_none() && path.is_symlink() {
        return Err(Failure::input(format!(
            "{}: it is a symbolic link, through which nothing is written; name the picture by --out",
            path.display()
        )));
    }
    plot::check_place(&path, None).map_err(Failure::input)?;
    let name = study_picture::name(&stored.directory);
    let kind = match stored.study.spec().sampler {
        SamplerSpec::QLearning(_) => FigureKind::QLearning,
        _ => FigureKind::Curves,
    };
    plot::save(&path, &study_picture::of(&stored.study, &name, kind)).map_err(Failure::midway)?;
    print(&format!("drawn into {}", path.display()))
}

fn show(stored: &Stored, top: Option<usize>, all: bool, format: Format) -> Outcome {
    let document = report::Document::new(SCHEMA, &stored.study, &stored.times, &stored.directory);
    let (document, table) = match top {
        None => (document, None),
        Some(most) => (document.with_top(&stored.study, most), report::leaders(&stored.study, most)),
    };
    match (format, table) {
        (Format::Json, _) => print_json(&document),
        (Format::Table, Some(table)) => print(&table),
        (Format::Table, None) => print(&report::text(&stored.study, &document, all)),
    }
}

/// One trial with every decision on it.
#[derive(Serialize)]
struct Shown<'a> {
    schema: &'static str,
    trial: u64,
    configuration: &'a foretell::Configuration,
    #[serde(flatten)]
    state: &'a TrialState,
    steps: Vec<u64>,
    /// Null where a value is not finite.
    values: Vec<Option<f64>>,
    decisions: Vec<Decision>,
}

fn show_trial(stored: &Stored, number: u64, format: Format) -> Outcome {
    let trials = stored.study.trials();
    let Some(trial) = trials.get(number as usize) else {
        return Err(no_trial(stored, number));
    };
    let (mut decisions, mut steps, mut values) = (Vec::new(), Vec::new(), Vec::new());
    stored.each_record(|record| match record {
        Record::Decided(decision) if decision.trial == number => decisions.push(decision),
        Record::Reported { trial, step, value, .. } if trial == number => {
            steps.push(step);
            values.push(value);
        }
        _ => {}
    })?;
    let shown = Shown {
        schema: SCHEMA,
        trial: number,
        configuration: &trial.configuration,
        state: &trial.state,
        steps,
        values,
        decisions,
    };
    match format {
        Format::Json => print_json(&shown),
        Format::Table => print(&trial_text(stored, trial, &shown)),
    }
}

fn trial_text(stored: &Stored, trial: &Trial, shown: &Shown<'_>) -> String {
    let state = match &trial.state {
        TrialState::Paused { .. } => "paused at its rung".to_owned(),
        TrialState::Completed { .. } => "trained to its end".to_owned(),
        TrialState::Stopped { reason, .. } => format!("stopped: {}", report::because(reason)),
        TrialState::Failed { .. } => "failed".to_owned(),
        _ => "unfinished".to_owned(),
    };
    let why = match &trial.state {
        TrialState::Failed { reason } => format!("{reason}\n"),
        _ => String::new(),
    };
    let settings = report::applying(shown.configuration).map(|(name, value)| format!("  {name} {value}"));
    let mut text = format!(
        "trial {}: {state}, after {} of {} epochs\n{why}{}",
        shown.trial,
        trial.trained(),
        trial.until,
        settings.collect::<Vec<_>>().join("\n")
    );
    let decisions = decisive(&shown.decisions);
    let rows: Vec<Vec<String>> = shown
        .steps
        .iter()
        .zip(&shown.values)
        .map(|(&step, value)| {
            let mut cells = vec![step.to_string(), value.map_or("–".to_owned(), metric_value)];
            cells.extend(
                decisions.get(&step).map_or_else(|| vec![String::new(); 6], |decided| judged(decided)),
            );
            cells
        })
        .collect();
    let metric = stored.study.spec().metric.as_str();
    let headings = ["epoch", metric, "forecast", "5 to 95 %", "against", "sure", "then", "why"];
    text += &format!("\n\n{}", table(&headings, &rows));
    text
}

/// One decision a step: the last one, as a promoted trial is checked again at the step where it paused; but a stop is not hidden
/// behind what follows its promotion.
fn decisive(decisions: &[Decision]) -> BTreeMap<u64, &Decision> {
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
fn judged(decision: &Decision) -> Vec<String> {
    let [forecast, against, sure] =
        report::grounds(decision.forecast, decision.incumbent, decision.probability);
    let then = match decision.action {
        foretell::Action::Stop => "stop",
        foretell::Action::Continue => "go on",
    };
    let quantiles = decision.forecast.map_or("–".to_owned(), |forecast| {
        let (low, high) = forecast.interval;
        format!("{} to {}", metric_value(low), metric_value(high))
    });
    vec![forecast, quantiles, against, sure, then.to_owned(), report::because(&decision.reason)]
}

fn export(stored: &Stored, out: Option<&Path>) -> Outcome {
    let spec = stored.study.spec();
    let runs = stored.runs(|trial| trial.curve.clone());
    let write = |writer: &mut dyn Write| {
        let metric = foretell::Metric::new(&spec.metric, spec.direction);
        foretell_logs::write_json_lines(&mut *writer, &runs, &metric)?;
        writer.flush()
    };
    written(out, &write)?;
    say_written(&format!("{} curves", runs.len()), out);
    Ok(())
}

/// Writes one row a trial.
fn export_trials(stored: &Stored, format: Option<TableFormat>, out: Option<&Path>) -> Outcome {
    let by_name = || match out.and_then(Path::extension) {
        Some(extension) if extension == "csv" => TableFormat::Csv,
        _ => TableFormat::default(),
    };
    let format = format.unwrap_or_else(by_name);
    let rows = trials_table::rows(stored)?;
    written(out, &|writer| trials_table::write(writer, &rows, format))?;
    say_written(&format!("{} trials", rows.len()), out);
    Ok(())
}

fn say_written(what: &str, out: Option<&Path>) {
    if let Some(path) = out {
        note(&format!("{what} written to {}", path.display()));
    }
}

/// Lets `write` write to the file `out`, or to standard output.
fn written(out: Option<&Path>, write: &dyn Fn(&mut dyn Write) -> std::io::Result<()>) -> Outcome {
    let Some(path) = out else {
        return write(&mut std::io::stdout().lock()).or_else(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(Failure::midway(format!("cannot write to standard output: {error}"))),
        });
    };
    let failed = |error| Failure::midway(format!("{}: {error}", path.display()));
    let file = File::create(path).map_err(failed)?;
    write(&mut BufWriter::new(file)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::decisive;
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
            shadow: false,
        };
        let stop = decided(Action::Stop, Reason::WillNotWin);
        let on = decided(Action::Continue, Reason::BurnIn);
        assert_eq!(decisive(&[stop.clone(), on.clone()])[&3].reason, Reason::WillNotWin);
        assert_eq!(decisive(&[on, stop])[&3].reason, Reason::WillNotWin);
    }
}

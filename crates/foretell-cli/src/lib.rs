#![doc = include_str!("../README.md")]
//!
//! [`run`] is the whole program, and [`answer_as_json`] returns its JSON. Each subcommand is a file in `commands`. `view` shows a study, `engines` start workers.

mod asked;
mod catalogue;
mod commands;
mod curves;
#[cfg(test)]
mod documented;
#[cfg(feature = "serve")]
mod engines;
mod examples;
mod failure;
mod interrupt;
mod output;
mod plot;
mod printed_logs;
mod progress;
mod request_flags;
mod scheduling;
mod terminal;
mod view;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use failure::Failure;
use foretell_search::Catalogue;
use interrupt::start_calculators;
use std::ffi::OsString;
use std::path::PathBuf;

/// Forecasts the final values of neural-network training runs, and stops runs that will not win.
#[derive(Parser)]
#[command(
    name = "foretell",
    version,
    propagate_version = true,
    after_help = examples::PROGRAM_EXAMPLES,
    term_width = terminal::help_width()
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Search hyperparameters or networks, and stop the trials that will not win.
    #[command(after_help = examples::SEARCH_EXAMPLES)]
    Search(Box<commands::search::SearchArguments>),
    /// Measure forecast accuracy on recorded runs.
    #[command(after_help = examples::EVALUATE_EXAMPLES)]
    Evaluate(commands::evaluate::EvaluateArguments),
    /// Forecast the final values of unfinished runs.
    #[command(after_help = examples::FORECAST_EXAMPLES)]
    Forecast(commands::forecast::ForecastArguments),
    /// Reproduce the paper's tables and figures from its released curves.
    #[cfg(feature = "paper")]
    #[command(after_help = examples::REPRODUCE_EXAMPLES)]
    Reproduce(commands::reproduce::ReproduceArguments),
    /// Tells that this build does not reproduce the paper.
    #[cfg(not(feature = "paper"))]
    #[command(hide = true, disable_help_flag = true)]
    Reproduce {
        /// Arguments of the command in other builds.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Replay recorded runs, to measure the training that early stopping would have saved.
    #[command(after_help = examples::REPLAY_EXAMPLES)]
    Replay(Box<commands::replay::ReplayArguments>),
    /// Plot recorded curves, colored by final value.
    #[command(after_help = examples::DRAW_EXAMPLES)]
    Draw(Box<commands::draw::DrawArguments>),
    /// Import logs and tables of earlier runs into a file of curves.
    #[command(after_help = examples::IMPORT_EXAMPLES)]
    Import(Box<commands::import::ImportArguments>),
    /// Write a study file for a training script, from its `--help` and its output.
    #[command(after_help = examples::INIT_EXAMPLES)]
    Init(commands::init::InitArguments),
    /// Print the JSON Schema of study files.
    #[command(after_help = examples::SCHEMA_EXAMPLES)]
    Schema,
    /// Generate completions for a shell.
    #[command(after_help = examples::COMPLETIONS_EXAMPLES)]
    Completions {
        /// Shell to generate completions for.
        shell: clap_complete::Shell,
    },
    /// For a release: write the manual pages of all commands into a folder that exists.
    #[command(hide = true)]
    ManualPages {
        /// The folder.
        folder: PathBuf,
    },
    /// Serve a page that shows studies while they run.
    #[cfg(feature = "serve")]
    #[command(after_help = examples::SERVE_EXAMPLES)]
    Serve(commands::serve::ServeArguments),
    /// Run trials of a study that another machine owns.
    #[command(after_help = examples::WORKER_EXAMPLES)]
    Worker(commands::worker::WorkerArguments),
    /// Write the page of a study as a single HTML file.
    #[cfg(feature = "serve")]
    #[command(after_help = examples::REPORT_EXAMPLES)]
    Report(commands::serve::ReportArguments),
    /// For internal use: end the trials of a killed search. `foretell search` starts this command.
    #[command(hide = true)]
    Guard {
        /// The search.
        parent: String,
        /// Folder of the study.
        directory: std::path::PathBuf,
        /// Remove the folder then.
        #[arg(long)]
        remove: bool,
    },
    /// Inspect, compare, export and repair stored studies.
    #[command(after_help = examples::STUDY_EXAMPLES)]
    Study(commands::study::StudyArguments),
    /// Download data sets for the built-in networks.
    #[cfg(feature = "nn")]
    #[command(after_help = examples::DATA_EXAMPLES)]
    Data(commands::data::DataArguments),
    /// Train one built-in network, as `search --space` does for each trial.
    #[cfg(feature = "nn")]
    #[command(after_help = examples::TRAIN_EXAMPLES)]
    Train(commands::train::TrainArguments),
}

/// Runs the command line `words`, whose first is the program's name, and returns its exit code: 0 done, 1 failed, 2 wrong usage
/// or bad input. Results go to standard output, everything else to standard error.
pub fn run(words: &[OsString]) -> u8 {
    run_with_catalogue(words, &catalogue::usual())
}

/// As [`run`], where studies may have the parts of `catalogue`. A process has one catalogue: that of its first command.
pub fn run_with_catalogue(words: &[OsString], catalogue: &Catalogue) -> u8 {
    // before the command line is parsed, because flags and their help list the names of its parts
    catalogue::set(catalogue);
    let (program, matches) = match parse_words(words) {
        Ok(parsed) => parsed,
        Err(error) => {
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let result = match program.command {
        Command::Search(arguments) => {
            let matches = matches.subcommand_matches("search").unwrap_or(&matches);
            start_calculators().and_then(|()| commands::search::run(&arguments, words, matches))
        }
        Command::Evaluate(arguments) => {
            start_calculators().and_then(|()| commands::evaluate::run(&arguments))
        }
        Command::Forecast(arguments) => {
            start_calculators().and_then(|()| commands::forecast::run(&arguments))
        }
        Command::Replay(arguments) => start_calculators().and_then(|()| commands::replay::run(&arguments)),
        #[cfg(feature = "paper")]
        Command::Reproduce(arguments) => {
            start_calculators().and_then(|()| commands::reproduce::run(&arguments))
        }
        #[cfg(not(feature = "paper"))]
        Command::Reproduce { words: _ } => Err(Failure::input(format!(
            "`foretell reproduce` {}; install the command with its default features",
            foretell::MISSING_PAPER_CRATE
        ))),
        Command::Draw(arguments) => commands::draw::run(&arguments),
        Command::Import(arguments) => commands::import::run(&arguments),
        Command::Init(arguments) => commands::init::run(&arguments),
        Command::Schema => commands::schema::run(),
        Command::Completions { shell } => print_completions(shell),
        Command::ManualPages { folder } => clap_mangen::generate_to(CommandLine::command(), &folder)
            .map_err(|error| Failure::midway_at(&folder, error)),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => commands::serve::serve(&arguments),
        Command::Worker(arguments) => commands::worker::run(&arguments),
        #[cfg(feature = "serve")]
        Command::Report(arguments) => commands::serve::report(&arguments),
        Command::Guard { parent, directory, remove } => {
            foretell_run::run_guardian(&parent, &directory, std::time::Duration::from_secs(5));
            if remove {
                // what is gone already needs no removal
                let _ = std::fs::remove_dir_all(&directory);
            }
            Ok(())
        }
        Command::Study(arguments) => commands::study::run(&arguments),
        #[cfg(feature = "nn")]
        Command::Data(arguments) => commands::data::run(&arguments),
        #[cfg(feature = "nn")]
        Command::Train(arguments) => commands::train::run(&arguments),
    };
    result.map_or_else(Failure::report, |()| 0)
}

/// The command line `words`, and its flags as they were given.
fn parse_words(words: &[OsString]) -> Result<(CommandLine, ArgMatches), clap::Error> {
    let asks_for_short_help = words.iter().take_while(|word| *word != "--").any(|word| word == "-h");
    let mut command = CommandLine::command();
    if asks_for_short_help {
        command = with_first_sentences(command);
    }
    let matches = command.try_get_matches_from_mut(words)?;
    let program = CommandLine::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok((program, matches))
}

/// `command` with the first sentence of each option's help, and its default: `--help` has the rest.
fn with_first_sentences(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| match arg.get_help().map(|text| first_sentence(&text.to_string())) {
            Some(short) => arg.help(short),
            None => arg,
        })
        .mut_subcommands(with_first_sentences)
}

/// The first sentence of `text`, and the default that ends `text`.
fn first_sentence(text: &str) -> String {
    let (text, default) = match text.rfind(" (default: ") {
        Some(start) => text.split_at(start),
        None => (text, ""),
    };
    let sentence = text.split(". ").next().unwrap_or(text);
    format!("{}{default}", sentence.trim_end_matches('.'))
}

fn print_completions(shell: clap_complete::Shell) -> failure::CommandResult {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "foretell", &mut text);
    output::print(&String::from_utf8_lossy(&text))
}

/// The JSON document that `foretell evaluate` or `foretell replay` prints for the command line `words`, whose first is the
/// program's name.
///
/// # Errors
/// The text that the command would print on standard error.
pub fn answer_as_json(words: &[OsString]) -> Result<String, String> {
    let (program, _) = parse_words(words).map_err(|error| failure::brief(&error))?;
    let document = match program.command {
        Command::Evaluate(arguments) => commands::evaluate::json(&arguments),
        Command::Replay(arguments) => commands::replay::json(&arguments),
        _ => Err(Failure::input("only `evaluate` and `replay` answer in JSON alone")),
    };
    document.map_err(|failure| failure.message().to_owned())
}

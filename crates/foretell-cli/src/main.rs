//! The `foretell` command: one file a subcommand, this one only chooses among them.

mod commands;
mod curves;
mod failure;
mod interrupt;
mod output;
mod plot;
mod scheduling;
mod stored;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Forecasts where neural-network trainings will end, and stops the ones that will not win.
#[derive(Parser)]
#[command(name = "foretell", version, propagate_version = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Search networks or hyperparameters, forecast every running training, stop those that will not win.
    Search(Box<commands::search::Arguments>),
    /// Forecast accuracy on recorded runs: fit on some, forecast the others, compare with what happened.
    Evaluate(commands::evaluate::Arguments),
    /// Where each unfinished run will end, learnt from finished ones.
    Forecast(commands::forecast::Arguments),
    /// The paper's tables and figures from its released curves, ours beside the published.
    Reproduce(commands::reproduce::Arguments),
    /// What early stopping would have saved on recorded runs, and whether it would have kept the best.
    Replay(Box<commands::replay::Arguments>),
    /// Look at stored studies: what came of them, why trials were stopped, their curves, whether their logs are whole.
    Study(commands::study::Arguments),
    /// Train one built-in network, reporting by the trial protocol: what `search --space` starts.
    #[cfg(feature = "nn")]
    Train(commands::train::Arguments),
}

fn main() -> ExitCode {
    let result = match Program::parse().command {
        Command::Search(arguments) => commands::search::run(&arguments),
        Command::Evaluate(arguments) => commands::evaluate::run(&arguments),
        Command::Forecast(arguments) => commands::forecast::run(&arguments),
        Command::Replay(arguments) => commands::replay::run(&arguments),
        Command::Reproduce(arguments) => commands::reproduce::run(&arguments),
        Command::Study(arguments) => commands::study::run(&arguments),
        #[cfg(feature = "nn")]
        Command::Train(arguments) => commands::train::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

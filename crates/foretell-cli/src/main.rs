//! The `foretell` command: one file a subcommand, this one only chooses among them.

mod commands;
mod curves;
mod failure;
mod output;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Forecasts where neural-network trainings will end, and stops the ones that will not win.
#[derive(Parser)]
#[command(version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Forecast accuracy on recorded runs: fit on some, forecast the others, compare with what happened.
    Evaluate(commands::evaluate::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Evaluate(arguments) => commands::evaluate::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

//! What commands print: tables for people, JSON for scripts, both on standard output alone.

use crate::failure::Failure;
use clap::ValueEnum;
use serde::Serialize;
use std::io::Write;

/// The form of the result on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// For scripts.
    Json,
}

/// Writes `text` and a line end to standard output. A closed pipe ends the output, not the command in error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::midway(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes `document` as JSON to standard output.
pub(crate) fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document).map_err(Failure::midway)?;
    print(&text)
}

/// Says something about the work to standard error.
#[expect(clippy::print_stderr, reason = "this is where the command line speaks")]
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// An aligned table without borders, its first row the headings.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(headings.to_vec());
    for row in rows {
        table.add_row(row.clone());
    }
    let text = table.to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

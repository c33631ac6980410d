//! The orders of a replay with their curves, for other tools to stop the same runs.

use super::replayed::Replayed;
use crate::failure::Failure;
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// One order.
#[derive(Serialize)]
struct Order<'a> {
    curves: &'a str,
    ordering: usize,
    /// Points of each run.
    points: usize,
    /// Scores of each run, in the order in which they are trained; larger is better.
    scores: Vec<&'a [f64]>,
}

/// Writes every order of the `replayed` files to `path`, a JSON line each.
pub(super) fn write(path: &Path, replayed: &[Replayed]) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::midway(format!("{}: {error}", path.display()));
    let mut file = BufWriter::new(File::create(path).map_err(|error| failed(&error))?);
    for Replayed { curves, table, outcomes, .. } in replayed {
        // every setting has the same orders
        let orders = outcomes.first().map_or(&[][..], |outcome| &outcome.orderings);
        for (ordering, outcome) in orders.iter().enumerate() {
            let scores = outcome.trace.trials.iter().map(|trial| table.scores(trial.run)).collect();
            let order = Order { curves, ordering, points: table.points(), scores };
            serde_json::to_writer(&mut file, &order).map_err(|error| failed(&error))?;
            writeln!(file).map_err(|error| failed(&error))?;
        }
    }
    file.flush().map_err(|error| failed(&error))
}

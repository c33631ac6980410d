//! The orders of a replay with their curves, for other tools to stop the same runs.

use super::replayed::ReplayedFile;
use crate::failure::Failure;
use foretell_run::DraftFile;
use foretell_search::RunTable;
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// One order.
#[derive(Serialize)]
struct RecordedOrder<'a> {
    curves: &'a str,
    ordering: usize,
    /// Points of each run.
    points: usize,
    /// The recorded values of each run, in the order in which they are trained, turned so that larger is better.
    scores: Vec<Vec<f64>>,
}

/// The recorded values of `run`, larger being better; steps after a divergence take `lowest`.
fn recorded_scores(table: &RunTable, run: usize, lowest: f64) -> Vec<f64> {
    let direction = table.history().direction();
    let scores = (1..=table.points() as u64).map(|points| direction.to_score(table.value(run, points)));
    scores.map(|score| if score.is_finite() { score } else { lowest }).collect()
}

/// Writes every order of the `replayed` files to `path`, a JSON line each.
pub(super) fn write(path: &Path, replayed: &[ReplayedFile]) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::midway(format!("{}: {error}", path.display()));
    let mut file = DraftFile::for_output(path).map_err(|error| failed(&error))?;
    for ReplayedFile { curves, table, outcomes, .. } in replayed {
        let all = (0..table.len()).flat_map(|run| recorded_scores(table, run, f64::INFINITY));
        let lowest = all.fold(f64::INFINITY, f64::min);
        // every setting has the same orders
        let orders = outcomes.first().map_or(&[][..], |outcome| &outcome.orderings);
        for (ordering, outcome) in orders.iter().enumerate() {
            let scores =
                outcome.trace.trials.iter().map(|trial| recorded_scores(table, trial.run, lowest)).collect();
            let order = RecordedOrder { curves, ordering, points: table.points(), scores };
            serde_json::to_writer(&mut file, &order).map_err(|error| failed(&error))?;
            writeln!(file).map_err(|error| failed(&error))?;
        }
    }
    file.finish().map_err(|error| failed(&error))
}

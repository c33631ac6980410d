//! `foretell study retry`: failed trials are tried again, after their cause is fixed.

use crate::failure::{Failure, Outcome};
use crate::output::print;
use foretell_run::{Orders, Stored};
use foretell_search::TrialState;

/// Has the configurations of the failed trials `numbers` tried next, as new trials; those of all failed trials if none is named.
pub(super) fn run(stored: &Stored, numbers: &[u64]) -> Outcome {
    let trials = stored.study.trials();
    let has_failed = |number: u64| {
        trials.get(number as usize).is_some_and(|trial| matches!(trial.state, TrialState::Failed { .. }))
    };
    if let Some(number) = numbers.iter().find(|number| !has_failed(**number)) {
        return Err(Failure::input(format!(
            "{}: trial {number} has not failed; `foretell study show {}` lists the failed trials",
            stored.directory.display(),
            stored.directory.display()
        )));
    }
    let all = (0..trials.len() as u64).filter(|&number| has_failed(number));
    let failed: Vec<u64> = if numbers.is_empty() { all.collect() } else { numbers.to_vec() };
    if failed.is_empty() {
        return Err(Failure::input(format!("{}: no trial has failed", stored.directory.display())));
    }
    let orders = Orders::in_study(&stored.directory);
    for &number in &failed {
        orders
            .enqueue(&trials[number as usize].configuration, None)
            .map_err(|error| Failure::midway(format!("trial {number}: it cannot be enqueued: {error}")))?;
    }
    let named: Vec<String> = failed.iter().map(ToString::to_string).collect();
    print(&format!(
        "the configurations of {} failed trials ({}) are tried next, as new trials. A running search starts them; otherwise the next search with the same command does",
        failed.len(),
        named.join(", ")
    ))
}

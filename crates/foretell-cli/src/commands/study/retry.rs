//! `foretell study retry`: failed trials are tried again, after their cause is fixed.

use crate::failure::{CommandResult, Failure};
use crate::output::print;
use foretell_run::{Orders, StoredStudy};
use foretell_search::Record;
use std::collections::BTreeSet;

/// Has the configurations of the failed trials `numbers` tried next, as new trials; those of all failed trials if none is named.
pub(super) fn run(stored: &StoredStudy, numbers: &[u64]) -> CommandResult {
    let trials = stored.study.trials();
    let all = (0..).zip(trials).filter(|(_, trial)| trial.is_failed());
    let all: Vec<u64> = all.map(|(number, _)| number).collect();
    if let Some(number) = numbers.iter().find(|number| !all.contains(number)) {
        return Err(Failure::input(format!(
            "{}: trial {number} has not failed; `foretell study show {}` lists the failed trials",
            stored.directory.display(),
            stored.directory.display()
        )));
    }
    let failed = if numbers.is_empty() { all } else { numbers.to_vec() };
    if failed.is_empty() {
        return Err(Failure::input(format!("{}: no trial has failed", stored.directory.display())));
    }
    let orders = Orders::for_study(&stored.directory);
    let mut known: BTreeSet<String> =
        orders.waiting_configurations().into_iter().map(|waiting| waiting.id).collect();
    stored.for_each_record(|record| {
        if let Record::Enqueued { order: Some(order), .. } = record {
            known.insert(order);
        }
    })?;
    let (done, new): (Vec<u64>, Vec<u64>) =
        failed.iter().partition(|&&number| known.contains(&order(number)));
    for &number in &new {
        orders
            .enqueue(&trials[number as usize].configuration, Some(&order(number)))
            .map_err(|error| Failure::midway(format!("trial {number}: it cannot be enqueued: {error}")))?;
    }
    let mut lines = Vec::new();
    if !new.is_empty() {
        lines.push(format!(
            "{} failed trials ({}) are tried next, as new trials. A running search starts them; otherwise the next search with the same command does",
            new.len(),
            join_numbers(&new)
        ));
    }
    if !done.is_empty() {
        lines.push(format!(
            "{} failed trials ({}) were queued by an earlier `study retry`, so nothing changes for them",
            done.len(),
            join_numbers(&done)
        ));
    }
    print(&lines.join("\n"))
}

/// The name of the order to try trial `number` again: given twice, it is carried out once.
fn order(number: u64) -> String {
    format!("retry of trial {number}")
}

fn join_numbers(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

//! Prints how often the final scores of recorded runs lie within the chain's intervals of 80 and 95 %, at each level of each run that a search of them, one
//! after another or several at a time, would have trained:
//!
//! ```sh
//! foretell replay runs.csv --policy none --study-size 40 --orderings 20 --write-orders orders.jsonl
//! cargo run --release -p foretell --example chain_coverage -- orders.jsonl 8
//! ```
//!
//! Without a file, the runs are made up: they approach ends between 0.3 and 0.9.

#![allow(clippy::print_stdout, reason = "an example speaks")]

use foretell::Contest;
use serde_json::{Value, json};
use std::error::Error;

/// Trials stop below this chance, as a fraction of an average trial's, per planned trial, as with caution balanced.
const BALANCED: f64 = 0.0025;

/// The forecasts of one search: all, and those whose 80 and 95 % intervals hold the end.
type Counts = [u32; 3];

/// Searches `runs` with so many `workers`, each an epoch at a time in turn.
fn search(runs: &[Vec<f64>], workers: usize) -> Counts {
    let epochs = runs[0].len();
    let mut contest = Contest::new(epochs as u64, &[]);
    let levels = contest.levels().to_vec();
    let mut counts = [0; 3];
    let mut next = 0..runs.len();
    let mut slots: Vec<Option<(usize, usize)>> = vec![None; workers];
    loop {
        slots
            .iter_mut()
            .filter(|slot| slot.is_none())
            .for_each(|slot| *slot = next.next().map(|run| (run, 0)));
        if slots.iter().all(Option::is_none) {
            return counts;
        }
        for slot in &mut slots {
            let Some((run, epoch)) = slot.as_mut() else { continue };
            let (trial, score, end) = (*run, runs[*run][*epoch], runs[*run][epochs - 1]);
            *epoch += 1;
            let is_over = *epoch == epochs || !score.is_finite();
            if levels.contains(&(*epoch as u64)) || !score.is_finite() {
                contest.reach(trial, score);
            }
            let at_level = !is_over && levels.contains(&(*epoch as u64));
            let prospect = at_level.then(|| contest.prospect(trial, runs.len() as u64)).flatten();
            let stops = prospect.is_some_and(|prospect| {
                let within = |(low, high): (f64, f64)| u32::from(low <= end && end <= high);
                counts[0] += 1;
                counts[1] += within(prospect.interval_80);
                counts[2] += within(prospect.interval_95);
                let bar = BALANCED * runs.len() as f64;
                prospect.chance * (prospect.rivals as f64) < bar && !prospect.must_finish
            });
            if stops {
                contest.stop(trial);
            }
            if stops || is_over {
                *slot = None;
            }
        }
    }
}

/// The scores of an order, larger is better; logarithms of a loss.
fn scores(order: &Value) -> Vec<Vec<f64>> {
    let numbers = |run: &Value| -> Vec<f64> {
        run.as_array().into_iter().flatten().map(|score| score.as_f64().unwrap_or(f64::NAN)).collect()
    };
    let mut runs: Vec<Vec<f64>> = order["scores"].as_array().into_iter().flatten().map(numbers).collect();
    if runs.iter().flatten().all(|score| !score.is_finite() || *score < 0.0) {
        runs.iter_mut().flatten().for_each(|score| *score = -(-*score).ln());
    }
    runs
}

/// An order of 40 runs of 27 epochs.
fn made_up() -> Value {
    let end = |run: i32| 0.3 + 0.6 * (f64::from(run) * 0.618).fract();
    let run = |run: i32| (1..=27).map(|epoch| end(run) * (1.0 - 0.8_f64.powi(epoch))).collect::<Vec<_>>();
    json!({ "scores": (0..40).map(run).collect::<Vec<_>>() })
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let orders = match arguments.first() {
        Some(path) => {
            std::fs::read_to_string(path)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?
        }
        None => vec![made_up()],
    };
    let workers = arguments.get(1).map_or(Ok(1), |workers| workers.parse())?;
    let mut counts = [0; 3];
    for order in &orders {
        let found = search(&scores(order), workers);
        counts.iter_mut().zip(found).for_each(|(sum, count)| *sum += count);
    }
    let share = |count: u32| 100.0 * f64::from(count) / f64::from(counts[0].max(1));
    println!(
        "{} forecasts: {:.1} % of the ends within the 80 % interval, {:.1} % within the 95 % interval",
        counts[0],
        share(counts[1]),
        share(counts[2])
    );
    Ok(())
}

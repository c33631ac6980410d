//! Simulates searches of recorded runs that stop by the chain, with several bars c, and prints a JSON line for each: what they trained and kept, and how
//! many final scores lay within the intervals of 80 and 95 %. `benches/peers/cautions.py` makes tables of them.
//!
//! ```sh
//! foretell replay runs.csv --policy none --study-size 40 --orderings 20 --write-orders orders.jsonl
//! cargo run --release -p foretell --example chain_coverage -- orders.jsonl --workers 8 --bars 0.1,0.16
//! ```
//!
//! With `--lessons same`, the first half of each order is an earlier search, which is learned from with the bar times `--factor`; with `--lessons other`,
//! that half is one of the set before it in the file. Without a file, the runs are made up: they approach ends between 0.3 and 0.9.

#![allow(clippy::print_stdout, reason = "an example speaks")]

use foretell::TrialContest;
use serde_json::{Value, json};
use std::error::Error;

/// With earlier searches, a trial whose chance among its own is at least this fraction of an average trial's is not stopped.
const OPEN_FRACTION: f64 = 0.5;

struct Setting {
    workers: usize,
    bars: Vec<f64>,
    lessons: Option<String>,
    factor: f64,
    /// The most orders of a set.
    most: usize,
}

/// A search that was simulated.
#[derive(Default)]
struct Searched {
    /// Per run the epochs that it was trained.
    trained: Vec<usize>,
    completed: Vec<bool>,
    /// Forecasts, and those whose 80 and 95 % intervals hold the end.
    counts: [u32; 3],
    /// Whether the earlier search counted in the end.
    is_taught: bool,
}

/// Searches `runs` with the bar `cold`, or `taught` where the `earlier` search counts: each worker an epoch at a time in turn.
fn search(
    runs: &[Vec<f64>],
    earlier: &[Vec<Vec<f64>>],
    workers: usize,
    (cold, taught): (f64, f64),
) -> Searched {
    let epochs = runs[0].len();
    let mut contest = TrialContest::new(epochs as u64, earlier);
    let levels = contest.level_epochs().to_vec();
    let mut found =
        Searched { trained: vec![0; runs.len()], completed: vec![false; runs.len()], ..Searched::default() };
    let mut next = 0..runs.len();
    let mut slots: Vec<Option<usize>> = vec![None; workers];
    loop {
        slots.iter_mut().filter(|slot| slot.is_none()).for_each(|slot| *slot = next.next());
        if slots.iter().all(Option::is_none) {
            found.is_taught = contest.uses_earlier_runs();
            return found;
        }
        for slot in &mut slots {
            let Some(run) = *slot else { continue };
            let (score, end) = (runs[run][found.trained[run]], runs[run][epochs - 1]);
            found.trained[run] += 1;
            let epoch = found.trained[run];
            let is_over = epoch == epochs || !score.is_finite();
            if levels.contains(&(epoch as u64)) || !score.is_finite() {
                contest.record_level_score(run, score);
            }
            let at_level = !is_over && levels.contains(&(epoch as u64));
            let prospect = at_level.then(|| contest.trial_prospect(run, runs.len() as u64)).flatten();
            let stops = prospect.is_some_and(|prospect| {
                let within = |(low, high): (f64, f64)| u32::from(low <= end && end <= high);
                if end.is_finite() {
                    let counted = [1, within(prospect.interval_80), within(prospect.interval_95)];
                    found.counts.iter_mut().zip(counted).for_each(|(sum, count)| *sum += count);
                }
                let bar = if prospect.is_taught { taught } else { cold };
                let is_behind = prospect.chance * (prospect.rivals as f64) < bar;
                is_behind && (!prospect.is_taught || prospect.alone < OPEN_FRACTION) && !prospect.must_finish
            });
            if stops {
                contest.stop_trial(run);
            }
            found.completed[run] = is_over && score.is_finite();
            if stops || is_over {
                *slot = None;
            }
        }
    }
}

/// The curves of a search as lessons, at the levels of a training of so many `epochs`, as far as they were trained.
fn lessons(runs: &[Vec<f64>], found: &Searched, epochs: usize) -> Vec<Vec<f64>> {
    let levels = foretell::chain_levels(epochs as u64);
    let curve = |(run, &trained): (&Vec<f64>, &usize)| -> Vec<f64> {
        let reached = levels.iter().map(|&level| level as usize).take_while(|level| *level <= trained);
        reached.map(|level| run[level - 1]).collect()
    };
    let all = runs.iter().zip(&found.trained).map(curve);
    all.filter(|curve| curve.iter().all(|score| score.is_finite())).collect()
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
    json!({ "curves": "made up", "ordering": 0, "scores": (0..40).map(run).collect::<Vec<_>>() })
}

/// What a search of `runs` kept: whether the best, whether one of the best three, and the regret as a fraction of best − median.
fn outcome_of_search(runs: &[Vec<f64>], found: &Searched) -> (bool, bool, f64) {
    let end = |run: usize| runs[run].last().copied().filter(|score| score.is_finite());
    let mut ends: Vec<f64> = (0..runs.len()).filter_map(end).collect();
    ends.sort_by(|a, b| b.total_cmp(a));
    let ends_kept = (0..runs.len()).filter(|&run| found.completed[run]).filter_map(end);
    let reached = ends_kept.fold(f64::NEG_INFINITY, f64::max);
    let (best, third, median) = (ends[0], ends[ends.len().min(3) - 1], ends[ends.len() / 2]);
    (reached >= best, reached >= third, (best - reached) / (best - median).max(f64::MIN_POSITIVE))
}

fn setting(words: &[String]) -> Result<(Option<String>, Setting), Box<dyn Error>> {
    let mut setting = Setting { workers: 1, bars: vec![0.1], lessons: None, factor: 1.0, most: usize::MAX };
    let (mut file, mut words) = (None, words.iter());
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or(format!("{word}: its value is missing"));
        match word.as_str() {
            "--workers" => setting.workers = value()?.parse()?,
            "--bars" => setting.bars = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--lessons" => setting.lessons = Some(value()?),
            "--factor" => setting.factor = value()?.parse()?,
            "--orders" => setting.most = value()?.parse()?,
            other => file = Some(other.to_owned()),
        }
    }
    Ok((file, setting))
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (file, setting) = setting(&words)?;
    let orders: Vec<Value> = match file {
        Some(path) => {
            std::fs::read_to_string(path)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?
        }
        None => vec![made_up()],
    };
    let all: Vec<Vec<Vec<f64>>> = orders.iter().map(scores).collect();
    for (place, order) in orders.iter().enumerate() {
        if order["ordering"].as_u64().is_some_and(|number| number as usize >= setting.most) {
            continue;
        }
        for &bar in &setting.bars {
            let runs = &all[place];
            let (before, runs) = runs.split_at(if setting.lessons.is_some() { runs.len() / 2 } else { 0 });
            // another set: the last one before it in the file, in the same order
            let is_other = |at: &usize| {
                orders[*at]["curves"] != order["curves"] && orders[*at]["ordering"] == order["ordering"]
            };
            let other = (0..place).rev().chain((place..orders.len()).rev()).find(is_other);
            let before = match (setting.lessons.as_deref(), other) {
                (Some("other"), Some(other)) => &all[other][..all[other].len() / 2],
                _ => before,
            };
            let earlier = match before.is_empty() {
                true => Vec::new(),
                false => {
                    vec![lessons(before, &search(before, &[], setting.workers, (bar, bar)), runs[0].len())]
                }
            };
            let found = search(runs, &earlier, setting.workers, (bar, setting.factor * bar));
            let (best, three, regret) = outcome_of_search(runs, &found);
            let [forecasts, within_80, within_95] = found.counts;
            let whole: usize =
                runs.iter().map(|run| run.iter().take_while(|score| score.is_finite()).count()).sum();
            println!(
                "{}",
                json!({ "curves": order["curves"], "ordering": order["ordering"], "runs": runs.len(), "workers": setting.workers, "bar": bar,
                    "factor": setting.factor, "trained": found.trained.iter().sum::<usize>(), "whole": whole, "best": best, "three": three,
                    "regret": regret, "forecasts": forecasts, "within_80": within_80, "within_95": within_95, "is_taught": found.is_taught })
            );
        }
    }
    Ok(())
}

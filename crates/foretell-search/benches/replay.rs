//! The time that replays take: `cargo bench -p foretell-search`. Prints seconds, on as many threads as rayon uses
//! (`RAYON_NUM_THREADS`); there is no peer that replays.

#![allow(missing_docs, clippy::print_stdout, reason = "a program that prints")]

use foretell::{
    Configuration, Curve, Direction, HistoryOptions, PredictorOptions, Run, StopCriterion, Value,
    make_predictor,
};
use foretell_search::{
    ForecastRule, Kappa, Reference, ReplaySetting, RunTable, Schedule, StudySpec, replay, trial_stream,
};
use rand::RngExt;
use std::sync::Arc;
use std::time::Instant;

/// Saturating curves whose end depends on two parameters, with noise.
fn table(runs: u64, points: usize) -> Arc<RunTable> {
    let run = |number: u64| {
        let mut random = trial_stream(1, number);
        let (a, b): (f64, f64) = (random.random(), random.random());
        let (top, speed) = (0.9 - 0.5 * (a - 0.3).powi(2) - 0.2 * b, 2.0 + 10.0 * b);
        let point = |t: usize, noise: f64| top * (1.0 - (-(t as f64) / speed).exp()) + 0.01 * (noise - 0.5);
        let values: Vec<f64> = (1..=points).map(|t| point(t, random.random())).collect();
        let configuration =
            Configuration::from([("a".to_owned(), Value::Number(a)), ("b".to_owned(), Value::Number(b))]);
        Run {
            id: number.to_string(),
            configuration,
            curve: Curve::from_epoch_values(&values, Direction::Maximize),
        }
    };
    let runs: Vec<Run> = (0..runs).map(run).collect();
    Arc::new(RunTable::new(&runs, &HistoryOptions::default(), 1).expect("runs of one length"))
}

fn print_time(what: &str, work: impl FnOnce() -> String) {
    let start = Instant::now();
    let said = work();
    println!("{what}: {:.2} s ({said})", start.elapsed().as_secs_f64());
}

fn time_replay(what: &str, table: &Arc<RunTable>, name: &str, setting: ReplaySetting) {
    print_time(&format!("{what}, {name}"), || {
        let chosen = make_predictor(name, &PredictorOptions::default()).expect("a built-in predictor");
        let setting = ReplaySetting { predictor: Some(Arc::from(chosen)), ..setting };
        let outcomes = replay(table, &[setting]).expect("a valid spec");
        format!(
            "{:.2} times, best kept {:.0} %",
            outcomes[0].mean_speedup().0,
            100.0 * outcomes[0].best_kept()
        )
    });
}

fn main() {
    // `cargo test --benches` only asks whether it runs
    let runs = if std::env::args().any(|argument| argument == "--test") { 120 } else { 1000 };
    let table = table(runs, 60);
    let criterion = StopCriterion { stop_probability: 0.95, ..StopCriterion::default() };
    let full = StudySpec { policy: ForecastRule.into(), criterion, burn_in: 100, ..table.study() };
    let full = ReplaySetting::new(full, None);
    // after every run that finishes: with a larger factor too few finish to learn again at all
    let refitting =
        ReplaySetting { study: StudySpec { refit: Some(1.01), ..full.study.clone() }, ..full.clone() };
    let schedule = |runs| Schedule::Hyperband {
        eta: 3,
        runs,
        kappa: Kappa { kappa: 0.25, ..Kappa::default() },
        reference: Reference::Level,
    };
    let hyperband = ReplaySetting {
        orderings: 1,
        study: StudySpec { schedule: schedule(40), ..full.study.clone() },
        ..full.clone()
    };
    for name in ["ridge", "auto"] {
        time_replay(&format!("{runs} runs x 10 orderings x 60 epochs"), &table, name, full.clone());
        time_replay("the same with refits", &table, name, refitting.clone());
        time_replay("40 runs of f-Hyperband, R = 60", &table, name, hyperband.clone());
    }
}

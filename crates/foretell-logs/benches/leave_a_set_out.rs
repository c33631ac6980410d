//! Measures forecasts on whole sets of recorded runs, starting with few runs and without leaks.
//!
//! ```text
//! cargo bench -p foretell-logs --bench leave_a_set_out -- [--splits 3] [--train 3,5,10] [--observed 0.1,0.25,0.5]
//!     [--predictor auto,gp,mean] FILES…
//! ```
//!
//! Each split is a history of its training runs only and of running curves that were cut off; runs that diverged before the cut
//! are left out. R² and CRPS are measured on scores not below the floor of all runs, the coverage of intervals on recorded ends.
//! Prints one row per cell, then means over sets.

use foretell::statistics::{mean, r_squared, standard_deviation};
use foretell::{
    Curve, FitError, Forecast, History, HistoryOptions, Model, Predictor, PredictorOptions, Run, RunQuery,
    TrainingSet, make_predictor,
};
use foretell_logs::{ReadOptions, RecordedSet, read_runs};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::Write;
use std::path::{Path, PathBuf};

type Failure = Box<dyn std::error::Error>;

/// Central intervals, and the one-sided bound.
const LEVELS: [f64; 4] = [0.5, 0.8, 0.9, 0.95];
const BOUND: f64 = 0.95;

struct Arguments {
    files: Vec<PathBuf>,
    splits: usize,
    train: Vec<usize>,
    observed: Vec<f64>,
    predictors: Vec<String>,
}

fn arguments() -> Result<Arguments, Failure> {
    let mut found = Arguments {
        files: Vec::new(),
        splits: 3,
        train: vec![3, 5, 10, 20, 30, 50, 100],
        observed: vec![0.1, 0.25, 0.5],
        predictors: ["auto", "gp", "mean"].map(str::to_owned).to_vec(),
    };
    // cargo says `--bench`
    let mut given = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--splits" => found.splits = value()?.parse()?,
            "--train" => found.train = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--observed" => found.observed = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--predictor" => found.predictors = value()?.split(',').map(str::to_owned).collect(),
            _ => found.files.push(argument.into()),
        }
    }
    Ok(found)
}

/// The mean of the completed runs, with their standard deviation.
struct MeanOfRuns;

struct MeanModel(Forecast, Vec<Forecast>);

impl Predictor for MeanOfRuns {
    fn name(&self) -> &'static str {
        "mean"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        let center = mean(&training.targets);
        let forecast = Forecast::gaussian(center, standard_deviation(&training.targets).max(1e-9));
        Ok(Box::new(MeanModel(forecast.clone(), vec![forecast; training.len()])))
    }
}

impl Model for MeanModel {
    fn forecast(&self, _: &RunQuery<'_>) -> Forecast {
        self.0.clone()
    }

    fn held_out(&self) -> &[Forecast] {
        &self.1
    }
}

/// Results of a predictor in one cell: sums over splits.
#[derive(Clone, Default)]
struct Tally {
    r2: Vec<f64>,
    crps: Vec<f64>,
    inside: [f64; 4],
    tested: f64,
    bounded: f64,
    best: f64,
}

impl Tally {
    /// Adds the runs of one split: forecasts and final scores on the split's scale, the latter `None` where the run diverged.
    fn add(&mut self, all: &History, split: &Split, runs: &[(Forecast, Option<f64>)]) {
        let own = &split.history;
        let common = |score: f64| all.to_score(own.to_value(score)).max(all.score_floor());
        let truth: Vec<f64> = runs.iter().map(|(_, end)| end.map_or(all.score_floor(), common)).collect();
        let means: Vec<f64> = runs.iter().map(|(forecast, _)| common(forecast.mean)).collect();
        self.r2.push(r_squared(&means, &truth).max(-1.0));
        let unit = standard_deviation(&truth).max(f64::MIN_POSITIVE);
        let crps = runs.iter().zip(&truth).map(|((forecast, _), truth)| {
            let loss = |k: i32| {
                let p = f64::from(k) / 20.0;
                let above = truth - common(forecast.quantile(p));
                2.0 * (p * above).max((p - 1.0) * above)
            };
            (1..20).map(loss).sum::<f64>() / 19.0
        });
        self.crps.push(mean(&crps.collect::<Vec<_>>()) / unit);
        let recorded = |i: usize| runs[i].1.unwrap_or(own.lowest_score());
        for (i, (forecast, _)) in runs.iter().enumerate() {
            self.tested += 1.0;
            for (inside, level) in self.inside.iter_mut().zip(LEVELS) {
                let tail = (1.0 - level) / 2.0;
                let within = forecast.quantile(tail)..=forecast.quantile(1.0 - tail);
                *inside += f64::from(u8::from(within.contains(&recorded(i))));
            }
        }
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_by(|&a, &b| truth[b].total_cmp(&truth[a]));
        for &i in &order[..runs.len().div_ceil(10)] {
            self.best += 1.0;
            self.bounded += f64::from(u8::from(recorded(i) <= runs[i].0.quantile(BOUND)));
        }
    }

    fn print(&self, out: &mut impl Write, name: &str) -> std::io::Result<()> {
        let share = |count: f64| count / self.tested.max(1.0);
        let [a, b, c, d] = self.inside.map(share);
        let bound = self.bounded / self.best.max(1.0);
        let (r2, crps) = (mean(&self.r2), mean(&self.crps));
        writeln!(out, "{name:<52} {r2:7.4} {crps:7.4}  {a:.3} {b:.3} {c:.3} {d:.3}  {bound:.3}")
    }
}

/// A permutation of 0..n that depends on `seed` alone.
fn shuffle_indices(n: usize, seed: u64) -> Vec<usize> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33
    };
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, (next() % (i as u64 + 1)) as usize);
    }
    order
}

/// A split: a history of its training runs, and the runs to test with their observed parts.
struct Split {
    history: History,
    tests: Vec<(Run, Curve)>,
}

/// Split number `seed` of the runs: `train` to learn from; of the others those that had not diverged at `observed` of the curve.
fn split(recorded: &RecordedSet, all: &History, train: usize, observed: f64, seed: u64) -> Option<Split> {
    let finished: Vec<usize> = (0..all.len()).filter(|&i| all.final_score(i).is_some()).collect();
    if finished.len() < train + 20 {
        return None;
    }
    let grid = all.grid();
    let tau = ((observed * grid.len() as f64 + 1e-9) as usize).max(1);
    let (cut, target) = (*grid.get(tau - 1)?, *grid.last()?);
    let order: Vec<usize> =
        shuffle_indices(finished.len(), seed + 1).into_iter().map(|k| finished[k]).collect();
    let learned: Vec<Run> = order[..train].iter().map(|&i| recorded.runs[i].clone()).collect();
    let seen: Vec<usize> = order[..train].iter().map(|&i| recorded.repeats[i]).collect();
    let options = HistoryOptions { target: Some(target), ..options(recorded) };
    let history = History::new(&learned, &options).ok()?;
    let alive = |i: &usize| {
        let curve = &recorded.runs[*i].curve;
        curve.diverged_at().is_none_or(|at| at > cut) && !curve.prefix_until(cut).is_empty()
    };
    let tests = order[train..].iter().copied().filter(|i| alive(i) && !seen.contains(&recorded.repeats[*i]));
    let tests = tests.map(|i| (recorded.runs[i].clone(), recorded.runs[i].curve.prefix_until(cut))).collect();
    Some(Split { history, tests })
}

fn options(recorded: &RecordedSet) -> HistoryOptions {
    HistoryOptions {
        metric: Some(recorded.metric.clone()),
        columns: recorded.columns.clone(),
        ..HistoryOptions::default()
    }
}

/// The forecasts of the tested runs, with their recorded ends.
fn forecasts(split: &Split, predictor: &dyn Predictor) -> Result<Vec<(Forecast, Option<f64>)>, Failure> {
    let history = &split.history;
    let learned: Vec<usize> = (0..history.len()).collect();
    let encoder = history.fit_encoder(&learned);
    let mut models: BTreeMap<usize, Box<dyn Model>> = BTreeMap::new();
    let mut found = Vec::new();
    for (run, seen) in &split.tests {
        let prefix = history.prefix_of(seen);
        if prefix.is_empty() || prefix.len() == history.grid().len() {
            continue;
        }
        let model = match models.entry(prefix.len()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                free.insert(predictor.fit(&history.training_set(&learned, prefix.len(), &encoder))?)
            }
        };
        let configuration = encoder.encode(&run.configuration);
        let query = RunQuery { prefix: &prefix, configuration: &configuration };
        found.push((model.forecast(&query), history.end_of(&run.curve)));
    }
    Ok(found)
}

fn main() -> Result<(), Failure> {
    let arguments = arguments()?;
    let mut out = std::io::stdout().lock();
    let mut totals: BTreeMap<String, Vec<Tally>> = BTreeMap::new();
    writeln!(
        out,
        "{:<52}      R²    CRPS  in 50 % 80 % 90 % 95 %  best tenth ≤ 95 %",
        "set runs observed predictor"
    )?;
    for path in &arguments.files {
        let read_options = ReadOptions { deduplicate: true, ..ReadOptions::default() };
        let recorded = read_runs(Path::new(path), &read_options)?;
        let all = History::new(&recorded.runs, &options(&recorded))?;
        for &train in &arguments.train {
            for &observed in &arguments.observed {
                let cells = cell(&arguments, &recorded, &all, train, observed)?;
                for (name, tally) in arguments.predictors.iter().zip(cells) {
                    let cell = format!("{train:>3} {observed:4} {name}");
                    tally.print(&mut out, &format!("{:<24.24} {cell}", recorded.name))?;
                    totals.entry(cell).or_default().push(tally);
                }
            }
        }
    }
    writeln!(out, "\nmeans over sets")?;
    totals.iter().try_for_each(|(cell, tallies)| summary(tallies).print(&mut out, cell))?;
    Ok(())
}

/// Results of each predictor from `train` runs at `observed`; none if the set is too small.
fn cell(
    arguments: &Arguments,
    recorded: &RecordedSet,
    all: &History,
    train: usize,
    observed: f64,
) -> Result<Vec<Tally>, Failure> {
    let mut tallies = vec![Tally::default(); arguments.predictors.len()];
    for seed in 0..arguments.splits as u64 {
        let Some(split) = split(recorded, all, train, observed, seed) else { return Ok(Vec::new()) };
        for (tally, name) in tallies.iter_mut().zip(&arguments.predictors) {
            let chosen: Box<dyn Predictor> = match name.as_str() {
                "mean" => Box::new(MeanOfRuns),
                _ => make_predictor(
                    name,
                    &PredictorOptions { draws: Some(60), ..PredictorOptions::default() },
                )?,
            };
            tally.add(all, &split, &forecasts(&split, &*chosen)?);
        }
    }
    Ok(tallies)
}

/// The mean of R² and CRPS over sets, each set as much; pooled coverage, each set as much.
fn summary(tallies: &[Tally]) -> Tally {
    let mut all = Tally::default();
    for tally in tallies {
        all.r2.push(mean(&tally.r2));
        all.crps.push(mean(&tally.crps));
        for (sum, inside) in all.inside.iter_mut().zip(tally.inside) {
            *sum += inside / tally.tested.max(1.0);
        }
        all.tested += 1.0;
        all.bounded += tally.bounded / tally.best.max(1.0);
        all.best += 1.0;
    }
    all
}

//! The best score so far against the epochs spent, for combinations of sampler, scheduler and policy on
//! recorded tables. A proposal takes the nearest recorded configuration that was not taken yet.
//!
//! Usage: `best_so_far BUDGET SEEDS COMBINATION... < tables.jsonl`, where BUDGET counts full trainings and a combination is
//! SAMPLER:SCHEDULER:POLICY, such as `tpe:full:asha3`; `:RANK@PREDICTOR` may follow. The policies `safe`, `has_closed_brackets` and `fast`
//! are those of `--caution`. `benches/peers/budget.py` writes the tables and reads the results.

use foretell::{Configuration, Direction, RunScore};
use foretell_search::{
    AshaRule, Caution, ForecastRule, GpSampling, Kappa, MedianRule, NearestSampler, ParameterSpace,
    RandomSampling, Rank, Record, Reference, SamplerSpec, Schedule, Space, StopPolicy, Study, StudyInput,
    StudyParts, StudySpec, TakenRuns, TpeGpSampling, TpeSampling,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::BufRead;

/// Recorded runs; larger is better.
#[derive(Deserialize)]
struct Table {
    name: String,
    parameters: Vec<String>,
    configurations: Vec<Configuration>,
    curves: Vec<Vec<Option<f64>>>,
}

/// The number at the end of a word.
fn number(word: &str, otherwise: u64) -> u64 {
    word.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(otherwise)
}

/// The study of a combination.
fn spec(combination: &str, table: &Table, budget: u64, seed: u64) -> StudySpec {
    let words: Vec<&str> = combination.split(':').collect();
    let space =
        Space::Parameters(ParameterSpace::parse(&table.parameters).expect("the space is written right"));
    let max_resource = table.curves[0].len() as u64;
    let (scheduler, policy) = (words[1], words[2]);
    let (rank, predictor) =
        words.get(3).map_or(("value", "auto"), |word| word.split_once('@').unwrap_or((word, "auto")));
    let eta = number(scheduler, 3);
    let caution = Caution::ALL.into_iter().find(|caution| caution.name() == policy);
    let usual = caution.unwrap_or_default().stopping();
    StudySpec {
        sampler: match words[0] {
            "random" => SamplerSpec::from(RandomSampling),
            "tpe" => SamplerSpec::from(TpeSampling),
            "gp" => SamplerSpec::from(GpSampling),
            "tpe-gp" => SamplerSpec::from(TpeGpSampling),
            other => panic!("no sampler {other}"),
        },
        schedule: match scheduler.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "full" => Schedule::Full,
            "asha" => Schedule::Asha { eta, rungs: None },
            "late-asha" => Schedule::Asha { eta, rungs: Some(2) },
            "hyperband" => {
                let (kappa, reference) = (Kappa::default(), Reference::Level);
                Schedule::Hyperband { eta, runs: 100, kappa, reference }
            }
            other => panic!("no scheduler {other}"),
        },
        policy: match policy.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "none" => StopPolicy::none(),
            "median" => StopPolicy::from(MedianRule),
            "asha" => StopPolicy::from(AshaRule { eta: number(policy, 3) }),
            "srm" => StopPolicy::from(ForecastRule),
            other => StopPolicy::cautious(caution.unwrap_or_else(|| panic!("no policy {other}"))),
        },
        rank: match rank {
            "value" => Rank::Value,
            "mean" => Rank::Mean,
            "upper" => Rank::Upper,
            other => panic!("no rank {other}"),
        },
        predictor: if caution.is_some() { usual.predictor } else { predictor.to_owned() },
        criterion: usual.criterion,
        refit: usual.refit,
        trials: table.curves.len() as u64,
        burn_in: if caution.is_some() { usual.burn_in } else { 5 },
        max_resource,
        budget_epochs: Some(budget * max_resource),
        // as shipped, a trial counts with its last value
        run_score: RunScore::Last,
        seed,
        ..StudySpec::new(space, "score", Direction::Maximize)
    }
}

/// Trials that find no recorded run before a search ends. A bracket may ask for more trials than a table has runs: these fail, so that the
/// bracket goes on with the others.
const MAX_MISSING: u64 = 1_000;

/// (epochs spent, best at any epoch, best final score of a finished trial) at each improvement.
fn traced(combination: &str, table: &Table, budget: u64, seed: u64) -> Vec<(u64, f64, Option<f64>)> {
    let spec = spec(combination, table, budget, seed);
    let Space::Parameters(space) = spec.space.clone() else { return Vec::new() };
    let taken = TakenRuns::default();
    let inner = spec.sampler.sampler(&spec.space, seed).expect("the sampler's settings are in range");
    let runs = table.configurations.iter().cloned().enumerate().collect();
    let nearest = NearestSampler::new(inner, space, runs, TakenRuns::clone(&taken));
    let parts = StudyParts { sampler: Some(Box::new(nearest)), ..StudyParts::default() };
    let mut study = Study::with(spec.clone(), parts).expect("the study is valid");
    let (mut spent, mut best, mut finished, mut trace) = (0, f64::NEG_INFINITY, None::<f64>, Vec::new());
    let mut missing = 0;
    while let Some(&Record::Started { trial, from, until, .. }) = study.step(&StudyInput::WorkerIdle).first()
    {
        let recorded = taken.lock().expect("nobody panicked").get(trial as usize).copied();
        let Some(run) = recorded else {
            missing += 1;
            if missing > MAX_MISSING {
                break;
            }
            let failure = Some("no recorded run is left".to_owned());
            study.step(&StudyInput::Ended { trial, failure });
            continue;
        };
        for step in from + 1..=until {
            let value = table.curves[run][step as usize - 1];
            study.step(&StudyInput::Reported { trial, step, value, metrics: BTreeMap::new() });
            spent += 1;
            let final_score = value.filter(|_| step == spec.max_resource);
            let ahead = value.is_some_and(|value| value > best);
            if ahead || final_score.is_some_and(|score| finished.is_none_or(|best| score > best)) {
                best = best.max(value.unwrap_or(best));
                finished = final_score
                    .map_or(finished, |score| Some(finished.map_or(score, |best| best.max(score))));
                trace.push((spent, best, finished));
            }
            if !study.is_running(trial) {
                break;
            }
        }
        study.step(&StudyInput::Ended { trial, failure: None });
    }
    trace.push((spent, best, finished));
    trace
}

#[expect(clippy::print_stdout, reason = "what the program is for")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [budget, seeds, combinations @ ..] = &arguments[..] else {
        println!("usage: best_so_far BUDGET SEEDS SAMPLER:SCHEDULER:POLICY... < tables.jsonl");
        return;
    };
    let budget = budget.parse().expect("the budget is a number of full trainings");
    let seeds: u64 = seeds.parse().expect("the seeds are a number");
    for line in std::io::stdin().lock().lines() {
        let table: Table = serde_json::from_str(&line.expect("readable")).expect("a table");
        for combination in combinations {
            for seed in 0..seeds {
                let trace = traced(combination, &table, budget, seed);
                let result = serde_json::json!({
                    "table": table.name, "combination": combination, "seed": seed, "trace": trace,
                });
                println!("{result}");
            }
        }
    }
}

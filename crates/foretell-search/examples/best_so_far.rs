//! The best score so far against the epochs spent, for combinations of sampler, scheduler and policy on
//! recorded tables. A proposal takes the nearest recorded configuration that was not taken yet.
//!
//! Usage: `best_so_far BUDGET SEEDS COMBINATION... < tables.jsonl`, where BUDGET counts full trainings and a combination is
//! SAMPLER:SCHEDULER:POLICY, such as `tpe:full:asha3`; `:RANK@PREDICTOR` may follow. The policies `safe`, `balanced` and `fast`
//! are those of `--caution`. `benches/peers/budget.py` writes the tables and reads the results. `benches/peers/second_search.py` gives tables the trials of
//! an earlier search, and reads how far each run was trained.

use foretell::{Configuration, Curve, Direction, Run, RunScore};
use foretell_search::{
    AshaRule, Catalogue, Caution, ChainRule, EarlierStudy, ForecastRule, GpSampling, Kappa, MedianRule,
    NearestSampler, ParameterSpace, RandomSampling, Rank, Record, Reference, Sampler, SamplerFamily,
    SamplerSpec, Schedule, Space, StopPolicy, Study, StudyInput, StudyParts, StudySpec, TakenRuns,
    TpeGpSampling, TpeSampling, name_lesson,
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
    /// Whether the scores are negated losses.
    #[serde(default)]
    is_loss: bool,
    /// The planned trials, instead of one for each run.
    trials: Option<u64>,
    #[serde(default)]
    first_seed: u64,
    /// The trials of an earlier search, as far as they were trained.
    #[serde(default)]
    lessons: Vec<(Configuration, Vec<Option<f64>>)>,
}

impl Table {
    fn direction(&self) -> Direction {
        if self.is_loss { Direction::Minimize } else { Direction::Maximize }
    }

    /// The earlier trials as a study learns from them.
    fn lesson_runs(&self) -> Vec<Run> {
        let run = |(trial, (configuration, scores)): (usize, &(Configuration, Vec<Option<f64>>))| {
            let value = |score: &Option<f64>| self.direction().to_value(score.unwrap_or(f64::NAN));
            let values: Vec<f64> = scores.iter().map(value).collect();
            let curve = Curve::from_epoch_values(&values, self.direction());
            Run {
                id: name_lesson("earlier", &trial.to_string()),
                configuration: configuration.clone(),
                curve,
            }
        };
        self.lessons.iter().enumerate().map(run).collect()
    }
}

/// Samplers that move each proposal to the nearest recorded run, by a name, so that a study enqueues configurations of earlier ones.
struct RecordedFamily {
    inner: SamplerSpec,
    recorded: Vec<Configuration>,
    taken: TakenRuns,
}

impl SamplerFamily for RecordedFamily {
    fn learns_from_forecasts(&self) -> bool {
        self.inner.name() != "random"
    }

    fn sampler(&self, _: &serde_json::Value, space: &Space, seed: u64) -> Result<Box<dyn Sampler>, String> {
        let Space::Parameters(parameters) = space else { return Err("no parameters".to_owned()) };
        let inner = self.inner.sampler(space, seed).map_err(|error| error.to_string())?;
        let runs = self.recorded.iter().cloned().enumerate().collect();
        Ok(Box::new(NearestSampler::new(inner, parameters.clone(), runs, TakenRuns::clone(&self.taken))))
    }
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
            _ if caution.is_some() => ChainRule.into(),
            other => panic!("no policy {other}"),
        },
        rank: match rank {
            "value" => Rank::Value,
            "mean" => Rank::Mean,
            "upper" => Rank::Upper,
            other => panic!("no rank {other}"),
        },
        caution: caution.unwrap_or_default(),
        predictor: if caution.is_some() { usual.predictor } else { predictor.to_owned() },
        criterion: usual.criterion,
        refit: usual.refit,
        trials: table.trials.unwrap_or(table.curves.len() as u64),
        burn_in: if caution.is_some() { usual.burn_in } else { 5 },
        max_resource,
        budget_epochs: Some(budget * max_resource),
        // as shipped, a trial counts with its last value
        run_score: RunScore::Last,
        seed,
        ..StudySpec::new(space, "score", table.direction())
    }
}

/// Trials that find no recorded run before a search ends. A bracket may ask for more trials than a table has runs: these fail, so that the
/// bracket goes on with the others.
const MAX_MISSING: u64 = 1_000;

/// A search of recorded runs.
#[derive(Default)]
struct Searched {
    /// (epochs spent, best at any epoch, best final score of a finished trial) at each improvement.
    trace: Vec<(u64, f64, Option<f64>)>,
    /// Of each trial the recorded run, and the epochs that it was trained.
    trained: Vec<(usize, u64)>,
    /// Whether the earlier search counts in the end.
    lessons: Vec<EarlierStudy>,
}

/// The study of a combination on the runs of a table, and the runs that it takes.
fn recorded_study(combination: &str, table: &Table, budget: u64, seed: u64) -> (Study, TakenRuns) {
    let spec = spec(combination, table, budget, seed);
    let taken = TakenRuns::default();
    let (inner, recorded) = (spec.sampler.clone(), table.configurations.clone());
    let family = RecordedFamily { inner, recorded, taken: TakenRuns::clone(&taken) };
    let catalogue = Catalogue::default().with_sampler("recorded", "Take the nearest recorded run.", family);
    let sampler = serde_json::from_value(serde_json::json!("recorded")).expect("a name");
    let spec = StudySpec { sampler, ..spec };
    let mut study = Study::with(spec, StudyParts::from(&catalogue)).expect("the study is valid");
    study.warm_start(&table.lesson_runs());
    (study, taken)
}

fn run_search(combination: &str, table: &Table, budget: u64, seed: u64) -> Searched {
    let (mut study, taken) = recorded_study(combination, table, budget, seed);
    let max_resource = table.curves[0].len() as u64;
    let mut found = Searched::default();
    let (mut spent, mut best, mut finished, mut missing) = (0, f64::NEG_INFINITY, None::<f64>, 0);
    loop {
        let records = study.step(&StudyInput::WorkerIdle);
        let started = records.iter().find_map(|record| match record {
            &Record::Started { trial, from, until, .. } => Some((trial, from, until)),
            _ => None,
        });
        let Some((trial, from, until)) = started else { break };
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
        found.trained.resize((trial as usize + 1).max(found.trained.len()), (run, 0));
        for step in from + 1..=until {
            let score = table.curves[run][step as usize - 1];
            let value = score.map(|score| table.direction().to_value(score));
            study.step(&StudyInput::Reported { trial, step, value, metrics: BTreeMap::new() });
            spent += 1;
            found.trained[trial as usize].1 = step;
            let final_score = score.filter(|_| step == max_resource);
            let ahead = score.is_some_and(|score| score > best);
            if ahead || final_score.is_some_and(|score| finished.is_none_or(|best| score > best)) {
                best = best.max(score.unwrap_or(best));
                finished = final_score
                    .map_or(finished, |score| Some(finished.map_or(score, |best| best.max(score))));
                found.trace.push((spent, best, finished));
            }
            if !study.is_running(trial) {
                break;
            }
        }
        study.step(&StudyInput::Ended { trial, failure: None });
    }
    found.trace.push((spent, best, finished));
    found.lessons = study.lessons();
    found
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
            for seed in table.first_seed..table.first_seed + seeds {
                let Searched { trace, trained, lessons } = run_search(combination, &table, budget, seed);
                let result = serde_json::json!({
                    "table": table.name, "combination": combination, "seed": seed, "trace": trace, "trained": trained, "lessons": lessons,
                });
                println!("{result}");
            }
        }
    }
}

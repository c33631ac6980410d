//! Replays on recorded runs made up so that every number can be checked by hand.

use foretell::{
    Configuration, Curve, Direction, ErrorBudget, FitError, Forecast, HistoryOptions, LastValue, Model,
    Predictor, Run, RunQuery, StopCriterion, TrainingSet, Value,
};
use foretell_search::{
    ForecastRule, Kappa, KappaOf, OracleRule, PatienceRule, Record, Reference, ReplayError, ReplaySetting,
    RunTable, Schedule, StopPolicy, StudySpec, plan, replay, replay_log,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Runs that rise in straight lines to `finals` over `points` points.
fn table(finals: &[f64], points: usize) -> Arc<RunTable> {
    let run = |(i, end): (usize, &f64)| {
        let values: Vec<f64> = (1..=points).map(|t| end * t as f64 / points as f64).collect();
        let configuration = Configuration::from([("number".to_owned(), Value::Number(i as f64))]);
        Run {
            id: i.to_string(),
            configuration,
            curve: Curve::from_epoch_values(&values, Direction::Maximize),
        }
    };
    let runs: Vec<Run> = finals.iter().enumerate().map(run).collect();
    Arc::new(RunTable::new(&runs, &HistoryOptions::default(), 1).unwrap())
}

/// `n` finals in a scattered order, the best of them 1.
fn scattered_finals(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 37) % n + 1) as f64 / n as f64).collect()
}

type Lent = Option<Arc<dyn Predictor>>;

fn replay_once(
    table: &Arc<RunTable>,
    setting: ReplaySetting,
    predictor: Lent,
) -> foretell_search::ReplayOutcome {
    replay(table, &[ReplaySetting { predictor, ..setting }]).unwrap().remove(0)
}

fn last() -> Lent {
    Some(Arc::new(LastValue))
}

fn lent(witness: &Arc<Witness>) -> Lent {
    Some(Arc::clone(witness) as Arc<dyn Predictor>)
}

fn sure(stop_probability: f64) -> StopCriterion {
    StopCriterion { stop_probability, ..StopCriterion::default() }
}

/// Forecasts three times the last of the scores, learns nothing, and remembers what it was given.
#[derive(Default)]
struct Witness {
    fits: Mutex<Vec<(usize, f64, Vec<f64>)>>,
}

struct Tripled(Vec<Forecast>);

impl Predictor for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }
    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        let targets = training.targets.clone();
        self.fits.lock().unwrap().push((training.steps.len(), training.target_step, targets.clone()));
        // the held-out forecast of a run is marked, so that a test can tell it
        Ok(Box::new(Tripled(vec![Forecast::gaussian(-100.0, 0.0); targets.len()])))
    }
}

impl Model for Tripled {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        Forecast::gaussian(3.0 * query.prefix[query.prefix.len() - 1], 0.0)
    }
    fn held_out(&self) -> &[Forecast] {
        &self.0
    }
}

#[test]
fn without_stopping_everything_is_trained_and_the_best_is_kept() {
    let table = table(&scattered_finals(30), 8);
    let outcome = replay_once(&table, ReplaySetting::new(table.study(), None), None);
    assert_eq!(outcome.orderings.len(), 10);
    for ordering in &outcome.orderings {
        assert_eq!((ordering.spent, ordering.full, ordering.best_kept), (240, 240, true));
        assert!(ordering.regret.abs() < 1e-12);
    }
    assert_eq!(outcome.mean_speedup(), (1.0, 0.0));
}

#[test]
fn the_oracle_stops_all_but_the_record_breakers_at_their_first_check() {
    let table = table(&scattered_finals(50), 10);
    let spec = ReplaySetting {
        first_check: 2,
        ..ReplaySetting::new(
            StudySpec { policy: StopPolicy::from(OracleRule), burn_in: 5, ..table.study() },
            None,
        )
    };
    for ordering in &replay_once(&table, spec, None).orderings {
        let mut best = f64::NEG_INFINITY;
        let mut expected = 0;
        for (place, trial) in ordering.trace.trials.iter().enumerate() {
            let score = table.final_score(trial.run);
            expected += if place < 5 || score > best { 10 } else { 2 };
            best = best.max(score);
        }
        assert_eq!(ordering.spent, expected);
        assert!(ordering.best_kept && ordering.stopped_wrongly.is_empty());
        assert!(ordering.trace.trials.iter().all(|trial| !trial.stopped_wrongly));
    }
}

#[test]
fn a_lost_best_is_counted_with_its_regret() {
    // patience of one point stops every run that does not rise at once: all are flat but one
    let flat = |end: f64| vec![end; 4];
    let mut values = [flat(0.3), flat(0.5), flat(0.2)];
    values[1] = vec![0.5, 0.5, 0.5, 0.9];
    let run = |(i, v): (usize, &Vec<f64>)| Run {
        id: i.to_string(),
        configuration: Configuration::new(),
        curve: Curve::from_epoch_values(v, Direction::Maximize),
    };
    let runs: Vec<Run> = values.iter().enumerate().map(run).collect();
    let table = Arc::new(RunTable::new(&runs, &HistoryOptions::default(), 1).unwrap());
    let spec = ReplaySetting {
        orderings: 20,
        ..ReplaySetting::new(
            StudySpec { policy: StopPolicy::from(PatienceRule { patience: 1 }), burn_in: 1, ..table.study() },
            None,
        )
    };
    for ordering in &replay_once(&table, spec, None).orderings {
        let first = ordering.trace.trials[0].run;
        assert_eq!(ordering.best_kept, first == 1);
        let regret = 0.9 - table.final_score(first);
        assert!((ordering.regret - regret).abs() < 1e-12 && (ordering.regret_natural - regret).abs() < 1e-12);
        assert_eq!(
            ordering.stopped_wrongly,
            if first == 1 { vec![] } else { [more(first), vec![1]].concat() }
        );
    }
    /// Of the flat runs, 0 is better than 2.
    fn more(first: usize) -> Vec<usize> {
        if first == 2 { vec![0] } else { vec![] }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let table = table(&scattered_finals(60), 12);
    let (policy, criterion) = (StopPolicy::from(ForecastRule), sure(0.9));
    let spec = ReplaySetting::new(StudySpec { policy, criterion, burn_in: 20, ..table.study() }, None);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| format!("{:?}", replay_once(&table, spec.clone(), last())))
    };
    assert_eq!(with(1), with(4));
}

#[test]
fn settings_that_learn_from_the_same_runs_share_models() {
    let table = table(&scattered_finals(40), 10);
    let witness = Arc::new(Witness::default());
    let setting = |stop_probability| {
        let spec = ReplaySetting {
            orderings: 3,
            ..ReplaySetting::new(
                StudySpec {
                    policy: StopPolicy::from(ForecastRule),
                    criterion: sure(stop_probability),
                    burn_in: 10,
                    ..table.study()
                },
                None,
            )
        };
        ReplaySetting { predictor: lent(&witness), ..spec }
    };
    replay(&table, &[setting(0.5), setting(0.9), setting(0.99)]).unwrap();
    let fits = witness.fits.lock().unwrap();
    assert!(fits.len() <= 3 * 9, "{} fits for 3 orderings of 9 τ", fits.len());
    assert!(fits.iter().all(|(tau, target, targets)| *tau < 10 && *target >= 10.0 && targets.len() == 10));
}

#[test]
fn predictors_of_one_name_do_not_share_models() {
    let table = table(&scattered_finals(40), 10);
    let witnesses = [Witness::default(), Witness::default()].map(Arc::new);
    let spec = ReplaySetting {
        orderings: 1,
        ..ReplaySetting::new(
            StudySpec { policy: StopPolicy::from(ForecastRule), burn_in: 10, ..table.study() },
            None,
        )
    };
    let setting = |witness| ReplaySetting { predictor: lent(witness), ..spec.clone() };
    replay(&table, &[setting(&witnesses[0]), setting(&witnesses[1])]).unwrap();
    let fits = witnesses.each_ref().map(|witness| witness.fits.lock().unwrap().len());
    assert!(fits[0] > 0 && fits[0] == fits[1], "{fits:?}");
}

#[test]
fn workers_share_the_clock_but_not_the_cost() {
    let table = table(&scattered_finals(12), 5);
    for (workers, elapsed) in [(1, 60), (4, 15), (5, 15), (12, 5), (50, 5)] {
        let spec = ReplaySetting { workers, orderings: 1, ..ReplaySetting::new(table.study(), None) };
        let trace = &replay_once(&table, spec, None).orderings[0].trace;
        assert_eq!((trace.elapsed, trace.resume), (elapsed, 60), "{workers} workers");
    }
}

#[test]
fn hyperband_spends_what_its_plan_says_both_ways() {
    let table = table(&scattered_finals(100), 27);
    let totals = plan(27, 3).unwrap().totals();
    for retrain in [false, true] {
        let schedule =
            Schedule::Hyperband { eta: 3, runs: 4, kappa: Kappa::default(), reference: Reference::Rung };
        let spec = ReplaySetting {
            retrain,
            orderings: 2,
            ..ReplaySetting::new(StudySpec { schedule, ..table.study() }, None)
        };
        for ordering in &replay_once(&table, spec, None).orderings {
            let trace = &ordering.trace;
            assert_eq!((trace.scratch, trace.resume), (4 * totals.scratch, 4 * totals.resume));
            assert_eq!(ordering.spent, ordering.full);
            assert_eq!(trace.by_run.len(), 4);
            assert_eq!(trace.by_run.iter().map(|run| run.0).sum::<u64>(), ordering.spent);
        }
    }
}

#[test]
fn f_hyperband_saves_and_bolder_kappas_save_more() {
    let table = table(&scattered_finals(200), 27);
    let spent = |reference, kappa: f64| {
        let kappa = Kappa { kappa, of: KappaOf::Next };
        let schedule = Schedule::Hyperband { eta: 3, runs: 10, kappa, reference };
        let spec = ReplaySetting {
            orderings: 3,
            ..ReplaySetting::new(
                StudySpec { schedule, policy: StopPolicy::from(OracleRule), burn_in: 20, ..table.study() },
                None,
            )
        };
        let outcome = replay_once(&table, spec, None);
        assert!(outcome.orderings.iter().all(|o| o.spent < o.full));
        outcome.mean(|o| o.spent as f64)
    };
    for reference in [Reference::Rung, Reference::Level] {
        assert!(spent(reference, 0.25) < spent(reference, 1.0), "{reference:?}");
    }
    assert!(
        spent(Reference::Level, 1.0) < spent(Reference::Rung, 1.0),
        "whole rungs cannot be behind themselves"
    );
}

#[test]
fn levels_learn_from_what_reached_them_and_forecast_no_further() {
    let table = table(&scattered_finals(60), 27);
    let witness = Arc::new(Witness::default());
    let schedule =
        Schedule::Hyperband { eta: 3, runs: 6, kappa: Kappa::default(), reference: Reference::Level };
    let policy = StopPolicy::from(ForecastRule);
    let spec = ReplaySetting {
        orderings: 2,
        ..ReplaySetting::new(StudySpec { schedule, policy, burn_in: 12, ..table.study() }, None)
    };
    replay_once(&table, spec, lent(&witness));
    let fits = witness.fits.lock().unwrap();
    assert!(!fits.is_empty());
    for (tau, target, targets) in fits.iter() {
        assert!([3.0, 9.0, 27.0].iter().any(|level: &f64| (level - target).abs() < 1e-9), "target {target}");
        assert!((*tau as f64) < *target && targets.len() <= 12, "τ {tau}, {} runs", targets.len());
        let highest = target / 27.0 + 1e-9;
        assert!(targets.iter().all(|&score| score <= highest), "scores at the level, not at the end");
    }
}

#[test]
fn a_configuration_that_was_learned_from_gets_its_held_out_forecast() {
    // six runs, drawn again and again: from the second pass on every run was learned from, its held-out forecast says
    // −100, and all are stopped at the first look
    let table = table(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 9);
    let witness = Arc::new(Witness::default());
    let schedule =
        Schedule::Hyperband { eta: 3, runs: 12, kappa: Kappa::default(), reference: Reference::Level };
    let policy = StopPolicy::from(ForecastRule);
    let spec = ReplaySetting {
        orderings: 1,
        retrain: true,
        ..ReplaySetting::new(StudySpec { schedule, policy, burn_in: 30, ..table.study() }, None)
    };
    let outcome = replay_once(&table, spec, lent(&witness));
    let trials = outcome.orderings[0].trace.trials.len() as f64;
    assert!(outcome.mean_stopped_trials() <= trials, "a run that is stopped at several rungs counts once");
    let learned = witness.fits.lock().unwrap().iter().filter(|fit| fit.1 > 8.5).map(|fit| fit.2.len()).max();
    assert!(learned.is_some_and(|runs| runs <= 6), "repeats count once");
    assert!(outcome.orderings[0].trace.trials.iter().any(|trial| trial.stopped_at == Some(1)));
}

#[test]
fn a_warm_start_stops_from_the_first_run_on_and_never_draws_what_was_handed_in() {
    let table = table(&scattered_finals(120), 27);
    let schedule =
        Schedule::Hyperband { eta: 3, runs: 3, kappa: Kappa::default(), reference: Reference::Level };
    let cold = ReplaySetting {
        orderings: 2,
        ..ReplaySetting::new(
            StudySpec { schedule, policy: StopPolicy::from(OracleRule), burn_in: 100, ..table.study() },
            None,
        )
    };
    let warm = ReplaySetting { warm_start: 50, ..cold.clone() };
    let saved = |spec| {
        let outcome = replay_once(&table, spec, None);
        (outcome.mean(|o| (o.full - o.spent) as f64), outcome)
    };
    let ((cold, _), (warm, outcome)) = (saved(cold), saved(warm));
    assert!(warm > 2.0 * cold.max(1.0), "warm {warm}, cold {cold}");
    for ordering in &outcome.orderings {
        let drawn: std::collections::BTreeSet<usize> = ordering.trace.trials.iter().map(|t| t.run).collect();
        assert!(drawn.len() <= 70);
    }
}

#[test]
fn exempt_runs_are_trained_to_their_end_and_audited() {
    let table = table(&scattered_finals(300), 10);
    let spec = ReplaySetting {
        orderings: 4,
        ..ReplaySetting::new(
            StudySpec { policy: StopPolicy::from(OracleRule), burn_in: 10, exempt: 0.1, ..table.study() },
            None,
        )
    };
    let outcome = replay_once(&table, spec, None);
    let (spared, wrong) = outcome.audit(&table);
    assert!((60..=180).contains(&spared), "{spared} of about 120");
    assert_eq!(wrong, 0, "perfect foresight is never wrong");
    let trials = outcome.orderings.iter().flat_map(|o| &o.trace.trials);
    assert!(trials.filter(|trial| trial.spared).all(|trial| trial.finished && trial.stopped_at.is_none()));
}

#[test]
fn refitting_learns_from_more_runs() {
    let table = table(&scattered_finals(120), 6);
    let witness = Arc::new(Witness::default());
    let spec = ReplaySetting {
        orderings: 1,
        ..ReplaySetting::new(
            StudySpec {
                policy: StopPolicy::from(ForecastRule),
                criterion: StopCriterion { error_budget: ErrorBudget::PerRun, ..sure(0.99) },
                burn_in: 10,
                refit: Some(1.5),
                exempt: 0.5,
                ..table.study()
            },
            None,
        )
    };
    replay_once(&table, spec, lent(&witness));
    let sizes: std::collections::BTreeSet<usize> =
        witness.fits.lock().unwrap().iter().map(|fit| fit.2.len()).collect();
    assert!(sizes.contains(&10) && sizes.contains(&15), "{sizes:?}");
}

#[test]
fn i_epoch_trains_all_a_little_and_the_best_to_the_end() {
    let table = table(&scattered_finals(40), 10);
    let spec = ReplaySetting {
        orderings: 2,
        ..ReplaySetting::new(
            StudySpec { schedule: Schedule::IEpoch { epochs: 2, keep: 5 }, burn_in: 1, ..table.study() },
            None,
        )
    };
    let outcome = replay_once(&table, spec, None);
    assert!(outcome.orderings.iter().all(|o| o.spent == 40 * 2 + 5 * 8 && o.best_kept));
    assert!((outcome.mean_stopped_trials() - 35.0).abs() < 1e-12);
}

#[test]
fn asha_and_successive_halving_find_the_best_of_curves_that_never_cross() {
    let table = table(&scattered_finals(81), 27);
    for schedule in [Schedule::Asha { eta: 3, rungs: None }, Schedule::SuccessiveHalving { eta: 3 }] {
        for workers in [1, 7] {
            let spec = ReplaySetting {
                workers,
                orderings: 2,
                ..ReplaySetting::new(StudySpec { schedule, ..table.study() }, None)
            };
            let outcome = replay_once(&table, spec, None);
            assert!((outcome.best_kept() - 1.0).abs() < 1e-12, "{schedule:?}");
            assert!(outcome.mean_speedup().0 > 3.0, "{schedule:?}");
        }
    }
}

#[test]
fn bad_settings_are_refused_with_their_numbers() {
    let table = table(&scattered_finals(20), 9);
    let good = StudySpec { burn_in: 5, ..table.study() };
    let with = |study| ReplaySetting::new(study, None);
    let hyperband = |eta, kappa| {
        let kappa = Kappa { kappa, of: KappaOf::Next };
        Schedule::Hyperband { eta, runs: 2, kappa, reference: Reference::Rung }
    };
    let cases = [
        (with(StudySpec { schedule: hyperband(1, 1.0), ..good.clone() }), "eta = 1"),
        (
            with(StudySpec { schedule: hyperband(10, 1.0), ..good.clone() }),
            "largest resource 9 is below eta = 10",
        ),
        (with(StudySpec { schedule: hyperband(3, 0.0), ..good.clone() }), "kappa = 0"),
        (with(StudySpec { schedule: hyperband(3, 1.5), ..good.clone() }), "kappa = 1.5"),
        (with(StudySpec { criterion: sure(0.4), ..good.clone() }), "stop probability 0.4"),
        (with(StudySpec { criterion: sure(1.0), ..good.clone() }), "stop probability 1"),
        (
            with(StudySpec { policy: StopPolicy::from(OracleRule), burn_in: 20, ..good.clone() }),
            "burn-in of 20",
        ),
        (ReplaySetting { warm_start: 20, ..with(good.clone()) }, "warm start of 20 runs leaves none of 20"),
        (with(StudySpec { max_resource: 10, ..good.clone() }), "10, but the recorded runs have 9"),
        (ReplaySetting { orderings: 0, ..with(good.clone()) }, "orderings is 0"),
        (with(StudySpec { exempt: 1.0, ..good.clone() }), "exempt fraction 1"),
        (with(StudySpec { refit: Some(1.0), ..good.clone() }), "refit factor 1"),
        (
            with(StudySpec { schedule: Schedule::IEpoch { epochs: 9, keep: 2 }, ..good.clone() }),
            "for 9 epochs",
        ),
    ];
    for (setting, message) in cases {
        let error = replay(&table, &[setting]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn unfinished_runs_are_no_replay() {
    let short = Run {
        id: "a".into(),
        configuration: Configuration::new(),
        curve: Curve::from_epoch_values(&[0.1, 0.2], Direction::Maximize),
    };
    let whole = Run {
        id: "b".into(),
        configuration: Configuration::new(),
        curve: Curve::from_epoch_values(&[0.1, 0.2, 0.3], Direction::Maximize),
    };
    let options = HistoryOptions { target: Some(3.0), ..HistoryOptions::default() };
    let error = RunTable::new(&[short, whole], &options, 1).unwrap_err();
    assert_eq!(error, ReplayError::TooFewRuns { got: 1, unfinished: 1 });
}

/// The table of runs that report `values`.
fn table_of(values: &[Vec<f64>]) -> Arc<RunTable> {
    let run = |(i, values): (usize, &Vec<f64>)| Run {
        id: i.to_string(),
        configuration: Configuration::new(),
        curve: Curve::from_epoch_values(values, Direction::Maximize),
    };
    let runs: Vec<Run> = values.iter().enumerate().map(run).collect();
    Arc::new(RunTable::new(&runs, &HistoryOptions::default(), 1).unwrap())
}

#[test]
fn a_run_that_diverged_is_counted_up_to_there_on_both_sides_by_replays_and_searches_alike() {
    let rises = |end: f64| (1..=10).map(|t| end * f64::from(t) / 10.0).collect::<Vec<f64>>();
    let mut diverged = rises(0.6);
    diverged[3..].fill(f64::NAN);
    let table = table_of(&[rises(0.3), rises(0.9), diverged, rises(0.5), rises(0.7)]);
    // it is seen at its second value that is not finite, the fifth
    for policy in
        [StopPolicy::none(), StopPolicy::from(OracleRule), StopPolicy::from(PatienceRule { patience: 9 })]
    {
        let spec = ReplaySetting {
            orderings: 4,
            ..ReplaySetting::new(StudySpec { policy: policy.clone(), burn_in: 1, ..table.study() }, None)
        };
        let outcome = replay_once(&table, spec.clone(), None);
        for (ordering, one) in outcome.orderings.iter().enumerate() {
            assert_eq!(one.full, 4 * 10 + 5, "{policy:?}");
            if policy == StopPolicy::none() {
                assert_eq!(one.spent, one.full);
                continue;
            }
            let mut spent = BTreeMap::new();
            for record in replay_log(&table, &spec, ordering).unwrap() {
                if let Record::Reported { trial, step, .. } = record {
                    spent.insert(trial, step);
                }
            }
            assert_eq!(spent.values().sum::<u64>(), one.spent, "{policy:?}");
        }
    }
}

#[test]
fn the_place_of_the_best_that_was_kept_and_the_regret_where_the_best_was_lost() {
    // patience of one point stops every run but the first: all but the best are flat, and that starts flat
    let flat = |end: f64| vec![end; 4];
    let table = table_of(&[flat(0.3), flat(0.5), flat(0.2), vec![0.1, 0.1, 0.1, 0.9]]);
    let spec = ReplaySetting {
        orderings: 40,
        ..ReplaySetting::new(
            StudySpec { policy: StopPolicy::from(PatienceRule { patience: 1 }), burn_in: 1, ..table.study() },
            None,
        )
    };
    let outcome = replay_once(&table, spec, None);
    let mut places = [0_usize; 5];
    for ordering in &outcome.orderings {
        let first = table.final_score(ordering.trace.trials[0].run);
        let better = [0.3, 0.5, 0.2, 0.9].iter().filter(|&&end| end > first).count();
        assert_eq!(ordering.rank, better + 1);
        places[ordering.rank] += 1;
    }
    assert!(places[1..].iter().all(|&times| times > 0), "{places:?}");
    let (three, _) = outcome.kept_among(3);
    assert!((three - (40 - places[4]) as f64 / 40.0).abs() < 1e-12);
    let lost: f64 = 0.4 * places[2] as f64 + 0.6 * places[3] as f64 + 0.7 * places[4] as f64;
    let (where_lost, _) = outcome.where_lost(|o| o.regret_natural).unwrap();
    assert!((where_lost - lost / (places[2] + places[3] + places[4]) as f64).abs() < 1e-9);
    assert!((outcome.mean(|o| o.regret_natural) - lost / 40.0).abs() < 1e-9);
}

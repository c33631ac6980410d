//! Rungs that rank by forecasts: the trials they keep where early ranks tell nothing about final values, and where they do.

use foretell::{Configuration, Direction, RunScore};
use foretell_search::{
    AshaRule, ForecastRule, Kappa, ParameterSpace, RandomSampling, Rank, Record, Reference, SamplerSpec,
    Schedule, Space, StopPolicy, StoppingDefaults, Study, StudyError, StudyInput, StudySpec, TrialState,
};
use std::collections::BTreeMap;

const EPOCHS: u64 = 27;

fn space() -> Space {
    Space::Parameters(ParameterSpace::parse(&["x=float:0:1", "y=float:0:1"]).unwrap())
}

fn asha(rank: Rank, seed: u64) -> StudySpec {
    let StoppingDefaults { burn_in, refit, .. } = StoppingDefaults::ranking();
    StudySpec {
        schedule: Schedule::Asha { eta: 3, rungs: None },
        policy: StopPolicy::none(),
        rank,
        burn_in,
        refit,
        predictor: "ridge".to_owned(),
        max_resource: EPOCHS,
        trials: 2000,
        budget_epochs: Some(40 * EPOCHS),
        run_score: RunScore::Last,
        seed,
        sampler: SamplerSpec::from(RandomSampling),
        ..StudySpec::new(space(), "score", Direction::Maximize)
    }
}

/// Runs a study to its end with one worker.
fn driven(spec: &StudySpec, curve: impl Fn(f64, f64, u64) -> f64) -> (Study, Vec<Record>) {
    let mut study = Study::new(spec.clone()).unwrap();
    let mut log = vec![Record::Created { study: Box::new(spec.clone()) }];
    loop {
        let records = study.step(&StudyInput::WorkerIdle);
        let Some(Record::Started { trial, configuration, from, until, .. }) = records.first().cloned() else {
            return (study, log);
        };
        log.extend(records);
        let number = |configuration: &Configuration, name: &str| configuration[name].as_number().unwrap();
        for step in from + 1..=until {
            let value = Some(curve(number(&configuration, "x"), number(&configuration, "y"), step));
            log.extend(study.step(&StudyInput::Reported { trial, step, value, metrics: BTreeMap::new() }));
            if !study.is_running(trial) {
                break;
            }
        }
        log.extend(study.step(&StudyInput::Ended { trial, failure: None }));
    }
}

fn completed_count(study: &Study) -> usize {
    study.trials().iter().filter(|trial| matches!(trial.state, TrialState::Completed { .. })).count()
}

/// The mean over ten seeds of the best end, and of how many trials were trained to it.
fn means(rank: Rank, curve: fn(f64, f64, u64) -> f64) -> (f64, f64) {
    let of_seed = |seed| {
        let (study, _) = driven(&asha(rank, seed), curve);
        (study.best().unwrap().score, completed_count(&study) as f64)
    };
    let all: Vec<(f64, f64)> = (0..10).map(of_seed).collect();
    (all.iter().map(|one| one.0).sum::<f64>() / 10.0, all.iter().map(|one| one.1).sum::<f64>() / 10.0)
}

/// Until epoch 24 of 27 the score is y, which says nothing of the end, x.
fn late(x: f64, y: f64, step: u64) -> f64 {
    if step > 24 { x } else { y }
}

/// The score rises to x.
fn steady(x: f64, _: f64, step: u64) -> f64 {
    x * (1.0 - 0.8_f64.powi(step as i32))
}

#[test]
fn where_early_ranks_say_nothing_trials_are_not_held_back() {
    let (by_value, by_forecast) = (means(Rank::Value, late), means(Rank::Mean, late));
    assert!(by_forecast.1 > 1.4 * by_value.1, "trained to the end: {by_forecast:?} against {by_value:?}");
    assert!(by_forecast.0 > by_value.0, "{by_forecast:?} against {by_value:?}");
}

#[test]
fn where_early_ranks_say_it_all_nothing_is_lost() {
    let (by_value, by_forecast) = (means(Rank::Value, steady), means(Rank::Upper, steady));
    assert!((by_forecast.0 - by_value.0).abs() < 0.01, "{by_forecast:?} against {by_value:?}");
    assert!(by_forecast.1 < 1.2 * by_value.1, "{by_forecast:?} against {by_value:?}");
}

/// Curves that rise early end low, as two parameters and the values so far show.
fn crossing(x: f64, y: f64, step: u64) -> f64 {
    let t = step as f64 / EPOCHS as f64;
    y * (1.0 - t) + (1.0 - y + 0.2 * x) * t
}

#[test]
fn forecasts_promote_whom_the_value_at_the_rung_would_not() {
    for schedule in [
        Schedule::Asha { eta: 3, rungs: None },
        Schedule::Hyperband { eta: 3, runs: 4, kappa: Kappa::default(), reference: Reference::Rung },
    ] {
        let best = |rank| {
            let spec = StudySpec { schedule, ..asha(rank, 1) };
            driven(&spec, crossing).0.best().unwrap().score
        };
        assert!(
            best(Rank::Mean) > best(Rank::Value) + 0.05,
            "{schedule:?}: {} {}",
            best(Rank::Mean),
            best(Rank::Value)
        );
    }
    let stopping = |rank| StudySpec {
        schedule: Schedule::Full,
        policy: StopPolicy::from(AshaRule { eta: 3 }),
        ..asha(rank, 1)
    };
    let best = |rank| driven(&stopping(rank), crossing).0.best().unwrap().score;
    assert!(best(Rank::Mean) > best(Rank::Value), "{} {}", best(Rank::Mean), best(Rank::Value));
}

#[test]
fn a_study_that_ranks_by_forecasts_is_restored_at_any_start() {
    let stopping = StudySpec {
        schedule: Schedule::Full,
        policy: StopPolicy::from(AshaRule { eta: 3 }),
        ..asha(Rank::Upper, 2)
    };
    for spec in [asha(Rank::Mean, 2), stopping] {
        let spec = StudySpec { budget_epochs: Some(15 * EPOCHS), ..spec };
        let (_, log) = driven(&spec, crossing);
        let starts = (1..log.len()).filter(|&i| matches!(log[i], Record::Started { .. }));
        for at in starts.step_by(7) {
            let mut restored = Study::resume(spec.clone(), &log[..at]).unwrap();
            assert_eq!(restored.step(&StudyInput::WorkerIdle)[0], log[at], "record {at}");
        }
    }
}

#[test]
fn ranks_by_forecasts_need_rungs_and_no_other_forecasts_there() {
    let full = StudySpec { schedule: Schedule::Full, ..asha(Rank::Mean, 0) };
    let f_hyperband = StudySpec {
        schedule: Schedule::Hyperband {
            eta: 3,
            runs: 1,
            kappa: Kappa::default(),
            reference: Reference::Rung,
        },
        policy: StopPolicy::from(ForecastRule),
        ..asha(Rank::Mean, 0)
    };
    for spec in [full, f_hyperband] {
        assert_eq!(spec.validate(), Err(StudyError::Rank));
        StudySpec { rank: Rank::Value, ..spec }.validate().unwrap();
    }
    let text = serde_json::to_string(&asha(Rank::Upper, 0)).unwrap();
    assert_eq!(serde_json::from_str::<StudySpec>(&text).unwrap(), asha(Rank::Upper, 0));
    assert_ne!(asha(Rank::Upper, 0).identity(), asha(Rank::Value, 0).identity());
}

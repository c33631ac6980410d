//! The chain as the stop rule of a study.

use foretell::{Action, Curve, Direction, Run};
use foretell_search::{
    Caution, ChainRule, Decision, ForecastRule, LessonStatus, ParameterSpace, Reason, Record, Space,
    StopPolicy, Study, StudyInput, StudyParts, StudyRequest, StudySpec, Trial, name_lesson,
};
use std::collections::BTreeMap;

const EPOCHS: u64 = 27;

fn space() -> Space {
    Space::Parameters(ParameterSpace::parse(&["x=float:0:1"]).unwrap())
}

fn spec(caution: Caution, trials: u64, direction: Direction) -> StudySpec {
    StudySpec { max_resource: EPOCHS, trials, caution, ..StudySpec::new(space(), "score", direction) }
}

/// Runs `study` with `workers` workers, each an epoch at a time in turn, and returns its records; the value of trial n at an epoch is `curve(n, epoch)`,
/// NaN for one that is not finite.
fn drive(study: &mut Study, workers: usize, curve: impl Fn(u64, u64) -> f64) -> Vec<Record> {
    let (mut busy, mut records) = (vec![None; workers], Vec::new());
    loop {
        for worker in busy.iter_mut().filter(|worker| worker.is_none()) {
            let started = study.step(&StudyInput::WorkerIdle);
            *worker = started.iter().find_map(|record| match record {
                Record::Started { trial, .. } => Some((*trial, 0)),
                _ => None,
            });
            records.extend(started);
        }
        if busy.iter().all(Option::is_none) {
            return records;
        }
        for worker in &mut busy {
            let Some((trial, epoch)) = worker.as_mut() else { continue };
            *epoch += 1;
            let value = Some(curve(*trial, *epoch)).filter(|value| value.is_finite());
            let reported =
                StudyInput::Reported { trial: *trial, step: *epoch, value, metrics: BTreeMap::new() };
            records.extend(study.step(&reported));
            if *epoch == EPOCHS {
                records.extend(study.step(&StudyInput::Ended { trial: *trial, failure: None }));
            }
            if !study.is_running(*trial) {
                *worker = None;
            }
        }
    }
}

fn driven(spec: StudySpec, workers: usize, curve: impl Fn(u64, u64) -> f64) -> (Study, Vec<Record>) {
    let mut study = Study::new(spec).unwrap();
    let mut records = vec![Record::Created { study: Box::new(study.spec().clone()) }];
    records.extend(drive(&mut study, workers, curve));
    (study, records)
}

fn decisions(records: &[Record]) -> Vec<&Decision> {
    fn decision(record: &Record) -> Option<&Decision> {
        if let Record::Decided(decision) = record { Some(decision) } else { None }
    }
    records.iter().filter_map(decision).collect()
}

/// The end of trial number `trial`, spread over (0, 1) without an order.
fn end(trial: u64) -> f64 {
    (trial as f64 * 0.618_034 + 0.3).fract()
}

/// A curve that rises to its end, each at a pace of its own.
fn steady(trial: u64, epoch: u64) -> f64 {
    end(trial) * (1.0 - (-(epoch as f64) / (4.0 + (trial % 5) as f64)).exp())
}

#[test]
fn losers_stop_and_the_best_is_kept() {
    for (workers, least) in [(1, 1.5), (8, 1.5)] {
        let (study, records) = driven(spec(Caution::Balanced, 40, Direction::Maximize), workers, steady);
        let best = (0..40).max_by(|&a, &b| steady(a, EPOCHS).total_cmp(&steady(b, EPOCHS))).unwrap();
        assert_eq!(study.best().unwrap().trial, best, "{workers} workers");
        let times = (40 * EPOCHS) as f64 / study.progress().spent as f64;
        assert!(times > least, "{workers} workers: {times}");
        for stop in decisions(&records).iter().filter(|decision| decision.action == Action::Stop) {
            let (forecast, chance) = (stop.forecast.unwrap(), stop.chance.unwrap());
            assert!((0.0..0.1).contains(&chance) && forecast.interval.0 <= forecast.mean, "{stop:?}");
            assert_eq!(stop.reason, Reason::WillNotWin);
        }
    }
}

#[test]
fn no_study_ends_without_a_completed_trial() {
    let falling = |trial: u64, epoch: u64| end(trial) - 0.02 * epoch as f64 * end(trial + 7);
    let flat = |_: u64, _: u64| 0.5;
    let noise = |trial: u64, epoch: u64| end(trial * 31 + epoch * 17);
    let diverges = |trial: u64, epoch: u64| {
        if end(trial) > 0.7 && epoch > 9 { f64::NAN } else { steady(trial, epoch) }
    };
    let curves: [&dyn Fn(u64, u64) -> f64; 5] = [&steady, &falling, &flat, &noise, &diverges];
    for caution in Caution::ALL {
        for workers in [1, 3, 8, 40] {
            // if all trials start together, those that a diverging one beat cannot be started again
            let kinds = if workers == 40 { 4 } else { 5 };
            for (number, curve) in curves[..kinds].iter().enumerate() {
                let (study, _) = driven(spec(caution, 40, Direction::Maximize), workers, curve);
                assert!(
                    study.progress().trials.completed > 0,
                    "{caution:?}, {workers} workers, curves {number}: {:?}",
                    study.progress()
                );
            }
        }
    }
}

#[test]
fn a_study_restored_from_its_log_decides_alike() {
    let spec = spec(Caution::Balanced, 40, Direction::Maximize);
    let (_, records) = driven(spec.clone(), 1, steady);
    // after the report before each tenth decision
    let decided = (0..records.len()).filter(|&at| matches!(records[at], Record::Decided(_))).step_by(10);
    for at in decided {
        let known = records[..at].iter().cloned().map(Ok::<_, std::convert::Infallible>);
        let mut restored = Study::restore(spec.clone(), StudyParts::default(), known).unwrap();
        // the trial was interrupted before the decision on its last report
        let again = restored.step(&StudyInput::WorkerIdle);
        assert_eq!(again.first(), Some(&records[at]));
    }
}

#[test]
fn a_study_that_only_watches_decides_as_one_that_stops() {
    let watching = StudySpec { shadow: true, ..spec(Caution::Balanced, 40, Direction::Maximize) };
    let (study, records) = driven(watching, 1, steady);
    assert_eq!(study.progress().trials.completed, 40);
    let would_stop = decisions(&records);
    let would_stop = would_stop.iter().filter(|d| d.reason == Reason::WillNotWin).map(|d| (d.trial, d.step));
    let (_, stopped) = driven(spec(Caution::Balanced, 40, Direction::Maximize), 1, steady);
    let stopped = decisions(&stopped);
    let stopped = stopped.iter().filter(|d| d.action == Action::Stop).map(|d| (d.trial, d.step));
    assert_eq!(would_stop.collect::<Vec<_>>(), stopped.collect::<Vec<_>>());
}

#[test]
fn a_loss_that_falls_below_zero_is_forecast_on_its_own_scale() {
    let loss = |trial: u64, epoch: u64| 0.4 - steady(trial, epoch);
    let (study, records) = driven(spec(Caution::Balanced, 40, Direction::Minimize), 1, loss);
    let best = (0..40).min_by(|&a, &b| loss(a, EPOCHS).total_cmp(&loss(b, EPOCHS))).unwrap();
    assert_eq!(study.best().unwrap().trial, best);
    assert!(study.progress().trials.stopped > 5);
    for decision in decisions(&records) {
        if let Some(forecast) = decision.forecast {
            assert!(forecast.mean > -1.0 && forecast.mean < 1.0, "{decision:?}");
        }
    }
}

/// A study of 40 trials after an earlier one with these `lessons`, of which three in four were stopped after `length` epochs.
fn driven_after(
    (spec, workers): (StudySpec, usize),
    curve: impl Fn(u64, u64) -> f64 + Copy,
    lessons: impl Fn(u64, u64) -> f64,
    length: u64,
) -> Study {
    let direction = spec.direction;
    let mut study = Study::new(spec).unwrap();
    let lesson = |number: u64| {
        let length = if number.is_multiple_of(4) { EPOCHS } else { length };
        let values: Vec<f64> = (1..=length).map(|epoch| lessons(number + 100, epoch)).collect();
        let id = name_lesson("first", &number.to_string());
        Run { id, configuration: Default::default(), curve: Curve::from_epoch_values(&values, direction) }
    };
    study.warm_start(&(0..40).map(lesson).collect::<Vec<_>>());
    drive(&mut study, workers, curve);
    study
}

fn status(study: &Study) -> LessonStatus {
    let [earlier] = &study.lessons()[..] else { panic!("{:?}", study.lessons()) };
    assert_eq!((earlier.study.as_str(), earlier.trials), ("first", 40));
    earlier.status
}

#[test]
fn earlier_curves_that_fit_save_training_and_others_do_no_harm() {
    for caution in Caution::ALL {
        let spec = || spec(caution, 40, Direction::Maximize);
        let (cold, _) = driven(spec(), 1, steady);
        let after = driven_after((spec(), 1), steady, steady, 9);
        let best = |study: &Study| study.best().unwrap().trial;
        assert_eq!((status(&after), best(&after)), (LessonStatus::Counts, best(&cold)));
        let (spent, before) = (after.progress().spent as f64, cold.progress().spent as f64);
        assert!(spent < 0.97 * before, "{caution:?}: {spent} of {before}");
        let after = driven_after((spec(), 1), steady, |trial, epoch| 5.0 - steady(trial, epoch), 9);
        assert_eq!((status(&after), best(&after)), (LessonStatus::PutAside, best(&cold)));
    }
}

#[test]
fn earlier_studies_that_do_not_move_change_nothing() {
    let loss = |trial: u64, epoch: u64| 1.1 - steady(trial, epoch);
    type Curves = fn(u64, u64) -> f64;
    let dead: [(&str, Curves); 4] = [
        ("zero", |_, _| 0.0),
        ("a constant", |_, _| 0.5),
        ("one constant each", |trial, _| 0.1 + end(trial)),
        ("noise at the bottom", |trial, epoch| 0.5 + 0.001 * end(trial * 31 + epoch * 17)),
    ];
    for workers in [1, 8] {
        let spec = || spec(Caution::Balanced, 40, Direction::Minimize);
        let (cold, _) = driven(spec(), workers, loss);
        for (name, lessons) in dead {
            let after = driven_after((spec(), workers), loss, lessons, EPOCHS);
            assert_eq!(status(&after), LessonStatus::LeftOut, "{name}, {workers} workers");
            let states = |study: &Study| study.trials().iter().map(Trial::trained_epochs).collect::<Vec<_>>();
            assert_eq!(states(&after), states(&cold), "{name}, {workers} workers");
        }
    }
}

#[test]
fn chances_stop_trials_unless_somebody_says_what_does() {
    let policy = |request: StudyRequest| {
        let request = StudyRequest { space: Some(space()), metric: Some("acc".to_owned()), ..request };
        let spec = request.resolve(None).unwrap();
        (spec.policy, spec.caution)
    };
    let usual = StudyRequest::default;
    let by_chance = |caution| (StopPolicy::from(ChainRule), caution);
    let learn_from = Some(vec!["earlier".to_owned()]);
    assert_eq!(policy(usual()), by_chance(Caution::Balanced));
    assert_eq!(
        policy(StudyRequest { learn_from: learn_from.clone(), ..usual() }),
        by_chance(Caution::Balanced)
    );
    let caution = Some(Caution::Safe);
    assert_eq!(policy(StudyRequest { caution, ..usual() }), by_chance(Caution::Safe));
    let caution = Some(Caution::Fast);
    assert_eq!(policy(StudyRequest { caution, ..usual() }), by_chance(Caution::Fast));
    assert_eq!(policy(StudyRequest { caution, learn_from, ..usual() }), by_chance(Caution::Fast));
    let objective = Some(vec!["acc:max".to_owned(), "x:min".to_owned()]);
    for by_forecasts in [
        StudyRequest { paper: Some(true), trials: Some(200), ..usual() },
        StudyRequest { objective, ..usual() },
        StudyRequest { policy: Some("srm".into()), ..usual() },
    ] {
        assert_eq!(policy(by_forecasts.clone()).0, StopPolicy::from(ForecastRule), "{by_forecasts:?}");
    }
}

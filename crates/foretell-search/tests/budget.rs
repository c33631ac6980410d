//! Budgets, queued trials, and ASHA that stops.

use foretell::{Configuration, Direction, Value};
use foretell_search::{
    AshaRule, ParameterSpace, Reason, Record, Schedule, Session, Space, StopPolicy, Study, StudyError,
    StudyInput, StudyParts, StudySpec, TrainingEnd, TrainingStart, Trial, TrialState,
};
use std::collections::{BTreeMap, BTreeSet};

fn space() -> Space {
    Space::Parameters(ParameterSpace::parse(&["x=float:0:1", "o=choice:a,b", "m=float:0:1 if o=a"]).unwrap())
}

fn spec(policy: StopPolicy) -> StudySpec {
    StudySpec { max_resource: 9, trials: 30, policy, ..StudySpec::new(space(), "score", Direction::Maximize) }
}

fn report(trial: u64, step: u64, value: f64) -> StudyInput {
    StudyInput::Reported { trial, step, value: Some(value), metrics: BTreeMap::new() }
}

/// Runs a study to its end with one worker; trial n reports `score(n)` at every step.
fn drive(study: &mut Study, score: impl Fn(u64) -> f64) {
    while let Some(&Record::Started { trial, from, until, .. }) = study.step(&StudyInput::WorkerIdle).first()
    {
        for step in from + 1..=until {
            study.step(&report(trial, step, score(trial)));
            if !study.is_running(trial) {
                break;
            }
        }
        study.step(&StudyInput::Ended { trial, failure: None });
    }
}

/// A trial is paused at epochs 1 and 3 unless it is among the best third there.
const PAUSING: Schedule = Schedule::Asha { eta: 3, rungs: Some(2) };

#[test]
fn a_budget_is_spent_but_for_less_than_one_job_and_never_exceeded() {
    for (schedule, policy) in
        [(PAUSING, StopPolicy::none()), (Schedule::Full, StopPolicy::from(AshaRule { eta: 3 }))]
    {
        for budget in [9, 50, 200] {
            let spec =
                StudySpec { schedule, budget_epochs: Some(budget), trials: budget, ..spec(policy.clone()) };
            let mut study = Study::new(spec).unwrap();
            drive(&mut study, |trial| ((trial * 7) % 11) as f64);
            let spent = study.progress().spent;
            assert!(spent <= budget && spent + 9 > budget, "{spent} of {budget}");
            assert!(study.is_done());
        }
    }
}

#[test]
fn no_epoch_is_trained_twice_where_checkpoints_are_kept() {
    let spec =
        StudySpec { schedule: PAUSING, budget_epochs: Some(300), trials: 300, ..spec(StopPolicy::none()) };
    let (mut study, mut trained) = (Study::new(spec).unwrap(), BTreeSet::new());
    while let Some(&Record::Started { trial, from, until, .. }) = study.step(&StudyInput::WorkerIdle).first()
    {
        for step in from + 1..=until {
            assert!(trained.insert((trial, step)), "epoch {step} of trial {trial}");
            study.step(&report(trial, step, ((trial * 7) % 11) as f64));
        }
        study.step(&StudyInput::Ended { trial, failure: None });
    }
    assert_eq!(trained.len() as u64, study.progress().spent);
    assert!(
        study.trials().iter().any(|trial| trial.earlier_jobs > 0),
        "some trials are paused and continued"
    );
}

#[test]
fn a_running_job_is_paid_for_before_another_starts_and_a_stopped_one_gives_back() {
    let spec = StudySpec { budget_epochs: Some(18), ..spec(StopPolicy::none()) };
    let mut study = Study::new(spec).unwrap();
    assert_eq!(
        [study.step(&StudyInput::WorkerIdle).len(), study.step(&StudyInput::WorkerIdle).len()],
        [1, 1]
    );
    assert!(
        study.step(&StudyInput::WorkerIdle).is_empty() && !study.is_done(),
        "eighteen epochs are promised"
    );
    study.step(&report(0, 1, 0.5));
    study.step(&StudyInput::Ended { trial: 0, failure: Some("out of memory".to_owned()) });
    assert!(study.step(&StudyInput::WorkerIdle).is_empty(), "8 epochs are left, a trial takes 9");
}

#[test]
fn at_each_rung_only_the_best_third_goes_on_and_nobody_is_paused() {
    let mut study = Study::new(spec(StopPolicy::from(AshaRule { eta: 3 }))).unwrap();
    // trial n is better than all before it, but for every other one
    drive(&mut study, |trial| if trial % 2 == 0 { trial as f64 } else { -(trial as f64) });
    for (number, trial) in study.trials().iter().enumerate() {
        match &trial.state {
            TrialState::Completed { .. } => assert_eq!(number % 2, 0),
            TrialState::Stopped { step, reason, .. } => {
                assert_eq!((step, reason), (&1, &Reason::BelowRung), "trial {number}");
            }
            other => panic!("trial {number}: {other:?}"),
        }
    }
    let completed = |trial: &&foretell_search::Trial| matches!(trial.state, TrialState::Completed { .. });
    assert_eq!(study.trials().iter().filter(completed).count(), 15);
}

#[test]
fn queued_configurations_are_the_first_trials_and_must_be_in_the_space() {
    let space = ParameterSpace::parse(&["x=float:0:1", "o=choice:a,b", "m=float:0:1 if o=a"]).unwrap();
    let queue = vec![
        space.read_configuration("x=0.25,o=a,m=1").unwrap(),
        space.read_configuration("x=0.5, o=b").unwrap(),
    ];
    let queued = StudySpec { queue: queue.clone(), ..spec(StopPolicy::none()) };
    let mut study = Study::new(queued.clone()).unwrap();
    drive(&mut study, |_| 0.5);
    let first: Vec<Configuration> =
        study.trials()[..2].iter().map(|trial| trial.configuration.clone()).collect();
    assert_eq!(first, queue);
    assert!(study.trials()[2].configuration["x"] != Value::Number(0.5));
    let text = serde_json::to_string(&queued).unwrap();
    assert_eq!(serde_json::from_str::<StudySpec>(&text).unwrap(), queued);
    assert_ne!(queued.identity(), spec(StopPolicy::none()).identity());
    let outside = vec![Configuration::from([("x".to_owned(), Value::Number(7.0))])];
    assert!(matches!(
        Study::new(StudySpec { queue: outside, ..spec(StopPolicy::none()) }),
        Err(StudyError::Queue(_))
    ));
}

#[test]
fn the_first_paused_trial_that_begins_anew_counts_twice_and_no_trial_is_paused_from_then_on() {
    let spec =
        StudySpec { schedule: PAUSING, budget_epochs: Some(90), trials: 90, ..spec(StopPolicy::none()) };
    let mut session = Session::new(spec.clone()).unwrap();
    let (mut printed, mut anew) = (0, Vec::new());
    while let Some(TrainingStart { trial, from, until, .. }) = session.ask().unwrap() {
        if from > 0 {
            anew.push(trial);
            session.began_after(trial, 0).unwrap();
        }
        for step in 1..=until {
            printed += 1;
            let value = ((trial * 7) % 11) as f64;
            if session.report(trial, step, value, BTreeMap::new()).unwrap().stop {
                break;
            }
        }
        session.tell(trial, TrainingEnd::Finished).unwrap();
    }
    let study = session.study();
    assert_eq!(anew.len(), 1, "no other trial is paused");
    assert!(!study.keeps_checkpoints() && session.is_done());
    assert_eq!(study.progress().spent, printed);
    assert!(printed <= 90 && printed + 9 > 90, "{printed} of 90");
    let later = &study.trials()[anew[0] as usize + 3..];
    let below_rung =
        |trial: &Trial| matches!(trial.state, TrialState::Stopped { reason: Reason::BelowRung, .. });
    assert!(later.iter().any(below_rung) && !later.iter().any(|trial| trial.earlier_jobs > 0));
    let mut again = Session::open(spec, StudyParts::default(), session.store().clone()).unwrap();
    assert!(again.ask().unwrap().is_none());
    assert_eq!(again.study().progress(), study.progress());
    assert!(again.is_done() && !again.study().keeps_checkpoints());
}

#[test]
fn an_interrupted_trial_counts_the_epochs_that_it_trains_again_and_goes_on_pausing() {
    let mut session = Session::new(StudySpec { schedule: PAUSING, ..spec(StopPolicy::none()) }).unwrap();
    session.ask().unwrap();
    session.report(0, 1, 0.5, BTreeMap::new()).unwrap();
    for _ in 0..3 {
        session.began_after(0, 0).unwrap();
        assert_eq!(session.study().progress().spent, 1, "nothing is trained again yet");
    }
    session.report(0, 1, 0.4, BTreeMap::new()).unwrap();
    session.report(0, 1, 0.4, BTreeMap::new()).unwrap();
    assert_eq!(session.study().progress().spent, 2);
    let starts = session.store().records().iter().filter(|record| matches!(record, Record::Started { .. }));
    assert_eq!(starts.count(), 2, "what is said again is recorded once");
    assert!(session.study().keeps_checkpoints());
}

#[test]
fn epochs_that_another_worker_trained_hide_none_that_the_present_one_trains_again() {
    let mut session = Session::new(spec(StopPolicy::none())).unwrap();
    session.ask().unwrap();
    let report = |session: &mut Session, step| session.report(0, step, 0.5, BTreeMap::new()).unwrap();
    (1..=2).for_each(|step| drop(report(&mut session, step)));
    session.began_after(0, 0).unwrap();
    session.trained_again(0, 2, 1).unwrap();
    assert_eq!(session.study().progress().spent, 3);
    (1..=2).for_each(|step| drop(report(&mut session, step)));
    assert_eq!(session.study().progress().spent, 5);
}

#[test]
fn a_budget_ends_the_search_whatever_stops_its_trials() {
    let request = |text: &str| {
        let fields: serde_json::Map<_, _> = serde_json::from_str(text).unwrap();
        foretell_search::StudyRequest::from_fields(&fields).unwrap().resolve(None).unwrap()
    };
    for flags in ["", r#", "scheduler": "asha""#, r#", "policy": "asha""#, r#", "policy": "srm""#] {
        let text = format!(
            r#"{{"space": {{"x": "float:0:1"}}, "metric": "val_acc", "epochs": 9, "budget_epochs": 180{flags}}}"#
        );
        let mut study = Study::new(request(&text)).unwrap();
        drive(&mut study, |trial| ((trial * 7) % 11) as f64);
        let spent = study.progress().spent;
        assert!(spent <= 180 && spent + 9 > 180, "{spent} of 180 with {flags}");
    }
}

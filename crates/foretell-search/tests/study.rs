//! The study step, driven by a synthetic trainer: what is decided, what is recorded, and what a restart restores.

use foretell::{Action, Direction, StopRule, Value};
use foretell_search::{
    Decision, Input, ParameterSpace, Reason, Record, Space, Stopping, Study, StudyError, StudySpec, Summary,
    TrialState,
};
use std::collections::{BTreeMap, HashSet, VecDeque};

const EPOCHS: u64 = 10;

fn spec() -> StudySpec {
    StudySpec {
        space: Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"]).unwrap()),
        metric: "val_acc".into(),
        direction: Direction::Maximize,
        max_resource: EPOCHS,
        trials: 30,
        burn_in: 12,
        stopping: Stopping::Live,
        predictor: "svr-rbf".into(),
        rule: StopRule { stop_probability: 0.95, ..StopRule::default() },
        agreeing_checks: 1,
        seed: 3,
        workload: BTreeMap::new(),
    }
}

/// What a training with this learning rate reports after `step` epochs: rises towards a top that is best at 1e-2.
fn value(lr: f64, step: u64) -> f64 {
    let top = 0.9 - 0.2 * (lr.log10() + 2.0).abs();
    top * (1.0 - (-(step as f64) / 3.0).exp()) + 0.003 * (lr * 1e5 + step as f64).sin()
}

/// Runs `study` to its end with `workers` simulated workers that each advance one epoch in turn.
fn drive(study: &mut Study, workers: usize, log: &mut Vec<Record>) {
    let mut running: VecDeque<(u64, f64, u64)> = VecDeque::new();
    loop {
        while running.len() < workers {
            let records = study.step(&Input::WorkerIdle);
            if records.is_empty() {
                break;
            }
            if let Record::Started { trial, configuration, from, .. } = &records[0] {
                running.push_back((*trial, configuration["lr"].number().unwrap(), *from));
            }
            log.extend(records);
        }
        let Some((trial, lr, step)) = running.pop_front() else { return };
        let step = step + 1;
        let metrics = BTreeMap::new();
        let records = study.step(&Input::Reported { trial, step, value: Some(value(lr, step)), metrics });
        let stopped =
            matches!(records.last(), Some(Record::Decided(d)) if d.action == Action::Stop && !d.shadow);
        log.extend(records);
        if stopped || step == EPOCHS {
            log.extend(study.step(&Input::Ended { trial, failure: None }));
        } else {
            running.push_back((trial, lr, step));
        }
    }
}

fn whole(spec: StudySpec, workers: usize) -> (Study, Vec<Record>) {
    let mut log = vec![Record::Created { study: Box::new(spec.clone()) }];
    let mut study = Study::new(spec).unwrap();
    drive(&mut study, workers, &mut log);
    assert!(study.is_done());
    (study, log)
}

fn decisions(log: &[Record]) -> Vec<&Decision> {
    log.iter().filter_map(|r| if let Record::Decided(decision) = r { Some(decision) } else { None }).collect()
}

#[test]
fn burn_in_is_trained_whole_then_hopeless_trials_stop_and_the_best_is_found() {
    let (study, log) = whole(spec(), 1);
    let summary = Summary::of(&study);
    assert!(summary.trials.stopped >= 8, "{:?}", summary.trials);
    assert_eq!(summary.trials.completed + summary.trials.stopped, 30);
    assert!(study.trials()[..12].iter().all(|t| matches!(t.state, TrialState::Completed { .. })));
    assert!(summary.speedup > 1.3, "{}", summary.speedup);
    let (full, _) = whole(StudySpec { stopping: Stopping::Off, ..spec() }, 1);
    let best_of_all = Summary::of(&full).best.unwrap().trial;
    assert_eq!(summary.best.unwrap().trial, best_of_all);
    // every report but the last of a trial has its decision, with its facts once the burn-in is over
    let decisions = decisions(&log);
    assert_eq!(decisions.iter().filter(|d| d.reason == Reason::BurnIn).count() as u64, 12 * (EPOCHS - 1));
    for decision in decisions.iter().filter(|d| d.reason != Reason::BurnIn) {
        assert!(decision.forecast.is_some() && decision.incumbent.is_some());
        assert_eq!(decision.action == Action::Stop, decision.probability.unwrap() >= 0.95, "{decision:?}");
    }
}

#[test]
fn a_stopped_trial_counts_with_its_forecast() {
    let (study, _) = whole(spec(), 1);
    let stopped = study.trials().iter().find(|t| matches!(t.state, TrialState::Stopped { .. })).unwrap();
    let lr = stopped.configuration["lr"].number().unwrap();
    assert!((stopped.result().unwrap() - value(lr, EPOCHS)).abs() < 0.2);
    assert!(stopped.step < EPOCHS);
}

#[test]
fn the_same_seed_makes_the_same_records() {
    assert_eq!(whole(spec(), 1).1, whole(spec(), 1).1);
    assert_ne!(whole(spec(), 1).1, whole(StudySpec { seed: 4, ..spec() }, 1).1);
}

#[test]
fn cut_at_any_record_and_resumed_it_makes_the_same_records() {
    let (_, undisturbed) = whole(spec(), 1);
    for cut in 1..undisturbed.len() {
        let mut log = undisturbed[..cut].to_vec();
        let mut study = Study::resume(spec(), &log).unwrap();
        drive(&mut study, 1, &mut log);
        assert!(study.is_done(), "cut at {cut}");
        // the restart of the interrupted trial is recorded; beside it nothing differs and nothing is there twice
        let mut started = HashSet::new();
        log.retain(|r| if let Record::Started { trial, .. } = r { started.insert(*trial) } else { true });
        assert!(log == undisturbed, "cut at {cut} of {}", undisturbed.len());
    }
}

#[test]
fn a_shadow_study_stops_nothing_and_says_what_stopping_would_have_cost() {
    let (live, _) = whole(spec(), 1);
    let (study, log) = whole(StudySpec { stopping: Stopping::Shadow, ..spec() }, 1);
    let summary = Summary::of(&study);
    assert_eq!((summary.trials.completed, summary.trials.stopped), (30, 0));
    assert_eq!(summary.epochs.spent, 30 * EPOCHS);
    let shadow = summary.shadow.unwrap();
    assert!(shadow.best_survived && shadow.regret <= 0.0);
    // the shadow decides exactly what the live study does
    assert_eq!(shadow.spent_if_stopped, Summary::of(&live).epochs.spent);
    assert!(decisions(&log).iter().any(|d| d.shadow && d.action == Action::Stop));
    assert!(summary.stopped.iter().all(|s| s.truth.is_some()));
}

#[test]
fn several_workers_finish_the_same_trials() {
    let (study, _) = whole(spec(), 4);
    let (one, _) = whole(spec(), 1);
    let configurations = |s: &Study| s.trials().iter().map(|t| t.configuration.clone()).collect::<Vec<_>>();
    assert_eq!(configurations(&study), configurations(&one));
    assert_eq!(Summary::of(&study).best.unwrap().trial, Summary::of(&one).best.unwrap().trial);
}

#[test]
fn two_agreeing_checks_stop_later_than_one() {
    let (one, _) = whole(spec(), 1);
    let (two, log) = whole(StudySpec { agreeing_checks: 2, ..spec() }, 1);
    assert!(Summary::of(&two).epochs.spent > Summary::of(&one).epochs.spent);
    assert!(decisions(&log).iter().any(|d| d.reason == Reason::AwaitingConfirmation));
}

#[test]
fn a_diverged_trial_is_stopped_after_two_reports_even_in_burn_in() {
    let mut study = Study::new(spec()).unwrap();
    study.step(&Input::WorkerIdle);
    let report = |step, value| Input::Reported { trial: 0, step, value, metrics: BTreeMap::new() };
    assert_eq!(study.step(&report(1, Some(0.1))).len(), 2);
    assert!(matches!(&study.step(&report(2, None))[1], Record::Decided(d) if d.action == Action::Continue));
    let records = study.step(&report(3, None));
    assert!(
        matches!(&records[1], Record::Decided(d) if d.action == Action::Stop && d.reason == Reason::Diverged)
    );
    assert_eq!(study.step(&report(4, Some(0.2))), [], "a stopped trial is heard no more");
}

#[test]
fn steps_that_were_recorded_before_are_not_recorded_again() {
    let mut study = Study::new(spec()).unwrap();
    study.step(&Input::WorkerIdle);
    let report =
        |step, value| Input::Reported { trial: 0, step, value: Some(value), metrics: BTreeMap::new() };
    assert!(!study.step(&report(1, 0.1)).is_empty() && !study.step(&report(2, 0.2)).is_empty());
    assert_eq!(study.step(&report(2, 0.3)), []);
    assert_eq!(study.step(&report(1, 0.3)), []);
    assert_eq!(study.step(&report(EPOCHS + 1, 0.3)), [], "beyond the end");
    assert_eq!(study.step(&Input::Reported { trial: 9, step: 1, value: None, metrics: BTreeMap::new() }), []);
}

#[test]
fn failures_are_told_apart() {
    let mut study = Study::new(spec()).unwrap();
    for _ in 0..3 {
        study.step(&Input::WorkerIdle);
    }
    let report = |trial, step| Input::Reported { trial, step, value: Some(0.1), metrics: BTreeMap::new() };
    study.step(&report(1, 1));
    for step in 1..=EPOCHS {
        study.step(&report(2, step));
    }
    let mut end = |trial, failure: Option<&str>| {
        study.step(&Input::Ended { trial, failure: failure.map(str::to_owned) })
    };
    assert!(matches!(&end(0, Some("no metric"))[0], Record::Failed { reason, .. } if reason == "no metric"));
    assert!(matches!(&end(1, None)[0], Record::Completed { .. }), "its own early stopping");
    assert!(matches!(&end(2, Some("exit code 1"))[0], Record::Completed { .. }), "all of it was reported");
    assert_eq!(end(2, None), [], "ended twice");
}

#[test]
fn impossible_studies_are_refused() {
    let lenient = StopRule { stop_probability: 0.3, ..StopRule::default() };
    let cases = [
        (StudySpec { burn_in: 31, ..spec() }, "burn-in of 31 is larger than the study's 30 trials"),
        (StudySpec { trials: 0, burn_in: 1, ..spec() }, "trials is 0"),
        (StudySpec { predictor: "magic".into(), ..spec() }, "unknown predictor `magic`"),
        (StudySpec { rule: lenient, ..spec() }, "stop probability 0.3"),
    ];
    for (spec, text) in cases {
        let error = Study::new(spec).err().unwrap().to_string();
        assert!(error.contains(text), "{error}");
    }
    assert!(Study::new(StudySpec { burn_in: 31, stopping: Stopping::Off, ..spec() }).is_ok());
    assert_eq!(Study::resume(spec(), &[]).err(), Some(StudyError::NoHeader));
    let stray = [Record::Created { study: Box::new(spec()) }, Record::Completed { trial: 4 }];
    assert_eq!(Study::resume(spec(), &stray).err(), Some(StudyError::Record { record: 2, trial: 4 }));
}

#[test]
fn records_survive_json() {
    let (_, log) = whole(spec(), 2);
    for record in log {
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record, "{text}");
    }
    assert_eq!(serde_json::from_str::<Value>("null").unwrap(), Value::Missing);
}

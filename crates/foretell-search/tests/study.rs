//! The study step, driven by a synthetic trainer: the decisions, the records, and the state after a restart.

use foretell::{Action, Configuration, Curve, Direction, ErrorBudget, Run, RunScore, StopCriterion, Value};
use foretell_paper::{LayerSpace, QLearning, full_catalogue};
use foretell_search::{
    Decision, ForecastRule, Kappa, MedianRule, ParameterSpace, PatienceRule, RandomSampling, Reason, Record,
    Reference, SamplerSpec, Schedule, Space, StopPolicy, Study, StudyError, StudyInput, StudySpec,
    StudySummary, TrialState, plan,
};
use std::collections::{BTreeMap, HashSet, VecDeque};

const EPOCHS: u64 = 10;

fn spec() -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"]).unwrap());
    StudySpec {
        sampler: SamplerSpec::from(RandomSampling),
        max_resource: EPOCHS,
        trials: 30,
        burn_in: 12,
        policy: StopPolicy::from(ForecastRule),
        predictor: "svr-rbf".into(),
        criterion: criterion(),
        refit: None,
        seed: 3,
        ..StudySpec::new(space, "val_acc", Direction::Maximize)
    }
}

fn criterion() -> StopCriterion {
    StopCriterion { stop_probability: 0.95, ..StopCriterion::default() }
}

/// The report of a training with this learning rate after `step` epochs: rises towards a top that is best at 1e-2.
fn value(lr: f64, step: u64) -> f64 {
    let top = 0.9 - 0.2 * (lr.log10() + 2.0).abs();
    top * (1.0 - (-(step as f64) / 3.0).exp()) + 0.003 * (lr * 1e5 + step as f64).sin()
}

/// The report of the training of `configuration`; of a network, by its layers: convolutions are good, others are not.
fn reported_value(configuration: &Configuration, step: u64) -> f64 {
    match configuration.get("net").and_then(Value::as_text) {
        None => value(configuration["lr"].as_number().unwrap(), step),
        Some(net) => {
            let convolutions = net.matches("C(").count() - net.matches("FC(").count();
            let top = 0.3 + 0.1 * convolutions as f64 - 0.05 * net.matches("FC(").count() as f64;
            top * (1.0 - (-(step as f64) / 2.0).exp())
        }
    }
}

struct Worker {
    trial: u64,
    configuration: Configuration,
    step: u64,
    until: u64,
}

/// The numbering of a training's epochs, and the number after which a trial ends by itself.
#[derive(Clone, Copy)]
struct Habit {
    first: u64,
    epochs: fn(u64) -> u64,
}

const USUAL: Habit = Habit { first: 1, epochs: |_| EPOCHS };
const FROM_0: Habit = Habit { first: 0, ..USUAL };
const ENDS_EARLY: Habit = Habit { first: 1, epochs: |trial| EPOCHS - trial % 4 };

fn drive(study: &mut Study, workers: usize, log: &mut Vec<Record>) {
    drive_as(USUAL, study, workers, log);
}

/// Runs `study` to its end with `workers` simulated workers that each advance one epoch in turn.
fn drive_as(habit: Habit, study: &mut Study, workers: usize, log: &mut Vec<Record>) {
    let mut running: VecDeque<Worker> = VecDeque::new();
    loop {
        while running.len() < workers {
            let records = study.step(&StudyInput::WorkerIdle);
            if records.is_empty() {
                break;
            }
            if let Record::Started { trial, configuration, from, until, .. } = &records[0]
                && study.trials()[*trial as usize].state == TrialState::Running
            {
                let configuration = configuration.clone();
                running.push_back(Worker { trial: *trial, configuration, step: *from, until: *until });
            }
            log.extend(records);
        }
        let Some(Worker { trial, configuration, step, until }) = running.pop_front() else { return };
        let step = step + 1;
        let report = StudyInput::Reported {
            trial,
            step: step - 1 + habit.first,
            value: Some(reported_value(&configuration, step)),
            metrics: BTreeMap::new(),
        };
        let records = study.step(&report);
        let stopped =
            matches!(records.last(), Some(Record::Decided(d)) if d.action == Action::Stop && !d.shadow);
        log.extend(records);
        if stopped || step == until || step >= (habit.epochs)(trial) {
            log.extend(study.step(&StudyInput::Ended { trial, failure: None }));
        } else {
            running.push_back(Worker { trial, configuration, step, until });
        }
    }
}

fn whole(spec: StudySpec, workers: usize) -> (Study, Vec<Record>) {
    let mut log = vec![Record::Created { study: Box::new(spec.clone()) }];
    let mut study = Study::with(spec, (&full_catalogue()).into()).unwrap();
    drive(&mut study, workers, &mut log);
    assert!(study.is_done());
    (study, log)
}

fn decisions(log: &[Record]) -> Vec<&Decision> {
    log.iter().filter_map(|r| if let Record::Decided(decision) = r { Some(decision) } else { None }).collect()
}

#[test]
fn trainings_that_count_from_0_or_end_early_are_learned_from_and_stopped() {
    for habit in [FROM_0, ENDS_EARLY] {
        let mut log = vec![Record::Created { study: Box::new(spec()) }];
        let mut study = Study::new(spec()).unwrap();
        drive_as(habit, &mut study, 1, &mut log);
        let summary = StudySummary::new(&study);
        assert!(summary.trials.stopped >= 8 && summary.trials.failed == 0, "{:?}", summary.trials);
        assert!(
            !decisions(&log).iter().any(|d| matches!(d.reason, Reason::NoForecast(_))),
            "{}",
            habit.first
        );
        if habit.first == 0 {
            let first = &study.trials()[0];
            assert_eq!(
                (first.curve.steps()[0], first.trained_epochs()),
                (0.0, EPOCHS),
                "the first epoch counts"
            );
            assert_eq!(summary.epochs.without_stopping, 30 * EPOCHS);
        }
    }
}

#[test]
fn rungs_hold_for_trainings_that_count_from_0() {
    let spec = StudySpec {
        schedule: hyperband(3),
        trials: plan(EPOCHS, 3).unwrap().totals().configurations,
        ..spec()
    };
    let spec = StudySpec { policy: StopPolicy::none(), ..spec };
    let outcome = |habit| {
        let mut study = Study::new(spec.clone()).unwrap();
        drive_as(habit, &mut study, 1, &mut Vec::new());
        let summary = StudySummary::new(&study);
        (summary.trials, summary.epochs)
    };
    let (trials, epochs) = outcome(FROM_0);
    assert_eq!((trials, epochs), outcome(USUAL), "no epoch is trained twice");
    assert!(trials.paused > trials.completed && trials.completed > 0, "{trials:?}");
}

/// Starts the next trial, which reports `values`, one an epoch, until it is stopped or ends.
fn train(study: &mut Study, values: &[f64]) -> Vec<Record> {
    let mut log = study.step(&StudyInput::WorkerIdle);
    let trial = study.trials().len() as u64 - 1;
    for (step, &value) in (1..).zip(values) {
        let value = Some(value).filter(|value| value.is_finite());
        log.extend(study.step(&StudyInput::Reported { trial, step, value, metrics: BTreeMap::new() }));
    }
    log.extend(study.step(&StudyInput::Ended { trial, failure: None }));
    log
}

#[test]
fn a_trial_counts_with_its_last_value_or_with_the_best_it_reached() {
    const NAN: f64 = f64::NAN;
    let short = |run_score| StudySpec { run_score, max_resource: 4, trials: 5, burn_in: 5, ..spec() };
    let run = |run_score| {
        let mut log = vec![Record::Created { study: Box::new(short(run_score)) }];
        let mut study = Study::new(short(run_score)).unwrap();
        let values = [
            [0.5, 0.6, 0.7, 0.7],
            [0.5, 0.8, 0.6, 0.5],
            [0.9, NAN, NAN, NAN],
            [0.1, 0.2, 0.3, NAN],
            [NAN; 4],
        ];
        for values in values {
            log.extend(train(&mut study, &values));
        }
        let resumed = Study::resume(short(run_score), &log).unwrap();
        assert_eq!(StudySummary::new(&study), StudySummary::new(&resumed), "a restart finds the same");
        study
    };
    let results =
        |study: &Study| study.trials().iter().map(foretell_search::Trial::result).collect::<Vec<_>>();
    let best = |study: &Study| StudySummary::new(study).best.map(|best| (best.trial, best.score));
    let last = run(RunScore::Last);
    assert_eq!(results(&last), [Some(0.7), Some(0.5), None, None, None]);
    assert_eq!(best(&last), Some((0, 0.7)));
    let reached = run(RunScore::Best);
    assert_eq!(results(&reached), [Some(0.7), Some(0.8), Some(0.9), Some(0.3), None]);
    assert_eq!(best(&reached), Some((2, 0.9)), "its best checkpoint is kept");
    let stopped = |study: &Study| matches!(study.trials()[2].state, TrialState::Stopped { step: 3, .. });
    assert!(stopped(&last) && stopped(&reached), "what diverges is not trained on");
}

#[test]
fn where_the_best_value_counts_that_of_a_stopped_trial_does_too() {
    let short = |run_score| StudySpec { run_score, max_resource: 6, burn_in: 5, trials: 6, ..spec() };
    let patience =
        |run_score| StudySpec { policy: StopPolicy::from(PatienceRule { patience: 2 }), ..short(run_score) };
    let best = |run_score| {
        let mut study = Study::new(patience(run_score)).unwrap();
        for top in [0.5, 0.6, 0.7, 0.55, 0.65] {
            train(&mut study, &[0.1, 0.2, 0.3, 0.4, 0.5, top]);
        }
        let log = train(&mut study, &[0.2, 0.9, 0.3, 0.2, 0.1, 0.1]);
        assert!(decisions(&log).iter().any(|d| d.action == Action::Stop), "after 2 without improvement");
        StudySummary::new(&study).best.map(|best| (best.trial, best.score))
    };
    assert_eq!(best(RunScore::Best), Some((5, 0.9)));
    assert_eq!(best(RunScore::Last), Some((2, 0.7)));
}

#[test]
fn a_trial_that_gave_up_has_cost_its_failed_attempts_alone() {
    let mut study = Study::new(StudySpec { max_resource: 8, ..spec() }).unwrap();
    let metrics = |failed: f64, trained: f64| {
        BTreeMap::from([("failed_epochs".to_owned(), failed), ("trained_epochs".to_owned(), trained)])
    };
    let report = |study: &mut Study, step, metrics| {
        let trial = study.trials().len() as u64 - 1;
        study.step(&StudyInput::Reported { trial, step, value: Some(0.1), metrics });
    };
    // guesses from its first epoch on, after three attempts
    study.step(&StudyInput::WorkerIdle);
    (1..=8).for_each(|step| report(&mut study, step, metrics(3.0, 0.0)));
    study.step(&StudyInput::Ended { trial: 0, failure: None });
    // learns at its second attempt
    study.step(&StudyInput::WorkerIdle);
    (1..=5).for_each(|step| report(&mut study, step, metrics(1.0, step as f64)));
    let epochs = StudySummary::new(&study).epochs;
    assert_eq!(
        (epochs.spent, epochs.without_stopping),
        (3 + 6, 3 + 6),
        "a running trial has cost what it has"
    );
    (6..=8).for_each(|step| report(&mut study, step, metrics(1.0, step as f64)));
    study.step(&StudyInput::Ended { trial: 1, failure: None });
    // gives up and is then stopped: nothing is saved by it
    study.step(&StudyInput::WorkerIdle);
    report(&mut study, 1, metrics(3.0, 0.0));
    for step in [2, 3] {
        study.step(&StudyInput::Reported { trial: 2, step, value: None, metrics: metrics(3.0, 0.0) });
    }
    assert!(matches!(study.trials()[2].state, TrialState::Stopped { .. }), "diverged");
    let StudySummary { epochs, speedup, .. } = StudySummary::new(&study);
    assert_eq!((epochs.spent, epochs.without_stopping, epochs.full_training), (15, 15, 15));
    assert!((speedup - 1.0).abs() < 1e-12);
}

#[test]
fn a_value_that_is_not_finite_is_none() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut study = Study::new(spec()).unwrap();
        study.step(&StudyInput::WorkerIdle);
        let records = study.step(&StudyInput::Reported {
            trial: 0,
            step: 1,
            value: Some(value),
            metrics: BTreeMap::new(),
        });
        assert!(matches!(records[0], Record::Reported { value: None, .. }), "{records:?}");
    }
}

#[test]
fn where_the_best_value_counts_no_forecast_is_below_what_was_reached() {
    let (study, log) =
        whole(StudySpec { run_score: RunScore::Best, predictor: "last-value".into(), ..spec() }, 1);
    let mut forecasts = 0;
    for decision in decisions(&log) {
        let Some(forecast) = decision.forecast else { continue };
        let curve = study.trials()[decision.trial as usize].curve.prefix_until(decision.step as f64);
        let reached = RunScore::Best.value_of(&curve).unwrap();
        assert!((forecast.mean - reached).abs() < 1e-12, "the best so far is the last value: {decision:?}");
        assert!(forecast.sd > 0.0 && forecast.interval.0 >= reached, "{reached}: {decision:?}");
        forecasts += 1;
    }
    assert!(forecasts > 20, "{forecasts}");
}

#[test]
fn burn_in_is_trained_whole_then_hopeless_trials_stop_and_the_best_is_found() {
    let (study, log) = whole(spec(), 1);
    let summary = StudySummary::new(&study);
    assert!(summary.trials.stopped >= 8, "{:?}", summary.trials);
    assert_eq!(summary.trials.completed + summary.trials.stopped, 30);
    assert!(study.trials()[..12].iter().all(|t| matches!(t.state, TrialState::Completed { .. })));
    assert!(summary.speedup > 1.3, "{}", summary.speedup);
    let (full, _) = whole(StudySpec { policy: StopPolicy::none(), ..spec() }, 1);
    let best_of_all = StudySummary::new(&full).best.unwrap().trial;
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
    let lr = stopped.configuration["lr"].as_number().unwrap();
    assert!((stopped.result().unwrap() - value(lr, EPOCHS)).abs() < 0.2);
    assert!(stopped.step < EPOCHS);
}

#[test]
fn the_same_seed_makes_the_same_records() {
    assert_eq!(whole(spec(), 1).1, whole(spec(), 1).1);
    assert_ne!(whole(spec(), 1).1, whole(StudySpec { seed: 4, ..spec() }, 1).1);
}

/// Cuts the study's log at every record, resumes, and demands the same records and the same Q-table.
fn cut_everywhere(spec: &StudySpec, habit: Habit) -> usize {
    let mut undisturbed = vec![Record::Created { study: Box::new(spec.clone()) }];
    let mut calm = Study::new(spec.clone()).unwrap();
    drive_as(habit, &mut calm, 1, &mut undisturbed);
    let table = |study: &Study| study.learned_state().map(|learned| learned.to_string());
    for cut in 1..undisturbed.len() {
        let mut log = undisturbed[..cut].to_vec();
        let mut study = Study::resume(spec.clone(), &log).unwrap();
        drive_as(habit, &mut study, 1, &mut log);
        assert!(study.is_done(), "cut at {cut}");
        // the restart of the interrupted trial is recorded; nothing else differs and nothing is there twice
        let mut started = HashSet::new();
        log.retain(|r| match r {
            Record::Started { trial, until, .. } => started.insert((*trial, *until)),
            _ => true,
        });
        assert!(log == undisturbed, "cut at {cut} of {}", undisturbed.len());
        assert_eq!(table(&study), table(&calm), "cut at {cut}");
    }
    undisturbed.len()
}

#[test]
fn cut_at_any_record_and_resumed_it_makes_the_same_records() {
    for habit in [USUAL, FROM_0] {
        cut_everywhere(&spec(), habit);
    }
}

#[test]
fn a_shadow_study_stops_nothing_and_says_what_stopping_would_have_cost() {
    let (live, _) = whole(spec(), 1);
    let (study, log) = whole(StudySpec { shadow: true, ..spec() }, 1);
    let summary = StudySummary::new(&study);
    assert_eq!((summary.trials.completed, summary.trials.stopped), (30, 0));
    assert_eq!(summary.epochs.spent, 30 * EPOCHS);
    let shadow = summary.shadow.unwrap();
    assert!(shadow.best_survived && shadow.regret <= 0.0);
    // the shadow decides exactly what the live study does
    assert_eq!(shadow.spent_if_stopped, StudySummary::new(&live).epochs.spent);
    assert!(decisions(&log).iter().any(|d| d.shadow && d.action == Action::Stop));
    assert!(summary.stopped.iter().all(|s| s.truth.is_some()));
}

#[test]
fn several_workers_finish_the_same_trials() {
    let (study, _) = whole(spec(), 4);
    let (one, _) = whole(spec(), 1);
    let configurations = |s: &Study| s.trials().iter().map(|t| t.configuration.clone()).collect::<Vec<_>>();
    assert_eq!(configurations(&study), configurations(&one));
    assert_eq!(StudySummary::new(&study).best.unwrap().trial, StudySummary::new(&one).best.unwrap().trial);
}

#[test]
fn two_agreeing_checks_stop_later_than_one() {
    let (one, _) = whole(spec(), 1);
    let (two, log) =
        whole(StudySpec { criterion: StopCriterion { agreeing_checks: 2, ..criterion() }, ..spec() }, 1);
    assert!(StudySummary::new(&two).epochs.spent > StudySummary::new(&one).epochs.spent);
    assert!(decisions(&log).iter().any(|d| d.reason == Reason::AwaitingConfirmation));
}

#[test]
fn a_diverged_trial_is_stopped_after_two_reports_even_in_burn_in() {
    let mut study = Study::new(spec()).unwrap();
    study.step(&StudyInput::WorkerIdle);
    let report = |step, value| StudyInput::Reported { trial: 0, step, value, metrics: BTreeMap::new() };
    assert_eq!(study.step(&report(1, Some(0.1))).len(), 2);
    assert!(matches!(&study.step(&report(2, None))[1], Record::Decided(d) if d.action == Action::Continue));
    let records = study.step(&report(3, None));
    assert!(
        matches!(&records[1], Record::Decided(d) if d.action == Action::Stop && d.reason == Reason::Diverged)
    );
    let late = study.step(&report(4, Some(0.2)));
    assert!(
        matches!(late[..], [Record::Reported { .. }]),
        "its epoch counts, and nothing is decided: {late:?}"
    );
    assert!(matches!(study.trials()[0].state, TrialState::Stopped { step: 3, .. }));
}

#[test]
fn a_single_value_that_is_not_finite_stops_nothing() {
    let (_, log) = whole(StudySpec { trials: 12, ..spec() }, 1);
    let mut study = Study::resume(StudySpec { trials: 13, ..spec() }, &log).unwrap();
    let good = |step| if step == 6 { f64::NAN } else { value(1e-2, step) };
    let values: Vec<f64> = (1..=EPOCHS).map(good).collect();
    let log = train(&mut study, &values);
    let after = decisions(&log).into_iter().find(|decision| decision.step == 6).unwrap();
    assert!(after.action == Action::Continue && matches!(after.reason, Reason::NoForecast(_)), "{after:?}");
    assert!(matches!(study.trials().last().unwrap().state, TrialState::Completed { .. }));
}

#[test]
fn steps_that_were_recorded_before_are_not_recorded_again() {
    let mut study = Study::new(spec()).unwrap();
    study.step(&StudyInput::WorkerIdle);
    let report =
        |step, value| StudyInput::Reported { trial: 0, step, value: Some(value), metrics: BTreeMap::new() };
    assert!(!study.step(&report(1, 0.1)).is_empty() && !study.step(&report(2, 0.2)).is_empty());
    assert_eq!(study.step(&report(2, 0.3)), []);
    assert_eq!(study.step(&report(1, 0.3)), []);
    assert_eq!(study.step(&report(EPOCHS + 1, 0.3)), [], "beyond the end");
    assert_eq!(
        study.step(&StudyInput::Reported { trial: 9, step: 1, value: None, metrics: BTreeMap::new() }),
        []
    );
}

#[test]
fn failures_are_told_apart() {
    let mut study = Study::new(spec()).unwrap();
    for _ in 0..3 {
        study.step(&StudyInput::WorkerIdle);
    }
    let report =
        |trial, step| StudyInput::Reported { trial, step, value: Some(0.1), metrics: BTreeMap::new() };
    study.step(&report(1, 1));
    for step in 1..=EPOCHS {
        study.step(&report(2, step));
    }
    let mut end = |trial, failure: Option<&str>| {
        study.step(&StudyInput::Ended { trial, failure: failure.map(str::to_owned) })
    };
    assert!(matches!(&end(0, Some("no metric"))[0], Record::Failed { reason, .. } if reason == "no metric"));
    assert!(matches!(&end(1, None)[0], Record::Completed { .. }), "its own early stopping");
    assert!(matches!(&end(2, Some("no memory"))[0], Record::Failed { reason, .. } if reason == "no memory"));
    assert_eq!(end(2, None), [], "ended twice");
    assert_eq!(study.trials()[2].curve.len(), EPOCHS as usize, "its curve is kept");
    assert_eq!(study.best().map(|best| best.trial), Some(1));
}

#[test]
fn a_command_that_crashes_after_its_last_report_keeps_its_network() {
    let workload = [("command".to_owned(), "python train.py".to_owned())].into();
    let mut study = Study::new(StudySpec { workload, ..spec() }).unwrap();
    study.step(&StudyInput::WorkerIdle);
    for step in 1..=EPOCHS {
        study.step(&StudyInput::Reported { trial: 0, step, value: Some(0.1), metrics: BTreeMap::new() });
    }
    let ended = study.step(&StudyInput::Ended { trial: 0, failure: Some("exit code 1".to_owned()) });
    assert!(matches!(&ended[0], Record::Completed { .. }));
}

#[test]
fn impossible_studies_are_refused() {
    let lenient = StopCriterion { stop_probability: 0.3, ..StopCriterion::default() };
    let cases = [
        (StudySpec { trials: 0, burn_in: 1, ..spec() }, "trials is 0"),
        (StudySpec { predictor: "magic".into(), ..spec() }, "unknown predictor `magic`"),
        (StudySpec { criterion: lenient, ..spec() }, "stop probability 0.3"),
        (StudySpec { schedule: hyperband(1), ..spec() }, "eta"),
        (StudySpec { schedule: hyperband(20), ..spec() }, "20"),
        (StudySpec { sampler: q_learning(30), ..spec() }, "metaqnn"),
        (StudySpec { sampler: q_learning(30), schedule: hyperband(3), ..networks() }, "cannot use rungs"),
        (StudySpec { exempt: 1.0, ..spec() }, "exempt fraction 1"),
        (StudySpec { refit: Some(1.0), ..spec() }, "refit factor 1"),
        (StudySpec { policy: StopPolicy::from(PatienceRule { patience: 0 }), ..spec() }, "patience is 0"),
    ];
    for (spec, text) in cases {
        let error = Study::new(spec).err().unwrap().to_string();
        assert!(error.contains(text), "{error}");
    }
    let long = StudySpec { burn_in: 35, ..spec() };
    for (warm_start, text) in [
        (0, "burn-in of 35 is larger than the study's 30 trials, so no"),
        (4, "30 trials and the 4 earlier runs"),
    ] {
        let error = long.check_burn_in(warm_start).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    assert_eq!(long.check_burn_in(5), Ok(()));
    assert_eq!(StudySpec { policy: StopPolicy::none(), ..long }.check_burn_in(0), Ok(()));
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

fn hyperband(eta: u64) -> Schedule {
    let kappa = Kappa { kappa: 0.25, ..Kappa::default() };
    Schedule::Hyperband { eta, runs: 3, kappa, reference: Reference::Level }
}

/// Three runs of Hyperband with R = 9, η = 3, and what a trial needs to be stopped.
fn in_brackets() -> StudySpec {
    let schedule = hyperband(3);
    let trials = 3 * plan(9, 3).unwrap().totals().configurations;
    StudySpec { schedule, trials, max_resource: 9, burn_in: 10, ..spec() }
}

fn layers() -> LayerSpace {
    LayerSpace {
        height: 8,
        width: 8,
        filters: vec![4, 8],
        kernels: vec![3],
        max_depth: 4,
        fully_connected: vec![16],
        max_fully_connected: 1,
        ..LayerSpace::default()
    }
}

fn networks() -> StudySpec {
    StudySpec { space: layers().into(), ..spec() }
}

fn q_learning(models: u64) -> SamplerSpec {
    let default = QLearning::default();
    QLearning { schedule: default.schedule.scale_to(models), ..default }.into()
}

#[test]
fn hyperband_runs_its_plan_and_trains_no_epoch_twice() {
    let totals = plan(9, 3).unwrap().totals();
    let (study, log) = whole(StudySpec { policy: StopPolicy::none(), ..in_brackets() }, 1);
    let summary = StudySummary::new(&study);
    assert_eq!(summary.trials.total, 3 * totals.configurations);
    assert_eq!(summary.trials.completed, 3 * totals.full);
    assert_eq!(summary.trials.paused, 3 * (totals.configurations - totals.full));
    assert_eq!(summary.epochs.spent, 3 * totals.resume);
    assert_eq!(summary.epochs.without_stopping, 3 * totals.resume);
    assert_eq!(summary.epochs.from_scratch, 3 * totals.scratch);
    assert_eq!(summary.epochs.full_training, 3 * totals.configurations * 9);
    let reports = log.iter().filter(|r| matches!(r, Record::Reported { .. })).count() as u64;
    assert_eq!(reports, 3 * totals.resume, "each epoch of each trial is reported once");
}

#[test]
fn stopping_inside_the_rungs_saves_and_keeps_the_best() {
    let (plain, _) = whole(StudySpec { policy: StopPolicy::none(), ..in_brackets() }, 1);
    let (stopped, log) = whole(in_brackets(), 1);
    let (plain, summary) = (StudySummary::new(&plain), StudySummary::new(&stopped));
    assert_eq!(summary.epochs.without_stopping, plain.epochs.spent);
    assert!(summary.epochs.spent < plain.epochs.spent, "{:?}", summary.epochs);
    assert!(plain.best.unwrap().score - summary.best.unwrap().score < 0.02);
    // forecasts are of the rung that the trial is trained to, and some of them of a rung before the last
    let judged = decisions(&log).into_iter().filter(|d| d.forecast.is_some());
    assert!(judged.filter(|d| d.action == Action::Stop).count() > 0);
    assert!(stopped.learning_from().len() > 1, "{:?}", stopped.learning_from());
}

#[test]
fn every_schedule_and_sampler_resumes_at_any_record_with_its_rungs_and_its_q_table() {
    // a predictor that is quickly fitted: the study is restored at each of its records
    let quick = |spec: StudySpec| StudySpec { predictor: "ridge".into(), ..spec };
    let asha = StudySpec { schedule: Schedule::Asha { eta: 3, rungs: None }, max_resource: 9, ..spec() };
    let learning = StudySpec { sampler: q_learning(30), ..networks() };
    let all = [in_brackets(), asha, learning, StudySpec { refit: Some(1.2), exempt: 0.2, ..spec() }];
    let habits = |spec| [USUAL, FROM_0].map(|habit| cut_everywhere(&quick(StudySpec::clone(&spec)), habit));
    let cuts: usize = all.into_iter().flat_map(habits).sum();
    assert!(cuts > 200, "{cuts}");
}

#[test]
fn q_learning_turns_to_what_was_good_with_and_without_stopping() {
    let sampler = q_learning(60);
    let spec = StudySpec { sampler, trials: 60, burn_in: 15, max_resource: 8, ..networks() };
    let (stopped, _) = whole(spec.clone(), 1);
    let (full, _) = whole(StudySpec { policy: StopPolicy::none(), ..spec }, 1);
    for study in [&stopped, &full] {
        let mean = |trials: &[foretell_search::Trial]| {
            trials.iter().map(|t| reported_value(&t.configuration, 8)).sum::<f64>() / trials.len() as f64
        };
        let trials = study.trials();
        assert!(mean(&trials[40..]) > mean(&trials[..20]) + 0.05, "it does not learn");
        assert_eq!(study.learned_state().unwrap()["fates"].as_object().unwrap().len(), 60);
    }
    assert!(StudySummary::new(&stopped).trials.stopped > 5);
    let best = |study: &Study| StudySummary::new(study).best.unwrap().score;
    assert!((best(&stopped) - best(&full)).abs() < 1e-12);
}

#[test]
fn a_search_ends_when_its_space_is_spent() {
    let space = LayerSpace { max_depth: 1, ..layers() };
    let sampler = q_learning(500);
    let spec = StudySpec { space: space.into(), sampler, trials: 500, max_resource: 2, ..networks() };
    let (study, log) = whole(spec.clone(), 1);
    assert!(study.is_space_spent() && study.trials().len() < 100);
    let mut resumed = Study::resume(spec, &log).unwrap();
    assert_eq!(resumed.step(&StudyInput::WorkerIdle), []);
    assert!(resumed.is_done());
}

#[test]
fn runs_of_a_warm_start_replace_the_burn_in() {
    let run = |index: u64| {
        let lr = 10_f64.powf(-4.0 + 4.0 * index as f64 / 19.0);
        let values: Vec<f64> = (1..=EPOCHS).map(|step| value(lr, step)).collect();
        let configuration = Configuration::from([("lr".to_owned(), Value::Number(lr))]);
        Run {
            id: format!("old {index}"),
            configuration,
            curve: Curve::from_epoch_values(&values, Direction::Maximize),
        }
    };
    let runs: Vec<Run> = (0..20).map(run).collect();
    let mut log = vec![Record::Created { study: Box::new(spec()) }];
    let mut study = Study::new(spec()).unwrap();
    log.extend(study.warm_start(&runs));
    assert_eq!((log.len(), study.warm_start_runs().len()), (21, 20));
    drive(&mut study, 1, &mut log);
    assert!(decisions(&log).iter().all(|d| d.reason != Reason::BurnIn));
    assert_eq!(study.learning_from(), BTreeMap::from([(EPOCHS, 20)]), "all of them, not the first 12");
    assert!(StudySummary::new(&study).epochs.spent < StudySummary::new(&whole(spec(), 1).0).epochs.spent);
    assert_eq!(study.warm_start(&runs), [], "too late");
    let mut cut = log[..30].to_vec();
    let mut resumed = Study::resume(spec(), &cut).unwrap();
    drive(&mut resumed, 1, &mut cut);
    assert_eq!(StudySummary::new(&resumed), StudySummary::new(&study));
}

#[test]
fn a_space_of_few_choices_is_tried_whole_and_nothing_twice() {
    let space = Space::Parameters(ParameterSpace::parse(&["lr=choice:0.1,0.01,0.001", "n=int:1:4"]).unwrap());
    let (study, _) = whole(StudySpec { space, policy: StopPolicy::none(), ..spec() }, 1);
    let tried: Vec<String> =
        study.trials().iter().map(|trial| serde_json::to_string(&trial.configuration).unwrap()).collect();
    let different: HashSet<&String> = tried.iter().collect();
    assert_eq!(
        (tried.len(), different.len()),
        (12, 12),
        "of thirty trials the last eighteen would be repeats"
    );
    assert!(study.is_space_spent() && study.is_done());
}

#[test]
fn exempt_trials_are_never_stopped_and_audit_the_decisions() {
    let (study, log) = whole(StudySpec { exempt: 0.5, ..spec() }, 1);
    let audit = StudySummary::new(&study).audit.unwrap();
    assert!(audit.spared >= 2 && audit.wrongly <= audit.spared, "{audit:?}");
    let exempt: HashSet<u64> =
        decisions(&log).iter().filter(|d| d.reason == Reason::Exempt).map(|d| d.trial).collect();
    for trial in exempt {
        assert!(matches!(study.trials()[trial as usize].state, TrialState::Completed { .. }));
    }
}

#[test]
fn rules_that_look_at_the_curves_alone_stop_trials_too() {
    let (median, log) = whole(StudySpec { policy: StopPolicy::from(MedianRule), ..spec() }, 1);
    assert!(StudySummary::new(&median).trials.stopped > 3);
    assert!(decisions(&log).iter().any(|d| d.reason == Reason::BelowMedian && d.value.is_some()));
    let stopped = median.trials().iter().find(|t| matches!(t.state, TrialState::Stopped { .. })).unwrap();
    let last = reported_value(&stopped.configuration, stopped.step);
    assert!((stopped.result().unwrap() - last).abs() < 1e-12, "it counts with its last value");
    let (patient, _) = whole(
        StudySpec { policy: StopPolicy::from(PatienceRule { patience: EPOCHS as usize }), ..spec() },
        1,
    );
    assert_eq!(StudySummary::new(&patient).trials.stopped, 0, "no trial rests that long");
}

#[test]
fn extrapolation_of_the_curve_alone_stops_from_the_second_trial_on_and_its_optimistic_mode_more() {
    let policy = |name: &str| full_catalogue().resolve_policy(&name.into(), &Default::default()).unwrap();
    let lce =
        |name| StudySpec { policy: policy(name), predictor: "lce".into(), burn_in: 1, trials: 10, ..spec() };
    let (careful, log) = whole(lce("lce"), 1);
    assert!(StudySummary::new(&careful).trials.stopped > 2);
    let decisions = decisions(&log);
    let burn_in = |d: &&Decision| d.reason == Reason::BurnIn;
    assert!(
        decisions.iter().all(|d| (d.trial == 0) == burn_in(d)),
        "there is nothing to beat during the first"
    );
    let ahead = |d: &Decision| d.reason == Reason::MayWin && d.forecast.is_none();
    let not_extrapolated = |seed| {
        let (_, log) = whole(StudySpec { seed, ..lce("lce") }, 1);
        self::decisions(&log).into_iter().filter(|d| ahead(d)).count()
    };
    assert!((0..6).map(not_extrapolated).sum::<usize>() > 2, "who is ahead already is not extrapolated");
    let (bold, _) = whole(lce("lce-optimistic"), 1);
    assert!(StudySummary::new(&bold).epochs.spent <= StudySummary::new(&careful).epochs.spent);
    assert!(Study::new(StudySpec { predictor: "ols".into(), ..lce("lce") }).is_err());
}

#[test]
fn an_error_budget_for_the_run_stops_later() {
    let (each, _) = whole(spec(), 1);
    let (all, _) = whole(
        StudySpec { criterion: StopCriterion { error_budget: ErrorBudget::PerRun, ..criterion() }, ..spec() },
        1,
    );
    assert!(StudySummary::new(&all).epochs.spent > StudySummary::new(&each).epochs.spent);
}

#[test]
fn trials_that_report_in_large_steps_pass_rungs_they_have_overstepped() {
    let spec = StudySpec {
        schedule: Schedule::Asha { eta: 3, rungs: None },
        trials: 9,
        burn_in: 9,
        max_resource: 9,
        ..spec()
    };
    let mut study = Study::new(spec).unwrap();
    let mut jobs = 0;
    loop {
        let records = study.step(&StudyInput::WorkerIdle);
        let Some(Record::Started { trial, configuration, until, .. }) = records.first() else { break };
        jobs += 1;
        if study.trials()[*trial as usize].state != TrialState::Running {
            assert_eq!(*until, 3, "five epochs are past three");
            continue;
        }
        let (trial, from) = (*trial, study.trials()[*trial as usize].step);
        let step = if from == 0 { 5 } else { 9 };
        let value = Some(reported_value(configuration, step));
        study.step(&StudyInput::Reported { trial, step, value, metrics: BTreeMap::new() });
        study.step(&StudyInput::Ended { trial, failure: None });
    }
    assert!(study.is_done() && jobs == 9 + 3 + 1, "{jobs}");
    assert_eq!(StudySummary::new(&study).epochs.spent, 9 * 5 + 4);
}

#[test]
fn a_trial_whose_next_report_would_be_past_its_rung_pauses_there() {
    // rungs at 3 and 10
    let spec = StudySpec {
        schedule: Schedule::Asha { eta: 4, rungs: None },
        burn_in: 9,
        max_resource: 10,
        ..spec()
    };
    let state_after = |steps: &[u64]| {
        let mut study = Study::new(spec.clone()).unwrap();
        study.step(&StudyInput::WorkerIdle);
        for &step in steps {
            let value = Some(0.1 * step as f64);
            study.step(&StudyInput::Reported { trial: 0, step, value, metrics: BTreeMap::new() });
        }
        study.step(&StudyInput::Ended { trial: 0, failure: None });
        study.trials()[0].state.clone()
    };
    assert!(matches!(state_after(&[2]), TrialState::Paused { .. }), "its reports are two epochs apart");
    assert!(matches!(state_after(&[1, 2]), TrialState::Completed { .. }), "it ended by itself before 3");
}

#[test]
fn a_study_whose_rungs_are_planned_for_its_trials_is_another_with_more() {
    let schedules =
        [Schedule::SuccessiveHalving { eta: 3 }, Schedule::Asha { eta: 3, rungs: None }, Schedule::Full];
    let prolonged = schedules.map(|schedule| {
        let study = StudySpec { schedule, max_resource: 9, ..spec() };
        study.continues(&StudySpec { trials: study.trials + 9, ..study.clone() })
    });
    assert_eq!(prolonged, [false, true, true]);
}

#[test]
fn a_study_that_is_resumed_with_fewer_trials_or_runs_keeps_those_it_has() {
    let off = StudySpec { policy: StopPolicy::none(), ..in_brackets() };
    let (study, log) = whole(off.clone(), 1);
    let Schedule::Hyperband { eta, kappa, reference, .. } = off.schedule else { unreachable!() };
    let fewer =
        StudySpec { schedule: Schedule::Hyperband { eta, runs: 1, kappa, reference }, trials: 17, ..off };
    let resumed = Study::resume(fewer, &log).unwrap();
    assert!(resumed.is_done() && resumed.trials().len() == study.trials().len());
    let (study, log) = whole(spec(), 1);
    let resumed = Study::resume(StudySpec { trials: 15, ..spec() }, &log).unwrap();
    assert!(resumed.is_done() && resumed.trials().len() == study.trials().len());
}

#[test]
fn a_log_of_another_plan_is_refused() {
    let (_, log) = whole(StudySpec { policy: StopPolicy::none(), ..in_brackets() }, 1);
    let other = StudySpec { schedule: Schedule::Full, policy: StopPolicy::none(), ..in_brackets() };
    let error = Study::resume(other, &log).err().unwrap();
    assert!(matches!(error, StudyError::Plan { .. }), "{error}");
}

#[test]
fn what_is_written_can_be_read_back_also_where_losses_jump_beyond_all_measure() {
    let spec = StudySpec {
        metric: "val_loss".into(),
        direction: Direction::Minimize,
        predictor: "last-value".into(),
        burn_in: 4,
        trials: 8,
        ..spec()
    };
    let mut log = vec![Record::Created { study: Box::new(spec.clone()) }];
    let mut study = Study::new(spec.clone()).unwrap();
    for trial in 0..8 {
        log.extend(study.step(&StudyInput::WorkerIdle));
        for step in 1..=EPOCHS {
            let value = Some(if step < 8 { 1e250 } else { 1e-200 } * (1.0 + trial as f64));
            let metrics = [("lr", 0.1), ("gradient", f64::INFINITY), ("noise", f64::NAN)];
            let metrics = metrics.map(|(name, metric)| (name.to_owned(), metric)).into();
            log.extend(study.step(&StudyInput::Reported { trial, step, value, metrics }));
        }
        log.extend(study.step(&StudyInput::Ended { trial, failure: None }));
    }
    let read: Vec<Record> = log
        .iter()
        .map(|record| serde_json::from_str(&serde_json::to_string(record).unwrap()).unwrap())
        .collect();
    assert_eq!(read, log);
    assert!(Study::resume(spec, &read).unwrap().is_done());
    let without = |record: &&Record| match record {
        Record::Decided(Decision { reason: Reason::NoForecast(why), .. }) => why.contains("not finite"),
        _ => false,
    };
    assert!(log.iter().filter(without).count() > 4, "no forecast is better than one without bounds");
    let reported = log.iter().filter_map(|record| match record {
        Record::Reported { metrics, .. } => Some(metrics.keys().map(String::as_str).collect::<Vec<_>>()),
        _ => None,
    });
    assert!(reported.into_iter().all(|names| names == ["lr"]));
}

#[test]
fn a_watched_median_rule_that_loses_the_best_trial_has_stopped_it_wrongly() {
    let sizes = StudySpec { trials: 4, burn_in: 3, max_resource: 4, ..spec() };
    let mut study =
        Study::new(StudySpec { policy: StopPolicy::from(MedianRule), shadow: true, ..sizes }).unwrap();
    for trial in 0..4 {
        study.step(&StudyInput::WorkerIdle);
        for step in 1..=4 {
            let value = match (trial, step) {
                (3, 4) => 0.9,
                (3, _) => 0.1,
                _ => 0.5,
            };
            let metrics = std::collections::BTreeMap::new();
            study.step(&StudyInput::Reported { trial, step, value: Some(value), metrics });
        }
        study.step(&StudyInput::Ended { trial, failure: None });
    }
    let shadow = StudySummary::new(&study).shadow.unwrap();
    assert!(!shadow.best_survived);
    assert_eq!(shadow.stopped_wrongly, [3]);
}

#[test]
fn what_rungs_save_is_measured_against_training_every_trial_to_its_end() {
    let schedule = foretell_search::Schedule::Asha { eta: 3, rungs: None };
    let sizes = StudySpec { trials: 9, burn_in: 9, max_resource: 9, ..spec() };
    let (study, _) = whole(StudySpec { schedule, policy: StopPolicy::none(), ..sizes }, 1);
    let StudySummary { epochs, speedup, .. } = StudySummary::new(&study);
    assert!(epochs.spent < epochs.full_training, "{epochs:?}");
    assert!((speedup - epochs.full_training as f64 / epochs.spent as f64).abs() < 1e-12, "{speedup}");
}

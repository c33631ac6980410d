//! A study whose space, sampler or length changes while it is under way, and enqueued configurations.

mod common;

use common::accuracy;
use foretell::{Configuration, Direction, Value};
use foretell_search::{
    ForecastRule, GpSampling, Kappa, MedianRule, MemoryStore, ParameterSpace, RandomSampling, Record,
    Reference, SamplerSpec, Schedule, Session, SessionError, Space, StopPolicy, Study, StudyError,
    StudyParts, StudyRequest, StudySpec, StudySummary, TpeGpSampling, TpeSampling, TrainingEnd, TrialState,
    plan,
};

const EPOCHS: u64 = 9;
fn samplers() -> [SamplerSpec; 4] {
    [
        SamplerSpec::from(RandomSampling),
        SamplerSpec::from(TpeSampling),
        SamplerSpec::from(GpSampling),
        SamplerSpec::from(TpeGpSampling),
    ]
}

fn parameters(texts: &[&str]) -> Space {
    Space::Parameters(ParameterSpace::parse(texts).expect("a space"))
}

fn spec(space: Space, trials: u64) -> StudySpec {
    let usual = StudySpec::new(space, "val_acc", Direction::Maximize);
    StudySpec {
        max_resource: EPOCHS,
        trials,
        burn_in: 4,
        policy: StopPolicy::from(MedianRule),
        seed: 3,
        ..usual
    }
}

fn wide() -> Space {
    parameters(&["lr=log:1e-4:1", "opt=choice:sgd,adam"])
}

/// Trains what is asked for until nothing is left, or for `most` trials.
fn train(session: &mut Session, most: usize) {
    for _ in 0..most {
        let Some(start) = session.ask().expect("it is stored") else { return };
        for step in start.from + 1..=start.until {
            let value = accuracy(&start.configuration, step);
            if session.report(start.trial, step, value, Default::default()).expect("it is stored").stop {
                break;
            }
        }
        session.tell(start.trial, TrainingEnd::Finished).expect("it is stored");
    }
}

fn open(spec: StudySpec, records: &[Record]) -> Result<Session, SessionError> {
    Session::open(spec, StudyParts::default(), MemoryStore::from(records.to_vec()))
}

/// The study of `records` by `spec`, trained to its end.
fn run(spec: StudySpec, records: &[Record]) -> Session {
    let mut session = open(spec, records).expect("the same study");
    train(&mut session, usize::MAX);
    session
}

fn study_state(study: &Study) -> String {
    format!(
        "{:?} {:?} {:?} {:?}",
        study.trials(),
        StudySummary::new(study),
        study.learning_from(),
        study.queue()
    )
}

fn assert_folds(session: &Session, case: &str) {
    let again = Study::resume(session.study().spec().clone(), session.store().records()).expect(case);
    assert_eq!(study_state(&again), study_state(session.study()), "{case}");
}

#[test]
fn another_space_or_sampler_goes_on_in_the_same_study_and_folds_at_every_cut() {
    let spaces = [
        parameters(&["lr=log:1e-3:0.1", "opt=choice:sgd,adam"]),
        parameters(&["lr=log:1e-6:1", "opt=choice:sgd,adam"]),
        parameters(&["lr=log:1e-4:1", "opt=choice:sgd,adam,lion"]),
        parameters(&["lr=log:1e-4:1", "opt=choice:sgd,adam", "depth=int:1:4"]),
        parameters(&["lr=log:1e-4:1"]),
    ];
    for sampler in samplers() {
        let first = StudySpec { sampler: sampler.clone(), ..spec(wide(), 12) };
        let half = run(first.clone(), &[]);
        for space in &spaces {
            let case = format!("{sampler:?}, {space:?}");
            let second = StudySpec { sampler: sampler.clone(), ..spec(space.clone(), 20) };
            let whole = run(second.clone(), half.store().records());
            assert_eq!(whole.study().trials().len(), 20, "{case}");
            let inside =
                whole.study().trials()[12..].iter().all(|trial| space.contains(&trial.configuration));
            assert!(inside, "{case}");
            assert_folds(&whole, &case);
            let records = whole.store().records();
            let before = half.store().records().len();
            for cut in (before + 1..records.len()).step_by(17) {
                let resumed = run(second.clone(), &records[..cut]);
                assert_eq!(resumed.study().trials().len(), 20, "{case}, cut at {cut}");
                assert_folds(&resumed, &case);
            }
        }
        for other in samplers().into_iter().filter(|other| *other != sampler) {
            let whole = run(StudySpec { sampler: other, ..spec(wide(), 20) }, half.store().records());
            assert_eq!(whole.study().trials().len(), 20);
            assert_folds(&whole, "another sampler");
        }
    }
}

#[test]
fn samplers_learn_from_the_old_trials_that_fit_and_forecasts_from_all() {
    let half = run(StudySpec { policy: StopPolicy::none(), ..spec(wide(), 24) }, &[]);
    let narrow = parameters(&["lr=log:1e-3:0.1", "opt=choice:sgd,adam"]);
    let whole = run(
        StudySpec { policy: StopPolicy::from(ForecastRule), ..spec(narrow.clone(), 30) },
        half.store().records(),
    );
    let fit = half.study().trials().iter().filter(|trial| narrow.contains(&trial.configuration)).count();
    assert!((5..24).contains(&fit), "{fit} of 24 fit");
    let learned = whole.study().learning_from()[&EPOCHS];
    assert!(learned >= 24, "forecasts are learned from {learned}");
    // a sampler without evidence fills the narrow space evenly: its first draw is the middle
    let fresh = run(spec(narrow, 6), &[]);
    let configurations = |session: &Session| -> Vec<Configuration> {
        session.study().trials().iter().map(|trial| trial.configuration.clone()).collect()
    };
    assert!(!configurations(&whole)[24..].contains(&configurations(&fresh)[0]));
}

#[test]
fn more_epochs_hold_for_trials_that_run_and_for_new_ones() {
    let first = StudySpec { policy: StopPolicy::none(), ..spec(wide(), 8) };
    let mut session = open(first.clone(), &[]).expect("a session");
    train(&mut session, 5);
    let start = session.ask().expect("it is stored").expect("a trial");
    for step in 1..=4 {
        let value = accuracy(&start.configuration, step);
        session.report(start.trial, step, value, Default::default()).expect("it is stored");
    }
    let longer = StudySpec { max_resource: 15, ..first };
    let whole = run(longer.clone(), session.store().records());
    let trained: Vec<u64> = whole.study().trials().iter().map(|trial| trial.trained_epochs()).collect();
    assert_eq!(trained, [9, 9, 9, 9, 9, 15, 15, 15]);
    let is_whole = |state: &TrialState| matches!(state, TrialState::Completed { .. });
    assert!(whole.study().trials().iter().all(|trial| is_whole(&trial.state)));
    assert_folds(&whole, "longer");
    let learned = whole.study().learning_from();
    assert_eq!(learned.get(&15), None, "three trials are fewer than a burn-in of four: {learned:?}");
    let schedule = Schedule::Asha { eta: 3, rungs: None };
    let rungs = run(StudySpec { schedule, policy: StopPolicy::none(), ..spec(wide(), 9) }, &[]);
    let refused = open(StudySpec { schedule, policy: StopPolicy::none(), ..longer }, rungs.store().records());
    assert!(matches!(refused.err(), Some(SessionError::Another { .. })), "rungs are shares of the end");
}

#[test]
fn the_command_may_name_other_epochs_and_nothing_else() {
    let by = |command: &str, epochs| StudySpec {
        max_resource: epochs,
        workload: [("command".to_owned(), command.to_owned())].into(),
        ..spec(wide(), 6)
    };
    let there = by("train.py --epochs 9 --width=9", 9);
    assert!(there.continues(&by("train.py --epochs 15 --width=15", 15)));
    assert!(!there.continues(&by("train.py --epochs 15 --width=9", 15)));
    assert!(!there.continues(&by("other.py --epochs 9 --width=9", 9)));
    let twice = run(by("train.py --epochs 15", 15), run(by("train.py --epochs 9", 9), &[]).store().records());
    assert!(twice.study().spec().continues(&by("train.py --epochs 20", 20)), "and once more");
}

#[test]
fn what_is_enqueued_comes_next_and_the_sampler_chooses_the_rest() {
    let space = parameters(&["lr=log:1e-4:1", "opt=choice:sgd,adam", "momentum=float:0:1 if opt=sgd"]);
    let Space::Parameters(known) = &space else { unreachable!() };
    let read = |text: &str| known.read_configuration(text).expect(text);
    for sampler in samplers() {
        let spec = StudySpec { sampler, queue: vec![read("lr=0.5")], ..spec(space.clone(), 10) };
        let mut session = open(spec.clone(), &[]).expect("a session");
        train(&mut session, 3);
        session.enqueue(read("momentum=0.25"), Some("a".to_owned())).unwrap().unwrap();
        session.enqueue(read("lr=0.002,opt=adam"), None).unwrap().unwrap();
        session.enqueue(read("momentum=0.25"), Some("a".to_owned())).unwrap().unwrap();
        assert_eq!(session.study().queue().waiting().len(), 2, "the same order twice is carried out once");
        train(&mut session, usize::MAX);
        let value = |trial: usize, name: &str| session.study().trials()[trial].configuration[name].clone();
        assert_eq!(value(0, "lr"), Value::Number(0.5));
        assert_eq!((value(3, "momentum"), value(3, "opt")), (Value::Number(0.25), Value::Text("sgd".into())));
        assert_eq!((value(4, "lr"), value(4, "opt")), (Value::Number(0.002), Value::Text("adam".into())));
        assert_eq!(session.study().trials().len(), 10);
        assert!(session.study().trials().iter().all(|trial| space.contains(&trial.configuration)));
        assert_folds(&session, "enqueued");
        // the same command again enqueues nothing again
        let again = open(spec, session.store().records()).expect("the same study");
        assert_eq!(again.store().records(), session.store().records());
    }
}

#[test]
fn what_is_enqueued_into_a_study_that_is_done_is_one_more_trial() {
    let Space::Parameters(known) = wide() else { unreachable!() };
    for schedule in [Schedule::Full, Schedule::Asha { eta: 3, rungs: None }] {
        let spec = StudySpec { schedule, policy: StopPolicy::none(), ..spec(wide(), 6) };
        let mut session = run(spec.clone(), &[]);
        assert!(session.is_done());
        session.enqueue(known.read_configuration("lr=0.01,opt=sgd").unwrap(), None).unwrap().unwrap();
        assert!(!session.is_done());
        train(&mut session, usize::MAX);
        assert_eq!((session.study().trials().len(), session.study().settings().trials), (7, 7));
        assert_folds(&session, "one more");
        // the same request as before leaves the total as it is
        let request = StudyRequest { space: Some(wide()), ..StudyRequest::default() };
        assert_eq!(request.resolve(Some(session.study().spec())).expect("the same study").trials, 7);
    }
    let (kappa, reference) = (Kappa::default(), Reference::Level);
    let trials = plan(EPOCHS, 3).expect("a plan").totals().configurations;
    let schedule = Schedule::Hyperband { eta: 3, runs: 1, kappa, reference };
    let mut planned = run(StudySpec { schedule, policy: StopPolicy::none(), ..spec(wide(), trials) }, &[]);
    let refused = planned.enqueue(known.read_configuration("lr=0.01").unwrap(), None).unwrap();
    assert!(matches!(refused, Err(StudyError::NoRoom { .. })), "{refused:?}");
    let refused =
        planned.enqueue(Configuration::from([("lr".to_owned(), Value::Number(7.0))]), None).unwrap();
    assert!(refused.unwrap_err().to_string().contains("lr is `7`, which is outside"));
}

#[test]
fn first_trials_stay_though_the_space_does_not_hold_them_any_more() {
    let queue = vec![Configuration::from([("lr".to_owned(), Value::Number(0.5))])];
    let study = |texts: &[&str], queue: &[Configuration]| StudySpec {
        queue: queue.to_vec(),
        ..spec(parameters(texts), 8)
    };
    let half = run(study(&["lr=log:1e-4:1"], &queue), &[]);
    let whole = run(study(&["lr=log:1e-4:0.1"], &queue), half.store().records());
    assert_folds(&whole, "outside");
    let request = |lr: &str| {
        let values = Configuration::from([("lr".to_owned(), Value::Text(lr.to_owned()))]);
        StudyRequest {
            space: Some(parameters(&["lr=log:1e-4:0.1"])),
            enqueue: Some(vec![foretell_search::Queued::Values(values)]),
            ..StudyRequest::default()
        }
    };
    let there = half.study().spec();
    assert_eq!(request("0.5").resolve(Some(there)).expect("it was tried").queue.len(), 1);
    let refused = request("0.7").resolve(Some(there)).expect_err("it is new, and outside");
    assert_eq!(refused.field, "enqueue");
    assert_eq!(request("0.05").resolve(Some(there)).expect("it is new").queue.len(), 2);
}

#[test]
fn a_search_ends_when_a_completed_trial_reaches_the_target_and_a_higher_one_continues_it() {
    let until = |target| StudySpec { target, policy: StopPolicy::none(), ..spec(wide(), 30) };
    let all = run(until(None), &[]);
    let scores: Vec<f64> = all.study().trials().iter().filter_map(|trial| trial.result()).collect();
    let target = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let winner = scores.iter().position(|&score| score >= target).expect("a best");
    assert!(winner > 0 && winner + 1 < scores.len(), "the best is in the middle: {winner}");
    let session = run(until(Some(target)), &[]);
    assert_eq!(session.study().trials().len(), winner + 1, "no trial follows the one that reaches it");
    assert!(session.is_done() && session.study().is_at_target());
    assert_folds(&session, "at its target");
    let further = run(until(Some(target + 1.0)), session.store().records());
    assert_eq!(further.study().trials().len(), 30, "a target that is out of reach ends nothing");
}

#[test]
fn a_search_ends_after_so_many_trials_without_a_new_best() {
    let ends =
        |most| StudySpec { until_no_improvement: most, policy: StopPolicy::none(), ..spec(wide(), 60) };
    let session = run(ends(Some(6)), &[]);
    let trials = session.study().trials();
    let scores: Vec<f64> = trials.iter().filter_map(|trial| trial.result()).collect();
    let best = session.best().expect("a best").trial as usize;
    assert_eq!((scores.len(), trials.len()), (best + 7, best + 7), "six follow the best");
    assert!(session.is_done() && trials.len() < 60);
    assert_folds(&session, "without improvement");
    let more = run(ends(Some(12)), session.store().records());
    assert!(more.study().trials().len() >= trials.len() + 6, "a larger number goes on");
    let all = run(ends(None), more.store().records());
    assert_eq!(all.study().trials().len(), 60);
}

//! Cross-validation inside a trial: the mean of folds counts, and trials are stopped between and within folds.

use foretell::{Configuration, Direction};
use foretell_search::{
    ParameterSpace, RandomSampling, Record, Session, Space, Store, Study, StudySpec, TrainingEnd, TrialState,
};
use std::collections::BTreeMap;

const EPOCHS: u64 = 10;
const FOLDS: u64 = 4;
/// How much better than others each fold of every trial is.
const FOLD_EFFECTS: [f64; 4] = [0.03, -0.02, 0.01, -0.02];

fn spec(trials: u64) -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(&["quality=float:0:1"]).unwrap());
    StudySpec {
        trials,
        max_resource: EPOCHS,
        folds: Some(FOLDS),
        sampler: RandomSampling.into(),
        ..StudySpec::new(space, "val_acc", Direction::Maximize)
    }
}

/// A fold rises toward the quality of its configuration; how much folds differ is different for each trial.
fn value(configuration: &Configuration, fold: u64, step: u64) -> f64 {
    let quality = configuration["quality"].as_number().unwrap();
    let own = 0.01 * ((quality * 1000.0 + fold as f64 * 2.1).sin());
    (0.5 + 0.4 * quality) * (1.0 - 0.7_f64.powi(step as i32)) + FOLD_EFFECTS[fold as usize - 1] + own
}

fn run(spec: StudySpec) -> Session {
    let mut session = Session::new(spec).unwrap();
    while let Some(start) = session.ask().unwrap() {
        assert_eq!(start.until, EPOCHS * FOLDS);
        let steps = (1..=FOLDS).flat_map(|fold| (1..=EPOCHS).map(move |step| (fold, step)));
        for (fold, step) in steps {
            let metrics = BTreeMap::from([("fold".to_owned(), fold as f64)]);
            let value = value(&start.configuration, fold, step);
            if session.report(start.trial, step, value, metrics).unwrap().stop {
                break;
            }
        }
        session.tell(start.trial, TrainingEnd::Finished).unwrap();
    }
    session
}

fn whole_score(configuration: &Configuration) -> f64 {
    (1..=FOLDS).map(|fold| value(configuration, fold, EPOCHS)).sum::<f64>() / FOLDS as f64
}

#[test]
fn the_mean_of_folds_counts_and_trials_are_stopped_between_and_within_folds() {
    let session = run(spec(40));
    let study = session.study();
    let (mut completed, mut stopped_in) = (0, BTreeMap::<u64, u64>::new());
    for trial in study.trials() {
        match &trial.state {
            TrialState::Completed { value } => {
                completed += 1;
                assert!((value - whole_score(&trial.configuration)).abs() < 1e-12);
                assert_eq!((trial.cost(), trial.folds.len()), (EPOCHS * FOLDS, FOLDS as usize - 1));
            }
            TrialState::Stopped { .. } => {
                *stopped_in.entry(trial.cost() / EPOCHS).or_default() += 1;
                assert_eq!(trial.cost_to(EPOCHS * FOLDS), EPOCHS * FOLDS);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(completed >= 3 && stopped_in.len() >= 2, "completed {completed}, stopped in {stopped_in:?}");
    assert!(stopped_in.contains_key(&0), "the worst end in their first fold: {stopped_in:?}");
    let best = study.trials().iter().map(|trial| whole_score(&trial.configuration)).fold(0.0, f64::max);
    assert!((session.best().unwrap().score - best).abs() < 1e-12, "nothing better was stopped");
    assert_eq!(study.fold_values(session.best().unwrap().trial).len(), FOLDS as usize);
    let whole = 40 * EPOCHS * FOLDS;
    assert!(study.progress().spent < whole * 3 / 4, "{} of {whole}", study.progress().spent);
}

#[test]
fn a_log_of_folds_is_read_as_the_same_study() {
    let session = run(spec(12));
    let log: Vec<Record> = session.store().read_from(0).unwrap().map(Result::unwrap).collect();
    let again = Study::resume(session.study().spec().clone(), &log).unwrap();
    assert_eq!(format!("{:?}", again.trials()), format!("{:?}", session.study().trials()));
    assert_eq!(again.best(), session.best());
    // reports in the middle of a fold are no end
    let cut = log.iter().rposition(|record| matches!(record, Record::Reported { .. })).unwrap();
    let cut = Study::resume(session.study().spec().clone(), &log[..cut]).unwrap();
    assert!(cut.trials().iter().any(|trial| trial.state == TrialState::Interrupted));
}

#[test]
fn folds_that_end_early_cost_what_they_trained() {
    let mut session = Session::new(spec(1)).unwrap();
    let start = session.ask().unwrap().unwrap();
    for (fold, last) in [(1, 6), (2, 10), (3, 4), (4, 8)] {
        for step in 1..=last {
            let metrics = BTreeMap::from([("fold".to_owned(), f64::from(fold))]);
            session.report(start.trial, step, 0.1 * f64::from(fold), metrics).unwrap();
        }
    }
    session.tell(start.trial, TrainingEnd::Finished).unwrap();
    let trial = &session.study().trials()[0];
    assert_eq!(trial.cost(), 6 + 10 + 4 + 8);
    let TrialState::Completed { value } = trial.state else { panic!("{:?}", trial.state) };
    assert!((value - 0.25).abs() < 1e-12);
}

#[test]
fn folds_go_with_whole_trainings_of_one_objective() {
    let asha = foretell_search::Schedule::Asha { eta: 3, rungs: None };
    for (wrong, expected) in [
        (
            StudySpec { schedule: asha, ..spec(9) },
            "folds need `epochs`, the length of each, the scheduler full",
        ),
        (StudySpec { repeats: Some(2), ..spec(9) }, "folds need"),
        (StudySpec { folds: Some(0), ..spec(9) }, "folds"),
    ] {
        let said = Session::new(wrong).map(drop).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
    let mut metrics = BTreeMap::from([("fold".to_owned(), 3.0), ("loss".to_owned(), 1.0)]);
    assert_eq!(spec(9).step_across_folds(2, &mut metrics), Ok(22));
    assert_eq!(metrics.len(), 1);
    for fold in [0.0, 5.0, 1.5] {
        let mut metrics = BTreeMap::from([("fold".to_owned(), fold)]);
        assert_eq!(spec(9).step_across_folds(2, &mut metrics), Err(fold));
    }
}

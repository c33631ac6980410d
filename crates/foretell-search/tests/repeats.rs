//! Repeats: each configuration is trained with several seeds, and judged by their mean.

use foretell::{Configuration, Direction};
use foretell_search::{
    ForecastRule, MedianRule, MemoryStore, ParameterSpace, Record, Refusal, Session, Space, StopPolicy,
    Study, StudyParts, StudyRequest, StudySpec, TrainingEnd, TrainingStart, TrialState,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const EPOCHS: u64 = 4;
const NOISE: f64 = 0.008;

fn spec(repeats: u64, trials: u64, seed: u64) -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(&["x=float:0:1"]).expect("a space"));
    let usual = StudySpec::new(space, "val_acc", Direction::Maximize);
    let repeats = Some(repeats).filter(|repeats| *repeats > 1);
    StudySpec { max_resource: EPOCHS, trials, repeats, policy: StopPolicy::none(), seed, ..usual }
}

/// The value that a configuration reaches on average.
fn truth(configuration: &Configuration) -> f64 {
    0.9 - 0.1 * (configuration["x"].as_number().expect("a number") - 0.6).abs()
}

/// The value that a training reaches: its seed adds or subtracts something.
fn trained_value(start: &TrainingStart) -> f64 {
    truth(&start.configuration)
        + NOISE * (f64::from(start.seed) / f64::from(u32::MAX) - 0.5) * 12.0_f64.sqrt()
}

/// Trains `spec` from `records` on with so many `workers`, to its end.
fn run(spec: StudySpec, records: &[Record], workers: usize) -> Session {
    let store = MemoryStore::from(records.to_vec());
    let mut session = Session::open(spec, StudyParts::default(), store).expect("the same study");
    let mut running: VecDeque<TrainingStart> = VecDeque::new();
    loop {
        while running.len() < workers
            && let Some(start) = session.ask().expect("it is stored")
        {
            running.push_back(start);
        }
        let Some(start) = running.pop_front() else { return session };
        for step in start.from + 1..=start.until {
            let value = trained_value(&start) * step as f64 / EPOCHS as f64;
            if session.report(start.trial, step, value, Default::default()).expect("it is stored").stop {
                break;
            }
        }
        session.tell(start.trial, TrainingEnd::Finished).expect("it is stored");
    }
}

/// The values of the trials by configuration.
fn groups(study: &Study) -> BTreeMap<String, Vec<f64>> {
    let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for trial in study.trials() {
        if let TrialState::Completed { value } = trial.state {
            groups.entry(format!("{:?}", trial.configuration)).or_default().push(value);
        }
    }
    groups
}

fn check(session: &Session, trials: usize, case: &str) {
    let (study, groups) = (session.study(), groups(session.study()));
    assert_eq!((study.trials().len(), session.is_done()), (trials, true), "{case}");
    assert!(
        groups.values().all(|values| values.len() <= 3),
        "{case}: no configuration is trained more often"
    );
    let best = session.best().expect("a best");
    let values = &groups[&format!("{:?}", best.configuration)];
    assert_eq!(values.len(), 3, "{case}: the best has all its repeats");
    assert!(
        (best.score - values.iter().sum::<f64>() / 3.0).abs() < 1e-12,
        "{case}: it counts with their mean"
    );
    let means =
        groups.values().filter(|values| values.len() == 3).map(|values| values.iter().sum::<f64>() / 3.0);
    assert!(means.fold(f64::NEG_INFINITY, f64::max) <= best.score + 1e-12, "{case}");
}

#[test]
fn the_best_is_that_of_the_best_mean_and_what_cannot_win_is_not_repeated() {
    for workers in [1, 2, 5] {
        let session = run(spec(3, 30, 7), &[], workers);
        check(&session, 30, &format!("{workers} workers"));
        let once = groups(session.study()).values().filter(|values| values.len() == 1).count();
        assert!(once >= 3, "{once} configurations were trained once");
        let seeds: BTreeSet<u32> = (0..30).map(|trial| session.study().spec().trial_seed(trial)).collect();
        assert_eq!(seeds.len(), 30, "each training has its own seed");
    }
}

#[test]
fn repeats_are_not_stopped_and_first_trainings_have_to_beat_the_best_mean() {
    let session =
        run(StudySpec { policy: StopPolicy::from(MedianRule), burn_in: 3, ..spec(3, 40, 5) }, &[], 1);
    let mut seen = BTreeSet::new();
    for trial in session.study().trials() {
        let is_first = seen.insert(format!("{:?}", trial.configuration));
        assert!(is_first || matches!(trial.state, TrialState::Completed { .. }), "a repeat was stopped");
    }
    let first =
        run(StudySpec { policy: StopPolicy::from(ForecastRule), burn_in: 3, ..spec(3, 40, 5) }, &[], 2);
    check(&first, 40, "forecasts");
}

#[test]
fn a_log_that_is_cut_anywhere_leads_to_the_same_kind_of_end() {
    let whole = run(spec(3, 18, 2), &[], 2);
    let records = whole.store().records();
    for cut in 1..records.len() {
        let again = run(spec(3, 18, 2), &records[..cut], 2);
        check(&again, 18, &format!("cut at {cut}"));
    }
    let more = run(spec(3, 24, 2), records, 2);
    check(&more, 24, "more trials later");
}

#[test]
fn a_mean_of_repeats_promises_less_than_a_single_lucky_training() {
    let optimism = |repeats: u64| {
        let of_seed = |seed: u64| {
            let best = run(spec(repeats, 36, seed), &[], 1).best().expect("a best");
            best.score - truth(&best.configuration)
        };
        (0..10).map(of_seed).sum::<f64>() / 10.0
    };
    let (once, thrice) = (optimism(1), optimism(3));
    assert!(once > 0.005 && thrice < 0.6 * once, "{once:.4} against {thrice:.4}");
}

#[test]
fn repeats_need_full_training_and_one_objective() {
    let resolved = |more: &str| -> Result<StudySpec, Refusal> {
        let text = format!(r#"{{"space": {{"x": "float:0:1"}}, "metric": "val_acc", "repeats": 3{more}}}"#);
        serde_json::from_str::<StudyRequest>(&text).expect("a request").resolve(None)
    };
    assert_eq!(resolved("").expect("a study").repeats(), 3);
    for more in [r#", "scheduler": "hyperband""#, r#", "objective": ["val_acc", "size:min"]"#] {
        let refused = resolved(more).expect_err("no repeats").to_string();
        assert!(refused.contains("scheduler full"), "{refused}");
    }
    let none = serde_json::from_str::<StudyRequest>(
        r#"{"space": {"x": "float:0:1"}, "metric": "val_acc", "repeats": 0}"#,
    );
    assert!(none.expect("a request").resolve(None).is_err());
}

#[test]
fn the_number_of_repeats_does_not_change_in_a_study() {
    let session = run(spec(3, 6, 1), &[], 1);
    let store = MemoryStore::from(session.store().records().to_vec());
    assert!(Session::open(spec(2, 6, 1), StudyParts::default(), store).is_err());
}

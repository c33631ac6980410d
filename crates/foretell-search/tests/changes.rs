//! Settings that change while a study is under way.

use foretell::{Configuration, Direction};
use foretell_search::{
    Ending, Memory, ParameterSpace, Parts, Policy, Record, Session, SessionError, Space, Study, StudySpec,
    Summary,
};

const EPOCHS: u64 = 9;

fn spec(policy: Policy, trials: u64) -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"]).unwrap());
    let usual = StudySpec::new(space, "val_acc", Direction::Maximize);
    StudySpec { max_resource: EPOCHS, trials, burn_in: 12, policy, seed: 3, ..usual }
}

fn accuracy(configuration: &Configuration, step: u64) -> f64 {
    let lr = configuration["lr"].number().unwrap();
    let top = 0.9 - 0.2 * (lr.log10() + 2.0).abs();
    top * (1.0 - (-(step as f64) / 3.0).exp()) + 0.003 * (lr * 1e5 + step as f64).sin()
}

/// Runs the study in `store` to its end by `spec`.
fn run(spec: StudySpec, store: Memory) -> Result<Session, SessionError> {
    let mut session = Session::open(spec, Parts::default(), store)?;
    while let Some(start) = session.ask()? {
        for step in start.from + 1..=start.until {
            let value = accuracy(&start.configuration, step);
            if session.report(start.trial, step, value, Default::default())?.stops() {
                break;
            }
        }
        session.tell(start.trial, Ending::Finished)?;
    }
    Ok(session)
}

fn store(session: &Session) -> Memory {
    session.store().clone()
}

fn remembered(study: &Study) -> String {
    format!("{:?} {:?} {:?}", study.trials(), Summary::of(study), study.learning_from())
}

#[test]
fn a_study_whose_policy_changed_is_the_fold_of_its_records_at_every_cut() {
    let policies = [Policy::None, Policy::Forecast, Policy::Median, Policy::Asha(3), Policy::Patience(3)];
    for first in policies {
        for second in policies.into_iter().filter(|second| *second != first) {
            let half = run(spec(first, 16), Memory::default()).unwrap();
            let whole = run(StudySpec { burn_in: 6, ..spec(second, 30) }, store(&half)).unwrap();
            let case = format!("{first:?}, then {second:?}");
            let records = whole.store().records();
            let changes = records.iter().filter(|record| matches!(record, Record::Changed { .. }));
            assert_eq!(changes.count(), 1, "{case}");
            assert_eq!(&records[..half.store().records().len()], half.store().records(), "{case}");
            let again = Study::resume(whole.study().spec().clone(), records).unwrap();
            assert_eq!(remembered(&again), remembered(whole.study()), "{case}");
            for cut in (1..records.len()).step_by(7) {
                let asked = if cut <= half.store().records().len() {
                    spec(first, 16)
                } else {
                    whole.study().spec().clone()
                };
                let resumed = run(asked, Memory::from(records[..cut].to_vec()));
                let resumed = resumed.unwrap_or_else(|error| panic!("{case}, cut at {cut}: {error}"));
                assert!(resumed.is_done(), "{case}, cut at {cut}");
            }
        }
    }
}

#[test]
fn a_policy_taken_up_after_the_burn_in_decides_as_one_from_the_beginning() {
    for policy in [Policy::Forecast, Policy::Median] {
        let always = run(spec(policy, 30), Memory::default()).unwrap();
        let unstopped = run(spec(Policy::None, 12), Memory::default()).unwrap();
        let later = run(spec(policy, 30), store(&unstopped)).unwrap();
        let decisions = |session: &Session| -> Vec<Record> {
            let of_later =
                |record: &&Record| matches!(record, Record::Decided(decision) if decision.trial >= 12);
            session.store().records().iter().filter(of_later).cloned().collect()
        };
        assert!(decisions(&always).len() > 18, "{policy:?}");
        assert_eq!(decisions(&always), decisions(&later), "{policy:?}");
    }
}

#[test]
fn a_change_is_recorded_once_and_the_same_settings_not_at_all() {
    let first = run(spec(Policy::Median, 12), Memory::default()).unwrap();
    let again = run(spec(Policy::Median, 12), store(&first)).unwrap();
    assert_eq!(again.store().records(), first.store().records());
    let more = run(spec(Policy::Median, 14), store(&again)).unwrap();
    let last = run(spec(Policy::Median, 14), store(&more)).unwrap();
    assert_eq!(last.store().records(), more.store().records());
    assert_eq!(last.study().settings().trials, 14);
    assert_eq!(last.study().trials().len(), 14);
}

#[test]
fn what_may_not_change_is_another_study() {
    let first = run(spec(Policy::Median, 12), Memory::default()).unwrap();
    let seed = StudySpec { seed: 4, ..spec(Policy::Median, 12) };
    let metric = StudySpec { metric: "loss".to_owned(), ..spec(Policy::Median, 12) };
    let longer = StudySpec { max_resource: 12, ..spec(Policy::Median, 12) };
    for other in [seed, metric, longer] {
        let refused = run(other, store(&first)).err().expect("it is another study");
        assert!(matches!(refused, SessionError::Another { .. }), "{refused}");
    }
}

#[test]
fn records_that_follow_from_lost_ones_are_found_and_the_others_kept() {
    let session = run(spec(Policy::Median, 16), Memory::default()).unwrap();
    let whole = session.store().records();
    assert!(Study::check_records(whole).unwrap().iter().all(Option::is_none));
    // without a report all the others follow; without the first start nothing of its trial does
    let without = |place: usize| {
        let mut records = whole.to_vec();
        records.remove(place);
        let verdicts = Study::check_records(&records).unwrap();
        verdicts.into_iter().filter(Option::is_some).count()
    };
    assert!(matches!(whole[2], Record::Reported { .. }));
    assert_eq!(without(2), 0);
    assert!(without(1) > EPOCHS as usize);
    assert!(Study::check_records(&whole[1..]).is_err());
}

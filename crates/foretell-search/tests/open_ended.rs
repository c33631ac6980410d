//! Studies for which nobody gave R, the epochs of a complete trial: trials show it.

use foretell::Direction;
use foretell_search::{
    MemoryStore, ParameterSpace, Record, Session, Space, Store, Study, StudyParts, StudyRequest, StudySpec,
    TrainingEnd, TrialState,
};
use std::collections::BTreeMap;

fn request() -> StudyRequest {
    let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"]).unwrap());
    StudyRequest {
        space: Some(space),
        metric: Some("val_acc".to_owned()),
        trials: Some(12),
        seed: Some(3),
        ..StudyRequest::default()
    }
}

fn spec() -> StudySpec {
    request().resolve(None).unwrap()
}

/// The value of `trial` at `epoch`: even trials are good, odd ones bad.
fn value(trial: u64, epoch: u64) -> f64 {
    (0.9 - 0.5 * (trial % 2) as f64) * (1.0 - 0.6_f64.powi(epoch as i32))
}

/// Trains `trial`, which asks for it, for so many epochs, unless it is stopped; whether it was.
fn train<S: Store>(session: &mut Session<S>, trial: u64, steps: impl IntoIterator<Item = u64>) -> bool {
    for epoch in steps {
        if session.report(trial, epoch, value(trial, epoch), BTreeMap::new()).unwrap().stop {
            session.tell(trial, TrainingEnd::Finished).unwrap();
            return true;
        }
    }
    session.tell(trial, TrainingEnd::Finished).unwrap();
    false
}

/// The sentences since the last call.
fn take_sentences<S: Store>(session: &mut Session<S>) -> Vec<String> {
    session.take_notices().into_iter().map(|notice| notice.text).collect()
}

fn next<S: Store>(session: &mut Session<S>) -> u64 {
    session.ask().unwrap().expect("a trial").trial
}

#[test]
fn the_first_trial_shows_r_and_only_then_are_trials_stopped() {
    let mut session = Session::new(spec()).unwrap();
    assert_eq!(session.study().spec().resource(), None);
    let first = next(&mut session);
    assert!(!train(&mut session, first, 1..=20));
    assert_eq!(session.study().spec().resource(), Some(20));
    let said = take_sentences(&mut session);
    assert!(said.len() == 1 && said[0].contains("trial 0") && said[0].contains("20 epochs"), "{said:?}");
    let mut stopped = 0;
    while let Some(start) = session.ask().unwrap() {
        assert_eq!(start.until, 20);
        stopped += u64::from(train(&mut session, start.trial, 1..=20));
    }
    assert!(stopped > 0, "the bad trials are stopped");
}

#[test]
fn r_is_that_of_the_lowest_number_whichever_trial_ends_first() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut session = Session::new(spec()).unwrap();
        for _ in 0..3 {
            next(&mut session);
        }
        let lengths = [10, 8, 6];
        for (place, trial) in order.into_iter().enumerate() {
            train(&mut session, trial, 1..=lengths[trial as usize]);
            let known = order[..=place].contains(&0);
            assert_eq!(session.study().spec().resource(), known.then_some(10), "{order:?}");
        }
    }
}

#[test]
fn a_trial_that_fails_shows_nothing_and_the_next_one_does() {
    let mut session = Session::new(spec()).unwrap();
    let (first, second) = (next(&mut session), next(&mut session));
    train(&mut session, second, 1..=7);
    session.report(first, 1, 0.5, BTreeMap::new()).unwrap();
    session.tell(first, TrainingEnd::Failed("it broke".to_owned())).unwrap();
    assert_eq!(session.study().spec().resource(), Some(7));
}

#[test]
fn a_longer_trial_is_not_cut_and_raises_r() {
    let mut session = Session::new(spec()).unwrap();
    let first = next(&mut session);
    train(&mut session, first, 1..=10);
    let longer = next(&mut session);
    let other = next(&mut session);
    take_sentences(&mut session);
    // even numbers are good: it is not stopped
    assert_eq!((longer, other), (1, 2));
    assert!(!train(&mut session, other, 1..=25));
    assert_eq!(session.study().spec().resource(), Some(25));
    assert_eq!(session.study().trial(other).unwrap().curve.len(), 25);
    let said = take_sentences(&mut session);
    assert!(said.len() == 1 && said[0].contains("25 epochs") && said[0].contains("10 before"), "{said:?}");
    assert!(session.study().trials().iter().all(|trial| trial.until == 25));
}

#[test]
fn steps_that_count_from_0_are_epochs_unless_they_leave_some_out() {
    for (steps, expected) in
        [((0..10).collect::<Vec<u64>>(), 10), ((0..=10).map(|at| at * 100).collect(), 1000)]
    {
        let mut session = Session::new(spec()).unwrap();
        let first = next(&mut session);
        train(&mut session, first, steps);
        assert_eq!(session.study().spec().resource(), Some(expected));
        assert_eq!(session.study().trial(first).unwrap().trained_epochs(), expected);
    }
}

#[test]
fn an_objective_that_only_returns_a_value_is_a_search_without_curves() {
    let mut session = Session::new(spec()).unwrap();
    while let Some(start) = session.ask().unwrap() {
        assert!(!train(&mut session, start.trial, 1..=1));
    }
    assert!(session.is_done());
    assert_eq!(session.study().spec().resource(), Some(1));
    assert_eq!(session.study().progress().trials.completed, 12);
}

#[test]
fn a_log_gives_the_same_study_back_after_each_of_its_records() {
    let mut session = Session::new(spec()).unwrap();
    let mut workers: Vec<u64> = (0..3).map(|_| next(&mut session)).collect();
    for (turn, length) in [10, 10, 14, 9, 12, 14, 14, 14, 14, 14, 14, 14].into_iter().enumerate() {
        let trial = workers.remove(0);
        train(&mut session, trial, 1..=length);
        if turn < 9 {
            workers.push(next(&mut session));
        }
    }
    let records: Vec<Record> = session.store().read_from(0).unwrap().map(Result::unwrap).collect();
    let resources = records.iter().filter(|record| matches!(record, Record::Resource { .. })).count();
    assert!(resources >= 2, "R is found, and raised");
    for count in 1..=records.len() {
        let mut store = MemoryStore::default();
        for record in &records[..count] {
            // what is written can be read
            let text = serde_json::to_string(record).unwrap();
            let read: Record = serde_json::from_str(&text).unwrap();
            store.append(&read).unwrap();
        }
        let known = records[..count].iter().rev().find_map(|record| match record {
            Record::Resource { max_resource, .. } => Some(*max_resource),
            _ => None,
        });
        let there = StudySpec { max_resource: known.unwrap_or(spec().max_resource), ..spec() };
        let asked = request().resolve(Some(&there)).unwrap();
        let again = Session::open(asked, StudyParts::default(), store).unwrap();
        let known = again.study().spec().resource().or(known);
        assert_eq!(again.study().spec().resource(), known, "after {count} records");
    }
    let whole = Study::resume(session.study().spec().clone(), &records).unwrap();
    let states = |study: &Study| study.trials().iter().map(|trial| trial.state.clone()).collect::<Vec<_>>();
    assert_eq!(states(&whole), states(session.study()));
    assert_eq!(whole.learning_from(), session.study().learning_from());
    assert_eq!(whole.progress(), session.study().progress());
}

#[test]
fn an_end_without_its_record_of_r_is_made_up_for_when_the_study_is_opened() {
    let mut session = Session::new(spec()).unwrap();
    let first = next(&mut session);
    train(&mut session, first, 1..=10);
    let mut store = MemoryStore::default();
    let records = session.store().read_from(0).unwrap().map(Result::unwrap);
    for record in records.filter(|record| !matches!(record, Record::Resource { .. })) {
        store.append(&record).unwrap();
    }
    let again = Session::open(spec(), StudyParts::default(), store).unwrap();
    assert_eq!(again.study().spec().resource(), Some(10));
}

#[test]
fn rungs_need_r() {
    for scheduler in ["asha", "hyperband", "f-hyperband", "successive-halving"] {
        let mut fields = request().fields();
        fields.insert("scheduler".to_owned(), scheduler.into());
        fields.remove("trials");
        let refusal = StudyRequest::from_fields(&fields).unwrap().resolve(None).unwrap_err();
        assert_eq!(refusal.field, "epochs", "{scheduler}: {refusal}");
        assert!(refusal.to_string().contains("rungs"), "{refusal}");
    }
}

#[test]
fn somebody_may_give_r_later_but_not_a_smaller_one() {
    let there = StudySpec { max_resource: 20, ..spec() };
    let asked = |epochs| StudyRequest { epochs: Some(epochs), ..request() };
    let given = asked(30).resolve(Some(&there)).unwrap();
    assert_eq!((given.resource(), given.is_open_ended), (Some(30), false));
    assert_eq!(asked(10).resolve(Some(&there)).unwrap_err().field, "epochs");
    assert!(asked(10).resolve(Some(&spec())).is_ok(), "nothing is known yet");
}

#[test]
fn a_first_report_beyond_r_is_in_another_unit_and_all_its_values_are_kept() {
    let given = StudySpec { max_resource: 20, is_open_ended: false, ..spec() };
    let mut session = Session::new(given).unwrap();
    while let Some(start) = session.ask().unwrap() {
        assert!(!train(&mut session, start.trial, (1..=20).map(|epoch| epoch * 1000)));
    }
    let said = take_sentences(&mut session);
    assert!(
        said.len() == 1 && said[0].contains("step 1000") && said[0].contains("`epochs` is 20"),
        "{said:?}"
    );
    let trials = session.study().trials();
    assert!(trials.iter().all(|trial| matches!(trial.state, TrialState::Completed { .. })));
    assert!(trials.iter().all(|trial| trial.curve.len() == 20));
    let records: Vec<Record> = session.store().read_from(0).unwrap().map(Result::unwrap).collect();
    let again = Study::resume(session.study().spec().clone(), &records).unwrap();
    assert_eq!(again.progress(), session.study().progress());
}

#[test]
fn a_trial_that_goes_on_beyond_r_is_ended_there_with_a_word_before_the_second_is_judged() {
    let given = StudySpec { max_resource: 8, is_open_ended: false, ..spec() };
    let mut session = Session::new(given).unwrap();
    let first = next(&mut session);
    assert!(train(&mut session, first, 1..=20));
    let said = take_sentences(&mut session);
    assert!(said.len() == 1 && said[0].contains("step 9") && said[0].contains("`epochs` is 8"), "{said:?}");
    assert_eq!(session.study().trial(first).unwrap().state, TrialState::Completed { value: value(0, 8) });
}

#[test]
fn a_first_trial_that_is_far_too_short_is_named_at_once() {
    let given = StudySpec { max_resource: 1000, is_open_ended: false, ..spec() };
    let mut session = Session::new(given).unwrap();
    let first = next(&mut session);
    assert!(!train(&mut session, first, 1..=20));
    let said = take_sentences(&mut session);
    assert!(
        said.len() == 1 && said[0].contains("step 20") && said[0].contains("`epochs` is 1000"),
        "{said:?}"
    );
}

#[test]
fn lessons_count_as_soon_as_r_is_known() {
    let mut teacher = Session::new(spec()).unwrap();
    while let Some(start) = teacher.ask().unwrap() {
        train(&mut teacher, start.trial, 1..=20);
    }
    let runs: Vec<foretell::Run> = (0..)
        .zip(teacher.study().trials())
        .map(|(number, trial): (u64, _)| foretell::Run {
            id: number.to_string(),
            configuration: trial.configuration.clone(),
            curve: trial.curve.clone(),
        })
        .collect();
    let mut session = Session::new(spec()).unwrap();
    session.warm_start(&runs).unwrap();
    assert!(session.study().lessons().is_empty(), "without R nothing is learned");
    let first = next(&mut session);
    train(&mut session, first, 1..=20);
    let lessons: usize = session.study().lessons().iter().map(|lesson| lesson.trials).sum();
    assert_eq!(lessons, runs.len());
    assert_eq!(session.study().spec().direction, Direction::Maximize);
}

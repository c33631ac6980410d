//! The orders of a person about running trials.

mod common;

use common::accuracy;
use foretell::Direction;
use foretell_search::{
    ForecastRule, Kappa, ManualOrder, MemoryStore, ParameterSpace, Reason, Record, Reference, Schedule,
    Session, Space, Study, StudyParts, StudySpec, StudySummary, TrainingEnd, TrainingStart, TrialState, plan,
};

const EPOCHS: u64 = 9;

fn spec() -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"]).expect("a space"));
    let usual = StudySpec::new(space, "val_acc", Direction::Maximize);
    StudySpec { max_resource: EPOCHS, trials: 30, burn_in: 6, policy: ForecastRule.into(), seed: 3, ..usual }
}

/// Trains `start` to its end, or until it is stopped; `order` is given after its first report.
fn train(session: &mut Session, start: &TrainingStart, order: Option<ManualOrder>) {
    for step in start.from + 1..=start.until {
        let value = accuracy(&start.configuration, step);
        let answer = session.report(start.trial, step, value, Default::default()).expect("it is stored");
        let ordered = order.filter(|_| step == start.from + 1);
        let ordered =
            ordered.map(|order| session.by_hand(start.trial, order).expect("it is stored").expect("it runs"));
        if answer.stop || ordered.is_some_and(|answer| answer.stop) {
            break;
        }
    }
    session.tell(start.trial, TrainingEnd::Finished).expect("it is stored");
}

/// The study with what is ordered about each trial.
fn run(spec: StudySpec, order: impl Fn(u64) -> Option<ManualOrder>) -> Session {
    let mut session = Session::new(spec).expect("a session");
    while let Some(start) = session.ask().expect("it is stored") {
        train(&mut session, &start, order(start.trial));
    }
    let records = session.store().records();
    let folded = Study::resume(session.study().spec().clone(), records).expect("the log is sound");
    assert_eq!(StudySummary::new(&folded), StudySummary::new(session.study()));
    session
}

fn stopped_by_policy(session: &Session) -> Vec<u64> {
    let summary = StudySummary::new(session.study());
    summary
        .stopped
        .iter()
        .filter(|stopped| stopped.reason != Reason::ByHand)
        .map(|stopped| stopped.trial)
        .collect()
}

#[test]
fn a_stopped_trial_is_recorded_as_such_and_is_no_saving() {
    let session = run(StudySpec { policy: foretell_search::StopPolicy::none(), ..spec() }, |trial| {
        (trial == 2).then_some(ManualOrder::Stop)
    });
    let study = session.study();
    let trial = &study.trials()[2];
    assert!(
        matches!(trial.state, TrialState::Stopped { step: 1, reason: Reason::ByHand, .. }),
        "{:?}",
        trial.state
    );
    assert_eq!(trial.result(), Some(accuracy(&trial.configuration, 1)));
    let epochs = StudySummary::new(study).epochs;
    assert_eq!((epochs.spent, epochs.without_stopping), (29 * EPOCHS + 1, 29 * EPOCHS + 1));
    let text = serde_json::to_string(session.store().records()).expect("records are JSON");
    assert!(text.contains(r#""action":"stop","reason":"by_hand""#), "{text}");
}

#[test]
fn a_kept_trial_is_not_stopped_by_the_policy() {
    let usual = stopped_by_policy(&run(spec(), |_| None));
    assert!(usual.len() > 3, "{usual:?}");
    let kept = usual[0];
    let session = run(spec(), |trial| (trial == kept).then_some(ManualOrder::Keep));
    assert!(!stopped_by_policy(&session).contains(&kept));
    assert!(matches!(session.study().trials()[kept as usize].state, TrialState::Completed { .. }));
    let is_kept = |record: &&Record| matches!(record, Record::Decided(decision) if decision.trial == kept && decision.reason == Reason::Kept);
    assert!(
        session.store().records().iter().filter(is_kept).count() > 1,
        "what would have stopped it is recorded, too"
    );
}

#[test]
fn what_does_not_run_takes_no_orders_and_twice_is_once() {
    let mut session = Session::new(spec()).expect("a session");
    let start = session.ask().expect("it is stored").expect("a trial");
    assert_eq!(session.by_hand(7, ManualOrder::Stop).expect("nothing is stored"), None);
    session.by_hand(start.trial, ManualOrder::Keep).expect("it is stored").expect("it runs");
    let records = session.store().records().len();
    session.by_hand(start.trial, ManualOrder::Keep).expect("it is stored").expect("it runs");
    assert_eq!(session.store().records().len(), records);
    // stopped before it has reported anything
    assert!(session.by_hand(start.trial, ManualOrder::Stop).expect("it is stored").expect("it runs").stop);
    session.tell(start.trial, TrainingEnd::Finished).expect("it is stored");
    assert_eq!(session.by_hand(start.trial, ManualOrder::Keep).expect("nothing is stored"), None);
    assert_eq!(session.store().records().len(), records + 1);
    Study::resume(spec(), session.store().records()).expect("the log is sound");
}

#[test]
fn a_trial_stopped_by_hand_is_never_promoted() {
    let (kappa, reference) = (Kappa::default(), Reference::Level);
    let schedules =
        [Schedule::Hyperband { eta: 3, runs: 1, kappa, reference }, Schedule::Asha { eta: 3, rungs: None }];
    for schedule in schedules {
        let trials = plan(EPOCHS, 3).expect("a plan").totals().configurations;
        let rungs =
            StudySpec { schedule, trials, burn_in: 3, policy: foretell_search::StopPolicy::none(), ..spec() };
        let best = run(rungs.clone(), |_| None).best().expect("there is a best").trial;
        let session = run(rungs, |trial| (trial == best).then_some(ManualOrder::Stop));
        let starts = |record: &&Record| matches!(record, Record::Started { trial, .. } if *trial == best);
        assert_eq!(session.store().records().iter().filter(starts).count(), 1);
        assert!(session.study().is_done(), "the others are promoted in its place");
    }
}

#[test]
fn orders_about_trials_that_await_a_model_and_interrupted_ones() {
    for order in [ManualOrder::Stop, ManualOrder::Keep] {
        let mut session = Session::new(spec()).expect("a session");
        session.defer_fits();
        for _ in 0..6 {
            let start = session.ask().expect("it is stored").expect("a trial");
            train(&mut session, &start, None);
        }
        let start = session.ask().expect("it is stored").expect("a trial");
        let report = |session: &mut Session, step| {
            session.report(start.trial, step, 0.1, Default::default()).expect("it is stored").stop
        };
        for step in 1..=3 {
            assert!(!report(&mut session, step), "the decision awaits a model");
        }
        let answer = session.by_hand(start.trial, order).expect("it is stored").expect("it runs");
        assert_eq!(answer.stop, order == ManualOrder::Stop);
        if order == ManualOrder::Stop {
            assert!(report(&mut session, 4));
        } else {
            // reports that came while a decision was awaited are not lost
            while let Some(fit) = session.next_fit() {
                session.accept_fit(fit.run()).expect("it is stored");
            }
            assert_eq!(session.study().trials()[6].curve.len(), 3);
        }
        session.tell(start.trial, TrainingEnd::Finished).expect("it is stored");
        while let Some(fit) = session.next_fit() {
            session.accept_fit(fit.run()).expect("it is stored");
        }
        assert_eq!(session.busy(), 0);
    }
    let mut session = Session::new(spec()).expect("a session");
    let start = session.ask().expect("it is stored").expect("a trial");
    let store = MemoryStore::from(session.store().records().to_vec());
    let mut again = Session::open(spec(), StudyParts::default(), store).expect("a session");
    assert!(again.by_hand(start.trial, ManualOrder::Stop).expect("it is stored").expect("it goes on").stop);
    assert_ne!(again.ask().expect("it is stored").map(|start| start.trial), Some(start.trial));
}

#[test]
fn a_training_that_goes_on_elsewhere_is_taken_up() {
    let mut session = Session::new(spec()).expect("a session");
    let start = session.ask().expect("it is stored").expect("a trial");
    session.report(start.trial, 1, 0.2, Default::default()).expect("it is stored");
    let store = MemoryStore::from(session.store().records().to_vec());
    let mut again = Session::open(spec(), StudyParts::default(), store).expect("a session");
    let taken = again.take_up(start.trial).expect("it is stored").expect("it was interrupted");
    assert_eq!((taken.trial, taken.from, taken.seed), (start.trial, 1, start.seed));
    assert_eq!(again.take_up(start.trial).expect("nothing is stored"), None);
    assert_eq!(again.running().collect::<Vec<_>>(), [start.trial]);
    assert_eq!(
        again.ask().expect("it is stored").map(|start| start.trial),
        Some(1),
        "it is not given out again"
    );
    let answer = again.report(start.trial, 2, 0.3, Default::default()).expect("it is stored");
    assert!(!answer.stop);
    assert_eq!(again.study().trials()[0].step, 2);
}

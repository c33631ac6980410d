//! The orders of a person while a driver runs: recorded by the driver, carried out, and done once.

mod simulated;

use std::sync::atomic::{AtomicBool, Ordering};

use foretell::Direction;
use foretell_run::{Driver, DriverEvent, EventStore, Orders, RunOutcome};
use foretell_search::{
    ManualOrder, ParameterSpace, Reason, Record, Session, Space, StopPolicy, StudyParts, StudySpec,
    TrialState,
};
use simulated::Simulated;

const EPOCHS: u64 = 6;

#[test]
fn the_driver_records_orders_and_carries_them_out_also_those_given_while_it_was_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let space = Space::Parameters(ParameterSpace::parse(&["x=float:0:1"]).expect("a space"));
    let usual = StudySpec::new(space, "val_acc", Direction::Maximize);
    let spec = StudySpec { max_resource: EPOCHS, trials: 6, burn_in: 4, policy: StopPolicy::none(), ..usual };
    let orders = Orders::for_study(folder.path());
    let open = || {
        let (store, _) = EventStore::open(folder.path().join("events.jsonl")).expect("a log");
        let session = Session::open(spec.clone(), StudyParts::default(), store).expect("a study");
        Driver::new(session, Simulated::new(|_, _| 0.5), 2, "").with_orders(orders.clone())
    };
    let cancel = AtomicBool::new(false);
    let ran = open().run(&cancel, &mut |_, event| {
        if let DriverEvent::Report { trial, reading } = event {
            match (trial, reading.step) {
                (0, 2) => orders.write_order(0, ManualOrder::Stop).expect("it is ordered"),
                (1, 2) => orders.write_order(1, ManualOrder::Keep).expect("it is ordered"),
                (2, 2) => cancel.store(true, Ordering::SeqCst),
                _ => {}
            }
        }
        Ok(())
    });
    assert_eq!(ran.expect("it runs"), RunOutcome::Canceled);
    // nobody drives it now; trial 5 has not begun
    for trial in [2, 5] {
        orders.write_order(trial, ManualOrder::Stop).expect("it is ordered");
    }
    let mut driver = open();
    let ran = driver.run(&AtomicBool::new(false), &mut |_, _| Ok(())).expect("it runs");
    assert_eq!((ran, orders.waiting_orders()), (RunOutcome::Done, Vec::new()));
    let trials = driver.session().study().trials();
    for (number, trial) in trials.iter().enumerate() {
        let stopped = matches!(trial.state, TrialState::Stopped { reason: Reason::ByHand, .. });
        assert_eq!(stopped, [0, 2].contains(&number), "trial {number}: {:?}", trial.state);
    }
    assert!(trials[0].step < 4 && trials[2].step < 4 && trials[1].kept);
    let (records, _) = foretell_run::read_log::<Record>(folder.path().join("events.jsonl")).expect("a log");
    let by_hand = records.iter().filter(|record| matches!(record, Record::Decided(_))).count();
    assert_eq!(by_hand, 3);
}

//! The driver: studies over local processes and over simulated ones, several in one process, with models fitted aside.

mod simulated;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foretell::{Action, Direction, FitError, Forecast, Model, Predictor, RunQuery, TrainingSet};
use foretell_run::{
    Driver, DriverError, DriverEvent, EventStore, Executor, LocalTrials, MetricSource, RunOutcome, TrialSetup,
};
use foretell_search::{
    Decision, MemoryStore, ParameterSpace, Reason, Record, Session, Space, Store, StudyParts, StudySpec,
    StudySummary,
};
use simulated::Simulated;

const EPOCHS: u64 = 6;

fn spec(seed: u64) -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(&["x=float:0:1"]).expect("a space"));
    let usual = StudySpec::new(space, "val_acc", Direction::Maximize);
    let criterion = foretell::StopCriterion { stop_probability: 0.9, ..usual.criterion };
    let predictor = "last-value".to_owned();
    StudySpec { max_resource: EPOCHS, trials: 12, burn_in: 4, predictor, criterion, seed, ..usual }
}

/// Trainings that report `x` plus a hundredth per epoch.
fn rising() -> Simulated {
    Simulated::new(|start, step| {
        start.configuration["x"].as_number().unwrap_or(f64::NAN) + 0.01 * step as f64
    })
}

fn run<E: Executor, S: Store>(driver: &mut Driver<E, S>) -> Result<RunOutcome, DriverError> {
    driver.run(&AtomicBool::new(false), &mut |_, _| Ok(()))
}

#[test]
fn a_simulated_study_runs_to_its_end_and_only_the_best_keeps_its_checkpoints() {
    let executor = rising();
    let discarded = Arc::clone(&executor.discarded);
    let session = Session::new(spec(1)).expect("a study");
    let mut driver = Driver::new(session, executor, 3, "");
    assert_eq!(run(&mut driver).expect("it runs"), RunOutcome::Done);
    let session = driver.session();
    let trials = session.study().progress().trials;
    assert!(trials.total == 12 && trials.stopped > 2, "{trials:?}");
    let mut discarded = discarded.lock().expect("nobody panics").clone();
    discarded.sort_unstable();
    discarded.dedup();
    let best = session.best().expect("there is one").trial;
    assert_eq!(discarded, (0..12).filter(|&trial| trial != best).collect::<Vec<_>>());
}

/// The records of a store, without what depends on how quickly a model is fitted or on where a study was canceled: the
/// reports that a trial made before it heard of its stop, and its later starts.
fn what_counts(store: &dyn Store) -> Vec<Record> {
    let (mut started, mut stopped) = (BTreeSet::new(), BTreeSet::new());
    let mut counts = |record: &Record| match record {
        Record::Started { trial, .. } => started.insert(*trial),
        Record::Reported { trial, .. } => !stopped.contains(trial),
        Record::Decided(Decision { trial, action: Action::Stop, .. }) => stopped.insert(*trial),
        _ => true,
    };
    let records = store.read_from(0).expect("records").map(|record| record.expect("a record"));
    records.filter(|record| counts(record)).collect()
}

#[test]
fn the_event_log_and_memory_keep_the_same_records_and_a_canceled_study_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("events.jsonl");
    let mut whole = Driver::new(Session::new(spec(2)).expect("a study"), rising(), 1, "");
    assert_eq!(run(&mut whole).expect("it runs"), RunOutcome::Done);
    let open = || {
        let (store, survey) = EventStore::open(&log).expect("a log");
        assert!(survey.dropped.is_none());
        let session = Session::open(spec(2), StudyParts::default(), store).expect("a study");
        Driver::new(session, rising(), 1, "")
    };
    let (cancel, mut seen) = (AtomicBool::new(false), 0);
    let canceled = open().run(&cancel, &mut |_, event| {
        seen += usize::from(matches!(event, DriverEvent::Recorded(_)));
        cancel.store(seen > 40, Ordering::SeqCst);
        Ok(())
    });
    assert_eq!(canceled.expect("it runs"), RunOutcome::Canceled);
    let mut rest = open();
    assert_eq!(run(&mut rest).expect("it runs"), RunOutcome::Done);
    assert_eq!(what_counts(rest.session().store()), what_counts(whole.session().store()));
}

/// The study of a script, in `folder`.
fn local(folder: &Path, seed: u64) -> Driver<LocalTrials, EventStore> {
    let script = r#"for i in 1 2 3 4 5 6; do echo "{{\"foretell\":{{\"step\":$i,\"val_acc\":{x}}}}}"; done"#;
    let setup = TrialSetup {
        directory: folder.to_owned(),
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        metric: MetricSource::default(),
        max_resource: EPOCHS,
        environment: BTreeMap::new(),
        space: None,
        watch: foretell_run::WatchSettings::default(),
        config: None,
        working_dir: None,
        gpus: Vec::new(),
        unplaced: Vec::new(),
    };
    let (store, _) = EventStore::open(folder.join("events.jsonl")).expect("a log");
    let session = Session::open(spec(seed), StudyParts::default(), store).expect("a study");
    Driver::new(session, LocalTrials::new(setup, Duration::from_secs(1)), 2, "print a report")
}

#[test]
fn two_studies_run_in_one_process_at_once() {
    let folders = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    std::thread::scope(|scope| {
        for (seed, folder) in folders.iter().enumerate() {
            scope.spawn(move || {
                let mut driver = local(folder.path(), seed as u64);
                assert_eq!(run(&mut driver).expect("it runs"), RunOutcome::Done);
                let summary = StudySummary::new(driver.session().study());
                assert_eq!((summary.trials.total, summary.trials.failed), (12, 0));
                assert!(summary.best.is_some());
            });
        }
    });
}

#[test]
fn a_study_that_never_gets_going_says_why_and_marks_its_trial_as_failed() {
    let executor = Simulated { fails: true, ..rising() };
    let mut driver = Driver::new(Session::new(spec(3)).expect("a study"), executor, 1, "");
    let error = run(&mut driver).expect_err("nothing starts");
    assert_eq!(error.to_string(), "no such program");
    let last = driver.session().store().records().last();
    assert!(matches!(last, Some(Record::Failed { reason, .. }) if reason == "no such program"), "{last:?}");
    let mut driver = Driver::new(Session::new(spec(3)).expect("a study"), rising(), 1, "");
    let refuse = |event: &DriverEvent<'_>| match event {
        DriverEvent::Report { .. } => Err("in another unit".to_owned()),
        _ => Ok(()),
    };
    let refused = driver.run(&AtomicBool::new(false), &mut |_, event| refuse(&event));
    assert!(matches!(refused, Err(DriverError::ObserverRefused(why)) if why == "in another unit"));
    assert!(!driver.session().study().progress().has_reports, "what is refused is not recorded");
}

/// A predictor whose first fit waits until it is let go.
struct Slow {
    go: Arc<AtomicBool>,
}

impl Predictor for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn fit(&self, _: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        while !self.go.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Box::new(Half))
    }
}

struct Half;

impl Model for Half {
    fn forecast(&self, _: &RunQuery<'_>) -> Forecast {
        Forecast::gaussian(0.5, 0.1)
    }

    fn held_out(&self) -> &[Forecast] {
        &[]
    }
}

#[test]
fn reports_of_other_trials_are_recorded_while_a_model_is_fitted() {
    let go = Arc::new(AtomicBool::new(false));
    let parts =
        StudyParts { predictor: Some(Arc::new(Slow { go: Arc::clone(&go) })), ..StudyParts::default() };
    let spec = StudySpec { shadow: true, ..spec(4) };
    let session = Session::open(spec, parts, MemoryStore::default()).expect("a study");
    let mut driver = Driver::new(session, rising(), 4, "");
    let (mut awaited, mut meanwhile) = (None, 0);
    let ran = driver.run(&AtomicBool::new(false), &mut |study, event| {
        let DriverEvent::Recorded(Record::Reported { trial, .. }) = event else { return Ok(()) };
        if study.needs_fit(*trial) && awaited.is_none() {
            awaited = Some(*trial);
        } else if awaited.is_some_and(|awaited| awaited != *trial) && !go.load(Ordering::SeqCst) {
            meanwhile += 1;
            go.store(meanwhile >= 2, Ordering::SeqCst); // were reports held up, the fit would never end
        }
        Ok(())
    });
    assert_eq!(ran.expect("it runs"), RunOutcome::Done);
    let records = driver.session().store().records();
    let reason = |record: &Record| match record {
        Record::Decided(decision) => Some(decision.reason.clone()),
        _ => None,
    };
    assert!(records.iter().filter_map(reason).any(|reason| reason == Reason::WillNotWin));
}

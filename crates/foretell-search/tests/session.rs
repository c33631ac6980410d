//! Sessions: the four verbs, stores that fail, models fitted elsewhere, and parts that the caller brings.

mod common;

use common::accuracy;
use foretell::{
    Configuration, Direction, FitError, Forecast, Model, Predictor, RunQuery, RunScore, TrainingSet, Value,
};
use foretell_search::{
    ForecastRule, JobEnd, Kappa, MemoryStore, NextAction, ParameterSpace, Record, RecordIterator, Reference,
    Sampler, Schedule, Scheduler, Session, SessionError, Space, StopPolicy, Store, StoreError, Study,
    StudyError, StudyParts, StudySpec, StudySummary, TrainingAnswer, TrainingEnd, TrainingJob, TrainingStart,
    TrialState, Worth, plan,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const EPOCHS: u64 = 9;

fn spec() -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"]).unwrap());
    let usual = StudySpec::new(space, "val_acc", Direction::Maximize);
    let criterion = foretell::StopCriterion { stop_probability: 0.9, ..usual.criterion };
    let predictor = "svr-rbf".to_owned();
    let policy = ForecastRule.into();
    StudySpec { max_resource: EPOCHS, trials: 24, burn_in: 8, policy, predictor, criterion, seed: 3, ..usual }
}

/// One check suffices.
fn at_once() -> foretell::StopCriterion {
    foretell::StopCriterion { agreeing_checks: 1, ..spec().criterion }
}

fn in_rungs() -> StudySpec {
    let kappa = Kappa::default();
    let schedule = Schedule::Hyperband { eta: 3, runs: 3, kappa, reference: Reference::Level };
    let trials = 3 * plan(EPOCHS, 3).unwrap().totals().configurations;
    StudySpec { schedule, trials, burn_in: 4, criterion: at_once(), ..spec() }
}

fn asha() -> StudySpec {
    StudySpec { schedule: Schedule::Asha { eta: 3, rungs: None }, burn_in: 4, criterion: at_once(), ..spec() }
}

/// A study that was trained to its end with one worker; `see` looks at it after each report that stops nothing.
fn train_with_one_worker(spec: StudySpec, see: impl Fn(&Session)) -> Session {
    let mut session = Session::new(spec).unwrap();
    while let Some(start) = session.ask().unwrap() {
        for step in start.from + 1..=start.until {
            let value = reported_value(session.study().spec(), &start.configuration, step);
            if session.report(start.trial, step, value, BTreeMap::new()).unwrap().stop {
                break;
            }
            see(&session);
        }
        session.tell(start.trial, TrainingEnd::Finished).unwrap();
    }
    session
}

/// A store that refuses one append, the one of that number, once.
struct Failing {
    memory: MemoryStore,
    appends: usize,
    refused: usize,
}

impl Store for Failing {
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        self.appends += 1;
        if self.appends - 1 == self.refused {
            return Err(StoreError::new("the disk is full"));
        }
        self.memory.append(record)
    }

    fn read_from(&self, first: u64) -> Result<RecordIterator<'_>, StoreError> {
        self.memory.read_from(first)
    }
}

/// All that a study remembers, with interrupted trials as running ones.
fn study_state(study: &Study) -> String {
    let trials = study.trials().iter().cloned().map(|mut trial| {
        if trial.state == TrialState::Interrupted {
            trial.state = TrialState::Running;
        }
        trial
    });
    let trials: Vec<_> = trials.collect();
    let (progress, levels) = (study.progress(), study.learning_from());
    format!("{trials:?} {progress:?} {levels:?} {:?} {:?}", StudySummary::new(study), study.best())
}

/// Calls `call` again after it failed, and checks the study against a fold of what its store holds.
fn again<T>(
    session: &mut Session<Failing>,
    call: impl Fn(&mut Session<Failing>) -> Result<T, StoreError>,
) -> T {
    call(session).unwrap_or_else(|_| {
        let folded = Study::resume(session.study().spec().clone(), session.store().memory.records());
        assert_eq!(study_state(&folded.unwrap()), study_state(session.study()));
        call(session).expect("it fails once")
    })
}

/// Losses that are above 0 at first, as are those of most trials; the best come to exactly 0.
fn losses() -> StudySpec {
    let metric = "val_loss".to_owned();
    StudySpec {
        metric,
        direction: Direction::Minimize,
        policy: StopPolicy::from(ForecastRule),
        burn_in: 3,
        ..spec()
    }
}

/// The report of a trial with this configuration.
fn reported_value(spec: &StudySpec, configuration: &Configuration, step: u64) -> f64 {
    let accuracy = accuracy(configuration, step);
    if spec.direction == Direction::Minimize { (0.75 - accuracy).max(0.0) } else { accuracy }
}

#[test]
fn a_loss_without_a_logarithm_is_forecast_on_another_scale() {
    let losses = StudySpec { predictor: "last-value".to_owned(), ..losses() };
    let mut session = Session::open(losses, StudyParts::default(), MemoryStore::default()).unwrap();
    for trial in 0..4 {
        let start = session.ask().unwrap().unwrap();
        for step in 1..=EPOCHS {
            let loss = 2.0 + trial as f64 * 0.1 - 0.1 * step as f64;
            session.report(start.trial, step, loss, BTreeMap::new()).unwrap();
        }
        session.tell(start.trial, TrainingEnd::Finished).unwrap();
    }
    let start = session.ask().unwrap().unwrap();
    for (step, loss) in [(1, 1.5), (2, -0.5), (3, 0.0)] {
        let decision = session.report(start.trial, step, loss, BTreeMap::new()).unwrap().decision.unwrap();
        let forecast = decision.forecast.expect("a forecast");
        assert!((forecast.mean - loss).abs() < 1e-9 && forecast.sd > 0.0, "{decision:?}");
    }
}

#[test]
fn no_forecast_is_certain_where_a_trial_gets_worse_than_all_completed_ones() {
    let mut session = Session::open(losses(), StudyParts::default(), MemoryStore::default()).unwrap();
    let mut means = Vec::new();
    for trial in 0..8 {
        let start = session.ask().unwrap().unwrap();
        for step in 1..=EPOCHS {
            // each rises more than the one before
            let loss = 0.7 + 0.01 * ((7 * trial + 3 * step) % 5) as f64 + 0.1 * (trial * step) as f64;
            let answer = session.report(start.trial, step, loss, BTreeMap::new()).unwrap();
            if let Some(forecast) = answer.decision.and_then(|decision| decision.forecast) {
                assert!(forecast.sd > 0.0, "trial {trial} at {step}: {forecast:?}");
                means.push(forecast.mean.to_bits());
            }
        }
        session.tell(start.trial, TrainingEnd::Finished).unwrap();
    }
    let all = means.len();
    means.sort_unstable();
    means.dedup();
    assert!(all > 3 && means.len() == all, "{} of {all} forecasts differ", means.len());
}

#[test]
fn a_metric_that_is_the_same_in_every_report_stops_no_trial_until_one_differs() {
    let spec = StudySpec {
        policy: StopPolicy::from(ForecastRule),
        burn_in: 3,
        predictor: "last-value".to_owned(),
        ..spec()
    };
    let mut session = Session::open(spec, StudyParts::default(), MemoryStore::default()).unwrap();
    for _ in 0..3 {
        let start = session.ask().unwrap().unwrap();
        for step in 1..=EPOCHS {
            session.report(start.trial, step, 0.5, BTreeMap::new()).unwrap();
        }
        session.tell(start.trial, TrainingEnd::Finished).unwrap();
    }
    assert_eq!(session.study().constant(), Some(0.5));
    let start = session.ask().unwrap().unwrap();
    let decision = session.report(start.trial, 1, 0.5, BTreeMap::new()).unwrap().decision.unwrap();
    assert!(decision.reason.to_string().contains("the same value"), "{decision:?}");
    session.report(start.trial, 2, 0.25, BTreeMap::new()).unwrap();
    assert_eq!(session.study().constant(), None);
}

/// One training of the lone worker.
fn train(session: &mut Session<Failing>, start: &TrainingStart) {
    for step in start.from + 1..=start.until {
        let value = accuracy(&start.configuration, step);
        let report = |session: &mut Session<Failing>| {
            session.report(start.trial, step, value, BTreeMap::from([("loss".to_owned(), 1.0 - value)]))
        };
        if again(session, report).stop {
            break;
        }
    }
    again(session, |session| session.tell(start.trial, TrainingEnd::Finished));
}

fn driven(spec: &StudySpec, refused: usize) -> Result<Vec<Record>, SessionError> {
    let store = Failing { memory: MemoryStore::default(), appends: 0, refused };
    let mut session = Session::open(spec.clone(), StudyParts::default(), store)?;
    while let Some(start) = again(&mut session, Session::ask) {
        train(&mut session, &start);
    }
    assert!(session.is_done());
    Ok(session.store().memory.records().to_vec())
}

#[test]
fn a_store_that_fails_at_any_record_leaves_memory_equal_to_the_log_and_loses_nothing() {
    for spec in [spec(), in_rungs(), asha()] {
        let calm = driven(&spec, usize::MAX).unwrap();
        assert!(calm.len() > 150, "{}", calm.len());
        assert!(matches!(driven(&spec, 0), Err(SessionError::Store(_))), "there is no study yet");
        for refused in 1..calm.len() {
            assert!(driven(&spec, refused).unwrap() == calm, "record {refused} was refused");
        }
    }
}

/// A training of a simulated worker.
struct Training {
    start: TrainingStart,
    step: u64,
    stops: bool,
}

/// Runs a study with simulated workers that advance one epoch in turn, its models fitted `delay` epochs late.
fn run_with_late_fits(spec: &StudySpec, workers: usize, delay: usize) -> (Vec<Record>, usize) {
    let mut session = Session::new(spec.clone()).unwrap();
    session.defer_fits();
    let (mut running, mut fits, mut turns, mut held): (Vec<Training>, Vec<_>, _, _) = (vec![], vec![], 0, 0);
    loop {
        while session.busy() < workers {
            let busy = session.busy();
            match session.ask().unwrap() {
                Some(start) => running.push(Training { step: start.from, start, stops: false }),
                None if session.busy() > busy => {}
                None => break,
            }
        }
        if session.busy() == 0 {
            assert!(session.is_done());
            return (session.store().records().to_vec(), held);
        }
        fits.extend(session.next_fit().map(|fit| (turns + delay, fit)));
        if let Some((due, fit)) = fits.pop() {
            if due > turns {
                fits.push((due, fit));
            } else {
                for answer in session.accept_fit(fit.run()).unwrap() {
                    let its = running.iter_mut().filter(|training| training.start.trial == answer.trial);
                    its.for_each(|training| training.stops |= answer.stop);
                }
            }
        }
        turns += 1;
        assert!(turns < 10_000, "the study does not end");
        for place in (0..running.len()).rev() {
            let Training { start, step, stops } = &mut running[place];
            if *stops || *step == start.until {
                session.tell(start.trial, TrainingEnd::Finished).unwrap();
                running.remove(place);
                continue;
            }
            *step += 1;
            let value = reported_value(spec, &start.configuration, *step);
            let answer = session.report(start.trial, *step, value, BTreeMap::new()).unwrap();
            *stops = answer.stop;
            held += usize::from(session.news().is_empty());
        }
    }
}

/// All records but those of epochs that were trained while a decision to stop was on its way.
fn records_before_stops(records: &[Record]) -> Vec<Record> {
    let mut ended = std::collections::BTreeSet::new();
    let counts = |record: &&Record| {
        match record {
            Record::Started { trial, .. } => drop(ended.remove(trial)),
            Record::Reported { trial, .. } => return !ended.contains(trial),
            _ => ended.extend(record.ended_trial()),
        }
        true
    };
    records.iter().filter(counts).cloned().collect()
}

#[test]
fn with_one_worker_models_fitted_elsewhere_change_no_record_but_of_epochs_trained_meanwhile() {
    let mut stopped = 0;
    for spec in [spec(), in_rungs(), asha(), losses()] {
        let session = train_with_one_worker(spec.clone(), |_| ());
        stopped += session.study().progress().trials.stopped;
        for delay in [0, 2] {
            let (records, _) = run_with_late_fits(&spec, 1, delay);
            assert!(records_before_stops(&records) == session.store().records(), "{delay} epochs late");
        }
    }
    assert!(stopped > 3, "{stopped}");
}

#[test]
fn other_trials_report_while_a_model_is_fitted() {
    for spec in [spec(), in_rungs(), asha()] {
        let (records, held) = run_with_late_fits(&spec, 4, 3);
        assert!(held > 0, "some reports waited");
        let mut others = 0;
        let mut awaited = None;
        for record in &records {
            match record {
                Record::Reported { trial, .. } if awaited.is_some_and(|awaited| awaited != *trial) => {
                    others += 1
                }
                Record::Reported { trial, .. } => awaited = Some(*trial),
                Record::Decided(decision) if awaited == Some(decision.trial) => awaited = None,
                _ => {}
            }
        }
        assert!(others > 3, "{others} reports came between another's report and its decision");
        let study = Study::resume(spec, &records).unwrap();
        assert!(study.is_done(), "{:?}", study.progress());
    }
}

#[test]
fn a_promoted_trial_starts_again_after_its_stopped_training_has_ended() {
    // forecasts of stopped trials count in their rung: one of them may be promoted while its process still ends
    let mut session = Session::new(in_rungs()).unwrap();
    let (mut running, mut ending) = (BTreeMap::new(), Vec::<u64>::new());
    let mut again = 0;
    loop {
        while running.len() < 3 {
            let Some(start) = session.ask().unwrap() else { break };
            assert!(!ending.contains(&start.trial), "its training has not ended");
            running.insert(start.trial, (start.from, start));
        }
        let Some((&trial, _)) = running.iter().next() else {
            match ending.pop() {
                Some(trial) => session.tell(trial, TrainingEnd::Finished).unwrap(),
                None => break,
            }
            continue;
        };
        let (step, start) = running.get_mut(&trial).unwrap();
        *step += 1;
        let answer =
            session.report(trial, *step, accuracy(&start.configuration, *step), BTreeMap::new()).unwrap();
        if answer.stop || *step == start.until {
            let late = answer.stop;
            running.remove(&trial);
            if late {
                ending.push(trial);
                let before = session.store().records().len();
                let words = session.report(trial, 1, 0.5, BTreeMap::new()).unwrap();
                assert_eq!(before, session.store().records().len(), "its last words count for nothing");
                again += usize::from(!words.stop);
            } else {
                session.tell(trial, TrainingEnd::Finished).unwrap();
            }
        }
    }
    assert!(session.is_done());
    assert_eq!(again, 0, "a stopped training is told to stop as often as it reports");
}

#[test]
fn a_training_that_goes_on_is_stopped_and_counts_with_what_it_reported() {
    let workload = [("command".to_owned(), "python train.py".to_owned())].into();
    let mut session = Session::new(StudySpec { workload, ..spec() }).unwrap();
    let start = session.ask().unwrap().unwrap();
    for step in [4, 8] {
        assert!(!session.report(start.trial, step, 0.5, BTreeMap::new()).unwrap().stop);
    }
    assert!(session.report(start.trial, 12, 0.6, BTreeMap::new()).unwrap().stop);
    assert_eq!(session.overrun_step(start.trial), Some(12));
    session.tell(start.trial, TrainingEnd::Failed("ended by signal 15".to_owned())).unwrap();
    assert!(matches!(session.study().trials()[0].state, TrialState::Completed { .. }));
}

#[test]
fn the_first_three_failures_without_a_report_leave_no_hope() {
    let mut session = Session::new(spec()).unwrap();
    for trial in 0..3 {
        assert_eq!(session.hopeless(), None);
        session.ask().unwrap().unwrap();
        session.tell(trial, TrainingEnd::Failed(format!("reason {trial}"))).unwrap();
    }
    assert_eq!(session.hopeless(), Some("reason 2"));
    session.ask().unwrap().unwrap();
    session.report(3, 1, 0.1, BTreeMap::new()).unwrap();
    assert_eq!(session.hopeless(), None, "one that reports is hope");
}

#[test]
fn a_trial_without_any_value_has_no_score() {
    let mut session = Session::new(spec()).unwrap();
    let start = session.ask().unwrap().unwrap();
    session.tell(start.trial, TrainingEnd::Finished).unwrap();
    assert!(matches!(session.study().trials()[0].state, TrialState::Failed { .. }));
    assert_eq!(session.best(), None);
    // a log that says otherwise was changed
    let mut records = session.store().records().to_vec();
    *records.last_mut().unwrap() = Record::Completed { trial: start.trial };
    let error = Study::resume(spec(), &records).err();
    assert_eq!(error, Some(StudyError::NoValue { record: 3, trial: 0 }));
}

#[test]
fn a_store_with_another_study_is_refused_and_one_with_more_trials_is_kept_whole() {
    let records = driven(&spec(), usize::MAX).unwrap();
    let other = StudySpec { seed: 30, ..spec() };
    let refused = Session::open(other, StudyParts::default(), MemoryStore::from(records.clone()));
    assert!(matches!(refused, Err(SessionError::Another { there }) if *there == spec()));
    let fewer = StudySpec { trials: 10, ..spec() };
    let session = Session::open(fewer, StudyParts::default(), MemoryStore::from(records.clone())).unwrap();
    assert!(session.is_done() && session.study().trials().len() == 24);
    let more = StudySpec { trials: 30, ..spec() };
    let mut session = Session::open(more, StudyParts::default(), MemoryStore::from(records)).unwrap();
    assert_eq!(session.ask().unwrap().map(|start| start.trial), Some(24));
}

/// Proposes learning rates in a row.
struct InARow(u64);

impl Sampler for InARow {
    fn propose(&mut self, _: u64) -> Option<Configuration> {
        self.0 += 1;
        Some(Configuration::from([("lr".to_owned(), Value::Number(1e-3 * self.0 as f64))]))
    }

    fn observe_start(&mut self, trial: u64, _: &Configuration) {
        self.0 = trial + 1;
    }

    fn learn(&mut self, _: u64, _: &Configuration, _: Worth) {}

    fn observe_failure(&mut self, _: u64, _: &Configuration) {}
}

/// Trains 12 trials for 5 epochs each.
struct Dozen(u64);

impl Scheduler for Dozen {
    fn next(&mut self) -> NextAction {
        self.0 += 1;
        if self.0 > 12 {
            NextAction::Done
        } else {
            NextAction::Run(TrainingJob { trial: self.0 - 1, until: 5 })
        }
    }

    fn end_job(&mut self, _: u64, _: JobEnd) {}

    fn rank(&mut self, _: &foretell_search::TrialRanks) {}

    fn is_done(&self) -> bool {
        self.0 >= 12
    }

    fn reference(&self, _: u64) -> Option<f64> {
        Some(0.9)
    }
}

/// Forecasts 0.1, whatever happens.
struct Gloomy;

impl Predictor for Gloomy {
    fn name(&self) -> &'static str {
        "gloomy"
    }

    fn fit(&self, _: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        Ok(Box::new(Self))
    }
}

impl Model for Gloomy {
    fn forecast(&self, _: &RunQuery<'_>) -> Forecast {
        Forecast::gaussian(0.1, 0.01)
    }

    fn held_out(&self) -> &[Forecast] {
        &[]
    }
}

#[test]
fn a_caller_brings_sampler_scheduler_and_predictor() {
    let parts = || StudyParts {
        sampler: Some(Box::new(InARow(0))),
        scheduler: Some(Box::new(Dozen(0))),
        predictor: Some(Arc::new(Gloomy)),
        ..StudyParts::default()
    };
    let spec = StudySpec { predictor: "mine".to_owned(), burn_in: 3, max_resource: 5, ..spec() };
    assert!(Study::new(spec.clone()).is_err(), "nobody else knows this predictor");
    let mut session = Session::open(spec.clone(), parts(), MemoryStore::default()).unwrap();
    let mut steps = 0;
    while let Some(start) = session.ask().unwrap() {
        assert_eq!(start.configuration["lr"].as_number(), Some(1e-3 * (start.trial + 1) as f64));
        for step in start.from + 1..=start.until {
            steps += 1;
            let value = 0.5 + step as f64 / 1e3; // a value that never varies stops no trial
            if session.report(start.trial, step, value, BTreeMap::new()).unwrap().stop {
                break;
            }
        }
        session.tell(start.trial, TrainingEnd::Finished).unwrap();
    }
    let trials = session.study().progress().trials;
    assert_eq!((trials.completed, trials.stopped, steps), (3, 9, 3 * 5 + 9 * 2), "{trials:?}");
    let half = MemoryStore::from(session.store().records()[..30].to_vec());
    let resumed = Session::open(spec, parts(), half).unwrap();
    assert_eq!(resumed.study().trials()[..3].len(), 3);
}

#[test]
fn sessions_can_be_shared_and_moved_between_threads() {
    fn check_is_shareable<T: Send + Sync + 'static>() {}
    check_is_shareable::<Session>();
    check_is_shareable::<Session<Box<dyn Store + Send + Sync>>>();
    check_is_shareable::<Study>();
    check_is_shareable::<StudyParts>();
    check_is_shareable::<foretell_search::ModelFit>();
    check_is_shareable::<foretell_search::FittedModel>();
    check_is_shareable::<TrainingAnswer>();
    check_is_shareable::<SessionError>();
}

#[test]
fn totals_kept_in_step_are_those_of_the_summary() {
    for (run_score, shadow) in [(RunScore::Last, false), (RunScore::Best, true)] {
        for spec in [spec(), in_rungs(), asha()] {
            train_with_one_worker(StudySpec { run_score, shadow, ..spec }, |session| {
                let (study, summary) = (session.study(), StudySummary::new(session.study()));
                assert_eq!((study.progress().trials, study.best()), (summary.trials, summary.best));
                assert_eq!(study.progress().spent, summary.epochs.spent);
            });
        }
    }
}

#[test]
fn what_a_stopped_training_goes_on_to_report_was_trained_and_is_not_saved() {
    let mut session = Session::new(spec()).unwrap();
    let (mut stopped_at, mut after) = (None, 0);
    while let Some(start) = session.ask().unwrap() {
        for step in 1..=EPOCHS {
            let value = accuracy(&start.configuration, step);
            let stops = session.report(start.trial, step, value, BTreeMap::new()).unwrap().stop;
            if stops && stopped_at.is_none() {
                stopped_at = Some((start.trial, step, StudySummary::new(session.study())));
            }
            // the first one that is stopped continues for two epochs, the others end at once
            let goes_on = matches!(stopped_at, Some((trial, at, _)) if trial == start.trial && step < at + 2);
            if stops && !goes_on {
                break;
            }
        }
        session.tell(start.trial, TrainingEnd::Finished).unwrap();
        if let Some((trial, at, before)) = stopped_at.as_ref().filter(|_| after == 0) {
            let summary = StudySummary::new(session.study());
            after = 2.min(EPOCHS - at);
            assert_eq!(summary.epochs.spent, before.epochs.spent + after);
            assert_eq!(summary.epochs.without_stopping, before.epochs.without_stopping);
            let known = session.study().trial(*trial).unwrap();
            assert_eq!(
                (known.step, known.curve.len() as u64),
                (*at, *at),
                "its curve ends where it was stopped"
            );
            // its process has ended: what comes now is nobody's
            assert!(session.report(*trial, EPOCHS, 0.5, BTreeMap::new()).unwrap().stop);
            assert_eq!(StudySummary::new(session.study()).epochs, summary.epochs);
        }
    }
    assert!(after > 0, "a trial was stopped before its end");
    let read = Study::resume(spec(), session.store().records()).unwrap();
    assert_eq!(StudySummary::new(&read), StudySummary::new(session.study()));
    let spent: u64 = read.trials().iter().map(foretell_search::Trial::cost).sum();
    assert_eq!(read.progress().spent, spent);
}

#[test]
fn nothing_is_decided_by_reports_that_come_with_the_end() {
    let mut session = Session::new(spec()).unwrap();
    while let Some(start) = session.ask().unwrap() {
        for step in 1..=EPOCHS {
            let value = accuracy(&start.configuration, step);
            session.report_late(start.trial, step, value, BTreeMap::new()).unwrap();
        }
        session.tell(start.trial, TrainingEnd::Finished).unwrap();
    }
    let summary = StudySummary::new(session.study());
    assert_eq!((summary.trials.completed, summary.trials.stopped), (spec().trials, 0));
    assert_eq!(summary.epochs.spent, summary.epochs.without_stopping);
}

//! Settings that change while a study is under way.

mod common;

use common::accuracy;
use foretell::{Direction, RunScore};
use foretell_search::{
    AshaRule, ForecastRule, LogLosses, MedianRule, MemoryStore, MendedRecord, ParameterSpace, PatienceRule,
    RandomSampling, Record, SamplerSpec, Session, SessionError, Space, StopPolicy, Study, StudyParts,
    StudySettings, StudySpec, StudySummary, TpeSampling, TrainingEnd,
};

const EPOCHS: u64 = 9;

fn spec(policy: &StopPolicy, trials: u64) -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"]).unwrap());
    let usual = StudySpec::new(space, "val_acc", Direction::Maximize);
    StudySpec {
        max_resource: EPOCHS,
        trials,
        burn_in: 12,
        policy: policy.clone(),
        sampler: SamplerSpec::from(RandomSampling),
        seed: 3,
        ..usual
    }
}

/// Runs the study in `store` to its end by `spec`.
fn run(spec: StudySpec, store: MemoryStore) -> Result<Session, SessionError> {
    run_with(spec, store, 0)
}

/// Runs the study, where trainings that are stopped run on for `late` more steps.
fn run_with(spec: StudySpec, store: MemoryStore, late: u64) -> Result<Session, SessionError> {
    let mut session = Session::open(spec, StudyParts::default(), store)?;
    while let Some(start) = session.ask()? {
        for step in start.from + 1..=start.until {
            let value = accuracy(&start.configuration, step);
            if session.report(start.trial, step, value, Default::default())?.stop {
                for step in (step + 1..=start.until).take(late as usize) {
                    session.report(start.trial, step, 0.1, Default::default())?;
                }
                break;
            }
        }
        session.tell(start.trial, TrainingEnd::Finished)?;
    }
    Ok(session)
}

fn store(session: &Session) -> MemoryStore {
    session.store().clone()
}

fn study_state(study: &Study) -> String {
    format!("{:?} {:?} {:?}", study.trials(), StudySummary::new(study), study.learning_from())
}

#[test]
fn a_study_whose_policy_changed_is_the_fold_of_its_records_at_every_cut() {
    let policies = [
        StopPolicy::none(),
        StopPolicy::from(ForecastRule),
        StopPolicy::from(MedianRule),
        StopPolicy::from(AshaRule { eta: 3 }),
        StopPolicy::from(PatienceRule { patience: 3 }),
    ];
    for first in &policies {
        for second in policies.iter().filter(|second| *second != first) {
            let half = run(spec(first, 16), MemoryStore::default()).unwrap();
            let whole = run(StudySpec { burn_in: 6, ..spec(second, 30) }, store(&half)).unwrap();
            let case = format!("{first:?}, then {second:?}");
            let records = whole.store().records();
            let changes = records.iter().filter(|record| matches!(record, Record::Changed { .. }));
            assert_eq!(changes.count(), 1, "{case}");
            assert_eq!(&records[..half.store().records().len()], half.store().records(), "{case}");
            let again = Study::resume(whole.study().spec().clone(), records).unwrap();
            assert_eq!(study_state(&again), study_state(whole.study()), "{case}");
            for cut in (1..records.len()).step_by(7) {
                let asked = if cut <= half.store().records().len() {
                    spec(first, 16)
                } else {
                    whole.study().spec().clone()
                };
                let resumed = run(asked, MemoryStore::from(records[..cut].to_vec()));
                let resumed = resumed.unwrap_or_else(|error| panic!("{case}, cut at {cut}: {error}"));
                assert!(resumed.is_done(), "{case}, cut at {cut}");
            }
        }
    }
}

#[test]
fn a_policy_taken_up_after_the_burn_in_decides_as_one_from_the_beginning() {
    for policy in [StopPolicy::from(ForecastRule), StopPolicy::from(MedianRule)] {
        let always = run(spec(&policy, 30), MemoryStore::default()).unwrap();
        let unstopped = run(spec(&StopPolicy::none(), 12), MemoryStore::default()).unwrap();
        let later = run(spec(&policy, 30), store(&unstopped)).unwrap();
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
    let first = run(spec(&StopPolicy::from(MedianRule), 12), MemoryStore::default()).unwrap();
    let again = run(spec(&StopPolicy::from(MedianRule), 12), store(&first)).unwrap();
    assert_eq!(again.store().records(), first.store().records());
    let more = run(spec(&StopPolicy::from(MedianRule), 14), store(&again)).unwrap();
    let last = run(spec(&StopPolicy::from(MedianRule), 14), store(&more)).unwrap();
    assert_eq!(last.store().records(), more.store().records());
    assert_eq!(last.study().settings().trials, 14);
    assert_eq!(last.study().trials().len(), 14);
}

#[test]
fn what_may_not_change_is_another_study() {
    let first = run(spec(&StopPolicy::from(MedianRule), 12), MemoryStore::default()).unwrap();
    let seed = StudySpec { seed: 4, ..spec(&StopPolicy::from(MedianRule), 12) };
    let metric = StudySpec { metric: "loss".to_owned(), ..spec(&StopPolicy::from(MedianRule), 12) };
    let shorter = StudySpec { max_resource: 8, ..spec(&StopPolicy::from(MedianRule), 12) };
    let q_learning = SamplerSpec::from(foretell_paper::QLearning::default());
    let q_learning = StudySpec { sampler: q_learning, ..spec(&StopPolicy::from(MedianRule), 12) };
    for other in [seed, metric, shorter, q_learning] {
        let refused = run(other, store(&first)).err().expect("it is another study");
        assert!(matches!(refused, SessionError::Another { .. }), "{refused}");
    }
}

#[test]
fn what_follows_from_the_records_that_are_left_is_computed_and_all_of_them_are_kept() {
    for sampler in [SamplerSpec::from(RandomSampling), SamplerSpec::from(TpeSampling)] {
        let session =
            run(StudySpec { sampler, ..spec(&StopPolicy::from(MedianRule), 16) }, MemoryStore::default())
                .unwrap();
        let whole = session.store().records();
        assert_eq!(study_without_records(whole, 0..0), (whole.to_vec(), 0));
        for place in 1..whole.len() {
            let (mended, refused) = study_without_records(whole, place..place + 1);
            assert_eq!(refused, 0, "without record {place}");
            let is_computed = matches!(&whole[place], Record::Started { .. })
                || whole[place].ended_trial().is_some() && place + 1 < whole.len();
            if is_computed {
                assert_eq!(mended, whole, "without record {place}");
            }
        }
        for place in 1..whole.len() - 30 {
            let (mended, refused) = study_without_records(whole, place..place + 30);
            assert_eq!(refused, 0, "without 30 records from {place} on");
            let starts = |records: &[Record]| -> Vec<u64> {
                let started = |record: &Record| match record {
                    Record::Started { trial, .. } => Some(*trial),
                    _ => None,
                };
                records.iter().filter_map(started).collect()
            };
            assert_eq!(starts(&mended), starts(whole), "without 30 records from {place} on");
        }
        let (_, refused) = study_without_records(&whole[1..], 0..0);
        assert_eq!(refused, usize::MAX, "without its description there is no study");
    }
}

#[test]
fn reports_that_follow_a_stop_imply_no_lost_start() {
    let session = run_with(spec(&StopPolicy::from(MedianRule), 24), MemoryStore::default(), 2).unwrap();
    let whole = session.store().records();
    let stops: Vec<usize> = (0..whole.len() - 1)
        .filter(|&place| matches!(&whole[place], Record::Decided(_)) && whole[place].ended_trial().is_some())
        .collect();
    let is_late = |&&place: &&usize| matches!(whole[place + 1], Record::Reported { .. });
    assert!(stops.iter().filter(is_late).count() > 3, "{stops:?}");
    for place in (1..whole.len()).filter(|&place| matches!(whole[place], Record::Started { .. })) {
        assert_eq!(
            study_without_records(whole, place..place + 1),
            (whole.to_vec(), 0),
            "without record {place}"
        );
    }
}

/// The study of `whole` without the records of the `hole`, mended; and how many records were refused, but for ends of trials of
/// which no report is left: what they came to is lost.
fn study_without_records(whole: &[Record], hole: std::ops::Range<usize>) -> (Vec<Record>, usize) {
    let left: Vec<(u64, &Record)> = (0..)
        .zip(whole)
        .filter(|(place, _)| !hole.contains(place))
        .map(|(place, record)| (if place == hole.end { hole.len() as u64 } else { 0 }, record))
        .collect();
    let mut losses = LogLosses::default();
    left.iter().for_each(|(missing, record)| losses.see(*missing, record));
    let reported =
        |trial| left.iter().any(|(_, of)| matches!(of, Record::Reported { trial: of, .. } if *of == trial));
    let (mut records, mut refused, mut there) = (Vec::new(), 0, left.iter());
    let all = left.iter().map(|(_, record)| Ok::<_, std::convert::Infallible>((*record).clone()));
    // as a trial's params.json tells it
    let found = |number| {
        whole.iter().find_map(|record| match record {
            Record::Started { trial, configuration, .. } if *trial == number => Some(configuration.clone()),
            _ => None,
        })
    };
    let study = Study::mend(&losses, all, &found, &mut |mended: MendedRecord| {
        let (_, record) = there.next().unwrap();
        assert!(mended.certain || hole.len() > 1, "nothing else is lost before {:?}", mended.inserted);
        records.extend(mended.inserted);
        records.push((*record).clone());
        let is_told = record.ended_trial().is_none_or(reported);
        refused += usize::from(mended.refused.is_some() && is_told);
    });
    (records, if study.is_err() { usize::MAX } else { refused })
}

#[test]
fn a_study_that_counts_another_value_from_now_on_counts_it_of_all_trials() {
    let last = spec(&StopPolicy::none(), 3);
    let mut session = Session::open(last.clone(), StudyParts::default(), MemoryStore::default()).unwrap();
    let peaks = [0.4, 0.9, 0.6];
    for peak in peaks {
        let start = session.ask().unwrap().unwrap();
        for (step, value) in [(4, peak), (EPOCHS, 0.9 - peak / 2.0)] {
            session.report(start.trial, step, value, Default::default()).unwrap();
        }
        session.tell(start.trial, TrainingEnd::Finished).unwrap();
    }
    assert_eq!(session.best().unwrap().trial, 0, "by its last report");
    let settings = session.study().settings().clone();
    session.change(StudySettings { run_score: RunScore::Best, ..settings }).unwrap();
    let best = session.best().unwrap();
    assert_eq!((best.trial, best.score), (1, 0.9));
    // it is as its records say, and asking for another score by hand is another study
    let counted = StudySpec { run_score: RunScore::Best, ..last.clone() };
    let again = Session::open(counted.clone(), StudyParts::default(), store(&session)).unwrap();
    assert_eq!(study_state(again.study()), study_state(session.study()));
    assert!(last.continues(&counted) && !last.conflicts(&counted).is_empty());
}

/// A study of `spec` whose trials report a rise to `ends` and return `values`, or report them as `returned`.
fn returning(spec: &StudySpec, trials: &[(f64, f64)], by_report: bool) -> Session {
    let mut session = Session::open(spec.clone(), StudyParts::default(), MemoryStore::default()).unwrap();
    for &(end, value) in trials {
        let start = session.ask().unwrap().unwrap();
        for step in 1..=EPOCHS {
            let metrics = (by_report && step == EPOCHS).then(|| ("returned".to_owned(), value)).into_iter();
            let reported = end * step as f64 / EPOCHS as f64;
            session.report(start.trial, step, reported, metrics.collect()).unwrap();
        }
        if !by_report {
            session.record_returned(start.trial, value).unwrap();
        }
        session.tell(start.trial, TrainingEnd::Finished).unwrap();
    }
    session
}

#[test]
fn the_returned_value_is_the_score_however_it_is_told_and_after_a_restart() {
    let spec = spec(&StopPolicy::none(), 8);
    // the better the reports, the worse the returned value
    let trials: Vec<(f64, f64)> =
        (0..6).map(|trial| (0.3 + 0.1 * f64::from(trial), 0.9 - 0.1 * f64::from(trial))).collect();
    for by_report in [false, true] {
        let session = returning(&spec, &trials, by_report);
        let best = session.best().unwrap();
        assert_eq!((best.trial, best.score), (0, 0.9));
        assert!(!session.study().relation().allows_stopping());
        let again = Session::open(spec.clone(), StudyParts::default(), store(&session)).unwrap();
        assert_eq!(again.best().unwrap(), best);
        assert_eq!(study_state(again.study()), study_state(session.study()));
    }
}

#[test]
fn a_score_that_nobody_chose_follows_the_returned_values() {
    let whole = [(0.5, 0.5), (0.7, 0.7)];
    let free = returning(&spec(&StopPolicy::none(), 4), &whole, false);
    assert!(
        free.study().relation().allows_stopping()
            && free.best().is_some_and(|best| (best.score - 0.7).abs() < 1e-12)
    );
    let percent = returning(&spec(&StopPolicy::none(), 4), &[(0.5, 50.0), (0.7, 70.0), (0.6, 60.0)], false);
    assert!(percent.best().is_some_and(|best| (best.score - 70.0).abs() < 1e-12));
    assert!(
        percent
            .study()
            .relation()
            .user_notice()
            .is_some_and(|(name, words)| name == "factor" && words.contains("times 100"))
    );
}

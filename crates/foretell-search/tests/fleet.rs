//! Many workers: the rule that stops trials before any has completed.

use foretell::{Action, Direction};
use foretell_search::{
    Caution, Decision, ForecastRule, Input, ParameterSpace, Policy, Reason, Record, RungsFirstRule, Space,
    Study, StudyRequest, StudySpec,
};
use std::collections::BTreeMap;

const EPOCHS: u64 = 27;

fn space() -> Space {
    Space::Parameters(ParameterSpace::parse(&["x=float:0:1"]).unwrap())
}

fn spec(policy: Policy, trials: u64) -> StudySpec {
    StudySpec {
        max_resource: EPOCHS,
        trials,
        policy,
        ..StudySpec::new(space(), "score", Direction::Maximize)
    }
}

/// Runs a study with `workers` workers, each an epoch at a time in turn; the value of trial n at an epoch is `curve(n, epoch)`.
fn driven(spec: StudySpec, workers: usize, curve: impl Fn(u64, u64) -> f64) -> (Study, Vec<Decision>) {
    let mut study = Study::new(spec).unwrap();
    let (mut busy, mut decisions) = (vec![None; workers], Vec::new());
    loop {
        for worker in busy.iter_mut().filter(|worker| worker.is_none()) {
            let started = study.step(&Input::WorkerIdle).into_iter().find_map(|record| match record {
                Record::Started { trial, .. } => Some((trial, 0)),
                _ => None,
            });
            *worker = started;
        }
        if busy.iter().all(Option::is_none) {
            return (study, decisions);
        }
        for worker in &mut busy {
            let Some((trial, epoch)) = worker.as_mut() else { continue };
            *epoch += 1;
            let value = Some(curve(*trial, *epoch));
            let reported = Input::Reported { trial: *trial, step: *epoch, value, metrics: BTreeMap::new() };
            for record in study.step(&reported) {
                if let Record::Decided(decision) = record {
                    decisions.push(decision);
                }
            }
            if *epoch == EPOCHS {
                study.step(&Input::Ended { trial: *trial, failure: None });
            }
            if !study.is_running(*trial) {
                *worker = None;
            }
        }
    }
}

/// A metric that rises to an end of its own, the higher the number the better.
fn steady(trial: u64, epoch: u64) -> f64 {
    (trial as f64 + 1.0) * (1.0 - 0.9_f64.powi(epoch as i32))
}

#[test]
fn all_but_the_best_third_stop_at_a_rung_before_any_trial_has_finished() {
    let (study, decisions) =
        driven(spec(Policy::from(RungsFirstRule { caution: Caution::Fast }), 27), 27, steady);
    let trained = |from: u64, to: u64| {
        let trained = study.trials().iter().map(foretell_search::Trial::trained);
        trained.filter(|epochs| (from..=to).contains(epochs)).count()
    };
    // at epochs 3 and 9, or one later where others came after them
    assert_eq!((trained(1, 4), trained(5, 10), trained(11, EPOCHS)), (18, 6, 3), "{:?}", study.progress());
    assert!(decisions.iter().filter(|d| d.action == Action::Stop).all(|d| d.reason == Reason::BelowRung));
    assert_eq!(study.best().unwrap().trial, 26);
    let (alone, _) = driven(spec(Policy::from(ForecastRule), 27), 27, steady);
    assert_eq!(alone.progress().trials.stopped, 0, "nobody had finished to learn from");
}

#[test]
fn one_worker_stops_by_forecasts_alone() {
    let order = |trial: u64, epoch: u64| steady(trial * 7 % 20, epoch);
    let (rungs, decisions) =
        driven(spec(Policy::from(RungsFirstRule { caution: Caution::Fast }), 20), 1, order);
    let (forecasts, same) = driven(spec(Policy::from(ForecastRule), 20), 1, order);
    assert_eq!(decisions, same);
    assert!(rungs.progress().trials.stopped > 0 && forecasts.progress().trials.stopped > 0);
}

#[test]
fn forecasts_take_over_as_trials_finish() {
    let order = |trial: u64, epoch: u64| steady(trial * 7 % 60, epoch);
    let (study, decisions) =
        driven(spec(Policy::from(RungsFirstRule { caution: Caution::Fast }), 60), 12, order);
    let stops =
        |reason: Reason| decisions.iter().filter(|d| d.action == Action::Stop && d.reason == reason).count();
    assert!(stops(Reason::BelowRung) > 0 && stops(Reason::WillNotWin) > 0);
    let first_forecast = decisions.iter().position(|d| d.forecast.is_some()).unwrap();
    assert!(decisions[first_forecast..].iter().all(|d| d.reason != Reason::BelowRung));
    assert!(study.progress().trials.completed >= 3);
}

#[test]
fn fewer_than_nine_at_a_rung_are_not_compared() {
    let (study, _) = driven(spec(Policy::from(RungsFirstRule { caution: Caution::Fast }), 8), 8, steady);
    assert_eq!(study.progress().trials.stopped, 0);
}

#[test]
fn the_more_careful_the_farther_behind_a_trial_may_be() {
    // trial 0 is last at epoch 3, where all are close together, and wins
    let late = |trial: u64, epoch: u64| match trial {
        0 => 0.4 + 0.01 * epoch as f64,
        _ => 0.5 + 0.004 * trial as f64 + 0.001 * epoch as f64,
    };
    let stopped = |caution| {
        let (study, _) = driven(spec(Policy::from(RungsFirstRule { caution }), 12), 12, |trial, epoch| {
            late(trial, epoch).max(0.46)
        });
        study.progress().trials.stopped
    };
    let [safe, balanced, fast] = Caution::ALL.map(stopped);
    assert!(safe < balanced && balanced < fast, "{safe}, {balanced}, {fast}");
}

#[test]
fn rungs_come_first_unless_somebody_says_what_stops_trials() {
    let policy = |request: StudyRequest| {
        let request = StudyRequest { space: Some(space()), metric: Some("acc".to_owned()), ..request };
        request.resolve(None).unwrap().policy
    };
    let usual = StudyRequest::default;
    assert_eq!(policy(usual()), Policy::from(RungsFirstRule { caution: Caution::Balanced }));
    let caution = Some(Caution::Safe);
    assert_eq!(
        policy(StudyRequest { caution, ..usual() }),
        Policy::from(RungsFirstRule { caution: Caution::Safe })
    );
    assert_eq!(policy(StudyRequest { burn_in: Some(5), ..usual() }), Policy::from(ForecastRule));
    assert_eq!(
        policy(StudyRequest { paper: Some(true), trials: Some(200), ..usual() }),
        Policy::from(ForecastRule)
    );
    let objective = Some(vec!["acc:max".to_owned(), "x:min".to_owned()]);
    assert_eq!(policy(StudyRequest { objective, ..usual() }), Policy::from(ForecastRule));
    let named = Some("srm".into());
    assert_eq!(policy(StudyRequest { policy: named, ..usual() }), Policy::from(ForecastRule));
}

//! Trainings from end to end: determinism, pausing, retries, checkpoints.
#![allow(clippy::disallowed_methods, reason = "a test whose thread dies fails")]

use foretell::{Configuration, Value};
use foretell_nn::{EpochReport, Error, RateSchedule, TrainOutcome, TrainSpec, train_network};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A small network with every kind of layer but global average pooling.
const NETWORK: &str = "[C(4,3,1), D(1,3), P(2,2), C(6,3,1), P(3,2), D(2,3), FC(12), D(3,3), SM(10)]";

fn spec() -> TrainSpec {
    let mut spec = TrainSpec::new(&NETWORK.parse().unwrap(), "shapes".parse().unwrap());
    (spec.train_size, spec.validation_size) = (Some(120), Some(60));
    (spec.epochs, spec.until, spec.batch_size, spec.learning_rate) = (6, 6, 16, Some(0.003));
    spec
}

fn network(layers: &str) -> Configuration {
    Configuration::from([("net".to_owned(), Value::Text(layers.to_owned()))])
}

fn run(spec: &TrainSpec) -> TrainOutcome {
    train_network(spec, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn error(spec: &TrainSpec) -> Error {
    train_network(spec, &mut |_| ControlFlow::Continue(())).unwrap_err()
}

/// All that was reported, without whether it was read back.
fn numbers(outcome: &TrainOutcome) -> Vec<EpochReport> {
    outcome.reports.iter().map(|report| EpochReport { recovered: false, ..report.clone() }).collect()
}

fn checkpoints(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn the_same_seed_gives_the_same_numbers_and_another_seed_others() {
    let first = run(&spec());
    assert_eq!(run(&spec()), first);
    let other = run(&TrainSpec { seed: 1, ..spec() });
    assert_ne!(other.reports[0].train_loss, first.reports[0].train_loss);
}

#[test]
fn trainings_side_by_side_do_not_disturb_each_other() {
    let alone = run(&spec());
    let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(|| run(&spec()))).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), alone);
    }
}

#[test]
fn a_training_paused_at_rungs_and_resumed_equals_an_unbroken_one() {
    let unbroken = run(&spec());
    let directory = tempfile::tempdir().unwrap();
    let mut rung = TrainSpec { checkpoint_dir: Some(directory.path().into()), resume: true, ..spec() };
    let mut recovered = Vec::new();
    for until in [1, 3, 6] {
        rung.until = until;
        let outcome = run(&rung);
        recovered.push(outcome.reports.iter().filter(|report| report.recovered).count());
        assert_eq!(numbers(&outcome), numbers(&unbroken)[..until]);
    }
    assert_eq!(recovered, [0, 1, 3]);
}

#[test]
fn a_training_stopped_by_its_caller_resumes_after_the_last_report() {
    let directory = tempfile::tempdir().unwrap();
    let spec = TrainSpec { checkpoint_dir: Some(directory.path().into()), resume: true, ..spec() };
    let stop_after_two = &mut |report: &EpochReport| match report.epoch {
        2 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let outcome = train_network(&spec, stop_after_two).unwrap();
    assert_eq!((outcome.reports.len(), outcome.stopped), (2, true));
    assert_eq!(numbers(&run(&spec)), numbers(&run(&TrainSpec { checkpoint_dir: None, ..spec })));
}

#[test]
fn a_training_learns_and_its_learning_rate_falls_by_the_plan() {
    let mut spec = spec();
    spec.configuration = network("[C(8,3,1), P(2,2), FC(32), SM(10)]");
    (spec.train_size, spec.epochs, spec.until) = (Some(300), 8, 8);
    let reports = run(&spec).reports;
    let (first, last) = (&reports[0], &reports[7]);
    assert!(last.train_loss.unwrap() < 0.8 * first.train_loss.unwrap(), "{reports:?}");
    // guessing gives 0.1 with a standard error of 0.04 on 60 images
    assert!(last.validation_accuracy > 0.22, "{reports:?}");
    let falls: Vec<f64> = reports.iter().map(|report| report.learning_rate.unwrap() / 0.003).collect();
    for (fall, expected) in falls.iter().zip([1.0, 1.0, 0.2, 0.2, 0.04, 0.04, 0.008, 0.008]) {
        assert!((fall - expected).abs() < 1e-12, "{falls:?}");
    }
}

#[test]
fn a_schedule_takes_the_place_of_the_space_s_own() {
    let spec = TrainSpec { schedule: Some(RateSchedule::Exponential), until: 3, ..spec() };
    let rates = run(&spec).reports.into_iter().map(|report| report.learning_rate.unwrap() / 0.003);
    for (rate, expected) in rates.zip([1.0, 0.342, 0.117]) {
        assert!((rate - expected).abs() < 1e-3, "{rate} instead of {expected}");
    }
}

#[test]
fn where_every_attempt_fails_guessing_is_reported_and_five_epochs_are_charged() {
    let directory = tempfile::tempdir().unwrap();
    let mut spec = spec();
    // one step at a thousandth moves this network nowhere
    (spec.learning_rate, spec.batch_size, spec.train_size) = (None, 20, Some(20));
    (spec.epochs, spec.until) = (1, 1);
    spec.configuration = network("[C(2,3,1), C(2,3,1), C(2,3,1), C(2,3,1), GAP(10), SM(10)]");
    spec.checkpoint_dir = Some(directory.path().into());
    spec.resume = true;
    let outcome = run(&spec);
    assert_eq!((outcome.initial_learning_rate, outcome.failed_epochs), (None, 5));
    for report in &outcome.reports {
        assert!((report.validation_accuracy - 0.1).abs() < 1e-15);
        assert_eq!((report.train_loss, report.learning_rate, report.failed_epochs), (None, None, 5));
    }
    assert_eq!(numbers(&run(&spec)), numbers(&outcome));
}

#[test]
fn where_the_first_attempt_learns_the_retry_rule_changes_nothing() {
    let mut spec = spec();
    spec.configuration = network("[C(16,3,1), P(2,2), SM(10)]");
    (spec.learning_rate, spec.train_size, spec.batch_size, spec.until) = (None, Some(1000), 8, 2);
    let outcome = run(&spec);
    assert_eq!((outcome.initial_learning_rate, outcome.failed_epochs), (Some(0.001), 0));
    let given = run(&TrainSpec { learning_rate: Some(0.001), ..spec });
    assert_eq!(outcome.reports, given.reports);
}

#[test]
fn the_retry_rule_goes_on_with_the_first_attempt_that_learns_also_after_a_pause() {
    let directory = tempfile::tempdir().unwrap();
    let mut spec = spec();
    // a network that learns nothing in an epoch of two steps: some attempts pass by luck
    spec.configuration = network("[C(4,3,1), P(2,2), SM(10)]");
    (spec.learning_rate, spec.train_size, spec.batch_size) = (None, Some(20), 10);
    (spec.epochs, spec.until, spec.validation_size) = (3, 3, Some(400));
    let (seed, outcome) = (0..50)
        .map(|seed| (seed, run(&TrainSpec { seed, ..spec.clone() })))
        .find(|(_, outcome)| (1..15).contains(&outcome.failed_epochs))
        .expect("a network that passes at one of the later attempts");
    // an attempt has all three epochs: they are fewer steps than 351
    let rate = 0.001 * 0.4_f64.powi(outcome.failed_epochs as i32 / 3);
    assert!((outcome.initial_learning_rate.unwrap() - rate).abs() < 1e-15);
    assert!(outcome.reports.iter().any(|report| report.validation_accuracy > 0.15));
    assert!(outcome.reports.iter().all(|report| report.failed_epochs == outcome.failed_epochs));
    let mut paused = TrainSpec { seed, checkpoint_dir: Some(directory.path().into()), resume: true, ..spec };
    for until in [1, 3] {
        paused.until = until;
        assert_eq!(numbers(&run(&paused)), numbers(&outcome)[..until]);
    }
}

#[test]
fn the_last_two_checkpoints_are_kept_and_a_damaged_one_is_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    let spec = TrainSpec { checkpoint_dir: Some(directory.path().into()), resume: true, ..spec() };
    let whole = run(&spec);
    let kept = checkpoints(directory.path());
    assert_eq!(kept.len(), 2);
    assert!(kept[0].ends_with("epoch-000005.checkpoint") && kept[1].ends_with("epoch-000006.checkpoint"));
    let mut bytes = std::fs::read(&kept[1]).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&kept[1], bytes).unwrap();
    let again = run(&spec);
    assert_eq!(numbers(&again), numbers(&whole));
    assert_eq!(again.damaged_checkpoints, kept[1..]);
    assert_eq!(again.reports.iter().filter(|report| report.recovered).count(), 5);
    for path in &kept {
        std::fs::write(path, "nonsense").unwrap();
    }
    let message = error(&spec).to_string();
    assert!(message.contains("epoch-000006.checkpoint: the checkpoint is damaged"), "{message}");
    assert_eq!(numbers(&run(&TrainSpec { resume: false, ..spec })), numbers(&whole));
}

#[test]
fn a_checkpoint_of_another_training_is_refused_with_the_difference() {
    let directory = tempfile::tempdir().unwrap();
    let base = TrainSpec { checkpoint_dir: Some(directory.path().into()), resume: true, until: 1, ..spec() };
    run(&base);
    let others = [
        (TrainSpec { configuration: network("[C(4,3,1), SM(10)]"), ..base.clone() }, "its configuration is"),
        (TrainSpec { seed: 9, ..base.clone() }, "its seed is 0 instead of 9"),
        (TrainSpec { data: "shapes:12".parse().unwrap(), ..base.clone() }, "its data is \"shapes\""),
        (TrainSpec { learning_rate: None, ..base.clone() }, "its learning_rate is 0.003 instead of null"),
        (TrainSpec { epochs: 7, ..base.clone() }, "its epochs is 6"),
        (TrainSpec { schedule: Some(RateSchedule::Cosine), ..base.clone() }, "its schedule is null"),
    ];
    for (other, expected) in others {
        let message = error(&other).to_string();
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(run(&TrainSpec { until: 2, ..base }).reports.len(), 2);
}

#[test]
fn impossible_plans_and_networks_are_refused_before_anything_is_trained() {
    let rows = [
        (TrainSpec { until: 7, ..spec() }, "until is 7, but must be 1 to the 6 epochs"),
        (TrainSpec { until: 0, ..spec() }, "until is 0"),
        (TrainSpec { batch_size: 0, ..spec() }, "batch_size is 0"),
        (TrainSpec { learning_rate: Some(f64::NAN), ..spec() }, "learning_rate is NaN"),
        (TrainSpec { configuration: network("[SM(9)]"), ..spec() }, "SM(9) has 9 classes, but shapes has 10"),
        (TrainSpec { configuration: network("[GAP(4), SM(10)]"), ..spec() }, "GAP(4) has 4 classes"),
        (TrainSpec { configuration: network("[P(17,1), SM(10)]"), ..spec() }, "layer 1, P(17,1)"),
        (TrainSpec { train_size: Some(0), ..spec() }, "0 training"),
    ];
    for (spec, expected) in rows {
        let message = error(&spec).to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_training_that_diverges_ends_with_absent_losses_and_no_panic() {
    let outcome = run(&TrainSpec { learning_rate: Some(1e30), ..spec() });
    let last = outcome.reports.last().unwrap();
    assert_eq!((last.train_loss, last.validation_loss), (None, None));
    assert!(last.validation_accuracy.abs() < 1e-12, "an image without finite logits is not classified");
}

//! Every space from end to end: its own parameters train, pauses change nothing, divergence and bad input are told.

use foretell::{Configuration, Value};
use foretell_nn::{
    BUILT_IN_SPACES, DataKind, EpochReport, NetworkSize, SearchedSpace, Space, TrainOutcome, TrainSpec,
    train_network,
};
use std::ops::ControlFlow;

/// A configuration of the space's own parameters at a small size: the first option of a choice, the lower bound of a range, unless
/// `chosen` has another.
fn configuration(space: &dyn Space, chosen: &[(&str, f64)]) -> Configuration {
    let size = NetworkSize { width: 0.1, max_layers: Some(8) };
    let SearchedSpace::Parameters(texts) = space.search_space(&size) else {
        let net = "[C(4,3,1), P(2,2), D(1,2), FC(8), D(2,2), SM(10)]";
        return Configuration::from([("net".to_owned(), Value::Text(net.to_owned()))]);
    };
    let value = |text: &str| {
        let (name, kind) = text.split_once('=').unwrap();
        let first = kind.split([':', ',']).nth(1).unwrap().parse().unwrap();
        let number = chosen.iter().find(|(other, _)| *other == name).map_or(first, |&(_, number)| number);
        (name.to_owned(), Value::Number(number))
    };
    texts.iter().map(|text| value(text)).collect()
}

fn spec(space: &dyn Space) -> TrainSpec {
    let text = space.plan().material == DataKind::Text;
    let sizes = if text { (2000, 400) } else { (120, 60) };
    let chosen =
        [("learning_rate", 0.001), ("cells", 20.0), ("inputs", 10.0), ("links5", 2.0), ("links12", 4.0)];
    let mut spec = TrainSpec::new(&"[SM(10)]".parse().unwrap(), space.plan().drawn.parse().unwrap());
    (spec.space, spec.configuration) = (space.name().to_owned(), configuration(space, &chosen));
    (spec.width, spec.train_size, spec.validation_size) = (0.1, Some(sizes.0), Some(sizes.1));
    (spec.epochs, spec.until, spec.batch_size) = (10, 10, 20);
    if space.plan().free_rate {
        spec.learning_rate = Some(if text { 5.0 } else { 0.003 });
    }
    spec
}

fn run(spec: &TrainSpec) -> TrainOutcome {
    train_network(spec, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn numbers(outcome: &TrainOutcome) -> Vec<EpochReport> {
    outcome.reports.iter().map(|report| EpochReport { recovered: false, ..report.clone() }).collect()
}

#[test]
fn in_every_space_a_stop_at_epoch_five_and_a_resumption_to_ten_equal_an_unbroken_training() {
    for space in BUILT_IN_SPACES {
        let unbroken = run(&spec(*space));
        let directory = tempfile::tempdir().unwrap();
        let checkpoint_dir = Some(directory.path().into());
        let paused = TrainSpec { checkpoint_dir, resume: true, until: 5, ..spec(*space) };
        assert_eq!(numbers(&run(&paused)), numbers(&unbroken)[..5], "{}", space.name());
        let resumed = run(&TrainSpec { until: 10, ..paused });
        assert_eq!(resumed.reports.iter().filter(|report| report.recovered).count(), 5);
        assert_eq!(numbers(&resumed), numbers(&unbroken), "{}", space.name());
        assert_ne!(unbroken.reports[9].train_loss, unbroken.reports[4].train_loss, "{}", space.name());
    }
}

#[test]
fn in_every_space_a_training_that_diverges_ends_without_losses_and_without_panic() {
    for space in BUILT_IN_SPACES {
        let mut spec = TrainSpec { until: 3, ..spec(*space) };
        // gradients of text are clipped: it takes an infinite weight
        let rate = if space.plan().material == DataKind::Text { 1e39 } else { 1e30 };
        if space.plan().free_rate {
            spec.learning_rate = Some(rate);
        } else {
            spec.configuration.insert("learning_rate".to_owned(), Value::Number(rate));
        }
        let outcome = run(&spec);
        let last = outcome.reports.last().unwrap();
        assert_eq!((outcome.reports.len(), last.train_loss), (3, None), "{}: {last:?}", space.name());
        assert!((0.0..=1.0).contains(&last.validation_accuracy));
    }
}

#[test]
fn in_every_space_what_is_missing_or_out_of_range_is_named() {
    for space in BUILT_IN_SPACES {
        let spec = spec(*space);
        for name in spec.configuration.keys() {
            let mut lacking = spec.clone();
            lacking.configuration.remove(name);
            let message =
                train_network(&lacking, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
            assert!(
                message.contains(&format!("parameter {name} of {} is missing", space.name())),
                "{message}"
            );
            lacking.configuration.insert(name.clone(), Value::Number(-1.5));
            let message =
                train_network(&lacking, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains("-1.5"), "{message}");
        }
        let other = if space.plan().material == DataKind::Text { "shapes" } else { "words" };
        let wrong = TrainSpec { data: other.parse().unwrap(), ..spec.clone() };
        let message = train_network(&wrong, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
        assert!(message.contains(space.name()) && message.contains("learns from"), "{message}");
    }
}

#[test]
fn maps_that_shrink_to_nothing_and_unknown_spaces_are_refused() {
    let convnet = foretell_nn::find_space("cuda-convnet").unwrap();
    let small = TrainSpec { data: "shapes:8".parse().unwrap(), ..spec(convnet) };
    let message = train_network(&small, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(message.contains("cuda-convnet needs images of at least 12×12"), "{message}");
    let unknown = TrainSpec { space: "vgg".to_owned(), ..spec(convnet) };
    let message = train_network(&unknown, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(message.contains("unknown space `vgg`. Choose one of metaqnn, cuda-convnet, lstm"), "{message}");
}
